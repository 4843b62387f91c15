"""A KITTI folder as a set of images, and as a set of clouds with all that belongs to them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

import numpy as np
from scipy.spatial.transform import Rotation

from simjudge.core.arrays import BoolArray, FloatArray, IntArray
from simjudge.core.errors import Losses, SimjudgeError
from simjudge.core.files import LARGEST_TEXT, read_bytes
from simjudge.core.frames import FrameSet
from simjudge.core.images import FileImages
from simjudge.core.names import NO_STAMP
from simjudge.core.object_tables import Objects
from simjudge.data.clouds import Cloud, CloudBoxes, CloudPredictions, CloudSet
from simjudge.data.format_support.annotated_frames import CROWD
from simjudge.data.format_support.image_files import readable_images
from simjudge.data.format_support.raw_rows import ANY_CLASS, RawRows, build_objects, mend_foreign_labels
from simjudge.data.formats.kitti.layout import CAMERA, RESULTS, KittiLayout, find_cameras, find_layout, other_images
from simjudge.data.formats.kitti.text_files import (
    SCORED,
    KittiCalibration,
    KittiLabels,
    read_calibration,
    read_camera_poses,
    read_labels,
    read_oxts,
    read_times,
    read_tracklets,
)
from simjudge.geometry.poses import Pose

POINT = np.dtype([("x", "<f4"), ("y", "<f4"), ("z", "<f4"), ("intensity", "<f4")])
RING_POINT = np.dtype([*POINT.descr, ("ring", "<f4")])  # nuScenes' sweeps
_RESULTS_PLACE = f"put its files into {RESULTS}, and labels of 15 columns in their place"
_RINGS = np.arange(256)
PLACES = ".kitti"  # Of the texts: says where scans and images were
LIDAR, IMU = "lidar_link", "imu_link"
_LARGEST = 2**31
_Row = TypeVar("_Row")


@dataclass(frozen=True)
class _Content:
    """What the texts of a folder say. `names` are of scans and of images, sorted; rows count them."""

    layout: KittiLayout
    names: list[str]
    rows: KittiLabels
    labelled: set[str]
    calibrations: dict[str, KittiCalibration]
    stamp: dict[str, int]
    losses: Losses

    def calibration(self, name: str) -> KittiCalibration | None:
        """That of a frame."""
        return self.calibrations.get(name, self.calibrations.get(""))


def read_kitti(path: Path, camera: int = CAMERA) -> FrameSet:
    """Read the images of a camera, and what is labelled in them: in those of camera 2 alone."""
    content = _read_texts(path, camera)
    if not content.layout.images:
        held = ", ".join(f"image_{find_camera}" for find_camera in find_cameras(path))
        remedy = f"choose one with --image-topic: {held}" if held else "'simjudge data convert' takes its scans"
        raise SimjudgeError(f"{path}: holds no images of camera {camera}; {remedy}")
    frames = _frames(content)
    if camera == CAMERA:
        for where, _, _ in content.rows.dont_care:
            content.losses.add(CROWD, where)
    return frames


def read_kitti_clouds(path: Path, camera: int = CAMERA) -> CloudSet:
    """Read scans, boxes in space, images, calibration and poses."""
    content = _read_texts(path, camera)
    layout, losses = content.layout, content.losses
    if not layout.scans:
        raise SimjudgeError(f"{path}: holds no scans (velodyne/*.bin); it is a set of images")
    if aside := other_images(layout):
        held = ", ".join(f"image_{number}" for number in find_cameras(path)) or "none in a folder of KITTI's"
        losses.add("images of other cameras than the one taken (left aside)", f"{aside[0]} (held: {held})", len(aside))
    names = [scan.stem for scan in layout.scans]
    has_labels = bool(layout.labels) or layout.tracks is not None
    labelled = np.array([name in content.labelled for name in names], np.bool_)
    boxes, class_names = _boxes(content, content.rows, names)[0] if has_labels else None, content.rows.class_names
    if layout.tracklets is not None:
        boxes, class_names = read_tracklets(layout.tracklets, _frame_numbers(names), class_names, losses)
        has_labels, labelled = True, np.ones(len(names), np.bool_)
    predictions, predicted, class_names = _predictions(content, names, class_names)
    calibrations = [content.calibration(name) for name in names]
    # One object for scans that share a calibration.
    made = {id(calibration): calibration.camera() for calibration in calibrations if calibration is not None}
    cameras = [made[id(calibration)] if calibration is not None else None for calibration in calibrations]
    known = [camera for camera in cameras if camera is not None]
    body, mount, poses = _poses(content, names)
    frames = _frames(content) if layout.images else None
    if frames is not None:
        # What its texts lost is counted once.
        frames = replace(frames, losses=Losses())
    return CloudSet(
        layout.root.name,
        names,
        np.array([content.stamp.get(name, NO_STAMP) for name in names], np.int64),
        lambda index: read_scan(layout.scans[index]),
        LIDAR,
        boxes,
        labelled if has_labels else None,
        class_names,
        frames,
        known if len(known) == len(names) else (),
        body,
        mount,
        poses,
        _texts(layout),
        losses,
        predictions,
        predicted,
    )


def read_scan(path: Path) -> Cloud:
    """Read a scan (path: a file of float32)."""
    data = read_bytes(path, _LARGEST)
    ringed = np.frombuffer(data, RING_POINT) if data and len(data) % RING_POINT.itemsize == 0 else None
    # Read four by four, these numbers would be other points, and more of them.
    if ringed is not None and np.isin(ringed["ring"], _RINGS).all() and ringed["ring"].any():
        return Cloud(ringed.astype(np.dtype([*POINT.descr, ("ring", "<u2")])), where=str(path))
    if len(data) % POINT.itemsize:
        raise SimjudgeError(
            f"{path}: {len(data)} bytes are not a whole number of points of 16 bytes (x, y, z, reflectance as float32);"
            " the file is cut, or is not a scan of KITTI's"
        )
    return Cloud(np.frombuffer(data, POINT), where=str(path))


def _read_texts(path: Path, camera: int) -> _Content:
    layout, losses = find_layout(path, camera), Losses()
    scans = [scan.stem for scan in layout.scans]
    names = sorted({*scans, *layout.images})
    number = {name: index for index, name in enumerate(names)}
    if layout.tracks is not None:
        rows, labelled = read_labels([(layout.tracks, None)], _frame_numbers(names), losses), set(names)
    else:
        files = [(file, number[name]) for name, file in layout.labels.items() if name in number]
        for name in layout.labels.keys() - number.keys():
            losses.add(f"label files without {'a scan' if layout.scans else 'an image'}", str(layout.labels[name]))
        rows, labelled = read_labels(files, {}, losses), set(layout.labels)
        for name in names if layout.labels else ():
            if name not in labelled:
                scan = layout.root / layout.scan_folder / f"{name}.bin"
                what, file = ("scans", scan) if layout.scans else ("images", layout.images[name])
                losses.add(f"{what} without a label file", str(file))
    if losses.counts[SCORED] and not len(rows):
        raise SimjudgeError(f"{layout.root}: every label row ends with a score, a detector's; {_RESULTS_PLACE}")
    calibrations = {name: read_calibration(files, camera) for name, files in layout.calibration.items()}
    stamps: list[int] = [] if layout.times is None else read_times(layout.times).tolist()
    known = _of_scans(stamps, scans, f"{layout.times}", "times", losses)
    return _Content(layout, names, rows, labelled, calibrations, dict(zip(scans, known, strict=False)), losses)


def _frame_numbers(names: Sequence[str]) -> dict[int, int]:
    """The place of each name that is a number, by that number."""
    return {int(name): at for at, name in enumerate(names) if name.isascii() and name.isdecimal()}


def _of_scans(rows: Sequence[_Row], scans: Sequence[str], where: str, what: str, losses: Losses) -> list[_Row]:
    """The row of each scan: in order, or where there are others, by its number; nothing where they do not fit."""
    if len(rows) == len(scans):
        return list(rows)
    numbers = [int(name) if name.isascii() and name.isdecimal() else len(rows) for name in scans]
    if rows and max(numbers) < len(rows):
        return [rows[number] for number in numbers]
    losses.add(f"{what} that fit no scans", f"{where} ({len(rows)} rows, {len(scans)} scans)", len(rows))
    return []


def _predictions(
    content: _Content, names: list[str], class_names: dict[int, str]
) -> tuple[CloudPredictions | None, BoolArray | None, dict[int, str]]:
    """What a detector found, on which scans one has run, and the names of all classes."""
    results, losses = content.layout.results, content.losses
    if not results:
        return None, None, class_names
    number = {name: at for at, name in enumerate(content.names)}
    scans = set(names)
    for name in sorted(results.keys() - scans):
        losses.add("result files without a scan", str(results[name]))
    files = [(file, number[name]) for name, file in results.items() if name in scans]
    rows = read_labels(files, {}, losses, class_names, scored=True)
    boxes, kept = _boxes(content, rows, names)
    score = rows.score[kept]
    is_score = (score >= 0) & (score <= 1)
    for row in np.array(kept, np.int64)[~is_score].tolist():
        losses.add("result rows whose score is not within 0 and 1", rows.where[row])
    found = CloudPredictions(
        boxes.cloud[is_score],
        boxes.class_id[is_score],
        boxes.instance[is_score],
        boxes.centre[is_score],
        boxes.orientation[is_score],
        boxes.size[is_score],
        score[is_score],
        np.full(int(is_score.sum()), -1, np.int64),
    )
    return found, np.array([name in results for name in names], np.bool_), rows.class_names


def _boxes(content: _Content, rows: KittiLabels, names: list[str]) -> tuple[CloudBoxes, list[int]]:
    """The boxes of scans in the lidar's frame, and their rows."""
    index = {name: at for at, name in enumerate(names)}
    kept, clouds, centres, turns = [], [], [], []
    in_camera, rotations = rows.centres(), rows.rotations()
    for row in np.flatnonzero(rows.has_box).tolist():
        name = content.names[rows.scan[row]]
        calibration = content.calibration(name)
        if name not in index or calibration is None:
            what = "a scan" if name not in index else "a calibration"
            content.losses.add(f"boxes in space without {what}", rows.where[row])
            continue
        back = np.linalg.inv(calibration.rect_of_velo)
        kept.append(row)
        clouds.append(index[name])
        centres.append(back[:3, :3] @ in_camera[row] + back[:3, 3])
        turns.append(Rotation.from_matrix(back[:3, :3] @ rotations[row]).as_quat())
    return CloudBoxes(
        np.array(clouds, np.int64),
        rows.class_id[kept],
        rows.track[kept],
        np.array(centres, np.float64).reshape(-1, 3),
        np.array(turns, np.float64).reshape(-1, 4),
        rows.size[kept],
    ), kept


