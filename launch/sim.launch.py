"""A simulated car that drives a course by what a detector sees, judged while it drives."""

from launch import LaunchDescription

from simjudge.nodes.launch_actions import launch_description
from simjudge.ros.graphs import SIM


def generate_launch_description() -> LaunchDescription:
    """What `simjudge ros run sim` runs too."""
    return launch_description(SIM)
