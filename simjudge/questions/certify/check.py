"""Check a dossier of simjudge: `python verify.py [FOLDER]`. It needs Python 3.10 or later, NumPy, and nothing else.

Each file must be the one that manifest.sha256 and dossier.json name. Then everything that the page shows of a result is
computed again from results/*/contexts.csv, by the plain definitions (Elmquist, Serban, Negrut, arXiv 2208.01022,
Algorithm 1; docs/concepts/method.md of simjudge, sections 2 to 6 and 9), and page, result.json and dossier.json must
say it:

* Performance of an object is the IoU of its box with that of its prediction.
* A context is the patch around a box, painted from all boxes (or masks) of its picture, one plane for each class. Two
  contexts of one class are alike if the intersection of their planes is at least theta times the union.
* For each context c of A, W1 is taken between the performance of A's contexts like c and that of B's.
* Chance: in each draw every sampling unit gets a normal number, by which the samples of W1 are weighted. W1 of the
  draws gives noise, p, the gap with its interval, and the gap that would have been shown.
* Each verdict and its reason must follow, also from the verdicts at thresholds 0.1 below and above.

What it does not check is named at the end. Exit code 0: everything agrees; 1: something does not.
"""

from __future__ import annotations

import csv
import hashlib
import html
import json
import math
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
Json = dict[str, Any]
MANIFEST, FACTS, PAGE = "manifest.sha256", "dossier.json", "index.html"
CLOSE = 1e-8
"""Numbers agree to this; they are sums in another order."""
SIGNIFICANCE, FEWEST_UNITS, LEAST_TOLD, NOISE_DOUBT, POWER = 0.05, 6, 0.5, 0.8, 0.8416
"""Corrected p up to which a difference is a gap; units of each side that a verdict needs; normal quantile at 0.8."""
AT_ZERO = math.sqrt(2 / math.pi)
"""Mean size of a standard normal number."""
MOST = {
    "contexts": 1_000_000,
    "draws": 1_000_000,
    "normal numbers": 500_000_000,
    "pixels": 2_000_000_000,
    "steps": 200_000_000_000,
}
"""Larger dossiers are refused: whoever edits a number must not be able to fill the memory of whoever checks it."""
BLOCK, LANE = 256, 400_000
"""Contexts whose similarity to others is computed at once; numbers of draws that are held at once."""
ERF_STEP, ERF_END = 1 / 1024, 6.0
"""Distance of the places where the error function is tabled; from where on it is 1 to 16 digits."""
LEAST_PRECISION, LEAST_RECALL = 0.05, 0.1
"""mAP50, and recall at its score, below which a detector finds next to nothing."""
PATCH, PATCH_IMAGE, PATCH_LEAST, PATCH_MOST, PATCH_STEP, LARGEST_PATCH = 120, 1280, 1.5, 2.0, 4, 4096
"""A patch that sets choose: its side for images of so many pixels, its limits in median objects, its steps, its end."""
WORDS = {
    "detector_fails": "Detector fails",
    "large_gap": "Large gap",
    "gap": "Gap",
    "small_gap": "Small gap",
    "predicts": "Predicts within the margin",
    "cannot_tell": "Cannot tell",
    "too_few": "Too few",
    "no_overlap": "No overlap",
    "not_tested": "Not tested",
}
WORST_FIRST = (
    "detector_fails",
    "large_gap",
    "gap",
    "no_overlap",
    "cannot_tell",
    "too_few",
    "not_tested",
    "small_gap",
    "predicts",
)
"""Verdicts; the worst of all that was judged stands before the page."""
NOT_COMPUTED = (
    "false_positives_a",
    "false_positives_b",
    "map50_a",
    "map50_b",
    "map50_95_a",
    "map50_95_b",
    "recall_a",
    "recall_b",
    "scope",
    "pointwise_pairs",
    "pointwise_mean_difference",
    "p_study",
    "verdict_study",
)
"""Fields of result.json that boxes and performance do not give."""
UNCHECKED = (
    "that the input is real: invented boxes and predictions give numbers that agree",
    "in which kinds of contexts and of places two sets differ most",
    "that nothing was left out: other comparisons, predictions that belong to no object, frames without objects",
    "the one-to-one assignment of predictions to objects, and with preset cpd performance 0: taken as the table has it",
    "the sampling units, and the expected performance of adjusted results: both are taken as the table has them",
    "numbers of what else the detector does: false positives a frame, score of matches, recall, average precision",
    "confusion and pointwise numbers of result.json",
    "names, paths, digests of the inputs, versions, and words of the page outside its verdicts and numbers",
)


ERF_PLACES = np.arange(0, ERF_END + 1.5 * ERF_STEP, ERF_STEP)
ERF = np.array([math.erf(place) for place in ERF_PLACES.tolist()])
ERF_SLOPE = 2 / math.sqrt(math.pi) * np.exp(-(ERF_PLACES**2)) * ERF_STEP


class RefusedError(Exception):
    """Something cannot be computed, in one line."""


