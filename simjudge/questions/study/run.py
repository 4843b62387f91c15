"""A study run step by step. What is done is kept under a digest: only what is missing or changed is done again.

Steps that another study has done are taken from there, where everything that they depend on is the same.

Files are linked where both folders are on one file system, which takes neither time nor room, and copied elsewhere.
simjudge never writes into a file that a step has made: a step that is done anew makes new files.
"""

from __future__ import annotations

import fcntl
import heapq
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import fmean
from typing import Any

from simjudge.core.arrays import hash_value
from simjudge.core.errors import Log, ProgressBar, SimjudgeError, UsageError, format_seconds_left, no_log, no_progress
from simjudge.core.files import hash_files, is_disk_full, output_path, plain_os_errors
from simjudge.core.installed import DETECTOR, SCENE, SENSORS, find_file, shipped_files, version
from simjudge.questions.study.file import ANY_NAME, NEVER, StepReference, Study, Verbs, put_paths, steps_behind
from simjudge.questions.study.work import (
    LOGS,
    RUNNING,
    WORK,
    PlannedStep,
    StepRecord,
    StepTask,
    claim_folder,
    clear_temporaries,
    held_record,
    hold_plan,
    hold_step,
    kept_record,
    log_path,
    publish_step,
    read_plan,
    work_folder,
    write_plan,
)
from simjudge.questions.study.workers import Workers, open_workers
from simjudge.results.saved_result import FINDINGS, StudyFinding, read_findings
from simjudge.sim.engines.registry import check_engine
from simjudge.sim.scene.read import read_scene
from simjudge.sim.sensors.camera.rig import camera_digest
from simjudge.sim.vehicle.scene_digest import scene_digest, vehicle_digest

_NAMES_ITS_IMAGES = ".json"
"""Ending of an output that names the folder of its images, which has the step's name."""


@dataclass(frozen=True)
class DoneStudy:
    """A study whose steps may be taken."""

    folder: Path
    steps: tuple[PlannedStep, ...]  # of the study, done or not


def read_done_studies(folders: Sequence[str | Path], out: Path) -> list[DoneStudy]:
    """Read which steps other studies have."""
    paths = [output_path(Path(folder)).absolute() for folder in folders]
    for path in paths:
        if path.exists() and out.exists() and path.samefile(out):
            raise UsageError(f"--reuse {path}: is the study's own folder; what is done there is kept anyway")
    return [DoneStudy(path, tuple(read_plan(path)[1])) for path in paths]


def take_step(task: StepTask, needs: Sequence[str], others: Sequence[DoneStudy], log: Log) -> StepRecord | None:
    """Take a step from the first study that has done it."""
    for other in others:
        for step in other.steps:
            if step.digest != task.digest or not _may_be_taken(step, task, needs):
                continue
            record = held_record(other.folder, step.name, step.verb, step.output, step.digest)
            if record is None:
                continue
            with hold_step(task, log):
                taken = _take(task, record, other, log)
            if taken is not None:
                return taken
    return None


def _may_be_taken(step: PlannedStep, task: StepTask, needs: Sequence[str]) -> bool:
    """Whether what a step has made is of use for one of the same digest."""
    if task.verb.reuse == NEVER:
        return False
    if step.name == task.name and step.needs == tuple(needs):
        return True
    return task.verb.reuse == ANY_NAME and not task.output.endswith(_NAMES_ITS_IMAGES)


def _take(task: StepTask, record: StepRecord, other: DoneStudy, log: Log) -> StepRecord | None:
    """Link or copy what a step has made; None, and a line, where that is not what its record says."""
    work = work_folder(task)
    work = work.with_name(f"{work.name}.taken")
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    problem = "" if record.files else f"{record.name}.step.json has no hashes"
    for name, wanted in record.files.items():
        target = work / _new_name(name, record.name, task.name)
        try:
            _link(other.folder / name, target)
            problem = problem or ("" if hash_files(target) == wanted else f"{name} is not what its record says")
        except OSError as error:
            if is_disk_full(error):
                raise
            problem = f"{name} cannot be read: {error.strerror or error}"
    if problem:
        shutil.rmtree(work)
        log(f"note: {other.folder}: {problem}; {task.name} is not taken from there")
        return None
    taken = replace(record, name=task.name, path=task.folder / task.output, kept=False, taken_from=str(other.folder))
    return publish_step(task, work, taken, log)


