"""The driver by cones on lanes wider than ART-1's: lengths grow with the lane, times and speeds with its root.

The figures of `DriverParameters` are tuned for a car of 1:6 in a lane of up to 1 m. At another scale a car takes the
same line where speed^2 / (gravity x length) is the same (Froude's number): curvature falls as the lane grows, and
lateral acceleration stays.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TypeVar

from simjudge.sim.driving.driver import DriverParameters
from simjudge.sim.driving.steering import SpeedController

TUNED_WIDTH = 1.0
"""Width of lane, metres, up to which the driver's figures hold as they are."""

_Figures = TypeVar("_Figures")


def lane_scale(lane_width: float) -> float:
    """How many times as large as the driver's own figures a lane is; 1 for a lane of up to 1 m.

    Args:
        lane_width: metres.
    """
    return max(1.0, lane_width / TUNED_WIDTH)


def scale_to_lane(parameters: DriverParameters) -> DriverParameters:
    """The driver's lengths and times for its lane. Its speeds stay: `lane_speeds` has those.

    Args:
        parameters: with the lane's width and the cones' shape; everything else as for a lane of up to 1 m.
    """
    scale = lane_scale(parameters.lane_width)
    root = math.sqrt(scale)
    bend = 1.0 / scale
    return replace(
        parameters,
        horizon=scale * parameters.horizon,
        line=_scaled(
            parameters.line, behind=scale, ahead=scale, knot=scale, curvature=bend, change=bend, offset=scale,
            width=scale, cone=scale,
        ),
        look_ahead=_scaled(parameters.look_ahead, metres=scale, seconds=root),
        uncertainty=_scaled(parameters.uncertainty, farthest=scale, position_error=scale),
        # An error that grows with the root of the distance.
        cone_map=_scaled(parameters.cone_map, gate=scale, drift=root, reach=scale, min_spacing=scale, sure=scale),
    )  # fmt: skip


def lane_speeds(lane_width: float, speeds: SpeedController | None = None) -> SpeedController:
    """The speeds for a lane: they grow with the root of its width; accelerations stay.

    Args:
        lane_width: metres.
        speeds: for a lane of up to 1 m; None for the defaults.
    """
    root = math.sqrt(lane_scale(lane_width))
    return _scaled(speeds or SpeedController(), fastest=root, slowest=root)


def _scaled(figures: _Figures, **factors: float) -> _Figures:
    return replace(figures, **{name: factor * getattr(figures, name) for name, factor in factors.items()})  # type: ignore[type-var]
