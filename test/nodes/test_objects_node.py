"""objects_node on real DDS: the same numbers as `simjudge robot objects`, lone frames counted, a clean end."""

from collections import Counter
from dataclasses import replace

import pytest
from diagnostic_states import States
from object_sets import block_drive, cone_set

rclpy = pytest.importorskip("rclpy", reason="rclpy is not installed: pip install simjudge[ros]")
pytest.importorskip("simjudge_msgs", reason="simjudge_msgs is not installed: pip install ./msgs")

from nav_msgs.msg import Odometry  # noqa: E402
from sensor_msgs.msg import PointCloud2  # noqa: E402
from simjudge_msgs.msg import Box, ClassName, LabelledObject, LabelledObjectArray, ObjectSummary  # noqa: E402
from visualization_msgs.msg import MarkerArray  # noqa: E402

from simjudge.data.rosbag2.cloud_writing import cloud_message  # noqa: E402
from simjudge.nodes.messages import make_header  # noqa: E402
from simjudge.nodes.qos import latched_qos, reliable_qos  # noqa: E402
from simjudge.nodes.runtime import message_class  # noqa: E402
from simjudge.objects.occupancy import occupancy_maps  # noqa: E402
from simjudge.objects.settings import OccupancySettings  # noqa: E402
from simjudge.questions.objects.run import compare_by_objects  # noqa: E402
from simjudge.questions.objects.settings import ObjectSettings  # noqa: E402

OK, WARN = b"\0", b"\1"
NAME = "objects_node: objects"
SIDES = ("real", "virtual")


def label_message(frames, index):
    """A labelled frame as the simulator publishes it."""
    rows = (frames.objects.frame == index).nonzero()[0].tolist()
    width, height = frames.size[index].tolist()
    out = LabelledObjectArray(
        header=make_header(int(frames.stamp[index]), f"{frames.name}_optical"),
        frame_name=frames.frame_name[index],
        image_width=width,
        image_height=height,
        class_names=[ClassName(id=number, name=name) for number, name in frames.class_names.items()],
    )
    for row in rows:
        x0, y0, x1, y1 = frames.objects.box[row].tolist()
        out.objects.append(
            LabelledObject(
                class_id=int(frames.objects.class_id[row]),
                class_name="cone",
                box=Box(x0=x0, y0=y0, x1=x1, y1=y1),
                instance_id=int(frames.objects.instance[row]),
            )
        )
    return out


@pytest.fixture
def live(graph):
    """Publishers of both sides, and what the node says."""
    node = graph.node
    publish = [
        node.create_publisher(LabelledObjectArray, f"{side}/camera/ground_truth", reliable_qos(1000)) for side in SIDES
    ]
    summaries, markers = [], []
    node.create_subscription(ObjectSummary, "objects/summary", summaries.append, latched_qos(1))
    node.create_subscription(MarkerArray, "objects/markers", markers.append, latched_qos(1))
    return publish, summaries, markers, States(node)


def started(graph, publish, **parameters):
    process = graph.start("objects_node", summary_period=0.1, window=0.0, **parameters)
    assert graph.until(lambda: all(each.get_subscription_count() for each in publish)), graph.output(process)
    return process


def test_the_numbers_are_those_of_simjudge_objects(graph, live):
    publish, summaries, markers, diagnostics = live
    sets = cone_set("real", 0, count=12, pictures=False), cone_set("virtual", 1, wider=0.5, count=12, pictures=False)
    process = started(graph, publish)
    for index in range(12):
        for side in (1, 0):
            publish[side].publish(label_message(sets[side], index))
    assert graph.until(lambda: summaries and summaries[-1].pairs == 12), graph.output(process)
    newest = make_header(int(sets[0].stamp[-1]), "real_optical")
    assert graph.until(lambda: markers and markers[-1].markers[1].header == newest)
    assert graph.until(lambda: diagnostics.value(NAME, "done") == "12")
    assert diagnostics[NAME].level == OK
    assert graph.stop(process) == 0, graph.output(process)
    assert "12 pairs compared" in graph.output(process)

    rows = compare_by_objects(*sets, None, ObjectSettings(follow="labels", sensor="camera")).compared["camera"].rows
    expected = {(row.metric, row.subject): row for row in rows}
    summary = summaries[-1]
    assert (summary.header.stamp.sec * 10**9 + summary.header.stamp.nanosec) == sets[0].stamp[-1]
    assert summary.header.frame_id == "real_optical"
    assert list(summary.losses) == []
    found = {each.metric for each in summary.metrics}
    assert found == {
        "box width",
        "box height",
        "centroid x",
        "centroid y",
        "objects",
        *(f"hu {i} (binary)" for i in range(1, 8)),
    }
    assert len(summary.metrics) == 4 * 3 + 8
    for each in summary.metrics:
        row = expected.pop((each.metric, each.subject))
        assert (each.real_mean, each.virtual_mean) == row.means
        assert (each.difference, each.unit) == (row.means[1] - row.means[0], row.unit)
        assert (each.low, each.high) == (row.difference.low, row.difference.high)
        assert each.frames == row.frames == 12

    boxes = {each.ns: each for each in markers[-1].markers if each.ns.endswith("boxes")}
    assert {name: (each.color.r, each.color.g, each.color.b) for name, each in boxes.items()} == {
        "real boxes": (1.0, 0.0, 0.0),
        "virtual boxes": (0.0, 1.0, 1.0),
    }
    assert [len(each.points) for each in boxes.values()] == [16, 16]
    x0, y0 = sets[0].objects.box[-2, :2].tolist()
    first = boxes["real boxes"].points[0]
    assert (first.x, first.y, first.z) == pytest.approx(((x0 - 32) / 64, (y0 - 24) / 64, 1.0))


