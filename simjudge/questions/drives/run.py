"""Does a simulated car drive as the real one? Algorithm 1 over stretches of the course, saved or while it drives."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from simjudge.core.arrays import FloatArray, IntArray
from simjudge.core.errors import Log, Losses, SimjudgeError, no_log
from simjudge.core.settings import takes_setting_keywords
from simjudge.data.drive_logs import LOCK, DriveCommands, DriveLog, assemble_drive, count_breaks, read_drive
from simjudge.data.rosbag2.storage import format_seconds
from simjudge.geometry.poses import Trajectory
from simjudge.geometry.trajectories import clean_trajectory
from simjudge.judging.metric_comparison import (
    REAL,
    SIM,
    MetricComparison,
    MetricComparisonResult,
    Tables,
    few_runs_note,
    share_of,
)
from simjudge.judging.point_metrics import scaled_certainty, scaled_comparison
from simjudge.method.algorithm import ClassComparison
from simjudge.method.block_length import estimate_block_length
from simjudge.method.bootstrap import Bootstrap, DrawSchedule
from simjudge.method.certainty import Certainty, Evidence, SampleSize, estimate_certainty
from simjudge.method.entry_numbers import reduce_comparisons
from simjudge.method.vector_contexts import PointSamples, compare_points
from simjudge.method.verdicts import FEWEST_RECORDINGS, FEWEST_UNITS, Scope
from simjudge.questions.drives.driven_line import (
    ConesAhead,
    DrivenLine,
    DriveWindows,
    cut_windows,
    driven_line,
    fine_line,
    lane_cones,
    line_length,
    mean_line,
    median_speed,
)
from simjudge.questions.drives.page import DRIVES_PAGE
from simjudge.questions.drives.result import COURSE, LINE_COLUMNS, QUESTION, DrivesFile
from simjudge.questions.drives.settings import METRICS, UNITS, DriveComparisonSettings
from simjudge.results.saved_result import LINES, WINDOWS, check_result_place
from simjudge.sim.scene.model import Course
from simjudge.sim.scene.read import read_scene

DriveSource = str | Path | DriveLog
DRIVES, BLOCKS = "drives", "blocks of stretches"
"""What chance draws together."""
_LEAST_CURVATURE = 0.02
"""1/m: the tolerance on a course that is almost straight."""
_LEAST_SPEED = 1e-3
_CURVATURE_SHARE, _SPEED_SHARE = 0.25, 0.15


@dataclass(frozen=True)
class MetricResult:
    """One metric of a comparison of drives, in its own unit."""

    metric: str
    comparison: ClassComparison
    certainty: Certainty  # noise, gap, interval, p, margin and verdict


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class DriveComparison(MetricComparison):
    """Simulated drives compared with real ones."""

    names: tuple[Sequence[str], Sequence[str]]  # of the real drives, and of the simulated ones
    course: Course
    lines: Sequence[DrivenLine]  # all drives along it, the real ones first
    windows: tuple[DriveWindows, DriveWindows]  # of the real drives, and of the simulated ones
    results: Sequence[MetricResult]  # by metric; metrics that a side lacks are left out
    overall: Certainty  # of all metrics together, each in units of its margin
    drawn: str
    units: tuple[int, int]  # how many there are on each side

    question = QUESTION

    @property
    def run_names(self) -> tuple[Sequence[str], Sequence[str]]:
        """Of the real drives, and of the simulated ones."""
        return self.names

    def own_content(self) -> dict[str, object]:
        """Drives, course and metrics (docs/guides/trajectories.md)."""
        return {
            "inputs": {"real": list(self.names[0]), "sim": list(self.names[1])},
            "course": {"length": line_length(self.course), "closed": self.course.closed},
            "drawn": self.drawn,
            "units_real": self.units[0],
            "units_sim": self.units[1],
            "metrics": [
                {
                    "metric": result.metric,
                    "unit": UNITS[result.metric],
                    **reduce_comparisons([result.comparison]).judged(result.certainty).to_json(),
                }
                for result in self.results
            ],
            "overall": vars(self.overall),
        }

    def tables(self) -> Tables:
        """Windows with their W1, and the drives' lines."""
        return {WINDOWS: self._window_table(), LINES: self._line_table()}

    def _window_table(self) -> dict[str, FloatArray]:
        parts = []
        for side, held in enumerate(self.windows):
            columns = {
                "side": np.full(len(held.drive), float(side)),
                "drive": held.drive,
                "window": held.window,
                "place": held.place,
                "speed": held.speed,
                "curvature": held.curvature[:, 0],
            }
            for result in self.results:
                columns[result.metric] = held.performance[:, METRICS.index(result.metric)]
                w1 = result.comparison.w1
                columns[f"w1 {result.metric}"] = w1 if side == REAL else np.full(len(held.drive), np.nan)
            parts.append(columns)
        return {name: np.concatenate([np.asarray(part[name], np.float64) for part in parts]) for name in parts[0]}

    def _line_table(self) -> dict[str, FloatArray]:
        points = self.course.centre_line
        nothing = np.full(len(points), np.nan)
        along = np.linspace(0.0, line_length(self.course), len(points))
        head = np.broadcast_to([float(COURSE), 0.0], (len(points), 2))
        rows = [np.column_stack([head, along, points, nothing, nothing, nothing])]
        count = len(self.names[0])
        for number, line in enumerate(self.lines):
            side, drive = (REAL, number) if number < count else (SIM, number - count)
            head = np.broadcast_to([float(side), float(drive)], (len(line.distance), 2))
            rows.append(np.column_stack([head, line.distance, line.position, line.values]))
        table = np.concatenate(rows)
        return {name: table[:, column].copy() for column, name in enumerate(LINE_COLUMNS)}


