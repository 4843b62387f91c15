"""What comparisons of many sets say beside the papers' findings: results made by hand, with known answers."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path

import pytest
from many_sets_results import write_many_sets

from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.method.entry_numbers import EntryNumbers
from simjudge.questions.many_sets import sets_findings
from simjudge.questions.many_sets.result import ManySetsResult, NamedSet, SetsComparison
from simjudge.questions.many_sets.sets_findings import (
    StudiedNets,
    all_findings,
    find_sets,
    pointwise_findings,
    splits_findings,
    sweep_findings,
    two_nets_findings,
)
from simjudge.results.result_header import ResultParameters
from simjudge.results.saved_result import FINDINGS, NO, UNDECIDED, YES, Curve, Result, ResultEntry

NETS = StudiedNets("net_sim", "net_real")


def entry(w1, label="all classes", low=None, high=None, **fields):
    numbers = {
        "mean_w1": w1,
        "noise": 0.02,
        "gap_low": low,
        "gap_high": high,
        "overlap_a": 0.6,
        "mean_performance_a": 0.8,
        "mean_performance_b": 0.8,
        "verdict_study": "cannot_tell",
    }
    return ResultEntry("overall", label, EntryNumbers.from_json(numbers | fields))


def result(domains, numbers, classes=(), *, paired=False):
    """A result whose comparisons have the entries of `numbers`, by (kind, net)."""
    made = []
    for a, b in permutations(domains, 2):
        kind = "-".join(sorted((domains[a], domains[b])))
        made += [
            SetsComparison(a, b, net, kind, paired, numbers[kind, net], tuple(classes))
            for net in ("net_sim", "net_real")
        ]
    about = {name: NamedSet(domain, {}) for name, domain in domains.items()}
    return ManySetsResult({}, ResultParameters.from_json({}), about, tuple(made), ())


def agreed(found):
    return [each.agrees for each in found]


def test_two_nets_as_the_source_has_it():
    numbers = {
        ("real-sim", "net_sim"): entry(0.4, low=0.3, high=0.5, mean_performance_a=0.4, mean_performance_b=0.82),
        ("real-sim", "net_real"): entry(0.05, low=0.0, high=0.06, mean_performance_a=0.8, mean_performance_b=0.75),
    }
    found = list(two_nets_findings(result({"r": "real", "s": "sim"}, numbers), NETS))
    assert agreed(found) == [YES, YES, YES]
    assert "0.050" in found[0].here
    assert found[2].numbers == pytest.approx({"Net_sim": 0.42, "Net_real": 0.05})


def test_two_nets_decide_nothing_where_their_intervals_overlap_and_deny_where_it_is_the_other_way():
    apart = entry(0.4, low=0.3, high=0.5, mean_performance_b=0.5)
    near = entry(0.3, low=0.2, high=0.35)
    assert agreed(
        two_nets_findings(
            result({"r": "real", "s": "sim"}, {("real-sim", "net_sim"): apart, ("real-sim", "net_real"): near}), NETS
        )
    )[:2] == [UNDECIDED, NO]
    unknown = {("real-sim", "net_sim"): entry(0.4), ("real-sim", "net_real"): entry(0.1, mean_performance_a=None)}
    found = list(two_nets_findings(result({"r": "real", "s": "sim"}, unknown), NETS))
    assert found[1].agrees == UNDECIDED, "one is as expected, the other is not known"
    low = entry(0.1, low=0.05, high=0.12)
    high = entry(0.4, low=0.3, high=0.5)
    assert (
        agreed(
            two_nets_findings(
                result({"r": "real", "s": "sim"}, {("real-sim", "net_sim"): low, ("real-sim", "net_real"): high}), NETS
            )
        )[0]
        == NO
    )


def test_a_net_that_finds_nothing_agrees_with_nothing():
    """No W1 of it can be large, and it cannot lose much: that is no finding about the simulation."""
    blind = {"mean_performance_a": 0.19, "map50_a": 0.0, "map50_b": 0.002, "recall_a": 0.3, "recall_b": 0.02}
    numbers = {
        ("real-sim", "net_sim"): entry(0.4, low=0.3, high=0.5, mean_performance_a=0.4, map50_a=0.4),
        ("real-sim", "net_real"): entry(0.01, low=0.0, high=0.02, **blind),
    }
    found = list(two_nets_findings(result({"r": "real", "s": "sim"}, numbers), NETS))
    assert agreed(found) == [UNDECIDED, NO, UNDECIDED]
    assert "net_real finds next to nothing (mAP50 0.002, recall 0.300 at best)" in found[0].here
    numbers = {
        (kind, net): entry(0.01, **(blind if net == "net_real" else {}))
        for kind in ("sim-sim", "real-real", "real-sim")
        for net in ("net_sim", "net_real")
    }
    assert agreed(splits_findings(result(PARTS, numbers), NETS))[-1] == UNDECIDED


def test_w1_stands_beside_its_noise():
    numbers = {
        (kind, net): entry(0.03) for kind in ("sim-sim", "real-real", "real-sim") for net in ("net_sim", "net_real")
    }
    for findings in (splits_findings, all_findings):
        found = next(findings(result(PARTS, numbers), NETS))
        assert found.here.startswith("sim-sim 0.030 (noise 0.020), real-real 0.030 (noise 0.020)")
        assert found.numbers["noise_sim-sim"] == pytest.approx(0.02)


PARTS = {"R1": "real", "R2": "real", "S1": "sim", "S2": "sim"}


@pytest.mark.parametrize(
    ("gaps", "across", "within"),
    [
        ({"sim-sim": (0.0, 0.02), "real-real": (0.03, 0.06), "real-sim": (0.2, 0.3)}, YES, YES),
        ({"sim-sim": (0.03, 0.06), "real-real": (0.0, 0.02), "real-sim": (0.2, 0.3)}, YES, NO),
        ({"sim-sim": (0.0, 0.02), "real-real": (0.03, 0.06), "real-sim": (0.04, 0.08)}, NO, YES),
        ({"sim-sim": (0.0, 0.04), "real-real": (0.03, 0.06), "real-sim": (0.05, 0.3)}, UNDECIDED, UNDECIDED),
        ({"sim-sim": (None, None), "real-real": (0.0, 0.02), "real-sim": (0.2, 0.3)}, UNDECIDED, UNDECIDED),
    ],
)
def test_splits_order_the_kinds_of_pairs_by_their_gaps(gaps, across, within):
    numbers = {
        (kind, "net_sim"): entry(0.1, low=low, high=high, overlap_a=0.5 if kind == "real-sim" else 0.6)
        for kind, (low, high) in gaps.items()
    }
    numbers |= {(kind, "net_real"): entry(0.03, low=0.0, high=0.04) for kind in gaps}
    assert agreed(splits_findings(result(PARTS, numbers), NETS)) == [across, within, YES, YES]


@pytest.mark.parametrize(("across", "agrees"), [(0.5, YES), (0.56, NO), (0.6, NO)])
def test_domains_must_overlap_clearly_less_than_parts_of_one(across, agrees):
    numbers = {
        (kind, net): entry(0.03, overlap_a=across if kind == "real-sim" else 0.6)
        for kind in ("sim-sim", "real-real", "real-sim")
        for net in ("net_sim", "net_real")
    }
    assert agreed(splits_findings(result(PARTS, numbers), NETS))[2] == agrees


def test_a_real_net_whose_kinds_differ_is_not_alike():
    kinds = {"sim-sim": 0.02, "real-real": 0.05, "real-sim": 0.2}
    numbers = {
        (kind, net): entry(value, low=value - 0.02, high=value + 0.02, verdict_study="gap")
        for kind, value in kinds.items()
        for net in ("net_sim", "net_real")
    }
    last = list(splits_findings(result(PARTS, numbers), NETS))[-1]
    assert last.agrees == NO
    assert "12 pairs with a gap" in last.here


def test_all_against_all():
    kinds = {"sim-sim": 0.05, "real-real": 0.15, "real-sim": 0.3}
    numbers = {
        (kind, net): entry(value, low=value - 0.02, high=value + 0.02, overlap_a=0.1 if kind == "sim-sim" else 0.4)
        for kind, value in kinds.items()
        for net in ("net_sim", "net_real")
    }
    found = list(all_findings(result(PARTS, numbers), NETS))
    assert agreed(found) == [YES, YES, YES]
    assert found[1].here == "2 of 12 pairs below 0.2; lowest 0.100 (S1 by S2)"
    assert found[2].here.startswith("in 12 of 12 pairs; most: S1 by S2 90 %, S2 by S1 90 %, R1 by R2 60 %")
    green = entry(0.1, "green", overlap_a=0.12)
    assert "12 of 12 pairs below 0.2; lowest 0.120" in list(all_findings(result(PARTS, numbers, [green]), NETS))[1].here
    nothing = {key: entry(0.1, overlap_a=None) for key in numbers}
    assert agreed(all_findings(result(PARTS, nothing), NETS))[1:] == [UNDECIDED, UNDECIDED]
    same = {key: entry(0.1, overlap_a=1.0) for key in numbers}
    assert agreed(all_findings(result(PARTS, same), NETS))[1:] == [NO, NO]


def test_pointwise_is_above_w1_for_all_classes_or_not():
    red, green = (entry(0.1, name, pointwise_mean_difference=far) for name, far in (("red", 0.2), ("green", 0.05)))
    unknown = entry(0.1, "blue", pointwise_mean_difference=None)
    numbers = {("sim-sim", net): entry(0.1) for net in ("net_sim", "net_real")}
    sets = {"exact": "sim", "twin": "sim"}

    def found(classes):
        return agreed(pointwise_findings(result(sets, numbers, classes, paired=True), NETS))

    # Of net_sim alone, as the source has it; each direction is a comparison.
    assert found([red, red]) == [YES, YES]
    assert found([red, green]) == [NO, NO]
    assert found([red, unknown]) == [UNDECIDED, UNDECIDED]
    assert found([green, unknown]) == [NO, NO]


@pytest.mark.parametrize(("twin", "paired"), [("sim", False), ("real", True)])
def test_pointwise_needs_simulated_twins(twin, paired):
    sets = {"exact": "sim", "twin": twin}
    kind = "-".join(sorted(sets.values()))
    numbers = {(kind, net): entry(0.1) for net in ("net_sim", "net_real")}
    with pytest.raises(SimjudgeError, match="net_sim has seen no two simulated sets that are twins"):
        list(pointwise_findings(result(sets, numbers, [entry(0.1)], paired=paired), NETS))


def swept(shares, excess, batches=(9.0, 7.0, 5.0, 6.0, 4.0)):
    points = [(theta, (30, 30)) for theta in (0.5, 0.7, 0.8)] + [(0.8, (patch, patch)) for patch in (20, 40)]
    curves = [
        Curve(theta, patch, (entry(more, overlap_a=share, mean_batch_a=batch),))
        for (theta, patch), share, more, batch in zip(points, shares, excess, batches, strict=True)
    ]
    return Result("swept", Path("swept"), {}, None, (), None, tuple(curves))


def test_a_sweep_falls_along_both_axes_while_w1_stays():
    found = list(sweep_findings(swept((0.9, 0.7, 0.5, 0.6, 0.4), (0.10, 0.11, 0.12, 0.12, 0.10))))
    assert agreed(found) == [YES, YES, YES, YES]
    assert found[0].here == "O_A 0.900 at 0.5 to 0.500 at 0.8, batches 9.0 to 5.0"
    assert found[1].here == "W1 0.100 (noise 0.020) to 0.120 (noise 0.020), largest less smallest 0.020"
    assert found[2].here == "O_A 0.600 at 20 to 0.400 at 40, batches 6.0 to 4.0"
    found = list(sweep_findings(swept((0.5, 0.7, 0.9, 0.8, 0.95), (0.10, 0.11, 0.30, 0.12, 0.10))))
    assert agreed(found) == [NO, NO, NO, NO]
    growing = list(sweep_findings(swept((0.9, 0.7, 0.5, 0.6, 0.4), [0.1] * 5, (4.0, 4.5, 5.0, 6.0, 4.0))))
    assert agreed(growing) == [NO, YES, YES, YES], "batches grow along theta"


def test_every_part_is_named_beside_its_findings(tmp_path):
    write_many_sets(tmp_path / "all")
    found = find_sets({"all_vs_all": tmp_path / "all"}, tmp_path / "out", net_sim="Net_sim", net_real="Net_real")
    assert [each.name for each in found] == [
        "all_vs_all: Net_sim, within a domain",
        "all_vs_all: overlap of unlike places",
        "all_vs_all: contexts without overlap",
    ]
    assert (tmp_path / "out" / FINDINGS).is_file()


def test_a_sweep_is_named_with_its_net(tmp_path, monkeypatch):
    monkeypatch.setattr(sets_findings, "load_result", lambda _: swept((0.9, 0.7, 0.5, 0.6, 0.4), [0.1] * 5))
    found = find_sets({"sweep": {"net_sim": "a", "net_real": "b"}}, tmp_path / "out")
    assert [each.name for each in found][::4] == [
        "sweep of net_sim: overlap along theta",
        "sweep of net_real: overlap along theta",
    ]


def test_what_is_no_part_or_no_comparison_is_refused(tmp_path):
    with pytest.raises(UsageError, match=r"compared: split is no part of the study.*splits"):
        find_sets({"split": tmp_path}, tmp_path / "out")
    with pytest.raises(SimjudgeError, match=r"sets\.json"):
        find_sets({"splits": tmp_path}, tmp_path / "out")
    kinds = [(k, n) for k in ("real-real", "real-sim", "sim-sim") for n in ("net_sim", "net_real")]
    with pytest.raises(SimjudgeError, match="one real set is needed, not 2"):
        list(two_nets_findings(result(PARTS, dict.fromkeys(kinds, entry(0.1))), NETS))
