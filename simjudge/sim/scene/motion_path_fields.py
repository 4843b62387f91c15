"""What may stand in a scene's file about a thing that moves by a script."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from simjudge.core.documents import Fields
from simjudge.core.field_types import Choice, Flag, NumberList
from simjudge.sim.scene.scene_fields import FARTHEST, Amount, Point, Positive


class MotionPathFields(Fields):
    """A path through waypoints; a thing on it obeys no physics, others bump into it."""

    waypoints: Annotated[tuple[Point, ...], Field(min_length=2)]
    """Points [x, y, z] or [x, y], metres: where the thing's origin goes."""
    speed: Positive | None = None
    """Metres a second, the same all along; in place of `times`."""
    times: Annotated[tuple[float, ...], NumberList(ge=0, le=FARTHEST)] | None = None
    """Seconds since the start at which it is at each waypoint, and, on a closed path, back at the first."""
    smooth: Annotated[bool, Flag()] = False
    """Along a smooth line through the waypoints; straight from one to the next, if left out."""
    closed: Annotated[bool, Flag()] = False
    """From the last waypoint back to the first, again and again; it stays at the last, if left out."""
    facing: Annotated[Literal["along", "fixed"], Choice()] = "along"
    """Its x axis looks ahead along the path, or stays as yaw, pitch and roll have it."""
    start: Amount = 0.0
    """Seconds of the path that are over when the scene starts; below 0, it sets out later (on a closed path, it is as
    far from the path's end)."""

    @model_validator(mode="after")
    def _check_pace(self) -> MotionPathFields:
        self.only("speed", "times", subject="a path")
        return self
