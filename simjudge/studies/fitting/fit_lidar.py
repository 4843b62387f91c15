"""Calibration by the judge: range noise and drop-out of a lidar under which B's clouds predict A best."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from scipy.stats import t as student

from simjudge.core.arrays import FloatArray, IntArray
from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.core.files import atomic_file, hash_files
from simjudge.core.installed import SENSORS, find_file
from simjudge.core.progress import Log, ProgressBar, no_log, no_progress
from simjudge.core.setting_keywords import takes_setting_keywords
from simjudge.core.text import load_json
from simjudge.core.version import version
from simjudge.core.yaml_file import read_yaml
from simjudge.data.clouds.cloud_set import CloudBoxes, CloudSet
from simjudge.data.format_support.format import Topics
from simjudge.data.pairing import pair_stamps
from simjudge.data.sets import read_clouds
from simjudge.perception.clouds.cloud_detection import detect_clouds
from simjudge.results.result_folder import write_json
from simjudge.sensors.lidar.cloud_degradation import CloudDegradation, degraded_clouds
from simjudge.sensors.lidar.lidar_fields import LidarSpec
from simjudge.sensors.lidar.ring_statistics import RingStatistics, ring_samples, ring_statistics
from simjudge.sensors.sensor_file import read_sensors
from simjudge.studies.comparison import Source, compare_sets
from simjudge.studies.explain.explain_inputs import claimed_folder
from simjudge.studies.fitting.camera_fit import FIT, HeldOutW1, ParameterFit
from simjudge.studies.fitting.cma_search import search_minimum
from simjudge.studies.fitting.fit_settings import FitSettings
from simjudge.studies.fitting.lidar_fit import FITTED_OF_LIDAR, FITTED_SENSORS, LIDAR_PAGE_FILES, TRIED, LidarFit
from simjudge.studies.fitting.ring_distributions import ring_distributions

_STEPS = np.array([0.005, 0.03])
"""Of the search: metres, and a probability."""
_MOST = np.array([0.5, 0.9])
_GROUPS = 4
_LEAST_CLOUDS = 10
_SEED = 15
_REDRAWN = 4
"""Fresh draws of the noise on which the start and what the search chose are compared: its own draw flatters it."""
_RING_DRAW = _REDRAWN + 1
"""Draw of the noise on the clouds whose distributions are shown."""


@takes_setting_keywords
def fit_lidar(
    a: Source,
    b: Source,
    out: str | Path | None = None,
    *,
    settings: FitSettings,
    sensors: str | Path | None = None,
    log: Log = no_log,
    progress: ProgressBar = no_progress,
) -> LidarFit:
    """Fit the range noise and the drop-out of B's lidar so that B predicts A best, and test them on held-out clouds.

    Both are put on B's clouds as they are. The search starts from what the rings of both sets tell.

    Args:
        a: the set to be predicted, usually real: clouds with cuboids.
        b: the set that predicts it, usually simulated.
        out: folder for fit.json and sensors.yaml; None writes nothing. A fit that was stopped goes on there.
        settings: all settings at once; keywords change single ones.
        sensors: that made B's clouds: a file or a name. It is written to `out` with the fitted numbers.
        log: receives what a person should know.
        progress: opens a progress bar.

    Returns:
        The parameters with intervals, and W1 before and after.

    Raises:
        UsageError: no detector is given, or a setting makes no sense here.
        SimjudgeError: a set cannot be read, has no rings or too few clouds, or cma is not installed.
    """
    if settings.model is None:
        raise UsageError("--model: is needed, because the detector must see the changed clouds too")
    if settings.parameters is not None:
        raise UsageError("--parameters: are those of a camera; of a lidar noise and drop-out are always fitted")
    given = None if sensors is None else _lidar_of(sensors)
    folder = None if out is None else claimed_folder(Path(out), {FIT, FITTED_SENSORS, TRIED, *LIDAR_PAGE_FILES})
    sides = [_read(each, topic) for each, topic in ((a, settings.a_cloud_topic), (b, settings.b_cloud_topic))]
    if settings.paired:
        rows = pair_stamps(sides[0].stamp, sides[1].stamp, round(settings.pair_tolerance * 1e9))
        sides = [take_clouds(side, row) for side, row in zip(sides, rows, strict=True)]
    parts = [_split(side, settings) for side in sides]
    kept = None if folder is None else folder / TRIED
    fitted = _LidarObjective(parts[0][0], parts[1][0], settings, kept, _origin(a, b, settings), log)
    held_out = _LidarObjective(parts[0][1], parts[1][1], settings, None, "", log)
    with progress("estimating the lidar"):
        statistics, estimates = _estimates(fitted.a, fitted.b)
        held_out_rings = [ring_samples(list(each)) for each in (held_out.a, held_out.b)]
        for each in held_out_rings:
            each.statistics()  # refuses too few points before the search
    start = estimates[0]
    best, course = search_minimum(fitted.of, start / _STEPS, settings.evaluations, settings.seed,
                                  "fitting the lidar", progress)  # fmt: skip
    found = _bounded(best * _STEPS)
    by_judge = _better(fitted, found, start)
    found = found if by_judge else start
    nothing = np.zeros(2)
    seen = _better(fitted, found, nothing)
    judged = [held_out.compared(each) for each in (nothing, start, found)]
    distributions = ring_distributions([*held_out_rings, ring_samples(list(held_out.degraded(found, _RING_DRAW)))])
    done = LidarFit(
        tuple(_parameters(fitted, estimates, found)), by_judge, statistics, judged[0], judged[1], judged[2],
        (fitted.fresh(nothing), fitted.fresh(start), fitted.fresh(found)), seen,
        (len(fitted.b), len(held_out.b)), tuple(course), distributions, fitted.b.losses,
    )  # fmt: skip
    if folder is not None:
        if given is not None:
            _write_sensors(given, found, folder / FITTED_SENSORS)
        write_json(folder / FIT, done.content())
    return done


class _LidarObjective:
    """Mean W1 of some clouds with noise and drop-out on B's; what was tried once is known."""

    def __init__(self, a: CloudSet, b: CloudSet, settings: FitSettings, kept: Path | None, origin: str, log: Log
                 ) -> None:  # fmt: skip
        assert settings.model is not None  # noqa: S101 - refused before
        self.b, self._model, self._kept, self._origin, self._log = b, settings.model, kept, origin, log
        self.a = detect_clouds(a, settings.model)
        self._settings = replace(settings, model=None)
        self._known: dict[str, float] = {}
        if kept is not None and kept.exists():
            content = load_json(kept)
            if content.get("origin") != origin:
                raise SimjudgeError(f"{kept}: is of another fit; choose another --out")
            self._known = dict(content["tried"])

    def of(self, coordinates: FloatArray) -> float:
        """Of coordinates of the search."""
        return self.value(_bounded(np.asarray(coordinates) * _STEPS))

    def value(self, numbers: FloatArray, draw: int = 0) -> float:
        """Of noise and drop-out."""
        key = f"{numbers[0]:.6g} {numbers[1]:.6g} {draw}"
        if key not in self._known:
            quick = replace(self._settings, permutations=0, bootstrap=0)
            self._known[key] = self._judge(numbers, draw, quick).mean_w1
            if self._kept is not None:
                write_json(self._kept, {"origin": self._origin, "tried": self._known})
        return self._known[key]

    def fresh(self, numbers: FloatArray) -> float:
        """Mean over draws that the search did not see."""
        return float(np.mean([self.value(numbers, draw) for draw in range(1, _REDRAWN + 1)]))

    def compared(self, numbers: FloatArray) -> HeldOutW1:
        """With what stands beside W1."""
        return self._judge(numbers, 0, self._settings)

    def degraded(self, numbers: FloatArray, draw: int) -> CloudSet:
        """B's clouds with noise and drop-out."""
        return degraded_clouds(self.b, CloudDegradation(float(numbers[0]), float(numbers[1])), _SEED + draw)

    def _judge(self, numbers: FloatArray, draw: int, settings: FitSettings) -> HeldOutW1:
        result = compare_sets(self.a, detect_clouds(self.degraded(numbers, draw), self._model), settings).result
        mean = result.numbers["overall"]["mean_w1"]
        if mean is None:
            raise SimjudgeError("no context of A has a like one in B: there is no W1 to fit")
        return HeldOutW1(float(mean), result.overall)


