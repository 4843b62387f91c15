"""Makes the tables and the picture of docs/reference/ros.md, and config/params/, anew from the graphs' description.

Run it as `python scripts/ros_page.py`.

Needs rclpy (make setup-ros), for the nodes' parameters.
"""

from __future__ import annotations

from pathlib import Path

from simjudge.ros.graphs import GRAPHS
from simjudge.ros.node_parameters import sample_text
from simjudge.ros.ros_page import regenerate_parts

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs/reference/ros.md"

if __name__ == "__main__":
    for graph in GRAPHS.values():
        (ROOT / f"config/params/{graph.name}.yaml").write_text(sample_text(graph), encoding="utf-8")
    PAGE.write_text(regenerate_parts(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
