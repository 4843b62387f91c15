"""What the script of a dossier computes with: W1, chance, gap, interval, p and verdict, by the plain definitions.

Elmquist, Serban, Negrut, arXiv 2208.01022, Algorithm 1; docs/concepts/method.md of simjudge, sections 4 to 6 and 9. In
each draw every sampling unit gets a normal number, by which the samples of W1 are weighted; W1 of the draws gives
noise, p, the gap with its interval, and the gap that would have been shown.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from simjudge.questions.certify.check_files import Array, Json, bounded

SIGNIFICANCE, FEWEST_UNITS, LEAST_TOLD, NOISE_DOUBT, POWER = 0.05, 6, 0.5, 0.8, 0.8416
"""Corrected p up to which a difference is a gap; units of each side that a verdict needs; normal quantile at 0.8."""
AT_ZERO = math.sqrt(2 / math.pi)
"""Mean size of a standard normal number."""
LANE = 400_000
"""Numbers of draws that are held at once."""
LEAST_PRECISION, LEAST_RECALL = 0.05, 0.1
"""mAP50, and recall at its score, below which a detector finds next to nothing."""
UNTESTED: Json = {
    **dict.fromkeys(("adjusted_w1", "noise", "noise_q95", "gap", "gap_low", "gap_high", "gap_share", "gap_size")),
    **dict.fromkeys(("detectable_gap", "p_value", "p_adjusted", "drawn_share", "verdict_below", "verdict_above")),
    **dict.fromkeys(("draws", "units_a", "units_b"), 0),
    "margin": 0.05,
    "verdict": "not_tested",
    "verdict_reason": "",
}
"""An entry without draws."""


def normal_numbers(table: dict[str, Array], draws: int, seed: int, sizes: tuple[int, int] = (0, 0)) -> Array:
    """float32 (N, draws), for every context the normal number of its unit, and of its block where it has one.

    `sizes`: how many units and blocks there are, where the table does not hold all of them.
    """
    units, blocks = (max(int(table[name].max()) + 1, size) for name, size in zip(("unit", "block"), sizes, strict=True))
    bounded(draws * max(len(table["unit"]), units + blocks), "normal numbers")
    of_unit, of_block = (
        np.random.default_rng([seed, part]).standard_normal((draws, size), np.float32).T
        for part, size in enumerate((units, blocks))
    )
    cells: Array = of_unit[table["unit"]]
    if blocks:
        held = table["block"] >= 0
        cells[held] += of_block[table["block"][held]]
    return cells


def doubt_degrees(said: Json) -> float:
    """Degrees of freedom of Student's numbers for blocks in doubt; infinite where none are."""
    units = [said["inputs"][side]["units"] for side in "ab" if said["inputs"][side].get("doubted")]
    return max(1, min(units) - 1) if units else math.inf


def doubt_of_blocks(said: Json, draws: int) -> Array:
    """(draws,) by what to multiply W* where blocks of time may have to be longer than the recording allows."""
    degrees = doubt_degrees(said)
    if not math.isfinite(degrees):
        return np.ones(draws)
    random = np.random.default_rng([int(said["parameters"]["seed"]), 3])
    return np.asarray(np.sqrt(degrees / random.chisquare(degrees, draws)))


