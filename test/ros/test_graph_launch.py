"""The launch files under the real launch and launch_ros, where those are installed (in a ROS 2 installation)."""

import json
import os
import signal
import time

import pytest
from driving_scenes import STRAIGHT, camera_file, scene_file
from launched_graphs import ROOT, environment, has_launch, launch_command, parent_command
from support import processes

from simjudge.data.rosbag2.recorded_poses import read_poses
from simjudge.data.rosbag2.recording import Recording
from simjudge.data.sets import read_set
from simjudge.ros.graphs import GRAPHS


@pytest.fixture(autouse=True)
def launch_environment(monkeypatch, tmp_path, ros_domain):
    if not has_launch():
        pytest.skip("launch and launch_ros are not installed: they come with a ROS 2 installation")
    pytest.importorskip("rclpy", reason="rclpy is not installed: pip install simjudge[ros]")
    for name, value in environment(tmp_path, ros_domain).items():
        monkeypatch.setenv(name, value)


def launch(name, *words, timeout=120, **arguments):
    given = [*words, *(f"{key}:={text}" for key, text in arguments.items())]
    return processes.run(launch_command(name, *given), capture_output=True, text=True, timeout=timeout, check=False)


@pytest.mark.parametrize("name", sorted(GRAPHS))
def test_a_launch_file_declares_the_arguments_of_its_graph(name):
    shown = launch(name, "--show-args")
    assert shown.returncode == 0, shown.stderr
    found = [eval(line, {}) for line in shown.stdout.splitlines()]  # noqa: S307 - our own repr
    for (key, default, description, choices), each in zip(found, GRAPHS[name].arguments, strict=True):
        # Any writing of a truth is taken, where launch compares texts.
        truth = "true" in each.choices
        assert (key, default, choices) == (each.name, each.default, () if truth else each.choices)
        assert not truth or f"One of: {', '.join(each.choices)}" in description
        assert description.startswith(each.description)


@pytest.fixture(scope="module")
def real(tmp_path_factory):
    out = tmp_path_factory.mktemp("detected") / "real.mcap"
    words = ["detect", str(ROOT / "bags/real_stand_in.mcap"), "--model", "cones_red_green", "--out", str(out)]
    processes.run([*processes.SIMJUDGE, *words], check=True, capture_output=True)
    return out


@pytest.mark.parametrize("namespace", ["", "car"])
def test_live_ends_by_itself_with_the_whole_result(real, tmp_path, namespace):
    done = launch(
        "live",
        bag=ROOT / "bags/sim.mcap",
        a=real,
        model="cones_red_green",
        rate="4",
        out=tmp_path / "out",
        patch="60x60",
        theta="0.7",
        draws="0",
        rviz="false",
        robot_ns=namespace,
    )
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
        "sim",
        scene=scene_file(tmp_path, STRAIGHT),
        camera=camera_file(tmp_path),
        detector="ground_truth",
        out=tmp_path / "drive",
        rviz="false",
        robot_ns=namespace,
        tf="namespace" if namespace else "global",
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "touched nothing" in done.stdout + done.stderr
    assert len(read_set(tmp_path / "drive")) > 20
    held = {topic.name for topic in Recording(tmp_path / "drive").topics.values() if topic.name.endswith("tf")}
    assert held == {"/car/tf" if namespace else "/tf"}
    assert len(read_poses(tmp_path / "drive", f"/{namespace}/tf".replace("//", "/")).trajectory.stamp) > 20


