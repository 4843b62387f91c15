"""camera_bridge_node on real DDS: bytes unchanged, stamps and frames right, camera info, undistortion, refusals."""

import re
import signal
import time
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import yaml
from diagnostic_states import States

rclpy = pytest.importorskip("rclpy", reason="rclpy is not installed: pip install simjudge[ros]")

from rclpy.qos import qos_profile_sensor_data  # noqa: E402
from sensor_msgs.msg import CameraInfo, CompressedImage, Image  # noqa: E402
from simjudge_msgs.msg import DetectionArray  # noqa: E402

from simjudge.nodes.messages import message_stamp, to_rgb  # noqa: E402
from simjudge.sim.sensors.camera.calibration import read_calibration  # noqa: E402

SOURCE = Path(__file__).with_name("camera_source.py")
ERROR = b"\2"


def calibration(folder, size=(320, 240), centre=None):
    """A strongly distorting camera's calibration file."""
    cx, cy = centre or ((size[0] - 1) / 2, (size[1] - 1) / 2)
    k = [250.0, 0.0, cx, 0.0, 250.0, cy, 0.0, 0.0, 1.0]
    content = {
        "image_width": size[0],
        "image_height": size[1],
        "camera_name": "front",
        "camera_matrix": {"rows": 3, "cols": 3, "data": k},
        "distortion_model": "plumb_bob",
        "distortion_coefficients": {"rows": 1, "cols": 5, "data": [-0.3, 0.1, 0.0, 0.0, 0.0]},
    }
    path = folder / "camera.yaml"
    path.write_text(yaml.safe_dump(content))
    return path


@pytest.fixture
def listen(graph):
    """Subscribes to a topic; the list of what arrives."""

    def to(kind, topic):
        heard = []
        graph.node.create_subscription(kind, topic, heard.append, qos_profile_sensor_data)
        return heard

    return to


@pytest.fixture
def diagnostics(graph):
    return States(graph.node)


def by_stamp(messages):
    return {message_stamp(message): message for message in messages}


def test_jpeg_passes_unchanged_with_camera_info_and_what_is_asked_for(graph, listen, tmp_path):
    path = calibration(tmp_path)
    original = listen(CompressedImage, "/usb_cam/image/compressed")
    passed = listen(CompressedImage, "/camera/image_raw/compressed")
    raw, rect = listen(Image, "/camera/image_raw"), listen(Image, "/camera/image_rect")
    info = listen(CameraInfo, "/camera/camera_info")
    bridge = graph.start(
        "camera_bridge_node",
        "--ros-args",
        "-r",
        "image:=/usb_cam/image",
        "--",
        calibration=path,
        frame_id="camera_optical_frame",
    )
    assert graph.until(lambda: graph.node.count_publishers("/camera/image_rect"))
    graph.start(SOURCE, topic="/usb_cam/image", compressed=True, count=100, rate=20.0)
    everything = [original, passed, raw, rect, info]
    assert graph.until(lambda: all(len(heard) >= 20 for heard in everything)), graph.output(bridge)
    assert graph.stop(bridge) == 0, graph.output(bridge)

    sources, infos, raws, rects = by_stamp(original), by_stamp(info), by_stamp(raw), by_stamp(rect)
    assert len(sources.keys() & by_stamp(passed).keys() & infos.keys() & raws.keys() & rects.keys()) >= 15
    camera = read_calibration(path)
    undistort = camera.undistortion()
    for stamp, message in by_stamp(passed).items():
        assert message.header.frame_id == "camera_optical_frame"
        if stamp in sources:
            assert (message.data, message.format) == (sources[stamp].data, sources[stamp].format)
        if stamp in raws:
            np.testing.assert_array_equal(to_rgb(raws[stamp]), to_rgb(message))
        if stamp in rects:
            np.testing.assert_array_equal(to_rgb(rects[stamp]), undistort(to_rgb(message)))
            assert not np.array_equal(to_rgb(rects[stamp]), to_rgb(message))
    for message in info:
        assert message.header.frame_id == "camera_optical_frame"
        assert (message.width, message.height, list(message.d)) == (320, 240, [-0.3, 0.1, 0, 0, 0])
        np.testing.assert_array_equal(np.reshape(message.k, (3, 3)), camera.matrix)


def test_what_a_camera_published_before_it_was_taken_over_is_counted(graph, listen):
    heard = listen(CompressedImage, "/usb_cam/image/compressed")
    graph.start(SOURCE, topic="/usb_cam/image", compressed=True, count=10_000, rate=20.0, alone=True)
    assert graph.until(lambda: len(heard) >= 5)
    bridge = graph.start("camera_bridge_node", "--ros-args", "-r", "image:=/usb_cam/image")
    assert graph.until(lambda: "were published before this node listened" in graph.output(bridge)), graph.output(bridge)
    assert int(re.search(r"; (\d+) were published before", graph.output(bridge))[1]) >= 5


@pytest.mark.long
def test_damaged_jpeg_passes_too_and_is_counted_where_it_must_be_decoded(graph, listen):
    passed = listen(CompressedImage, "/camera/image_raw/compressed")
    raw = listen(Image, "/camera/image_raw")
    bridge = graph.start(
        "camera_bridge_node", "--ros-args", "-r", "image:=/usb_cam/image", "--", transport="compressed"
    )
    assert graph.until(lambda: graph.node.count_publishers("/camera/image_raw"))
    graph.start(SOURCE, topic="/usb_cam/image", compressed=True, count=6, damaged=3, rate=5.0)
    assert graph.until(lambda: len(passed) == 6 and len(raw) == 4), graph.output(bridge)
    assert [m.header.stamp.sec for m in raw] == [1, 2, 4, 5]
    assert graph.stop(bridge) == 3
    assert "left out 2 damaged images, not decoded: /usb_cam/image/compressed at 3.000 s" in graph.output(bridge)