UNREADABLE = (
    RefusedError,
    ArithmeticError,
    AttributeError,
    IndexError,
    KeyError,
    MemoryError,
    OSError,
    RecursionError,
    TypeError,
    ValueError,
    csv.Error,
)
"""What an edited file may lead to."""


def check_files(folder: Path) -> list[str]:
    """What is wrong with the files, by the manifest and by dossier.json; a line each."""
    problems, listed = [], {MANIFEST: ""}
    try:
        lines = (folder / MANIFEST).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        return [f"{MANIFEST} cannot be read: {error}"]
    for number, line in enumerate(lines, 1):
        digest, _, name = line.partition("  ")
        listed[name] = digest
        if not name or not (folder / name).is_file():
            problems.append(f"{MANIFEST}, line {number}: there is no file {name!r}")
        elif sha256(folder / name) != digest:
            problems.append(f"{name} is not the file that {MANIFEST} names")
    there = {file.relative_to(folder).as_posix() for file in folder.rglob("*") if not file.is_dir()}
    problems += [f"{name} is not named in {MANIFEST}" for name in sorted(there - set(listed))]
    if problems:
        return problems
    named = read_json(folder / FACTS).get("files")
    if not isinstance(named, dict):
        return [f"{FACTS} names no files"]
    for name in sorted(({*named} | {*listed}) - {MANIFEST, FACTS}):
        if named.get(name) != listed.get(name):
            problems.append(f"{name} is not the file that {FACTS} names")
    return problems


def sha256(file: Path) -> str:
    """Digest of a file."""
    return hashlib.sha256(file.read_bytes()).hexdigest()


def seal(folder: Path) -> str:
    """Digest of all results: their number, names and files."""
    files = sorted(file for file in (folder / "results").rglob("*") if file.is_file())
    lines = [f"{sha256(file)}  {file.relative_to(folder).as_posix()}\n" for file in files]
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def read_json(file: Path) -> Json:
    """Read a file that holds one object."""

    def finite(text: str) -> float:
        if not math.isfinite(found := float(text)):
            raise RefusedError(f"{file.name} holds {text}, which is no number")
        return found

    said = json.loads(file.read_text(encoding="utf-8"), parse_float=finite, parse_constant=finite)
    if not isinstance(said, dict):
        raise RefusedError(f"{file.name} holds no object")
    return said


def bounded(count: float, what: str) -> None:
    """Refuse what would not fit this machine."""
    if not 0 <= count <= MOST[what]:
        raise RefusedError(f"{count:,.0f} {what} are more than the {MOST[what]:,} that this script computes with")


def read_contexts(file: Path) -> dict[str, Array]:
    """Columns of contexts.csv by name: of_a, box and predicted (N, 4), size (N, 2), the others as they are; masks."""
    with file.open(encoding="utf-8", newline="") as stream:
        rows = []
        for row in csv.DictReader(stream):
            rows.append(row)
            bounded(len(rows), "contexts")
    if not rows:
        raise RefusedError(f"{file.name} holds no contexts")

    def numbers(*names: str) -> Array:
        found = np.array([[float(row[name] or "nan") for name in names] for row in rows])
        if np.isfinite(found).sum() != sum(row[name] != "" for row in rows for name in names):
            raise RefusedError(f"{file.name}: {', '.join(names)} must be finite, or empty")
        return found

    def whole(*names: str, missing: int = 0) -> Array:
        return np.array([[int(row[name] or missing) for name in names] for row in rows], np.int64)

    table: dict[str, Array] = {
        "of_a": np.array([row["set"] == "a" for row in rows]),
        **{name: whole(name)[:, 0] for name in ("unit", "frame", "class_id")},
        "block": whole("block", missing=-1)[:, 0],
        "size": whole("width", "height"),
        "box": numbers("x0", "y0", "x1", "y1"),
        "predicted": numbers("predicted_x0", "predicted_y0", "predicted_x1", "predicted_y1"),
        "expected": numbers("expected_performance", "expected_found"),
        **{name: numbers(name)[:, 0] for name in ("performance", "score")},
    }
    table["mask"] = read_masks(file.with_name("masks.csv"), len(rows))
    if not ((table["performance"] >= 0) & (table["performance"] <= 1)).all():
        raise RefusedError(f"{file.name}: performance is not within 0 and 1")
    if not (np.abs(table["box"]) < 2**31).all() or not ((table["size"] > 0) & (table["size"] < 2**31)).all():
        raise RefusedError(f"{file.name}: a box or a picture has no size that a picture can have")
    for name in ("unit", "block"):
        if (table[name] < (0 if name == "unit" else -1)).any() or (table[name] >= 2 * len(rows)).any():
            raise RefusedError(f"{file.name}: {name}s must be numbered from 0 on, below {2 * len(rows):,}")
    return table


