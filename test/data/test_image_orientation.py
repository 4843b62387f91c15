"""Data sets turned over, against images turned over; and pictures that EXIF turns."""

import io
import json

import numpy as np
import pytest
from PIL import Image

from simjudge.core.errors import SimjudgeError
from simjudge.core.frames import FrameSet
from simjudge.core.images import ArrayImages
from simjudge.core.object_tables import Masks, Objects, Predictions
from simjudge.data.image_geometry import flip_vertically
from simjudge.data.sets import read_set, write_set


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


def upright_picture(orientation, box=(4, 10, 20, 30)):
    """The bytes of a JPEG stored turned by EXIF, 48x64 when upright, red in the box (x0, y0, x1, y1)."""
    upright = np.full((64, 48, 3), 255, np.uint8)
    x0, y0, x1, y1 = box
    upright[y0:y1, x0:x1] = (255, 0, 0)
    stored = {1: upright, 3: np.rot90(upright, 2), 6: np.rot90(upright, 1), 8: np.rot90(upright, -1)}[orientation]
    exif = Image.Exif()
    exif[274] = orientation
    buffer = io.BytesIO()
    Image.fromarray(np.ascontiguousarray(stored)).save(buffer, "JPEG", exif=exif, quality=95)
    return buffer.getvalue()


def is_red_inside(frames):
    x0, y0, x1, y1 = frames.objects.box[0].astype(int)
    return frames.images.read(0)[y0 + 2 : y1 - 2, x0 + 2 : x1 - 2].astype(int).mean((0, 1)) @ (1, -1, -1) > 200


@pytest.mark.parametrize("orientation", [1, 3, 6, 8])
def test_labels_made_on_the_upright_picture_fit_it_everywhere(tmp_path, orientation):
    """What OpenCV and labelling tools show; in COCO the sizes too; and in a recording, where EXIF is of no account."""
    (tmp_path / "set/images").mkdir(parents=True)
    (tmp_path / "set/labels").mkdir()
    (tmp_path / "set/images/a.jpg").write_bytes(upright_picture(orientation))
    (tmp_path / "set/labels/a.txt").write_text("0 0.25 0.3125 0.3333333333 0.3125\n")
    frames = read_set(tmp_path / "set")
    assert frames.size.tolist() == [[48, 64]]
    np.testing.assert_allclose(frames.objects.box, [[4, 10, 20, 30]], atol=1e-6)
    assert is_red_inside(frames)
    for name, form in (("coco", "coco"), ("cvat", "cvat"), ("set.mcap", None), ("yolo", "yolo")):
        write_set(frames, tmp_path / name, form)
        again = read_set(tmp_path / name)
        assert again.size.tolist() == [[48, 64]]
        assert not again.losses
        assert is_red_inside(again)
    content = json.loads((tmp_path / "coco/annotations.json").read_text())
    assert (content["images"][0]["width"], content["images"][0]["height"]) == (48, 64)


def test_labels_made_on_the_stored_picture_are_not_taken_for_upright_ones(tmp_path):
    (tmp_path / "a.jpg").write_bytes(upright_picture(6))
    images = [{"id": 1, "file_name": "a.jpg", "width": 64, "height": 48}]
    content = {"images": images, "annotations": [], "categories": [{"id": 1, "name": "x"}]}
    (tmp_path / "annotations.json").write_text(json.dumps(content))
    with pytest.raises(SimjudgeError, match="is 48x64, said 64x48; labelled without regard to its EXIF orientation"):
        read_set(tmp_path)
