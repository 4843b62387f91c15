"""Check a dossier of simjudge: `python verify.py [FOLDER]`. It needs Python 3.10 or later, NumPy, and nothing else.

Two things are checked. Each file must be the one that manifest.sha256 names. And from the labelled boxes and their
performance in results/*/contexts.csv, everything that result.json says of mean W1, overlap, floor and p is computed
again, by the plain definitions (Elmquist, Serban, Negrut, arXiv 2208.01022, Algorithm 1; docs/method.md of simjudge):

* A context is the patch around a box, painted from all boxes of its picture, one plane for each class; objects that
  have a mask in results/*/masks.csv are painted by it.
* Two contexts of one class are alike if the intersection of their planes is at least theta times the union.
* For each context c of A, W1 is taken between the performance of the contexts of A that are like c, and those of B.
* For the floor and p, the sampling units of both sets are dealt anew to A and B, each with a chance that grows with A's
  share of the contexts like its own, and W1 of the same contexts is computed again, scaled to the true sizes. Where a
  deal leaves a context with one side only, it borrows W1 from the next deal that compares it.
* For the 95 % interval and the gap that would have been shown, units are drawn with replacement, within each set, and
  W1 is computed again with each context as often as its unit was drawn.
* p of the classes is corrected (Holm 1979), and p of all results where there are several; each verdict must follow from
  p, the interval and the margin. Which classes count as tested is taken from result.json.

Exit code 0: everything agrees; 1: something does not.
"""

from __future__ import annotations

import csv
import hashlib
import json
import math
import sys
from pathlib import Path
from typing import Any

import numpy as np

MANIFEST = "manifest.sha256"
CLOSE = 1e-12
"""Numbers agree to this, relative; they are sums in another order."""
SIGNIFICANCE = 0.05
"""Corrected p up to which a difference counts as a gap."""
POWER = 0.8416
"""Of the normal distribution at 0.8."""
PRIORS = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0, 1e12)
"""Contexts that may be assumed beside those that are like one, in the odds of a unit."""
GROUP = 50
"""Deals that lend each other what one of them cannot compare."""
MAIN = ("mean_w1", "overlap_a", "overlap_b", "p_value", "gap_low", "gap_high")
"""Numbers that are printed; all are compared."""
BLOCK = 256
"""Contexts whose similarity to all others is computed at once."""


def check_files(folder: Path) -> list[str]:
    """Compare every file with the manifest.

    Args:
        folder: of the dossier.

    Returns:
        What is wrong, a line each.
    """
    problems, listed = [], {MANIFEST}
    try:
        lines = (folder / MANIFEST).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        return [f"{MANIFEST} cannot be read: {error}"]
    for number, line in enumerate(lines, 1):
        digest, _, name = line.partition("  ")
        listed.add(name)
        file = folder / name
        if not name or not file.is_file():
            problems.append(f"{MANIFEST}, line {number}: there is no file {name!r}")
        elif hashlib.sha256(file.read_bytes()).hexdigest() != digest:
            problems.append(f"{name} is not the file that {MANIFEST} names")
    there = {file.relative_to(folder).as_posix() for file in folder.rglob("*") if file.is_file()}
    return problems + [f"{name} is not named in {MANIFEST}" for name in sorted(there - listed)]


def read_contexts(file: Path) -> dict[str, Any]:
    """Read a table of contexts.

    Args:
        file: contexts.csv.

    Returns:
        Columns by name: "of_a", "unit", "frame", "class_id" as integers; "box" (N, 4), "size" (N, 2), "performance".
    """
    with file.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    column = {name: [row[name] for row in rows] for name in rows[0]}

    def numbers(*names: str) -> np.ndarray[Any, Any]:
        return np.array([column[name] for name in names], np.float64).T

    return {
        "of_a": np.array([text == "a" for text in column["set"]]),
        "unit": np.array(column["unit"], np.int64),
        "frame": np.array(column["frame"], np.int64),
        "class_id": np.array(column["class_id"], np.int64),
        "size": numbers("width", "height").astype(np.int64),
        "box": numbers("x0", "y0", "x1", "y1"),
        "performance": numbers("performance")[:, 0],
    }


