"""Trials of policies: one attempt of one policy at one task each, real or simulated, in [0, 1]; and their pairs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd  # type: ignore[import-untyped,unused-ignore]

from simjudge.core.arrays import BoolArray, FloatArray, IntArray, ShortRepr
from simjudge.core.errors import Losses, UsageError
from simjudge.core.files import atomic_file
from simjudge.questions.policies.settings import REAL, SIM

LAYOUT, LAYOUT_MARK = "simjudge trials", "# simjudge trials: "
"""Which columns are conditions, in the first line of a CSV and in the attributes of a Parquet file."""
StringArray = npt.NDArray[np.str_]


class SideUnknownError(UsageError):
    """Nothing says which trials are real."""


@dataclass(frozen=True, eq=False, repr=False)
class PolicyTrials(ShortRepr):
    """N rows: trials, or rates of cells whose number of trials nobody says.

    Attributes:
        policies, tasks: names; `policy` and `task` count them.
        policy, task: int64 (N,).
        real: bool (N,), whether a trial was real; else it was simulated.
        outcome: float64 (N,) in [0, 1].
        is_rate: bool (N,), whether the row is a rate without a number of trials.
        unit: int64 (N,), what chance draws together, numbered over both sides; each trial alone where nobody says.
        pair: int64 (N,), the initial state that a real and a simulated trial share; -1 where there is none.
        words: further columns of words by name, as numbers into `word_names`.
        numbers: further columns of numbers by name, float64 (N,); NaN where there is none.
    """

    policies: tuple[str, ...]
    tasks: tuple[str, ...]
    policy: IntArray
    task: IntArray
    real: BoolArray
    outcome: FloatArray
    is_rate: BoolArray
    unit: IntArray
    pair: IntArray
    words: Mapping[str, IntArray] = field(default_factory=dict)
    word_names: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    numbers: Mapping[str, FloatArray] = field(default_factory=dict)
    pair_names: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    losses: Losses = field(default_factory=Losses)

    @classmethod
    def of_columns(  # noqa: PLR0913 - the columns of a table
        cls,
        policy: StringArray,
        task: StringArray,
        real: BoolArray,
        outcome: FloatArray,
        *,
        is_rate: BoolArray | None = None,
        unit: StringArray | None = None,
        pair: StringArray | None = None,
        words: Mapping[str, StringArray] | None = None,
        numbers: Mapping[str, FloatArray] | None = None,
        notes: Sequence[str] = (),
        losses: Losses | None = None,
    ) -> PolicyTrials:
        """Take columns in. An empty text in `unit` is a trial alone; in `pair` it is no pair."""
        count = len(outcome)
        policies, policy_number = _numbered(policy)
        tasks, task_number = _numbered(task)
        pair_number, pair_names = _pair_numbers(pair, count)
        coded = {name: _numbered(column) for name, column in (words or {}).items()}
        return cls(
            policies,
            tasks,
            policy_number,
            task_number,
            np.asarray(real, bool),
            np.asarray(outcome, np.float64),
            np.zeros(count, bool) if is_rate is None else np.asarray(is_rate, bool),
            _unit_numbers(unit, np.asarray(real, bool)),
            pair_number,
            {name: number for name, (_, number) in coded.items()},
            {name: names for name, (names, _) in coded.items()},
            dict(numbers or {}),
            pair_names,
            tuple(notes),
            losses or Losses(),
        )

    def __len__(self) -> int:
        """How many rows there are."""
        return len(self.outcome)

    @property
    def has_rates(self) -> bool:
        """Whether some row is a rate without a number of trials: then nothing is certain."""
        return bool(self.is_rate.any())

    def write(self, path: str | Path) -> None:
        """Write the trials as CSV or Parquet, by the ending; `read_policy_trials` reads the same ones again.

        Args:
            path: ends in .csv or .parquet; an earlier file is replaced.
        """
        path = Path(path)
        # The side stands first: a name may begin with the mark of a comment.
        columns: dict[str, Any] = {
            "side": np.where(self.real, REAL, SIM),
            "policy": np.array(self.policies)[self.policy],
            "task": np.array(self.tasks)[self.task],
            "outcome": self.outcome,
            "is_rate": self.is_rate,
            "unit": [f"u{number}" for number in self.unit],
            "pair": np.array([*self.pair_names, ""], str)[self.pair],
        }
        if taken := set(columns) & {*self.words, *self.numbers}:
            raise UsageError(f"{path}: a condition is called {min(taken)}, as a column of all trials is; rename it")
        columns |= {name: np.array(self.word_names[name])[number] for name, number in self.words.items()}
        table = pd.DataFrame(columns | dict(self.numbers))
        layout = {"words": list(self.words), "numbers": list(self.numbers)}
        with atomic_file(path) as temporary:
            if path.suffix == ".parquet":
                table.attrs[LAYOUT] = layout
                table.to_parquet(temporary, index=False)
            elif path.suffix == ".csv":
                with temporary.open("w", encoding="utf-8", newline="") as stream:
                    stream.write(f"{LAYOUT_MARK}{json.dumps(layout)}\n")
                    table.to_csv(stream, index=False, lineterminator="\n")
            else:
                raise UsageError(f"{path}: trials are written as .csv or .parquet")

    def take(self, rows: BoolArray | IntArray) -> PolicyTrials:
        """Some of the rows; names stay."""
        chosen = {
            name: getattr(self, name)[rows] for name in ("policy", "task", "real", "outcome", "is_rate", "unit", "pair")
        }
        return replace(
            self,
            **chosen,
            words={name: column[rows] for name, column in self.words.items()},
            numbers={name: column[rows] for name, column in self.numbers.items()},
        )


def _numbered(column: StringArray) -> tuple[tuple[str, ...], IntArray]:
    """The texts of a column in order, and each row as a number of them; by hashes, of a million rows as well."""
    number, names = pd.factorize(np.asarray(column, object), sort=True)
    return tuple(map(str, names)), np.asarray(number, np.int64)


def row_numbers(columns: Sequence[IntArray]) -> IntArray:
    """One number for each row of columns that count from 0: equal rows are equal, and smaller ones smaller."""
    key = np.zeros(len(columns[0]), np.int64)
    for column in columns:
        size = int(column.max(initial=0)) + 1
        if (int(key.max(initial=0)) + 1) * size > _LARGEST_KEY:
            key = np.unique(key, return_inverse=True)[1].reshape(-1).astype(np.int64)
        key = key * size + column
    return key


_LARGEST_KEY = 1 << 62


def _unit_numbers(unit: StringArray | None, real: BoolArray) -> IntArray:
    """A unit lies on one side: the same text on both sides is two units."""
    if unit is None:
        return np.arange(len(real), dtype=np.int64)
    names, number = _numbered(unit)
    number = number + len(names) * real
    alone = np.asarray(unit) == ""
    number[alone] = 2 * len(names) + np.arange(int(alone.sum()))
    return np.unique(number, return_inverse=True)[1].reshape(-1).astype(np.int64)


def _pair_numbers(pair: StringArray | None, count: int) -> tuple[IntArray, tuple[str, ...]]:
    if pair is None:
        return np.full(count, -1, np.int64), ()
    names, number = _numbered(pair)
    return np.where(np.asarray(pair) == "", -1, number), names


def joined_trials(parts: Sequence[PolicyTrials], rename: Mapping[str, str]) -> PolicyTrials:
    """Trials of several tables as one; names of policies and tasks are replaced as `rename` says."""

    def texts(names: tuple[str, ...], number: IntArray) -> StringArray:
        return np.array([rename.get(name, name) for name in names] or [""], str)[number]

    words = [name for name in parts[0].words if all(name in part.words for part in parts)]
    numbers = [name for name in parts[0].numbers if all(name in part.numbers for part in parts)]
    losses = Losses()
    for part in parts:
        losses.extend(part.losses)
    first = np.cumsum([0, *(int(part.unit.max(initial=-1)) + 1 for part in parts)])
    joined = PolicyTrials.of_columns(
        np.concatenate([texts(part.policies, part.policy) for part in parts]),
        np.concatenate([texts(part.tasks, part.task) for part in parts]),
        np.concatenate([part.real for part in parts]),
        np.concatenate([part.outcome for part in parts]),
        is_rate=np.concatenate([part.is_rate for part in parts]),
        words={
            name: np.concatenate([np.array(part.word_names[name] or [""])[part.words[name]] for part in parts])
            for name in words
        },
        numbers={name: np.concatenate([part.numbers[name] for part in parts]) for name in numbers},
        notes=[note for part in parts for note in part.notes],
        losses=losses,
    )
    return replace(
        joined,
        unit=np.concatenate([part.unit + offset for part, offset in zip(parts, first, strict=False)]),
        **_joined_pairs(parts),
    )


def _joined_pairs(parts: Sequence[PolicyTrials]) -> dict[str, Any]:
    """Pairs are the same initial state in all tables: they are known by their texts."""
    texts = [np.array([*part.pair_names, ""], str)[part.pair] for part in parts]
    number, names = _pair_numbers(np.concatenate(texts), sum(map(len, parts)))
    return {"pair": number, "pair_names": names if (number >= 0).any() else ()}


FEWEST_PAIRS = 2
SAME_STATE = 0.01
"""Share of a number's range by which the two trials of a pair may differ: one state is set up twice."""


