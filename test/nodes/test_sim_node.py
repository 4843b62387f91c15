"""sim_node and drive_node on real DDS: in lock-step the library's own drive; every frame once; time only grows."""

from types import SimpleNamespace

import numpy as np
import pytest
import yaml
from defusedxml.ElementTree import fromstring
from diagnostic_states import States
from driving_scenes import ARCS, STRAIGHT, camera_file, scene_file

rclpy = pytest.importorskip("rclpy", reason="rclpy is not installed: pip install simjudge[ros]")
pytest.importorskip("mujoco", reason="MuJoCo (the extra `sim`) is not installed")
pytest.importorskip("mitsuba", reason="Mitsuba (the extra `sim`) is not installed")

from geometry_msgs.msg import Twist  # noqa: E402
from nav_msgs.msg import Odometry, Path  # noqa: E402
from rosgraph_msgs.msg import Clock  # noqa: E402
from sensor_msgs.msg import CameraInfo, Image, JointState, PointCloud2  # noqa: E402
from simjudge_msgs.msg import DetectionArray, LabelledObjectArray, VehicleInput  # noqa: E402
from std_msgs.msg import Float64, String  # noqa: E402
from std_srvs.srv import SetBool, Trigger  # noqa: E402
from tf2_msgs.msg import TFMessage  # noqa: E402
from visualization_msgs.msg import MarkerArray  # noqa: E402

from simjudge.nodes.messages import message_stamp, to_rgb  # noqa: E402
from simjudge.nodes.qos import latched_qos, reliable_qos, sensor_data_qos  # noqa: E402
from simjudge.sim.capture.lock_step import MotionSample  # noqa: E402
from simjudge.sim.driving.closed_loop import DrivenCommand, DrivenFrame  # noqa: E402
from simjudge.sim.driving.drive import DriveOptions, make_closed_loop  # noqa: E402
from simjudge.sim.vehicle.vehicle import read_vehicle  # noqa: E402

SLOW_LIMIT = 120


@pytest.fixture
def heard(graph):
    """All that a simulation publishes."""
    out = SimpleNamespace(
        clock=[], odometry=[], tf=[], fixed=[], truth=[], detections=[], info=[], inputs=[], joints=[], described=[]
    )
    ends = (
        (Clock, "/clock", out.clock),
        (Odometry, "vehicle/odometry", out.odometry),
        (TFMessage, "/tf", out.tf),
        (LabelledObjectArray, "camera/ground_truth", out.truth),
        (VehicleInput, "vehicle/input", out.inputs),
        (DetectionArray, "camera/detections", out.detections),
        (JointState, "joint_states", out.joints),
    )
    for kind, topic, into in ends:
        graph.node.create_subscription(kind, topic, into.append, reliable_qos(5000))
    graph.node.create_subscription(CameraInfo, "camera/camera_info", out.info.append, sensor_data_qos(1000))
    graph.node.create_subscription(TFMessage, "/tf_static", out.fixed.append, latched_qos(10))
    graph.node.create_subscription(String, "robot_description", out.described.append, latched_qos(10))
    return out


def start(graph, folder, arcs=STRAIGHT, wait_for=(), **parameters):
    """A simulation, begun once the test hears all that it listens to; it waits for a driver, if not told otherwise."""
    scene, camera = scene_file(folder, arcs), camera_file(folder)
    given = {"scene": scene, "camera": camera, "ground_truth_detections": True, **parameters}
    return graph.start("sim_node", wait_for=[*graph.listening(), *wait_for], **given)


def times(messages):
    return [message.clock.sec * 10**9 + message.clock.nanosec for message in messages]


