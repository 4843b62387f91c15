"""Stamps of frames, nanoseconds, and the names that frames have by them."""

from __future__ import annotations

NO_STAMP = -1
"""The stamp of a frame that has none."""
_MOST_DIGITS = 10
"""Digits of the seconds of a stamp; in nanoseconds it has 64 bits."""


def stamp_to_name(stamp: int) -> str:
    """Make the frame name that carries a stamp.

    Args:
        stamp: nanoseconds, 0 or more.

    Returns:
        "{seconds}_{nanoseconds:09d}".
    """
    return f"{stamp // 1_000_000_000}_{stamp % 1_000_000_000:09d}"


def name_to_stamp(name: str) -> int:
    """Read the stamp that a frame name carries.

    Returns:
        Nanoseconds, NO_STAMP where the name carries none.
    """
    seconds, _, nanoseconds = name.partition("_")
    if not (seconds.isdecimal() and nanoseconds.isdecimal() and len(seconds) <= _MOST_DIGITS and len(nanoseconds) == 9):
        return NO_STAMP
    stamp = int(seconds) * 1_000_000_000 + int(nanoseconds)
    return stamp if stamp < 2**63 else NO_STAMP
