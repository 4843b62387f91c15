"""A recording to damage, and the check that what is read of it is what was recorded."""

from __future__ import annotations

from pathlib import Path

from bag_samples import contents, sample

from simjudge.core.errors import SimjudgeError
from simjudge.core.frames import FrameSet
from simjudge.data.rosbag2 import (
    read_recording,
)

FRAMES = sample(24, (200, 150))
WHOLE = contents(FRAMES)


def check(path: Path) -> FrameSet | None:
    """Read what can be read, and compare each frame that comes back; None where nothing can be told."""
    try:
        back = read_recording(path)
    except SimjudgeError as error:
        said = str(error)
        back = None
    if back is None:
        assert "\n" not in said
        assert path.name in said
        return None
    for name, content in contents(back).items():
        assert content == WHOLE[name], name
    if len(back) < len(WHOLE):
        assert back.losses, "frames are gone and nobody says so"
    return back
