"""`simjudge watch`: what it saves, read back with rerun; what it says where it cannot show anything."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from saved_screens import chunks, column

from simjudge.core.errors import SimjudgeError
from simjudge.reports.watch_screen import Boxes, ClassState, Screen, ScreenTarget, is_installed

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
    monkeypatch.setattr("simjudge.reports.watch_screen.is_installed", lambda: False)
    with pytest.raises(SimjudgeError, match=r"pip install 'simjudge\[watch\]'"):
        Screen(ScreenTarget.FILE, Path("x.rrd"))


def test_save_or_browser():
    done = subprocess.run(
        [sys.executable, "-m", "simjudge", "watch", "--save", "x.rrd", "--browser"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr == "error: give --save or --browser, not both\n"


@pytest.mark.usefixtures("rerun_is_here")
def test_a_live_run_is_saved_and_ctrl_c_ends_it(tmp_path, monkeypatch, ros_domain):
    pytest.importorskip("rclpy", reason="rclpy is not installed: pip install simjudge[ros]")
    pytest.importorskip("simjudge_msgs", reason="simjudge_msgs is not installed: pip install ./msgs")
    monkeypatch.setenv("ROS_DOMAIN_ID", str(ros_domain))
    monkeypatch.setenv("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    monkeypatch.setenv("ROS_LOG_DIR", str(tmp_path / "ros_log"))
    saved, log = tmp_path / "live.rrd", tmp_path / "log.txt"
    simjudge = [sys.executable, "-m", "simjudge"]
    with log.open("w") as stream:
        watching = subprocess.Popen([*simjudge, "watch", "--save", str(saved)], stdout=stream, stderr=stream)
    try:
        end = time.monotonic() + 30
        while "shown in a file" not in log.read_text():
            assert watching.poll() is None, log.read_text()
            assert time.monotonic() < end
            time.sleep(0.05)
        bag = f"bag:={ROOT / 'bags/sim.mcap'}"
        played = subprocess.run(
            [*simjudge, "run", "detect", bag, "model:=cones_red_green", "rate:=4", "rviz:=false"],
            capture_output=True, text=True, check=False, timeout=120,
        )  # fmt: skip
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
