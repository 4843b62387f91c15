"""What the study of a lab and a hall has found, beside what arXiv 2208.01022 has found."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import numpy as np

from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.core.files import atomic_folder
from simjudge.core.text import nearest_name
from simjudge.method.verdicts import finds_nothing
from simjudge.questions.many_sets.result import ManySetsResult, SetsComparison, load_many_sets, study_verdict
from simjudge.results.saved_result import (
    FINDINGS_FOLDER,
    NO,
    UNDECIDED,
    YES,
    Result,
    ResultEntry,
    StudyFinding,
    load_result,
    write_findings,
)

KINDS = ("sim-sim", "real-real", "real-sim")
"""Pairs of sets, in the order in which the source found W1 to grow for a net of the simulation."""
_HOME = (0.7, 0.95)
"""Mean IoU at home that counts as about 0.8."""
_ALIKE = 0.05
"""Differences of W1 up to here are none that matter: the default margin."""
_HARDLY = 0.2
"""Share of its mean by which W1 may move along a sweep and still hardly move."""
_LITTLE_OVERLAP = 0.2
"""O_A below which the source says that little can be said."""
_CLEARLY_LESS = 0.05
"""O_A by which sets of two domains overlap less, at least, to agree with the source's 0.5 and 0.6."""
_NAMED = 4
"""Pairs of sets that a finding names, at most."""


@dataclass(frozen=True)
class StudiedNets:
    """The names of the two nets in a result."""

    sim: str
    real: str  # trained on reality, or on what stands in for it, alone


def find_sets(
    compared: Mapping[str, str | Path | Mapping[str, str | Path]],
    out: str | Path,
    *,
    net_sim: str = "net_sim",
    net_real: str = "net_real",
) -> Sequence[StudyFinding]:
    """Say what the parts of a study have shown, and write it.

    `compared` names the result of each part: two_nets, splits, all_vs_all, pointwise, sweep; of sweep one for each net.
    """
    nets, found = StudiedNets(net_sim, net_real), list[StudyFinding]()
    for part, results in compared.items():
        if part not in PARTS:
            raise UsageError(f"compared: {part} is no part of the study{nearest_name(part, PARTS)}")
        if isinstance(results, Mapping):
            paths = {f"{part} of {net}": Path(path) for net, path in results.items()}
        else:
            paths = {part: Path(results)}
        for name, path in paths.items():
            found += [replace(finding, name=f"{name}: {finding.name}") for finding in PARTS[part](path, nets)]
    with atomic_folder(Path(out), FINDINGS_FOLDER) as folder:
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
    source, agrees = "real-sim clearly above sim-sim and real-real", _clearly_above(_gaps(result, nets.sim))
    yield _w1_finding(result, nets.sim, "Net_sim, across domains", source, agrees)
    yield _within_finding(result, nets.sim, "sim-sim lowest, real-real low")
    overlap = _mean_by_kind(result, nets.sim, "overlap_a", paired=False)
    across = None if overlap["real-sim"] is None else overlap["real-sim"] + _CLEARLY_LESS
    agrees = _ordered([across, _mean([overlap["sim-sim"], overlap["real-real"]])])
    here = ", ".join(f"{kind} {_text(share)}" for kind, share in overlap.items())
    yield StudyFinding(
        "overlap, parts of unlike numbers", "O_A about 0.6 within a domain, 0.5 across", here, agrees, overlap
    )
    yield _alike_finding(result, nets.real)


