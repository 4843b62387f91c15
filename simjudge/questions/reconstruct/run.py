"""`simjudge sim reconstruct` as a function: a survey cloud becomes a scene of meshes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from simjudge.core.arrays import BoolArray, FloatArray, IntArray, ShortRepr, SummaryTable
from simjudge.core.errors import Log, Losses, ProgressBar, counted, no_log, no_progress
from simjudge.core.files import atomic_folder, check_output
from simjudge.core.installed import need_module, version
from simjudge.core.settings import takes_setting_keywords
from simjudge.detectors.clouds.clusters import euclidean_clusters
from simjudge.objects.lidar_truth import StandingCuboids, standing_labels
from simjudge.objects.settings import LidarObjectSettings
from simjudge.objects.survey import HEIGHT_SCALE, first_of_voxels, ground_surface, outliers
from simjudge.objects.survey_cloud import Survey, SurveyCloud, SurveyReading, read_survey
from simjudge.objects.survey_mesh import (
    GroundGrid,
    SurveyMesh,
    affordable_cell,
    check_ground_cells,
    face_texture,
    fit_post,
    grey,
    ground_grid,
    painted,
    wrap_points,
    write_obj,
    write_png,
)
from simjudge.questions.reconstruct.settings import ReconstructSettings

SCENE = "scene.yaml"
FACTS = "reconstruction.json"
GROUND_CLASS, OBJECT_CLASS = "ground", "object"
_MARGIN = 0.1
"""Metres around a labelled cuboid within which points are its own: noise puts points on either side of a surface."""
_LEAST = 4
"""Points of a labelled thing at least."""
_COURSE_STEP, _SHORTEST_COURSE = 5.0, 10.0
"""Metres between the waypoints of the lidar's way, and its length, from which on it is one to drive."""
MOST_LEFT_OUT = 0.1
"""Share of what stands on the ground, above which a scene without it is incomplete."""


@dataclass(frozen=True)
class LeftOut:
    """A part of the survey that no thing of the scene shows."""

    text: str  # to be read behind "left out"
    share: float  # of all such parts


@dataclass(frozen=True, eq=False, repr=False)
class ReconstructedThing(ShortRepr):
    """One thing of a reconstructed scene."""

    name: str
    class_name: str
    points: int
    mesh: SurveyMesh
    post_width: float | None = None  # metres; None: it is no post
    cell: float | None = None  # metres, of its distance field; None: it is a post


@dataclass(frozen=True, eq=False, repr=False)
class Reconstruction(ShortRepr):
    """A scene from a survey.

    Attributes:
        scene: path of the scene's file, for `simjudge sim render`, `replay` and `drive`.
        things: what stands on the ground.
        ground: its heights.
        lost: names of labelled things that too few points hit to give them a shape.
        losses: what of the survey could not be used.
        left_out: what was read and is in no thing, most often noise and low plants.
        cell: of the distance field that was asked for, metres; large things may have a larger one.
    """

    scene: Path
    points: int
    things: Sequence[ReconstructedThing]
    ground: GroundGrid
    lost: Sequence[str]
    losses: Losses
    left_out: Sequence[LeftOut]
    cell: float

    @property
    def filled(self) -> float:
        """The share of the ground's cells without a point, filled from those around them."""
        return float(1 - self.ground.seen.mean())

    def table(self) -> SummaryTable:
        """Things by class, with points and triangles."""
        rows: list[Sequence[str]] = []
        for name in sorted({thing.class_name for thing in self.things}):
            members = [thing for thing in self.things if thing.class_name == name]
            posts = [thing.post_width for thing in members if thing.post_width is not None]
            rows.append(
                [
                    name,
                    str(len(members)),
                    f"{len(posts)}, {100 * float(np.median(posts)):.1f} cm wide" if posts else "0",
                    str(sum(thing.points for thing in members)),
                    str(sum(len(thing.mesh.faces) for thing in members)),
                ]
            )
        return SummaryTable(["class", "things", "of them posts", "points", "triangles"], rows, text_columns=1)

    def sentences(self) -> list[str]:
        """What a person should know of it."""
        rows, columns = self.ground.z.shape
        lines = [
            (
                f"ground: {columns} x {rows} cells of {self.ground.cell:g} m; {100 * self.filled:.0f} % of them hold no"
                " point and are filled from those around them"
            )
        ]
        if not self.things:
            lines.append("nothing stands on the ground: the scene has no things")
        coarse = [thing.cell for thing in self.things if thing.cell is not None and thing.cell > self.cell]
        if coarse:
            lines.append(f"large things with coarser cells, to save memory: {len(coarse)}, up to {max(coarse):.2g} m")
        return [*lines, *(f"left out {part.text}" for part in self.left_out if part.share <= MOST_LEFT_OUT)]

    def warnings(self) -> list[str]:
        """What is left out of an incomplete scene, to be read behind "left out"."""
        return [part.text for part in self.left_out if part.share > MOST_LEFT_OUT]


