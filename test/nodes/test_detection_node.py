"""detection_node on real DDS: the same numbers as `simjudge detect`, nothing lost, the model swapped, trouble said."""

import re
import signal
from pathlib import Path

import numpy as np
import pytest
from diagnostic_states import States
from support import processes

rclpy = pytest.importorskip("rclpy", reason="rclpy is not installed: pip install simjudge[ros]")

from rcl_interfaces.srv import SetParameters  # noqa: E402
from rclpy.parameter import Parameter  # noqa: E402
from rclpy.qos import qos_profile_sensor_data  # noqa: E402
from sensor_msgs.msg import Image  # noqa: E402
from simjudge_msgs.msg import DetectionArray  # noqa: E402

from simjudge.data.sets import read_set  # noqa: E402
from simjudge.nodes.messages import message_stamp, to_rgb  # noqa: E402

ROOT = Path(__file__).parents[2]
SOURCE = Path(__file__).with_name("camera_source.py")
RED = "cones_red_green"
NET = "real_signals_yolo11n"
OK, WARN, ERROR = b"\0", b"\1", b"\2"


@pytest.fixture
def detections(graph):
    """What arrives on camera/detections."""
    heard = []
    graph.node.create_subscription(DetectionArray, "camera/detections", heard.append, 1000)
    return heard


@pytest.fixture
def diagnostics(graph):
    return States(graph.node)


def started(graph, **parameters):
    """A detection node whose detections reach the test."""
    node = graph.start("detection_node", **parameters)
    assert graph.until(lambda: graph.node.count_publishers("camera/detections") or node.poll() is not None)
    graph.until(lambda: False, timeout=0.5)
    assert node.poll() is None, graph.output(node)
    return node


def slow_detector(folder, colours=30):
    """A detector of very many colours."""
    path = folder / "slow.yaml"
    each = "{name: red, hue: [345, 15], saturation: [0.5, 1], value: [0.5, 1], closing: 25}"
    path.write_text("classes:\n" + "".join(f"  {number}: {each}\n" for number in range(colours)))
    return path


def boxes(message):
    return [(d.box.x0, d.box.y0, d.box.x1, d.box.y1) for d in message.detections]


@pytest.mark.long
@pytest.mark.parametrize(("model", "min_score"), [(RED, 0.05), (NET, 0.001)])
def test_detections_are_those_of_simjudge_detect(graph, detections, tmp_path, model, min_score):
    bag = ROOT / "bags" / "sim.mcap"
    node = started(graph, model=model, min_score=min_score, every_frame=True)
    player = graph.start("play_node", bag=bag, rate=10.0, wait_for_subscribers=["/camera/image_raw/compressed"])
    command = [*processes.SIMJUDGE, "detect", bag, "--model", model, "--min-score", str(min_score)]
    processes.run([*command, "--out", tmp_path / "found.mcap"], check=True, capture_output=True)
    expected = read_set(tmp_path / "found.mcap")
    assert graph.until(lambda: len(detections) == len(expected)), graph.output(node) + graph.output(player)
    assert len(expected.predictions) > 40
    names = expected.class_names
    for frame, message in enumerate(detections):
        rows = np.flatnonzero(expected.predictions.frame == frame)
        # The command drops the model's classes that the set does not have.
        found = [d for d in message.detections if d.class_name in names.values()]
        assert message_stamp(message) == expected.stamp[frame]
        assert message.header.frame_id == "camera_optical_frame"
        assert (message.image_width, message.image_height) == tuple(expected.size[frame])
        assert [(d.box.x0, d.box.y0, d.box.x1, d.box.y1) for d in found] == [
            tuple(box) for box in expected.predictions.box[rows].tolist()
        ]
        assert [d.score for d in found] == expected.predictions.score[rows].tolist()
        assert [d.class_name for d in found] == [names[i] for i in expected.predictions.class_id[rows].tolist()]
        assert {c.name for c in message.class_names} >= set(names.values())
    assert graph.stop(node) == 0, graph.output(node)


@pytest.mark.long
@pytest.mark.parametrize("reliability", ["best_effort", "reliable"])
def test_nothing_of_720p_at_30_hz_is_lost(graph, detections, diagnostics, reliability):
    node = started(graph, model=RED, every_frame=True)
    source = graph.start(SOURCE, reliability=reliability, width=1280, height=720)
    graph.until(lambda: len(detections) == 90, timeout=45)
    assert [m.header.stamp.sec for m in detections] == list(range(1, 91)), graph.output(node) + graph.output(source)
    assert [boxes(m) for m in detections] == [[(i + 20, 80, i + 40, 120)] for i in range(1, 91)]
    assert graph.until(lambda: diagnostics.value("detection_node: detection", "done") == "90")
    name = "detection_node: images"
    assert graph.until(lambda: diagnostics.value(name, "received") == "90")
    assert diagnostics.value(name, "lost before arrival") == "0"
    # After some seconds of silence the other transport is listened to again.
    assert diagnostics.value(name, "reliability").split(", ")[0] == reliability
    assert graph.stop(node, signal.SIGTERM) == 0, graph.output(node)


