"""A small data set of streets painted on the spot: sky over road with boxes of cars, as a folder with `semantic/`."""

from pathlib import Path

import cv2
import numpy as np
import yaml

NAMES = {7: "road", 23: "sky", 26: "car"}


def paint_streets(root: Path, count: int, *, seed: int = 0, size: tuple[int, int] = (96, 64)) -> Path:
    """Write `count` pictures with their label pictures; returns `root`."""
    rng = np.random.default_rng(seed)
    for kind in ("images", "semantic"):
        (root / kind).mkdir(parents=True)
    width, height = size
    for i in range(count):
        labels = np.full((height, width), 23, np.uint8)
        labels[int(rng.integers(height // 3, height // 2)) :] = 7
        for _ in range(2):
            x, y = int(rng.integers(0, width - 24)), int(rng.integers(height // 2, height - 14))
            labels[y : y + 14, x : x + 24] = 26
        colours = np.zeros((256, 3))
        colours[[7, 23, 26]] = (90, 90, 95), (220, 160, 110), (40, 40, 200)
        picture = np.clip(colours[labels] + rng.normal(0, 8, (height, width, 3)), 0, 255).astype(np.uint8)
        cv2.imwrite(str(root / "images" / f"{i + 1}_{0:09d}.png"), picture)
        cv2.imwrite(str(root / "semantic" / f"{i + 1}_{0:09d}.png"), labels)
    description = {"train": "images", "val": "images", "names": NAMES}
    (root / "data.yaml").write_text(yaml.safe_dump(description))
    return root
