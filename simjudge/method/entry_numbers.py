"""Numbers of one class, or of all classes: an entry of a result, by the names of docs/reference/results.md."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace

import numpy as np

from simjudge.core.arrays import FloatArray
from simjudge.core.text import JsonMapping
from simjudge.method.algorithm import ClassComparison
from simjudge.method.certainty import Certainty
from simjudge.method.detector_measures import DetectorMeasure
from simjudge.method.verdicts import MARGIN, Reason, Scope, Verdict, failing_side, worst_verdict

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


def reduce_comparisons(parts: Sequence[ClassComparison]) -> EntryNumbers:
    """The numbers of one class, or of several classes together (each compared within itself).

    Returns:
        The numbers, not tested. What is undefined is None: every W1 number where no context was compared, means over
        nothing.
    """
    compared = [part.compared for part in parts]
    w1 = np.concatenate([part.w1[on] for part, on in zip(parts, compared, strict=True)])
    difference = np.concatenate([part.difference[on] for part, on in zip(parts, compared, strict=True)])
    batch = np.concatenate([part.batch[on] for part, on in zip(parts, compared, strict=True)])
    performance_a = np.concatenate([part.performance_a for part in parts])
    performance_b = np.concatenate([part.performance_b for part in parts])
    overlap_a = np.concatenate([part.overlap_a for part in parts])
    overlap_b = np.concatenate([part.overlap_b for part in parts])
    # Means over unlike classes say nothing about the sets: together, only the classes that both hold count.
    in_both = [part for part in parts if len(part.performance_a) and len(part.performance_b)] or parts
    any_compared = len(w1) > 0
    mean_w1, mean_performance_a = _mean(w1), _mean(np.concatenate([part.performance_a for part in in_both]))
    outside_a, outside_b = _outside(performance_a[~overlap_a]), _outside(performance_b[~overlap_b])
    return EntryNumbers(
        n_a=len(performance_a),
        n_b=len(performance_b),
        compared=len(w1),
        mean_w1=mean_w1,
        relative_w1=mean_w1 / mean_performance_a if mean_w1 is not None and mean_performance_a else None,
        median_w1=float(np.median(w1)) if any_compared else None,
        max_w1=float(w1.max()) if any_compared else None,
        weighted_w1=float((w1 * batch[:, 0]).sum() / batch[:, 0].sum()) if any_compared else None,
        w1_quantiles={str(q): float(np.quantile(w1, q)) if any_compared else None for q in QUANTILES},
        mean_abs_mean_diff=_mean(np.abs(difference)),
        overlap_a=float(overlap_a.mean()) if len(overlap_a) else None,
        overlap_b=float(overlap_b.mean()) if len(overlap_b) else None,
        n_overlap_a=int(overlap_a.sum()),
        n_overlap_b=int(overlap_b.sum()),
        mean_batch_a=_mean(batch[:, 0].astype(np.float64)),
        mean_batch_b=_mean(batch[:, 1].astype(np.float64)),
        mean_performance_a=mean_performance_a,
        mean_performance_b=_mean(np.concatenate([part.performance_b for part in in_both])),
        mean_performance_outside_a=outside_a[0],
        std_performance_outside_a=outside_a[1],
        mean_performance_outside_b=outside_b[0],
        std_performance_outside_b=outside_b[1],
        verdict=Verdict.NOT_TESTED if any_compared else Verdict.NO_OVERLAP,
    )


def _outside(performance: FloatArray) -> tuple[float | None, float | None]:
    return _mean(performance), float(performance.std()) if len(performance) else None


def _mean(values: FloatArray) -> float | None:
    return float(values.mean()) if len(values) else None


_SIDES = ("false_positives_a", "map50_a", "map50_95_a", "false_positives_b", "map50_b", "map50_95_b")
_POINTWISE = ("pointwise_pairs", "pointwise_mean_difference")
_STUDY = ("p_study", "verdict_study")
_CODES = (
    ("verdict", Verdict),
    ("verdict_study", Verdict),
    ("verdict_reason", Reason),
    ("verdict_below", Verdict),
    ("verdict_above", Verdict),
    ("scope", Scope),
)
_GROUPS = (
    ("false_positives_a", _SIDES),
    ("recall_a", ("recall_a", "recall_b")),
    ("pointwise_pairs", _POINTWISE),
    ("verdict_study", _STUDY),
)
"""Fields that a file has only where the first one is known."""


@dataclass(frozen=True)
class EntryNumbers:
    """The numbers of an entry; None where undefined, and where they were not computed.

    Attributes:
        n_a, n_b: contexts (objects) of A and B.
        compared: contexts of A that have similar ones in B: the length of the W1 list.
        mean_w1: the paper's metric (arXiv 2208.01022, Algorithm 1).
        relative_w1: mean W1 over the mean performance in A.
        noise ... verdict_reason: see `Certainty`.
        false_positives_a ... map50_95_b: of a whole set's predictions; not in a sweep.
        recall_a, recall_b: share of the objects that are found, by predictions that count.
        p_study, verdict_study: corrected for all comparisons of a study; of many sets alone.
    """

    n_a: int = 0
    n_b: int = 0
    compared: int = 0
    mean_w1: float | None = None
    relative_w1: float | None = None
    median_w1: float | None = None
    max_w1: float | None = None
    weighted_w1: float | None = None
    w1_quantiles: Mapping[str, float | None] = field(default_factory=dict)
    mean_abs_mean_diff: float | None = None
    overlap_a: float | None = None
    overlap_b: float | None = None
    n_overlap_a: int = 0
    n_overlap_b: int = 0
    mean_batch_a: float | None = None
    mean_batch_b: float | None = None
    mean_performance_a: float | None = None
    mean_performance_b: float | None = None
    mean_performance_outside_a: float | None = None
    std_performance_outside_a: float | None = None
    mean_performance_outside_b: float | None = None
    std_performance_outside_b: float | None = None
    noise: float | None = None
    noise_q95: float | None = None
    gap: float | None = None
    gap_low: float | None = None
    gap_high: float | None = None
    detectable_gap: float | None = None
    gap_share: float | None = None
    gap_size: float | None = None
    adjusted_w1: float | None = None
    p_value: float | None = None
    p_adjusted: float | None = None
    draws: int = 0
    drawn_share: float | None = None
    units_a: int = 0
    units_b: int = 0
    margin: float = MARGIN
    verdict: Verdict = Verdict.NOT_TESTED
    verdict_reason: Reason = Reason.NONE
    verdict_below: Verdict | None = None
    verdict_above: Verdict | None = None
    scope: Scope = Scope.UNKNOWN
    false_positives_a: int | None = None
    map50_a: float | None = None
    map50_95_a: float | None = None
    false_positives_b: int | None = None
    map50_b: float | None = None
    map50_95_b: float | None = None
    recall_a: float | None = None
    recall_b: float | None = None
    pointwise_pairs: int | None = None
    pointwise_mean_difference: float | None = None
    p_study: float | None = None
    verdict_study: Verdict | None = None

    def __post_init__(self) -> None:
        """Take a verdict's code, as files hold it, for the verdict."""
        object.__setattr__(self, "verdict", Verdict(self.verdict))

    @classmethod
    def from_json(cls, content: JsonMapping) -> EntryNumbers:
        """Read an entry of a result file.

        Args:
            content: by field; what is missing or null, as in results of earlier versions, is undefined. Further fields
                are left out.
        """
        known = {row.name: content[row.name] for row in fields(cls) if content.get(row.name) is not None}
        for name, kind in _CODES:
            if name in known:
                known[name] = kind(known[name])
        return cls(**known)

    def to_json(self) -> dict[str, object]:
        """An entry of a result file: flat, without what was not computed."""
        left_out = {name for first, group in _GROUPS if getattr(self, first) is None for name in group}
        left_out |= set() if self.scope else {"scope"}
        return {row.name: getattr(self, row.name) for row in fields(self) if row.name not in left_out} | {
            "w1_quantiles": dict(self.w1_quantiles)
        }

    def judged(self, certainty: Certainty) -> EntryNumbers:
        """The same numbers with a certainty beside them."""
        return replace(self, **vars(certainty))

    def number(self, name: str) -> float | None:
        """A number by its name, for tables and figures that list fields; None where undefined."""
        value = getattr(self, name)
        return None if value is None else float(value)

    @property
    def failing_side(self) -> str:
        """The set, "A" or "B", in which alone the detector finds next to nothing; empty where there is none."""
        return failing_side((self.map50_a, self.recall_a), (self.map50_b, self.recall_b))

    @property
    def tested_w1(self) -> float | None:
        """The W1 that noise, gap, p and verdict are of: the adjusted one where objects are unlike."""
        return self.mean_w1 if self.adjusted_w1 is None else self.adjusted_w1

    @property
    def shown_gap(self) -> float | None:
        """The gap that would have been shown in about 80 of 100 cases; None where nothing was tested."""
        return None if self.p_adjusted is None else self.detectable_gap

    @property
    def lacks_gap(self) -> bool:
        """Whether it was judged, but without an estimate of the gap: results of earlier versions have none."""
        judged = self.verdict not in (Verdict.NOT_TESTED, Verdict.NO_OVERLAP)
        return self.gap is None and judged and not self.draws