def take_clouds(clouds: CloudSet, rows: IntArray) -> CloudSet:
    """Some clouds of a set, with their labels and without predictions.

    Args:
        clouds: the set.
        rows: numbers of the clouds.
    """
    boxes = clouds.boxes
    if boxes is not None:
        place = np.full(len(clouds), -1)
        place[rows] = np.arange(len(rows))
        kept = np.flatnonzero(place[boxes.cloud] >= 0)
        kept = kept[np.argsort(place[boxes.cloud[kept]], kind="stable")]
        boxes = CloudBoxes(place[boxes.cloud[kept]], *(getattr(boxes, name)[kept] for name in (
            "class_id", "instance", "centre", "orientation", "size")))  # fmt: skip
    return replace(
        clouds, cloud_name=[clouds.cloud_name[row] for row in rows], stamp=clouds.stamp[rows],
        read=lambda index: clouds.read(int(rows[index])), boxes=boxes,
        labelled=None if clouds.labelled is None else clouds.labelled[rows], frames=None,
        cameras=[clouds.cameras[row] for row in rows] if len(clouds.cameras) else (),
        poses=[clouds.poses[row] for row in rows] if len(clouds.poses) else (), predictions=None, predicted=None,
    )  # fmt: skip


def _read(source: Source, topic: str | None) -> CloudSet:
    if isinstance(source, CloudSet):
        return source
    if not isinstance(source, str | Path):
        raise UsageError(f"{source.name}: is a set of pictures; --sensor lidar takes clouds")
    return read_clouds(Path(source), None if topic is None else Topics(cloud_topic=topic))


