"""replay_node on real DDS: the images of `simjudge sim replay`, live; what cannot be replayed is counted and said."""

import os

import numpy as np
import pose_samples as samples
import pytest
from diagnostic_states import States
from support import processes

rclpy = pytest.importorskip("rclpy", reason="rclpy is not installed: pip install simjudge[ros]")
pytest.importorskip("simjudge_msgs", reason="simjudge_msgs is not installed: make setup-ros")
pytest.importorskip("mujoco", reason="MuJoCo (the extra `sim`) is not installed")
pytest.importorskip("mitsuba", reason="Mitsuba (the extra `sim`) is not installed")

from geometry_msgs.msg import PoseStamped  # noqa: E402
from rclpy.qos import qos_profile_sensor_data  # noqa: E402
from sensor_msgs.msg import CameraInfo, Image  # noqa: E402
from simjudge_msgs.msg import LabelledObjectArray  # noqa: E402

from simjudge.data.rosbag2 import read_recording  # noqa: E402
from simjudge.geometry.poses import Pose  # noqa: E402
from simjudge.nodes.messages import message_stamp, to_rgb  # noqa: E402

SECOND, START = samples.SECOND, samples.START
STAMPS = [START + 20_000_000 + i * 300_000_000 for i in range(4)]
LATE = STAMPS[-1] + SECOND


def drive(seconds):
    """A slow curve on the lab's floor."""
    return Pose.from_euler(-3.3 + 0.1 * seconds, -1.2 + 0.5 * seconds, yaw=1.4 - 0.2 * seconds)


def info(stamp):
    kind = "sensor_msgs/msg/CameraInfo"
    roi = samples.new("sensor_msgs/msg/RegionOfInterest", x_offset=0, y_offset=0, height=0, width=0, do_rectify=False)
    return samples.new(
        kind,
        header=samples.header(stamp, "lens"),
        height=6,
        width=8,
        distortion_model="plumb_bob",
        d=np.zeros(5),
        k=np.zeros(9),
        r=np.zeros(9),
        p=np.zeros(12),
        binning_x=0,
        binning_y=0,
        roi=roi,
    )


def image(stamp):
    return samples.new(
        "sensor_msgs/msg/Image",
        header=samples.header(stamp, "lens"),
        height=6,
        width=8,
        encoding="mono8",
        is_bigendian=0,
        step=8,
        data=np.zeros(48, np.uint8),
    )


def poses(kind):
    """Poses every 0.1 s until shortly after the last of STAMPS."""
    for stamp in range(START, STAMPS[-1] + 200_000_000, 100_000_000):
        pose = drive((stamp - START) / SECOND)
        if kind == "tf":
            yield "/tf", stamp + 1, samples.transforms((stamp, "odom", "base_link", pose))
        else:
            yield "/where", stamp + 1, samples.odometry(stamp, pose)


def recording(path, kind, seen=image):
    """Images at STAMPS, one before the first pose and one long after the last."""
    rows = [("/cam", stamp, seen(stamp)) for stamp in (START - SECOND, *STAMPS, LATE)]
    return samples.write_messages(path, sorted([*rows, *poses(kind)], key=lambda row: row[1]))


@pytest.fixture
def camera(tmp_path):
    path = tmp_path / "small.yaml"
    path.write_text(
        "size: [160, 96]\nfield_of_view: 80\nsupersampling: 1\nrate: 5\nfilters:\n  - gaussian_noise: {sigma: 3}\n"
    )
    return path


@pytest.mark.long
@pytest.mark.parametrize("kind", ["odometry", "tf"])
def test_the_graph_gives_what_the_command_gives(graph, tmp_path, camera, kind):
    bag = recording(tmp_path / "real", kind)
    options = {"scene": "lab", "camera": camera, "seed": 2}
    command = [*processes.SIMJUDGE, "replay", bag, "--out", tmp_path / "sim.mcap"]
    command += [word for name, value in options.items() for word in (f"--{name}", str(value))]
    done = processes.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 3, done.stderr
    arguments = [f"{name}:={value}" for name, value in options.items()]
    live = processes.simjudge(
        "run",
        "replay",
        f"bag:={bag}",
        f"out:={tmp_path / 'live'}",
        *arguments,
        env=os.environ | graph.environment,
        timeout=200,
    )
    assert live.returncode == 3, live.stderr
    assert "left out 1 image before the first pose: an image at 1699999999.000 s" in live.stderr
    expected, got = read_recording(tmp_path / "sim.mcap"), read_recording(tmp_path / "live")
    assert expected.stamp.tolist() == got.stamp.tolist() == STAMPS
    assert list(got.frame_name) == list(expected.frame_name)
    np.testing.assert_array_equal(got.objects.instance, expected.objects.instance)
    np.testing.assert_array_equal(got.objects.box, expected.objects.box)
    assert len(expected.objects) > 5
    for index in range(4):
        np.testing.assert_array_equal(got.images.read(index), expected.images.read(index))


def heard(graph, kind, topic):
    out = {}
    graph.node.create_subscription(kind, topic, lambda m: out.update({message_stamp(m): m}), qos_profile_sensor_data)
    return out


