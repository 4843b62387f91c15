"""Poses and lenses for other simulators, against their own formulas; what is written compiles and parses."""

import csv
import json
import math
import os
import runpy
import subprocess
import sys

import numpy as np
import pytest
from PIL import Image
from scipy.spatial.transform import Rotation

from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.core.text import load_xml
from simjudge.data.sets import read_set
from simjudge.geometry.poses import Pose
from simjudge.sim.capture.replay_elsewhere import (
    SIMULATORS,
    PinholeCamera,
    camera_body,
    carla_transform,
    write_replay_script,
)
from simjudge.sim.capture.replay_plan import CameraPathOptions
from simjudge.sim.sensors.camera.camera_file import read_camera
from simjudge.sim.sensors.camera.filtering import Bend

FLIP = np.diag([1.0, -1.0, 1.0])
"""From a right-handed world to CARLA's: y to the other side."""
OPTICAL = np.array([[0.0, 0, 1], [-1, 0, 0], [0, -1, 0]])
"""Columns: the optical axes x right, y down, z ahead in a body's x ahead, y left, z up."""


def poses():
    rng = np.random.default_rng(3)
    turns = Rotation.random(12, random_state=3).as_quat()
    return [Pose(tuple(place), tuple(turn)) for place, turn in zip(rng.normal(size=(12, 3)) * 9, turns, strict=True)]


def carla_matrix(pitch, yaw, roll):
    """The rotation of carla.Transform.get_matrix (LibCarla, geom/Transform.h), written out."""
    (cp, sp), (cy, sy), (cr, sr) = ((math.cos(a), math.sin(a)) for a in map(math.radians, (pitch, yaw, roll)))
    return np.array(
        [
            [cp * cy, cy * sp * sr - sy * cr, -cy * sp * cr - sy * sr],
            [cp * sy, sy * sp * sr + cy * cr, -sy * sp * cr + cy * sr],
            [sp, -cp * sr, cp * cr],
        ]
    )


@pytest.mark.parametrize("pose", poses())
def test_carla_has_the_mirrored_pose(pose):
    x, y, z, *angles = carla_transform(pose)
    body = Rotation.from_quat(pose.orientation).as_matrix() @ OPTICAL.T
    assert np.allclose(carla_matrix(*angles), FLIP @ body @ FLIP, atol=1e-12)
    assert np.allclose([x, -y, z], pose.position)


@pytest.mark.parametrize(
    ("turn", "expected"),
    [
        ((0, 0, 0), (0, 0, 0)),
        ((90, 0, 0), (0, -90, 0)),
        ((0, 20, 0), (-20, 0, 0)),
        ((0, 0, 10), (0, 0, 10)),
    ],
)
def test_carla_looks_left_down_and_leans_right_as_told(turn, expected):
    yaw, pitch, roll = map(math.radians, turn)
    optical = Pose.from_euler(1, 2, 3, yaw=yaw, pitch=pitch, roll=roll).optical_frame()
    assert carla_transform(optical) == pytest.approx((1, -2, 3, *expected))


@pytest.mark.parametrize("pose", poses())
def test_the_body_looks_along_its_x(pose):
    body = Rotation.from_quat(camera_body(pose).orientation).as_matrix()
    optical = Rotation.from_quat(pose.orientation).as_matrix()
    assert np.allclose(body, optical @ OPTICAL.T)
    assert np.allclose(body[:, 0], optical[:, 2])


def test_a_pinhole_is_kept_and_any_other_lens_is_bent_later():
    plain, bent = read_camera("plain"), read_camera("art1")
    asked = PinholeCamera.of(plain)
    assert not asked.bend
    assert math.degrees(asked.field_of_view) == pytest.approx(plain.lens.horizontal_field())
    assert asked.corner_centre == (640, 360)
    assert asked.miss_of_centred() == 0
    other = PinholeCamera.of(bent)
    assert other.bend
    assert other.focal == (Bend.of(bent).scale,) * 2
    aside = PinholeCamera((640, 480), (500.0, 505.0), (329.5, 239.5), bend=False)
    assert aside.miss_of_centred() == pytest.approx(10 + 0.01 * 240)


