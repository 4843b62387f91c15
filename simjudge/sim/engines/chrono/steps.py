"""Steps of physics: how long one of ours is, and how many there are in a time."""

from __future__ import annotations

import math

from simjudge.core.errors import UsageError

STEP = 1e-3
"""Seconds of one step of ours; a car may take several of its own in it."""


def whole_steps(seconds: float) -> int:
    """How many steps of physics that is."""
    steps = round(seconds / STEP) if math.isfinite(seconds) else 0
    if steps < 1 or abs(steps * STEP - seconds) > 1e-9:
        raise UsageError(f"{seconds} s: a positive multiple of a physics step, {STEP} s, is needed")
    return steps