def read_masks(file: Path, count: int) -> list[tuple[int, int, np.ndarray[Any, Any]] | None]:
    """Read the masks of contexts.

    Args:
        file: masks.csv; where there is none, no context has a mask.
        count: of the contexts.

    Returns:
        Of each context left and top in the picture, and float32 (h, w), 0 or 1; None where it has no mask.
    """
    masks: list[tuple[int, int, np.ndarray[Any, Any]] | None] = [None] * count
    if not file.exists():
        return masks
    with file.open(encoding="utf-8", newline="") as stream:
        for row in csv.DictReader(stream):
            lengths = [int(text) for text in row["runs"].split()]
            pixels = np.repeat(np.arange(len(lengths)) % 2, lengths).astype(np.float32)
            shape = int(row["height"]), int(row["width"])
            masks[int(row["row"])] = int(row["left"]), int(row["top"]), pixels.reshape(shape)
    return masks


def pixel_edges(box: np.ndarray[Any, Any], size: np.ndarray[Any, Any], *, whole: bool) -> tuple[int, int, int, int]:
    """Edges on the pixel grid: rounded, or as the authors' public tool has them.

    Args:
        box: x0, y0, x1, y1.
        size: width and height of the picture.
        whole: as the public tool has them.
    """
    if not whole:
        x0, y0, x1, y1 = (math.floor(value + 0.5) for value in box.tolist())
        return x0, y0, x1, y1
    width, height = (int(value) for value in size)
    x0, y0, x1, y1 = (round(value) for value in box.tolist())
    x0, y0 = min(max(x0, 0), width - 2), min(max(y0, 0), height - 2)
    return x0, y0, min(max(x1, x0 + 1), width - 1), min(max(y1, y0 + 1), height - 1)


def paint_contexts(
    table: dict[str, Any], rows: np.ndarray[Any, Any], settings: dict[str, Any]
) -> np.ndarray[Any, Any]:
    """Paint the patches around some boxes.

    Args:
        table: all contexts, with "mask" of each.
        rows: of the boxes in the middle.
        settings: "parameters" of result.json.

    Returns:
        float32 (N, planes x h x w), 0 or 1.
    """
    height, width = settings["patch"]
    classes = np.unique(table["class_id"]) if settings["class_aware"] else np.zeros(1, np.int64)
    planes = np.zeros((len(rows), len(classes), height, width), np.float32)
    whole, factor = settings["integer_boxes"], settings["mask_factor"]
    edges = [pixel_edges(box, size, whole=whole) for box, size in zip(table["box"], table["size"], strict=True)]
    of_frame: dict[tuple[bool, int], list[int]] = {}
    for row, key in enumerate(zip(table["of_a"].tolist(), table["frame"].tolist(), strict=True)):
        of_frame.setdefault(key, []).append(row)
    for number, row in enumerate(rows.tolist()):
        x0, y0, x1, y1 = edges[row]
        left, top = (x0 + x1 - width) // 2, (y0 + y1 - height) // 2
        across, down = (int(value) for value in table["size"][row])
        for other in of_frame[bool(table["of_a"][row]), int(table["frame"][row])]:
            a0, b0, a1, b1 = edges[other]
            mask = table["mask"][other]
            if mask is not None:
                a0, b0, a1, b1 = mask[0], mask[1], mask[0] + mask[2].shape[1], mask[1] + mask[2].shape[0]
            a0, a1 = max(a0, 0, left) - left, min(a1, across, left + width) - left
            b0, b1 = max(b0, 0, top) - top, min(b1, down, top + height) - top
            plane = int(np.searchsorted(classes, table["class_id"][other])) if settings["class_aware"] else 0
            if a0 >= a1 or b0 >= b1:
                continue
            if mask is None:
                planes[number, plane, b0:b1, a0:a1] = 1
            else:
                cut = mask[2][b0 + top - mask[1] : b1 + top - mask[1], a0 + left - mask[0] : a1 + left - mask[0]]
                np.maximum(planes[number, plane, b0:b1, a0:a1], cut, out=planes[number, plane, b0:b1, a0:a1])
        if factor is not None:
            kept = np.zeros((height, width), np.float32)
            rx, ry = factor * (x1 - x0) / 2, factor * (y1 - y0) / 2
            bottom, right = min(height - 1, int(height / 2 + ry)), min(width - 1, int(width / 2 + rx))
            kept[max(0, int(height / 2 - ry)) : bottom + 1, max(0, int(width / 2 - rx)) : right + 1] = 1
            planes[number] *= kept
    return planes.reshape(len(rows), -1)


