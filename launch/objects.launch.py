"""A real and a virtual sensor compared by the same objects, while both run."""

from launch import LaunchDescription

from simjudge.nodes.launch_actions import launch_description
from simjudge.ros.graphs import OBJECTS


def generate_launch_description() -> LaunchDescription:
    """What `simjudge ros run objects` runs too."""
    return launch_description(OBJECTS)
