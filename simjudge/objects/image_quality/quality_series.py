"""Quality of whole pictures over time, as series."""

from __future__ import annotations

import numpy as np

from simjudge.core.arrays import FloatArray
from simjudge.core.errors import Losses
from simjudge.core.frames import FrameSet
from simjudge.core.images import ImageError, RgbImage
from simjudge.core.progress import ProgressBar, no_progress
from simjudge.objects.image_quality.brisque import brisque
from simjudge.objects.image_quality.compiled_loops import ACTIVE_BLOCK, ARTIFACT_BLOCK, NOISY_BLOCK
from simjudge.objects.image_quality.niqe import niqe
from simjudge.objects.image_quality.piqe import piqe
from simjudge.objects.image_quality.quality_models import QualityModels, read_quality_models
from simjudge.objects.image_quality.quality_settings import ImageQualitySettings
from simjudge.objects.series import WHOLE, Series
from simjudge.objects.timed_frames import stamps_to_seconds

_DEFAULTS = ImageQualitySettings()


def image_quality_series(
    frames: FrameSet,
    settings: ImageQualitySettings = _DEFAULTS,
    *,
    losses: Losses | None = None,
    progress: ProgressBar = no_progress,
) -> list[Series]:
    """Measure the quality of every picture of a set.

    Args:
        frames: the set, ascending in time. Without stamps, the frame's number stands for the time.
        losses: counts the pictures that cannot be read; their values are NaN. So are those of pictures that are too
            small or too flat for a metric.

    Returns:
        Series of the whole picture, 0 best: "piqe" (to 100), "niqe", and "brisque" where settings name a model; and the
        shares of PIQE's blocks, 0 to 1: "piqe active share", "piqe artifact share" and "piqe noise share". Empty where
        the set has no pictures.
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
    """Measure one picture.

    Args:
        pixels: uint8 (H, W, 3), red first.

    Returns:
        Values by the name of the metric, as in `image_quality_series`; NaN where a metric cannot score the picture.
    """
    found = piqe(pixels)
    values = {
        "piqe": found.score,
        "piqe active share": found.share(ACTIVE_BLOCK),
        "piqe artifact share": found.share(ARTIFACT_BLOCK),
        "piqe noise share": found.share(NOISY_BLOCK),
        "niqe": niqe(pixels, models.niqe),
    }
    return values if models.brisque is None else {**values, "brisque": brisque(pixels, models.brisque)}


def _frame_times(frames: FrameSet) -> FloatArray:
    """Stamps in seconds; frames' numbers where not all frames have one."""
    if frames.stamped.all():
        return stamps_to_seconds(frames.stamp)
    return np.arange(len(frames), dtype=np.float64)
