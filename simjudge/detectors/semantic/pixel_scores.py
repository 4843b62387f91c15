"""How well pixels are told apart: confusion of classes, pixel accuracy, mean class IoU."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from simjudge.core.arrays import IntArray
from simjudge.core.errors import Losses
from simjudge.core.frames import FrameSet
from simjudge.core.label_pictures import UNLABELLED
from simjudge.data.semantic_classes import common_classes, label_pairs


def pixel_confusion(labels: npt.NDArray[Any], predictions: npt.NDArray[Any], classes: int) -> IntArray:
    """Count pixels by labelled and predicted class.

    Args:
        labels: class numbers, of any shape; `UNLABELLED` counts nowhere.
        predictions: class numbers, likewise; one beyond the classes counts as wrong, in the last column.

    Returns:
        int64 (classes, classes + 1), rows labelled, columns predicted, the last one no class.
    """
    valid = labels != UNLABELLED
    truth = labels[valid].astype(np.int64)
    guess = np.minimum(predictions[valid].astype(np.int64), classes)
    count = np.bincount(truth * (classes + 1) + guess, minlength=classes * (classes + 1))
    return count.reshape(classes, classes + 1)


def pixel_accuracy(confusion: IntArray) -> float:
    """Share of labelled pixels predicted right; NaN where none is labelled.

    Args:
        confusion: of `pixel_confusion`.
    """
    total = confusion.sum()
    return float(np.trace(confusion) / total) if total else float("nan")


def mean_iou(confusion: IntArray) -> tuple[float, list[float | None]]:
    """Mean class IoU, and the IoU of each class.

    Args:
        confusion: of `pixel_confusion`.

    Returns:
        The mean over the classes that are labelled or predicted anywhere (NaN where none is), and for each class its
        pixels labelled and predicted over those labelled or predicted; None for one that occurs in neither.
    Source: Everingham et al., "The Pascal Visual Object Classes Challenge", IJCV 2015, section 4.2.
    """
    classes = len(confusion)
    both = np.diagonal(confusion)[:classes]
    either = confusion.sum(1) + confusion[:, :classes].sum(0) - both
    iou = [float(b / e) if e else None for b, e in zip(both, either, strict=True)]
    known = [value for value in iou if value is not None]
    return (float(np.mean(known)) if known else float("nan")), iou


@dataclass(frozen=True)
class ClassScore:
    """A class of pixels: its name, its share of the labelled pixels, and its IoU, None where it occurs nowhere."""

    name: str
    share: float
    iou: float | None


@dataclass(frozen=True)
class PixelScores:
    """How well the pixels of a set are told apart.

    Attributes:
        accuracy: share of labelled pixels predicted right.
        mean_iou: over the classes that are labelled or predicted anywhere.
    """

    accuracy: float
    mean_iou: float
    classes: tuple[ClassScore, ...]


def score_pixels(frames: FrameSet, losses: Losses) -> PixelScores:
    """Score the predicted label pictures of a set."""
    classes = common_classes([(frames.name, frames.class_names)])
    count = max(classes.names) + 1
    total = np.zeros((count, count + 1), np.int64)
    for _, truth, guess in label_pairs(frames, classes, None, losses):
        total += pixel_confusion(truth, guess, count)
    mean, iou = mean_iou(total)
    share = total.sum(1) / max(int(total.sum()), 1)
    rows = [ClassScore(classes.names[k], float(share[k]), iou[k]) for k in range(count) if iou[k] is not None]
    return PixelScores(pixel_accuracy(total), mean, tuple(rows))