def all_findings(result: ManySetsResult, nets: StudiedNets) -> Iterator[StudyFinding]:
    """The findings of two real and two simulated places, each against each."""
    yield _within_finding(result, nets.sim, "sim-sim of the two places small, real-real larger")
    of_net = [comparison for comparison in result.comparisons if comparison.net == nets.sim]
    shares = {
        f"{comparison.a} by {comparison.b}": share
        for comparison in of_net
        if (share := _least_overlap(comparison)) is not None
    }
    little = sum(share < _LITTLE_OVERLAP for share in shares.values())
    lowest = min(shares, key=lambda name: shares[name], default="")
    yield StudyFinding(
        "overlap of unlike places",
        f"overlap below {_LITTLE_OVERLAP} where contexts differ: little can be said",
        f"{little} of {len(shares)} pairs below {_LITTLE_OVERLAP}; lowest {_text(shares.get(lowest))}"
        + (f" ({lowest})" if lowest else ""),
        YES if little else NO if shares else UNDECIDED,
        {"pairs_below": float(little), "pairs": float(len(shares))},
    )
    alone = {name: 1 - share for name, share in shares.items()}
    most = sorted(alone, key=lambda name: -alone[name])
    yield StudyFinding(
        "contexts without overlap",
        "contexts of one set that the other never shows",
        f"in {sum(share > 0 for share in alone.values())} of {len(alone)} pairs; most: "
        + ", ".join(f"{name} {100 * alone[name]:.0f} %" for name in most[:_NAMED])
        if most
        else "-",
        UNDECIDED if not alone else YES if alone[most[0]] > 0 else NO,
        alone,
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
        shares, batches = (
            [entry.numbers.number(field) for _, entry in along] for field in ("overlap_a", "mean_batch_a")
        )
        falls = {_ordered(values[::-1], strict=False) for values in (shares, batches)}
        yield StudyFinding(
            f"overlap along {name}",
            f"O_A and batches fall with {name}",
            f"O_A {_text(shares[0])} at {along[0][0]:g} to {_text(shares[-1])} at {along[-1][0]:g}, "
            f"batches {_text(batches[0], 1)} to {_text(batches[-1], 1)}",
            next(answer for answer in (NO, UNDECIDED, YES) if answer in falls),
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
    """Whether the gaps of all kinds of pairs are one, up to what does not matter."""
    found = _gaps(result, net).values()
    known = [gap for gap in found if gap is not None]
    differ = sum(
        study_verdict(comparison.overall).differs for comparison in result.comparisons if comparison.net == net
    )
    agrees = UNDECIDED
    if known and len(known) == len(found):
        lows, highs = zip(*known, strict=True)
        agrees = YES if max(highs) - min(lows) <= _ALIKE else NO if max(lows) - min(highs) > _ALIKE else UNDECIDED
    note = f"; {differ} pairs with a gap"
    return _w1_finding(result, net, "Net_real, by kind of pair", "all alike and low", agrees, note)


def _within_finding(result: ManySetsResult, net: str, source: str) -> StudyFinding:
    """Whether real pairs differ more than simulated ones: by gaps, since chance alone orders W1."""
    gaps = _gaps(result, net)
    return _w1_finding(result, net, "Net_sim, within a domain", source, _below(gaps["sim-sim"], gaps["real-real"]))


def _gaps(result: ManySetsResult, net: str) -> dict[str, tuple[float, float] | None]:
    """The interval of the gap by kind of pair: the mean of the lower and of the upper ends."""
    low, high = (_mean_by_kind(result, net, field) for field in ("gap_low", "gap_high"))
    ends = {kind: (low[kind], high[kind]) for kind in KINDS}
    return {kind: None if a is None or b is None else (a, b) for kind, (a, b) in ends.items()}


def _below(small: tuple[float, float] | None, large: tuple[float, float] | None) -> str:
    """Whether one interval is below another: those that overlap decide nothing."""
    if small is None or large is None:
        return UNDECIDED
    return YES if small[1] < large[0] else NO if large[1] < small[0] else UNDECIDED


def _clearly_above(gaps: Mapping[str, tuple[float, float] | None]) -> str:
    """Whether the gap across domains is above those within; no, where it can be so by what does not matter at most."""
    across, within = gaps["real-sim"], [gaps["sim-sim"], gaps["real-real"]]
    known = [gap for gap in within if gap is not None]
    if across is None or len(known) < len(within):
        return UNDECIDED
    if across[0] > max(high for _, high in known):
        return YES
    return NO if across[1] - max(low for low, _ in known) <= _ALIKE else UNDECIDED


def _least_overlap(comparison: SetsComparison) -> float | None:
    """The least O_A of the classes, and of all together where no class has one."""
    known = [one.numbers.overlap_a for one in comparison.classes if one.numbers.overlap_a is not None]
    return min(known, default=comparison.overall.numbers.overlap_a)


def _w1_finding(result: ManySetsResult, net: str, name: str, source: str, agrees: str, note: str = "") -> StudyFinding:
    """A finding about mean W1 of the kinds of pairs, each with its noise; open where the net finds nothing."""
    w1, noise = (_mean_by_kind(result, net, field) for field in ("mean_w1", "noise"))
    gaps = {
        kind: "" if gap is None else f"; gap {gap[0]:.3f} to {gap[1]:.3f}" for kind, gap in _gaps(result, net).items()
    }
    here = ", ".join(f"{kind} {_text(value)} (noise {_text(noise[kind])}{gaps[kind]})" for kind, value in w1.items())
    blind = _blind_note(result, net)
    numbers = w1 | {f"noise_{kind}": value for kind, value in noise.items()}
    return StudyFinding(name, source, f"{here}{note}{blind}", UNDECIDED if blind else agrees, numbers)


def _blind_note(result: ManySetsResult, net: str) -> str:
    """Words that a net finds next to nothing in any set; empty where it finds more, or where this is not known."""
    overall = [comparison.overall.numbers for comparison in result.comparisons if comparison.net == net]
    sides = [(one.number(f"map50_{side}"), one.number(f"recall_{side}")) for one in overall for side in ("a", "b")]
    known = [side for side in sides if side != (None, None)]
    if not known or not all(finds_nothing(*side) for side in known):
        return ""
    best = [max((value for value in column if value is not None), default=None) for column in zip(*known, strict=True)]
    said = [f"{word} {value:.3f}" for word, value in zip(("mAP50", "recall"), best, strict=True) if value is not None]
    return f"; {net} finds next to nothing ({', '.join(said)} at best)"


def _of_sets(
    findings: Callable[[ManySetsResult, StudiedNets], Iterator[StudyFinding]],
) -> Callable[[Path, StudiedNets], Iterator[StudyFinding]]:
    return lambda path, nets: findings(load_many_sets(path), nets)


PARTS: Mapping[str, Callable[[Path, StudiedNets], Iterator[StudyFinding]]] = {
    "two_nets": _of_sets(two_nets_findings),
    "splits": _of_sets(splits_findings),
    "all_vs_all": _of_sets(all_findings),
    "pointwise": _of_sets(pointwise_findings),
    "sweep": lambda path, _: sweep_findings(load_result(path)),
}
"""The parts of the study, each with what says what a saved result of it has found."""


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
    """Whether one gap is surely smaller."""
    ends = [(one.numbers.gap_low, one.numbers.gap_high) for one in (small, large)]
    first, second = (None if low is None or high is None else (low, high) for low, high in ends)
    return _below(first, second)


def _w1(entry: ResultEntry) -> str:
    return f"{_text(entry.numbers.mean_w1)} (noise {_text(entry.numbers.noise)})"


def _text(value: float | None, digits: int = 3) -> str:
    return "-" if value is None else f"{value:.{digits}f}"
