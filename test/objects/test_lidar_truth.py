"""True cuboids: which objects both sets have, and where they are in each scan."""

import numpy as np
import pytest
from cloud_samples import cloud_set, table
from scipy.spatial.transform import Rotation

from simjudge.core.errors import Losses, SimjudgeError
from simjudge.data.clouds import CloudBoxes
from simjudge.geometry.poses import Pose
from simjudge.objects.lidar_truth import NO_SUBJECT, cuboids_in_scans, match_labels, standing_labels
from simjudge.objects.series import scan_poses
from simjudge.objects.settings import LidarObjectSettings

NAMES = {0: "cone", 1: "car"}
THINGS = [("cone", (5.0, 2.0)), ("cone", (9.0, -2.0)), ("car", (12.0, 4.0))]


def labelled(things, *, name="real", instances=True, numbers=None, moving=0.0, count=3, poses=True):
    """A set that drives 1 m a scan past things of the fixed frame; the car may move ahead."""
    lidar = [Pose.from_euler(1.0 * i, 0.1 * i, 1.0, yaw=0.2 * i) for i in range(count)]
    rows = []
    for scan, pose in enumerate(lidar):
        for number, (kind, (x, y)) in enumerate(things):
            here = x + moving * scan * (kind == "car")
            local = pose.inverse() @ Pose.from_euler(here, y, 0.5, yaw=0.3)
            instance = (numbers or range(len(things)))[number] if instances else -1
            rows.append((scan, list(NAMES.values()).index(kind), instance, local))
    boxes = CloudBoxes(
        *np.array([row[:3] for row in rows], np.int64).reshape(-1, 3).T,
        np.array([row[3].position for row in rows]).reshape(-1, 3),
        np.array([row[3].orientation for row in rows]).reshape(-1, 4),
        np.tile([1.0, 0.5, 1.0], (len(rows), 1)),
    )
    clouds = cloud_set(
        [table([])] * count,
        lidar if poses else (),
        name=name,
        boxes=boxes,
        class_names=NAMES,
        labelled=np.ones(count, bool),
    )
    return clouds, scan_poses(clouds, 60.0, Losses()) if poses else None


def matched(real, virtual, **settings):
    return match_labels((real[0], virtual[0]), (real[1], virtual[1]), LidarObjectSettings(**settings))


def test_by_instance():
    real, virtual = matched(labelled(THINGS), labelled([*THINGS[1:], THINGS[0]], numbers=[1, 2, 7], poses=False))
    assert real.names == virtual.names == ["cone 1", "car 2"]
    assert real.subject.tolist() == [NO_SUBJECT, 0, 1] * 3
    assert virtual.subject.tolist() == [0, 1, NO_SUBJECT] * 3


@pytest.mark.parametrize("settings", [{}, {"same_cuboids_by": "place"}])
@pytest.mark.parametrize("moving", [0.0, 0.8])
def test_by_place_where_numbers_do_not_agree(settings, moving):
    mixed = [THINGS[2], THINGS[1], ("cone", (30.0, 0.0)), THINGS[0]]
    real, virtual = matched(
        labelled(THINGS, instances=False, moving=moving), labelled(mixed, moving=moving), **settings
    )
    assert real.names == ["cone 0", "cone 1", "car 2"]
    assert real.subject.tolist() == [0, 1, 2] * 3
    assert virtual.subject.tolist() == [2, 1, NO_SUBJECT, 0] * 3


def test_things_at_other_places_are_not_the_same():
    moved = [(kind, (x, y + 3)) for kind, (x, y) in THINGS]
    real, virtual = matched(labelled(THINGS), labelled(moved), same_cuboids_by="place")
    assert not real.names
    assert (virtual.subject == NO_SUBJECT).all()


def test_what_cannot_be_matched():
    with pytest.raises(SimjudgeError, match="not known where the lidar was"):
        matched(labelled(THINGS, instances=False), labelled(THINGS, name="virtual", poses=False))
    with pytest.raises(SimjudgeError, match="holds no labelled cuboid"):
        matched(labelled(THINGS), (cloud_set([table([])]), None))


def test_a_scene_gives_the_truth_of_another_set():
    clouds, scans = labelled(THINGS, moving=2.0)
    standing = standing_labels(clouds, scans, LidarObjectSettings())
    assert list(standing.names) == ["cone 0", "cone 1"]
    for pose, (_, place) in zip(standing.pose, THINGS, strict=False):
        assert pose.position == pytest.approx((*place, 0.5))
        assert pose.angles()[0] == pytest.approx(0.3)
    other, seen = labelled(THINGS[:2], count=4)
    truth = cuboids_in_scans(standing, seen, 8.0)
    near = np.linalg.norm(other.boxes.centre, axis=1) <= 8
    assert 0 < near.sum() < len(near)
    assert truth.subject.tolist() == other.boxes.instance[near].tolist()
    assert np.array_equal(truth.boxes.cloud, other.boxes.cloud[near])
    assert truth.boxes.centre == pytest.approx(other.boxes.centre[near])
    turned = Rotation.from_quat(truth.boxes.orientation).inv() * Rotation.from_quat(other.boxes.orientation[near])
    assert turned.magnitude() == pytest.approx(0, abs=1e-9)
