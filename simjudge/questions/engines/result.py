"""Two engines side by side on one page: `simjudge engines compare` as a function."""

from __future__ import annotations

import json
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from simjudge.core.errors import Losses
from simjudge.core.files import atomic_folder
from simjudge.core.progress import Log, ProgressBar, no_log, no_progress
from simjudge.data.formats.yolo import write_yolo
from simjudge.geometry.poses import Pose
from simjudge.questions.engines.comparison import (
    EngineView,
    capture_views,
    compare_boxes,
    comparison_numbers,
    views_as_frames,
)
from simjudge.questions.engines.page import write_page
from simjudge.results.saved_result import load_results
from simjudge.sim.capture.camera_path import camera_mount
from simjudge.sim.capture.camera_poses import choose_camera_poses
from simjudge.sim.capture.ground_truth import Labelling
from simjudge.sim.engines.registry import make_engine
from simjudge.sim.scene.read import read_scene
from simjudge.sim.sensors.camera.camera import Camera
from simjudge.sim.sensors.camera.camera_file import read_camera
from simjudge.studies.compare_settings import CompareSettings
from simjudge.studies.comparison import compare_sets


@dataclass(frozen=True)
class EngineComparison:
    """Two engines side by side.

    Attributes:
        path: folder with the page, both data sets, numbers.json and, with a detector, the judge's result.
        engines: name and variant of both engines.
        numbers: what numbers.json holds: seconds an image, differences, and whether the engines agree.
        losses: rows of a pose file that could not be used.
    """

    path: Path
    page_path: Path
    engines: tuple[tuple[str, str], tuple[str, str]]
    numbers: dict[str, Any] = field(repr=False)
    losses: Losses = field(default_factory=Losses, repr=False)

    def __str__(self) -> str:
        """One line for people."""
        agree = "agree" if self.numbers["agree"] else "differ"
        return f"{self.engines[0][0]} and {self.engines[1][0]} {agree} in {self.numbers['things_in_both']} boxes"


def compare_engines(  # noqa: PLR0913 - the options of the command
    scene: str | Path,
    out: str | Path,
    *,
    camera: str | Path | Camera = "plain",
    a: str = "default",
    b: str = "chrono",
    poses: str | Path = "path",
    n: int = 12,
    vehicle: str | Path | None = None,
    model: str | Path | None = None,
    seed: int = 0,
    log: Log = no_log,
    progress: ProgressBar = no_progress,
) -> EngineComparison:
    """Show the same scene, poses and camera through two engines: images, boxes, speed, and the judge's verdict.

    Args:
        scene: a scene's file, or the name of one that comes with simjudge.
        out: folder for the page, both data sets and the judge's result.
        camera: a camera's file, the name of one that comes with simjudge, or a camera.
        a: name of one engine.
        b: name of the other.
        poses: "path", "random", or a text file of poses, as `simjudge.sim.capture.rendering.render` has it.
        n: number of poses.
        vehicle: file or name of the car that carries the camera; None for art1.
        model: file of a detector that judges both; None for none.
        seed: seed of scene, poses and camera.
        log: receives lines that a person should read.
        progress: opens a progress bar.

    Raises:
        UsageError: options do not go together, or a name is unknown.
        SimjudgeError: an engine cannot run here, something cannot be read or written, or `out` exists.
    """
    world = read_scene(scene, seed)
    seen_by = camera if isinstance(camera, Camera) else read_camera(camera)
    camera_poses, losses = choose_camera_poses(poses, scene, seen_by, n, seed, camera_mount(vehicle, None)[0])
    chosen: list[Pose] = []
    views: list[list[EngineView]] = []
    variants: list[str] = []
    for side, name in zip("AB", (a, b), strict=True):
        with closing(make_engine(name, world)) as engine:
            # Random poses are chosen with the first engine's rays; the other engine gets the same poses.
            chosen = chosen or [camera_poses.at(i, [stamp], engine)[0] for i, stamp in enumerate(camera_poses.stamp)]
            with progress(f"{side}: {name}") as advance:
                views.append(capture_views(engine, seen_by, chosen, seed, advance))
            variants.append(engine.variant)
    engines = ((a, variants[0]), (b, variants[1]))
    boxes = compare_boxes(views[0], views[1])
    numbers = comparison_numbers(views[0], views[1], boxes)
    target = Path(out)
    with atomic_folder(target) as folder:
        for side, name, seen in zip("ab", (a, b), views, strict=True):
            write_yolo(views_as_frames(name, seen, dict(world.class_names), Labelling()), folder / side)
        judged = None
        if model is not None:
            settings = CompareSettings(model=Path(model), seed=seed, paired=True)
            compare_sets(folder / "a", folder / "b", settings, log=log, progress=progress).save(folder / "result")
            judged = load_results([folder / "result"])[0]
        (folder / "numbers.json").write_text(json.dumps({"engines": engines} | numbers, indent=2), encoding="utf-8")
        title = f"{world.name} through camera {seen_by.name}"
        write_page(folder / "index.html", title, engines, (views[0], views[1]), boxes, numbers, judged)
    return EngineComparison(target, target / "index.html", engines, numbers, losses)
