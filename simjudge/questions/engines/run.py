"""Engines: two side by side on one page (images, differences, boxes, speed), and the tests of one in driving.

The boxes are each engine's own ground truth. Engines agree where the corners of the things that both label differ by
less than a pixel, and no thing above 12 pixels is labelled by one engine alone.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

import cv2
import numpy as np
from markupsafe import Markup

from simjudge.core.arrays import FloatArray, ShortRepr
from simjudge.core.errors import Advance, Log, Losses, ProgressBar, no_log, no_progress
from simjudge.core.files import atomic_folder, check_output
from simjudge.core.frames import FrameSet
from simjudge.core.images import ArrayImages, RgbImage
from simjudge.core.names import NO_STAMP
from simjudge.core.object_tables import Objects, concatenate_tables
from simjudge.data.formats.yolo import write_yolo
from simjudge.geometry.poses import Pose
from simjudge.judging.compare_settings import CompareSettings
from simjudge.judging.comparison import compare_sets
from simjudge.page import kit
from simjudge.page.kit import picture_uri, write_page
from simjudge.questions.compare.words import SetNames, verdict_sentence
from simjudge.results.saved_result import Result, load_results, write_json
from simjudge.sim.capture.camera_poses import camera_mount, carrying_vehicle, choose_camera_poses
from simjudge.sim.capture.capture import Capture, FrameExposure, exposure_at
from simjudge.sim.capture.ground_truth import Labelling
from simjudge.sim.engines.contract import Engine, Poses
from simjudge.sim.engines.registry import make_engine
from simjudge.sim.scene.model import Collider, Mesh, Scene, Surface, Thing
from simjudge.sim.scene.read import read_scene
from simjudge.sim.sensors.camera.camera import Camera
from simjudge.sim.sensors.camera.camera_file import read_camera
from simjudge.sim.vehicle.vehicle import Command, Vehicle, VehicleState, read_vehicle

CORNER_LIMIT = 1.0
"""Median difference of corners below which engines agree, pixels."""
LONELY_LIMIT = 12.0
"""Smaller side, pixels, from which on a box that only one engine has is a disagreement."""
_AMPLIFICATION = 4
"""How many times stronger a difference of images is shown."""
_FULL = 255
"""Full scale of an image."""


@dataclass(frozen=True, eq=False, repr=False)
class EngineView(ShortRepr):
    """What one engine showed from one pose."""

    image: RgbImage  # (H, W, 3), uint8 RGB, through the camera's whole chain
    objects: Objects  # boxes of everything labelled, by instance; all of frame 0
    light_seconds: float  # time that the light took, seconds
    label_seconds: float  # time that the labels took, seconds


@dataclass(frozen=True, eq=False, repr=False)
class BoxDifferences(ShortRepr):
    """How the boxes of two engines differ."""

    corners: FloatArray  # float64 (N, 4), x0, y0, x1, y1 of B less those of A, of things that both have
    # things with a box of LONELY_LIMIT or more that one has alone: "a" or "b", pose, instance, smaller side
    lonely: list[tuple[str, int, int, float]] = field(default_factory=list)
    small: int = 0

    @property
    def median(self) -> float:
        """Of the corners' absolute differences, pixels; NaN where there is nothing to compare."""
        return float(np.median(np.abs(self.corners))) if self.corners.size else float("nan")

    @property
    def agrees(self) -> bool:
        """Whether both limits are kept, and there was something to compare."""
        return bool(self.corners.size) and self.median < CORNER_LIMIT and not self.lonely


def capture_views(
    engine: Engine, camera: Camera, poses: Sequence[Pose], seed: int, advance: Advance
) -> list[EngineView]:
    """Capture a scene from every pose, the scene as the engine has it now."""
    capture = Capture(engine, camera, Labelling(min_size=1, min_visible=0), seed)
    views = []
    for number, pose in enumerate(poses):
        exposure = _still_exposure(camera, frame_name(number), pose, engine.poses())
        capture.metered = None
        raw = capture.observe(exposure)
        frame = capture.finish(raw)
        views.append(EngineView(frame.pixels(), frame.truth.objects, raw.light_seconds, raw.label_seconds))
        advance(number + 1, len(poses))
    return views


