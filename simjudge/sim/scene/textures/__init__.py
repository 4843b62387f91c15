"""Textures painted by code: patterns by name, each a function of parameters and a seed, tileable."""

from __future__ import annotations

import difflib
import inspect
import typing
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from simjudge.core.errors import UsageError
from simjudge.core.text import one_line
from simjudge.sim.scene.scene_fields import parse_srgb, to_linear
from simjudge.sim.scene.textures.patterns import FLOORS, OBJECTS, WALLS, Image

Pattern = Callable[..., Image]
_PATTERNS: dict[str, Pattern] = {function.__name__: function for function in (*FLOORS, *WALLS, *OBJECTS)}
_LIMITS = {"size": (16, 4096), "seed": (0, 2**31), "stripes": (0, 9)}
_COUNTS = (1, 64)  # Limits of whole numbers: of those by name, and of tiles, columns and the like
_LEVELS = 4096


def patterns() -> dict[str, str]:
    """What each pattern is, by name."""
    return {name: str(inspect.getdoc(function)).splitlines()[0] for name, function in sorted(_PATTERNS.items())}


def make_texture(name: str, parameters: Mapping[str, object] | None = None) -> npt.NDArray[np.float32]:
    """The texture of a pattern: float32 (size, size, 3), linear RGB, read-only; the same arguments give the same one.

    `parameters` of the pattern's function; `size` (pixels) and `seed` are known to all. Colours are "#rrggbb" or three
    numbers from 0 to 1, sRGB.
    """
    if name not in _PATTERNS:
        raise UsageError(f"pattern: there is no {one_line(name)!r}{_hint(name, _PATTERNS)}")
    checked = {key: _checked(name, key, value) for key, value in (parameters or {}).items()}
    return _painted(name, tuple(sorted(checked.items())))


def _checked(name: str, key: str, value: Any) -> Any:
    hints = typing.get_type_hints(_PATTERNS[name])
    hints.pop("return")
    if key not in hints:
        raise UsageError(f"{name}.{key}: no such parameter{_hint(key, hints)}")
    if hints[key] is int:
        least, most = _LIMITS.get(key, _COUNTS)
        if type(value) is not int or not least <= value <= most:
            raise UsageError(
                f"{name}.{key}: a whole number from {least} to {most} is needed; this is {one_line(value)}"
            )
        return value
    if hints[key] is float:
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
            raise UsageError(f"{name}.{key}: a number from 0 to 1 is needed; this is {one_line(value)}")
        return float(value)
    colour = parse_srgb(value)
    if colour is None:
        raise UsageError(f'{name}.{key}: "#rrggbb" or three numbers from 0 to 1 are needed; this is {one_line(value)}')
    return colour


@lru_cache(maxsize=48)
def _painted(name: str, parameters: tuple[tuple[str, Any], ...]) -> npt.NDArray[np.float32]:
    srgb = _PATTERNS[name](**dict(parameters))
    # A table is several times quicker than a power of every pixel, and finer than any camera.
    table = to_linear(np.arange(_LEVELS) / (_LEVELS - 1)).astype(np.float32)
    texture: npt.NDArray[np.float32] = table[np.clip(srgb * (_LEVELS - 1) + 0.5, 0, _LEVELS - 1).astype(np.int16)]
    texture.flags.writeable = False
    return texture


def _hint(given: str, known: typing.Collection[str]) -> str:
    near = difflib.get_close_matches(given, known, 1)
    return f"; is {near[0]} meant?" if near else f"; there are {', '.join(sorted(known))}"
