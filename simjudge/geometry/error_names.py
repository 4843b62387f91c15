"""How trajectories may be aligned and cut, as settings name it; without NumPy, so that commands load quickly."""

from __future__ import annotations

NONE, ORIGIN, SE3, SIM3 = "none", "origin", "se3", "sim3"
ALIGNMENTS = (NONE, ORIGIN, SE3, SIM3)
FRAMES, METRES, SECONDS = "frames", "m", "s"
DELTA_UNITS = (FRAMES, METRES, SECONDS)