class Parent:
    """A launch file of somebody's, which includes a graph beside the robot's driver."""

    def __init__(self, folder, name, *words, **arguments):
        self.folder, self.log = folder, folder / "parent.log"
        with self.log.open("w") as log:
            command = parent_command(folder, name, *words, **arguments)
            self.process = processes.Popen(command, stdout=log, stderr=processes.STDOUT, text=True)

    @property
    def output(self):
        return self.log.read_text()

    def wait_for(self, text, count=1, timeout=120):
        end = time.monotonic() + timeout
        while self.output.count(text) < count:
            assert self.process.poll() is None, self.output
            assert time.monotonic() < end, f"{text!r} not in {self.output}"
            time.sleep(0.1)

    def release(self):
        """Have the driver end; the exit code of the launch."""
        (self.folder / "release").touch()
        return self.process.wait(60)

    def close(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            self.process.wait(60)


@pytest.fixture
def parent(tmp_path):
    started = []

    def start(name, *words, **arguments):
        started.append(Parent(tmp_path, name, *words, **arguments))
        return started[-1]

    yield start
    for each in started:
        each.close()


BAG = {"bag": ROOT / "bags/sim.mcap", "model": "cones_red_green", "rate": "4"}


def test_a_graph_that_is_over_leaves_the_launch_that_includes_it_alone(parent):
    ran = parent("detect", "model_name:=yolo", **BAG)
    ran.wait_for("process has finished cleanly", 2)
    time.sleep(1)
    assert "driver lived on" not in ran.output
    assert ran.release() == 0, ran.output
    assert "driver lived on" in ran.output
    assert "40 images received, 40 detected on" in ran.output
    assert "counts for nothing" not in ran.output, "an argument of the parent's is no mistake"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (BAG | {"model": "nothing.onnx"}, "nothing.onnx: neither a file nor"),
        (BAG | {"bag": "nothing.mcap"}, "nothing.mcap"),
        (BAG | {"rviz": "maybe"}, "rviz:=maybe: must be one of"),
    ],
)
def test_a_graph_that_fails_leaves_the_launch_that_includes_it_alone(parent, arguments, message):
    ran = parent("detect", **arguments)
    ran.wait_for("driver up")
    ran.wait_for(message)
    time.sleep(3)
    assert ran.release() == 1, "at the end the launch says that a graph of it has failed"
    assert "driver lived on" in ran.output


def test_a_node_that_is_killed_ends_the_other_nodes_of_its_graph_alone(parent):
    ran = parent("detect", **(BAG | {"rate": "0.1"}))
    ran.wait_for("images come from")
    pid = next(line for line in ran.output.splitlines() if "detection_node" in line and "started with pid" in line)
    os.kill(int(pid.rpartition("[")[2].rstrip("]")), signal.SIGKILL)
    ran.wait_for("process has finished cleanly")
    assert ran.release() == 1
    assert "detect: detection_node ended with exit code -9" in ran.output
    assert "driver lived on" in ran.output


def test_a_graph_ends_the_launch_that_includes_it_where_it_is_told_to(parent):
    ran = parent("detect", on_exit="shutdown", **BAG)
    assert ran.process.wait(120) == 0, ran.output
    assert "driver lived on" not in ran.output
    assert "40 images received, 40 detected on" in ran.output


@pytest.mark.parametrize("own", ["", "camera_car"])
def test_nodes_below_a_namespace_of_the_parent_find_each_other(parent, own):
    ran = parent("detect", namespaces=["fleet"], robot_ns=own, use_sim_time="True", loop="0", autostart="1", **BAG)
    ran.wait_for("process has finished cleanly", 2)
    assert ran.release() == 0, ran.output
    assert "40 images received, 40 detected on" in ran.output
    space = f"/fleet/{own}" if own else "/fleet"
    assert f"images come from {space}/camera/image_raw" in ran.output


def test_a_node_that_dies_ends_the_launch():
    done = launch("detect", bag=ROOT / "bags/sim.mcap", model="nothing.onnx", timeout=60)
    assert done.returncode == 1
    assert "detection_node ended with exit code 1" in done.stdout + done.stderr
    assert "nothing.onnx: neither a file nor" in done.stdout + done.stderr


def test_an_argument_that_is_misspelled_is_named():
    done = launch("validate", a="nothing", b="nothing", drawss="0", timeout=60)
    assert "drawss:= counts for nothing: validate has no such argument (did you mean draws:= ?)" in done.stdout


@pytest.mark.parametrize(("given", "message"), [({}, "model"), ({"model": "m", "rviz": "maybe"}, "rviz")])
def test_mistakes_are_refused(given, message):
    done = launch("detect", **given, timeout=60)
    assert done.returncode == 1
    assert message in done.stdout + done.stderr
