"""Makes the tables and the picture of docs/ros.md anew from the graphs' description: `python scripts/ros_page.py`.

Needs rclpy (make setup-ros), for the nodes' parameters.
"""

from __future__ import annotations

from pathlib import Path

from simjudge.graph.ros_page import regenerate_parts

PAGE = Path(__file__).resolve().parents[1] / "docs/ros.md"

if __name__ == "__main__":
    PAGE.write_text(regenerate_parts(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