@pytest.mark.long
def test_in_lock_step_the_nodes_drive_as_the_library_does(graph, heard, tmp_path):
    scene, camera = scene_file(tmp_path), camera_file(tmp_path)
    loop = make_closed_loop(DriveOptions(str(scene), str(camera), seed=2, images=False))
    events = list(loop.run())
    loop.engine.close()
    driver = graph.start("drive_node", camera=camera)
    assert graph.until(lambda: graph.node.count_publishers("vehicle/input"))
    driver_listens = ["drive_node camera/detections", "drive_node vehicle/odometry"]
    sim = start(graph, tmp_path, ARCS, seed=2, wait_for=driver_listens)
    assert graph.until(lambda: sim.poll() is not None, SLOW_LIMIT), graph.output(sim) + graph.output(driver)
    graph.until(lambda: False, timeout=0.5)
    assert sim.returncode == 0, graph.output(sim)
    assert "finished" in graph.output(sim)
    assert "touched nothing" in graph.output(sim)
    moved = [event for event in events if isinstance(event, MotionSample)]
    frames = [event for event in events if isinstance(event, DrivenFrame)]
    assert [message_stamp(message) for message in heard.odometry] == [event.time for event in moved]
    assert times(heard.clock) == sorted(set(times(heard.clock)))
    places = np.array([[m.pose.pose.position.x, m.pose.pose.position.y] for m in heard.odometry])
    np.testing.assert_array_equal(places, [event.state.pose.position[:2] for event in moved])
    for messages in (heard.truth, heard.detections, heard.info, heard.inputs):
        assert [message_stamp(message) for message in messages] == [frame.event.stamp for frame in frames]
    commands = [event.command for event in events if isinstance(event, DrivenCommand)]
    assert [m.steering for m in heard.inputs] == [command.steering for command in commands]
    for message, frame in zip(heard.truth, frames, strict=True):
        boxes = [(each.box.x0, each.box.y0, each.box.x1, each.box.y1) for each in message.objects]
        np.testing.assert_array_equal(np.reshape(boxes, (-1, 4)), frame.captured.truth.objects.box)
    fixed = [(t.header.frame_id, t.child_frame_id) for t in heard.fixed[0].transforms]
    sensors = [("base_link", "camera_link"), ("camera_link", "camera_optical_frame")]
    assert fixed == [("map", "odom"), *sensors, ("base_link", "chassis")]
    check_wheels(heard, [event.state for event in moved])
    assert graph.stop(driver) == 0, graph.output(driver)


def test_a_prefix_stands_before_all_frames_but_the_map_that_cars_share(graph, heard, tmp_path):
    images, paths, points = [], [], []
    graph.node.create_subscription(Image, "camera/image_raw", images.append, sensor_data_qos(100))
    graph.node.create_subscription(PointCloud2, "scan/points", points.append, sensor_data_qos(100))
    graph.node.create_subscription(Path, "gps/fix/path", paths.append, reliable_qos(100))
    sim = start(
        graph, tmp_path, frame_prefix="a/", sensors="art1", driver="other", lock_step=False, speed=0.5, limit=1.5
    )
    assert graph.until(lambda: points and images and heard.tf and paths, SLOW_LIMIT), graph.output(sim)
    graph.stop(sim)
    links = {(t.header.frame_id, t.child_frame_id) for m in (*heard.tf, *heard.fixed) for t in m.transforms}
    assert ("map", "a/odom") in links
    assert {name for pair in links for name in pair if not name.startswith("a/")} == {"map"}
    assert ("a/odom", "a/base_link") in links
    assert {(m.header.frame_id, m.child_frame_id) for m in heard.odometry} == {("a/odom", "a/base_link")}
    headed = {m.header.frame_id for m in (*images, *heard.info, *heard.truth, *points, *paths)}
    children = {child for _, child in links}
    assert headed - {"a/odom"} <= children
    assert "a/camera_optical_frame" in headed


