"""The nodes as programs: each has its name, and Ctrl-C while it loads its libraries ends it quietly."""

import os
import signal
import subprocess
import sys

import pytest

from simjudge.nodes import programs
from simjudge.ros.node_interfaces import NODES

pytest.importorskip("rclpy", reason="rclpy is not installed: pip install simjudge[ros]")
pytest.importorskip("simjudge_msgs", reason="simjudge_msgs is not installed: make setup-ros")


@pytest.mark.parametrize("name", sorted(NODES))
def test_each_node_is_a_program_of_its_name(name, repository):
    assert callable(getattr(programs, name))
    assert f'\n{name} = "simjudge.nodes.programs:{name}"\n' in (repository / "pyproject.toml").read_text("utf-8")


def test_an_rclpy_that_is_too_old_is_one_line(tmp_path):
    """Humble's has no module of this name."""
    (tmp_path / "rclpy").mkdir()
    (tmp_path / "rclpy/__init__.py").write_text("")
    environment = os.environ | {"PYTHONPATH": str(tmp_path), "ROS_DISTRO": "humble"}
    words = (["run", "detect", "model:=cones_red_green"], ["doctor", "--live"])
    commands = [f"import sys; sys.argv[1:] = {word}; from simjudge.cli import main; main()" for word in words]
    for program in ("from simjudge.nodes.programs import play_node; play_node()", *commands):
        command = [sys.executable, "-c", program]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 1, done.stderr
        (line,) = done.stderr.splitlines()
        assert "need ROS 2 Jazzy or later, and this rclpy is that of humble: record the topics with ros2 bag" in line


@pytest.mark.parametrize("name", ["play_node", "validation_node"])
def test_ctrl_c_while_the_libraries_are_loaded_ends_it_quietly(name):
    program = f"from simjudge.nodes.programs import {name}; {name}()"
    process = subprocess.Popen([sys.executable, "-X", "importtime", "-c", program], stderr=subprocess.PIPE, text=True)
    # Python tells every module that it has loaded: numpy is an early one.
    for line in process.stderr:
        if line.rpartition("|")[2].strip() == "numpy":
            break
    process.send_signal(signal.SIGINT)
    _, rest = process.communicate(timeout=120)
    assert process.returncode == 130
    assert "Traceback" not in rest
