"""The launch files under the real launch and launch_ros, where those are installed (in a ROS 2 installation)."""

import json
import subprocess
import sys

import pytest
from driving_scenes import STRAIGHT, camera_file, scene_file
from launched_graphs import ROOT, environment, has_launch, launch_command

from simjudge.data.sets import read_set
from simjudge.graph.graphs import GRAPHS


@pytest.fixture(autouse=True)
def launch_environment(monkeypatch, tmp_path, ros_domain):
    if not has_launch():
        pytest.skip("launch and launch_ros are not installed: they come with a ROS 2 installation")
    pytest.importorskip("rclpy", reason="rclpy is not installed: pip install simjudge[ros]")
    for name, value in environment(tmp_path, ros_domain).items():
        monkeypatch.setenv(name, value)


def launch(name, *words, timeout=120, **arguments):
    given = [*words, *(f"{key}:={text}" for key, text in arguments.items())]
    return subprocess.run(launch_command(name, *given), capture_output=True, text=True, timeout=timeout, check=False)


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
        patch="60x60", theta="0.7", draws="0", rviz="false", robot_ns=namespace,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "exit code" not in done.stdout, done.stdout
    result = json.loads((tmp_path / "out/result.json").read_text())
    assert result["inputs"]["b"]["frames"] == 40
    assert result["parameters"]["patch"] == [60, 60]
    assert result["losses"] == []


def test_validate_ends_by_itself(real, tmp_path):
    done = launch("validate", a=real, b=real, out=tmp_path / "out", draws="0")
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
    assert "touched nothing" in done.stdout + done.stderr
    assert len(read_set(tmp_path / "drive")) > 20


def test_a_node_that_dies_ends_the_launch():
    done = launch("detect", bag=ROOT / "bags/sim.mcap", model="nothing.onnx", timeout=60)
    assert done.returncode == 1
    assert "detection_node ended with exit code 1" in done.stdout + done.stderr
    assert "nothing.onnx: neither a file nor" in done.stdout + done.stderr


def test_an_argument_that_is_misspelled_is_named():
    done = launch("validate", a="nothing", b="nothing", bootstrapp="0", timeout=60)
    assert "bootstrapp:= counts for nothing: validate has no such argument (did you mean bootstrap:= ?)" in done.stdout


@pytest.mark.parametrize(("given", "message"), [({}, "model"), ({"model": "m", "rviz": "maybe"}, "rviz")])
def test_mistakes_are_refused(given, message):
    done = launch("detect", **given, timeout=60)
    assert done.returncode == 1
    assert message in done.stdout + done.stderr