def compare_class(
    table: dict[str, Array], rows: Array, alike: list[Array], same: Array, normals: Array, least: int, counted: Array
) -> dict[str, Array]:
    """Algorithm 1 for one class, and what the draws make of it.

    `alike` has for each context of the rows those that are like it, `same` the first one whose patch is the same;
    contexts of A that are not `counted` are not compared. Given are "w1", "difference" and "batch" (2,) of the compared
    contexts of A; "of_row", W1, and "overlap" of all; of each distinct compared context "own", how many it stands for,
    "adjusted" W1, "noise" and "square", the means of W* and of its square with the noise within the sets; of each draw
    sums over contexts: "chance", "around", "around_square", "extreme".
    """
    performance, of_a, expected = (table[name][rows] for name in ("performance", "of_a", "expected"))
    unit, block = table["unit"][rows], table["block"][rows]
    # Both sides of a unit of both sets can change places: 1 or -1 in place of its normal numbers makes W* exact.
    alone = not int(table.get("blocks", table["block"].max() + 1))
    both = np.intersect1d(unit[of_a], unit[~of_a]) if alone else np.zeros(0, np.int64)
    flipped = np.where(np.isin(unit, both)[:, None], np.where(normals < 0, -1, 1), normals)
    timed, block = block >= 0, np.where(block < 0, block.max(initial=0) + 1 + unit, block)
    cell = np.unique(np.stack([unit, block]), axis=1, return_inverse=True)[1].reshape(-1)
    draws, w1, difference, batch = normals.shape[1], [], [], []
    overlap, of_row = np.zeros(len(rows), bool), np.full(len(rows), np.nan)
    sums = {name: np.zeros(draws) for name in ("chance", "around", "around_square", "extreme")}
    own, units, scales, adjusted, noise, square = [], [], [], [], [], []
    for first in np.unique(same[of_a & counted[rows]]):
        twins, near = np.flatnonzero(of_a & counted[rows] & (same == first)), alike[first]
        sides = near[of_a[near]], near[~of_a[near]]
        if min(map(len, sides)) < max(least, 1):
            continue
        overlap[near] = True
        value, weight = performance[near], np.where(of_a[near], 1 / len(sides[0]), -1 / len(sides[1]))
        of_row[twins] = area_between(value, weight)
        w1 += of_row[twins].tolist()
        means = [performance[side].mean() for side in sides]
        difference += [means[0] - means[1]] * len(twins)
        batch += [[len(side) for side in sides]] * len(twins)
        if not draws:
            continue
        if not np.isnan(expected[0, 0]):
            value, weight = adjust(value, of_a[near], expected[near], expected[twins].mean(0))
        counts = [min(len(np.unique(unit[side])), len(np.unique(block[side]))) for side in sides]
        # Of a single unit nothing tells the noise from a gap: such a context takes no part in the draws.
        if min(counts) < 2:
            continue
        part_a = len(sides[0]) / len(near)
        numbers = unit[near], block[near], cell[near]
        scales.append(crossed_scale(value, weight, of_a[near], numbers, timed[near]))
        drawn = normals[near], flipped[near]
        found, more, more_chance = draw_context(value, weight, *drawn, counts, part_a, scales[-1])
        if len(both) and len(np.unique(unit[near])) == counts[0] == counts[1]:
            found["chance"] /= more_chance
        own.append(len(twins))
        units.append(sum(counts))
        adjusted.append(area_between(value, weight))
        noise.append(more[0] * float(found["within"].mean()))
        square.append(more[1] * float((found["within"] ** 2).mean()))
        sums["chance"] += len(twins) * found["chance"]
        sums["around"] += len(twins) * found["around"]
        sums["around_square"] += len(twins) * found["around"] ** 2
        sums["extreme"] += len(twins) * found["extreme"]
    # Batches have things and times in common, not what a sighting has by itself: their means vary as drawn.
    for name in ("chance", "around", "around_square"):
        middle = sums[name].mean() if draws else 0.0
        sums[name] = middle + (sums[name] - middle) * (sum(own) / np.dot(own, scales) if own else 1.0)
    arrays = {
        "own": own,
        "units": units,
        "adjusted": adjusted,
        "noise": noise,
        "square": square,
        "w1": w1,
        "difference": difference,
    }
    return {
        **{name: np.array(array, np.float64) for name, array in arrays.items()},
        **sums,
        "batch": np.array(batch, np.float64).reshape(-1, 2),
        "overlap": overlap,
        "of_row": of_row,
    }


def area_between(value: Array, weight: Array) -> float:
    """W1: the integral of |D|, D(v) the sum of the signed weights of values up to v."""
    order = np.argsort(value, kind="stable")
    return float(np.abs(np.cumsum(weight[order])[:-1]) @ np.diff(value[order]))