def _frames(content: _Content) -> FrameSet:
    layout, rows, losses = content.layout, content.rows, content.losses
    images, size = readable_images(list(layout.images.values()), losses)
    if not images:
        raise SimjudgeError(f"{layout.root}: holds no readable image{losses.reason}")
    names = [image.stem for image in images]
    index = {name: at for at, name in enumerate(names)}
    has_labels = layout.camera == CAMERA
    boxed = np.flatnonzero(rows.has_image_box & has_labels).tolist()
    kept = np.array([row for row in boxed if content.names[rows.scan[row]] in index], np.int64)
    of_row = [content.names[at] for at in rows.scan[kept].tolist()]
    raw = RawRows(
        np.array([index[name] for name in of_row], np.int64),
        rows.class_id[kept].astype(np.float64),
        rows.image_box[kept],
        lambda row: rows.where[int(kept[row])],
        instance=rows.track[kept],
        distance=_distances(content, kept, of_row),
    )
    raw = mend_foreign_labels(raw, size, str(layout.root), losses)
    used = set(np.unique(rows.class_id).tolist())
    regions = [
        (index[content.names[scan]], box)
        for _, scan, box in rows.dont_care
        if scan is not None and has_labels and content.names[scan] in index
    ]
    return FrameSet.build(
        layout.root.name,
        size,
        build_objects(raw, size, rows.class_names, losses),
        None,
        frame_name=names,
        stamp=[content.stamp.get(name, NO_STAMP) for name in names],
        labelled=[has_labels and name in content.labelled for name in names],
        class_names={number: name for number, name in rows.class_names.items() if number in used},
        images=FileImages(images),
        losses=losses,
        ignored=Objects.build([at for at, _ in regions], [ANY_CLASS] * len(regions), [box for _, box in regions]),
    )


