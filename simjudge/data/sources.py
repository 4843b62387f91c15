"""Arguments of the Python functions: a data set that is read already or its path, and where to write."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from simjudge.core.errors import Losses, UsageError
from simjudge.core.frames import FrameSet
from simjudge.data.clouds.cloud_set import CloudSet
from simjudge.data.sets import image_topics, read_set, write_set


def as_frames(
    source: FrameSet | str | Path, *, image_topic: str | None = None, allow_outside: bool = False
) -> FrameSet:
    """Read a data set, unless it is read already.

    Args:
        source: a data set, or the path of a data set or a recording.
        image_topic: in a recording of several cameras, a topic or the camera's name.
    """
    if isinstance(source, FrameSet):
        return source
    return read_set(source, topics=image_topics(image_topic), allow_outside=allow_outside)


def refuse_input_as_output(out: str | Path | None, *sources: FrameSet | CloudSet | str | Path) -> None:
    """Check that the output is none of the inputs.

    Args:
        out: the path to write; None where nothing is written.
        sources: the inputs; a data set that is read already has no path.
    """
    if out is None or not Path(out).exists():
        return
    written = Path(out).resolve()
    if any(Path(each).resolve() == written for each in sources if not isinstance(each, FrameSet | CloudSet)):
        raise UsageError(f"{out}: is the input; choose another name")


def write_where_asked(frames: FrameSet, out: str | Path | None, to: str | None) -> FrameSet:
    """Write a data set, unless no path is given.

    Args:
        out: the path to write; None writes nothing.

    Returns:
        The data set; its `losses` count what could not be written, too.
    """
    if out is None:
        return frames
    losses = Losses()
    losses.extend(frames.losses)
    losses.extend(write_set(frames, out, to))
    return replace(frames, losses=losses)
