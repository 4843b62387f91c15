"""A YOLO set of three pictures with a red square each, labelled, for detectors that know red by its colour."""

from pathlib import Path

import cv2
import numpy as np


def paint_red_squares(root: Path, name: str) -> None:
    """Write the set.

    Args:
        root: the folder to make.
        name: what the set calls class 4, that of the squares.
    """
    for kind in ("images", "labels"):
        (root / kind).mkdir(parents=True)
    for i in range(3):
        picture = np.full((60, 80, 3), 128, np.uint8)
        picture[10:30, 10 + i : 30 + i] = (0, 0, 255)
        cv2.imwrite(str(root / "images" / f"{i}.png"), picture)
        (root / "labels" / f"{i}.txt").write_text(f"4 {(20 + i) / 80} {20 / 60} {20 / 80} {20 / 60}\n")
    (root / "data.yaml").write_text(f"train: images\nnames: {{4: {name}}}\n")