def _some(names: Sequence[str], most: int = 8) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


@takes_setting_keywords
def reconstruct(
    source: str | Path,
    out: str | Path,
    *,
    settings: ReconstructSettings,
    log: Log = no_log,
    progress: ProgressBar = no_progress,
) -> Reconstruction:
    """Make a scene from a survey cloud: the ground as heights, what stands on it as meshes.

    Args:
        source: a recording of clouds with poses, a folder of clouds with poses, or one cloud in the fixed frame (PCD,
            PLY, LAS).
        out: folder to write: scene.yaml, its meshes and textures, and reconstruction.json with the figures.
        settings: all settings at once; keywords change single ones.
        log: receives what a person should know.
        progress: opens a progress bar.

    Returns:
        What was made.

    Raises:
        UsageError: a package that is needed is missing.
        SimjudgeError: the survey cannot be read, has no poses or no ground, or `out` exists.
    """
    path, folder = Path(source), Path(out)
    check_output(folder)
    need_module("skimage", "meshes of a survey need scikit-image")
    losses = Losses()
    reading = SurveyReading(
        settings.cloud_topic, (settings.near, settings.far), settings.max_speed, settings.deskew, settings.white
    )
    survey = read_survey(path, reading, losses, log)
    ground, above = _ground(survey.cloud, settings)
    standing = survey.cloud.take(above)
    groups, lost, left_out = _groups(survey, standing, ground, settings)
    things = []
    with progress("meshing") as advance:
        for done, (name, class_name, rows) in enumerate(groups):
            things.append(_thing(name, class_name, standing.take(rows), ground, settings))
            advance(done + 1, len(groups))
    made = Reconstruction(folder / SCENE, len(survey.cloud), things, ground, lost, losses, left_out, settings.cell)
    with atomic_folder(folder) as temporary:
        _write(temporary, made, survey, path)
    return made


def _ground(cloud: SurveyCloud, settings: ReconstructSettings) -> tuple[GroundGrid, IntArray]:
    """The ground, and the rows of the points that stand on it."""
    thinned = cloud.points[first_of_voxels(cloud.points)]
    surface = ground_surface(
        thinned, settings.survey_cell, settings.survey_slope, settings.survey_window, settings.survey_net
    )
    height = surface.height(cloud.points)
    limit = settings.survey_height + HEIGHT_SCALE * surface.slope_at(cloud.points)
    low = np.abs(height) <= limit
    covered = _near_things(cloud.points, (height > limit) & (height < limit + 3), settings.ground_cell)
    grid = ground_grid(cloud.take(np.flatnonzero(low)), ~covered[low], settings.ground_cell)
    above = grid.height(cloud.points)
    slope = HEIGHT_SCALE * surface.slope_at(cloud.points)
    # Low points far from the ground are stray ones.
    return grid, np.flatnonzero(above > settings.foot + slope)