def read_masks(file: Path, count: int) -> Array:
    """Of each context left and top in the picture, and its mask (h, w), 0 or 1; None where it has no mask."""
    masks = np.empty(count, object)
    if not file.exists():
        return masks
    pixels_of_all = 0
    with file.open(encoding="utf-8", newline="") as stream:
        for row in csv.DictReader(stream):
            lengths = [int(text) for text in row["runs"].split()]
            height, width = int(row["height"]), int(row["width"])
            pixels_of_all += abs(height * width)
            bounded(pixels_of_all, "pixels")
            if min(height, width, *lengths) < 0 or sum(lengths) != height * width:
                raise RefusedError(f"{file.name}: the runs of row {row['row']} do not fill {width} x {height} pixels")
            pixels = np.repeat((np.arange(len(lengths)) % 2).astype(np.uint8), lengths)
            masks[int(row["row"])] = int(row["left"]), int(row["top"]), pixels.reshape(height, width)
    return masks


def wrong_performance(table: dict[str, Array], settings: Json) -> Array:
    """Which rows say another performance than their boxes give."""
    box, other, found = table["box"], table["predicted"], ~np.isnan(table["predicted"][:, 0])
    if settings["integer_boxes"]:
        box, other = (
            np.array(
                [
                    pixel_edges(edges, size, whole=True) if known else edges
                    for edges, size, known in zip(both, table["size"], found, strict=True)
                ],
                np.float64,
            )
            for both in (box, other)
        )
    sides = np.minimum(box[:, 2:], other[:, 2:]) - np.maximum(box[:, :2], other[:, :2])
    both = np.prod(np.maximum(sides, 0), axis=1)
    union = np.prod(box[:, 2:] - box[:, :2], axis=1) + np.prod(other[:, 2:] - other[:, :2], axis=1) - both
    iou = np.where(found & (union > 0), both / np.where(union > 0, union, 1), 0.0)
    right = {"iou": iou, "detected": iou >= 0.5, "score": np.where(found, table["score"], 0.0)}.get(settings["metric"])
    if right is None:
        return np.ones(len(iou), bool)
    near: Array = np.abs(right - table["performance"]) <= CLOSE
    # By the public tool, an object that an unlike class was assigned to has the performance 0.
    return ~(near | (table["performance"] == 0)) if settings["integer_boxes"] else ~near


def check_scores(table: dict[str, Array], settings: Json) -> None:
    """Refuse predictions that the settings leave out."""
    if (table["score"] < settings["min_score"]).any():
        raise RefusedError(f"predictions score below min_score, which is {settings['min_score']}")


def pixel_edges(box: Array, size: Array, *, whole: bool) -> tuple[int, int, int, int]:
    """Edges on the pixel grid: rounded, or, where `whole`, as the authors' public tool has them."""
    if not whole:
        x0, y0, x1, y1 = (math.floor(value + 0.5) for value in box.tolist())
        return x0, y0, x1, y1
    width, height = (int(value) for value in size)
    x0, y0, x1, y1 = (round(value) for value in box.tolist())
    x0, y0 = min(max(x0, 0), width - 2), min(max(y0, 0), height - 2)
    return x0, y0, min(max(x1, x0 + 1), width - 1), min(max(y1, y0 + 1), height - 1)


def paint_contexts(table: dict[str, Array], rows: Array, settings: Json) -> Array:
    """Patches around the boxes of some rows: uint8 (N, planes x h x w), 0 or 1."""
    height, width = settings["patch"]
    classes = np.unique(table["class_id"]) if settings["class_aware"] else np.zeros(1, np.int64)
    planes = np.zeros((len(rows), len(classes), height, width), np.uint8)
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
            kept = np.zeros((height, width), np.uint8)
            rx, ry = factor * (x1 - x0) / 2, factor * (y1 - y0) / 2
            bottom, right = min(height - 1, int(height / 2 + ry)), min(width - 1, int(width / 2 + rx))
            kept[max(0, int(height / 2 - ry)) : bottom + 1, max(0, int(width / 2 - rx)) : right + 1] = 1
            planes[number] *= kept
    return planes.reshape(len(rows), -1)


def similar_contexts(patches: Array, thetas: list[float], *, strict: bool) -> list[list[Array]]:
    """At each threshold, for each context the numbers of those like it; float32 counts are exact up to 2^24 pixels."""
    area = patches.sum(1, dtype=np.float64)
    found: list[list[Array]] = [[] for _ in thetas]
    for begin in range(0, len(patches), BLOCK):
        block = patches[begin : begin + BLOCK].astype(np.float32)
        others = (patches[start : start + BLOCK].astype(np.float32) for start in range(0, len(patches), BLOCK))
        both = np.hstack([block @ other.T for other in others]).astype(np.float64)
        union = area[begin : begin + BLOCK, None] + area - both
        for theta, alike in zip(thetas, found, strict=True):
            # Two empty patches have a similarity of 0.
            count, least = np.where(union > 0, both, 0), np.where(union > 0, theta * union, theta)
            alike += [np.flatnonzero(row) for row in (count > least if strict else count >= least)]
    return found


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
    timed, block = block >= 0, np.where(block < 0, block.max() + 1 + unit, block)
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
    """The error function, to 1e-13: cubic polynomials between tabled values and slopes."""
    size = np.minimum(np.abs(x), ERF_END)
    place = np.minimum(size / ERF_STEP, len(ERF) - 2).astype(np.int64)
    rest = size / ERF_STEP - place
    begin, end, rise = ERF_SLOPE[place], ERF_SLOPE[place + 1], ERF[place + 1] - ERF[place]
    found = ERF[place] + rest * (begin + rest * (3 * rise - 2 * begin - end + rest * (begin + end - 2 * rise)))
    return np.asarray(np.copysign(found, x))


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