def compare_drive_sets(
    real: Sequence[DriveSource], sim: Sequence[DriveSource], settings: DriveComparisonSettings
) -> DriveComparison:
    """Compare simulated drives with real ones of the same course."""
    if not real or not sim:
        raise SimjudgeError("drives to compare: give at least one real drive, then --, then at least one simulated one")
    logs = [
        [item if isinstance(item, DriveLog) else read_drive(item, settings.poses) for item in side]
        for side in (real, sim)
    ]
    losses, notes = Losses(), list[str]()
    for log in (*logs[0], *logs[1]):
        losses.extend(log.losses)
        count_breaks(log.name, log.time, log.position, losses)
    _check_steering([*logs[0], *logs[1]])
    course, cones = _course(settings, [*logs[0], *logs[1]], notes)
    lines = [driven_line(course, log, losses) for side in logs for log in side]
    usual = (
        median_speed(course, lines)
        if settings.target_speed is None
        else np.full(len(course.centre_line), settings.target_speed)
    )
    windows = (
        cut_windows(course, lines[: len(logs[0])], usual, settings.window, cones),
        cut_windows(course, lines[len(logs[0]) :], usual, settings.window, cones),
    )
    for side, held, drives in zip(("real", "simulated"), windows, logs, strict=True):
        if not len(held.drive):
            raise SimjudgeError(
                f"{side} drives: none passes a stretch of {settings.window:g} m of the course in full{losses.reason};"
                " are they in the same frame as the course, and do they move?"
            )
        for number in sorted(set(range(len(drives))) - set(held.drive.tolist())):
            losses.add("drives that pass no stretch of the course in full", drives[number].name)
    if settings.course is None or settings.target_speed is None:
        windows = _passed_by_both(windows, notes)
    settings = _with_tolerances(settings, windows[0])
    units = _units(windows, settings.window, notes)
    results, overall = _judge(windows, units, settings, notes)
    names = tuple([log.name for log in side] for side in logs)
    return DriveComparison(
        names=(names[0], names[1]),
        course=course,
        lines=lines,
        windows=(windows[0], windows[1]),
        results=results,
        overall=overall,
        drawn=units.what,
        units=units.of_sides,
        settings=settings,
        notes=notes,
        losses=losses,
    )


