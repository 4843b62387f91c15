"""A camera as a person writes it down: size, field of view, lens, filters, rate and lag, in one YAML file.

    size: [1280, 720]              # pixels
    field_of_view: 80              # degrees between the left and the right edge, distortion included; or focal_length
    lens: {model: radial, k1: -0.369, k2: 0.1257, k3: -0.0194}       # or pinhole (the default), or fov
    supersampling: 2               # n x n rays a pixel; 2 by default
    rate: 30                       # pictures a second
    lag: 0.03                      # seconds from a picture's stamp until it is handed over; 0 by default
    exposure_time: 0.01            # seconds, from the stamp on; 0 by default: no motion blur
    exposure_samples: 4            # moments that the exposure is made of; 4 by default
    gain: 1.0                      # linear radiance times this is full scale; 1 by default
    filters:                       # in the order in which light and signal take them; none by default
      - shot_noise: {shot: 6, read: 0.5}
      - bayer: {pattern: GRBG}
      - srgb                       # above: linear light; below: display values. First of all if it is left out
      - gray_world
    chrono: {noise: ...}           # or physical: Chrono's own camera, of engine chrono only (`own_camera.py`)

In place of size, field_of_view and lens, `calibration: FILE` takes them from a calibration that ROS wrote; the path is
relative to the camera's file.
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import yaml

from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.core.installed import roots
from simjudge.sensors.camera.calibration import read_calibration
from simjudge.sensors.camera.chain import Step, apply_steps, encodes
from simjudge.sensors.camera.filters import named_filter
from simjudge.sensors.camera.lens import Lens, lens_of, lens_with_field, lens_with_focal_length
from simjudge.sensors.camera.own_camera import ChronoPhysical, OwnCamera, read_own

_LENS_FIELDS = ("size", "field_of_view", "focal_length", "lens")
_EXPOSURE_FIELDS = ("supersampling", "exposure_time", "exposure_samples", "gain")
_FIELDS = ("name", *_LENS_FIELDS, "calibration", *_EXPOSURE_FIELDS, "rate", "lag", "filters", "chrono")
_MOST_RAYS, _MOST_SAMPLES = 16, 256
_LENS_KEYS = {"pinhole": {"model"}, "fov": {"model"}, "radial": {"model", "k1", "k2", "k3"}}
_LARGEST_SIDE, _LARGEST = 20000, 1e300


@dataclass(frozen=True)
class Camera:
    """A camera.

    Attributes:
        name: its name, the file's unless it has one of its own.
        path: the file it was read from.
        lens: the lens, which knows the picture's size.
        steps: the chain of filters, in order.
        rate: pictures a second.
        lag: seconds from a picture's stamp until it is handed over.
        supersampling: n, for n x n rays a pixel.
        exposure_time: seconds that light falls on the sensor, from the picture's stamp on; 0: no motion blur.
        exposure_samples: moments that the exposure is made of; 1 where there is no exposure time.
        gain: linear radiance times this, 1 is full scale.
        own: what it asks of Chrono's own cameras; None: it is taken from linear light, by any engine.
    """

    name: str
    path: Path
    lens: Lens
    steps: tuple[Step, ...]
    rate: float
    lag: float
    supersampling: int = 2
    exposure_time: float = 0.0
    exposure_samples: int = 1
    gain: float = 1.0
    own: OwnCamera | None = None

    @property
    def rays_per_pixel(self) -> int:
        """What `Engine.render` is asked for."""
        return self.supersampling**2


def shipped_cameras() -> dict[str, Path]:
    """The cameras that come with simjudge, by name."""
    found = [path for root in roots() for path in sorted((root / "config" / "cameras").glob("*.yaml"))]
    return {path.stem: path for path in reversed(found)}


def read_camera(given: str | Path) -> Camera:
    """Read a camera's file, or the shipped camera of a name.

    Raises:
        UsageError: there is no such file, nor a camera of that name.
        SimjudgeError: the file is no camera; the message names file and field.
    """
    path = Path(given)
    if not path.is_file():
        shipped = shipped_cameras()
        if str(given) not in shipped:
            names = ", ".join(sorted(shipped)) or "none"
            raise UsageError(f"{given}: neither a camera's file nor the name of one that is shipped ({names})")
        path = shipped[str(given)]
    entry = _content(path)
    name = entry.get("name", path.stem)
    if not isinstance(name, str) or not name:
        raise _wrong(path, "name", "a text is needed", name)
    rate, lag = _number(path, entry, "rate"), _number(path, entry, "lag") if "lag" in entry else 0.0
    if rate <= 0:
        raise _wrong(path, "rate", "more than 0 pictures a second are needed", rate)
    if lag < 0:
        raise _wrong(path, "lag", "0 seconds or more are needed", lag)
    steps = _steps(path, entry.get("filters", []))
    return Camera(
        name, path, _lens(path, entry), steps, rate, lag, **_exposure(path, entry, rate), own=_own(path, entry)
    )


def _own(path: Path, entry: dict[str, Any]) -> OwnCamera | None:
    if "chrono" not in entry:
        return None
    own = read_own(f"{path}: chrono", entry["chrono"])
    if entry.get("exposure_time", 0):
        raise SimjudgeError(f"{path}: exposure_time: Chrono's own camera takes one moment; remove one of the two")
    if isinstance(own, ChronoPhysical) and "gain" in entry:
        raise SimjudgeError(f"{path}: gain: chrono.physical has aperture, exposure and iso in its place; remove it")
    return own


def _exposure(path: Path, entry: dict[str, Any], rate: float) -> dict[str, Any]:
    """The fields of how light is gathered."""
    time = _number(path, entry, "exposure_time") if "exposure_time" in entry else 0.0
    gain = _number(path, entry, "gain") if "gain" in entry else 1.0
    if not 0 <= time <= 1 / rate:
        raise _wrong(path, "exposure_time", f"0 to {1 / rate:.4g} seconds (1 / rate) are needed", time)
    if gain <= 0:
        raise _wrong(path, "gain", "more than 0 is needed", gain)
    if time == 0 and "exposure_samples" in entry:
        raise SimjudgeError(f"{path}: exposure_samples: needs an exposure_time above 0; give one or remove it")
    return {
        "supersampling": _whole(path, entry, "supersampling", 2, _MOST_RAYS),
        "exposure_time": time,
        "exposure_samples": _whole(path, entry, "exposure_samples", 4, _MOST_SAMPLES) if time else 1,
        "gain": gain,
    }


def _whole(path: Path, entry: dict[str, Any], field: str, default: int, most: int) -> int:
    value = entry.get(field, default)
    if type(value) is not int or not 1 <= value <= most:
        raise _wrong(path, field, f"a whole number from 1 to {most} is needed", value)
    return value


def _content(path: Path) -> dict[str, Any]:
    try:
        entry = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise SimjudgeError(f"{path}: cannot be read: {error.strerror}") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise SimjudgeError(f"{path}: no YAML: {' '.join(str(error).split())[:200]}") from error
    if not isinstance(entry, dict):
        raise SimjudgeError(f"{path}: no camera: fields such as size, field_of_view and rate are needed")
    _only(path, "", entry, _FIELDS)
    return entry


def _lens(path: Path, entry: dict[str, Any]) -> Lens:
    """The lens from its own fields, or from a calibration."""
    if "calibration" in entry:
        return _calibrated_lens(path, entry)
    size = _size(path, entry)
    given = entry.get("lens", {"model": "pinhole"})
    if not isinstance(given, dict) or str(given.get("model")) not in _LENS_KEYS:
        raise _wrong(path, "lens", f"a model is needed, one of {', '.join(_LENS_KEYS)}", given)
    model = str(given["model"])
    _only(path, "lens.", given, _LENS_KEYS[model])
    k1, k2, k3 = (_number(path, given, key, "lens.") if key in given else 0.0 for key in ("k1", "k2", "k3"))
    if ("field_of_view" in entry) == ("focal_length" in entry):
        raise SimjudgeError(f"{path}: field_of_view (degrees) or focal_length (pixels) is needed, one of the two")
    field = "field_of_view" if "field_of_view" in entry else "focal_length"
    make = lens_with_field if field == "field_of_view" else lens_with_focal_length
    try:
        return make(model, size, _number(path, entry, field), (k1, k2, k3))
    except UsageError as error:
        raise SimjudgeError(f"{path}: {field}, lens: {error}") from error


def _calibrated_lens(path: Path, entry: dict[str, Any]) -> Lens:
    both = [field for field in _LENS_FIELDS if field in entry]
    if both:
        raise SimjudgeError(f"{path}: {both[0]}: comes from the calibration; remove one of the two")
    if not isinstance(entry["calibration"], str):
        raise _wrong(path, "calibration", "the path of a file is needed", entry["calibration"])
    calibration = read_calibration(path.parent / entry["calibration"])
    doubt = calibration.doubt()
    if doubt and doubt.wrong:
        raise SimjudgeError(f"{path}: calibration: {doubt.message}")
    try:
        return lens_of(calibration)
    except UsageError as error:
        raise SimjudgeError(f"{path}: calibration: {error}") from error


def _size(path: Path, entry: dict[str, Any]) -> tuple[int, int]:
    size = entry.get("size")
    whole = isinstance(size, list) and len(size) == 2 and all(type(side) is int for side in size)
    if not isinstance(size, list) or not whole or not all(1 <= side <= _LARGEST_SIDE for side in size):
        raise _wrong(path, "size", f"[width, height] is needed, whole pixels from 1 to {_LARGEST_SIDE}", size)
    return size[0], size[1]


def _steps(path: Path, given: Any) -> tuple[Step, ...]:
    """The chain, each filter checked by name, parameters and their types, and by running it on a small picture."""
    if not isinstance(given, list):
        raise _wrong(path, "filters", "a list is needed", given)
    steps = []
    for number, item in enumerate(given):
        where = f"filters[{number}]"
        name, parameters = next(iter(item.items())) if isinstance(item, dict) and len(item) == 1 else (item, {})
        if not isinstance(name, str) or not isinstance(parameters, dict) or not all(map(_is_text, parameters)):
            raise _wrong(path, where, "a filter's name is needed, or one name: {parameter: value, ...}", item)
        try:
            step = Step(name, parameters)
            _check_types(path, where, step)
            apply_steps(np.full((8, 8, 3), 0.5), [step])
        except (UsageError, cv2.error, ValueError, OverflowError) as error:
            raise SimjudgeError(f"{path}: {where}: {' '.join(str(error).split())}") from error
        steps.append(step)
    try:
        encodes(steps)
    except UsageError as error:
        raise SimjudgeError(f"{path}: filters: {error}") from error
    return tuple(steps)


def _check_types(path: Path, where: str, step: Step) -> None:
    """Refuse parameters that are missing, or that are text where a number is needed or the other way round."""
    function = named_filter(step.name)
    hints = typing.get_type_hints(function)
    for name, parameter in list(inspect.signature(function).parameters.items())[1:]:
        if name not in step.parameters:
            if parameter.default is inspect.Parameter.empty and name != "seed":
                raise SimjudgeError(f"{path}: {where}.{step.name}: {name} is missing")
        elif hints.get(name) in {int, float}:
            _number(path, step.parameters, name, f"{where}.{step.name}.")
        elif hints.get(name) is str and not isinstance(step.parameters[name], str):
            raise _wrong(path, f"{where}.{step.name}.{name}", "a text is needed", step.parameters[name])


def _number(path: Path, entry: Mapping[str, Any], field: str, before: str = "") -> float:
    value = entry.get(field)
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < _LARGEST:
        raise _wrong(path, before + field, "a number is needed", value)
    return float(value)


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _only(path: Path, before: str, entry: dict[Any, Any], known: typing.Collection[str]) -> None:
    unknown = [key for key in entry if key not in known]
    if unknown:
        raise SimjudgeError(f"{path}: {before}{unknown[0]}: no such field; there are {', '.join(sorted(known))}")


def _wrong(path: Path, field: str, needed: str, value: object) -> SimjudgeError:
    shown = "nothing is given" if value is None else f"this is {' '.join(str(value).split())[:60]}"
    return SimjudgeError(f"{path}: {field}: {needed}; {shown}")
