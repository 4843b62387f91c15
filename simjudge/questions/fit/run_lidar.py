"""Calibration by the judge: range noise, drop-out and divergence of a lidar under which B's clouds predict A best."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from scipy.stats import t as student

from simjudge.core.arrays import FloatArray, IntArray
from simjudge.core.errors import Log, ProgressBar, SimjudgeError, UsageError, no_log, no_progress
from simjudge.core.files import hash_files
from simjudge.core.installed import version
from simjudge.core.settings import takes_setting_keywords
from simjudge.core.text import load_json
from simjudge.data.clouds import CloudBoxes, CloudSet
from simjudge.data.format_support.image_files import Topics
from simjudge.data.frame_sequences import pair_stamps
from simjudge.data.sets import read_clouds
from simjudge.detectors.clouds.cuboid_detection import detect_clouds
from simjudge.judging.compare_settings import CompareSettings
from simjudge.judging.comparison import Source, compare_sets
from simjudge.questions.explain.run import claimed_folder
from simjudge.questions.fit.lidar_estimates import (
    LidarFile,
    fit_divergence,
    fitted_divergence,
    read_lidar_file,
    read_renderings,
    ring_distributions,
    write_fitted_sensors,
)
from simjudge.questions.fit.result import (
    DIVERGENCE,
    FIT,
    FITTED_SENSORS,
    LIDAR_PAGE_FILES,
    NOISE_OF_LIDAR,
    TRIED,
    FittedDivergence,
    HeldOutW1,
    LidarFit,
    ParameterFit,
)
from simjudge.questions.fit.run import need_search, search_minimum
from simjudge.questions.fit.settings import FitSettings
from simjudge.results.saved_result import write_json
from simjudge.sim.sensors.lidar.beam_estimation import (
    CloudDegradation,
    RingStatistics,
    degraded_clouds,
    points_on_objects,
    ring_samples,
    ring_statistics,
)

_LEAST_CLOUDS = 10
_HELD_OUT_SEED = 15


def take_clouds(clouds: CloudSet, rows: IntArray) -> CloudSet:
    """Some clouds of a set, with their labels and without predictions."""
    boxes = clouds.boxes
    if boxes is not None:
        place = np.full(len(clouds), -1)
        place[rows] = np.arange(len(rows))
        kept = np.flatnonzero(place[boxes.cloud] >= 0)
        kept = kept[np.argsort(place[boxes.cloud[kept]], kind="stable")]
        boxes = CloudBoxes(
            place[boxes.cloud[kept]],
            *(getattr(boxes, name)[kept] for name in ("class_id", "instance", "centre", "orientation", "size")),
        )
    return replace(
        clouds,
        cloud_name=[clouds.cloud_name[row] for row in rows],
        stamp=clouds.stamp[rows],
        read=lambda index: clouds.read(int(rows[index])),
        boxes=boxes,
        labelled=None if clouds.labelled is None else clouds.labelled[rows],
        frames=None,
        cameras=[clouds.cameras[row] for row in rows] if len(clouds.cameras) else (),
        poses=[clouds.poses[row] for row in rows] if len(clouds.poses) else (),
        predictions=None,
        predicted=None,
    )


def read_side(source: Source, topic: str | None) -> CloudSet:
    """Clouds of one side of a fit."""
    if isinstance(source, CloudSet):
        return source
    if not isinstance(source, str | Path):
        raise UsageError(f"{source.name}: is a set of pictures; --sensor lidar takes clouds")
    return read_clouds(Path(source), None if topic is None else Topics(cloud_topic=topic))


def split_clouds(clouds: CloudSet, settings: FitSettings) -> tuple[CloudSet, CloudSet]:
    """The clouds of the fit and those that it never sees; neighbours stay together."""
    count = len(clouds)
    if count < _LEAST_CLOUDS:
        raise SimjudgeError(
            f"{clouds.name}: {count} clouds; at least {_LEAST_CLOUDS} are needed to fit some and hold out others"
        )
    blocks = np.arange(count) * _LEAST_CLOUDS // count
    order = np.random.default_rng([settings.seed, _HELD_OUT_SEED]).permutation(_LEAST_CLOUDS)
    out = np.isin(blocks, order[: max(1, round(settings.held_out * _LEAST_CLOUDS))])
    return take_clouds(clouds, np.flatnonzero(~out)), take_clouds(clouds, np.flatnonzero(out))


_SEED = 15
REDRAWN = 4
"""Fresh draws of the noise on which the start and what the search chose are compared: its own draw flatters it."""


class LidarObjective:
    """Mean W1 of some clouds with noise and drop-out on B's; what was tried once is known."""

    def __init__(self, a: CloudSet, b: CloudSet, settings: CompareSettings, kept: Path | None, origin: str) -> None:
        """Run the detector on A, and read what was tried before."""
        assert settings.model is not None  # noqa: S101 - refused before
        self.b, self._model, self._kept, self._origin, self.name = b, settings.model, kept, origin, ""
        self.a = detect_clouds(a, settings.model)
        self._settings = replace(settings, model=None)
        self._known: dict[str, float] = {}
        if kept is not None and kept.exists():
            content = load_json(kept)
            if content.get("origin") != origin:
                raise SimjudgeError(f"{kept}: is of another fit; choose another --out")
            self._known = dict(content["tried"])

    def with_b(self, b: CloudSet, name: str) -> LidarObjective:
        """The same with other clouds of B; A's detections, and what was tried, are shared."""
        other = copy(self)
        other.b, other.name = b, name
        return other

    def value(self, numbers: FloatArray, draw: int = 0) -> float:
        """Of noise and drop-out. `numbers`: (2,), metres and a probability."""
        key = f"{self.name} {numbers[0]:.6g} {numbers[1]:.6g} {draw}"
        if key not in self._known:
            quick = replace(self._settings, draws=0)
            self._known[key] = self._judge(numbers, draw, quick).mean_w1
            if self._kept is not None:
                write_json(self._kept, {"origin": self._origin, "tried": self._known})
        return self._known[key]

    def fresh(self, numbers: FloatArray) -> float:
        """Mean over draws that the search did not see. `numbers`: (2,), metres and a probability."""
        return float(np.mean([self.value(numbers, draw) for draw in range(1, REDRAWN + 1)]))

    def compared(self, numbers: FloatArray) -> HeldOutW1:
        """With what stands beside W1. `numbers`: (2,), metres and a probability."""
        return self._judge(numbers, 0, self._settings)

    def degraded(self, numbers: FloatArray, draw: int) -> CloudSet:
        """B's clouds with noise and drop-out. `numbers`: (2,), metres and a probability."""
        return degraded_clouds(self.b, CloudDegradation(float(numbers[0]), float(numbers[1])), _SEED + draw)

    def _judge(self, numbers: FloatArray, draw: int, settings: CompareSettings) -> HeldOutW1:
        result = compare_sets(self.a, detect_clouds(self.degraded(numbers, draw), self._model), settings).result
        mean = result.numbers.overall.mean_w1
        if mean is None:
            raise SimjudgeError("no context of A has a like one in B: there is no W1 to fit")
        return HeldOutW1(float(mean), result.overall)


