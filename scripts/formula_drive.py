"""A Formula Student drive in the FSKITTI layout, made ready for `simjudge sim replay`; docs/measurements/engines.md.

    python scripts/formula_drive.py FOLDER OUT

OUT gets scans.mcap (point clouds with rings, the cones' boxes, the lidar's poses), cones.txt, scene.yaml, camera.yaml,
and real.mcap (photographs, their boxes, the lidar's poses) where there are photographs. FOLDER holds metadata.json
(odometry once a second), points/*.bin, labels/*.txt (KITTI rows: cones in the lidar's frame, some with the box that a
detector drew on the photograph) and perhaps images/*.png. The metadata need not be valid JSON. What it calls odometry
is the pose of the map in the lidar: only its inverse puts the cones of one scan upon those of the next. In scans.mcap
height, pitch and roll of the lidar are those over the plane of the ground in each scan, and cones stand on that plane.
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

from simjudge.core.arrays import FloatArray
from simjudge.core.errors import Losses, SimjudgeError
from simjudge.core.frames import FrameSet
from simjudge.core.images import FileImages, image_size
from simjudge.core.object_tables import Objects
from simjudge.data.clouds import Cloud, CloudBoxes, CloudSet
from simjudge.data.rosbag2 import write_recording
from simjudge.data.rosbag2.interfaces import standard_types
from simjudge.data.sets import write_clouds
from simjudge.detectors.clouds.cuboid_detection import detect_cloud_cuboids
from simjudge.detectors.clouds.cuboid_settings import GroundFields, LidarCuboidFile, OwnCarFields
from simjudge.geometry.poses import OPTICAL_ORIENTATION, Pose
from simjudge.sim.sensors.lidar.columns_and_rings import number_rings
from simjudge.sim.sensors.lidar.measured_turns import read_turns
from simjudge.terminal.common import print_note

CAMERA_MATRIX = (1801.763, 1800.131, 1012.816, 716.053)
LIDAR_TO_CAMERA = (
    (-0.028514, -0.999372, 0.021025, 0.112705),
    (-0.003410, -0.020936, -0.999775, -0.056710),
    (0.999588, -0.028579, -0.002810, 0.006342),
)
IMAGE_SIZE = (2048, 1536)
"""fx, fy, cx, cy (pixels) and the transform that the data set's authors give."""
_COLUMNS = ("x", "y", "z", "intensity", "stamp")
"""Of the .bin files, float32. The stamps are of no use: float32 of seconds since 1970."""
CLASSES = {"blue_cone": 1, "yellow_cone": 2, "orange_cone": 3, "large_orange_cone": 4}
CONE_HEIGHT, CONE_WIDTH = 0.325, 0.228
"""Metres: the small cones of Formula Student (its rules, "cones")."""
PLATE = 0.03
"""Metres: the height of a cone's plate."""
_GROUND = LidarCuboidFile(
    farthest=20.0, own=OwnCarFields(distance=3.0), ground=GroundFields(distance=0.05, slope=10.0, trials=300)
)
"""How the ground around the car is found: the labels' z is one number for all scans, and the odometry's too."""
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
        labelled: whether the scan has a label file.
    """

    number: int
    stamp: int
    pose: Pose
    class_id: Any
    cone: FloatArray
    box: FloatArray
    labelled: bool


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
        labelled = labels is not None
        if labels is None:
            bare.append(number)
            labels = (np.zeros(0, int), np.zeros((0, 3)), np.zeros((0, 4)))
        scans[int(number)] = Scan(int(number), round(row["timestamp"] * 1e9), map_in_lidar.inverse(), *labels, labelled)
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
            near = [row for row in tree.query_ball_point(place[index], _SAME) if left[row]]
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
    found = [least_squares(off, begin, loss="soft_l1", f_scale=5) for begin in starts]
    return _turned(start, min(found, key=lambda fit: float(fit.cost)).x)


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
    """What `simjudge sim replay --mount` takes for an optical frame."""
    body = camera @ Pose(orientation=OPTICAL_ORIENTATION).inverse()
    angles = [math.degrees(angle) for angle in body.angles()]
    return ",".join(f"{value:.6g}" for value in (*body.position, *angles))


def make(folder: Path, out: Path) -> None:
    """Write what `simjudge sim replay` needs, and say the commands."""
    scans, notes = read_scans(folder)
    for note in notes:
        print_note(f"note: {note}")
    kind, place = course(scans)
    clouds = read_clouds(folder, scans, place)
    out.mkdir(parents=True)
    losses = write_clouds(clouds, out / "scans.mcap")
    for line in losses.lines():
        print_note(f"warning: {line}")
    print_note(f"{len(clouds)} scans, {len(clouds.boxes)} boxes in {out / 'scans.mcap'}")
    table = [f"{n} {kind[n]} {place[n, 0]:.3f} {place[n, 1]:.3f}" for n in range(len(kind))]
    (out / "cones.txt").write_text("\n".join(["id colour x y", *table]) + "\n", encoding="utf-8")
    _write_camera(out)
    (out / "scene.yaml").write_text(_SCENE, encoding="utf-8")
    print_note(f"{len(scans)} poses, {len(kind)} cones in {out}")
    if (folder / "images").is_dir():
        _make_photographs(folder, out, scans)


def _make_photographs(folder: Path, out: Path, scans: list[Scan]) -> None:
    """Write the photographs, and say where the camera is."""
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
        folder.name,
        [image_size(path) for path in paths],
        labels,
        frame_name=[path.stem for path in paths],
        stamp=[scan.stamp for scan in seen],
        class_names={number: name for name, number in CLASSES.items()},
        images=FileImages(paths),
    )
    write_recording(frames, out / "real.mcap", extra_messages=lambda index: _poses_from(scans, seen, index))
    print_note(f"{len(frames)} photographs in {out / 'real.mcap'}")
    camera = given_camera()
    fitted = fitted_camera(seen, camera)
    for name, calibration in (("given", camera), ("fitted", fitted)):
        left = np.median(np.linalg.norm(misses(seen, calibration), axis=1))
        print_note(f"the camera as {name}, {left:.0f} px beside the boxes (median): --mount={mount_text(calibration)}")


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


def read_clouds(folder: Path, scans: list[Scan], place: FloatArray) -> CloudSet:
    """The scans whose points are there, each point with its ring, each labelled cone with its number in the course.

    Args:
        folder: of the drive.
        scans: of the drive.
        place: (C, 2), metres, of all cones in the map.
    """
    files = {scan.number: folder / "points" / f"{scan.number:07d}.bin" for scan in scans}
    kept = [scan for scan in scans if files[scan.number].is_file()]
    (lidar,) = read_turns(folder, most=len(scans))
    ring_of = number_rings(lidar.turns, None, Losses())
    rings = {turn.name: (ring_of.used[n], ring_of.ring[ring_of.turn == n]) for n, turn in enumerate(lidar.turns)}

    def read(index: int) -> Cloud:
        file = files[kept[index].number]
        rows = np.fromfile(file, "<f4").reshape(-1, len(_COLUMNS))
        points = np.zeros(len(rows), [("x", "<f4"), ("y", "<f4"), ("z", "<f4"), ("intensity", "<f4"), ("ring", "<u2")])
        for number, name in enumerate(_COLUMNS[:4]):
            points[name] = rows[:, number]
        seen = np.flatnonzero(np.isfinite(rows[:, :3]).all(1) & rows[:, :3].any(1))
        used, ring = rings[str(file)]
        points["ring"][seen[used]] = ring
        # estoril_autox2 has two returns of each beam; where they are one, the point stands there twice.
        _, once = np.unique(rows[seen[used], :4], axis=0, return_index=True)
        return Cloud(points[seen[used][np.sort(once)]], where=str(file))

    planes = [_ground(read(index)) for index in range(len(kept))]
    number = [(index, row) for index, scan in enumerate(kept) for row in range(len(scan.cone))]
    base = np.array([kept[i].pose.to_world(kept[i].cone[row])[:2] for i, row in number]).reshape(-1, 2)
    boxes = CloudBoxes(
        np.array([index for index, _ in number], np.int64),
        np.array([kept[index].class_id[row] for index, row in number], np.int64),
        cKDTree(place).query(base)[1].astype(np.int64),
        np.array([_upon(planes[i], kept[i].cone[row]) for i, row in number]).reshape(-1, 3),
        np.array([_upright(planes[i]) for i, _ in number]).reshape(-1, 4),
        np.tile([CONE_WIDTH, CONE_WIDTH, CONE_HEIGHT], (len(number), 1)),
    )
    return CloudSet(
        folder.name,
        [f"{scan.number:07d}" for scan in kept],
        np.array([scan.stamp for scan in kept], np.int64),
        read,
        boxes=boxes,
        labelled=np.array([scan.labelled for scan in kept]),
        poses=[_over(plane, scan.pose) for plane, scan in zip(planes, kept, strict=True)],
        class_names={n: name for name, n in CLASSES.items()},
    )


def _ground(cloud: Cloud) -> FloatArray:
    """The plane of the ground around the car: a, b, c, d of a x + b y + c z + d = 0 in the lidar's frame, c > 0."""
    plane = detect_cloud_cuboids(cloud, _GROUND).plane
    if plane is None:
        raise SimjudgeError(f"{cloud.where}: has no ground within {_GROUND.farthest:g} m; leave the scan out")
    return plane


