"""Checks of single scans: beams that keep their elevation, and rows without a return that are marked as such."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np

from simjudge.sim.sensors.lidar_contract.checked_scans import INFINITE, PARTLY, CheckedScan
from simjudge.sim.sensors.lidar_contract.outcomes import CheckOutcome

BEAMS, EMPTY = "beam angles", "empty points"
UNSTEADY_DEG = 0.1
"""Degrees by which a ring's elevation may vary within a scan (robust standard deviation), or between scans."""
FAKE = 0.005
"""Share of the points that may lie at the very largest range."""
_NEAREST = 2.0
"""Metres: nearer points tell little of angles."""
_LEAST_POINTS = 10
_NORMAL = 1.4826
_SAME_RANGE = 1e-4
"""Of the largest range: points that are no farther from it lie at it."""


def check_beams(scans: Sequence[CheckedScan]) -> CheckOutcome:
    """Each ring keeps its elevation, within a scan and from scan to scan."""
    limit = f"{UNSTEADY_DEG:g} degrees"
    spreads: dict[int, list[float]] = {}
    middles: dict[int, list[float]] = {}
    for scan in scans:
        if scan.ring is None:
            return CheckOutcome.unknown(BEAMS, limit, "the points do not say their ring")
        far = scan.range >= _NEAREST
        rings, count = np.unique(scan.ring[far], return_counts=True)
        for ring in rings[count >= _LEAST_POINTS].tolist():
            elevation = scan.elevation[far & (scan.ring == ring)]
            middle = float(np.median(elevation))
            middles.setdefault(ring, []).append(middle)
            spreads.setdefault(ring, []).append(_NORMAL * float(np.median(np.abs(elevation - middle))))
    if not spreads:
        return CheckOutcome.unknown(BEAMS, limit, f"no ring has {_LEAST_POINTS} points beyond {_NEAREST:g} m")
    spread = {ring: math.degrees(float(np.median(values))) for ring, values in spreads.items()}
    drift = {ring: math.degrees(max(values) - min(values)) for ring, values in middles.items()}
    widest, farthest = max(spread, key=spread.__getitem__), max(drift, key=drift.__getitem__)
    figure = f"spread {spread[widest]:.3f}, between scans {drift[farthest]:.3f} degrees"
    note = f"ring {widest if spread[widest] > UNSTEADY_DEG else farthest}"
    return CheckOutcome.measured(
        BEAMS, figure, limit, note, good=max(spread[widest], drift[farthest]) <= UNSTEADY_DEG
    )  # fmt: skip


def check_empty(scans: Sequence[CheckedScan]) -> CheckOutcome:
    """Rows without a return are marked in one way, and none pretends to be a return at the largest range."""
    limit = f"NaN or 0 0 0; {FAKE:.1%} at the largest range"
    marks: Counter[str] = Counter()
    for scan in scans:
        marks.update(scan.empty)
    ranges = [scan.range for scan in scans if len(scan)]
    largest = max((float(each.max()) for each in ranges), default=0.0)
    fake = sum(int((each >= largest * (1 - _SAME_RANGE)).sum()) for each in ranges)
    points = sum(len(scan) for scan in scans)
    share = fake / max(points, 1)
    rows = points + sum(marks.values())
    said = [f"{count / rows:.1%} {kind}" for kind, count in marks.items()] or ["none listed"]
    if share > FAKE:
        said.append(f"{share:.1%} at {largest:.4g} m")
    bad = share > FAKE or len(marks) > 1 or INFINITE in marks or PARTLY in marks
    note = "beams without a return look like returns" if share > FAKE else "rows without a return are marked in several"
    note = note if share > FAKE or len(marks) > 1 else "these are no marks"
    note = note + " ways" if note.endswith("several") else note
    return CheckOutcome.measured(EMPTY, ", ".join(said), limit, note, good=not bad)
