"""True cuboids of a real and a virtual set of clouds: which objects both have, and where each is in each scan."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.spatial.transform import Rotation

from simjudge.core.arrays import FloatArray, IntArray, ShortRepr
from simjudge.core.errors import SimjudgeError
from simjudge.core.object_tables import NO_INSTANCE
from simjudge.data.clouds import CloudBoxes, CloudSet
from simjudge.geometry.poses import Pose
from simjudge.objects.series import ScanPoses
from simjudge.objects.settings import SAME_AUTO, SAME_INSTANCE, LidarObjectSettings

NO_SUBJECT = -1
_FAR = 1e9


@dataclass(frozen=True, eq=False, repr=False)
class TrueCuboids(ShortRepr):
    """The true cuboids of the scans of one set."""

    boxes: CloudBoxes  # in the frame of each scan; `cloud` is the number of the cloud
    # int64 (N,), the number of each box's object in `names`; NO_SUBJECT for one that the other set lacks
    subject: IntArray
    names: Sequence[str]  # of the objects that both sets have
    clouds: IntArray  # int64 (T,), the numbers of the clouds whose cuboids are known, even if there is none


@dataclass(frozen=True, eq=False, repr=False)
class StandingCuboids(ShortRepr):
    """K cuboids that stand in the fixed frame."""

    names: Sequence[str]
    pose: Sequence[Pose]
    size: FloatArray  # float64 (K, 3), metres, along each one's x, y and z

    def __len__(self) -> int:
        return len(self.pose)


def match_labels(
    sets: tuple[CloudSet, CloudSet], poses: tuple[ScanPoses | None, ScanPoses | None], settings: LidarObjectSettings
) -> tuple[TrueCuboids, TrueCuboids]:
    """Find the labelled objects that both sets have."""
    real, virtual = (_labels(clouds) for clouds in sets)
    numbers = [(boxes.instance if (boxes.instance != NO_INSTANCE).all() else None) for boxes in (real, virtual)]
    agreed = numbers[0] is not None and numbers[1] is not None and _classes_agree(sets, (real, virtual))
    if settings.same_cuboids_by == SAME_INSTANCE or (settings.same_cuboids_by == SAME_AUTO and agreed):
        return _matched_by_instance(sets, (real, virtual))
    if poses[0] is None or poses[1] is None:
        lacking = sets[0 if poses[0] is None else 1].name
        raise SimjudgeError(
            f"{lacking}: labels of the two sets cannot be told to be of the same objects: their instance numbers are"
            " missing or of other classes, and it is not known where the lidar was; give a recording with poses, or"
            " labels with the same instance numbers (--same-cuboids-by instance)"
        )
    distance = settings.place_distance
    groups = _places(sets[0], real, poses[0], distance), _places(sets[1], virtual, poses[1], distance)
    pairs = _paired(groups[0], groups[1], distance)
    number = np.arange(len(groups[0].class_name)) if numbers[0] is None else _instances(groups[0], numbers[0])
    names = [f"{groups[0].class_name[i]} {number[i]}" for i, _ in pairs]
    subjects = []
    for side, group in enumerate(groups):
        lookup = np.full(len(group.class_name) + 1, NO_SUBJECT)
        for subject, pair in enumerate(pairs):
            lookup[pair[side]] = subject
        subjects.append(lookup[group.number])
    return _truth_of_both(sets, (real, virtual), subjects, names)


def standing_labels(clouds: CloudSet, scans: ScanPoses, settings: LidarObjectSettings) -> StandingCuboids:
    """Place the labels of a set in the fixed frame."""
    boxes = _labels(clouds)
    group = _places(clouds, boxes, scans, settings.place_distance)
    names, poses, sizes = [], [], []
    lidar = _pose_by_cloud(scans)
    for number, class_name in enumerate(group.class_name):
        rows = np.flatnonzero(group.number == number)
        if np.linalg.norm(group.centre[rows] - np.median(group.centre[rows], axis=0), axis=1).max() > (
            settings.place_distance
        ):
            continue
        middle = rows[np.argmin(np.linalg.norm(group.centre[rows] - np.median(group.centre[rows], axis=0), axis=1))]
        local = Pose(tuple(boxes.centre[middle].tolist()), tuple(boxes.orientation[middle].tolist()))
        names.append(f"{class_name} {number}")
        poses.append(lidar[int(boxes.cloud[middle])] @ local)
        sizes.append(boxes.size[middle])
    return StandingCuboids(names, poses, np.array(sizes).reshape(-1, 3))


def cuboids_in_scans(standing: StandingCuboids, scans: ScanPoses, reach: float) -> TrueCuboids:
    """Give standing cuboids in the frame of each scan. `reach`: metres from the lidar, beyond which there are none."""
    subject = np.tile(np.arange(len(standing)), len(scans))
    cloud = np.repeat(scans.index, len(standing))
    centre, orientation = np.empty((len(subject), 3)), np.empty((len(subject), 4))
    if len(standing):
        turned = Rotation.from_quat([pose.orientation for pose in standing.pose])
        places = np.array([pose.position for pose in standing.pose])
        for row, pose in enumerate(scans.poses):
            part = slice(row * len(standing), (row + 1) * len(standing))
            centre[part] = pose.to_body(places)
            orientation[part] = (Rotation.from_quat(pose.orientation).inv() * turned).as_quat()
    near = np.linalg.norm(centre, axis=1) <= reach
    size = np.tile(standing.size, (len(scans), 1))
    boxes = CloudBoxes(
        cloud[near], np.zeros(int(near.sum()), np.int64), subject[near], centre[near], orientation[near], size[near]
    )
    return TrueCuboids(boxes, subject[near], standing.names, scans.index)


def unknown_cuboids() -> TrueCuboids:
    """The truth of a set of which nothing is known."""
    none = np.empty(0, np.int64)
    boxes = CloudBoxes(none, none, none, np.empty((0, 3)), np.empty((0, 4)), np.empty((0, 3)))
    return TrueCuboids(boxes, none, (), none)


@dataclass(frozen=True, eq=False, repr=False)
class _Groups(ShortRepr):
    """Labels of one object each: the number of each label's object, its centre in the fixed frame, and classes."""

    number: IntArray
    centre: FloatArray
    class_name: list[str]
    time: FloatArray


