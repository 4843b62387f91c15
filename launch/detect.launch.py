"""Pictures from a camera or a recording, and a detector on them."""

from launch import LaunchDescription

from simjudge.graph.graphs import DETECT
from simjudge.nodes.launch_actions import launch_description


def generate_launch_description() -> LaunchDescription:
    """What `simjudge run detect` runs too."""
    return launch_description(DETECT)
