"""Tiny ONNX models with a constant output, whatever they are shown."""

from pathlib import Path

import numpy as np
import pytest

NAMES = "{0: 'red', 1: 'green'}"


def constant_model(path: Path, output, *, size=64, batch="batch", metadata=None, half_input=False) -> Path:
    """Write a model (B, 3, size, size) -> B times `output` (rows, columns); no `size`: height and width are open."""
    onnx = pytest.importorskip("onnx", reason="onnx (the extra 'train') is not installed")
    from onnx import TensorProto, helper, numpy_helper  # noqa: PLC0415 - an extra

    output = np.asarray(output, np.float32)
    kind = TensorProto.FLOAT16 if half_input else TensorProto.FLOAT
    shape = [batch, 3, size or "height", size or "width"]
    nodes = [
        helper.make_node("Cast", ["images"], ["pixels"], to=TensorProto.FLOAT),
        helper.make_node("ReduceMean", ["pixels", "axes"], ["mean"], keepdims=0),
        helper.make_node("Mul", ["mean", "zero"], ["nothing"]),
        helper.make_node("Reshape", ["nothing", "column"], ["each"]),
        helper.make_node("Add", ["each", "answer"], ["output0"]),
    ]
    graph = helper.make_graph(
        nodes,
        "constant",
        [helper.make_tensor_value_info("images", kind, shape)],
        [helper.make_tensor_value_info("output0", TensorProto.FLOAT, [batch, *output.shape])],
        [
            numpy_helper.from_array(np.array([1, 2, 3]), "axes"),
            numpy_helper.from_array(np.float32(0), "zero"),
            numpy_helper.from_array(np.array([-1, 1, 1]), "column"),
            numpy_helper.from_array(output[None], "answer"),
        ],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
    for key, value in {"names": NAMES, **(metadata or {})}.items():
        model.metadata_props.add(key=key, value=value)
    onnx.save(model, str(path))
    return path


def classes_head(rows, columns=50, classes=2):
    """Rows (x, y, w, h, a score a class) as ultralytics' v8 head has them: (4 + classes, columns)."""
    out = np.zeros((columns, 4 + classes), np.float32)
    if len(rows):
        out[: len(rows)] = rows
    return out.T
