"""What the scans of a lidar say of each true cuboid, and of the whole scan, over time.

The three moment invariants of second order do not change with place and rotation of points in space. Source: Sadjadi
and Hall, "Three-dimensional moment invariants", IEEE Transactions on Pattern Analysis and Machine Intelligence 2(2),
1980. Their moments are normalized by mu_000 alone here: a cloud is a set of samples, whose number says how dense it is
and not how large it is. So the invariants keep their sizes: m^2, m^4 and m^6.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.spatial.transform import Rotation

from simjudge.core.arrays import BoolArray, FloatArray, IntArray, ShortRepr
from simjudge.core.errors import Losses, ProgressBar, SimjudgeError, no_progress
from simjudge.data.clouds import Cloud, CloudBoxes, CloudPredictions, CloudSet, lidar_points
from simjudge.detectors.clouds.cuboid_detection import CloudObjects, detect_cloud_cuboids
from simjudge.detectors.clouds.cuboid_settings import LidarCuboidFile
from simjudge.objects.lidar_truth import NO_SUBJECT, TrueCuboids
from simjudge.objects.series import ScanPoses
from simjudge.objects.settings import LidarObjectSettings

UNITS = ("m^2", "m^4", "m^6")


def moment_invariants(points: FloatArray, weight: FloatArray | None = None) -> FloatArray:
    """Compute J1, J2 and J3 of a cloud.

    J1 = mu200 + mu020 + mu002; J2 = mu200 mu020 + mu200 mu002 + mu020 mu002 - mu110^2 - mu101^2 - mu011^2;
    J3 = mu200 mu020 mu002 + 2 mu110 mu101 mu011 - mu002 mu110^2 - mu020 mu101^2 - mu200 mu011^2, with
    mu_pqr = sum w (x - xm)^p (y - ym)^q (z - zm)^r / sum w. `points`: float64 (N, 3), metres; `weight`: (N,), 0 or
    more, as intensities; None: all points weigh alike (binary); returns float64 (3,), in `UNITS`; NaN where there is no
    point, or no weight.
    """
    weights = np.ones(len(points)) if weight is None else np.asarray(weight, np.float64)
    total = float(weights.sum())
    if not total > 0:
        return np.full(3, np.nan)
    centred = points - weights @ points / total
    mu = (centred * weights[:, None]).T @ centred / total
    trace = float(np.trace(mu))
    minors = (trace**2 - float((mu * mu).sum())) / 2
    return np.array([trace, minors, float(np.linalg.det(mu))])


EMPTY = "scans without a point"
NO_GROUND = "scans in which no ground was found"
UNREADABLE = "clouds that cannot be read"
WHOLE_METRICS = {
    "precision": "",
    "recall": "",
    "points": "",
    "points above ground": "",
    "clusters": "",
    "J1": "m^2",
    "J2": "m^4",
    "J3": "m^6",
    "J1 by intensity": "m^2",
    "J2 by intensity": "m^4",
    "J3 by intensity": "m^6",
}
"""Of a scan, with units."""
OBJECT_METRICS = {
    "points": "",
    "intensity": "",
    "found": "",
    "length": "m",
    "width": "m",
    "height": "m",
    "yaw error": "deg",
    "centre inside": "",
    "offset along": "m",
    "offset across": "m",
    "offset up": "m",
    "tilt": "deg",
    "score": "",
    "J1": "m^2",
    "J2": "m^4",
    "J3": "m^6",
    "J1 by intensity": "m^2",
    "J2 by intensity": "m^4",
    "J3 by intensity": "m^6",
}
"""Of an object, with units."""
_INVARIANTS = ("J1", "J2", "J3")
_SQUARE = 0.8
"""Width over length from which a footprint has no longer side, so that quarter turns cannot be told."""
_STANDING = 0.05
"""m/s below which a lidar has no direction of travel; then it is the lidar's x axis."""
_FAR = 1e9


@dataclass(frozen=True, eq=False, repr=False)
class LidarMeasurements(ShortRepr):
    """What the S scans of a set say."""

    time: FloatArray  # float64 (S,), seconds, ascending
    whole: Mapping[str, FloatArray]  # by metric, float64 (S,); NaN where there is no value
    subjects: Sequence[str]
    # float64 (K, S), metres from the lidar to each object's true centre; NaN where it has no true cuboid
    range: FloatArray
    objects: Mapping[str, FloatArray]  # by metric, float64 (K, S), NaN where there is no value


@dataclass(frozen=True, eq=False, repr=False)
class LidarSide(ShortRepr):
    """A real or a virtual lidar."""

    clouds: CloudSet
    time: FloatArray  # float64 (C,), seconds, of each cloud
    poses: ScanPoses | None  # of its scans; None where not known
    truth: TrueCuboids
    predictions: CloudPredictions | None = None  # cuboids that were found in its clouds earlier; None: the detector's