def adjust(value: Array, of_a: Array, expected: Array, own: Array) -> tuple[Array, Array]:
    """Performance as if all objects of a batch had the covariates of its context, and weights (method, section 9)."""
    found = value > 0
    moved = np.where(found, np.clip(value - expected[:, 0] + own[0], 0, 1), 0.0)
    weight = np.where(found, own[1] / expected[:, 1], (1 - own[1]) / (1 - expected[:, 1]))
    return moved, np.where(of_a, weight / weight[of_a].sum(), -weight / weight[~of_a].sum())


def crossed_scale(value: Array, weight: Array, of_a: Array, numbers: tuple[Array, ...], timed: Array) -> float:
    """By what to multiply draws that carry things and blocks of time: what a sighting has by itself is in both.

    Variances of the difference of means by things, by blocks, and by both (Cameron, Gelbach and Miller 2011). `numbers`
    are those of the unit, of the block and of the two together, `timed` says who has a block.
    """
    if not timed.any():
        return 1.0
    share = weight * (value - np.where(of_a, weight[of_a] @ value[of_a], -weight[~of_a] @ value[~of_a]))
    squares = [
        float((np.bincount(number[held], share[held]) ** 2).sum())
        for number, held in zip(numbers, (np.ones_like(timed), timed, timed), strict=True)
    ]
    both = squares[0] + squares[1]
    return math.sqrt(max(both - squares[2], squares[0], squares[1]) / both) if both > 0 else 1.0


