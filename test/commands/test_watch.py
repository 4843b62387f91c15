"""`simjudge ros watch`: what it saves, read back with rerun; what it says where it cannot show anything."""

import math
import signal
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from saved_screens import chunks, column
from support import processes

from simjudge.core.errors import SimjudgeError
from simjudge.geometry.poses import Pose
from simjudge.questions.watch import Boxes, ClassState, Screen, ScreenTarget, is_installed
from simjudge.sim.sensors.recorded_readings import RecordedBoxes

ROOT = Path(__file__).parents[2]


@pytest.fixture
def rerun_is_here():
    if not is_installed():
        pytest.skip("rerun is not installed: pip install simjudge[watch]")


@pytest.mark.usefixtures("rerun_is_here")
def test_a_saved_screen_holds_what_was_shown(tmp_path):
    path = tmp_path / "shown.rrd"
    screen = Screen(ScreenTarget.FILE, path)
    assert not path.exists()
    w1 = [0.25, float("nan"), 0.5]
    for index, value in enumerate(w1):
        stamp = 1_700_000_000_000_000_001 + index
        screen.show_image(stamp, np.full((8, 16, 3), index, np.uint8))
        boxes = Boxes(np.array([[1.0, 2.0, 5.0, 8.0]]), np.array([[255, 0, 0]]), ["red"])
        screen.show_boxes(stamp, "contexts", boxes)
        screen.show_summary(stamp, [ClassState("red / 1", value, 0.5, 0.75, (255, 0, 0))], {"A": "real"})
    with pytest.raises(ValueError, match="sky"):
        screen.show_boxes(0, "sky", boxes)
    assert screen.close() == path
    assert list(tmp_path.iterdir()) == [path]
    found = chunks(path)
    stamps = [1_700_000_000_000_000_001 + index for index in range(3)]
    curve = column(found, "/w1/red\\ \\/\\ 1", "Scalars:scalars")
    assert [stamp for stamp, _ in curve] == stamps
    np.testing.assert_array_equal([value[0] for _, value in curve], w1)
    assert [v[0] for _, v in column(found, "/overlap/red\\ \\/\\ 1\\ B", "Scalars:scalars")] == [0.75] * 3
    centres = column(found, "/camera/contexts", "Boxes2D:centers")
    assert [value for _, value in centres] == [[[3.0, 5.0]]] * 3
    assert len(column(found, "/camera", "EncodedImage:blob")) == 3
    assert "| red / 1 | 0.5000 | 0.5000 | 0.7500 |" in column(found, "/summary", "TextDocument:text")[2][1][0]


@pytest.mark.usefixtures("rerun_is_here")
def test_a_saved_screen_holds_what_sensors_read(tmp_path):
    path = tmp_path / "shown.rrd"
    screen = Screen(ScreenTarget.FILE, path)
    mount = Pose((1.0, 2.0, 3.0), (0.0, 0.0, math.sin(math.pi / 4), math.cos(math.pi / 4)))
    points = np.array([[1.0, 0.0, 0.0], [math.nan, 0.0, 0.0], [2.0, 0.0, 0.5]])
    centre, size = np.array([[1.0, 0.0, 0.0]]), np.array([[1.0, 2.0, 4.0]])
    box = RecordedBoxes(np.array([1]), ["red"], centre, np.eye(3)[None], size)
    screen.signals_at(10).show_cloud("/roof/points", points, mount)
    screen.signals_at(10).show_boxes("/roof/points/boxes", box, mount)
    screen.signals_at(20).show_scan("/scan", points[:1], Pose())
    for stamp, turn in ((30, 0.25), (40, 0.5)):
        screen.signals_at(stamp).show_imu("/imu/data", (turn, 0.0, 0.0), None if stamp == 40 else (0.0, 0.0, 9.8))
    for stamp, latitude in ((50, 43.0), (60, 43.00001)):
        screen.signals_at(stamp).show_fix("/gps/fix", (latitude, -89.0, 260.0))
    screen.close()
    found = chunks(path)
    # The mount turns left: ahead of the lidar is to the left of the car.
    ((stamp, cloud),) = column(found, "/clouds/roof/points", "Points3D:positions")
    assert stamp == 10
    np.testing.assert_allclose(cloud, [[1, 3, 3], [1, 4, 3.5]], atol=1e-6)
    ((_, colours),) = column(found, "/clouds/roof/points", "Points3D:colors")
    assert len(set(colours)) == 2
    ((_, centre),) = column(found, "/clouds/roof/points/boxes", "Boxes3D:centers")
    np.testing.assert_allclose(centre, [[1, 3, 3]], atol=1e-6)
    assert column(found, "/clouds/roof/points/boxes", "Boxes3D:half_sizes")[0][1] == [[0.5, 1.0, 2.0]]
    assert column(found, "/clouds/roof/points/boxes", "Boxes3D:labels")[0][1] == ["red"]
    assert column(found, "/clouds/scan", "Points3D:positions")[0][1] == [[1.0, 0.0, 0.0]]
    assert column(found, "/turn_rate/imu/data/x", "Scalars:scalars") == [(30, [0.25]), (40, [0.5])]
    assert column(found, "/acceleration/imu/data/z", "Scalars:scalars") == [(30, [9.8])]
    (_, (first,)), (_, (second,)) = column(found, "/gps/gps/fix", "LineStrips2D:strips")
    assert first == [[0.0, 0.0], [0.0, 0.0]]
    # 1e-5 degrees of latitude are 1.11 m; rows of a picture count downwards.
    assert second[1] == pytest.approx([0.0, -1.111], abs=0.001)
    places = [value for _, value in column(found, "/gps/gps/fix", "GeoPoints:positions")]
    assert places == [[[43.0, -89.0]], [[43.00001, -89.0]]]


