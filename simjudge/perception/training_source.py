"""Where training data comes from: the data's own train and valid sides where it has them."""

from __future__ import annotations

from pathlib import Path

import yaml

from simjudge.errors import Losses
from simjudge.frames import FrameSet, Objects
from simjudge.images import SUFFIXES, FileImages, size_of
from simjudge.perception.training_data import TrainingSplit, repaired, split_by_photograph


def read_split(data: Path, val_fraction: float | None, seed: int) -> tuple[TrainingSplit, Losses]:
    """Read a labelled set and its split."""
    import numpy as np  # noqa: PLC0415

    names = dict(enumerate(yaml.safe_load((data / "data.yaml").read_text())["names"]))

    def side(name: str) -> FrameSet:
        pictures = sorted(p for p in (data / name / "images").iterdir() if p.suffix.lower() in SUFFIXES)
        sizes = [size_of(p) for p in pictures]
        frame, classes, boxes = [], [], []
        for i, picture in enumerate(pictures):
            for line in (data / name / "labels" / f"{picture.stem}.txt").read_text().splitlines():
                c, x, y, w, h = (float(v) for v in line.split()[:5])
                frame.append(i)
                classes.append(int(c))
                boxes.append(np.array([x - w / 2, y - h / 2, x + w / 2, y + h / 2]) * np.tile(sizes[i], 2))
        return FrameSet.build(
            name, sizes, Objects.build(frame, classes, boxes), frame_name=[p.stem for p in pictures],
            class_names=names, images=FileImages(pictures),
        )

    if val_fraction is None:
        return repaired(side("train"), side("valid")), Losses()
    return split_by_photograph(side("train"), val_fraction, seed), Losses()
