"""Result folders made by hand, as docs/reference/results.md describes them, with numbers whose origin is known."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from simjudge.core.frames import FrameSet
from simjudge.core.images import ArrayImages, Images
from simjudge.core.names import stamp_to_name
from simjudge.core.object_tables import Objects, Predictions
from simjudge.data.sets import read_set, write_set

KINDS = {
    "tested": 84,
    "everywhere": {
        "kind": "all contexts",
        "parts": 0,
        "contexts": 100,
        "performance_a": 0.651,
        "performance_b": 0.599,
        "low": -0.08,
        "high": -0.024,
        "p": 0.001,
    },
    "kinds": [
        {
            "kind": kind,
            "parts": parts,
            "contexts": contexts,
            "performance_a": a,
            "performance_b": b,
            "low": low,
            "high": high,
            "p": p,
        }
        for kind, parts, contexts, a, b, low, high, p in (
            ("under 24 px high, on the left", 2, 41, 0.612, 0.401, -0.29, -0.132, 0.002),
            ("under 24 px high", 1, 66, 0.622, 0.511, -0.16, -0.062, 0.004),
            ("red", 1, 50, 0.66, 0.63, -0.08, 0.02, 0.7),
            ("green", 1, 50, 0.64, 0.57, -0.13, -0.01, 0.2),
            ("in the upper third", 1, 30, 0.65, 0.64, -0.07, 0.05, 0.99),
            ("inside the image", 1, 90, 0.65, 0.61, -0.09, 0.01, 0.31),
        )
    ],
}
"""Kinds of contexts, as result.json has them: made up."""
INVENTED = {
    "tested": 12,
    "everywhere": {
        "kind": "all places",
        "parts": 0,
        "contexts": 900,
        "performance_a": 0.031,
        "performance_b": 0.066,
        "low": 0.02,
        "high": 0.05,
        "p": 0.001,
    },
    "kinds": [
        {
            "kind": "nothing labelled near",
            "parts": 1,
            "contexts": 700,
            "performance_a": 0.012,
            "performance_b": 0.065,
            "low": 0.033,
            "high": 0.073,
            "p": 0.003,
        },
        {
            "kind": "near red",
            "parts": 1,
            "contexts": 90,
            "performance_a": 0.09,
            "performance_b": 0.08,
            "low": -0.05,
            "high": 0.03,
            "p": 0.9,
        },
    ],
}
"""Kinds of places, as result.json has them: made up."""
SIZE = (640, 360)
BOX = ("x0", "y0", "x1", "y1")


def made_set(
    name: str,
    seed: int,
    frames: int = 40,
    shift: float = 0.0,
    classes: tuple[int, ...] = (1, 2),
    *,
    pictures: bool = True,
) -> FrameSet:
    """Cones on a floor; `shift` makes the detector worse."""
    rng = np.random.default_rng(seed)
    count = rng.integers(2, 7, frames)
    frame = np.repeat(np.arange(frames), count)
    n = len(frame)
    bottom = rng.uniform(120, 340, n)
    height = (bottom - 100) * 0.32 + 6
    width = height * rng.uniform(0.75, 0.95, n)
    x0 = rng.uniform(-10, SIZE[0] - 20, n)
    box = np.stack([x0, bottom - height, x0 + width, bottom], 1)
    class_id = rng.choice(classes, n)
    off = rng.normal(0, 0.06 + shift, (n, 4)) * height[:, None]
    found = rng.random(n) > 0.06 + shift
    predictions = Predictions.build(frame[found], class_id[found], (box + off)[found], rng.uniform(0.3, 1, found.sum()))
    images: Images | None = None
    if pictures:
        images = ArrayImages([_picture(rng, box[frame == f], class_id[frame == f]) for f in range(frames)])
    sizes = np.tile(SIZE, (frames, 1))
    return FrameSet.build(name, sizes, Objects.build(frame, class_id, box), predictions, images=images)


def stamped_set(name: str, seed: int, frames: int, start: int, step: int) -> FrameSet:
    """A set without pictures whose frames are called by their stamps, nanoseconds."""
    stamps = start + step * np.arange(frames)
    made = made_set(name, seed, frames, pictures=False)
    return replace(made, stamp=stamps, frame_name=[stamp_to_name(int(stamp)) for stamp in stamps])


def made_contexts(set_a: FrameSet, set_b: FrameSet, seed: int = 0) -> pa.Table:
    """A table with real performances and made-up, plausible similarities; some contexts are without overlap."""
    rng = np.random.default_rng(seed)
    sides = [_side(which, frames) for which, frames in (("a", set_a), ("b", set_b))]
    table = {key: [*sides[0][key], *sides[1][key]] for key in sides[0]}
    n_a, n = len(sides[0]["set"]), len(table["set"])
    class_id, performance = np.array(table["class_id"]), np.array(table["performance"])
    for row in range(n):
        other = np.arange(n_a, n) if row < n_a else np.arange(n_a)
        other = other[class_id[other] == class_id[row]]
        compared = len(other) > 0 and rng.random() > 0.2
        near = rng.choice(other, min(8, len(other)), replace=False) if compared else []
        on_a = compared and row < n_a
        difference = float(performance[row] - performance[near].mean()) if on_a else None
        table["in_overlap"].append(bool(compared))
        table["w1"].append(abs(difference) if difference is not None else None)
        table["mean_difference"].append(difference)
        table["batch_a"].append(5 if on_a else None)
        table["batch_b"].append(len(near) if on_a else None)
        table["match_row"].append(int(near[0]) if compared else None)
        table["match_similarity"].append(float(rng.uniform(0.8, 1)) if compared else None)
    return pa.table(table)


def made_entry(contexts: pa.Table, class_id: int | None, verdict: str = "gap") -> dict[str, object]:
    """The numbers of a class, or of all classes for None; the certainty fields are made up."""
    used = contexts.select(["set", "class_id", "performance", "in_overlap", "w1"])
    rows = (used if class_id is None else used.filter(pc.equal(used["class_id"], class_id))).to_pylist()
    a, b = [r for r in rows if r["set"] == "a"], [r for r in rows if r["set"] == "b"]
    w1 = [r["w1"] for r in a if r["w1"] is not None]
    inside = {"a": sum(r["in_overlap"] for r in a), "b": sum(r["in_overlap"] for r in b)}
    mean = float(np.mean(w1)) if w1 else None
    out: dict[str, object] = {"n_a": len(a), "n_b": len(b), "compared": len(w1)}
    out["verdict"] = verdict if w1 else "no_overlap"
    out |= {"mean_w1": mean, "median_w1": _of(np.median, w1), "max_w1": _of(np.max, w1), "weighted_w1": mean}
    levels = ("0.05", "0.25", "0.5", "0.75", "0.95")
    out["w1_quantiles"] = {q: _of(lambda v, q=q: np.quantile(v, float(q)), w1) for q in levels}
    out["mean_abs_mean_diff"] = mean
    for which, own in (("a", a), ("b", b)):
        outside = [r["performance"] for r in own if not r["in_overlap"]]
        out |= {
            f"overlap_{which}": inside[which] / len(own) if own else None,
            f"n_overlap_{which}": inside[which],
            f"mean_batch_{which}": 6.5 if w1 else None,
            f"mean_performance_{which}": _of(np.mean, [r["performance"] for r in own]),
            f"mean_performance_outside_{which}": _of(np.mean, outside),
            f"std_performance_outside_{which}": _of(np.std, outside),
            f"false_positives_{which}": 3,
            f"map50_{which}": 0.8 if own else None,
            f"map50_95_{which}": 0.5 if own else None,
        }
    known = mean is not None
    out["relative_w1"] = mean / out["mean_performance_a"] if known else None
    noise = 0.4 * mean if known and verdict == "gap" else mean
    p_value = (0.001 if verdict == "gap" else 0.41) if known else None
    gap = 0.9 * mean if known and verdict == "gap" else 0.0 if known else None
    out |= {"gap_low": max(0.0, gap - 0.03) if known else None, "gap_high": gap + 0.04 if known else None}
    out |= {"gap_share": 1.0 if known else None, "gap_size": gap, "drawn_share": 1.0 if known else None}
    out |= {"detectable_gap": 0.06 if known else None, "draws": 999, "units_a": 40, "units_b": 40}
    out |= {"margin": 0.05, "verdict_reason": "", "noise": noise}
    out |= {"noise_q95": noise * 1.3 if known else None, "gap": gap}
    out["p_value"] = out["p_adjusted"] = p_value
    return out


def write_result(
    folder: Path,
    contexts: pa.Table,
    names: dict[str, str] | None = None,
    losses: list[str] | None = None,
    verdict: str = "gap",
    sets: tuple[str, str] = ("hall", "chrono"),
    **changes: object,
) -> Path:
    """Write result.json and contexts.parquet; `changes` replace fields of every entry."""
    folder.mkdir(parents=True, exist_ok=True)
    classes = sorted(set(contexts["class_id"].to_pylist()))
    by_class = {str(c): made_entry(contexts, c, verdict) | changes for c in classes}
    result = {
        "version": "0.1.0",
        "parameters": {
            "preset": "paper",
            "theta": 0.8,
            "patch": [120, 120],
            "mask_factor": None,
            "class_aware": True,
            "min_score": 0.25,
            "strict": False,
            "min_batch_size": 1,
            "draws": 999,
            "unit": None,
            "paired": False,
            "seed": 0,
            "metric": "iou",
            "model": None,
        },
        "inputs": {
            which: {
                "path": f"data/{name}",
                "name": name,
                "sha256": which * 64,
                "format": "yolo",
                "frames": 40,
                "objects": 160,
                "predictions": 150,
                "false_positives": 9,
                "predictions_path": None,
                "predictions_sha256": None,
            }
            for which, name in zip("ab", sets, strict=True)
        }
        | {"model": None},
        "class_names": names or {"1": "red", "2": "green"},
        "by_class": by_class,
        "overall": made_entry(contexts, None, verdict) | changes,
        "where": KINDS,
        "where_invented": INVENTED,
        "losses": losses or [],
    }
    (folder / "result.json").write_text(json.dumps(result), encoding="utf-8")
    pq.write_table(contexts, folder / "contexts.parquet")
    return folder


def write_sweep(folder: Path, contexts: pa.Table) -> Path:
    """Write sweep.json: theta at patch 120, patch at theta 0.8, one curve a setting, W1 falling with theta."""
    folder.mkdir(parents=True, exist_ok=True)
    settings = [(t / 100, [120, 120]) for t in range(50, 95, 5)]
    settings += [(0.8, [p, p]) for p in (80, 100, 140, 160, 180)]
    curves = []
    for theta, patch in settings:
        entries = {}
        for c in (None, 1, 2):
            entry = made_entry(contexts, c)
            entry |= {"mean_w1": 0.3 - 0.1 * theta + 0.05 * (c or 0), "overlap_b": 1.1 - 0.6 * theta}
            entry |= {"overlap_a": 1.2 - 0.0045 * theta * patch[0], "mean_batch_a": 60 * (1 - theta) + (c or 0)}
            entry |= {"mean_batch_b": 40 * (1 - theta)}
            untested = ("noise", "noise_q95", "p_value", "p_adjusted", "gap_low", "gap_high")
            entries[c] = {k: v for k, v in entry.items() if k not in untested}
        by_class = {str(c): entries[c] for c in (1, 2)}
        curves.append({"theta": theta, "patch": patch, "by_class": by_class, "overall": entries[None]})
    content = {"version": "0.1.0", "parameters": {"theta": 0.8}, "inputs": {}, "curves": curves}
    content["class_names"] = {"1": "red", "2": "green"}
    (folder / "sweep.json").write_text(json.dumps(content), encoding="utf-8")
    return folder


def _of(reduce, values):
    return float(reduce(values)) if len(values) else None


def _side(which: str, frames: FrameSet) -> dict[str, list]:
    """The columns of one set that do not depend on the other; each object has the prediction that fits it best."""
    objects, predictions = frames.objects, frames.predictions
    assert predictions is not None
    number = np.arange(len(objects)) - np.searchsorted(objects.frame, objects.frame)
    columns: dict[str, list] = {
        "set": [which] * len(objects),
        "frame": [frames.frame_name[f] for f in objects.frame],
        "object": number.tolist(),
        "stamp": [None] * len(objects),
        "width": [SIZE[0]] * len(objects),
        "height": [SIZE[1]] * len(objects),
        "class_id": objects.class_id.tolist(),
        "class_name": [str(c) for c in objects.class_id],
        "instance": [None] * len(objects),
        "distance": [None if np.isnan(value) else value for value in objects.distance.tolist()],
        "visible": [None if np.isnan(value) else value for value in objects.visible.tolist()],
    }
    best = np.full(len(objects), -1)
    iou = np.zeros(len(objects))
    for o in range(len(objects)):
        same = (predictions.frame == objects.frame[o]) & (predictions.class_id == objects.class_id[o])
        for p in np.flatnonzero(same):
            value = _iou(objects.box[o], predictions.box[p])
            if value > iou[o]:
                best[o], iou[o] = p, value
    columns |= {c: objects.box[:, k].tolist() for k, c in enumerate(BOX)}
    for k, c in enumerate(BOX):
        columns[f"predicted_{c}"] = [float(predictions.box[p, k]) if p >= 0 else None for p in best]
    columns["score"] = [float(predictions.score[p]) if p >= 0 else None for p in best]
    columns["performance"] = iou.tolist()
    for later in ("in_overlap", "w1", "mean_difference", "batch_a", "batch_b", "match_row", "match_similarity"):
        columns[later] = []
    return columns


def _iou(a: np.ndarray, b: np.ndarray) -> float:
    w, h = min(a[2], b[2]) - max(a[0], b[0]), min(a[3], b[3]) - max(a[1], b[1])
    if w <= 0 or h <= 0:
        return 0.0
    both = (a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1])
    return float(w * h / (both - w * h))


def _picture(rng: np.random.Generator, boxes: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """A floor with a triangle for each box."""
    pixels = np.full((SIZE[1], SIZE[0], 3), (150, 150, 145), np.uint8)
    pixels[:110] = (196, 206, 216)
    for (x0, y0, x1, y1), class_id in zip(boxes, classes, strict=True):
        corners = np.array([[(x0 + x1) / 2, y0], [x0, y1], [x1, y1]], np.int32)
        cv2.fillPoly(pixels, [corners], (200, 40, 30) if class_id % 2 else (30, 160, 60))
    noise = rng.integers(-10, 10, pixels.shape)
    return np.clip(pixels + noise, 0, 255).astype(np.uint8)


def write_result_beside_sets(root: Path, frames: int) -> Path:
    """A result whose two sets lie beside it, as folders."""
    for name, seed in (("hall", 1), ("chrono", 2)):
        write_set(made_set(name, seed, frames), root / name, "yolo")
    sets = [read_set(root / name) for name in ("hall", "chrono")]
    seen = [
        replace(each, predictions=made_set("", seed, frames).predictions) for seed, each in enumerate(sets, start=1)
    ]
    place = write_result(root / "result", made_contexts(*seen))
    content = json.loads((place / "result.json").read_text(encoding="utf-8"))
    for which, name in (("a", "hall"), ("b", "chrono")):
        content["inputs"][which]["path"] = str(root / name)
    (place / "result.json").write_text(json.dumps(content), encoding="utf-8")
    return place
