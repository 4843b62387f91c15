"""Pictures of clouds: where points land, what covers what, boxes and scales, against formulas, loops and OpenCV."""

import math

import cv2
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from simjudge.questions.recording.cloud_pictures import (
    GROUND,
    CloudScale,
    PerspectiveView,
    TopView,
    box_corners,
    cloud_pictures,
    draw_points,
    draw_segments,
    grid_places,
)

VIEWS = (
    TopView(10.0, 40),
    PerspectiveView((-8.0, -2.0, 5.0), (3.0, 1.0, 0.0), 50.0, 64, 48),
)


@pytest.fixture
def random():
    return np.random.default_rng(7)


def blank(view):
    return np.full((view.height, view.width, 3), GROUND, np.uint8)


@pytest.mark.parametrize(
    ("point", "pixel"),
    [((0, 0, 0), (20, 20)), ((5, 0, 0), (20, 10)), ((0, 5, 0), (10, 20)), ((-9.9, -9.9, 3), (39, 39))],
)
def test_from_above_x_is_up_and_y_is_left(point, pixel):
    view = VIEWS[0]
    image = blank(view)
    draw_points(image, view, np.array([point], float), np.array([[255, 0, 0]], np.uint8), 1)
    assert np.argwhere((image == (255, 0, 0)).all(-1)).tolist() == [[pixel[1], pixel[0]]]


def test_perspective_is_opencvs(random):
    view = VIEWS[1]
    points = random.uniform(-5, 5, (50, 3))
    camera = np.array([[view.focal_length, 0, view.width / 2], [0, view.focal_length, view.height / 2], [0, 0, 1]])
    turned, _ = cv2.Rodrigues(view.rotation)
    wanted, _ = cv2.projectPoints(points, turned, -view.rotation @ np.array(view.eye), camera, None)
    found, depth = view.project(points)
    np.testing.assert_allclose(found, wanted[:, 0], atol=1e-6)
    assert (depth > 0).all()
    assert view.rotation @ view.rotation.T == pytest.approx(np.eye(3), abs=1e-12)
    # Upright: a point above another is higher in the picture.
    (_, low), (_, high) = view.project(np.array([[3.0, 1.0, 0.0], [3.0, 1.0, 1.0]]))[0]
    assert high < low


def painted(view, points, colours, size):
    """A loop over all points, with a table of depths."""
    image, front = blank(view), np.full((view.height, view.width), np.inf)
    places, depths = view.project(points)
    for (x, y), depth, colour in zip(places, depths, colours, strict=True):
        if not np.isfinite(depth):
            continue
        left, top = math.floor(x - (size - 1) / 2), math.floor(y - (size - 1) / 2)
        for row in range(max(top, 0), min(top + size, view.height)):
            for column in range(max(left, 0), min(left + size, view.width)):
                if depth < front[row, column]:
                    front[row, column], image[row, column] = depth, colour
    return image


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("size", [1, 2, 3])
def test_what_is_nearer_covers_what_is_behind(view, size, random):
    points = random.uniform(-12, 12, (3000, 3))
    colours = random.integers(0, 256, (3000, 3)).astype(np.uint8)
    image = blank(view)
    draw_points(image, view, points, colours, size)
    np.testing.assert_array_equal(image, painted(view, points, colours, size))


def test_corners_are_those_of_turned_boxes(random):
    centre, size = random.uniform(-5, 5, (4, 3)), random.uniform(0.5, 3, (4, 3))
    turns = Rotation.random(4, random_state=3)
    found = box_corners(centre, turns.as_matrix(), size)
    for k in range(4):
        wanted = {
            tuple(np.round(turns[k].apply(np.array([x, y, z]) * size[k] / 2) + centre[k], 9))
            for x in (-1, 1)
            for y in (-1, 1)
            for z in (-1, 1)
        }
        assert {tuple(np.round(corner, 9)) for corner in found[k]} == wanted


def test_lines_end_where_the_viewer_stands():
    view = VIEWS[1]
    behind = np.array([[-20.0, -4.0, 5.0], [-30.0, -4.0, 5.0]])
    across = np.array([[3.0, 1.0, 0.0], [-20.0, -4.0, 5.0]])
    cut = view.clip(np.stack([behind, across]))
    assert np.isnan(cut[0]).all()
    assert cut[1, 0].tolist() == across[0].tolist()
    ahead = view.rotation[2]
    assert (cut[1, 1] - view.eye) @ ahead == pytest.approx(view.near)
    image = blank(view)
    draw_segments(image, view, behind[None], np.array([[255, 255, 255]]))
    assert (image == GROUND).all()


