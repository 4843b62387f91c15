"""The result of an ablation: which part of a camera model matters to a detector (ablation.json, ablation.csv)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from simjudge.core.field_types import Text
from simjudge.method.verdicts import GAPS, Verdict
from simjudge.questions.many_sets.saved import (
    ManySetsResult,
    SetsComparison,
    load_many_sets,
    study_verdict,
    table_numbers,
)
from simjudge.results.result_fields import OpenFields, read_checked
from simjudge.results.saved_result import ABLATION, ABLATION_TABLE, ResultEntry, write_json, write_rows

PREDICTS_REALITY = "variant_predicts_reality"
DIFFERS = "variant_differs_from_baseline"
TRAINED_REALITY = "trained_predicts_reality"
TRAINED_BASELINE = "trained_predicts_baseline"
QUESTIONS = {
    PREDICTS_REALITY: "Does a variant predict reality?",
    DIFFERS: "How far is a variant from the baseline?",
    TRAINED_REALITY: "Does a net trained on a variant predict itself in reality?",
    TRAINED_BASELINE: "And on the baseline?",
}
"""The questions of Elmquist, Serban and Negrut, by their names in ablation.csv."""
_AGAINST_BASELINE = (DIFFERS, TRAINED_BASELINE)
WORTH, NOT_WORTH, UNKNOWN = "worth modelling here", "not worth modelling here", "cannot be told at this size"
NEARER, FARTHER, AS_FAR = "nearer to reality", "farther from reality", "as far from reality, as far as can be told"
_ORDER = (WORTH, UNKNOWN, NOT_WORTH)


class VariantFields(OpenFields):
    """A variant of the simulated set."""

    changes: Annotated[str, Text("a phrase")]
    """What differs from the baseline."""
    trained: bool
    """Whether a net was trained on it."""


class AblationFile(OpenFields):
    """An ablation.json; its numbers stand in sets.json."""

    real: Annotated[str, Text("the name of a set")]
    baseline: Annotated[str, Text("the name of a set")]
    variants: dict[str, VariantFields] = Field(min_length=1)


@dataclass(frozen=True)
class AblationAnswer:
    """One bar: how well a set predicts another one, as a net sees it.

    Attributes:
        question: a key of `QUESTIONS`.
        comparison: its numbers, over all classes and class by class.
    """

    question: str
    variant: str
    comparison: SetsComparison

    def entry(self, key: str) -> ResultEntry | None:
        """The numbers of a class, called by the variant's name, with the verdict that is corrected for the study.

        Returns:
            None where the comparison has no such class.
        """
        found = next((each for each in self.comparison.entries if each.key == key), None)
        if found is None:
            return None
        return replace(found, label=self.variant, numbers=replace(found.numbers, verdict=study_verdict(found)))


@dataclass(frozen=True)
class VariantRank:
    """Whether a part of the camera model matters here.

    Attributes:
        trained: whether a net was trained on it.
        effect: the largest gap among the comparisons with the baseline; None where unknown.
        direction: NEARER, FARTHER or AS_FAR: the variant beside the baseline, as the net of reality sees them.
    """

    variant: str
    changes: str
    trained: bool
    verdict: str
    effect: float | None
    direction: str


@dataclass(frozen=True)
class AblationResult:
    """Which part of a camera model matters.

    Attributes:
        real, baseline: names of two of the sets.
        changes: what differs from the baseline, by name of the variant.
        trained: variants on which a net was trained; the baseline is one of them.
    """

    sets: ManySetsResult
    real: str
    baseline: str
    changes: Mapping[str, str]
    trained: tuple[str, ...]

    @property
    def losses(self) -> tuple[str, ...]:
        """What was left out, a line a kind."""
        return self.sets.losses

    @property
    def classes(self) -> dict[str, str]:
        """Names of the classes by key, "overall" first."""
        return {each.key: each.label for comparison in self.sets.comparisons[:1] for each in comparison.entries}

    def answers(self, question: str) -> list[AblationAnswer]:
        """The bars of a question, the baseline first where it has one."""
        a = self.baseline if question in _AGAINST_BASELINE else self.real
        out = []
        for variant in (self.baseline, *self.changes):
            net = {PREDICTS_REALITY: self.real, DIFFERS: self.baseline}.get(question, variant)
            asked = variant != a and (question in (PREDICTS_REALITY, DIFFERS) or variant in self.trained)
            if asked:
                out.append(AblationAnswer(question, variant, self.sets.find(a, variant, net)))
        return out

    def ranking(self) -> list[VariantRank]:
        """The variants, those that matter first, each kind by its effect."""
        near = {each.variant: each.comparison.overall for each in self.answers(PREDICTS_REALITY)}
        found = [self._rank(variant, near) for variant in self.changes]
        return sorted(found, key=lambda each: (_ORDER.index(each.verdict), -(each.effect or 0.0)))

    def _rank(self, variant: str, near: Mapping[str, ResultEntry]) -> VariantRank:
        against = [
            each.comparison.overall for question in _AGAINST_BASELINE for each in self.answers(question)
            if each.variant == variant
        ]  # fmt: skip
        gaps = [value for each in against if (value := each.numbers.gap) is not None]
        return VariantRank(
            variant,
            self.changes[variant],
            variant in self.trained,
            rank_verdict([study_verdict(each) for each in against]),
            max(gaps, default=None),
            compare_distance(near[variant], near[self.baseline]),
        )

    def rows(self) -> Iterator[dict[str, Any]]:
        """The rows of ablation.csv: one a question, variant and class, all classes together first."""
        for question in QUESTIONS:
            for answer in self.answers(question):
                each = answer.comparison
                head = {"question": question, "variant": answer.variant, "a": each.a, "b": each.b, "net": each.net}
                for entry in each.entries:
                    numbers = table_numbers(entry)
                    yield {**head, "class": entry.label, **numbers}

    def save_beside_sets(self, folder: Path) -> None:
        """Write ablation.json and ablation.csv into the folder of the comparisons."""
        variants = {name: {"changes": text, "trained": name in self.trained} for name, text in self.changes.items()}
        write_json(folder / ABLATION, {"real": self.real, "baseline": self.baseline, "variants": variants})
        write_rows(folder / ABLATION_TABLE, self.rows())


def rank_verdict(verdicts: list[Verdict]) -> str:
    """Whether a part of the camera model matters, from the comparisons of a variant with the baseline.

    It matters where a net differs by the margin or more, or may do so and differs beyond chance. It does not where all
    differences stay below the margin.
    """
    if any(each in (Verdict.LARGE_GAP, Verdict.GAP) for each in verdicts):
        return WORTH
    below = all(each in (Verdict.PREDICTS, Verdict.SMALL_GAP) for each in verdicts)
    return NOT_WORTH if verdicts and below else UNKNOWN


def compare_distance(variant: ResultEntry, baseline: ResultEntry) -> str:
    """Whether a variant is nearer to reality than the baseline: where the intervals of their gaps do not meet.

    Args:
        variant, baseline: how well each predicts reality, as the net of reality sees it.
    """
    low, high = variant.numbers.gap_low, variant.numbers.gap_high
    least, most = baseline.numbers.gap_low, baseline.numbers.gap_high
    differs = study_verdict(variant) in GAPS or study_verdict(baseline) in GAPS
    if differs and high is not None and least is not None and high < least:
        return NEARER
    return FARTHER if differs and low is not None and most is not None and low > most else AS_FAR


def is_ablation(folder: Path) -> bool:
    """Whether a folder holds the result of an ablation."""
    return (folder / ABLATION).is_file()


def load_ablation(folder: str | Path) -> AblationResult:
    """Read the result of an ablation."""
    sets = load_many_sets(folder)
    content = read_checked(Path(folder) / ABLATION, AblationFile, "ablation")
    variants = content["variants"]
    trained = [name for name, each in variants.items() if each["trained"]]
    changes = {name: str(each["changes"]) for name, each in variants.items()}
    return AblationResult(sets, content["real"], content["baseline"], changes, (content["baseline"], *trained))
