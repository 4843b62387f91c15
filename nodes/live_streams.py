"""What nodes that match live streams take from their parameters."""

from __future__ import annotations

from simjudge.core.errors import SimjudgeError
from simjudge.judging.live.stream_matching import MatchingLimits

from .parameters import ParameterValues


def matching_limits(settings: ParameterValues) -> MatchingLimits:
    """How the streams are to be matched."""
    return MatchingLimits(
        tolerance_ns=round(settings["tolerance"] * 1e9),
        wait=settings["wait"],
        max_waiting=settings["wait_count"],
        jump_ns=round(settings["jump_back"] * 1e9),
    )


def image_size(settings: ParameterValues) -> tuple[int, int]:
    """The size of the images, width and height, where the messages do not say it; (0, 0) where it is not given."""
    text = settings["image_size"]
    if not text:
        return 0, 0
    width, _, height = text.lower().partition("x")
    if not (width.isdecimal() and height.isdecimal() and min(int(width), int(height)) > 0):
        raise SimjudgeError(f"parameter image_size {text!r}: write width x height in pixels, as in 1280x720")
    return int(width), int(height)