@pytest.fixture
def recording(tmp_path):
    turns = [math.radians(5 * i) / 2 for i in range(6)]
    rows = [f"{100 + i}.25 {i * 0.3} {0.1 * i} 0 0 0 {math.sin(a)} {math.cos(a)}" for i, a in enumerate(turns)]
    (tmp_path / "poses.txt").write_text("# stamp x y z qx qy qz qw\n" + "\n".join(rows) + "\n")
    return tmp_path / "poses.txt"


def write(simulator, recording, camera="plain", **options):
    options = CameraPathOptions(**{"rate": 1, "max_gap": 2, **options})
    out = recording.parent / f"move_{simulator}.py"
    return write_replay_script(simulator, recording, out, camera=camera, options=options)


def table(result):
    with result.beside[0].open(newline="") as stream:
        return list(csv.DictReader(stream))


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_what_is_written_compiles_and_holds_the_poses(simulator, recording):
    done = write(simulator, recording, mount="0.1,0.2,0.3,10,5,-3", align="1,2,0.5,30")
    text = done.path.read_text()
    compile(text, str(done.path), "exec")
    assert "@" not in text
    assert (done.frames, done.losses.counts) == (6, {})
    start = Rotation.from_euler("ZYX", [30, 0, 0], degrees=True)
    mounted = Rotation.from_euler("ZYX", [10, 5, -3], degrees=True)
    for i, row in enumerate(table(done)):
        body = start * Rotation.from_euler("Z", 5 * i, degrees=True)
        place = body.apply([0.1, 0.2, 0.3]) + start.apply([0.3 * i, 0.1 * i, 0]) + [1, 2, 0.5]
        turn = (body * mounted).as_matrix()
        assert row["name"] == f"{100 + i}_250000000"
        assert (int(row["stamp"]), float(row["time"])) == ((100 + i) * 10**9 + 250_000_000, i)
        given = {key: float(value) for key, value in row.items() if key not in ("name", "stamp", "time")}
        assert np.allclose([given["optical_x"], given["optical_y"], given["optical_z"]], place, atol=1e-8)
        if simulator == "carla":
            seen = FLIP @ carla_matrix(given["pitch"], given["yaw"], given["roll"]) @ FLIP
            place = place * [1, -1, 1]
        else:
            keys = ("qx", "qy", "qz", "qw") if simulator == "gazebo" else ("e1", "e2", "e3", "e0")
            seen = Rotation.from_quat([given[key] for key in keys]).as_matrix()
        assert np.allclose(seen, turn, atol=1e-8)
        assert np.allclose([given["x"], given["y"], given["z"]], place, atol=1e-8)


def test_gazebos_model_has_the_elements_of_its_specification(recording):
    done = write("gazebo", recording)
    root = load_xml(done.beside[1])
    assert (root.tag, root.get("version")) == ("sdf", "1.9")
    sensors = root.findall("model/link/sensor")
    assert [each.get("type") for each in sensors] == ["camera", "boundingbox_camera"]
    lens = read_camera("plain").lens
    for sensor in sensors:
        assert sensor.findtext("update_rate") == "30"
        field = float(sensor.findtext("camera/horizontal_fov"))
        assert field == pytest.approx(math.radians(lens.horizontal_field()))
        assert [sensor.findtext(f"camera/image/{side}") for side in ("width", "height")] == ["1280", "720"]
        numbers = [float(sensor.findtext(f"camera/lens/intrinsics/{key}")) for key in ("fx", "fy", "cx", "cy")]
        assert numbers == pytest.approx([*lens.focal, 640, 360])
    assert sensors[1].findtext("camera/box_type") == "visible_2d"


