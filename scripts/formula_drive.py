"""A Formula Student drive in the FSKITTI layout, made ready for `simjudge replay`; docs/measurements/replay.md uses it.

    python scripts/formula_drive.py FOLDER OUT

OUT gets real.mcap (photographs, their boxes, the lidar's poses), cones.txt, scene.yaml and camera.yaml. FOLDER holds
metadata.json (odometry once a second), labels/*.txt (KITTI rows: cones in the lidar's frame, some with the box that a
detector drew on the photograph) and images/*.png. The metadata need not be valid JSON. What it calls odometry is the
pose of the map in the lidar: only its inverse puts the cones of one scan upon those of the next.
"""

from __future__ import annotations

import json
import math
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import least_squares
from scipy.spatial import cKDTree
from scipy.spatial.transform import Rotation

from simjudge.commands.common import print_note
from simjudge.core.errors import SimjudgeError
from simjudge.core.frames import FloatArray, FrameSet, Objects
from simjudge.core.images import FileImages, image_size
from simjudge.data.rosbag2 import write_recording
from simjudge.data.rosbag2.interfaces import standard_types
from simjudge.geometry.poses import OPTICAL_ORIENTATION, Pose

CAMERA_MATRIX = (1801.763, 1800.131, 1012.816, 716.053)
LIDAR_TO_CAMERA = (
    (-0.028514, -0.999372, 0.021025, 0.112705),
    (-0.003410, -0.020936, -0.999775, -0.056710),
    (0.999588, -0.028579, -0.002810, 0.006342),
)
"""fx, fy, cx, cy (pixels) and the transform that the data set's authors give."""
CLASSES = {"blue_cone": 1, "yellow_cone": 2, "orange_cone": 3, "large_orange_cone": 4}
CONE_HEIGHT, CONE_WIDTH = 0.325, 0.228
"""Metres: the small cones of Formula Student (its rules, "cones")."""
_ROW = re.compile(r'"id":\s*(\d+),\s*"odom":\s*(\{[^}]*\})')
_SAME, _EDGE = 0.5, 3
"""Metres within which cones of several scans are one, pixels from a box to the edge of the picture."""


@dataclass(frozen=True)
class Scan:
    """One scan: where its lidar was in the map, and the cones it saw.

    Attributes:
        number: in the file names.
        stamp: nanoseconds.
        pose: of the lidar in the map, whose ground is z = 0.
        class_id: int (C,).
        cone: float (C, 3), metres, in the lidar's frame: the middle of each cone's base.
        box: float (C, 4), pixels on the photograph; all 0 where there is none.
    """

    number: int
    stamp: int
    pose: Pose
    class_id: Any
    cone: FloatArray
    box: FloatArray


def read_scans(folder: Path) -> tuple[list[Scan], list[str]]:
    """The scans of a drive in order of time, and notes on what is odd about the files."""
    text = (folder / "metadata.json").read_text(encoding="utf-8")
    notes, scans, bare = [], {}, []
    try:
        json.loads(text)
    except ValueError as error:
        notes.append(f"metadata.json is not valid JSON ({error}); its rows are read one by one")
    for number, odometry in _ROW.findall(text):
        if int(number) in scans:
            notes.append(f"scan {number} stands in metadata.json again; the first row is taken")
            continue
        row = json.loads(odometry)
        map_in_lidar = Pose.from_euler(row["x"], row["y"], row["z"], yaw=row["yaw"])
        labels = _labels(folder / "labels" / f"{int(number):07d}.txt")
        if labels is None:
            bare.append(number)
            labels = (np.zeros(0, int), np.zeros((0, 3)), np.zeros((0, 4)))
        scans[int(number)] = Scan(int(number), round(row["timestamp"] * 1e9), map_in_lidar.inverse(), *labels)
    if bare:
        notes.append(f"scans without labels: {', '.join(bare)}")
    return sorted(scans.values(), key=lambda scan: scan.stamp), notes


