"""`simjudge sim replay` end to end: what is seen from where, pairs with what it replays, stopped and gone on with."""

import json
import signal
import time
from functools import cache

import numpy as np
import pytest
from support import processes
from support.processes import simjudge

from simjudge.data.rosbag2 import describe_recording, read_recording
from simjudge.data.rosbag2.recorded_poses import read_poses
from simjudge.geometry.poses import Pose
from simjudge.sim.scene.read import read_scene
from simjudge.sim.sensors.camera.camera_file import read_camera
from simjudge.sim.vehicle.vehicle import read_vehicle

pytest.importorskip("mujoco", reason="MuJoCo (the extra `sim`) is not installed")
pytest.importorskip("mitsuba", reason="Mitsuba (the extra `sim`) is not installed")

START = 1_700_000_000
CAMERA = """size: [480, 270]
field_of_view: 80
supersampling: 1
rate: 5
"""
NOISY = f"""{CAMERA}
lens: {{model: radial, k1: -0.369, k2: 0.1257, k3: -0.0194}}
filters:
  - shot_noise: {{shot: 6, read: 1.5}}
  - jpeg: {{quality: 90}}
"""
BACK = ("--poses", "/tf", "--child", "camera_optical_frame", "--mount", "optical", "--scene", "lab")


def replay(*arguments):
    return simjudge("replay", *arguments)


@cache
def course():
    return read_scene("lab").course.centre_line


def along_the_course(seconds):
    """base_link on the lab's centre line at 1 m/s, facing along it."""
    line = course()
    gone = np.r_[0, np.cumsum(np.linalg.norm(np.diff(line, axis=0), axis=1))]
    x, y = (float(np.interp(seconds, gone, line[:, axis])) for axis in (0, 1))
    ahead = [np.interp(seconds + 0.05, gone, line[:, axis]) for axis in (0, 1)]
    return Pose.from_euler(x, y, yaw=float(np.arctan2(ahead[1] - y, ahead[0] - x)))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Poses as text, cameras, and `real.mcap`: what the noisy camera saw of the lab from there."""
    here = tmp_path_factory.mktemp("replay")
    rows = []
    for index in range(21):
        pose = along_the_course(0.1 * index)
        numbers = " ".join(f"{value:.9f}" for value in (*pose.position, *pose.orientation))
        rows.append(f"{START + 0.1 * index:.1f} {numbers}")
    (here / "poses.txt").write_text("\n".join(rows) + "\n")
    (here / "plain.yaml").write_text(CAMERA)
    (here / "noisy.yaml").write_text(NOISY)
    done = replay(
        here / "poses.txt",
        "--scene",
        "lab",
        "--camera",
        here / "noisy.yaml",
        "--out",
        here / "real.mcap",
        "--rate",
        2.5,
        "--seed",
        3,
    )
    assert done.returncode == 0, done.stderr
    return here


def test_without_pictures_frames_come_at_a_steady_rate_and_tell_where_they_were_seen_from(folder):
    frames = read_recording(folder / "real.mcap")
    assert frames.stamp.tolist() == [START * 10**9 + i * 400_000_000 for i in range(6)]
    assert frames.class_names == {1: "red", 2: "green"}
    assert frames.labelled.all()
    assert frames.images.read_encoded(0).suffix == ".jpg"
    assert {topic.topic: topic.count for topic in describe_recording(folder / "real.mcap").topics} == {
        "/camera/image_raw/compressed": 6,
        "/camera/camera_info": 6,
        "/camera/ground_truth": 6,
        "/camera/frame_info": 6,
        "/tf": 6,
    }
    about = json.loads((folder / "real.mcap.replay.json").read_text())
    assert (about["seed"], about["scene"]["seed"], about["frames"]["count"]) == (3, 3, 6)
    assert about["mount"] == "where art1 carries it"
    camera = read_poses(folder / "real.mcap", "/tf", None, "camera_optical_frame").trajectory
    assert camera.frame_id == "map"
    mount = read_vehicle("art1").mounts["camera"].optical_frame()
    for row in range(6):
        expected = along_the_course(0.4 * row) @ mount
        np.testing.assert_allclose(camera.pose(row).matrix(), expected.matrix(), atol=1e-6)


def test_boxes_lie_on_the_cones_as_the_lens_sees_them(folder):
    """Each box against the corners of its cone's mesh, projected by the lens: an independent way to the same pixels."""
    frames, scene, lens = (
        read_recording(folder / "real.mcap"),
        read_scene("lab", 3),
        read_camera(folder / "noisy.yaml").lens,
    )
    things = {thing.instance: thing for thing in scene.labelled()}
    mount = read_vehicle("art1").mounts["camera"].optical_frame()
    whole = 0
    for row in range(len(frames.objects)):
        frame, box = int(frames.objects.frame[row]), frames.objects.box[row]
        thing = things[int(frames.objects.instance[row])]
        assert thing.class_id == frames.objects.class_id[row]
        camera = along_the_course(0.4 * frame) @ mount
        ends = thing.mesh.vertices.min(0), thing.mesh.vertices.max(0)
        away = np.linalg.norm(thing.pose.to_world(np.mean(ends, 0)) - camera.position)
        assert frames.objects.distance[row] == pytest.approx(away, abs=1e-6)
        assert 0.25 <= frames.objects.visible[row] <= 1
        # Box coordinates have a pixel's centre at a half.
        corners = lens.project(camera.to_body(thing.pose.to_world(thing.mesh.vertices))) + 0.5
        around = np.r_[corners.min(0), corners.max(0)]
        inside = (around[:2] > 0).all() and (around[2:] < lens.size).all()
        assert (box[:2] >= around[:2] - 1).all()
        assert (box[2:] <= around[2:] + 1).all()
        near = np.abs(box - around).max() < 1.5
        whole += inside and near
    assert whole > 0.6 * len(frames.objects)
    # Red on the right: most red boxes are right of most green ones.
    middle = frames.objects.box[:, [0, 2]].mean(1)
    assert np.median(middle[frames.objects.class_id == 1]) > np.median(middle[frames.objects.class_id == 2])


