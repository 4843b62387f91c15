"""The price of labels' errors: label_error.json, and the sentences that it says (docs/reference/results.md)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import Field

from simjudge.core.errors import SimjudgeError
from simjudge.core.field_types import Choice, Number, Text
from simjudge.core.text import JsonMapping
from simjudge.judging.label_noise import LabelError, LevelEstimate, PricedLabels
from simjudge.method.entry_numbers import EntryNumbers
from simjudge.method.verdicts import MARGIN, Verdict
from simjudge.page.chart_data import DASH, format_number, format_p
from simjudge.results.context_table import ContextParts
from simjudge.results.metric_rows import verdict_words
from simjudge.results.result_fields import EntryFields, InputsFields, OpenFields, ParameterFields, Value, read_checked
from simjudge.results.saved_result import CONTEXTS, LABEL_ERROR, atomic_result, write_json


class LevelFields(OpenFields):
    """What is found at one level of added error."""

    level: Annotated[float, Number(0)]
    w1: Annotated[float, Number()]
    noise: Annotated[float, Number()]
    gap: Annotated[float, Number()]
    spread: Annotated[float, Number()]
    compared: Annotated[float, Number(0, 1)]


class CorrectedFields(OpenFields):
    """The gap that labels without error would show."""

    gap: Value = None
    low: Value = None
    high: Value = None
    p_value: Value = None
    verdict: Annotated[str, Choice(*Verdict)]


class LabelErrorFile(OpenFields):
    """A label_error.json."""

    parameters: ParameterFields
    inputs: InputsFields
    error: Annotated[str, Text("an error of labels")]
    as_labelled: EntryFields
    levels: list[LevelFields]
    price: Annotated[float, Number()]
    invented: Annotated[float, Number()]
    corrected: CorrectedFields
    losses: list[str] = Field(default_factory=list)


def price_content(found: PricedLabels) -> dict[str, object]:
    """What label_error.json says of a price."""
    return {
        "error": str(found.error),
        "as_labelled": found.as_labelled.to_json(),
        "levels": [vars(level) for level in found.levels],
        "price": found.price,
        "invented": found.invented,
        "corrected": {
            "gap": found.gap,
            "low": found.low,
            "high": found.high,
            "p_value": found.p_value,
            "verdict": found.verdict,
        },
    }


@dataclass(frozen=True)
class SavedLabelError:
    """The price of labels' errors, as its file has it."""

    name: str
    content: JsonMapping
    contexts: ContextParts | None = None  # of every comparison, as they were made; None where it was read again

    @property
    def priced(self) -> PricedLabels:
        """The numbers."""
        held = self.content
        corrected = held["corrected"]
        return PricedLabels(
            LabelError.parse(held["error"]),
            EntryNumbers.from_json(held["as_labelled"]),
            tuple(
                LevelEstimate(**{name: level[name] for name in LevelFields.model_fields}) for level in held["levels"]
            ),
            held["price"],
            held["invented"],
            corrected.get("gap"),
            corrected.get("low"),
            corrected.get("high"),
            corrected.get("p_value"),
            Verdict(corrected["verdict"]),
        )

    @property
    def margin(self) -> float:
        """Difference of performance from which a gap matters."""
        return float(self.content["parameters"].get("margin") or MARGIN)

    @property
    def rows(self) -> list[list[str]]:
        """How W1, noise, gap and verdict move."""
        found, plain = self.priced, self.priced.as_labelled
        rows = [
            [
                "as labelled",
                format_number(plain.mean_w1),
                format_number(plain.noise),
                format_number(plain.gap),
                _interval(plain.gap_low, plain.gap_high),
                format_p(plain.p_value),
                verdict_words(plain.verdict, self.margin),
            ]
        ]
        if found.levels:
            same = found.levels[0]
            numbers = [format_number(value) for value in (same.w1, same.noise, same.gap)]
            rows.append(["the same error in B's labels", *numbers, DASH, format_p(found.p_value), DASH])
        ends = [format_number(found.gap), _interval(found.low, found.high), DASH]
        rows.append(["labels without error", DASH, DASH, *ends, verdict_words(found.verdict, self.margin)])
        return rows

    @property
    def sentences(self) -> list[str]:
        """What the error does, and what is left without it."""
        found, plain = self.priced, self.priced.as_labelled
        lines = [f"{_error_words(found.error)} alone lower the performance in B by {format_number(found.price)}."]
        if found.error.missed:
            lines.append(f"Objects without a label alone make {format_number(found.invented)} inventions a frame.")
        if found.gap is None or found.low is None:
            lines.append(f"The gap without the error cannot be told: {verdict_words(found.verdict, self.margin)}.")
            return lines
        before = verdict_words(plain.verdict, self.margin)
        after = verdict_words(found.verdict, self.margin)
        lines.insert(
            0,
            f"Without the labels' error the gap is {format_number(found.gap)} (95\N{NO-BREAK SPACE}%: "
            f"{_interval(found.low, found.high)}), as labelled {format_number(plain.gap)}"
            + (
                f": {after} either way."
                if before == after
                else f": {after}, where the labels as they are say {before}."
            ),
        )
        return lines

    def save(self, out: Path) -> None:
        """Write label_error.json and the contexts; the folder appears whole or not at all."""
        with atomic_result(out) as folder:
            write_json(folder / LABEL_ERROR, dict(self.content))
            if self.contexts is not None:
                self.contexts.write(folder / CONTEXTS)


def _interval(low: float | None, high: float | None) -> str:
    return DASH if low is None or high is None else f"{format_number(low)} to {format_number(high)}"


def _error_words(error: LabelError) -> str:
    parts = []
    if error.edge_px:
        parts.append(f"edges that are off by {error.edge_px:g} px")
    if error.missed:
        parts.append(f"{100 * error.missed:g} % of the labels missing")
    words = " and ".join(parts)
    return words[0].upper() + words[1:]


def load_label_error(folder: str | Path) -> SavedLabelError:
    """Read the price of labels' errors."""
    path = Path(folder) / LABEL_ERROR
    if not path.is_file():
        raise SimjudgeError(f"{folder}: holds no {LABEL_ERROR}; simjudge compare --label-error writes one")
    return SavedLabelError(Path(folder).resolve().name, read_checked(path, LabelErrorFile, "price of labels"))
