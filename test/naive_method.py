"""The method written down once more, slowly and literally: pixel loops and double loops, no bits, no bounds."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import strategies as st
from scipy.stats import wasserstein_distance

from simjudge.core.frames import FrameSet
from simjudge.core.object_tables import Masks, Objects
from simjudge.method.bootstrap import UnitNumbers
from simjudge.method.method import Method
from simjudge.method.patches import object_contexts
from simjudge.method.pool import Samples


def naive_patch(frames: FrameSet, anchor: int, method: Method) -> dict[int, np.ndarray]:
    """The patch of one object, by class (class 0 for all where the method is class blind)."""
    objects, (h, w) = frames.objects, method.patch
    width, height = (int(v) for v in frames.size[objects.frame[anchor]])
    x0, y0, x1, y1 = naive_edges(objects.box[anchor], width, height, method)
    left, top = math.floor((x0 + x1) / 2 - w / 2), math.floor((y0 + y1) / 2 - h / 2)
    across, down = w / 2, h / 2
    if method.integer_boxes:  # the tool's "buffer" is whole, and so is its centre
        across, down = w // 2, h // 2
        left, top = int((x0 + x1) / 2) - across, int((y0 + y1) / 2) - down
    picture: dict[int, np.ndarray] = {}
    for o in np.flatnonzero(objects.frame == objects.frame[anchor]):
        key = int(objects.class_id[o]) if method.class_aware else 0
        plane = picture.setdefault(key, np.zeros((height, width), bool))
        if objects.masks is not None and objects.masks.has(int(o)):
            plane |= objects.masks.to_image(int(o), width, height)
            continue
        a0, b0, a1, b1 = naive_edges(objects.box[o], width, height, method)
        plane[max(b0, 0) : max(b1, 0), max(a0, 0) : max(a1, 0)] = True
    out = {}
    for key, plane in picture.items():
        patch = np.zeros((h, w), bool)
        for j in range(h):
            for i in range(w):
                if 0 <= top + j < height and 0 <= left + i < width:
                    patch[j, i] = plane[top + j, left + i]
        if method.mask_factor is not None:
            kept = np.zeros((h, w), bool)
            rx, ry = method.mask_factor * (x1 - x0) / 2, method.mask_factor * (y1 - y0) / 2
            kept[
                max(0, int(down - ry)) : min(h - 1, int(down + ry)) + 1,
                max(0, int(across - rx)) : min(w - 1, int(across + rx)) + 1,
            ] = True
            patch &= kept
        out[key] = patch
    return out


def naive_edges(box: np.ndarray, width: int, height: int, method: Method) -> tuple[int, int, int, int]:
    if not method.integer_boxes:
        return tuple(math.floor(v + 0.5) for v in box)  # type: ignore[return-value]
    x0, y0, x1, y1 = (round(float(v)) for v in box)
    x0, y0 = min(max(x0, 0), width - 2), min(max(y0, 0), height - 2)
    return x0, y0, min(max(x1, x0 + 1), width - 1), min(max(y1, y0 + 1), height - 1)


def naive_counts(c: dict[int, np.ndarray], a: dict[int, np.ndarray]) -> tuple[int, int]:
    """Intersection and union over all planes."""
    inter = union = 0
    for key in set(c) | set(a):
        nothing = np.zeros_like(next(iter((c | a).values())))
        p, q = c.get(key, nothing), a.get(key, nothing)
        inter += int((p & q).sum())
        union += int((p | q).sum())
    return inter, union


def naive_similar(c: dict[int, np.ndarray], a: dict[int, np.ndarray], method: Method) -> bool:
    inter, union = naive_counts(c, a)
    if union == 0:
        return method.theta < 0.0 if method.strict else method.theta <= 0.0
    return inter / union > method.theta if method.strict else inter >= method.theta * union


def naive_algorithm(patches_a, performance_a, patches_b, performance_b, method):
    """Algorithm 1, literally: W1 list and signed differences (None where not compared), batches, overlaps."""
    w1, difference, batches = [], [], []
    overlap_a, overlap_b = set(), set()
    for c in patches_a:
        a_c = [i for i, s in enumerate(patches_a) if naive_similar(c, s, method)]
        b_c = [i for i, s in enumerate(patches_b) if naive_similar(c, s, method)]
        batches.append((len(a_c), len(b_c)))
        if len(a_c) < method.min_batch_size or len(b_c) < method.min_batch_size:
            w1.append(None)
            difference.append(None)
            continue
        overlap_a |= set(a_c)
        overlap_b |= set(b_c)
        w1.append(wasserstein_distance(performance_a[a_c], performance_b[b_c]))
        difference.append(performance_a[a_c].mean() - performance_b[b_c].mean())
    return w1, difference, batches, overlap_a, overlap_b


def samples_of(frames: FrameSet, performance: np.ndarray, method: Method, rows: np.ndarray | None = None) -> Samples:
    rows = np.arange(len(frames.objects)) if rows is None else rows
    return Samples(object_contexts(frames, method, rows), performance[rows], UnitNumbers(frames.objects.frame[rows]))


PERFORMANCES = st.sampled_from([0.0, 0.0, 0.25, 0.5, 0.7, 0.9, 1.0])
METHODS = st.builds(
    Method,
    theta=st.sampled_from([0.0, 0.3, 0.5, 2 / 3, 0.8, 1.0]),
    patch=st.sampled_from([(7, 13), (16, 16), (20, 20), (33, 65), (24, 9)]),
    mask_factor=st.sampled_from([None, None, 1.5, 0.8]),
    class_aware=st.booleans(),
    strict=st.booleans(),
    min_batch_size=st.sampled_from([1, 1, 2]),
    integer_boxes=st.booleans(),
)


@st.composite
def frame_sets(draw, max_objects: int = 12, max_frames: int = 3, masks: bool = True):
    """A small set with boxes on, between and beyond the pixel grid, some with masks, and a performance for each."""
    frames = draw(st.integers(1, max_frames))
    count = draw(st.integers(0, max_objects))
    corner = st.integers(-8, 80).map(lambda v: v / 2)
    side = st.integers(1, 40).map(lambda v: v / 2)
    rows = [(draw(st.integers(0, frames - 1)), draw(st.integers(1, 3))) for _ in range(count)]
    boxes = []
    for _ in range(count):
        x, y = draw(corner), draw(corner)
        boxes.append((x, y, x + draw(side), y + draw(side)))
    shapes = None
    if masks and draw(st.booleans()):
        random = np.random.default_rng(draw(st.integers(0, 99)))
        crops = [random.random((5, 7)) < 0.6 if random.random() < 0.5 else None for _ in range(count)]
        shapes = Masks.from_crops(crops, random.integers(-3, 30, (count, 2)))
    objects = Objects.build([r[0] for r in rows], [r[1] for r in rows], np.array(boxes).reshape(-1, 4), masks=shapes)
    performance = np.array([draw(PERFORMANCES) for _ in range(count)])
    return FrameSet.build("made", np.tile([40, 30], (frames, 1)), objects), performance
