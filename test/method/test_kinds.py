"""Kinds of contexts against a literal loop over contexts, draws and samples; p over all kinds; a known truth."""

from __future__ import annotations

import numpy as np
import pytest
from test_bootstrap import CASES, METHOD, Squares, made, model_of, normals_for

from simjudge.method.bootstrap import Normals
from simjudge.method.kinds import KindDifferences, KindNames, KindSums, kind_differences, pack_kinds
from simjudge.method.performance_model import PerformanceModel

KINDS = 4


def kinds_of(sets: Squares, seed: int = 0) -> np.ndarray:
    """(N, KINDS): the first is everything, the others hold some samples each, whatever their patch."""
    inside = np.random.default_rng(seed).random((len(sets.side), KINDS)) < 0.6
    inside[:, 0] = True
    return inside


def side_of(
    sets: Squares, near: list[int], context: int, model: PerformanceModel | None
) -> tuple[np.ndarray, np.ndarray, int]:
    """Values, normalized weights, and how many units there are, of the samples of one side of a batch."""
    value, weight = np.array([sets.performance[i] for i in near]), np.ones(len(near))
    if model is not None:
        for n, i in enumerate(near):
            if value[n] > 0:
                value[n] = min(max(value[n] - model.found_mean[i] + model.found_mean[context], 0), 1)
                weight[n] = model.found_share[context] / model.found_share[i]
            else:
                weight[n] = (1 - model.found_share[context]) / (1 - model.found_share[i])
    units = len({sets.unit[i] for i in near})
    if sets.block is not None:
        blocks = {("block", sets.block[i]) if sets.block[i] >= 0 else ("unit", sets.unit[i]) for i in near}
        units = min(units, len(blocks))
    return value, weight / weight.sum(), units


def literal(
    sets: Squares, normals: Normals, theta: float, kinds: np.ndarray, model: PerformanceModel | None
) -> tuple[np.ndarray, ...]:
    """Section 8 sample by sample: contexts, performance, differences by chance and with the noise within."""
    count, performance = np.zeros(KINDS), np.zeros((KINDS, 2))
    chance, noise = np.zeros((KINDS, normals.count)), np.zeros((KINDS, normals.count))
    own = np.zeros((KINDS, len(sets.side)))
    for c, k in np.argwhere(kinds[: sets.count_a]):
        small, large = np.minimum(sets.side, sets.side[c]), np.maximum(sets.side, sets.side[c])
        near = [i for i in range(len(sets.side)) if small[i] ** 2 >= theta * large[i] ** 2 and kinds[i, k]]
        sides = [[i for i in near if sets.from_a[i] == of_a] for of_a in (True, False)]
        if not all(sides):
            continue
        (value_a, weight_a, units_a), (value_b, weight_b, units_b) = (side_of(sets, s, c, model) for s in sides)
        if min(units_a, units_b) < 2:
            continue
        means = np.array([weight_a @ value_a, weight_b @ value_b])
        pooled = (len(sides[0]) * means[0] + len(sides[1]) * means[1]) / len(near)
        count[k] += 1
        performance[k] += means
        both = units_a + units_b
        for sign, side, value, weight, mean, units in (
            (-1, sides[0], value_a, weight_a, means[0], units_a),
            (1, sides[1], value_b, weight_b, means[1], units_b),
        ):
            for n, i in enumerate(side):
                g = normals.of_unit[sets.unit[i]].astype(float)
                if sets.block is not None and sets.block[i] >= 0:
                    g = g + normals.of_block[sets.block[i]]
                chance[k] += sign * weight[n] * g * (value[n] - pooled) * np.sqrt(both / (both - 1))
                own[k, i] += sign * weight[n] * (value[n] - mean) * np.sqrt(units / (units - 1))
                noise[k] += sign * weight[n] * g * (value[n] - mean) * np.sqrt(units / (units - 1))
    held = np.maximum(count, 1)[:, None]
    scale = np.array([once(sets, each) for each in own])[:, None]
    return count, performance, scale * chance / held, scale * noise / held


def once(sets: Squares, part: np.ndarray) -> float:
    """By what to multiply draws of units and blocks, that what each sample has by itself is in them once."""
    if sets.block is None:
        return 1.0
    of_unit, of_block, of_both = ({} for _ in range(3))
    for value, unit, block in zip(part, sets.unit, sets.block, strict=True):
        of_unit[unit] = of_unit.get(unit, 0) + value
        if block >= 0:
            of_block[block] = of_block.get(block, 0) + value
            of_both[unit, block] = of_both.get((unit, block), 0) + value
    u, b, both = (sum(value**2 for value in sums.values()) for sums in (of_unit, of_block, of_both))
    return (max(u + b - both, u, b) / (u + b)) ** 0.5 if u + b else 1.0


def sums_of(sets: Squares, kinds: np.ndarray, model: PerformanceModel | None = None, most: int = 1000) -> KindSums:
    blocks = 0 if sets.block is None else int(sets.block.max()) + 1
    sums = KindSums.zeros(KINDS, int(sets.unit.max()) + 1, blocks)
    bits = pack_kinds([np.flatnonzero(kinds[:, k]) for k in range(KINDS)], len(kinds))
    sums.add_class(sets.pair(normals_for(sets, 1), model), METHOD, bits, most)
    return sums