@dataclass(frozen=True)
class LikeContexts:
    """The contexts of one class, with those that are like each at each threshold, and the first whose patch it has."""

    key: str
    rows: Array
    alike: list[list[Array]]
    same: Array

    def compare(
        self,
        table: dict[str, Array],
        settings: Json,
        number: int,
        normals: Array,
        doubt: Array,
        counted: Array | None = None,
    ) -> dict[str, Array]:
        """Compare at one threshold; contexts of A that are not counted are left out."""
        alike, held = self.alike[number], np.ones(len(table["of_a"]), bool) if counted is None else counted
        bounded(normals.shape[1] * sum(len(alike[k]) for k in np.unique(self.same)), "steps")
        least = int(settings["min_batch_size"])
        found = compare_class(table, self.rows, alike, self.same, normals[self.rows], least, held)
        return found | {"chance": found["chance"] * doubt}


def like_contexts(table: dict[str, Array], settings: Json, thetas: list[float]) -> list[LikeContexts]:
    """Paint all contexts class by class, and find those that are alike."""
    height, width = settings["patch"]
    bounded(height * width, "pixels")
    planes = len(np.unique(table["class_id"])) if settings["class_aware"] else 1
    bounded(np.bincount(np.unique(table["class_id"], return_inverse=True)[1]).max() * planes * height * width, "pixels")
    found = []
    for class_id in np.unique(table["class_id"]).tolist():
        rows = np.flatnonzero(table["class_id"] == class_id)
        patches = paint_contexts(table, rows, settings)
        digests = [hashlib.sha256(patch.astype(np.bool_).tobytes()).digest() for patch in patches]
        first = {digest: place for place, digest in reversed(list(enumerate(digests)))}
        same = np.array([first[digest] for digest in digests])
        alike = similar_contexts(patches, thetas, strict=settings["strict"])
        found.append(LikeContexts(str(class_id), rows, alike, same))
    return found


Found = dict[str, tuple[Array, dict[str, Array]]]
"""By class, its rows of the table, and what was found of it."""


def judge(table: dict[str, Array], found: Found, said: Json, margin: float) -> dict[str, Json]:
    """Numbers and verdicts of each class and of all together, at one threshold."""
    compared = [key for key, (_, numbers) in found.items() if len(numbers["w1"])]
    rows = {key: columns for key, (columns, _) in found.items()}
    rows["overall"] = np.concatenate([rows[key] for key in compared] or [np.zeros(0, np.int64)])
    boots = {key: together([numbers]) for key, (_, numbers) in found.items()}
    boots["overall"] = together([numbers for _, numbers in found.values()])
    numbers = {key: numbers_of(table, [columns_and_numbers]) for key, columns_and_numbers in found.items()}
    numbers["overall"] = numbers_of(table, list(found.values()))
    reasons = {
        key: reason(table, rows[key], boots[key], said["overall" if key == "overall" else "by_class"], key)
        for key in numbers
    }
    tested = {key: boot for key, boot in boots.items() if boot is not None and not reasons[key] and key != "overall"}
    corrected = step_down(
        {key: boot.mean for key, boot in tested.items()}, {key: boot.chance for key, boot in tested.items()}
    )
    all_together = boots["overall"]
    least = 0.0 if all_together is None else p_of(all_together.mean, all_together.chance)
    for key, boot in boots.items():
        entry = numbers[key]
        entry |= {
            "verdict": "not_tested" if entry["compared"] else "no_overlap",
            "verdict_reason": "",
            "draws": 0,
            "units_a": 0,
            "units_b": 0,
        }
        if boot is None:
            if entry["compared"]:
                units = unit_counts(table, rows[key])
                entry |= {"verdict": "too_few"}
                entry |= {"verdict_reason": "few_units" if min(units) < FEWEST_UNITS else "lone_units"}
                draws = len(next(iter(found.values()))[1]["chance"])
                entry |= {"draws": draws, "units_a": units[0], "units_b": units[1]}
            continue
        units = unit_counts(table, rows[key])
        gap, share, size = estimate_gap(boot)
        spreads = interval_spreads(min(units), said)
        error, p_alone = float(gap_draws(boot).std()) * spreads, p_of(boot.mean, boot.chance)
        needed = float(np.quantile(boot.chance, 1 - SIGNIFICANCE / (1 if key == "overall" else max(1, len(tested)))))
        ends = [doubted_gap(boot, sign) for sign in (1, -1)]
        # No gap hides better than one that is alike in all contexts: what W1 leaves possible of it is not ruled out.
        even = largest_even_gap(boot, spreads * float(boot.around.std()), boot.noise * (1 - NOISE_DOUBT / boot.units))
        low = 0.0 if p_alone > SIGNIFICANCE else max(0.0, ends[0] - error)
        high = min(boot.largest, max(ends[1] + error, even))
        adjusted = bool((~np.isnan(table["expected"][rows[key], 0])).any())
        entry |= {
            "adjusted_w1": boot.mean if adjusted else None,
            "noise": float(boot.weight @ boot.noise),
            "noise_q95": float(np.quantile(boot.chance, 1 - SIGNIFICANCE)),
            "gap": gap,
            "gap_low": low,
            "gap_high": high,
            "gap_share": share,
            "gap_size": size,
            "p_value": p_alone,
            "draws": len(boot.chance),
            "drawn_share": 1.0,
            "units_a": units[0],
            "units_b": units[1],
            "margin": margin,
        }
        if reasons[key]:
            entry |= {"verdict": "too_few", "verdict_reason": reasons[key], "p_adjusted": None, "detectable_gap": None}
            continue
        p = least if key == "overall" else max(corrected[key], least)
        verdict = verdict_by_margin(p, low, high, margin)
        shown = gap_behind(needed + POWER * float(boot.around.std()), boot)
        entry |= {"p_adjusted": p, "verdict": verdict, "detectable_gap": shown}
    for key, entry in numbers.items():
        stated = said["overall"] if key == "overall" else said["by_class"].get(key, {})
        if entry["verdict"] != "not_tested" and all(finds_nothing(stated, side) for side in "ab"):
            entry["verdict"] = "detector_fails"
    return numbers


