"""Images bent by a lens afterwards: pixels, label pictures and boxes against the lens's own rays, point by point."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from simjudge.core.errors import UsageError
from simjudge.core.frames import EncodedLabels, FrameSet
from simjudge.core.images import ArrayImages, encode_png
from simjudge.core.object_tables import Objects
from simjudge.sim.sensors.camera.camera_file import read_camera
from simjudge.sim.sensors.camera.filtering import Bend, bent, filter_images

SIZE = (64, 40)


@pytest.fixture
def camera(tmp_path):
    file = tmp_path / "bent.yaml"
    file.write_text("size: [64, 40]\nfield_of_view: 80\nlens: {model: radial, k1: -0.25, k2: 0.08}\nrate: 30\n")
    return file


def made():
    """Columns in red, rows in green; classes by quarter; one box in the middle, one in a corner."""
    x, y = np.meshgrid(np.arange(64), np.arange(40))
    image = np.stack([x * 4, y * 6, 0 * x], -1).astype(np.uint8)
    labels = ((x >= 32) + 2 * (y >= 20)).astype(np.uint8)
    objects = Objects.build([0, 0], [1, 1], [[24, 12, 40, 28], [0, 0, 6, 6]])
    frames = FrameSet.build("set", [SIZE], objects, images=ArrayImages([image]), class_names={1: "car"})
    return replace(frames, semantic=EncodedLabels([encode_png(labels[..., None])])), image, labels


def test_each_pixel_is_the_one_that_its_ray_met_in_the_straight_image(camera):
    frames, image, labels = made()
    bend = Bend.of(read_camera(camera))
    seen = bent(frames, bend)
    picture, classes = seen.images.read(0), seen.semantic.read(0)
    for column, row in [(0, 0), (63, 39), (31, 20), (10, 33), (50, 5)]:
        ray = bend.camera.lens.rays_at(np.array([column, row]))
        x, y = ray[:2] / ray[2] * bend.scale + (31.5, 19.5)
        assert picture[row, column, 0] == pytest.approx(4 * x, abs=1)
        assert picture[row, column, 1] == pytest.approx(6 * y, abs=1)
        assert classes[row, column] == labels[round(float(y)), round(float(x))]
    assert picture.shape == image.shape


def test_no_pixel_is_empty_and_the_corners_stay(camera):
    look_up = Bend.of(read_camera(camera)).look_up
    assert look_up[..., 0].min() >= -1e-3
    assert look_up[..., 0].max() <= 63 + 1e-3
    assert look_up[..., 1].min() >= -1e-3
    assert min(look_up[..., 0].min(), look_up[..., 1].min()) == pytest.approx(0, abs=1e-3)


def test_boxes_go_where_their_edges_go(camera):
    frames, _, _ = made()
    bend = Bend.of(read_camera(camera))
    box = bent(frames, bend).objects.box
    edge = [(x, y) for x in np.linspace(23.5, 39.5, 200) for y in (11.5, 27.5)]
    edge += [(x, y) for y in np.linspace(11.5, 27.5, 200) for x in (23.5, 39.5)]
    moved = bend.bent_points(np.array(edge)) + 0.5
    assert box[0] == pytest.approx([*moved.min(0), *moved.max(0)], abs=0.02)
    back = bend.look_up[20, 31]
    assert bend.bent_points(back[None].astype(float))[0] == pytest.approx([31, 20], abs=1e-3)


def test_filter_bends_first_and_then_filters(camera):
    frames, _, _ = made()
    seen = filter_images(frames, lens=camera)
    noisy = filter_images(frames, lens=camera, noise=2.55)
    difference = noisy.images.read(0).astype(float) - seen.images.read(0)
    assert 1 < difference[5:35, 5:59, :2].std() < 4
    assert np.array_equal(noisy.semantic.read(0), seen.semantic.read(0))


def test_what_cannot_be_bent_is_refused(camera):
    frames, _, _ = made()
    with pytest.raises(UsageError, match="bends no image"):
        filter_images(frames, lens=Path("plain"))
    with pytest.raises(UsageError, match="64x40"):
        filter_images(replace(frames, size=np.array([[64, 41]])), lens=camera)
