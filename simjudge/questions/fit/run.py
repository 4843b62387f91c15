"""Calibration by the judge: the parameters of a camera under which B predicts A best, searched by CMA-ES."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import t as student

from simjudge.core.arrays import FloatArray, IntArray
from simjudge.core.errors import Advance, Log, ProgressBar, SimjudgeError, no_log, no_progress
from simjudge.core.installed import need_module
from simjudge.core.settings import takes_setting_keywords
from simjudge.detectors.detector import Detector
from simjudge.judging.compare_settings import CompareSettings
from simjudge.judging.comparison import Source
from simjudge.judging.inputs import InputSet
from simjudge.judging.painted_masks import painted_geometry
from simjudge.judging.set_comparison import SetComparison, comparison_units
from simjudge.method.compiled import choose_loops
from simjudge.method.entry_numbers import reduce_comparisons
from simjudge.method.verdicts import SIGNIFICANCE
from simjudge.questions.explain.changed_sets import ChangedSets
from simjudge.questions.explain.rendered_sets import RENDERS, RenderOptions, renders_folder
from simjudge.questions.explain.run import claimed_folder, read_pictures, required_detector, with_patch
from simjudge.questions.explain.scene_light import KnownLight, LensGlare, with_light
from simjudge.questions.fit.result import FIT, FITTED_CAMERA, PAGE_FILES, CameraFit, HeldOutW1, ParameterFit
from simjudge.questions.fit.settings import ALWAYS_FITTED, FITTED, FitSettings
from simjudge.sim.sensors.camera_matching.camera_difference import MOST_GLARE, CameraDifference, cause_words
from simjudge.sim.sensors.camera_matching.camera_estimation import (
    estimate_difference,
    estimation_error,
    sample_pictures,
)

_FIRST_STEP = 1.0
"""Standard deviation with which the search begins."""
_POPULATION = 8


def need_search(evaluations: int) -> None:
    """Make sure that what searches is installed, if a search of so many evaluations is asked for."""
    if evaluations >= _POPULATION:
        need_module("cma", "--evaluations 0 fits without a search; a search needs cma")


def search_minimum(
    objective: Callable[[FloatArray], float],
    start: FloatArray,
    evaluations: int,
    seed: int,
    words: str,
    progress: ProgressBar,
) -> tuple[FloatArray, list[float]]:
    """The best of what CMA-ES tries, and all values; the start is tried first. A seed tries the same points.

    `start`: (P,); returns coordinates (P,) and the values in the order in which they were tried.
    """
    best, value = start, objective(start)
    course = [value]
    if evaluations < _POPULATION or len(start) == 0:
        return best, course
    import cma  # noqa: PLC0415 - an extra

    options = {"seed": seed + 1, "popsize": _POPULATION, "maxfevals": evaluations, "verbose": -9}
    strategy: Any = cma.CMAEvolutionStrategy(list(start), _FIRST_STEP, options)
    with progress(words) as advance:
        while not strategy.stop() and len(course) < evaluations:
            asked = strategy.ask()
            values = [objective(np.asarray(point)) for point in asked]
            strategy.tell(asked, values)
            course += values
            least = int(np.argmin(values))
            if values[least] < value:
                best, value = np.asarray(asked[least]), values[least]
            advance(min(len(course), evaluations), evaluations)
    return best, course


@dataclass(frozen=True)
class FittedParameter:
    """One number of a camera."""

    name: str  # as files and tables write it
    part: str  # the part of the camera that it belongs to, one of `FITTED`
    unit: str  # empty for none
    neutral: float
    low: float
    high: float
    logarithmic: bool  # a gain or an exponent, searched by its logarithm
    step: float  # of the search, in the parameter's unit or, where logarithmic, of the logarithm
    get: Callable[[CameraDifference], float]  # the value of a difference; only what acts on B counts
    put: Callable[[CameraDifference, float], CameraDifference]

    def encode(self, value: float) -> float:
        """A value as a coordinate."""
        held = min(max(value, self.low), self.high)
        return (math.log(held) if self.logarithmic else held) / self.step

    @property
    def ends(self) -> list[float]:
        """The ends of the range that do change something: an interval that reaches them may go on beyond."""
        return [end for end in (self.low, self.high) if end != self.neutral]

    def decode(self, coordinate: float) -> float:
        """A coordinate as a value, inside the range."""
        value = coordinate * self.step
        return float(min(max(math.exp(min(value, 50.0)) if self.logarithmic else value, self.low), self.high))


def _noise(difference: CameraDifference) -> float:
    """Deviation of the noise at half of full scale."""
    return math.sqrt(difference.shot**2 / 2 + difference.read**2) if difference.noise_side == "b" else 0.0


def _number(
    name: str,
    part: str,
    unit: str,
    reach: tuple[float, float, float],
    step: float,
    get: Callable[[CameraDifference], float],
    put: Callable[[CameraDifference, float], CameraDifference],
    *,
    logarithmic: bool = False,
) -> FittedParameter:
    """A parameter; `reach`: its neutral, lowest and highest value."""
    return FittedParameter(name, part, unit, *reach, logarithmic, step, get, put)


def _field(
    name: str, part: str, unit: str, reach: tuple[float, float, float], step: float, *, logarithmic: bool = False
) -> FittedParameter:
    """A parameter that is one field of a difference."""

    def put(difference: CameraDifference, value: float) -> CameraDifference:
        return replace(difference, **{name: value})  # type: ignore[arg-type]

    return _number(name, part, unit, reach, step, attrgetter(name), put, logarithmic=logarithmic)


def _motion(name: str, number: int) -> FittedParameter:
    """One of the two numbers of a motion, right and down."""

    def put(difference: CameraDifference, value: float) -> CameraDifference:
        right, down = (value if k == number else old for k, old in enumerate(difference.motion))
        return replace(difference, motion=(right, down), motion_side="b")

    return _number(
        name,
        "motion_blur",
        "px",
        (0.0, -30.0, 30.0),
        0.5,
        lambda d: d.motion[number] if d.motion_side == "b" else 0.0,
        put,
    )


PARAMETERS = (
    _field("glare", "glare", "", (0.0, 0.0, MOST_GLARE), 0.05),
    _number("haze", "haze", "", (0.0, 0.0, 0.9), 0.05, lambda d: max(d.haze, 0.0), lambda d, v: replace(d, haze=v)),
    _motion("motion_right", 0),
    _motion("motion_down", 1),
    _field("red_size", "chromatic_aberration", "", (1.0, 0.95, 1.05), 0.001, logarithmic=True),
    _field("blue_size", "chromatic_aberration", "", (1.0, 0.95, 1.05), 0.001, logarithmic=True),
    _number(
        "blur",
        "blur",
        "px",
        (0.0, 0.0, 6.0),
        0.3,
        lambda d: math.sqrt(max(d.blur, 0.0)),
        lambda d, v: replace(d, blur=v * v),
    ),
    _number(
        "vignetting",
        "vignetting",
        "°",
        (0.0, 0.0, 70.0),
        5.0,
        lambda d: math.degrees(math.atan(math.sqrt(max(d.vignetting, 0.0)))),
        lambda d, v: replace(d, vignetting=math.tan(math.radians(v)) ** 2),
    ),
    _field("gain", "exposure", "", (1.0, 0.1, 10.0), 0.1, logarithmic=True),
    _field("red", "white_balance", "", (1.0, 0.2, 5.0), 0.05, logarithmic=True),
    _field("blue", "white_balance", "", (1.0, 0.2, 5.0), 0.05, logarithmic=True),
    _field("exponent", "contrast", "", (1.0, 0.3, 3.0), 0.1, logarithmic=True),
    _number(
        "noise",
        "noise",
        "grey levels",
        (0.0, 0.0, 60.0),
        2.0,
        _noise,
        lambda d, v: replace(d, shot=0.0, read=v, noise_side="b"),
    ),
    _number(
        "sharpening",
        "sharpening",
        "",
        (0.0, 0.0, 4.0),
        0.1,
        lambda d: max(d.sharpening, 0.0),
        lambda d, v: replace(d, sharpening=v),
    ),
)
"""All numbers that can be fitted, in the order in which they act in a camera."""


def chosen_parameters(parts: Sequence[str]) -> list[FittedParameter]:
    """The numbers of some parts of a camera."""
    return [parameter for parameter in PARAMETERS if parameter.part in parts]


def encode(difference: CameraDifference, parameters: Sequence[FittedParameter]) -> FloatArray:
    """A difference as coordinates of the search. Returns float64 (P,)."""
    return np.array([parameter.encode(parameter.get(difference)) for parameter in parameters])


def decode(
    coordinates: FloatArray, parameters: Sequence[FittedParameter], held: CameraDifference | None = None
) -> CameraDifference:
    """Coordinates of the search as a difference; what is not fitted is as it was held, or nothing.

    `coordinates`: (P,).
    """
    found = CameraDifference() if held is None else held
    for coordinate, parameter in zip(coordinates, parameters, strict=True):
        found = parameter.put(found, parameter.decode(float(coordinate)))
    return found


DETECTIONS = "detections"
"""Folder beside fit.json: what the detector found under every camera that was tried, so that a fit goes on."""
_FINEST = 0.05
"""Least half width of an interval, in steps of the search: pictures of 256 levels tell no finer."""
_LEAST_FRAMES = 10
_EVERYTHING = frozenset(FITTED)


@takes_setting_keywords
def fit_camera(  # noqa: PLR0913 - the options of the command
    a: Source,
    b: Source,
    out: str | Path | None = None,
    *,
    settings: FitSettings,
    camera: str | Path | None = None,
    scene: str | Path | None = None,
    detector: Detector | None = None,
    log: Log = no_log,
    progress: ProgressBar = no_progress,
) -> CameraFit:
    """Fit the parameters of B's camera so that B predicts A best, and test them on frames that were not fitted.

    The search starts from what the pictures themselves tell. Where the fitted frames still show a gap then (p at most
    0.05), it goes on by CMA-ES (Hansen, arXiv 1604.00772) with their mean W1 as its objective. Where they do not, W1 is
    chance, and a search would fit that chance.
    """
    compared = settings.comparison
    need_search(settings.evaluations)
    loaded = required_detector(compared) if detector is None else detector
    sides = read_pictures(a, b, loaded, compared, log, progress)
    compared = with_patch(compared, sides, log)
    folder = None if out is None else claimed_folder(Path(out), {FIT, FITTED_CAMERA, DETECTIONS, RENDERS, *PAGE_FILES})
    with renders_folder(folder) as renders:
        if scene is not None:
            sides = (sides[0], with_light(sides[1], RenderOptions(camera, scene, None, renders), log, progress))
        done = _fitted(sides, loaded, settings, compared, None if folder is None else folder / DETECTIONS, progress)
    if folder is not None:
        done.save(folder, None if camera is None else Path(camera))
    return done


def _fitted(
    sides: tuple[InputSet, InputSet],
    detector: Detector,
    settings: FitSettings,
    compared: CompareSettings,
    kept: Path | None,
    progress: ProgressBar,
) -> CameraFit:
    """Estimate, search, and judge what was held out."""
    choose_loops()
    fitted, held_out = (ChangedSets(part, detector, compared, kept, progress) for part in _split(sides, settings))
    with progress("estimating the camera") as advance:
        estimate, parameters = _estimated(fitted.sides, settings, advance)
    start = estimate.start
    objective = _Objective(fitted, compared, parameters, estimate.held)
    first = decode(start, parameters, estimate.held)
    at_start = _compared(fitted, compared, first)[1]
    enough = at_start.p_value is not None and at_start.p_value > SIGNIFICANCE
    tried = 0 if enough else settings.evaluations
    best, course = search_minimum(objective, start, tried, settings.seed, "fitting the camera", progress)
    found = decode(best, parameters, estimate.held)
    judged = [_held_out(held_out, compared, difference) for difference in (CameraDifference(), first, found)]
    return CameraFit(
        parameters=tuple(_parameters(objective, parameters, estimate, best)),
        steps=tuple(found.steps("b")),
        before=judged[0],
        start=judged[1],
        after=judged[2],
        fitted_w1=(objective.of(CameraDifference()), objective(start), objective(best)),
        frames=(len(fitted.sides[1].frames), len(held_out.sides[1].frames)),
        evaluations=len(course),
        course=tuple(course),
        start_is_enough=enough,
        not_fitted=tuple(estimate.unfit),
        losses=fitted.losses,
    )


def _split(
    sides: tuple[InputSet, InputSet], settings: FitSettings
) -> tuple[tuple[InputSet, InputSet], tuple[InputSet, InputSet]]:
    """The frames of the fit and those that it never sees; pairs stay pairs, and neighbours stay together."""
    fitted, held = [], []
    for side in sides:
        count = len(side.frames)
        if count < _LEAST_FRAMES:
            raise SimjudgeError(
                f"{side.frames.name}: {count} frames; at least {_LEAST_FRAMES} are needed to fit some "
                "and hold out others"
            )
        blocks = np.arange(count) * _LEAST_FRAMES // count
        order = np.random.default_rng([settings.seed, 15]).permutation(_LEAST_FRAMES)
        out = np.isin(blocks, order[: max(1, round(settings.held_out * _LEAST_FRAMES))])
        fitted.append(_some(side, np.flatnonzero(~out)))
        held.append(_some(side, np.flatnonzero(out)))
    return (fitted[0], fitted[1]), (held[0], held[1])


def _some(side: InputSet, rows: IntArray) -> InputSet:
    taken, images = side.frames.take(rows), side.frames.images
    if isinstance(images, KnownLight) and taken.images is not None:
        taken = replace(taken, images=images.take(rows, taken.images))
    return replace(side, frames=taken)


@dataclass(frozen=True)
class _Estimate:
    """What the pictures alone tell."""

    held: CameraDifference  # what is not searched: radius of sharpening, light of the air
    start: FloatArray  # (P,)
    spread: FloatArray  # (R, P), estimates on drawn pictures
    corrected: FloatArray  # (P,), the start less by what it errs on pictures of a known camera
    unfit: list[str]  # what B has too much of


def _estimated(
    sides: Sequence[InputSet], settings: FitSettings, advance: Advance
) -> tuple[_Estimate, list[FittedParameter]]:
    """Starting values with their error, and the parameters that are fitted: those asked for, else all that matter."""
    first, second = sides[0].frames, sides[1].frames
    wanted = settings.parameters is None or "glare" in settings.parameters
    lens = LensGlare.between(first, second, settings.seed) if wanted else LensGlare(CameraDifference())
    a, b = sample_pictures(first, settings.sample), sample_pictures(lens.before(second), settings.sample)
    behind = estimate_difference(a, b)
    whole = lens.beside(behind)
    shown = [part for part in FITTED if part in ALWAYS_FITTED or part in whole.causes()]
    parameters = chosen_parameters(settings.parameters or shown)
    error = estimation_error(a, b, behind, paired=settings.paired, seed=settings.seed, advance=advance)
    unfit = [cause_words(name) for name in whole.causes() if whole.side(name) == "a"]
    refits = [lens.beside(refit, number) for number, refit in enumerate(error.refits)]
    estimate = _Estimate(
        CameraDifference(air=whole.air, radius=whole.radius, glare_radius=whole.glare_radius),
        encode(whole, parameters),
        np.stack([encode(refit, parameters) for refit in refits]),
        encode(lens.beside(error.corrected), parameters),
        unfit,
    )
    return estimate, parameters


class _Objective:
    """Mean W1 of the fitted frames under a camera; what was tried once is known."""

    def __init__(
        self,
        sets: ChangedSets,
        settings: CompareSettings,
        parameters: Sequence[FittedParameter],
        held: CameraDifference,
    ) -> None:
        self._sets, self._settings, self._parameters, self._held = sets, settings, parameters, held
        self._known: dict[CameraDifference, float] = {}

    def __call__(self, coordinates: FloatArray) -> float:
        return self.of(decode(coordinates, self._parameters, self._held))

    def of(self, difference: CameraDifference) -> float:
        if difference not in self._known:
            found = _compared(self._sets, replace(self._settings, draws=0), difference)[0]
            self._known[difference] = found
            self._sets.forget()
        return self._known[difference]


def _compared(sets: ChangedSets, settings: CompareSettings, difference: CameraDifference) -> tuple[float, Any]:
    """Mean W1 under a camera and what stands beside it, by the code that `compare` uses."""
    a, b = sets.judged(difference, _EVERYTHING)
    units = comparison_units(a, b, settings, paired=settings.paired)
    painted = painted_geometry((a.frames, b.frames), settings.masks)
    method = replace(settings.method, paint_masks=painted.use_masks)
    comparison = SetComparison((a, b), units, method, adjusts=settings.preset != "cpd")
    (classes,), drawn = comparison.compare(comparison.schedule(settings))
    mean = reduce_comparisons(list(classes.values())).mean_w1
    if mean is None:
        raise SimjudgeError("no context of A has a like one in B: there is no W1 to fit")
    return float(mean), comparison.certainty(classes, drawn, 0, settings.margin)[1]


def _held_out(sets: ChangedSets, settings: CompareSettings, difference: CameraDifference) -> HeldOutW1:
    return HeldOutW1(*_compared(sets, settings, difference))


def _parameters(
    objective: _Objective, parameters: Sequence[FittedParameter], estimate: _Estimate, best: FloatArray
) -> list[ParameterFit]:
    """Each number with an interval: as drawn pictures spread it, as the search moved, and as the estimate errs."""
    start, count = estimate.start, len(estimate.spread)
    spread = np.sqrt(((estimate.spread - start) ** 2).mean(axis=0)) * student.ppf(0.975, count)
    found = []
    for number, parameter in enumerate(parameters):
        moved, off = float(best[number] - start[number]), float(estimate.corrected[number] - start[number])
        half = max(float(np.hypot(spread[number], moved)) + 2 * abs(off), _FINEST)
        without = best.copy()
        without[number] = parameter.encode(parameter.neutral)
        value = parameter.decode(float(best[number]))
        low, high = (parameter.decode(float(best[number]) + sign * half) for sign in (-1, 1))
        begin = parameter.decode(float(start[number]))
        found.append(
            ParameterFit(
                parameter.name,
                parameter.unit,
                parameter.neutral,
                begin,
                value,
                low,
                high,
                objective(without),
                low in parameter.ends or high in parameter.ends,
            )
        )
    return found
