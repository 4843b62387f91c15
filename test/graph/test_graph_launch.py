"""The launch files under the real launch and launch_ros, where those are installed (in a ROS 2 installation)."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from driving_scenes import STRAIGHT, camera_file, scene_file

from simjudge.data.sets import read_set
from simjudge.graph.graphs import GRAPHS

ROOT = Path(__file__).parents[2]
NODES = (
    "camera_bridge_node", "detection_node", "drive_node", "play_node", "record_node", "replay_node", "sim_node",
    "validation_node", "watch_node",
)  # fmt: skip
SERVE = """
import sys
from launch import LaunchContext, LaunchDescription, LaunchService
from launch.actions import IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource

source = PythonLaunchDescriptionSource(sys.argv[1])
if sys.argv[2:] == ["--show-args"]:
    for each in source.get_launch_description(LaunchContext()).get_launch_arguments():
        text = None if each.default_value is None else "".join(part.text for part in each.default_value)
        print(repr((each.name, text, each.description, tuple(each.choices or ()))))
    raise SystemExit
service = LaunchService()
given = [tuple(word.split(":=", 1)) for word in sys.argv[2:]]
service.include_launch_description(LaunchDescription([IncludeLaunchDescription(source, launch_arguments=given)]))
raise SystemExit(service.run())
"""


@pytest.fixture(autouse=True)
def environment(monkeypatch, tmp_path, ros_domain):
    # The folder launch/ of the checkout is a package to Python as well, but an empty one.
    found = importlib.util.find_spec("launch")
    if found is None or found.origin is None or importlib.util.find_spec("launch_ros") is None:
        pytest.skip("launch and launch_ros are not installed: they come with a ROS 2 installation")
    pytest.importorskip("rclpy", reason="rclpy is not installed: pip install simjudge[ros]")
    prefix = installation(tmp_path / "prefix")
    before = os.environ.get("AMENT_PREFIX_PATH")
    monkeypatch.setenv("AMENT_PREFIX_PATH", os.pathsep.join([str(prefix), *([before] if before else [])]))
    monkeypatch.setenv("ROS_DOMAIN_ID", str(ros_domain))
    monkeypatch.setenv("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    monkeypatch.setenv("ROS_LOG_DIR", str(tmp_path / "ros_log"))


def installation(prefix):
    """What colcon makes of the package, as far as launch looks at it."""
    index = prefix / "share/ament_index/resource_index/packages"
    index.mkdir(parents=True)
    (index / "simjudge").write_text("")
    (prefix / "share/simjudge").mkdir()
    programs = prefix / "lib/simjudge"
    programs.mkdir(parents=True)
    for name in NODES:
        (programs / name).write_text(f"#!{sys.executable}\nfrom simjudge.nodes.{name} import main\nmain()\n")
        (programs / name).chmod(0o755)
    return prefix


def launch(name, *words, timeout=120, **arguments):
    given = [*words, *(f"{key}:={text}" for key, text in arguments.items())]
    file = ROOT / f"launch/{name}.launch.py"
    command = [sys.executable, "-c", SERVE, str(file), *given]
    return subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False)


@pytest.mark.parametrize("name", sorted(GRAPHS))
def test_a_launch_file_declares_the_arguments_of_its_graph(name):
    shown = launch(name, "--show-args")
    assert shown.returncode == 0, shown.stderr
    found = [eval(line, {}) for line in shown.stdout.splitlines()]  # noqa: S307 - our own repr
    for (key, default, description, choices), each in zip(found, GRAPHS[name].arguments, strict=True):
        assert (key, default, choices) == (each.name, each.default, each.choices)
        assert description.startswith(each.description)


@pytest.fixture(scope="module")
def real(tmp_path_factory):
    out = tmp_path_factory.mktemp("detected") / "real.mcap"
    words = ["detect", str(ROOT / "bags/real_stand_in.mcap"), "--model", "cones_red_green", "--out", str(out)]
    subprocess.run([sys.executable, "-m", "simjudge", *words], check=True, capture_output=True)
    return out


@pytest.mark.parametrize("namespace", ["", "car"])
def test_live_ends_by_itself_with_the_whole_result(real, tmp_path, namespace):
    done = launch(
        "live", bag=ROOT / "bags/sim.mcap", a=real, model="cones_red_green", rate="4", out=tmp_path / "out",
        patch="60x60", theta="0.7", bootstrap="0", permutations="0", rviz="false", robot_ns=namespace,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "exit code" not in done.stdout, done.stdout
    result = json.loads((tmp_path / "out/result.json").read_text())
    assert result["inputs"]["b"]["frames"] == 40
    assert result["parameters"]["patch"] == [60, 60]
    assert result["losses"] == []


def test_validate_ends_by_itself(real, tmp_path):
    done = launch("validate", a=real, b=real, out=tmp_path / "out", bootstrap="0", permutations="0")
    assert done.returncode == 0, done.stdout + done.stderr
    result = json.loads((tmp_path / "out/result.json").read_text())
    assert result["overall"]["mean_w1"] == 0.0


@pytest.mark.parametrize("namespace", ["", "car"])
def test_sim_ends_when_the_course_is_finished(tmp_path, namespace):
    pytest.importorskip("mujoco", reason="MuJoCo (the extra `sim`) is not installed")
    pytest.importorskip("mitsuba", reason="Mitsuba (the extra `sim`) is not installed")
    done = launch(
        "sim", scene=scene_file(tmp_path, STRAIGHT), camera=camera_file(tmp_path), detector="ground_truth",
        out=tmp_path / "drive", rviz="false", robot_ns=namespace,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "touched no cone" in done.stdout + done.stderr
    assert len(read_set(tmp_path / "drive")) > 20


def test_a_node_that_dies_ends_the_launch():
    done = launch("detect", bag=ROOT / "bags/sim.mcap", model="nothing.onnx", timeout=60)
    assert "error: detection_node ended with exit code 1" in done.stdout + done.stderr
    assert "nothing.onnx: neither a file nor" in done.stdout + done.stderr


@pytest.mark.parametrize(("given", "message"), [({}, "model"), ({"model": "m", "rviz": "maybe"}, "rviz")])
def test_mistakes_are_refused(given, message):
    done = launch("detect", **given, timeout=60)
    assert done.returncode == 1
    assert message in done.stdout + done.stderr
