"""The two sides of a lidar's fit: reading clouds, taking some, and holding some out."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from simjudge.core.arrays import IntArray
from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.data.clouds import CloudBoxes, CloudSet
from simjudge.data.format_support.format import Topics
from simjudge.data.sets import read_clouds
from simjudge.questions.fit.settings import FitSettings
from simjudge.studies.comparison import Source

_LEAST_CLOUDS = 10
_SEED = 15


def take_clouds(clouds: CloudSet, rows: IntArray) -> CloudSet:
    """Some clouds of a set, with their labels and without predictions."""
    boxes = clouds.boxes
    if boxes is not None:
        place = np.full(len(clouds), -1)
        place[rows] = np.arange(len(rows))
        kept = np.flatnonzero(place[boxes.cloud] >= 0)
        kept = kept[np.argsort(place[boxes.cloud[kept]], kind="stable")]
        boxes = CloudBoxes(place[boxes.cloud[kept]], *(getattr(boxes, name)[kept] for name in (
            "class_id", "instance", "centre", "orientation", "size")))  # fmt: skip
    return replace(
        clouds, cloud_name=[clouds.cloud_name[row] for row in rows], stamp=clouds.stamp[rows],
        read=lambda index: clouds.read(int(rows[index])), boxes=boxes,
        labelled=None if clouds.labelled is None else clouds.labelled[rows], frames=None,
        cameras=[clouds.cameras[row] for row in rows] if len(clouds.cameras) else (),
        poses=[clouds.poses[row] for row in rows] if len(clouds.poses) else (), predictions=None, predicted=None,
    )  # fmt: skip


def read_side(source: Source, topic: str | None) -> CloudSet:
    """Clouds of one side of a fit.

    Args:
        topic: of its clouds; None where it has one only.
    """
    if isinstance(source, CloudSet):
        return source
    if not isinstance(source, str | Path):
        raise UsageError(f"{source.name}: is a set of pictures; --sensor lidar takes clouds")
    return read_clouds(Path(source), None if topic is None else Topics(cloud_topic=topic))


def split_clouds(clouds: CloudSet, settings: FitSettings) -> tuple[CloudSet, CloudSet]:
    """The clouds of the fit and those that it never sees; neighbours stay together."""
    count = len(clouds)
    if count < _LEAST_CLOUDS:
        raise SimjudgeError(f"{clouds.name}: {count} clouds; at least {_LEAST_CLOUDS} are needed to fit some and hold"
                            " out others")  # fmt: skip
    blocks = np.arange(count) * _LEAST_CLOUDS // count
    order = np.random.default_rng([settings.seed, _SEED]).permutation(_LEAST_CLOUDS)
    out = np.isin(blocks, order[: max(1, round(settings.held_out * _LEAST_CLOUDS))])
    return take_clouds(clouds, np.flatnonzero(~out)), take_clouds(clouds, np.flatnonzero(out))
