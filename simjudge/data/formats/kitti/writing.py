"""A set of clouds as a KITTI folder: as it was where it was one, else numbered scans with tracks (see `layout`)."""

from __future__ import annotations

import json
import logging
import math
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path, PurePosixPath

import numpy as np
from scipy.spatial.transform import Rotation

from simjudge.core.arrays import FloatArray
from simjudge.core.errors import Losses, SimjudgeError
from simjudge.core.files import atomic_folder
from simjudge.core.images import ImageError, encode_png
from simjudge.core.names import NO_STAMP
from simjudge.data.clouds import Cloud, CloudBoxes, CloudSet, write_cloud_files
from simjudge.data.format_support.image_files import file_stems
from simjudge.data.formats.kitti.dataset import PLACES, POINT, camera_transform, read_kitti_clouds
from simjudge.data.formats.kitti.layout import CAMERA, find_layout
from simjudge.data.formats.kitti.text_files import format_row, read_calibration
from simjudge.data.frame_sequences import pair_stamps

log = logging.getLogger(__name__)

_SAME = 1e-6  # Metres, and components of a quaternion, by which two boxes may differ and be the same
_TILT = 0.02  # Sine of the angle by which a box may be tilted
ImageBox = Callable[[int, int], tuple[float, ...]]  # From a cloud's number and an instance to its box in the image
_NO_BOX = (-1.0, -1.0, -1.0, -1.0)


def write_kitti(clouds: CloudSet, path: Path) -> Losses:
    """Write a KITTI folder: what KITTI has no place for, and what could not be read."""
    losses = Losses()
    places = _places(clouds)
    with atomic_folder(path) as folder:
        if places is None:
            _write_numbered(clouds, folder, losses)
        else:
            scans, images = places
            _write_scans(clouds, folder / scans, file_stems(clouds.cloud_name), losses)
            if clouds.frames is not None:
                stems = file_stems(clouds.frames.frame_name)
                _write_images(clouds, folder / (images or "image_2"), dict(enumerate(stems)), losses)
            for name, text in clouds.files.items():
                if name != PLACES:
                    (folder / name).parent.mkdir(parents=True, exist_ok=True)
                    (folder / name).write_bytes(text.encode("latin-1", "replace"))
            _mend_labels(clouds, folder, scans, losses)
            # Of a sequence of the tracking benchmark the scans' folder names it.
            sequence = scans.removeprefix("velodyne/") if scans.startswith("velodyne/") else ""
            root = folder / scans if sequence else folder
            target = folder / "results" / sequence / "data"
            if not _same_predictions(clouds, read_kitti_clouds(root)):
                shutil.rmtree(target, ignore_errors=True)
                _write_results(clouds, target, _transforms(clouds, root), file_stems(clouds.cloud_name))
    return losses


def _places(clouds: CloudSet) -> tuple[str, str] | None:
    """Where scans and images were, where the clouds are from a KITTI folder."""
    try:
        said = json.loads(clouds.files[PLACES])
        scans, images = str(said["scans"]), str(said["images"])
    except (KeyError, ValueError, TypeError):
        return None
    is_below = all(".." not in PurePosixPath(folder).parts and not folder.startswith("/") for folder in (scans, images))
    return (scans, images) if is_below and scans else None


def _write_scans(clouds: CloudSet, folder: Path, stems: list[str], losses: Losses) -> None:
    folder.mkdir(parents=True)
    files = [folder / f"{stem}.bin" for stem in stems]
    write_cloud_files(clouds, files, lambda cloud: _scan_bytes(cloud, losses), losses)


def _scan_bytes(cloud: Cloud, losses: Losses) -> bytes:
    if cloud.table.dtype == POINT:
        return cloud.table.tobytes()
    missing = [name for name in "xyz" if name not in cloud.fields]
    if missing:
        raise SimjudgeError(f"{cloud.where}: has no field {', '.join(missing)}; a scan needs x, y and z")
    table = np.zeros(len(cloud), POINT)
    for name in POINT.names or ():
        if name in cloud.fields:
            table[name] = cloud.table[name].astype("<f4")
    more = [name for name in cloud.fields if name not in (POINT.names or ())]
    if more:
        losses.add("clouds with fields that KITTI has no place for", f"{cloud.where} ({', '.join(more)})")
    return table.tobytes()


def _write_images(clouds: CloudSet, folder: Path, stems: dict[int, str], losses: Losses) -> None:
    images = None if clouds.frames is None else clouds.frames.images
    if images is None:
        return
    for index, stem in stems.items():
        if not images.has(index):
            continue
        folder.mkdir(parents=True, exist_ok=True)
        try:
            encoded = images.read_encoded(index)
            data = encode_png(images.read(index)) if encoded is None else encoded.data
        except ImageError as error:
            losses.add("images that cannot be read", str(error))
            continue
        (folder / f"{stem}{'.png' if encoded is None else encoded.suffix}").write_bytes(data)