def _new_name(name: str, before: str, after: str) -> str:
    """A file's name, which begins with its step's."""
    return after + name.removeprefix(before) if name.startswith(before) else name


def _link(source: Path, target: Path) -> None:
    """Have a file or a folder of files at a second place."""
    if source.is_dir():
        target.mkdir()
        for path in source.iterdir():
            _link(path, target / path.name)
        return
    try:
        target.hardlink_to(source)
    except FileNotFoundError:
        raise
    except OSError:  # another file system, or one without links
        shutil.copy2(source, target)


_KINDS = {"scene": SCENE, "sensors": SENSORS}
"""Arguments that name files that come with simjudge, or are paths."""
_DIGESTS = {"camera": camera_digest, "lens": camera_digest, "vehicle": vehicle_digest}
"""Likewise, of files that may name further ones."""
_SCENES = {"courses", "scenes"}
"""Arguments that name several scenes: a scene counts with all that it extends."""


def step_digests(study: Study) -> dict[str, str]:
    """Digests of what the steps depend on, by their names."""
    digests: dict[str, str] = {}
    files: dict[tuple[str, Path], str] = {}
    for step in study.steps:
        seed = step.arguments.get("seed", 0)
        try:
            content = {key: _content(key, item, seed, digests, files) for key, item in step.arguments.items()}
        except SimjudgeError as error:
            raise type(error)(f"step {step.name}: {error}") from error
        ending = step.output.removeprefix(step.name)
        digests[step.name] = hash_value([version(), step.verb, ending, content])
    return digests


def _content(key: str, value: Any, seed: Any, digests: Mapping[str, str], files: dict[tuple[str, Path], str]) -> Any:
    """What counts of an argument's value."""
    if isinstance(value, StepReference):
        return [digests[value.step], value.file]
    of_parts = "scene" if key in _SCENES else None
    if isinstance(value, Mapping):
        # The names in a table are the study's own; a set called lens is no camera's file.
        return {name: _content(of_parts or "", item, seed, digests, files) for name, item in value.items()}
    if isinstance(value, list):
        return [_content(of_parts or key, item, seed, digests, files) for item in value]
    return _file_content(key, value, seed, files)


def _file_content(key: str, value: Any, seed: Any, files: dict[tuple[str, Path], str]) -> Any:
    """What counts of an argument's value that may be a file."""
    if key == "scene" and isinstance(value, str | Path):
        read_scene(value, seed)  # so that a scene that cannot be built is refused before anything runs
        return scene_digest(value, seed)
    if key == "engine" and isinstance(value, str):
        check_engine(value)  # likewise
    if key in _KINDS and isinstance(value, str | Path):
        value = find_file(value, _KINDS[key])
    elif key in _DIGESTS and isinstance(value, str):
        value = Path(value)
    elif isinstance(value, str):
        value = shipped_files(DETECTOR).get(value, value) if key == "detector" else value
    if not isinstance(value, Path):
        return value
    if (key, value) not in files:
        files[key, value] = _DIGESTS.get(key, hash_files)(value)
    return files[key, value]


@dataclass(frozen=True)
class FailedStep:
    """A step that could not be done."""

    name: str
    error: str
    log: Path
    behind: tuple[str, ...]  # steps that need it, which were not begun


@dataclass(frozen=True)
class StudyResult:
    """A study that was run."""

    study: Study
    folder: Path
    steps: tuple[StepRecord, ...] = field(default=())
    failed: tuple[FailedStep, ...] = field(default=())

    @property
    def findings(self) -> dict[str, list[StudyFinding]]:
        """What was found, by the names of the steps that find something."""
        return {step.name: read_findings(step.path) for step in self.steps if (step.path / FINDINGS).is_file()}

    def check(self) -> None:
        """Raise where steps failed."""
        if not self.failed:
            return
        parts = [
            f"step {failure.name} failed: {failure.error} (log: {failure.log})"
            + (f"; not begun, because they need it: {', '.join(failure.behind)}" if failure.behind else "")
            for failure in self.failed
        ]
        raise SimjudgeError(f"{'; '.join(parts)}. What is done is kept: run the same command again")


