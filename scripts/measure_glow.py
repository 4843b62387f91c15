"""Measure the halos around lit lamps in a folder of labelled pictures: what the lamps of scene `signs` are built to.

For each colour it prints the median RGB, left and right of the lit lamp, at distances in heights of the label. Pictures
with noise added, and lights less than 35 px high, are left out.

    scripts/measure_glow.py ../shared/data/real_signals/train
"""

from __future__ import annotations

import sys
from pathlib import Path

import cv2
import numpy as np
import numpy.typing as npt
from make_demo_photographs import NOISY, Picture

LAMP_ROW = {"green": 0.632, "red": 0.219, "yellow": 0.425}
"""Height of the lit lamp in its label, from the label's top: the lamps' places in the head, and the label's margins."""
NAMES = ("green", "left", "red", "right", "stop", "straight", "yellow")
DISTANCES = (0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.7, 0.9)
LEAST_HEIGHT = 35


def profile(picture: npt.NDArray[np.uint8], box: npt.NDArray[np.float64], row: float) -> npt.NDArray[np.float64]:
    """RGB at the distances from the lit lamp, (D, 3); NaN beyond the picture. `box`: centre, width, height, pixels."""
    tall, wide = picture.shape[:2]
    x, y, _, height = box
    bright = cv2.GaussianBlur(picture.max(2).astype(np.float32) + picture.min(2), (0, 0), 1.2)
    top, left = int(max(0, y + (row - 0.62) * height)), int(max(0, x - 0.15 * height))
    near = bright[top : int(y + (row - 0.38) * height), left : int(x + 0.15 * height)]
    down, right = np.unravel_index(near.argmax(), near.shape)
    lamp_y, lamp_x = top + int(down), left + int(right)
    found = np.full((len(DISTANCES), 2, 3), np.nan)
    for number, distance in enumerate(DISTANCES):
        for side, sign in enumerate((-1, 1)):
            at = round(lamp_x + sign * distance * height)
            if 1 <= at < wide - 1 and 1 <= lamp_y < tall - 1:
                found[number, side] = picture[lamp_y - 1 : lamp_y + 2, at - 1 : at + 2].reshape(-1, 3).mean(0)
    return np.nanmean(found, 1) if np.isfinite(found).any(1).all() else np.full((len(DISTANCES), 3), np.nan)


def main() -> None:
    """Print a table for each colour."""
    found: dict[str, list[npt.NDArray[np.float64]]] = {name: [] for name in LAMP_ROW}
    for label in sorted(Path(sys.argv[1]).glob("labels/*.txt")):
        rows = np.loadtxt(label, ndmin=2)
        name = NAMES[int(rows[0, 0])] if len(rows) == 1 else ""
        file = label.parent.parent / "images" / f"{label.stem}.jpg"
        if name not in LAMP_ROW or Picture.measure(file).noise >= NOISY:
            continue
        picture = cv2.imread(str(file))[:, :, ::-1]
        box = rows[0, 1:5] * np.tile(picture.shape[1::-1], 2)
        if box[3] >= LEAST_HEIGHT:
            found[name].append(profile(picture, box, LAMP_ROW[name]))
    for name, profiles in found.items():
        sys.stdout.write(f"{name}: {len(profiles)} lights\n")
        for distance, colour in zip(DISTANCES, np.nanmedian(profiles, 0), strict=True):
            sys.stdout.write(f"  {distance:.2f}  {' '.join(f'{value:3.0f}' for value in colour)}\n")


if __name__ == "__main__":
    main()