def _upright(plane: FloatArray) -> FloatArray:
    """The quaternion x, y, z, w that leans z onto the plane's normal, without a turn about it."""
    turn, _ = Rotation.align_vectors([plane[:3]], [[0.0, 0.0, 1.0]])
    return np.asarray(turn.as_quat(), np.float64)


def _upon(plane: FloatArray, cone: FloatArray) -> FloatArray:
    """The middle of a cone that stands on the ground where the label has it."""
    a, b, c, d = plane
    foot = np.array([cone[0], cone[1], -(a * cone[0] + b * cone[1] + d) / c])
    return np.asarray(foot + plane[:3] * CONE_HEIGHT / 2, np.float64)


def _over(plane: FloatArray, pose: Pose) -> Pose:
    """The lidar's pose over level ground at z = 0: x, y and yaw as given, height, pitch and roll from the ground."""
    lean = Rotation.from_quat(_upright(plane)).inv()
    turn = Rotation.from_quat(pose.orientation) * lean
    return Pose((*pose.position[:2], float(plane[3])), tuple(turn.as_quat().tolist()))


def _write_camera(out: Path) -> None:
    fx, fy, cx, cy = CAMERA_MATRIX
    width, height = IMAGE_SIZE
    calibration = (
        f"image_width: {width}\nimage_height: {height}\ncamera_name: formula\ndistortion_model: plumb_bob\n"
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
    parts: # a square plate and a slender cone, as wide at each height as the scans of 2 to 6 m show them
      - {{box: [{CONE_WIDTH}, {CONE_WIDTH}, {PLATE}], at: [0, 0, {PLATE / 2}]}}
      - {{cone: {{radius: 0.075, height: {CONE_HEIGHT - PLATE:.3f}, top: 0.027}}, at: [0, 0, {PLATE}]}}
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