def finds_nothing(stated: Json, side: str) -> bool:
    """Whether the detector finds next to nothing in a set, by its stated average precision and recall."""
    least = (("map50", LEAST_PRECISION), ("recall", LEAST_RECALL))
    return any((value := stated.get(f"{name}_{side}")) is not None and value < limit for name, limit in least)


def reason(table: dict[str, Array], rows: Array, boot: Together | None, said: Json, key: str) -> str:
    """Why there is too little to tell; empty where there is not."""
    entry = said if key == "overall" else said.get(key, {})
    # Whether a class is predicted away from every object, the table does not show.
    if entry.get("verdict_reason") == "never_predicted" and np.isnan(table["predicted"][rows]).all():
        return "never_predicted"
    if min(unit_counts(table, rows)) < FEWEST_UNITS:
        return "few_units"
    if boot is None:
        return ""
    if boot.told < LEAST_TOLD:
        return "lone_units"
    if 1 / (1 + len(boot.chance)) > SIGNIFICANCE:
        return "few_draws"
    return "uneven_units" if p_of(1.0, boot.extreme) > SIGNIFICANCE else ""


def recompute(folder: Path) -> tuple[Json, dict[str, Json], int]:
    """Result.json, the numbers of each class id and of "overall", and how many performances are not those of boxes."""
    said = read_json(folder / "result.json")
    settings, draws = said["parameters"], said["overall"]["draws"]
    bounded(draws, "draws")
    if draws < 1 or settings["draws"] != draws:
        raise RefusedError(f"draws are {draws}, where {settings['draws']} are said: nothing was tested")
    table = read_contexts(folder / "contexts.csv")
    margin, theta = float(settings["margin"]), float(settings["theta"])
    around = [round(theta + step, 12) for step in (-0.1, 0, 0.1)] if settings["preset"] != "cpd" else [theta]
    thetas = [near for near in around if near == theta or 0 < near < 1]
    normals, doubt = normal_numbers(table, draws, int(settings["seed"])), doubt_of_blocks(said, draws)
    found: list[Found] = [{} for _ in thetas]
    for group in like_contexts(table, settings, thetas):
        for number, each in enumerate(found):
            each[group.key] = group.rows, group.compare(table, settings, number, normals, doubt)
    judged = [judge(table, each, said, margin) for each in found]
    own = thetas.index(theta)
    beside = [judged[place] if 0 <= place < len(thetas) else None for place in (own - 1, own + 1)]
    for key, entry in judged[own].items():
        others = [None if verdicts is None else verdicts[key]["verdict"] for verdicts in beside]
        entry["verdict_below"], entry["verdict_above"] = others
        if entry["verdict"] == "predicts" and {"gap", "large_gap"} & set(others):
            entry["verdict"], entry["verdict_reason"] = "cannot_tell", "turns_with_theta"
    for side, of_a in (("a", table["of_a"]), ("b", ~table["of_a"])):
        given, units = said["inputs"][side], len(np.unique(table["unit"][of_a]))
        if (given["objects"], given["units"]) != (int(of_a.sum()), units):
            raise RefusedError(f"inputs, {side}: objects and units are {of_a.sum()} and {units}, not as it says")
    check_scores(table, settings)
    wrong = wrong_performance(table, settings)
    # Where an object has a mask, the IoU may be of masks; which objects have one is not known where they were ignored.
    unknown = np.array([mask is not None for mask in table["mask"]]) | (settings["masks"] == "ignore")
    if (wrong & ~unknown).any():
        row = int(np.argmax(wrong & ~unknown)) + 2
        raise RefusedError(f"contexts.csv, line {row}: performance is not what the box of its prediction gives")
    return said, judged[own], int(wrong.sum())


