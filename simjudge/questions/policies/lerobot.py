"""Trials of lerobot-eval: `eval_info.json`, as written for one task, and as written for several."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from simjudge.core.errors import Losses, SimjudgeError
from simjudge.core.text import load_json
from simjudge.questions.policies.trials import PolicyTrials

EVAL_INFO = "eval_info.json"
ONE_TASK = "task"
"""What the only task of an older file is called, which names none."""


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
