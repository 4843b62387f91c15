"""BRISQUE's score: a support vector regression of the 36 features, from the model and range files of libsvm."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from simjudge.core.arrays import FloatArray
from simjudge.core.digest import hash_value
from simjudge.core.display import ShortRepr
from simjudge.core.errors import SimjudgeError
from simjudge.core.images import RgbImage
from simjudge.core.text import one_line, parse_integer, read_text
from simjudge.objects.image_quality.scene_statistics import FEATURES, brisque_features

_KINDS = ("epsilon_svr", "nu_svr")


@dataclass(frozen=True, repr=False, eq=False)
class BrisqueModel(ShortRepr):
    """A support vector regression with a radial kernel, and the ranges that its features are scaled by.

    Attributes:
        origin: where it is from, a phrase for people.
        vectors: float64 (V, 36), the support vectors.
        weights: float64 (V,), their coefficients.
        gamma: of the kernel exp(-gamma |x - y|^2).
        rho: what is subtracted at the end.
        low, high: float64 (36,), the range of each feature in training.
        bounds: what low and high are scaled to.
    """

    origin: str
    vectors: FloatArray
    weights: FloatArray
    gamma: float
    rho: float
    low: FloatArray
    high: FloatArray
    bounds: tuple[float, float]

    @property
    def digest(self) -> str:
        """SHA-256 of the numbers, 64 hexadecimal digits: scores of models with different digests are not comparable."""
        return hash_value((self.vectors, self.weights, self.gamma, self.rho, self.low, self.high, self.bounds))


def brisque(pixels: RgbImage, model: BrisqueModel) -> float:
    """Score a picture by BRISQUE: with the authors' model about 0 is best and 100 worst.

    Args:
        pixels: uint8 (H, W, 3), red first, or (H, W, 1).

    Returns:
        The score; NaN where the features cannot be fitted, as in a flat picture.

    Source:
        Mittal, Moorthy and Bovik 2012, section III-B; Chang and Lin, LIBSVM, 2011, section 2.4.
    """
    return regression(brisque_features(pixels), model)


def regression(features: FloatArray, model: BrisqueModel) -> float:
    """What the regression says of features, as libsvm's svm-scale and svm-predict do.

    Args:
        features: float64 (36,).
    """
    span = model.high - model.low
    least, most = model.bounds
    # svm-scale leaves out a feature that is constant in training: it counts as 0.
    share = (features - model.low) / np.where(span > 0, span, 1.0)
    scaled = np.where(span > 0, least + (most - least) * share, 0.0 * features)
    distance = ((model.vectors - scaled) ** 2).sum(axis=1)
    return float(model.weights @ np.exp(-model.gamma * distance) - model.rho)


def read_brisque_model(model_file: Path, range_file: Path) -> BrisqueModel:
    """Read a model as libsvm's svm-train and svm-scale wrote it."""
    header, vectors, weights = _read_vectors(model_file)
    bounds, low, high = _read_ranges(range_file)
    return BrisqueModel(
        f"{model_file.name} with {range_file.name}", vectors, weights, header["gamma"], header["rho"], low, high, bounds
    )


def _lines(path: Path) -> Iterator[tuple[str, list[str]]]:
    """Place and words of each line that is not empty."""
    for number, line in enumerate(read_text(path).splitlines(), 1):
        if line.strip():
            yield f"{path}:{number}", line.split()


def _number(word: str, where: str) -> float:
    try:
        value = float(word)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise SimjudgeError(f"{where}: {one_line(word)} is not a finite number; name a file that libsvm wrote")
    return value


def _read_vectors(path: Path) -> tuple[dict[str, float], FloatArray, FloatArray]:
    """Numbers of the header, support vectors and weights."""
    lines = _lines(path)
    header: dict[str, list[str]] = {}
    for _, words in lines:
        if words[0] == "SV":
            break
        header[words[0]] = words[1:]
    if header.get("svm_type", [""])[:1] not in [[kind] for kind in _KINDS] or header.get("kernel_type") != ["rbf"]:
        raise SimjudgeError(f"{path}: not a regression of libsvm with an RBF kernel; name a file that svm-train wrote")
    numbers = {
        name: _number(" ".join(header.get(name, [])), f"{path}: {name}") for name in ("gamma", "rho", "total_sv")
    }
    rows = [_sparse_row(words, where) for where, words in lines]
    if not rows or len(rows) != numbers["total_sv"]:
        raise SimjudgeError(
            f"{path}: {len(rows)} support vectors where total_sv says {numbers['total_sv']:g}; the file is cut off:"
            " copy it anew"
        )
    table = np.array(rows)
    return numbers, table[:, 1:], table[:, 0]


def _sparse_row(words: list[str], where: str) -> list[float]:
    """The weight, and 36 numbers of which those that are 0 may not stand in the file."""
    row = [0.0] * (FEATURES + 1)
    row[0] = _number(words[0], where)
    for word in words[1:]:
        index, colon, value = word.partition(":")
        number = parse_integer(index)
        if not colon or number is None or not 1 <= number <= FEATURES:
            raise SimjudgeError(f"{where}: {one_line(word)} is no feature of BRISQUE, 1:VALUE to {FEATURES}:VALUE")
        row[number] = _number(value, where)
    return row


def _read_ranges(path: Path) -> tuple[tuple[float, float], FloatArray, FloatArray]:
    """What the ranges are scaled to, and their lower and upper ends."""
    lines = list(_lines(path))
    if len(lines) < 2 or lines[0][1] != ["x"] or len(lines[1][1]) != 2:
        raise SimjudgeError(f"{path}: not a range file of libsvm (x, then two numbers); name one of svm-scale -s")
    least, most = (_number(word, lines[1][0]) for word in lines[1][1])
    ends: dict[int, tuple[float, float]] = {}
    for where, words in lines[2:]:
        number = parse_integer(words[0])
        if len(words) != 3 or number is None:
            raise SimjudgeError(f"{where}: not a row of a range file (number of the feature, lowest, highest)")
        ends[number] = _number(words[1], where), _number(words[2], where)
    missing = [str(i) for i in range(1, FEATURES + 1) if i not in ends]
    if missing:
        raise SimjudgeError(f"{path}: no range for feature {missing[0]}; BRISQUE has {FEATURES}")
    table = np.array([ends[i] for i in range(1, FEATURES + 1)])
    return (least, most), table[:, 0], table[:, 1]
