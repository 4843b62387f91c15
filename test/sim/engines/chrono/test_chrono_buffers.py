"""Buffers as Chrono lays them out, as our arrays."""

import struct

import numpy as np
import pytest
from PIL import Image

from simjudge.core.errors import SimjudgeError
from simjudge.sim.engines.chrono import modules as buffers
from simjudge.sim.engines.chrono.lenses import PhysCamera, saved_values
from simjudge.sim.engines.pinhole_pictures import average_blocks
from simjudge.sim.sensors.camera.lens import lens_with_field


class Buffer:
    """What SWIG wraps a buffer as: HasData, and a view of memory that is not ours."""

    def __init__(self, **data):
        self.memory = data

    def HasData(self):  # noqa: N802
        return all(value is not None for value in self.memory.values())

    def __getattr__(self, name):
        if name in self.__dict__.get("memory", {}):
            return lambda: self.memory[name]
        raise AttributeError(name)

    def __dir__(self):
        return ["HasData", *self.memory]


def test_row_0_is_the_bottom():
    memory = np.zeros((2, 3, 4), np.uint8)
    memory[0, :, 0], memory[1, :, 1] = 200, 100
    picture = buffers.rgb(Buffer(GetRGBA8Data=memory))
    assert picture.shape == (2, 3, 3)
    assert picture[0, 0].tolist() == [0, 100, 0]
    assert picture[1, 0].tolist() == [200, 0, 0]
    memory[:] = 7
    assert picture[0, 0].tolist() == [0, 100, 0], "Chrono may take its memory back"


def test_an_empty_buffer_and_one_without_numpy_are_named():
    with pytest.raises(SimjudgeError, match="no colours"):
        buffers.rgb(Buffer(GetRGBA8Data=None))
    with pytest.raises(SimjudgeError, match="without NumPy"):
        buffers.ranges(Buffer(Other=np.zeros(1)))


@pytest.mark.parametrize("value", [0.0, 0.003, 0.02, 0.18, 0.5, 1.0])
def test_light_comes_back_within_half_a_step(value):
    byte = np.uint8(round(value ** (1 / 2.2) * 255))
    back = float(buffers.linear(np.array([byte]))[0])
    steps = [((int(byte) + half) / 255) ** 2.2 if int(byte) + half > 0 else 0 for half in (-0.5, 0.5)]
    assert steps[0] - 1e-9 <= value <= steps[1] + 1e-9
    assert back == pytest.approx((int(byte) / 255) ** 2.2, rel=1e-6)


def test_means_of_blocks():
    picture = np.random.default_rng(0).random((6, 8, 3)).astype(np.float32)
    mean = average_blocks(picture, 2)
    for row, column in ((0, 0), (2, 3)):
        block = picture[2 * row : 2 * row + 2, 2 * column : 2 * column + 2].astype(float)
        assert mean[row, column] == pytest.approx(block.mean((0, 1)), rel=1e-6)
    assert np.array_equal(average_blocks(picture, 1), picture)


def test_depth_is_along_the_axis():
    lens = lens_with_field("pinhole", (9, 5), 90)
    rays = lens.rays()
    wall = (3.0 / rays[..., 2]).astype(np.float32)
    wall[0, 0] = 100.0
    depth = buffers.axial_depth(wall, rays, 100.0)
    assert np.isinf(depth[0, 0])
    assert depth[1:] == pytest.approx(3.0, rel=1e-6)
    assert depth.dtype == np.float32


CLASSES = np.array([[1, 2, 0], [300, 0, 65535]], np.uint16)
INSTANCES = np.array([[7, 1000, 0], [4660, 1, 2]], np.uint16)


@pytest.mark.parametrize("layout", ["words", "bytes"])
def test_labels_from_memory(layout):
    memory = np.stack([CLASSES, INSTANCES], -1)[::-1].copy()
    data = memory if layout == "words" else memory.view(np.uint8).reshape(2, 3, 4)
    found = buffers.labels(Buffer(GetSemanticData=data))
    assert np.array_equal(found[0], CLASSES)
    assert np.array_equal(found[1], INSTANCES)


def test_labels_from_a_file_of_chfiltersave(tmp_path):
    """ChFilterSave writes PixelSemantic (two uint16) as a four-channel PNG, flipped, top row first."""
    data = np.stack([CLASSES, INSTANCES], -1).copy().view(np.uint8).reshape(2, 3, 4)
    Image.fromarray(data, "RGBA").save(tmp_path / "frame_0.png")
    found = buffers.saved_labels(tmp_path / "frame_0.png")
    assert np.array_equal(found[0], CLASSES)
    assert np.array_equal(found[1], INSTANCES)


@pytest.mark.parametrize("pixels", [np.zeros((2, 2)), np.zeros((2, 2, 3), np.uint8), np.zeros((2, 2, 4), np.uint16)])
def test_what_are_no_labels(pixels):
    with pytest.raises(SimjudgeError, match="labels of shape"):
        buffers.split_labels(pixels)


def test_a_physical_picture_from_its_file(tmp_path):
    values = np.arange(2 * 3 * 4, dtype="<u2").reshape(2, 3, 4)
    path = tmp_path / "frame_0.bin"
    path.write_bytes(struct.pack("<4H", 3, 2, 4, 16) + values[::-1].tobytes())
    assert np.array_equal(saved_values(path), values)
    for damaged in (b"", path.read_bytes()[:-1], struct.pack("<4H", 3, 2, 1, 32) + values.tobytes()):
        path.write_bytes(damaged)
        with pytest.raises(SimjudgeError, match="frame_0"):
            saved_values(path)


def test_a_physical_sensors_width_gives_the_field():
    lens = lens_with_field("pinhole", (1280, 720), 80)
    camera = PhysCamera(focal_length=0.012)
    assert 2 * np.degrees(np.arctan(camera.sensor_width(lens) / 2 / 0.012)) == pytest.approx(80)
