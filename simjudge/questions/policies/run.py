"""`compare_policies`: trials of both sides in; gap, ranking, and means from few real trials and many simulated out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from simjudge.core.arrays import FloatArray, IntArray, ShortRepr, SummaryTable
from simjudge.core.errors import Log, Losses, SimjudgeError, no_log
from simjudge.core.installed import version
from simjudge.core.settings import declared, takes_setting_keywords
from simjudge.core.text import Json
from simjudge.data.sets import find_format
from simjudge.method.certainty import Certainty
from simjudge.page.kept_result import ResultKind, TabledResult
from simjudge.questions.policies.cells import (
    MOST_TRIALS,
    Cells,
    ContextComparison,
    GapEvidence,
    compare_contexts,
    find_cells,
)
from simjudge.questions.policies.few_real import NextPlan, SharpenedMean, next_trials, sharpen_by_cells, sharpen_mean
from simjudge.questions.policies.page import POLICIES_PAGE
from simjudge.questions.policies.ranking import Ranking, rank_policies, ranked_cells
from simjudge.questions.policies.result import (
    SavedPolicies,
    headline,
    load_policies,
    policies_table,
    save_policies,
)
from simjudge.questions.policies.settings import REAL, SIM, TRIALS, PolicySettings, TrialTableSettings
from simjudge.questions.policies.tables import read_policy_table
from simjudge.questions.policies.trial_files import (
    data_sets,
    eval_infos,
    read_data_sets,
    read_eval_infos,
    read_recorded_trials,
    trial_recordings,
)
from simjudge.questions.policies.trials import (
    PairedTrials,
    PolicyTrials,
    SideUnknownError,
    checked_pairs,
    joined_trials,
    row_numbers,
)
from simjudge.results.saved_result import check_result_place

POLICY, TASK, CELL = "policy", "task", "cell"


@dataclass(frozen=True)
class CellGroup:
    """Some cells together: all of a policy, of a task, of a condition, or one alone.

    Attributes:
        names: what they have in common, by column.
        trials: real and simulated ones.
        rate: mean outcome of either side, each cell alike (or by trials).
        floor: mean W1 under permutation; None where nothing was permuted.
    """

    names: Mapping[str, str]
    cells: int
    trials: tuple[int, int]
    rate: tuple[float, float]
    w1: float
    floor: float | None
    certainty: Certainty

    def to_json(self) -> Json:
        """As policies.json has it."""
        return {
            **self.names,
            "cells": self.cells,
            "trials_real": self.trials[0],
            "trials_sim": self.trials[1],
            "rate_real": self.rate[0],
            "rate_sim": self.rate[1],
            "w1": self.w1,
            "permutation_floor": self.floor,
            **vars(self.certainty),
        }


@dataclass(frozen=True, eq=False, repr=False)
class PolicyComparison(ShortRepr):
    """Simulated trials of policies compared with real ones.

    Attributes:
        groups: by "policy", "task", "cell" and each named condition.
        rankings: of the trials under each named condition, by its name and value.
        next_trials: where further real trials tell most; None where none were asked for.
        sharpened: for each policy with paired trials the real mean, with and without the simulation.
        contexts: over trials that began alike; None where no condition is a number.
    """

    trials: PolicyTrials
    cells: Cells
    overall: CellGroup
    groups: Mapping[str, Sequence[CellGroup]]
    ranking: Ranking | None
    rankings: Mapping[tuple[str, str], Ranking]
    next_trials: NextPlan | None
    sharpened: Mapping[str, SharpenedMean]
    contexts: ContextComparison | None
    settings: PolicySettings
    notes: Sequence[str] = ()
    losses: Losses = field(default_factory=Losses)

    def content(self) -> Json:
        """The content of policies.json (docs/guides/policies.md)."""
        values = [(row, getattr(self.settings, row.name)) for row in declared(type(self.settings))]
        return {
            "version": version(),
            "parameters": {row.name: row.text(value) for row, value in values if value is not None},
            "policies": list(self.trials.policies),
            "tasks": list(self.trials.tasks),
            "overall": self.overall.to_json(),
            **{f"by_{kind}": [group.to_json() for group in groups] for kind, groups in self.groups.items()},
            "ranking": None if self.ranking is None else ranking_json(self.ranking, self.trials),
            "rankings": [
                {"condition": name, "value": value, **ranking_json(found, self.trials)}
                for (name, value), found in self.rankings.items()
            ],
            "next": [
                {**vars(trial), "policy": self.trials.policies[trial.policy], "task": self.trials.tasks[trial.task]}
                for trial in (self.next_trials.cells if self.next_trials else ())
            ],
            "next_regret": None
            if self.next_trials is None
            else [self.next_trials.regret_now, self.next_trials.regret_then],
            "sharpened": {
                name: {**vars(found), **{key: vars(getattr(found, key)) for key in ("real", "sim", "both")}}
                for name, found in self.sharpened.items()
            },
            "contexts": None if self.contexts is None else self.contexts.content(self.trials),
            "notes": list(self.notes),
            "losses": self.losses.lines(),
        }


def ranking_json(ranking: Ranking, trials: PolicyTrials) -> Json:
    """A ranking with names in the place of numbers."""
    names, tasks = trials.policies, trials.tasks
    return {
        "policies": [names[k] for k in ranking.policies],
        "tasks": [tasks[k] for k in ranking.tasks],
        "real": ranking.real.tolist(),
        "sim": ranking.sim.tolist(),
        "real_interval": _intervals(ranking.real_interval),
        "sim_interval": _intervals(ranking.sim_interval),
        **{name: vars(getattr(ranking, name)) for name in ("r", "rho", "tau", "mmrv")},
        "least_p": ranking.least_p,
        "reliability_real": ranking.reliability[0],
        "reliability_sim": ranking.reliability[1],
        "r_without_noise": ranking.r_without_noise,
        "by_sim": {**vars(ranking.by_sim), "policy": names[ranking.by_sim.policy]},
        "by_real": {**vars(ranking.by_real), "policy": names[ranking.by_real.policy]},
        "order": ranking.order.tolist(),
        "reversals": [
            {**vars(reversal), "first": names[reversal.first], "second": names[reversal.second]}
            for reversal in ranking.reversals
        ],
        "kept_without": [
            {"task": tasks[task], "right": bool(right)}
            for task, right in zip(ranking.tasks, ranking.kept_without, strict=False)
        ],
        "verdict": str(ranking.verdict),
    }


def _intervals(ends: FloatArray) -> list[list[float]] | None:
    """None where numbers of trials are unknown."""
    return ends.tolist() if np.isfinite(ends).all() else None


def compare_trials(trials: PolicyTrials, settings: PolicySettings) -> PolicyComparison:
    """Compare trials that were read, both sides together."""
    losses = Losses()
    losses.extend(trials.losses)
    notes = list(trials.notes)
    trials = checked_pairs(trials, losses)
    _count_one_sided(trials, losses)
    cells = find_cells(trials)
    if not len(cells):
        raise SimjudgeError(
            "trials: no policy has real and simulated trials at one task; do both call them alike?"
            " --rename SIM=REAL joins names"
        )
    if not cells.tested.all():
        notes.append("rates without a number of trials: nothing tells how sure they are, so that nothing is tested")
    else:
        notes += [
            f"real outcomes are the same under each {name}: if these are the same trials, each counts as often, and "
            f"p and intervals over all cells are too sure; give the table of one {name} at a time"
            for name in _repeating_conditions(trials, cells)
        ]
    by_trials = settings.weights == TRIALS
    evidence = GapEvidence.of_trials(trials, cells, settings.draws, settings.seed, by_trials=by_trials)
    everything = np.arange(len(cells))
    groups: dict[str, list[CellGroup]] = {}
    for kind, members in _families(trials, cells).items():
        sure, together = evidence.judge([chosen for _, chosen in members], settings.margin)
        groups[kind] = [
            _group(names, chosen, cells, evidence, certainty, by_trials=by_trials)
            for (names, chosen), certainty in zip(members, sure, strict=True)
        ]
    overall = _group({}, everything, cells, evidence, together, by_trials=by_trials)
    ranked = ranked_cells(trials)
    ranking = rank_policies(ranked, settings.margin, settings.seed)
    further = next_trials(ranked, settings.next, settings.seed) if settings.next and ranked.tested and ranking else None
    return PolicyComparison(
        trials,
        cells,
        overall,
        groups,
        ranking,
        _rankings(trials, settings),
        further,
        _sharpened(trials, ranking, settings.seed),
        _contexts(trials, settings, notes),
        settings,
        notes,
        losses,
    )


def _contexts(trials: PolicyTrials, settings: PolicySettings, notes: list[str]) -> ContextComparison | None:
    found = compare_contexts(
        trials,
        settings.radius,
        settings.scales,
        settings.contexts,
        draws=settings.draws,
        seed=settings.seed,
        margin=settings.margin,
    )
    if found is not None:
        how = ", ".join(f"{name} within {scale:.3g}" for name, scale in zip(found.columns, found.scales, strict=True))
        notes.append(f"trials began alike where {how}")
        if found.missing:
            notes.append(f"{found.missing} trials lack one of these numbers: they are in no context")
        if found.thinned > MOST_TRIALS:
            notes.append(f"contexts are of {MOST_TRIALS:,} trials, drawn from {found.thinned:,}")
    return found


def _repeating_conditions(trials: PolicyTrials, cells: Cells) -> list[str]:
    """Conditions, such as the simulator, under which all real outcomes are alike, though simulated ones differ."""
    found = []
    outcomes = [[np.sort(trials.outcome[rows]).tolist() for rows in sides] for sides in cells.rows]
    for column, name in enumerate(trials.words):
        others = [cells.policy, cells.task, *np.delete(cells.words, column, 1).T]
        by_others = np.unique(row_numbers(others), return_inverse=True)[1].reshape(-1)
        groups = [np.flatnonzero(by_others == k) for k in range(int(by_others.max()) + 1)]
        alike = [
            [all(outcomes[k][side] == outcomes[group[0]][side] for k in group) for group in groups] for side in (0, 1)
        ]
        if min(map(len, groups)) > 1 and len(groups) > 1 and all(alike[0]) and not all(alike[1]):
            found.append(name)
    return found


def _rankings(trials: PolicyTrials, settings: PolicySettings) -> dict[tuple[str, str], Ranking]:
    """The ranking under each named condition by itself: another robot, another simulator, another light."""
    found = {}
    for name, number in trials.words.items():
        for value in np.unique(number):
            ranking = rank_policies(ranked_cells(trials.take(number == value)), settings.margin, settings.seed)
            if ranking is not None:
                found[name, trials.word_names[name][value]] = ranking
    return found


def _families(trials: PolicyTrials, cells: Cells) -> dict[str, list[tuple[dict[str, str], IntArray]]]:
    """What is corrected together: all policies, all tasks, all values of a condition, all cells."""
    words = list(trials.words)
    found: dict[str, list[tuple[dict[str, str], IntArray]]] = {}
    columns = [(POLICY, cells.policy, trials.policies), (TASK, cells.task, trials.tasks)]
    columns += [(name, cells.words[:, k], trials.word_names[name]) for k, name in enumerate(words)]
    for kind, number, names in columns:
        found[kind] = [({kind: names[value]}, np.flatnonzero(number == value)) for value in np.unique(number)]
    found[CELL] = [
        ({kind: names[number[k]] for kind, number, names in columns}, np.array([k])) for k in range(len(cells))
    ]
    return found


def _group(
    names: Mapping[str, str],
    chosen: IntArray,
    cells: Cells,
    evidence: GapEvidence,
    certainty: Certainty,
    *,
    by_trials: bool,
) -> CellGroup:
    share: FloatArray = cells.trials[chosen, 0].astype(np.float64) if by_trials else np.ones(len(chosen))
    share = share / share.sum()
    rate, trials = share @ cells.rate[chosen], cells.trials[chosen].sum(0)
    return CellGroup(
        names,
        len(chosen),
        (int(trials[0]), int(trials[1])),
        (float(rate[0]), float(rate[1])),
        float(share @ cells.w1[chosen]),
        evidence.floor(chosen),
        certainty,
    )


def _count_one_sided(trials: PolicyTrials, losses: Losses) -> None:
    """Count policies and tasks that one side alone has."""
    for what, number, names in (("policies", trials.policy, trials.policies), ("tasks", trials.task, trials.tasks)):
        for side, other in ((True, "real"), (False, "simulated")):
            alone = set(number[trials.real == side].tolist()) - set(number[trials.real != side].tolist())
            for policy in sorted(alone):
                losses.add(f"{what} with {other} trials alone", names[policy])


def _sharpened(trials: PolicyTrials, ranking: Ranking | None, seed: int) -> dict[str, SharpenedMean]:
    """For each policy, and for the two that do best, the real mean from real trials, and with the simulation."""
    found: dict[str, SharpenedMean] = {}
    if trials.has_rates:
        return found
    samples = {}
    for number, name in enumerate(trials.policies):
        samples[number] = pairs = PairedTrials.of_policy(trials, number, seed)
        if pairs.usable:
            found[name] = sharpen_mean(pairs.real, pairs.sim, pairs.further, seed)
        elif (cells := sharpen_by_cells(*_cell_rates(trials, number))) is not None:
            found[name] = cells
    if ranking is not None:
        first, second = ranking.policies[np.argsort(-ranking.real, kind="stable")[:2]].tolist()
        if (pairs := samples[first].less(samples[second])).usable:
            name = f"{trials.policies[first]} less {trials.policies[second]}"
            found[name] = sharpen_mean(pairs.real, pairs.sim, pairs.further, seed, -1.0)
    return found


def _cell_rates(trials: PolicyTrials, policy: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Rates of the cells that both sides have, real and simulated; and of those that were simulated alone."""
    mine = np.flatnonzero(trials.policy == policy)
    words = row_numbers([trials.task[mine], *(number[mine] for number in trials.words.values())])
    cell = np.unique(words, return_inverse=True)[1].reshape(-1)
    count = int(cell.max(initial=-1)) + 1
    held, total = np.zeros((2, count)), np.zeros((2, count))
    side = (~trials.real[mine]).astype(int)
    np.add.at(held, (side, cell), 1.0)
    np.add.at(total, (side, cell), trials.outcome[mine])
    rate = total / np.maximum(held, 1)
    both, alone = (held > 0).all(0), (held[0] == 0) & (held[1] > 0)
    return rate[0, both], rate[1, both], rate[1, alone]