def test_other_cars_of_the_scene_have_odometry_and_frames_of_their_own(graph, heard, tmp_path):
    leader = []
    graph.node.create_subscription(Odometry, "leader/vehicle/odometry", leader.append, reliable_qos(100))
    cars = {"leader": {"start": 2, "drive": {"along": "course", "speed": 1}}}
    scene = tmp_path / "cars.yaml"
    scene.write_text(yaml.safe_dump({"extends": str(scene_file(tmp_path, STRAIGHT)), "cars": cars}))
    sim = start(graph, tmp_path, scene=str(scene), driver="other", lock_step=False, speed=0.5, limit=1.5)
    assert graph.until(lambda: len(leader) > 20 and len(heard.odometry) > 20, SLOW_LIMIT), graph.output(sim)
    graph.stop(sim)
    assert {(m.header.frame_id, m.child_frame_id) for m in leader} == {("odom", "leader/base_link")}
    assert {message_stamp(m) for m in leader[:20]} <= {message_stamp(m) for m in heard.odometry}
    assert leader[20].pose.pose.position.x > leader[0].pose.pose.position.x > heard.odometry[0].pose.pose.position.x + 1
    links = {(t.header.frame_id, t.child_frame_id) for m in heard.tf for t in m.transforms}
    assert ("odom", "leader/base_link") in links


def check_wheels(heard, states):
    """The description, the joints and the transforms of the wheels tell of the same car."""
    (described,) = heard.described
    joints = {each.get("name") for each in fromstring(described.data).iter("joint") if each.get("type") != "fixed"}
    assert [message_stamp(each) for each in heard.joints] == [message_stamp(each) for each in heard.odometry]
    last = heard.joints[-1]
    assert set(last.name) == joints
    spun = dict(zip(last.name, last.position, strict=True))
    speed = dict(zip(last.name, last.velocity, strict=True))
    assert speed["rear_right_wheel_joint"] == states[-1].wheel_speeds[3]
    far = np.array([state.pose.position[:2] for state in states])
    turned = np.mean([spun["rear_left_wheel_joint"], spun["rear_right_wheel_joint"]])
    rolled = turned * read_vehicle("art1").wheel_radius
    assert rolled == pytest.approx(np.linalg.norm(np.diff(far, axis=0), axis=1).sum(), rel=0.05)
    placed = {each.child_frame_id: each for each in heard.tf[-1].transforms}
    assert len(heard.tf) == len(states)
    assert placed["base_link"].header.frame_id == "odom"
    turn = placed["front_left_steer"].transform.rotation
    assert 2 * np.arctan2(turn.z, turn.w) == pytest.approx(spun["front_left_steer_joint"])
    parents = {name: each.header.frame_id for name, each in placed.items()}
    assert (parents["front_left_wheel"], parents["rear_left_wheel"]) == ("front_left_steer", "base_link")


@pytest.mark.long
def test_in_lock_step_time_stands_still_until_a_frame_is_answered(graph, heard, tmp_path):
    sim = start(graph, tmp_path, patience=60.0, limit=1.0)
    answers = graph.node.create_publisher(VehicleInput, "vehicle/input", reliable_qos(10))
    assert graph.until(lambda: heard.truth), graph.output(sim)
    for number in range(5):
        graph.until(lambda: False, timeout=0.6)
        assert len(heard.truth) == number + 1, "not before the answer"
        before = times(heard.clock)[-1]
        late = VehicleInput(throttle=0.5, header=heard.truth[-1].header)
        # A command for the frame before is no answer to this one.
        late.header.stamp.sec, late.header.stamp.nanosec = divmod(message_stamp(heard.truth[-1]) - 1, 10**9)
        answers.publish(late)
        graph.until(lambda: False, timeout=0.3)
        assert times(heard.clock)[-1] == before
        late.header.stamp.sec, late.header.stamp.nanosec = divmod(message_stamp(heard.truth[-1]) + 1, 10**9)
        answers.publish(late)
        assert graph.until(lambda n=number: len(heard.truth) == n + 2), graph.output(sim)
    assert [message_stamp(message) for message in heard.truth] == [10**8 * (k + 1) for k in range(6)]
    things = [each for message in heard.truth for each in message.objects]
    assert things
    assert all(each.distance > 0.1 and 0.25 <= each.visible <= 1 for each in things)
    assert heard.odometry[-1].pose.pose.position.x > heard.odometry[0].pose.pose.position.x
    assert graph.stop(sim) == 0


