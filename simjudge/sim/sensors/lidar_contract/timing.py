"""Checks of time and order: rate, whole turns, times within a turn, a head that turns evenly, returns in order."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from simjudge.core.arrays import FloatArray
from simjudge.core.names import NO_STAMP
from simjudge.data.lidar_points import late_points
from simjudge.sim.sensors.lidar_contract.checked_scans import CheckedScan
from simjudge.sim.sensors.lidar_contract.outcomes import CheckOutcome

RATE, TURNS, TIMES, HEAD, ORDER = "rate", "whole turns", "times in a turn", "head turns evenly", "order of returns"
UNEVEN = 0.10
"""Share of the usual interval by which one may differ."""
COVERED = 0.90
"""Share of the usual azimuths that a scan has at least."""
TURN_SLACK = 1.05
"""Turns that the times of a scan may span."""
MOST_TURNS = 50
"""Turns from one scan to the next at most, where a recording has thinned them out."""
OFF_HEAD_DEG = 2.0
"""Degrees within which 95 % of a scan's azimuths lie around a head that turns evenly."""
LATE = 0.001
"""Share of points that may come too late in their ring."""
BACKWARDS = 0.02
"""Share of steps of azimuth that may go backwards, where there are no times."""
_SHUFFLED = 0.45
"""Share of steps backwards from which a file without rings has no order at all."""
_LEAST_SCANS = 3
_LEAST_POINTS = 100
_LEAST_STEP = math.radians(0.005)
_NO_TIME_FIELD = "no time"


def check_rate(scans: Sequence[CheckedScan]) -> CheckOutcome:
    """Stamps rise evenly."""
    limit = f"intervals within {UNEVEN:.0%}"
    interval = _intervals(scans)
    if interval is None:
        return CheckOutcome.unknown(RATE, limit, "the scans have no stamps" if len(scans) > 2 else "fewer than 3 scans")
    usual = float(np.median(interval))
    if (interval <= 0).any():
        at = int(np.argmax(interval <= 0)) + 1
        back = int((interval <= 0).sum())
        return CheckOutcome.measured(RATE, f"{back} stamps that do not rise", limit, f"first at {scans[at].where}",
                                     good=False)  # fmt: skip
    worst = int(np.argmax(np.abs(interval - usual)))
    off = abs(float(interval[worst]) - usual) / usual
    figure = f"{1 / usual:.4g} Hz, intervals within {off:.1%}"
    note = f"{interval[worst]:.4g} s before {scans[worst + 1].where}; usually {usual:.4g} s"
    return CheckOutcome.measured(RATE, figure, limit, note, good=off <= UNEVEN)


def check_turns(scans: Sequence[CheckedScan]) -> CheckOutcome:
    """No scan is a part of a turn: each sees nearly all the azimuths that the others see."""
    limit = f"{COVERED:.0%} of the usual azimuths"
    if len(scans) < _LEAST_SCANS:
        return CheckOutcome.unknown(TURNS, limit, "fewer than 3 scans")
    covered = np.array([len(np.unique(np.floor(np.degrees(scan.azimuth)))) for scan in scans])
    usual = max(float(np.median(covered)), 1.0)
    worst = int(np.argmin(covered))
    figure = f"{covered[worst]} of usually {usual:.0f} degrees"
    return CheckOutcome.measured(
        TURNS, figure, limit, f"least in {scans[worst].where}", good=covered[worst] >= COVERED * usual
    )


def check_times(scans: Sequence[CheckedScan]) -> tuple[CheckOutcome, CheckOutcome]:
    """Points have times within a turn, and azimuths as a head has them that turns evenly."""
    times, head = f"at most {TURN_SLACK:g} turns", f"95 % within {OFF_HEAD_DEG:g} degrees"
    timed = [scan for scan in scans if scan.time is not None and len(scan) >= _LEAST_POINTS]
    without = next((scan for scan in scans if scan.time is None and len(scan)), None)
    if without is not None and (not timed or not without.time_trouble.startswith(_NO_TIME_FIELD)):
        trouble = without.time_trouble
        if trouble.startswith(_NO_TIME_FIELD):
            return CheckOutcome.unknown(TIMES, times, trouble), CheckOutcome.unknown(HEAD, head, trouble)
        return (
            CheckOutcome.measured(TIMES, trouble, times, f"in {without.where}", good=False),
            CheckOutcome.unknown(HEAD, head, "the times cannot be used"),
        )
    if not timed:
        why = f"no scan of {_LEAST_POINTS} points"
        return CheckOutcome.unknown(TIMES, times, why), CheckOutcome.unknown(HEAD, head, why)
    fits = [_fit_head(scan) for scan in timed]
    turn = float(np.median([fit.turn for fit in fits]))
    interval = _intervals(scans)
    if interval is not None and (interval > 0).all():
        usual = float(np.median(interval))
        if turn * MOST_TURNS < usual:
            figure = f"a turn takes {turn * 1e3:.4g} ms by the times, a scan {usual * 1e3:.4g} ms by the stamps"
            note = f"is the unit of the times another? First in {timed[0].where}"
            return (
                CheckOutcome.measured(TIMES, figure, times, note, good=False),
                CheckOutcome.unknown(HEAD, head, "the times cannot be used"),
            )
        turn = min(turn, usual)
    unit = "".join(f", {note}" for note in sorted({scan.time_note for scan in timed} - {""}))
    span = np.array([float(scan.time.max()) for scan in timed if scan.time is not None])
    longest, worst = int(np.argmax(span)), int(np.argmax([fit.off_deg for fit in fits]))
    return (
        CheckOutcome.measured(
            TIMES, f"{span[longest] * 1e3:.4g} ms, {span[longest] / turn:.3f} turns{unit}", times,
            f"longest in {timed[longest].where}", good=span[longest] <= TURN_SLACK * turn,
        ),
        CheckOutcome.measured(
            HEAD, f"95 % within {fits[worst].off_deg:.2f} degrees", head, f"worst in {timed[worst].where}",
            good=fits[worst].off_deg <= OFF_HEAD_DEG,
        ),
    )  # fmt: skip


