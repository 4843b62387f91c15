"""`simjudge sim render` end to end: what is written, that a stopped run goes on to the byte, and what is refused."""

import hashlib
import json
import os
import signal
import sys
import time

import numpy as np
import pytest
import yaml
from render_scenes import CAMERA, COURSE, camera_file, scene_file
from scipy.spatial.transform import Rotation
from support import processes

from simjudge.cli import main
from simjudge.data.rosbag2 import read_recording
from simjudge.data.sets import read_set
from simjudge.detectors.training_data import read_split
from simjudge.sim.sensors.camera.camera_file import read_camera
from simjudge.sim.vehicle.vehicle import read_vehicle

pytest.importorskip("mujoco", reason="MuJoCo (the extra `sim`) is not installed")
pytest.importorskip("mitsuba", reason="Mitsuba (the extra `sim`) is not installed")

ART1 = read_vehicle("art1")


@pytest.fixture
def place(tmp_path):
    """A folder with a scene, one with a course, and a camera."""
    scene_file(tmp_path, placements={"course": COURSE}).rename(tmp_path / "course.yaml")
    scene_file(tmp_path)
    camera_file(tmp_path)
    return tmp_path


def command(place, scene, *options):
    return [
        *processes.SIMJUDGE,
        "render",
        place / f"{scene}.yaml",
        "--camera",
        place / "camera.yaml",
        *map(str, options),
    ]


def run(place, scene, *options):
    return processes.run(command(place, scene, *options), capture_output=True, text=True, check=False)


def bytes_in(folder):
    return {
        str(p.relative_to(folder)): hashlib.sha256(p.read_bytes()).hexdigest() for p in folder.rglob("*") if p.is_file()
    }


def about(out):
    return json.loads(out.with_name(out.name + ".render.json").read_text())


def test_a_data_set_that_can_be_trained_on(place):
    out = place / "set"
    done = run(place, "tiny", "--poses", "random", "-n", 20, "--scenes", 5, "--valid", 0.2, "--test", 0.2, "--out", out)
    assert done.returncode == 0, done.stderr
    frames = read_set(out)
    assert len(frames) == 20
    assert frames.class_names == {1: "red", 2: "green"}
    assert set(frames.objects.class_id) == {1, 2}
    assert frames.images.read(0).shape == (64, 96, 3)
    split, lost = read_split(out, None, 0)
    assert not lost
    assert split.own
    assert [sum(map(len, side)) for side in (split.train, split.valid)] == [12, 4]
    # Placements stay together: frames of four are seen in each.
    sides = {path.stem: path.parent.name for path in (out / "images").rglob("*.png")}
    seeds = {frame["name"]: frame["scene_seed"] for frame in about(out)["frames"]}
    assert len(set(seeds.values())) == 5
    assert all(len({sides[n] for n, s in seeds.items() if s == seed}) == 1 for seed in seeds.values())
    assert done.stdout == ""
    assert not list(place.glob(".*"))


@pytest.mark.parametrize("name", ["set", "set.mcap", "set.db3"])
def test_distances_and_visible_shares_are_written(place, name):
    assert run(place, "tiny", "--poses", "random", "-n", 4, "--out", place / name).returncode == 0
    objects = read_set(place / name).objects
    done = about(place / name)["frames"]
    assert len(objects) > 3
    # Frames of a data set come in the order of their names, those of a recording in that of their stamps: one order.
    assert objects.visible.round(4).tolist() == [share for frame in done for share in frame["visible"]]
    assert (objects.distance > 0).all()
    whole = objects.visible > 0.99
    height = objects.box[whole, 3] - objects.box[whole, 1]
    assert np.corrcoef(np.log(height), np.log(objects.distance[whole]))[0, 1] < -0.9, "cones of one height"


def test_what_was_done_is_written_down(place):
    out = place / "set"
    run(place, "tiny", "--poses", "random", "-n", 6, "--seed", 3, "--out", out)
    told = about(out)
    assert (told["seed"], told["scene"]["placements"], told["poses"]["frames"]) == (3, 1, 6)
    assert told["poses"]["independent"]
    assert told["camera"]["name"] == "camera"
    assert "MuJoCo" in told["engine"]["variant"]
    assert told["version"]
    frames = read_set(out)
    assert [frame["name"] for frame in told["frames"]] == list(frames.frame_name)
    assert frames.independent
    assert {frame["scene_seed"] for frame in told["frames"]} == {3}
    counts = np.bincount(frames.objects.frame, minlength=6)
    assert [len(frame["visible"]) for frame in told["frames"]] == counts.tolist()
    assert all(0.25 <= share <= 1 for frame in told["frames"] for share in frame["visible"])
    assert yaml.safe_load((out / "data.yaml").read_text())["rendered"]["seed"] == 3


