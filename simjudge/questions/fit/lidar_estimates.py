"""What a lidar's clouds tell: range noise and drop-out by ring, its divergence, and clouds rendered with others.

B was rendered with several divergences. Of each rendering, the ratio of its points on things to A's is taken in bins of
distance. The divergence is the one at which this ratio is the same at all distances (least squares, weighted by the
bins' variances, between the renderings by monotone cubic interpolation); what it is, is free, because things of another
size or with fewer returns change it alike near by and far away.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import yaml
from scipy.interpolate import PchipInterpolator
from scipy.stats import t as student

from simjudge.core.arrays import FloatArray, IntArray, ShortRepr
from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.core.files import atomic_file
from simjudge.core.installed import SENSORS, find_file
from simjudge.core.text import Json, read_yaml
from simjudge.judging.comparison import Source
from simjudge.sim.sensors.lidar.beam_estimation import ObjectPoints, RingSamples, RingStatistics
from simjudge.sim.sensors.lidar.lidar import LidarSpec
from simjudge.sim.sensors.sensor_file import read_sensors

_LEAST = 3
"""Renderings, B's own among them: two cannot tell whether a third would be better."""


@dataclass(frozen=True)
class LidarFile:
    """A sensor file with one lidar."""

    path: Path
    name: str
    divergence: tuple[float, float]  # horizontal and vertical, full angles, mrad
    samples: int  # of its beams; 1 is a single ray


def read_lidar_file(sensors: str | Path) -> LidarFile:
    """Read a sensor file with one lidar."""
    path = find_file(sensors, SENSORS)
    lidars = [read_sensor for read_sensor in read_sensors(path) if isinstance(read_sensor, LidarSpec)]
    if len(lidars) != 1:
        raise SimjudgeError(f"{path}: has {len(lidars)} lidars; a file with one is needed")
    model = lidars[0].model()
    across, upwards = (round(1e3 * angle, 9) for angle in model.divergence)
    return LidarFile(path, lidars[0].name, (across, upwards), model.samples)


def read_renderings(
    own: LidarFile | None, b: Source, rendered: Mapping[str | Path, Source]
) -> list[tuple[LidarFile, Source]]:
    """Sensor files and what was rendered with them, B's own among them, by divergence."""
    if own is None:
        raise UsageError("--rendered: needs --sensors, the file of B's own clouds")
    files = [(own, b), *((read_lidar_file(file), source) for file, source in rendered.items())]
    files.sort(key=lambda each: each[0].divergence)
    if len(files) < _LEAST:
        raise UsageError(f"--rendered: {_LEAST - 1} renderings with other divergences are needed at least")
    for file, _ in files:
        if file.samples == 1 and any(file.divergence):
            raise SimjudgeError(
                f"{file.path}: samples 1: its beams are single rays, whatever their divergence; write samples: 3"
            )
    for (one, _), (other, _) in pairwise(files):
        if one.divergence[0] == other.divergence[0]:
            raise UsageError(
                f"--rendered: {one.path} and {other.path} have the same horizontal divergence,"
                f" {one.divergence[0]:g} mrad"
            )
    return files


def write_fitted_sensors(
    given: LidarFile, out: Path, range_noise: float, drop_out: float, divergence: tuple[float, float] | None
) -> None:
    """Write a sensors' file with what was fitted: noise on top of the lidar's own, and divergence in its place.

    `range_noise`: metres.
    """
    content: Json = dict(read_yaml(given.path).content)
    lidar = dict(content[given.name])
    noise = dict(lidar.get("noise") or {})
    noise["range"] = float(f"{np.hypot(float(noise.get('range', 0.0)), range_noise):.4g}")
    noise["drop_out"] = float(f"{1 - (1 - float(noise.get('drop_out', 0.0))) * (1 - drop_out):.4g}")
    fitted = "noise"
    if divergence is not None:
        across, upwards = (float(f"{angle:.4g}") for angle in divergence)
        lidar["divergence"] = {"horizontal": across, "vertical": upwards}
        if across == upwards == 0:
            lidar.pop("samples", None)
        elif lidar.get("samples", 1) == 1:
            lidar["samples"] = 3
        fitted = "noise and divergence"
    content[given.name] = lidar | {"noise": noise}
    with atomic_file(out) as temporary:
        text = yaml.safe_dump(content, sort_keys=False)
        header = f"# {given.path.stem}, fitted by simjudge fit: {fitted} of {given.name}."
        temporary.write_text(f"{header}\n{text}", encoding="utf-8")
    read_sensors(out)