def checked_pairs(trials: PolicyTrials, losses: Losses) -> PolicyTrials:
    """Count and leave out trials that stand twice under one pair; count and undo pairs whose initial states differ."""
    if not trials.pair_names:
        return trials
    rows = np.flatnonzero(trials.pair >= 0)
    state = [column[rows] for column in (trials.policy, trials.task, trials.pair, trials.real.astype(np.int64))]
    _, first = np.unique(row_numbers(state), return_index=True)
    kept = np.ones(len(trials), bool)
    kept[np.delete(rows, first)] = False
    for row in np.flatnonzero(~kept):
        losses.add("trials that stand twice under one pair", _named(trials, int(row)))
    trials = trials.take(kept)
    unlike = _unlike_states(trials)
    for row in np.flatnonzero(unlike & trials.real):
        losses.add("pairs whose initial states differ, taken as unpaired", _named(trials, int(row)))
    return replace(trials, pair=np.where(unlike, -1, trials.pair))


def _named(trials: PolicyTrials, row: int) -> str:
    names = trials.policies[trials.policy[row]], trials.tasks[trials.task[row]], trials.pair_names[trials.pair[row]]
    return " ".join(names)


def _unlike_states(trials: PolicyTrials) -> BoolArray:
    """Which trials belong to a pair whose numbers or words differ."""
    unlike = np.zeros(len(trials), bool)
    real, sim = (np.flatnonzero((trials.pair >= 0) & (trials.real == side)) for side in (True, False))
    state = (trials.policy * len(trials.tasks) + trials.task) * (len(trials.pair_names) + 1) + trials.pair
    _, first, second = np.intersect1d(state[real], state[sim], return_indices=True)
    a, b = real[first], sim[second]
    for values in trials.numbers.values():
        reach = np.nanmax(values) - np.nanmin(values) if np.isfinite(values).any() else 0.0
        unlike[a] |= np.abs(values[a] - values[b]) > SAME_STATE * reach
    for words in trials.words.values():
        unlike[a] |= words[a] != words[b]
    unlike[b] = unlike[a]
    return unlike