@pytest.mark.long
def test_a_frame_that_nobody_answers_is_counted_and_time_goes_on(graph, heard, tmp_path):
    states = States(graph.node)
    sim = start(graph, tmp_path, patience=1.0, limit=1.05)
    assert graph.until(lambda: len(heard.truth) >= 3), graph.output(sim)
    assert graph.until(lambda: states.value("sim_node: simulation", "frames unanswered") not in ("", "0"))
    assert graph.until(lambda: sim.poll() is not None)
    assert sim.returncode == 3
    assert "10 frames that nobody answered in time" in graph.output(sim)
    assert "drives that did not finish" not in graph.output(sim), "it ended at the limit that was asked for"


@pytest.mark.long
def test_free_running_keeps_pace_with_the_wall(graph, heard, tmp_path):
    factors = []
    graph.node.create_subscription(Float64, "sim/real_time_factor", lambda m: factors.append(m.data), reliable_qos())
    sim = start(graph, tmp_path, lock_step=False, speed=0.5, limit=100.0)
    assert graph.until(lambda: times(heard.clock)[-1:] > [2 * 10**9], 60), graph.output(sim)
    assert graph.until(lambda: factors and factors[-1] > 0)
    assert factors[-1] <= 0.6, "not faster than it is told"
    gaps = np.diff([message_stamp(message) for message in heard.truth])
    assert np.all(gaps == 10**8), "free-running, too, every due frame once"
    assert graph.stop(sim) == 0


@pytest.mark.long
def test_pause_and_reset(graph, heard, tmp_path):
    sim = start(graph, tmp_path, lock_step=False, speed=1.0, once=False)
    go = graph.node.create_publisher(VehicleInput, "vehicle/input", reliable_qos(10))
    assert graph.until(lambda: len(heard.truth) > 2), graph.output(sim)
    go.publish(VehicleInput(throttle=1.0))
    assert graph.until(lambda: heard.odometry[-1].pose.pose.position.x > 0.3), graph.output(sim)
    assert graph.call(SetBool, "/sim_node/pause", SetBool.Request(data=True)).success
    graph.until(lambda: False, timeout=1.0)
    stood = times(heard.clock)[-1]
    graph.until(lambda: False, timeout=0.5)
    assert times(heard.clock)[-1] == stood
    assert graph.call(Trigger, "/sim_node/reset", Trigger.Request()).success
    assert graph.call(SetBool, "/sim_node/pause", SetBool.Request(data=False)).success
    count = len(heard.odometry)
    assert graph.until(lambda: len(heard.odometry) > count + 5), graph.output(sim)
    assert abs(heard.odometry[-1].pose.pose.position.x) < 0.1, "at the start again, and at rest"
    assert times(heard.clock) == sorted(set(times(heard.clock))), "time never goes back"
    assert graph.stop(sim) == 0


