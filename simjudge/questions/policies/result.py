"""The result folder of a comparison of policies (docs/guides/policies.md), and what it says in words and as a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Annotated

from pydantic import Field

from simjudge.core.arrays import SummaryTable
from simjudge.core.errors import SimjudgeError
from simjudge.core.field_types import Choice, Number, Text
from simjudge.core.text import Json, JsonMapping, list_some
from simjudge.method.certainty import Certainty
from simjudge.method.entry_numbers import EntryNumbers
from simjudge.method.verdicts import SIGNIFICANCE, Verdict
from simjudge.page.chart_data import DASH, format_number, format_p, format_percent
from simjudge.questions.policies.ranking import RankingVerdict
from simjudge.questions.policies.tables import read_policy_table
from simjudge.questions.policies.trials import PolicyTrials
from simjudge.results.gate import NamedComparison
from simjudge.results.metric_rows import verdict_words
from simjudge.results.result_fields import Count, OpenFields, Value, read_checked
from simjudge.results.saved_result import POLICIES, TRIALS, ResultEntry, atomic_result, write_json

Row = JsonMapping


class CellGroupFields(OpenFields):
    """Some cells together."""

    cells: Count
    trials_real: Count
    trials_sim: Count
    rate_real: Annotated[float, Number()]
    rate_sim: Annotated[float, Number()]
    w1: Annotated[float, Number()]
    permutation_floor: Value = None
    noise: Value = None
    gap: Value = None
    gap_low: Value = None
    gap_high: Value = None
    p_value: Value = None
    p_adjusted: Value = None
    margin: Annotated[float, Number()]
    verdict: Annotated[str, Choice(*Verdict)]
    verdict_reason: str = ""


class RankingFields(OpenFields):
    """How the simulation ranks the policies."""

    policies: list[str]
    real: list[float]
    sim: list[float]
    least_p: float
    order: list[list[float]]
    reversals: list[Json]
    kept_without: list[Json]
    by_sim: Json
    by_real: Json
    verdict: Annotated[str, Choice(*RankingVerdict)]


class PoliciesFile(OpenFields):
    """A policies.json."""

    parameters: Json
    policies: list[Annotated[str, Text()]]
    tasks: list[str]
    overall: CellGroupFields
    by_policy: list[CellGroupFields]
    by_task: list[CellGroupFields]
    by_cell: list[CellGroupFields]
    ranking: RankingFields | None = None
    rankings: list[Json] = Field(default_factory=list)
    next: list[Json] = Field(default_factory=list)
    next_regret: list[float] | None = None
    sharpened: dict[str, Json]
    contexts: Json | None = None
    notes: list[str]
    losses: list[str]


@dataclass(frozen=True, eq=False)
class SavedPolicies:
    """One result folder of a comparison of policies.

    Attributes:
        folder: where it lies; None of a result that was just computed.
        fresh: the trials of such a result.
    """

    name: str
    content: JsonMapping
    folder: Path | None = None
    fresh: PolicyTrials | None = None

    @cached_property
    def trials(self) -> PolicyTrials | None:
        """The trials; None where an earlier simjudge did not keep them."""
        if self.folder is None or not (self.folder / TRIALS).is_file():
            return self.fresh
        return read_policy_table(self.folder / TRIALS).trials

    @property
    def overall(self) -> Row:
        """All cells together."""
        found: Row = self.content["overall"]
        return found

    @property
    def ranking(self) -> Row | None:
        """The ranking; None where fewer than two policies can be ranked."""
        found: Row | None = self.content["ranking"]
        return found

    def groups(self, kind: str) -> Sequence[Row]:
        """The rows of a kind: policy, task, cell, or a named condition."""
        return list(self.content.get(f"by_{kind}", ()))

    @property
    def kinds(self) -> list[str]:
        """What rows there are, but for the cells."""
        return [key.removeprefix("by_") for key in self.content if key.startswith("by_") and key != "by_cell"]


def compared_policies(result: SavedPolicies) -> NamedComparison:
    """The comparison as --fail-on and a study see it: all cells together, then each policy."""

    def entry(key: str, label: str, row: Row) -> ResultEntry:
        numbers = EntryNumbers(
            n_a=row["trials_real"],
            n_b=row["trials_sim"],
            compared=row["cells"],
            mean_w1=row["w1"],
            mean_performance_a=row["rate_real"],
            mean_performance_b=row["rate_sim"],
            **{name: row[name] for name in _CERTAINTY if name in row},
        )
        return ResultEntry(key, label, numbers)

    rows = [(row["policy"], row) for row in result.groups("policy")]
    entries = [entry("overall", "all", result.overall), *(entry(name, name, row) for name, row in rows)]
    return NamedComparison(result.name, tuple(entries))


_CERTAINTY = [field.name for field in fields(Certainty)]


def load_policies(folder: Path) -> SavedPolicies:
    """Read a result folder of a comparison of policies."""
    if not (folder / POLICIES).is_file():
        raise SimjudgeError(f"{folder}: holds no {POLICIES}; run simjudge robot policies first")
    content = read_checked(folder / POLICIES, PoliciesFile, "result of simjudge robot policies")
    return SavedPolicies(folder.resolve().name, PoliciesFile.model_validate(content).model_dump(), folder)


def save_policies(folder: Path, saved: SavedPolicies) -> None:
    """Write a result folder; it appears whole or not at all."""
    trials = saved.trials
    with atomic_result(folder) as temporary:
        write_json(temporary / POLICIES, dict(saved.content))
        if trials is not None:
            trials.write(temporary / TRIALS)


def headline(result: SavedPolicies) -> str:
    """The verdict in a few words: that of the ranking, then that of the rates."""
    ranking = result.ranking
    ranked = "" if ranking is None else _RANKS.get(RankingVerdict(ranking["verdict"]), "")
    rates = verdict_words(result.overall["verdict"], result.overall["margin"])
    return f"{ranked}; rates: {rates}" if ranked else f"Rates: {rates}"


_SMALL_CHANCE = 0.005
_LISTED = 5
"""Conditions with a wrong choice that are named."""
_RANKS = {
    RankingVerdict.RANKS: "Ranks as reality does",
    RankingVerdict.RANKS_WRONGLY: "Ranks wrongly",
    RankingVerdict.CANNOT_TELL: "Ranking: cannot tell",
    RankingVerdict.TOO_FEW_POLICIES: "Ranking: too few policies",
    RankingVerdict.NOT_TESTED: "Ranking: not tested",
}


def lead(result: SavedPolicies) -> str:
    """The sentence that a person would quote."""
    choice, rates = _choice_words(result.ranking), _rate_words(result.overall)
    if not choice or result.ranking is None:
        return f"{rates[:1].upper()}{rates[1:]}."
    if _is_right(result.ranking) and _trusts(result.overall) is False:
        return f"{choice}, but {rates}."
    return f"{choice}; {rates}."


def _is_right(ranking: Row) -> bool:
    return bool(ranking["by_sim"]["regret"] == 0)


def _trusts(row: Row) -> bool | None:
    """Whether a gap as large as the margin is ruled out, or certain; None where neither is."""
    if row["verdict"] in {Verdict.PREDICTS, Verdict.SMALL_GAP}:
        return True
    return False if Verdict(row["verdict"]).differs else None


def _choice_words(ranking: Row | None) -> str:
    if ranking is None:
        return ""
    choice, known, best = ranking["by_sim"], ranking["by_sim"]["chance_right"] is not None, max(ranking["sim"])
    error = 1 - choice["chance_right"] if known else 0.0
    chance = f" (chance of error {_percent(error) if error >= _SMALL_CHANCE else 'below 1 %'})" if known else ""
    lost = f"{100 * (choice['expected_regret'] if known else choice['regret']):.3g} points of success"
    first = [name for name, rate in zip(ranking["policies"], ranking["sim"], strict=True) if rate == best]
    if len(first) > 1:
        alike = f"The simulation does not choose between {list_some(first)}, which do best in it alike"
        return alike if _is_right(ranking) else f"{alike}; deploying {choice['policy']} of them costs {lost}"
    if _is_right(ranking):
        return f"The simulation picks the policy that is best on the robot, {choice['policy']}{chance}"
    return (
        f"The simulation picks {choice['policy']}, and in these trials the robot does best with "
        f"{ranking['by_real']['policy']}{chance}: deploying by simulation costs {lost}"
    )


def _rate_words(row: Row) -> str:
    real, sim = _percent(row["rate_real"]), _percent(row["rate_sim"])
    if _trusts(row):
        return f"its rates predict the real ones within {100 * row['margin']:g} points"
    if row["gap"] is None:
        return f"nothing tells whether its rates can be trusted: it says {sim}, the robot does {real}"
    if _trusts(row) is None:
        return f"the trials do not tell whether its rates can be trusted: it says {sim}, the robot does {real}"
    if abs(row["rate_real"] - row["rate_sim"]) >= row["gap_low"]:
        return f"it cannot be trusted for rates: it says {sim}, the robot does {real}"
    cells = f"single cells differ by {100 * row['gap']:.3g} points on average"
    return f"it cannot be trusted for rates: {cells}, though it says {sim} and the robot does {real}"


def sentences(result: SavedPolicies) -> list[str]:
    """What stands below the lead."""
    row, ranking = result.overall, result.ranking
    out = [_gap_sentence(row), *_context_sentences(result.content["contexts"])]
    if ranking is not None:
        said = _correlation_sentence(ranking)
        # That so few policies cannot be told from chance stands before everything.
        out = [said, *out] if ranking["least_p"] > SIGNIFICANCE else [*out, said]
        out += [*_reversal_sentences(ranking), *_fragility(ranking)]
    out += _wrong_under_conditions(result.content["rankings"])
    out += next_sentences(result)
    return out + _sharpened_sentences(result.content["sharpened"])


def _context_sentences(contexts: Row | None) -> list[str]:
    if contexts is None:
        return []
    row, columns = contexts["overall"], " and ".join(contexts["columns"])
    if not row["compared"]:
        return [f"No real trial began ({columns}) as a simulated one did: nothing was compared by initial state."]
    gap = (
        ""
        if row["gap"] is None
        else (
            f"the gap is {format_number(row['gap'])} (95 %: {format_number(row['gap_low'])} to "
            f"{format_number(row['gap_high'])}): {verdict_words(row['verdict'], row['margin'])}; "
        )
    )
    never = 1 - row["overlap_a"]
    missed = (
        f"{_percent(never)} of the real initial states were never simulated"
        if never > 0
        else ("all real initial states were simulated")
    )
    return [f"Where trials began alike ({columns}), {gap}{missed}."]


def _gap_sentence(row: Row) -> str:
    over = f"Over {row['cells']} cells the mean" if row["cells"] > 1 else "The"
    mean = f"{over} difference of success is {format_number(row['w1'])}"
    if row["gap"] is None:
        return f"{mean}; nothing tells how much of it is chance."
    return (
        f"{mean}; trials that do not differ have {format_number(row['permutation_floor'])}. "
        f"The gap is {format_number(row['gap'])} (95 %: {format_number(row['gap_low'])} to "
        f"{format_number(row['gap_high'])}); p = {format_p(row['p_value'])}."
    )


def _correlation_sentence(ranking: Row) -> str:
    count, least = len(ranking["policies"]), ranking["least_p"]
    r, rho, violation = (f"{_value(ranking[name])}{_interval(ranking[name])}" for name in ("r", "rho", "mmrv"))
    clean = ranking["r_without_noise"]
    # Of two policies r is 1 or -1 whatever the trials.
    told = clean is not None and count > 2
    noise = f" Without the noise of the trials r is about {format_number(max(-1.0, min(1.0, clean)))}." if told else ""
    if least > SIGNIFICANCE:
        return (
            f"With {count} policies no correlation can be told from chance: the best order has p = {format_p(least)} "
            f"(r = {r}, MMRV {violation}).{noise}"
        )
    chance = {name: format_p(ranking[name]["p_value"]) for name in ("r", "rho")}
    return (
        f"r = {r}, p = {chance['r']}; rho = {rho}, p = {chance['rho']}; MMRV {violation}, over {count} policies. "
        f"Intervals are for the noise of the trials.{noise}"
        if ranking["r"].get("interval")
        else f"r = {r}, p = {chance['r']}; rho = {rho}, p = {chance['rho']}; MMRV {violation}, over {count} policies."
    )


def _interval(measure: Row) -> str:
    ends = measure.get("interval")
    return "" if ends is None else f" ({format_number(ends[0])} to {format_number(ends[1])})"


def _reversal_sentences(ranking: Row) -> list[str]:
    return [
        f"{pair['first']} and {pair['second']} stand in opposite orders, both certain: "
        f"{100 * pair['real_difference']:+.3g} points on the robot, {100 * pair['sim_difference']:+.3g} in simulation."
        for pair in ranking["reversals"]
    ]


def _fragility(ranking: Row) -> list[str]:
    kept = ranking["kept_without"]
    if not kept or all(choice["right"] for choice in kept):
        return []
    right = sum(choice["right"] for choice in kept)
    return [f"Left out one task at a time, the simulation's choice is right in {right} of {len(kept)} cases."]


def _wrong_under_conditions(rows: Sequence[Row]) -> list[str]:
    """Where the choice is wrong under one condition, whatever it is over all of them."""
    wrong = [row for row in rows if row["by_sim"]["regret"] > 0]
    return [
        f"Under {row['condition']} {row['value']} alone, the simulation picks {row['by_sim']['policy']}, which costs "
        f"{100 * row['by_sim']['regret']:.3g} points of success as measured."
        for row in wrong[:_LISTED]
    ]


_CERTAIN_POINTS = 0.05  # points of success that choosing costs, from which on more trials may help


def next_sentences(result: SavedPolicies) -> list[str]:
    """Which real trials to run next."""
    rows, out, regret = result.content["next"], [], result.content["next_regret"]
    for key, what in (("for_choice", "to choose the best policy"), ("for_rates", "to narrow the rates")):
        asked = sum(row[key] for row in rows)
        most = sorted((row for row in rows if row[key]), key=lambda row: -row[key])[:3]
        if most and key == "for_choice" and regret is not None and 100 * regret[0] < _CERTAIN_POINTS:
            out.append("The choice is certain: further real trials would hardly change it.")
        elif most:
            first = ", ".join(f"{row[key]} of {row['policy']} at {row['task']}" for row in most)
            falls = ""
            if key == "for_choice" and regret is not None:
                now, then = map(_points, regret)
                how = f"stays at {now}" if now == then else f"falls from {now} to {then}"
                falls = f" The loss expected from choosing {how} points of success."
            more = ", and others" if sum(row[key] > 0 for row in rows) > len(most) else ""
            out.append(f"Next {asked} real trials {what}: {first}{more}.{falls}")
    return out


def _points(share: float) -> str:
    return f"{100 * share:.2g}"


def _sharpened_sentences(sharpened: Mapping[str, Row]) -> list[str]:
    """Where the simulation should be trusted for a mean, and what it was worth."""
    out = [_sharpened_sentence(name, found) for name, found in sharpened.items() if found["weight"]]
    if alone := {name: found for name, found in sharpened.items() if not found["weight"]}:
        largest = max(found["correlation"] for found in alone.values())
        out.append(
            f"{list_some(list(alone))}: the real trials stand alone; the simulation does not sharpen their mean "
            f"(correlation of pairs {format_number(largest)}{' at most' if len(alone) > 1 else ''})."
        )
    return out


def _sharpened_sentence(name: str, found: Row) -> str:
    alone, both, what = found["real"], found["both"], found["by"]
    known = f"correlation {format_number(found['correlation'])} over {found['pairs']} {what}"
    signed = " less" in name
    value, low, high, low_alone, high_alone = (
        f"{100 * number:+.3g} points" if signed else _percent(number)
        for number in (both["value"], both["low"], both["high"], alone["low"], alone["high"])
    )
    return (
        f"{name}: {value} ({low} to {high}) with the simulation, {low_alone} to {high_alone} without; it was worth "
        f"{found['worth']:.0f} real {'trials' if what == 'pairs' else 'cells'} ({known})."
    )


def _percent(value: float) -> str:
    return format_percent(value) if 0.001 < value < 0.999 or value in (0.0, 1.0) else f"{100 * value:.1f} %"


def _value(measure: Row) -> str:
    return DASH if measure["value"] is None else format_number(measure["value"])


RANKING_COLUMNS = (
    "under",
    "policies",
    "r",
    "95 %",
    "p of r",
    "rho",
    "MMRV",
    "best p",
    "picked",
    "points lost",
    "right without a task",
)
"""Of the table of rankings."""


def ranking_row(row: Row, under: str) -> list[str]:
    """A ranking as a row of a table."""
    choice, kept = row["by_sim"], row["kept_without"]
    return [
        under,
        str(len(row["policies"])),
        _value(row["r"]),
        _interval(row["r"]).strip(" ()") or DASH,
        DASH if row["r"]["p_value"] is None else format_p(row["r"]["p_value"]),
        _value(row["rho"]),
        format_number(row["mmrv"]["value"]),
        format_p(row["least_p"]),
        choice["policy"],
        f"{100 * (choice['regret'] if choice['expected_regret'] is None else choice['expected_regret']):.1f}",
        f"{sum(task['right'] for task in kept)} of {len(kept)}" if kept else DASH,
    ]


def ranking_rows(result: SavedPolicies) -> list[list[str]]:
    """All rankings: over everything, and under each named condition."""
    rows = [] if result.ranking is None else [ranking_row(result.ranking, "everything")]
    return rows + [ranking_row(row, f"{row['condition']} {row['value']}") for row in result.content["rankings"]]


CONTEXT_COLUMNS = (
    "policy",
    "real trials",
    "compared",
    "real",
    "sim",
    "gap",
    "95 %",
    "p corr.",
    "O_real",
    "O_sim",
    "verdict",
)


def context_rows(result: SavedPolicies) -> list[list[str]]:
    """Trials that began alike, by policy, and all together."""
    contexts = result.content["contexts"]
    if contexts is None:
        return []
    return [_context_row(row) for row in (*contexts["by_policy"], {"policy": "all", **contexts["overall"]})]


def _context_row(row: Row) -> list[str]:
    tested = row["gap"] is not None
    return [
        row["policy"],
        str(row["n_a"]),
        str(row["compared"]),
        _percent(row["mean_performance_a"]),
        _percent(row["mean_performance_b"]),
        format_number(row["gap"]) if tested else DASH,
        f"{format_number(row['gap_low'])} to {format_number(row['gap_high'])}" if tested else DASH,
        format_p(row["p_adjusted"]) if row["p_adjusted"] is not None else DASH,
        _percent(row["overlap_a"]),
        _percent(row["overlap_b"]),
        verdict_words(row["verdict"], row["margin"]),
    ]


COLUMNS = ("policy", "task", "trials", "real", "sim", "gap", "95 %", "p corr.", "floor", "verdict")


def table_row(row: Row, names: Sequence[str] = COLUMNS[:2]) -> list[str]:
    """A row of the table, which begins with what the cells have in common."""
    tested = row["gap"] is not None
    return [
        *(str(row.get(name, "all")) for name in names),
        f"{row['trials_real']} / {row['trials_sim']}",
        _percent(row["rate_real"]),
        _percent(row["rate_sim"]),
        format_number(row["gap"]) if tested else DASH,
        f"{format_number(row['gap_low'])} to {format_number(row['gap_high'])}" if tested else DASH,
        format_p(row["p_adjusted"]) if row["p_adjusted"] is not None else DASH,
        format_number(row["permutation_floor"]) if row["permutation_floor"] is not None else DASH,
        verdict_words(row["verdict"], row["margin"]),
    ]


def policies_table(result: SavedPolicies) -> SummaryTable:
    """The table that the command prints: a row each policy, a row each task, and all together."""
    rows = [*result.groups("policy"), *result.groups("task"), result.overall]
    return SummaryTable(COLUMNS, [table_row(row) for row in rows], text_columns=2)
