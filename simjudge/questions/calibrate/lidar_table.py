"""What `simjudge calibrate lidar` prints of a lidar."""

from __future__ import annotations

import numpy as np

from simjudge.core.arrays import FloatArray
from simjudge.core.display import SummaryTable
from simjudge.sim.sensors.lidar.lidar_calibration import CalibratedLidar

GOAL = 0.03
"""Degrees: how close a simulated beam should be to the real one."""
_COLUMNS = (
    "ring", "points", "elevation, deg", "azimuth, deg", "delay, us", "angle: mean", "95 %, deg", "time: mean",
    "95 %, us",
)  # fmt: skip


def summary_line(found: CalibratedLidar) -> str:
    """One line: points, turns, columns, speed."""
    made = found.estimate
    apart = f"{np.degrees(made.step):.5f} degrees and {made.period * 1e6:.4f} microseconds"
    around = "a full turn" if found.lidar.full_turn or made.columns * made.step > np.radians(350) else (
        f"{np.degrees(made.field_of_view):.2f} degrees"
    )  # fmt: skip
    points = f"{len(made.ring)} points in {found.turns} turn{'s' * (found.turns > 1)}"
    way = "clockwise" if made.clockwise else "counter-clockwise"
    return (
        f"{found.name}: {points}; {len(made.rings)} rings; {made.columns} columns, {apart} apart, over {around}; "
        f"{made.rate:.6g} turns a second, {way}"
    )


def ring_table(found: CalibratedLidar) -> SummaryTable:
    """One line a ring, the lowest first, and one for all: what was found, and how far simulated beams are from it."""
    made, distance = found.estimate, found.distance
    rows = []
    for number, ring in enumerate(made.rings):
        of_ring = distance.ring == number
        rows.append([
            str(number), str(ring.points),
            f"{np.degrees(ring.elevation):.4f} ± {np.degrees(ring.interval(ring.elevation_spread)):.4f}",
            f"{np.degrees(ring.azimuth):.4f} ± {np.degrees(ring.interval(ring.azimuth_spread)):.4f}",
            f"{ring.delay * 1e6:.3f}" if made.timed else "-",
            *_mean_and_95(np.degrees(distance.angle[of_ring]), 4),
            *_mean_and_95(distance.time[of_ring] * 1e6, 3),
        ])  # fmt: skip
    rows.append([
        "all", str(len(made.ring)), "", "", "", *_mean_and_95(np.degrees(distance.angle), 4),
        *_mean_and_95(distance.time * 1e6, 3),
    ])  # fmt: skip
    return SummaryTable(_COLUMNS, rows)


def distance_lines(found: CalibratedLidar) -> list[str]:
    """How far recorded points are from simulated beams, in words."""
    distance = found.distance
    angle, rounding = np.degrees(distance.angle), np.degrees(distance.rounding)
    fine = rounding < GOAL
    mean, most = _mean_and_95(angle[fine], 4)
    lines = [
        f"{int((angle <= GOAL).sum())} of {len(angle)} points are within {GOAL} degrees of their simulated beams",
        f"rounding in the file turns points by up to {rounding.max():.2g} degrees",
        f"of the {int(fine.sum())} points where that is below {GOAL} the mean is {mean}, the 95th percentile {most}",
    ]
    if found.estimate.head_deviation:
        deviation = np.degrees(np.array(found.estimate.head_deviation))
        lines.append(
            f"the head turns unevenly: {deviation.min():+.3f} to {deviation.max():+.3f} degrees from an even turn "
            "(head_deviation in the file)"
        )
    if distance.beyond:
        lines.append(f"{distance.beyond} points lie in columns beyond the simulated turn: not compared")
    return lines


def _mean_and_95(values: FloatArray, digits: int) -> tuple[str, str]:
    if not len(values) or np.isnan(values).all():
        return "-", "-"
    return f"{np.mean(values):.{digits}f}", f"{np.percentile(values, 95):.{digits}f}"
