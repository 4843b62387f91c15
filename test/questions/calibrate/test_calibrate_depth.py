"""`simjudge sim calibrate depth` as it is run, on images of a known depth camera, from a folder and a recording."""

import cv2
import numpy as np
import pytest
import yaml
from rosbags.rosbag2 import Writer
from rosbags.typesys import Stores, get_typestore
from typer.testing import CliRunner

from simjudge.commands.app import app
from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.data import depth_images
from simjudge.data.depth_images import read_depth_images
from simjudge.questions.calibrate.depth import calibrate_depth
from simjudge.sim.sensors.camera.camera_file import read_camera
from simjudge.sim.sensors.camera.depth_filters import encode_depth_png

STORE = get_typestore(Stores.ROS2_HUMBLE)


def images(count=24):
    random = np.random.default_rng(3)
    truth = np.tile(np.linspace(1.0, 4.0, 96), (64, 1))
    out = []
    for _ in range(count):
        depth = truth + random.normal(size=truth.shape) * (0.001 + 0.002 * truth**2)
        out.append(np.where(random.random(truth.shape) < 0.05, np.nan, depth).astype(np.float32))
    return out


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("depth")
    for number, image in enumerate(images()):
        (place / f"{number:03d}.png").write_bytes(encode_depth_png(image)[0])
    return place


def test_the_file_makes_the_camera_that_was_recorded(folder, tmp_path):
    out = tmp_path / "depth.yaml"
    result = CliRunner().invoke(app, ["calibrate", "depth", str(folder), "--out", str(out)])
    assert result.exit_code == 0, result.output
    assert "24 depth images, 96x64" in result.output
    assert "lost away from edges" in result.output
    camera = tmp_path / "camera.yaml"
    camera.write_text("size: [96, 64]\nfield_of_view: 60\nrate: 10\n" + out.read_text())
    steps = {step.name: step.parameters for step in read_camera(camera).depth.steps}
    assert steps["axial_noise"]["quadratic"] == pytest.approx(0.002, rel=0.1)
    assert steps["holes"] == {"share": pytest.approx(0.05, rel=0.1), "size": 1}
    assert list(yaml.safe_load(out.read_text())) == ["depth"]


def test_recorded_images_are_those_of_the_files(folder, tmp_path):
    """16UC1 and 32FC1 messages, and a PNG behind the header of compressed_depth_image_transport."""
    types = STORE.types
    header = types["std_msgs/msg/Header"](types["builtin_interfaces/msg/Time"](1, 0), "camera")
    wanted, _ = read_depth_images(folder)
    bag = tmp_path / "bag"
    with Writer(bag, version=9) as writer:
        kind, packed = "sensor_msgs/msg/Image", "sensor_msgs/msg/CompressedImage"
        raw, metres, png = (
            writer.add_connection(topic, name, typestore=STORE)
            for topic, name in (("/depth", kind), ("/depth_metres", kind), ("/depth_png", packed))
        )
        for number, image in enumerate(wanted):
            height, width = image.shape
            values = np.nan_to_num(np.rint(image * 1000)).astype("<u2")
            for connection, encoding, data, size in (
                (raw, "16UC1", values, 2),
                (metres, "32FC1", np.ascontiguousarray(image, "<f4"), 4),
            ):
                message = types[kind](header, height, width, encoding, 0, size * width, data.ravel().view(np.uint8))
                writer.write(connection, number, STORE.serialize_cdr(message, kind))
            data = np.frombuffer(bytes(12) + cv2.imencode(".png", values)[1].tobytes(), np.uint8)
            message = types[packed](header, "16UC1; compressedDepth png", data)
            writer.write(png, number, STORE.serialize_cdr(message, packed))
    for topic in ("/depth", "/depth_metres", "depth_png"):
        found, losses = read_depth_images(bag, topic)
        assert not losses.lines()
        assert all(np.allclose(*pair, atol=1e-6, equal_nan=True) for pair in zip(found, wanted, strict=True))
    with pytest.raises(UsageError, match="--topic: name the depth images"):
        read_depth_images(bag)
    with pytest.raises(UsageError, match="--topic colour"):
        read_depth_images(bag, "colour")


def test_damaged_files_are_counted_and_colours_refused(folder, tmp_path):
    for number in range(12):
        (tmp_path / f"{number:02d}.png").write_bytes((folder / f"{number:03d}.png").read_bytes())
    (tmp_path / "cut.png").write_bytes((folder / "000.png").read_bytes()[:60])
    found, losses = read_depth_images(tmp_path)
    assert (len(found), len(losses.lines())) == (12, 1)
    other = tmp_path / "colours"
    other.mkdir()
    cv2.imwrite(str(other / "a.png"), np.zeros((4, 4, 3), np.uint8))
    with pytest.raises(SimjudgeError, match="and one channel"):
        read_depth_images(other)


def test_images_beyond_what_memory_holds_are_not_read_and_it_is_said(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(depth_images, "MOST_PIXELS", 12 * 64 * 96)
    found = calibrate_depth(folder, tmp_path / "few.yaml")
    assert found.calibration.frames == 12
    assert found.calibration.notes[-1].startswith("the first 12 images are read")
    assert not found.losses
    monkeypatch.setattr(depth_images, "MOST_PIXELS", 24 * 64 * 96)
    assert calibrate_depth(folder, tmp_path / "all.yaml", most=24).calibration.frames == 24


def test_out_must_be_yaml(folder, tmp_path):
    with pytest.raises(UsageError, match=r"ends in \.yaml"):
        calibrate_depth(folder, tmp_path / "depth.json")
