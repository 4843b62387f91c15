"""Data sets turned over, against images turned over."""

import numpy as np
import pytest

from simjudge.core.frames import FrameSet
from simjudge.core.images import ArrayImages
from simjudge.core.masks import Masks
from simjudge.core.object_tables import Objects, Predictions
from simjudge.data.image_orientation import flip_vertically


@pytest.fixture
def frames():
    rng = np.random.default_rng(0)
    masks = Masks.from_images([rng.random((30, 40)) > 0.5, None, rng.random((20, 20)) > 0.9])
    objects = Objects.build([0, 0, 1], [1, 2, 2], [[3, 4, 9, 10], [0, 0, 40, 30], [3, 4, 19, 20]], [4, 4, 5], masks)
    found = Predictions.build([1], [1], [[3, 4, 9, 11]], [0.5])
    images = ArrayImages([rng.integers(0, 255, (30, 40, 3), np.uint8), None])
    return FrameSet.build("s", [(40, 30), (20, 20)], objects, found, images=images)


def test_boxes_masks_and_images_turn_together(frames):
    turned = flip_vertically(frames)
    assert np.array_equal(turned.images.read(0), frames.images.read(0)[::-1])
    assert not turned.images.has(1)
    assert turned.images.read_encoded(0) is None
    for row in range(3):
        frame = frames.objects.frame[row]
        width, height = frames.size[frame]
        x0, y0, x1, y1 = frames.objects.box[row].astype(int)
        drawn = np.zeros((height, width), bool)
        drawn[y0:y1, x0:x1] = True
        a0, b0, a1, b1 = turned.objects.box[row].astype(int)
        assert drawn[::-1][b0:b1, a0:a1].all()
        assert drawn.sum() == (a1 - a0) * (b1 - b0)
        if frames.objects.masks.has(row):
            mask = frames.objects.masks.to_image(row, width, height)
            assert np.array_equal(turned.objects.masks.to_image(row, width, height), mask[::-1])
    assert turned.predictions.box.tolist() == [[3, 9, 9, 16]]


def test_twice_is_nothing(frames):
    back = flip_vertically(flip_vertically(frames))
    assert np.array_equal(back.images.read(0), frames.images.read(0))
    assert np.array_equal(back.objects.box, frames.objects.box)
    assert np.array_equal(back.objects.masks.bits, frames.objects.masks.bits)
    assert np.array_equal(back.objects.masks.origin, frames.objects.masks.origin)