def _still_exposure(camera: Camera, name: str, pose: Pose, bodies: Poses) -> FrameExposure:
    return exposure_at(camera, 0, name, lambda stamps: [pose] * len(stamps), lambda _: bodies)


def compare_boxes(a: Sequence[EngineView], b: Sequence[EngineView]) -> BoxDifferences:
    """Compare the boxes of two engines, thing by thing."""
    corners, lonely, small = [], [], 0
    for number, (one, other) in enumerate(zip(a, b, strict=True)):
        boxes = [dict(zip(s.objects.instance.tolist(), s.objects.box, strict=True)) for s in (one, other)]
        for instance in sorted(boxes[0].keys() | boxes[1].keys()):
            if instance in boxes[0] and instance in boxes[1]:
                corners.append(boxes[1][instance] - boxes[0][instance])
                continue
            which = 0 if instance in boxes[0] else 1
            x0, y0, x1, y1 = boxes[which][instance].tolist()
            side = min(x1 - x0, y1 - y0)
            if side >= LONELY_LIMIT:
                lonely.append(("ab"[which], number, instance, side))
            else:
                small += 1
    return BoxDifferences(np.array(corners, np.float64).reshape(-1, 4), lonely, small)


def image_difference(a: RgbImage, b: RgbImage) -> RgbImage:
    """Absolute difference of two images, four times as strong; white where they differ by 64 levels or more.

    `a`: (H, W, 3), uint8 RGB.
    """
    return np.asarray(np.minimum(np.abs(a.astype(np.int16) - b) * _AMPLIFICATION, _FULL), np.uint8)


def root_mean_square(a: RgbImage, b: RgbImage) -> float:
    """Root mean square of the difference of two images, levels of 255. `a`: (H, W, 3), uint8 RGB."""
    return float(np.sqrt(np.mean((a.astype(np.float64) - b) ** 2)))


def views_as_frames(
    name: str, views: Sequence[EngineView], class_names: dict[int, str], labelling: Labelling
) -> FrameSet:
    """The views of an engine as a labelled data set."""
    tables = []
    for number, view in enumerate(views):
        box = view.objects.box
        large = np.flatnonzero((box[:, 2:] - box[:, :2]).min(1) >= labelling.min_size)
        tables.append(replace(view.objects.take(large), frame=np.full(len(large), number, np.int64)))
    objects = concatenate_tables(tables)
    count = len(views)
    height, width = views[0].image.shape[:2]
    return FrameSet(
        name=name,
        frame_name=[frame_name(number) for number in range(count)],
        size=np.tile(np.array([width, height], np.int64), (count, 1)),
        stamp=np.full(count, NO_STAMP, np.int64),
        labelled=np.ones(count, bool),
        objects=objects,
        predictions=None,
        predicted=np.zeros(count, bool),
        class_names=class_names,
        images=ArrayImages([view.image for view in views]),
    )


@dataclass(frozen=True)
class EngineNumbers:
    """Two engines in numbers, as numbers.json has them."""

    poses: int
    seconds_light: list[float]  # of each engine, an image
    seconds_labels: list[float]
    picture_rms: list[float]  # by pose
    things_in_both: int
    corner_median_px: float | None
    corner_worst_px: float | None
    lonely: list[dict[str, object]]  # boxes of one engine alone
    lonely_small: int
    agree: bool