def _distances(content: _Content, kept: IntArray, names: list[str]) -> list[float | None]:
    """From the camera to the middle of each box, where it has one."""
    centres, has_box = content.rows.centres()[kept], content.rows.has_box[kept]
    found: list[float | None] = []
    for name, centre, known in zip(names, centres, has_box.tolist(), strict=True):
        calibration = content.calibration(name)
        offset = np.zeros(3) if calibration is None else calibration.camera_offset()
        found.append(float(np.linalg.norm(centre + offset)) if known else None)
    return found


def _poses(content: _Content, names: list[str]) -> tuple[str, Pose | None, list[Pose]]:
    """The body whose poses are known, the lidar on it, and the poses."""
    layout, losses = content.layout, content.losses
    calibration = content.calibrations.get("")
    if calibration is None or (layout.poses is None and not layout.oxts):
        return LIDAR, None, []
    if layout.poses is not None:
        poses = read_camera_poses(layout.poses, calibration.rect_of_velo)
        return LIDAR, None, _of_scans(poses, names, str(layout.poses), "poses", losses)
    if calibration.imu_to_velo is None:
        losses.add("files of oxts without Tr_imu_to_velo", str(layout.oxts[0]), len(layout.oxts))
        return LIDAR, None, []
    poses = read_oxts(layout.oxts)
    if len(layout.oxts) > 1:
        by_name = dict(zip((file.stem for file in layout.oxts), poses, strict=False))
        poses = [by_name[name] for name in names if name in by_name]
    found = _of_scans(poses, names, str(layout.oxts[0]), "poses", losses)
    return IMU, Pose.from_matrix(np.linalg.inv(calibration.imu_to_velo)), found


def _texts(layout: KittiLayout) -> dict[str, str]:
    """All texts of a folder by their paths in it; what lies one folder up is put into it."""
    texts = {PLACES: json.dumps({"scans": layout.scan_folder, "images": layout.image_folder})}
    for path in layout.texts():
        name = path.relative_to(layout.root).as_posix() if path.is_relative_to(layout.root) else path.name
        # Latin-1 takes every byte, and gives it back.
        texts[name] = read_bytes(path, LARGEST_TEXT).decode("latin-1")
    return texts


def camera_transform(clouds: CloudSet, index: int) -> FloatArray:
    """(4, 4), from the lidar's frame to the camera's; without a camera, to the axes of one at the lidar."""
    if clouds.cameras:
        return clouds.cameras[index].pose.inverse().matrix()
    return np.array([[0.0, -1, 0, 0], [0, 0, -1, 0], [1, 0, 0, 0], [0, 0, 0, 1]])
