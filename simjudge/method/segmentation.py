"""Samples for semantic segmentation: patches on a grid, performance by pixels (method, section 2)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from simjudge.core.arrays import FloatArray, IntArray, ShortRepr
from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.method.bootstrap import UnitNumbers
from simjudge.method.patches import Contexts, label_contexts
from simjudge.method.pool import Samples

LabelImage = npt.NDArray[np.integer]
METRICS = ("accuracy", "mean_iou")


@dataclass(frozen=True, repr=False)
class GridSamples(ShortRepr):
    """Samples, and where each patch was cut: int64 (N, 2), column and row of its upper left pixel."""

    samples: Samples
    origin: IntArray


def grid_samples(
    frames: Iterable[tuple[LabelImage, LabelImage]],
    patch: tuple[int, int],
    stride: tuple[int, int] | None = None,
    *,
    metric: str = "accuracy",
    ignore: int | None = None,
) -> GridSamples:
    """Cut label pictures into patches. All samples belong to one group: compare them with `compare_class`.

    Args:
        frames: for each frame the labels and the predictions, (H, W) class ids; read one at a time.
        patch: height and width, pixels. Patches that would reach over the edge are not cut.
        stride: rows and columns from patch to patch; the patch size by default.
        metric: "accuracy", the share of pixels predicted right; or "mean_iou", the mean over the classes that occur in
            the patch's labels or predictions of their IoU.
        ignore: class id of unlabelled pixels: they count nowhere, and a patch of nothing else is no sample.
    """
    if metric not in METRICS:
        raise UsageError(f"metric {metric!r}: choose one of {', '.join(METRICS)}")
    step = patch if stride is None else stride
    if min(*patch, *step) < 1:
        raise UsageError(f"patch {patch} and stride {step}: must be 1 pixel or more")
    parts: list[Contexts] = []
    performance: list[FloatArray] = []
    frame: list[IntArray] = []
    origin: list[IntArray] = []
    count = 0
    for number, (labels, predictions) in enumerate(frames):
        count = number + 1
        if labels.shape != predictions.shape or labels.ndim != 2:
            raise SimjudgeError(f"frame {number}: labels {labels.shape} and predictions {predictions.shape} differ")
        corners = _corners(labels.shape, patch, step)
        cut = [
            np.stack([picture[r : r + patch[0], c : c + patch[1]] for c, r in corners])
            for picture in (labels, predictions)
            if len(corners)
        ]
        if not cut:
            continue
        valid = np.ones(cut[0].shape, np.bool_) if ignore is None else cut[0] != ignore
        kept = valid.any(axis=(1, 2))
        truth, guess, valid = cut[0][kept].astype(np.int64), cut[1][kept].astype(np.int64), valid[kept]
        if not len(truth):
            continue
        measure = _accuracy if metric == "accuracy" else _mean_iou
        parts.append(label_contexts(truth, valid))
        performance.append(np.array([measure(*pixels) for pixels in zip(truth, guess, valid, strict=True)]))
        frame.append(np.full(len(truth), number, np.int64))
        origin.append(corners[kept])
    if not parts:
        raise SimjudgeError(f"no patch of {patch[0]}x{patch[1]} labelled pixels fits into any of {count} frames")
    samples = Samples(Contexts.concatenate(parts), np.concatenate(performance), UnitNumbers(np.concatenate(frame)))
    return GridSamples(samples, np.concatenate(origin))


def _corners(shape: tuple[int, ...], patch: tuple[int, int], step: tuple[int, int]) -> IntArray:
    rows = np.arange(0, shape[0] - patch[0] + 1, step[0])
    columns = np.arange(0, shape[1] - patch[1] + 1, step[1])
    return np.array([(c, r) for r in rows for c in columns], np.int64).reshape(-1, 2)


def _accuracy(labels: IntArray, predictions: IntArray, valid: npt.NDArray[np.bool_]) -> float:
    return float(np.mean(labels[valid] == predictions[valid]))


def _mean_iou(labels: IntArray, predictions: IntArray, valid: npt.NDArray[np.bool_]) -> float:
    truth, guess = labels[valid], predictions[valid]
    values = []
    for k in np.union1d(truth, guess):
        in_truth, in_guess = truth == k, guess == k
        values.append(np.sum(in_truth & in_guess) / np.sum(in_truth | in_guess))
    return float(np.mean(values))
