"""The multiplier bootstrap: its compiled loop against the method page written down slowly; how draws are cut."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import pytest
from scipy.stats import wasserstein_distance

from simjudge.core.frames import FrameSet
from simjudge.core.object_tables import Objects
from simjudge.method import bootstrap, join_parts
from simjudge.method.algorithm import draw_pairs
from simjudge.method.bootstrap import Bootstrap, DrawnRows, DrawnSamples, DrawSchedule, Normals, UnitNumbers
from simjudge.method.certainty import p_value
from simjudge.method.distinct import Members
from simjudge.method.loop_choice import use_numpy_loops
from simjudge.method.method import Method
from simjudge.method.patches import object_contexts
from simjudge.method.performance_model import PerformanceModel
from simjudge.method.pool import ClassPair, Samples
from simjudge.method.recordings import RecordingShift, Spread
from simjudge.method.similarity_join import Neighbours
from simjudge.method.small_batches import UNTOLD, shortfall

METHOD = Method(patch=(40, 40), theta=0.6)
THETAS = [0.5, 0.7, 0.85]


@dataclass(frozen=True)
class Squares:
    """Squares of some sides, each alone in a frame: two are similar where the smaller area is theta of the larger.

    Attributes:
        side: (N,) of A's squares, then B's.
        performance, unit: (N,).
        count_a: how many are A's.
        block: (N,), -1 for none; None where units are the only effect.
    """

    side: np.ndarray
    performance: np.ndarray
    unit: np.ndarray
    count_a: int
    block: np.ndarray | None = None
    recording: np.ndarray | None = None

    @property
    def from_a(self) -> np.ndarray:
        return np.arange(len(self.side)) < self.count_a

    def samples(self, rows: np.ndarray) -> Samples:
        side = self.side[rows]
        box = np.stack([50 + 0 * side, 50 + 0 * side, 50 + side, 50 + side], 1)
        objects = Objects.build(np.arange(len(rows)), np.ones(len(rows), np.int64), box)
        frames = FrameSet.build("made", [[120, 120]] * len(rows), objects)
        block, recording = (None if known is None else known[rows] for known in (self.block, self.recording))
        contexts = object_contexts(frames, METHOD, np.arange(len(rows)))
        return Samples(contexts, self.performance[rows], UnitNumbers(self.unit[rows], block, recording))

    def pair(self, normals: Normals, model: PerformanceModel | None = None) -> ClassPair:
        a, b = self.samples(np.flatnonzero(self.from_a)), self.samples(np.flatnonzero(~self.from_a))
        return ClassPair(a, b, normals, model)


def made(seed: int, count_a: int = 22, count_b: int = 26, units: int = 6) -> Squares:
    """Few sides, so that many contexts are identical; B has units of its own."""
    random = np.random.default_rng(seed)
    count = count_a + count_b
    unit = random.integers(0, units, count) + units * (np.arange(count) >= count_a)
    side = random.choice([12, 13, 14, 16, 18, 20], count)
    return Squares(side, random.random(count).round(2), unit, count_a)


def normals_for(sets: Squares, draws: int, seed: int = 0) -> Normals:
    blocks = 0 if sets.block is None else int(sets.block.max()) + 1
    schedule = DrawSchedule(int(sets.unit.max()) + 1, blocks, draws, seed)
    if sets.recording is not None:
        count = int(sets.recording.max()) + 1
        schedule.shift = RecordingShift(np.linspace(-0.06, 0.05, count), Spread(0.012, 0.004, 4.0), 0.3, 0.07)
    batch = schedule.next_batch()
    assert batch is not None
    return batch


def model_of(sets: Squares) -> PerformanceModel:
    """Something expected of each side."""
    mean, share = 0.9 - 0.03 * (sets.side - 12), 0.9 - 0.05 * (sets.side - 12)
    return PerformanceModel(mean.astype(float), share.astype(float))


class Literal(NamedTuple):
    """What the page says of one context: numbers, and (draws,) arrays."""

    w1: float
    noise: float
    square: float
    chance: np.ndarray
    around: np.ndarray
    extreme: np.ndarray


def literal(  # noqa: C901, PLR0912, PLR0915 - the page from top to bottom
    sets: Squares, normals: Normals, theta: float, model: PerformanceModel | None = None, least: int = 1
) -> dict[int, Literal]:
    """Section 6 for every compared context of A, sums written out: no order, no ranks, no running totals."""
    out = {}
    of_unit = normals.of_unit.astype(np.float64)
    both = set() if sets.block is not None else set(sets.unit[sets.from_a]) & set(sets.unit[~sets.from_a])
    for c in np.flatnonzero(sets.from_a):
        small, large = np.minimum(sets.side, sets.side[c]), np.maximum(sets.side, sets.side[c])
        near = np.flatnonzero(small**2 >= theta * large**2)
        from_a = sets.from_a[near]
        if min(from_a.sum(), (~from_a).sum()) < least:
            continue
        value, weight = sets.performance[near].copy(), np.ones(len(near))
        if model is not None:
            for place, i in enumerate(near):
                if sets.performance[i] > 0:
                    value[place] = min(max(value[place] - model.found_mean[i] + model.found_mean[c], 0), 1)
                    weight[place] = model.found_share[c] / model.found_share[i]
                else:
                    weight[place] = (1 - model.found_share[c]) / (1 - model.found_share[i])
        share = np.where(from_a, weight / weight[from_a].sum(), weight / weight[~from_a].sum())
        g = of_unit[sets.unit[near]]
        if sets.block is not None and normals.of_block is not None:
            inside = sets.block[near] >= 0
            g[inside] += normals.of_block.astype(np.float64)[sets.block[near][inside]]
        flipped = g.copy()
        for place, u in enumerate(sets.unit[near]):
            if u in both:
                flipped[place] = np.where(g[place] < 0, -1, 1)
        units = []
        for side in (from_a, ~from_a):
            counts = [len(set(sets.unit[near][side]))]
            if sets.block is not None:
                counts.append(
                    len(
                        {
                            (b, -1) if b >= 0 else (u, 1)
                            for u, b in zip(sets.unit[near][side], sets.block[near][side], strict=True)
                        }
                    )
                )
            units.append(min(counts))
        if min(units) < 2:
            continue
        q = twice_counted(sets, near, value, share)
        pooled_a = from_a.mean()
        sides = ((from_a, 1, units[0]), (~from_a, -1, units[1]))
        draws = normals.count
        w1, chance, within, around = 0.0, np.zeros(draws), np.zeros(draws), np.zeros(draws)
        by_shift = shifts(sets, near, value, share, normals)
        edges = np.unique(np.concatenate([[0.0], value, [1.0]])) if by_shift else np.unique(value)
        for v, following in itertools.pairwise(edges):
            below = value <= v
            f = [share[side & below].sum() for side, _, _ in sides]
            f_pooled = pooled_a * f[0] + (1 - pooled_a) * f[1]
            d_pooled = sum(sign * (share * (below - f_pooled))[side] @ flipped[side] for side, sign, _ in sides)
            d_pooled *= q
            if by_shift:
                d_pooled *= 1 if both and len(set(sets.unit[near])) == units[0] == units[1] else shortfall(*units)[0]
                d_pooled += moved(
                    by_shift[0], value, pooled_a * share * from_a + (1 - pooled_a) * share * ~from_a, v, following
                )
            d_within = np.zeros(draws)
            for (side, sign, k), own in zip(sides, f, strict=True):
                d_within += q * np.sqrt(k / (k - 1)) * sign * (share * (below - own))[side] @ g[side]
            if by_shift:
                d_within += moved(
                    by_shift[1], value, pooled_a * share * from_a + (1 - pooled_a) * share * ~from_a, v, following
                )
            w1 += abs(f[0] - f[1]) * (following - v)
            chance += np.abs(d_pooled) * (following - v)
            within += np.abs(d_within) * (following - v)
            around += np.abs(f[0] - f[1] + d_within) * (following - v)
        if model is None:
            assert w1 == pytest.approx(wasserstein_distance(value[from_a], value[~from_a]), abs=1e-12)
        extreme = np.abs(
            sum(share[i] * g[i] * (1 - pooled_a) for i in np.flatnonzero(from_a))
            + sum(share[i] * g[i] * pooled_a for i in np.flatnonzero(~from_a))
        )
        more_chance, more, more_square = shortfall(*units)
        if both and len(set(sets.unit[near])) == units[0] == units[1]:
            more_chance = 1
        if by_shift:
            more_chance = 1  # it is in D* already
        out[int(c)] = Literal(
            w1, more * within.sum(), more_square * (within**2).sum(), more_chance * chance, around, extreme
        )
    return out


def shifts(sets, near, value, share, normals) -> tuple[np.ndarray, np.ndarray] | None:
    """How far each draw moves performance in a batch: as Student has it, and as a normal number."""
    if sets.recording is None:
        return None
    numbers = normals.shift
    doubted, normal = numbers.doubted.copy(), numbers.normal.copy()
    for r, mean in enumerate(numbers.shift.mean):
        part = -mean
        for side, sign in ((sets.from_a[near], 1), (~sets.from_a[near], -1)):
            held, several = sets.recording[near][side], len(set(sets.recording[near][side]))
            if several > 1:
                middle = share[side] @ value[side]
                own = sum(s * (y - middle) for s, y, of in zip(share[side], value[side], held, strict=True) if of == r)
                part += sign * np.sqrt(several / (several - 1)) * own
        doubted, normal = doubted + part * numbers.own[r], normal + part * numbers.own[r]
    return doubted, normal


def moved(shift: np.ndarray, value: np.ndarray, weight: np.ndarray, v: float, following: float) -> np.ndarray:
    """F less F shifted, on the average between two values: by the usual shift, and in proportion for each draw."""
    width = 0.07

    def below(at: float) -> float:  # the integral of F up to there
        return float(sum(w * max(at - y, 0) for y, w in zip(value, weight, strict=True)))

    by_side = []
    for sign in (1, -1):
        whole, apart = (below(following - d) - below(v - d) for d in (0, sign * width))
        by_side.append(sign * (whole - apart) / width / (following - v))
    return np.where(shift > 0, shift * by_side[0], shift * by_side[1])


def twice_counted(sets: Squares, near: np.ndarray, value: np.ndarray, share: np.ndarray) -> float:
    """By what the page multiplies the numbers of units and blocks, where both are drawn."""
    if sets.block is None:
        return 1.0
    sums: list[dict[tuple[int, ...], float]] = [{}, {}, {}]
    for i, y, s in zip(near, value, share, strict=True):
        alike = sets.from_a[near] == sets.from_a[i]
        part = (y - (share * value)[alike].sum()) * s * (1 if sets.from_a[i] else -1)
        unit, block = int(sets.unit[i]), int(sets.block[i])
        keys = [(unit,), (block,), (unit, block)] if block >= 0 else [(unit,)]
        for total, key in zip(sums, keys, strict=False):
            total[key] = total.get(key, 0.0) + part
    by_unit, by_block, by_both = (sum(part**2 for part in total.values()) for total in sums)
    return float(np.sqrt(max(by_unit + by_block - by_both, by_unit, by_block) / (by_unit + by_block)))


def assert_equal(found: DrawnRows, wanted: dict[int, Literal]) -> None:
    """Rows come in the order of the tree, one for all identical contexts of A."""
    kept, contexts = found.own > 0, sorted(wanted.values(), key=lambda one: one.w1)
    own = found.own[kept].astype(int)
    assert own.sum() == len(contexts)
    assert found.own.max(initial=0) > 1 or not contexts
    assert (np.isnan(found.w1) | (found.w1 == UNTOLD))[~kept].all()
    order = np.argsort(np.repeat(found.w1[kept], own), kind="stable")
    for name in ("w1", "noise", "square"):
        mine = np.repeat(getattr(found, name)[kept], own)[order]
        np.testing.assert_allclose(mine, [getattr(one, name) for one in contexts], rtol=1e-6, atol=1e-9, err_msg=name)
    for name in ("chance", "around", "extreme"):
        total = np.sum([getattr(one, name) for one in contexts], 0)
        np.testing.assert_allclose(getattr(found, name), total, rtol=1e-6, atol=1e-6, err_msg=name)
    squares = np.sum([one.around**2 for one in contexts], 0)
    np.testing.assert_allclose(found.around_square, squares, rtol=1e-6, atol=1e-6)


def with_blocks(sets: Squares) -> Squares:
    """A has blocks of time of its own, of B only some samples have."""
    random = np.random.default_rng(3)
    block = random.integers(0, 4, len(sets.side))
    return replace(sets, block=np.where(sets.from_a, block, np.where(block < 2, -1, block + 4)))


def paired(sets: Squares) -> Squares:
    """Frame i of A and frame i of B are one unit."""
    count_b = len(sets.side) - sets.count_a
    return replace(sets, unit=np.concatenate([np.arange(sets.count_a), np.arange(count_b)]) % 12)


def missed(sets: Squares) -> Squares:
    random = np.random.default_rng(4)
    return replace(sets, performance=np.where(random.random(len(sets.side)) < 0.3, 0, sets.performance))


def lonely(sets: Squares) -> Squares:
    """All of A is of one unit."""
    return replace(sets, unit=np.where(sets.from_a, 0, sets.unit))


def recorded(sets: Squares) -> Squares:
    """Three recordings of A, two of B; a unit may be seen in several."""
    random = np.random.default_rng(8)
    count = len(sets.side)
    return replace(sets, recording=np.where(sets.from_a, random.integers(0, 3, count), random.integers(3, 5, count)))


CASES = {
    "plain": made(0),
    "missed": missed(made(1)),
    "blocks beside things": with_blocks(missed(made(2))),
    "pairs": paired(made(3)),
    "one unit of A": lonely(made(4)),
    "pairs with blocks of time": with_blocks(paired(made(5))),
    "few in B": made(6, 25, 12, 6),
    "recordings": recorded(missed(made(2))),
    "recordings of pairs": recorded(paired(made(3))),
    "recordings and blocks of time": recorded(with_blocks(made(5))),
}


@pytest.mark.parametrize("adjusted", [False, True])
@pytest.mark.parametrize("case", CASES)
def test_the_compiled_loop_equals_the_page_written_down_slowly(case, adjusted):
    sets = CASES[case]
    normals, model = normals_for(sets, 40), model_of(sets) if adjusted else None
    [found] = draw_pairs([sets.pair(normals, model)], METHOD, THETAS)
    for theta, drawn in zip(THETAS, found, strict=True):
        wanted = literal(sets, normals, theta, model)
        if case == "one unit of A":
            assert not wanted
            assert (drawn.w1 == UNTOLD).any()
        assert_equal(drawn, wanted)


@pytest.mark.parametrize(
    "case",
    ["blocks beside things", "pairs with blocks of time", "recordings of pairs", "recordings and blocks of time"],
)
def test_the_loop_in_numpy_equals_it_too(case):
    sets = CASES[case]
    normals, model = normals_for(sets, 40), model_of(sets)
    use_numpy_loops(True)
    try:
        [[found]] = draw_pairs([sets.pair(normals, model)], METHOD)
    finally:
        use_numpy_loops(False)
    assert_equal(found, literal(sets, normals, METHOD.theta, model))


def test_more_draws_than_lanes_and_batches_of_a_least_size():
    sets = made(7)
    normals, method = normals_for(sets, 150), replace(METHOD, min_batch_size=8, theta=0.85)
    [[found]] = draw_pairs([sets.pair(normals)], method)
    wanted = literal(sets, normals, 0.85, least=8)
    assert 0 < len(wanted) < sets.count_a
    assert_equal(found, wanted)


def test_several_detectors_and_both_directions_on_one_join():
    one, two = made(8), missed(made(8))
    swapped = replace(
        two,
        count_a=len(two.side) - two.count_a,
        **{name: np.roll(getattr(two, name), -two.count_a) for name in ("side", "performance", "unit")},
    )
    first, second = normals_for(one, 30, 1), normals_for(two, 30, 2)
    pairs = [one.pair(first), replace(swapped.pair(second, model_of(swapped)), swapped=True)]
    together = draw_pairs(pairs, METHOD, THETAS)
    for found, sets, normals, model in zip(
        together, (one, swapped), (first, second), (None, model_of(swapped)), strict=True
    ):
        for theta, drawn in zip(THETAS, found, strict=True):
            assert_equal(drawn, literal(sets, normals, theta, model))


def test_threads_and_parts_change_no_bit(monkeypatch):
    sets = with_blocks(missed(made(9, 300, 260, 40)))
    normals, outcomes = normals_for(sets, 60), []
    for threads, work in ((1, join_parts.WORK_TO_SPLIT), (3, 0)):
        monkeypatch.setattr("simjudge.method.join_parts.FEWEST_ROWS", 2)
        monkeypatch.setattr("simjudge.method.join_parts.config.NUMBA_NUM_THREADS", threads)
        monkeypatch.setattr("simjudge.method.join_parts.WORK_TO_SPLIT", work)
        outcomes.append(draw_pairs([sets.pair(normals, model_of(sets))], METHOD, THETAS)[0])
    for one, other in zip(*outcomes, strict=True):
        for field in vars(one):
            np.testing.assert_array_equal(getattr(one, field), getattr(other, field), field)
        assert one.chance.all()


def whole(batches: list[DrawnRows], compared: int) -> Bootstrap:
    boot = Bootstrap.of_batches(batches, compared)
    assert boot is not None
    return boot


def test_means_over_contexts_vary_as_without_what_is_taken_from_each():
    sets = with_blocks(made(10))
    [drawn] = draw_pairs([sets.pair(normals_for(sets, 50))], METHOD)[0]
    kept = drawn.own > 0
    q = np.average(drawn.scale[kept], weights=drawn.own[kept])
    assert 0.7 < q < 0.95
    boot = whole([drawn], 22)
    for name in ("chance", "around", "around_square"):
        plain = getattr(drawn, name) / drawn.own.sum()
        assert getattr(boot, name).mean() == pytest.approx(plain.mean())
        assert getattr(boot, name).std() == pytest.approx(plain.std() / q)


@pytest.mark.parametrize("most", [1, 7, 64])
def test_how_draws_are_cut_into_batches_changes_no_number(monkeypatch, most):
    sets = with_blocks(made(10))
    normals = normals_for(sets, 50)
    everything = whole(draw_pairs([sets.pair(normals)], METHOD)[0], 22)
    monkeypatch.setattr(bootstrap, "BATCH_BYTES", 4 * most * (normals.of_unit.shape[0] + normals.of_block.shape[0]))
    schedule, batches, of_unit = DrawSchedule(*(len(n) for n in (normals.of_unit, normals.of_block)), 50, 0), [], []
    while (batch := schedule.next_batch()) is not None:
        assert batch.count == min(most, 50 - sum(n.shape[1] for n in of_unit))
        of_unit.append(batch.of_unit)
        batches.extend(draw_pairs([sets.pair(batch)], METHOD)[0])
    np.testing.assert_array_equal(np.concatenate(of_unit, 1), normals.of_unit)
    found = whole(batches, 22)
    for field in vars(found):
        np.testing.assert_allclose(getattr(found, field), getattr(everything, field), rtol=1e-12, err_msg=field)


def test_a_deadline_leaves_the_first_draws_and_changes_none_of_them(monkeypatch):
    clock = [0.0]
    monkeypatch.setattr("simjudge.method.bootstrap.time.monotonic", lambda: clock[0])
    schedule, everything = DrawSchedule(5, 0, 1000, 3, deadline=10.0), DrawSchedule(5, 0, 1000, 3).next_batch()
    first = schedule.next_batch()
    clock[0] = 2.0  # 25 draws a second, and eight seconds are left
    second = schedule.next_batch()
    clock[0] = 9.9
    assert (first.count, second.count, schedule.next_batch()) == (bootstrap.TRIAL_DRAWS, 180, None)
    together = np.concatenate([first.of_unit, second.of_unit], 1)
    np.testing.assert_array_equal(together, everything.of_unit[:, :230])


def test_a_part_of_the_contexts_carries_the_draws(monkeypatch):
    """The same contexts in every batch, and their numbers are the contexts' own."""
    monkeypatch.setattr("simjudge.method.algorithm.LEAST_DRAWN", 3)
    random = np.random.default_rng(5)
    sets = replace(made(11), side=np.array([*np.tile(np.arange(10, 21), 2), *random.integers(10, 21, 26)]))
    sets = replace(sets, performance=random.random(len(sets.side)))
    batches = [normals_for(sets, 30, seed) for seed in (1, 2)]
    method = METHOD.with_theta(0.85)
    drawn = [draw_pairs([sets.pair(normals)], method, share=0.5)[0][0] for normals in batches]
    np.testing.assert_array_equal(drawn[0].w1, drawn[1].w1)
    for found, normals in zip(drawn, batches, strict=True):
        every = literal(sets, normals, 0.85)
        kept = found.w1[found.own > 0]
        chosen = {c: one for c, one in every.items() if np.isclose(kept, one.w1, atol=1e-12).any()}
        assert 3 <= len(chosen) < len(every)
        assert_equal(found, chosen)
    boot = whole(drawn, 22)
    own = drawn[0].own[drawn[0].own > 0]
    assert (boot.contexts, boot.drawn, boot.draws) == (22, own.sum(), 60)
    assert boot.drawn_share == own.sum() / 22
    spread = np.sqrt(np.average((boot.w1 - boot.mean_w1) ** 2, weights=own))
    left = 1 - own.sum() / 22
    assert boot.row_error == pytest.approx(spread * np.sqrt(left * (own**2).sum()) / own.sum())


