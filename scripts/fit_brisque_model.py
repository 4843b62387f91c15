"""Makes models/brisque_open_photographs.json: a regression of BRISQUE's features to MS-SSIM, without human scores.

    pip install scikit-learn
    python scripts/fit_brisque_model.py FOLDER

FOLDER has the clones that `fit_niqe_model.py` names. Photographs of the clones are fitted; those of scikit-image are
held out and tested on. Parts of each photograph are distorted by known amounts. The target of a copy is
100 sqrt(1 - MS-SSIM) of its luminance: 0 is the photograph itself.

Source:
    Scores of a full-reference metric in place of people's: Ye, Kumar and Doermann, Beyond human opinion scores, CVPR
    2014. MS-SSIM: Wang, Simoncelli and Bovik, Multi-scale structural similarity, Asilomar 2003.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import cv2
import numpy as np
import numpy.typing as npt
from fit_niqe_model import PHOTOGRAPHS, POP, PUBLIC, SKIMAGE, Photograph
from PIL import Image
from scipy.stats import spearmanr
from sklearn.model_selection import GroupKFold, cross_val_predict
from sklearn.svm import SVR

from simjudge.core.images import RgbImage
from simjudge.objects.image_quality.quality import (
    BrisqueModel,
    piqe,
    read_brisque_model,
    regression,
    write_brisque_model,
)
from simjudge.objects.image_quality.scene_statistics import brisque_features, gray_levels

MODEL = Path(__file__).resolve().parent.parent / "models" / "brisque_open_photographs.json"
MORE = (
    Photograph(POP, "ahmadreza-sajadi-10140-edit.jpg", PUBLIC, "a2df3310989a79b3"),
    Photograph(POP, "jake-hills-36605.jpg", PUBLIC, "13acd13b3bcb234c"),
    Photograph(POP, "nasa-53884.jpg", PUBLIC, "53ed4645ec6fc4c8"),
    Photograph(POP, "nasa-89127.jpg", PUBLIC, "69cc670c681082a8"),
    Photograph(POP, "sebastien-gabriel-232361.jpg", PUBLIC, "695f81159737cbfc"),
    Photograph(POP, "tony-webster-97532.jpg", PUBLIC, "120c4972e1d167c1"),
)
"""Photographs that NIQE's model lacks."""
PART = 480
"""Pixels: side of the parts of a photograph."""
PARTS = 3
"""Of each photograph, besides the whole one at half its size."""
LEVELS = 4
"""Of each distortion and part, drawn anew for each part."""
FOLDS = 6
"""Of the photographs, for the choice of the regression's parameters."""


def _blur(pixels: RgbImage, sigma: float) -> RgbImage:
    return np.asarray(cv2.GaussianBlur(pixels, (0, 0), sigma), np.uint8)


def _noise(pixels: RgbImage, sigma: float) -> RgbImage:
    noise = np.random.default_rng(round(sigma * 1e6)).normal(0, sigma, pixels.shape)
    return np.clip(np.rint(pixels + noise), 0, 255).astype(np.uint8)


def _jpeg(pixels: RgbImage, coarseness: float) -> RgbImage:
    return _stored(pixels, "JPEG", quality=round(100 / coarseness))


def _jpeg_2000(pixels: RgbImage, ratio: float) -> RgbImage:
    return _stored(pixels, "JPEG2000", quality_mode="rates", quality_layers=[ratio], irreversible=True)


def _contrast(pixels: RgbImage, factor: float) -> RgbImage:
    mean = pixels.mean()
    return np.clip(np.rint(mean + (pixels - mean) / factor), 0, 255).astype(np.uint8)


def _stored(pixels: RgbImage, kind: str, **options: object) -> RgbImage:
    """A picture written and read again."""
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, kind, **options)
    return np.asarray(Image.open(buffer).convert("RGB"))


class Distortion(NamedTuple):
    """A distortion and the range of its amount."""

    apply: Callable[[RgbImage, float], RgbImage]
    least: float
    most: float


FITTED = {
    "blur": Distortion(_blur, 0.5, 6),
    "noise": Distortion(_noise, 2, 50),
    "JPEG": Distortion(_jpeg, 1.2, 20),
    "JPEG 2000": Distortion(_jpeg_2000, 8, 250),
}
NEVER_FITTED = {"contrast": Distortion(_contrast, 1.2, 6)}
"""A distortion that BRISQUE's features, normalized by the local contrast, hardly see."""

_WEIGHTS = (0.0448, 0.2856, 0.3001, 0.2363, 0.1333)
"""Exponents of MS-SSIM's five scales, the finest first."""


