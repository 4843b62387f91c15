"""Does a localization err in simulation as in reality? Algorithm 1 over stretches of the way, as a function."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from scipy.spatial import cKDTree

from simjudge.core.arrays import FloatArray, IntArray, ShortRepr
from simjudge.core.errors import Log, Losses, SimjudgeError, no_log
from simjudge.core.settings import takes_setting_keywords
from simjudge.data.pose_text import PoseTopics, TrajectoryPair, TrajectorySource, read_trajectory_pair
from simjudge.geometry.error_names import NONE, SE3
from simjudge.geometry.poses import Trajectory
from simjudge.geometry.trajectory_errors import (
    absolute_errors,
    align_poses,
    associate_poses,
    path_length,
    pose_pairs,
    relative_errors,
    take_poses,
)
from simjudge.judging.metric_comparison import (
    MetricComparison,
    MetricComparisonResult,
    Tables,
    few_runs_note,
    share_of,
)
from simjudge.judging.point_metrics import (
    JudgedMetric,
    PointMetric,
    PointSide,
    are_whole_runs,
    joined_runs,
    judge_metrics,
    point_side,
    sample_table,
    thinning_notes,
)
from simjudge.method.verdicts import FEWEST_UNITS
from simjudge.questions.trajectories.page import TRAJECTORIES_PAGE
from simjudge.questions.trajectories.result import QUESTION, TrajectoriesFile, error_statistics
from simjudge.questions.trajectories.settings import (
    CURVATURE,
    DISTANCE,
    METRICS,
    SPEED,
    TRUTH,
    UNITS,
    TrajectorySettings,
)
from simjudge.results.saved_result import POSES, SAMPLES, check_result_place

_LEAST_CURVATURE, _LEAST_SPEED, _LEAST_DISTANCE = 0.01, 1e-3, 1e-3
"""Tolerances at least: on a straight way, of a body that stands."""
_CURVATURE_SHARE, _SPEED_SHARE, _DISTANCE_SHARE = 0.25, 0.15, 0.15
_SHORTEST = 0.05
"""Metres: the way over which a body that hardly moves is taken to turn."""
_SAME_WAY = 0.7
"""Cosine of the angle between the directions of two passes of one place."""
_NEIGHBOURS = 48
"""Stretches around one that are looked at for another pass."""
_FAR = 3
"""Stretches that must lie between two passes of a place."""
_MISALIGNED = 5.0
"""An alignment that makes errors so many times smaller is spoken of."""


@dataclass(frozen=True, eq=False, repr=False)
class EstimatorRun(ShortRepr):
    """One run of the estimator, matched with the truth, aligned and measured."""

    name: str
    names: tuple[str, str]  # of truth and estimate
    poses: int  # of the estimate
    truth: Trajectory  # poses of one time, row by row
    estimate: Trajectory
    scale: float  # of the alignment
    absolute: FloatArray  # (N, 2), metres and degrees
    pairs: IntArray  # (P, 2), first and last pose of each stretch
    relative: FloatArray  # (P, 2), metres and degrees
    is_timed: bool

    @property
    def values(self) -> FloatArray:
        """The errors of each stretch, by METRICS: absolute ones at its end."""
        return np.hstack([self.absolute[self.pairs[:, 1]], self.relative])

    def stretches(self) -> dict[str, FloatArray]:
        """Curvature, speed, distance and place of each stretch, all of the truth."""
        first, last = self.pairs.T
        way = path_length(self.truth)
        length, seconds = way[last] - way[first], (self.truth.stamp[last] - self.truth.stamp[first]) / 1e9
        turned = relative_turn(self.truth, self.pairs)
        end = self.truth.position[last]
        return {
            "slot": np.arange(len(first), dtype=np.float64),
            "time": (self.truth.stamp[last] - self.truth.stamp[0]) / 1e9,
            "x": end[:, 0],
            "y": end[:, 1],
            CURVATURE: turned / np.maximum(length, _SHORTEST),
            SPEED: length / seconds,
            DISTANCE: way[last],
        }

    def content(self) -> dict[str, object]:
        """The fields of trajectories.json."""
        columns = [*self.absolute.T, *self.relative.T]
        return {
            "name": self.name,
            "truth": self.names[0],
            "estimate": self.names[1],
            "poses": self.poses,
            "matched": len(self.truth),
            "length": float(path_length(self.truth)[-1]),
            "seconds": float(self.truth.stamp[-1] - self.truth.stamp[0]) / 1e9,
            "scale": self.scale,
            "errors": {name: error_statistics(column) for name, column in zip(METRICS, columns, strict=True)},
        }


def relative_turn(truth: Trajectory, pairs: IntArray) -> FloatArray:
    """Radians by which a body turns over each stretch."""
    still = replace(truth, orientation=np.tile([0.0, 0.0, 0.0, 1.0], (len(truth), 1)))
    return np.radians(relative_errors(truth, still, pairs)[:, 1])


def measure_run(pair: TrajectoryPair, settings: TrajectorySettings, losses: Losses, notes: list[str]) -> EstimatorRun:
    """Match an estimate with the truth, align it, and measure its errors."""
    longest = round(settings.max_time_difference * 1e9)
    rows = associate_poses(pair.truth, pair.estimate, longest)
    if len(rows[0]) < 2:
        spans = [(t.stamp[[0, -1]] / 1e9).tolist() for t in (pair.truth, pair.estimate)]
        raise SimjudgeError(
            f"{pair.name}: {len(rows[0])} poses of the estimate have a true pose within"
            f" {settings.max_time_difference:g} s: the truth is from {spans[0][0]:.3f} s to {spans[0][1]:.3f} s, the"
            f" estimate from {spans[1][0]:.3f} s to {spans[1][1]:.3f} s; mend the clocks or raise --max-time-difference"
        )
    truth, raw = take_poses(pair.truth, rows[0]), take_poses(pair.estimate, rows[1])
    alone = min(len(pair.truth), len(pair.estimate)) - len(rows[0])
    losses.add("poses without a true pose in time", pair.name, alone)
    alignment = align_poses(truth, raw, settings.align)
    estimate = alignment.apply(raw)
    pairs = pose_pairs(truth if settings.pairs == TRUTH else estimate, settings.delta, settings.delta_unit)
    if not len(pairs):
        raise SimjudgeError(
            f"{pair.name}: is shorter than one stretch of {settings.delta:g} {settings.delta_unit}; lower --delta"
        )
    absolute = absolute_errors(truth, estimate)
    if settings.align == NONE:
        _tell_alignment(pair.name, truth, raw, float(np.median(absolute[:, 0])), settings, notes)
    return EstimatorRun(
        pair.name,
        (pair.truth.name, pair.estimate.name),
        len(pair.estimate),
        truth,
        estimate,
        alignment.scale,
        absolute,
        pairs,
        relative_errors(truth, estimate, pairs),
        pair.is_timed,
    )


def _tell_alignment(
    name: str, truth: Trajectory, raw: Trajectory, median: float, settings: TrajectorySettings, notes: list[str]
) -> None:
    """Say where truth and estimate seem to be in different frames."""
    try:
        fitted = float(np.median(absolute_errors(truth, align_poses(truth, raw, SE3).apply(raw))[:, 0]))
    except SimjudgeError:
        return
    if median > _MISALIGNED * max(fitted, settings.margin_position):
        notes.append(
            f"{name}: the median error is {median:.3g} m, and {fitted:.3g} m with --align se3: are truth and estimate"
            " in the same frame?"
        )


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class TrajectoryComparison(MetricComparison):
    """Simulated runs of an estimator compared with real ones."""

    runs: tuple[Sequence[EstimatorRun], Sequence[EstimatorRun]]  # real, simulated
    results: Sequence[JudgedMetric]  # by METRICS

    question = QUESTION

    @property
    def run_names(self) -> tuple[Sequence[str], Sequence[str]]:
        """Of the real runs, and of the simulated ones."""
        real, sim = ([run.name for run in runs] for runs in self.runs)
        return real, sim

    def own_content(self) -> dict[str, object]:
        """Runs and metrics (docs/guides/trajectories.md)."""
        return {
            "inputs": {
                name: [run.content() for run in runs] for name, runs in zip(("real", "sim"), self.runs, strict=True)
            },
            "drawn": "runs" if are_whole_runs(self.results) else "blocks of stretches",
            "metrics": [result.content() for result in self.results],
        }

    def tables(self) -> Tables:
        """Poses, and stretches with units and W1."""
        sides = [
            (joined_runs([run.stretches() for run in runs]), np.concatenate([run.values for run in runs]))
            for runs in self.runs
        ]
        return {POSES: self._pose_table(), SAMPLES: sample_table(sides, self.results)}

    def _pose_table(self) -> dict[str, FloatArray]:
        parts = []
        for side, runs in enumerate(self.runs):
            for number, run in enumerate(runs):
                count = len(run.truth)
                columns = {"side": np.full(count, float(side)), "run": np.full(count, float(number))}
                columns["time"] = (run.truth.stamp - run.truth.stamp[0]) / 1e9
                for words, poses in (("", run.truth), ("estimated_", run.estimate)):
                    columns |= {f"{words}{axis}": poses.position[:, k] for k, axis in enumerate("xyz")}
                parts.append(columns | dict(zip(METRICS[:2], run.absolute.T, strict=True)))
        return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def compare_runs(
    real: Sequence[TrajectorySource], sim: Sequence[TrajectorySource], settings: TrajectorySettings
) -> TrajectoryComparison:
    """Compare simulated runs of an estimator with real ones."""
    if not real or not sim:
        raise SimjudgeError("trajectories to compare: give at least one real run, then --, then a simulated one")
    losses, notes = Losses(), list[str]()
    topics = PoseTopics(settings.truth, settings.estimate)
    runs = []
    for side in (real, sim):
        pairs = [read_trajectory_pair(source, topics, settings.rate) for source in side]
        for pair in pairs:
            losses.extend(pair.losses)
        runs.append([measure_run(pair, settings, losses, notes) for pair in pairs])
    if not all(run.is_timed for side in runs for run in side):
        notes.append(f"poses without stamps are taken to be {1 / settings.rate:g} s apart (--rate)")
    tables = [joined_runs([run.stretches() for run in side]) for side in runs]
    settings = with_tolerances(settings, tables[0])
    sides = [
        point_side(
            table, way_contexts(table, settings), np.concatenate([run.values for run in side]), earlier_passes(side)
        )
        for side, table in zip(runs, tables, strict=True)
    ]
    metrics = [
        PointMetric(name, UNITS[name], settings.margin(name), settings.margin(name) * settings.reach)
        for name in METRICS
    ]
    results = judge_metrics((sides[0], sides[1]), metrics, settings.draws, settings.seed)
    _tell_limits(sides, metrics, tables, settings, notes)
    return TrajectoryComparison(runs=(runs[0], runs[1]), results=results, settings=settings, notes=notes, losses=losses)


def _tell_limits(
    sides: Sequence[PointSide],
    metrics: Sequence[PointMetric],
    tables: Sequence[dict[str, FloatArray]],
    settings: TrajectorySettings,
    notes: list[str],
) -> None:
    for column, metric in enumerate(metrics):
        beyond = [int((side.value[:, column] > metric.reach).sum()) for side in sides]
        if any(beyond):
            notes.append(
                f"{metric.name}: {beyond[0]} real and {beyond[1]} simulated errors are beyond {metric.reach:g}"
                f" {metric.unit} and count as {metric.reach:g} (--reach)"
            )
    notes += thinning_notes(sides, "stretches", "errors are those of all poses")
    if min(len(np.unique(side.run)) for side in sides) < FEWEST_UNITS:
        notes.append(few_runs_note("runs", "blocks of stretches"))
    ways = [float(table[DISTANCE].max()) for table in tables]
    if DISTANCE not in settings.contexts and not 1 / 2 < ways[0] / max(ways[1], 1e-9) < 2:
        notes.append(
            f"the longest way is {ways[0]:.4g} m in reality and {ways[1]:.4g} m in simulation: where errors grow with"
            " the way, compare like with like by --contexts curvature,speed,distance"
        )


def with_tolerances(settings: TrajectorySettings, real: dict[str, FloatArray]) -> TrajectorySettings:
    """Settings with tolerances that are not given taken from the real runs."""
    curvature, speed = float(np.quantile(real[CURVATURE], 0.95)), float(np.median(real[SPEED]))
    return replace(
        settings,
        curvature_tolerance=share_of(settings.curvature_tolerance, _CURVATURE_SHARE, curvature, _LEAST_CURVATURE),
        speed_tolerance=share_of(settings.speed_tolerance, _SPEED_SHARE, speed, _LEAST_SPEED),
        distance_tolerance=share_of(
            settings.distance_tolerance, _DISTANCE_SHARE, float(real[DISTANCE].max()), _LEAST_DISTANCE
        ),
    )


def way_contexts(table: dict[str, FloatArray], settings: TrajectorySettings) -> FloatArray:
    """What stretches are alike in, in units of the tolerances: float64 (N, D)."""
    tolerances = {
        CURVATURE: settings.curvature_tolerance,
        SPEED: settings.speed_tolerance,
        DISTANCE: settings.distance_tolerance,
    }
    return np.column_stack([table[name] / (tolerances[name] or 1.0) for name in settings.contexts])


def earlier_passes(runs: Sequence[EstimatorRun]) -> IntArray:
    """For each stretch an earlier one that passed its place the same way; -1 for none.

    Stretches are numbered over all runs; their places are those of the truth.
    """
    end = np.concatenate([run.truth.position[run.pairs[:, 1]] for run in runs])
    step = np.concatenate([run.truth.position[run.pairs[:, 1]] - run.truth.position[run.pairs[:, 0]] for run in runs])
    run_of = np.concatenate([np.full(len(run.pairs), number) for number, run in enumerate(runs)])
    length = np.linalg.norm(step, axis=1)
    direction = step / np.maximum(length, 1e-12)[:, np.newaxis]
    reach = float(np.median(length))
    row, out = np.arange(len(end)), np.full(len(end), -1, np.int64)
    if not reach > 0:
        return out
    count = min(_NEIGHBOURS, len(end))
    away, near = cKDTree(end).query(end, k=count, distance_upper_bound=reach)
    away, near = away.reshape(len(end), count), near.reshape(len(end), count)
    known = np.isfinite(away)
    near = np.where(known, near, 0)
    other = (run_of[near] != run_of[:, np.newaxis]) | (row[:, np.newaxis] - near > _FAR)
    same_way = np.einsum("nd,nkd->nk", direction, direction[near]) > _SAME_WAY
    fits = known & other & same_way & (near < row[:, np.newaxis])
    best = np.where(fits, away, np.inf).argmin(1)
    found = fits[row, best]
    out[found] = near[row, best][found]
    return out


class TrajectoryComparisonResult(MetricComparisonResult[TrajectoriesFile]):
    """How errors of a localization differ between simulation and reality. Printing it gives the command's table.

    Attributes:
        saved: the result as figures and pages read it.
    """

    page = TRAJECTORIES_PAGE


@takes_setting_keywords
def compare_trajectories(
    real: Sequence[TrajectorySource],
    sim: Sequence[TrajectorySource],
    out: str | Path | None = None,
    *,
    settings: TrajectorySettings,
    log: Log = no_log,
) -> TrajectoryComparisonResult:
    """Compare the errors of a localization in simulation with those in reality.

    Args:
        real, sim: runs of the estimator, each a pair (truth, estimate) of files or trajectories (TUM, KITTI, EuRoC), a
            recording that holds both topics, or a folder with truth.* and estimate.*; at least one each, six or more
            for an answer that holds for further runs.
        out: folder to save the result in; None saves nothing.
        settings: all settings at once; keywords change single ones.
        log: receives lines that a person should read; `print` does.

    Returns:
        The result. Printing it gives a table; it saves and reports itself.

    Raises:
        UsageError: a setting makes no sense.
        SimjudgeError: a file cannot be read, truth and estimate are of different times, or `out` cannot be written.
    """
    check_result_place(out, log)
    return TrajectoryComparisonResult.keep(compare_runs(real, sim, settings), out, log)


KIND = TrajectoryComparisonResult.kind()
