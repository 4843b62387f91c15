"""The memory of cones: one stays one, classes are outvoted, ghosts are forgotten, what left the view is not."""

import numpy as np
import pytest
from toy_world import GREEN, LENSES, RED, detect

from simjudge.geometry.poses import Pose
from simjudge.sim.driving.cone_driver import ConeMap, ConeMapParameters
from simjudge.sim.driving.cones import ConeObservations, locate_cones
from simjudge.sim.vehicle.vehicle import read_vehicle

MOUNT = read_vehicle("art1").mounts["camera"]
VIEW = LENSES["pinhole"]
CONES = np.array([[1.5, 0.5], [1.6, -0.5], [2.3, 0.5], [2.4, -0.5]])
CLASSES = np.array([GREEN, RED, GREEN, RED])


def look(cones, x=0.0, rng=None, classes=CLASSES, where=CONES, **detector):
    camera = (Pose.from_euler(x, 0) @ MOUNT).optical_frame()
    cones.update(locate_cones(detect(where, classes, VIEW, camera, rng, **detector), VIEW, camera), VIEW, camera)


def test_many_pictures_of_four_cones_are_four_cones_each_better_known():
    cones, rng = ConeMap((RED, GREEN)), np.random.default_rng(0)
    look(cones, 0.0, rng, noise=0.7)
    first = np.linalg.det(cones.covariance)
    assert not cones.trusted().any()
    for x in np.arange(0.02, 0.6, 0.02):
        look(cones, x, rng, noise=0.7)
    assert len(cones) == 4
    assert cones.trusted().all()
    order = np.argsort(cones.position[:, 0])
    np.testing.assert_allclose(cones.position[order], CONES, atol=0.05)
    assert cones.class_id()[order].tolist() == CLASSES.tolist()
    assert np.all(np.linalg.det(cones.covariance) < first / 10)


def test_what_has_left_the_view_is_still_known_until_it_is_far():
    cones = ConeMap((RED, GREEN), ConeMapParameters(reach=4.0))
    for x in (0.0, 0.1, 0.2):
        look(cones, x)
    for x in (3.0, 3.1, 3.2, 3.3):
        cones.predict(0.1, Pose.from_euler(x, 0))
        look(cones, x)
    assert len(cones) == 4
    cones.predict(0.1, Pose.from_euler(6.0, 0))
    assert np.all(cones.position[:, 0] > 2.0)
    assert len(cones) == 2


def test_a_wrong_class_is_outvoted():
    cones = ConeMap((RED, GREEN))
    look(cones)
    for x in (0.05, 0.1, 0.15):
        look(cones, x, classes=np.array([GREEN, RED, RED, RED]) if x == 0.1 else CLASSES)
    order = np.argsort(cones.position[:, 0])
    assert len(cones) == 4
    assert cones.class_id()[order].tolist() == CLASSES.tolist()


def test_what_is_near_and_in_view_and_not_seen_again_is_forgotten():
    cones = ConeMap((RED, GREEN))
    ghost = np.array([[1.4, 0.0]])
    look(cones, where=np.concatenate([CONES, ghost]), classes=np.array([*CLASSES, RED]))
    assert len(cones) == 5
    for _ in range(6):
        look(cones)
    assert len(cones) == 4
    assert not np.any(np.abs(cones.position[:, 1]) < 0.2)


def test_what_is_seen_from_afar_is_trusted_little():
    def looks_until_trusted(distance):
        cones = ConeMap((RED, GREEN), ConeMapParameters(sure=2.0, trust=1.5))
        for count in range(1, 100):
            look(cones, where=np.array([[0.4365 + distance, 0.2]]), classes=np.array([GREEN]), farthest=9)
            if cones.trusted().any():
                return count
        return None

    assert looks_until_trusted(1.5) == 2
    assert looks_until_trusted(2.8) == 3
    assert looks_until_trusted(5.0) in (9, 10)


def test_doubt_is_larger_where_there_is_little_trust():
    cones = ConeMap((RED, GREEN), ConeMapParameters(sure=10.0, most_trust=4.0))
    look(cones)
    np.testing.assert_allclose(cones.weighted_covariance(), 4 * cones.covariance)
    for _ in range(5):
        look(cones)
    np.testing.assert_allclose(cones.weighted_covariance(), cones.covariance)


def test_two_cones_cannot_stand_in_one_place():
    cones = ConeMap((RED, GREEN))
    for _ in range(3):
        look(cones)
    place = cones.position[0]
    off = ConeObservations(place[None] + [0.0, 0.15], 1e-6 * np.eye(2)[None], np.array([RED]), np.ones(1))
    cones.update(off, VIEW, (Pose.from_euler(20, 0) @ MOUNT).optical_frame())
    assert len(cones) == 4
    np.testing.assert_array_equal(cones.position[0], place)


def test_other_classes_are_no_cones_of_the_lane():
    cones = ConeMap((RED, GREEN))
    look(cones, classes=np.array([7, 8, RED, GREEN]))
    assert sorted(cones.class_id().tolist()) == [RED, GREEN]


def test_doubt_grows_with_the_way():
    cones = ConeMap((RED, GREEN), ConeMapParameters(drift=0.1))
    look(cones)
    before = cones.covariance.copy()
    cones.predict(0.5, Pose.from_euler(0.5, 0))
    np.testing.assert_allclose(cones.covariance - before, np.broadcast_to(0.005 * np.eye(2), before.shape))


@pytest.mark.parametrize("order", [[0, 1, 2, 3], [3, 1, 0, 2]])
def test_the_order_of_sightings_does_not_matter(order):
    cones = ConeMap((RED, GREEN))
    full = ConeObservations(CONES, np.broadcast_to(0.01 * np.eye(2), (4, 2, 2)), CLASSES, np.ones(4))
    part = ConeObservations(CONES[order], full.covariance, CLASSES[order], np.ones(4))
    camera = (Pose() @ MOUNT).optical_frame()
    for seen in (full, part):
        cones.update(seen, VIEW, camera)
    np.testing.assert_allclose(cones.position, CONES)
    np.testing.assert_allclose(cones.covariance, np.broadcast_to(0.005 * np.eye(2), (4, 2, 2)))
