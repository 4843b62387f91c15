"""A fingerprint of data made of dataclasses, arrays and plain values: the same for the same content, in any run."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np

from simjudge.core.errors import SimjudgeError


def hash_value(value: Any) -> str:
    """Hash a value by its content; two runs give the same hash."""
    digest = hashlib.sha256()
    _add(digest, value)
    return digest.hexdigest()


def _add(digest: Any, value: Any) -> None:
    if isinstance(value, np.ndarray):
        digest.update(f"array {value.dtype.str} {value.shape} ".encode())
        digest.update(np.ascontiguousarray(value).tobytes())
    elif is_dataclass(value) and not isinstance(value, type):
        digest.update(f"{type(value).__name__}(".encode())
        for field in fields(value):
            _add(digest, getattr(value, field.name))
    elif isinstance(value, Mapping):
        digest.update(f"map {len(value)} ".encode())
        for key in sorted(value, key=repr):
            _add(digest, key)
            _add(digest, value[key])
    elif isinstance(value, tuple | list):
        digest.update(f"row {len(value)} ".encode())
        for item in value:
            _add(digest, item)
    elif value is None or isinstance(value, str | bytes | int | float | bool | np.generic):
        digest.update(f"{type(value).__name__} {value!r} ".encode())
    elif not isinstance(value, Path):  # where a thing was read from is not what it is
        raise SimjudgeError(f"{type(value).__name__}: nothing to take a fingerprint of")