def _mend_labels(clouds: CloudSet, folder: Path, scans: str, losses: Losses) -> None:
    """Write labels anew where the boxes are not those of the texts any more."""
    if clouds.boxes is None:
        return
    # Of a sequence of the tracking benchmark the scans' folder names it.
    root = folder / scans if scans.startswith("velodyne/") else folder
    found = read_kitti_clouds(root)
    if found.boxes is not None and _same_boxes(clouds, clouds.boxes, found, found.boxes):
        return
    layout = find_layout(root)
    if layout.tracklets is not None:
        what = f"boxes that were changed; {layout.tracklets.name} is not written anew"
        losses.add(what, clouds.name, len(clouds.boxes))
        layout.tracklets.unlink()
        return
    log.warning("%s: its boxes were changed; labels are written anew, without rows of DontCare", clouds.name)
    frames = {} if clouds.frames is None else {name: at for at, name in enumerate(clouds.frames.frame_name)}
    pairs = {index: frames[name] for index, name in enumerate(clouds.cloud_name) if name in frames}
    transforms = _transforms(clouds, root)
    if not transforms:
        raise SimjudgeError(f"{clouds.name}: its boxes were changed, and there is no calibration to write them by")
    rows = _label_rows(clouds, clouds.boxes, transforms, _image_box(clouds, pairs), losses)
    if layout.tracks is not None:
        numbers = [int(name) for name in clouds.cloud_name]
        layout.tracks.write_text("".join(f"{numbers[cloud]} {track} {row}\n" for cloud, track, row in rows))
        return
    (folder / "label_2").mkdir(exist_ok=True)
    for index, stem in enumerate(file_stems(clouds.cloud_name)):
        text = "".join(f"{row}\n" for cloud, _, row in rows if cloud == index)
        if clouds.labelled is not None and clouds.labelled[index]:
            (folder / "label_2" / f"{stem}.txt").write_text(text)


def _transforms(clouds: CloudSet, root: Path) -> list[FloatArray]:
    """From the lidar's frame to the camera's at each cloud, by the calibration of a KITTI folder; none without one."""
    calibrations = {
        name: read_calibration(files, CAMERA).rect_of_velo for name, files in find_layout(root).calibration.items()
    }
    fixed = next(iter(calibrations.values()), None)
    return [] if fixed is None else [calibrations.get(name, fixed) for name in clouds.cloud_name]


def _write_results(clouds: CloudSet, target: Path, transforms: Sequence[FloatArray], stems: Sequence[str]) -> None:
    """Write detections as results of the object benchmark, which its evaluation takes: a file a scan, score last."""
    found, predicted = clouds.predictions, clouds.predicted
    if found is None or predicted is None:
        return
    used = transforms or [camera_transform(clouds, index) for index in range(len(clouds))]
    rows = _label_rows(clouds, found, used, lambda _cloud, _track: _NO_BOX, Losses())
    lines = [(cloud, f"{row} {score:.6f}\n") for (cloud, _, row), score in zip(rows, found.score.tolist(), strict=True)]
    target.mkdir(parents=True)
    for index in np.flatnonzero(predicted).tolist():
        (target / f"{stems[index]}.txt").write_text("".join(text for cloud, text in lines if cloud == index))


def _same_predictions(clouds: CloudSet, found: CloudSet) -> bool:
    ours, theirs = clouds.predictions, found.predictions
    if ours is None or theirs is None or clouds.predicted is None or found.predicted is None:
        return ours is theirs
    return (
        np.array_equal(clouds.predicted, found.predicted)
        and _same_boxes(clouds, ours, found, theirs)
        and np.allclose(ours.score, theirs.score, rtol=0, atol=_SAME)
    )


def _same_boxes(clouds: CloudSet, ours: CloudBoxes, found: CloudSet, theirs: CloudBoxes) -> bool:
    if len(ours) != len(theirs) or list(clouds.cloud_name) != list(found.cloud_name):
        return False
    names = [
        [cuboids.class_names.get(i, "") for i in boxes.class_id.tolist()]
        for cuboids, boxes in ((clouds, ours), (found, theirs))
    ]
    turns = np.abs(np.einsum("ni,ni->n", ours.orientation, theirs.orientation))
    return (
        names[0] == names[1]
        and np.array_equal(ours.cloud, theirs.cloud)
        and np.array_equal(ours.instance, theirs.instance)
        and np.allclose(ours.centre, theirs.centre, rtol=0, atol=_SAME)
        and np.allclose(ours.size, theirs.size, rtol=0, atol=_SAME)
        and bool((turns > 1 - _SAME).all())
    )