def is_better(one: tuple[LidarObjective, FloatArray], other: tuple[LidarObjective, FloatArray]) -> bool:
    """Whether one lidar's W1 is lower than another's on fresh draws of the noise, by a paired t test at 95 %."""
    if one[0] is other[0] and np.array_equal(one[1], other[1]):
        return False
    gain = np.array([other[0].value(other[1], draw) - one[0].value(one[1], draw) for draw in range(1, REDRAWN + 1)])
    return bool(gain.mean() > student.ppf(0.95, REDRAWN - 1) * gain.std(ddof=1) / np.sqrt(REDRAWN))


_STEPS = np.array([0.005, 0.03])
"""Of the search: metres, and a probability."""
_MOST = np.array([0.5, 0.9])
_NOTHING = np.zeros(2)
_GROUPS = 4
_RING_DRAW = REDRAWN + 1
"""Draw of the noise on the clouds whose distributions are shown."""


@dataclass(frozen=True)
class _Sides:
    """Clouds of the fit, and held out."""

    a: tuple[CloudSet, CloudSet]
    b: tuple[CloudSet, CloudSet]
    # with which files B was rendered, B's own among them, by divergence, and these clouds; none where the divergence is
    # not fitted
    rendered: tuple[tuple[LidarFile, tuple[CloudSet, CloudSet]], ...]