def fitted_divergence(across: float, files: Sequence[LidarFile]) -> tuple[float, float]:
    """Horizontal and vertical, mrad: between those of the renderings."""
    rendered = np.array([file.divergence for file in files])
    return across, float(np.interp(across, rendered[:, 0], rendered[:, 1]))


_DISTANCE_BINS = 6
_LEAST_IN_BIN = 8
"""Things that a bin needs in each set."""
_LEAST_BINS = 3
_BLOCKS = 10
"""Blocks of neighbouring clouds that are left out in turn, for the interval."""
_FINE = 1001
"""Divergences between the first and the last rendering that are looked at."""


@dataclass(frozen=True, repr=False, eq=False)
class DivergenceFit(ShortRepr):
    """What points on things tell of the width of beams."""

    value: float
    low: float  # low, high: 95 % interval, by blocks of clouds left out in turn (jackknife)
    high: float
    rendered: FloatArray  # (K,), divergences of the renderings, ascending, mrad
    misfit: FloatArray  # (K,), chi square of each: how unlike the ratios are in the bins, over their number less one
    edges: FloatArray  # (M + 1,), of the bins of distance, metres
    points: FloatArray  # (K + 1, M), mean points on a thing: of A, then of each rendering
    at_edge: bool  # whether the value is the least or the largest that was rendered

    @property
    def nearest(self) -> int:
        """Number of the rendering whose divergence is nearest to the value."""
        return int(np.argmin(np.abs(self.rendered - self.value)))

    def content(self) -> dict[str, object]:
        """The entry of fit.json."""
        names = ("rendered", "misfit", "edges", "points")
        arrays = {name: getattr(self, name).tolist() for name in names}
        return {"value": self.value, "low": self.low, "high": self.high, "at_edge": self.at_edge, **arrays}


def fit_divergence(
    a: ObjectPoints, renderings: Sequence[ObjectPoints], divergences: Sequence[float], clouds: int
) -> DivergenceFit:
    """Find the divergence at which points on things fall off with distance as A's do.

    `divergences`: of these, horizontal, mrad, ascending.
    """
    edges = _bins(a, renderings)
    given = np.asarray(divergences, np.float64)
    points, misfit, value = _estimate(a, renderings, given, edges)
    blocks = np.arange(clouds) * _BLOCKS // max(clouds, 1)
    values: list[float] = []
    for block in np.unique(blocks):
        rows = np.flatnonzero(blocks != block)
        some = [rendering.of_clouds(rows) for rendering in renderings]
        values.append(_estimate(a.of_clouds(rows), some, given, edges)[2])
    left, count = np.array(values), len(values)
    half = student.ppf(0.975, count - 1) * np.sqrt((count - 1) / count * ((left - left.mean()) ** 2).sum())
    low, high = max(0.0, value - float(half)), value + float(half)
    return DivergenceFit(value, low, high, given, misfit, edges, points, value in {given[0], given[-1]})


def _bins(a: ObjectPoints, renderings: Sequence[ObjectPoints]) -> FloatArray:
    """Edges between which A has as many things each, and every set enough."""
    for count in range(_DISTANCE_BINS, _LEAST_BINS - 1, -1):
        if len(a.distance) < count:
            continue
        edges: FloatArray = np.quantile(a.distance, np.linspace(0, 1, count + 1))
        edges[-1] = np.nextafter(edges[-1], np.inf)
        least = min(int(np.histogram(frame_set.distance, edges)[0].min()) for frame_set in (a, *renderings))
        if least >= _LEAST_IN_BIN and (np.diff(edges) > 0).all():
            return edges
    raise SimjudgeError(
        f"{len(a.distance)} labelled things with points in A, {min(len(one.distance) for one in renderings)} in B:"
        f" {_LEAST_BINS} distances with {_LEAST_IN_BIN} each are needed to tell the divergence"
    )


