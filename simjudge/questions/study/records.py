"""What a study's folder holds: what its steps have made, a record of each, logs, and unfinished work.

DIR/study.json       what the study is, with its steps in order, so that the folder can be read without the file
DIR/NAME.ending      what a step has made
DIR/NAME.step.json   the record of a step that is done; written last
DIR/logs/NAME.log    what a step said
DIR/.work/           unfinished work; a step that was killed may go on in it
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from simjudge.core.digest import hash_value
from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.core.files import atomic_file, hash_files
from simjudge.core.progress import Log, no_log
from simjudge.core.version import version
from simjudge.questions.study.file import Study, StudyStep
from simjudge.results.saved_result import STUDY_FILE

LOGS = "logs"
WORK = ".work"
RUNNING = ".running"
"""Locked by the process that runs the study."""
_RECORD = ".step.json"


@dataclass(frozen=True)
class StepRecord:
    """A step that is done.

    Attributes:
        kept: whether it was done before, and kept.
        losses: lines of what was left out.
        files: hashes of the files and folders that it made, by their names beside the study's others.
        taken_from: folder of the study that has done it; empty where this one has.
        made_of: by step that it needs, the hash of what that step had made.
    """

    name: str
    verb: str
    path: Path
    seconds: float
    kept: bool = False
    losses: tuple[str, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)
    taken_from: str = ""
    made_of: Mapping[str, str] = field(default_factory=dict)

    def files_hash(self) -> str:
        """One hash of all that it made."""
        return hash_value(dict(self.files))


@dataclass(frozen=True)
class PlannedStep:
    """A step as a study's folder knows it.

    Attributes:
        needs: names of the steps that it needs.
    """

    name: str
    verb: str
    output: str
    needs: tuple[str, ...]
    digest: str


def claim_folder(folder: Path, study: Study) -> None:
    """Make the folder this study's, or see that it is."""
    if (folder / STUDY_FILE).is_file():
        content = _read_json(folder / STUDY_FILE)
        if (content.get("study"), content.get("size")) != (study.name, study.size):
            raise UsageError(f"{folder}: holds another study or another size of this one; give another --out")
        return
    if folder.exists() and (not folder.is_dir() or any(map(_is_foreign, folder.iterdir()))):
        raise UsageError(f"{folder}: is no folder of a study; give another --out")


def clear_temporaries(folder: Path) -> None:
    """Remove files that a killed process had not finished; no process may be moving outputs meanwhile."""
    for path in folder.glob(".*.tmp"):
        path.unlink()


def _is_foreign(path: Path) -> bool:
    """Whether something in a folder is not what a study that was killed at once leaves there."""
    return path.name not in {RUNNING, WORK} and not path.name.startswith(f".{STUDY_FILE}.")


def write_plan(folder: Path, study: Study, digests: Mapping[str, str]) -> None:
    """Say in a study's folder what its steps are."""
    steps = [
        {"name": each.name, "verb": each.verb, "output": each.output, "needs": list(each.needs),
         "digest": digests[each.name]}
        for each in study.steps
    ]  # fmt: skip
    about = {
        "study": study.name, "size": study.size, "title": study.title, "stands_in": study.stands_in, "steps": steps,
    }  # fmt: skip
    with atomic_file(folder / STUDY_FILE) as temporary:
        temporary.write_text(json.dumps(about, indent=2) + "\n", encoding="utf-8")


def read_plan(folder: Path) -> tuple[Study, list[PlannedStep]]:
    """What a study's folder says of itself.

    Returns:
        The study, with steps without arguments; and the steps with their digests.
    """
    path = folder / STUDY_FILE
    if not path.is_file():
        raise UsageError(f"{folder}: is no folder that study run has made: it has no {STUDY_FILE}")
    content = _read_json(path)
    try:
        planned = [
            PlannedStep(str(each["name"]), str(each["verb"]), str(each["output"]), tuple(each["needs"]), each["digest"])
            for each in content["steps"]
        ]
        steps = tuple(StudyStep(each.name, each.verb, {}, each.output) for each in planned)
        study = Study(content["study"], content["title"], content["stands_in"], content["size"], steps)
    except (KeyError, TypeError, ValueError) as error:
        raise SimjudgeError(f"{path}: is damaged ({error!r}); run the study again") from error
    return study, planned


def keep_record(record: StepRecord, digest: str) -> None:
    """Note that a step is done."""
    about = {
        "digest": digest, "verb": record.verb, "version": version(), "seconds": round(record.seconds, 1),
        "losses": list(record.losses), "files": dict(record.files), "made_of": dict(record.made_of),
        **({"taken_from": record.taken_from} if record.taken_from else {}),
    }  # fmt: skip
    with atomic_file(record_path(record.path.parent, record.name)) as temporary:
        temporary.write_text(json.dumps(about, indent=2) + "\n", encoding="utf-8")


def kept_record(
    folder: Path, name: str, verb: str, output: str, digest: str, log: Log = no_log
) -> StepRecord | None:
    """The record of a step that was done before, and whose files are what it made; None where it has to be done.

    Args:
        log: receives a line where a file is not what the record says.
    """
    record = held_record(folder, name, verb, output, digest)
    if record is None:
        return None
    wrong = [each for each, wanted in record.files.items() if not _is_intact(folder / each, wanted)]
    if wrong or output not in record.files:
        what = f"{', '.join(wrong)}: not what {name} has made" if wrong else f"{name}: its record has no hashes"
        log(f"note: {folder}: {what}; {name} is done anew")
        return None
    return record


def held_record(folder: Path, name: str, verb: str, output: str, digest: str) -> StepRecord | None:
    """The record of a step that was done before, whatever became of its files; None where it was not done."""
    held = _read_json(record_path(folder, name))
    path = folder / output
    if held.get("digest") != digest or not path.exists() or not held.keys() >= {"seconds", "losses"}:
        return None
    return StepRecord(
        name, verb, path, float(held["seconds"]), kept=True, losses=tuple(held["losses"]),
        files=held.get("files", {}), taken_from=held.get("taken_from", ""), made_of=held.get("made_of", {}),
    )  # fmt: skip


def _is_intact(path: Path, wanted: str) -> bool:
    """Whether a file or folder has a hash."""
    try:
        return path.exists() and hash_files(path) == wanted
    except OSError:
        return False


def record_path(folder: Path, name: str) -> Path:
    """The path of a step's record."""
    return folder / f"{name}{_RECORD}"


def log_path(folder: Path, name: str) -> Path:
    """The path of a step's log."""
    return folder / LOGS / f"{name}.log"


def hash_outputs(work: Path) -> dict[str, str]:
    """Hashes of what a step has made, by name."""
    return {name: hash_files(work / name) for name in _made(work)}


def publish_output(work: Path, folder: Path, name: str, output: str) -> None:
    """Move what a step has made to its place: files beside it first, the output last.

    An earlier record goes first, so that no moment has a record of something else.

    Args:
        work: the folder that the step has worked in, on the same disk.
    """
    if not (work / output).exists():
        raise SimjudgeError(f"{output}: the step has not made it")
    record_path(folder, name).unlink(missing_ok=True)
    for each in [*(each for each in _made(work) if each != output), output]:
        target = folder / each
        if target.is_dir() and not target.is_symlink():
            shutil.rmtree(target)
        (work / each).replace(target)


def _made(work: Path) -> list[str]:
    """Names of what a step has made."""
    return sorted(each.name for each in work.iterdir() if not each.name.startswith("."))


def _read_json(path: Path) -> dict[str, Any]:
    """A JSON object; empty where there is none, or it is damaged."""
    try:
        held = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return held if isinstance(held, dict) else {}