@takes_setting_keywords
def fit_lidar(
    a: Source,
    b: Source,
    out: str | Path | None = None,
    *,
    settings: FitSettings,
    sensors: str | Path | None = None,
    rendered: Mapping[str | Path, Source] | None = None,
    log: Log = no_log,
    progress: ProgressBar = no_progress,
) -> LidarFit:
    """Fit noise, drop-out and divergence of B's lidar so that B predicts A best, and test them on held-out clouds.

    Noise and drop-out are put on B's clouds as they are; the search starts from what the rings of both sets tell.
    Divergence needs rays: it is fitted where B was rendered with several.
    """
    if settings.model is None:
        raise UsageError("--model: is needed, because the detector must see the changed clouds too")
    if settings.parameters is not None:
        raise UsageError("--parameters: are those of a camera; of a lidar noise and drop-out are always fitted")
    need_search(settings.evaluations)
    given = None if sensors is None else read_lidar_file(sensors)
    files = read_renderings(given, b, rendered) if rendered else []
    folder = None if out is None else claimed_folder(Path(out), {FIT, FITTED_SENSORS, TRIED, *LIDAR_PAGE_FILES})
    sides = _read_sides(a, b, files, settings)
    kept = None if folder is None else folder / TRIED
    compared = settings.comparison
    first = LidarObjective(sides.a[0], sides.b[0], compared, kept, _origin((a, b, *(s for _, s in files)), settings))
    first_held_out = LidarObjective(sides.a[1], sides.b[1], compared, None, "")
    width = _fit_width(sides, first, log, progress) if files else None
    fitted, held_out = first, first_held_out
    if width is not None and width.of != given:
        nearest = dict(sides.rendered)[width.of]
        fitted = first.with_b(nearest[0], f"{width.of.divergence[0]:g} mrad")
        held_out = first_held_out.with_b(nearest[1], "nearest")
    with progress("estimating the lidar"):
        statistics, estimates = _estimates(fitted.a, fitted.b)
        rings = [ring_samples(list(clouds_of_side)) for clouds_of_side in (held_out.a, sides.b[1])]
        for ring in rings:
            ring.statistics()  # refuses too few points before the search
    start = estimates[0]
    best, course = search_minimum(
        lambda each: fitted.value(_bounded(np.asarray(each) * _STEPS)),
        start / _STEPS,
        settings.evaluations,
        settings.seed,
        "fitting the lidar",
        progress,
    )
    found = _bounded(best * _STEPS)
    by_judge = is_better((fitted, found), (fitted, start))
    found = found if by_judge else start
    parameters = _parameters(fitted, estimates, found)
    if width is not None and given is not None:
        own = given.divergence[0]
        parameters.insert(
            0,
            ParameterFit(
                DIVERGENCE, "mrad", own, width.fit.value, width.value, width.low, width.high, first.fresh(found)
            ),
        )
    rings.append(ring_samples(list(held_out.degraded(found, _RING_DRAW))))
    done = LidarFit(
        tuple(parameters),
        by_judge,
        statistics,
        first_held_out.compared(_NOTHING),
        held_out.compared(start),
        held_out.compared(found),
        (first.fresh(_NOTHING), fitted.fresh(start), fitted.fresh(found)),
        is_better((fitted, found), (first, _NOTHING)),
        (len(fitted.b), len(held_out.b)),
        tuple(course),
        ring_distributions(rings),
        width,
        fitted.b.losses,
    )
    if folder is not None:
        if given is not None:
            beams = None if width is None else fitted_divergence(width.value, width.files)
            file = given if width is None else width.of
            write_fitted_sensors(file, folder / FITTED_SENSORS, float(found[0]), float(found[1]), beams)
        write_json(folder / FIT, done.content())
    return done


def _read_sides(a: Source, b: Source, files: Sequence[tuple[LidarFile, Source]], settings: FitSettings) -> _Sides:
    """Both sides and B's renderings, paired and split alike."""
    sides = [read_side(a, settings.a_cloud_topic), read_side(b, settings.b_cloud_topic)]
    renderings = [sides[1] if source is b else read_side(source, settings.b_cloud_topic) for _, source in files]
    for (file, _), rendering in zip(files, renderings, strict=True):
        if not np.array_equal(rendering.stamp, sides[1].stamp):
            raise SimjudgeError(
                f"{rendering.name}: its {len(rendering)} clouds have other stamps than the {len(sides[1])} of"
                f" {sides[1].name}; render the same scans with {file.path.name}"
            )
    if settings.paired:
        rows = pair_stamps(sides[0].stamp, sides[1].stamp, round(settings.pair_tolerance * 1e9))
        sides = [take_clouds(side, row) for side, row in zip(sides, rows, strict=True)]
        renderings = [take_clouds(rendering, rows[1]) for rendering in renderings]
    split = [split_clouds(rendering, settings) for rendering in renderings]
    return _Sides(
        split_clouds(sides[0], settings),
        split_clouds(sides[1], settings),
        tuple((file, part) for (file, _), part in zip(files, split, strict=True)),
    )