def _split(clouds: CloudSet, settings: FitSettings) -> tuple[CloudSet, CloudSet]:
    """The clouds of the fit and those that it never sees; neighbours stay together."""
    count = len(clouds)
    if count < _LEAST_CLOUDS:
        raise SimjudgeError(f"{clouds.name}: {count} clouds; at least {_LEAST_CLOUDS} are needed to fit some and hold"
                            " out others")  # fmt: skip
    blocks = np.arange(count) * _LEAST_CLOUDS // count
    order = np.random.default_rng([settings.seed, _SEED]).permutation(_LEAST_CLOUDS)
    out = np.isin(blocks, order[: max(1, round(settings.held_out * _LEAST_CLOUDS))])
    return take_clouds(clouds, np.flatnonzero(~out)), take_clouds(clouds, np.flatnonzero(out))


def _estimates(a: CloudSet, b: CloudSet) -> tuple[tuple[RingStatistics, RingStatistics], list[FloatArray]]:
    """Of all clouds; and what B lacks by all of them, then by each group."""
    clouds = [list(each) for each in (a, b)]
    whole = (ring_statistics(clouds[0]), ring_statistics(clouds[1]))
    count = min(_GROUPS, len(a), len(b))
    groups = [[ring_statistics(each[group::count]) for each in clouds] for group in range(count)]
    return whole, [_difference(*whole), *(_difference(*each) for each in groups)]


def _difference(a: RingStatistics, b: RingStatistics) -> FloatArray:
    noise = np.sqrt(max(a.range_noise**2 - b.range_noise**2, 0.0))
    return _bounded(np.array([noise, 1 - (1 - a.drop_out) / max(1 - b.drop_out, 1e-9)]))


def _bounded(numbers: FloatArray) -> FloatArray:
    return np.clip(numbers, 0.0, _MOST)


def _better(objective: _LidarObjective, one: FloatArray, other: FloatArray) -> bool:
    """Whether one lidar's W1 is lower than another's on fresh draws of the noise, by a paired t test at 95 %."""
    if np.array_equal(one, other):
        return False
    gain = np.array([objective.value(other, draw) - objective.value(one, draw) for draw in range(1, _REDRAWN + 1)])
    return bool(gain.mean() > student.ppf(0.95, _REDRAWN - 1) * gain.std(ddof=1) / np.sqrt(_REDRAWN))


def _parameters(objective: _LidarObjective, estimates: Sequence[FloatArray], found: FloatArray) -> list[ParameterFit]:
    """Each number with an interval: as wide as groups of clouds differ, and as the search moved."""
    groups = np.stack(estimates[1:])
    count = len(groups)
    half = groups.std(axis=0, ddof=1) / np.sqrt(count) * student.ppf(0.975, count - 1)
    half = np.maximum(half, np.abs(found - estimates[0]))
    parameters = []
    for number, (name, unit) in enumerate(zip(FITTED_OF_LIDAR, ("m", ""), strict=True)):
        without = found.copy()
        without[number] = 0.0
        low, high = (float(_bounded(found + sign * half)[number]) for sign in (-1, 1))
        parameters.append(ParameterFit(name, unit, 0.0, float(estimates[0][number]), float(found[number]), low, high,
                                       objective.fresh(without)))  # fmt: skip
    return parameters


def _lidar_of(sensors: str | Path) -> tuple[Path, str]:
    """The file, and the name of the one lidar in it."""
    path = find_file(sensors, SENSORS)
    names = [each.name for each in read_sensors(path) if isinstance(each, LidarSpec)]
    if len(names) != 1:
        raise SimjudgeError(f"{path}: has {len(names)} lidars; a file with one is needed")
    return path, names[0]


def _write_sensors(given: tuple[Path, str], found: FloatArray, out: Path) -> None:
    """The sensors' file with what was fitted on top of the lidar's own noise and drop-out."""
    path, name = given
    content: dict[str, Any] = dict(read_yaml(path).content)
    lidar = dict(content[name])
    noise = dict(lidar.get("noise") or {})
    noise["range"] = float(f"{np.hypot(float(noise.get('range', 0.0)), found[0]):.4g}")
    noise["drop_out"] = float(f"{1 - (1 - float(noise.get('drop_out', 0.0))) * (1 - found[1]):.4g}")
    content[name] = lidar | {"noise": noise}
    with atomic_file(out) as temporary:
        text = yaml.safe_dump(content, sort_keys=False)
        temporary.write_text(f"# {path.stem}, fitted by simjudge fit: noise of {name}.\n{text}", encoding="utf-8")
    read_sensors(out)


def _origin(a: Source, b: Source, settings: FitSettings) -> str:
    """What a fit is of, so that another one does not go on with its numbers."""
    shas = [hash_files(Path(each)) if isinstance(each, str | Path) else "" for each in (a, b)]
    return f"{version()} {shas[0]} {shas[1]} {replace(settings, evaluations=0)!r}"
