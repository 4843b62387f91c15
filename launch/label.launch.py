"""Another simulator's ground truth as labels, while it runs."""

from launch import LaunchDescription

from simjudge.nodes.launch_actions import launch_description
from simjudge.ros.graphs import LABEL


def generate_launch_description() -> LaunchDescription:
    """What `simjudge ros run label` runs too."""
    return launch_description(LABEL)
