"""Weights to ONNX, small enough to be kept beside the code."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np

from simjudge.core.files import atomic_file
from simjudge.detectors.ultralytics_setup import import_ultralytics


def export_onnx(weights: Path, out: Path, size: tuple[int, int], *, half: bool) -> None:
    """Export ultralytics weights to ONNX with class names and input size in its metadata, for any batch size.

    Args:
        size: width and height of the input, pixels, multiples of 32.
        half: store the weights as 16-bit floats; input, output and arithmetic stay 32-bit.
    """
    import onnx  # noqa: PLC0415 - an extra

    model = import_ultralytics().YOLO(str(weights), task="detect", verbose=False)
    height_width = (size[1], size[0])
    exported = Path(
        model.export(format="onnx", imgsz=height_width, dynamic=True, simplify=True, device="cpu", verbose=False)
    )
    network = onnx.load(str(exported))
    _fix_size(network, height_width)
    del network.graph.value_info[:]  # shapes in between, which every runtime finds out by itself
    for entry in list(network.metadata_props):
        if entry.key == "description":  # it names a temporary folder
            entry.value = f"{out.stem}, trained by simjudge"
        if entry.key == "date":  # the card has it; the same training gives the same bytes
            network.metadata_props.remove(entry)
    if half:
        halve_weights(network)
    onnx.checker.check_model(network)
    onnx.save(network, str(exported))
    with atomic_file(out) as temporary:
        shutil.copyfile(exported, temporary)
    exported.unlink()


def _fix_size(network: Any, height_width: tuple[int, int]) -> None:
    """Only the batch stays free."""
    for dim, side in zip(network.graph.input[0].type.tensor_type.shape.dim[2:], height_width, strict=True):
        dim.Clear()
        dim.dim_value = side


def halve_weights(network: Any, smallest: int = 256) -> int:
    """Store a network's large 32-bit float weights as 16-bit, each cast back to 32 bit before use."""
    from onnx import TensorProto, helper, numpy_helper  # noqa: PLC0415 - an extra

    casts = []
    for tensor in network.graph.initializer:
        if tensor.data_type != TensorProto.FLOAT:
            continue
        values = numpy_helper.to_array(tensor)
        if values.size < smallest or np.abs(values).max() > np.finfo(np.float16).max:
            continue
        name = tensor.name
        tensor.CopyFrom(numpy_helper.from_array(values.astype(np.float16), f"{name}_half"))
        casts.append(helper.make_node("Cast", [tensor.name], [name], name=f"{name}_cast", to=TensorProto.FLOAT))
    nodes = [*casts, *network.graph.node]
    del network.graph.node[:]
    network.graph.node.extend(nodes)
    return len(casts)
