"""Running the detector of cuboids over the clouds of a recording or a folder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path

import numpy as np

from simjudge.core.arrays import IntArray
from simjudge.core.errors import Losses, SimjudgeError
from simjudge.core.installed import DETECTOR, find_file
from simjudge.core.progress import ProgressBar, no_progress
from simjudge.data.clouds import CloudPredictions, CloudSet
from simjudge.data.sets import Topics, read_clouds, refuse_input_as_output, write_clouds
from simjudge.detectors.clouds.cuboid_detection import CloudObjects, detect_cloud_cuboids
from simjudge.detectors.clouds.cuboid_settings import LIDAR_CUBOIDS, LidarCuboidFile, read_cuboid_settings


def detect_clouds(
    source: CloudSet | str | Path,
    detector: LidarCuboidFile | str | Path = LIDAR_CUBOIDS,
    out: str | Path | None = None,
    *,
    to: str | None = None,
    cloud_topic: str | None = None,
    progress: ProgressBar = no_progress,
) -> CloudSet:
    """Find cuboids in every cloud of a set or a recording.

    Args:
        source: a set of clouds, or the path of a recording or a folder.
        detector: settings, the path of a file of them, or the name of one that comes with simjudge.
        out: where to write the clouds with what was found; None writes nothing.
        to: the format of a folder at `out`, such as kitti.
        cloud_topic: in a recording of several lidars, the clouds to take.
        progress: opens a progress bar.

    Returns:
        The set with predictions, cloud by cloud; clouds that cannot be read are not predicted. `losses` count these,
        clouds without a point or without ground, and those whose points are all the car's own.

    Raises:
        UsageError: `out` is the source or does not say a format, or the settings ask for what is not installed.
        SimjudgeError: the source cannot be read or holds no clouds, or none of its clouds can be read.
    """
    refuse_input_as_output(out, source)
    settings = (
        detector if isinstance(detector, LidarCuboidFile) else read_cuboid_settings(find_file(detector, DETECTOR))
    )
    topics = None if cloud_topic is None else Topics(cloud_topic=cloud_topic)
    clouds = source if isinstance(source, CloudSet) else read_clouds(source, topics)
    losses = Losses()
    losses.extend(clouds.losses)
    with progress(f"detecting in {clouds.name}") as advance:
        parts: dict[int, CloudPredictions] = {}
        for index in range(len(clouds)):
            try:
                cloud = clouds.read(index)
                found = detect_cloud_cuboids(cloud, settings)
            except SimjudgeError as error:
                losses.add("clouds that cannot be read", str(error))
                continue
            _count_empty(found, cloud.where, settings, losses)
            parts[index] = found.cuboids
            advance(index + 1, len(clouds))
    if not parts:
        raise SimjudgeError(f"{clouds.name}: holds no cloud that can be read{losses.reason}")
    done = _with_cuboids(clouds, parts, settings.name)
    if out is not None:
        losses.count_once(write_clouds(done, out, to))
    return replace(done, losses=losses)


def _count_empty(found: CloudObjects, where: str, settings: LidarCuboidFile, losses: Losses) -> None:
    """Count a cloud that cannot hold what is looked for."""
    if not found.seen:
        losses.add("clouds without a point", where)
    elif found.own.sum() == found.seen:
        losses.add("clouds whose points are all the car's own (settings own.distance, own.box)", where)
    elif settings.ground.method != "none" and not found.ground.any():
        losses.add("clouds without ground: all points became clusters (settings ground)", where)


def _with_cuboids(clouds: CloudSet, parts: dict[int, CloudPredictions], name: str) -> CloudSet:
    """The set with what was found in each cloud, in place of what it had."""
    class_names = dict(clouds.class_names)
    known = next((number for number, held in class_names.items() if held == name), None)
    if known is None:
        known = next(number for number in count() if number not in class_names)
        class_names[known] = name
    counts = [len(each) for each in parts.values()]
    cloud: IntArray = np.repeat(np.array(list(parts), np.int64), counts)
    joined = join_predictions(list(parts.values()))
    predictions = replace(joined, cloud=cloud, class_id=np.full(len(cloud), known, np.int64))
    predicted = np.zeros(len(clouds), np.bool_)
    predicted[list(parts)] = True
    return replace(clouds, predictions=predictions, predicted=predicted, class_names=class_names)


def join_predictions(parts: Sequence[CloudPredictions]) -> CloudPredictions:
    """One table of several."""
    return CloudPredictions(**{name: np.concatenate([vars(each)[name] for each in parts]) for name in vars(parts[0])})
