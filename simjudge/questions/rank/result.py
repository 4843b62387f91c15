"""The result of a ranking of simulations: ranking.json, and the sentences that it says (docs/reference/results.md)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import Field

from simjudge.core.errors import SimjudgeError
from simjudge.core.field_types import Choice, Number, Text
from simjudge.core.text import JsonMapping
from simjudge.method.entry_numbers import ComparisonNumbers
from simjudge.method.gap_difference import GapDifference, Nearness
from simjudge.page.chart_data import format_number, format_p, format_percent
from simjudge.results.context_table import ContextParts
from simjudge.results.result_fields import (
    ClassKey,
    EntryFields,
    InputFields,
    ModelFields,
    OpenFields,
    ParameterFields,
    Value,
    read_checked,
)
from simjudge.results.saved_result import CONTEXTS, RANKING, ResultEntry, atomic_result, result_entries, write_json

FULL_COVER = 0.95
"""Share of A's contexts that all simulations must show for the ranking to speak of A without saying so."""


class SimulationFields(OpenFields):
    """One simulation against A."""

    name: Annotated[str, Text("the name of a set")]
    own_cover: Annotated[float, Number(0, 1)]
    by_class: dict[Annotated[str, ClassKey()], EntryFields]
    overall: EntryFields


class PairFields(OpenFields):
    """Two simulations."""

    first: Annotated[str, Text("the name of a set")]
    second: Annotated[str, Text("the name of a set")]
    difference: Value = None
    low: Value = None
    high: Value = None
    p_value: Value = None
    p_adjusted: Value = None
    nearness: Annotated[str, Choice(*Nearness)]


class RankingInputsFields(OpenFields):
    """What was compared."""

    a: InputFields
    simulations: list[InputFields]
    model: ModelFields | None = None


class RankingFile(OpenFields):
    """A ranking.json."""

    parameters: ParameterFields
    inputs: RankingInputsFields
    class_names: dict[Annotated[str, ClassKey()], str] = Field(default_factory=dict)
    covered: Annotated[float, Number(0, 1)]
    same_poses: list[tuple[str, str]] = Field(default_factory=list)
    simulations: Annotated[list[SimulationFields], Field(min_length=2)]
    pairs: list[PairFields]
    pairs_by_class: dict[Annotated[str, ClassKey()], list[PairFields]] = Field(default_factory=dict)
    losses: list[str] = Field(default_factory=list)


@dataclass(frozen=True)
class RankedSimulation:
    """One simulation against A, on the contexts of A that all simulations show."""

    name: str
    own_cover: float  # share of A's contexts that it shows by itself
    numbers: ComparisonNumbers

    @property
    def gap(self) -> float | None:
        """Its gap over all classes."""
        return self.numbers.overall.gap

    def to_json(self) -> dict[str, object]:
        """Its entry in ranking.json."""
        return {"name": self.name, "own_cover": self.own_cover, **self.numbers.to_json()}


@dataclass(frozen=True)
class SimulationPair:
    """Two simulations, the nearer one first where it is known, else the one with the smaller gap.

    Attributes:
        difference: by how much the gap of `farther` is larger; `low`, `high` are of its 95 % interval.
        p_value: of this pair alone; p_adjusted is over all pairs.
    """

    nearer: str
    farther: str
    difference: float | None
    low: float | None
    high: float | None
    p_value: float | None
    p_adjusted: float | None
    nearness: Nearness

    @classmethod
    def of(cls, found: GapDifference, names: Sequence[str]) -> SimulationPair:
        """A difference between two of the simulations of these names."""
        first, second = names[found.first], names[found.second]
        if found.difference is None or found.low is None or found.high is None:
            return cls(first, second, None, None, None, None, None, found.nearness)
        certainty = (found.p_value, found.p_adjusted)
        if found.difference >= 0:
            return cls(first, second, found.difference, found.low, found.high, *certainty, found.nearness)
        turned = Nearness.FIRST if found.nearness == Nearness.SECOND else found.nearness
        return cls(second, first, -found.difference, -found.high, -found.low, *certainty, turned)

    @classmethod
    def from_json(cls, content: JsonMapping) -> SimulationPair:
        """Read an entry of `pairs`."""
        names = ("difference", "low", "high", "p_value", "p_adjusted")
        difference, low, high, p_value, p_adjusted = (content.get(name) for name in names)
        nearness = Nearness(content["nearness"])
        return cls(content["first"], content["second"], difference, low, high, p_value, p_adjusted, nearness)

    def to_json(self) -> dict[str, object]:
        """Its entry in ranking.json."""
        return {
            "first": self.nearer,
            "second": self.farther,
            "difference": self.difference,
            "low": self.low,
            "high": self.high,
            "p_value": self.p_value,
            "p_adjusted": self.p_adjusted,
            "nearness": self.nearness,
        }

    @property
    def is_told(self) -> bool:
        """Whether one is nearer beyond chance."""
        return self.nearness == Nearness.FIRST

    def sentence(self, margin: float, reality: str = "reality") -> str:
        """What is said of them; `reality`: what A is called."""
        if self.difference is None:
            return f"{self.nearer} and {self.farther} cannot be compared: too few sampling units, or nothing in common."
        numbers = f"{format_number(self.difference)} ({self.interval}), p = {format_p(self.p_adjusted)}"
        if self.is_told:
            return f"{self.nearer} is nearer to {reality} than {self.farther} by {numbers}."
        if self.nearness == Nearness.ALIKE:
            return f"{self.nearer} and {self.farther} are alike within {margin:g}: their gaps differ by {numbers}."
        return f"Which of {self.nearer} and {self.farther} is nearer cannot be told: their gaps differ by {numbers}."

    @property
    def interval(self) -> str:
        """The 95 % interval of the difference in words."""
        return f"95\N{NO-BREAK SPACE}%: {format_number(self.low)} to {format_number(self.high)}"


