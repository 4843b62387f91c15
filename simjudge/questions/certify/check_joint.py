"""Compute a ranking of simulations, or the price of errors of labels, again from contexts-*.csv.

Of a ranking: the contexts of A that every simulation shows; of each simulation everything that a comparison says, on
these; of every two the difference of their gaps, and which is nearer. Of a price: the labels with error as the seed
gives them; the gap at each level of error, and without error.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from simjudge.questions.certify.check_contexts import (
    LikeContexts,
    check_performance,
    like_contexts,
    read_contexts,
)
from simjudge.questions.certify.check_files import Array, Json, RefusedError, bounded
from simjudge.questions.certify.check_statistics import (
    FEWEST_UNITS,
    SIGNIFICANCE,
    Found,
    Together,
    doubt_of_blocks,
    doubted_gap,
    estimate_gap,
    gap_draws,
    interval_spreads,
    judge,
    normal_numbers,
    p_of,
    step_down,
    together,
    unit_counts,
    verdict_by_margin,
)

LEVELS, REPLICATES = (0.0, 0.5, 1.0, 1.5, 2.0), 4
"""Error that is added to the labels, in variances of their own, and how many random errors at each level."""
TAKEN_INPUTS = (
    *("version", "losses", "parameters", "draws", "inputs.model", "*.scope"),
    *(f"inputs.*.{name}" for name in ("path", "name", "sha256", "format", "frames", "detector*", "predictions*")),
    "inputs.*.false_positives",
)
TAKEN_RANKING = (*TAKEN_INPUTS, "class_names", "same_poses", "simulations.*.name")
TAKEN_PRICE = (*TAKEN_INPUTS, "error", "invented")
"""Of the result: what the contexts do not give, or what is computed with."""
UNCHECKED_JOINT = (
    "which simulations show the same poses: the table has the units that they share",
    "that labels have this error: simjudge and this script were told; inventions that missing labels make",
)


@dataclass(frozen=True)
class ComparedPart:
    """One of several comparisons: its contexts, its draws, and what it says of them."""

    table: dict[str, Array]
    contexts: list[LikeContexts]
    normals: Array
    doubt: Array
    said: Json  # parameters, and the doubt of the blocks, as `judge` reads them

    def compare(self, counted: Array | None = None) -> Found:
        """What is found in the contexts that are counted, by class of A."""
        settings = self.said["parameters"]
        return {
            group.key: (group.rows, group.compare(self.table, settings, 0, self.normals, self.doubt, counted))
            for group in self.contexts
            if self.table["of_a"][group.rows].any()
        }

    @property
    def shown(self) -> Array:
        """Which contexts of the table are compared where all are counted."""
        found, none = np.zeros(len(self.table["of_a"]), bool), np.zeros((len(self.table["of_a"]), 0), np.float32)
        for group in self.contexts:
            numbers = group.compare(self.table, self.said["parameters"], 0, none, np.ones(0))
            found[group.rows] = ~np.isnan(numbers["of_row"])
        return found


def read_part(folder: Path, place: int, said: Json, draws: Json) -> ComparedPart:
    """Read one of several comparisons, and draw its numbers."""
    settings = said["parameters"]
    bounded(settings["draws"], "draws")
    table = read_contexts(folder / f"contexts-{place}.csv")
    check_performance(table, settings, np.zeros(len(table["of_a"]), bool), f"contexts-{place}.csv")
    doubted = draws["doubted"]
    inputs = {"a": {"units": doubted, "doubted": doubted is not None}, "b": {}}
    own = {"parameters": settings, "inputs": inputs, "overall": {}, "by_class": {}}
    sizes = int(draws["units"]), int(draws["blocks"])
    table["blocks"] = np.array(sizes[1])
    normals = normal_numbers(table, settings["draws"], int(settings["seed"]), sizes)
    contexts = like_contexts(table, settings, [float(settings["theta"])])
    return ComparedPart(table, contexts, normals, doubt_of_blocks(own, settings["draws"]), own)


@dataclass(frozen=True)
class RankedGap:
    """What the draws say of some classes of one simulation, and the units of the poorer side."""

    boot: Together
    spreads: float
    w1: Array  # of the contexts of A, the same ones for all simulations
    groups: list[Array]  # the sampling unit of each, and its block of time where there are such

    def gap(self, sign: int) -> float:
        """The gap, or what it is if the noise is larger (1) or smaller (-1) than it seems."""
        return doubted_gap(self.boot, sign) if sign else estimate_gap(self.boot)[0]


def joint_gap(part: ComparedPart, found: Found, keys: list[str], said: Json) -> RankedGap | None:
    """What is compared with that of other simulations; None where too little is there."""
    boot = together([found[key][1] for key in keys])
    rows = all_rows = np.concatenate([found[key][0] for key in keys] or [np.zeros(0, np.int64)])
    if boot is None or min(unit_counts(part.table, rows)) < FEWEST_UNITS:
        return None
    if said.get("verdict_reason") == "never_predicted" and np.isnan(part.table["predicted"][rows]).all():
        return None
    w1 = np.concatenate([found[key][1]["of_row"] for key in keys])
    rows, w1 = rows[~np.isnan(w1)], w1[~np.isnan(w1)]
    unit, block = (part.table[name][rows] for name in ("unit", "block"))
    groups = [unit, np.where(block < 0, block.max() + 1 + unit, block)] if part.table["blocks"] else [unit]
    return RankedGap(boot, interval_spreads(min(unit_counts(part.table, all_rows)), part.said), w1, groups)


def mean_error(values: Array, group: Array) -> float:
    """Standard error of a mean over contexts that come in groups."""
    parts = np.bincount(group, values - values.mean())
    held = len(np.unique(group))
    return math.sqrt(float(parts @ parts) * held / max(1, held - 1)) / len(values)


def compare_gaps(
    groups: dict[str, list[RankedGap | None]], margin: float, least: dict[tuple[int, int], float]
) -> dict[str, list[Json]]:
    """Of every two simulations in each group the difference of the gaps; p is over all groups, at least `least`."""
    entries: dict[tuple[str, int, int], Json] = {}
    observed: dict[tuple[str, int, int], float] = {}
    chance: dict[tuple[str, int, int], Array] = {}
    for key, gaps in groups.items():
        drawn = [None if gap is None else gap_draws(gap.boot) for gap in gaps]
        for i, j in itertools.combinations(range(len(gaps)), 2):
            a, b, of_a, of_b = gaps[i], gaps[j], drawn[i], drawn[j]
            if a is None or b is None or of_a is None or of_b is None:
                continue
            spreads, moved = max(a.spreads, b.spreads), of_b - of_a
            ends = [b.gap(sign) - a.gap(sign) for sign in (0, 1, -1)]
            # Noise in doubt moves both gaps: what it could make of none is no difference.
            seen = 0.0 if min(ends) <= 0 <= max(ends) else min(map(abs, ends))
            # Which contexts A's frames show is chance too.
            shown = max(mean_error(b.w1 - a.w1, group) for group in a.groups)
            spread = math.hypot(float(moved.std()), shown)
            wider = spread / float(moved.std()) if moved.std() else 1.0
            by_chance = np.abs(moved - moved.mean()) * (spreads / 1.959963984540054 * wider)
            error = spreads * spread
            entries[key, i, j] = {
                "difference": ends[0],
                "low": min(ends) - error,
                "high": max(ends) + error,
                "p_value": p_of(seen, by_chance),
            }
            observed[key, i, j], chance[key, i, j] = seen, by_chance
    for (key, i, j), p in step_down(observed, chance).items():
        entry = entries[key, i, j]
        entry["p_adjusted"] = max(p, entry["p_value"], least.get((i, j), 0.0))
        calm = -margin < entry["low"] and entry["high"] < margin
        told = "first_is_nearer" if entry["difference"] > 0 else "second_is_nearer"
        entry["nearness"] = told if entry["p_adjusted"] <= SIGNIFICANCE else "alike" if calm else "cannot_tell"
    nothing = dict.fromkeys(("difference", "low", "high", "p_value", "p_adjusted")) | {"nearness": "not_tested"}
    return {
        key: [entries.get((key, *pair), nothing) for pair in itertools.combinations(range(len(gaps)), 2)]
        for key, gaps in groups.items()
    }


def turned(pair: Json, names: tuple[str, str]) -> Json:
    """A pair as the file has it: the nearer one first, or that with the smaller gap."""
    first, second = names
    if pair["difference"] is None or pair["difference"] >= 0:
        return {"first": first, "second": second, **pair}
    nearness = "first_is_nearer" if pair["nearness"] == "second_is_nearer" else pair["nearness"]
    low, high = -pair["high"], -pair["low"]
    return {
        **pair,
        "first": second,
        "second": first,
        "difference": -pair["difference"],
        "low": low,
        "high": high,
        "nearness": nearness,
    }


def recompute_ranking(folder: Path, said: Json) -> tuple[Json, list[str]]:
    """What the contexts give of ranking.json."""
    margin, names = float(said["parameters"]["margin"]), [one["name"] for one in said["simulations"]]
    parts = [read_part(folder, place, said, draws) for place, draws in enumerate(said["draws"])]
    of_a = [part.table["of_a"] for part in parts]
    if len(parts) != len(names) or len({int(held.sum()) for held in of_a}) > 1:
        raise RefusedError(f"of {len(names)} simulations {len(parts)} are compared, or with unlike objects of A")
    shown = [part.shown[held] for part, held in zip(parts, of_a, strict=True)]
    common, simulations = np.logical_and.reduce(shown), list[Json]()
    overall, by_class = list[RankedGap | None](), dict[str, list[RankedGap | None]]()
    for part, one, own in zip(parts, said["simulations"], shown, strict=True):
        counted = np.zeros(len(part.table["of_a"]), bool)
        counted[part.table["of_a"]] = common
        found = part.compare(counted)
        part.said.update({"overall": one["overall"], "by_class": one["by_class"]})
        judged = judge(part.table, found, part.said, margin)
        simulations.append({"own_cover": float(own.mean()), "overall": judged.pop("overall"), "by_class": judged})
        classes = [key for key, (rows, _) in found.items() if counted[rows].any()]
        overall.append(joint_gap(part, found, classes, one["overall"]))
        for key in found:
            by_class.setdefault(key, []).append(joint_gap(part, found, [key], one["by_class"].get(key, {})))
    [differences] = compare_gaps({"": overall}, margin, {}).values()
    pairs = list(itertools.combinations(range(len(names)), 2))
    least = {pair: one["p_adjusted"] or 0.0 for pair, one in zip(pairs, differences, strict=True)}
    both = [(names[i], names[j]) for i, j in pairs]
    named = {
        key: [turned(one, pair) for one, pair in zip(found_pairs, both, strict=True)]
        for key, found_pairs in {"": differences, **compare_gaps(by_class, margin, least)}.items()
    }
    inputs = {
        "a": {"objects": int(of_a[0].sum())},
        "simulations": [{"objects": int((~held).sum())} for held in of_a],
    }
    tree = {"covered": float(common.mean()), "simulations": simulations, "pairs": named.pop(""), "inputs": inputs}
    return {**tree, "pairs_by_class": named}, []


def parse_error(text: str) -> tuple[float, float]:
    """The standard deviation of an edge in pixels, and the share of objects without a label."""
    edge, missed = 0.0, 0.0
    for part in text.split(","):
        if part.endswith("%missed"):
            missed = float(part.removesuffix("%missed")) / 100
        else:
            edge = float(part.removesuffix("px"))
    return edge, missed


def labels_with_error(boxes: Array, error: tuple[float, float], level: float, seed: list[int]) -> tuple[Array, Array]:
    """Boxes with so many variances of the error as the seed gives it, and which objects still have a label."""
    random = np.random.default_rng(seed)
    kept = np.flatnonzero(random.random(len(boxes)) < (1 - error[1]) ** level)
    off = random.standard_normal((len(boxes), 4))[kept] * error[0] * math.sqrt(level)
    corner = np.sort((boxes[kept] + off).reshape(-1, 2, 2), axis=1)
    corner[:, 1] = np.maximum(corner[:, 1], corner[:, 0] + 1.0)
    return corner.reshape(-1, 4), kept


def by_appearance(values: Array) -> Array:
    """Numbers in the order in which values appear, the same for the same value."""
    _, first, held = np.unique(values, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[held]


@dataclass(frozen=True)
class Replicate:
    """What is found with one random error of the labels."""

    boot: Together | None
    gap: float
    compared: float
    fallen: float | None  # how far performance in B falls, on the objects that still have a label


def read_replicate(folder: Path, place: int, said: Json, plain: ComparedPart, error: tuple[float, float]) -> Replicate:
    """Compare with one random error; labels that are not those of the seed are refused."""
    level, number_of = LEVELS[(place - 1) // REPLICATES], (place - 1) % REPLICATES
    part, fallen = read_part(folder, place, said, said["draws"][0]), None
    for side in (0, 1):
        held, own = part.table["of_a"] == (side == 0), plain.table["of_a"] == (side == 0)
        seed = [int(said["parameters"]["seed"]), 4, number_of, side]
        box, kept = labels_with_error(plain.table["box"][own], error, level + side, seed)
        for name in ("unit", "block", "class_id", "frame"):
            found, right = part.table[name][held], plain.table[name][own][kept]
            if name == "frame":  # frames are numbered anew where one has lost its last label
                found, right = by_appearance(found), by_appearance(right)
            if not np.array_equal(found, right):
                raise RefusedError(f"contexts-{place}.csv: {name} is not that of the labels which the seed leaves")
        if not np.allclose(part.table["box"][held], box, rtol=0, atol=1e-6):
            raise RefusedError(f"contexts-{place}.csv: labels are not off as the seed has it")
        if side and not level and len(kept):
            before, after = plain.table["performance"][own][kept], part.table["performance"][held]
            fallen = float((before - after).mean())
        elif side and not level:
            fallen = 0.0
    settings = said["parameters"]
    found = {group.key: group.compare(part.table, settings, 0, part.normals, part.doubt) for group in part.contexts}
    boot = together(list(found.values()))
    compared = sum(len(one["w1"]) for one in found.values()) / max(1, int(part.table["of_a"].sum()))
    return Replicate(boot, 0.0 if boot is None else estimate_gap(boot)[0], compared, fallen)


def extrapolations(levels: Array) -> tuple[Array, Array]:
    """By what to multiply the estimates at these levels: as a parabola over the variance, as a line over its root."""
    variance = levels + 1.0
    parabola = np.linalg.pinv(np.vander(variance, min(3, len(levels)), increasing=True))[0]
    line = np.linalg.pinv(np.vander(np.sqrt(variance), min(2, len(levels)), increasing=True))[0]
    return parabola, line


def without_error(levels: list[float], found: list[list[Replicate]], plain: Json, said: Json) -> Json:
    """The gap that labels without error would show, its interval, p and verdict."""
    shapes = extrapolations(np.array(levels))
    weights = (shapes[0] + shapes[1]) / 2
    boots = [[one.boot for one in each if one.boot is not None] for each in found]
    spreads = interval_spreads(min(plain["units_a"], plain["units_b"]), said)
    drawn = weights @ np.array([np.mean([gap_draws(boot) for boot in each], 0) for each in boots])
    scatter = [float(np.var([one.gap for one in each], ddof=1)) / REPLICATES for each in found]
    spread = math.hypot(float(drawn.std()), math.sqrt(float(weights**2 @ scatter)))
    gap = max(0.0, float(weights @ [float(np.mean([one.gap for one in each])) for each in found]))
    doubted = [[float(np.mean([doubted_gap(boot, sign) for boot in each])) for each in boots] for sign in (1, -1)]
    ends = [gap, *(max(0.0, float(shape @ held)) for shape in shapes for held in doubted)]
    p = p_of(float(np.mean([boot.mean for boot in boots[0]])), np.mean([boot.chance for boot in boots[0]], 0))
    low = 0.0 if p > SIGNIFICANCE else max(0.0, min(ends) - spreads * spread)
    high = min(1.0, max(ends) + spreads * spread)
    verdict = plain["verdict"]
    if plain.get("p_adjusted") is not None:
        verdict = verdict_by_margin(p, low, high, float(said["parameters"]["margin"]))
    return {"gap": gap, "low": low, "high": high, "p_value": p, "verdict": verdict}


def recompute_price(folder: Path, said: Json) -> tuple[Json, list[str]]:
    """What the contexts give of label_error.json."""
    error, plain = parse_error(said["error"]), read_part(folder, 0, said, said["draws"][0])
    settings, margin, table = said["parameters"], float(said["parameters"]["margin"]), plain.table
    plain.said.update({"overall": said["as_labelled"]})
    found = {
        group.key: (group.rows, group.compare(table, settings, 0, plain.normals, plain.doubt))
        for group in plain.contexts
    }
    as_labelled = judge(table, found, plain.said, margin)["overall"]
    drawn = [
        [read_replicate(folder, 1 + k * REPLICATES + n, said, plain, error) for n in range(REPLICATES)]
        for k in range(len(LEVELS))
    ]
    kept = [k for k, each in enumerate(drawn) if all(one.boot is not None for one in each)]
    levels, replicates, rows = [LEVELS[k] for k in kept], [drawn[k] for k in kept], list[Json]()
    for level, each in zip(levels, replicates, strict=True):
        boots = [one.boot for one in each if one.boot is not None]
        row = {"level": level, "w1": float(np.mean([boot.mean for boot in boots]))}
        row |= {"noise": float(np.mean([boot.weight @ boot.noise for boot in boots]))}
        gaps, compared = [one.gap for one in each], [one.compared for one in each]
        row |= {
            "gap": float(np.mean(gaps)),
            "spread": float(np.std(gaps, ddof=1)),
            "compared": float(np.mean(compared)),
        }
        rows.append(row)
    right: Json = {"gap": None, "low": None, "high": None, "p_value": None, "verdict": as_labelled["verdict"]}
    if levels and not levels[0] and as_labelled["p_value"] is not None:
        right = without_error(levels, replicates, as_labelled, plain.said)
    tree = {
        "inputs": {side: {"objects": int((table["of_a"] == (side == "a")).sum())} for side in "ab"},
        "as_labelled": as_labelled,
        "levels": rows,
        "price": float(np.mean([one.fallen for one in drawn[0]])),
        "corrected": right,
    }
    return tree, []