def _write_numbered(clouds: CloudSet, folder: Path, losses: Losses) -> None:
    """Scans that are no KITTI folder's: numbers for names, stamps in times.txt, labels as tracks."""
    stems = [f"{index:06d}" for index in range(len(clouds))]
    _write_scans(clouds, folder / "velodyne", stems, losses)
    pairs = _image_pairs(clouds, losses)
    _write_images(clouds, folder / "image_2", {frame: stems[cloud] for cloud, frame in pairs.items()}, losses)
    if (clouds.stamp != NO_STAMP).all():
        lines = (f"{stamp // 10**9}.{stamp % 10**9:09d}\n" for stamp in clouds.stamp.tolist())
        (folder / "times.txt").write_text("".join(lines))
    (folder / "calib.txt").write_text(_calibration(clouds))
    if clouds.poses:
        (folder / "poses.txt").write_text(_poses(clouds))
    if clouds.boxes is not None:
        transforms = [camera_transform(clouds, index) for index in range(len(clouds))]
        rows = _label_rows(clouds, clouds.boxes, transforms, _image_box(clouds, pairs), losses)
        (folder / "label_02.txt").write_text("".join(f"{cloud} {track} {row}\n" for cloud, track, row in rows))
    _write_results(clouds, folder / "results/data", [], stems)


def _image_pairs(clouds: CloudSet, losses: Losses) -> dict[int, int]:
    """The frame of each cloud: that of its stamp, or the nearest within half the time between clouds."""
    frames = clouds.frames
    if frames is None:
        return {}
    steps = np.diff(clouds.stamp)
    tolerance = int(np.median(steps[steps > 0])) // 2 if (steps > 0).any() else 0
    first, second = pair_stamps(clouds.stamp, frames.stamp, tolerance)
    losses.add("images without a scan at their time", frames.name, len(frames) - len(second))
    return dict(zip(first.tolist(), second.tolist(), strict=True))


def _calibration(clouds: CloudSet) -> str:
    matrix = clouds.cameras[0].matrix if clouds.cameras else np.eye(3)
    projection = np.concatenate([matrix, np.zeros((3, 1))], 1)
    values = {
        **{f"P{number}": projection for number in range(4)},
        "R0_rect": np.eye(3),
        "Tr_velo_to_cam": camera_transform(clouds, 0)[:3],
        "Tr_imu_to_velo": np.eye(4)[:3],
    }
    return "".join(
        f"{key}: {' '.join(f'{value:.17g}' for value in matrix.ravel())}\n" for key, matrix in values.items()
    )


def _poses(clouds: CloudSet) -> str:
    """Poses of the camera in its frame at the first cloud, as the odometry benchmark has them."""
    lidars = [pose if clouds.mount is None else pose @ clouds.mount for pose in clouds.poses]
    cameras = [pose.matrix() @ np.linalg.inv(camera_transform(clouds, index)) for index, pose in enumerate(lidars)]
    back = np.linalg.inv(cameras[0])
    return "".join(f"{' '.join(f'{value:.17g}' for value in (back @ camera)[:3].ravel())}\n" for camera in cameras)


def _image_box(clouds: CloudSet, pairs: dict[int, int]) -> ImageBox:
    """The box in the image of a cloud's thing, by its instance number."""
    boxes: dict[tuple[int, int], tuple[float, ...]] = {}
    if clouds.frames is not None:
        objects = clouds.frames.objects
        for row in np.flatnonzero(objects.instance >= 0).tolist():
            boxes[int(objects.frame[row]), int(objects.instance[row])] = tuple(objects.box[row].tolist())
    return lambda cloud, instance: boxes.get((pairs.get(cloud, -1), instance), _NO_BOX)


def _label_rows(
    clouds: CloudSet, boxes: CloudBoxes, transforms: Sequence[FloatArray], image_box: ImageBox, losses: Losses
) -> list[tuple[int, int, str]]:
    """Cloud, track and row of the object benchmark of each box."""
    rows = []
    for row, (cloud, track) in enumerate(zip(boxes.cloud.tolist(), boxes.instance.tolist(), strict=True)):
        numbers, tilt = _numbers(transforms[cloud], boxes, row)
        kind = clouds.class_names.get(int(boxes.class_id[row]), str(boxes.class_id[row]))
        if tilt > _TILT:
            losses.add("boxes that are tilted, written upright", f"{clouds.name}: {clouds.cloud_name[cloud]}: {kind}")
        text = format_row(kind, (-1.0, -1.0, numbers[-1], *image_box(cloud, track), *numbers[:-1]))
        rows.append((cloud, track, text))
    return rows


def _numbers(transform: FloatArray, boxes: CloudBoxes, row: int) -> tuple[tuple[float, ...], float]:
    """Height, width, length, x, y, z, rotation_y and alpha of a box, and the sine of its tilt."""
    turn = transform[:3, :3] @ Rotation.from_quat(boxes.orientation[row]).as_matrix()
    length, width, height = boxes.size[row].tolist()
    x, y, z = (transform[:3, :3] @ boxes.centre[row] + transform[:3, 3]).tolist()
    ahead, up = turn[:, 0], turn[:, 2]
    rotation = math.atan2(-ahead[2], ahead[0])
    alpha = (rotation - math.atan2(x, z) + math.pi) % (2 * math.pi) - math.pi
    return (height, width, length, x, y + height / 2, z, rotation, alpha), float(np.hypot(up[0], up[2]))