@pytest.mark.long
def test_the_model_is_swapped_while_it_runs_and_a_bad_one_refused(graph, detections, tmp_path):
    other = tmp_path / "other.yaml"
    other.write_text("classes:\n  7: {name: cherry, hue: [345, 15], saturation: [0.5, 1], value: [0.5, 1]}\n")
    broken = tmp_path / "broken.onnx"
    broken.write_bytes(b"no net")
    overlays = []
    graph.node.create_subscription(Image, "camera/detections/overlay", overlays.append, qos_profile_sensor_data)
    node = started(graph, model=RED)
    graph.start(SOURCE, count=600, rate=20.0)
    assert graph.until(lambda: detections), graph.output(node)
    assert [c.name for c in detections[-1].class_names] == ["red", "green"]

    def set_parameter(name, value):
        request = SetParameters.Request(parameters=[Parameter(name, value=value).to_parameter_msg()])
        return graph.call(SetParameters, "/detection_node/set_parameters", request).results[0]

    for bad, reason in (("nothing.onnx", "neither a file nor"), (str(broken), "not a readable ONNX model")):
        answer = set_parameter("model", bad)
        assert not answer.successful
        assert bad in answer.reason
        assert reason in answer.reason
    count = len(detections)
    assert graph.until(lambda: len(detections) > count + 3)
    assert [d.class_name for d in detections[-1].detections] == ["red"]

    assert set_parameter("model", str(other)).successful
    assert graph.until(lambda: [c.name for c in detections[-1].class_names] == ["cherry"])
    assert [(d.class_id, d.class_name, d.score) for d in detections[-1].detections] == [(7, "cherry", 1.0)]

    assert not set_parameter("min_score", 1.5).successful
    assert set_parameter("model", NET).successful
    assert graph.until(lambda: len(detections[-1].class_names) == 7)
    assert set_parameter("min_score", 0.001).successful
    assert graph.until(lambda: len(detections[-1].detections) > 1)
    assert graph.until(lambda: overlays)
    assert (overlays[-1].width, overlays[-1].height, overlays[-1].header.frame_id) == (320, 240, "lens")
    assert np.ptp(to_rgb(overlays[-1]).reshape(-1, 3).astype(int), axis=0).min() > 0
    assert graph.stop(node) == 0, graph.output(node)


@pytest.mark.long
def test_live_work_looks_at_the_newest_image(graph, detections, diagnostics, tmp_path):
    node = started(graph, model=slow_detector(tmp_path, colours=300), transport="raw")
    graph.start(SOURCE, count=200, rate=100.0)
    assert graph.until(lambda: detections and detections[-1].header.stamp.sec == 200), graph.output(node)
    seen = [m.header.stamp.sec for m in detections]
    assert seen == sorted(set(seen))
    assert len(seen) < 200
    assert graph.until(lambda: diagnostics.value("detection_node: detection", "done") == str(len(seen)))
    skipped, lost = (
        int(diagnostics.value("detection_node: detection", key))
        for key in ("skipped for a newer one", "lost before arrival")
    )
    assert skipped + lost + len(seen) == 200
    assert graph.stop(node) == 0, "what is skipped in live work is no loss"


@pytest.mark.long
def test_a_slow_detector_makes_images_wait_and_loses_none(graph, detections, diagnostics, tmp_path):
    node = started(graph, model=slow_detector(tmp_path), every_frame=True, queue_mb=1.0)
    graph.start(SOURCE, count=40, rate=200.0)
    name = "detection_node: detection"
    graph.until(lambda: len(detections) == 40)
    assert [m.header.stamp.sec for m in detections] == list(range(1, 41)), graph.output(node)
    assert graph.until(lambda: "images come faster than slow works" in diagnostics[name].message)
    assert graph.stop(node) == 0, graph.output(node)