def measure_scans(
    side: LidarSide,
    detector: LidarCuboidFile,
    settings: LidarObjectSettings,
    losses: Losses,
    progress: ProgressBar = no_progress,
) -> LidarMeasurements:
    """Measure every scan of a lidar."""
    clouds, truth = side.clouds, side.truth
    known_clouds = frozenset(truth.clouds.tolist())
    order = np.argsort(side.time, kind="stable")
    shape = len(truth.names), len(order)
    whole = {metric: np.full(len(order), np.nan) for metric in WHOLE_METRICS}
    objects = {metric: np.full(shape, np.nan) for metric in OBJECT_METRICS}
    ranges = np.full(shape, np.nan)
    travel = travel_directions(clouds, side.poses)
    unread = 0
    with progress(f"measuring {clouds.name}") as advance:
        for place, index in enumerate(order.tolist()):
            advance(place + 1, len(order))
            try:
                cloud = clouds[index]
            except SimjudgeError as error:
                losses.add(UNREADABLE, str(error))
                unread += 1
                if unread == len(order):
                    raise
                continue
            rows = np.flatnonzero(truth.boxes.cloud == index)
            rows = rows[np.linalg.norm(truth.boxes.centre[rows], axis=1) <= detector.farthest]
            found = detect_cloud_cuboids(cloud, detector)
            if side.predictions is not None:
                found = replace(found, cuboids=_of_cloud(side.predictions, index))
            scan = _measure_scan(cloud, found, detector.farthest, truth.boxes, rows, travel[index], settings)
            if not scan.points:
                losses.add(EMPTY, f"{clouds.name}: {clouds.cloud_name[index]}")
            elif not scan.has_ground:
                losses.add(NO_GROUND, f"{clouds.name}: {clouds.cloud_name[index]}")
            for metric, value in scan.whole.items():
                whole[metric][place] = value
            if index not in known_clouds:
                whole["precision"][place] = np.nan
            known = truth.subject[rows] != NO_SUBJECT
            subject = truth.subject[rows[known]]
            ranges[subject, place] = np.linalg.norm(truth.boxes.centre[rows[known]], axis=1)
            for metric, values in scan.objects.items():
                objects[metric][subject, place] = values[known]
    return LidarMeasurements(side.time[order], whole, truth.names, ranges, objects)


def travel_directions(clouds: CloudSet, scans: ScanPoses | None) -> FloatArray:
    """Where the lidar goes at each scan, unit vectors (C, 2) in its x and y; its x axis where not known to move."""
    out = np.tile([1.0, 0.0], (len(clouds), 1))
    if scans is None or len(scans) < 2:
        return out
    velocity = np.gradient(scans.position, scans.time, axis=0)
    for row, pose in enumerate(scans.poses):
        along = (velocity[row] @ pose.rotation_matrix())[:2]
        speed = float(np.linalg.norm(along))
        if speed > _STANDING:
            out[scans.index[row]] = along / speed
    return out


@dataclass(frozen=True, eq=False, repr=False)
class _Scan(ShortRepr):
    """One scan: whether it has points and ground; metrics of the whole, and of each true cuboid."""

    points: int
    has_ground: bool
    whole: dict[str, float]
    objects: dict[str, FloatArray]


def _of_cloud(predictions: CloudPredictions, index: int) -> CloudPredictions:
    rows = predictions.cloud == index
    return replace(predictions, **{name: column[rows] for name, column in vars(predictions).items()})


def _measure_scan(
    cloud: Cloud,
    found: CloudObjects,
    farthest: float,
    boxes: CloudBoxes,
    rows: IntArray,
    travel: FloatArray,
    settings: LidarObjectSettings,
) -> _Scan:
    held = lidar_points(cloud.table, cloud.where)
    # What the lidar's own car returns belongs to nothing.
    kept = ~found.own[held.seen]
    all_points = held.stored[kept].astype(np.float64)
    intensity = None if held.intensity is None else held.intensity[kept].astype(np.float64)
    # Farther away nobody looked for ground, nor for true cuboids.
    above = ~found.ground[held.seen][kept] & (np.linalg.norm(all_points, axis=1) <= farthest)
    points, intensity = all_points[above], None if intensity is None else intensity[above]
    members = [_inside(points, boxes, row, settings.truth_margin) for row in rows.tolist()]
    objects = {metric: np.full(len(rows), np.nan) for metric in OBJECT_METRICS}
    inside = np.zeros(len(points), np.bool_)
    for number, member in enumerate(members):
        mine = np.flatnonzero(member)
        objects["points"][number] = len(mine)
        inside |= member
        own_intensity = None if intensity is None else intensity[mine]
        if len(mine) and own_intensity is not None:
            objects["intensity"][number] = own_intensity.mean()
        for name, value in _invariants(points[mine], own_intensity).items():
            objects[name][number] = value
    assigned = _assign(boxes, rows, found, settings.cuboid_distance)
    _measure_cuboids(objects, boxes, rows, found, assigned, travel)
    whole = {
        "points": float(len(all_points)),
        "points above ground": float(len(points)),
        "clusters": float(len(found.cuboids)),
        "precision": float(inside.mean()) if len(points) else np.nan,
        "recall": float((assigned >= 0).mean()) if len(rows) else np.nan,
        **_invariants(points, intensity),
    }
    return _Scan(len(all_points), bool(found.ground.any()), whole, objects)