@pytest.mark.usefixtures("rerun_is_here")
def test_places_that_cannot_be_written_to(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(SimjudgeError, match="cannot be written to"):
        Screen(ScreenTarget.FILE, tmp_path / "file" / "x.rrd")


@pytest.mark.usefixtures("rerun_is_here")
def test_without_a_screen_there_is_no_window(monkeypatch):
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    with pytest.raises(SimjudgeError, match="no screen for a window; show it in a browser, or save it"):
        Screen(ScreenTarget.WINDOW)


def test_without_rerun_it_says_what_to_install(monkeypatch):
    monkeypatch.setattr("simjudge.questions.watch.is_installed", lambda: False)
    with pytest.raises(SimjudgeError, match=r"pip install 'simjudge\[watch\]'"):
        Screen(ScreenTarget.FILE, Path("x.rrd"))


def test_save_or_browser():
    done = processes.simjudge("watch", "--save", "x.rrd", "--browser")
    assert done.returncode == 2
    assert done.stderr == "error: give --save or --browser, not both\n"


@pytest.mark.long
@pytest.mark.usefixtures("rerun_is_here")
def test_a_live_run_is_saved_and_ctrl_c_ends_it(tmp_path, monkeypatch, ros_domain):
    pytest.importorskip("rclpy", reason="rclpy is not installed: pip install simjudge[ros]")
    pytest.importorskip("simjudge_msgs", reason="simjudge_msgs is not installed: pip install ./msgs")
    monkeypatch.setenv("ROS_DOMAIN_ID", str(ros_domain))
    monkeypatch.setenv("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    monkeypatch.setenv("ROS_LOG_DIR", str(tmp_path / "ros_log"))
    saved, log = tmp_path / "live.rrd", tmp_path / "log.txt"
    simjudge = [*processes.SIMJUDGE]
    with log.open("w") as stream:
        watching = processes.Popen([*simjudge, "watch", "--save", str(saved)], stdout=stream, stderr=stream)
    try:
        end = time.monotonic() + 30
        while "shown in a file" not in log.read_text():
            assert watching.poll() is None, log.read_text()
            assert time.monotonic() < end
            time.sleep(0.05)
        bag = f"bag:={ROOT / 'bags/sim.mcap'}"
        played = processes.run(
            [*simjudge, "run", "detect", bag, "model:=cones_red_green", "rate:=4", "rviz:=false"],
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        assert played.returncode == 0, played.stderr
        watching.send_signal(signal.SIGINT)
        assert watching.wait(30) == 0, log.read_text()
    finally:
        watching.kill()
        watching.wait()
    assert f"saved {saved}" in log.read_text()
    found = chunks(saved)
    recorded = {1_700_000_000_000_000_000 + index * 500_000_000 for index in range(40)}
    for entity, name in (("/camera", "EncodedImage:blob"), ("/camera/detections", "Boxes2D:centers")):
        stamps = [stamp for stamp, _ in column(found, entity, name)]
        # The recording does not wait for who only looks on.
        assert len(stamps) > 5, entity
        assert set(stamps) <= recorded


@pytest.mark.long
@pytest.mark.usefixtures("rerun_is_here")
def test_sensors_of_a_graph_are_found_by_their_type(tmp_path, monkeypatch, ros_domain):
    pytest.importorskip("rclpy", reason="rclpy is not installed: pip install simjudge[ros]")
    monkeypatch.setenv("ROS_DOMAIN_ID", str(ros_domain))
    monkeypatch.setenv("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    monkeypatch.setenv("ROS_LOG_DIR", str(tmp_path / "ros_log"))
    saved, log = tmp_path / "live.rrd", tmp_path / "log.txt"
    remaps = ["--ros-args", "-r", "scan/points:=/robot/velodyne_points"]
    with log.open("w") as stream:
        source = processes.Popen([sys.executable, str(ROOT / "test/nodes/sensor_source.py"), *remaps], stderr=stream)
        watching = processes.Popen([*processes.SIMJUDGE, "watch", "--save", str(saved)], stdout=stream, stderr=stream)
    try:
        end = time.monotonic() + 60
        while "sees /imu/data" not in log.read_text() or "sees /robot/velodyne_points" not in log.read_text():
            assert watching.poll() is None, log.read_text()
            assert time.monotonic() < end, log.read_text()
            time.sleep(0.05)
        time.sleep(1)
        watching.send_signal(signal.SIGINT)
        assert watching.wait(30) == 0, log.read_text()
    finally:
        for process in (watching, source):
            process.kill()
            process.wait()
    found = chunks(saved)
    assert column(found, "/clouds/robot/velodyne_points", "Points3D:positions")[0][1] == [[0, 1, 2], [4, 5, 6]]
    assert {value[0] for _, value in column(found, "/turn_rate/imu/data/x", "Scalars:scalars")} <= {0.1, 0.4}