def _labels(clouds: CloudSet) -> CloudBoxes:
    if clouds.boxes is None or not len(clouds.boxes):
        raise SimjudgeError(f"{clouds.name}: holds no labelled cuboid; label it, or take --truth scene or survey")
    return clouds.boxes


def _class_name(clouds: CloudSet, class_id: int) -> str:
    return clouds.class_names.get(class_id, str(class_id))


def _classes_of_instances(clouds: CloudSet, boxes: CloudBoxes) -> dict[int, str]:
    return {
        int(instance): _class_name(clouds, int(kind))
        for instance, kind in zip(boxes.instance, boxes.class_id, strict=True)
    }


def _classes_agree(sets: tuple[CloudSet, CloudSet], boxes: tuple[CloudBoxes, CloudBoxes]) -> bool:
    real, virtual = (_classes_of_instances(*parts_of_side) for parts_of_side in zip(sets, boxes, strict=True))
    common = set(real) & set(virtual)
    return bool(common) and all(real[number] == virtual[number] for number in common)


def _matched_by_instance(
    sets: tuple[CloudSet, CloudSet], boxes: tuple[CloudBoxes, CloudBoxes]
) -> tuple[TrueCuboids, TrueCuboids]:
    real = _classes_of_instances(sets[0], boxes[0])
    common = np.array(sorted((set(real) & set(boxes[1].instance.tolist())) - {NO_INSTANCE}), np.int64)
    names = [f"{real[number]} {number}" for number in common.tolist()]
    subjects = []
    for box in boxes:
        place = np.searchsorted(common, box.instance)
        place = np.minimum(place, max(len(common) - 1, 0))
        same = common[place] == box.instance if len(common) else np.zeros(len(box), np.bool_)
        subjects.append(np.where(same, place, NO_SUBJECT).astype(np.int64))
    return _truth_of_both(sets, boxes, subjects, names)


