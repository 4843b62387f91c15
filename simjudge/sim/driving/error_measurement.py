"""What a detector finds and misses on a course, and its errors, measured on rendered pictures of a drive."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from scipy.optimize import linear_sum_assignment

from simjudge.core.arrays import FloatArray
from simjudge.core.progress import Log, no_log
from simjudge.sim.driving.closed_loop import DrivenFrame
from simjudge.sim.driving.cones import locate_cones
from simjudge.sim.driving.course import lane_classes, lane_cones
from simjudge.sim.driving.pilots import load_frame_detector
from simjudge.sim.driving.trial_drives import CONES, TrialCourse, TrialStart, TrialWorld
from simjudge.sim.driving.trial_pilots import DetectorErrors, TrueCones
from simjudge.sim.scene.read import read_scene

_GATE = 0.6
"""Metres between a detected and a true cone beyond which they are not the same."""
_FEWEST = 5
"""Cones of a distance from which its figures are taken; with fewer those of `DetectorErrors` stay."""


def measure_errors(
    scenes: Sequence[str | Path],
    out: str | Path,
    *,
    detector: str | Path = "lab_pico",
    camera: str | Path = "plain_half",
    vehicle: str | Path | None = None,
    frames: int = 40,
    log: Log = no_log,
) -> DetectorErrors:
    """Drive each scene once by true cones, let a detector look at some of the pictures, and compare with the truth."""
    rows = [_looks(scene, detector, camera, vehicle, frames) for scene in scenes]
    distance, found, errors, swapped = (np.concatenate(column) for column in zip(*rows, strict=True))
    given = DetectorErrors()
    band = np.digitize(distance, given.edges) - 1
    columns: dict[str, list[float]] = {"found": [], "along": [], "across": [], "shift": []}
    counts = []
    for k in range(len(given.found)):
        own, hit = band == k, (band == k) & found
        counts.append(int(own.sum()))
        measured = counts[-1] >= _FEWEST and hit.sum() >= _FEWEST
        columns["found"].append(float(found[own].mean()) if counts[-1] >= _FEWEST else given.found[k])
        columns["along"].append(max(float(errors[hit, 0].std()), 0.01) if measured else given.along[k])
        columns["across"].append(max(float(errors[hit, 1].std()), 0.01) if measured else given.across[k])
        columns["shift"].append(float(errors[hit, 0].mean()) if measured else 0.0)
    share = float(swapped[found].mean()) if found.any() else 0.0
    measured_errors = DetectorErrors(
        edges=given.edges,
        swapped=share,
        cones=tuple(counts),
        **{key: tuple(column) for key, column in columns.items()},
    )
    measured_errors.save(Path(out))
    said = ", ".join(f"{share:.0%} of {n}" for share, n in zip(columns["found"], counts, strict=True))
    log(f"{detector}: found {said} cones within {', '.join(f'{edge:g}' for edge in given.edges[1:])} m")
    return measured_errors


def _looks(
    scene: str | Path, detector: str | Path, camera: str | Path, vehicle: str | Path | None, frames: int
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Of each cone in view: its distance, whether it was found, its error along and across the ray, other class."""
    course = TrialCourse(TrialWorld(scene, vehicle, camera=camera))
    loop = course.loop(CONES, {"fastest": 1.0}, TrialStart(0.0, 0.0), 0)
    loop.frames = loop.images = True
    world = read_scene(scene, 0)
    classes, finder = lane_classes(world), load_frame_detector(detector, world)
    shape, cones, lens = lane_cones(world, classes), TrueCones(loop.engine, classes), loop.camera.lens
    out, seen_frames = [], 0
    for event in loop.run():
        if not isinstance(event, DrivenFrame):
            continue
        seen_frames += 1
        pose = event.event.exposure.scene_states[0].camera
        seen = locate_cones(finder(event.captured), lens, pose, shape)
        places = cones.positions()
        rows = cones.in_view(places, pose, lens)
        origin = np.array(pose.position[:2])
        away = places[rows] - origin
        distance = np.linalg.norm(away, axis=1)
        rows, away, distance = rows[distance < 5.5], away[distance < 5.5], distance[distance < 5.5]
        apart = np.linalg.norm(places[rows][:, None] - seen.position, axis=2)
        one, other = linear_sum_assignment(np.minimum(apart, 1e3))
        good = apart[one, other] < _GATE
        found, errors, swapped = np.zeros(len(rows), bool), np.zeros((len(rows), 2)), np.zeros(len(rows), bool)
        for i, j in zip(one[good], other[good], strict=True):
            ray = away[i] / distance[i]
            error = seen.position[j] - places[rows][i]
            found[i] = True
            errors[i] = ray @ error, -ray[1] * error[0] + ray[0] * error[1]
            swapped[i] = seen.class_id[j] != cones.class_id[rows][i]
        out.append((distance, found, errors, swapped))
        if seen_frames >= frames:
            break
    course.close()
    distance, found, errors, swapped = (np.concatenate(column) for column in zip(*out, strict=True))
    return distance, found, errors, swapped