@pytest.mark.long
def test_the_same_seed_gives_the_same_bytes_and_another_other_ones(place):
    for name, seed in (("a", 5), ("b", 5), ("c", 6)):
        run(place, "tiny", "--poses", "random", "-n", 4, "--scenes", 2, "--seed", seed, "--out", place / name)
    assert bytes_in(place / "a") == bytes_in(place / "b")
    assert (place / "a.render.json").read_bytes() == (place / "b.render.json").read_bytes()
    assert not set(bytes_in(place / "a").values()) & set(bytes_in(place / "c").values())


@pytest.mark.long
@pytest.mark.parametrize(
    ("target", "jobs"),
    [("set", 1), pytest.param("set.mcap", 1, marks=pytest.mark.long), pytest.param("set", 2, marks=pytest.mark.long)],
)
def test_a_stopped_run_goes_on_and_ends_up_the_same_to_the_byte(place, target, jobs):
    options = ["--poses", "random", "-n", 40, "--scenes", 4, "--seed", 2, "--out"]
    whole, stopped = place / "whole" / target, place / "stopped" / target
    assert run(place, "tiny", *options, whole).returncode == 0
    partial = stopped.parent / f".{target}.partial"
    side_by_side = command(place, "tiny", *options, stopped, "--jobs", jobs)
    process = processes.Popen(side_by_side, stderr=processes.PIPE, text=True, start_new_session=True)
    while len(list(partial.glob("0*.json"))) < 5 and process.poll() is None:
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGINT)  # as the terminal does: all of its processes get it
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "the same command goes on" in said
    assert not stopped.exists()
    kept = len(list(partial.glob("0*.json")))
    assert 5 <= kept < 40
    before = {path.name: path.stat().st_mtime_ns for path in partial.glob("0*")}
    other = run(place, "tiny", *options[:-3], "--seed", 9, "--out", stopped)
    assert other.returncode == 1
    assert "unfinished frames of another run" in other.stderr
    assert before == {path.name: path.stat().st_mtime_ns for path in partial.glob("0*")}
    again = run(place, "tiny", *options, stopped, "--jobs", jobs)
    assert again.returncode == 0, again.stderr
    assert bytes_in(stopped.parent) == bytes_in(whole.parent)
    assert not list(stopped.parent.glob(".*"))


def test_along_the_course_into_a_recording(place):
    out = place / "drive.mcap"
    done = run(place, "course", "--poses", "path", "-n", 6, "--vehicle", "art1", "--out", out)
    assert done.returncode == 0, done.stderr
    frames = read_recording(out)
    assert len(frames) == 6
    assert not frames.independent
    assert len(frames.objects)
    assert all((stamp - 10**9) % 10**8 == 0 for stamp in frames.stamp.tolist())
    assert frames.images.read(2).shape == (64, 96, 3)
    info = processes.run([*processes.SIMJUDGE, "info", out], capture_output=True, text=True, check=True).stdout
    for topic in ("/camera/camera_info", "/tf", "/camera/ground_truth", "/camera/image_raw"):
        assert topic in info


def test_poses_of_a_file_in_a_camera_of_one_s_own_seat(place):
    rows = ["# stamp x y z qx qy qz qw", "1.5 -1 0 0.2 0 0 0 1", "2.5 -1 0.5 0.2 0 0 0 1"]
    (place / "poses.txt").write_text("\n".join(rows))
    done = run(place, "tiny", "--poses", place / "poses.txt", "--mount", "body", "--out", place / "set")
    assert done.returncode == 0, done.stderr
    told = about(place / "set")["frames"]
    assert [frame["name"] for frame in told] == ["1_500000000", "2_500000000"]
    assert told[1]["camera"][:3] == [-1, 0.5, 0.2]
    ahead = Rotation.from_quat(told[1]["camera"][3:]).apply([0, 0, 1])
    assert ahead == pytest.approx([1, 0, 0], abs=1e-9)
    assert read_camera(place / "camera.yaml").lens.size == (96, 64)