def check_order(scans: Sequence[CheckedScan]) -> CheckOutcome:
    """Returns of a ring are in the order in which the device fired: by time, or where there is none by azimuth."""
    by_time, by_azimuth = f"at most {LATE:.1%} late", f"at most {BACKWARDS:.0%} backwards"
    full = [scan for scan in scans if len(scan) >= _LEAST_POINTS]
    if not full:
        return CheckOutcome.unknown(ORDER, by_time, f"no scan of {_LEAST_POINTS} points")
    if all(scan.time is not None for scan in full):
        rings = [np.zeros(len(scan), np.int64) if scan.ring is None else scan.ring for scan in full]
        late = [float(late_points(ring, scan.time).mean()) for ring, scan in zip(rings, full, strict=True)
                if scan.time is not None]  # fmt: skip
        worst = int(np.argmax(late))
        return CheckOutcome.measured(ORDER, f"{late[worst]:.2%} late", by_time, f"worst in {full[worst].where}",
                                     good=late[worst] <= LATE)  # fmt: skip
    against = [_backwards(scan) for scan in full]
    worst = int(np.argmax(against))
    if full[worst].ring is None and BACKWARDS < against[worst] < _SHUFFLED:
        return CheckOutcome.unknown(ORDER, by_azimuth, "neither times nor rings, and the azimuths do not tell")
    return CheckOutcome.measured(
        ORDER, f"{against[worst]:.2%} of steps backwards", by_azimuth, f"worst in {full[worst].where}",
        good=against[worst] <= BACKWARDS,
    )  # fmt: skip


class _HeadFit(NamedTuple):
    """Seconds a turn; and degrees within which 95 % of the azimuths lie around an even head."""

    turn: float
    off_deg: float


def _fit_head(scan: CheckedScan) -> _HeadFit:
    """A line through azimuth over time, with an offset of each ring."""
    assert scan.time is not None  # noqa: S101 - the caller chose such
    order = np.argsort(scan.time, kind="stable")
    time, azimuth = scan.time[order], np.unwrap(scan.azimuth[order])
    ring = np.zeros(len(scan), np.int64) if scan.ring is None else np.unique(scan.ring, return_inverse=True)[1][order]
    count = np.bincount(ring)
    # Least squares with an offset of each ring: the line through what is left of both without the rings' means.
    t, a = (values - (np.bincount(ring, values) / count)[ring] for values in (time, azimuth))
    spread = float(t @ t)
    speed = float(t @ a) / spread if spread > 0 else 0.0
    off = np.abs(a - speed * t)
    return _HeadFit(2 * math.pi / abs(speed) if speed else math.inf, math.degrees(float(np.percentile(off, 95))))


def _backwards(scan: CheckedScan) -> float:
    """Share of the steps of azimuth within a ring, or without rings in the file, that go the less usual way."""
    order = np.arange(len(scan)) if scan.ring is None else np.argsort(scan.ring, kind="stable")
    step = np.diff(scan.azimuth[order])
    step = (step + math.pi) % (2 * math.pi) - math.pi
    same = np.ones(len(step), np.bool_) if scan.ring is None else np.diff(scan.ring[order]) == 0
    # Over a quarter of a turn is a gap, or the next ring.
    step = step[same & (np.abs(step) > _LEAST_STEP) & (np.abs(step) < math.pi / 2)]
    if not len(step):
        return 0.0
    forward = float((step > 0).mean())
    return min(forward, 1 - forward)


def _intervals(scans: Sequence[CheckedScan]) -> FloatArray | None:
    """Seconds between stamps; None where fewer than three scans have them."""
    stamps = np.array([scan.stamp for scan in scans], np.int64)
    if len(scans) < _LEAST_SCANS or (stamps == NO_STAMP).any():
        return None
    return np.asarray(np.diff(stamps) * 1e-9, np.float64)
