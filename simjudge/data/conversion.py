"""Converting a data set or a recording, with labels from elsewhere where a person made them in another tool."""

from __future__ import annotations

from pathlib import Path

from simjudge.core.frames import FrameSet
from simjudge.data.attach import attach_labels
from simjudge.data.image_orientation import flip_vertically
from simjudge.data.sets import Topics, read_set
from simjudge.data.sources import as_frames, refuse_input_as_output, write_where_asked


def convert(
    source: FrameSet | str | Path,
    out: str | Path,
    *,
    to: str | None = None,
    labels: FrameSet | str | Path | None = None,
    label_tolerance: float = 0.0,
    topics: Topics | None = None,
    upside_down: bool = False,
    allow_outside: bool = False,
) -> FrameSet:
    """Convert a data set or a recording into another format; nothing is lost on the way.

    Args:
        source: a data set, or the path of a data set or a recording.
        out: what to write: x.mcap, x.db3, x.json, or a folder.
        to: the format of a folder, such as yolo or coco.
        labels: a labelled set whose objects replace those of the source, matched by frame name, else by stamp.
        label_tolerance: how far the stamps of an image and of its labels may lie apart, in seconds.
        topics: in a recording, the topics to read where several would do.
        upside_down: turn images and boxes by 180 degrees, as recordings of Chrono::ROS need it.
        allow_outside: take pictures that lie outside of the folder of their data set.

    Returns:
        The set that was written. Its `losses` count what was left out while reading and writing.

    Raises:
        UsageError: `out` is an input, or does not say a format.
        SimjudgeError: an input cannot be read, no label matches, or `out` cannot be written.
    """
    refuse_input_as_output(out, source)
    tolerance_ns = round(label_tolerance * 1e9)
    frames = source if isinstance(source, FrameSet) else read_set(
        source, tolerance_ns, topics, allow_outside=allow_outside
    )
    if upside_down:
        frames = flip_vertically(frames)
    if labels is not None:
        frames = attach_labels(as_frames(labels, allow_outside=allow_outside), frames, tolerance_ns)
    return write_where_asked(frames, out, to)