def test_each_camera_of_a_rig_has_its_topics_and_the_follower_its_transform(graph, tmp_path):
    front, rear, moving, fixed, infos = [], [], [], [], []
    for name, into in (("front", front), ("rear", rear)):
        graph.node.create_subscription(Image, f"{name}/image_raw", into.append, reliable_qos(100))
    graph.node.create_subscription(TFMessage, "/tf", moving.append, reliable_qos(5000))
    graph.node.create_subscription(TFMessage, "/tf_static", fixed.append, latched_qos(10))
    graph.node.create_subscription(CameraInfo, "rear/camera_info", infos.append, reliable_qos(100))
    camera_file(tmp_path, size=[160, 90])
    rear_mount = {"position": [-0.1, 0.0, 0.2], "yaw": 180}
    cameras = {
        "front": "small.yaml",
        "rear": {"camera": "small.yaml", "rate": 5, "mount": rear_mount},
        "chase": {"camera": "small.yaml", "follow": {}},
    }
    (tmp_path / "rig.yaml").write_text(yaml.safe_dump({"cameras": cameras}, sort_keys=False))
    scene = scene_file(tmp_path, STRAIGHT)
    sim = graph.start(
        "sim_node",
        wait_for=graph.listening(),
        scene=scene,
        camera=tmp_path / "rig.yaml",
        lock_step=False,
        speed=0.0,
        limit=1.1,
        reliability="reliable",
    )
    assert graph.until(lambda: sim.poll() is not None, SLOW_LIMIT), graph.output(sim)
    graph.until(lambda: len(front) >= 10, timeout=1.0)
    assert [message_stamp(each) for each in front][:10] == [10**8 * (k + 1) for k in range(10)]
    assert [message_stamp(each) for each in rear][:5] == [2 * 10**8 * (k + 1) for k in range(5)]
    assert {each.header.frame_id for each in (*rear, *infos)} == {"rear_optical_frame"}
    assert np.abs(to_rgb(front[3]).astype(int) - to_rgb(rear[1]).astype(int)).max() > 50, "they look elsewhere"
    children = {each.child_frame_id for message in fixed for each in message.transforms}
    assert children == {"odom", "chassis", "front_link", "front_optical_frame", "rear_link", "rear_optical_frame"}
    links = [each for message in moving for each in message.transforms if each.child_frame_id == "chase_optical_frame"]
    assert {each.header.frame_id for each in links} == {"odom"}
    assert len(links) >= 10, "where nobody looks, where it is is known all the same"


def test_images_are_made_where_somebody_looks(graph, heard, tmp_path):
    images, semantic, instance = [], [], []
    ends = (("image_raw", images), ("semantic", semantic), ("instance", instance))
    for topic, into in ends:
        graph.node.create_subscription(Image, f"camera/{topic}", into.append, reliable_qos(100))
    sim = start(graph, tmp_path, lock_step=False, reliability="reliable")
    assert graph.until(lambda: len(images) > 1 and len(semantic) > 1 and len(instance) > 1), graph.output(sim)
    image = to_rgb(images[-1])
    assert image.shape == (270, 480, 3)
    assert image.std() > 10
    assert (semantic[0].encoding, instance[0].encoding) == ("8UC1", "16UC1")
    assert set(np.frombuffer(semantic[0].data, np.uint8)) == {0, 1, 2}
    by_stamp = {message_stamp(message): message for message in heard.truth}
    instances = set(np.frombuffer(instance[-1].data, "<u2").tolist()) - {0}
    assert {each.instance_id for each in by_stamp[message_stamp(instance[-1])].objects} <= instances
    assert graph.stop(sim) == 0


def test_senseless_commands_are_not_obeyed(graph, heard, tmp_path):
    sim = start(graph, tmp_path, lock_step=False, speed=1.0)
    go = graph.node.create_publisher(VehicleInput, "vehicle/input", reliable_qos(10))
    assert graph.until(lambda: len(heard.truth) > 1), graph.output(sim)
    for bad in (VehicleInput(throttle=2.0), VehicleInput(steering=float("nan"), throttle=1.0)):
        go.publish(bad)
    count = len(heard.odometry)
    assert graph.until(lambda: len(heard.odometry) > count + 30)
    assert abs(heard.odometry[-1].twist.twist.linear.x) < 0.01
    assert graph.stop(sim) == 3
    assert "2 commands that make no sense, not obeyed" in graph.output(sim)
    assert "throttle 2, not within 0 to 1" in graph.output(sim)


