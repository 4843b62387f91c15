"""Paints docs/images/demo.png from what `make demo` leaves: one place of two recordings, boxes drawn in.

python scripts/demo_picture.py [FRAME]
"""

from __future__ import annotations

import sys
from pathlib import Path

import cv2
import numpy as np

from simjudge.core.frames import FrameSet
from simjudge.data.sets import read_set

ROOT = Path(__file__).resolve().parents[1]
COLOURS = {1: (255, 80, 60), 2: (60, 230, 90)}
SCORE = 0.25


def painted(frames: FrameSet, index: int, title: str) -> np.ndarray:
    """A frame with its labels (thin, white) and detections (by class, with scores)."""
    if frames.images is None or frames.predictions is None:
        raise SystemExit(f"{frames.name}: no pictures, or no detections; run make demo first")
    picture = np.array(frames.images.read(index))
    for box in frames.objects.box[frames.objects.frame == index].astype(int):
        cv2.rectangle(picture, tuple(box[:2] - 3), tuple(box[2:] + 2), (255, 255, 255), 1)
    found = frames.predictions
    for row in np.flatnonzero((found.frame == index) & (found.score >= SCORE)):
        box, colour = np.rint(found.box[row]).astype(int), COLOURS[int(found.class_id[row])]
        cv2.rectangle(picture, tuple(box[:2]), tuple(box[2:]), colour, 2)
        cv2.putText(picture, f"{found.score[row]:.2f}", (box[0], box[1] - 6), 0, 0.45, colour, 1, cv2.LINE_AA)
    cv2.putText(picture, title, (20, 40), 0, 0.9, (0, 0, 0), 4, cv2.LINE_AA)
    cv2.putText(picture, title, (20, 40), 0, 0.9, (255, 255, 255), 2, cv2.LINE_AA)
    return picture


if __name__ == "__main__":
    index = int(sys.argv[1]) if len(sys.argv) > 1 else 8
    out = ROOT / "demo_out"
    left = painted(read_set(out / "reality_seen.mcap"), index, "the stand-in for reality")
    right = painted(read_set(out / "perfect_seen.mcap"), index, "a perfect camera, at the same place")
    cv2.imwrite(str(ROOT / "docs/images/demo.png"), np.hstack([left, right])[:, :, ::-1])