@dataclass(frozen=True)
class SavedRanking:
    """A ranking of simulations, as its file has it."""

    name: str
    content: JsonMapping
    contexts: ContextParts | None = None  # of every comparison, as they were made; None where it was read again

    @property
    def margin(self) -> float:
        """Difference of performance that matters."""
        return float(self.content["parameters"]["margin"])

    @property
    def simulations(self) -> list[RankedSimulation]:
        """The nearest first; those without a gap last."""
        found = [
            RankedSimulation(held["name"], held["own_cover"], ComparisonNumbers.from_json(held))
            for held in self.content["simulations"]
        ]
        return sorted(found, key=lambda one: (one.gap is None, one.gap or 0.0))

    @property
    def pairs(self) -> list[SimulationPair]:
        """Every two simulations over all classes."""
        return [SimulationPair.from_json(held) for held in self.content["pairs"]]

    @property
    def pairs_by_class(self) -> Mapping[str, list[SimulationPair]]:
        """Every two simulations, by the name of a class."""
        names = self.content.get("class_names") or {}
        return {
            str(names.get(key, f"class {key}")): [SimulationPair.from_json(held) for held in pairs]
            for key, pairs in self.content["pairs_by_class"].items()
        }

    def entries(self, simulation: RankedSimulation) -> tuple[ResultEntry, ...]:
        """The numbers of a simulation, all classes together first."""
        return result_entries(simulation.numbers, self.content.get("class_names") or {})

    def pair(self, one: str, other: str) -> SimulationPair:
        """What is said of two simulations."""
        return next(pair for pair in self.pairs if {pair.nearer, pair.farther} == {one, other})

    @property
    def nearest(self) -> list[str]:
        """The simulations that no other one is nearer than, beyond chance."""
        beaten = {pair.farther for pair in self.pairs if pair.is_told}
        return [one.name for one in self.simulations if one.gap is not None and one.name not in beaten]

    @property
    def headline(self) -> str:
        """The answer in a few words."""
        names = self.nearest
        if not names:
            return "Nothing could be compared"
        if len(names) == 1:
            return f"{names[0]} is nearest"
        return f"Cannot tell which is nearest: {', '.join(names[:-1])} or {names[-1]}"

    @property
    def coverage(self) -> str:
        """For how much of A the ranking speaks; empty where for nearly all of it."""
        covered = float(self.content["covered"])
        if covered >= FULL_COVER:
            return ""
        line = f"The ranking speaks for {format_percent(covered)} of A's contexts: those that every simulation shows."
        least, *_, most = sorted(self.simulations, key=lambda one: one.own_cover)
        if most.own_cover - least.own_cover <= 1 - FULL_COVER:
            return line
        return f"{line} {least.name} shows fewest, {format_percent(least.own_cover)}."

    @property
    def sentences(self) -> list[str]:
        """The answer, what is said of each pair, and how much of A it is of."""
        order = {one.name: place for place, one in enumerate(self.simulations)}
        pairs = sorted(self.pairs, key=lambda pair: (order[pair.nearer], order[pair.farther]))
        lines = [f"{self.headline}.", *(pair.sentence(self.margin) for pair in pairs)]
        if len(self.nearest) == 1:
            [best] = [one.numbers.overall for one in self.simulations if one.name == self.nearest[0]]
            interval = f"95\N{NO-BREAK SPACE}%: {format_number(best.gap_low)} to {format_number(best.gap_high)}"
            lines.append(f"The gap of {self.nearest[0]} itself is {format_number(best.gap)} ({interval}).")
        lines += [f"{one} and {other} show the same poses and were drawn as pairs." for one, other in self._twins]
        return [*lines, self.coverage] if self.coverage else lines

    @property
    def _twins(self) -> list[tuple[str, str]]:
        return [(one, other) for one, other in self.content["same_poses"]]

    def save(self, out: Path) -> None:
        """Write ranking.json and the contexts; the folder appears whole or not at all."""
        with atomic_result(out) as folder:
            write_json(folder / RANKING, dict(self.content))
            if self.contexts is not None:
                self.contexts.write(folder / CONTEXTS)


def load_ranking(folder: str | Path) -> SavedRanking:
    """Read a ranking of simulations."""
    path = Path(folder) / RANKING
    if not path.is_file():
        raise SimjudgeError(f"{folder}: holds no {RANKING}; simjudge compare A B1 B2 --out {folder} writes one")
    return SavedRanking(Path(folder).resolve().name, read_checked(path, RankingFile, "ranking of simulations"))
