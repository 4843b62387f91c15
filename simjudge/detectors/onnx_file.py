"""ONNX files: opening them, and what their metadata says."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

from simjudge.core.errors import SimjudgeError

UNREADABLE = (ValueError, SyntaxError, TypeError, OverflowError, MemoryError, RecursionError)
"""What `ast.literal_eval` and `int` raise for a text that is not what it should be."""


def open_session(path: Path) -> Any:
    """Open a file in ONNX Runtime."""
    import onnxruntime  # noqa: PLC0415 - heavy

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    wanted = ("CUDAExecutionProvider", "CPUExecutionProvider")
    providers = [p for p in wanted if p in onnxruntime.get_available_providers()]
    try:
        return onnxruntime.InferenceSession(str(path), options, providers=providers)
    except Exception as error:
        raise SimjudgeError(f"{path}: not a readable ONNX model: {first_line(error)}") from error


def metadata_names(path: Path, metadata: dict[str, str]) -> dict[int, str]:
    """Names of classes in the metadata of a model, as ultralytics writes them.

    Returns:
        Names by number; empty where there are none.
    """
    text = metadata.get("names", "")
    if not text:
        return {}
    try:
        names = ast.literal_eval(text)
        pairs = names.items() if isinstance(names, dict) else enumerate(names)
        return {int(k): str(v) for k, v in pairs}
    except UNREADABLE as error:
        raise SimjudgeError(f"{path}: the class names in its metadata cannot be read: {text[:80]!r}") from error


def first_line(error: BaseException) -> str:
    """The first line of what an error says, 200 characters at most."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