def comparison_numbers(a: Sequence[EngineView], b: Sequence[EngineView], boxes: BoxDifferences) -> EngineNumbers:
    """Compare two engines: seconds an image, differences, and whether the engines agree."""
    return EngineNumbers(
        len(a),
        [float(np.mean([s.light_seconds for s in side])) for side in (a, b)],
        [float(np.mean([s.label_seconds for s in side])) for side in (a, b)],
        [root_mean_square(x.image, y.image) for x, y in zip(a, b, strict=True)],
        len(boxes.corners),
        boxes.median if boxes.corners.size else None,
        float(np.abs(boxes.corners).max()) if boxes.corners.size else None,
        [
            {"engine": which, "pose": pose, "instance": instance, "side_px": side}
            for which, pose, instance, side in boxes.lonely
        ],
        boxes.small,
        boxes.agrees,
    )


def frame_name(number: int) -> str:
    """Name of a pose's frame."""
    return f"pose_{number:05d}"


_WIDEST_PX = 640
"""Width of an image on the page, pixels."""
_MAX_POSES = 24
"""The most poses on the page."""
_COLOURS = {1: (220, 40, 40), 2: (30, 150, 60)}


def write_engines_page(
    out: Path,
    title: str,
    engines: tuple[tuple[str, str], tuple[str, str]],
    views: tuple[Sequence[EngineView], Sequence[EngineView]],
    boxes: BoxDifferences,
    found: EngineNumbers,
    result: Result | None,
) -> None:
    """Write the page."""
    (a, runs_a), (b, runs_b) = engines
    poses = len(views[0])
    picked = np.unique(np.linspace(0, poses - 1, min(_MAX_POSES, poses)).round().astype(int)).tolist()
    lonely: list[str] = [
        f"pose {pose}: thing {instance} of {side:.0f} px is labelled by {a if which == 'a' else b} alone"
        for which, pose, instance, side in boxes.lonely[:20]
    ]
    small = f"; {boxes.small} smaller ones are" if boxes.small else ""
    seconds = {"seconds a picture": found.seconds_light, "seconds for its labels": found.seconds_labels}
    page = kit.page(
        f"{title}: {a} and {b}",
        "two engines side by side",
        kit.hero(
            "Boxes agree" if found.agree else "Boxes differ",
            "predicts" if found.agree else "gap",
            "No thing is labelled by both engines: there is nothing to compare."
            if math.isnan(boxes.median)
            else f"The median corner differs by {boxes.median:.2f} px (the limit is {CORNER_LIMIT}), the worst by "
            f"{found.corner_worst_px:.1f} px, over {found.things_in_both} boxes in {found.poses} pictures.",
            kit.bullets(
                lonely or [f"No thing of {LONELY_LIMIT:.0f} px or more is labelled by one engine alone{small}."]
            ),
        ),
        kit.section(
            "Engines",
            kit.table(
                ("", f"A: {a}", f"B: {b}"),
                [("runs on", runs_a, runs_b), *((name, *(f"{s:.3f}" for s in pair)) for name, pair in seconds.items())],
                row_heads=True,
            ),
        ),
        "" if result is None else _judge_section(result),
        kit.section(
            "Pictures" if len(picked) == poses else f"Pictures ({len(picked)} of {poses})",
            *(_pictures(views, number, found.picture_rms[number], (a, b)) for number in picked),
        ),
    )
    write_page(out, page)


def _judge_section(result: Result) -> Markup:
    names = SetNames.of_result(result)
    return kit.section(
        "The judge: does what a detector does on B predict what it does on A?",
        *(
            kit.paragraph(
                kit.chip(entry.verdict_words, entry.verdict.colour),
                " ",
                kit.bold(entry.label),
                f": {verdict_sentence(entry, names)}",
            )
            for entry in result.entries
        ),
    )


def _pictures(
    views: tuple[Sequence[EngineView], Sequence[EngineView]], number: int, rms: float, names: tuple[str, str]
) -> Markup:
    a, b = views[0][number], views[1][number]
    words = (
        f"pose {number}, A: {names[0]}",
        f"B: {names[1]}",
        f"difference, {_AMPLIFICATION} times (RMS {rms:.1f} of 255)",
    )
    drawn = (_boxed(a), _boxed(b), image_difference(a.image, b.image))
    return kit.gallery((said, picture_uri(picture, _WIDEST_PX)) for said, picture in zip(words, drawn, strict=True))


