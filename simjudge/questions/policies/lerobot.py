"""Trials of LeRobot: `eval_info.json` of lerobot-eval, and episodes of a data set of format v3 (videos stay closed)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from simjudge.core.errors import Losses, SimjudgeError
from simjudge.core.text import load_json
from simjudge.questions.policies.trials import PolicyTrials

EVAL_INFO = "eval_info.json"
ONE_TASK = "task"
"""What the only task of an older file is called, which names none."""


INFO = "meta/info.json"
EPISODES = "meta/episodes"
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
    info = load_json(path / INFO)
    version = str(info.get("codebase_version", "")) if isinstance(info, dict) else ""
    if not version.startswith("v3."):
        raise SimjudgeError(
            f"{path / INFO}: is of version {version or '(none)'}; v3 is read: LeRobot converts older ones"
        )
    tables = [_read(file) for file in sorted((path / EPISODES).rglob("*.parquet"))]
    if not tables:
        raise SimjudgeError(f"{path}: has no {EPISODES}/*/*.parquet")
    said = next((name for name in _OF_EPISODE if name in tables[0].column_names), None)
    flags = {} if said else _frame_flags(path)
    for table in tables:
        if not {"episode_index", "tasks"} <= {*table.column_names}:
            raise SimjudgeError(f"{path / EPISODES}: lacks episode_index or tasks")
        ends = table.column(said).to_pylist() if said else [None] * len(table)
        rows = zip(table.column("episode_index").to_pylist(), table.column("tasks").to_pylist(), ends, strict=True)
        for number, tasks, end in rows:
            name = "; ".join(map(str, tasks)) if isinstance(tasks, list) else str(tasks)
            yield name or ONE_TASK, number, _flag(end) if said else flags.get(number)


def _frame_flags(path: Path) -> dict[int, float]:
    """Whether some frame of an episode is a success."""
    flags: dict[int, float] = {}
    for file in sorted((path / "data").rglob("*.parquet")):
        if SUCCESS not in pq.read_schema(file).names:
            continue
        table = _read(file, ["episode_index", SUCCESS])
        for number, success in zip(*(table.column(name).to_pylist() for name in table.column_names), strict=True):
            value = success[0] if isinstance(success, list) and success else success
            flags[number] = max(flags.get(number, 0.0), float(bool(value)))
    return flags


def _read(path: Path, columns: list[str] | None = None) -> pa.Table:
    try:
        names = columns or [name for name in pq.read_schema(path).names if not name.startswith("stats/")]
        return pq.read_table(path, columns=names)
    except (OSError, pa.ArrowException) as error:
        raise SimjudgeError(f"{path}: cannot be read as a table ({str(error).splitlines()[0][:200]})") from error


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


def _episodes(content: Mapping[str, Any], path: Path) -> Iterator[tuple[str, float | None, Any]]:
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