@dataclass(frozen=True)
class StudyRunOptions:
    """Who does the steps of a study, and what need not be done."""

    # steps that are done side by side; None for as many as the machine has cores and memory for
    jobs: int | None = None
    # address of a Dask scheduler whose workers do the steps; they must see the study's folder under the same path
    scheduler: str | None = None
    # folders of other studies. A step that one of them has done with the same digest is taken from there.
    reuse: Sequence[str | Path] = ()


ONE_JOB = StudyRunOptions(jobs=1)
"""One step after the other, on this machine."""


@dataclass
class _Run:
    """A study that runs."""

    study: Study
    folder: Path
    verbs: Verbs
    digests: dict[str, str]
    needs: dict[str, tuple[str, ...]]  # by step, the steps that it needs
    done: dict[str, StepRecord] = field(default_factory=dict)
    failed: list[FailedStep] = field(default_factory=list)  # in the order in which they failed
    begun: set[str] = field(default_factory=set)  # names of steps that workers have, or had

    def missing(self) -> dict[str, tuple[str, ...]]:
        """What steps that are neither done nor failed nor behind a failed one need."""
        never = {name for failure in self.failed for name in (failure.name, *failure.behind)}
        return {name: needs for name, needs in self.needs.items() if name not in self.done and name not in never}

    def ready(self) -> list[StepTask]:
        """Steps that can be begun now."""
        names = [
            name
            for name, needs in self.missing().items()
            if name not in self.begun and all(self._is_settled(need) for need in needs)
        ]
        return [self.task(name) for name in names]

    def _is_settled(self, name: str) -> bool:
        """Whether a step is done, and all that it was made of is: else it may turn out to be outdated."""
        return name in self.done and all(self._is_settled(need) for need in self.needs[name])

    def task(self, name: str) -> StepTask:
        """A step with the paths of what it needs."""
        step = next(step for step in self.study.steps if step.name == name)
        arguments = put_paths(step.arguments, {other.name: self.folder / other.output for other in self.study.steps})
        verb = self.verbs[step.verb]
        made_of = {need: self.done[need].files_hash() for need in self.needs[name] if need in self.done}
        return StepTask(
            self.folder, name, step.verb, verb, arguments, step.output, self.digests[name], version(), made_of
        )

    def drop_outdated(self) -> list[str]:
        """Take away kept steps that were made of something else than the steps that they need have made by now."""
        dropped = []
        for name, needs in self.needs.items():
            record = self.done.get(name)
            known = {} if record is None or not record.kept else record.made_of
            now = {need: self.done[need].files_hash() for need in needs if need in self.done}
            if any(known.get(item, present) != present for item, present in now.items()):
                dropped.append(name)
                del self.done[name]
        return dropped

    def fail(self, name: str, error: SimjudgeError) -> FailedStep:
        """Note that a step failed."""
        behind = tuple(steps_behind(name, self.needs))
        self.failed.append(FailedStep(name, str(error), log_path(self.folder, name), behind))
        return self.failed[-1]


def run_steps(
    study: Study,
    out: Path,
    verbs: Verbs,
    *,
    options: StudyRunOptions = ONE_JOB,
    log: Log = no_log,
    progress: ProgressBar = no_progress,
) -> StudyResult:
    """Run the steps of a study."""
    folder = output_path(out).absolute()
    others = read_done_studies(options.reuse, folder)
    claim_folder(folder, study)
    run = _Run(study, folder, verbs, step_digests(study), {step.name: step.needs for step in study.steps})
    with plain_os_errors(folder), _alone(folder):
        with hold_plan(folder, log):
            clear_temporaries(folder)
            write_plan(folder, study, run.digests)
        for step in study.steps:
            kept = kept_record(folder, step.name, step.verb, step.output, run.digests[step.name], log)
            if kept is not None:
                run.done[step.name] = kept
                log(f"{_place(run, step.name)}: kept")
        _drop_outdated(run, log)
        _take_missing(run, others, log)
        for step in study.steps:
            if step.name not in run.done and (check := verbs[step.verb].check) is not None:
                check(step.arguments)
        if run.missing():
            most = most_at_once(run.missing())
            with open_workers(options.jobs, options.scheduler, most, log, progress) as workers:
                _do_missing(run, workers, log)
        if not run.failed:
            shutil.rmtree(folder / WORK, ignore_errors=True)
    return StudyResult(
        study, folder, tuple(run.done[step.name] for step in study.steps if step.name in run.done), tuple(run.failed)
    )


