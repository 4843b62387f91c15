"""The settings of a comparison of trajectories, each declared once (see `simjudge.core.settings`)."""

from __future__ import annotations

from dataclasses import dataclass

from simjudge.core.errors import UsageError
from simjudge.core.settings import Settings, setting
from simjudge.geometry.error_names import ALIGNMENTS, DELTA_UNITS, FRAMES, METRES, NONE
from simjudge.judging.compare_settings import RunDrawSettings, check_contexts

CURVATURE, SPEED, DISTANCE = "curvature", "speed", "distance"
CONTEXTS = (CURVATURE, SPEED, DISTANCE)
TRUTH, ESTIMATE = "truth", "estimate"
APE_TRANSLATION, APE_ROTATION = "APE translation", "APE rotation"
RPE_TRANSLATION, RPE_ROTATION = "RPE translation", "RPE rotation"
METRICS = (APE_TRANSLATION, APE_ROTATION, RPE_TRANSLATION, RPE_ROTATION)
"""Absolute and relative pose errors, by the names that evo gives them."""
UNITS = {APE_TRANSLATION: "m", APE_ROTATION: "deg", RPE_TRANSLATION: "m", RPE_ROTATION: "deg"}


@dataclass(frozen=True, kw_only=True)
class PoseReadingSettings(Settings, panel="Reading"):
    """How truth and estimates are read and matched."""

    # topic of the truth in recordings; /tf:PARENT.CHILD for transforms
    truth: str | None = setting(
        None, "Topic of the true poses in recordings; /tf:PARENT.CHILD for transforms.", common=True
    )
    estimate: str | None = setting(
        None, "Topic of the estimated poses in recordings; /tf:PARENT.CHILD for transforms.", common=True
    )
    max_time_difference: float = setting(
        0.01, "Longest time between an estimated pose and its true one.", unit="s", low=1e-9, high=3600
    )
    rate: float = setting(10.0, "Poses per second of files without stamps (KITTI).", unit="Hz", low=1e-3, high=1e5)


@dataclass(frozen=True, kw_only=True)
class PoseErrorSettings(Settings, panel="Errors"):
    """How errors are measured."""

    align: str = setting(
        NONE,
        "Alignment of each estimate with its truth: origin (first poses), se3 (Umeyama), sim3 (Umeyama with scale).",
        choices=ALIGNMENTS,
        common=True,
    )
    delta: float = setting(1.0, "Length of a stretch that one relative error is over.", low=1e-6, high=1e6, common=True)
    delta_unit: str = setting(METRES, "Unit of the length of a stretch.", choices=DELTA_UNITS, common=True)
    # by which trajectory stretches are cut
    pairs: str = setting(
        TRUTH, "Trajectory along which stretches are measured; evo takes the estimate.", choices=(TRUTH, ESTIMATE)
    )


@dataclass(frozen=True, kw_only=True)
class WayContextSettings(Settings, panel="Similar stretches"):
    """Which stretches of the way are similar contexts."""

    contexts: tuple[str, ...] = setting(
        (CURVATURE, SPEED),
        "What similar stretches are alike in: curvature, speed, distance (from the start).",
        common=True,
    )
    curvature_tolerance: float | None = setting(
        None,
        "By how much the curvature of similar stretches may differ; not given: a quarter of the largest real one.",
        unit="1/m",
        low=1e-9,
        high=1e6,
    )
    speed_tolerance: float | None = setting(
        None,
        "By how much the speed of similar stretches may differ; not given: 15 % of the real median.",
        unit="m/s",
        low=1e-9,
        high=1e6,
    )
    distance_tolerance: float | None = setting(
        None,
        "By how much the way from the start may differ; not given: 15 % of the longest real way.",
        unit="m",
        low=1e-9,
        high=1e9,
    )


@dataclass(frozen=True, kw_only=True)
class PoseMarginSettings(Settings, panel="Margins"):
    """From where on a difference of two errors matters."""

    margin_position: float = setting(
        0.1, "Absolute position error from which a gap matters.", unit="m", low=1e-9, high=1e6, common=True
    )
    margin_rotation: float = setting(
        1.0, "Absolute rotation error from which a gap matters.", unit="deg", low=1e-9, high=180
    )
    margin_relative: float = setting(
        0.05, "Relative position error from which a gap matters.", unit="m", low=1e-9, high=1e6, common=True
    )
    margin_turn: float = setting(
        0.5, "Relative rotation error from which a gap matters.", unit="deg", low=1e-9, high=180
    )
    # errors are divided by this many margins, and larger ones count as 1
    reach: float = setting(
        20.0, "Largest error that counts, in margins: larger ones count as this one.", low=1, high=1e6
    )

    def margin(self, metric: str) -> float:
        """From where on a difference matters."""
        return {
            APE_TRANSLATION: self.margin_position,
            APE_ROTATION: self.margin_rotation,
            RPE_TRANSLATION: self.margin_relative,
            RPE_ROTATION: self.margin_turn,
        }[metric]


@dataclass(frozen=True, kw_only=True)
class TrajectorySettings(
    PoseReadingSettings, PoseErrorSettings, WayContextSettings, PoseMarginSettings, RunDrawSettings
):
    """How trajectories are compared."""

    def __post_init__(self) -> None:
        """Check the values."""
        super().__post_init__()
        check_contexts(self.contexts, CONTEXTS)
        if self.delta_unit == FRAMES and (self.delta != round(self.delta) or self.delta < 1):
            raise UsageError(f"--delta {self.delta:g}: with --delta-unit frames a whole number from 1 on is needed")