@pytest.mark.long
def test_a_twist_sets_speed_and_turn_of_the_simulated_car(graph, tmp_path):
    """At 0.6 m/s and 0.15 rad/s; half a simulated second of silence later it brakes."""
    moved = []
    graph.node.create_subscription(Odometry, "vehicle/odometry", moved.append, reliable_qos(5000))
    sim = start(graph, tmp_path, lock_step=False, speed=0.5, input_type="geometry_msgs/msg/Twist")
    go = graph.node.create_publisher(Twist, "vehicle/input", reliable_qos(10))
    assert graph.until(lambda: len(moved) > 1), graph.output(sim)
    wanted = Twist()
    wanted.linear.x, wanted.angular.z = 0.6, 0.15

    def driven(seconds):
        begin = message_stamp(moved[-1])

        def over():
            go.publish(wanted)
            return message_stamp(moved[-1]) > begin + seconds * 1e9

        return graph.until(over, SLOW_LIMIT)

    assert driven(1.2)
    twist = moved[-1].twist.twist
    assert twist.linear.x == pytest.approx(0.6, abs=0.12), graph.output(sim)
    assert twist.angular.z / twist.linear.x == pytest.approx(0.15 / 0.6, abs=0.06)
    assert graph.until(lambda: moved[-1].twist.twist.linear.x < 0.1, SLOW_LIMIT), "it fell silent"
    graph.stop(sim)


@pytest.mark.long
def test_the_driver_shows_its_cones_and_its_line(graph, tmp_path):
    paths, cones = [], []
    graph.node.create_subscription(Path, "drive/path", paths.append, reliable_qos())
    graph.node.create_subscription(MarkerArray, "drive/cones", cones.append, reliable_qos())
    driver = graph.start("drive_node")
    assert graph.until(lambda: graph.node.count_publishers("drive/path") and graph.node.count_publishers("drive/cones"))
    sim = start(graph, tmp_path, wait_for=["drive_node camera/detections", "drive_node camera/camera_info"])
    assert graph.until(lambda: len(paths) > 3 and len(cones) > 3, SLOW_LIMIT), graph.output(sim) + graph.output(driver)
    assert paths[-1].header.frame_id == "odom"
    line = np.array([[pose.pose.position.x, pose.pose.position.y] for pose in paths[-1].poses])
    assert line[-1, 0] - line[0, 0] > 3
    assert np.max(np.abs(line[line[:, 0] < 3, 1])) < 0.15
    known = cones[-1].markers[1:]
    assert len(known) > 4
    for marker in known:
        side = np.sign(marker.pose.position.y)
        assert (marker.color.g > marker.color.r) == (side > 0), "green on the left, red on the right"
    assert graph.until(lambda: sim.poll() is not None, SLOW_LIMIT)
    assert sim.returncode == 0, graph.output(sim)
    assert graph.stop(driver) == 0


@pytest.mark.parametrize(
    ("node", "parameters", "reason"),
    [
        ("sim_node", {}, "parameter scene must be given"),
        ("sim_node", {"scene": "moon", "camera": "plain"}, "moon"),
        (
            "sim_node",
            {"scene": "lab", "camera": "plain", "input_type": "std_msgs/msg/Float64"},
            "has none of the fields that drive a car",
        ),
        (
            "sim_node",
            {"scene": "lab", "camera": "plain", "input_type": "no_msgs/msg/Input"},
            "no_msgs is not installed",
        ),
        ("drive_node", {"vehicle": "tank"}, "tank"),
        ("drive_node", {"slowest": 2.0, "fastest": 1.0}, "slowest must not be above fastest"),
        ("drive_node", {"right": "red", "left": "Red"}, "two classes are needed"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(graph, node, parameters, reason):
    assert reason in graph.refusal(node, **parameters)


def test_art_inputs_are_taken_where_they_are_installed(graph, heard, tmp_path):
    art = pytest.importorskip("art_msgs.msg", reason="art_msgs is not installed").VehicleInput
    sim = start(graph, tmp_path, lock_step=False, input_type="art_msgs/msg/VehicleInput")
    go = graph.node.create_publisher(art, "vehicle/input", reliable_qos(10))
    assert graph.until(lambda: len(heard.truth) > 1), graph.output(sim)
    go.publish(art(throttle=1.0))
    assert graph.until(lambda: heard.odometry[-1].pose.pose.position.x > 0.2)
    assert graph.stop(sim) == 0