@pytest.fixture(scope="module")
def paired(folder):
    done = replay(
        folder / "real.mcap", *BACK, "--camera", folder / "plain.yaml", "--out", folder / "sim.mcap", "--seed", 3
    )
    assert done.returncode == 0, done.stderr
    return folder / "sim.mcap"


@pytest.mark.long
def test_a_script_for_another_simulator(folder, tmp_path):
    out = tmp_path / "move.py"
    done = replay(folder / "poses.txt", "--camera", "plain", "--out", out)
    assert (done.returncode, "--scene" in done.stderr) == (2, True)
    done = replay(folder / "poses.txt", "--camera", "plain", "--out", out, "--for", "carla", "--scene", "lab")
    assert (done.returncode, "leave out --scene" in done.stderr) == (2, True)
    where = ("--poses", "/tf", "--child", "camera_optical_frame", "--mount", "optical")
    done = replay(folder / "real.mcap", *where, "--camera", "plain", "--out", out, "--for", "carla")
    assert done.returncode == 0, done.stderr
    names = [line.split(",")[0] for line in (tmp_path / "move.csv").read_text().splitlines()[1:]]
    assert names == list(read_recording(folder / "real.mcap").frame_name)


@pytest.mark.long
def test_a_replay_pairs_with_what_it_replays(folder, paired):
    real, sim = read_recording(folder / "real.mcap"), read_recording(paired)
    assert (list(sim.frame_name), sim.stamp.tolist()) == (list(real.frame_name), real.stamp.tolist())
    assert sim.images.read_encoded(0).suffix == ".png"
    # The same cones from the same places; only the lens is another one.
    shared, sim_shared = (
        {*zip(o.frame.tolist(), o.instance.tolist(), strict=True)} for o in (real.objects, sim.objects)
    )
    assert len(shared & sim_shared) > 0.9 * len(shared) > 20
    for name in ("real", "sim"):
        done = simjudge(
            "detect", folder / f"{name}.mcap", "--model", "cones_red_green", "--out", folder / f"{name}_d.mcap"
        )
        assert done.returncode == 0, done.stderr
    done = simjudge(
        "compare",
        folder / "real_d.mcap",
        folder / "sim_d.mcap",
        "--paired",
        "--patch",
        "40x40",
        "--theta",
        "0.5",
        "--draws",
        20,
        "--out",
        folder / "result",
    )
    assert done.returncode == 0, done.stderr
    result = json.loads((folder / "result" / "result.json").read_text())
    assert [result["inputs"][side]["frames"] for side in ("a", "b")] == [6, 6]
    assert result["overall"]["pointwise_pairs"] == len(shared & sim_shared)


@pytest.mark.long
def test_the_same_lens_at_the_same_poses_gives_the_same_labels(folder, tmp_path):
    out = tmp_path / "again"
    done = replay(folder / "real.mcap", *BACK, "--camera", folder / "noisy.yaml", "--out", out, "--seed", 3)
    assert done.returncode == 0, done.stderr
    real, again = read_recording(folder / "real.mcap"), read_recording(out)
    np.testing.assert_array_equal(again.objects.box, real.objects.box)
    np.testing.assert_array_equal(again.objects.instance, real.objects.instance)


