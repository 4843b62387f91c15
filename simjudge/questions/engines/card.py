"""A card for simulators: scenes and checks through any engines, the same numbers of each, on one page.

Labels, camera, rays and lidar are measured in a world that is known by formula; the contract is tried check by check;
pictures are timed in a scene; and the judge of `simjudge demo` says which gap to photographs an engine leaves.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np

from simjudge.core.display import SummaryTable
from simjudge.core.errors import SimjudgeError
from simjudge.core.files import atomic_folder, check_output
from simjudge.core.images import RgbImage
from simjudge.core.installed import version
from simjudge.core.progress import Log, ProgressBar, no_log, no_progress
from simjudge.geometry.poses import Pose
from simjudge.page.number_format import DASH, format_number
from simjudge.questions.engines.photographs import CAMERAS, PhotographGap, photograph_gap
from simjudge.sim.engines.contract import Engine, SceneState
from simjudge.sim.engines.registry import engine_class, make_engine
from simjudge.sim.scene.model import Scene
from simjudge.sim.scene.read import read_scene
from simjudge.sim.sensors.camera.chain import srgb_levels
from simjudge.sim.sensors.camera.lens import lens_with_field
from simjudge.sim.testing import ENGINE_CHECKS, check_engine, scene_cameras
from simjudge.sim.testing.checks import CheckResult, EngineBuilder
from simjudge.sim.testing.lidar_measures import LIDAR_MEASUREMENTS
from simjudge.sim.testing.measures import PICTURE_MEASUREMENTS, SHARE, Measure
from simjudge.sim.vehicle.vehicle import Vehicle

MEASUREMENTS = (*PICTURE_MEASUREMENTS, *LIDAR_MEASUREMENTS)
CARD, PAGE = "card.json", "index.html"
SPEED_SCENE = "lab"
_LENS = lens_with_field("pinhole", (640, 360), 80)
_RAYS_PER_PIXEL, _PICTURES = 4, 3


@dataclass(frozen=True)
class Speed:
    """How quick an engine is: pictures of 640 x 360 of scene `lab`, 4 rays a pixel, the first one left out.

    Attributes:
        pictures: a second of the clock.
        processor_seconds: of processor time for one picture, on all cores together.
        labels: label images a second of the clock.
    """

    pictures: float
    processor_seconds: float
    labels: float


@dataclass(frozen=True)
class EngineCard:
    """All that was found of one engine.

    Attributes:
        problem: why nothing could be tried; empty where it could.
        speed: None where the scene cannot be shown.
        gaps: to the photographs, by camera; empty where they were not asked for.
        picture: of the scene that was timed.
    """

    engine: str
    variant: str
    measures: tuple[Measure, ...] = ()
    checks: tuple[CheckResult, ...] = ()
    speed: Speed | None = None
    gaps: tuple[PhotographGap, ...] = ()
    problem: str = ""
    picture: RgbImage | None = field(default=None, repr=False)

    @property
    def findings(self) -> list[str]:
        """What is wrong, a line each: measures beyond their limit, broken promises."""
        lines = [f"{measure.name}: {measure.finding}" for measure in self.measures if measure.status == "fail"]
        lines += [f"contract, {found.check.name}: {found.reason}" for found in self.checks if found.status == "fail"]
        return lines

    @property
    def summary(self) -> str:
        """How much is wrong, in a few words."""
        if self.problem:
            return f"cannot run here: {self.problem.removeprefix(f'engine {self.engine}: ')}"
        count = len(self.findings)
        return "nothing wrong" if not count else "1 thing wrong" if count == 1 else f"{count} things wrong"

    def content(self) -> dict[str, object]:
        """The entry of card.json."""
        return {
            "engine": self.engine,
            "variant": self.variant,
            "problem": self.problem,
            "measures": [asdict(measure) for measure in self.measures],
            "checks": [
                {"name": found.check.name, "part": found.check.part, "status": found.status, "reason": found.reason}
                for found in self.checks
            ],
            "speed": None if self.speed is None else asdict(self.speed),
            "gaps": [asdict(gap) for gap in self.gaps],
        }


@dataclass(frozen=True)
class EngineCards:
    """The cards of several engines."""

    path: Path
    cards: tuple[EngineCard, ...]

    @property
    def page_path(self) -> Path:
        """The page."""
        return self.path / PAGE

    @property
    def table(self) -> SummaryTable:
        """A line a number, a column an engine."""
        return SummaryTable(("", *(card.engine for card in self.cards)), [list(row) for row in card_rows(self.cards)])

    def __str__(self) -> str:
        """One line for people."""
        return ", ".join(f"{card.engine}: {card.summary}" for card in self.cards)


def measure_engine(builder: EngineBuilder) -> tuple[Measure, ...]:
    """Every measure of one engine."""
    return tuple(measure for measurement in MEASUREMENTS for measure in measurement.run(builder))


def engine_cards(
    engines: Sequence[str],
    out: str | Path,
    *,
    photographs: int = 0,
    log: Log = no_log,
    progress: ProgressBar = no_progress,
) -> EngineCards:
    """Measure engines and write their cards as one page.

    Args:
        engines: names, as `simjudge info engines` lists them, or package.module:Class.
        out: folder for the page and card.json.
        photographs: pictures that are rendered for the gap to the photographs; 0 for none.
        log: receives lines that a person should read.
        progress: opens a progress bar.

    Raises:
        UsageError: a name is unknown, or `out` exists.
    """
    from simjudge.questions.engines.card_page import write_cards_page  # noqa: PLC0415 - it reads this module

    target = Path(out)
    check_output(target)
    with atomic_folder(target) as folder:
        cards = []
        for name in engines:
            cards.append(_card(name, photographs, folder / "photographs", progress))
            log(f"{name}: {cards[-1].summary}")
        content = {"simjudge": version(), "engines": [card.content() for card in cards]}
        (folder / CARD).write_text(json.dumps(content, indent=2), encoding="utf-8")
        write_cards_page(folder / PAGE, cards)
    return EngineCards(target, tuple(cards))


def _card(name: str, photographs: int, folder: Path, progress: ProgressBar) -> EngineCard:
    engine_class(name)  # a name that no engine has ends the whole command
    world = read_scene(SPEED_SCENE)

    def build(scene: Scene, vehicle: Vehicle | None = None, start: Pose | None = None) -> Engine:
        return make_engine(name, scene, vehicle, start)

    try:
        with closing(build(world)) as engine:
            variant, (picture, speed) = engine.variant, _speed(engine)
    except SimjudgeError as error:
        return EngineCard(name, "", problem=str(error))
    measures = measure_engine(build)
    with progress(f"{name}: contract") as advance:
        checks = check_engine(build, ENGINE_CHECKS, advance)
    gaps = (
        tuple(
            photograph_gap(name, camera, photographs, folder / f"{name.replace(':', '_')}_{camera}", progress)
            for camera in CAMERAS
        )
        if photographs
        else ()
    )
    return EngineCard(name, variant, measures, checks, speed, gaps, picture=picture)


def _speed(engine: Engine) -> tuple[RgbImage, Speed]:
    """A picture of the scene, and how quick pictures and labels are."""
    cameras = scene_cameras(engine, SPEED_SCENE, _LENS, 1 + _PICTURES, 0)
    states = [SceneState(camera) for camera in cameras]
    picture = engine.render(_LENS, [states[0]], _RAYS_PER_PIXEL)
    engine.labels(_LENS, states[0])
    clock, processor = _timed(lambda at: engine.render(_LENS, [at], _RAYS_PER_PIXEL), states[1:])
    labels, _ = _timed(lambda at: engine.labels(_LENS, at), states[1:])
    return np.asarray(srgb_levels(picture)), Speed(1 / clock, processor, 1 / labels)


def _timed(work: Callable[[SceneState], object], states: Sequence[SceneState]) -> tuple[float, float]:
    """Seconds of the clock and of processor time for each."""
    clock, processor = time.perf_counter(), time.process_time()
    for state in states:
        work(state)
    return (time.perf_counter() - clock) / len(states), (time.process_time() - processor) / len(states)


_NOTHING = 1e-6  # Smaller numbers are rounding


def measure_text(measure: Measure | None) -> str:
    """A measured value with its unit; a dash where there is none."""
    if measure is None:
        return DASH
    return "not measured" if measure.value is None else value_text(measure.value, measure.unit)


def value_text(value: float, unit: str) -> str:
    """A value to three digits with its unit, a share in percent."""
    if unit == SHARE:
        value, unit = 100 * value, "%"
    return f"{0 if abs(value) < _NOTHING else value:.3g} {unit}".rstrip()


def gap_text(gap: PhotographGap) -> str:
    """A gap with its interval."""
    if gap.gap is None:
        return "cannot be told"
    return f"{format_number(gap.gap)} ({format_number(gap.low)} to {format_number(gap.high)})"


def contract_text(card: EngineCard) -> str:
    """How many promises are kept, of those that can be tried."""
    found = [check.status for check in card.checks]
    tried = len(found) - found.count("cannot be checked")
    return f"{found.count('pass')} of {tried}" if tried else DASH


def card_rows(cards: Sequence[EngineCard]) -> list[tuple[str, ...]]:
    """A row a number: its name, then each engine's."""
    named = [{measure.name: measure for measure in card.measures} for card in cards]
    rows = [
        (name, *(measure_text(measures.get(name)) for measures in named))
        for measurement in MEASUREMENTS
        for name in measurement.names
    ]
    rows.append(("contract kept", *(contract_text(card) for card in cards)))
    speeds = [card.speed for card in cards]
    rows.append(("pictures a second", *(DASH if s is None else f"{s.pictures:.1f}" for s in speeds)))
    rows.append(("processor seconds a picture", *(DASH if s is None else f"{s.processor_seconds:.2f}" for s in speeds)))
    rows.append(("labels a second", *(DASH if s is None else f"{s.labels:.1f}" for s in speeds)))
    if any(card.gaps for card in cards):
        for number, camera in enumerate(CAMERAS):
            cells = (gap_text(card.gaps[number]) if card.gaps else DASH for card in cards)
            rows.append((f"gap to photographs, {camera}", *cells))
    return rows