def test_cars_of_a_scene_stand_at_their_start_drawn_and_labelled(place):
    """One of two has a class; the camera looks at its tail, 1 m ahead in the middle of the image."""
    tail = 0.26 * ART1.wheelbase  # from base_link back to the spoiler's end
    parked = {"at": [tail, 0], "colour": "#ff0000"}
    cars = {"it": {**parked, "class": "car"}, "unseen": {"at": [-2, 1]}}
    things = {"floor": {"plane": [6, 6], "surface": {"colour": "#808080"}}}
    scene_file(place, classes={3: "car"}, placements=None, kinds={}, things=things, cars=cars)
    (place / "poses.txt").write_text("1.5 -1 0 0.2 0 0 0 1")
    done = run(place, "tiny", "--poses", place / "poses.txt", "--mount", "body", "--out", place / "set")
    assert done.returncode == 0, done.stderr
    assert "tiny: its cars (it, unseen) stand at their start; only simjudge sim drive" in done.stdout + done.stderr
    frames = read_set(place / "set")
    (left, top, right, bottom), focal = frames.objects.box[0], 48 / np.tan(np.radians(40))
    assert [frames.class_names[int(number)] for number in frames.objects.class_id] == ["car"]
    assert (left + right) / 2 == pytest.approx(48, abs=1)
    assert bottom == pytest.approx(32 + focal * 0.2 / (1 + tail - ART1.wheel_radius), abs=2), (
        "where its rear tyres stand"
    )
    red, green, _ = frames.images.read(0)[int(top) : int(bottom), int(left) : int(right)].reshape(-1, 3).T.astype(int)
    assert (red > 2 * green + 20).sum() > 10


def test_rows_that_are_no_poses_are_left_out_and_counted(place):
    (place / "poses.csv").write_text("1,-1,0,0.2,0,0,0,1\n2,nan,0,0.2,0,0,0,1\n3,-1,0.1,0.2,0,0,0,1\n")
    done = run(place, "tiny", "--poses", place / "poses.csv", "--mount", "body", "--out", place / "set")
    assert done.returncode == 3
    assert "left out 1 pose with numbers that are not finite" in done.stderr
    assert len(read_set(place / "set")) == 2


@pytest.mark.parametrize(
    ("scene", "options", "code", "says"),
    [
        ("gone", ["--poses", "random", "-n", "3"], 2, "neither a file nor the name of a scene"),
        ("tiny", ["--poses", "random", "-n", "0"], 2, "0 frames"),
        ("tiny", ["--poses", "random", "-n", "3", "--scenes", "4"], 2, "4 placements for 3 frames"),
        ("tiny", ["--poses", "random", "-n", "3", "--valid", "0.5", "--test", "0.5"], 2, "nothing to train on"),
        ("tiny", ["--poses", "path"], 2, "has no course"),
        ("tiny", ["--poses", "nowhere.txt"], 2, "random, path, or a file"),
        ("tiny", ["--poses", "nan.txt"], 1, "holds no pose that can be used"),
        ("tiny", ["--poses", "words.txt"], 1, "words.txt"),
        ("tiny", ["--poses", "random", "-n", "3", "--camera", "zero.yaml"], 1, "size: "),
        ("tiny", ["--poses", "random", "-n", "3", "--camera", "none.yaml"], 2, "nor the name of a camera"),
        ("tiny", ["--poses", "random", "-n", "3", "--mount", "body"], 2, "camera above the floor"),
        ("tiny", ["--poses", "random", "-n", "3", "--engine", "unreal"], 2, "there are default, baked, mujoco, chrono"),
        ("tiny", ["--poses", "random", "-n", "3", "--out", "o.json"], 2, "x.mcap, x.db3"),
        ("tiny", ["--poses", "random", "-n", "3", "--out", "o.mcap", "--valid", "0.2"], 2, "a recording has no sides"),
        ("tiny", ["--poses", "random", "-n", "3", "--out", "there"], 1, "exists already"),
        ("tiny", ["--poses", "random", "-n", "3", "--out", "told"], 1, "told.render.json: exists already"),
    ],
)
def test_bad_requests_are_one_line_and_leave_nothing(place, monkeypatch, capsys, scene, options, code, says):
    monkeypatch.chdir(place)
    (place / "nan.txt").write_text("1 nan 0 0 0 0 0 1\n")
    (place / "words.txt").write_text("once upon a time\n")
    (place / "zero.yaml").write_text(yaml.safe_dump({**CAMERA, "size": [0, 64]}))
    (place / "told.render.json").write_text("mine")
    (place / "there").mkdir()
    (place / "there" / "file").write_text("mine")
    before = bytes_in(place)
    out = [] if "--out" in options else ["--out", "o"]
    words = command(place, scene, *options, *out)[len(processes.SIMJUDGE) :]
    monkeypatch.setattr(sys, "argv", ["simjudge", *map(str, words)])
    with pytest.raises(SystemExit) as ended:
        main()
    said = capsys.readouterr().err
    assert ended.value.code == code, said
    assert says in " ".join(said.split())
    assert len(said.strip().splitlines()) == 1
    assert bytes_in(place) == before
    assert not list(place.glob(".*"))
