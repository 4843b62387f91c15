"""A few of many comparisons as results of their own, so that a page shows contexts with their neighbours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from simjudge.core.errors import Losses
from simjudge.method.entry_numbers import EntryNumbers
from simjudge.questions.many_sets.inputs import JudgedSets, judged_sides
from simjudge.questions.many_sets.pairs import WantedComparison
from simjudge.studies.comparison import Comparison
from simjudge.studies.pair import compare_judged, painted_sets
from simjudge.studies.result_writing import comparison_parameters, describe_units, false_positives

MOST_EXAMPLES = 4
"""How many comparisons, one a net, are saved with their contexts."""
CONTEXTS_A_KIND = 1
"""How many contexts of each kind and class their galleries show: a page shows those with neighbours alone."""


@dataclass(frozen=True)
class ExampleComparison:
    """A comparison of a study, to be saved with its contexts and gallery.

    Attributes:
        a, b: names of the predicted and of the predicting set.
    """

    folder: str
    a: str
    b: str
    net: str
    study: JudgedSets

    def content(self) -> dict[str, str]:
        """Its entry in sets.json (docs/reference/results.md)."""
        return {"folder": self.folder, "a": self.a, "b": self.b, "net": self.net}

    def save(self, out: Path) -> None:
        """Compare once more, now with contexts, and write the result."""
        study, losses = self.study, Losses()
        twins = frozenset((self.a, self.b)) in study.twins
        settings = replace(study.settings, paired=twins)
        sides = judged_sides(study, self.a, self.b, self.net, losses)
        result = compare_judged(sides, painted_sets(*sides, settings), settings, losses)
        inputs: dict[str, Any] = {
            key: study.inputs[name, self.net].describe(judged.frames, false_positives(judged)) | describe_units(drawn)
            for key, name, judged, drawn in zip(("a", "b"), (self.a, self.b), sides, result.units.sides, strict=True)
        }
        inputs["model"] = None
        parameters = comparison_parameters(settings, result.numbers.overall, result.painted)
        Comparison(result, parameters, inputs, losses).save(out, CONTEXTS_A_KIND)


def example_comparisons(
    study: JudgedSets, comparisons: Sequence[tuple[WantedComparison, EntryNumbers]]
) -> list[ExampleComparison]:
    """Choose for each net the comparison with the largest gap.

    Returns:
        One comparison a net, of the first MOST_EXAMPLES nets; none for a net whose sets have no contexts in common.
    """
    best: dict[str, tuple[float, WantedComparison]] = {}
    for each, overall in comparisons:
        if overall.mean_w1 is None:
            continue
        worth = overall.mean_w1 - (overall.noise or 0.0)
        if each.net not in best or worth > best[each.net][0]:
            best[each.net] = (worth, each)
    chosen = [each for _, each in best.values()][:MOST_EXAMPLES]
    return [
        ExampleComparison(str(number), each.a, each.b, each.net, study) for number, each in enumerate(chosen, start=1)
    ]
