"""Quality of whole pictures: NIQE and BRISQUE by models, PIQE without one, and each over time.

NIQE says how far the features of a picture's blocks lie from those of pristine photographs. Its models are JSON of
simjudge's own, and the authors' parameters as MATLAB or NumPy files. BRISQUE is a support vector regression of 36
features, from JSON of simjudge's own, or the model and range files of libsvm.
"""

from __future__ import annotations

import io
import json
import math
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from simjudge.core.arrays import NO_ARRAYS, BoolArray, FloatArray, ShortRepr, hash_value
from simjudge.core.errors import Losses, ProgressBar, SimjudgeError, UsageError, no_progress
from simjudge.core.files import atomic_file, read_bytes
from simjudge.core.frames import FrameSet
from simjudge.core.images import ImageError, RgbImage
from simjudge.core.installed import FileKind, find_file
from simjudge.core.isolated_readers import NIQE_NAMES
from simjudge.core.processes import read_isolated
from simjudge.core.text import JsonMapping, load_json, one_line, parse_integer, read_text
from simjudge.objects.image_quality import piqe_class
from simjudge.objects.image_quality.compiled_loops import ACTIVE_BLOCK, ARTIFACT_BLOCK, BLOCK, NOISY_BLOCK, piqe_blocks
from simjudge.objects.image_quality.scene_statistics import (
    FEATURES,
    brisque_features,
    gray_levels,
    niqe_features,
    normalized_luminance,
)
from simjudge.objects.series import WHOLE, Series, stamps_to_seconds
from simjudge.objects.settings import ImageQualitySettings

SHARP = 0.75
"""Share of the sharpest block's sharpness above which a block of a pristine photograph counts for the model."""


@dataclass(frozen=True, repr=False, eq=False)
class NiqeModel(ShortRepr):
    """A multivariate normal distribution of the features of pristine blocks."""

    origin: str  # what it was fitted on, a phrase for people
    mean: FloatArray  # float64 (36,)
    covariance: FloatArray  # float64 (36, 36)

    @property
    def digest(self) -> str:
        """SHA-256 of the numbers, 64 hexadecimal digits: scores of models with different digests are not comparable."""
        return hash_value((self.mean, self.covariance))


def niqe(pixels: RgbImage, model: NiqeModel) -> float:
    """Score a picture by NIQE: 0 is a picture like the model's, more is worse.

    sqrt((m - n)^T ((C + D) / 2)^+ (m - n)), with mean m and covariance C of the features of the picture's blocks, n and
    D of the model, and the pseudo-inverse +. All whole blocks count that can be fitted; a flat block cannot.

    Source:
        Mittal, Soundararajan and Bovik, IEEE Signal Processing Letters 20(3), 2013, equation 10.
    """
    features, _ = niqe_features(pixels)
    features = _fitted(features)
    if len(features) < 2:
        return float("nan")
    mean, covariance = features.mean(axis=0), np.cov(features, rowvar=False)
    difference = mean - model.mean
    inverse = np.linalg.pinv((covariance + model.covariance) / 2)
    return float(np.sqrt(max(0.0, float(difference @ inverse @ difference))))


def fit_niqe_model(photographs: Iterable[RgbImage], origin: str) -> NiqeModel:
    """Fit a model to the sharp blocks of pristine photographs.

    Args:
        photographs: uint8 (H, W, 3) each, red first.

    Source:
        Mittal, Soundararajan and Bovik 2013, section II.
    """
    rows = [sharp_features(pixels) for pixels in photographs]
    features = np.concatenate(rows) if rows else np.empty((0, FEATURES))
    if len(features) <= FEATURES:
        raise SimjudgeError(
            f"{origin}: {len(features)} sharp blocks of 96 x 96 pixels; at least {FEATURES + 1} are needed to fit a"
            " NIQE model: give more photographs, or larger ones"
        )
    return NiqeModel(origin, features.mean(axis=0), np.cov(features, rowvar=False))


def sharp_features(pixels: RgbImage) -> FloatArray:
    """The features of the blocks of a photograph that count for a model.

    `pixels`: uint8 (H, W, 3), red first, or (H, W, 1); returns float64 (B, 36): of the blocks that are sharper than
    0.75 times the sharpest, and not flat.
    """
    features, sharpness = niqe_features(pixels)
    return _fitted(features[sharpness > SHARP * sharpness.max(initial=0.0)])


