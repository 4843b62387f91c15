"""Masks as polygons and run lengths, against pycocotools and pixel by pixel."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pycocotools import mask as pycoco
from set_examples import mask_images

from simjudge.core.object_tables import Masks
from simjudge.data.format_support.mask_codec import (
    crop_mask,
    decode_rle_counts,
    mask_from_polygons,
    mask_from_rle,
    mask_to_polygon,
    mask_to_rle,
)

COORDINATE = st.integers(-100, 500).map(lambda v: v / 10)


def image_of(crop, width=40, height=30):
    if crop[0] is None:
        return np.zeros((height, width), bool)
    return Masks.from_crops([crop[0]], [crop[1]]).to_image(0, width, height)


@example([[(1.0, 0.0), (2.3, 0.0), (2.5, 0.9)]])
@given(st.lists(st.lists(st.tuples(COORDINATE, COORDINATE), min_size=3, max_size=7), min_size=1, max_size=3))
def test_polygons_equal_pycocotools_on_the_whole_image(polygons):
    flat = [[v for point in polygon for v in point] for polygon in polygons]
    expected = pycoco.decode(pycoco.merge(pycoco.frPyObjects(flat, 30, 40))).astype(bool)
    mine = mask_from_polygons([np.array(polygon, float) for polygon in polygons], 40, 30)
    np.testing.assert_array_equal(image_of(mine), expected)


@given(mask_images(40, 30))
def test_runs_there_and_back(image):
    masks = Masks.from_images([image])
    if image is None:
        return
    runs = mask_to_rle(masks, 0, 40, 30)
    np.testing.assert_array_equal(pycoco.decode(runs).astype(bool), image)
    np.testing.assert_array_equal(image_of(mask_from_rle(runs, 40, 30)), image)
    plain = np.diff(np.flatnonzero(np.diff(np.concatenate([[2], image.T.ravel(), [2]])))).tolist()
    expected = plain if not image[0, 0] else [0, *plain]
    assert decode_rle_counts(runs["counts"]) == expected


@pytest.mark.parametrize("counts", ["", "~~", "P", "\x00", 5, None, [1, 2], [1201], [-1, 1201], [600.0, 600.0]])
def test_runs_that_are_none(counts):
    with pytest.raises(ValueError, match="run lengths"):
        mask_from_rle({"size": [30, 40], "counts": counts}, 40, 30)


@pytest.mark.parametrize("shape", ["square", "disc", "pixel", "line", "corner"])
def test_outlines_hold_the_mask(shape):
    """Drawn again, the outline of a mask in one piece without holes is that mask (thin ones: nearly)."""
    rows, columns = np.mgrid[:30, :40]
    image = {
        "square": (rows > 4) & (rows < 20) & (columns > 7) & (columns < 30),
        "disc": (rows - 15) ** 2 + (columns - 20) ** 2 < 100,
        "pixel": (rows == 3) & (columns == 4),
        "line": (rows == 3) & (columns > 4) & (columns < 20),
        "corner": ((rows > 4) & (rows < 9) & (columns < 30)) | ((columns < 5) & (rows > 4)),
    }[shape]
    crop, origin = crop_mask(image)
    again = image_of(mask_from_polygons([mask_to_polygon(crop, origin)], 40, 30))
    assert (again & image).sum() / (again | image).sum() > 0.97


def test_wild_coordinates_are_quick_and_harmless():
    square = np.array([[-1e12, -1e12], [1e12, -1e12], [1e12, 1e12], [-1e12, 1e12]])
    assert image_of(mask_from_polygons([square], 40, 30)).all()
