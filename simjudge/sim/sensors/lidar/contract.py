"""Point clouds of any driver or simulator, held to what a spinning lidar is: returns, still surfaces, order, time."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.spatial.transform import Rotation

from simjudge.core.arrays import BoolArray, FloatArray
from simjudge.core.names import NO_STAMP
from simjudge.data.clouds import CloudSet, late_points
from simjudge.sim.sensors.lidar.checked_scans import (
    INFINITE,
    MOST_SCANS,
    PARTLY,
    CheckedScan,
    CheckOutcome,
    LidarContract,
    read_scans,
)

BEAMS, EMPTY = "beam angles", "empty points"
# Degrees by which a ring's elevation may vary within a scan (robust standard deviation), or between scans.
UNSTEADY_DEG = 0.1
FAKE = 0.005  # Share of the points that may lie at the very largest range
_NEAREST_RETURN = 2.0  # Metres: nearer points tell little of angles
_LEAST_RETURNS = 10
_NORMAL = 1.4826
_SAME_RANGE = 1e-4  # Of the largest range: points that are no farther from it lie at it


def check_beams(scans: Sequence[CheckedScan]) -> CheckOutcome:
    """Each ring keeps its elevation, within a scan and from scan to scan."""
    limit = f"{UNSTEADY_DEG:g} degrees"
    spreads: dict[int, list[float]] = {}
    middles: dict[int, list[float]] = {}
    for scan in scans:
        if scan.ring is None:
            return CheckOutcome.unknown(BEAMS, limit, "the points do not say their ring")
        far = scan.range >= _NEAREST_RETURN
        rings, count = np.unique(scan.ring[far], return_counts=True)
        for ring in rings[count >= _LEAST_RETURNS].tolist():
            elevation = scan.elevation[far & (scan.ring == ring)]
            middle = float(np.median(elevation))
            middles.setdefault(ring, []).append(middle)
            spreads.setdefault(ring, []).append(_NORMAL * float(np.median(np.abs(elevation - middle))))
    if not spreads:
        return CheckOutcome.unknown(BEAMS, limit, f"no ring has {_LEAST_RETURNS} points beyond {_NEAREST_RETURN:g} m")
    spread = {ring: math.degrees(float(np.median(values))) for ring, values in spreads.items()}
    drift = {ring: math.degrees(max(values) - min(values)) for ring, values in middles.items()}
    widest, farthest = max(spread, key=spread.__getitem__), max(drift, key=drift.__getitem__)
    figure = f"spread {spread[widest]:.3f}, between scans {drift[farthest]:.3f} degrees"
    note = f"ring {widest if spread[widest] > UNSTEADY_DEG else farthest}"
    return CheckOutcome.measured(BEAMS, figure, limit, note, good=max(spread[widest], drift[farthest]) <= UNSTEADY_DEG)


def check_empty(scans: Sequence[CheckedScan]) -> CheckOutcome:
    """Rows without a return are marked in one way, and none pretends to be a return at the largest range."""
    limit = f"NaN or 0 0 0; {FAKE:.1%} at the largest range"
    marks: Counter[str] = Counter()
    for scan in scans:
        marks.update(scan.empty)
    ranges = [scan.range for scan in scans if len(scan)]
    largest = max((float(turn_ranges.max()) for turn_ranges in ranges), default=0.0)
    fake = sum(int((turn_ranges >= largest * (1 - _SAME_RANGE)).sum()) for turn_ranges in ranges)
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


WALL_RANGE, WALL_INTENSITY = "range of a wall", "intensity of a wall"
# Metres: standard deviation of a surface's range, and change of all surfaces together.
RANGE_NOISE, RANGE_DRIFT = 0.05, 0.02
# The same of intensity, as shares of the 95th percentile of all intensities.
INTENSITY_NOISE, INTENSITY_DRIFT = 0.10, 0.05
STILL, STILL_DEG = 0.01, 0.06  # Metres and degrees from scan to scan up to which the sensor stands, by its poses
_COLUMNS = 360  # Around the turn: wider than the steps of any spinning lidar, so that no cell is empty by chance
_ROW_DEG = 0.4  # Degrees of elevation in a row of cells, where the points do not say their ring
_MOST_RINGS = 1024  # Rings of a lidar at most, as in `sensors.lidar.ring_points`
_NEAREST, _FARTHEST = 1.0, 40.0
_ROUGH = 0.03  # Share of the range by which a surface may be nearer or farther in the next cell
_LEAST_CELLS = 200
_LEAST_SCANS = 3


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
        CheckOutcome.measured(WALL_RANGE, figure, of_range, good=good),
        _check_intensity(cells, walls, of_intensity),
    )


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
        return (
            f"the points say {rings} rings; a lidar has {_MOST_RINGS} at most"
            if rings > _MOST_RINGS
            else (f"fewer than {_LEAST_SCANS} scans")
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
    rows = np.split(row_of_point, np.cumsum([len(column_numbers) for column_numbers in numbers])[:-1])
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


RATE, TURNS, TIMES, HEAD, ORDER = "rate", "whole turns", "times in a turn", "head turns evenly", "order of returns"
UNEVEN = 0.10  # Share of the usual interval by which one may differ
COVERED = 0.90  # Share of the usual azimuths that a scan has at least
TURN_SLACK = 1.05  # Turns that the times of a scan may span
MOST_TURNS = 50  # Turns from one scan to the next at most, where a recording has thinned them out
OFF_HEAD_DEG = 2.0  # Degrees within which 95 % of a scan's azimuths lie around a head that turns evenly
LATE = 0.001  # Share of points that may come too late in their ring
BACKWARDS = 0.02  # Share of steps of azimuth that may go backwards, where there are no times
_SHUFFLED = 0.45  # Share of steps backwards from which a file without rings has no order at all
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
        return CheckOutcome.measured(
            RATE, f"{back} stamps that do not rise", limit, f"first at {scans[at].where}", good=False
        )
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
            TIMES,
            f"{span[longest] * 1e3:.4g} ms, {span[longest] / turn:.3f} turns{unit}",
            times,
            f"longest in {timed[longest].where}",
            good=span[longest] <= TURN_SLACK * turn,
        ),
        CheckOutcome.measured(
            HEAD,
            f"95 % within {fits[worst].off_deg:.2f} degrees",
            head,
            f"worst in {timed[worst].where}",
            good=fits[worst].off_deg <= OFF_HEAD_DEG,
        ),
    )


def check_order(scans: Sequence[CheckedScan]) -> CheckOutcome:
    """Returns of a ring are in the order in which the device fired: by time, or where there is none by azimuth."""
    by_time, by_azimuth = f"at most {LATE:.1%} late", f"at most {BACKWARDS:.0%} backwards"
    full = [scan for scan in scans if len(scan) >= _LEAST_POINTS]
    if not full:
        return CheckOutcome.unknown(ORDER, by_time, f"no scan of {_LEAST_POINTS} points")
    if all(scan.time is not None for scan in full):
        rings = [np.zeros(len(scan), np.int64) if scan.ring is None else scan.ring for scan in full]
        late = [
            float(late_points(ring, scan.time).mean())
            for ring, scan in zip(rings, full, strict=True)
            if scan.time is not None
        ]
        worst = int(np.argmax(late))
        return CheckOutcome.measured(
            ORDER, f"{late[worst]:.2%} late", by_time, f"worst in {full[worst].where}", good=late[worst] <= LATE
        )
    against = [_backwards(scan) for scan in full]
    worst = int(np.argmax(against))
    if full[worst].ring is None and BACKWARDS < against[worst] < _SHUFFLED:
        return CheckOutcome.unknown(ORDER, by_azimuth, "neither times nor rings, and the azimuths do not tell")
    return CheckOutcome.measured(
        ORDER,
        f"{against[worst]:.2%} of steps backwards",
        by_azimuth,
        f"worst in {full[worst].where}",
        good=against[worst] <= BACKWARDS,
    )


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


def check_lidar(
    source: CloudSet | str | Path,
    *,
    topic: str | None = None,
    fields: Sequence[str] | None = None,
    most: int = MOST_SCANS,
) -> list[LidarContract]:
    """Hold point clouds to what a spinning lidar is: times, order, angles, empty points, and a standing wall.

    Args:
        source: clouds, or the path of a recording, a KITTI folder, a folder of PCD or raw .bin files, or an Argoverse 2
            sweep.
        topic: in a recording, the clouds to read where it has several.
        fields: columns of raw .bin files, float32 each: x, y, z and any of intensity, ring, time (seconds), _ (no
            matter); None for clouds in a known format.
        most: scans that are looked at, from the first on.

    Returns:
        One for each lidar: an Argoverse 2 sweep is of two.

    Raises:
        UsageError: the fields make no sense, or there is no such topic.
        SimjudgeError: nothing is there, or it holds no clouds.
    """
    return [
        LidarContract(name, len(scans), check_scans(scans), losses)
        for name, scans, losses in read_scans(source, topic, fields, most)
    ]


def check_scans(scans: Sequence[CheckedScan]) -> list[CheckOutcome]:
    """Make all checks."""
    return [
        check_rate(scans),
        check_turns(scans),
        *check_times(scans),
        check_order(scans),
        check_beams(scans),
        check_empty(scans),
        *check_wall(scans),
    ]
