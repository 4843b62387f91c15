"""Pictures, a detector, and the gap to a reference while they run."""

from launch import LaunchDescription

from simjudge.graph.graphs import LIVE
from simjudge.nodes.launch_actions import launch_description


def generate_launch_description() -> LaunchDescription:
    """What `simjudge run live` runs too."""
    return launch_description(LIVE)