def _truth_of_both(
    sets: tuple[CloudSet, CloudSet],
    boxes: tuple[CloudBoxes, CloudBoxes],
    subjects: Sequence[IntArray],
    names: Sequence[str],
) -> tuple[TrueCuboids, TrueCuboids]:
    real, virtual = (
        TrueCuboids(boxes_of, subject, names, _labelled(clouds, boxes_of))
        for clouds, boxes_of, subject in zip(sets, boxes, subjects, strict=True)
    )
    return real, virtual


def _labelled(clouds: CloudSet, boxes: CloudBoxes) -> IntArray:
    if clouds.labelled is None:
        return np.unique(boxes.cloud)
    return np.union1d(boxes.cloud, np.flatnonzero(clouds.labelled))


def _pose_by_cloud(scans: ScanPoses) -> dict[int, Pose]:
    return dict(zip(scans.index.tolist(), scans.poses, strict=True))


def _places(clouds: CloudSet, boxes: CloudBoxes, scans: ScanPoses, distance: float) -> _Groups:
    """Group the labels of a set by object: by instance where they have one, else by class and last place."""
    lidar = _pose_by_cloud(scans)
    time = dict(zip(scans.index.tolist(), scans.time.tolist(), strict=True))
    number = np.full(len(boxes), -1, np.int64)
    centre = np.full((len(boxes), 3), np.nan)
    last, kinds = np.empty((len(boxes), 3)), np.empty(len(boxes), np.int64)
    names: list[str] = []
    of_instance: dict[tuple[int, int], int] = {}
    order = [
        row
        for row in np.argsort([time.get(int(cloud), np.inf) for cloud in boxes.cloud], kind="stable").tolist()
        if int(boxes.cloud[row]) in lidar
    ]
    for row in order:
        kind, instance = int(boxes.class_id[row]), int(boxes.instance[row])
        centre[row] = lidar[int(boxes.cloud[row])].to_world(boxes.centre[row])
        if instance != NO_INSTANCE:
            found = of_instance.setdefault((kind, instance), len(names))
        else:
            gaps = np.linalg.norm(last[: len(names)] - centre[row], axis=1)
            gaps[kinds[: len(names)] != kind] = np.inf
            found = int(gaps.argmin()) if len(gaps) and gaps.min() <= distance else len(names)
        if found == len(names):
            names.append(_class_name(clouds, kind))
            kinds[found] = kind
        last[found] = centre[row]
        number[row] = found
    times = np.array([time.get(int(cloud), np.nan) for cloud in boxes.cloud])
    return _Groups(number, centre, names, times)


def _instances(group: _Groups, instance: IntArray) -> IntArray:
    """The instance number of each object of a set whose labels all have one."""
    out = np.empty(len(group.class_name), np.int64)
    out[group.number[group.number >= 0]] = instance[group.number >= 0]
    return out


def _paired(real: _Groups, virtual: _Groups, distance: float) -> list[tuple[int, int]]:
    """Pair objects of one class by the Hungarian method, over how far apart they are at the same times."""
    cost = np.full((len(real.class_name), len(virtual.class_name)), _FAR)
    for i, name in enumerate(real.class_name):
        for j, other in enumerate(virtual.class_name):
            if name == other:
                cost[i, j] = _gap(real, i, virtual, j)
    pairs = zip(*linear_sum_assignment(cost), strict=True)
    return [(int(i), int(j)) for i, j in pairs if cost[i, j] <= distance]


def _gap(real: _Groups, i: int, virtual: _Groups, j: int) -> float:
    """The median distance of one object's places from those of another one at the nearest times, metres."""
    one, other = np.flatnonzero(real.number == i), np.flatnonzero(virtual.number == j)
    nearest = np.abs(real.time[one, None] - virtual.time[other]).argmin(1)
    return float(np.median(np.linalg.norm(real.centre[one] - virtual.centre[other[nearest]], axis=1)))