class PolicyComparisonResult(TabledResult[SavedPolicies]):
    """How simulated trials of policies differ from real ones. Printing it gives the command's table.

    Attributes:
        saved: the result as figures and pages read it.
    """

    page = POLICIES_PAGE

    def __init__(self, saved: SavedPolicies, folder: Path | None) -> None:
        """Wrap a result; `compare_policies` and `load_result` make one."""
        super().__init__(folder, lambda out: save_policies(out, saved))
        self.saved = saved

    @property
    def table(self) -> SummaryTable:
        """The table that the command prints."""
        return policies_table(self.saved)

    def __repr__(self) -> str:
        """What it is, in a line."""
        return f"PolicyComparisonResult({self.name!r}, {headline(self.saved)})"


@takes_setting_keywords
def compare_policies(
    real: object,
    sim: object = None,
    out: str | Path | None = None,
    *,
    settings: PolicySettings,
    log: Log = no_log,
) -> PolicyComparisonResult:
    """Ask whether a simulator predicts how a robot does: trials of policies, real and simulated.

    Args:
        real: the real trials: a table (CSV, Parquet, JSON lines), a pandas table, a list of records, or PolicyTrials; a
            row a trial, or a row a cell with its successes. Or both sides: a column `side`, or columns for either side.
        sim: the simulated trials; None where `real` holds both.
        out: folder to save the result in; None saves nothing.
        settings: all settings at once; keywords change single ones.
        log: receives lines that a person should read; `print` does.

    Returns:
        The result. Printing it gives a table; it saves and reports itself.

    Raises:
        UsageError: a setting makes no sense.
        SimjudgeError: a table cannot be read, the sides have no cell in common, or `out` cannot be written.
    """
    check_result_place(out, log)
    trials = read_policy_trials(real, sim, settings=settings, log=log)
    found = compare_trials(trials, settings)
    for note in found.notes:
        log(f"note: {note}")
    name = f"{len(trials.policies)} policies at {len(trials.tasks)} tasks"
    result = PolicyComparisonResult(SavedPolicies(name, found.content(), fresh=trials), None)
    if out is not None:
        result.save(out)
        return PolicyComparisonResult(load_policies(Path(out)), Path(out))
    return result


