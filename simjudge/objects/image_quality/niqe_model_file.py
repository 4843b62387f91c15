"""Files of NIQE models: JSON of simjudge's own, and the authors' parameters as MATLAB or NumPy files."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np

from simjudge.core.arrays import NO_ARRAYS, FloatArray
from simjudge.core.errors import SimjudgeError
from simjudge.core.files import atomic_file
from simjudge.core.input_files import read_bytes
from simjudge.core.isolated_process import read_isolated
from simjudge.core.isolated_readers import NIQE_NAMES
from simjudge.core.text import load_json
from simjudge.objects.image_quality.niqe import NiqeModel
from simjudge.objects.image_quality.scene_statistics import FEATURES

LARGEST = 2**24
"""Bytes of the largest file of parameters; the authors' have 11 kB."""


def read_niqe_model(path: Path) -> NiqeModel:
    """Read a model.

    Args:
        path: a .json file that simjudge wrote, or the authors' parameters in a .mat or .npz file.
    """
    readers = {".json": _json_arrays, ".mat": _mat_arrays, ".npz": _npz_arrays}
    reader = readers.get(path.suffix.lower())
    if reader is None:
        raise SimjudgeError(f"{path}: a NIQE model is a .json, .mat or .npz file; name such a file")
    origin, mean, covariance = reader(path)
    return NiqeModel(origin, *_checked(path, mean, covariance))


def write_niqe_model(path: Path, model: NiqeModel, photographs: list[dict[str, Any]]) -> None:
    """Write a model as JSON.

    Args:
        photographs: what it was fitted on, for people: a name, where it is from, its licence.
    """
    content = {
        "niqe_model": model.origin,
        "photographs": photographs,
        "mean": [float(f"{value:.9g}") for value in model.mean],
        "covariance": [[float(f"{value:.9g}") for value in row] for row in model.covariance],
    }
    lines = [f"  {json.dumps(key)}: {_lines(value)}" for key, value in content.items()]
    with atomic_file(path) as temporary:
        temporary.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def _lines(value: Any) -> str:
    """JSON with a line for each item of a list of lists or mappings."""
    if isinstance(value, list) and value and not isinstance(value[0], float):
        return "[\n    " + ",\n    ".join(json.dumps(item) for item in value) + "\n  ]"
    return json.dumps(value)


def _json_arrays(path: Path) -> tuple[str, Any, Any]:
    content = load_json(path)
    if not isinstance(content, dict) or not isinstance(content.get("niqe_model"), str):
        raise SimjudgeError(f"{path}: no NIQE model: the field niqe_model is missing; name a file that simjudge wrote")
    return content["niqe_model"], content.get("mean"), content.get("covariance")


def _mat_arrays(path: Path) -> tuple[str, Any, Any]:
    found = read_isolated("niqe", path, "no whole .mat file of version 7 or before; name NIQE's modelparameters.mat")
    return _origin(path), found["mean"], found["covariance"]


def _npz_arrays(path: Path) -> tuple[str, Any, Any]:
    data = read_bytes(path, LARGEST)
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
            found = {part: [arrays[n] for n in names if n in arrays] for part, names in NIQE_NAMES.items()}
    except NO_ARRAYS as error:
        raise SimjudgeError(f"{path}: not a readable NumPy file ({type(error).__name__}); name another") from error
    mean, covariance = (each[0] if each else None for each in found.values())
    return _origin(path), mean, covariance


def _origin(path: Path) -> str:
    return f"the parameters in {path.name}"


def _checked(path: Path, mean: Any, covariance: Any) -> tuple[FloatArray, FloatArray]:
    """The arrays, of the right shape and finite."""
    out = []
    for name, given, shape in (("mean", mean, (FEATURES,)), ("covariance", covariance, (FEATURES, FEATURES))):
        if given is None:
            raise SimjudgeError(f"{path}: has no {name} of the pristine features; name a file of NIQE's parameters")
        try:
            array = np.asarray(given, np.float64)
        except (ValueError, TypeError, OverflowError):
            array = np.empty(0)
        if array.size != np.prod(shape) or not np.isfinite(array).all():
            raise SimjudgeError(f"{path}: the {name} must be {' x '.join(map(str, shape))} finite numbers")
        out.append(array.reshape(shape))
    if not np.allclose(out[1], out[1].T, rtol=1e-6, atol=1e-12):
        raise SimjudgeError(f"{path}: the covariance is not symmetric; name a file of NIQE's parameters")
    return out[0], out[1]
