"""An image that sees all around: where things are on it, how far, and what becomes of those across its seam."""

import numpy as np
import pytest
from light_scenes import ball, plain, scene, thing

from simjudge.geometry.keyframes import Keyframes
from simjudge.geometry.poses import Pose
from simjudge.sim.capture.ground_truth import Labelling, ground_truth, without_smaller_parts
from simjudge.sim.capture.silhouette import RowStates, pixels_alone_by_rays
from simjudge.sim.engines.contract import SceneState
from simjudge.sim.engines.ray_times import TimedExposure
from simjudge.sim.sensors.camera.lens import lens_with_field

LENS = lens_with_field("equirectangular", (180, 90), 360)
CAMERA = Pose((0.3, -0.2, 0.5)).optical_frame()
PLACES = {1: (2.0, 0.4, 0.3), 2: (0.3, 2.0, 0.9), 3: (0.2, -0.1, 2.2), 4: (-1.7, -0.25, 0.2)}
"""Ahead, to the left, above, and behind, across the seam."""
RADIUS = 0.3


def world():
    shape = ball(RADIUS, 5)
    red = plain((0.9, 0.1, 0.1))
    things = [thing(f"ball{k}", shape, red, Pose(at), class_id=k, instance=k) for k, at in PLACES.items()]
    return scene(*things, ambient=(0.8, 0.8, 0.8), background=(0.1, 0.1, 0.4))


def distances(place):
    """Of the rays of all pixels to a ball, by the quadratic formula; inf where they miss."""
    rays = LENS.rays() @ CAMERA.rotation_matrix().T
    towards = np.array(place) - CAMERA.position
    along = rays @ towards
    square = RADIUS**2 - (towards @ towards - along**2)
    return np.where((square > 0) & (along > 0), along - np.sqrt(np.maximum(square, 0)), np.inf)


def test_each_pixel_looks_along_its_angles():
    """Columns and rows are bearings and elevations from the optical axis, 2 degrees each."""
    pixels = np.stack(np.meshgrid(np.arange(180), np.arange(90)), -1)
    right, down = np.moveaxis(np.radians(2 * (pixels - [89.5, 44.5])), -1, 0)
    expected = np.stack([np.sin(right) * np.cos(down), np.sin(down), np.cos(right) * np.cos(down)], -1)
    assert LENS.rays() == pytest.approx(expected, abs=1e-12)
    assert LENS.project(LENS.rays()) == pytest.approx(pixels, abs=1e-9)


def test_labels_boxes_and_distances_against_formulas(light_of):
    seen, state = light_of(world()), SceneState(CAMERA)
    labels, picture = seen.labels(LENS, state), seen.render(LENS, [state], 4)
    expected = np.array([distances(place) for place in PLACES.values()])
    nearest = np.where(np.isfinite(expected.min(0)), expected.argmin(0) + 1, 0)
    assert np.count_nonzero(labels.instance != nearest) <= 12  # the ball has corners
    inside = (labels.instance == nearest) & (nearest > 0)
    assert labels.depth[inside] == pytest.approx(expected.min(0)[inside], abs=0.02)
    assert np.isinf(labels.depth[labels.instance == 0]).all()
    assert picture[-1, 0, 2] == pytest.approx(0.4, rel=1e-3)
    red = picture[..., 0] > picture[..., 2]
    assert np.count_nonzero(red != (nearest > 0)) < 60  # pixels along outlines

    truth = ground_truth(world(), LENS, state, labels, Labelling(0, 0), masks=True)
    assert truth.objects.instance.tolist() == [1, 2, 3, 4]
    assert truth.objects.visible[:3] == pytest.approx(1, abs=0.02)
    behind = labels.instance == 4
    left, right = np.count_nonzero(behind[:, :90]), np.count_nonzero(behind[:, 90:])
    assert min(left, right) > 10
    assert truth.pixels[3] == max(left, right)
    assert truth.objects.visible[3] == pytest.approx(max(left, right) / (left + right), abs=0.01)
    x0, _, x1, _ = truth.objects.box[3]
    assert (x0 == 0, x1 == 180) == (left > right, right > left)
    assert x1 - x0 < 30


@pytest.mark.parametrize(
    ("columns", "kept"),
    [
        ([*range(3), *range(14, 20)], range(14, 20)),
        ([*range(5), 18, 19], range(5)),
        (range(20), range(20)),
        (range(2, 18), range(2, 18)),
        ([1, 2, 17], [1, 2]),  # hidden at the seam itself
        ([4, 5, 9, 10], [4, 5, 9, 10]),  # hidden in the middle
        ([], []),
    ],
)
def test_the_larger_part_stays(columns, kept):
    image = np.zeros((4, 20), np.uint16)
    image[1:3, list(columns)] = 7
    image[3, 10] = 2
    expected = np.zeros((4, 20), np.uint16)
    expected[1:3, list(kept)] = 7
    expected[3, 10] = 2
    assert np.array_equal(without_smaller_parts(image), expected)


def test_parts_of_the_sphere_have_edges():
    half = lens_with_field("equirectangular", (90, 60), 180)
    assert not half.wraps
    assert half.horizontal_field() == pytest.approx(180)
    assert half.project([0.0, 0.0, -1.0])[0] == pytest.approx(44.5 + 90)


@pytest.mark.parametrize("coefficients", [(0.0, 0.0, 0.0, 0.0), (0.03, -0.006, 0.0, 0.0)])
@pytest.mark.parametrize("off_axis", [20, 85, 120, 150])
def test_a_fisheye_counts_all_of_a_thing(coefficients, off_axis):
    """Pixels of a ball, also beyond the image's edges: those whose rays pass within its radius."""
    lens = lens_with_field("equidistant", (80, 60), 200, coefficients)
    for around in (0.3, 2.0, -2.5):
        angle = np.radians(off_axis)
        place = 1.5 * np.array([np.sin(angle) * np.cos(around), np.sin(angle) * np.sin(around), np.cos(angle)])
        pixels = np.stack(np.meshgrid(np.arange(-120, 200), np.arange(-120, 180)), -1)
        along = lens.rays_at(pixels) @ place
        with np.errstate(invalid="ignore"):
            expected = np.count_nonzero((place @ place - along**2 < 0.4**2) & (along > 0))
        one = thing("ball", ball(0.4, 5), pose=Pose(place))
        assert expected > 100
        found = pixels_alone_by_rays([one], RowStates(60, SceneState(Pose())), lens)
        assert found == pytest.approx(expected, rel=0.01, abs=3)


def test_a_thing_that_crosses_the_seam_meanwhile_is_counted_once():
    """Rows are exposed while the camera turns by 40 degrees: the thing goes over the seam."""
    turns = [Pose.from_euler(0, 0, 0, yaw=yaw).optical_frame() for yaw in np.radians((-20, 0, 20))]
    camera = Keyframes.build([0.0, 0.5, 1.0], [[pose] for pose in turns])
    timed = TimedExposure(camera, ({},), 0.0, 1 / 89, (0,))
    behind = thing("ball", ball(0.9, 5), pose=Pose((-2, 0, 0)))
    found = pixels_alone_by_rays([behind], RowStates(90, SceneState(turns[1]), timed), LENS)
    still = pixels_alone_by_rays([behind], RowStates(90, SceneState(turns[1])), LENS)
    # The picture shears sideways, which keeps its area.
    assert found == pytest.approx(still, rel=0.03)