def _fitted(features: FloatArray) -> FloatArray:
    return features[np.isfinite(features).all(axis=1)]


LARGEST = 2**24
"""Bytes of the largest file of parameters; the authors' have 11 kB."""


def read_niqe_model(path: Path) -> NiqeModel:
    """Read a model."""
    readers = {".json": _json_arrays, ".mat": _mat_arrays, ".npz": _npz_arrays}
    reader = readers.get(path.suffix.lower())
    if reader is None:
        raise SimjudgeError(f"{path}: a NIQE model is a .json, .mat or .npz file; name such a file")
    origin, mean, covariance = reader(path)
    return NiqeModel(origin, *_checked(path, mean, covariance))


def write_niqe_model(path: Path, model: NiqeModel, photographs: list[dict[str, object]]) -> None:
    """Write a model as JSON."""
    content = {
        "niqe_model": model.origin,
        "photographs": photographs,
        "mean": [float(f"{value:.9g}") for value in model.mean],
        "covariance": [[float(f"{value:.9g}") for value in row] for row in model.covariance],
    }
    _write_json(path, content)


def _write_json(path: Path, content: JsonMapping) -> None:
    lines = [f"  {json.dumps(key)}: {_matrix_lines(value)}" for key, value in content.items()]
    with atomic_file(path) as temporary:
        temporary.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def _matrix_lines(value: Any) -> str:
    """JSON with a line for each item of a list of lists or mappings."""
    if isinstance(value, list) and value and not isinstance(value[0], float):
        return "[\n    " + ",\n    ".join(json.dumps(item) for item in value) + "\n  ]"
    return json.dumps(value)


def _json_arrays(path: Path) -> tuple[str, Any, Any]:
    content = load_json(path)
    if not isinstance(content, dict) or not isinstance(content.get("niqe_model"), str):
        raise SimjudgeError(f"{path}: no NIQE model: the field niqe_model is missing; name a file that simjudge wrote")
    return content["niqe_model"], content.get("mean"), content.get("covariance")


def _mat_arrays(path: Path) -> tuple[str, Any, Any]:
    found = read_isolated("niqe", path, "no whole .mat file of version 7 or before; name NIQE's modelparameters.mat")
    return _origin(path), found["mean"], found["covariance"]


def _npz_arrays(path: Path) -> tuple[str, Any, Any]:
    data = read_bytes(path, LARGEST)
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
            found = {part: [arrays[n] for n in names if n in arrays] for part, names in NIQE_NAMES.items()}
    except NO_ARRAYS as error:
        raise SimjudgeError(f"{path}: not a readable NumPy file ({type(error).__name__}); name another") from error
    mean, covariance = (entry[0] if entry else None for entry in found.values())
    return _origin(path), mean, covariance


def _origin(path: Path) -> str:
    return f"the parameters in {path.name}"


def _checked(path: Path, mean: Any, covariance: Any) -> tuple[FloatArray, FloatArray]:
    out = []
    for name, given, shape in (("mean", mean, (FEATURES,)), ("covariance", covariance, (FEATURES, FEATURES))):
        if given is None:
            raise SimjudgeError(f"{path}: has no {name} of the pristine features; name a file of NIQE's parameters")
        try:
            array = np.asarray(given, np.float64)
        except (ValueError, TypeError, OverflowError):
            array = np.empty(0)
        if array.size != np.prod(shape) or not np.isfinite(array).all():
            raise SimjudgeError(f"{path}: the {name} must be {' x '.join(map(str, shape))} finite numbers")
        out.append(array.reshape(shape))
    if not np.allclose(out[1], out[1].T, rtol=1e-6, atol=1e-12):
        raise SimjudgeError(f"{path}: the covariance is not symmetric; name a file of NIQE's parameters")
    low = [i for i in range(FEATURES) if i not in _SIGNED and out[0][i] <= 0]
    if low:
        number = out[0][low[0]]
        raise SimjudgeError(f"{path}: the mean of feature {low[0] + 1} is {number:g}: shapes and spreads are above 0")
    least, *_, largest = np.linalg.eigvalsh(out[1])
    if least < -_ROUNDED * abs(largest) or largest <= 0:
        raise SimjudgeError(f"{path}: the covariance has the eigenvalue {least:g}: real features have none below 0")
    return out[0], out[1]


