"""Trials of drivers on courses in one world, a row each. Rows that are driven stay where a step is killed."""

from __future__ import annotations

import csv
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from simjudge.core.display import ShortRepr
from simjudge.core.errors import SimjudgeError
from simjudge.core.files import atomic_file
from simjudge.core.progress import Log, ProgressBar, no_log, no_progress
from simjudge.questions.policies.trials import REAL, SIM
from simjudge.sim.driving.closed_loop import DriveOutcome
from simjudge.sim.driving.learnt_driver import LearntDriver
from simjudge.sim.driving.trial_drives import TRIAL_DRIVERS, TrialCourse, TrialStart, TrialWorld
from simjudge.sim.driving.trial_pilots import DetectorErrors

COLUMNS = (
    "policy",
    "task",
    "side",
    "outcome",
    "pair",
    "start_offset",
    "start_heading",
    "drive_progress",
    "drive_seconds",
    "drive_end",
    "cpu_seconds",
)
"""Of the rows; what begins with `drive_` says how a trial went, and is no condition of it."""
TABLE_COLUMNS = COLUMNS[:7]
DETAILS = "drives.csv"
BY = "by"


@dataclass(frozen=True, eq=False, repr=False)
class DrivenTrials(ShortRepr):
    """Trials that were driven: their table, and how many."""

    path: Path
    rows: int


def drive_trials(  # noqa: PLR0913 - a world's parts
    drivers: Mapping[str, Mapping[str, Any]],
    courses: Mapping[str, str | Path],
    side: str,
    out: str | Path,
    *,
    starts: int = 40,
    first: int = 0,
    vehicle: str | Path | None = None,
    lag: float = 0.0,
    errors: str | Path | None = None,
    learnt: str | Path | None = None,
    sensors: str | Path | None = None,
    detector: str | Path = "lab_pico",
    engine: str = "default",
    log: Log = no_log,
    progress: ProgressBar = no_progress,
) -> DrivenTrials:
    """Drive each driver on each course from each start, and write a table of trials: a clean drive is a success.

    Args:
        drivers: by name: {by: cones | lidar | learnt | images, and figures of its speeds}.
        courses: scenes by name.
        side: "real" or "sim": how the rows are called. Sensors' noise differs between the sides, starts do not.
        out: the table (CSV); beside it DETAILS-like columns go into `NAME.drives.csv`.
        first: number of the first start.
        lag: seconds from a driver's command to the car.
        errors: file of a detector's measured errors.
    """
    if side not in (REAL, SIM):
        raise SimjudgeError(f"side {side}: {REAL} or {SIM} is needed")
    for name, manner in drivers.items():
        if manner.get(BY) not in TRIAL_DRIVERS:
            raise SimjudgeError(f"driver {name}: by: one of {', '.join(TRIAL_DRIVERS)} is needed")
    out = Path(out)
    kept = out.with_name(f".{out.stem}.rows.csv")
    held = {(row["policy"], row["task"], row["pair"]): row for row in _kept_rows(kept)}
    if held:
        log(f"{len(held)} trials were driven before")
    measured = DetectorErrors() if errors is None else DetectorErrors.load(Path(errors))
    weights = None if learnt is None else LearntDriver.load(Path(learnt))
    begin, count = time.monotonic(), len(drivers) * len(courses) * starts
    with kept.open("a", encoding="utf-8", newline="") as file, progress(f"trials, {side}") as advance:
        writer = csv.DictWriter(file, COLUMNS)
        for task, scene in courses.items():
            world = TrialWorld(scene, vehicle, lag, measured, weights, detector, sensors=sensors, engine=engine)
            course: TrialCourse | None = None
            for name, manner in drivers.items():
                for number in range(first, first + starts):
                    key = (name, task, f"{task} {number}")
                    if key in held:
                        continue
                    course = course or TrialCourse(world)
                    held[key] = row = _trial(course, name, manner, key, number, side)
                    writer.writerow(row)
                    file.flush()
                    advance(len(held), count)
            if course is not None:
                course.close()
        os.fsync(file.fileno())
    rows = [
        held[name, task, f"{task} {n}"] for task in courses for name in drivers for n in range(first, first + starts)
    ]
    _write(out.with_name(f"{out.stem}.{DETAILS}"), COLUMNS, rows)
    _write(out, TABLE_COLUMNS, rows)
    kept.unlink()
    log(f"{len(rows)} trials in {time.monotonic() - begin:.0f} s")
    return DrivenTrials(out, len(rows))


def _trial(
    course: TrialCourse, name: str, manner: Mapping[str, Any], key: tuple[str, str, str], number: int, side: str
) -> dict[str, Any]:
    start, begin = TrialStart.of_number(number), time.process_time()
    figures = {figure: float(value) for figure, value in manner.items() if figure != BY}
    # Two worlds do not share the luck of their sensors.
    outcome = course.drive(manner[BY], figures, start, 2 * number + (side == REAL))
    return {
        "policy": name,
        "task": key[1],
        "side": side,
        "outcome": int(outcome.clean),
        "pair": key[2],
        "start_offset": f"{start.offset:.4f}",
        "start_heading": f"{start.heading:.4f}",
        "drive_progress": f"{drive_progress(outcome):.3f}",
        "drive_seconds": f"{outcome.seconds:.2f}",
        "drive_end": outcome.reason if outcome.clean else f"{outcome.reason}, {len(outcome.touched)} touched",
        "cpu_seconds": f"{time.process_time() - begin:.2f}",
    }


def drive_progress(outcome: DriveOutcome) -> float:
    """The share of the course that was driven, 0 to 1; 1 for a drive that finished."""
    if outcome.finished or outcome.length <= 0:
        return 1.0 if outcome.finished else 0.0
    return min(1.0, max(0.0, outcome.distance / outcome.length))


def _kept_rows(path: Path) -> Iterator[dict[str, Any]]:
    """Rows of a step that was killed; a last one that was cut off does not count, and is cut away."""
    if not path.is_file():
        with path.open("w", encoding="utf-8", newline="") as file:
            csv.DictWriter(file, COLUMNS).writeheader()
        return
    text = path.read_text(encoding="utf-8")
    whole = text[: text.rfind("\n") + 1]
    if whole != text:
        path.write_text(whole, encoding="utf-8")
    yield from csv.DictReader(whole.splitlines())


def _write(path: Path, columns: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> None:
    with atomic_file(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, columns, extrasaction="ignore")
        writer.writeheader()
        writer.writerows(rows)