def _estimate(
    a: ObjectPoints, renderings: Sequence[ObjectPoints], divergences: FloatArray, edges: FloatArray
) -> tuple[FloatArray, FloatArray, float]:
    """Mean points of A and the renderings, the renderings' misfit, and the divergence."""
    sums = [_moments(frame_set, edges) for frame_set in (a, *renderings)]
    points = np.array([mean for mean, _ in sums])
    variance = np.array([spread for _, spread in sums])
    ratio = np.log(points[1:] / points[0])
    # The renderings share their noise, and A's is in all of them: one variance a bin serves all.
    weight = 1 / (variance[0] + variance[1:].mean(axis=0))
    fine = np.linspace(divergences[0], divergences[-1], _FINE)
    between = PchipInterpolator(divergences, ratio, axis=0)(fine)
    misfit = _unlike(ratio, weight)
    return points, misfit / (len(edges) - 2), float(fine[np.argmin(_unlike(between, weight))])


def _moments(given: ObjectPoints, edges: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Of each bin: mean points of a thing, and the variance of its logarithm."""
    place = np.digitize(given.distance, edges) - 1
    means, spreads = [], []
    for number in range(len(edges) - 1):
        points = given.points[place == number]
        mean = points.mean() if len(points) else np.nan
        means.append(mean)
        spreads.append(max(points.var(), mean) / max(len(points), 1) / mean**2)
    return np.array(means), np.array(spreads)


def _unlike(ratio: FloatArray, weight: FloatArray) -> FloatArray:
    """Chi square of logarithms of ratios (K, M) about their weighted means."""
    middle = (ratio * weight).sum(axis=1, keepdims=True) / weight.sum()
    unlike: FloatArray = (weight * (ratio - middle) ** 2).sum(axis=1)
    return unlike


LIDAR_NAMES = ("a", "before", "after")
"""Whose: A's clouds, B's as they are, and B's with the fitted numbers."""
_BINS = 41
_WIDEST = 4.0
"""Half width of the histogram, in standard deviations of the noisiest lidar."""
_LEAST_WIDTH = 0.001
"""Half width of a histogram without noise, metres."""
_LEAST_PAIRS = 30
"""Pairs of points on which a ring's drop-out is shown."""


@dataclass(frozen=True, repr=False, eq=False)
class RingDistributions(ShortRepr):
    """Range noise and drop-out of three lidars, in the order of `LIDAR_NAMES`."""

    statistics: tuple[RingStatistics, ...]
    edges: FloatArray  # of the bins of range noise, (K + 1,), metres
    density: FloatArray  # (3, K), share of the points per metre of deviation
    outside: FloatArray  # (3,), share of the points beyond the outermost edges
    ring: tuple[IntArray, ...]  # of each, numbers of the rings with enough points, (R,)
    ring_drop_out: tuple[FloatArray, ...]  # of each, drop-out of these rings, (R,), 0 to 1

    def content(self) -> dict[str, object]:
        """The entry of fit.json."""
        return {name: vars(statistic) for name, statistic in zip(LIDAR_NAMES, self.statistics, strict=True)}


def ring_distributions(samples: Sequence[RingSamples]) -> RingDistributions:
    """The distributions of three lidars, with the same bins."""
    statistics = tuple(sample.statistics() for sample in samples)
    half = max(_LEAST_WIDTH, _WIDEST * max(statistic.range_noise for statistic in statistics))
    edges = np.linspace(-half, half, _BINS + 1)
    counts = np.array([np.histogram(sample.deviation, edges)[0] for sample in samples], np.float64)
    total = np.array([len(sample.deviation) for sample in samples], np.float64)[:, None]
    shown = [sample.whole + sample.lost >= _LEAST_PAIRS for sample in samples]
    return RingDistributions(
        statistics,
        edges,
        counts / total / np.diff(edges),
        1 - counts.sum(axis=1) / total[:, 0],
        tuple(sample.ring[keep] for sample, keep in zip(samples, shown, strict=True)),
        tuple(
            (sample.lost / np.maximum(sample.whole + sample.lost, 1))[keep]
            for sample, keep in zip(samples, shown, strict=True)
        ),
    )
