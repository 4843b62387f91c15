"""The difference of a measure between two sets: against formulas, and what must not be judged."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy.stats import t

from simjudge.method.detector_measures import (
    FAMILIES,
    DetectorMeasure,
    MeasureCode,
    MeasuredSets,
    SideEstimate,
    _draw,
    judge_measures,
    mean_estimate,
)
from simjudge.method.verdicts import Reason, Verdict


def side(value: np.ndarray, first: int = 0, unit: np.ndarray | None = None, event: float | None = None) -> SideEstimate:
    number = first + (np.arange(len(value)) if unit is None else unit)
    found = mean_estimate(value.astype(float), number, np.full(len(value), -1), event=event)
    assert found is not None
    return found


def judged(a: SideEstimate | None, b: SideEstimate | None, margin: float = 0.05, draws: int = 1000) -> DetectorMeasure:
    return judge_measures([MeasuredSets(MeasureCode.MATCH_SCORE, a, b, margin)], draws, 0)[0]


def test_the_interval_is_that_of_two_means() -> None:
    random = np.random.default_rng(1)
    a, b = random.normal(0.4, 0.1, 50), random.normal(0.5, 0.1, 80)
    found = judged(side(a), side(b, 50))
    error = np.sqrt(a.var(ddof=1) / 50 + b.var(ddof=1) / 80)
    assert found.difference == pytest.approx(b.mean() - a.mean())
    assert found.high - found.low == pytest.approx(2 * t.ppf(0.975, 49) * error, rel=0.01)
    assert (found.units_a, found.units_b, found.draws) == (50, 80, 1000)
    assert found.verdict == Verdict.LARGE_GAP


def test_p_is_that_of_a_t_test() -> None:
    random = np.random.default_rng(2)
    a, b = random.normal(0.5, 0.1, 40), random.normal(0.52, 0.1, 40)
    found = judged(side(a), side(b, 40), draws=20_000)
    statistic = abs(a.mean() - b.mean()) / np.sqrt(a.var(ddof=1) / 40 + b.var(ddof=1) / 40)
    assert found.p_value == pytest.approx(2 * t.sf(statistic, 39), abs=0.02)
    assert found.p_adjusted == pytest.approx(min(1, FAMILIES * found.p_value), abs=1e-9)


def test_sightings_of_one_unit_count_once() -> None:
    value = np.random.default_rng(3).normal(0.5, 0.1, 20)
    once = judged(side(value), side(value[::-1] + 0.01, 20))
    many = judged(
        side(np.repeat(value, 30), unit=np.repeat(np.arange(20), 30)),
        side(np.repeat(value[::-1] + 0.01, 30), 20, np.repeat(np.arange(20), 30)),
    )
    assert (many.units_a, many.low, many.high) == pytest.approx((20, once.low, once.high))


def test_pairs_share_their_unit_and_tell_a_small_difference() -> None:
    random = np.random.default_rng(4)
    scene = random.normal(0.5, 0.2, 60)
    apart, pairs = (judged(side(scene), side(scene + 0.03 + random.normal(0, 0.005, 60), first)) for first in (60, 0))
    assert apart.verdict == Verdict.CANNOT_TELL
    assert pairs.verdict == Verdict.SMALL_GAP
    assert pairs.low <= 0.03 <= pairs.high


def test_blocks_of_time_widen_the_interval() -> None:
    random = np.random.default_rng(5)
    block = np.repeat(np.arange(10), 20)
    value = random.normal(0, 1, 10)[block] + random.normal(0, 0.1, 200)
    alone = SideEstimate(
        float(value.mean()), (value - value.mean()) / 200, np.arange(200), np.full(200, -1), np.ones(200)
    )
    blocks = SideEstimate(alone.value, alone.influence, alone.unit, block, alone.weight)
    other = side(random.normal(0, 0.1, 200), 200)
    assert blocks.units == 10
    assert judged(blocks, other).high > 3 * judged(alone, other).high


@pytest.mark.parametrize("light", [0.0, 1.0])
def test_what_a_sighting_has_by_itself_counts_once_beside_things_and_blocks(light: float) -> None:
    """Against sums over what goes together; no less than things alone or blocks alone."""
    random = np.random.default_rng(3)
    sides, sums = [], ({}, {}, {})
    for first, sign in ((0, -1), (40, 1)):
        thing, block = first + random.integers(0, 40, 90), first // 4 + random.integers(0, 10, 90)
        block[:20] = -1
        value = random.exponential(1, 90) + random.normal(0, 1, 80)[thing] + light * random.normal(0, 1, 21)[block]
        alone = side(value, 0, thing)
        one = SideEstimate(alone.value, alone.influence, thing, block, alone.weight)
        sides.append(one)
        grown = sign * np.sqrt(one.even_units / (one.even_units - 1))
        for own, shared, moved in zip(thing.tolist(), block.tolist(), grown * one.influence, strict=True):
            for total, key in zip(sums, (own, shared, (own, shared)), strict=True):
                if shared >= 0 or total is sums[0]:
                    total[key] = total.get(key, 0) + moved
    things, blocks, both = (sum(value**2 for value in total.values()) for total in sums)
    (spread,), (skewness,), drawn = _draw([MeasuredSets(MeasureCode.RECALL, *sides, 0.05)], 4000, 0)
    assert (both < min(things, blocks)) == bool(light)
    assert spread == pytest.approx(np.sqrt(max(things + blocks - both, things, blocks)), rel=1e-6)
    assert np.sqrt((drawn**2).mean()) == pytest.approx(spread, rel=0.05)
    third = [sum(value**3 for value in total.values()) for total in sums]
    wanted = third[0] + third[1] - third[2] if light else third[0] if things >= blocks else third[1]
    assert skewness == pytest.approx(wanted / spread**3, rel=1e-6)


def test_events_that_were_never_seen_are_not_ruled_out() -> None:
    none = np.zeros(50)
    found = judge_measures(
        [MeasuredSets(MeasureCode.FALSE_POSITIVES, side(none, event=1.0), side(none, 50, event=1.0), 0.05)], 500, 0
    )
    # The rule of three: after 50 frames without one, up to 3 in 50 are not unlikely.
    assert found[0].high == pytest.approx(3 / 50, abs=0.01)
    assert found[0].verdict == Verdict.CANNOT_TELL


def test_scores_that_never_vary_are_compared_exactly() -> None:
    same = np.full(50, 0.1) * 9
    assert judged(side(same), side(np.append(same, 0.9), 50)).verdict == Verdict.PREDICTS
    assert judged(side(same), side(same + 0.2, 50)).verdict == Verdict.LARGE_GAP


def test_too_little_is_said_to_be_too_little() -> None:
    value = np.random.default_rng(6).random(40)
    few = judged(side(value[:5]), side(value, 5))
    assert (few.verdict, few.verdict_reason, few.p_adjusted) == (Verdict.TOO_FEW, Reason.FEW_UNITS, None)
    unit = np.concatenate([np.zeros(1000, int), np.arange(1, 10)])
    heavy = judged(side(np.random.default_rng(7).random(1009), unit=unit), side(value, 10))
    assert heavy.verdict_reason == Reason.UNEVEN_UNITS
    assert judged(side(value), side(value, 40), draws=30).verdict_reason == Reason.FEW_DRAWS
    assert judged(side(value), None).verdict == Verdict.NOT_TESTED
    assert judged(side(value), side(value, 40), draws=0).low is None
    assert mean_estimate(value[:0], np.zeros(0, int), np.zeros(0, int)) is None


def test_skewed_counts_get_an_interval_that_reaches_further_up() -> None:
    count = np.zeros(50)
    count[:3] = 4, 2, 6
    found = judged(side(np.zeros(300)), side(count, 300), margin=0.1)
    assert found.high - found.difference > 1.3 * (found.difference - found.low)


def test_correction_is_over_all_measures() -> None:
    random = np.random.default_rng(8)
    sets = [
        MeasuredSets(m, side(random.normal(0, 1, 50)), side(random.normal(0.4, 1, 50), 50), 0.05) for m in MeasureCode
    ]
    found = judge_measures(sets, 2000, 0)
    assert [one.measure for one in found] == list(MeasureCode)
    assert all(one.p_adjusted >= min(1, FAMILIES * one.p_value) - 1e-9 for one in found)
    assert judge_measures(sets, 2000, 0) == found


def test_what_is_written_is_read() -> None:
    found = judged(side(np.arange(10) / 10), side(np.arange(10) / 20, 10))
    content = json.loads(json.dumps(found.to_json()))
    assert DetectorMeasure.from_json("match_score", content) == found
    assert DetectorMeasure.from_json("recall", {}).verdict == Verdict.NOT_TESTED


@pytest.mark.parametrize(
    ("margin", "times", "verdict"),
    [(0.05, 1, "large_gap"), (0.15, 1, "gap"), (0.3, 1, "small_gap"), (0.3, 9, "predicts")],
)
def test_the_verdict_follows_margin_and_p(margin: float, times: int, verdict: str) -> None:
    one = DetectorMeasure(MeasureCode.RECALL, low=-0.2, high=-0.1, p_adjusted=0.01)
    assert one.verdict_at(margin, times) == verdict


def test_cells_of_few_rows_do_not_make_a_mean_seem_surer_than_it_is():
    """The variance that the influence tells of, on average, is that of the estimate over many sets."""
    random, cell = np.random.default_rng(3), np.repeat(np.arange(12), [2, 3, 2, 5, 4, 2, 3, 2, 6, 2, 3, 20])
    weight = random.uniform(1, 4, 12)[cell]
    rows, none = np.arange(len(cell)), np.full(len(cell), -1)
    values = [
        mean_estimate(cell / 12 + random.normal(size=len(cell)), rows, none, weight=weight, cell=cell)
        for _ in range(2000)
    ]
    told = np.mean([float(one.influence @ one.influence) for one in values])
    assert told == pytest.approx(np.var([one.value for one in values]), rel=0.08)