def _near_things(points: FloatArray, high: BoolArray, cell: float) -> BoolArray:
    """Points of cells in which, or next to which, something stands."""
    first = np.floor(points[:, :2].min(0) / cell)
    at = (np.floor(points[:, :2] / cell) - first).astype(np.int64) + 1
    columns, rows = at.max(0) + 2
    check_ground_cells(int(columns) - 2, int(rows) - 2)
    taken = np.zeros((rows, columns), np.bool_)
    for dy in (-1, 0, 1):
        for dx in (-1, 0, 1):
            taken[at[high, 1] + dy, at[high, 0] + dx] = True
    found: BoolArray = taken[at[:, 1], at[:, 0]]
    return found


def _groups(
    survey: Survey, standing: SurveyCloud, ground: GroundGrid, settings: ReconstructSettings
) -> tuple[list[tuple[str, str, IntArray]], list[str], list[LeftOut]]:
    """The points of each thing, by name and class; labelled things that have too few; and all that is left out."""
    points = standing.points
    free = np.ones(len(points), np.bool_)
    groups: list[tuple[str, str, IntArray]] = []
    lost: list[str] = []
    left_out: list[LeftOut] = []
    clouds = survey.clouds
    if settings.labels and clouds is not None and survey.scans is not None and clouds.boxes is not None:
        labels = standing_labels(clouds, survey.scans, LidarObjectSettings(place_distance=2.0))
        owner = _owners(points, labels)
        free = owner < 0
        for number, name in enumerate(labels.names):
            own = np.flatnonzero(owner == number)
            if len(own) < _LEAST:
                lost.append(name)
            else:
                groups.append((name.replace(" ", "_").replace("/", "_"), name.rpartition(" ")[0], own))
        if lost:
            share = f"{len(lost)} of {counted(len(labels.names), 'labelled things')}"
            text = f"{share}, hit by fewer than {_LEAST} points each: {_some(lost)}"
            left_out.append(LeftOut(text, len(lost) / len(labels.names)))
    height = ground.height(points)
    cluster = euclidean_clusters(points, free, settings.survey_gap)
    order = np.argsort(cluster, kind="stable")
    starts = np.searchsorted(cluster[order], np.arange(int(cluster.max(initial=-1)) + 2))
    small: list[IntArray] = []
    for begin, end in pairwise(starts):
        rows = order[begin:end]
        if len(rows) < settings.survey_points or height[rows].max() < settings.survey_height:
            small.append(rows)
        else:
            groups.append((f"object_{len(groups)}", OBJECT_CLASS, rows))
    if small:
        count, largest = sum(map(len, small)), max(small, key=len)
        text = (
            f"{count} of {counted(len(points), 'points above the ground')} ({100 * count / len(points):.2g} %) in"
            f" {counted(len(small), 'clusters')} with fewer than {settings.survey_points} points (--survey-points) or"
            f" lower than {settings.survey_height:g} m (--survey-height), the largest at {_place(points[largest[0]])}"
        )
        left_out.append(LeftOut(text, count / len(points)))
    return groups, lost, left_out


def _owners(points: FloatArray, labels: StandingCuboids) -> IntArray:
    """The labelled cuboid to which each point belongs, int64 (N,): the nearest one, the smaller of two; -1 for none."""
    owner = np.full(len(points), -1, np.int64)
    least = np.full(len(points), np.inf)
    for number in np.argsort(labels.size.prod(1), kind="stable").tolist():
        pose, size = labels.pose[number], labels.size[number]
        near = np.flatnonzero(np.linalg.norm(points - pose.position, axis=1) <= np.linalg.norm(size) / 2 + 2 * _MARGIN)
        outside = np.maximum((np.abs(pose.to_body(points[near])) - size / 2).max(1), 0.0)
        own = (outside <= _MARGIN) & (outside < least[near])
        owner[near[own]], least[near[own]] = number, outside[own]
    return owner