def _boxed(view: EngineView) -> RgbImage:
    picture = view.image.copy()
    for class_id, (x0, y0, x1, y1) in zip(
        view.objects.class_id.tolist(), view.objects.box.astype(int).tolist(), strict=True
    ):
        cv2.rectangle(picture, (x0 - 1, y0 - 1), (x1, y1), _COLOURS.get(class_id, (240, 200, 40)), 1)
    return picture


@dataclass(frozen=True)
class EngineComparison:
    """Two engines side by side."""

    path: Path  # folder with the page, both data sets, numbers.json and, with a detector, the judge's result
    page_path: Path
    engines: tuple[tuple[str, str], tuple[str, str]]  # name and variant of both engines
    numbers: EngineNumbers = field(repr=False)
    losses: Losses = field(default_factory=Losses, repr=False)  # rows of a pose file that could not be used

    def __str__(self) -> str:
        """One line for people."""
        agree = "agree" if self.numbers.agree else "differ"
        return f"{self.engines[0][0]} and {self.engines[1][0]} {agree} in {self.numbers.things_in_both} boxes"


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
        vehicle: file or name of the car that carries the camera; None for the scene's own, or art1.
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
    camera_poses, losses = choose_camera_poses(
        poses, scene, seen_by, n, seed, camera_mount(carrying_vehicle(vehicle, None, world), None)[0]
    )
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
        (folder / "numbers.json").write_text(
            json.dumps({"engines": engines} | vars(numbers), indent=2), encoding="utf-8"
        )
        title = f"{world.name} through camera {seen_by.name}"
        write_engines_page(folder / "index.html", title, engines, (views[0], views[1]), boxes, numbers, judged)
    return EngineComparison(target, target / "index.html", engines, numbers, losses)


_FLOOR_HALF = 200.0
"""Half the floor's side, metres: no test leaves it."""
_STRAIGHT_TIME = 6.0
"""Seconds of full throttle: a 1/6-scale car is then at its final speed."""
_COAST_TIME = 20.0
"""Seconds that a car may coast, at most."""
_TURN_TIME = 5.0
"""Seconds of a turn: the last of them is steady."""
_STEADY_TIME = 1.0
"""Seconds at the end of a turn that are averaged."""
_SAMPLE_TIME = 0.05
"""Seconds between two states that are looked at."""
_STANDING_SPEED = 0.02
"""A slower car stands, m/s: physics at rest still trembles."""
_TURN_THROTTLE = 0.5
"""Throttle in turns: slow enough for little slip."""


class DrivingFigures(NamedTuple):
    """What a car did."""

    speed: float  # speed after six seconds of full throttle from rest, m/s
    to_half: float  # time until half of that speed, seconds
    coast_distance: float  # distance from there until the car stands with no pedal pressed, metres; at most 20 s
    coast_time: float  # time of that, seconds
    # by steering input: radius of base_link's path, metres, negative to the right, and the radius that the wheels'
    # angle gives without slip, wheelbase / tan(angle)
    circles: dict[float, tuple[float, float]]
    drift: float  # distance aside after the straight run, metres, left positive

    def as_record(self) -> dict[str, object]:
        """The figures as JSON has them."""
        circles = {f"{steering:+.1f}": list(radii) for steering, radii in self.circles.items()}
        return self._asdict() | {"circles": circles}


@dataclass(frozen=True)
class DrivingComparison:
    """The same car in several engines."""

    vehicle: str
    figures: Mapping[str, DrivingFigures] = field(repr=False)  # what the car did, by engine

    def __str__(self) -> str:
        """One line for people."""
        speeds = ", ".join(f"{name} {figures.speed:.2f} m/s" for name, figures in self.figures.items())
        return f"{self.vehicle}: {speeds}"


