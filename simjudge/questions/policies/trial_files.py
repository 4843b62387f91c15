"""Trials in files of their own kinds: lerobot-eval, LeRobot v3, folders of recordings, and rows written as trials end.

Videos of a data set stay closed. A drive's record lies beside its recording (x.mcap.drive.json); the recording itself
may be gone. Else the last message of the status topic counts: names and values (`trial_of_values`), or a Bool. Policy
and task that the message does not say are those of the path: FOLDER/POLICY/TASK/x.mcap. A row that is written is on the
disk before `TrialTable.add` returns: whatever ends the writer, no row that it took is lost.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from simjudge.core.errors import Losses, SimjudgeError
from simjudge.core.files import plain_os_errors
from simjudge.core.text import Json, JsonMapping, list_some, load_json
from simjudge.data.lerobot import EPISODES, INFO, read_info, read_table, table_columns
from simjudge.data.rosbag2.interfaces import recorded_types
from simjudge.data.rosbag2.recording import Recording
from simjudge.questions.policies.few_real import StreamedTrial
from simjudge.questions.policies.settings import REAL, SIM
from simjudge.questions.policies.tables import ALIASES, read_policy_table
from simjudge.questions.policies.trials import PolicyTrials

EVAL_INFO = "eval_info.json"
ONE_TASK = "task"
"""What the only task of an older file is called, which names none."""


SUCCESS = "next.success"
"""Of a frame: an episode succeeded where it is true in some."""
_OF_EPISODE = ("success", "is_success", "episode_success")
"""Columns by which people say of a whole episode how it ended."""


def data_sets(path: Path) -> list[Path]:
    """The LeRobot data sets at a path: itself, or all below a folder."""
    return sorted(info.parent.parent for info in path.rglob(INFO)) if path.is_dir() else []


def read_data_sets(paths: list[Path], *, real: bool) -> PolicyTrials:
    """Read the episodes of data sets; a policy is called like the folder of its data set."""
    policy, task, outcome, losses = list[str](), list[str](), list[float](), Losses()
    for path in paths:
        before = len(outcome)
        for name, number, success in _data_set_episodes(path):
            if success is None:
                losses.add("episodes without a success flag", f"{path.name}: episode {number}")
                continue
            policy.append(path.name)
            task.append(name)
            outcome.append(success)
        if len(outcome) == before:
            raise SimjudgeError(
                f"{path}: no episode says whether it succeeded; {SUCCESS} of its frames, or a column success of"
                f" {EPISODES}, would"
            )
    return PolicyTrials.of_columns(
        np.array(policy, str),
        np.array(task, str),
        np.full(len(outcome), real),
        np.array(outcome, np.float64),
        losses=losses,
    )


def _data_set_episodes(path: Path) -> Iterator[tuple[str, int, float | None]]:
    """Task, number and success of each episode."""
    read_info(path)
    tables = [read_table(file) for file in sorted((path / EPISODES).rglob("*.parquet"))]
    if not tables:
        raise SimjudgeError(f"{path}: has no {EPISODES}/*/*.parquet")
    said = next((name for name in _OF_EPISODE if name in tables[0].column_names), None)
    flags = {} if said else _frame_flags(path)
    for table in tables:
        if not {"episode_index", "tasks", *([said] if said else [])} <= {*table.column_names}:
            raise SimjudgeError(f"{path / EPISODES}: a file lacks episode_index, tasks or {said or 'success'}")
        ends = table.column(said).to_pylist() if said else [None] * len(table)
        rows = zip(table.column("episode_index").to_pylist(), table.column("tasks").to_pylist(), ends, strict=True)
        for number, tasks, end in rows:
            name = "; ".join(map(str, tasks)) if isinstance(tasks, list) else str(tasks)
            yield name or ONE_TASK, number, _flag(end) if said else flags.get(number)


def _frame_flags(path: Path) -> dict[int, float]:
    """Whether some frame of an episode is a success."""
    flags: dict[int, float] = {}
    for file in sorted((path / "data").rglob("*.parquet")):
        if SUCCESS not in table_columns(file):
            continue
        table = read_table(file, ["episode_index", SUCCESS])
        for number, success in zip(*(table.column(name).to_pylist() for name in table.column_names), strict=True):
            value = success[0] if isinstance(success, list) and success else success
            flags[number] = max(flags.get(number, 0.0), float(bool(value)))
    return flags


def eval_infos(path: Path) -> list[Path]:
    """The files of lerobot-eval at a path: itself, or all below a folder."""
    if path.is_dir():
        return sorted(path.rglob(EVAL_INFO))
    return [path] if path.name == EVAL_INFO else []


def read_eval_infos(paths: list[Path], *, real: bool) -> PolicyTrials:
    """Read files of lerobot-eval; a policy is called like the folder of its file.

    The seed of an episode names its initial state: episodes of both sides with one seed and task are pairs.
    """
    policy, task, outcome, pair, losses = list[str](), list[str](), list[float](), list[str](), Losses()
    for path in paths:
        content = load_json(path)
        if not isinstance(content, dict):
            raise SimjudgeError(f"{path}: is not what lerobot-eval writes")
        before = len(outcome)
        for name, success, seed in _episodes(content, path):
            if success is None:
                losses.add("episodes without a success flag", path.parent.name)
                continue
            policy.append(path.parent.name)
            task.append(name)
            outcome.append(success)
            pair.append("" if seed is None else f"{name} seed {seed}")
        if len(outcome) == before:
            raise SimjudgeError(f"{path}: holds no episode with a success flag")
    count = len(outcome)
    return PolicyTrials.of_columns(
        np.array(policy, str),
        np.array(task, str),
        np.full(count, real),
        np.array(outcome, np.float64),
        pair=np.array(pair, str) if any(pair) else None,
        losses=losses,
    )


def _episodes(content: JsonMapping, path: Path) -> Iterator[tuple[str, float | None, Any]]:
    """Task, success and seed of each episode."""
    if isinstance(content.get("per_task"), list):
        for entry in content["per_task"]:
            metrics = entry.get("metrics", {}) if isinstance(entry, dict) else {}
            name = f"{entry.get('task_group', ONE_TASK)}/{entry.get('task_id', 0)}" if metrics else ONE_TASK
            for success in metrics.get("successes", ()):
                yield name, _flag(success), None
    elif isinstance(content.get("per_episode"), list):
        for episode in content["per_episode"]:
            found = episode if isinstance(episode, dict) else {}
            yield ONE_TASK, _flag(found.get("success")), found.get("seed")
    else:
        raise SimjudgeError(f"{path}: holds neither per_task nor per_episode; is it of lerobot-eval?")


def _flag(value: object) -> float | None:
    """A success flag as outcome; None where it is none."""
    if isinstance(value, bool):
        return float(value)
    return float(value) if isinstance(value, int | float) and 0 <= value <= 1 else None


OUTCOMES = ("outcome", "success", "progress", "succeeded", "is_success")
"""What an outcome is called, the likeliest first."""
_TRUE, _FALSE = {"true", "yes", "success", "succeeded"}, {"false", "no", "failure", "failed"}


def trial_of_values(values: JsonMapping, side: str) -> StreamedTrial:
    """A trial from names and values, as a message has them.

    Args:
        values: policy, task, and outcome, success or progress; unit, pair and side where there are any.
        side: where the values do not say it: "real" or "sim".
    """
    plain = {name.strip().lower(): value for name, value in values.items()}

    def find(role: str) -> str:
        return next((str(plain[name]).strip() for name in ALIASES[role] if name in plain), "")

    policy, task = find("policy"), find("task")
    for role, text in (("policy", policy), ("task", task)):
        if not text:
            raise SimjudgeError(f"no {role} among {', '.join(plain) or 'no values'}")
    name = next((column for column in OUTCOMES if column in plain), "")
    if not name:
        raise SimjudgeError(f"no outcome among {', '.join(plain)}; one of {', '.join(OUTCOMES)} is needed")
    said = (find("side") or side).lower()
    if said not in (REAL, SIM):
        raise SimjudgeError(f"side {said!r}: {REAL} or {SIM} is needed")
    return StreamedTrial(policy, task, said == REAL, _outcome(plain[name], name), find("unit"), find("pair"))


def _outcome(value: Any, name: str) -> float:
    text = str(value).strip().lower()
    if text in _TRUE | _FALSE:
        return float(text in _TRUE)
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not 0 <= number <= 1:
        raise SimjudgeError(f"{name} {str(value)!r}: true, false, or a number from 0 to 1 is needed")
    return number


class TrialTable:
    """A table of trials (JSON lines) that is written row by row; what `watch-policies` and `compare-policies` read.

    Args:
        path: the table, .jsonl; one that is there is gone on with.
    """

    def __init__(self, path: str | Path) -> None:
        """Open the table."""
        self.path = Path(path)
        if self.path.suffix not in {".jsonl", ".ndjson"}:
            raise SimjudgeError(f"{path}: a name that ends in .jsonl is needed")
        self.held: list[StreamedTrial] = []
        with plain_os_errors(self.path):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            if self.path.is_file():
                self._take_up()
            self._file = self.path.open("a", encoding="utf-8")

    def _take_up(self) -> None:
        content = self.path.read_bytes()
        whole = content[: content.rfind(b"\n") + 1]
        if whole != content:
            with self.path.open("r+b") as file:
                file.truncate(len(whole))
        for number, line in enumerate(whole.decode("utf-8", "replace").splitlines(), 1):
            self.held.append(self._row(line, number))

    def _row(self, line: str, number: int) -> StreamedTrial:
        try:
            return trial_of_values(json.loads(line), "")
        except (ValueError, AttributeError, SimjudgeError) as error:
            raise SimjudgeError(f"{self.path}, line {number}: is not a trial ({error}); give another table") from error

    def add(self, trial: StreamedTrial) -> None:
        """Write a trial; it is on the disk when this returns."""
        row = {
            "policy": trial.policy,
            "task": trial.task,
            "side": REAL if trial.real else SIM,
            "outcome": trial.outcome,
            "unit": trial.unit,
            "pair": trial.pair,
        }
        with plain_os_errors(self.path):
            self._file.write(json.dumps(row) + "\n")
            self._file.flush()
            os.fsync(self._file.fileno())

    def close(self) -> None:
        """Close the table."""
        self._file.close()


def read_simulated(path: str | Path) -> list[StreamedTrial]:
    """The trials of a table of simulated ones."""
    trials = read_policy_table(path, SIM).trials
    return [
        StreamedTrial(
            trials.policies[int(trials.policy[row])],
            trials.tasks[int(trials.task[row])],
            real=False,
            outcome=float(trials.outcome[row]),
            pair="" if trials.pair[row] < 0 else trials.pair_names[int(trials.pair[row])],
        )
        for row in range(len(trials))
    ]


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
    driven = {record.with_name(record.name.removesuffix(RECORD)) for record in records}
    bags = {folder.parent for folder in path.rglob("metadata.yaml") if folder.parent != path}
    files = {file for file in path.rglob("*") if file.suffix in _SUFFIXES and file.parent not in bags}
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
        why = next((example for examples in losses.examples.values() for example in examples), "it holds none")
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
        raise SimjudgeError(f"{path}: is not what simjudge sim drive writes ({error!r})") from error
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


def _values(message: Any, kind: str) -> Json:
    if kind == _BOOL:
        return {OUTCOMES[1]: bool(message.data)}
    if kind == _STATUS:
        found = {pair.key: pair.value for pair in message.values}
        return {"policy": message.name, **found} if message.name else found
    held = json.loads(message.data)
    if not isinstance(held, dict):
        raise TypeError("not a JSON object")
    return held
