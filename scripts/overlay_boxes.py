"""Draws what a replay labelled over the real pictures: `python scripts/overlay_boxes.py REAL SIM PICTURES`.

White: the real boxes. Magenta: the simulated ones, each with the simulated picture showing through. It says how far
apart the two boxes of one thing are; docs/measurements/engines.md uses it.
"""

from __future__ import annotations

import sys
from pathlib import Path

import cv2
import numpy as np
from scipy.spatial import cKDTree

from simjudge.core.arrays import FloatArray
from simjudge.core.errors import UsageError
from simjudge.core.frames import FrameSet
from simjudge.core.images import RgbImage, encode_png
from simjudge.core.object_tables import Objects
from simjudge.data.frame_sequences import pair_frames
from simjudge.data.sets import read_set
from simjudge.terminal.common import print_note

_REAL, _SIMULATED = (255, 255, 255), (255, 0, 255)


def offsets(real: FrameSet, sim: FrameSet) -> FloatArray:
    """From the middle of each real box to that of the simulated one of its thing: pixels, (K, 2).

    Two boxes of a class are taken for one thing where each is the other's nearest.
    """
    out = []
    for i, j in zip(*(pairs.tolist() for pairs in pair_frames(real, sim)), strict=True):
        a, b = _rows(real.objects, i), _rows(sim.objects, j)
        for kind in np.unique(a.class_id).tolist():
            first, second = (_middles(table.box[table.class_id == kind]) for table in (a, b))
            if len(first) and len(second):
                forth, back = cKDTree(second).query(first)[1], cKDTree(first).query(second)[1]
                out += [second[forth[k]] - first[k] for k in range(len(first)) if back[forth[k]] == k]
    return np.array(out).reshape(-1, 2)


def drawn(photograph: RgbImage, rendered: RgbImage, real: Objects, sim: Objects) -> RgbImage:
    """The photograph with both kinds of boxes; both pictures are of one size."""
    picture = photograph.copy()
    for box in sim.box.astype(int).tolist():
        x0, y0, x1, y1 = (max(value, 0) for value in box)
        picture[y0:y1, x0:x1] = rendered[y0:y1, x0:x1] // 2 + picture[y0:y1, x0:x1] // 2
        cv2.rectangle(picture, (x0, y0), (x1, y1), _SIMULATED, 2)
    for x0, y0, x1, y1 in real.box.astype(int).tolist():
        cv2.rectangle(picture, (x0, y0), (x1, y1), _REAL, 2)
    return picture


def overlay(real: FrameSet, sim: FrameSet, out: Path) -> None:
    """Write a picture for each pair of frames.

    Raises:
        UsageError: one of the sets has no pictures.
    """
    if real.images is None or sim.images is None:
        raise UsageError(f"{real.name}, {sim.name}: both need pictures")
    out.mkdir(parents=True, exist_ok=True)
    for i, j in zip(*(pairs.tolist() for pairs in pair_frames(real, sim)), strict=True):
        both = drawn(real.images.read(i), sim.images.read(j), _rows(real.objects, i), _rows(sim.objects, j))
        (out / f"{real.frame_name[i]}.png").write_bytes(encode_png(both))


def _rows(objects: Objects, frame: int) -> Objects:
    return objects.take(np.flatnonzero(objects.frame == frame))


def _middles(box: FloatArray) -> FloatArray:
    return (box[:, :2] + box[:, 2:]) / 2


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit("usage: python scripts/overlay_boxes.py REAL SIM PICTURES")
    sets = [read_set(Path(path)) for path in sys.argv[1:3]]
    overlay(sets[0], sets[1], Path(sys.argv[3]))
    off = offsets(sets[0], sets[1])
    across, down = np.median(off, axis=0)
    far = np.median(np.linalg.norm(off, axis=1))
    offset = f"median ({across:.1f}, {down:.1f}) px"
    print_note(f"{len(off)} boxes: simulated minus real, {offset}; median distance {far:.1f} px")
