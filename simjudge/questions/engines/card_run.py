"""Cards for simulators are made: every measure, the contract, speed and the gap to photographs of each engine."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

import numpy as np

from simjudge.core.errors import Log, ProgressBar, SimjudgeError, no_log, no_progress
from simjudge.core.files import atomic_folder, check_output
from simjudge.core.images import RgbImage
from simjudge.core.installed import version
from simjudge.geometry.poses import Pose
from simjudge.questions.engines.card import CARD, MEASUREMENTS, PAGE, SPEED_SCENE, EngineCard, EngineCards, Speed
from simjudge.questions.engines.card_page import write_cards_page
from simjudge.questions.engines.photographs import CAMERAS, PhotographGap, photograph_gap
from simjudge.results.saved_result import write_json
from simjudge.sim.engines.contract import Engine, SceneState
from simjudge.sim.engines.registry import engine_class, make_engine
from simjudge.sim.scene.model import Scene
from simjudge.sim.scene.read import read_scene
from simjudge.sim.sensors.camera.chain import srgb_levels
from simjudge.sim.sensors.camera.lens import lens_with_field
from simjudge.sim.testing import ENGINE_CHECKS, check_engine, scene_cameras
from simjudge.sim.testing.checks import EngineBuilder
from simjudge.sim.testing.measures import EngineMeasure
from simjudge.sim.vehicle.vehicle import Vehicle

_LENS = lens_with_field("pinhole", (640, 360), 80)
_RAYS_PER_PIXEL, _PICTURES = 4, 3


def measure_engine(builder: EngineBuilder) -> tuple[EngineMeasure, ...]:
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
        engines: names, as `simjudge doctor --brief engines` lists them, or package.module:Class.
        out: folder for the page and card.json.
        photographs: pictures that are rendered for the gap to the photographs; 0 for none.
        log: receives lines that a person should read.
        progress: opens a progress bar.

    Raises:
        UsageError: a name is unknown, or `out` exists.
    """
    target, names = Path(out), list(dict.fromkeys(engines))
    check_output(target)
    for name in names:
        engine_class(name)  # a name that no engine has ends the command before any work
    with atomic_folder(target) as folder:
        cards = []
        for name in names:
            cards.append(_card(name, photographs, folder / "photographs", progress))
            log(f"{name}: {cards[-1].summary}")
            for line in cards[-1].gap_notes:
                log(f"{name}, gap to photographs, {line}")
        content = {"simjudge": version(), "engines": [card.content() for card in cards]}
        write_json(folder / CARD, content)
        write_cards_page(folder / PAGE, cards)
    return EngineCards(target, tuple(cards))


def _card(name: str, photographs: int, folder: Path, progress: ProgressBar) -> EngineCard:
    world = read_scene(SPEED_SCENE)

    def build(scene: Scene, vehicle: Vehicle | None = None, start: Pose | None = None) -> Engine:
        return make_engine(name, scene, vehicle, start)

    try:
        with closing(build(world)) as engine:
            variant, (picture, speed) = engine.variant, _speed(engine)
    except Exception as error:  # noqa: BLE001 - somebody else's engine may fail in any way
        return EngineCard(name, "", problem=_reason(error))
    measures = measure_engine(build)
    with progress(f"{name}: contract") as advance:
        checks = check_engine(build, ENGINE_CHECKS, advance)
    gaps = (
        tuple(
            _gap(name, camera, photographs, folder / f"{name.replace(':', '_')}_{camera}", progress)
            for camera in CAMERAS
        )
        if photographs
        else ()
    )
    return EngineCard(name, variant, measures, checks, speed, gaps, picture=picture)


def _gap(name: str, camera: str, count: int, folder: Path, progress: ProgressBar) -> PhotographGap:
    """The gap, or why there is none: what was measured before it took minutes, and is kept."""
    try:
        return photograph_gap(name, camera, count, folder, progress)
    except Exception as error:  # noqa: BLE001 - somebody else's engine may fail in any way
        shutil.rmtree(folder, ignore_errors=True)
        return PhotographGap(Path(camera).stem, problem=_reason(error))


def _reason(error: Exception) -> str:
    return str(error) if isinstance(error, SimjudgeError) else f"{type(error).__name__}: {' '.join(str(error).split())}"


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
