"""A rectangle cut out of every image, against whole images with everything drawn into them."""

import numpy as np
import pytest

from simjudge.core.errors import UsageError
from simjudge.core.frames import FrameSet
from simjudge.core.images import ArrayImages
from simjudge.core.object_tables import Masks, Objects, Predictions
from simjudge.data.image_geometry import CropWindow, crop_images
from simjudge.data.set_parts import convert
from simjudge.data.sets import read_set

CROP = CropWindow(24, 16, 8, 5)


@pytest.fixture
def frames():
    rng = np.random.default_rng(0)
    box = [[10, 6, 20, 12], [4, 8, 14, 12], [0, 0, 10, 6], [30, 0, 38, 30], [9, 7, 9, 9]]
    whole = [np.zeros((30, 40), bool) for _ in box]
    for mask, (x0, y0, x1, y1) in zip(whole, box, strict=True):
        mask[y0:y1, x0:x1] = rng.random((y1 - y0, x1 - x0)) > 0.3
    masks = Masks.from_images([whole[0], whole[1], None, whole[3], None])
    objects = Objects.build([0, 0, 0, 1, 1], [1, 2, 2, 1, 1], box, [7, 8, 9, 7, 8], masks, distance=[1, 2, 3, 4, 5])
    found = Predictions.build([0, 1], [1, 1], [[9, 6, 21, 12], [0, 0, 5, 5]], [0.5, 0.9])
    images = ArrayImages([rng.integers(0, 255, (30, 40, 3), np.uint8) for _ in range(2)])
    return FrameSet.build("s", [(40, 30), (40, 30)], objects, found, images=images, class_names={1: "a", 2: "b"})


def test_pixels_boxes_and_masks_are_those_of_the_rectangle(frames):
    cut = crop_images(frames, CROP)
    assert (cut.size == [24, 16]).all()
    inside = np.s_[5:21, 8:32]
    assert np.array_equal(cut.images.read(1), frames.images.read(1)[inside])
    # 100 %, 60 %, 4 %, 13 % of the boxes lie inside, and one has no area
    assert cut.objects.box.tolist() == [[2, 1, 12, 7], [0, 3, 6, 7]]
    assert cut.objects.instance.tolist() == [7, 8]
    assert cut.objects.distance.tolist() == [1, 2]
    for row in range(2):
        expected = frames.objects.masks.to_image(row, 40, 30)[inside]
        assert np.array_equal(cut.objects.masks.to_image(row, 24, 16), expected)
    assert cut.predictions.box.tolist() == [[1, 1, 13, 7]]
    assert cut.losses.counts == {"labels outside of --crop": 3}


def test_a_crop_of_everything_changes_nothing(frames):
    cut = crop_images(frames, CropWindow(40, 30))
    assert np.array_equal(cut.images.read(0), frames.images.read(0))
    assert np.array_equal(cut.objects.box, frames.objects.box[:4])


def test_convert_cuts_and_the_folder_reads_back(frames, tmp_path):
    made = convert(frames, tmp_path / "cut", to="yolo", crop="24x16+8+5")
    back = read_set(tmp_path / "cut")
    assert np.allclose(back.objects.box, made.objects.box, atol=1e-6)
    assert np.array_equal(back.images.read(0), frames.images.read(0)[5:21, 8:32])


@pytest.mark.parametrize("text", ["", "24x16", "24x16+8", "0x16+0+0", "24x-1+0+0", "24x16+-1+0", "1e9x1+0+0", "9" * 12])
def test_what_is_no_rectangle_is_refused(text):
    with pytest.raises(UsageError, match="WIDTHxHEIGHT"):
        CropWindow.parse(text)


def test_an_image_that_is_too_small_is_named(frames):
    with pytest.raises(UsageError, match="image 000000 has 40 x 30 pixels"):
        crop_images(frames, CropWindow(40, 30, 1, 0))