def chosen_patch(table: dict[str, Array]) -> int:
    """The side of the patch that two sets choose by the sizes of their pictures and objects."""
    image = thing = 0.0
    for of_a in (table["of_a"], ~table["of_a"]):
        if of_a.any():
            first = np.unique(table["frame"][of_a], return_index=True)[1]
            image = max(image, float(np.median(table["size"][of_a][first].max(1))))
            thing = max(thing, float(np.median((table["box"][of_a][:, 2:] - table["box"][of_a][:, :2]).max(1))))
    side = PATCH * image / PATCH_IMAGE
    if thing > 0:
        side = min(max(side, PATCH_LEAST * thing), PATCH_MOST * thing, image)
    return min(PATCH_STEP * max(1, math.ceil(round(side / PATCH_STEP, 6))), LARGEST_PATCH)


def patch_line(folder: Path) -> str:
    """Whether a patch that is said to be chosen by the sets is the one that they choose; empty where it was given."""
    settings = read_json(folder / "result.json")["parameters"]
    if not settings.get("patch_chosen"):
        return ""
    height, width = settings["patch"]
    side = chosen_patch(read_contexts(folder / "contexts.csv"))
    if height == width == side:
        return f"{folder.name}: patch {height}x{width}: chosen by the sizes of pictures and objects"
    return (
        f"NOT CHECKED: {folder.name}: that the sets chose the patch {height}x{width}: the pictures and objects in"
        f" contexts.csv alone give {side}x{side}"
    )


def compare_numbers(folder: Path) -> tuple[list[str], list[str], int]:
    """A line for each entry of a result; what differs, a line each; performances that boxes do not give."""
    try:
        said, classes, unseen = recompute(folder)
        lines, wrong = [], []
        for key, found in classes.items():
            entry = said["overall"] if key == "overall" else said["by_class"].get(key, {})
            name = "all classes" if key == "overall" else said["class_names"].get(key, f"class {key}")
            fields = [*found, *(field for field in entry if field not in found and field not in NOT_COMPUTED)]
            if entry.get("p_value") is None:
                fields = [field for field in fields if field != "margin"]
            differs = [field for field in fields if not agree(entry.get(field, "missing"), found.get(field))]
            wrong += [f"{name}: {field} is {found.get(field)}, not {entry.get(field)}" for field in differs]
            main = ", ".join(
                f"{field} {number(found.get(field))}"
                for field in ("mean_w1", "noise", "gap", "gap_low", "gap_high", "p_value")
            )
            what = "differs" if differs else "as the result says"
            lines.append(f"{name}: {WORDS[found['verdict']]}: {main}: {what}")
        wrong += [
            f"{key}: {each['verdict']} does not follow from p, interval and margin"
            for key, each in said.get("measures", {}).items()
            if each["verdict"] != measure_verdict(key, each)
        ]
        more = [key for key, entry in said["by_class"].items() if key not in classes and entry["n_a"] + entry["n_b"]]
        return lines, wrong + [f"class {key} is not in contexts.csv" for key in more], unseen
    except UNREADABLE as error:
        return [], [f"cannot be computed: {said_of(error)}"], 0


def measure_verdict(key: str, each: Json) -> str:
    """The verdict on what else the detector does, by its stated numbers."""
    p, low, high, margin = (each[name] for name in ("p_adjusted", "low", "high", "margin"))
    if p is None:
        return "too_few" if each["verdict_reason"] else "not_tested"
    if all(finds_nothing({f"{key}_{side}": each[f"value_{side}"]}, side) for side in "ab"):
        return "detector_fails"
    least, most = 0.0 if low <= 0 <= high else min(abs(low), abs(high)), max(abs(low), abs(high))
    return verdict_by_margin(p, least, most, margin)


def overall_verdict(said: Json) -> tuple[str, list[str]]:
    """The worst verdict of all that was judged, and the measures that make it; none where performance does."""
    own = said["overall"]["verdict"]
    silent = {"too_few": ("cannot_tell",), "not_tested": WORST_FIRST}.get(own, ())
    stated = {
        name: measure["verdict"]
        for name, measure in said.get("measures", {}).items()
        if measure["verdict"] not in silent
    }
    worst = min([own, *stated.values()], key=WORST_FIRST.index)
    return worst, [] if worst == own else [
        name.replace("_", " ") for name, verdict in stated.items() if verdict == worst
    ]


