"""The settings of a comparison of drives, each declared once (see `simjudge.core.settings`)."""

from __future__ import annotations

from dataclasses import dataclass

from simjudge.core.errors import UsageError
from simjudge.core.settings import Settings, setting
from simjudge.judging.compare_settings import RunDrawSettings


@dataclass(frozen=True, kw_only=True)
class StretchSettings(Settings, panel="Similar stretches"):
    """Which stretches of the course are similar contexts."""

    # by how much the curvature may differ, 1/m; None: from the course
    curvature_tolerance: float | None = setting(
        None,
        "By how much the curvature of similar stretches may differ; not given: a quarter of the course's largest.",
        unit="1/m",
        low=1e-6,
        high=100,
    )
    # by how much the speed on entry may differ, m/s; None: from the real drives
    speed_tolerance: float | None = setting(
        None,
        "By how much the speed on entry of similar stretches may differ; not given: 15 % of the real drives' median.",
        unit="m/s",
        low=1e-6,
        high=100,
    )
    # how many cones of each side, of the scene `course`, are part of a context; 0: none
    cones: int = setting(
        0,
        "Next cones on the left, and as many on the right, whose places are part of a context; needs a course.",
        low=0,
        high=20,
    )
    cone_tolerance: float = setting(
        0.25,
        "By how much the places of cones of similar stretches may differ, ahead and aside.",
        unit="m",
        low=1e-6,
        high=1000,
    )


@dataclass(frozen=True, kw_only=True)
class DriveMarginSettings(Settings, panel="Margins"):
    """From where on a difference of two drives matters."""

    margin_lateral: float = setting(0.05, "Lateral error from which a gap matters.", unit="m", low=1e-9, high=100)
    margin_heading: float = setting(3.0, "Heading error from which a gap matters.", unit="deg", low=1e-9, high=180)
    margin_speed: float = setting(0.1, "Speed error from which a gap matters.", unit="m/s", low=1e-9, high=100)
    margin_steering: float = setting(0.1, "Steering effort from which a gap matters.", unit="1/m", low=1e-9, high=100)

    def margin(self, metric: str) -> float:
        """From where on a difference matters."""
        return {
            LATERAL: self.margin_lateral,
            HEADING: self.margin_heading,
            SPEED: self.margin_speed,
            STEERING: self.margin_steering,
        }[metric]


@dataclass(frozen=True, kw_only=True)
class CourseSettings(Settings, panel="Course"):
    """What was driven."""

    # file or name of the scene whose course was driven; None: the mean line of all drives
    course: str | None = setting(
        None, "Scene whose course was driven; not given: the mean line of all drives.", common=True
    )
    window: float = setting(
        0.5, "Length of a stretch of the course that is one context.", unit="m", low=0.1, high=1000, common=True
    )
    # the speed that speed errors are from, m/s; None: the usual one at each place
    target_speed: float | None = setting(
        None,
        "Speed that speed errors are from; not given: the median of all drives at each place.",
        unit="m/s",
        low=0,
        high=200,
        common=True,
    )
    poses: str | None = setting(None, "Topic of poses, of recordings that have several.", common=True)


@dataclass(frozen=True, kw_only=True)
class DriveComparisonSettings(StretchSettings, DriveMarginSettings, CourseSettings, RunDrawSettings):
    """How drives are compared."""

    def __post_init__(self) -> None:
        """Check the values, and that somebody says where cones stand."""
        super().__post_init__()
        if self.cones and self.course is None:
            raise UsageError("cones: name the scene where they stand as the course, such as lab")


LATERAL, HEADING, SPEED, STEERING = "lateral error", "heading error", "speed error", "steering effort"
METRICS = (LATERAL, HEADING, SPEED, STEERING)
UNITS = {LATERAL: "m", HEADING: "deg", SPEED: "m/s", STEERING: "1/m"}
"""Steering effort: how much the steering changes in all, in its own unit, per metre driven."""
