"""Video files: pictures without labels, with the times at which they are shown. PyAV reads them (the extra `video`)."""

from __future__ import annotations

from pathlib import Path

from simjudge.core.frames import FrameSet
from simjudge.data.format_support.image_files import Format

_SUFFIXES = (".mp4", ".m4v", ".mov", ".mkv", ".webm", ".avi", ".mpg", ".mpeg", ".ts", ".ogv")


def read_video(path: Path) -> FrameSet:
    """Read a video as a set in which nothing is labelled; frames are named as CVAT names them, frame_000000."""
    from simjudge.data.video import VideoFileImages, survey_video  # noqa: PLC0415 - loads PyAV

    video = survey_video(path)
    count = len(video.pts)
    return FrameSet.build(
        path.name,
        [video.size] * count,
        frame_name=[f"frame_{number:06d}" for number in range(count)],
        stamp=video.stamp,
        images=VideoFileImages(path, video.pts),
    )


FORMATS = (
    Format(
        "video",
        "Video",
        "a video (.mp4)",
        lambda source: not source.is_folder and source.path.suffix.lower() in _SUFFIXES,
        65,
        read=lambda source, _options: read_video(source.path),
    ),
)
