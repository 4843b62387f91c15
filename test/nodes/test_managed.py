"""Nodes with a life cycle, led by a manager over real DDS: every transition, and nothing lost in any of them."""

import json
import signal
from itertools import pairwise
from pathlib import Path

import pytest
from driving_scenes import STRAIGHT, camera_file, scene_file

rclpy = pytest.importorskip("rclpy", reason="rclpy is not installed: pip install simjudge[ros]")
pytest.importorskip("simjudge_msgs", reason="simjudge_msgs is not installed: pip install ./msgs")
pytestmark = pytest.mark.slow

from lifecycle_msgs.msg import Transition  # noqa: E402
from lifecycle_msgs.srv import ChangeState, GetState  # noqa: E402
from nav_msgs.msg import Odometry  # noqa: E402
from rcl_interfaces.srv import SetParameters  # noqa: E402
from rclpy.duration import Duration  # noqa: E402
from rclpy.parameter import Parameter  # noqa: E402
from rosgraph_msgs.msg import Clock  # noqa: E402
from sensor_msgs.msg import Image  # noqa: E402
from simjudge_msgs.msg import DetectionArray  # noqa: E402

from simjudge.judging.compare_settings import CompareSettings  # noqa: E402
from simjudge.judging.comparison import compare_sets  # noqa: E402

ROOT = Path(__file__).parents[2]
RED = "cones_red_green"
STEPS = {
    "configure": Transition.TRANSITION_CONFIGURE,
    "activate": Transition.TRANSITION_ACTIVATE,
    "deactivate": Transition.TRANSITION_DEACTIVATE,
    "cleanup": Transition.TRANSITION_CLEANUP,
    "shutdown": Transition.TRANSITION_INACTIVE_SHUTDOWN,
    "shutdown unconfigured": Transition.TRANSITION_UNCONFIGURED_SHUTDOWN,
}


@pytest.fixture
def lead(graph):
    """What a manager does: asks a node for transitions, and how it is."""

    class Manager:
        def __call__(self, node, *steps):
            for step in steps:
                request = ChangeState.Request(transition=Transition(id=STEPS[step]))
                if not graph.call(ChangeState, f"/{node}/change_state", request).success:
                    return False
            return True

        def state(self, node):
            return graph.call(GetState, f"/{node}/get_state", GetState.Request()).current_state.label

    return Manager()


@pytest.fixture
def camera(graph):
    """Publishes red images, each with a stamp of so many seconds."""

    class Camera:
        def __init__(self):
            self.publisher = graph.node.create_publisher(Image, "camera/image_raw", 100)
            self.count = 0
            self.detections = []
            graph.node.create_subscription(
                DetectionArray, "camera/detections", lambda each: self.detections.append(each.header.stamp.sec), 1000
            )

        def publish(self, count):
            for _ in range(count):
                self.count += 1
                image = Image(height=120, width=160, step=480, encoding="bgr8", data=bytes(160 * 120 * 3))
                image.header.stamp.sec = self.count
                self.publisher.publish(image)

    return Camera()


def test_a_detector_led_through_all_states_loses_nothing(graph, lead, camera):
    node = graph.start(
        "detection_node", model=RED, every_frame=True, transport="raw", reliability="reliable", autostart=False
    )
    assert lead.state("detection_node") == "unconfigured"
    assert graph.node.count_publishers("camera/detections") == 0
    assert not lead("detection_node", "activate"), "there is no way from here"
    for again in (1, 2):
        assert lead("detection_node", "configure")
        assert lead.state("detection_node") == "inactive"
        assert graph.until(lambda: graph.node.count_publishers("camera/detections") == 1)
        assert camera.publisher.get_subscription_count() == 0, "inactive, it takes nothing"
        for _ in range(2):
            before = camera.count
            assert lead("detection_node", "activate")
            assert graph.until(camera.publisher.get_subscription_count)
            # The node may not know of the camera yet.
            graph.until(lambda: False, timeout=0.5)
            camera.publish(30)
            assert camera.publisher.wait_for_all_acked(Duration(seconds=60))
            assert lead("detection_node", "deactivate")
            assert graph.until(lambda: camera.publisher.get_subscription_count() == 0)
            assert graph.until(lambda: len(camera.detections) == camera.count), graph.output(node)
            assert camera.detections[before:] == list(range(before + 1, before + 31))
        assert lead("detection_node", "cleanup")
        assert lead.state("detection_node") == "unconfigured"
        assert graph.until(lambda: graph.node.count_publishers("camera/detections") == 0), again
    assert graph.stop(node) == 0, graph.output(node)
    assert "ended: 120 images received, 120 detected on" in graph.output(node)


def test_by_itself_a_node_is_active_and_shutdown_ends_it(graph, lead):
    node = graph.start("detection_node", model=RED)
    assert graph.until(lambda: lead.state("detection_node") == "active")
    assert lead("detection_node", "deactivate", "shutdown")
    assert node.wait(60) == 0, graph.output(node)


def test_what_cannot_be_configured_stays_unconfigured_and_says_why(graph, lead):
    node = graph.start("detection_node", model="nothing.onnx", autostart=False)
    assert not lead("detection_node", "configure")
    assert lead.state("detection_node") == "unconfigured"
    graph.wait_for(node, "stays unconfigured: nothing.onnx: neither a file nor")
    assert lead("detection_node", "shutdown unconfigured")
    assert node.wait(60) == 0, graph.output(node)


