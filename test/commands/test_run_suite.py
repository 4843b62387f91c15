"""`simjudge ros run`: real nodes on real DDS; the numbers of `simjudge compare`; deaths, Ctrl-C and mistakes."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from saved_screens import chunks, column

from simjudge.questions.watch import is_installed
from simjudge.ros.description import Process, command_line

ROOT = Path(__file__).parents[2]
BAG = ROOT / "bags/sim.mcap"
MODEL = "cones_red_green"
METHOD = {"patch": "60x60", "theta": "0.7", "draws": "50"}
NO_SCREEN = {"rviz": "false"}


@pytest.fixture
def domain(monkeypatch, tmp_path, ros_domain):
    pytest.importorskip("rclpy", reason="rclpy is not installed: pip install simjudge[ros]")
    pytest.importorskip("simjudge_msgs", reason="simjudge_msgs is not installed: pip install ./msgs")
    monkeypatch.setenv("ROS_DOMAIN_ID", str(ros_domain))
    monkeypatch.setenv("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    monkeypatch.setenv("ROS_LOG_DIR", str(tmp_path / "ros_log"))


def command(*words, **arguments):
    given = [f"{name}:={text}" for name, text in arguments.items()]
    return [sys.executable, "-m", "simjudge", *words, *given]


def run(*words, timeout=120, **arguments):
    return subprocess.run(
        command(*words, **arguments), cwd=ROOT, capture_output=True, text=True, timeout=timeout, check=False
    )


@pytest.fixture(scope="session")
def judged(tmp_path_factory):
    """Both samples with detections, and their comparison."""
    folder = tmp_path_factory.mktemp("judged")
    for name in ("real_stand_in", "sim"):
        done = run("detect", f"bags/{name}.mcap", "--model", MODEL, "--out", str(folder / f"{name}.mcap"))
        assert done.returncode == 0, done.stderr
    options = [word for name, text in METHOD.items() for word in (f"--{name}", text)]
    sets = [str(folder / "real_stand_in.mcap"), str(folder / "sim.mcap")]
    done = run("compare", *sets, "--out", str(folder / "result"), *options)
    assert done.returncode == 0, done.stderr
    return folder


def result(folder):
    return json.loads((folder / "result.json").read_text())


@pytest.mark.long
@pytest.mark.usefixtures("domain")
def test_validate_writes_what_compare_writes(judged, tmp_path):
    sets = {"a": judged / "real_stand_in.mcap", "b": judged / "sim.mcap"}
    done = run("run", "validate", **sets, **METHOD, out=tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out/result.json").read_bytes() == (judged / "result/result.json").read_bytes()
    assert "[validation_node] INFO result in" in done.stderr
    assert " red " in done.stdout


@pytest.mark.long
@pytest.mark.usefixtures("domain")
def test_live_ends_with_the_numbers_of_compare(judged, tmp_path):
    saved = {"save": tmp_path / "live.rrd"} if is_installed() else {}
    done = run(
        "run",
        "live",
        bag=BAG,
        a=judged / "real_stand_in.mcap",
        model=MODEL,
        rate="4",
        out=tmp_path / "out",
        **METHOD,
        **NO_SCREEN,
        **saved,
    )
    assert done.returncode == 0, done.stderr
    live, batch = result(tmp_path / "out"), result(judged / "result")
    for key in ("by_class", "overall", "class_names", "losses"):
        assert live[key] == batch[key], key
    assert live["inputs"]["b"]["format"] == "live"
    assert live["inputs"]["b"]["frames"] == 40
    if saved:
        found = chunks(saved["save"])
        for plot, number in (("w1/all\\ classes", "mean_w1"), ("overlap/all\\ classes\\ A", "overlap_a")):
            curve = [value[0] for _, value in column(found, f"/{plot}", "Scalars:scalars")]
            assert len(curve) >= 2
            assert live["overall"][number] in curve
        assert len(column(found, "/camera/contexts", "Boxes2D:centers")) > 5


@pytest.mark.long
@pytest.mark.usefixtures("domain")
def test_detect_records_what_detect_on_the_file_finds(judged, tmp_path):
    done = run("run", "detect", bag=BAG, model=MODEL, rate="8", out=tmp_path / "out", robot_ns="car", **NO_SCREEN)
    assert done.returncode == 0, done.stderr
    from simjudge.data.sets import read_set  # noqa: PLC0415

    recorded, file = read_set(tmp_path / "out"), read_set(judged / "sim.mcap")
    assert (recorded.stamp == file.stamp).all()
    assert (recorded.predictions.box == file.predictions.box).all()
    assert (recorded.predictions.score == file.predictions.score).all()
    assert (recorded.objects.box == file.objects.box).all()


@pytest.mark.long
@pytest.mark.usefixtures("domain")
@pytest.mark.parametrize("namespace", ["", "art_3"])
def test_on_a_robot_by_names_alone(judged, tmp_path, namespace, running):
    """play_node stands in for the robot's own camera driver, with the robot's names."""
    process, log = running(
        "detect",
        robot="art1",
        robot_ns=namespace,
        model=MODEL,
        every_frame="true",
        out=tmp_path / "out",
        record="compressed",
        calibration="art1_camera",
        **NO_SCREEN,
    )
    wait_for(log, f"recording /{namespace}/camera/detections".replace("//", "/"), process)
    camera = f"/{namespace}/sensing/front_facing_camera/raw/compressed".replace("//", "/")
    robot = Process(
        "camera_driver",
        "play_node",
        parameters={
            "bag": str(BAG),
            "rate": 8.0,
            "topics": ["/camera/image_raw/compressed"],
            "wait_for_subscribers": ["/camera/image_raw/compressed"],
            "reliability": "reliable",
        },
        remappings=(("/camera/image_raw/compressed", camera),),
    )
    played = subprocess.run(command_line(robot), capture_output=True, text=True, timeout=60, check=False)
    assert played.returncode == 0, played.stderr
    process.send_signal(signal.SIGINT)
    assert process.wait(30) == 0, log.read_text()
    from simjudge.data.sets import read_set  # noqa: PLC0415

    recorded, file = read_set(tmp_path / "out"), read_set(judged / "sim.mcap")
    assert (recorded.stamp == file.stamp).all()
    assert (recorded.predictions.box == file.predictions.box).all()


@pytest.fixture
def running(tmp_path):
    """Starts `simjudge ros run`; its log is read while it runs."""
    started = []

    def start(*words, **arguments):
        log = tmp_path / "log.txt"
        with log.open("w") as stream:
            process = subprocess.Popen(command("run", *words, **arguments), cwd=ROOT, stdout=stream, stderr=stream)
        started.append(process)
        return process, log

    yield start
    for process in started:
        if process.poll() is None:
            process.kill()
            process.wait()


def wait_for(log, text, process, timeout=60):
    end = time.monotonic() + timeout
    while text not in log.read_text():
        assert process.poll() is None, log.read_text()
        assert time.monotonic() < end, log.read_text()
        time.sleep(0.05)


def children(process):
    tasks = Path(f"/proc/{process.pid}/task")
    return [int(pid) for task in tasks.iterdir() for pid in (task / "children").read_text().split()]


def executable(pid):
    words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    return next((w.decode().rpartition(".")[2] for w in words if w.startswith(b"simjudge.nodes.")), "")


@pytest.mark.long
@pytest.mark.usefixtures("domain")
def test_one_ctrl_c_ends_all_with_everything_written(running, tmp_path):
    process, log = running("detect", bag=BAG, model=MODEL, out=tmp_path / "out", **NO_SCREEN)
    wait_for(log, "images come from", process)
    nodes = children(process)
    process.send_signal(signal.SIGINT)
    assert process.wait(30) == 0, log.read_text()
    assert "Traceback" not in log.read_text()
    assert not [pid for pid in nodes if Path(f"/proc/{pid}").exists()]
    info = run("info", str(tmp_path / "out"))
    assert info.returncode == 0, info.stderr


@pytest.mark.long
@pytest.mark.usefixtures("domain")
def test_a_node_that_is_killed_ends_the_run(running):
    process, log = running("detect", bag=BAG, model=MODEL, **NO_SCREEN)
    wait_for(log, "images come from", process)
    nodes = children(process)
    victim = next(pid for pid in nodes if executable(pid) == "detection_node")
    os.kill(victim, signal.SIGKILL)
    assert process.wait(30) == 1
    assert "error: detection_node was ended by SIGKILL while the others ran; its last lines:" in log.read_text()
    assert not [pid for pid in nodes if Path(f"/proc/{pid}").exists()]


@pytest.mark.usefixtures("domain")
def test_a_node_that_cannot_start_ends_the_run_with_its_reason():
    done = run("run", "detect", bag=BAG, model="nothing.onnx", **NO_SCREEN)
    assert done.returncode == 1
    assert "error: detection_node ended with exit code 1 while the others ran; its last lines:" in done.stderr
    assert "nothing.onnx: neither a file nor" in done.stderr.partition("its last lines:")[2]
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["run", "fly"], 2, "fly: there is no such graph; there are detect, validate, live"),
        (["run", "detect", "modle:=x"], 2, "detect has no argument modle:= (did you mean model:= ?); it has"),
        (["run", "detect", "model"], 2, "'model': arguments are written NAME:=VALUE"),
        (["run", "validate", "a:=x"], 2, "validate needs b:=..."),
        (["run", "live", "model:=x"], 2, "live needs either a:=REFERENCE"),
        (["run", "detect", "model:=x", "bag:=no.mcap"], 1, "no.mcap"),
    ],
)
def test_mistakes_are_one_line(words, code, message):
    pytest.importorskip("rclpy", reason="rclpy is not installed: pip install simjudge[ros]")
    done = run(*words)
    assert done.returncode == code
    assert done.stderr.count("\n") == 1
    assert message in done.stderr


def test_without_ros_it_says_what_to_install(tmp_path):
    (tmp_path / "sitecustomize.py").write_text(
        "import sys\n"
        "class Hide:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'rclpy': raise ModuleNotFoundError(name=name)\n"
        "sys.meta_path.insert(0, Hide())\n"
        "import importlib.util as u\n"
        "real = u.find_spec\n"
        "u.find_spec = lambda name, package=None: None if name == 'rclpy' else real(name, package)\n"
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])}
    for words in (["run", "detect", "model:=x"], ["watch"]):
        done = subprocess.run(command(*words), env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 1
        assert done.stderr.startswith("error: the nodes need rclpy: source your ROS 2 installation, or pip install")


@pytest.mark.parametrize("graph", ["detect", "validate", "live"])
def test_arguments_can_be_shown_anywhere(graph):
    done = run("run", graph, "--show-args")
    assert done.returncode == 0
    assert "\n  robot_ns:=  (default '')\n" in done.stdout
    assert ("must be given" in done.stdout) == (graph != "none")