@pytest.mark.parametrize("adjusted", [False, True])
@pytest.mark.parametrize("case", CASES)
def test_sums_by_kind_equal_a_loop_over_contexts_and_samples(case, adjusted):
    sets = CASES[case]
    normals, model = normals_for(sets, 12), model_of(sets) if adjusted else None
    kinds = kinds_of(sets)
    count, performance, chance, noise = literal(sets, normals, METHOD.theta, kinds, model)
    sums = sums_of(sets, kinds, model)
    assert count.any() == (case != "one unit of A")
    np.testing.assert_array_equal(sums.contexts, count)
    np.testing.assert_allclose(sums.performance, performance, rtol=1e-9)
    for found, wanted in zip(sums.drawn(normals), (chance, noise), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


def test_units_of_a_kind_are_those_in_its_batches():
    sets = made(0)
    sums = sums_of(sets, kinds_of(sets))
    assert sums.units[0].tolist() == [len(set(sets.unit[sets.from_a])), len(set(sets.unit[~sets.from_a]))]
    assert (sums.units <= sums.units[0]).all()


def test_kinds_of_more_than_a_word_are_told_apart():
    rows = [np.array([0, k % 3]) for k in range(130)]
    bits = pack_kinds([np.unique(each) for each in rows], 3)
    assert bits.shape == (3, 3)
    assert [bool(bits[2, k // 64] >> np.uint64(k % 64) & np.uint64(1)) for k in range(130)] == [
        k % 3 == 2 for k in range(130)
    ]


def test_of_many_contexts_a_drawn_part_takes_part():
    sets = made(0, 200, 200, 40)
    kinds = kinds_of(sets)
    whole, part = (sums_of(sets, kinds, most=most) for most in (1000, 3))
    assert 0 < part.contexts[0] < whole.contexts[0]


Drawn = tuple[KindSums, np.ndarray, np.ndarray]


def drawn_kinds(differences: list[float], spreads: list[float], draws: int = 400, seed: int = 0) -> Drawn:
    """Kinds of 50 contexts and 30 units a side, whose draws are known."""
    drawn = np.random.default_rng(seed).normal(0, 1, (len(spreads), draws)) * np.array(spreads)[:, None]
    sums = KindSums.zeros(len(spreads), 30, 0)
    sums.contexts[:], sums.held[:] = 50, 3
    sums.performance[:] = 50 * np.stack([np.full(len(spreads), 0.6), 0.6 + np.array(differences)], 1)
    return sums, drawn, drawn


def judged(drawn: Drawn, names: KindNames) -> KindDifferences:
    found = kind_differences(*drawn, names)
    assert found is not None
    return found


def test_p_is_that_of_the_largest_studentized_difference_and_intervals_are_students():
    drawn = drawn_kinds([-0.05, -0.3, 0.02, 0.1], [0.02, 0.06, 0.05, 0.05])
    names = KindNames(["all", "small", "left", "far"], [(), (), (), ()])
    found, chance = judged(drawn, names), np.abs(drawn[1])
    assert found.tested == 3
    student = (chance[1:] - chance[1:].mean(1, keepdims=True)) / chance[1:].std(1, keepdims=True)
    observed = (np.array([0.3, 0.02, 0.1]) - chance[1:].mean(1)) / chance[1:].std(1)
    first = (1 + (student.max(0) >= observed[0]).sum()) / 401
    second = max(first, (1 + (student[1:].max(0) >= observed[2]).sum()) / 401)
    by_name = {each.kind: each for each in found.kinds}
    assert by_name["small"].p == pytest.approx(first)
    assert by_name["far"].p == pytest.approx(second)
    assert found.everywhere.p == pytest.approx((1 + (chance[0] >= 0.05).sum()) / 401)
    assert [each.kind for each in found.outstanding] == ["small"]
    width = 2.04523 * drawn[2][1].std()  # Student's t with 29 degrees of freedom
    assert by_name["small"].difference == pytest.approx(-0.3)
    assert by_name["small"].low == pytest.approx(-0.3 - width, rel=1e-4)
    assert by_name["small"].high == pytest.approx(-0.3 + width, rel=1e-4)


def test_a_pair_is_named_only_where_it_differs_by_more_than_both_its_kinds():
    names = KindNames(["all", "small", "left", "small, left"], [(), (), (), (1, 2)])
    spreads = [0.02, 0.02, 0.02, 0.03]
    for pair, named in ((-0.22, False), (-0.4, True), (0.4, True)):
        found = judged(drawn_kinds([-0.1, -0.2, -0.1, pair], spreads), names)
        assert ("small, left" in [each.kind for each in found.kinds]) == named
        assert found.tested == 3


def test_kinds_of_few_units_or_contexts_are_not_tested():
    names = KindNames(["all", "few units", "few contexts", "fine"], [(), (), (), ()])
    drawn = drawn_kinds([0.0, 0.5, 0.5, 0.5], [0.02] * 4)
    drawn[0].held[1, 5:] = 1
    drawn[0].contexts[2] = 10
    assert [each.kind for each in judged(drawn, names).kinds] == ["fine"]
    nothing = KindSums.zeros(4, 30, 0)
    assert kind_differences(nothing, drawn[1], drawn[2], names) is None


def test_what_a_file_says_is_read_again():
    names = KindNames(["all", "small", "left"], [(), (), ()])
    found = judged(drawn_kinds([-0.1, -0.2, -0.1], [0.02] * 3), names)
    assert KindDifferences.from_json(found.to_json()) == found
