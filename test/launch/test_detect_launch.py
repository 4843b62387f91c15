"""launch_testing: detect.launch.py on a recording, as `colcon test` runs it on a ROS 2 installation."""

import unittest
from pathlib import Path

import pytest

pytest.importorskip("launch_testing", reason="launch_testing is not installed: it comes with a ROS 2 installation")
pytest.importorskip("launch_ros", reason="launch_ros is not installed: it comes with a ROS 2 installation")

import launch_testing
import launch_testing.actions
import launch_testing.asserts
import rclpy
from launch import LaunchDescription
from launch.actions import IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource
from simjudge_msgs.msg import DetectionArray

ROOT = Path(__file__).parents[2]
FRAMES = 40


@pytest.mark.launch_test
def generate_test_description():
    """The graph `detect` on a sample recording, played slowly enough for the test's own subscription to be found."""
    given = {"bag": ROOT / "bags" / "sim.mcap", "model": "cones_red_green", "rate": "4", "rviz": "false"}
    source = PythonLaunchDescriptionSource(str(ROOT / "launch" / "detect.launch.py"))
    arguments = [(name, str(value)) for name, value in given.items()]
    graph = IncludeLaunchDescription(source, launch_arguments=arguments)
    return LaunchDescription([graph, launch_testing.actions.ReadyToTest()])


class TestWhileItRuns(unittest.TestCase):
    def test_detections_come(self, proc_output):
        rclpy.init()
        try:
            node = rclpy.create_node("listener")
            heard = []
            node.create_subscription(DetectionArray, "camera/detections", heard.append, 100)
            while not heard:
                rclpy.spin_once(node, timeout_sec=1)
            assert heard[0].header.frame_id == "camera_optical_frame"
        finally:
            rclpy.shutdown()
        proc_output.assertWaitFor(f"ended: {FRAMES} images received, {FRAMES} detected on", timeout=120)


@launch_testing.post_shutdown_test()
class TestAfterIt(unittest.TestCase):
    def test_every_node_ended_well(self, proc_info):
        launch_testing.asserts.assertExitCodes(proc_info)
        assert len(proc_info.process_names()) == 2
