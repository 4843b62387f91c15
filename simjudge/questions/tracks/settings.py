"""The settings of a comparison of tracks, each declared once (see `simjudge.core.settings`)."""

from __future__ import annotations

from dataclasses import dataclass

from simjudge.core.settings import Settings, setting
from simjudge.judging.compare_settings import RunDrawSettings, check_contexts
from simjudge.method.verdicts import MARGIN

SIZE, CROWD, MOTION = "size", "crowd", "motion"
CONTEXTS = (SIZE, CROWD, MOTION)
ASSOCIATION, DETECTION, IDENTITY = "association (HOTA)", "detection (MOTA)", "identity (IDF1)"
METRICS = (ASSOCIATION, DETECTION, IDENTITY)
"""What a tracker does with each labelled box: the part of the score in brackets that is of objects."""
SCORES = ("HOTA", "DetA", "AssA", "LocA", "MOTA", "MOTP", "IDF1", "IDR", "IDP", "switches")


@dataclass(frozen=True, kw_only=True)
class BoxContextSettings(Settings, panel="Similar objects"):
    """Which objects in frames are similar contexts."""

    contexts: tuple[str, ...] = setting(
        CONTEXTS, "What similar objects are alike in: size, crowd, motion.", common=True
    )
    size_tolerance: float = setting(
        0.25, "By how much the heights of similar boxes may differ, in doublings.", low=1e-6, high=100
    )
    crowd_tolerance: float = setting(
        0.1, "By how much the IoU with the box that covers most of them may differ.", low=1e-6, high=1
    )
    motion_tolerance: float = setting(
        0.05, "By how much the way since the frame before may differ, in heights of the box.", low=1e-6, high=100
    )


@dataclass(frozen=True, kw_only=True)
class TrackMarginSettings(Settings, panel="Certainty"):
    """From where on a difference of two trackers matters."""

    margin: float = setting(
        MARGIN,
        "Difference of association, detection and identity from which a gap matters.",
        low=1e-6,
        high=1,
        common=True,
    )


@dataclass(frozen=True, kw_only=True)
class TrackSettings(BoxContextSettings, TrackMarginSettings, RunDrawSettings):
    """How tracks are compared."""

    def __post_init__(self) -> None:
        """Check the values."""
        super().__post_init__()
        check_contexts(self.contexts, CONTEXTS)
