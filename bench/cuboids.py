"""How many labelled boxes of real scans the detector of cuboids finds: `python bench/cuboids.py KITTI_FOLDER`.

Prints the tables of docs/measurements/lidar.md: recall and precision by distance, of the detector as it comes,
of its other methods, and of scans with less in them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import cast

import numpy as np

from simjudge.core.arrays import BoolArray, FloatArray, IntArray
from simjudge.data.clouds import Cloud, CloudPredictions, CloudSet
from simjudge.data.sets import read_clouds
from simjudge.detectors.clouds.beam_grid import BeamGrid, build_grid, rings_of_order
from simjudge.detectors.clouds.cuboid_detection import detect_clouds
from simjudge.detectors.clouds.cuboid_settings import LidarCuboidFile
from simjudge.detectors.cuboid_iou import CuboidHits, centre_fit, cuboid_hits, iou_fit

Change = Callable[[FloatArray, BeamGrid], tuple[FloatArray, BoolArray]]
"""Of a cloud's points: what they become, and which of them stay."""
NOISE = 0.05
"""Metres, standard deviation along the beam."""


def settings(**parts: object) -> LidarCuboidFile:
    """The detector with some settings changed."""
    return LidarCuboidFile.model_validate(parts)


def every_second_ring(points: FloatArray, grid: BeamGrid) -> tuple[FloatArray, BoolArray]:
    """Half of the beams are gone."""
    return points, grid.ring % 2 == 0


def every_second_column(points: FloatArray, grid: BeamGrid) -> tuple[FloatArray, BoolArray]:
    """Half of the azimuths are gone."""
    return points, grid.column % 2 == 0


def range_noise(points: FloatArray, grid: BeamGrid) -> tuple[FloatArray, BoolArray]:
    """Each point moves along its beam."""
    distance = np.linalg.norm(points, axis=1, keepdims=True)
    moved = points * (1 + NOISE * np.random.default_rng(0).standard_normal(distance.shape) / distance)
    return moved, np.ones(len(grid.ring), np.bool_)


def changed(clouds: CloudSet, change: Change) -> CloudSet:
    """A set whose clouds are changed when they are read."""

    def read(index: int) -> Cloud:
        cloud = clouds.read(index)
        points = np.stack([cloud.table[name] for name in "xyz"], -1).astype(np.float64)
        seen = points.any(1)
        table, points = cloud.table[seen].copy(), points[seen]
        moved, kept = change(points, build_grid(points, cast("IntArray", rings_of_order(points))))
        for axis, name in enumerate("xyz"):
            table[name] = moved[:, axis]
        return replace(cloud, table=table[kept])

    return replace(clouds, read=read)


def in_view(clouds: CloudSet, found: CloudSet) -> BoolArray:
    """Cuboids in the camera's view, where alone KITTI labels."""
    boxes = cast("CloudPredictions", found.predictions)
    out = np.zeros(len(boxes), np.bool_)
    for index, camera in enumerate(clouds.cameras):
        rows = np.flatnonzero(boxes.cloud == index)
        x, _, z = camera.pose.inverse().to_world(boxes.centre[rows]).T
        out[rows] = (z > 0) & (np.abs(x * camera.matrix[0, 0]) <= camera.matrix[0, 2] * z)
    return out


def share(part: int, whole: int) -> str:
    """A share with what it is of."""
    return f"{part / whole:.2f} ({part}/{whole})" if whole else "-"


def print_ranges(clouds: CloudSet, found: CloudSet) -> None:
    """Recall and precision by distance."""
    view = in_view(clouds, found)
    print("| distance | recall, IoU | recall, centre | precision, IoU |\n| --- | --- | --- | --- |")
    by_iou, by_centre = (cuboid_hits(found, fit) for fit in (iou_fit, centre_fit))
    seen = cuboid_hits(found, cuboids=view)
    for one, other, near in zip(by_iou, by_centre, seen, strict=True):
        name = "all" if one is by_iou[-1] else one.name
        cells = (share(one.found, one.labelled), share(other.found, other.labelled), share(near.hits, near.predicted))
        print(f"| {name} | {' | '.join(cells)} |")


def runs(clouds: CloudSet) -> Iterator[tuple[str, CloudSet]]:
    """What is detected, by name."""
    yield "as it comes (plane, rings, closeness)", detect_clouds(clouds)
    yield (
        "clusters in space, 0.4 m",
        detect_clouds(clouds, settings(clusters={"neighbours": "euclidean", "distance": 0.4})),
    )
    yield "ground by Patchwork++", detect_clouds(clouds, settings(ground={"method": "patchwork"}))
    for criterion in ("area", "variance"):
        yield f"criterion {criterion}", detect_clouds(clouds, settings(cuboids={"criterion": criterion}))
    yield "every second beam gone", detect_clouds(changed(clouds, every_second_ring))
    yield "every second column gone", detect_clouds(changed(clouds, every_second_column))
    yield f"range noise of {100 * NOISE:g} cm", detect_clouds(changed(clouds, range_noise))


def row(hits: list[CuboidHits], near: list[CuboidHits]) -> str:
    """All distances, and those within 30 m."""
    close = hits[:3]
    found = share(sum(each.found for each in close), sum(each.labelled for each in close))
    return " | ".join((found, share(hits[-1].found, hits[-1].labelled), share(near[-1].hits, near[-1].predicted)))


def main(folder: str) -> None:
    """Print the tables."""
    clouds = read_clouds(folder)
    half = len(clouds) // 2
    first = np.arange(len(clouds)) < half
    for number, (name, found) in enumerate(runs(clouds)):
        if number == 0:
            print_ranges(clouds, found)
            print("\n| run | recall within 30 m | recall | precision |\n| --- | --- | --- | --- |")
            for half_name, mask in (("the first half of the scans", first), ("the second half", ~first)):
                part = replace(found, labelled=cast("BoolArray", clouds.labelled) & mask)
                view = in_view(clouds, found)
                print(f"| {half_name} | {row(cuboid_hits(part), cuboid_hits(part, cuboids=view))} |")
        view = in_view(clouds, found)
        print(f"| {name} | {row(cuboid_hits(found), cuboid_hits(found, cuboids=view))} |", flush=True)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("give a folder of KITTI's tracking benchmark")
    main(sys.argv[1])