def said_of(error: BaseException) -> str:
    """An error in one line."""
    text = " ".join(str(error).split())[:300]
    return text if isinstance(error, RefusedError) else f"{type(error).__name__} {text}"


def holm(p_values: dict[Any, float]) -> dict[Any, float]:
    """Correct p values for their number (Holm, Scand. J. Statist. 6, 1979)."""
    largest, out = 0.0, {}
    for place, key in enumerate(sorted(p_values, key=lambda key: p_values[key])):
        largest = min(1.0, max(largest, (len(p_values) - place) * p_values[key]))
        out[key] = largest
    return out


def page_texts(name: str, said: Json, p_of_all: float | None, unseen: int) -> dict[str, str]:
    """What the page must say of a result, by the names of its places."""
    texts: dict[str, str] = {}
    overall = said["overall"]
    for key, entry in {"overall": overall, **said["by_class"]}.items():
        place, gap = f"{name}|{key}", "–"
        if entry.get("gap") is not None:
            gap = f"{short(entry['gap'])} ({short(entry['gap_low'])} to {short(entry['gap_high'])})"
        texts |= {
            f"{place}|verdict": WORDS[entry["verdict"]],
            f"{place}|contexts": f"{entry['n_a']:,} / {entry['n_b']:,}",
            f"{place}|compared": f"{entry['compared']:,}",
            f"{place}|w1": short(entry["mean_w1"]),
            f"{place}|noise": short(entry["noise"]),
            f"{place}|gap": gap,
            f"{place}|p": short(entry["p_value"]),
            f"{place}|adjusted": short(entry["p_adjusted"]),
            f"{place}|overlap": f"{short(entry['overlap_a'])} / {short(entry['overlap_b'])}",
            f"{place}|outside": short(entry["mean_performance_outside_a"]),
            f"{place}|detectable": short(entry["detectable_gap"]),
        }
    margin, why = said["parameters"]["margin"], overall["verdict_reason"].replace("_", " ")
    worst, measures = overall_verdict(said)
    why = ", ".join(measures) if measures else why
    texts[f"{name}|headline"] = f"{WORDS[worst]}{f' ({why})' if why else ''}"
    texts[f"{name}|sentence"] = (
        f"{name}: of {overall['n_a']:,} objects of A, {overall['compared']:,} were compared, at a margin of {margin:g}."
        f" The gap of performance is {texts[f'{name}|overall|gap']}, p {short(overall['p_value'])}."
    )
    if measures:
        texts[f"{name}|sentence"] += f" Performance by itself: {WORDS[overall['verdict']].lower()}."
    texts[f"{name}|sentence"] += (
        " What else the detector does was judged too; its numbers are stated, not computed again."
        if said.get("measures")
        else " What else the detector does (false positives, scores, recall) was not judged."
    )
    texts[f"{name}|margin"] = f"{margin:g}"
    texts[f"{name}|p_of_all"] = short(p_of_all)
    texts[f"{name}|unseen"] = f"{unseen:,}"
    return texts


def short(value: float | None) -> str:
    """A number as the page has it."""
    return "–" if value is None else f"{value:.1g}" if 0 < value < 0.001 else f"{value:.3f}"


def check_statements(folder: Path) -> list[str]:
    """What dossier.json and the page say that the results do not; a line each."""
    facts = read_json(folder / FACTS)
    listed = {result["name"]: result for result in facts["results"]}
    there = sorted(file.name for file in (folder / "results").iterdir()) if (folder / "results").is_dir() else []
    if not there:
        return ["there are no results: nothing was checked"]
    problems = []
    if there != sorted(listed) or len(there) != facts["count"] or len(there) != len(facts["results"]):
        problems.append(
            f"{FACTS} names {facts['count']} results ({', '.join(sorted(listed))}), there are {len(there)}:"
            f" {', '.join(there)}"
        )
    if facts["seal"] != seal(folder):
        problems.append(f"{FACTS}: the seal is not the digest of the results that are here")
    results = {name: read_json(folder / "results" / name / "result.json") for name in there}
    p_values = {name: result["overall"].get("p_adjusted") for name, result in results.items()}
    corrected = holm({name: p for name, p in p_values.items() if p is not None})
    texts = {"seal": seal(folder), "count": str(len(there))}
    for name, said in results.items():
        fact = listed.get(name, {})
        stated = {
            "parameters": said["parameters"],
            "margin": said["parameters"]["margin"],
            "p_of_all_results": corrected.get(name),
            "verdicts": {k: e["verdict"] for k, e in {"overall": said["overall"], **said["by_class"]}.items()},
        }
        problems += [
            f"{FACTS}: {field} of {name} is {value}, not {fact.get(field)}"
            for field, value in stated.items()
            if not agree(fact.get(field), value)
        ]
        margins = {entry["margin"] for entry in (said["overall"], *said["by_class"].values()) if entry["draws"]}
        if margins - {said["parameters"]["margin"]}:
            problems.append(f"{name}: margins are {sorted(margins)}, where {FACTS} states {fact.get('margin')}")
        texts |= page_texts(name, said, corrected.get(name), int(fact.get("performance_not_of_boxes", 0)))
    return problems + check_page((folder / PAGE).read_text(encoding="utf-8"), texts)


