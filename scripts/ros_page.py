"""Makes the tables and the picture of docs/reference/ros.md, and config/params/, from the graphs' description.

`make generated` writes them. Needs rclpy (make setup-ros), for the nodes' parameters.
"""

from __future__ import annotations

from pathlib import Path

from simjudge.ros.graphs import GRAPHS
from simjudge.ros.node_parameters import sample_text
from simjudge.ros.ros_page import regenerate_parts

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs/reference/ros.md"


def files() -> dict[Path, str]:
    """What each file should say."""
    samples = {ROOT / f"config/params/{graph.name}.yaml": sample_text(graph) for graph in GRAPHS.values()}
    return {**samples, PAGE: regenerate_parts(PAGE.read_text(encoding="utf-8"))}