@pytest.mark.long
def test_camera_info_is_enough_and_labels_come_as_images_too(graph, tmp_path, camera):
    bag = recording(tmp_path / "real", "odometry", info)
    semantic, instance = heard(graph, Image, "camera/semantic"), heard(graph, Image, "camera/instance")
    images, truth = heard(graph, Image, "camera/image_raw"), heard(graph, LabelledObjectArray, "camera/ground_truth")
    infos = heard(graph, CameraInfo, "camera/camera_info")
    states = States(graph.node)
    node = graph.start(
        "replay_node",
        "--ros-args",
        "-r",
        "poses:=/where",
        "-r",
        "camera_info:=/cam",
        "--",
        scene="lab",
        camera=camera,
        trigger="camera_info",
        pose_type="odometry",
        pose_reliability="reliable",
        reliability="reliable",
        every_frame=True,
        wait=3.0,
    )
    graph.start("play_node", bag=bag, reliability="reliable", wait_for_subscribers=["/where", "/cam"])
    everything = (semantic, instance, images, truth, infos)
    assert graph.until(lambda: all(set(each) == set(STAMPS) for each in everything), 60), graph.output(node)
    assert graph.until(lambda: states.value("replay_node: replay", "images that no poses came for") == "1", 20)
    assert states.value("replay_node: replay", "done") == "4"
    for stamp in STAMPS:
        ids = np.frombuffer(instance[stamp].data, np.uint16).reshape(96, 160)
        classes = np.frombuffer(semantic[stamp].data, np.uint8).reshape(96, 160)
        assert (semantic[stamp].encoding, instance[stamp].encoding) == ("8UC1", "16UC1")
        np.testing.assert_array_equal(ids > 0, classes > 0)
        for each in truth[stamp].objects:
            rows, columns = np.nonzero(ids == each.instance_id)
            box = (columns.min(), rows.min(), columns.max() + 1, rows.max() + 1)
            assert (each.box.x0, each.box.y0, each.box.x1, each.box.y1) == box
            assert set(classes[rows, columns]) == {each.class_id}
        assert to_rgb(images[stamp]).shape == (96, 160, 3)
        assert infos[stamp].width == 160
    assert graph.stop(node) == 3
    said = graph.output(node)
    assert "left out 1 image before the first pose" in said
    assert "left out 1 image that no poses came for" in said


def test_live_the_newest_image_that_has_poses_is_seen(graph, camera):
    """Images and poses far faster than frames can be made: none is waited for, none is a loss."""
    images = heard(graph, Image, "camera/image_raw")
    states = States(graph.node)
    node = graph.start("replay_node", scene="lab", camera=camera, reliability="reliable")
    real = graph.node.create_publisher(Image, "image", 100)
    where = graph.node.create_publisher(PoseStamped, "poses", 100)
    assert graph.until(lambda: real.get_subscription_count() and where.get_subscription_count())
    assert graph.until(lambda: states.value("replay_node: replay", "received") == "0")
    sent = []

    def send():
        stamp = START + len(sent) * 20_000_000
        pose, image = PoseStamped(), Image(height=1, width=1, encoding="mono8", step=1, data=[0])
        for message in (pose, image):
            message.header.stamp.sec, message.header.stamp.nanosec = divmod(stamp, SECOND)
        pose.pose.position.x, pose.pose.position.y, pose.pose.orientation.w = -3.3, -1.2 + 0.01 * len(sent), 1.0
        where.publish(pose)
        real.publish(image)
        sent.append(stamp)

    timer = graph.node.create_timer(0.02, send)
    assert graph.until(lambda: len(images) >= 5, 60), graph.output(node)
    timer.cancel()
    assert sorted(images) == list(images)
    assert set(images) <= set(sent)
    assert graph.until(lambda: int(states.value("replay_node: replay", "skipped for a newer one") or 0) > 0)
    assert graph.stop(node) in (0, 3), graph.output(node)


def test_without_poses_it_is_said_what_to_do(graph, camera):
    states = States(graph.node)
    node = graph.start("replay_node", scene="lab", camera=camera, wait=0.5, reliability="reliable")
    images = graph.node.create_publisher(Image, "image", 10)
    assert graph.until(images.get_subscription_count)
    image = Image(height=1, width=1, encoding="mono8", step=1, data=[0])
    image.header.stamp.sec = 5
    graph.node.create_timer(0.2, lambda: images.publish(image))
    said = "no poses come on /poses (pose_type pose); remap poses, or set pose_type"
    assert graph.until(lambda: states["replay_node: replay"].message == said, 60), graph.output(node)
    assert graph.until(lambda: states.value("replay_node: replay", "images that no poses came for") not in ("", "0"))
    assert graph.stop(node) == 3


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"scene": "moon"}, "error: replay_node: moon: neither a file nor the name of a scene"),
        ({"mount": "1,2"}, "error: replay_node: --mount 1,2: give x,y,z or x,y,z,yaw,pitch,roll in metres and degrees"),
        ({"pose_type": "path"}, "must be one of pose, pose_covariance, odometry, tf, not 'path'"),
    ],
)
def test_parameters_that_make_no_sense(graph, camera, given, said):
    code, output = graph.run("replay_node", **{"scene": "lab", "camera": camera, **given})
    assert code == 1
    assert said in output


def test_a_loop_is_refused(graph, camera):
    code, output = graph.run(
        "replay_node", "--ros-args", "-r", "image:=camera/image_raw", "--", scene="lab", camera=camera
    )
    assert code == 1
    assert "/camera/image_raw is both taken and published; remap one of them" in output