@pytest.mark.parametrize("count", [50, 400, 1500])
def test_the_stated_error_of_a_drawn_part_is_what_parts_are_off_by(count):
    random = np.random.default_rng(6)
    rows = 2000
    own, w1 = random.integers(1, 6, rows).astype(float), random.gamma(2, 0.05, rows)
    whole_rows = replace(DrawnRows.zeros(rows, 1), own=own, w1=w1)
    whole_rows.noise[:], whole_rows.square[:] = 0.05, 0.004
    compared = int(whole_rows.own.sum())
    everything = whole([whole_rows], compared)
    assert everything.row_error == 0
    off = []
    for _ in range(400):
        chosen = np.zeros(rows, bool)
        chosen[random.permutation(rows)[:count]] = True
        part = whole([replace(whole_rows, own=np.where(chosen, whole_rows.own, 0))], compared)
        off.append((part.mean_w1 - everything.mean_w1) / part.row_error)
    assert 0.85 <= np.sqrt(np.mean(np.square(off))) <= 1.15
    assert np.mean(np.abs(off) <= 1.96) >= 0.92


def test_classes_are_put_together_by_how_many_contexts_they_compare():
    """As if all their contexts had been of one class."""
    parts, rows = [], []
    for seed in (12, 13):
        sets = made(seed, 20 + seed)
        [[drawn]] = draw_pairs([sets.pair(normals_for(sets, 25))], METHOD)
        rows.append(drawn)
        parts.append(whole([drawn], int(drawn.own.sum())))
    together = Bootstrap.together(parts)
    contexts = sum(drawn.own.sum() for drawn in rows)
    assert together.contexts == together.drawn == contexts
    assert together.weight.sum() == pytest.approx(1)
    mean_w1 = sum((drawn.own * np.nan_to_num(drawn.w1)).sum() for drawn in rows) / contexts
    assert together.mean_w1 == pytest.approx(mean_w1)
    for name in ("chance", "around", "around_square", "extreme"):
        total = sum(getattr(drawn, name) for drawn in rows)
        np.testing.assert_allclose(getattr(together, name), total / contexts, err_msg=name)
    assert Bootstrap.together([]) is None
    assert Bootstrap.of_batches([DrawnRows.zeros(3, 10)], 0) is None


