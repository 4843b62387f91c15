"""Choose the photographs of `simjudge demo` from the public data set `real_signals`, and say the choice.

The data set holds most views five times: the photograph itself, a blurred, a brightened and a darkened copy, and one
with noise. The copies are spread over its three splits. One picture of a view is taken, of the splits that did not
train `models/real_signals_yolo11n.onnx`: the photograph itself, or a copy of other brightness where the photograph is
not there. No blurred or noisy copy is taken. With the word `train` at the end it is the photographs of that split: for
fitting a camera that is judged by the others.

    scripts/make_demo_photographs.py ../shared/data/real_signals demo/photographs [train]
"""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path
from typing import NamedTuple

import cv2
import numpy as np
import numpy.typing as npt
from scipy.sparse.csgraph import connected_components

NOISY = 5.0
"""Standard deviation of the noise in grey levels, above which a picture is a noisy copy: all have less than 1 or more
than 15."""
SAME_VIEW = 0.97
"""Correlation of two pictures at 40 x 30 px from which they show one view: from 0.90 to 0.98 the views are the same."""
SAME_LIGHT = 0.02
"""Relative difference of brightness up to which one of two pictures is the other, or its blurred copy."""
BRIGHTENED, DARKENED = (1.2, 1.45), (0.55, 0.78)
"""Brightness of the copies over that of the photograph: measured 1.24 to 1.42, and 0.58 to 0.75."""
JUDGING = ("valid", "test")
_SECOND_DIFFERENCE = np.array([[1, -2, 1], [-2, 4, -2], [1, -2, 1]], np.float32)


class Picture(NamedTuple):
    """What is measured of a picture."""

    file: Path
    noise: float
    brightness: float
    sharpness: float
    small: npt.NDArray[np.float32]

    @classmethod
    def measure(cls, file: Path) -> Picture:
        """Read a picture."""
        grey = cv2.imread(str(file), cv2.IMREAD_GRAYSCALE)
        if grey is None:
            raise SystemExit(f"{file}: cannot be read as an image")
        noise = np.median(np.abs(cv2.filter2D(grey.astype(np.float32), -1, _SECOND_DIFFERENCE))) / 0.6745 / 6
        small = cv2.resize(grey, (40, 30), interpolation=cv2.INTER_AREA).astype(np.float32).ravel()
        small -= small.mean()
        return cls(
            file,
            float(noise),
            float(grey.mean()),
            float(cv2.Laplacian(grey, cv2.CV_32F).std()),
            small / np.linalg.norm(small),
        )


def find_original(view: list[Picture]) -> Picture | None:
    """The photograph that the others of a view are copies of; None where the view does not tell."""
    for first in view:
        for second in view:
            if first is not second and abs(first.brightness / second.brightness - 1) < SAME_LIGHT:
                return max(first, second, key=lambda picture: picture.sharpness)
    for one in view:
        ratios = [other.brightness / one.brightness for other in view if other is not one]
        if ratios and all(_within(ratio, BRIGHTENED) or _within(ratio, DARKENED) for ratio in ratios):
            return one
    return None


def _within(value: float, limits: tuple[float, float]) -> bool:
    return limits[0] <= value <= limits[1]


def main() -> None:
    """Choose, copy, and print what was found."""
    source, out, splits = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:] or JUDGING
    pictures = [Picture.measure(file) for file in sorted(source.glob("*/images/*.jpg"))]
    clean = [picture for picture in pictures if picture.noise < NOISY]
    small = np.stack([picture.small for picture in clean])
    count, view_of = connected_components(small @ small.T > SAME_VIEW)
    views = [[clean[k] for k in np.flatnonzero(view_of == view)] for view in range(count)]
    originals = [find_original(view) for view in views]
    chosen, copies = [], 0
    for view, original in zip(views, originals, strict=True):
        here = [picture for picture in view if picture.file.parts[-3] in splits]
        if original is not None and any(picture is original for picture in here):
            chosen.append(original)
        elif original is not None:
            changed = [one for one in here if abs(one.brightness / original.brightness - 1) > SAME_LIGHT]
            chosen += changed[:1]
            copies += len(changed[:1])
    trained = {id(picture) for view in views for picture in view if picture.file.parts[-3] == "train"}
    taken = {id(picture) for picture in chosen}
    known = sum(any(id(p) in trained for p in view) for view in views if any(id(p) in taken for p in view))
    sys.stdout.write(
        f"{len(pictures)} pictures: {len(pictures) - len(clean)} with noise added; of the others {count} views,"
        f" {sum(one is not None for one in originals)} with a photograph that is told from its copies; {len(chosen)}"
        f" of these in {' and '.join(splits)}, {copies} of them as a copy of other brightness; of {known} another copy"
        " is in train\n"
    )
    shutil.rmtree(out / "images", ignore_errors=True)
    shutil.rmtree(out / "labels", ignore_errors=True)
    for one in chosen:
        name = re.match(r"(.*)_jpg\.rf\.", one.file.name)
        label = one.file.parent.parent / "labels" / f"{one.file.stem}.txt"
        for kind, file in (("images", one.file), ("labels", label)):
            to = out / kind / f"{name[1] if name else one.file.stem}{file.suffix}"
            to.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, to)
    names = "[green, left, red, right, stop, straight, yellow]"
    (out / "data.yaml").write_text(f"train: images\nval: images\nnc: 7\nnames: {names}\n")


if __name__ == "__main__":
    main()
