"""A performance of one's own as a result states it: its name, its range, and shares of the range in its own units."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from simjudge.core.text import JsonMapping


@dataclass(frozen=True)
class StatedPerformance:
    """What performance was, where it was no metric of simjudge's."""

    name: str
    source: str  # where its numbers are from: a file, or a function
    low: float  # low, high: its range, which numbers of the result count as 0 to 1
    high: float
    lower: bool = False  # whether a lower number is better; 1 stands for `low` then
    stated: bool = True  # whether the range was stated; else it was found in both sets

    @classmethod
    def from_json(cls, content: JsonMapping | None) -> StatedPerformance | None:
        """Read the entry `parameters.performance`; None where there is none."""
        return None if not content else cls(**{name: content[name] for name in cls.__dataclass_fields__})

    def to_json(self) -> dict[str, object]:
        """The entry `parameters.performance` of result.json."""
        return asdict(self)

    def own_value(self, share: float) -> float:
        """A performance of the result in units of its own."""
        span = self.high - self.low
        return self.high - share * span if self.lower else self.low + share * span

    def own_difference(self, share: float) -> float:
        """A difference of the result, such as a gap, in units of its own."""
        return share * (self.high - self.low)

    @property
    def sentence(self) -> str:
        """What the numbers of the result are shares of."""
        best, worst = (self.low, self.high) if self.lower else (self.high, self.low)
        found = "" if self.stated else ", found in both sets"
        better = "lower" if self.lower else "higher"
        return (
            f"Performance is {self.name} ({self.source}), {self.low:g} to {self.high:g}{found}; {better} is better."
            f" It counts as 0 at {worst:g} and as 1 at {best:g}, so a gap of 0.1 is"
            f" {self.own_difference(0.1):g} of {self.name}."
        )
