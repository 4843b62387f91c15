"""Whether nodes can run here, known without starting one."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path

from simjudge.core.errors import SimjudgeError


def need_rclpy() -> None:
    """Make sure that there is an rclpy that the nodes can use."""
    if importlib.util.find_spec("rclpy") is None:
        raise SimjudgeError("the nodes need rclpy: source your ROS 2 installation, or pip install 'simjudge[ros]'"
                            " (in a checkout: make setup-ros)")  # fmt: skip
    # Humble's says neither which messages were lost nor why an offer does not fit.
    if importlib.util.find_spec("rclpy.event_handler") is None:
        name = os.environ.get("ROS_DISTRO") or "an older distribution"
        raise SimjudgeError(
            f"the nodes need ROS 2 Jazzy or later, and this rclpy is that of {name}: record the topics with ros2 bag"
            " record and give the recording to simjudge, or run the nodes on a machine beside this one"
            " (docs/reference/ros.md)"
        )


def need_ros() -> None:
    """Make sure that nodes can run here."""
    need_rclpy()
    if importlib.util.find_spec("simjudge_msgs") is None:
        source = Path(sys.prefix) / "share/simjudge/msgs"
        build = f"pip install {source} {source}/wheel/tf2_msgs" if source.is_dir() else "in a checkout: make setup-ros"
        raise SimjudgeError(f"the nodes need simjudge_msgs: build msgs/ with colcon, or {build}")
