"""Range images against rays and points one by one."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simjudge.core.errors import SimjudgeError
from simjudge.data.clouds import Cloud, CloudBoxes, CloudPredictions, CloudSet
from simjudge.detectors.range_images import (
    FROM_POINTS,
    cast_cuboids,
    even_grid,
    mark_points,
    measure_grid,
    range_colours,
    range_image,
    scan_frames,
)

GRID = even_grid(-0.4, 0.3, 15, 90)
RINGS = np.radians([-15, -9, -5, -2, 0, 3])


def pointing(azimuth, elevation, distance):
    """Points in some directions."""
    level = np.cos(elevation) * distance
    return np.stack([level * np.cos(azimuth), level * np.sin(azimuth), np.sin(elevation) * distance], -1)


def random_cuboids(seed, count=5):
    rng = np.random.default_rng(seed)
    place = pointing(rng.uniform(-math.pi, math.pi, count), rng.uniform(-0.3, 0.2, count), rng.uniform(0.5, 9, count))
    return np.column_stack([place, rng.uniform(0.2, 3, (count, 3)), rng.uniform(-7, 7, count)])


def naive_distance(ray, cuboid):
    """Where a ray meets a cuboid: the nearest of its six faces that it goes through; None inside and beside it."""
    cos, sin = math.cos(cuboid[6]), math.sin(cuboid[6])
    axes = np.array([[cos, sin, 0], [-sin, cos, 0], [0, 0, 1]])
    half, middle = cuboid[3:6] / 2, axes @ cuboid[:3]
    if (np.abs(middle) < half).all():
        return None
    found = []
    for axis in range(3):
        for side in (-1, 1):
            along = axes[axis] @ ray
            distance = (middle[axis] + side * half[axis]) / along if along else -1
            other = np.delete(np.abs(axes @ (ray * distance) - middle) - half, axis)
            if distance > 0 and (other <= 0).all():
                found.append(distance)
    return min(found, default=None)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_rays_meet_the_nearest_cuboid(seed):
    cuboids, grid = random_cuboids(seed), even_grid(-0.3, 0.2, 5, 40)
    seen = cast_cuboids(cuboids, grid)
    own = np.zeros(len(cuboids))
    for row, elevation in enumerate(grid.elevation):
        for column, azimuth in enumerate(grid.azimuth):
            ray = pointing(azimuth, elevation, 1.0)
            met = [naive_distance(ray, cuboid) for cuboid in cuboids]
            own += [each is not None for each in met]
            distances = [math.inf if each is None else each for each in met]
            expected = int(np.argmin(distances)) if min(distances) < math.inf else -1
            assert seen.owner[row, column] == expected
    shown = [np.count_nonzero(seen.owner == k) for k in range(len(cuboids))]
    np.testing.assert_allclose(seen.share, np.divide(shown, own, out=np.zeros(len(own)), where=own > 0))


@pytest.mark.parametrize(("azimuth_deg", "column"), [(179.9, 0), (90, 22), (0.1, 44), (-0.1, 45), (-179.9, 89)])
def test_columns_go_from_behind_over_the_left(azimuth_deg, column):
    points = pointing(math.radians(azimuth_deg), GRID.elevation[[0, 7, 14]], 5.0)
    rows, columns = GRID.pixels(points)
    assert rows.tolist() == [0, 7, 14]
    assert set(columns.tolist()) == {column}
    assert GRID.azimuth[column] == pytest.approx(math.radians(azimuth_deg), abs=math.radians(4.01))


def test_points_beyond_the_rows_are_in_none():
    step = 0.7 / 14
    elevation = np.array([0.3 + 0.51 * step, 0.3 + 0.49 * step, -0.4 - 0.49 * step, -0.4 - 0.51 * step])
    assert GRID.pixels(pointing(np.zeros(4), elevation, 3.0))[0].tolist() == [-1, 0, 14, -1]


def test_a_pixel_has_its_nearest_point():
    points = pointing(np.array([0.5, 0.5, 0.5, 2.0]), np.zeros(4), np.array([9.0, 4.0, 6.0, 7.0]))
    image = range_image(points, GRID)
    np.testing.assert_allclose(np.sort(image[image > 0]), [4, 7])
    colours = range_colours(image)
    assert (colours[image == 0] == 0).all()
    assert (colours[image > 0].sum(-1) > 0).all()


def test_points_mark_the_pixels_of_their_cuboid():
    cuboids = np.array([[5, 0, 0, 2, 2, 1, 0.3], [8, 0, 0, 2, 9, 3, 0.0]], np.float64)
    points = np.array([[5, 0.1, 0.1], [5, -0.1, 0.2], [8, 3, 0], [8.5, 0.15, 0.16], [3, 3, 0]])
    seen = mark_points(points, cuboids, GRID)
    rows, columns = GRID.pixels(points)
    assert seen.owner[rows, columns].tolist() == [0, 0, 1, 0, -1]
    again = mark_points(points[::-1], cuboids, GRID)
    np.testing.assert_array_equal(again.owner, seen.owner)


def clouds_of(tables, boxes=None, **more):
    count = len(tables)
    return CloudSet(
        "made",
        [f"{n:03d}" for n in range(count)],
        np.arange(count) * 100_000_000,
        lambda n: Cloud(tables[n], where=f"cloud {n}"),
        boxes=boxes,
        class_names={0: "cone", 1: "car"},
        **more,
    )


def table_of(points, ring=None):
    names = [("x", "f4"), ("y", "f4"), ("z", "f4")] + ([] if ring is None else [("ring", "u2")])
    table = np.zeros(len(points), names)
    table["x"], table["y"], table["z"] = np.asarray(points).T
    if ring is not None:
        table["ring"] = ring
    return table


def turn_of(elevation, seed=0):
    rng = np.random.default_rng(seed)
    ring = np.repeat(np.arange(len(elevation)), 40)
    azimuth = rng.uniform(-math.pi, math.pi, len(ring))
    return pointing(azimuth, np.asarray(elevation)[ring], rng.uniform(1, 30, len(ring))), ring


@pytest.mark.parametrize("order", [np.arange(6), np.array([3, 0, 5, 1, 4, 2])])
def test_the_grid_has_the_rings_of_the_device(order):
    points, ring = turn_of(RINGS[order])
    grid = measure_grid(clouds_of([table_of(points, ring)]), 360)
    assert grid.rings
    np.testing.assert_allclose(grid.elevation, RINGS[::-1], atol=1e-6)
    assert "6 rings from -15.00 to 3.00 degrees, 360 columns" in grid.describe()


def test_without_steady_rings_the_rows_are_even():
    points, ring = turn_of(RINGS)
    moved = points + np.array([0, 0, 3])
    for table in (table_of(points), table_of(points, ring[::-1] // 7), table_of(moved, ring)):
        grid = measure_grid(clouds_of([table]), 360)
        assert not grid.rings
        assert grid.shape == (64, 360)
        np.testing.assert_allclose(np.diff(grid.elevation, 2), 0, atol=1e-9)
    with pytest.raises(SimjudgeError, match="made: no point"):
        measure_grid(clouds_of([table_of(points[:0])]))


def boxes_of(cloud, cuboids, class_id=None, kind=CloudBoxes, **more):
    count = len(cuboids)
    turned = np.column_stack([np.zeros((count, 2)), np.sin(cuboids[:, 6] / 2), np.cos(cuboids[:, 6] / 2)])
    ids = np.zeros(count, np.int64) if class_id is None else np.asarray(class_id)
    return kind(np.asarray(cloud), ids, np.arange(count), cuboids[:, :3], turned, cuboids[:, 3:6], **more)


@pytest.mark.parametrize("paint", ["cuboids", "points"])
def test_scans_become_frames(paint):
    cuboids = np.array(
        [
            [5, 0, 0, 1, 1, 1, 0.3],
            [-6, 0.1, 0, 1, 2, 1, 0.0],
            [10, 0, 0, 0.4, 0.4, 0.4, 0.0],
            [0, 4, 0, 1, 1, 1, 0.0],
        ]
    )
    boxes = boxes_of([0, 0, 0, 1], cuboids, [0, 1, 0, 1])
    around = pointing(*(grid.reshape(-1) for grid in np.meshgrid(GRID.azimuth, GRID.elevation)), 1.0)
    tables = []
    for rows in ([0, 1, 2], [3]):
        met = [min((naive_distance(ray, cuboids[k]) or 99 for k in rows), default=99) for ray in around]
        # Just behind the surface, so that rounding leaves no point outside.
        tables.append(table_of(around * (np.array(met) + 1e-3)[:, None]))
    found = boxes_of([0, 1], cuboids[[1, 3]], [7, 7], CloudPredictions, score=np.ones(2), points=np.zeros(2, np.int64))
    clouds = clouds_of(tables, boxes, labelled=np.ones(2, bool), predictions=found, predicted=np.ones(2, bool))
    made = scan_frames(clouds, GRID, paint)
    frames = made.frames
    assert made.classless
    assert "1 labelled objects show in no pixel" in made.notes[0]
    assert frames.cyclic
    assert frames.objects.instance.tolist() == [0, 1, 3]
    assert frames.objects.class_id.tolist() == [0, 1, 1]
    np.testing.assert_allclose(frames.objects.cuboid, cuboids[[0, 1, 3]], atol=1e-12)
    for row, box in enumerate(frames.objects.box.astype(int)):
        expected = [naive_distance(ray, frames.objects.cuboid[row]) is not None for ray in around]
        rows, columns = np.nonzero(np.reshape(expected, GRID.shape))
        x0, y0, x1, y1 = box
        assert (rows.min(), rows.max() + 1) == (y0, y1)
        assert set(columns.tolist()) == {column % 90 for column in range(x0, x1)}
        assert frames.objects.masks.crop(row).sum() == len(rows)
    # The second one stands behind the lidar, where the turn begins and ends.
    assert frames.objects.box[1, 0] < 90 < frames.objects.box[1, 2]
    np.testing.assert_array_equal(frames.predictions.box, frames.objects.box[[1, 2]])
    assert frames.images.read(0).shape == (15, 90, 3)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"size": np.array([[1, 0, 1.0]])}, "box 0 .cloud 0. is no cuboid, of size 1 x 0 x 1"),
        ({"centre": np.array([[np.nan, 0, 0]])}, "is no cuboid"),
        ({"orientation": np.zeros((1, 4))}, "is no cuboid"),
    ],
)
def test_boxes_that_are_no_cuboids_are_named(change, said):
    boxes = boxes_of([0], np.array([[5, 0, 0, 1, 1, 1, 0.0]]))
    made = clouds_of([table_of(np.ones((3, 3)))], replace(boxes, **change), labelled=np.ones(1, bool))
    with pytest.raises(SimjudgeError, match=said):
        scan_frames(made, GRID)


def test_nothing_labelled_and_clouds_that_cannot_be_read_are_said():
    with pytest.raises(SimjudgeError, match="no cuboids that are labelled"):
        scan_frames(clouds_of([table_of(np.ones((3, 3)))]), GRID)
    boxes = boxes_of([0, 1], np.array([[5, 0, 0, 1, 1, 1, 0.0]] * 2))
    tables = [np.zeros(2, [("x", "f4")]), table_of([[5, 0, 0.1]])]
    frames = scan_frames(clouds_of(tables, boxes, labelled=np.ones(2, bool)), GRID, FROM_POINTS).frames
    assert frames.labelled.tolist() == [False, True]
    assert len(frames.objects) == 1
    assert "1 cloud that cannot be read" in frames.losses.lines()[0]