def _check_steering(logs: Sequence[DriveLog]) -> None:
    units = {log.steering_unit: log.name for log in logs if np.isfinite(log.steering).any()}
    if len(units) > 1:
        said = " and ".join(f"{unit} in {name}" for unit, name in units.items())
        raise SimjudgeError(f"steering is {said}; convert one of them, or leave the column out")


def _passed_by_both(windows: tuple[DriveWindows, DriveWindows], notes: list[str]) -> tuple[DriveWindows, DriveWindows]:
    """The stretches that drives of both sides pass: elsewhere one side alone would be its own middle and never err."""
    places = [np.round(held.place, 6) for held in windows]
    shared = [np.isin(ours, theirs) for ours, theirs in (places, places[::-1])]
    if not shared[0].any():
        raise SimjudgeError(
            "real and simulated drives: both pass no stretch of the course in full; name a scene with"
            " --course, and give --target-speed"
        )
    left = [int((~kept).sum()) for kept in shared]
    if any(left):
        notes.append(
            f"{left[0]} real and {left[1]} simulated stretches are left out: no drive of the other side passes"
            " there, so that nothing tells the middle; --course and --target-speed keep them"
        )
    return windows[0].chosen(shared[0]), windows[1].chosen(shared[1])


def _course(
    settings: DriveComparisonSettings, drives: Sequence[DriveLog], notes: list[str]
) -> tuple[Course, ConesAhead | None]:
    """The line, and the cones along it where they are asked for."""
    if settings.course is None:
        course = mean_line(drives)
        notes.append(
            f"the course is the mean line of all drives, real and simulated alike: {line_length(course):.1f} m"
            + (" a lap" if course.closed else "")
        )
        return course, None
    scene = read_scene(settings.course)
    if scene.course is None:
        raise SimjudgeError(f"scene {settings.course}: has no course; leave --course out, or name a scene with one")
    line = fine_line(scene.course)
    return line, ConesAhead(lane_cones(scene, line), settings.cones) if settings.cones else None


def _with_tolerances(settings: DriveComparisonSettings, real: DriveWindows) -> DriveComparisonSettings:
    curvature, speed = np.quantile(np.abs(real.curvature[:, 0]), 0.95), abs(np.median(real.speed))
    return replace(
        settings,
        curvature_tolerance=share_of(
            settings.curvature_tolerance, _CURVATURE_SHARE, float(curvature), _LEAST_CURVATURE
        ),
        speed_tolerance=share_of(settings.speed_tolerance, _SPEED_SHARE, float(speed), _LEAST_SPEED),
    )


@dataclass(frozen=True)
class _DriveUnits:
    """The sampling unit of each window of the real drives and of the simulated ones, numbered over both."""

    of_window: tuple[IntArray, IntArray]
    count: int
    what: str

    @property
    def of_sides(self) -> tuple[int, int]:
        """How many each side has."""
        real, sim = (len(np.unique(numbers)) for numbers in self.of_window)
        return real, sim


def _units(windows: tuple[DriveWindows, ...], window: float, notes: list[str]) -> _DriveUnits:
    """Whole drives where each side has three at least, else stretches of the course as long as errors go together.

    A stretch is one unit of both sides and of all laps: where the middle line is made of the drives, their errors at a
    place are not independent.
    """
    drives = [np.unique(held.drive, return_inverse=True) for held in windows]
    if min(len(numbers) for numbers, _ in drives) >= FEWEST_RECORDINGS:
        real, sim = (of_window.reshape(-1).astype(np.int64) for _, of_window in drives)
        first = len(drives[0][0])
        return _DriveUnits((real, sim + first), first + len(drives[1][0]), DRIVES)
    frames = max(
        estimate_block_length(held.drive, held.window, column).frames
        for held in windows
        for column in held.performance.T
        if np.isfinite(column).all()
    )
    notes.append(few_runs_note("drives", f"stretches of {frames * window:.3g} m", FEWEST_RECORDINGS))
    stretch = [np.floor(held.place / (frames * window) + 1e-9).astype(np.int64) for held in windows]
    numbers, unit = np.unique(np.concatenate(stretch), return_inverse=True)
    unit = unit.reshape(-1).astype(np.int64)
    return _DriveUnits((unit[: len(stretch[0])], unit[len(stretch[0]) :]), len(numbers), BLOCKS)