@pytest.mark.long
def test_a_judge_keeps_its_frames_while_inactive_and_cleanup_writes_the_result(graph, lead, tmp_path):
    bag, out = ROOT / "bags/sim.mcap", tmp_path / "out"
    judge = graph.start(
        "validation_node",
        reference=bag,
        model=RED,
        patch="60x60",
        draws=0,
        both_directions=False,
        report=False,
        out=out,
        autostart=False,
        certainty_time=0.0,
    )
    detector = graph.start("detection_node", model=RED, every_frame=True)
    assert lead("validation_node", "configure")
    assert not out.exists()
    for half in (20, 40):
        assert lead("validation_node", "activate")
        wait = [
            f"{node}_node {topic}"
            for node, topic in (
                ("detection", "camera/image_raw/compressed"),
                ("validation", "camera/ground_truth"),
                ("validation", "camera/detections"),
            )
        ]
        # The same stamps come twice, and count once.
        graph.start("play_node", bag=bag, rate=20.0, reliability="reliable", wait_for=[f"'{each}'" for each in wait])
        graph.wait_for(graph.processes[-1], "ended: ")
        graph.until(lambda: False, timeout=0.5)
        assert lead("validation_node", "deactivate"), half
    assert graph.stop(detector) == 0
    assert lead("validation_node", "cleanup"), graph.output(judge)
    result = json.loads((out / "result.json").read_text())
    assert result["inputs"]["b"]["frames"] == 40
    assert lead("validation_node", "configure"), graph.output(judge)
    assert graph.stop(judge, signal.SIGTERM) == 0, graph.output(judge)


def test_theta_and_min_score_change_between_two_results_and_are_refused_within_one(graph, lead, tmp_path):
    bag, first, second = ROOT / "bags/sim.mcap", tmp_path / "first", tmp_path / "second"
    rules = {"model": RED, "patch": "60x60", "draws": 0}
    judge = graph.start(
        "validation_node",
        a=bag,
        b=bag,
        **rules,
        both_directions=False,
        report=False,
        out=first,
        autostart=False,
    )

    def give(**values):
        request = SetParameters.Request()
        request.parameters = [Parameter(name, value=value).to_parameter_msg() for name, value in values.items()]
        return graph.call(SetParameters, "/validation_node/set_parameters", request).results

    assert lead("validation_node", "configure", "activate"), graph.output(judge)
    assert graph.until((first / "result.json").exists), graph.output(judge)
    for refused in give(theta=0.6, min_score=0.7, autostart=True)[:2]:
        assert not refused.successful
        assert "all frames of a result are compared by the same rules" in refused.reason
        assert "ros2 lifecycle set /validation_node cleanup; ros2 param set /validation_node" in refused.reason
    assert lead("validation_node", "deactivate", "cleanup"), graph.output(judge)
    taken = give(theta=0.6, min_score=0.7, out=str(second))
    assert [each.successful for each in taken] == [True] * 3, taken
    assert lead("validation_node", "configure", "activate"), graph.output(judge)
    assert graph.until((second / "result.json").exists), graph.output(judge)
    made = [json.loads((folder / "result.json").read_text()) for folder in (first, second)]
    assert made[1]["parameters"]["theta"] == 0.6
    settings = CompareSettings(**rules, theta=0.6, min_score=0.7)
    numbers = compare_sets(bag, bag, settings).result.numbers
    assert made[1]["overall"]["mean_performance_a"] == numbers.overall.mean_performance_a
    assert made[1]["overall"] != made[0]["overall"]
    assert graph.stop(judge, signal.SIGTERM) == 0, graph.output(judge)


@pytest.mark.long
def test_time_stands_still_while_a_simulation_is_inactive(graph, lead, tmp_path):
    pytest.importorskip("mujoco", reason="MuJoCo (the extra `sim`) is not installed")
    pytest.importorskip("mitsuba", reason="Mitsuba (the extra `sim`) is not installed")
    heard, times = [], []
    graph.node.create_subscription(Odometry, "vehicle/odometry", heard.append, 1000)
    graph.node.create_subscription(Clock, "/clock", times.append, 1000)
    sim = graph.start(
        "sim_node",
        scene=scene_file(tmp_path, STRAIGHT),
        camera=camera_file(tmp_path),
        autostart=False,
        lock_step=False,
        speed=0.5,
    )
    assert lead("sim_node", "configure"), graph.output(sim)
    graph.until(lambda: False, timeout=0.5)
    assert not times
    stood = []
    for _ in range(2):
        assert lead("sim_node", "activate")
        count = len(heard)
        assert graph.until(lambda n=count: len(heard) > n + 3), graph.output(sim)
        assert lead("sim_node", "deactivate")
        graph.until(lambda: False, timeout=0.5)
        stood.append(times[-1].clock.sec * 10**9 + times[-1].clock.nanosec)
        count = len(times)
        graph.until(lambda: False, timeout=1.5)
        assert len(times) == count, "no time goes by"
    steps = [each.header.stamp.sec * 10**9 + each.header.stamp.nanosec for each in heard]
    gaps = {later - earlier for earlier, later in pairwise(steps)}
    assert len(gaps) == 1, "and none is missing after it"
    assert stood[1] > stood[0] > 0
    assert lead("sim_node", "cleanup", "configure", "activate"), graph.output(sim)
    request = SetParameters.Request()
    request.parameters = [
        Parameter(name, value=value).to_parameter_msg()
        for name, value in (("speed", 2.0), ("speed", -1.0), ("seed", 5))
    ]
    answers = graph.call(SetParameters, "/sim_node/set_parameters", request).results
    assert [each.successful for each in answers] == [True, False, False]
    assert "read-only" in answers[2].reason
    count = len(heard)
    assert graph.until(lambda: len(heard) > count)
    assert graph.stop(sim) == 0, graph.output(sim)
