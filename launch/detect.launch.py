"""Pictures from a camera or a recording, and a detector on them."""

from launch import LaunchDescription

from simjudge.nodes.launch_actions import launch_description
from simjudge.ros.graphs import DETECT


def generate_launch_description() -> LaunchDescription:
    """What `simjudge ros run detect` runs too."""
    return launch_description(DETECT)