def _judge(
    windows: tuple[DriveWindows, ...], units: _DriveUnits, settings: DriveComparisonSettings, notes: list[str]
) -> tuple[list[MetricResult], Certainty]:
    """Compare every metric in units of its margin, so that all of them can be judged together, and scale back."""
    columns = [k for k in range(len(METRICS)) if all(np.isfinite(held.performance[:, k]).all() for held in windows)]
    if len(columns) < len(METRICS):
        left = ", ".join(METRICS[k] for k in range(len(METRICS)) if k not in columns)
        notes.append(f"{left}: left out, because some drives do not say the steering")
    margins = np.array([settings.margin(METRICS[k]) for k in columns])
    samples = [
        PointSamples(_contexts(held, settings), held.performance[:, columns] / margins, of_window)
        for held, of_window in zip(windows, units.of_window, strict=True)
    ]
    whole = units.what == DRIVES
    size = SampleSize.of_units(units.of_window, fewest=FEWEST_RECORDINGS if whole else FEWEST_UNITS)
    normals = DrawSchedule(units.count, 0, settings.draws, settings.seed).next_batch()
    found = compare_points(samples[0], samples[1], normals)
    tried, scope = int(settings.draws > 0), Scope.LIKE_THESE if whole else Scope.THESE
    each = [Evidence(reduce_comparisons([one]).mean_w1, boot, size, tried=tried, scope=scope) for one, boot in found]
    together = Bootstrap.together([boot for _, boot in found if boot is not None])
    mean_w1 = reduce_comparisons([one for one, _ in found]).mean_w1
    sure, overall = estimate_certainty(each, Evidence(mean_w1, together, size, tried=tried, scope=scope), margin=1.0)
    return [
        MetricResult(METRICS[k], scaled_comparison(one, float(margin)), scaled_certainty(certainty, float(margin)))
        for k, (one, _), certainty, margin in zip(columns, found, sure, margins, strict=True)
    ], overall


def _contexts(windows: DriveWindows, settings: DriveComparisonSettings) -> FloatArray:
    """Curvature of the stretch and of those ahead, speed on entry, and cones, in units of their tolerances."""
    speed = windows.speed[:, np.newaxis] / (settings.speed_tolerance or 1.0)
    cones = windows.cones / settings.cone_tolerance
    return np.concatenate([windows.curvature / (settings.curvature_tolerance or 1.0), speed, cones], 1)


NAME = "live drive"


@dataclass
class _DriveRows:
    """What came of one drive, a row each message."""

    stamp: list[int] = field(default_factory=list)
    pose: list[tuple[float, ...]] = field(default_factory=list)
    twist: dict[int, tuple[float, float]] = field(default_factory=dict)
    command: list[tuple[int, float, float]] = field(default_factory=list)