_SIGNED = tuple(scale + 3 + 4 * product for scale in (0, FEATURES // 2) for product in range(4))
"""NIQE's features that may be negative: the means of products with a neighbour."""
_ROUNDED = 1e-6
"""What rounding in a file takes from the smallest eigenvalue, as a share of the largest."""


_KINDS = ("epsilon_svr", "nu_svr")


@dataclass(frozen=True, repr=False, eq=False)
class BrisqueModel(ShortRepr):
    """A support vector regression with a radial kernel, and the ranges that its features are scaled by."""

    origin: str  # where it is from, a phrase for people
    vectors: FloatArray  # float64 (V, 36), the support vectors
    weights: FloatArray  # float64 (V,), their coefficients
    gamma: float  # of the kernel exp(-gamma |x - y|^2)
    rho: float  # what is subtracted at the end
    low: FloatArray  # low, high: float64 (36,), the range of each feature in training
    high: FloatArray
    bounds: tuple[float, float]  # what low and high are scaled to

    @property
    def digest(self) -> str:
        """SHA-256 of the numbers, 64 hexadecimal digits: scores of models with different digests are not comparable."""
        return hash_value((self.vectors, self.weights, self.gamma, self.rho, self.low, self.high, self.bounds))


def brisque(pixels: RgbImage, model: BrisqueModel) -> float:
    """Score a picture by BRISQUE: about 0 is best and 100 worst.

    Source:
        Mittal, Moorthy and Bovik 2012, section III-B; Chang and Lin, LIBSVM, 2011, section 2.4.
    """
    return regression(brisque_features(pixels), model)


def regression(features: FloatArray, model: BrisqueModel) -> float:
    """What the regression says of features, as libsvm's svm-scale and svm-predict do. `features`: float64 (36,)."""
    span = model.high - model.low
    least, most = model.bounds
    # svm-scale leaves out a feature that is constant in training: it counts as 0.
    share = (features - model.low) / np.where(span > 0, span, 1.0)
    scaled = np.where(span > 0, least + (most - least) * share, 0.0 * features)
    distance = ((model.vectors - scaled) ** 2).sum(axis=1)
    return float(model.weights @ np.exp(-model.gamma * distance) - model.rho)


def write_brisque_model(path: Path, model: BrisqueModel, photographs: list[dict[str, object]]) -> None:
    """Write a model as JSON, with 6 digits of each number; a row of `vectors` begins with its weight."""
    table = np.column_stack([model.weights, model.vectors])
    content = {
        "brisque_model": model.origin,
        "photographs": photographs,
        "gamma": model.gamma,
        "rho": model.rho,
        "bounds": list(model.bounds),
        "low": [float(f"{value:.9g}") for value in model.low],
        "high": [float(f"{value:.9g}") for value in model.high],
        "vectors": [[float(f"{value:.6g}") for value in row] for row in table],
    }
    _write_json(path, content)


def read_brisque_model(model_file: Path, range_file: Path | None = None) -> BrisqueModel:
    """Read a model that simjudge wrote as JSON, or with a range file one that svm-train and svm-scale wrote."""
    if range_file is None:
        return _brisque_json(model_file)
    header, vectors, weights = _read_vectors(model_file)
    bounds, low, high = _read_ranges(range_file)
    _check_regression(model_file, header["gamma"], range_file, bounds, low, high)
    return BrisqueModel(
        f"{model_file.name} with {range_file.name}", vectors, weights, header["gamma"], header["rho"], low, high, bounds
    )


def _check_regression(
    model_file: Path, gamma: float, range_file: Path, bounds: tuple[float, float], low: FloatArray, high: FloatArray
) -> None:
    """Refuse numbers that no training gives."""
    if gamma <= 0:
        raise SimjudgeError(f"{model_file}: gamma is {gamma:g}, and the kernel needs one above 0; train it again")
    if bounds[0] >= bounds[1]:
        raise SimjudgeError(f"{range_file}: bounds {bounds[0]:g} and {bounds[1]:g}: the first must be smaller")
    for number in np.flatnonzero(low > high)[:1].tolist():
        raise SimjudgeError(
            f"{range_file}: feature {number + 1} is from {low[number]:g} to {high[number]:g}: the first must be smaller"
        )


def _brisque_json(path: Path) -> BrisqueModel:
    if path.suffix.lower() != ".json":
        raise UsageError(
            f"{path}: not a .json file of simjudge's; BRISQUE's score by a model of libsvm needs both of its files:"
            " give --brisque-model and --brisque-range"
        )
    content = load_json(path)
    if not isinstance(content, dict) or not isinstance(content.get("brisque_model"), str):
        raise SimjudgeError(
            f"{path}: no BRISQUE model: the field brisque_model is missing; name a file that simjudge wrote"
        )
    gamma, rho = (_finite(path, content, name, ())[()] for name in ("gamma", "rho"))
    low, high = (_finite(path, content, name, (FEATURES,)) for name in ("low", "high"))
    least, most = _finite(path, content, "bounds", (2,))
    table = _finite(path, content, "vectors", (-1, FEATURES + 1))
    _check_regression(path, float(gamma), path, (float(least), float(most)), low, high)
    return BrisqueModel(
        content["brisque_model"],
        table[:, 1:],
        table[:, 0],
        float(gamma),
        float(rho),
        low,
        high,
        (float(least), float(most)),
    )


def _finite(path: Path, content: dict[str, Any], name: str, shape: tuple[int, ...]) -> FloatArray:
    """The numbers of a field; -1 in the shape is any number of rows but none."""
    try:
        array = np.asarray(content.get(name), np.float64)
    except (ValueError, TypeError, OverflowError):
        array = np.full(1, np.nan)
    fits = array.ndim == len(shape) and all(
        wanted in (-1, length) for wanted, length in zip(shape, array.shape, strict=True)
    )
    if not fits or not array.size or not np.isfinite(array).all():
        needed = " x ".join("N" if length < 0 else str(length) for length in shape) or "1"
        raise SimjudgeError(f"{path}: {name} must be {needed} finite numbers; name a file that simjudge wrote")
    return array


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


NIQE_MODEL = FileKind("a NIQE model", ("models/niqe_*.json",))
BRISQUE_MODEL = FileKind("a BRISQUE model", ("models/brisque_*.json",))


@dataclass(frozen=True)
class ModelRecord:
    """Which model scores are of. Scores of models with different digests are not comparable."""

    metric: str
    origin: str  # what the model was fitted on or is called, a phrase for people
    digest: str

    def as_dict(self) -> dict[str, str]:
        """The record for a saved result."""
        return asdict(self)


@dataclass(frozen=True)
class QualityModels:
    """The models that pictures are scored by."""

    niqe: NiqeModel
    brisque: BrisqueModel

    def records(self) -> tuple[ModelRecord, ...]:
        """Which models these are."""
        models: tuple[tuple[str, NiqeModel | BrisqueModel], ...] = (("niqe", self.niqe), ("brisque", self.brisque))
        return tuple(ModelRecord(metric, model.origin, model.digest) for metric, model in models)


def read_quality_models(settings: ImageQualitySettings) -> QualityModels:
    """Read the models that settings name."""
    niqe = read_niqe_model(find_file(settings.niqe_model, NIQE_MODEL))
    brisque = read_brisque_model(find_file(settings.brisque_model, BRISQUE_MODEL), settings.brisque_range)
    return QualityModels(niqe, brisque)


@dataclass(frozen=True, repr=False, eq=False)
class Piqe(ShortRepr):
    """What PIQE says of a picture."""

    score: float  # 0 is best, 100 worst; 100 for a picture without an active block
    # uint8 (ceil(H / 16), ceil(W / 16)), bits of ACTIVE_BLOCK, ARTIFACT_BLOCK and NOISY_BLOCK
    blocks: npt.NDArray[np.uint8]
    width: int  # width, height: of the picture, pixels
    height: int

    def has(self, kind: int) -> BoolArray:
        """Which blocks are of a kind."""
        found: BoolArray = (self.blocks & kind) != 0
        return found

    def share(self, kind: int) -> float:
        """The share of all blocks that are of a kind, 0 to 1."""
        return float(np.mean(self.has(kind)))

    def mask(self, kind: int) -> BoolArray:
        """Which pixels lie in blocks of a kind: MATLAB's ActivityMask, NoticeableArtifactsMask and NoiseMask."""
        pixels = self.has(kind).repeat(BLOCK, axis=0).repeat(BLOCK, axis=1)
        return pixels[: self.height, : self.width]

    @property
    def word(self) -> str:
        """The class of the score."""
        return piqe_class(self.score)


def piqe(pixels: RgbImage) -> Piqe:
    """Rate a picture by PIQE, as MATLAB's piqe does.

    The picture is continued by its mirror image to a multiple of 16. A block of 16 x 16 whose variance v of MSCN is
    above 0.1 is active. An active block has an artifact where six neighbours along one of its edges deviate by less
    than 0.1. It has noise where its deviation s is above 2 |s - r| / max(s, r); r is the deviation of its two middle
    columns over the one of the others. The score is 100 (1 + sum D) / (1 + N) over the N active blocks, with D = 1 - v
    for an artifact plus v for noise.

    Args:
        pixels: uint8 (H, W, 3), red first, or (H, W, 1).

    Source:
        Venkatanath et al., Blind image quality evaluation using perception based features, NCC 2015.
    """
    height, width = pixels.shape[:2]
    gray = np.pad(gray_levels(pixels), ((0, -height % BLOCK), (0, -width % BLOCK)), mode="symmetric")
    mscn, _ = normalized_luminance(gray, "repeat")
    blocks, variance = piqe_blocks(mscn)
    return Piqe(_score(blocks, variance), blocks, width, height)


def _score(blocks: npt.NDArray[np.uint8], variance: FloatArray) -> float:
    artifact, noise = (blocks & ARTIFACT_BLOCK) != 0, (blocks & NOISY_BLOCK) != 0
    distortion = (1.0 - variance[artifact]).sum() + variance[noise].sum()
    return float(100.0 * (1.0 + distortion) / (1.0 + np.count_nonzero(blocks & ACTIVE_BLOCK)))


_DEFAULTS = ImageQualitySettings()


def image_quality_series(
    frames: FrameSet,
    settings: ImageQualitySettings = _DEFAULTS,
    *,
    losses: Losses | None = None,
    progress: ProgressBar = no_progress,
) -> list[Series]:
    """Measure the quality of every picture of a set.

    `frames`: the set, ascending in time. Without stamps, the frame's number stands for the time; returns series of the
    whole picture, 0 best: "piqe" (to 100), "niqe" and "brisque"; and the shares of PIQE's blocks, 0 to 1:
    "piqe active share", "piqe artifact share" and "piqe noise share". Empty where the set has no pictures.
    """
    images = frames.images
    if images is None:
        return []
    models = read_quality_models(settings)
    losses = Losses() if losses is None else losses
    rows: list[dict[str, float]] = []
    with progress("image quality") as advance:
        for index in range(len(frames)):
            try:
                rows.append(picture_quality(images.read(index), models))
            except ImageError as error:
                losses.add("pictures that cannot be read", str(error))
                rows.append({})
            advance(index + 1, len(frames))
    time = _frame_times(frames)
    names = dict.fromkeys(name for row in rows for name in row)
    return [Series(name, "", WHOLE, time, np.array([row.get(name, np.nan) for row in rows])) for name in names]


def picture_quality(pixels: RgbImage, models: QualityModels) -> dict[str, float]:
    """Measure one picture. `pixels`: uint8 (H, W, 3), red first."""
    found = piqe(pixels)
    return {
        "piqe": found.score,
        "piqe active share": found.share(ACTIVE_BLOCK),
        "piqe artifact share": found.share(ARTIFACT_BLOCK),
        "piqe noise share": found.share(NOISY_BLOCK),
        "niqe": niqe(pixels, models.niqe),
        "brisque": brisque(pixels, models.brisque),
    }


def _frame_times(frames: FrameSet) -> FloatArray:
    """Stamps in seconds; frames' numbers where not all frames have one."""
    if frames.stamped.all():
        return stamps_to_seconds(frames.stamp)
    return np.arange(len(frames), dtype=np.float64)
