"""Writes an estimated lidar as a table of a sensor file."""

from __future__ import annotations

import math
import textwrap
from typing import Any

from simjudge.geometry.poses import Pose
from simjudge.sim.sensors.lidar.beam_estimation import BeamEstimate

_WIDTH = 120
_DIGITS = 4
"""Of degrees: 0.0001 degrees is 0.2 mm at 100 m."""


def lidar_table(estimate: BeamEstimate, ranges: tuple[float, float], mount: Pose | None) -> dict[str, Any]:
    """The fields of a sensor file that an estimate tells, in the file's units and as many digits as it gets.

    Args:
        ranges: of the nearest and the farthest point that was seen, metres.
        mount: where the lidar sits on the car, if that is known.
    """
    rate = estimate.rate
    window = estimate.columns * estimate.period
    full = estimate.field_of_view > 2 * math.pi - 1e-9
    table: dict[str, Any] = {"kind": "lidar", "rate": float(f"{rate:.9g}")}
    if mount is not None:
        table["mount"] = {
            "position": [round(each, _DIGITS) for each in mount.position],
            "orientation": [round(each, 8) for each in mount.orientation],
        }
    table["columns"] = estimate.columns
    if not full:
        table["field_of_view"] = round(math.degrees(estimate.field_of_view), 6)
        table["window"] = float(f"{window:.9g}")
    table["start"] = _degrees(estimate.start)
    table["clockwise"] = estimate.clockwise
    table["elevation"] = [_degrees(ring.elevation) for ring in estimate.rings]
    azimuths = [_degrees(ring.azimuth) for ring in estimate.rings]
    if any(azimuths):
        table["ring_azimuth"] = azimuths
    if estimate.timed and any(round(ring.delay * 1e6, 3) for ring in estimate.rings):
        table["ring_delay"] = [round(ring.delay * 1e6, 3) for ring in estimate.rings]
    if estimate.head_deviation:
        table["head_deviation"] = [_degrees(each) for each in estimate.head_deviation]
    table["range"] = [math.floor(ranges[0] * 100) / 100, math.ceil(ranges[1])]
    return table


def sensor_text(tables: dict[str, dict[str, Any]], comments: list[str]) -> str:
    """A sensor file."""
    lines = [part for line in comments for part in textwrap.wrap(line, _WIDTH, initial_indent="# ",
                                                                 subsequent_indent="# ")]  # fmt: skip
    for name, table in tables.items():
        lines.append(f"{name}:")
        for field, value in table.items():
            text = f"  {field}: {_yaml(value)}"
            lines += textwrap.wrap(text, _WIDTH, subsequent_indent="    ", break_long_words=False)
    return "\n".join(lines) + "\n"


def _degrees(radians: float) -> float:
    # 0.0, never -0.0
    return round(math.degrees(radians), _DIGITS) + 0.0


def _yaml(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name}: {_yaml(each)}" for name, each in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(_yaml(each) for each in value) + "]"
    return str(value)
