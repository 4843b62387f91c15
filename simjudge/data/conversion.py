"""Converting a data set or a recording, with labels from elsewhere where a person made them in another tool."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from simjudge.core.errors import Losses, UsageError
from simjudge.core.frames import FrameSet
from simjudge.data.clouds import CloudSet
from simjudge.data.formats import all_formats
from simjudge.data.image_geometry import CropWindow, crop_images, flip_vertically
from simjudge.data.pairing import attach_labels
from simjudge.data.sets import (
    Topics,
    as_frames,
    find_format,
    read_clouds,
    read_set,
    refuse_input_as_output,
    write_clouds,
    write_where_asked,
)


def leave_out_small(frames: FrameSet, min_size: float) -> FrameSet:
    """Leave out the labels of objects under `min_size` pixels, which people or a simulator may not label."""
    if not 0 <= min_size < np.inf:
        raise UsageError(f"--min-size {min_size}: 0 px or more is needed")
    box = frames.objects.box
    large = (box[:, 2:] - box[:, :2]).min(axis=1, initial=np.inf) >= min_size
    return replace(frames, objects=frames.objects.take(np.flatnonzero(large)))


def convert(  # noqa: PLR0913 - one argument an option
    source: FrameSet | CloudSet | str | Path,
    out: str | Path,
    *,
    to: str | None = None,
    labels: FrameSet | str | Path | None = None,
    label_tolerance: float = 0.0,
    topics: Topics | None = None,
    upside_down: bool = False,
    crop: str | None = None,
    min_size: float = 0.0,
    allow_outside: bool = False,
) -> FrameSet | CloudSet:
    """Convert a data set or a recording into another format; nothing is lost on the way.

    Point clouds are converted, with all that belongs to them, where `out` is of a format that holds clouds (a
    recording, "pcd", "kitti") and the source is no recording, or is converted into a folder.

    Args:
        source: a data set, a set of clouds, or the path of a data set or a recording.
        out: what to write: x.mcap, x.db3, x.json, or a folder.
        to: the format of a folder, such as yolo or coco.
        labels: a labelled set whose objects replace those of the source, matched by frame name, else by stamp.
        label_tolerance: how far the stamps of an image and of its labels may lie apart, in seconds.
        topics: in a recording, the topics to read where several would do.
        upside_down: turn images and boxes by 180 degrees, as recordings of Chrono::ROS need it.
        crop: a rectangle WIDTHxHEIGHT+X+Y in pixels that is cut out of every image, with its labels.
        min_size: labels whose box is narrower or lower are left out, pixels.
        allow_outside: take pictures that lie outside of the folder of their data set.

    Returns:
        The set that was written. Its `losses` count what was left out while reading and writing.

    Raises:
        UsageError: `out` is an input, or does not say a format, or an image is smaller than `crop`.
        SimjudgeError: an input cannot be read, no label matches, or `out` cannot be written.
    """
    refuse_input_as_output(out, source)
    if isinstance(source, CloudSet) or _takes_clouds(source, Path(out), to, topics):
        if labels is not None or upside_down or crop is not None or min_size:
            raise UsageError(
                "--labels, --upside-down, --crop and --min-size are for images; convert the clouds without them"
            )
        return _convert_clouds(source, out, to, topics)
    tolerance_ns = round(label_tolerance * 1e9)
    frames = (
        source if isinstance(source, FrameSet) else read_set(source, tolerance_ns, topics, allow_outside=allow_outside)
    )
    if upside_down:
        frames = flip_vertically(frames)
    if labels is not None:
        frames = attach_labels(as_frames(labels, allow_outside=allow_outside), frames, tolerance_ns)
    if crop is not None:
        frames = crop_images(frames, CropWindow.parse(crop))
    if min_size:
        frames = leave_out_small(frames, min_size)
    return write_where_asked(frames, out, to)


def _takes_clouds(source: FrameSet | str | Path, out: Path, to: str | None, topics: Topics | None) -> bool:
    if topics is not None and topics.cloud_topic is not None:
        return True
    if isinstance(source, FrameSet):
        return False
    writers = [form for form in all_formats() if form.write_clouds is not None]
    if any(to == writer.name and writer.write is None for writer in writers):
        return True
    found = find_format(source)
    if found is None or not found.holds_clouds(source):
        return False
    # A recording has room for images too: into another one go its frames, unless a topic of clouds is named.
    return found.read is None or any(
        found is not writer and (to == writer.name or out.suffix in writer.suffixes) for writer in writers
    )


def _convert_clouds(
    source: FrameSet | CloudSet | str | Path, out: str | Path, to: str | None, topics: Topics | None
) -> CloudSet:
    if isinstance(source, FrameSet):
        raise UsageError("a topic of clouds is for recordings; this is a set of images")
    clouds = source if isinstance(source, CloudSet) else read_clouds(source, topics)
    losses = Losses()
    losses.extend(clouds.losses)
    left_out = write_clouds(clouds, out, to)
    losses.extend(left_out)
    # What could not be written is no part of the set that was.
    return replace(read_clouds(out) if left_out else clouds, losses=losses)