def test_nobody_else_makes_a_difference_where_all_perform_alike():
    sets = replace(made(14), performance=np.full(48, 0.5))
    [[found]] = draw_pairs([sets.pair(normals_for(sets, 20))], METHOD)
    for name in ("w1", "noise", "square"):
        assert np.nansum(getattr(found, name)) == 0
    assert not found.chance.any()
    assert found.extreme.all()


def one_batch(random: np.random.Generator, units: tuple[int, int], draws: int = 199) -> Bootstrap:
    """Two sets that do not differ, all of one kind; each unit is a sample."""
    count = sum(units)
    sets = Squares(np.full(count, 12), random.beta(5, 2, count), np.arange(count), units[0])
    batch = DrawSchedule(count, 0, draws, int(random.integers(1 << 30))).next_batch()
    assert batch is not None
    [[drawn]] = draw_pairs([sets.pair(batch)], METHOD)
    return whole([drawn], units[0])


@pytest.mark.slow
@pytest.mark.parametrize("units", [(6, 6), (6, 40), (12, 12), (6, 240), (40, 40)], ids=str)
def test_of_sets_that_do_not_differ_the_noise_is_their_w1_and_p_is_uniform(units):
    random = np.random.default_rng(1)
    found = [one_batch(random, units) for _ in range(400)]
    w1, noise = (np.array([getattr(boot, name) for boot in found]) for name in ("mean_w1", "mean_noise"))
    error = w1.std() / np.sqrt(len(w1))
    assert abs(w1.mean() - noise.mean()) < 0.04 * w1.mean() + 2 * error
    square = np.array([boot.square[0] for boot in found])
    assert abs((w1**2).mean() / square.mean() - 1) < 0.1 + 2 * (w1**2).std() / np.sqrt(len(w1)) / square.mean()
    p = np.mean([(boot.chance >= boot.mean_w1).mean() <= 0.05 for boot in found])
    assert 0.01 <= p <= 0.05 + 2.5 * np.sqrt(0.05 * 0.95 / len(found))


