"""Paints docs/images/demo_signs.jpg: photographs and simulated pictures of `simjudge demo`, with labels and detections.

python scripts/demo_signs_picture.py
"""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np

import simjudge as sj
from simjudge.questions.demo.run import MODEL, REAL, SIMULATIONS

ROOT = Path(__file__).resolve().parents[1]
KINDS, HEIGHT, SCORE, ZOOM = ("stop", "left", "straight", "red", "green", "yellow"), 0.2, 0.25, 2
"""Classes that are shown, the height of the object that each is chosen by (share of the picture), the least score."""


def painted(frames: sj.FrameSet, kind: str) -> np.ndarray:
    """The picture of a class whose object is nearest to HEIGHT, with its label (white) and detections (orange)."""
    number = next(key for key, name in frames.class_names.items() if name == kind)
    objects, found = frames.objects, frames.predictions
    if frames.images is None or found is None:
        raise SystemExit(f"{frames.name}: no pictures or detections")
    rows = np.flatnonzero(objects.class_id == number)
    tall = (objects.box[rows, 3] - objects.box[rows, 1]) / frames.size[objects.frame[rows], 1]
    row = rows[np.argmin(np.abs(tall - HEIGHT))]
    index = objects.frame[row]
    picture = cv2.resize(np.array(frames.images.read(index)), None, fx=ZOOM, fy=ZOOM, interpolation=cv2.INTER_CUBIC)
    boxes = [(objects.box[row], (255, 255, 255), "")]
    for k in np.flatnonzero((found.frame == index) & (found.score >= SCORE)):
        name = frames.class_names[int(found.class_id[k])]
        boxes.append((found.box[k], (255, 140, 0), f"{name} {found.score[k]:.2f}"))
    for box, colour, text in boxes:
        x0, y0, x1, y1 = np.rint(box * ZOOM).astype(int).tolist()
        cv2.rectangle(picture, (x0, y0), (x1, y1), colour, 2)
        at = (min(x0, picture.shape[1] - 150), y1 + 20)
        cv2.putText(picture, text, at, 0, 0.6, (0, 0, 0), 4, cv2.LINE_AA)
        cv2.putText(picture, text, at, 0, 0.6, colour, 1, cv2.LINE_AA)
    return picture


def main() -> None:
    """A row for the photographs and one for each simulation."""
    rows = []
    for name, called in ((REAL, "photographs"), *SIMULATIONS.items()):
        frames = sj.detect(ROOT / "demo" / name, ROOT / "models" / f"{MODEL}.onnx")
        row = np.hstack([painted(frames, kind) for kind in KINDS])
        for colour, width in (((0, 0, 0), 5), ((255, 255, 255), 2)):
            cv2.putText(row, called, (12, row.shape[0] - 14), 0, 1.1, colour, width, cv2.LINE_AA)
        rows.append(row)
    sheet = cv2.resize(np.vstack(rows), None, fx=0.5, fy=0.5, interpolation=cv2.INTER_AREA)
    cv2.imwrite(str(ROOT / "docs/images/demo_signs.jpg"), sheet[:, :, ::-1], [cv2.IMWRITE_JPEG_QUALITY, 85])


if __name__ == "__main__":
    main()
