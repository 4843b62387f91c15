"""The result of a comparison of many sets, sets.json and sets.csv (docs/reference/results.md), and what it says."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Annotated

import numpy as np
from pydantic import Field

from simjudge.core.errors import Losses, SimjudgeError, UsageError
from simjudge.core.field_types import Choice, Text
from simjudge.core.files import atomic_folder
from simjudge.core.text import JsonMapping
from simjudge.method.entry_numbers import ComparisonNumbers
from simjudge.method.verdicts import GAPS, MARGIN, Verdict
from simjudge.results.context_table import OVERALL
from simjudge.results.result_fields import ClassKey, EntryFields, InputFields, OpenFields, ParameterFields, read_checked
from simjudge.results.result_header import ComparedSet, ResultParameters
from simjudge.results.saved_result import (
    EXAMPLES,
    NO,
    SETS,
    SETS_TABLE,
    UNDECIDED,
    YES,
    Result,
    ResultEntry,
    StudyFinding,
    atomic_result,
    load_result,
    result_entries,
    write_findings,
    write_json,
    write_rows,
)


class StudyEntryFields(EntryFields):
    """The numbers of one class, or of all together, of one comparison among several."""

    verdict_study: Annotated[str, Choice(*Verdict)]


class SetsComparisonFields(OpenFields):
    """One comparison: how well B predicts A, as a net sees it."""

    a: Annotated[str, Text("the name of a set")]
    b: Annotated[str, Text("the name of a set")]
    net: Annotated[str, Text("the name of a net")]
    kind: Annotated[str, Choice("real-real", "real-sim", "sim-sim")]
    paired: bool
    by_class: dict[Annotated[str, ClassKey()], StudyEntryFields]
    overall: StudyEntryFields


class NamedSetFields(OpenFields):
    """A set of the study."""

    domain: Annotated[str, Choice("real", "sim")]
    nets: dict[str, InputFields]


class ExampleFields(OpenFields):
    """A comparison that is saved as a result of its own, with contexts and gallery."""

    folder: Annotated[str, Text("the name of a folder")]
    a: Annotated[str, Text("the name of a set")]
    b: Annotated[str, Text("the name of a set")]
    net: Annotated[str, Text("the name of a net")]


class ManySetsFile(OpenFields):
    """A sets.json."""

    parameters: ParameterFields
    sets: dict[str, NamedSetFields]
    class_names: dict[Annotated[str, ClassKey()], str] = Field(default_factory=dict)
    comparisons: Annotated[list[SetsComparisonFields], Field(min_length=1)]
    examples: list[ExampleFields] = Field(default_factory=list)
    losses: list[str] = Field(default_factory=list)


@dataclass(frozen=True)
class Example:
    """A comparison that is saved as a result of its own, with contexts and gallery."""

    folder: Path
    a: str  # a, b: names of the predicted and of the predicting set
    b: str
    net: str


@dataclass(frozen=True)
class SetsComparison:
    """How well one set predicts another one, as a net sees them."""

    a: str
    b: str
    net: str
    kind: str  # "real-real", "real-sim" (whatever the direction) or "sim-sim"
    paired: bool  # frames of A and B are pairs; the entries then have `pointwise_mean_difference`
    overall: ResultEntry
    classes: tuple[ResultEntry, ...]  # one entry a class, by class id

    @property
    def entries(self) -> tuple[ResultEntry, ...]:
        """All classes together first, then class by class."""
        return (self.overall, *self.classes)


@dataclass(frozen=True)
class NamedSet:
    """A set of the study."""

    domain: str  # "real" or "sim"
    nets: Mapping[str, ComparedSet]  # the set with what each net found in it

    @classmethod
    def from_json(cls, content: JsonMapping) -> NamedSet:
        """Read an entry of `sets`."""
        return cls(str(content["domain"]), {net: ComparedSet.from_json(held) for net, held in content["nets"].items()})


@dataclass(frozen=True)
class ManySetsResult:
    """A comparison of many sets."""

    content: JsonMapping  # everything, as in the file
    parameters: ResultParameters
    about: Mapping[str, NamedSet]  # by name of the set
    comparisons: tuple[SetsComparison, ...]  # in the order in which they were asked for
    losses: tuple[str, ...]  # what was left out, a line a kind
    # comparisons that are saved beside it as results of their own; a result that was not loaded has none
    examples: tuple[Example, ...] = ()
    name: str = ""  # of its folder

    @property
    def sets(self) -> tuple[str, ...]:
        """Names of the sets."""
        return tuple(self.about)

    @property
    def nets(self) -> tuple[str, ...]:
        """Names of the nets, in order of appearance."""
        return tuple(dict.fromkeys(comparison.net for comparison in self.comparisons))

    def domain(self, name: str) -> str:
        """Whether a set is "real" or "sim"."""
        return self.about[name].domain

    def find(self, a: str, b: str, net: str) -> SetsComparison:
        """One comparison."""
        for comparison in self.comparisons:
            if (comparison.a, comparison.b, comparison.net) == (a, b, net):
                return comparison
        raise SimjudgeError(f"{a} predicted by {b}, net {net}: no such comparison in this result")

    def rows(self) -> Iterator[dict[str, object]]:
        """The rows of sets.csv: one a comparison and class, all classes together first."""
        for comparison in self.comparisons:
            head = {
                "a": comparison.a,
                "b": comparison.b,
                "net": comparison.net,
                "kind": comparison.kind,
                "paired": comparison.paired,
            }
            for entry in comparison.entries:
                class_id = "" if entry.key == OVERALL else entry.key
                yield {**head, "class": entry.label, "class_id": class_id, **table_numbers(entry)}


def table_numbers(entry: ResultEntry) -> dict[str, object]:
    """The numbers of an entry as columns of a table."""
    return {key: value for key, value in entry.numbers.to_json().items() if not isinstance(value, Mapping)}


def study_verdict(entry: ResultEntry) -> Verdict:
    """The verdict that is corrected for the study."""
    return entry.numbers.verdict_study or entry.verdict


def many_sets_from_content(content: JsonMapping, losses: Losses | Sequence[str] = ()) -> ManySetsResult:
    """The result that the content of a sets.json says."""
    comparisons = []
    for comparison in content["comparisons"]:
        overall, *classes = result_entries(ComparisonNumbers.from_json(comparison), content.get("class_names") or {})
        names = (comparison["a"], comparison["b"], comparison["net"], comparison["kind"])
        comparisons.append(SetsComparison(*names, comparison["paired"], overall, tuple(classes)))
    lines = losses.lines() if isinstance(losses, Losses) else losses
    about = {name: NamedSet.from_json(held) for name, held in content["sets"].items()}
    parameters = ResultParameters.from_json(content["parameters"])
    return ManySetsResult(content, parameters, about, tuple(comparisons), tuple(lines))


def save_many_sets(
    content: Mapping[str, object], out: Path, examples: Mapping[str, Callable[[Path], None]] | None = None
) -> None:
    """Write sets.json, sets.csv and the examples; the folder appears whole or not at all."""
    rows = many_sets_from_content(content).rows()
    with atomic_result(out) as folder:
        for name, save in (examples or {}).items():
            (folder / EXAMPLES).mkdir(exist_ok=True)
            save(folder / EXAMPLES / name)
        write_json(folder / SETS, dict(content))
        write_rows(folder / SETS_TABLE, rows)


def load_many_sets(folder: str | Path) -> ManySetsResult:
    """Read the result of a comparison of many sets."""
    path = Path(folder) / SETS
    if not path.is_file():
        raise SimjudgeError(f"{folder}: holds no {SETS}; give a folder that a comparison of many sets was saved in")
    content = read_checked(path, ManySetsFile, "comparison of many sets")
    own = Path(folder) / EXAMPLES
    examples = [
        Example(own / Path(example["folder"]).name, example["a"], example["b"], example["net"])
        for example in content.get("examples", [])
    ]
    result = many_sets_from_content(content, content.get("losses", []))
    return replace(result, examples=tuple(example for example in examples if example.folder.is_dir()))


KINDS = ("sim-sim", "real-real", "real-sim")
"""Pairs of sets, in the order in which the source found W1 to grow for a net of the simulation."""
_HOME = (0.7, 0.95)
"""Mean IoU at home that counts as about 0.8."""
_ALIKE = 0.05
"""Differences of W1 up to here are none that matter: the default margin."""
_BLIND = MARGIN
"""Mean performance below which a net finds next to nothing: no W1 of it could be as large as the margin."""
_HARDLY = 0.2
"""Share of its mean by which W1 may move along a sweep and still hardly move."""
_LITTLE_OVERLAP = 0.2
"""O_A below which the source says that little can be said."""


@dataclass(frozen=True)
class StudiedNets:
    """The names of the two nets in a result."""

    sim: str
    real: str  # trained on reality, or on what stands in for it, alone


def find_sets(
    compared: str | Path, out: str | Path, *, study: str, net_sim: str = "net_sim", net_real: str = "net_real"
) -> Sequence[StudyFinding]:
    """Say what a comparison of many sets has shown, and write it."""
    if study not in {*_STUDIES, "sweep"}:
        raise UsageError(f"study {study}: one of {', '.join([*_STUDIES, 'sweep'])} is needed")
    if study == "sweep":
        found = list(sweep_findings(load_result(Path(compared))))
    else:
        found = list(_STUDIES[study](load_many_sets(compared), StudiedNets(net_sim, net_real)))
    with atomic_folder(Path(out), overwrite=True) as folder:
        write_findings(found, folder)
    return found


def two_nets_findings(result: ManySetsResult, nets: StudiedNets) -> Iterator[StudyFinding]:
    """The findings of a real and a simulated set, seen by both nets."""
    real, sim = (_only(result, domain) for domain in ("real", "sim"))
    of_sim, of_real = (result.find(real, sim, net).overall for net in (nets.sim, nets.real))
    blind = "".join(_blind_note(result, net) for net in (nets.sim, nets.real))
    yield StudyFinding(
        "gap of both nets",
        "W1 of Net_real is far below that of Net_sim",
        f"W1 {_w1(of_real)} of Net_real, {_w1(of_sim)} of Net_sim{blind}",
        UNDECIDED if blind else _less(of_real, of_sim),
        {"net_real": of_real.numbers.mean_w1, "net_sim": of_sim.numbers.mean_w1},
    )
    homes = {"Net_sim": of_sim.numbers.mean_performance_b, "Net_real": of_real.numbers.mean_performance_a}
    yield StudyFinding(
        "performance at home",
        "mean IoU about 0.8 for both nets",
        ", ".join(f"{name} {_text(value)}" for name, value in homes.items()),
        _all_hold([None if value is None else _HOME[0] <= value <= _HOME[1] for value in homes.values()]),
        homes,
    )
    away = {"Net_sim": of_sim.numbers.mean_performance_a, "Net_real": of_real.numbers.mean_performance_b}
    drop = {name: _difference(homes[name], away[name]) for name in homes}
    yield StudyFinding(
        "performance away from home",
        "Net_sim loses much on real pictures, Net_real little on simulated ones",
        ", ".join(f"{name} {_text(homes[name])} to {_text(away[name])}" for name in homes) + blind,
        UNDECIDED if blind else _ordered([drop["Net_real"], drop["Net_sim"]]),
        drop,
    )


def splits_findings(result: ManySetsResult, nets: StudiedNets) -> Iterator[StudyFinding]:
    """The findings of three parts of a real and of a simulated set, each against each."""
    w1 = _mean_by_kind(result, nets.sim, "mean_w1")
    source = "sim-sim lowest, real-real low, real-sim clearly above both"
    yield _w1_finding(result, nets.sim, "Net_sim, by kind of pair", source, _ordered(list(w1.values())))
    overlap = _mean_by_kind(result, nets.sim, "overlap_a", paired=False)
    agrees = _ordered([overlap["real-sim"], _mean([overlap["sim-sim"], overlap["real-real"]])])
    here = ", ".join(f"{kind} {_text(share)}" for kind, share in overlap.items())
    yield StudyFinding("overlap, without twins", "O_A about 0.6 within a domain, 0.5 across", here, agrees, overlap)
    yield _alike_finding(result, nets.real)


def all_findings(result: ManySetsResult, nets: StudiedNets) -> Iterator[StudyFinding]:
    """The findings of two real and two simulated places, each against each."""
    w1 = _mean_by_kind(result, nets.sim, "mean_w1")
    source = "sim-sim of the two places small, real-real of the two places larger"
    agrees = _ordered([w1["sim-sim"], w1["real-real"]])
    yield _w1_finding(result, nets.sim, "Net_sim, by kind of pair", source, agrees)
    shares = [comparison.overall.numbers.overlap_a for comparison in result.comparisons if comparison.net == nets.sim]
    known = [share for share in shares if share is not None]
    little = sum(share < _LITTLE_OVERLAP for share in known)
    yield StudyFinding(
        "overlap of unlike places",
        f"overlap below {_LITTLE_OVERLAP} where contexts differ: little can be said",
        f"{little} of {len(known)} pairs below {_LITTLE_OVERLAP}; lowest {_text(min(known, default=None))}",
        YES if little else NO if known else UNDECIDED,
        {"pairs_below": float(little), "pairs": float(len(known))},
    )


def pointwise_findings(result: ManySetsResult, nets: StudiedNets) -> Iterator[StudyFinding]:
    """The findings of simulated twins, seen by the net of the simulation: objects one by one, beside contexts."""
    twins = [
        comparison
        for comparison in result.comparisons
        if comparison.paired and comparison.kind == "sim-sim" and comparison.net == nets.sim
    ]
    if not twins:
        raise SimjudgeError(f"{nets.sim} has seen no two simulated sets that are twins: name them in pairs and twins")
    for comparison in twins:
        rows = {
            entry.label: (entry.numbers.pointwise_mean_difference, entry.numbers.mean_w1)
            for entry in comparison.classes
        }
        noise = {entry.label: entry.numbers.noise for entry in comparison.classes}
        yield StudyFinding(
            f"{comparison.a} by {comparison.b}, {comparison.net}",
            "the pointwise difference is above W1 for both classes",
            ", ".join(
                f"{label} {_text(point)} and W1 {_text(w1)} (noise {_text(noise[label])})"
                for label, (point, w1) in rows.items()
            ),
            _all_hold([None if point is None or w1 is None else point > w1 for point, w1 in rows.values()]),
            {
                f"{label}_{name}": value
                for label, row in rows.items()
                for name, value in zip(("pointwise", "w1"), row, strict=True)
            },
        )


def sweep_findings(result: Result) -> Iterator[StudyFinding]:
    """The findings of a sweep along theta and patch size."""
    if not result.curves:
        raise SimjudgeError(f"{result.folder}: holds no sweep")
    points = [((curve.theta, float(curve.patch[0])), curve.entries[0]) for curve in result.curves]
    for name, along in (("theta", _along(points, 0)), ("patch", _along(points, 1))):
        shares = [entry.numbers.overlap_a for _, entry in along]
        yield StudyFinding(
            f"overlap along {name}",
            f"O_A and batches fall with {name}",
            f"O_A {_text(shares[0])} at {along[0][0]:g} to {_text(shares[-1])} at {along[-1][0]:g}",
            _ordered(shares[::-1], strict=False),
            {f"{at:g}": share for (at, _), share in zip(along, shares, strict=True)},
        )
        distances = {f"{at:g}": entry.numbers.mean_w1 for at, entry in along}
        noise = {f"noise_{at:g}": entry.numbers.noise for at, entry in along}
        known = [value for value in distances.values() if value is not None]
        moved = max(known, default=0.0) - min(known, default=0.0)
        yield StudyFinding(
            f"W1 along {name}",
            "W1 hardly moves",
            f"W1 {_w1(along[0][1])} to {_w1(along[-1][1])}, largest less smallest {moved:.3f}",
            UNDECIDED if len(known) < 2 else YES if moved <= max(_ALIKE, _HARDLY * float(np.mean(known))) else NO,
            distances | noise,
        )


def _along(points: Sequence[tuple[tuple[float, float], ResultEntry]], axis: int) -> list[tuple[float, ResultEntry]]:
    """The points along theta (axis 0) or the patch size (1), at the value of the other that most points have."""
    others = [at[1 - axis] for at, _ in points]
    usual = max(others, key=others.count)
    return sorted(((at[axis], entry) for at, entry in points if at[1 - axis] == usual), key=lambda point: point[0])


def _alike_finding(result: ManySetsResult, net: str) -> StudyFinding:
    w1 = _mean_by_kind(result, net, "mean_w1")
    known = [value for value in w1.values() if value is not None]
    gaps = sum(study_verdict(comparison.overall) in GAPS for comparison in result.comparisons if comparison.net == net)
    apart = max(known, default=0.0) - min(known, default=0.0)
    agrees = UNDECIDED if len(known) < len(w1) else YES if apart <= _ALIKE else NO
    note = f"; {gaps} pairs with a gap"
    return _w1_finding(result, net, "Net_real, by kind of pair", "all alike and low", agrees, note)


def _w1_finding(result: ManySetsResult, net: str, name: str, source: str, agrees: str, note: str = "") -> StudyFinding:
    """A finding about mean W1 of the kinds of pairs, each with its noise; open where the net finds nothing."""
    w1, noise = (_mean_by_kind(result, net, field) for field in ("mean_w1", "noise"))
    here = ", ".join(f"{kind} {_text(value)} (noise {_text(noise[kind])})" for kind, value in w1.items())
    blind = _blind_note(result, net)
    numbers = w1 | {f"noise_{kind}": value for kind, value in noise.items()}
    return StudyFinding(name, source, f"{here}{note}{blind}", UNDECIDED if blind else agrees, numbers)


def _blind_note(result: ManySetsResult, net: str) -> str:
    """Words that a net finds next to nothing in any set; empty where it finds more, or where this is not known."""
    known = [
        value
        for comparison in result.comparisons
        if comparison.net == net
        for side in ("a", "b")
        if (value := comparison.overall.numbers.number(f"mean_performance_{side}")) is not None
    ]
    if not known or max(known) >= _BLIND:
        return ""
    return f"; {net} finds next to nothing (mean performance {max(known):.3f} at best)"


_STUDIES: Mapping[str, Callable[[ManySetsResult, StudiedNets], Iterator[StudyFinding]]] = {
    "two_nets": two_nets_findings,
    "splits": splits_findings,
    "all_vs_all": all_findings,
    "pointwise": pointwise_findings,
}


def _only(result: ManySetsResult, domain: str) -> str:
    names = [name for name in result.sets if result.domain(name) == domain]
    if len(names) != 1:
        raise SimjudgeError(f"one {domain} set is needed, not {len(names)}")
    return names[0]


def _mean_by_kind(result: ManySetsResult, net: str, field: str, *, paired: bool = True) -> dict[str, float | None]:
    """The mean over all pairs of a kind, one net and all classes together; with or without pairs of twins."""
    chosen = [
        comparison for comparison in result.comparisons if comparison.net == net and (paired or not comparison.paired)
    ]
    return {
        kind: _mean([choice.overall.numbers.number(field) for choice in chosen if choice.kind == kind])
        for kind in KINDS
    }


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else None


def _difference(a: float | None, b: float | None) -> float | None:
    return None if a is None or b is None else a - b


def _all_hold(each: Sequence[bool | None]) -> str:
    """Whether all of something holds: one that does not denies it, else one that is not known leaves it open."""
    if False in each:
        return NO
    return UNDECIDED if None in each or not each else YES


def _ordered(values: Sequence[float | None], *, strict: bool = True) -> str:
    """Whether values grow."""
    known = [value for value in values if value is not None]
    if len(known) < len(values):
        return UNDECIDED
    return YES if all(a < b if strict else a <= b for a, b in pairwise(known)) else NO


def _less(small: ResultEntry, large: ResultEntry) -> str:
    """Whether one gap is surely smaller: intervals that overlap decide nothing."""
    low_a, high_a = small.numbers.gap_low, small.numbers.gap_high
    low_b, high_b = large.numbers.gap_low, large.numbers.gap_high
    if low_a is None or high_a is None or low_b is None or high_b is None:
        return UNDECIDED
    return YES if high_a < low_b else NO if high_b < low_a else UNDECIDED


def _w1(entry: ResultEntry) -> str:
    return f"{_text(entry.numbers.mean_w1)} (noise {_text(entry.numbers.noise)})"


def _text(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"
