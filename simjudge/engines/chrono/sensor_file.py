"""Lidar, GPS and inertial sensors as a person writes them down: one YAML file, sensors by name.

gps:
  kind: gps                              # or lidar, accelerometer, gyroscope, magnetometer
  rate: 10                               # readings a second
  mount: {position: [0.1, 0.0, 0.2], yaw: 0, pitch: 0, roll: 0}      # in base_link; metres, degrees
  window: 0.02                           # seconds a reading is averaged over; accelerometers: 0.005 at least, else 0.01
  lag: 0.01                              # seconds from a reading's stamp until it is handed over
  reference: [-89.4, 43.07, 260]         # longitude, latitude, degrees, altitude, m, of the world's origin
  noise: {deviation: [0.5, 0.5, 1.0]}    # ours, seeded; of x, y, z in their unit. GPS: metres east, north, up
scan:
  kind: lidar
  size: [900, 16]                        # beams around, and rings
  field: 360                             # degrees around
  vertical: [-15, 15]                    # lowest and highest ring, degrees
  range: 30                              # metres
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.core.installed import roots
from simjudge.geometry.poses import Pose

KINDS = ("lidar", "gps", "accelerometer", "gyroscope", "magnetometer")
SHORTEST = 0.005
"""Seconds: the shortest window of an accelerometer. ARTcar's tyres push and pull in turn, about every 2 ms: read at one
instant, a standing car is 5 m/s^2 off, in the mean too, and a driving one 10; over 10 ms, within 0.002."""
_COMMON = {"kind", "rate", "mount", "window", "lag", "noise"}
_OWN = {
    "lidar": {"size", "field", "vertical", "range"},
    "gps": {"reference"},
    "magnetometer": {"reference"},
    "accelerometer": set[str](),
    "gyroscope": set[str](),
}
Triple = tuple[float, float, float]


@dataclass(frozen=True)
class SensorSpec:
    """One sensor.

    Attributes:
        name, kind: its own, and one of KINDS.
        rate: readings a second.
        mount: its frame in base_link (x ahead, y left, z up).
        window, lag: seconds, see the module.
        deviation: of the noise on each component in its unit; of a GPS in metres east, north, up.
        reference: longitude, latitude (degrees), altitude (m) of the world's origin; x is east, y is north.
        size: beams around and rings.
        around: radians.
        vertical: lowest and highest ring, radians.
        range: metres.
    """

    name: str
    kind: str
    rate: float
    mount: Pose = field(default_factory=Pose)
    window: float = 0.0
    lag: float = 0.0
    deviation: Triple = (0.0, 0.0, 0.0)
    reference: Triple = (0.0, 0.0, 0.0)
    size: tuple[int, int] = (360, 1)
    around: float = 2 * math.pi
    vertical: tuple[float, float] = (0.0, 0.0)
    range: float = 30.0


def read_sensors(given: str | Path) -> tuple[SensorSpec, ...]:
    """Read a file of sensors, or the shipped one of a name (config/sensors).

    Raises:
        UsageError: there is no such file.
        SimjudgeError: it says something else than sensors; the message names file and field.
    """
    path = Path(given)
    if not path.is_file():
        shipped = [root / "config" / "sensors" / f"{given}.yaml" for root in roots()]
        path = next((candidate for candidate in shipped if candidate.is_file()), path)
    if not path.is_file():
        raise UsageError(f"{given}: neither a file nor a name in config/sensors")
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise SimjudgeError(f"{path}: {str(error).splitlines()[0]}") from error
    if not isinstance(content, dict) or not content:
        raise SimjudgeError(f"{path}: sensors by name are needed")
    return tuple(_sensor(f"{path}, {name}", str(name), fields) for name, fields in content.items())


def _sensor(where: str, name: str, fields: Any) -> SensorSpec:
    if not isinstance(fields, Mapping) or fields.get("kind") not in KINDS:
        raise SimjudgeError(f"{where}: kind: one of {', '.join(KINDS)} is needed")
    kind = str(fields["kind"])
    unknown = sorted(set(map(str, fields)) - _COMMON - _OWN[kind])
    if unknown:
        raise SimjudgeError(f"{where}: a {kind} has no {unknown[0]}; it has {', '.join(sorted(_COMMON | _OWN[kind]))}")
    rate = _number(where, "rate", fields.get("rate"), low=1e-3)
    if kind == "accelerometer":
        if rate > 1 / SHORTEST:
            raise SimjudgeError(f"{where}: rate: an accelerometer reads {1 / SHORTEST:g} times a second at most")
        window = _number(where, "window", fields.get("window", min(1 / rate, 0.01)), low=SHORTEST, high=1 / rate)
    else:
        window = _number(where, "window", fields.get("window", 0.0), high=1 / rate)
    values: dict[str, Any] = {
        "rate": rate,
        "window": window,
        "lag": _number(where, "lag", fields.get("lag", 0.0)),
        "mount": _mount(f"{where}, mount", fields.get("mount", {})),
    }
    noise = fields.get("noise", {})
    if not isinstance(noise, Mapping) or set(noise) - {"deviation"}:
        raise SimjudgeError(f"{where}: noise: {{deviation: [x, y, z]}} is needed")
    values["deviation"] = _three(where, "deviation", noise.get("deviation", [0, 0, 0]), low=0)
    if "reference" in fields:
        values["reference"] = _three(where, "reference", fields["reference"])
    if kind == "lidar":
        values |= _lidar(where, fields)
    return SensorSpec(name, kind, **values)


def _lidar(where: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    size = fields.get("size", [360, 1])
    if not isinstance(size, list) or len(size) != 2 or not all(isinstance(n, int) and 1 <= n <= 10000 for n in size):
        raise SimjudgeError(f"{where}: size: [beams, rings], whole numbers from 1 on, are needed")
    vertical = fields.get("vertical", [0, 0])
    if not isinstance(vertical, list) or len(vertical) != 2:
        raise SimjudgeError(f"{where}: vertical: [lowest, highest], degrees, are needed")
    low, high = (math.radians(_number(where, "vertical", v, low=-90, high=90)) for v in vertical)
    if low > high:
        raise SimjudgeError(f"{where}: vertical: the lowest ring comes first")
    around = math.radians(_number(where, "field", fields.get("field", 360), low=1e-3, high=360))
    reach = _number(where, "range", fields.get("range", 30), low=1e-3)
    return {"size": (size[0], size[1]), "around": around, "vertical": (low, high), "range": reach}


def _mount(where: str, fields: Any) -> Pose:
    known = {"position", "yaw", "pitch", "roll"}
    if not isinstance(fields, Mapping) or set(fields) - known:
        raise SimjudgeError(f"{where}: only {', '.join(sorted(known))} belong there")
    x, y, z = _three(where, "position", fields.get("position", [0, 0, 0]))
    turn = {
        key: math.radians(_number(where, key, fields.get(key, 0), low=-360, high=360))
        for key in ("yaw", "pitch", "roll")
    }
    return Pose.from_euler(x, y, z, **turn)


def _three(where: str, name: str, value: Any, low: float = -math.inf) -> Triple:
    if not isinstance(value, list) or len(value) != 3:
        raise SimjudgeError(f"{where}: {name}: three numbers are needed")
    x, y, z = (_number(where, name, v, low=low) for v in value)
    return x, y, z


def _number(where: str, name: str, value: Any, low: float = 0.0, high: float = math.inf) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high or math.isinf(value):
        wanted = f"from {low:g} on" if math.isinf(high) else f"from {low:g} to {high:g}"
        raise SimjudgeError(f"{where}: {name}: a number {wanted} is needed, not {value!r}")
    return float(value)
