"""What a node imports before it starts: on a busy machine, what it does not need cost it ten seconds."""

import json
import subprocess
import sys

import pytest

pytest.importorskip("rclpy")

# From the lightest to the heaviest; beside each what neither it nor one before it may import.
HEAVY = ("mujoco", "mitsuba", "torch", "rerun", "jinja2", "matplotlib", "pandas")
STAGES = [
    (["simjudge.ros.node_parameters"], [*HEAVY, "pyarrow", "numba", "scipy", "rclpy"]),
    (
        [f"simjudge.nodes.{name}_node" for name in ("camera_bridge", "detection", "play", "record")],
        [*HEAVY, "pyarrow", "numba", "scipy", "simjudge.geometry.poses", "simjudge.page"],
    ),
    (
        [f"simjudge.nodes.{name}_node" for name in ("manual", "drive", "ground_truth", "replay", "objects")],
        [*HEAVY, "pyarrow", "simjudge.page"],
    ),
    ([f"simjudge.nodes.{name}_node" for name in ("watch", "sim")], HEAVY),
    (["simjudge.nodes.validation_node"], ["mujoco", "mitsuba", "torch", "rerun", "pandas"]),
]
CODE = """
import importlib, json, sys
for modules, banned in json.loads(sys.argv[1]):
    for module in modules:
        importlib.import_module(module)
    print(modules[-1], *[name for name in banned if name in sys.modules])
"""


def test_a_node_imports_only_what_it_uses():
    command = [sys.executable, "-c", CODE, json.dumps(STAGES)]
    found = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split("\n")
    assert found[:-1] == [modules[-1] for modules, _ in STAGES]