@dataclass(frozen=True, eq=False, repr=False)
class PairedTrials(ShortRepr):
    """Outcomes of a policy from the same initial states, and further simulated ones of the same mix of tasks.

    Attributes:
        key: int64 (n,), task and initial state.
    """

    key: IntArray
    real: FloatArray
    sim: FloatArray
    further: FloatArray

    @classmethod
    def of_policy(cls, trials: PolicyTrials, policy: int, seed: int) -> PairedTrials:
        """The pairs of a policy."""
        mine, paired = trials.policy == policy, trials.pair >= 0
        real, sim = (np.flatnonzero(mine & paired & (trials.real == side)) for side in (True, False))
        states = trials.task * (len(trials.pair_names) + 1) + trials.pair
        key, first, second = np.intersect1d(states[real], states[sim], return_indices=True)
        left = np.setdiff1d(np.flatnonzero(mine & ~trials.real), sim[second])
        left = np.random.default_rng([seed, 10]).permutation(left)
        tasks, count = np.unique(trials.task[real[first]], return_counts=True)
        of_task = [left[trials.task[left] == task] for task in tasks]
        # As many for each pair at every task: the simulation's mean is over the mix of the pairs.
        each = min((len(rows) // n for rows, n in zip(of_task, count, strict=True)), default=0)
        further = [trials.outcome[rows[: each * n]] for rows, n in zip(of_task, count, strict=True)]
        values = (trials.outcome[real[first]], trials.outcome[sim[second]])
        return cls(key.astype(np.int64), *values, np.concatenate([np.zeros(0), *further]))

    @property
    def usable(self) -> bool:
        """Whether there are pairs, and as many further trials."""
        return FEWEST_PAIRS <= len(self.key) <= len(self.further)

    def less(self, other: PairedTrials) -> PairedTrials:
        """The differences at the states that both policies have."""
        key, first, second = np.intersect1d(self.key, other.key, return_indices=True)
        count = min(len(self.further), len(other.further)) if len(key) in (len(self.key), len(other.key)) else 0
        return PairedTrials(
            key,
            self.real[first] - other.real[second],
            self.sim[first] - other.sim[second],
            self.further[:count] - other.further[:count],
        )
