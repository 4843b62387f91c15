"""ground_truth_node on real DDS: the labels of `simjudge data convert --simulator`, names that come late, losses."""

import json
import signal

import numpy as np
import pytest
from diagnostic_states import States
from simulated_worlds import NAMES, View, boxes_by_loop, stamps, view

rclpy = pytest.importorskip("rclpy", reason="rclpy is not installed: pip install simjudge[ros]")
pytest.importorskip("simjudge_msgs", reason="simjudge_msgs is not installed: pip install ./msgs")

from sensor_msgs.msg import Image  # noqa: E402
from simjudge_msgs.msg import LabelledObjectArray  # noqa: E402
from std_msgs.msg import String  # noqa: E402

from simjudge.nodes.messages import make_header, message_stamp  # noqa: E402
from simjudge.nodes.qos import reliable_qos  # noqa: E402

VIEWS = [view(number) for number in range(4)]
NAME = "ground_truth_node: labels"


def picture(stamp, values, encoding):
    kind = "<i4" if encoding == "32SC1" else "u1"
    data = np.ascontiguousarray(values.astype(kind)).tobytes()
    height, width = values.shape[:2]
    return Image(
        header=make_header(stamp, "cam"),
        height=height,
        width=width,
        encoding=encoding,
        step=len(data) // height,
        data=data,
    )


def labels_map(stamp, seen):
    number = seen.instances
    return picture(stamp, np.dstack([number % 256, number // 256, seen.classes]), "rgb8")


def boxes(message):
    return sorted((each.class_name, each.box.x0, each.box.y0, each.box.x1, each.box.y1) for each in message.objects)


def connected(graph, heard, send):
    """Send until the first answer comes: only then both directions are connected. What was heard is forgotten."""
    for number in range(1, 200):
        send(number)
        if graph.until(lambda: heard, 0.5):
            graph.until(lambda: False, 0.5)
            heard.clear()
            return number
    raise AssertionError("the node never answers")


@pytest.fixture
def heard(graph):
    out = []
    graph.node.create_subscription(LabelledObjectArray, "/camera/ground_truth", out.append, reliable_qos(100))
    return out


def test_pictures_become_the_labels_of_a_loop_over_the_pixels(graph, heard):
    out = graph.node.create_publisher(Image, "/segmentation/labels_map", reliable_qos(100))
    diagnostics = States(graph.node)
    process = graph.start(
        "ground_truth_node",
        "--ros-args",
        "-r",
        "simulator/pictures:=/segmentation/labels_map",
        "--",
        simulator="gazebo",
        classes=["1=red", "2=green"],
    )
    nothing = View(None, np.zeros_like(VIEWS[0].classes), np.zeros_like(VIEWS[0].classes))
    sent = connected(graph, heard, lambda number: out.publish(labels_map(number, nothing)))
    for stamp, seen in zip(stamps(4), VIEWS, strict=True):
        out.publish(labels_map(stamp, seen))
    assert graph.until(lambda: len(heard) == 4), graph.output(process)
    for message, stamp, seen in zip(heard, stamps(4), VIEWS, strict=True):
        assert (message_stamp(message), message.header.frame_id) == (stamp, "cam")
        assert (message.image_width, message.image_height) == seen.classes.shape[::-1]
        assert boxes(message) == boxes_by_loop(seen)
        for each in message.objects:
            area = each.mask.width * each.mask.height
            bits = np.unpackbits(np.frombuffer(bytes(each.mask.bits), np.uint8), count=area)
            kind, number = divmod(each.instance_id, 2**16)
            assert bits.sum() == ((seen.classes == kind) & (seen.instances == number)).sum()
    assert graph.until(lambda: int(diagnostics.value(NAME, "done") or 0) in range(5, 5 + sent))
    assert graph.stop(process) == 0, graph.output(process)


def test_pictures_wait_for_the_names_of_their_stamp(graph, heard, tmp_path):
    path = tmp_path / "isaac.yaml"
    path.write_text('pictures: {topic: "*", instance_from: value, names_from: "*", background: [BACKGROUND]}\n')
    out = graph.node.create_publisher(Image, "/simulator/pictures", reliable_qos(100))
    names = graph.node.create_publisher(String, "/simulator/names", reliable_qos(100))
    process = graph.start("ground_truth_node", simulator=path)

    def warm_up(number):
        stamped = {"time_stamp": {"sec": 0, "nanosec": number}}
        names.publish(String(data=json.dumps({"0": "BACKGROUND", **stamped})))
        out.publish(picture(number, np.zeros((8, 8)), "32SC1"))

    connected(graph, heard, warm_up)
    seen, (stamp, *_) = VIEWS[0], stamps(1)
    keys = sorted({(int(k), int(i)) for k, i in zip(seen.classes.flat, seen.instances.flat, strict=True) if k})
    numbers, table = np.zeros(seen.classes.shape, np.int64), {"0": "BACKGROUND"}
    for number, (kind, instance) in enumerate(keys, start=2):
        numbers[(seen.classes == kind) & (seen.instances == instance)] = number
        table[str(number)] = {"class": NAMES[kind]}
    out.publish(picture(stamp, numbers, "32SC1"))
    names.publish(String(data="{"))
    assert not graph.until(lambda: any(boxes(each) for each in heard), 1.0)
    heard.clear()
    names.publish(String(data=json.dumps({**table, "time_stamp": {"sec": stamp // 10**9, "nanosec": stamp % 10**9}})))
    assert graph.until(lambda: heard), graph.output(process)
    assert boxes(heard[0]) == boxes_by_loop(seen)
    # One whose names never come is labelled by the last ones when the node ends, and does not keep it from ending.
    heard.clear()
    out.publish(picture(stamp + 10**8, numbers, "32SC1"))
    assert not graph.until(lambda: heard, 1.0)
    process.send_signal(signal.SIGINT)
    assert graph.until(lambda: process.poll() is not None, 60.0), graph.output(process)
    assert process.returncode == 3, graph.output(process)
    assert graph.until(lambda: heard)
    assert boxes(heard[0]) == boxes_by_loop(seen)


def test_a_number_that_nothing_names_ends_the_node_with_one_line(graph):
    out = graph.node.create_publisher(Image, "/simulator/pictures", reliable_qos(100))
    process = graph.start("ground_truth_node", simulator="gazebo")
    assert graph.until(out.get_subscription_count)
    for stamp in range(1, 100):
        out.publish(labels_map(stamp, VIEWS[0]))
        if graph.until(lambda: process.poll() is not None, 1.0):
            break
    assert "means; give --class" in graph.output(process)


def test_a_form_that_the_simulator_lacks_is_refused(graph):
    process = graph.start("ground_truth_node", simulator="webots")
    assert graph.until(lambda: process.poll() is not None)
    assert "webots: has no pictures" in graph.output(process)