def draw_context(
    value: Array, weight: Array, normals: Array, flipped: Array, units: list[int], part_a: float, scale: float
) -> tuple[dict[str, Array], tuple[float, float], float]:
    """W* of one context, of a batch with signed weights and (batch, draws) normal numbers, in every draw.

    `flipped` are the numbers of "chance", `part_a` is A's share of the batch; draws are multiplied by `scale`. Of each
    draw "chance" is the integral of |D*|; "within", that with the noise within the sets, which lacks a little, so that
    it and its square count "more" times; "around", that of |D + D*|; "extreme", that of |D*| had all of A the
    performance 0 and all of B 1, without the scale.
    """
    order = np.argsort(value, kind="stable")
    value, weight, normals, flipped = value[order], weight[order], normals[order], flipped[order]
    step = np.diff(value)
    steps = np.flatnonzero(step > 0)
    parts = np.maximum(weight, 0), np.maximum(-weight, 0)
    share = [np.cumsum(part)[steps][:, None] for part in parts]
    pooled = part_a * share[0] + (1 - part_a) * share[1]
    count = sum(units)
    grown = [scale * math.sqrt(k / (k - 1)) for k in units]
    # What few units, or units of unlike number, take from draws around the batch itself is given back.
    unlike = max(0.0, (units[0] ** -3 + units[1] ** -3) / (1 / units[0] + 1 / units[1]) ** 2 - 1 / count)
    more_chance = scale * (1 + 0.77 / (count - 1) + min(unlike, 0.06 + 0.19 * unlike))
    more = 1 + min(0.25, 0.5 / count + 0.9 * unlike), 1 + 0.65 * unlike
    out: dict[str, list[Array]] = {name: [] for name in ("chance", "within", "around", "extreme")}
    lanes = max(1, LANE // len(value))
    for begin in range(0, normals.shape[1], lanes):
        some = normals[:, begin : begin + lanes].astype(np.float64)
        so_far = [np.cumsum(part[:, None] * some, axis=0) * sign for part, sign in zip(parts, (1, -1), strict=True)]
        total = [sums[-1] for sums in so_far]
        so_far = [sums[steps] for sums in so_far]
        signed = np.cumsum(weight[:, None] * flipped[:, begin : begin + lanes], axis=0)
        chance = signed[steps] - pooled * signed[-1]
        inside = sum(
            k * (so_far_sum - f * whole) for k, so_far_sum, f, whole in zip(grown, so_far, share, total, strict=True)
        )
        out["chance"].append(more_chance * (step[steps] @ np.abs(chance)))
        out["within"].append(step[steps] @ np.abs(inside))
        out["around"].append(step[steps] @ np.abs(share[0] - share[1] + inside))
        out["extreme"].append(np.abs((1 - part_a) * total[0] - part_a * total[1]))
    return {name: np.concatenate(columns) for name, columns in out.items()}, more, more_chance


@dataclass(frozen=True)
class Together:
    """What the draws say of several classes: means over all their contexts."""

    units: Array
    adjusted: Array
    noise: Array
    square: Array
    weight: Array  # of each distinct context
    chance: Array  # chance, around, around_square, extreme: of each draw
    around: Array
    around_square: Array
    extreme: Array
    told: float
    mean: float
    largest: float = 1.0  # the largest W1 that there can be


def together(parts: list[dict[str, Array]]) -> Together | None:
    """What the draws say of several classes."""
    kept = [part for part in parts if len(part["own"])]
    total = sum(len(part["w1"]) for part in kept)
    if not total:
        return None
    share = [len(part["w1"]) / total for part in kept]
    found = {name: np.concatenate([part[name] for part in kept]) for name in ("units", "adjusted", "noise", "square")}
    found |= {
        name: sum(part[name] / part["own"].sum() * weight for part, weight in zip(kept, share, strict=True))
        for name in ("chance", "around", "around_square", "extreme")
    }
    found["weight"] = np.concatenate(
        [part["own"] / part["own"].sum() * weight for part, weight in zip(kept, share, strict=True)]
    )
    told = sum(part["own"].sum() / len(part["w1"]) * weight for part, weight in zip(kept, share, strict=True))
    largest = max(float(part.get("largest", np.ones(()))) for part in kept)
    return Together(mean=float(found["weight"] @ found["adjusted"]), told=float(told), largest=largest, **found)


def erf(x: Array) -> Array:
    """The error function."""
    return np.asarray(np.frompyfunc(math.erf, 1, 1)(x), np.float64)


def folded_mean(gap: float, noise: Array) -> Array:
    """The expected W1 of contexts with this gap: S h(g / S) with S = N / h(0)."""
    spread = noise / AT_ZERO
    x = gap / np.maximum(spread, 1e-300)
    folded = spread * (AT_ZERO * np.exp(-(np.minimum(x, 40) ** 2) / 2) + x * erf(x / math.sqrt(2)))
    return np.where(spread > 0, folded, gap)


def above_noise(gap: float, noise: Array, weight: Array) -> float:
    """How much mean W1 is above the noise where every context has this gap."""
    return float(weight @ (folded_mean(gap, noise) - noise))


def largest_even_gap(boot: Together, error: float, noise: Array) -> float:
    """The largest gap, the same in all contexts, that W1 leaves possible: W1 near 0 varies less, folded as it is."""

    def variance(gap: float) -> float:
        mean = folded_mean(gap, boot.noise)
        return float(boot.weight @ np.maximum(gap * gap + (boot.noise / AT_ZERO) ** 2 - mean**2, 0.0))

    here, low, high = variance(gap_behind(boot.mean, boot)), 0.0, boot.largest
    each = float(boot.around_square.mean() - boot.around.mean() ** 2)
    common = min(1.0, float(boot.around.var()) / each) if each > 0 else 1.0
    for _ in range(60):
        gap = (low + high) / 2
        wider = math.sqrt(1 + common * max(0.0, variance(gap) / here - 1)) if here > 0 else 1.0
        possible = float(boot.weight @ folded_mean(gap, noise)) - error * wider <= boot.mean
        low, high = (gap, high) if possible else (low, gap)
    return low


def estimate_gap(boot: Together) -> tuple[float, float, float]:
    """The gap from two moments: its mean, the share of the contexts that have it, and its size there."""
    noise, weight = boot.noise, boot.weight
    above = float(weight @ (boot.adjusted - noise))
    above_square = float(weight @ (boot.adjusted**2 - boot.square))
    if not above_square > 0:
        return 0.0, 0.0, 0.0
    low, high = min(math.sqrt(above_square), boot.largest), boot.largest
    if above > above_noise(low, noise, weight):
        everywhere = min(gap_behind(float(weight @ boot.adjusted), boot), boot.largest)
        return everywhere, 1.0, everywhere
    for _ in range(60):
        size = (low + high) / 2
        too_large = above * size * size > above_square * above_noise(size, noise, weight)
        low, high = (low, size) if too_large else (size, high)
    return above_square / high, min(1.0, above_square / high**2), high


def gap_draws(boot: Together) -> Array:
    """The gap that each draw estimates, by a table of sizes; a draw of D + D* holds the noise twice."""
    noise, weight = boot.noise * math.sqrt(2), boot.weight
    sizes = np.geomspace(1e-4 * boot.largest, boot.largest, 200)
    expected = np.array([above_noise(g, noise, weight) for g in sizes.tolist()])
    ratio = np.minimum.accumulate(expected / sizes**2)
    above = boot.around - math.sqrt(2) * float(weight @ boot.noise)
    square = boot.around_square - 2 * float(weight @ boot.square)
    positive = np.maximum(square, 1e-300)
    least = np.sqrt(positive)
    somewhere = square / np.clip(np.maximum(np.interp(-above / positive, -ratio, sizes), least), 0, sizes[-1])
    everywhere = np.interp(above, np.maximum.accumulate(expected), sizes)
    return np.where(square > 0, np.where(everywhere > least, everywhere, somewhere), 0.0)


def doubted_gap(boot: Together, sign: int) -> float:
    """The gap if the noise is larger (1) or smaller (-1) than it seems, as few units in a batch leave open."""
    width = 1 + sign * NOISE_DOUBT / boot.units
    return estimate_gap(replace(boot, noise=boot.noise * width, square=boot.square * width**2))[0]


def interval_spreads(units: int, said: Json) -> float:
    """Spreads from the middle of an interval to its end, wider where blocks are in doubt."""
    return student(max(1, units - 1)) * student(doubt_degrees(said)) / student(math.inf)


def verdict_by_margin(p: float, low: float, high: float, margin: float) -> str:
    """The verdict on p and an interval from 0 on."""
    if p > SIGNIFICANCE:
        return "predicts" if high < margin else "cannot_tell"
    return "small_gap" if high < margin else "large_gap" if low >= margin else "gap"


def gap_behind(w1: float, boot: Together) -> float:
    """The gap, the same in all contexts, from which this mean W1 is expected."""
    chance, low, high = float(boot.weight @ boot.noise), 0.0, w1
    if w1 <= chance:
        return 0.0
    for _ in range(60):
        size = (low + high) / 2
        low, high = (size, high) if chance + above_noise(size, boot.noise, boot.weight) < w1 else (low, size)
    return high


def student(freedom: float) -> float:
    """The 0.975 quantile of Student's t (Cornish and Fisher; Hill 1970), to 2 in 10,000 from five degrees on."""
    z = 1.959963984540054
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    return float(z + sum(term / freedom**power for power, term in enumerate(terms, 1)))


def step_down(observed: dict[Any, float], chance: dict[Any, Array]) -> dict[Any, float]:
    """Correct p for the number of tests by the largest studentized value of the draws (Romano and Wolf 2005)."""
    statistic, drawn = {}, {}
    for key, by_chance in chance.items():
        scale = float(by_chance.std()) or 1.0
        statistic[key] = (observed[key] - by_chance.mean()) / scale
        drawn[key] = (by_chance - by_chance.mean()) / scale
    order, out, least = sorted(statistic, key=lambda key: -statistic[key]), {}, 0.0
    for place, key in enumerate(order):
        largest = np.max([drawn[other] for other in order[place:]], axis=0)
        slack = 1e-9 * max(1.0, abs(statistic[key]))
        least = max(least, float((1 + (largest >= statistic[key] - slack).sum()) / (1 + len(largest))))
        out[key] = least
    return out


def holm(p_values: dict[Any, float]) -> dict[Any, float]:
    """Correct p values for their number (Holm, Scand. J. Statist. 6, 1979)."""
    largest, out = 0.0, {}
    for place, key in enumerate(sorted(p_values, key=lambda key: p_values[key])):
        largest = min(1.0, max(largest, (len(p_values) - place) * p_values[key]))
        out[key] = largest
    return out


def p_of(observed: float, chance: Array) -> float:
    """(1 + draws at least as large) / (1 + draws)."""
    return float((1 + (chance >= observed * (1 - 1e-9)).sum()) / (1 + len(chance)))


def numbers_of(table: dict[str, Array], parts: list[tuple[Array, dict[str, Array]]]) -> dict[str, object]:
    """What Algorithm 1 gives for one class, or for several together: `parts` are rows and what was found."""
    w1, difference, batch = (
        np.concatenate([found[name] for _, found in parts]) for name in ("w1", "difference", "batch")
    )
    rows = np.concatenate([rows for rows, _ in parts])
    overlap, of_a = np.concatenate([found["overlap"] for _, found in parts]), table["of_a"][rows]
    shared = [rows for rows, _ in parts if 0 < table["of_a"][rows].sum() < len(rows)] or [rows for rows, _ in parts]
    in_both = np.concatenate(shared)
    means = {side: mean(table["performance"][in_both[table["of_a"][in_both] == (side == "a")]]) for side in "ab"}
    out: dict[str, object] = {
        "compared": len(w1),
        "mean_w1": mean(w1),
        "mean_abs_mean_diff": mean(np.abs(difference)),
        "relative_w1": float(w1.mean()) / means["a"] if len(w1) and means["a"] else None,
        "median_w1": float(np.median(w1)) if len(w1) else None,
        "max_w1": float(w1.max()) if len(w1) else None,
        "weighted_w1": float(w1 @ batch[:, 0] / batch[:, 0].sum()) if len(w1) else None,
        "w1_quantiles": {str(q): float(np.quantile(w1, q)) if len(w1) else None for q in (0.05, 0.25, 0.5, 0.75, 0.95)},
    }
    for number, side in enumerate("ab"):
        inside = overlap[of_a == (side == "a")]
        outside = table["performance"][rows[(of_a == (side == "a")) & ~overlap]]
        out |= {
            f"n_{side}": len(inside),
            f"overlap_{side}": mean(inside),
            f"n_overlap_{side}": int(inside.sum()),
            f"mean_batch_{side}": mean(batch[:, number]),
            f"mean_performance_{side}": means[side],
            f"mean_performance_outside_{side}": mean(outside),
            f"std_performance_outside_{side}": float(outside.std()) if len(outside) else None,
        }
    return out


def mean(values: Array) -> float | None:
    """Of nothing there is none."""
    return float(values.mean()) if len(values) else None


def unit_counts(table: dict[str, Array], rows: Array) -> list[int]:
    """Sampling units of A and of B that hold some contexts; blocks of time where these are fewer."""
    counts = []
    for of_a in (True, False):
        held = rows[table["of_a"][rows] == of_a]
        unit, block = np.unique(table["unit"][held]), np.unique(table["block"][held])
        counts.append(len(block) if len(block) and block[0] >= 0 and len(block) < len(unit) else len(unit))
    return counts


Found = dict[str, tuple[Array, dict[str, Array]]]
"""By class, its rows of the table, and what was found of it."""


def entry_of(
    boot: Together,
    units: list[int],
    margin: float,
    spreads: float,
    judged: tuple[str, float, int],
    widen: Callable[[float, float, float], tuple[float, float]] = lambda _, low, high: (low, high),
) -> Json:
    """What the draws say of some contexts: interval, p and verdict.

    `judged`: why there is too little to tell, p corrected, and how many are tested; `widen`: from gap and interval to
    the ends that few samples leave open.
    """
    why, p, tested = judged
    gap, share, size = estimate_gap(boot)
    alone, around = p_of(boot.mean, boot.chance), float(boot.around.std())
    error = float(gap_draws(boot).std()) * spreads
    # No gap hides better than one that is alike in all contexts: what W1 leaves possible of it is not ruled out.
    even = largest_even_gap(boot, spreads * around, boot.noise * (1 - NOISE_DOUBT / boot.units))
    low = 0.0 if alone > SIGNIFICANCE else max(0.0, doubted_gap(boot, 1) - error)
    low, high = widen(gap, low, min(boot.largest, max(doubted_gap(boot, -1) + error, even)))
    needed = float(np.quantile(boot.chance, 1 - SIGNIFICANCE / tested))
    return UNTESTED | {
        "noise": float(boot.weight @ boot.noise),
        "noise_q95": float(np.quantile(boot.chance, 1 - SIGNIFICANCE)),
        "gap": gap,
        "gap_low": low,
        "gap_high": high,
        "gap_share": share,
        "gap_size": size,
        "detectable_gap": None if why else gap_behind(needed + POWER * around, boot),
        "p_value": alone,
        "p_adjusted": None if why else p,
        "draws": len(boot.chance),
        "drawn_share": 1.0,
        "units_a": units[0],
        "units_b": units[1],
        "margin": margin,
        "verdict": "too_few" if why else verdict_by_margin(p, low, high, margin),
        "verdict_reason": why,
    }


def finished(
    entry: Json,
    boot: Together | None,
    units: list[int],
    margin: float,
    said: Json,
    draws: int,
    judged: tuple[str, float, int],
) -> Json:
    """An entry with what the draws say of it, and its verdict."""
    if not entry["compared"]:
        return entry | UNTESTED | {"verdict": "no_overlap"}
    if boot is None:
        few = {"verdict": "too_few", "verdict_reason": too_little(boot, units), "draws": draws, "margin": margin}
        return entry | UNTESTED | few | {"units_a": units[0], "units_b": units[1]}
    return entry | entry_of(boot, units, margin, interval_spreads(min(units), said), judged)


def judge(table: dict[str, Array], found: Found, said: Json, margin: float) -> dict[str, Json]:
    """Numbers and verdicts of each class and of all together, at one threshold."""
    stated, parts = {"overall": said["overall"], **said["by_class"]}, {key: [part] for key, part in found.items()}
    parts["overall"] = [*found.values()]
    rows = {key: columns for key, (columns, _) in found.items()}
    held = [columns for columns, numbers in found.values() if len(numbers["w1"])]
    rows["overall"] = np.concatenate([*held, np.zeros(0, np.int64)])
    boots = {key: together([numbers for _, numbers in each]) for key, each in parts.items()}
    why = {key: reason(table, rows[key], boot, stated.get(key, {})) for key, boot in boots.items()}
    tested = {key: boot for key, boot in boots.items() if boot is not None and not why[key] and key != "overall"}
    p = step_down({key: boot.mean for key, boot in tested.items()}, {key: boot.chance for key, boot in tested.items()})
    everything, draws = boots["overall"], max((len(numbers["chance"]) for _, numbers in found.values()), default=0)
    least, entries = 0.0 if everything is None else p_of(everything.mean, everything.chance), dict[str, Json]()
    for key, boot in boots.items():
        judged = why[key], max(p.get(key, 0.0), least), 1 if key == "overall" else max(1, len(tested))
        units = unit_counts(table, rows[key])
        entry = finished(numbers_of(table, parts[key]), boot, units, margin, said, draws, judged)
        if boot is not None and (~np.isnan(table["expected"][rows[key], 0])).any():
            entry["adjusted_w1"] = boot.mean
        if entry["verdict"] != "not_tested" and all(finds_nothing(stated.get(key, {}), side) for side in "ab"):
            entry["verdict"] = "detector_fails"
        entries[key] = entry
    return entries


def finds_nothing(stated: Json, side: str) -> bool:
    """Whether the detector finds next to nothing in a set, by its stated average precision and recall."""
    least = (("map50", LEAST_PRECISION), ("recall", LEAST_RECALL))
    return any((value := stated.get(f"{name}_{side}")) is not None and value < limit for name, limit in least)


def reason(table: dict[str, Array], rows: Array, boot: Together | None, stated: Json) -> str:
    """Why there is too little to tell; empty where there is not."""
    # Whether a class is predicted away from every object, the table does not show.
    if stated.get("verdict_reason") == "never_predicted" and np.isnan(table["predicted"][rows]).all():
        return "never_predicted"
    return too_little(boot, unit_counts(table, rows))


def too_little(boot: Together | None, units: list[int]) -> str:
    """Why draws tell too little; empty where they do not."""
    if min(units) < FEWEST_UNITS:
        return "few_units"
    if boot is None or boot.told < LEAST_TOLD:
        return "lone_units"
    if 1 / (1 + len(boot.chance)) > SIGNIFICANCE:
        return "few_draws"
    return "uneven_units" if p_of(1.0, boot.extreme) > SIGNIFICANCE else ""