@takes_setting_keywords
def read_policy_trials(
    real: object, sim: object = None, *, settings: TrialTableSettings, log: Log = no_log
) -> PolicyTrials:
    """Read trials of robot policies, as `compare_policies` does.

    Args:
        real: the real trials, or both sides, in any form that `compare_policies` takes.
        sim: the simulated trials; None where `real` holds both.
        settings: all settings at once; keywords change single ones.
        log: receives lines that a person should read; `print` does.

    Returns:
        The trials of both sides, which write themselves: `trials.write("trials.csv")`.

    Raises:
        UsageError: a setting makes no sense.
        SimjudgeError: a table cannot be read.
    """
    sides = [(real, REAL if sim is not None else None), *([(sim, SIM)] if sim is not None else [])]
    return joined_trials([_read(source, side, settings, log) for source, side in sides], settings.rename or {})


_TABLES = {".csv", ".parquet", ".jsonl", ".ndjson"}


def holds_trials(path: Path) -> bool:
    """Whether a path is of a kind that trials of policies come in."""
    if path.is_file():
        return path.suffix in _TABLES or bool(eval_infos(path))
    # What is a data set of pictures or clouds may hold many files: it is not searched.
    return find_format(path) is None and bool(eval_infos(path) or data_sets(path))


def read_side(source: object, side: str) -> PolicyTrials:
    """Trials of one side."""
    return _read(source, side, TrialTableSettings(), no_log)