def _take_missing(run: _Run, others: Sequence[DoneStudy], log: Log) -> None:
    """Take the steps that other studies have done."""
    for name in run.missing() if others else ():
        taken = take_step(run.task(name), run.needs[name], others, log)
        if taken is not None:
            run.done[name] = taken
            log(f"{_place(run, name)}: taken from {taken.taken_from}")
    for other in others:
        count = sum(record.taken_from == str(other.folder) for record in run.done.values())
        log(f"{count} of {len(run.needs)} steps taken from {other.folder}")


def _do_missing(run: _Run, workers: Workers, log: Log) -> None:
    """Do the steps that are not done, as far as they can be done."""
    log(f"{len(run.missing())} of {len(run.needs)} steps to do, {workers.jobs} at a time; logs in {run.folder / LOGS}")
    while run.missing():
        for task in run.ready():
            run.begun.add(task.name)
            workers.start(task)
        name, outcome = workers.next_done()
        if isinstance(outcome, StepRecord):
            step = run.task(name)
            held = held_record(run.folder, name, step.verb_name, step.output, step.digest)
            run.done[name] = outcome if held is None else replace(outcome, files=held.files)
            _drop_outdated(run, log)
            log(f"{_place(run, name)}: done in {outcome.seconds:.0f} s{_left(run, workers.jobs)}")
        else:
            failed = run.fail(name, outcome)
            log(f"{_place(run, name)}: failed: {failed.error} (log: {failed.log})")


def _drop_outdated(run: _Run, log: Log) -> None:
    for name in run.drop_outdated():
        log(f"{_place(run, name)}: what it was made of has changed; the step runs again")


def _place(run: _Run, name: str) -> str:
    """How log lines name a step."""
    number = list(run.needs).index(name) + 1
    return f"step {number} of {len(run.needs)}, {name}"


def _left(run: _Run, jobs: int) -> str:
    """The time that the rest will take, for a log line."""
    missing = run.missing()
    verbs = {step.name: step.verb for step in run.study.steps}
    seconds = seconds_left(missing, verbs, list(run.done.values()), jobs)
    return f"; about {format_seconds_left(seconds)} left" if missing and seconds is not None else ""


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Within this block no other process runs a study in the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / RUNNING).open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UsageError(f"{folder}: another simjudge is at work in it; wait, or give another --out") from None
        yield


_MOST_UNSEEN = 0.2
"""Share of the missing steps that may have a verb of which no step is done."""


def seconds_left(
    missing: Mapping[str, Sequence[str]], verbs: Mapping[str, str], done: Sequence[StepRecord], jobs: int
) -> float | None:
    """The time of steps that are missing, done by so many jobs as soon as what they need is there.

    A step is taken to need the mean time of the steps done with its verb, or of all where there is none. What steps of
    one verb took says little of those of others: while too many of the missing ones have a verb that was not seen yet,
    no time is told.
    """
    times = {verb: fmean(step.seconds for step in done if step.verb == verb) for verb in {d.verb for d in done}}
    if sum(verbs[name] not in times for name in missing) > _MOST_UNSEEN * len(missing):
        return None
    usual = fmean(step.seconds for step in done) if done else 0.0
    free = [0.0] * max(jobs, 1)
    ends: dict[str, float] = {}
    for name, needs in missing.items():
        begin = max([heapq.heappop(free), *(ends[need] for need in needs if need in ends)])
        ends[name] = begin + times.get(verbs[name], usual)
        heapq.heappush(free, ends[name])
    return max(ends.values(), default=0.0)


def most_at_once(missing: Mapping[str, Sequence[str]]) -> int:
    """How many steps are ever ready together, where all take the same time."""
    level: dict[str, int] = {}
    for name, needs in missing.items():
        level[name] = max((level[need] + 1 for need in needs if need in level), default=0)
    counts = list(level.values())
    return max((counts.count(count) for count in set(counts)), default=0)
