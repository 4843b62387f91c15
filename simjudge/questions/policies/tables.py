"""Tables of trials as people have them: a row is a trial, or a cell with its successes, or a cell with both sides.

Columns are found by their usual names; `TableReading.taken` says what was taken for what.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped,unused-ignore]

from simjudge.core.arrays import BoolArray, FloatArray
from simjudge.core.errors import Losses, SimjudgeError, UsageError
from simjudge.core.text import list_some, read_text
from simjudge.questions.policies.settings import REAL, SIM
from simjudge.questions.policies.trials import LAYOUT, LAYOUT_MARK, PolicyTrials, SideUnknownError

_REAL_WORDS = {"real", "hw", "hardware", "actual", "robot", "reality"}
_SIM_WORDS = {"sim", "simulation", "simulated", "predicted", "simulator"}
ALIASES: Mapping[str, tuple[str, ...]] = {
    "policy": (
        "policy",
        "policy_name",
        "method",
        "model",
        "checkpoint",
        "controller",
        "driver",
        "agent",
        "algorithm",
        "series",
    ),
    "task": ("task", "task_name", "instruction", "env", "environment", "env_name", "env_id", "suite", "panel"),
    "outcomes": ("outcomes", "success_failure", "task_progress_results", "successes_failures"),
    "outcome": ("outcome", "is_success", "succeeded", "success", "progress", "task_progress", "score", "result"),
    "trials": (
        "trials",
        "n",
        "n_trials",
        "num_trials",
        "num_rollouts",
        "n_rollouts",
        "rollouts",
        "episodes",
        "n_episodes",
        "num_episodes",
    ),
    "successes": ("successes", "k", "num_successes", "n_successes", "n_success"),
    "rate": ("success_rate", "rate", "success_pct", "success_percent", "mean_success", "avg_task_progress"),
    "side": ("side", "domain", "real_or_sim", "world"),
    "unit": ("unit", "session", "block"),
    "pair": ("pair", "pair_id", "initial_state", "init_state"),
}
"""Usual names of columns, in small letters, the likeliest first."""
WIDE = {f"{side}_{role}": (side, role) for side in (REAL, SIM) for role in ("successes", "trials", "rate")}
"""Columns of a table that has both sides in one row."""
_SUMS = re.compile(r"(aggregate|overall|average|mean|total|all tasks)\b", re.IGNORECASE)
_IGNORED = re.compile(
    r"(^|_)(ci\d*|lo|hi|low|high|bins|letter|index|ix|id|std|stderr|sem|seed|episode|trial|date)($|_)"
)
_NUMBERED = re.compile(r"(^|_)(id|ix|index|seed|episode|trial|timestamp)($|_)")
_AFTER = re.compile(r"(^|_)(reward|return|steps|length|duration|elapsed|seconds|time|timestamp|frames|failures?)($|_)")
"""Numbers that come of a trial, and are no condition."""
_PERCENT = re.compile(r"(pct|percent|%)")
_ROUND = 1e-6
_MOST_WORDS = 200
"""Distinct words of a column that names conditions."""


@dataclass(frozen=True)
class TableReading:
    """The trials of a table, and which column was taken for what."""

    trials: PolicyTrials
    taken: Mapping[str, str]


@dataclass
class _Rows:
    """Rows of trials while they are gathered; a rate without a number of trials is marked."""

    policy: list[str] = field(default_factory=list)
    task: list[str] = field(default_factory=list)
    real: list[bool] = field(default_factory=list)
    outcome: list[float] = field(default_factory=list)
    is_rate: list[bool] = field(default_factory=list)
    unit: list[str] = field(default_factory=list)
    words: dict[str, list[str]] = field(default_factory=dict)

    def add(self, row: _CellName, outcomes: Sequence[float], *, is_rate: bool = False) -> None:
        count = len(outcomes)
        self.policy += [row.policy] * count
        self.task += [row.task] * count
        self.real += [row.real] * count
        self.outcome += outcomes
        self.is_rate += [is_rate] * count
        self.unit += [row.unit] * count
        for name, word in row.words.items():
            self.words.setdefault(name, []).extend([word] * count)


@dataclass(frozen=True)
class _CellName:
    policy: str
    task: str
    real: bool
    unit: str
    words: Mapping[str, str]


def load_table(source: object) -> tuple[pd.DataFrame, str]:
    """A table from a file (CSV, Parquet, JSON lines), a pandas table, or a list of records; and what to call it."""
    if isinstance(source, pd.DataFrame):
        return source.copy(), str(source.attrs.get(_FILE, "the table"))
    if not isinstance(source, str | Path):
        if isinstance(source, Sequence) and all(isinstance(record, Mapping) for record in source):
            return pd.DataFrame.from_records([dict(record) for record in source]), "the records"
        raise UsageError(f"trials: a path, a pandas table or a list of records is needed, not {type(source).__name__}")
    path = Path(source)
    if path.suffix == ".parquet":
        try:
            return pd.read_parquet(path), str(path)
        except (OSError, ValueError) as error:
            raise SimjudgeError(f"{path}: cannot be read as a table ({str(error).splitlines()[0][:200]})") from error
    return parse_table(read_text(path), path), str(path)


def parse_table(text: str, path: Path) -> pd.DataFrame:
    """A table of the text of a file, which it names: JSON lines by the ending, else CSV."""
    if path.suffix in {".jsonl", ".ndjson"}:
        table = pd.DataFrame.from_records(_json_lines(text, path))
        table.attrs[_FILE] = str(path)
        return table
    lines = text.splitlines()
    kept = "\n".join(line for line in lines if not line.lstrip().startswith("#"))
    if not kept.strip():
        raise SimjudgeError(f"{path}: has no rows")
    try:
        table = pd.read_csv(StringIO(kept), keep_default_na=False, dtype=str, sep=_separator(kept))
    except (pd.errors.ParserError, pd.errors.EmptyDataError, ValueError) as error:
        raise SimjudgeError(f"{path}: cannot be read as a table ({str(error).splitlines()[0][:200]})") from error
    table.attrs[_FILE] = str(path)
    if lines[0].startswith(LAYOUT_MARK):
        with suppress(ValueError):
            table.attrs[LAYOUT] = json.loads(lines[0].removeprefix(LAYOUT_MARK))
    return table


def _separator(text: str) -> str:
    """Comma, semicolon or tabulator: whichever the first line has most of."""
    first = text.lstrip().partition("\n")[0]
    return max(",;\t", key=first.count)


def _json_lines(text: str, path: Path) -> list[dict[str, object]]:
    rows = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            try:
                row = json.loads(line)
            except ValueError as error:
                raise SimjudgeError(f"{path}, line {number}: is not JSON ({error})") from error
            if not isinstance(row, dict):
                raise SimjudgeError(f"{path}, line {number}: is not an object with a value for each column")
            rows.append(row)
    return rows


def read_policy_table(
    source: object, side: str | None = None, columns: Mapping[str, str] | None = None, outcome: str | None = None
) -> TableReading:
    """Read the trials of a table.

    Args:
        side: "real" or "sim" where all rows are of one side and no column says so.
        columns: what is called how: {"policy": "method"}.
        outcome: a measured quantity with its range, such as "time:0:30:lower".
    """
    table, name = load_table(source)
    if not len(table):
        raise SimjudgeError(f"{name}: has no rows")
    named = dict(columns or {})
    if outcome is not None:
        table, named["outcome"] = _scaled_outcome(table, name, outcome)
    return _TableReader(table, name, side, named).read()


def _scaled_outcome(table: pd.DataFrame, name: str, outcome: str) -> tuple[pd.DataFrame, str]:
    """Bring a measured quantity to [0, 1]: "NAME:LOW:HIGH", with ":lower" where less is better."""
    column, *ends = outcome.split(":")
    try:
        low, high = (float(end) for end in ends[:2])
    except ValueError:
        raise UsageError(f"outcome: {outcome} is not NAME:LOW:HIGH or NAME:LOW:HIGH:lower") from None
    if not low < high or ends[2:] not in ([], ["lower"], ["higher"]):
        raise UsageError(f"outcome: {outcome} is not NAME:LOW:HIGH or NAME:LOW:HIGH:lower, LOW below HIGH")
    if column not in table.columns:
        raise UsageError(f"outcome: {name} has no column {column}; it has {list_some(list(map(str, table.columns)))}")
    share = (pd.to_numeric(table[column], errors="coerce") - low) / (high - low)
    share = share.clip(0.0, 1.0)
    return table.assign(**{column: 1 - share if ends[2:] == ["lower"] else share}), column


class _TableReader:
    def __init__(self, table: pd.DataFrame, name: str, side: str | None, columns: Mapping[str, str]) -> None:
        self._table, self._name, self._side = table, name, side
        self._losses, self._notes = Losses(), list[str]()
        self._plain = {_plain(column): column for column in map(str, table.columns)}
        table.columns = [str(column) for column in table.columns]
        self._taken: dict[str, str] = {}
        for role, column in columns.items():
            if role not in ALIASES and role not in WIDE:
                raise UsageError(f"columns: {role} is not a kind of column; there are {', '.join((*ALIASES, *WIDE))}")
            if column not in table.columns:
                raise UsageError(f"columns: {name} has no column {column}; it has {list_some(list(table.columns))}")
            self._taken[role] = column

    def read(self) -> TableReading:
        """Find the columns, then take the rows in by the form that they have."""
        if (layout := self._table.attrs.get(LAYOUT)) is not None:
            return TableReading(self._as_written(layout), {})
        wide = self._wide_columns()
        for role in ALIASES:
            if role in self._taken or (wide and role in {"outcome", "successes", "rate", "side", "outcomes"}):
                continue
            column = next((self._plain[alias] for alias in ALIASES[role] if alias in self._plain), None)
            if column is not None and column not in self._taken.values():
                self._taken[role] = column
        for role in ("policy", "task"):
            if role not in self._taken:
                raise SimjudgeError(
                    f"{self._name}: no column names the {role}; it has {list_some(list(self._table.columns))};"
                    f" say which with --columns {role}=NAME"
                )
        self._side_in_words()
        self._leave_out_sums()
        trials = self._wide(wide) if wide else self._long()
        return TableReading(trials, self._taken)

    def _as_written(self, layout: object) -> PolicyTrials:
        """A table of `PolicyTrials.write`: nothing is guessed."""
        table = self._table
        names = {key: layout.get(key, []) for key in ("words", "numbers")} if isinstance(layout, dict) else {}
        needed = ["policy", "task", "side", "outcome", "is_rate", *names.get("words", ()), *names.get("numbers", ())]
        for column in needed:
            if column not in table.columns:
                raise SimjudgeError(f"{self._name}: lacks the column {column}, which its first line names")
        texts = {name: table[name].astype(str).to_numpy(str) for name in table.columns}
        outcome = pd.to_numeric(table["outcome"], errors="coerce").to_numpy(np.float64)
        if wrong := np.flatnonzero(~((outcome >= 0) & (outcome <= 1))).tolist():
            raise SimjudgeError(f"{self._name}, row {wrong[0] + 1}: outcome is {texts['outcome'][wrong[0]]}")
        return PolicyTrials.of_columns(
            texts["policy"],
            texts["task"],
            texts["side"] == REAL,
            outcome,
            is_rate=np.array([text.lower() == "true" for text in texts["is_rate"]], bool),
            unit=texts.get("unit"),
            pair=texts.get("pair"),
            words={name: texts[name] for name in names["words"]},
            numbers={
                name: pd.to_numeric(table[name], errors="coerce").to_numpy(np.float64) for name in names["numbers"]
            },
        )

    def _wide_columns(self) -> dict[str, dict[str, str]]:
        """For each side the columns of a table that has both in one row; empty where it has not."""
        found: dict[str, dict[str, str]] = {REAL: {}, SIM: {}}
        named = {role: column for role, column in self._taken.items() if role in WIDE}
        for role, column in named.items():
            found[WIDE[role][0]][WIDE[role][1]] = column
        for plain, column in self._plain.items():
            if column in self._taken.values():
                continue
            parts = plain.split("_")
            for side, words in ((REAL, _REAL_WORDS), (SIM, _SIM_WORDS)):
                rest = "_".join(part for part in parts if part not in words)
                if rest == plain or _IGNORED.search(plain):
                    continue
                for role in ("successes", "trials", "rate", "outcome"):
                    # A bare x or y is a position; x_real against y_sim are the axes of a plot of rates.
                    if rest in ALIASES[role] or (role == "rate" and rest in {"x", "y"}):
                        found[side].setdefault("rate" if role == "outcome" else role, column)
        if all(found[side].keys() & {"successes", "rate"} for side in found):
            return found
        if named:
            lacking = next(side for side in found if not found[side].keys() & {"successes", "rate"})
            raise UsageError(
                f"columns: {self._name} has no rate of the {lacking} side; name it with {lacking}_rate=NAME"
            )
        return {}

    def _side_in_words(self) -> None:
        """A column such as `Fig2A_HW_Seen_Nominal` tells the side by one word of it; the rest is a condition."""
        if self._side or "side" in self._taken:
            return
        for column in self._table.columns:
            if column in self._taken.values() and column != self._taken.get("task"):
                continue
            words = [re.split(r"[^A-Za-z0-9]+", str(text)) for text in self._table[column]]
            marks = [_side_of(parts) for parts in words]
            if all(marks) and len(set(marks)) == 2 and column != self._taken.get("task"):
                self._table[_SIDE] = marks
                rest = ["_".join(part for part in parts if not _side_of([part])) for parts in words]
                self._table[column] = rest
                self._taken["side"] = _SIDE
                self._notes.append(f"the side is told by the column {column}")
                return

    def _leave_out_sums(self) -> None:
        tasks = self._table[self._taken["task"]]
        sums = tasks.isin([task for task in tasks.unique() if _SUMS.match(str(task))])
        if sums.any() and not sums.all():
            self._notes.append(f"{int(sums.sum())} rows that sum others are left out")
            self._table = self._table[~sums].reset_index(drop=True)

    def _word_columns(self) -> list[str]:
        """Columns that name conditions: words, several of them, that do not follow from the policy."""
        found = []
        policy = self._table[self._taken["policy"]]
        for column in self._table.columns:
            if column in self._taken.values() or _IGNORED.search(_plain(column)):
                continue
            values = self._table[column].astype(str)
            if not 1 < values.nunique() <= _MOST_WORDS or pd.to_numeric(values, errors="coerce").notna().any():
                continue
            if values.str.startswith("[").any() or values.groupby(policy).nunique().max() == 1:
                continue
            found.append(column)
        return found

    def _cells(self, conditions: Sequence[str], *, real: bool | None) -> Iterator[tuple[int, _CellName]]:
        policy, task = (self._table[self._taken[role]].astype(str).str.strip() for role in ("policy", "task"))
        words = {column: self._table[column].astype(str) for column in conditions}
        sides = np.array([self._real(row) if real is None else real for row in range(len(self._table))], bool)
        names = self._distinct_policies(policy, [task, *words.values()], sides)
        unit = self._table[self._taken["unit"]].astype(str).str.strip() if "unit" in self._taken else [""] * len(names)
        for row, cell in enumerate(zip(names, task, sides.tolist(), unit, strict=True)):
            yield row, _CellName(*cell, {column: values.iloc[row] for column, values in words.items()})

    def _real(self, row: int) -> bool:
        if "side" not in self._taken:
            return self._side == REAL
        mark = _side_of(re.split(r"[^A-Za-z0-9]+", str(self._table[self._taken["side"]].iloc[row])))
        if not mark:
            raise SimjudgeError(
                f"{self._name}, row {row + 1}: side is {self._table[self._taken['side']].iloc[row]!r},"
                " neither real nor sim"
            )
        return mark == REAL

    def _wide(self, wide: Mapping[str, Mapping[str, str]]) -> PolicyTrials:
        rows, conditions = _Rows(), self._word_columns()
        for side, roles in wide.items():
            self._taken |= {f"{side}_{role}": column for role, column in roles.items()}
            counted = {**({"trials": self._taken["trials"]} if "trials" in self._taken else {}), **roles}
            rates = self._shares(counted["rate"]) if "rate" in counted else None
            for row, cell in self._cells(conditions, real=side == REAL):
                self._add_cell(rows, row, cell, counted, rates)
        return self._made(rows)

    def _distinct_policies(
        self, policy: pd.Series[str], others: Sequence[pd.Series[str]], real: BoolArray
    ) -> list[str]:
        """Rows that repeat a policy and a task are its checkpoints, and numbered, unless units tell them apart."""
        names = list(policy)
        if "unit" in self._taken:
            return names
        nth = policy.groupby([policy, *others, pd.Series(real)]).cumcount()
        if not nth.any():
            return names
        rows = pd.DataFrame({REAL: real, SIM: ~real}).groupby([policy, *others]).transform("sum")
        if uneven := np.flatnonzero((rows[REAL] != rows[SIM]) & (rows.min(axis=1) > 0)).tolist():
            row, (reals, sims) = uneven[0], rows.iloc[uneven[0]]
            raise SimjudgeError(
                f"{self._name}, row {row + 1}: {policy[row]} at {others[0][row]} has {reals} real and {sims} simulated"
                " rows; give checkpoints names of their own, or sessions a column session"
            )
        note = "rows repeat a policy at a task: they are taken as checkpoints of it, and numbered"
        if note not in self._notes:
            self._notes.append(note)
        repeated = set(policy[nth > 0])
        return [f"{name} #{k + 1}" if name in repeated else name for name, k in zip(names, nth, strict=True)]

    def _long(self) -> PolicyTrials:
        if self._side is None and "side" not in self._taken:
            raise SideUnknownError(
                f"{self._name}: nothing says which trials are real; give a column side with real and sim, or two tables"
            )
        if "outcomes" in self._taken or "trials" in self._taken or "rate" in self._taken:
            rows, conditions = _Rows(), self._word_columns()
            rates = self._shares(self._taken["rate"]) if "rate" in self._taken else None
            for row, cell in self._cells(conditions, real=None):
                if "outcomes" in self._taken:
                    rows.add(cell, self._listed(row))
                else:
                    self._add_cell(rows, row, cell, self._taken, rates)
            return self._made(rows)
        if "outcome" not in self._taken:
            raise SimjudgeError(
                f"{self._name}: no column says how trials ended; it has {list_some(list(self._table.columns))};"
                " say which with --columns outcome=NAME"
            )
        return self._single_trials()

    def _listed(self, row: int) -> list[float]:
        text = str(self._table[self._taken["outcomes"]].iloc[row]).strip("[]'\" ")
        found = []
        for part in filter(None, (part.strip() for part in text.split(","))):
            value = _outcome(part)
            if value is None:
                raise SimjudgeError(f"{self._name}, row {row + 1}: {part!r} in {self._taken['outcomes']} is no outcome")
            found.append(value)
        return found

    def _add_cell(
        self, rows: _Rows, row: int, cell: _CellName, columns: Mapping[str, str], rates: FloatArray | None
    ) -> None:
        count = self._number(row, columns.get("trials"))
        hits = self._number(row, columns.get("successes"))
        rate = None if rates is None or math.isnan(rates[row]) else float(rates[row])
        if count is not None and (count < 1 or count != int(count)):
            raise SimjudgeError(f"{self._name}, row {row + 1}: {count:g} trials; a whole number from 1 on is needed")
        if hits is not None and count is not None:
            if not 0 <= hits <= count:
                raise SimjudgeError(f"{self._name}, row {row + 1}: {hits:g} successes in {count:g} trials")
            rows.add(cell, _expanded(hits, int(count)))
        elif rate is None:
            self._losses.add("rows without an outcome", f"row {row + 1}")
        elif count is not None and abs(2 * rate * count - round(2 * rate * count)) < _ROUND * count:
            rows.add(cell, _expanded(round(2 * rate * count) / 2, int(count)))
        else:
            rows.add(cell, [rate], is_rate=True)

    def _number(self, row: int, column: str | None) -> float | None:
        if column is None:
            return None
        text = str(self._table[column].iloc[row]).strip()
        if text.lower() in _EMPTY:
            return None
        try:
            return float(text)
        except ValueError:
            raise SimjudgeError(f"{self._name}, row {row + 1}: {column} is {text!r}, which is not a number") from None

    def _shares(self, column: str) -> FloatArray:
        """A column of rates as shares: percent is told by its name or by its values."""
        values = np.array([self._number(row, column) for row in range(len(self._table))], np.float64)
        known = values[~np.isnan(values)]
        percent = bool(_PERCENT.search(_plain(column))) or bool(len(known) and known.max() > 1)
        if percent and not _PERCENT.search(_plain(column)) and ((known > 0) & (known < 1)).any():
            row = int(np.flatnonzero((values > 0) & (values < 1))[0])
            raise SimjudgeError(
                f"{self._name}, row {row + 1}: {column} is {values[row]:g}, where other rows are above 1;"
                " percent and shares are mixed"
            )
        if percent:
            self._notes.append(f"{column} is in percent")
            values = values / 100
        if len(known) and (np.nanmin(values) < 0 or np.nanmax(values) > 1):
            row = int(np.flatnonzero((values < 0) | (values > 1))[0])
            raise SimjudgeError(f"{self._name}, row {row + 1}: {column} is outside its range")
        return values

    def _single_trials(self) -> PolicyTrials:
        self._leave_out_repeated()
        table, taken = self._table, self._taken
        outcome = _outcomes(table[taken["outcome"]])
        empty = np.isnan(outcome)
        for row in np.flatnonzero(empty):
            self._losses.add("rows without an outcome", f"row {row + 1}")
        wrong = np.flatnonzero(~empty & ~((outcome >= 0) & (outcome <= 1)))
        if len(wrong):
            raise SimjudgeError(
                f"{self._name}, row {wrong[0] + 1}: {taken['outcome']} is {outcome[wrong[0]]:g}, outside [0, 1];"
                " bring a measured quantity to [0, 1] with --outcome NAME:LOW:HIGH"
            )
        kept = np.flatnonzero(~empty)
        real = np.array([self._side == REAL] * len(table)) if "side" not in taken else self._sides()
        text = {role: table[taken[role]].astype(str).str.strip().to_numpy(str) for role in ("policy", "task")}
        more = {
            role: table[taken[role]].astype(str).str.strip().to_numpy(str)[kept]
            for role in ("unit", "pair")
            if role in taken
        }
        words = {column: table[column].astype(str).to_numpy(str)[kept] for column in self._word_columns()}
        numbers = {}
        for column in table.columns:
            if column not in taken.values() and not any(words.search(_plain(column)) for words in (_IGNORED, _AFTER)):
                values = pd.to_numeric(table[column], errors="coerce").to_numpy(np.float64)
                if np.isfinite(values).any() and len(np.unique(values)) > 1:
                    numbers[column] = values[kept]
        return PolicyTrials.of_columns(
            text["policy"][kept],
            text["task"][kept],
            real[kept],
            outcome[kept],
            unit=more.get("unit"),
            pair=more.get("pair"),
            words=words,
            numbers=numbers,
            notes=self._notes,
            losses=self._losses,
        )

    def _leave_out_repeated(self) -> None:
        """Rows with a number of their own (episode, seed, id) that stand twice are one trial."""
        if any(_NUMBERED.search(_plain(column)) for column in self._table.columns):
            again = self._table.duplicated().to_numpy()
            for row in np.flatnonzero(again):
                self._losses.add("rows that stand twice", f"row {row + 1}")
            self._table = self._table[~again].reset_index(drop=True)

    def _sides(self) -> BoolArray:
        column = self._table[self._taken["side"]].astype(str)
        known = {text: _side_of(re.split(r"[^A-Za-z0-9]+", text)) for text in column.unique()}
        for text, mark in known.items():
            if not mark:
                row = int(np.flatnonzero((column == text).to_numpy())[0])
                raise SimjudgeError(f"{self._name}, row {row + 1}: side is {text!r}, neither real nor sim")
        return np.asarray(column.map(known) == REAL, bool)

    def _made(self, rows: _Rows) -> PolicyTrials:
        return PolicyTrials.of_columns(
            np.array(rows.policy, str),
            np.array(rows.task, str),
            np.array(rows.real, bool),
            np.array(rows.outcome, np.float64),
            is_rate=np.array(rows.is_rate, bool),
            unit=np.array(rows.unit, str) if any(rows.unit) else None,
            words={name: np.array(values, str) for name, values in rows.words.items()},
            notes=self._notes,
            losses=self._losses,
        )


_SIDE = "side told by words"
_FILE = "simjudge file"
"""Attribute of a table that tells its file."""
_EMPTY = {"", "nan", "none", "null", "na", "n/a", "-"}
_TRUE, _FALSE = {"true", "yes", "success", "1", "1.0"}, {"false", "no", "failure", "fail", "0", "0.0"}


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", str(name)).lower()).strip("_")


def _side_of(words: Sequence[str]) -> str:
    """The side that words name; empty where they name none, or both."""
    small = {word.lower() for word in words}
    real, sim = bool(small & _REAL_WORDS), bool(small & _SIM_WORDS)
    return REAL if real and not sim else SIM if sim and not real else ""


def _outcome(text: str) -> float | None:
    small = text.strip().lower()
    if small in _TRUE or small in _FALSE:
        return float(small in _TRUE)
    try:
        return float(small)
    except ValueError:
        return None


def _outcomes(column: pd.Series[Any]) -> FloatArray:
    """Outcomes of trials; NaN where a cell is empty or says nothing."""
    if column.dtype == bool:
        return np.asarray(column, np.float64)
    known = {text: _outcome(str(text)) for text in column.astype(str).unique()}
    found = column.astype(str).map(known)
    return np.asarray(pd.to_numeric(found, errors="coerce"), np.float64)


def _expanded(hits: float, count: int) -> list[float]:
    """Successes as outcomes: 7.5 of 10 are seven of 1, one of 0.5, two of 0."""
    whole = int(hits)
    part = [hits - whole] if hits > whole else []
    return [1.0] * whole + part + [0.0] * (count - whole - len(part))
