"""A simulated camera's topics on real DDS: every message of a frame under one stamp, byte for byte what was given."""

from pathlib import Path

import numpy as np
import pytest

rclpy = pytest.importorskip("rclpy", reason="rclpy is not installed: pip install simjudge[ros]")
pytest.importorskip("simjudge_msgs", reason="simjudge_msgs is not installed: make setup-ros")

import simulated_source as source  # noqa: E402
from rclpy.qos import qos_profile_sensor_data  # noqa: E402
from sensor_msgs.msg import CameraInfo, CompressedImage, Image  # noqa: E402
from simjudge_msgs.msg import LabelledObjectArray  # noqa: E402

from simjudge.core.images import encode_jpeg  # noqa: E402
from simjudge.nodes.messages import message_stamp, to_rgb  # noqa: E402
from simjudge.sim.sensors.camera.camera_file import read_camera  # noqa: E402

SOURCE = Path(source.__file__)
TOPICS = {
    "image_raw": Image,
    "image_raw/compressed": CompressedImage,
    "camera_info": CameraInfo,
    "ground_truth": LabelledObjectArray,
    "semantic": Image,
    "instance": Image,
    "depth/image_raw": Image,
    "depth/camera_info": CameraInfo,
}
FIRST, SECOND = 1_500_000_000, 2_000_000_000


def test_every_topic_of_a_frame(graph):
    heard = {}
    for topic, kind in TOPICS.items():

        def take(message, topic=topic):
            heard.setdefault(topic, {})[message_stamp(message)] = message

        graph.node.create_subscription(kind, f"camera/{topic}", take, qos_profile_sensor_data)
    process = graph.start(SOURCE)
    both = ("image_raw", "image_raw/compressed", "camera_info", "ground_truth")
    wanted = {topic: {FIRST, SECOND} if topic in both else {FIRST} for topic in TOPICS}
    whole = graph.until(lambda: {topic: set(messages) for topic, messages in heard.items()} == wanted)
    assert whole, graph.output(process)
    assert graph.stop(process) == 0, graph.output(process)
    assert {message.header.frame_id for messages in heard.values() for message in messages.values()} == {"lens"}

    for stamp in (FIRST, SECOND):
        np.testing.assert_array_equal(to_rgb(heard["image_raw"][stamp]), source.PICTURE)
    jpeg = heard["image_raw/compressed"]
    assert bytes(jpeg[SECOND].data) == source.JPEG
    assert bytes(jpeg[FIRST].data) == encode_jpeg(source.PICTURE, 95)
    assert {message.format for message in jpeg.values()} == {"jpeg"}

    info = heard["camera_info"][FIRST]
    lens = read_camera("art1").lens
    assert (info.width, info.height, info.distortion_model) == (1280, 720, "plumb_bob")
    np.testing.assert_allclose(info.d, [*lens.coefficients[:2], 0, 0, lens.coefficients[2]])
    np.testing.assert_allclose(
        np.reshape(info.k, (3, 3)), [[lens.focal[0], 0, 639.5], [0, lens.focal[1], 359.5], [0, 0, 1]]
    )

    truth = heard["ground_truth"][FIRST]
    assert (truth.frame_name, truth.image_width, truth.image_height) == ("first", 1280, 720)
    assert [(each.id, each.name) for each in truth.class_names] == [(1, "red cone"), (2, "green cone")]
    found = [(o.class_id, o.class_name, o.instance_id, o.box.x0, o.box.y0, o.box.x1, o.box.y1) for o in truth.objects]
    assert found == [(1, "red cone", 7, 10, 20, 30.5, 40), (2, "green cone", 65_535, -3, 0, 5, 6)]
    known = [value for each in truth.objects for value in (each.distance, each.visible)]
    np.testing.assert_array_equal(known, [2.3, np.nan, np.nan, 0.7])
    assert (heard["ground_truth"][SECOND].frame_name, heard["ground_truth"][SECOND].objects) == ("2_000000000", [])

    images = {"semantic": ("8UC1", source.LABELS.class_id), "instance": ("16UC1", source.LABELS.instance)}
    images["depth/image_raw"] = ("32FC1", source.DEPTH)
    assert heard["depth/camera_info"][FIRST] == info
    for topic, (encoding, values) in images.items():
        message = heard[topic][FIRST]
        assert (message.width, message.height, message.encoding) == (1280, 720, encoding)
        assert (message.step, message.is_bigendian) == (1280 * values.itemsize, 0)
        np.testing.assert_array_equal(np.frombuffer(message.data, values.dtype).reshape(720, 1280), values)