def test_carlas_labels_are_the_boxes_of_its_instance_picture(recording):
    names = runpy.run_path(str(write("carla", recording).path))
    pixels = np.zeros((30, 40, 4), np.uint8)
    pixels[4:24, 10:20] = [7, 1, 14, 255]  # blue, green, red: thing 1 * 256 + 7 of tag 14
    pixels[0:3, 0:3] = [1, 0, 14, 255]
    pixels[25:30, 0:40] = [1, 0, 7, 255]
    assert names["boxes"](pixels, {14: "Car"}) == [
        {"class": 14, "box": [10, 4, 20, 24], "instance": (14 << 16) | (1 << 8) | 7}
    ]
    row = {"x": 1, "y": 0, "z": 0, "pitch": 5, "yaw": 10, "roll": 0}
    assert names["aligned"](row, [2, 3, 4, 90]) == pytest.approx((2, 4, 4, 5, 100, 0))


def test_notes_say_what_a_simulator_cannot_show(recording):
    notes = write("carla", recording, camera="art1").notes
    assert any("simjudge data filter" in note and "--lens" in note for note in notes)


def test_requests_that_make_no_sense(recording):
    folder = recording.parent
    for simulator, name, words in [
        ("unreal", "x.py", "--for unreal: one of gazebo, carla, chrono"),
        ("carla", "x.mcap", "end its name in .py"),
        ("carla", "carla.py", "would hide the package carla"),
    ]:
        with pytest.raises(UsageError, match=words):
            write_replay_script(simulator, recording, folder / name, camera="plain")
    (folder / "move_chrono.csv").write_text("mine")
    with pytest.raises(SimjudgeError, match="exists already"):
        write("chrono", recording)
    assert sorted(each.name for each in folder.iterdir()) == ["move_chrono.csv", "poses.txt"]


def test_the_script_takes_pictures_in_a_real_chrono(recording):
    """The red box's near face is 2.85 m ahead, 0.85 to 1.15 m to the left and 0.1 m above the camera; green mirrors."""
    pytest.importorskip("pychrono")
    pytest.importorskip("pychrono.sensor", exc_type=ImportError)
    done = write("chrono", recording, mount="0,0,0.4")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    subprocess.run([sys.executable, done.path], check=True, env=environment, timeout=300)
    folder = done.path.with_suffix("")
    frames = read_set(folder / "frames.json")
    assert list(frames.frame_name) == [row["name"] for row in table(done)]
    assert not frames.labelled.any()
    first = np.asarray(Image.open(folder / "100_250000000.png"), float)
    red = np.argwhere(first[..., 0] > 1.5 * first[..., 1] + 20)
    green = np.argwhere(first[..., 1] > 1.5 * first[..., 0] + 20)
    focal = 640 / math.tan(math.radians(40))
    aside, above = 1.15 / 2.85 * focal, 0.1 / 2.85 * focal
    assert [red[:, 1].min(), green[:, 1].max() + 1] == pytest.approx([640 - aside, 640 + aside], abs=1)
    assert [red[:, 0].min(), green[:, 0].min()] == pytest.approx([360 - above] * 2, abs=1)


def test_frames_of_another_simulator_pair_by_their_names(recording):
    """What a script leaves behind: pictures and frames.json, read as the set that pairs with the recording."""
    done = write("carla", recording)
    folder = done.path.with_suffix("")
    folder.mkdir()
    rows = []
    for row in table(done):
        Image.new("RGB", (64, 48)).save(folder / f"{row['name']}.png")
        rows.append(
            {
                "name": row["name"],
                "stamp": int(row["stamp"]),
                "size": [64, 48],
                "image": f"{row['name']}.png",
                "objects": [{"class": 14, "box": [1, 2, 30, 40]}],
            }
        )
    (folder / "frames.json").write_text(json.dumps({"class_names": {"14": "Car"}, "frames": rows}))
    frames = read_set(folder / "frames.json")
    assert frames.stamp.tolist() == [(100 + i) * 10**9 + 250_000_000 for i in range(6)]
    assert len(frames.objects) == 6
    assert frames.images.has(5)
