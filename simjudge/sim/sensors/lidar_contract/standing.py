"""Checks of a standing wall: where the sensor stands, ranges and intensities of surfaces stay what they are."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.spatial.transform import Rotation

from simjudge.core.arrays import BoolArray, FloatArray
from simjudge.sim.sensors.lidar_contract.checked_scans import CheckedScan
from simjudge.sim.sensors.lidar_contract.outcomes import CheckOutcome

WALL_RANGE, WALL_INTENSITY = "range of a wall", "intensity of a wall"
RANGE_NOISE, RANGE_DRIFT = 0.05, 0.02
"""Metres: standard deviation of a surface's range, and change of all surfaces together."""
INTENSITY_NOISE, INTENSITY_DRIFT = 0.10, 0.05
"""The same of intensity, as shares of the 95th percentile of all intensities."""
STILL, STILL_DEG = 0.01, 0.06
"""Metres and degrees from scan to scan up to which the sensor stands, by its poses."""
_COLUMNS = 360
"""Around the turn: wider than the steps of any spinning lidar, so that no cell is empty by chance."""
_ROW_DEG = 0.4
"""Degrees of elevation in a row of cells, where the points do not say their ring."""
_MOST_RINGS = 1024
"""Rings of a lidar at most, as in `sensors.lidar.ring_points`."""
_NEAREST, _FARTHEST = 1.0, 40.0
_ROUGH = 0.03
"""Share of the range by which a surface may be nearer or farther in the next cell."""
_LEAST_CELLS = 200
_LEAST_SCANS = 3
_NORMAL = 1.4826


def check_wall(scans: Sequence[CheckedScan]) -> tuple[CheckOutcome, CheckOutcome]:
    """Ranges and intensities of what stands do not change while the sensor stands."""
    of_range = f"{RANGE_NOISE:g} m, drift {RANGE_DRIFT:g} m"
    of_intensity = f"{INTENSITY_NOISE:.0%}, drift {INTENSITY_DRIFT:.0%}"
    cells = _standing_cells(scans)
    if isinstance(cells, str):
        return CheckOutcome.unknown(WALL_RANGE, of_range, cells), CheckOutcome.unknown(
            WALL_INTENSITY, of_intensity, cells
        )
    walls = _walls(cells.range)
    noise, drift = _changes(cells.range[:, walls])
    figure = f"{noise:.4f} m, drift {drift:.4f} m in {len(cells.range)} scans"
    good = noise <= RANGE_NOISE and drift <= RANGE_DRIFT
    return (
        CheckOutcome.measured(WALL_RANGE, figure, of_range, good=good), _check_intensity(cells, walls, of_intensity)
    )  # fmt: skip


def _check_intensity(cells: _Cells, walls: BoolArray, limit: str) -> CheckOutcome:
    if cells.intensity is None:
        return CheckOutcome.unknown(WALL_INTENSITY, limit, "the points have no intensity")
    scale = float(np.percentile(np.abs(cells.intensity[np.isfinite(cells.intensity)]), 95))
    if scale <= 0:
        return CheckOutcome.unknown(WALL_INTENSITY, limit, "all intensities are 0")
    noise, drift = (value / scale for value in _changes(cells.intensity[:, walls]))
    figure = f"{noise:.2%}, drift {drift:.2%} in {len(cells.range)} scans"
    return CheckOutcome.measured(
        WALL_INTENSITY, figure, limit, good=noise <= INTENSITY_NOISE and drift <= INTENSITY_DRIFT
    )


def _standing_cells(scans: Sequence[CheckedScan]) -> _Cells | str:
    """The cells of the scans between which the sensor stands; where there are too few scans or surfaces, why."""
    rings = len({ring for scan in scans if scan.ring is not None for ring in np.unique(scan.ring).tolist()})
    if len(scans) < _LEAST_SCANS or rings > _MOST_RINGS:
        return f"the points say {rings} rings; a lidar has {_MOST_RINGS} at most" if rings > _MOST_RINGS else (
            f"fewer than {_LEAST_SCANS} scans"
        )
    if all(scan.pose is not None for scan in scans):
        chosen = scans[_longest_run(_still_by_poses(scans))]
        if len(chosen) < _LEAST_SCANS:
            return "the sensor moves"
        cells = _cells(chosen)
    else:
        everything = _cells(scans)
        run = _longest_run(_still_by_ranges(everything))
        if run.stop - run.start < _LEAST_SCANS:
            return "the sensor moves, or ranges change from scan to scan as if it did"
        cells = _Cells(everything.range[run], None if everything.intensity is None else everything.intensity[run])
    if int(_walls(cells.range).sum()) < _LEAST_CELLS:
        return f"no smooth surfaces between {_NEAREST:g} and {_FARTHEST:g} m"
    return cells