def test_a_box_has_twelve_edges_in_its_colour():
    corners = box_corners([[4, 2, 0.5]], np.eye(3)[None], [[4, 2, 1]])
    pictures = cloud_pictures([[9, 9, 0]], corners, (0, 255, 0), scale=CloudScale(10.0, 0.0, 1.0), size=200)
    assert pictures.top.shape == (200, 200, 3)
    assert pictures.perspective.shape == (200, 267, 3)
    rows, columns = np.nonzero(is_green(pictures.top))
    # x from 2 to 6 and y from 1 to 3, at 10 pixels a metre.
    assert (rows.min(), rows.max()) == pytest.approx((40, 80), abs=1)
    assert (columns.min(), columns.max()) == pytest.approx((70, 90), abs=1)
    assert is_green(pictures.perspective).any()


def is_green(image):
    """A line may lie between two rows of pixels, and has half its colour in both."""
    return (image[..., 1] > 110) & (image[..., 0] < 80)


def test_the_scale_holds_nearly_all_points(random):
    """96 % along each axis: x from 2 to 30 and y from -8 to 2, the origin with it, so 30 m along x; round is 30 m."""
    places = random.uniform((2, -8, -1), (30, 2, 5), (5000, 3))
    cloud = np.concatenate([places, [[math.nan, 1, 1], [0, 0, 0], [1, math.inf, 2]]])
    scale = CloudScale.of_clouds([cloud[:400], cloud[400:]])
    along = sorted(places[:, 0].tolist())[4899]
    assert scale.radius == 15.0
    assert scale.radius >= along / 2 > 12
    assert scale.centre == pytest.approx((along / 2, (-7.8 + 1.8) / 2), abs=0.1)
    heights = sorted(places[:, 2].tolist())
    assert scale.low == pytest.approx(heights[100], abs=0.02)
    assert scale.high == pytest.approx(heights[4899], abs=0.02)
    near = CloudScale.of_clouds([cloud], 3.0)
    assert (near.radius, near.centre) == (3.0, (0.0, 0.0))


def test_the_middle_of_the_picture_is_that_of_the_scale():
    scale = CloudScale(10.0, 0.0, 1.0, (30.0, -5.0))
    top = TopView(10.0, 40, scale.centre)
    assert top.project(np.array([[30.0, -5.0, 1.0], [40.0, 5.0, 0.0]]))[0].tolist() == [[20, 20], [0, 0]]
    behind, ahead = (
        PerspectiveView.behind(CloudScale(10.0, 0.0, 1.0, centre), 64, 48).project(np.array([[*centre, 0.0]]))[0]
        for centre in ((0.0, 0.0), (30.0, -5.0))
    )
    assert behind == pytest.approx(ahead)
    assert grid_places(scale, 0).tolist() == [20, 22, 24, 26, 28, 30, 32, 34, 36, 38, 40]
    assert grid_places(scale, 1).tolist() == [-14, -12, -10, -8, -6, -4, -2, 0, 2, 4]


@pytest.mark.parametrize(
    ("radius", "step"), [(1, 0.2), (2, 0.5), (4, 1), (5, 1), (8, 2), (10, 2), (20, 5), (30, 5), (50, 10), (100, 20)]
)
def test_the_grid_has_round_steps(radius, step):
    assert CloudScale(radius, 0.0, 1.0).step == pytest.approx(step)


@pytest.mark.parametrize("points", [np.empty((0, 3)), np.full((5, 3), math.nan), np.zeros((5, 3)), [[1.0, 0.0, 0.0]]])
def test_clouds_of_nothing_are_drawn(points):
    pictures = cloud_pictures(points, size=90)
    assert pictures.top.shape == (90, 90, 3)


def test_heights_have_the_colours_of_the_scale():
    scale = CloudScale(10.0, 0.0, 2.0)
    colours = scale.colours(np.array([-5.0, 0.0, 1.0, 2.0, 9.0])).astype(int).tolist()
    assert colours[0] == colours[1]
    assert colours[3] == colours[4]
    assert len({tuple(each) for each in colours[1:4]}) == 3
    assert colours[1][2] > colours[1][0]
    assert colours[3][0] > colours[3][2]
