"""Quality of whole pictures over time, as series."""

from __future__ import annotations

import numpy as np

from simjudge.core.errors import Losses
from simjudge.core.frames import FloatArray, FrameSet
from simjudge.core.images import ImageError, RgbImage
from simjudge.core.progress import ProgressBar, no_progress
from simjudge.objects.image_quality.compiled_loops import ACTIVE_BLOCK, ARTIFACT_BLOCK, NOISY_BLOCK
from simjudge.objects.image_quality.piqe import piqe
from simjudge.objects.series import WHOLE, Series

_SECOND = 1e9


def image_quality_series(
    frames: FrameSet, *, losses: Losses | None = None, progress: ProgressBar = no_progress
) -> list[Series]:
    """Measure the quality of every picture of a set.

    Args:
        frames: the set, ascending in time. Without stamps, the frame's number stands for the time.
        losses: counts the pictures that cannot be read; their values are NaN.
        progress: opens the task "image quality".

    Returns:
        Series of the whole picture: "piqe" (0 best to 100 worst), "piqe active share", "piqe artifact share" and
        "piqe noise share" (of all blocks, 0 to 1). Empty where the set has no pictures.
    """
    if frames.images is None:
        return []
    losses = Losses() if losses is None else losses
    rows: list[dict[str, float]] = []
    with progress("image quality") as advance:
        for index in range(len(frames)):
            rows.append(_frame_metrics(frames, index, losses))
            advance(index + 1, len(frames))
    time = _frame_times(frames)
    names = dict.fromkeys(name for row in rows for name in row)
    return [Series(name, "", WHOLE, time, np.array([row.get(name, np.nan) for row in rows])) for name in names]


def _frame_metrics(frames: FrameSet, index: int, losses: Losses) -> dict[str, float]:
    assert frames.images is not None  # noqa: S101 - for mypy
    try:
        pixels = frames.images.read(index)
    except ImageError as error:
        losses.add("pictures that cannot be read", str(error))
        return {}
    return picture_metrics(pixels)


def picture_metrics(pixels: RgbImage) -> dict[str, float]:
    """Measure one picture.

    Args:
        pixels: uint8 (H, W, 3), red first.

    Returns:
        Values by the name of the metric, as in `image_quality_series`.
    """
    found = piqe(pixels)
    return {
        "piqe": found.score,
        "piqe active share": found.share(ACTIVE_BLOCK),
        "piqe artifact share": found.share(ARTIFACT_BLOCK),
        "piqe noise share": found.share(NOISY_BLOCK),
    }


def _frame_times(frames: FrameSet) -> FloatArray:
    """Stamps in seconds; frames' numbers where not all frames have one."""
    if frames.stamped.all():
        return np.asarray(frames.stamp / _SECOND, np.float64)
    return np.arange(len(frames), dtype=np.float64)