@pytest.mark.parametrize("pairs", [6, 12])
def test_p_of_pairs_that_do_not_differ_meets_its_level_however_few_they_are(pairs):
    """Pairs that lie apart have one W1 whichever way round they are: p may fall short of its level, never above."""
    random, said = np.random.default_rng(5), []
    for seed in range(500):
        value = 0.5 + np.tile(random.normal(0, 0.06, pairs), 2) + random.normal(0, 0.04, 2 * pairs)
        sets = Squares(np.full(2 * pairs, 12), value, np.tile(np.arange(pairs), 2), pairs)
        [[drawn]] = draw_pairs([sets.pair(DrawSchedule(pairs, 0, 199, seed).next_batch())], METHOD)
        said.append(p_value(whole([drawn], pairs).mean_w1, drawn.chance / pairs))
    for level in (0.05, 0.2, 0.5):
        met = np.mean(np.array(said) <= level)
        assert (level / 4 if pairs > 6 else 0) <= met < level + 3 * np.sqrt(level * (1 - level) / len(said))


@pytest.mark.parametrize("units", [(2, 2), (3, 3), (2, 6), (3, 40), (6, 40), (12, 12)], ids=str)
def test_many_batches_of_few_units_have_the_w1_that_their_draws_have(units):
    """A mean over hundreds of contexts of a sample or two has little scatter: a small lack would make p tiny."""
    random, contexts, each = np.random.default_rng(2), 4000, sum(units)
    count_a, count = contexts * units[0], contexts * each
    samples = DrawnSamples.of_sets(random.beta(8, 2, count), count_a, UnitNumbers(np.arange(count)), None)
    a, b = np.arange(count_a).reshape(contexts, -1), np.arange(count_a, count).reshape(contexts, -1)
    item = np.concatenate([a, b], 1).astype(np.int32)
    rank = np.sort(samples.rank_of[item], 1).ravel().astype(np.int32)
    start = np.arange(0, count + 1, each)
    near = Neighbours(np.arange(contexts), start, rank, np.ones(count, np.uint8))
    batch = DrawSchedule(count, 0, 40, 1).next_batch()
    drawn = DrawnRows.zeros(contexts, 40)
    members = Members(start, item.ravel())
    drawn.add_block(near, slice(0, contexts), members, samples, count_a, 1, samples.cells(batch))
    boot = whole([drawn], count_a)
    assert boot.mean_w1 == pytest.approx(boot.chance.mean(), rel=0.07)
    assert boot.mean_w1 == pytest.approx(boot.mean_noise, rel=0.07)
    assert boot.weight @ boot.w1**2 == pytest.approx(boot.weight @ boot.square, rel=0.08)
