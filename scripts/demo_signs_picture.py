"""Paints docs/images/demo_signs.gif: photographs and simulated pictures of `simjudge demo`, with labels and detections.

Each class is shown for a second and a half: a photograph and a picture of each simulation whose objects are about as
high. White is the label, orange what the detector found.

python scripts/demo_signs_picture.py
"""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import numpy.typing as npt
from PIL import Image

import simjudge as sj
from simjudge.questions.demo.run import MODEL, REAL, SIMULATIONS

ROOT = Path(__file__).resolve().parents[1]
KINDS, HEIGHT, SCORE = ("red", "stop", "yellow", "left", "green", "straight"), 0.26, 0.25
"""Classes in the order shown, the height of the object that each is chosen by (share of the picture), least score."""
SHOWN = (300, 223)
"""Pixels of one picture."""
PAUSE_MS = 1500
WHITE, ORANGE = (255, 255, 255), (255, 140, 0)


def painted(frames: sj.FrameSet, kind: str, caption: str) -> npt.NDArray[np.uint8]:
    """The picture of a class whose object is nearest to HEIGHT, with its label and detections."""
    number = next(key for key, name in frames.class_names.items() if name == kind)
    objects, found = frames.objects, frames.predictions
    if frames.images is None or found is None:
        raise SystemExit(f"{frames.name}: no pictures or detections")
    rows = np.flatnonzero(objects.class_id == number)
    tall = (objects.box[rows, 3] - objects.box[rows, 1]) / frames.size[objects.frame[rows], 1]
    across = objects.box[rows, ::2].mean(1) / frames.size[objects.frame[rows], 0]
    row = rows[np.argmin(np.abs(tall - HEIGHT) + np.abs(across - 0.5))]
    index = objects.frame[row]
    picture = np.array(frames.images.read(index))
    # A part of the picture around the object, as wide and high as 3.5 and 2.6 of its heights.
    middle = objects.box[row].reshape(2, 2).mean(0)
    zoom = SHOWN[0] / (3.5 * (objects.box[row, 3] - objects.box[row, 1]))
    corner = middle - np.array(SHOWN) / zoom / 2
    move = np.array([[zoom, 0, -corner[0] * zoom], [0, zoom, -corner[1] * zoom]])
    picture = cv2.warpAffine(picture, move, SHOWN, flags=cv2.INTER_CUBIC, borderMode=cv2.BORDER_REPLICATE)
    detections = [k for k in np.flatnonzero(found.frame == index) if found.score[k] >= SCORE]
    boxes = [(objects.box[row], WHITE, "")]
    boxes += [
        (found.box[k], ORANGE, f"{frames.class_names[int(found.class_id[k])]} {found.score[k]:.2f}") for k in detections
    ]
    for box, colour, text in boxes:
        x0, y0, x1, y1 = np.rint((box - np.tile(corner, 2)) * zoom).astype(int).tolist()
        cv2.rectangle(picture, (x0, y0), (x1, y1), colour, 2)
        if text:
            write(picture, text, (x0, y1 + 18), colour)
    if not detections:
        write(picture, "nothing found", (10, 22), ORANGE)
    write(picture, caption, (8, picture.shape[0] - 10), WHITE)
    return picture


def write(picture: npt.NDArray[np.uint8], text: str, at: tuple[int, int], colour: tuple[int, int, int]) -> None:
    """Write a line on a dark ground."""
    (wide, high), below = cv2.getTextSize(text, cv2.FONT_HERSHEY_SIMPLEX, 0.5, 1)
    cv2.rectangle(picture, (at[0] - 3, at[1] - high - 3), (at[0] + wide + 3, at[1] + below), (24, 24, 26), cv2.FILLED)
    cv2.putText(picture, text, at, cv2.FONT_HERSHEY_SIMPLEX, 0.5, colour, 1, cv2.LINE_AA)


def main() -> None:
    """A frame for each class: photograph, and each simulation."""
    names = {REAL: "photograph", **SIMULATIONS}
    judged = {name: sj.detect(ROOT / "demo" / name, ROOT / "models" / f"{MODEL}.onnx") for name in names}
    shown = [
        Image.fromarray(np.hstack([painted(judged[name], kind, f"{called}: {kind}") for name, called in names.items()]))
        for kind in KINDS
    ]
    first, *others = [image.quantize(256, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE) for image in shown]
    out = ROOT / "docs/images/demo_signs.gif"
    first.save(out, save_all=True, append_images=others, duration=PAUSE_MS, loop=0)


if __name__ == "__main__":
    main()
