"""The settings of a comparison that concern lidar alone, each declared once (see `simjudge.core.settings`)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from simjudge.core.errors import UsageError
from simjudge.core.settings import TextForm, setting
from simjudge.detectors.detector_settings import DetectorSettings

CAMERA, LIDAR = "camera", "lidar"
LIDAR_PATCH = (16, 120)
"""Rows and columns of a patch in range images where nobody says otherwise: 24 degrees wide at 1800 columns, about
twice a car at 20 m; and all rings of a device with 16, a quarter of those of one with 64."""
_MOST_ROWS = 1024


def elevation_rows(given: str | Sequence[float]) -> tuple[float, float, int]:
    """Rows of a range image at even elevations.

    Args:
        given: text, "-25:3:64" (lowest, highest, rows), or the three numbers. Degrees.
    """
    parts = given.split(":") if isinstance(given, str) else list(given)
    try:
        low, high, rows = float(parts[0]), float(parts[1]), int(parts[2])
    except (ValueError, IndexError, TypeError, OverflowError):
        low, high, rows = math.nan, math.nan, 0
    if len(parts) != 3 or not (-90 <= low < high <= 90 and 2 <= rows <= _MOST_ROWS):
        raise UsageError(
            f"elevations {given!r}: write LOWEST:HIGHEST:ROWS, as in -25:3:64; degrees from -90 to 90, 2 to"
            f" {_MOST_ROWS} rows"
        )
    return low, high, rows


_ELEVATIONS = TextForm(
    elevation_rows, lambda rows: f"{rows[0]:g}:{rows[1]:g}:{rows[2]}", "LOWEST:HIGHEST:ROWS"
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class LidarSettings(DetectorSettings):
    """What is compared: pictures or scans; and how scans become range images.

    Attributes:
        cuboid_iou: IoU of cuboids, "3d" or "bev".
        paint: what an object's pixels in the range image are: "cuboids" or "points".
        range_columns: columns of the range image around the turn.
        elevations: lowest and highest row of the range image, degrees, and how many there are; None: A's rings.
        a_cloud_topic, b_cloud_topic: clouds to read where a recording has several.
    """

    sensor: str = setting(
        CAMERA, "What both sets are of: camera, pictures; lidar, point clouds with cuboids.", choices=(CAMERA, LIDAR)
    )
    cuboid_iou: str = setting(
        "3d", "Lidar: performance of an object, the IoU of cuboids in space (3d) or as seen from above (bev).",
        choices=("3d", "bev"), option="iou",
    )  # fmt: skip
    paint: str = setting(
        "cuboids", "Lidar: what shows of an object in the range image: its cuboid, or the points in it.",
        choices=("cuboids", "points"),
    )  # fmt: skip
    range_columns: int = setting(1800, "Lidar: columns of the range image around the turn.", low=90, high=8192)
    elevations: tuple[float, float, int] | None = setting(
        None, "Lidar: rows of the range image at even elevations; by default the rings of A, or where its clouds have"
        " none, 64 over its elevations.", unit="deg", form=_ELEVATIONS,
    )  # fmt: skip
    a_cloud_topic: str | None = setting(None, "Lidar: clouds of A where its recording has several: a topic.")
    b_cloud_topic: str | None = setting(None, "Lidar: clouds of B, likewise.")
