"""What a row of the second judge's table says: whether a metric of an object differs between real and virtual."""

from __future__ import annotations

DIFFERS = "differs"
"""The difference is significant among all rows, and greater than the floor."""
WITHIN_FLOOR = "within the floor"
"""The difference is significant, but real differs from real by as much."""
NOT_SHOWN = "no difference shown"
"""The interval holds 0, or chance gives such a row among so many."""
TOO_FEW = "too few frames"
"""Fewer frames than an interval needs have a value in both."""
SERIES_VERDICTS = (DIFFERS, WITHIN_FLOOR, NOT_SHOWN, TOO_FEW)
"""All of them, the clearest first."""
AGAIN = "another real recording"
"""The floor is the difference of a second real recording."""
HALVES = "halves of the real recording"
"""The floor is the difference of every other frame from its neighbours."""
