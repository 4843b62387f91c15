"""Optional packages: the extra of simjudge that installs each, and the line that names it where one is missing."""

from __future__ import annotations

EXTRAS = {
    "av": "video",
    "cma": "fit",
    "distributed": "study",
    "fiftyone": "fiftyone",
    "gymnasium": "gym",
    "mitsuba": "sim",
    "mujoco": "sim",
    "onnx": "train",
    "pygeomag": "sim",
    "pypatchworkpp": "lidar",
    "rclpy": "ros",
    "rerun": "watch",
    "torch": "train",
    "torchvision": "train",
    "trimesh": "sim",
    "ultralytics": "train",
}
"""The extra that installs a module which the core does without."""


def install_command(module: str) -> str:
    """The command that installs an optional module: pip install 'simjudge[sim]'."""
    return f"pip install 'simjudge[{EXTRAS[module]}]'"
