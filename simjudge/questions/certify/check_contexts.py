"""Compute a comparison of two sets again from contexts.csv (method, sections 2 to 6 and 9).

Performance of an object is the IoU of its box with that of its prediction. A context is the patch around a box, painted
from all boxes (or masks) of its picture, one plane for each class. Two contexts of one class are alike if the
intersection of their planes is at least theta times the union. For each context of A, W1 is taken between the
performance of A's contexts like it and that of B's.
"""

from __future__ import annotations

import csv
import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from simjudge.questions.certify.check_files import CLOSE, Array, Json, RefusedError, bounded
from simjudge.questions.certify.check_statistics import (
    Found,
    compare_class,
    doubt_of_blocks,
    finds_nothing,
    judge,
    normal_numbers,
    verdict_by_margin,
)

BLOCK = 256
"""Contexts whose similarity to others is computed at once."""
PATCH, PATCH_IMAGE, PATCH_LEAST, PATCH_MOST, PATCH_STEP, LARGEST_PATCH = 120, 1280, 1.5, 2.0, 4, 4096
"""A patch that sets choose: its side for images of so many pixels, its limits in median objects, its steps, its end."""
ELSEWHERE = (
    *("*.scope", "*.false_positives_?", "*.map50*_?", "*.recall_?", "*.pointwise_*", "*.p_study", "*.verdict_study"),
)
"""Of an entry: what boxes and performance do not give."""
TAKEN_COMPARISON = (
    *("version", "losses", "class_names", "parameters", "inputs.model", "control", "confusion", "balance", "where*"),
    *(f"inputs.?.{name}" for name in ("path", "name", "sha256", "format", "frames", "detector*", "predictions*")),
    *(f"inputs.?.{name}" for name in ("false_positives", "unit_kind", "things", "passes", "block_*", "time_blocks")),
    *("inputs.?.doubted", "inputs.?.recordings", "inputs.?.sequential", *ELSEWHERE),
    *(f"measures.*.{name}" for name in ("value_?", "difference", "low", "high", "p_*", "margin", "units_?", "draws")),
    *("measures.*.adjusted", "measures.*.verdict_reason"),
)
"""Of result.json: what contexts.csv does not give, or what is computed with (parameters, blocks in doubt)."""
UNCHECKED_CONTEXTS = (
    "that the input is real: invented boxes and predictions give numbers that agree",
    "that nothing was left out: other comparisons, predictions that belong to no object, frames without objects",
    "the one-to-one assignment of predictions to objects, and with preset cpd performance 0: taken as the table has it",
    "the sampling units, and the expected performance of adjusted results: both are taken as the table has them",
)


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
    return planes.reshape(len(rows), len(classes) * height * width)


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


def like_contexts(
    table: dict[str, Array], settings: Json, thetas: list[float], also: Sequence[str] = ()
) -> list[LikeContexts]:
    """Paint all contexts class by class, and find those that are alike; `also`: classes that may have none."""
    height, width = settings["patch"]
    bounded(height * width, "pixels")
    planes = len(np.unique(table["class_id"])) if settings["class_aware"] else 1
    bounded(np.bincount(np.unique(table["class_id"], return_inverse=True)[1]).max() * planes * height * width, "pixels")
    found = []
    for class_id in sorted({*np.unique(table["class_id"]).tolist(), *map(int, also)}):
        rows = np.flatnonzero(table["class_id"] == class_id)
        patches = paint_contexts(table, rows, settings)
        digests = [hashlib.sha256(patch.astype(np.bool_).tobytes()).digest() for patch in patches]
        first = {digest: place for place, digest in reversed(list(enumerate(digests)))}
        same = np.array([first[digest] for digest in digests])
        alike = similar_contexts(patches, thetas, strict=settings["strict"])
        found.append(LikeContexts(str(class_id), rows, alike, same))
    return found


def recompute_comparison(folder: Path, said: Json) -> tuple[Json, list[str]]:
    """What contexts.csv gives of result.json, and what else there is to say."""
    settings, draws = said["parameters"], said["parameters"]["draws"]
    bounded(draws, "draws")
    if draws < 1:
        raise RefusedError("draws are 0: nothing was tested")
    table = read_contexts(folder / "contexts.csv")
    margin, theta = float(settings["margin"]), float(settings["theta"])
    around = [round(theta + step, 12) for step in (-0.1, 0, 0.1)] if settings["preset"] != "cpd" else [theta]
    thetas = [near for near in around if near == theta or 0 < near < 1]
    normals, doubt = normal_numbers(table, draws, int(settings["seed"])), doubt_of_blocks(said, draws)
    found: list[Found] = [{} for _ in thetas]
    for group in like_contexts(table, settings, thetas, [*said["by_class"]]):
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
    # Where an object has a mask, the IoU may be of masks; which objects have one is not known where they were ignored.
    masked = np.array([mask is not None for mask in table["mask"]]) | (settings["masks"] == "ignore")
    unseen = check_performance(table, settings, masked, "contexts.csv")
    measures = {key: {"verdict": measure_verdict(key, each)} for key, each in said.get("measures", {}).items()}
    tree = {
        "inputs": {side: inputs_of(table, table["of_a"] == (side == "a")) for side in "ab"},
        "overall": judged[own].pop("overall"),
        "by_class": judged[own],
        **({"measures": measures} if measures else {}),
    }
    lines = [f"NOT CHECKED: performance of {unseen} objects, which masks must give"] if unseen else []
    height, width = settings["patch"]
    if settings.get("patch_chosen") and not height == width == (side := chosen_patch(table)):
        chosen = f"the patch {height}x{width}: these contexts alone give {side}x{side}"
        lines.append(f"NOT CHECKED: that the sets chose {chosen}")
    if not measures:
        lines.append("NOT JUDGED: what else the detector does")
    return tree, lines


def inputs_of(table: dict[str, Array], held: Array) -> Json:
    """How many objects and units a side has."""
    return {"objects": int(held.sum()), "units": len(np.unique(table["unit"][held]))}


def check_performance(table: dict[str, Array], settings: Json, masked: Array, name: str) -> int:
    """Refuse performance that boxes do not give, and predictions that do not count; how many masks must give."""
    if (table["score"] < settings["min_score"]).any():
        raise RefusedError(f"{name}: predictions score below min_score, which is {settings['min_score']}")
    wrong = wrong_performance(table, settings)
    if (wrong & ~masked).any():
        row = int(np.argmax(wrong & ~masked)) + 2
        raise RefusedError(f"{name}, line {row}: performance is not what the box of its prediction gives")
    return int(wrong.sum())


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


def measure_verdict(key: str, each: Json) -> str:
    """The verdict on what else the detector does, by its stated numbers."""
    p, low, high, margin = (each[name] for name in ("p_adjusted", "low", "high", "margin"))
    if p is None:
        return "too_few" if each["verdict_reason"] else "not_tested"
    if all(finds_nothing({f"{key}_{side}": each[f"value_{side}"]}, side) for side in "ab"):
        return "detector_fails"
    least, most = 0.0 if low <= 0 <= high else min(abs(low), abs(high)), max(abs(low), abs(high))
    return verdict_by_margin(p, least, most, margin)