class _Cells(NamedTuple):
    """Range, and where there is one intensity, of the middle point of each cell, (S, R, C); NaN where none is."""

    range: FloatArray
    intensity: FloatArray | None


def _still_by_poses(scans: Sequence[CheckedScan]) -> BoolArray:
    """Whether the sensor stands between each scan and the next."""
    poses = [scan.pose for scan in scans if scan.pose is not None]
    position = np.array([pose.position for pose in poses])
    turned = Rotation.from_quat([pose.orientation for pose in poses])
    moved = np.linalg.norm(np.diff(position, axis=0), axis=1)
    return np.asarray((moved <= STILL) & (np.degrees((turned[:-1].inv() * turned[1:]).magnitude()) <= STILL_DEG))


def _still_by_ranges(cells: _Cells) -> BoolArray:
    """The same by what the scans show: the sensor stands where most ranges stay what they are."""
    still = []
    for one, other in zip(cells.range[:-1], cells.range[1:], strict=True):
        change = np.abs(other - one)[np.isfinite(one) & np.isfinite(other)]
        # Half of a wall's noise allowed and more; a car at walking pace changes most ranges by more.
        still.append(len(change) >= _LEAST_CELLS and float(np.median(change)) <= RANGE_NOISE)
    return np.array(still, np.bool_)


def _longest_run(still: BoolArray) -> slice:
    """The longest run of scans between which the sensor stands."""
    best, begin = slice(0, 0), 0
    for index in range(len(still) + 1):
        if index == len(still) or not still[index]:
            if index - begin + 1 > best.stop - best.start:
                best = slice(begin, index + 1)
            begin = index + 1
    return best


def _cells(scans: Sequence[CheckedScan]) -> _Cells:
    numbers = [scan.ring if scan.ring is not None else _rows_by_elevation(scan.elevation) for scan in scans]
    # Rows of cells only for rings that there are: one damaged number must not make billions of them.
    held, row_of_point = np.unique(np.concatenate(numbers), return_inverse=True)
    rows = np.split(row_of_point, np.cumsum([len(each) for each in numbers])[:-1])
    shape = (len(scans), len(held), _COLUMNS)
    ranges = np.full(shape, np.nan)
    with_intensity = all(scan.intensity is not None for scan in scans)
    intensity = np.full(shape, np.nan) if with_intensity else None
    for number, (scan, row) in enumerate(zip(scans, rows, strict=True)):
        place_in_turn = (scan.azimuth / (2 * math.pi) + 0.5) * _COLUMNS
        column = np.floor(place_in_turn).astype(np.int64) % _COLUMNS
        # The one nearest to the middle comes last and stays: one beam, so that its noise is not averaged away.
        order = np.argsort(-np.abs(place_in_turn % 1 - 0.5), kind="stable")
        place = (number, row[order], column[order])
        ranges[place] = scan.range[order]
        if intensity is not None and scan.intensity is not None:
            intensity[place] = scan.intensity[order]
    return _Cells(ranges, intensity)


def _rows_by_elevation(elevation: FloatArray) -> np.ndarray:
    return np.floor(np.degrees(elevation) / _ROW_DEG).astype(np.int64)


def _walls(ranges: FloatArray) -> BoolArray:
    """Cells that every scan sees, with a surface that goes on to the left and to the right."""
    seen = np.isfinite(ranges).all(0)
    usual = np.median(np.where(seen, ranges, 0.0), axis=0)
    good = seen & (usual >= _NEAREST) & (usual <= _FARTHEST)
    for shift in (1, -1):
        beside = np.roll(usual, shift, axis=1)
        good &= np.roll(seen, shift, axis=1) & (np.abs(beside - usual) <= _ROUGH * usual)
    return np.asarray(good)


def _changes(values: FloatArray) -> tuple[float, float]:
    """Standard deviation of single values, and the largest change of the middle of all, (S, N) each."""
    step = np.diff(values, axis=0)
    noise = _NORMAL * float(np.median(np.abs(step))) / math.sqrt(2)
    drift = float(np.abs(np.median(values - values[0], axis=1)).max())
    return noise, drift