def _holds_figures(path: Path) -> bool:
    """Whether a file is an earlier output of `compare_driving`."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        return all(set(DrivingFigures._fields) == set(figures) for figures in found.values())
    except (OSError, ValueError, AttributeError, TypeError):
        return False


def compare_driving(
    engines: Sequence[str] = ("default", "chrono"),
    out: str | Path | None = None,
    *,
    vehicle: str | Path | Vehicle = "art1",
    log: Log = no_log,
) -> DrivingComparison:
    """Drive the same car through throttle step, coast-down and turning circles in each engine."""
    if out is not None:
        check_output(Path(out), _holds_figures)
    car = vehicle if isinstance(vehicle, Vehicle) else read_vehicle(vehicle)
    figures = {}
    for name in engines:
        with closing(make_engine(name, flat_scene(), car)) as engine:
            log(f"{name}: {engine.variant}")
            figures[name] = measure_driving(engine, car)
    if out is not None:
        write_json(Path(out), {name: item.as_record() for name, item in figures.items()})
    return DrivingComparison(car.name, figures)


def flat_scene() -> Scene:
    """A floor, and nothing on it."""
    h = _FLOOR_HALF
    vertices = np.array([[-h, -h, 0], [h, -h, 0], [h, h, 0], [-h, h, 0]])
    mesh = Mesh(vertices, np.array([[0, 1, 2], [0, 2, 3]]), vertices[:, :2] / h, np.tile([0.0, 0, 1], (4, 1)))
    return Scene("flat", (Thing("floor", mesh, Surface(), collider=Collider("plane")),), ())


def measure_driving(
    engine: Engine, vehicle: Vehicle, inputs: tuple[float, ...] = (1.0, 0.5, -0.5, -1.0)
) -> DrivingFigures:
    """Drive a car through the tests."""
    engine.reset()
    run = _run(engine, Command(throttle=1.0), _STRAIGHT_TIME)
    speed = run[-1].velocity[0]
    to_half = next(state.time for state in run if state.velocity[0] >= speed / 2)
    drift = run[-1].pose.position[1]
    coast = _run(engine, Command(), _COAST_TIME, until=lambda state: state.velocity[0] < _STANDING_SPEED)
    distance = math.dist(coast[-1].pose.position[:2], run[-1].pose.position[:2])
    circles = {steering: _circle(engine, vehicle, steering) for steering in inputs}
    return DrivingFigures(speed, to_half, distance, coast[-1].time - run[-1].time, circles, drift)


def _circle(engine: Engine, vehicle: Vehicle, steering: float) -> tuple[float, float]:
    """Radius of a steady turn from its last second, and the radius without slip."""
    engine.reset()
    engine.set_pose("vehicle", Pose())
    states = _run(engine, Command(steering, _TURN_THROTTLE), _TURN_TIME)[-round(_STEADY_TIME / _SAMPLE_TIME) :]
    yaw_rate = float(np.mean([state.angular_velocity[2] for state in states]))
    speed = float(np.mean([state.velocity[0] for state in states]))
    angle = float(np.mean([state.steering_angle for state in states]))
    return speed / yaw_rate if yaw_rate else math.inf, vehicle.wheelbase / math.tan(angle) if angle else math.inf


def _run(
    engine: Engine, command: Command, seconds: float, until: Callable[[VehicleState], bool] = lambda _: False
) -> list[VehicleState]:
    """States every 50 ms, until the time is over or a state is enough."""
    engine.drive(command)
    piece = round(_SAMPLE_TIME / engine.step_size) * engine.step_size
    states = []
    for _ in range(round(seconds / _SAMPLE_TIME)):
        engine.step(piece)
        states.append(engine.vehicle_state())
        if until(states[-1]):
            break
    return states
