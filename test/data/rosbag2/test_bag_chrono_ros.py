"""Recordings of Chrono::ROS, as ChROSCameraHandler (9.0.1 to 7689fbc0) writes a camera, are judged as they are.

rgba8, frame id the sensor's name, no camera_info, best effort; rows bottom first; stamped when published, so that a
image may come twice under two stamps.
"""

from pathlib import Path

import numpy as np
from bag_samples import SECOND, TYPES, header, write_mcap

from simjudge.data.image_geometry import flip_vertically
from simjudge.data.sets import read_set, write_set
from simjudge.detectors.detection import load_detector

COLOURS = Path(__file__).parents[3] / "config" / "detectors" / "cones_red_green.yaml"
WIDTH, HEIGHT = 80, 60


def scene():
    """A red cone, wide below, on grey, the way it should be seen."""
    image = np.full((HEIGHT, WIDTH, 3), 120, np.uint8)
    for row in range(20, 50):
        half = 2 + (row - 20) // 3
        image[row, 40 - half : 40 + half] = (200, 20, 20)
    return image


def published(stamp, image):
    rgba = np.dstack([image, np.full((HEIGHT, WIDTH, 1), 255, np.uint8)])
    data = np.ascontiguousarray(rgba[::-1]).reshape(-1)
    head = header(stamp)
    head.frame_id = "Camera Sensor"
    return TYPES.types["sensor_msgs/msg/Image"](head, HEIGHT, WIDTH, "rgba8", 0, 4 * WIDTH, data)


def recorded(folder):
    path = folder / "chrono.mcap"
    topic = "/chrono_ros_node/output/camera/data/image"
    write_mcap(path, [(topic, n * SECOND, published(n * SECOND, scene())) for n in range(1, 4)])
    return path


def test_images_without_camera_info_are_read_as_they_are(tmp_path):
    frames = read_set(recorded(tmp_path))
    assert len(frames) == 3
    assert not frames.losses
    assert np.array_equal(frames.images.read(0), scene()[::-1])


def test_turned_over_they_are_upright_and_a_detector_sees_them(tmp_path):
    frames = flip_vertically(read_set(recorded(tmp_path)))
    image = frames.images.read(1)
    assert np.array_equal(image, scene())
    found = load_detector(COLOURS)([image])[0]
    assert found.class_id.tolist() == [1]
    assert np.abs(found.box[0] - [29, 20, 51, 50]).max() < 4
    write_set(frames, tmp_path / "upright.mcap", None)
    assert np.array_equal(read_set(tmp_path / "upright.mcap").images.read(2), scene())
