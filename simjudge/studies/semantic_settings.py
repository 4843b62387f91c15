"""The settings of a comparison that concern label pictures alone, each declared once (see `simjudge.core.settings`)."""

from __future__ import annotations

from dataclasses import dataclass

from simjudge.core.settings import setting
from simjudge.studies.lidar_settings import LidarSettings

OBJECTS, SEMANTIC = "objects", "semantic"
PATCH_METRICS = {"iou": "mean_iou", "accuracy": "accuracy"}
"""What performance is in label pictures, by the name of the setting."""


@dataclass(frozen=True, kw_only=True)
class SemanticSettings(LidarSettings):
    """What is judged: objects, or the pixels of label pictures; and how those are cut into patches.

    Attributes:
        stride: from patch to patch, pixels; None for the patch's size.
        width: to which pictures and label pictures are scaled, pixels; None leaves them as they are.
    """

    task: str = setting(
        OBJECTS, "What is judged: objects, by their boxes or masks; semantic, label pictures in patches on a grid.",
        choices=(OBJECTS, SEMANTIC),
    )  # fmt: skip
    stride: int | None = setting(
        None, "Semantic: distance of the patches; not given, they touch.", unit="px", low=1, high=4096
    )
    width: int | None = setting(
        None, "Semantic: width that pictures and labels are scaled to; not given, as they are.", unit="px", low=16,
        high=16_384,
    )  # fmt: skip