def similar_contexts(patches: np.ndarray[Any, Any], settings: dict[str, Any]) -> list[np.ndarray[Any, Any]]:
    """Which contexts are alike; counts in float32 are exact up to 2^24 pixels.

    Args:
        patches: as `paint_contexts` makes them.
        settings: "parameters" of result.json.

    Returns:
        For each context the numbers of those that are like it.
    """
    theta, area, found = settings["theta"], patches.sum(1, dtype=np.float64), []
    for begin in range(0, len(patches), BLOCK):
        both = (patches[begin : begin + BLOCK] @ patches.T).astype(np.float64)
        union = area[begin : begin + BLOCK, None] + area - both
        # Two empty patches have a similarity of 0.
        count, least = np.where(union > 0, both, 0), np.where(union > 0, theta * union, theta)
        found += [np.flatnonzero(row) for row in (count > least if settings["strict"] else count >= least)]
    return found


def assumed_contexts(shown: list[tuple[int, int, int]]) -> float:
    """How many contexts are assumed in the odds: those of a beta-binomial distribution of A's shares.

    Args:
        shown: of each context, the units of A that show the like, all units that do, and the like contexts.
    """
    of_a, units, contexts = (np.array(column, np.float64) for column in zip(*shown, strict=True))
    share = of_a.sum() / units.sum()
    lottery, pairs = share * (1 - share), float((units * units - units).sum())
    if not lottery * pairs > 0:
        return math.inf
    scatter = float(((of_a - share * units) ** 2).sum() - lottery * units.sum()) / (lottery * pairs)
    return max(1 / scatter - 1, 0.0) * float(contexts.sum() / units.sum()) if scatter > 0 else math.inf


def add_odds(
    alike: list[np.ndarray[Any, Any]], unit: np.ndarray[Any, Any], units_a: int, odds: np.ndarray[Any, Any]
) -> None:
    """Add to the units what the contexts of a class say of A's share of the contexts like theirs.

    Args:
        alike: of each context of the class those that are like it.
        unit: of each context, those of B behind those of A.
        units_a: of A, of all classes.
        odds: (2, units), the sum of log odds and how many were summed; is changed.
    """
    share = float((unit < units_a).mean())
    if not 0 < share < 1:
        return
    held = [np.unique(unit[near]) for near in alike]
    shown = [(int((each < units_a).sum()), len(each), len(near)) for each, near in zip(held, alike, strict=True)]
    assumed = min(max(assumed_contexts(shown), PRIORS[0]), PRIORS[-1])
    upper = next(k for k in range(1, len(PRIORS)) if assumed <= PRIORS[k])
    low, high = PRIORS[upper - 1 : upper + 1]
    part = math.log(assumed / low) / math.log(high / low)
    for context, near in enumerate(alike):
        others = unit[near][unit[near] != unit[context]]
        of_a = int((others < units_a).sum())
        of_b = len(others) - of_a
        ratios = [(of_a + prior * share) / (of_b + prior * (1 - share)) for prior in (low, high)]
        log_odds = (1 - part) * math.log(ratios[0]) + part * math.log(ratios[1])
        odds[:, unit[context]] += log_odds - math.log(share / (1 - share)), 1


def expected_w1(size_a: Any, size_b: Any) -> Any:
    """How large W1 of two samples of one distribution is for their sizes.

    Args:
        size_a, size_b: above 0.
    """
    less = np.minimum(size_a, size_b)
    ratio = less / np.maximum(size_a, size_b)
    few = (0.064 - 0.5 * ratio / (1 + 0.6 * ratio)) / less**0.75
    return 0.3133 * np.sqrt(1 / size_a + 1 / size_b) * (1 + few)


def deal_units(
    settings: dict[str, Any], units: tuple[int, int], permutations: int, odds: np.ndarray[Any, Any]
) -> np.ndarray[Any, Any]:
    """Deal the units: by column, first as they are, then `permutations` times by chance.

    Args:
        settings: "parameters" of result.json.
        units: of A and of B.
        permutations: how often.
        odds: of the units, from `add_odds`.

    Returns:
        float64 (units of A and B, 1 + permutations): keys whose smallest are dealt to A, or of pairs 0 for A, 1 for B.
    """
    random, count = np.random.default_rng([settings["seed"], 0]), sum(units)
    preferred = odds[0] / np.maximum(odds[1], 1)
    columns = [np.repeat([0, 1], units) if settings["paired"] else np.arange(count)]
    for _ in range(permutations):
        if settings["paired"]:
            swapped = random.integers(0, 2, units[0])
            columns.append(np.concatenate([swapped, 1 - swapped]))
        else:
            columns.append(random.logistic(size=count) - preferred)
    return np.stack(columns, axis=1)


