"""How well an engine shows and ranges a world that is known: numbers with limits, and what is wrong in words.

The checks of `simjudge.sim.testing` say whether the contract is kept. A measure says by how much.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from simjudge.core.arrays import FloatArray
from simjudge.core.errors import SimjudgeError
from simjudge.geometry.poses import Pose
from simjudge.sim.engines.contract import Engine, Labels, NotOfferedError
from simjudge.sim.sensors.camera.lens import Lens
from simjudge.sim.testing.card_scene import (
    AWAY,
    BENT,
    BRIGHT,
    CAMERA,
    DARK,
    PINHOLE,
    PLATES,
    THICKNESS,
    WALL,
    Plate,
    card_scene,
    state,
    wall_radiance,
)
from simjudge.sim.testing.checks import EngineBuilder, Status

Subject = Literal["labels", "camera", "rays", "lidar"]
SHARE = "share"  # Unit of shares, which people read in percent
_RAYS = 4  # Rays per pixel of the pictures that places are read from
_BACKGROUND = 1e-3  # Radiance below which two pictures are alike
_THIRD = 3  # A plate of which fewer pixels are found is not there


@dataclass(frozen=True)
class EngineMeasure:
    """What was measured of an engine.

    Attributes:
        value: the number; None where it could not be measured.
        unit: "px", "m", ..., "" for none; `SHARE` for a share.
        limit: up to which the value is right.
        status: "pass", "fail" or "cannot be checked".
        finding: what is wrong, in words; empty where it is right.
    """

    name: str
    subject: Subject
    value: float | None
    unit: str
    limit: float
    status: Status
    finding: str = ""

    @classmethod
    def of(cls, name: str, subject: Subject, value: float, unit: str, limit: float, finding: str = "") -> EngineMeasure:
        """A value beside its limit; `finding` is kept where the value is beyond it."""
        good = value <= limit
        return cls(name, subject, value, unit, limit, "pass" if good else "fail", "" if good else finding)


@dataclass(frozen=True)
class EngineMeasurement:
    """Something that is measured of an engine; some give several numbers."""

    subject: Subject
    names: tuple[str, ...]
    function: Callable[[EngineBuilder], Iterator[EngineMeasure]]

    def run(self, builder: EngineBuilder) -> tuple[EngineMeasure, ...]:
        """Measure; an engine that raises has failed, one that leaves the part out cannot be checked."""
        found: list[EngineMeasure] = []
        try:
            found.extend(self.function(builder))
        except NotOfferedError as error:
            found += self._without(found, "cannot be checked", str(error))
        except SimjudgeError as error:
            found += self._without(found, "fail", str(error))
        except Exception as error:  # noqa: BLE001 - somebody else's engine may fail in any way
            found += self._without(found, "fail", f"{type(error).__name__}: {' '.join(str(error).split())}")
        return tuple(found)

    def _without(self, found: list[EngineMeasure], status: Status, reason: str) -> list[EngineMeasure]:
        known = {measure.name for measure in found}
        return [
            EngineMeasure(name, self.subject, None, "", 0.0, status, reason) for name in self.names if name not in known
        ]


def measures_pictures(builder: EngineBuilder) -> Iterator[EngineMeasure]:
    """Where plates are in pictures through two lenses, and in the labels."""
    with closing(builder(card_scene(lamp=False))) as engine:
        seen = {plate.name: _picture_box(engine, PINHOLE, plate) for plate in PLATES}
        yield from _place_measures("projection", PINHOLE, seen, 0.3)
        labels = engine.labels(PINHOLE, state())
        yield _label_measure(seen, labels)
        bent = {plate.name: _picture_box(engine, BENT, plate) for plate in PLATES}
        yield from _place_measures("distorted projection", BENT, bent, 0.5)


@dataclass(frozen=True)
class _Box:
    """Where a plate is: middle and size, pixels; NaN where it is not seen."""

    middle: FloatArray
    size: FloatArray


_NOWHERE = _Box(np.full(2, np.nan), np.full(2, np.nan))


def _picture_box(engine: Engine, lens: Lens, plate: Plate, bodies: dict[str, Pose] | None = None) -> _Box:
    """Where a picture shows a plate: from what changes when it is taken away."""
    there = dict(bodies or {})
    light = engine.render(lens, [state(there)], _RAYS) - engine.render(lens, [state(there | {plate.name: AWAY})], _RAYS)
    return _box_of(np.abs(light).max(2))


def _box_of(change: npt.NDArray[np.float32]) -> _Box:
    """The box of what changed, its edges to parts of a pixel by how much they changed."""
    strong = np.sort(change[change > _BACKGROUND])
    if len(strong) < _THIRD:
        return _NOWHERE
    covered = np.clip(change / max(float(np.median(strong)), 1e-9), 0, 1)
    covered[covered < 0.02] = 0
    weight = covered.sum()
    rows, columns = np.indices(change.shape)
    middle = np.array([(columns * covered).sum(), (rows * covered).sum()]) / weight
    row, column = np.clip(np.rint(middle[::-1]).astype(int), 0, np.array(change.shape) - 1)
    return _Box(middle, np.array([covered[row].sum(), covered[:, column].sum()]))


def _expected(lens: Lens, plate: Plate) -> FloatArray:
    """Where the middle of a plate must be seen: the mean over its face, pixels."""
    corners = plate.face
    steps = (np.arange(9) + 0.5) / 9
    grid = np.array(
        [corners[0] + a * (corners[2] - corners[0]) + b * (corners[1] - corners[0]) for a in steps for b in steps]
    )
    middle: FloatArray = lens.project(CAMERA.to_body(grid)).mean(0)
    return middle


def _place_measures(name: str, lens: Lens, seen: dict[str, _Box], limit: float) -> Iterator[EngineMeasure]:
    wanted = np.array([_expected(lens, plate) for plate in PLATES])
    found = np.array([seen[plate.name].middle for plate in PLATES])
    missing = [plate.name for plate in PLATES if np.isnan(seen[plate.name].middle).any()]
    if missing:
        yield EngineMeasure(name, "camera", None, "px", limit, "fail", f"not in the picture: {', '.join(missing)}")
        return
    error = float(np.linalg.norm(found - wanted, axis=1).max())
    yield EngineMeasure.of(name, "camera", error, "px", limit, _describe_places(found, wanted, lens))


def _describe_places(found: FloatArray, wanted: FloatArray, lens: Lens) -> str:
    """What moves places from where they must be: a mirror, a scale, a shift, or something else."""
    centre = np.array(lens.centre)
    mirrors = (((-1, 1), "mirrored left to right"), ((1, -1), "upside down"), ((-1, -1), "turned by half a turn"))
    for signs, words in mirrors:
        if np.linalg.norm((wanted - centre) * signs + centre - found, axis=1).max() < 1.0:
            return f"the picture is {words}"
    ahead, off = found - centre, wanted - centre
    scale = float((ahead * off).sum() / (off * off).sum())
    if np.linalg.norm(ahead - scale * off, axis=1).max() < 0.5:
        return f"the focal length is {scale:.3f} times what was asked for"
    shift = np.median(found - wanted, axis=0)
    if np.linalg.norm(found - wanted - shift, axis=1).max() < 0.5:
        return f"the picture is shifted by {shift[0]:+.2f}, {shift[1]:+.2f} px"
    if lens.model != "pinhole":
        straight = np.array([_expected(_without_distortion(lens), plate) for plate in PLATES])
        if np.linalg.norm(found - straight, axis=1).max() < 1.0:
            return "the lens's distortion is left out"
    return "things are not where the lens projects them"


def _without_distortion(lens: Lens) -> Lens:
    return Lens("pinhole", lens.size, lens.focal, lens.centre)


def _label_measure(seen: dict[str, _Box], labels: Labels) -> EngineMeasure:
    """By how much the edges of labelled plates miss those in the picture."""
    name, limit = "label edges", 1.0
    shifts, edges = [], []
    for plate in PLATES:
        rows, columns = np.nonzero(labels.instance == plate.instance)
        if len(rows) < _THIRD or np.isnan(seen[plate.name].middle).any():
            continue
        low, high = np.array([columns.min(), rows.min()]) - 0.5, np.array([columns.max(), rows.max()]) + 0.5
        box = seen[plate.name]
        shifts.append((low + high) / 2 - box.middle)
        edges += [low - (box.middle - box.size / 2), high - (box.middle + box.size / 2)]
    if not edges:
        return EngineMeasure(name, "labels", None, "px", limit, "fail", "no plate is both labelled and seen")
    x, y = np.median(shifts, axis=0)
    worst = float(np.abs(edges).max())
    return EngineMeasure.of(name, "labels", worst, "px", limit, f"labels lie {x:+.1f}, {y:+.1f} px beside what is seen")


def measures_labels(builder: EngineBuilder) -> Iterator[EngineMeasure]:
    """Classes, instances and depth where plates are."""
    with closing(builder(card_scene())) as engine:
        labels = engine.labels(PINHOLE, state())
    places = [np.rint(_expected(PINHOLE, plate)).astype(int) for plate in PLATES]
    classes = [int(labels.class_id[y, x]) for x, y in places]
    instances = [int(labels.instance[y, x]) for x, y in places]
    wrong = [(plate, found) for plate, found in zip(PLATES, classes, strict=True) if found != plate.class_id]
    lost = sorted({plate.class_id for plate, found in wrong if found == 0})
    others = ", ".join(f"{plate.class_id} as {found}" for plate, found in wrong if found)
    words = [f"class {', '.join(map(str, lost))} is missing"] if lost else []
    words += [f"wrong classes: {others}"] if others else []
    yield EngineMeasure.of("classes", "labels", float(len(wrong)), "plates", 0.0, "; ".join(words))
    twice = sorted({number for number in instances if number and instances.count(number) > 1})
    moved = [f"{plate.instance} as {n}" for plate, n in zip(PLATES, instances, strict=True) if n != plate.instance]
    words = [f"ids are not unique: {', '.join(map(str, twice))}"] if twice else []
    words += [f"wrong ids: {', '.join(moved)}"] if moved else []
    yield EngineMeasure.of("instance ids", "labels", float(len(moved)), "plates", 0.0, "; ".join(words))
    depth = np.array([float(labels.depth[y, x]) for x, y in places])
    wanted = np.array([plate.position[0] - THICKNESS / 2 for plate in PLATES])
    error = np.abs(depth - wanted)
    along = np.array([1 / PINHOLE.rays()[y, x, 2] for x, y in places])
    yield EngineMeasure.of(
        "depth",
        "labels",
        float(error.max()) if np.isfinite(error).all() else np.inf,
        "m",
        0.005,
        _describe_depth(depth, wanted, along),
    )


def _describe_depth(depth: FloatArray, wanted: FloatArray, along: FloatArray) -> str:
    if not np.isfinite(depth).all():
        return "no depth where a plate is"
    ratio = depth / wanted
    if np.abs(ratio / 1000 - 1).max() < 0.01:
        return "depth is in millimetres"
    if np.abs(ratio / along - 1).max() < 0.005:
        return "depth is along the ray, not along the optical axis"
    return f"depth is {np.median(ratio):.3f} times what it is"


def measures_light(builder: EngineBuilder) -> Iterator[EngineMeasure]:
    """Whether radiance is linear, complete and in the right channels."""
    with closing(builder(card_scene())) as engine:
        picture = engine.render(PINHOLE, [state()], _RAYS)
    with closing(builder(card_scene(4.0))) as engine:
        brighter = engine.render(PINHOLE, [state()], _RAYS)
    places = [np.rint(_expected(PINHOLE, plate)).astype(int) for plate in PLATES]
    found = np.array([picture[y, x] for x, y in places], np.float64)
    wanted = np.array([plate.emission for plate in PLATES])
    coloured = found[0] / max(float(found[0].max()), 1e-9)
    order = np.argsort(-coloured)
    colour = np.abs(coloured - wanted[0] / wanted[0].max()).max()
    swapped = "" if order.tolist() == [0, 1, 2] else f": {', '.join(['red', 'green', 'blue'][n] for n in order)}"
    yield EngineMeasure.of(
        "colour channels",
        "camera",
        float(colour),
        SHARE,
        0.03,
        f"colour channels are swapped{swapped} from bright to dark, red green blue in truth"
        if swapped
        else "colours differ from what plates send out",
    )
    grey = slice(1, 4)  # below full scale
    power = np.polyfit(np.log(wanted[grey, 1]), np.log(np.maximum(found[grey, 1], 1e-9)), 1)[0]
    yield EngineMeasure.of(
        "linearity",
        "camera",
        abs(float(power) - 1),
        "exponent",
        0.03,
        f"radiance grows with the power {power:.2f} of the light: a gamma or tone curve is inside",
    )
    ratio = float(np.median(brighter[40:80] / np.maximum(picture[40:80], 1e-6)))
    yield EngineMeasure.of(
        "four times the light",
        "camera",
        abs(ratio / 4 - 1),
        SHARE,
        0.03,
        f"four times the light is {ratio:.2f} times as bright: the engine exposes or clips by itself",
    )
    level = float(np.median(found[grey] / wanted[grey]))
    yield EngineMeasure.of(
        "light sent out", "camera", abs(level - 1), SHARE, 0.05, f"{level:.2f} times the radiance that plates send out"
    )
    above = float(found[4, 1] / wanted[4, 1])
    yield EngineMeasure.of(
        "above full scale",
        "camera",
        abs(above - 1),
        SHARE,
        0.03,
        f"a radiance of 3 is {found[4, 1]:.2f}: light is cut off",
    )
    yield _wall_measure(picture)


def _wall_measure(picture: npt.NDArray[np.float32]) -> EngineMeasure:
    """The light of the lamp on both halves of the wall."""
    shares = []
    for y, z, albedo in ((2.5, 2.0, DARK), (-2.5, 2.2, BRIGHT), (1.0, 2.4, DARK), (-1.0, 2.6, BRIGHT)):
        column, row = np.rint(PINHOLE.project(CAMERA.to_body(np.array([WALL, y, z])))).astype(int)
        shares.append(float(picture[row, column].mean()) / (albedo * wall_radiance(y, z)))
    error = float(np.abs(np.array(shares) - 1).max())
    return EngineMeasure.of(
        "light of a lamp",
        "camera",
        error,
        SHARE,
        0.15,
        f"a matt wall has {min(shares):.2f} to {max(shares):.2f} times the radiance of the lamp's light on it",
    )


def measures_instants(builder: EngineBuilder) -> Iterator[EngineMeasure]:
    """Whether pictures and labels show the instant that was asked for."""
    plate = PLATES[2]
    x, y, z = plate.position
    moved = {plate.name: Pose((x, y - 0.6, z - 0.15))}
    with closing(builder(card_scene(lamp=False))) as engine:
        empty = [engine.render(PINHOLE, [state({plate.name: AWAY})], _RAYS) for _ in range(2)][1]
        engine.render(PINHOLE, [state()], _RAYS)
        later = _box_of(np.abs(engine.render(PINHOLE, [state(moved)], _RAYS) - empty).max(2))
        engine.labels(PINHOLE, state())
        labels = engine.labels(PINHOLE, state(moved))
        both = engine.render(PINHOLE, [state(), state(moved)])
        one, other = (engine.render(PINHOLE, [at]) for at in (state(), state(moved)))
    there = _expected(PINHOLE, Plate(plate.name, (x, y - 0.6, z), 0, 0, plate.emission))
    step = float(np.linalg.norm(there - _expected(PINHOLE, plate)))
    error = float(np.linalg.norm(later.middle - there)) if np.isfinite(later.middle).all() else np.inf
    yield EngineMeasure.of("picture's instant", "camera", error, "px", 0.3, _late("pictures", error, step))
    rows, columns = np.nonzero(labels.instance == plate.instance)
    middle = np.array([columns.mean(), rows.mean()]) if len(rows) else np.full(2, np.inf)
    error = float(np.linalg.norm(middle - there))
    yield EngineMeasure.of("labels' instant", "labels", error, "px", 0.6, _late("labels", error, step))
    blur = float(np.abs(both - (one + other) / 2).max())
    yield EngineMeasure.of(
        "motion blur",
        "camera",
        blur,
        "radiance",
        0.002,
        "an exposure is not the mean of its instants",
    )


def _late(what: str, error: float, step: float) -> str:
    if abs(error - step) < 2.0 or not np.isfinite(error):
        return f"{what} are late: they show the state before the one that was asked for"
    return f"{what} show a body {error:.1f} px from where it was put"


def measures_turns(builder: EngineBuilder) -> Iterator[EngineMeasure]:
    """Whether a body is turned as its pose says: a plate rolled by 20 degrees."""
    plate, roll = PLATES[4], 20.0
    x, y, z = plate.position
    turned = Pose.from_euler(x, y, z - 0.2, roll=np.radians(roll))
    with closing(builder(card_scene())) as engine:
        labels = engine.labels(PINHOLE, state({plate.name: turned}))
    corners = np.array([[-THICKNESS / 2, a * 0.15, b * 0.3] for a in (-1, 1) for b in (0, 1)])
    wanted = PINHOLE.project(CAMERA.to_body(turned.to_world(corners))).mean(0)
    rows, columns = np.nonzero(labels.instance == plate.instance)
    middle = np.array([columns.mean(), rows.mean()]) if len(rows) else np.full(2, np.inf)
    error = float(np.linalg.norm(middle - wanted))
    yield EngineMeasure.of(
        "turned bodies", "labels", error, "px", 1.0, "bodies are turned the other way, or not at all"
    )


PICTURE_MEASUREMENTS: tuple[EngineMeasurement, ...] = (
    EngineMeasurement("camera", ("projection", "label edges", "distorted projection"), measures_pictures),
    EngineMeasurement("labels", ("classes", "instance ids", "depth"), measures_labels),
    EngineMeasurement(
        "camera",
        (
            "colour channels",
            "linearity",
            "four times the light",
            "light sent out",
            "above full scale",
            "light of a lamp",
        ),
        measures_light,
    ),
    EngineMeasurement("camera", ("picture's instant", "labels' instant", "motion blur"), measures_instants),
    EngineMeasurement("labels", ("turned bodies",), measures_turns),
)