def _invariants(points: FloatArray, intensity: FloatArray | None) -> dict[str, float]:
    found = dict(zip(_INVARIANTS, moment_invariants(points).tolist(), strict=True))
    if intensity is not None:
        weighted = moment_invariants(points, np.maximum(intensity, 0)).tolist()
        found |= {f"{name} by intensity": value for name, value in zip(_INVARIANTS, weighted, strict=True)}
    return found


def _inside(points: FloatArray, boxes: CloudBoxes, row: int, margin: float) -> BoolArray:
    """Which points lie in a cuboid with a margin to its sides and upwards, its faces included."""
    half = boxes.size[row] / 2
    mask: BoolArray = (np.abs(points - boxes.centre[row]) <= np.linalg.norm(half + margin)).all(1)
    near = np.flatnonzero(mask)
    own = Rotation.from_quat(boxes.orientation[row]).inv().apply(points[near] - boxes.centre[row])
    mask[near] = ((own >= -half - [margin, margin, 0]) & (own <= half + margin)).all(1)
    return mask


def _assign(boxes: CloudBoxes, rows: IntArray, found: CloudObjects, distance: float) -> IntArray:
    """The found cuboid of each true one, by the Hungarian method over the distance of centres from above; -1: none."""
    assigned = np.full(len(rows), -1, np.int64)
    if not len(rows) or not len(found.cuboids):
        return assigned
    gap = np.linalg.norm(boxes.centre[rows, None, :2] - found.cuboids.centre[None, :, :2], axis=2)
    allowed = np.maximum(distance, np.linalg.norm(boxes.size[rows, :2], axis=1) / 2)
    gap[gap > allowed[:, None]] = _FAR
    for i, j in zip(*linear_sum_assignment(gap), strict=True):
        if gap[i, j] < _FAR:
            assigned[i] = j
    return assigned


def _measure_cuboids(
    objects: dict[str, FloatArray],
    boxes: CloudBoxes,
    rows: IntArray,
    found: CloudObjects,
    assigned: IntArray,
    travel: FloatArray,
) -> None:
    """Sizes, yaw and place of the found cuboids beside the true ones."""
    objects["found"][:] = assigned >= 0
    for number in np.flatnonzero(assigned >= 0).tolist():
        row, other = int(rows[number]), int(assigned[number])
        size, centre = found.cuboids.size[other], found.cuboids.centre[other]
        for name, value in zip(("length", "width", "height"), size.tolist(), strict=True):
            objects[name][number] = value
        objects["yaw error"][number] = _yaw_error(
            boxes.orientation[row], boxes.size[row], found.cuboids.orientation[other], size
        )
        offset = centre - boxes.centre[row]
        own = Rotation.from_quat(boxes.orientation[row]).inv().apply(offset)
        objects["centre inside"][number] = float((np.abs(own) <= boxes.size[row] / 2).all())
        objects["offset along"][number] = offset[:2] @ travel
        objects["offset across"][number] = travel[0] * offset[1] - travel[1] * offset[0]
        objects["offset up"][number] = offset[2]
        objects["tilt"][number] = _tilt(boxes.orientation[row], found.cuboids.orientation[other])
        objects["score"][number] = found.cuboids.score[other]


def _tilt(true: FloatArray, found: FloatArray) -> float:
    """The angle between the upright axes of two cuboids, degrees: 0 to 90, for what stands on its head stands too."""
    one, other = (Rotation.from_quat(orientation).apply([0.0, 0.0, 1.0]) for orientation in (true, found))
    return float(np.degrees(np.arctan2(np.linalg.norm(np.cross(one, other)), abs(one @ other))))


def _yaw_error(true: FloatArray, true_size: FloatArray, found: FloatArray, found_size: FloatArray) -> float:
    """The found yaw of the longer side less the true one, degrees: within 90, or 45 where one has no longer side."""
    yaws = []
    square = False
    for orientation, size in ((true, true_size), (found, found_size)):
        yaw = float(Rotation.from_quat(orientation).as_euler("ZYX")[0])
        short, long = sorted(size[:2].tolist())
        square |= short > _SQUARE * long
        yaws.append(yaw if size[0] >= size[1] else yaw + np.pi / 2)
    period = np.pi / 2 if square else np.pi
    return float(np.degrees((yaws[1] - yaws[0] + period / 2) % period - period / 2))
