"""Boxes to places on the floor: exact to the lens, honest about its doubt, deaf to boxes that cannot be trusted."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from toy_world import GREEN, HEIGHT, LENSES, RADIUS, RED, boxes, detect

from simjudge.detectors.detector import Detections
from simjudge.geometry.poses import Pose
from simjudge.sim.driving.cones import ConeShape, DetectionUncertainty, filled_angle, floor_points, locate_cones
from simjudge.sim.vehicle.vehicle import read_vehicle

CAMERA = read_vehicle("art1").mounts["camera"].optical_frame()
PLACES = np.array([[x, y] for x in (0.9, 1.5, 2.5, 4.0, 5.5) for y in (-0.6, 0.0, 0.6)])


@pytest.mark.parametrize("lens", LENSES)
@given(
    height=st.floats(0.05, 2.0),
    pitch=st.floats(-0.1, 0.6),
    roll=st.floats(-0.3, 0.3),
    yaw=st.floats(-3, 3),
    ahead=st.floats(0.3, 20),
    across=st.floats(-0.7, 0.7),
)
@settings(max_examples=60, deadline=None)
def test_a_point_of_the_floor_is_found_again_through_the_lens(lens, height, pitch, roll, yaw, ahead, across):
    view = LENSES[lens]
    camera = Pose.from_euler(3.0, -2.0, height, yaw=yaw, pitch=pitch, roll=roll)
    reach = ahead * np.array([[math.cos(yaw), math.sin(yaw)], [-math.sin(yaw), math.cos(yaw)]])
    point = np.array([3.0, -2.0]) + reach[0] + across * reach[1]
    pixel = view.project(camera.optical_frame().to_body([*point, 0.0]))
    if not np.all(np.isfinite(pixel)):
        return
    found = floor_points(view, camera.optical_frame(), pixel[None])[0]
    np.testing.assert_allclose(found, point, atol=1e-6 * (1 + ahead * ahead / height))


def test_the_middle_of_a_lower_edge_is_half_a_pixel_off_in_lens_coordinates():
    # A level pinhole 1 m above the floor: row v - cy = f h / x, by hand.
    lens = LENSES["pinhole"]
    camera = Pose.from_euler(0, 0, 1.0).optical_frame()
    (focal, _), (cx, cy) = lens.focal, lens.centre
    box = [[cx + 0.5 - 5, 250, cx + 0.5 + 5, cy + 0.5 + focal * 1.0 / (4.0 - RADIUS)]]
    seen = locate_cones(
        Detections.build([RED], box, [1]),
        lens,
        camera,
        uncertainty=DetectionUncertainty(disagreement=1e9, tilt_error=0),
    )
    by_floor = floor_points(lens, camera, [[cx, box[0][3] - 0.5]])
    np.testing.assert_allclose(by_floor, [[4.0 - RADIUS, 0.0]], atol=1e-12)
    assert seen.position[0, 1] == pytest.approx(0, abs=1e-12)


def test_rays_that_go_up_meet_no_floor():
    camera = Pose.from_euler(0, 0, 0.2).optical_frame()
    assert np.all(np.isnan(floor_points(LENSES["pinhole"], camera, [[319.5, 100.0], [10.0, 179.5]])))


@pytest.mark.parametrize("lens", LENSES)
def test_cones_are_found_where_they_stand(lens):
    view = LENSES[lens]
    whole = np.isfinite(boxes(PLACES, view, CAMERA)[:, 0])
    assert whole.sum() >= 13
    seen = locate_cones(detect(PLACES, np.full(len(PLACES), RED), view, CAMERA, farthest=9), view, CAMERA)
    np.testing.assert_allclose(seen.position, PLACES[whole], atol=0.008)


@pytest.mark.parametrize("error", ["pixels", "pitch"])
def test_errors_are_as_large_as_their_covariance_says(error):
    rng = np.random.default_rng(1)
    view, place = LENSES["radial"], np.array([[2.8, 0.4]])
    shares = []
    for _ in range(400):
        camera = CAMERA
        if error == "pitch":
            camera = Pose.from_euler(
                0.4365, 0, 0.185, pitch=0.1 + rng.normal(0, DetectionUncertainty.tilt_error)
            ).optical_frame()
        found = detect(place, np.array([RED]), view, camera, rng, noise=DetectionUncertainty.pixel_error)
        seen = locate_cones(found, view, CAMERA)
        off = seen.position[0] - place[0]
        shares.append(off @ np.linalg.inv(seen.covariance[0]) @ off)
    # Mean of a chi-square with two degrees of freedom is 2; doubt may be too large, but not by much, nor too small.
    assert 0.5 < np.mean(shares) < 2.4


def test_left_is_left_and_the_doubt_lies_along_the_ray():
    view = LENSES["pinhole"]
    places = np.array([[3.0, 0.8], [3.0, -0.8]])
    found = detect(places, np.array([GREEN, RED]), view, CAMERA)
    assert found.box[0, 0] < 320 < found.box[1, 0]
    seen = locate_cones(found, view, CAMERA)
    assert seen.class_id.tolist() == [GREEN, RED]
    assert seen.position[0, 1] > 0 > seen.position[1, 1]
    for row in range(2):
        values, vectors = np.linalg.eigh(seen.covariance[row])
        ray = seen.position[row] - np.array(CAMERA.position[:2])
        assert values[1] > 20 * values[0]
        assert abs(vectors[:, 1] @ ray) == pytest.approx(np.linalg.norm(ray), rel=1e-6)


@pytest.mark.parametrize(
    ("box", "score", "kept"),
    [
        ([300, 160, 316, 176.5], 0.9, True),
        ([300, 160, 316, 176.5], 0.1, False),
        ([0, 180, 20, 210], 0.9, False),
        ([620, 180, 640, 210], 0.9, False),
        ([300, 300, 380, 360], 0.9, False),
        ([300, 160, 316, 160.5], 0.9, False),
        ([300, 60, 380, 140], 0.9, False),
        ([300, 40, 380, 176.5], 0.9, False),
        ([300, 160, 330, 176.5], 0.9, False),
        ([300, 160, 308, 176.5], 0.9, False),
    ],
    ids=[
        "good",
        "score",
        "left edge",
        "right edge",
        "lower edge",
        "flat",
        "above the horizon",
        "far too high",
        "two in one",
        "half of one",
    ],
)
def test_boxes_that_cannot_be_trusted_do_not_count(box, score, kept):
    seen = locate_cones(Detections.build([RED], [box], [score]), LENSES["pinhole"], CAMERA)
    assert len(seen) == kept


def test_no_detections_are_no_cones():
    assert len(locate_cones(Detections.build([], [], []), LENSES["pinhole"], CAMERA)) == 0


def test_the_angle_that_a_cone_fills():
    # From right above the ground: the rim is level with the eye, and the tip is its own height above.
    assert filled_angle(np.array([1.0]), 0.0, ConeShape())[0] == pytest.approx(math.atan2(HEIGHT, 1.0))
    high = filled_angle(np.array([2.0]), 1.5, ConeShape(0.1, 0.5))[0]
    assert high == pytest.approx(math.atan(1.5 / 1.9) - math.atan(1.0 / 2.0))


def test_a_high_camera_finds_near_cones_too():
    camera = Pose.from_euler(0, 0, 1.5, pitch=0.5).optical_frame()
    view = LENSES["radial"]
    places = np.array([[2.0, 0.2], [3.0, -0.5], [5.0, 0.0]])
    seen = locate_cones(detect(places, np.array([1, 1, 1]), view, camera, farthest=9), view, camera)
    np.testing.assert_allclose(seen.position, places, atol=0.01)