def _place(point: FloatArray) -> str:
    return "x {:.1f}, y {:.1f}, z {:.1f}".format(*point.tolist())


def _thing(
    name: str, class_name: str, cloud: SurveyCloud, ground: GroundGrid, settings: ReconstructSettings
) -> ReconstructedThing:
    kept = cloud.take(np.flatnonzero(~outliers(cloud.points)))
    cloud = kept if len(kept) >= _LEAST else cloud
    floor = float(np.median(cloud.points[:, 2] - ground.height(cloud.points)))
    post = fit_post(cloud, floor) if len(cloud) > _LEAST else None
    if post is not None:
        mesh = painted(*post.mesh(), cloud, round_post=True)
        return ReconstructedThing(name, class_name, len(cloud), mesh, post.width)
    thin = cloud.take(first_of_voxels(cloud.points, settings.cell / 2))
    feet = _feet(thin.points, ground, settings)
    points = np.concatenate([thin.points, feet])
    cell = affordable_cell(points, settings.cell)
    mesh = painted(*wrap_points(points, cell), cloud)
    return ReconstructedThing(name, class_name, len(cloud), mesh, cell=cell)


def _feet(points: FloatArray, ground: GroundGrid, settings: ReconstructSettings) -> FloatArray:
    """Points straight below the lowest ones of a thing, down to the ground: near it nobody can tell them apart."""
    height = ground.height(points)
    low = np.flatnonzero(height < settings.foot + settings.survey_height)
    column = np.floor(points[low, :2] / (settings.cell / 2)).astype(np.int64)
    order = np.lexsort((height[low], *column.T))
    _, first = np.unique(column[order], axis=0, return_index=True)
    rows = low[order[first]]
    steps = max(int(np.ceil(2 * (settings.foot + settings.survey_height) / settings.cell)), 1)
    down = np.linspace(1, 0, steps, endpoint=False)[:, None] * height[rows]
    fallen = np.repeat(points[None, rows], steps, axis=0)
    fallen[..., 2] -= down
    found: FloatArray = fallen.reshape(-1, 3)
    return found


def _write(folder: Path, made: Reconstruction, survey: Survey, source: Path) -> None:
    (folder / "meshes").mkdir()
    content = _scene(folder, made, survey)
    head = f"# Reconstructed by simjudge {version()} from {source.name}. Metres, degrees, z up.\n"
    text = yaml.safe_dump(content, sort_keys=False, default_flow_style=None, width=120)
    (folder / SCENE).write_text(head + text, encoding="utf-8")
    facts = {
        "version": version(),
        "source": source.name,
        "points": made.points,
        "offset": list(survey.offset),
        "ground": {"cells": list(made.ground.z.shape[::-1]), "cell": made.ground.cell, "filled": round(made.filled, 4)},
        "things": [
            {
                "name": thing.name,
                "class": thing.class_name,
                "points": thing.points,
                "triangles": len(thing.mesh.faces),
                "post_width": None if thing.post_width is None else round(thing.post_width, 4),
            }
            for thing in made.things
        ],
        "lost": list(made.lost),
        "losses": [*made.losses.lines(), *(part.text for part in made.left_out)],
    }
    (folder / FACTS).write_text(json.dumps(facts, indent=2) + "\n", encoding="utf-8")


def _scene(folder: Path, made: Reconstruction, survey: Survey) -> dict[str, Any]:
    names = [GROUND_CLASS, *sorted({thing.class_name for thing in made.things} - {GROUND_CLASS})]
    things: dict[str, Any] = {"ground": _ground_thing(folder, made.ground)}
    for thing, name in zip(made.things, _distinct(made.things), strict=True):
        things[name] = _mesh_thing(folder, name, thing)
    low, high = (made.ground.corner + (part - 1) * made.ground.cell for part in _corners(made.ground))
    content: dict[str, Any] = {
        "classes": dict(enumerate(names, 1)),
        "stuff": [GROUND_CLASS],
        "sun": {"azimuth": 155, "elevation": 40, "irradiance": 2.8, "temperature": 5400},
        "sky": {
            "gradient": {"zenith": "#4f86d0", "horizon": "#d6e2ea", "ground": "#6f6f62"},
            "radiance": 0.85,
        },
        "area": [round(float(value), 2) for value in (*low, *high)],
        "things": things,
    }
    way = _way(survey)
    if way is not None:
        content["placements"] = {"course": {"path": {"waypoints": way, "width": 4, "spacing": 5}}}
    return content