def check_page(text: str, right: dict[str, str]) -> list[str]:
    """What the page says that is not right; a line each."""
    shown = re.sub(r"<!--.*?-->|<(script|style).*?</\1>", "", text, flags=re.DOTALL)
    place = re.compile(r'<(\w+)[^>]* data-check="([^"]*)"[^>]*>([^<]*)</\1>')
    places = [(html.unescape(match[2]), html.unescape(match[3])) for match in place.finditer(shown)]
    said, other = dict(places), html.unescape(re.sub(r"<[^>]*>", " ", place.sub("", shown)))
    problems = [
        f"{PAGE}: {name} is {right.get(name)!r}, not {said.get(name)!r}"
        for name in sorted({*said} | {*right})
        if said.get(name) != right.get(name)
    ]
    if len(places) != len(said):
        problems.append(f"{PAGE}: {len(places) - len(said)} places are there twice")
    if words := re.findall(r"large\s+gap|small\s+gap|predicts\s+within|cannot\s+tell", other, re.IGNORECASE):
        problems.append(f"{PAGE}: a verdict stands where none is checked: {words[0]}")
    return problems


def agree(said: Any, found: Any) -> bool:
    """Whether two values are the same but for rounding."""
    if isinstance(said, dict) and isinstance(found, dict):
        return said.keys() == found.keys() and all(agree(said[key], found[key]) for key in said)
    if isinstance(said, bool) or isinstance(found, bool):
        return said is found
    if isinstance(said, (int, float)) and isinstance(found, (int, float)):
        return math.isfinite(said) and bool(abs(said - found) <= CLOSE * max(1.0, abs(found)))
    return type(said) is type(found) and bool(said == found)


def number(value: float | None) -> str:
    """A number for people."""
    return "none" if value is None else f"{value:.6g}"


def check_dossier(folder: Path) -> tuple[list[str], list[str]]:
    """What was found, and what is wrong; a line each."""
    problems = check_files(folder)
    if problems:
        return [], [*problems, "the files are not those of the dossier; nothing was computed"]
    lines, wrong = [f"every file is the one that {MANIFEST} and {FACTS} name"], check_statements(folder)
    facts = {result["name"]: result for result in read_json(folder / FACTS)["results"]}
    for result in sorted((folder / "results").iterdir()) if (folder / "results").is_dir() else []:
        found, differs, unseen = compare_numbers(result)
        lines += [f"{result.name}, {line}" for line in found]
        wrong += [f"{result.name}, {line}" for line in differs]
        if found and (line := patch_line(result)):
            lines.append(line)
        if unseen != facts.get(result.name, {}).get("performance_not_of_boxes", 0):
            wrong.append(f"{result.name}: {unseen} performances are not those of boxes, more or less than {FACTS} says")
        if unseen:
            lines.append(f"NOT CHECKED: {result.name}: performance of {unseen} objects, which masks must give")
    return lines + [f"NOT CHECKED: {line}" for line in UNCHECKED], wrong


def check_results(
    folder: Path, check: Callable[[Path], tuple[list[str], list[str]]], unchecked: Sequence[str]
) -> tuple[list[str], list[str]]:
    """What was found in each result of a dossier, and what is wrong; a line each. No result at all is wrong too."""
    problems = check_files(folder)
    if problems:
        return [], [*problems, "the files are not those of the dossier; nothing was computed"]
    lines, wrong = [f"every file is the one that {MANIFEST} and {FACTS} name"], list[str]()
    there = sorted((folder / "results").iterdir()) if (folder / "results").is_dir() else []
    if not there:
        wrong.append("there are no results: nothing was checked")
    if (named := read_json(folder / FACTS).get("results")) != (names := [path.name for path in there]):
        wrong.append(f"{FACTS} names the results {named}, there are {names}")
    for path in there:
        found, differs = check(path)
        lines += [f"{path.name}, {line}" for line in found]
        wrong += [f"{path.name}, {line}" for line in differs]
    return lines + [f"NOT CHECKED: {line}" for line in unchecked], wrong


def print_check(check: Callable[[Path], tuple[list[str], list[str]]]) -> int:
    """Check a dossier, and print what was found and what is wrong."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent).resolve()
    try:
        lines, wrong = check(folder)
    except (RefusedError, AttributeError, KeyError, OSError, RecursionError, TypeError, ValueError) as error:
        lines, wrong = [], [f"the dossier cannot be read: {said_of(error)}"]
    for line in [*lines, *(f"WRONG: {line}" for line in wrong)]:
        print(line)
    print("everything that is checked agrees" if not wrong else f"{len(wrong)} things are wrong")
    return 1 if wrong else 0


def main() -> int:
    """Check a dossier of comparisons."""
    return print_check(check_dossier)


if __name__ == "__main__":
    sys.exit(main())