@pytest.mark.long
def test_images_that_still_wait_at_the_end_are_worked_on_or_counted(graph, detections, tmp_path):
    node = started(graph, model=slow_detector(tmp_path, colours=300), every_frame=True)
    source = graph.start(SOURCE, count=200, rate=100.0)
    graph.wait_for(source, "all published")
    assert graph.until(lambda: len(detections) > 0), graph.output(node)
    assert graph.stop(node) == 3
    said = re.search(r"ended: (\d+) images received, (\d+) detected on", graph.output(node))
    received, done = map(int, said.groups())
    assert 0 < done < received == 200
    assert f"{received - done} images that still waited when the node was ended" in graph.output(node)
    assert graph.until(lambda: len(detections) == done), "what was worked on is published"
    assert [m.header.stamp.sec for m in detections] == list(range(1, done + 1))


@pytest.mark.long
def test_damaged_images_are_counted_and_never_published_as_empty(graph, detections, diagnostics):
    node = started(graph, model=RED, every_frame=True)
    source = graph.start(SOURCE, compressed=True, count=9, damaged=3)
    graph.wait_for(source, "all published")
    assert graph.until(lambda: len(detections) == 6), graph.output(node)
    name = "detection_node: detection"
    assert graph.until(lambda: diagnostics[name].level == WARN and diagnostics.value(name, "received") == "9")
    assert [m.header.stamp.sec for m in detections] == [1, 2, 4, 5, 7, 8]
    assert diagnostics.value(name, "damaged images, not looked at") == "3"
    assert graph.stop(node) == 3
    assert "left out 3 damaged images, not looked at: /camera/image_raw/compressed at 3.000 s" in graph.output(node)


def test_unfitting_qos_is_a_diagnostic_that_names_the_fix(graph, diagnostics):
    node = started(graph, model=RED, reliability="reliable")
    graph.start(SOURCE, reliability="best_effort", alone=True)
    name = "detection_node: QoS of /camera/image_raw"
    assert graph.until(lambda: name in diagnostics, timeout=20), graph.output(node)
    assert diagnostics[name].level in (WARN, ERROR)
    assert "set reliability:=best_effort here" in diagnostics[name].message


@pytest.mark.long
def test_slow_images_are_no_silence(graph, detections):
    node = graph.start(Path(__file__).with_name("impatient_detection_node.py"), model=RED)
    graph.wait_for(node, "no image yet")
    graph.start(SOURCE, count=5, rate=1.0)
    assert graph.until(lambda: len(detections) >= 4), graph.output(node)
    said = graph.output(node)
    assert said.count("images come from /camera/image_raw") == 1, said
    assert said.count("no image for") <= 1, said


@pytest.mark.parametrize("ahead", [-2 * 3600, 0, 5])
def test_stamps_of_another_clock_are_no_delay(graph, detections, diagnostics, ahead):
    node = started(graph, model=RED)
    publisher = graph.node.create_publisher(Image, "camera/image_raw", 10)
    assert graph.until(publisher.get_subscription_count)
    image = Image(height=2, width=2, step=6, encoding="bgr8", data=bytes(12))

    def shown():
        now = graph.node.get_clock().now().nanoseconds + ahead * 10**9
        image.header.stamp.sec, image.header.stamp.nanosec = divmod(now, 10**9)
        publisher.publish(image)
        text = diagnostics.value("detection_node: detection", "stamp to detections mean (ms)")
        return text not in ("", "none yet") and text

    assert graph.until(shown), graph.output(node)
    assert shown().startswith("unknown") == (ahead != 0)
    # A node that goes by another clock is stale to nobody: diagnostics are stamped by the wall.
    assert not ahead or len(detections)


@pytest.mark.long
def test_silence_is_explained_and_similar_topics_are_named(graph, diagnostics):
    graph.start(SOURCE, topic="/front/camera/image", alone=True, count=1)
    # What simjudge itself draws is more similar by name, and no input.
    graph.start(SOURCE, topic="/camera/detections/overlay", alone=True, count=1)
    graph.start(SOURCE, topic="/camera/depth/image_raw", alone=True, count=1)
    node = started(graph, model=RED)
    name = "detection_node: images"
    assert graph.until(lambda: name in diagnostics, timeout=20), graph.output(node)
    assert diagnostics[name].level == WARN
    assert "waiting for /camera/image_raw or /camera/image_raw/compressed, which nobody publishes" in (
        diagnostics[name].message
    )
    hint = "remap with -r /camera/image_raw:=/front/camera/image"
    assert graph.until(lambda: hint in diagnostics[name].message), diagnostics[name].message
    assert not {"overlay", "depth"} & set(diagnostics[name].message.replace("/", " ").split())


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"model": "nothing.onnx"}, "nothing.onnx: neither a file nor"),
        ({}, "parameter model must be given"),
        ({"model": RED, "min_score": 2.0}, "min_score"),
        ({"model": RED, "transport": "pigeon"}, "must be one of auto, raw, compressed"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(graph, given, reason):
    assert reason in graph.refusal("detection_node", **given)
