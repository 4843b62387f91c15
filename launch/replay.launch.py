"""A simulated camera that sees what a real one saw, at the recorded poses."""

from launch import LaunchDescription

from simjudge.nodes.launch_actions import launch_description
from simjudge.ros.graphs import REPLAY


def generate_launch_description() -> LaunchDescription:
    """What `simjudge ros run replay` runs too."""
    return launch_description(REPLAY)