def draw_units(settings: dict[str, Any], units: tuple[int, int], draws: int) -> np.ndarray[Any, Any]:
    """Draw the units with replacement, within each set; of pairs, both sides together.

    Args:
        settings: "parameters" of result.json.
        units: of A and of B.
        draws: how often.

    Returns:
        int64 (units of A and B, draws): how often each unit was drawn.
    """
    random, columns = np.random.default_rng([settings["seed"], 1]), []
    for _ in range(draws):
        times = []
        for side in range(1 if settings["paired"] else 2):
            drawn = random.integers(0, units[side], units[side]) if units[side] else np.zeros(0, np.int64)
            times.append(np.minimum(np.bincount(drawn, minlength=units[side]), 255))
        columns.append(np.concatenate([times[0], times[-1]]))
    return np.stack(columns, axis=1) if columns else np.zeros((sum(units), 0), np.int64)


def labels_of_class(order: np.ndarray[Any, Any], unit: np.ndarray[Any, Any], units_a: int, *, paired: bool) -> Any:
    """Which contexts of a class count for A: of the units that hold the class, A keeps as many as it has.

    Args:
        order: as `deal_units` makes it.
        unit: of each context, those of B behind those of A.
        units_a: of A, of all classes.
        paired: units are swapped within pairs.

    Returns:
        bool (contexts, 1 + permutations).
    """
    if paired:
        return order[unit] == 0
    held, back = np.unique(unit, return_inverse=True)
    first = int((held < units_a).sum())
    if not 0 < first < len(held):
        return np.repeat((held < units_a)[back.reshape(-1), None], order.shape[1], axis=1)
    return (order[held] <= np.sort(order[held], axis=0)[first - 1])[back.reshape(-1)]


def compare_class(
    performance: np.ndarray[Any, Any], unit: np.ndarray[Any, Any], alike: list[np.ndarray[Any, Any]],
    order: np.ndarray[Any, Any], times: np.ndarray[Any, Any], units_a: int, settings: dict[str, Any],
) -> dict[str, Any]:  # fmt: skip
    """Algorithm 1 for one class, as it is, for every deal, and for every draw.

    Args:
        performance: of the contexts of the class, those of A first.
        unit: of each context, those of B behind those of A.
        alike: of each context those that are like it.
        order: as `deal_units` makes it.
        times: as `draw_units` makes it.
        units_a: of A.
        settings: "parameters" of result.json.

    Returns:
        "w1": of the compared contexts; "dealt": mean W1 of each deal; "overlap": bool, of the contexts; "drawn": (2,
        draws), the sum of W1 over the contexts that a draw compares, and their number.
    """
    drawn = np.zeros((2, times.shape[1]))
    label = labels_of_class(order, unit, units_a, paired=settings["paired"])
    total, count = np.zeros(label.shape[1]), np.zeros(label.shape[1])
    w1, overlap, least = [], np.zeros(len(unit), bool), settings["min_batch_size"]
    for context, found_near in enumerate(alike):
        near = found_near[np.argsort(performance[found_near], kind="stable")]
        if unit[context] < units_a:
            own, gaps = times[unit[context]], np.diff(performance[near])
            from_a = unit[near] < units_a
            drawn += own * drawn_w1(times[unit[near]], from_a, gaps, least)
        for_a = label[near]
        size_a = for_a.sum(0)
        size_b = len(near) - size_a
        counts = (size_a >= least) & (size_b >= least)
        if not (unit[context] < units_a and counts[0]):
            continue
        share_a = np.cumsum(for_a, axis=0) / np.maximum(size_a, 1)
        share_b = np.cumsum(~for_a, axis=0) / np.maximum(size_b, 1)
        found = (np.abs(share_a - share_b)[:-1] * np.diff(performance[near])[:, None]).sum(0)
        w1.append(float(found[0]))
        overlap[near] = True
        scaled = np.full(len(counts), np.nan)
        size = expected_w1(size_a[counts], size_b[counts])
        scaled[counts] = found[counts] * size[0] / size
        scaled = lent_w1(scaled)
        total += np.nan_to_num(scaled)
        count += ~np.isnan(scaled)
    with np.errstate(invalid="ignore", divide="ignore"):
        return {"w1": w1, "dealt": total / count, "overlap": overlap, "drawn": drawn}