@pytest.mark.long
def test_pose_noise_puts_each_frame_off_by_what_it_is(folder, tmp_path):
    out = tmp_path / "off.mcap"
    done = replay(
        folder / "real.mcap",
        *BACK,
        "--camera",
        folder / "plain.yaml",
        "--out",
        out,
        "--noise",
        "--noise-angle",
        2,
        "--seed",
        5,
    )
    assert done.returncode == 0, done.stderr
    there = [read_poses(path, "/tf", None, "camera_optical_frame").trajectory for path in (folder / "real.mcap", out)]
    errors = [there[0].pose(row).inverse() @ there[1].pose(row) for row in range(6)]
    angles = np.degrees([error.angles() for error in errors])
    assert 0.5 < np.sqrt((angles**2).mean()) < 4
    assert 0.002 < np.abs([error.position for error in errors]).mean() < 0.03
    assert len({tuple(error.position) for error in errors}) == 6


@pytest.mark.long
def test_measured_cones_stand_where_the_table_has_them(folder, tmp_path):
    table, out = tmp_path / "cones.txt", tmp_path / "measured.mcap"
    table.write_text("id colour x y\n0 0 -2.7 0.6\n0 1 -3.9 0.6\n1 0 -2.7 1.2\n")
    done = replay(
        folder / "poses.txt",
        "--scene",
        "lab",
        "--camera",
        folder / "plain.yaml",
        "--cones",
        table,
        "--rate",
        1,
        "--duration",
        0.5,
        "--out",
        out,
    )
    assert done.returncode == 0, done.stderr
    frames = read_recording(out)
    lens = read_camera(folder / "plain.yaml").lens
    camera = along_the_course(0) @ read_vehicle("art1").mounts["camera"].optical_frame()
    expected = [lens.project(camera.to_body([x, y, 0.03])) + 0.5 for x, y in ((-2.7, 0.6), (-3.9, 0.6), (-2.7, 1.2))]
    assert sorted(frames.objects.class_id.tolist()) == [1, 1, 2]
    for (x0, y0, x1, y1), kind in zip(frames.objects.box, frames.objects.class_id, strict=True):
        hits = [e for e in expected if x0 <= e[0] <= x1 and y0 <= e[1] <= y1]
        assert hits
        assert (kind == 2) == (hits[0][0] < 240)


@pytest.mark.long
@pytest.mark.slow
def test_stopped_work_is_kept_and_gone_on_with(folder, paired, tmp_path):
    out = tmp_path / "sim.mcap"
    arguments = [folder / "real.mcap", *BACK, "--camera", folder / "plain.yaml", "--out", out, "--seed", "3"]
    process = processes.Popen([*processes.SIMJUDGE, "replay", *arguments], stderr=processes.PIPE, text=True)
    partial = tmp_path / ".sim.mcap.partial"
    end = time.monotonic() + 60
    while not list(partial.glob("0*.json")):
        assert process.poll() is None
        assert time.monotonic() < end
        time.sleep(0.005)
    process.send_signal(signal.SIGINT)
    said = process.communicate(timeout=60)[1]
    assert process.returncode == 130, said
    kept = sorted(path.name for path in partial.glob("0*.json"))
    assert f"{len(kept)} of 6 frames are finished and kept in {partial}; the same command goes on with the rest" in said
    assert not out.exists()
    times = {name: (partial / name).stat().st_mtime_ns for name in kept}
    other = replay(*arguments[:-1], "4")
    assert other.returncode == 1
    assert "holds unfinished frames of another run (" in other.stderr
    assert times == {name: (partial / name).stat().st_mtime_ns for name in kept}
    done = replay(*arguments)
    assert done.returncode == 0, done.stderr
    assert not partial.exists()
    assert out.read_bytes() == paired.read_bytes()


@pytest.mark.long
def test_a_full_disk_is_one_line_and_keeps_what_is_finished(folder, tmp_path):
    out = tmp_path / "sim.mcap"
    given = [folder / "poses.txt", "--scene", "lab", "--camera", folder / "plain.yaml", "--rate", 1, "--out", out]
    words = " ".join(f"'{word}'" for word in (*processes.SIMJUDGE, "replay", *given))
    # 250 blocks of 1 kB: enough for each picture, not for all of them in one file.
    done = processes.run(["bash", "-c", f"ulimit -f 250; {words}"], capture_output=True, text=True)
    assert done.returncode == 1
    assert "3 of 3 frames are finished and kept in" in done.stderr
    assert f"error: {out}: the disk is full (or a file-size limit is reached)" in done.stderr
    assert not out.exists()
    done = replay(*given)
    assert done.returncode == 0, done.stderr
    assert [path.name for path in sorted(tmp_path.iterdir())] == ["sim.mcap", "sim.mcap.replay.json"]


