"""A small YOLO data set painted on the spot: red squares and green discs on a noisy floor."""

from pathlib import Path

import cv2
import numpy as np


def paint(root: Path, count: int, *, split: str = "train", size: int = 96, seed: int = 0) -> Path:
    """Write `count` pictures, two variants of each photograph, with labels; returns `root`."""
    rng = np.random.default_rng(seed)
    for kind in ("images", "labels"):
        (root / split / kind).mkdir(parents=True)
    for i in range(count):
        picture = rng.integers(90, 140, (size, size, 3), np.uint8)
        rows = []
        for j in range(2):
            side = int(rng.integers(size // 5, size // 3))
            x, y = int(rng.integers(0, size // 2 - side)) + j * size // 2, int(rng.integers(0, size - side))
            kind = int(rng.integers(2))
            if kind == 0:
                cv2.rectangle(picture, (x, y), (x + side - 1, y + side - 1), (30, 30, 220), -1)
            else:
                centre = (x + side // 2, y + side // 2)
                cv2.circle(picture, centre, side // 2, (30, 200, 30), -1)
            rows.append(f"{kind} {(x + side / 2) / size} {(y + side / 2) / size} {side / size} {side / size}\n")
        stem = f"{split}{i // 2}_png.rf.{i}"
        cv2.imwrite(str(root / split / "images" / f"{stem}.png"), picture)
        (root / split / "labels" / f"{stem}.txt").write_text("".join(rows))
    parts = {"train": "train", "val": "valid"}
    lines = [f"{part}: ../{folder}/images\n" for part, folder in parts.items() if (root / folder).is_dir()]
    (root / "data.yaml").write_text("".join([*lines, "names: ['red', 'green']\n"]))
    return root
