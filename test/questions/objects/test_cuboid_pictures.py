"""The picture of cuboids: where each is drawn, against its place in metres."""

import numpy as np
import pytest
from cloud_samples import cloud_set, ground, table
from object_sets import block_drive

from simjudge.detectors.clouds.cuboid_settings import LidarCuboidFile
from simjudge.objects.lidar_series import lidar_objects
from simjudge.questions.objects.page import REAL, TRUE, VIRTUAL, cuboid_picture


def picture(real, virtual):
    found = lidar_objects(real, virtual, maps=False)
    return cuboid_picture(found.sides[0], found.sides[1], LidarCuboidFile())


def extent(pixels, colour):
    """First and last row and column of a colour."""
    rows, columns = np.nonzero((pixels == colour).all(axis=2))
    return rows.min(), rows.max(), columns.min(), columns.max()


def test_true_cuboids_and_points_are_where_they_are():
    drawn = picture(block_drive("real"), block_drive("sim", 1, shift=0.4))
    # Blocks of 1.0 m x 0.6 m lie 4 m apart along x and 6 m along y, with 2 m around them: 9 m x 10.6 m in all.
    assert drawn.title.endswith("from above, 9 x 11 m")
    height, width = drawn.pixels.shape[:2]
    assert height / width == pytest.approx(10.6 / 9, rel=0.01)
    metre = height / 10.6
    top, bottom, left, right = extent(drawn.pixels, TRUE)
    assert [top, height - 1 - bottom, left, width - 1 - right] == pytest.approx([2 * metre] * 4, abs=4)
    # The block further ahead stands to the right of the lidar's way: at the lower right of the picture.
    assert (drawn.pixels[bottom - 40 :, right - 40 :] == TRUE).all(axis=2).any()
    # The virtual blocks are 0.4 m further ahead, the real ones in place.
    real, virtual = (extent(drawn.pixels, colour)[3] for colour in (REAL, VIRTUAL))
    assert (virtual - real) / metre == pytest.approx(0.4, abs=0.15)


def test_without_cuboids_there_is_no_picture():
    real, virtual = (cloud_set([table(ground(seed=seed))] * 2, name=f"drive {seed}") for seed in (0, 1))
    assert picture(real, virtual) is None
