"""Two recordings compared, as `simjudge compare` does it."""

from launch import LaunchDescription

from simjudge.nodes.launch_actions import launch_description
from simjudge.ros.graphs import VALIDATE


def generate_launch_description() -> LaunchDescription:
    """What `simjudge ros run validate` runs too."""
    return launch_description(VALIDATE)