def ms_ssim(a: npt.NDArray[np.float64], b: npt.NDArray[np.float64]) -> float:
    """MS-SSIM of two gray pictures (H, W), 0 to 255, H and W at least 176.

    The window is a Gaussian of 11 x 11 px, sigma 1.5; places whose window leaves the picture do not count. A scale is
    half the one before, each pixel the mean of four. A negative structure counts as 0.
    """
    total = 1.0
    for scale, weight in enumerate(_WEIGHTS):
        luminance, structure = _similarity(a, b)
        term = luminance * structure if scale == len(_WEIGHTS) - 1 else structure
        total *= max(float(term.mean()), 0.0) ** weight
        size = (a.shape[1] // 2, a.shape[0] // 2)
        a, b = (cv2.resize(x[: 2 * size[1], : 2 * size[0]], size, interpolation=cv2.INTER_AREA) for x in (a, b))
    return total


def _similarity(
    a: npt.NDArray[np.float64], b: npt.NDArray[np.float64]
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Luminance and structure terms of SSIM at each whole window."""

    def mean(x: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        return np.asarray(cv2.GaussianBlur(x, (11, 11), 1.5)[5:-5, 5:-5])

    c1, c2 = (0.01 * 255) ** 2, (0.03 * 255) ** 2
    ma, mb = mean(a), mean(b)
    va, vb, vab = mean(a * a) - ma * ma, mean(b * b) - mb * mb, mean(a * b) - ma * mb
    return (2 * ma * mb + c1) / (ma * ma + mb * mb + c1), (2 * vab + c2) / (va + vb + c2)


def target(photograph: RgbImage, copy: RgbImage) -> float:
    """0 for the photograph itself, 100 for a copy that has nothing of its structure."""
    return 100 * float(np.sqrt(max(0.0, 1 - ms_ssim(gray_levels(photograph), gray_levels(copy)))))


class Sample(NamedTuple):
    """A copy of a part of a photograph."""

    photograph: int
    distortion: str
    features: npt.NDArray[np.float64]
    target: float
    piqe: float


def copies(number: int, part: RgbImage, distortions: dict[str, Distortion]) -> Iterator[Sample]:
    """The part itself, and copies of it distorted by amounts drawn evenly by their logarithm."""
    draw = np.random.default_rng(number)
    yield Sample(number, "none", brisque_features(part), 0.0, piqe(part).score)
    for name, (apply, least, most) in distortions.items():
        for amount in np.exp(draw.uniform(np.log(least), np.log(most), LEVELS)):
            copy = apply(part, float(amount))
            yield Sample(number, name, brisque_features(copy), target(part, copy), piqe(copy).score)


def parts(number: int, pixels: RgbImage) -> Iterator[RgbImage]:
    """The whole photograph at half its size, and parts of it at its own."""
    height, width = pixels.shape[:2]
    yield np.asarray(cv2.resize(pixels, (width // 2, height // 2), interpolation=cv2.INTER_AREA), np.uint8)
    draw = np.random.default_rng(number)
    for _ in range(PARTS):
        x, y = draw.integers(width - PART + 1), draw.integers(height - PART + 1)
        yield np.ascontiguousarray(pixels[y : y + PART, x : x + PART])


def fit(samples: list[Sample]) -> tuple[SVR, npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Fit the regression, and say what it was chosen by; also the range of each feature."""
    features, targets, groups = _table(samples)
    low, high = features.min(axis=0), features.max(axis=0)
    scaled = _scale(features, low, high)
    found = []
    for gamma in (0.02, 0.05, 0.1, 0.2):
        for c in (30, 100, 300):
            machine = SVR(C=c, gamma=gamma, epsilon=4)
            told = cross_val_predict(machine, scaled, targets, groups=groups, cv=GroupKFold(FOLDS))
            found.append((float(np.sqrt(np.mean((told - targets) ** 2))), gamma, c))
            print(f"gamma {gamma:5} C {c:4}: {found[-1][0]:.2f} off on photographs left out (root mean square)")
    _, gamma, c = min(found)
    return SVR(C=c, gamma=gamma, epsilon=4).fit(scaled, targets), low, high


def _table(samples: list[Sample]) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64], list[int]]:
    return (
        np.array([s.features for s in samples]),
        np.array([s.target for s in samples]),
        [s.photograph for s in samples],
    )


def _scale(
    features: npt.NDArray[np.float64], low: npt.NDArray[np.float64], high: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    return -1 + 2 * (features - low) / (high - low)


def main(clones: Path) -> None:
    """Fit the model, test it and write it."""
    fitted = [photograph for photograph in (*PHOTOGRAPHS, *MORE) if photograph.source != SKIMAGE]
    samples = [
        sample
        for number, photograph in enumerate(fitted)
        for part in parts(number, photograph.read(clones))
        for sample in copies(number, part, FITTED)
    ]
    machine, low, high = fit(samples)
    origin = (
        f"fitted by simjudge to MS-SSIM of {len(samples)} distorted copies of {len(fitted)} open photographs;"
        " no human scores"
    )
    model = BrisqueModel(
        origin,
        np.asarray(machine.support_vectors_),
        np.asarray(machine.dual_coef_[0]),
        machine.gamma,
        -float(machine.intercept_[0]),
        low,
        high,
        (-1.0, 1.0),
    )
    write_brisque_model(MODEL, model, [vars(photograph) for photograph in fitted])
    model = read_brisque_model(MODEL)
    held_out = [photograph for photograph in PHOTOGRAPHS if photograph.source == SKIMAGE]
    tests = [
        sample
        for number, photograph in enumerate(held_out)
        for sample in copies(number, np.ascontiguousarray(photograph.read(clones)), {**FITTED, **NEVER_FITTED})
    ]
    features, _, _ = _table(tests)
    theirs = machine.predict(_scale(features, low, high))
    ours = np.array([regression(row, model) for row in features])
    print(f"{len(model.weights)} support vectors; scikit-learn's answer differs by {np.abs(theirs - ours).max():.1g}")
    print(f"{len(held_out)} photographs of {SKIMAGE}, held out: Spearman's correlation with the target")
    for name in (*FITTED, *NEVER_FITTED, "all"):
        chosen = [s.distortion in ((*FITTED, "none") if name == "all" else (name,)) for s in tests]
        score, wanted, piqes = ours[chosen], *(np.array([s[i] for s in tests])[chosen] for i in (3, 4))
        away = np.sqrt(np.mean((score - wanted) ** 2))
        print(
            f"| {name} | {sum(chosen)} | {spearmanr(score, wanted).statistic:.3f} |"
            f" {spearmanr(piqes, wanted).statistic:.3f} | {away:.1f} |"
        )
    pristine = ours[[s.distortion == "none" for s in tests]]
    print(f"the photographs themselves: {', '.join(f'{score:.1f}' for score in pristine)}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
