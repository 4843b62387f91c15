"""Scans as the checks of point clouds take them, from any driver, and what a check says of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np

from simjudge.core.arrays import FloatArray, IntArray, ShortRepr, Summary, SummaryTable
from simjudge.core.errors import Losses, SimjudgeError, UsageError
from simjudge.core.names import NO_STAMP
from simjudge.data.clouds import CloudSet, Table, lidar_points
from simjudge.data.format_support.image_files import Topics
from simjudge.data.rosbag2.cloud_writing import choose_cloud_topic
from simjudge.data.rosbag2.recording import Recording
from simjudge.data.rosbag2.storage import is_recording
from simjudge.data.sets import find_format, read_clouds
from simjudge.geometry.poses import Pose
from simjudge.sim.sensors.lidar.measured_turns import RAW_FIELDS, MeasuredLidar, raw_files, raw_table, read_turns

MOST_SCANS = 50  # Scans of a recording that are looked at, unless more are asked for
NAN, ZERO, INFINITE, PARTLY = "NaN", "0 0 0", "inf", "a coordinate"  # How rows without a return are marked


@dataclass(frozen=True, eq=False, repr=False)
class CheckedScan(ShortRepr):
    """The returns of a turn, in the order of the file."""

    where: str
    stamp: int  # nanoseconds; NO_STAMP where it has none
    points: FloatArray  # float64 (N, 3), metres, from the lidar
    ring: IntArray | None  # int64 (N,); None where the cloud does not number them
    time: FloatArray | None  # float64 (N,), seconds from the earliest; None where there are none that can be used
    time_trouble: str
    intensity: FloatArray | None  # float64 (N,); None where the cloud has none
    empty: dict[str, int]  # how many rows have no return, by how they are marked
    pose: Pose | None = None  # of the body; None where it is not known
    time_note: str = ""  # in which unit the times are taken, where it is not the drivers'

    def __len__(self) -> int:
        return len(self.points)

    @cached_property
    def range(self) -> FloatArray:
        """(N,), metres."""
        return np.asarray(np.linalg.norm(self.points, axis=1), np.float64)

    @cached_property
    def azimuth(self) -> FloatArray:
        """(N,), radians, counter-clockwise from x."""
        return np.asarray(np.arctan2(self.points[:, 1], self.points[:, 0]), np.float64)

    @cached_property
    def elevation(self) -> FloatArray:
        """(N,), radians, up from the plane of x and y."""
        return np.asarray(np.arctan2(self.points[:, 2], np.hypot(self.points[:, 0], self.points[:, 1])), np.float64)


def read_scans(
    source: CloudSet | str | Path, topic: str | None, fields: Sequence[str] | None, most: int
) -> Iterator[tuple[str, list[CheckedScan], Losses]]:
    """Read the scans of each lidar that a source holds (fields: columns of raw .bin files, float32 each)."""
    if not isinstance(source, CloudSet):
        path = Path(source)
        form = find_format(path) if path.exists() and fields is None else None
        if form is not None and form.name == "argoverse2":
            for lidar in read_turns(path, most=most):
                yield f"{path.name}: {lidar.name}", _of_turns(lidar), lidar.losses
            return
        if fields is not None or (path.exists() and (form is None or form.read_clouds is None) and raw_files(path)):
            yield path.name, list(_raw_scans(path, fields or RAW_FIELDS, most)), Losses()
            return
        if is_recording(path):
            topic = choose_cloud_topic(Recording(path), topic)
        source = read_clouds(path, None if topic is None else Topics(cloud_topic=topic))
    elif topic is not None or fields is not None:
        raise UsageError(f"{source.name}: topics and fields are chosen when clouds are read")
    losses = Losses()
    losses.extend(source.losses)
    yield source.name, _of_clouds(source, most, losses), losses


def scan_of_table(table: Table, where: str, stamp: int = NO_STAMP, pose: Pose | None = None) -> CheckedScan:
    """A scan from the table of a cloud (stamp: nanoseconds)."""
    points = lidar_points(table, where)
    return CheckedScan(
        where,
        stamp,
        points.stored.astype(np.float64),
        points.ring,
        points.time,
        points.time_trouble,
        None if points.intensity is None else points.intensity.astype(np.float64),
        _marks(table[~points.seen]),
        pose,
        points.time_note,
    )


def _marks(table: Table) -> dict[str, int]:
    """How the rows without a return are marked."""
    xyz = np.stack([table[name].astype(np.float64) for name in "xyz"], -1)
    nan, infinite = np.isnan(xyz), np.isinf(xyz)
    kinds = {NAN: nan.all(1), ZERO: (xyz == 0).all(1), INFINITE: infinite.any(1)}
    known = np.logical_or.reduce([*kinds.values(), np.zeros(len(xyz), np.bool_)])
    kinds[PARTLY] = ~known
    return {kind: int(rows.sum()) for kind, rows in kinds.items() if rows.any()}


def _of_clouds(clouds: CloudSet, most: int, losses: Losses) -> list[CheckedScan]:
    scans = []
    for index in range(min(len(clouds), most)):
        pose = clouds.poses[index] if len(clouds.poses) == len(clouds) else None
        try:
            cloud = clouds[index]
            scans.append(scan_of_table(cloud.table, clouds.cloud_name[index], int(clouds.stamp[index]), pose))
        except SimjudgeError as error:
            losses.add("clouds that cannot be read", str(error))
    if not any(len(scan) for scan in scans):
        raise SimjudgeError(f"{clouds.name}: holds no point with a return{losses.reason}")
    return scans


def _raw_scans(path: Path, fields: Sequence[str], most: int) -> Iterator[CheckedScan]:
    for file in raw_files(path)[:most]:
        yield scan_of_table(raw_table(file, fields), file.name)


def _of_turns(lidar: MeasuredLidar) -> list[CheckedScan]:
    return [
        CheckedScan(turn.name, NO_STAMP, turn.points, turn.ring, turn.time, "no times", None, {})
        for turn in lidar.turns
    ]


PASS, FAIL, NOT_CHECKED = "pass", "FAIL", "not checked"


@dataclass(frozen=True)
class CheckOutcome:
    """What one check says."""

    check: str
    verdict: str
    figure: str  # what was measured, with its unit; "" where it was not checked
    limit: str
    note: str = ""  # where it is worst, or why it was not checked; "" for nothing

    @classmethod
    def measured(cls, check: str, figure: str, limit: str, note: str = "", *, good: bool) -> CheckOutcome:
        """An outcome with a figure."""
        return cls(check, PASS if good else FAIL, figure, limit, "" if good else note)

    @classmethod
    def unknown(cls, check: str, limit: str, why: str) -> CheckOutcome:
        """An outcome of a check that cannot be made."""
        return cls(check, NOT_CHECKED, "", limit, why)


@dataclass(frozen=True)
class LidarContract:
    """A lidar's clouds held to what a spinning lidar is. It prints as the table of `simjudge sim check lidar`."""

    name: str
    scans: int
    outcomes: Sequence[CheckOutcome]
    losses: Losses = field(default_factory=Losses)  # clouds that could not be read

    @property
    def passed(self) -> bool:
        """Whether no check failed. Checks that cannot be made do not count."""
        return all(outcome.verdict != FAIL for outcome in self.outcomes)

    @property
    def failed(self) -> list[str]:
        """The names of the checks that failed."""
        return [outcome.check for outcome in self.outcomes if outcome.verdict == FAIL]

    @property
    def headline(self) -> str:
        """How many checks passed, failed and cannot be made."""
        count = {
            verdict: sum(outcome.verdict == verdict for outcome in self.outcomes)
            for verdict in (PASS, FAIL, NOT_CHECKED)
        }
        scans = f"{self.scans} scan{'s' if self.scans != 1 else ''}"
        return f"{scans}: {count[PASS]} checks passed, {count[FAIL]} failed, {count[NOT_CHECKED]} cannot be made"

    @property
    def table(self) -> SummaryTable:
        """A row a check."""
        rows = [
            [outcome.check, outcome.verdict, outcome.figure, outcome.limit, outcome.note] for outcome in self.outcomes
        ]
        return SummaryTable(["check", "verdict", "measured", "limit", "note"], rows, text_columns=5)

    def summary(self) -> Summary:
        """What it says, for a person to read."""
        return Summary(self.name, self.headline, [self.table, *self.losses.lines()])

    def __str__(self) -> str:
        return self.summary().text()

    def _repr_html_(self) -> str:
        return self.summary().html()
