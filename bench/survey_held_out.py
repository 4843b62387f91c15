"""How near a scene from a real survey comes to scans that it was not made of.

`python bench/survey_held_out.py scans.mcap [FOLDER]`: three of four scans are reconstructed, and each return of the
fourth is held against the first surface that its beam meets in the scene (rays by trimesh with embreex, which simjudge
does not need: `pip install embreex`). scans.mcap is what `python scripts/formula_drive.py` makes of a drive.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import trimesh
from trimesh.ray.ray_pyembree import RayMeshIntersector

from simjudge.core.arrays import FloatArray
from simjudge.data.clouds import CloudBoxes, CloudSet
from simjudge.data.sets import read_clouds, write_clouds
from simjudge.geometry.poses import Pose
from simjudge.questions.reconstruct.run import reconstruct
from simjudge.sim.scene.model import Mesh
from simjudge.sim.scene.read import read_scene

NEAR, FAR = 1.5, 30.0
"""Metres between which points are reconstructed and held out."""


def known(clouds: CloudSet) -> tuple[CloudBoxes, Sequence[Pose]]:
    """Labels and poses of a survey."""
    if clouds.boxes is None or clouds.poses is None:
        raise SystemExit("the survey has no labels or no poses")
    return clouds.boxes, clouds.poses


def part(clouds: CloudSet, keep: list[int]) -> CloudSet:
    """Some scans of a survey, with their labels and poses."""
    boxes, poses = known(clouds)
    of = np.isin(boxes.cloud, keep)
    return replace(
        clouds,
        cloud_name=[clouds.cloud_name[k] for k in keep],
        stamp=clouds.stamp[keep],
        read=lambda index: clouds.read(keep[index]),
        boxes=CloudBoxes(
            np.searchsorted(keep, boxes.cloud[of]),
            boxes.class_id[of],
            boxes.instance[of],
            boxes.centre[of],
            boxes.orientation[of],
            boxes.size[of],
        ),
        labelled=None if clouds.labelled is None else clouds.labelled[keep],
        poses=[poses[k] for k in keep],
    )


def differences(clouds: CloudSet, held: list[int], rays: RayMeshIntersector) -> FloatArray:
    """Range in the scene less the measured one (NaN: nothing met), the measured range, and whether a box holds it."""
    (boxes, poses), rows = known(clouds), []
    for index in held:
        table = clouds[index].table
        point = np.stack([table[axis] for axis in "xyz"], -1).astype(np.float64)
        size = np.linalg.norm(point, axis=1)
        chosen = (size > NEAR) & (size < FAR)
        point, size = point[chosen], size[chosen]
        origin = np.asarray(poses[index].position, np.float64)
        direction = (poses[index].to_world(point) - origin) / size[:, None]
        place, ray, _ = rays.intersects_location(np.tile(origin, (len(point), 1)), direction, multiple_hits=False)
        met = np.full(len(point), np.nan)
        met[ray] = np.linalg.norm(place - origin, axis=1)
        labelled = np.zeros(len(point))
        for k in np.flatnonzero(boxes.cloud == index):
            labelled[(np.abs(point - boxes.centre[k]) <= boxes.size[k] / 2 + 0.02).all(1)] = 1
        rows.append(np.stack([met - size, size, labelled], -1))
    return np.concatenate(rows)


def main() -> None:
    """Run it all."""
    recording = Path(sys.argv[1])
    folder = Path(sys.argv[2]) if len(sys.argv) > 2 else Path(tempfile.mkdtemp())
    folder.mkdir(exist_ok=True)
    clouds = read_clouds(recording)
    held = list(range(2, len(clouds), 4))
    write_clouds(part(clouds, [k for k in range(len(clouds)) if k not in held]), folder / "survey.mcap")
    scene = read_scene(reconstruct(folder / "survey.mcap", folder / "course", log=lambda _: None).scene)
    parts = []
    for thing in scene.things:
        mesh: Mesh = thing.mesh
        parts.append(trimesh.Trimesh(thing.pose.to_world(mesh.vertices), mesh.faces, process=False))
    rows = differences(clouds, held, RayMeshIntersector(trimesh.util.concatenate(parts)))
    sys.stdout.write(
        "| returns | number | nothing met | median | 90 % | within 5 cm |\n| --- | --- | --- | --- | --- | --- |\n"
    )
    for name, of in (("all", rows[:, 1] > 0), ("within 15 m", rows[:, 1] < 15), ("in labelled boxes", rows[:, 2] > 0)):
        gap = np.abs(rows[of, 0])
        met = gap[np.isfinite(gap)]
        sys.stdout.write(
            f"| {name} | {of.sum()} | {100 * np.isnan(gap).mean():.1f} % | {100 * np.median(met):.1f} cm | "
            f"{100 * np.quantile(met, 0.9):.1f} cm | {100 * (met < 0.05).mean():.1f} % |\n"
        )


if __name__ == "__main__":
    main()