def _read(source: object, side: str | None, settings: TrialTableSettings, log: Log) -> PolicyTrials:
    if isinstance(source, PolicyTrials):
        return source
    if isinstance(source, str | Path):
        for find, read, what in ((eval_infos, read_eval_infos, "lerobot-eval"), (data_sets, read_data_sets, "LeRobot")):
            if files := find(Path(source)):
                if side is None:
                    raise SideUnknownError(
                        f"{source}: {what} does not say its side; give the real trials first, then the simulated"
                    )
                return read(files, real=side == REAL)
        if trial_recordings(Path(source)):
            if side is None:
                raise SideUnknownError(
                    f"{source}: recordings do not say their side; give the real folder, then the simulated one"
                )
            return read_recorded_trials(
                Path(source),
                real=side == REAL,
                status_topic=settings.status_topic,
                outcome=settings.outcome or "",
                rename=settings.rename,
            )
    reading = read_policy_table(source, side, settings.columns, settings.outcome)
    if reading.taken:
        log("columns: " + ", ".join(f"{role} = {column}" for role, column in reading.taken.items()))
    return reading.trials


KIND = ResultKind(
    "one of compare-policies",
    lambda folder: PolicyComparisonResult(load_policies(folder), folder),
    POLICIES_PAGE.report,
)
