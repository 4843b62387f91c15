"""Folders of recordings, one trial each: the outcome from one status topic, or from the referee of `simjudge drive`.

A drive's record lies beside its recording (x.mcap.drive.json); the recording itself may be gone. Else the last message
of the status topic counts: names and values (see `trial_table.trial_of_values`), or a Bool. Policy and task that the
message does not say are those of the path: FOLDER/POLICY/TASK/x.mcap.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from simjudge.core.errors import Losses, SimjudgeError
from simjudge.core.text import list_some, load_json
from simjudge.data.rosbag2.interfaces import recorded_types
from simjudge.data.rosbag2.recording import Recording
from simjudge.questions.policies.trial_stream import StreamedTrial
from simjudge.questions.policies.trial_table import OUTCOMES, trial_of_values
from simjudge.questions.policies.trials import REAL, SIM, PolicyTrials

STATUS_TOPIC = "/policies/trials"
RECORD = ".drive.json"
FINISHED, CLEAN, PROGRESS = "finished", "clean", "progress"
"""Outcomes of a drive: the end was reached; that, and nothing touched; the share of the course."""
_STATUS, _STRING, _BOOL = "diagnostic_msgs/msg/DiagnosticStatus", "std_msgs/msg/String", "std_msgs/msg/Bool"
_SUFFIXES = {".mcap", ".db3"}


def trial_recordings(path: Path) -> list[Path]:
    """Drives' records and recordings below a folder, each trial once; none where it is something else."""
    if not path.is_dir():
        return []
    records = sorted(path.rglob(f"*{RECORD}"))
    driven = {each.with_name(each.name.removesuffix(RECORD)) for each in records}
    bags = {each.parent for each in path.rglob("metadata.yaml") if each.parent != path}
    files = {each for each in path.rglob("*") if each.suffix in _SUFFIXES and each.parent not in bags}
    return [*records, *sorted((bags | files) - driven)]


def read_recorded_trials(
    folder: Path,
    *,
    real: bool,
    status_topic: str = "",
    outcome: str = "",
    rename: Mapping[str, str] | None = None,
) -> PolicyTrials:
    """Read a folder of recordings.

    Args:
        status_topic: with the outcome; empty for STATUS_TOPIC, or the only topic of its type.
        outcome: of drives: one of FINISHED, CLEAN, PROGRESS; empty for FINISHED.
        rename: other names of policies and tasks: where a trial starts is known by its task's name too.
    """
    if outcome and outcome not in (FINISHED, CLEAN, PROGRESS):
        raise SimjudgeError(f"outcome {outcome}: of a drive one of {FINISHED}, {CLEAN}, {PROGRESS} is needed")
    losses, found = Losses(), list[StreamedTrial]()
    for path in trial_recordings(folder):
        try:
            if path.name.endswith(RECORD):
                trial = _of_drive(path, outcome or FINISHED, rename or {}, real=real)
            else:
                trial = _of_recording(path, folder, status_topic, real=real)
        except SimjudgeError as error:
            losses.add("recordings without an outcome", str(error))
            continue
        found.append(trial)
    if not found:
        why = next((each for examples in losses.examples.values() for each in examples), "it holds none")
        raise SimjudgeError(f"{folder}: no recording says how its trial ended: {why}")
    return PolicyTrials.of_columns(
        np.array([trial.policy for trial in found], str),
        np.array([trial.task for trial in found], str),
        np.full(len(found), real),
        np.array([trial.outcome for trial in found], np.float64),
        unit=np.array([trial.unit for trial in found], str) if any(trial.unit for trial in found) else None,
        pair=np.array([trial.pair for trial in found], str) if any(trial.pair for trial in found) else None,
        losses=losses,
    )


def _of_drive(path: Path, outcome: str, rename: Mapping[str, str], *, real: bool) -> StreamedTrial:
    content: Any = load_json(path)
    try:
        driver, how = str(content["driver"]), content["outcome"]
        finished, length = bool(how["finished"]), float(how["length"])
        policy = str(content["detector"]) if driver == "cones" else driver
        task = rename.get(str(content["scene"]["name"]), str(content["scene"]["name"]))
        share = 1.0 if finished else min(1.0, max(0.0, float(how["way"]) / length)) if length > 0 else 0.0
        value = {FINISHED: float(finished), CLEAN: float(finished and not how["touched"]), PROGRESS: share}[outcome]
        pair = f"{task} seed {content['seed']}"
    except (KeyError, TypeError, ValueError) as error:
        raise SimjudgeError(f"{path}: is not what simjudge drive writes ({error!r})") from error
    return StreamedTrial(Path(policy).stem, task, real, value, pair=pair)


def _of_recording(path: Path, folder: Path, status_topic: str, *, real: bool) -> StreamedTrial:
    recording = Recording(path)
    topic = _status_topic(recording, path, status_topic)
    kind = recording.topics[topic].type
    types = recorded_types(tuple({(kind, recording.topics[topic].definition)}))
    last = None
    for stored in recording.messages({topic}):
        last = stored
    if last is None:
        raise SimjudgeError(f"{path}: nothing was said on {topic}")
    try:
        values = _values(types.deserialize_cdr(last.data, kind), kind)
    except Exception as error:
        # rosbags raises what it likes for damaged messages.
        raise SimjudgeError(f"{path}: the last message on {topic} cannot be read ({error})") from error
    parts = path.relative_to(folder).parts[:-1]
    defaults = dict(zip(("task", "policy"), reversed(parts), strict=False))
    try:
        trial = trial_of_values({**defaults, **values}, REAL if real else SIM)
    except SimjudgeError as error:
        raise SimjudgeError(f"{path}: {topic}: {error}") from error
    return replace(trial, real=real)


def _status_topic(recording: Recording, path: Path, wanted: str) -> str:
    told = [name for name, topic in recording.topics.items() if topic.type in (_STATUS, _STRING, _BOOL)]
    if wanted:
        if wanted in told:
            return wanted
    elif STATUS_TOPIC in told:
        return STATUS_TOPIC
    elif len(told) == 1:
        return told[0]
    known = list_some(told) if told else f"no topic of type {_STATUS}, {_STRING} or {_BOOL}"
    raise SimjudgeError(f"{path}: has {known}; say which tells the outcome with --status-topic")


def _values(message: Any, kind: str) -> dict[str, Any]:
    if kind == _BOOL:
        return {OUTCOMES[1]: bool(message.data)}
    if kind == _STATUS:
        found = {each.key: each.value for each in message.values}
        return {"policy": message.name, **found} if message.name else found
    held = json.loads(message.data)
    if not isinstance(held, dict):
        raise TypeError("not a JSON object")
    return held