@pytest.mark.long
def test_raw_720p_reaches_the_detector_through_the_bridge_without_loss(graph):
    heard = []
    graph.node.create_subscription(DetectionArray, "camera/detections", heard.append, 1000)
    bridge = graph.start("camera_bridge_node", "--ros-args", "-r", "image:=/front/raw", "--")
    detector = graph.start("detection_node", model="cones_red_green", every_frame=True)
    assert graph.until(lambda: graph.node.count_publishers("camera/detections"))
    assert graph.until(lambda: graph.node.count_subscribers("camera/image_raw"))
    source = graph.start(SOURCE, topic="/front/raw", reliability="best_effort", width=1280, height=720, count=60)
    graph.until(lambda: len(heard) == 60, timeout=45)
    assert [m.header.stamp.sec for m in heard] == list(range(1, 61)), graph.output(bridge) + graph.output(source)
    assert all(m.header.frame_id == "lens" for m in heard)
    assert [d.box.x0 for m in heard for d in m.detections] == list(range(21, 81))
    assert graph.stop(bridge, signal.SIGTERM) == 0
    assert graph.stop(detector) == 0


@pytest.mark.long
def test_images_without_a_stamp_are_told_and_stamped_on_arrival_if_asked(graph, listen, diagnostics):
    stamped = listen(Image, "/stamped")
    bridges = [
        graph.start(
            "camera_bridge_node",
            "--ros-args",
            "-r",
            "image:=/front/raw",
            "-r",
            f"__node:={name}",
            "-r",
            f"camera/image_raw:=/{name}",
            "-r",
            f"camera/image_raw/compressed:=/{name}/jpeg",
            "--",
            restamp=restamp,
        )
        for name, restamp in (("stamped", "arrival"), ("unstamped", "never"))
    ]
    assert graph.until(lambda: graph.node.count_publishers("/stamped"))
    graph.start(SOURCE, topic="/front/raw", stamped=False, count=400, rate=20.0)
    assert graph.until(lambda: len(stamped) >= 20), graph.output(bridges[0])
    stamps = [message_stamp(message) / 1e9 for message in stamped]
    assert all(0 < later - earlier < 5 for earlier, later in pairwise(stamps))
    assert stamps[-1] == pytest.approx(time.time(), abs=5)
    assert graph.until(lambda: "without a stamp: set restamp:=arrival" in diagnostics["unstamped: bridge"].message)
    # It names both topics until the first image has told which it is.
    taken = "images of /front/raw are taken over"
    assert graph.until(lambda: diagnostics["stamped: bridge"].message == taken), diagnostics["stamped: bridge"].message


@pytest.mark.long
@pytest.mark.parametrize("scale", [False, True])
def test_a_calibration_for_another_size_is_scaled_only_if_asked(graph, listen, diagnostics, tmp_path, scale):
    images, info = listen(Image, "/camera/image_raw"), listen(CameraInfo, "/camera/camera_info")
    path = calibration(tmp_path, (640, 480))
    bridge = graph.start(
        "camera_bridge_node", "--ros-args", "-r", "image:=/front/raw", "--", calibration=path, scale_calibration=scale
    )
    assert graph.until(lambda: graph.node.count_publishers("/camera/camera_info"))
    graph.start(SOURCE, topic="/front/raw", count=60, rate=20.0)
    name = "camera_bridge_node: calibration for 320x240"
    assert graph.until(lambda: len(images) > 5 and name in diagnostics), graph.output(bridge)
    if scale:
        assert graph.until(lambda: info)
        assert (info[0].width, info[0].height) == (320, 240)
        np.testing.assert_allclose(info[0].k, [125, 0, 159.5, 0, 125, 119.5, 0, 0, 1])
        return
    assert not info
    assert diagnostics[name].level == ERROR
    assert "for 640x480 and the images are 320x240" in diagnostics[name].message
    assert "set scale_calibration:=true" in diagnostics[name].message


@pytest.mark.long
def test_what_cannot_be_is_refused_in_one_line(graph, tmp_path):
    odd = calibration(tmp_path, centre=(80.0, 60.0))
    for given, reason in (
        ({"calibration": odd}, "the principal point (80.0, 60.0) is 25% off the middle of the 320x240 images"),
        ({"calibration": tmp_path / "absent.yaml"}, "absent.yaml: cannot be read"),
        ({"restamp": "sometimes"}, "must be one of never, arrival"),
    ):
        assert reason in graph.refusal("camera_bridge_node", **given)
    code, output = graph.run("camera_bridge_node", "--ros-args", "-r", "image:=camera/image_raw", "--")
    assert code == 1
    assert "/camera/image_raw is both taken and published" in output


@pytest.mark.long
def test_an_odd_calibration_is_used_with_a_warning_if_asked(graph, diagnostics, tmp_path):
    odd = calibration(tmp_path, centre=(80.0, 60.0))
    bridge = graph.start("camera_bridge_node", calibration=odd, calibration_check="warn")
    assert graph.until(lambda: "camera_bridge_node: calibration" in diagnostics), graph.output(bridge)
    assert "the principal point" in diagnostics["camera_bridge_node: calibration"].message
    assert graph.stop(bridge) == 0