def _corners(ground: GroundGrid) -> Iterator[FloatArray]:
    yield np.ones(2)
    yield np.array(ground.z.shape[::-1], np.float64)


def _distinct(things: Sequence[ReconstructedThing]) -> list[str]:
    seen: set[str] = {"ground"}
    names = []
    for thing in things:
        name, number = thing.name, 2
        while name in seen:
            name, number = f"{thing.name}_{number}", number + 1
        seen.add(name)
        names.append(name)
    return names


def _ground_thing(folder: Path, ground: GroundGrid) -> dict[str, Any]:
    vertices, faces = ground.mesh()
    rows, columns = ground.z.shape
    row, column = np.divmod(np.arange(rows * columns), columns)
    uv = np.stack([(column + 0.5) / columns, (row + 0.5) / rows], -1)
    colour = ground.colour if ground.colour is not None or ground.reflectance is None else grey(ground.reflectance)
    thing: dict[str, Any] = {
        "mesh": "meshes/ground.obj",
        "class": GROUND_CLASS,
        "collider": "ground",
        "cell": ground.cell,
    }
    surface: dict[str, Any] = {"roughness": 1}
    if colour is None:
        write_obj(folder / "meshes/ground.obj", vertices, faces)
    else:
        write_obj(folder / "meshes/ground.obj", vertices, faces, uv)
        # Row 0 of a picture is its upper edge, the largest y here.
        write_png(folder / "meshes/ground.png", np.ascontiguousarray(colour[::-1]))
        surface["texture"] = {"file": "meshes/ground.png"}
        if ground.colour is not None and ground.reflectance is not None:
            surface["reflectance"] = round(float(ground.reflectance.mean()), 4)
    return {**thing, "surface": surface}


def _mesh_thing(folder: Path, name: str, thing: ReconstructedThing) -> dict[str, Any]:
    mesh = thing.mesh
    file = f"meshes/{name}.obj"
    surface: dict[str, Any] = {"roughness": 0.9}
    colour = mesh.colour if mesh.colour is not None or mesh.reflectance is None else grey(mesh.reflectance)
    if colour is None:
        write_obj(folder / file, mesh.vertices, mesh.faces)
    else:
        picture, uv, of_corner = face_texture(colour)
        write_obj(folder / file, mesh.vertices, mesh.faces, uv, of_corner)
        write_png(folder / f"meshes/{name}.png", picture)
        surface["texture"] = {"file": f"meshes/{name}.png"}
        if mesh.colour is not None and mesh.reflectance is not None:
            surface["reflectance"] = round(float(mesh.reflectance.mean()), 4)
    return {"mesh": file, "class": thing.class_name, "surface": surface}


def _way(survey: Survey) -> list[list[float]] | None:
    """Waypoints along the way of the lidar; None where it is not known or too short to drive."""
    if survey.scans is None:
        return None
    place = survey.scans.position[:, :2]
    kept = [place[0]]
    for point in place[1:]:
        if np.linalg.norm(point - kept[-1]) >= _COURSE_STEP:
            kept.append(point)
    if (len(kept) - 1) * _COURSE_STEP < _SHORTEST_COURSE:
        return None
    if np.linalg.norm(place[-1] - kept[-1]) > _COURSE_STEP / 5:
        kept.append(place[-1])
    return [[round(float(x), 2), round(float(y), 2)] for x, y in kept]
