"""A study run step by step. What is done is kept under a digest: run again, only what is missing or changed is done."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from simjudge.core.digest import hash_value
from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.core.files import atomic_file, hash_files, output_path
from simjudge.core.installed import CAMERA, SCENE, SENSORS, VEHICLE, find_file
from simjudge.core.progress import Log, ProgressBar, no_log, no_progress
from simjudge.core.version import version
from simjudge.scene.read import read_scene
from simjudge.studies.study_file import Reference, Study, StudyStep
from simjudge.studies.study_findings import FINDINGS, Finding, read_findings
from simjudge.studies.study_steps import Verbs, do_step

STUDY_FILE = "study.json"
"""What a folder of a study says of itself."""
_KINDS = {"camera": CAMERA, "scene": SCENE, "sensors": SENSORS, "vehicle": VEHICLE}
"""Arguments that name files that come with simjudge."""


@dataclass(frozen=True)
class StepRecord:
    """A step that is done.

    Attributes:
        name: of the step.
        verb: what it did.
        path: what it made.
        seconds: that it took.
        kept: whether it was done before, and kept.
        losses: lines of what was left out.
    """

    name: str
    verb: str
    path: Path
    seconds: float
    kept: bool = False
    losses: tuple[str, ...] = ()


@dataclass(frozen=True)
class StudyResult:
    """A study that was run.

    Attributes:
        study: the study.
        folder: holds what its steps made.
        steps: what was done, in order.
    """

    study: Study
    folder: Path
    steps: tuple[StepRecord, ...] = field(default=())

    @property
    def findings(self) -> dict[str, list[Finding]]:
        """What was found, by the names of the steps that find something."""
        return {each.name: read_findings(each.path) for each in self.steps if (each.path / FINDINGS).is_file()}


def run_steps(
    study: Study, out: Path, verbs: Verbs, *, log: Log = no_log, progress: ProgressBar = no_progress
) -> StudyResult:
    """Run the steps of a study.

    Args:
        study: the study.
        out: the folder of what its steps make; of the same study and size where it exists.
        verbs: what steps can do.
        log: receives lines that a person should read.
        progress: opens a progress bar.

    Returns:
        What was done.

    Raises:
        UsageError: the folder holds something else.
        SimjudgeError: a step failed; the message names it. Steps that are done stay.
    """
    folder = output_path(out)
    _claim(folder, study)
    digests: dict[str, str] = {}
    done: list[StepRecord] = []
    for number, step in enumerate(study.steps, 1):
        where = f"step {number} of {len(study.steps)}, {step.name}"
        path = folder / f"{step.name}{verbs[step.verb].ending}"
        try:
            digests[step.name] = _digest(step, digests)
            record = _kept(path, step, digests[step.name])
            if record is None:
                _clear(path, step)
                begin = time.monotonic()
                losses = do_step(verbs[step.verb], _arguments(step, done), path, log, progress)
                record = StepRecord(step.name, step.verb, path, time.monotonic() - begin, losses=losses)
                _keep(record, digests[step.name])
        except SimjudgeError as error:
            raise type(error)(f"{where}: {error}") from error
        done.append(record)
        log(f"{where}: {'kept' if record.kept else f'done in {record.seconds:.0f} s'}")
    return StudyResult(study, folder, tuple(done))


def _claim(folder: Path, study: Study) -> None:
    """Make the folder this study's, or see that it is."""
    about = {"study": study.name, "size": study.size}
    file, text = folder / STUDY_FILE, json.dumps(about, indent=2) + "\n"
    if file.is_file():
        if file.read_text(encoding="utf-8") != text:
            raise UsageError(f"{folder}: holds another study or another size of this one; give another --out")
        return
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{folder}: is no folder of a study; give another --out")
    folder.mkdir(parents=True, exist_ok=True)
    with atomic_file(file) as temporary:
        temporary.write_text(text, encoding="utf-8")


def _arguments(step: StudyStep, done: list[StepRecord]) -> dict[str, Any]:
    """The arguments of a step, with the paths of what earlier steps have made."""
    paths = {each.name: each.path for each in done}
    given = step.arguments.items()
    return {name: paths[value.step] if isinstance(value, Reference) else value for name, value in given}


def _keep(record: StepRecord, digest: str) -> None:
    """Note that a step is done."""
    about = {
        "digest": digest, "verb": record.verb, "version": version(), "seconds": round(record.seconds, 1),
        "losses": list(record.losses),
    }  # fmt: skip
    with atomic_file(_record_path(record.path, record.name)) as temporary:
        temporary.write_text(json.dumps(about, indent=2) + "\n", encoding="utf-8")


def _kept(path: Path, step: StudyStep, digest: str) -> StepRecord | None:
    """The step as it was done before; None where it has to be done."""
    held = _read(_record_path(path, step.name))
    if held.get("digest") != digest or not path.exists():
        return None
    return StepRecord(step.name, step.verb, path, float(held["seconds"]), kept=True, losses=tuple(held["losses"]))


def _record_path(path: Path, name: str) -> Path:
    return path.with_name(f"{name}.step.json")


def _read(path: Path) -> dict[str, Any]:
    """A record; empty where there is none, or it is damaged."""
    try:
        held = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return held if isinstance(held, dict) and held.keys() >= {"digest", "seconds", "losses"} else {}


def _clear(path: Path, step: StudyStep) -> None:
    """Remove what an earlier run left under a step's name."""
    _record_path(path, step.name).unlink(missing_ok=True)
    if path.is_dir():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)
    for ending in ("drive", "replay"):
        path.with_name(f"{path.name}.{ending}.json").unlink(missing_ok=True)


def _digest(step: StudyStep, digests: Mapping[str, str]) -> str:
    """What a step depends on: its arguments, the content of files that they name, and the steps before."""
    seed = step.arguments.get("seed", 0)
    content = {name: _content(name, value, seed, digests) for name, value in step.arguments.items()}
    return hash_value([version(), step.verb, content])


def _content(name: str, value: Any, seed: int, digests: Mapping[str, str]) -> Any:
    if isinstance(value, Reference):
        return digests[value.step]
    if name == "scene":
        return hash_value(read_scene(value, seed))
    if name in _KINDS and isinstance(value, str | Path):
        return hash_files(find_file(value, _KINDS[name]))
    return hash_files(value) if isinstance(value, Path) else value