@pytest.mark.long
def test_a_drive_in_closed_loop_seen_again_has_the_same_labels(folder, tmp_path):
    """The car that moved by physics, and the camera that is moved along its odometry, see the same."""
    driven, again = tmp_path / "driven.mcap", tmp_path / "again.mcap"
    done = simjudge("drive", "lab", "--camera", folder / "plain.yaml", "--rate", 2, "--limit", 4, "--out", driven)
    assert driven.exists(), done.stderr
    done = replay(driven, "--scene", "lab", "--camera", folder / "plain.yaml", "--out", again)
    assert done.returncode == 0, done.stderr
    assert "poses from /vehicle/odometry (nav_msgs/msg/Odometry) odom -> base_link" in done.stderr
    first, second = read_recording(driven), read_recording(again)
    assert first.stamp.tolist() == second.stamp.tolist()
    np.testing.assert_array_equal(first.objects.instance, second.objects.instance)
    assert np.abs(first.objects.box - second.objects.box).max() <= 1
    assert len(first.objects) > 50


@pytest.mark.long
def test_poses_beside_the_scene_are_told(folder, tmp_path):
    done = replay(
        folder / "poses.txt",
        "--scene",
        "lab",
        "--camera",
        folder / "plain.yaml",
        "--rate",
        1,
        "--align",
        "12,0,0",
        "--out",
        tmp_path / "outside.mcap",
    )
    assert done.returncode == 0, done.stderr
    assert "no floor is below the camera in 3 of 3 frames, the first: 1700000000_000000000, at x" in done.stderr
    assert "bring the poses into the scene with --align" in done.stderr


@pytest.mark.long
@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (["--out", "real.mcap"], 1, "real.mcap: exists already; choose another name or remove it"),
        (
            ["--out", "told.mcap"],
            1,
            "told.mcap.replay.json: exists already and is not an earlier output",
        ),
        (["--vehicle", "art1", "--mount", "body"], 2, "--vehicle brings a mount for the camera"),
        (
            ["--mount", "0,0"],
            2,
            "--mount 0,0: give x,y,z or x,y,z,yaw,pitch,roll in metres and degrees, or body or optical",
        ),
        (["--scene", "moon"], 2, "moon: neither a file nor the name of a scene"),
        (["--cone-kinds", "0=red_cone"], 2, "--cone-kinds 0=red_cone: says what the rows of --cones are"),
        (
            ["--engine", "unreal"],
            2,
            "engine 'unreal': no engine has this name; there are default, baked, mujoco, chrono",
        ),
        (["--max-gap", "0"], 2, "Invalid value for '--max-gap': Input should be greater than or equal to"),
        (["--rate", "0"], 2, "--rate 0: must be above 0"),
        (["--duration", "-1"], 2, "--duration -1: must be above 0"),
    ],
)
def test_what_makes_no_sense_is_one_line(folder, options, code, said):
    given = ["--scene", "lab", "--camera", "plain.yaml", "--out", "x.mcap", *options]
    (folder / "told.mcap.replay.json").write_text("mine")
    done = simjudge("replay", "poses.txt", *given, cwd=folder)
    assert (done.returncode, done.stdout) == (code, ""), done.stderr
    assert said in done.stderr
    assert not (folder / "x.mcap").exists()
    assert not list(folder.glob(".*.partial/0*"))


@pytest.mark.long
def test_frames_without_poses_are_left_out_and_counted(folder, tmp_path):
    (tmp_path / "poses.txt").write_text("".join((folder / "poses.txt").read_text().splitlines(keepends=True)[3:15]))
    out = tmp_path / "part.mcap"
    done = replay(
        folder / "real.mcap",
        "--poses",
        tmp_path / "poses.txt",
        "--scene",
        "lab",
        "--camera",
        folder / "plain.yaml",
        "--out",
        out,
    )
    assert done.returncode == 3
    assert "left out 1 frame before the first pose of" in done.stderr
    assert "left out 2 frames after the last pose of" in done.stderr
    assert read_recording(out).stamp.tolist() == read_recording(folder / "real.mcap").stamp.tolist()[1:4]
