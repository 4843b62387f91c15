"""Metrics of whole pictures over time that objects take part in: Hu's moments, and matches of poles."""

from __future__ import annotations

import numpy as np

from simjudge.core.arrays import FloatArray
from simjudge.core.class_names import normalized_name
from simjudge.core.errors import Losses
from simjudge.core.frames import FrameSet
from simjudge.core.images import ImageError, RgbImage
from simjudge.core.object_tables import row_offsets
from simjudge.core.progress import ProgressBar
from simjudge.objects.hu_moments import COUNT, hu_moments
from simjudge.objects.image_quality.luminance import gray_levels
from simjudge.objects.pole_matches import PoleMatcher, on_boxes
from simjudge.objects.series import WHOLE, Series
from simjudge.objects.sightings import Sightings, label_sightings
from simjudge.objects.timed_frames import stamps_to_seconds


def binary_hu_series(frames: FrameSet, seen: Sightings) -> list[Series]:
    """Measure the shape of all that is followed, as one binary picture.

    Returns:
        "hu 1 (binary)" to "hu 7 (binary)" of the whole picture, over the frames that were looked at; NaN where nothing
        is seen.
    """
    looked_at = np.flatnonzero(seen.looked_at)
    start = row_offsets(seen.frame, len(frames))
    values = np.full((len(looked_at), COUNT), np.nan)
    for i, frame in enumerate(looked_at):
        rows = range(start[frame], start[frame + 1])
        if rows:
            width, height = (int(v) for v in frames.size[frame])
            values[i] = hu_moments(np.logical_or.reduce([seen.region(row, width, height) for row in rows]))
    return _hu_series("binary", stamps_to_seconds(frames.stamp[looked_at]), values)


def picture_series(
    frames: FrameSet, losses: Losses, progress: ProgressBar, poles: PoleMatcher | None = None, pole_class: str = ""
) -> list[Series]:
    """Measure all pictures of a set.

    Args:
        losses: counts the pictures that cannot be read; their values are NaN.
        poles: matches the pictures with a reference pole; None for no such metric.
        pole_class: class of the labelled poles; "" where they are not labelled.

    Returns:
        "hu 1 (gray)" to "hu 7 (gray)" of the gray values from 0 to 255 (MATLAB's rgb2gray); "pole matches", and "pole
        matches on labels" (NaN where a frame is not labelled). Empty where the set has no pictures.
    """
    if frames.images is None:
        return []
    hu = np.full((len(frames), COUNT), np.nan)
    matches = np.full((len(frames), 2), np.nan)
    labels = label_sightings(frames)
    start = row_offsets(labels.frame, len(frames))
    with progress(f"measuring pictures of {frames.name}") as advance:
        for frame in range(len(frames)):
            pixels = _read(frames, frame, losses)
            advance(frame + 1, len(frames))
            if pixels is None:
                continue
            hu[frame] = hu_moments(gray_levels(pixels).astype(np.uint8))
            if poles is not None:
                found = poles.match(pixels)
                rows = np.arange(start[frame], start[frame + 1])
                box = labels.box[rows[labels.class_name[rows] == normalized_name(pole_class)]]
                matches[frame] = len(found.point), on_boxes(found, box) if labels.looked_at[frame] else np.nan
    time = stamps_to_seconds(frames.stamp)
    series = _hu_series("gray", time, hu)
    if poles is not None:
        series.append(Series("pole matches", "", WHOLE, time, matches[:, 0]))
        if pole_class and labels.looked_at.any():
            series.append(Series("pole matches on labels", "", WHOLE, time, matches[:, 1]))
    return series


def _read(frames: FrameSet, frame: int, losses: Losses) -> RgbImage | None:
    assert frames.images is not None  # noqa: S101 - for mypy
    if not frames.images.has(frame):
        losses.add("frames without a picture", frames.describe_frame(frame))
        return None
    try:
        return frames.images.read(frame)
    except ImageError as error:
        losses.add("pictures that cannot be read", str(error))
        return None


def _hu_series(kind: str, time: FloatArray, values: FloatArray) -> list[Series]:
    return [Series(f"hu {i + 1} ({kind})", "", WHOLE, time, values[:, i]) for i in range(COUNT)]