def _labels(path: Path) -> tuple[Any, FloatArray, FloatArray] | None:
    if not path.is_file():
        return None
    rows = [line.split() for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    # A row whose size is 0 is a box on the photograph that no cone of the lidar was found for.
    kept = [row for row in rows if float(row[8]) > 0]
    numbers = np.array([row[1:15] for row in kept], float).reshape(-1, 14)
    return np.array([CLASSES[row[0]] for row in kept], int), numbers[:, 10:13], numbers[:, 3:7]


def course(scans: list[Scan]) -> tuple[Any, FloatArray]:
    """Class (C,) and place (C, 2), metres, of all cones in the map: those of all scans, near ones taken together."""
    place = np.concatenate([scan.pose.to_world(scan.cone)[:, :2] for scan in scans])
    kind = np.concatenate([scan.class_id for scan in scans])
    group, left = [], np.ones(len(place), bool)
    tree = cKDTree(place)
    for index in range(len(place)):
        if left[index]:
            near = [each for each in tree.query_ball_point(place[index], _SAME) if left[each]]
            left[near] = False
            group.append(near)
    classes = [int(np.bincount(kind[near]).argmax()) for near in group]
    return np.array(classes), np.array([np.median(place[near], axis=0) for near in group]).reshape(-1, 2)


def given_camera() -> Pose:
    """The optical frame in the lidar's, as the data set's authors give it."""
    return Pose.from_matrix(np.vstack([LIDAR_TO_CAMERA, [0, 0, 0, 1]])).inverse()


def fitted_camera(scans: list[Scan], start: Pose) -> Pose:
    """The camera turned so that cones lie in their boxes.

    Three angles, by least squares that hardly mind boxes which belong to other cones (soft L1, 5 px).
    """

    def off(turn: FloatArray) -> FloatArray:
        return misses(scans, _turned(start, turn)).ravel()

    # The photographs look down by more than a local search finds: the best of some starts.
    starts = [np.array([tilt, 0, 0]) for tilt in np.radians([0, -8, 8, -16, 16])]
    found = [least_squares(off, each, loss="soft_l1", f_scale=5) for each in starts]
    return _turned(start, min(found, key=lambda each: float(each.cost)).x)


def misses(scans: list[Scan], camera: Pose) -> FloatArray:
    """From the middles of boxes to where a camera in the lidar's frame sees the middles of their cones: pixels, (K, 2).

    Boxes at the picture's left and right edges are left out: half of such a cone lies outside.
    """
    box = np.concatenate([scan.box for scan in scans])
    middle = np.concatenate([scan.cone for scan in scans]) + np.array([0, 0, CONE_HEIGHT / 2])
    fx, fy, cx, cy = CAMERA_MATRIX
    whole = (box[:, 0] > _EDGE) & (box[:, 2] < 2 * cx - _EDGE)
    seen = camera.to_body(middle[whole])
    # A box has the first pixel's centre at a half, the camera matrix has it at 0.
    at = seen[:, :2] / seen[:, 2:] * np.array([fx, fy]) + np.array([cx + 0.5, cy + 0.5])
    return np.asarray(at - (box[whole, :2] + box[whole, 2:]) / 2, np.float64)


def _turned(camera: Pose, turn: FloatArray) -> Pose:
    return camera @ Pose(orientation=tuple(Rotation.from_rotvec(turn).as_quat().tolist()))


def mount_text(camera: Pose) -> str:
    """What `simjudge replay --mount` takes for an optical frame."""
    body = camera @ Pose(orientation=OPTICAL_ORIENTATION).inverse()
    angles = [math.degrees(angle) for angle in body.angles()]
    return ",".join(f"{value:.6g}" for value in (*body.position, *angles))


def make(folder: Path, out: Path) -> None:
    """Write what `simjudge replay` needs, and say the commands."""
    scans, notes = read_scans(folder)
    for note in notes:
        print_note(f"note: {note}")
    seen = [scan for scan in scans if (folder / "images" / f"{scan.number:07d}.png").is_file()]
    if not seen:
        raise SimjudgeError(f"{folder}: holds no photograph of a scan")
    paths = [folder / "images" / f"{scan.number:07d}.png" for scan in seen]
    rows = [(index, row) for index, scan in enumerate(seen) for row in np.flatnonzero(scan.box.any(axis=1))]
    labels = Objects.build(
        [index for index, _ in rows],
        [seen[index].class_id[row] for index, row in rows],
        [seen[index].box[row] for index, row in rows],
    )
    frames = FrameSet.build(
        folder.name, [image_size(path) for path in paths], labels, frame_name=[path.stem for path in paths],
        stamp=[scan.stamp for scan in seen], class_names={number: name for name, number in CLASSES.items()},
        images=FileImages(paths),
    )  # fmt: skip
    out.mkdir(parents=True)
    write_recording(frames, out / "real.mcap", extra_messages=lambda index: _poses_from(scans, seen, index))
    kind, place = course(scans)
    table = [f"{n} {kind[n]} {place[n, 0]:.3f} {place[n, 1]:.3f}" for n in range(len(kind))]
    (out / "cones.txt").write_text("\n".join(["id colour x y", *table]) + "\n", encoding="utf-8")
    _write_camera(out, frames.size[0].tolist())
    (out / "scene.yaml").write_text(_SCENE, encoding="utf-8")
    camera = given_camera()
    fitted = fitted_camera(seen, camera)
    print_note(f"{len(frames)} photographs, {len(scans)} poses, {len(kind)} cones in {out}")
    for name, each in (("given", camera), ("fitted", fitted)):
        left = np.median(np.linalg.norm(misses(seen, each), axis=1))
        print_note(f"the camera as {name}, {left:.0f} px beside the boxes (median): --mount={mount_text(each)}")


def _poses_from(scans: list[Scan], seen: list[Scan], index: int) -> list[tuple[str, Any]]:
    """The poses up to a photograph's and, with the first and last, those before and after."""
    first = seen[index - 1].stamp if index else -1
    last = seen[index].stamp if index < len(seen) - 1 else scans[-1].stamp
    return [("/lidar/pose", _pose_message(scan)) for scan in scans if first < scan.stamp <= last]


def _pose_message(scan: Scan) -> Any:
    types = standard_types().types
    sec, nanosec = divmod(scan.stamp, 1_000_000_000)
    stamp = types["builtin_interfaces/msg/Time"](sec=sec, nanosec=nanosec)
    point = types["geometry_msgs/msg/Point"](*scan.pose.position)
    pose = types["geometry_msgs/msg/Pose"](point, types["geometry_msgs/msg/Quaternion"](*scan.pose.orientation))
    header = types["std_msgs/msg/Header"](stamp=stamp, frame_id="map")
    return types["geometry_msgs/msg/PoseStamped"](header=header, pose=pose)


def _write_camera(out: Path, size: list[int]) -> None:
    fx, fy, cx, cy = CAMERA_MATRIX
    calibration = (
        f"image_width: {size[0]}\nimage_height: {size[1]}\ncamera_name: formula\ndistortion_model: plumb_bob\n"
        f"camera_matrix: {{rows: 3, cols: 3, data: [{fx}, 0, {cx}, 0, {fy}, {cy}, 0, 0, 1]}}\n"
        "distortion_coefficients: {rows: 1, cols: 5, data: [0, 0, 0, 0, 0]}\n"
    )
    (out / "calibration.yaml").write_text(calibration, encoding="utf-8")
    (out / "camera.yaml").write_text("calibration: calibration.yaml\nrate: 1\n", encoding="utf-8")


_SCENE = f"""# A bare yard for the drive's cones; --cones places them.
classes: {{1: blue_cone, 2: yellow_cone, 3: orange_cone, 4: large_orange_cone}}
background: 0.8
ambient: 0.45
kinds:
  "1":
    cone: {{radius: {CONE_WIDTH / 2}, height: {CONE_HEIGHT}, top: 0.02}}
    surface: {{colour: "#1650c8"}}
    class: blue_cone
  "2": {{kind: "1", surface: {{colour: "#f2d000"}}, class: yellow_cone}}
  "3": {{kind: "1", surface: {{colour: "#f26a00"}}, class: orange_cone}}
  "4": {{kind: "1", surface: {{colour: "#f26a00"}}, class: large_orange_cone}}
things:
  ground: {{plane: [400, 400], surface: {{colour: "#8a8a8a", roughness: 0.9}}}}
lights:
  sun: {{at: [60, -40, 120], intensity: 30000, range: 600}}
"""


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: python scripts/formula_drive.py FOLDER OUT")
    try:
        make(Path(sys.argv[1]), Path(sys.argv[2]))
    except SimjudgeError as problem:
        sys.exit(f"error: {problem}")
