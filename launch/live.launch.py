"""Pictures, a detector, and the gap to a reference while they run."""

from launch import LaunchDescription

from simjudge.nodes.launch_actions import launch_description
from simjudge.ros.graphs import LIVE


def generate_launch_description() -> LaunchDescription:
    """What `simjudge ros run live` runs too."""
    return launch_description(LIVE)
