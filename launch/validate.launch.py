"""Two recordings compared, as `simjudge compare` does it."""

from launch import LaunchDescription

from simjudge.graph.graphs import VALIDATE
from simjudge.nodes.launch_actions import launch_description


def generate_launch_description() -> LaunchDescription:
    """What `simjudge run validate` runs too."""
    return launch_description(VALIDATE)
