"""Steps that another study has done: their files are taken, where everything that they depend on is the same.

Files are linked where both folders are on one file system, which takes neither time nor room, and copied elsewhere.
simjudge never writes into a file that a step has made: a step that is done anew makes new files.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from simjudge.core.digest import hash_value
from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.core.files import hash_files, is_disk_full, output_path
from simjudge.core.installed import CAMERA, DETECTOR, SCENE, SENSORS, VEHICLE, find_file, shipped_files, version
from simjudge.core.progress import Log
from simjudge.questions.study.file import Study
from simjudge.questions.study.records import PlannedStep, StepRecord, held_record, read_plan
from simjudge.questions.study.steps import ANY_NAME, NEVER
from simjudge.questions.study.values import StepReference
from simjudge.questions.study.work import StepTask, hold_step, publish_step, work_folder
from simjudge.sim.scene.read import read_scene, scene_digest

_NAMES_ITS_IMAGES = ".json"
"""Ending of an output that names the folder of its images, which has the step's name."""


@dataclass(frozen=True)
class DoneStudy:
    """A study whose steps may be taken.

    Attributes:
        steps: of the study, done or not.
    """

    folder: Path
    steps: tuple[PlannedStep, ...]


def read_done_studies(folders: Sequence[str | Path], out: Path) -> list[DoneStudy]:
    """Read which steps other studies have."""
    paths = [output_path(Path(each)).absolute() for each in folders]
    for path in paths:
        if path.exists() and out.exists() and path.samefile(out):
            raise UsageError(f"--reuse {path}: is the study's own folder; what is done there is kept anyway")
    return [DoneStudy(path, tuple(read_plan(path)[1])) for path in paths]


def take_step(task: StepTask, needs: Sequence[str], others: Sequence[DoneStudy], log: Log) -> StepRecord | None:
    """Take a step from the first study that has done it.

    Args:
        log: receives a line where what another study has made is not what its record says.

    Returns:
        The step as it was taken; None where no study has done it.
    """
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
        for each in source.iterdir():
            _link(each, target / each.name)
        return
    try:
        target.hardlink_to(source)
    except FileNotFoundError:
        raise
    except OSError:  # another file system, or one without links
        shutil.copy2(source, target)


_KINDS = {"camera": CAMERA, "scene": SCENE, "sensors": SENSORS, "vehicle": VEHICLE}
"""Arguments that name files that come with simjudge, or are paths."""


def step_digests(study: Study) -> dict[str, str]:
    """Digests of what the steps depend on, by their names.

    Args:
        study: the study, its steps in an order in which they can run.
    """
    digests: dict[str, str] = {}
    files: dict[Path, str] = {}
    for step in study.steps:
        seed = step.arguments.get("seed", 0)
        try:
            content = {key: _content(key, each, seed, digests, files) for key, each in step.arguments.items()}
        except SimjudgeError as error:
            raise type(error)(f"step {step.name}: {error}") from error
        ending = step.output.removeprefix(step.name)
        digests[step.name] = hash_value([version(), step.verb, ending, content])
    return digests


def _content(key: str, value: Any, seed: Any, digests: Mapping[str, str], files: dict[Path, str]) -> Any:
    """What counts of an argument's value."""
    if isinstance(value, StepReference):
        return [digests[value.step], value.file]
    if isinstance(value, Mapping):
        return {name: _content(name, each, seed, digests, files) for name, each in value.items()}
    if isinstance(value, list):
        return [_content(key, each, seed, digests, files) for each in value]
    if key == "scene" and isinstance(value, str | Path):
        read_scene(value, seed)  # so that a scene that cannot be built is refused before anything runs
        return scene_digest(value, seed)
    if key in _KINDS and isinstance(value, str | Path):
        value = find_file(value, _KINDS[key])
    elif isinstance(value, str):
        value = shipped_files(DETECTOR).get(value, value) if key == "detector" else value
    if not isinstance(value, Path):
        return value
    if value not in files:
        files[value] = hash_files(value)
    return files[value]
