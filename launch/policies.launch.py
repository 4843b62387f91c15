"""Trials of policies from a topic, judged as they come in."""

from launch import LaunchDescription

from simjudge.nodes.launch_actions import launch_description
from simjudge.ros.graphs import POLICIES


def generate_launch_description() -> LaunchDescription:
    """What `simjudge ros run policies` runs too."""
    return launch_description(POLICIES)