def _fit_width(sides: _Sides, objective: LidarObjective, log: Log, progress: ProgressBar) -> FittedDivergence:
    """The divergence by points on things, or by the judge where it says that another rendering is better."""
    files = [file for file, _ in sides.rendered]
    parts = [part[0] for _, part in sides.rendered]
    with progress("estimating the divergence") as advance:
        found = fit_divergence(
            points_on_objects(sides.a[0]),
            [points_on_objects(part) for part in parts],
            [file.divergence[0] for file in files],
            len(sides.a[0]),
        )
        noise = _difference(ring_statistics(list(sides.a[0])), ring_statistics(list(sides.b[0])))
        judged = [
            objective.with_b(part, f"{file.divergence[0]:g} mrad") for file, part in zip(files, parts, strict=True)
        ]
        w1 = []
        for number, estimate in enumerate(judged, 1):
            w1.append(estimate.fresh(noise))
            advance(number, len(judged))
    near, least = found.nearest, int(np.argmin(w1))
    by_judge = is_better((judged[least], noise), (judged[near], noise))
    value = float(found.rendered[least]) if by_judge else found.value
    half = max((found.high - found.low) / 2, abs(value - found.value))
    width = FittedDivergence(
        found,
        value,
        max(0.0, value - half),
        value + half,
        by_judge,
        tuple(files),
        files[least if by_judge else near],
        tuple(w1),
    )
    log(
        f"divergence {value:.2f} mrad ({width.low:.2f} to {width.high:.2f}); noise and drop-out are fitted on clouds of"
        f" {width.of.path.name}"
    )
    return width


def _estimates(a: CloudSet, b: CloudSet) -> tuple[tuple[RingStatistics, RingStatistics], list[FloatArray]]:
    """Of all clouds; and what B lacks by all of them, then by each group."""
    clouds = [list(side) for side in (a, b)]
    whole = (ring_statistics(clouds[0]), ring_statistics(clouds[1]))
    count = min(_GROUPS, len(a), len(b))
    groups = [[ring_statistics(cloud[group::count]) for cloud in clouds] for group in range(count)]
    return whole, [_difference(*whole), *(_difference(*group) for group in groups)]


def _difference(a: RingStatistics, b: RingStatistics) -> FloatArray:
    noise = np.sqrt(max(a.range_noise**2 - b.range_noise**2, 0.0))
    return _bounded(np.array([noise, 1 - (1 - a.drop_out) / max(1 - b.drop_out, 1e-9)]))


def _bounded(numbers: FloatArray) -> FloatArray:
    return np.clip(numbers, 0.0, _MOST)


def _parameters(objective: LidarObjective, estimates: Sequence[FloatArray], found: FloatArray) -> list[ParameterFit]:
    """Each number with an interval: as wide as groups of clouds differ, and as the search moved."""
    groups = np.stack(estimates[1:])
    count = len(groups)
    half = groups.std(axis=0, ddof=1) / np.sqrt(count) * student.ppf(0.975, count - 1)
    half = np.maximum(half, np.abs(found - estimates[0]))
    parameters = []
    for number, (name, unit) in enumerate(zip(NOISE_OF_LIDAR, ("m", ""), strict=True)):
        without = found.copy()
        without[number] = 0.0
        low, high = (float(_bounded(found + sign * half)[number]) for sign in (-1, 1))
        parameters.append(
            ParameterFit(
                name, unit, 0.0, float(estimates[0][number]), float(found[number]), low, high, objective.fresh(without)
            )
        )
    return parameters


def _origin(sources: Sequence[Source], settings: FitSettings) -> str:
    """What a fit is of, so that another one does not go on with its numbers."""
    shas = [hash_files(Path(source)) if isinstance(source, str | Path) else "" for source in sources]
    return f"{version()} {' '.join(shas)} {replace(settings, evaluations=0)!r}"