def test_frames_without_a_partner_are_counted_and_said(graph, live):
    publish, summaries, _, diagnostics = live
    frames = cone_set("real", 0, count=4, pictures=False)
    process = started(graph, publish, wait=3.0)  # a busy machine can take a second between two messages
    for index in range(4):
        publish[0].publish(label_message(frames, index))
        if index != 1:
            publish[1].publish(label_message(frames, index))
    text = "1 real frame without a partner: /real/camera/ground_truth at 1700000000.100"
    assert graph.until(lambda: text in diagnostics[NAME].message), diagnostics[NAME].message
    assert diagnostics[NAME].level == WARN
    assert graph.until(lambda: f"left out: {text}" in diagnostics[NAME].message.partition("; ")[2])  # 5 s of silence
    assert "no real frame for 5 s" in diagnostics[NAME].message
    assert graph.stop(process) == 3
    graph.until(lambda: summaries and summaries[-1].losses, timeout=5)
    assert summaries[-1].pairs == 3
    assert any(line.startswith("1 real frame without a partner") for line in summaries[-1].losses)
    assert f"warning: left out {text}" in graph.output(process)


@pytest.mark.long
def test_it_says_whom_it_waits_for(graph, live):
    diagnostics = live[3]
    process = graph.start("objects_node", follow="predictions")
    text = "no real frame yet: nobody publishes /real/camera/detections; no virtual frame yet"
    assert graph.until(lambda: diagnostics[NAME].message.startswith(text))
    assert graph.stop(process) == 0


def scan_messages(clouds, index):
    """A scan, and the odometry of its stamp, both of the lidar's own frame."""
    stamp = int(clouds.stamp[index])
    scan = cloud_message(message_class, make_header(stamp, "lidar_link"), clouds[index].table)
    odometry = Odometry(header=make_header(stamp, "odom"), child_frame_id="lidar_link")
    pose, place = odometry.pose.pose, clouds.poses[index]
    pose.position.x, pose.position.y, pose.position.z = place.position
    pose.orientation.x, pose.orientation.y, pose.orientation.z, pose.orientation.w = place.orientation
    return scan, odometry


def cells(message):
    """How many cells of each colour a picture of maps has."""
    return Counter((each.r, each.g, each.b) for each in message.markers[0].colors)


def test_occupancy_maps_are_those_of_simjudge_objects(graph):
    node = graph.node
    kinds = ((PointCloud2, "scan/points"), (Odometry, "vehicle/odometry"))
    publish = [
        [node.create_publisher(kind, f"{side}/{topic}", reliable_qos(100)) for kind, topic in kinds] for side in SIDES
    ]
    summaries, markers = [], []
    node.create_subscription(ObjectSummary, "objects/summary", summaries.append, latched_qos(1))
    node.create_subscription(MarkerArray, "objects/map/markers", markers.append, latched_qos(1))
    process = started(
        graph, [*publish[0], *publish[1]], sensor="lidar", wait=1.0, map_range=15.0, cells_per_metre=5.0, map_size=60.0
    )
    sets = block_drive("real"), block_drive("virtual", 1, shift=0.3)
    for index in range(8):
        for side, clouds in enumerate(sets):
            scan, odometry = scan_messages(clouds, index)
            publish[side][0].publish(scan)
            if (side, index) != (1, 7):  # whose pose never comes
                publish[side][1].publish(odometry)
    real, virtual = sets
    virtual = replace(
        virtual,
        cloud_name=virtual.cloud_name[:7],
        stamp=virtual.stamp[:7],
        poses=virtual.poses[:7],
        boxes=None,
        labelled=None,
    )
    expected = occupancy_maps(real, virtual, OccupancySettings(map_range=15.0, cells_per_metre=5.0))
    expected_cells = {
        (1.0, 1.0, 1.0): int((expected.real.occupied & expected.virtual.occupied).sum()),
        (1.0, 0.0, 0.0): int((expected.real.occupied & ~expected.virtual.occupied).sum()),
        (0.0, 1.0, 1.0): int((~expected.real.occupied & expected.virtual.occupied).sum()),
    }
    assert graph.until(lambda: summaries and (summaries[-1].scans_real, summaries[-1].scans_virtual) == (8, 7))
    assert graph.until(lambda: markers and cells(markers[-1]) == expected_cells)
    assert graph.stop(process) == 3, graph.output(process)
    assert "left out 1 virtual scan without a pose: /virtual/scan/points at 1700000000.7" in graph.output(process)

    occupied, found = expected.agreement.occupied, summaries[-1]
    assert 0.1 < occupied.f1 < 0.9
    assert (found.map_f1, found.map_iou) == (occupied.f1, occupied.iou)
    assert (found.map_precision, found.map_recall) == (occupied.precision, occupied.recall)
    assert markers[-1].markers[0].header.frame_id == "odom"