class LiveDrives:
    """Poses and commands as they come. Where their stamps jump back another drive begins, as in a looped recording."""

    def __init__(self, jump_ns: int = 1_000_000_000, unit: str = LOCK) -> None:
        """Hold nothing yet.

        `jump_ns`: nanoseconds that a pose must lie before the newest one for another drive to begin.
        """
        self.poses = self.commands = 0
        self._jump_ns, self._unit = jump_ns, unit
        self._drives = [_DriveRows()]
        self._newest: int | None = None
        self._said = False

    def add_pose(self, stamp: int, pose: tuple[float, ...], twist: tuple[float, float]) -> None:
        """Take a pose of the car.

        `stamp`: nanoseconds; `pose`: x, y, z in metres, and the quaternion x, y, z, w; `twist`: x and y of the linear
        velocity, m/s.
        """
        self.poses += 1
        if self._newest is not None and stamp < self._newest - self._jump_ns:
            self._drives.append(_DriveRows())
            self._newest = None
        self._newest = stamp if self._newest is None else max(stamp, self._newest)
        rows = self._drives[-1]
        rows.stamp.append(stamp)
        rows.pose.append(pose)
        rows.twist[stamp] = twist

    def add_command(self, stamp: int, steering: float, throttle: float) -> None:
        """Take a command of the driver. `stamp`: nanoseconds; `throttle`: 0 to 1; NaN where nobody says it."""
        self.commands += 1
        self._drives[-1].command.append((stamp, steering, throttle))

    def logs(self) -> list[DriveLog]:
        """The drives so far that hold two poses at least."""
        names = [NAME if n == 0 else f"{NAME} {n + 1}" for n in range(len(self._drives))]
        found = [_drive_log(rows, name, self._unit, self._say) for rows, name in zip(self._drives, names, strict=True)]
        return [log for log in found if log is not None]

    def _say(self, line: str) -> None:
        if not self._said:
            logging.getLogger(__name__).warning(line)
        self._said = True


def compare_live(
    reference: Sequence[DriveLog],
    live: Sequence[DriveLog],
    settings: DriveComparisonSettings,
    *,
    live_is_real: bool,
    sure: bool,
) -> DriveComparison:
    """Compare live drives with a reference."""
    sides = (live, reference) if live_is_real else (reference, live)
    return compare_drive_sets(*sides, settings if sure else replace(settings, draws=0))


def _drive_log(rows: _DriveRows, name: str, unit: str, say: Callable[[str], None]) -> DriveLog | None:
    losses = Losses()
    if not rows.stamp:
        return None
    pose = np.array(rows.pose, np.float64)
    blank = Trajectory(name, "", "", np.array(rows.stamp, np.int64), pose[:, :3], pose[:, 3:])
    try:
        path = clean_trajectory(blank, lambda row: f"{name} at {format_seconds(rows.stamp[row])}", losses)
    except SimjudgeError:
        return None
    if len(path) < 2:
        return None
    return assemble_drive(name, path, rows.twist, DriveCommands(rows.command, unit), losses, say)


class DriveComparisonResult(MetricComparisonResult[DrivesFile]):
    """How simulated drives differ from real ones. Printing it gives the command's table.

    Attributes:
        saved: the result as figures and pages read it.
    """

    page = DRIVES_PAGE


@takes_setting_keywords
def compare_drives(
    real: Sequence[DriveSource],
    sim: Sequence[DriveSource],
    out: str | Path | None = None,
    *,
    settings: DriveComparisonSettings,
    log: Log = no_log,
) -> DriveComparisonResult:
    """Compare simulated drives with real ones of the same course.

    Args:
        real, sim: recordings with odometry, CSV files (time, x, y, yaw, speed, steering, throttle), or drives that were
            read; at least one each, three or more for an answer that holds for drives.
        out: folder to save the result in; None saves nothing.
        settings: all settings at once; keywords change single ones.
        log: receives lines that a person should read; `print` does.

    Returns:
        The result. Printing it gives a table; it saves and reports itself.

    Raises:
        UsageError: a setting makes no sense.
        SimjudgeError: a drive cannot be read, none passes a stretch in full, or `out` cannot be written.
    """
    check_result_place(out, log)
    return DriveComparisonResult.keep(compare_drive_sets(real, sim, settings), out, log)


KIND = DriveComparisonResult.kind()