@dataclass(frozen=True)
class Control:
    """What the judge says between random halves of one set, where there is nothing to find.

    Attributes:
        entry: all classes together, of the split with the median p.
        splits: in how many ways the set was halved.
        gaps: of how many of them a gap was said.
    """

    entry: EntryNumbers
    splits: int
    gaps: int

    @classmethod
    def from_json(cls, content: JsonMapping) -> Control:
        """Read the control of a result file."""
        return cls(EntryNumbers.from_json(content["entry"]), int(content["splits"]), int(content["gaps"]))

    def to_json(self) -> dict[str, object]:
        """The fields of a result file."""
        return {"entry": self.entry.to_json(), "splits": self.splits, "gaps": self.gaps}


@dataclass(frozen=True)
class ComparisonNumbers:
    """The numbers of a comparison.

    Attributes:
        confusion: of each set, see docs/reference/results.md; None where it was not counted.
        control: by "a" and "b", that of each set; empty where nothing was drawn.
        measures: what else the detector does; empty where that was not judged.
    """

    by_class: Mapping[str, EntryNumbers]
    overall: EntryNumbers
    confusion: Mapping[str, Mapping[str, Mapping[str, int]]] | None = None
    control: Mapping[str, Control] = field(default_factory=dict)
    measures: tuple[DetectorMeasure, ...] = ()

    @classmethod
    def from_json(cls, content: JsonMapping) -> ComparisonNumbers:
        """Read the numbers of a result file."""
        by_class = {key: EntryNumbers.from_json(entry) for key, entry in content["by_class"].items()}
        control = {side: Control.from_json(found) for side, found in (content.get("control") or {}).items()}
        measures = tuple(DetectorMeasure.from_json(*item) for item in (content.get("measures") or {}).items())
        overall = EntryNumbers.from_json(content["overall"])
        return cls(by_class, overall, content.get("confusion"), control, measures)

    def to_json(self) -> dict[str, object]:
        """The fields of a result file."""
        content = {
            "by_class": {key: entry.to_json() for key, entry in self.by_class.items()},
            "overall": self.overall.to_json(),
        }
        if self.control:
            content["control"] = {side: found.to_json() for side, found in self.control.items()}
        if self.measures:
            content["measures"] = {measure.measure.value: measure.to_json() for measure in self.measures}
        return content if self.confusion is None else content | {"confusion": dict(self.confusion)}

    @property
    def verdict(self) -> Verdict:
        """The worst of all that was judged: performance over all classes together, and what else the detector does."""
        return worst_verdict(self.overall.verdict, *(measure.verdict for measure in self.measures))

    @property
    def entries(self) -> Sequence[tuple[str | None, EntryNumbers]]:
        """Class by class with its id, then all together with None."""
        return [*self.by_class.items(), (None, self.overall)]