def drawn_w1(
    times: np.ndarray[Any, Any], of_a: np.ndarray[Any, Any], gaps: np.ndarray[Any, Any], least: int
) -> np.ndarray[Any, Any]:
    """W1 of a context in each draw.

    Args:
        times: (like contexts, draws), in order of performance: how often each was drawn.
        of_a: (like contexts,), which of them are of A.
        gaps: between the performance of each and the next.
        least: the smallest number of contexts of a side that is compared.

    Returns:
        (2, draws): W1, and 1; both 0 where a side is too small.
    """
    size_a, size_b = times[of_a].sum(0), times[~of_a].sum(0)
    share_a = np.cumsum(times * of_a[:, None], axis=0) / np.maximum(size_a, 1)
    share_b = np.cumsum(times * ~of_a[:, None], axis=0) / np.maximum(size_b, 1)
    counts = (size_a >= least) & (size_b >= least)
    return np.stack([(np.abs(share_a - share_b)[:-1] * gaps[:, None]).sum(0) * counts, counts])


def lent_w1(w1: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """W1 of a context in each deal; one that cannot compare it borrows from the next one of its group that can.

    Args:
        w1: of the truth and of each deal, NaN where one side is empty.
    """
    whole = w1.copy()
    for begin in range(1, len(w1), GROUP):
        group = w1[begin : begin + GROUP]
        there = np.flatnonzero(~np.isnan(group))
        if len(there):
            whole[begin : begin + GROUP] = group[there[np.searchsorted(there, np.arange(len(group))) % len(there)]]
    return whole


def certainty(
    mean_w1: float, dealt: np.ndarray[Any, Any], drawn: np.ndarray[Any, Any], tested: int
) -> dict[str, float | None]:
    """Floor, p and interval; deals in which nothing was compared count against a difference.

    Args:
        mean_w1: of the sets as they are.
        dealt: mean W1 as it is, then of each deal; NaN where nothing was compared.
        drawn: (2, draws), sum of W1 in each draw, and how many contexts were compared.
        tested: classes among which this one is; 1 for all together.
    """
    tries = dealt[1:]
    defined = tries[~np.isnan(tries)]
    if not len(tries):
        return {}
    larger = int((defined >= dealt[0] * (1 - 1e-12)).sum()) + len(tries) - len(defined)
    p_value: dict[str, float | None] = {"p_value": (1 + larger) / (1 + len(tries))}
    if not len(defined):
        return p_value
    floor = float(defined.mean())
    quantile = float(np.quantile(defined, 0.95))
    found = {**p_value, "noise": floor, "noise_q95": quantile, "gap": mean_w1 - floor}
    means = drawn[0][drawn[1] > 0] / drawn[1][drawn[1] > 0]
    if not len(means):
        return found
    spread = float(np.abs(np.quantile(means, [0.025, 0.975]) - means.mean()).max())
    needed = float(np.quantile(defined, 1 - SIGNIFICANCE / tested)) + POWER * float(means.std())
    return {
        **found,
        "gap_low": mean_w1 - floor - spread,
        "gap_high": largest_gap(mean_w1 + spread, floor),
        "detectable_gap": largest_gap(needed, floor),
    }


def largest_gap(w1: float, floor: float) -> float:
    """The largest gap that chance can hide in W1: with a spread s, W1 of a gap g is s E|N(g / s, 1)| at least.

    Args:
        w1: as it is expected.
        floor: W1 without a gap, s E|N(0, 1)|.
    """
    if w1 <= floor or floor == 0:
        return 0.0 if w1 <= floor else w1
    spread = floor / math.sqrt(2 / math.pi)
    low, high = 0.0, w1 / spread
    while high - low > 1e-9 * high:
        x = (low + high) / 2
        folded = math.sqrt(2 / math.pi) * math.exp(-x * x / 2) + x * math.erf(x / math.sqrt(2))
        low, high = (x, high) if folded < w1 / spread else (low, x)
    return spread * high


def recompute(folder: Path) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """Compute the numbers of a result again.

    Args:
        folder: with result.json and contexts.csv.

    Returns:
        result.json, and by class id, and "overall", the numbers.
    """
    said = json.loads((folder / "result.json").read_text(encoding="utf-8"))
    settings, table = said["parameters"], read_contexts(folder / "contexts.csv")
    table["mask"] = read_masks(folder / "masks.csv", len(table["of_a"]))
    units = (said["inputs"]["a"]["units"], said["inputs"]["b"]["units"])
    unit = table["unit"] + np.where(table["of_a"], 0, units[0])
    rows_of = {k: np.flatnonzero(table["class_id"] == k) for k in np.unique(table["class_id"]).tolist()}
    alike = {k: similar_contexts(paint_contexts(table, rows, settings), settings) for k, rows in rows_of.items()}
    odds = np.zeros((2, sum(units)))
    for class_id, rows in rows_of.items():
        add_odds(alike[class_id], unit[rows], units[0], odds)
    order = deal_units(settings, units, said["overall"]["permutations"], odds)
    times = draw_units(settings, units, said["overall"]["bootstrap"])
    tested = classes_tested(said)
    classes: dict[str, dict[str, Any]] = {}
    every_w1: list[float] = []
    in_overlap: dict[bool, list[Any]] = {True: [], False: []}
    weight, weighted = (np.zeros(order.shape[1]) for _ in range(2))
    drawn = np.zeros((2, times.shape[1]))
    for class_id, rows in rows_of.items():
        found = compare_class(
            table["performance"][rows], unit[rows], alike[class_id], order, times, units[0], settings
        )
        of_a, overlap, w1 = table["of_a"][rows], found["overlap"], found["w1"]
        classes[str(class_id)] = numbers_of(w1, overlap[of_a], overlap[~of_a], found, tested)
        every_w1 += w1
        in_overlap[True].append(overlap[of_a])
        in_overlap[False].append(overlap[~of_a])
        # Together, each class weighs in every deal what it weighs in the truth.
        defined = ~np.isnan(found["dealt"])
        weight = weight + len(w1) * defined
        drawn += found["drawn"]
        weighted = weighted + len(w1) * np.where(defined, found["dealt"], 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        dealt = weighted / weight
    both = [np.concatenate(in_overlap[side]) for side in (True, False)]
    classes["overall"] = numbers_of(every_w1, both[0], both[1], {"dealt": dealt, "drawn": drawn}, 1)
    return said, classes


def classes_tested(said: dict[str, Any]) -> int:
    """How many classes count as tested, at least 1: those that were compared and hold enough for a small p.

    Args:
        said: result.json.
    """
    reasons = ("", "few_permutations")
    return max(1, sum(bool(each["compared"]) and each["verdict_reason"] in reasons
                      for each in said["by_class"].values()))  # fmt: skip


def numbers_of(
    w1: list[float], overlap_a: Any, overlap_b: Any, tries: dict[str, Any], tested: int
) -> dict[str, Any]:
    """The numbers of one class, or of all together, by their names in result.json.

    Args:
        w1: of the compared contexts.
        overlap_a, overlap_b: bool, of all contexts of each set.
        tries: "dealt" and "drawn", see `certainty`.
        tested: classes among which this one is; 1 for all together.
    """
    numbers: dict[str, Any] = {
        "n_a": len(overlap_a), "n_b": len(overlap_b), "compared": len(w1),
        "mean_w1": float(np.mean(w1)) if w1 else None,
        "overlap_a": float(overlap_a.mean()) if len(overlap_a) else None,
        "overlap_b": float(overlap_b.mean()) if len(overlap_b) else None,
    }  # fmt: skip
    return {**numbers, **(certainty(numbers["mean_w1"], tries["dealt"], tries["drawn"], tested) if w1 else {})}


def holm(p_values: dict[str, float]) -> dict[str, float]:
    """Correct p values for their number (Holm, Scand. J. Statist. 6, 1979).

    Args:
        p_values: of what was tested.
    """
    largest, out = 0.0, {}
    for place, key in enumerate(sorted(p_values, key=lambda key: p_values[key])):
        largest = min(1.0, max(largest, (len(p_values) - place) * p_values[key]))
        out[key] = largest
    return out


def add_verdicts(said: dict[str, Any], classes: dict[str, dict[str, Any]]) -> None:
    """Add corrected p and verdicts to the numbers of a result, for what it calls tested; nothing else shows a gap.

    Args:
        said: result.json.
        classes: as `recompute` finds them.
    """
    entries = {**said["by_class"], "overall": said["overall"]}
    tested = [key for key, found in classes.items() if entries.get(key, {}).get("p_adjusted") is not None
              and found.get("p_value") is not None]  # fmt: skip
    for key, found in classes.items():
        if key not in tested and entries.get(key, {}).get("detectable_gap") is None:
            found.pop("detectable_gap", None)
    least = classes["overall"].get("p_value") or 0.0
    corrected = holm({key: classes[key]["p_value"] for key in tested if key != "overall"})
    for key in tested:
        p = classes[key]["p_adjusted"] = least if key == "overall" else max(corrected[key], least)
        low, high, margin = (entries[key].get(name) for name in ("gap_low", "gap_high", "margin"))
        if low is None or high is None:
            continue
        if p > SIGNIFICANCE:
            classes[key]["verdict"] = "predicts" if high < margin else "cannot_tell"
        elif high < margin:
            classes[key]["verdict"] = "small_gap"
        else:
            classes[key]["verdict"] = "large_gap" if low >= margin else "gap"


def compare_numbers(folder: Path) -> tuple[list[str], list[str]]:
    """Compare what a result says with what is computed here.

    Args:
        folder: with result.json and contexts.csv.

    Returns:
        A line for each class and for all together; what differs, a line each.
    """
    said, classes = recompute(folder)
    add_verdicts(said, classes)
    lines, wrong = [], []
    for key, found in classes.items():
        entry = said["overall"] if key == "overall" else said["by_class"].get(key, {})
        name = "all classes" if key == "overall" else said["class_names"].get(key, f"class {key}")
        differs = [field for field, value in found.items() if not agree(entry.get(field), value)]
        wrong += [f"{name}: {field} is {found[field]}, not {entry.get(field)}" for field in differs]
        main_ones = [field for field in MAIN if field in found]
        shown = ", ".join(f"{field} {number(found[field])}" for field in main_ones)
        lines.append(f"{name}: {shown}: {'differs' if differs else 'as the result says'}")
    return lines, wrong


def compare_all_results(folder: Path) -> list[str]:
    """Compare p over all results of the dossier with what dossier.json says.

    Args:
        folder: of the dossier, whose results agree.

    Returns:
        What differs, a line each.
    """
    listed = json.loads((folder / "dossier.json").read_text(encoding="utf-8"))["results"]
    tested = {}
    for each in listed:
        result = json.loads((folder / "results" / each["name"] / "result.json").read_text(encoding="utf-8"))
        if result["overall"].get("p_adjusted") is not None:
            tested[each["name"]] = result["overall"]["p_adjusted"]
    right = holm(tested)
    return [
        f"dossier.json: p_of_all_results of {each['name']} is {right.get(each['name'])}, not {each['p_of_all_results']}"
        for each in listed
        if not agree(each["p_of_all_results"], right.get(each["name"]))
    ]


def agree(said: Any, found: Any) -> bool:
    """Whether two numbers, or both missing, are the same but for rounding; words must be the same.

    Args:
        said: in result.json.
        found: computed here.
    """
    if said is None or found is None or isinstance(said, str):
        return bool(said == found)
    return bool(abs(said - found) <= CLOSE * max(1.0, abs(said)))


def number(value: float | None) -> str:
    """A number for people.

    Args:
        value: the number, None where there is none.
    """
    return "none" if value is None else f"{value:.6g}"


def main() -> int:
    """Check a dossier, and print what was found."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent).resolve()
    problems = check_files(folder)
    for line in problems:
        print(f"WRONG: {line}")
    if problems:
        print("the files are not those of the dossier; nothing was computed")
        return 1
    print("every file is the one that manifest.sha256 names")
    wrong = []
    for result in sorted((folder / "results").iterdir()):
        lines, differs = compare_numbers(result)
        wrong += [f"{result.name}, {line}" for line in differs]
        print("\n".join(f"{result.name}, {line}" for line in lines))
    wrong += compare_all_results(folder)
    for line in wrong:
        print(f"WRONG: {line}")
    print("everything agrees" if not wrong else f"{len(wrong)} numbers differ")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
