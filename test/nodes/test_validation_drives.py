"""validation_node with reference drives, a real process on real DDS: the numbers of `compare-drives` afterwards."""

import json

import numpy as np
import pytest
from drive_samples import made_drive, write_csv

rclpy = pytest.importorskip("rclpy", reason="rclpy is not installed: pip install simjudge[ros]")
pytest.importorskip("simjudge_msgs", reason="simjudge_msgs is not installed: make setup-ros")

from nav_msgs.msg import Odometry  # noqa: E402
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy  # noqa: E402
from simjudge_msgs.msg import VehicleInput  # noqa: E402
from std_msgs.msg import String  # noqa: E402

from simjudge.questions.drives.run import compare_drive_sets  # noqa: E402
from simjudge.questions.drives.settings import DriveComparisonSettings  # noqa: E402

LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL, reliability=ReliabilityPolicy.RELIABLE)
RELIABLE = QoSProfile(depth=2000, reliability=ReliabilityPolicy.RELIABLE)
FEW = {"draws": 50}
ODOMETRY, INPUT = "/vehicle/odometry", "/vehicle/input"


def messages(drive):
    """The messages of a drive in order, with their topics."""
    out = []
    for n, seconds in enumerate(drive.time):
        stamp = 1_700_000_000_000_000_000 + round(seconds * 1e9)
        if n % 4 == 0:
            out.append((INPUT, VehicleInput(steering=float(drive.steering[n]), throttle=float(drive.throttle[n]))))
            stamped(out[-1][1], stamp)
        pose = Odometry(child_frame_id="base_link")
        pose.header.frame_id = "odom"
        place, turned = pose.pose.pose.position, pose.pose.pose.orientation
        place.x, place.y = (float(v) for v in drive.position[n])
        turned.z, turned.w = float(np.sin(drive.yaw[n] / 2)), float(np.cos(drive.yaw[n] / 2))
        pose.twist.twist.linear.x = float(drive.speed[n])
        stamped(pose, stamp)
        out.append((ODOMETRY, pose))
    return out


def stamped(message, nanoseconds):
    message.header.stamp.sec, message.header.stamp.nanosec = divmod(nanoseconds, 10**9)


@pytest.fixture(scope="module")
def reference(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reference")
    return [write_csv(folder / f"real_{seed}.csv", made_drive(seed)) for seed in range(5)]


@pytest.mark.long
def test_a_live_drive_is_compared_as_its_recording_is_afterwards(graph, reference, tmp_path):
    heard = []
    graph.node.create_subscription(String, "/validation/drives", heard.append, LATCHED)
    publishers = {
        topic: graph.node.create_publisher(kind, topic, RELIABLE)
        for topic, kind in ((ODOMETRY, Odometry), (INPUT, VehicleInput))
    }
    process = graph.start(
        "validation_node", reference_drives=reference, out=tmp_path / "out", summary_period=0.1, drive_window=0.4, **FEW
    )
    recorder = graph.start("record_node", out=tmp_path / "live", topics=[ODOMETRY, INPUT], depth=5000)
    assert graph.until(lambda: all(publisher.get_subscription_count() == 2 for publisher in publishers.values()))
    graph.wait_for(process, "5 reference drives")
    rows = messages(made_drive(100, bias=0.1))
    for part in np.array_split(np.arange(len(rows)), 4):
        before = len(heard)
        for number in part:
            topic, message = rows[number]
            publishers[topic].publish(message)
        # The same again while it drives: with each part more of the course.
        assert graph.until(lambda seen=before: len(heard) > seen), graph.output(process)
    growing = [json.loads(each.data)["metrics"][0]["verdict"] for each in heard]
    assert set(growing) == {"not_tested"}
    assert graph.stop(process) == 0, graph.output(process)
    assert f"{sum(topic == ODOMETRY for topic, _ in rows)} poses received" in graph.output(process)

    assert graph.stop(recorder) == 0, graph.output(recorder)
    settings = DriveComparisonSettings(window=0.4, **FEW)
    wanted = json.loads(json.dumps(compare_drive_sets(reference, [tmp_path / "live"], settings).content()))
    found = json.loads((tmp_path / "out" / "drives.json").read_text())
    for key in ("parameters", "course", "drawn", "units_real", "units_sim", "metrics", "overall", "notes", "losses"):
        assert found[key] == wanted[key], key


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"reference": "x"}, "not several of them"),
        ({"drive_cones": 2}, "cones: name the scene"),
        ({"input_type": "geometry_msgs/msg/Twist"}, "input_type: geometry_msgs/msg/Twist says no steering"),
    ],
)
def test_parameters_that_do_not_go_together_are_refused(graph, reference, more, said):
    line = graph.refusal("validation_node", reference_drives=reference, **more)
    assert said in line
