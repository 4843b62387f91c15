"""Where the files of a KITTI folder are: the object, tracking, odometry and raw layouts, and sequences of one folder.

| layout | scans | images | labels | calibration | poses |
| --- | --- | --- | --- | --- | --- |
| object | `velodyne/N.bin` | `image_2/N.png` | `label_2/N.txt` | `calib/N.txt` | |
| object without scans | | `image_2/N.png` | `label_2/N.txt` | `calib/N.txt` | |
| tracking | `velodyne/S/N.bin` | `image_02/S/N.png` | `label_02/S.txt` | `calib/S.txt` | `oxts/S.txt` |
| sequence | `velodyne/N.bin` | `image_2/` or `image_02/` | `label_02.txt` | `calib.txt` | `poses*.txt`, `oxts.txt` |
| raw | `velodyne_points/data/N.bin` | `image_02/data/` | `tracklet_labels.xml` | `calib_*.txt` | `oxts/data/N.txt` |

A sequence is what the odometry benchmark has, or one sequence of the tracking benchmark in a folder of its own.
Images are those of camera 2; other cameras have folders of their own, such as `image_3` and `image_03`.
The calibration of the raw data may also lie one folder up. Results of detectors are `results/data/N.txt`, in the
tracking benchmark `results/S/data/N.txt`.

Source: the readme files of KITTI's development kits (object, tracking, odometry, raw data),
https://www.cvlibs.net/datasets/kitti/.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from simjudge.core.errors import SimjudgeError
from simjudge.core.text import list_some
from simjudge.data.format_support.image_files import images_below, list_images

CAMERA = 2  # The camera that labels belong to; it is taken where none is chosen
RESULTS = "results/data"
TRACKLETS = "tracklet_labels.xml"
_SCANS = "velodyne"
_LABELS = "label_2"
_RAW_SCANS = Path("velodyne_points", "data")
_RAW_CALIBRATION = ("calib_velo_to_cam.txt", "calib_cam_to_cam.txt", "calib_imu_to_velo.txt")


@dataclass(frozen=True)
class KittiLayout:
    """The files of one set of scans."""

    root: Path
    camera: int  # number of the camera whose images are taken, 0 to 3
    # scan_folder, image_folder: relative to the root; of the camera's images, "" where there are none.
    scan_folder: str
    scans: Sequence[Path]
    image_folder: str = ""
    images: dict[str, Path] = field(default_factory=dict)
    labels: dict[str, Path] = field(default_factory=dict)  # a file for each scan, by name (object)
    results: dict[str, Path] = field(default_factory=dict)  # what a detector found: a file for each scan, by name
    tracks: Path | None = None  # the one file of labels of all scans
    tracklets: Path | None = None  # the file of boxes in space of all scans (raw)
    # A file for each scan by name, or one or more under "".
    calibration: dict[str, list[Path]] = field(default_factory=dict)
    poses: Path | None = None  # the file of poses of camera 0, a row a scan
    oxts: Sequence[Path] = ()  # files with the rows of the inertial unit: one with a row a scan, or one a scan
    times: Path | None = None  # the file of times: seconds from the start, or dates

    def texts(self) -> list[Path]:
        """All files of text, in the order of their names."""
        single = [
            known_file for known_file in (self.tracks, self.tracklets, self.poses, self.times) if known_file is not None
        ]
        several = [path for paths in self.calibration.values() for path in paths]
        return sorted({*single, *several, *self.labels.values(), *self.results.values(), *self.oxts})


def is_kitti(path: Path) -> bool:
    """Tell whether a path is a folder of KITTI's."""
    if not path.is_dir():
        return False
    if (path / _RAW_SCANS).is_dir() or _of_sequence(path) is not None or _is_pictures_alone(path):
        return True
    return (path / _SCANS).is_dir() and (
        _has(path / _SCANS, "*.bin") or any(_has(sequence, "*.bin") for sequence in _sequences(path))
    )


def has_scans(path: Path) -> bool:
    """Tell whether a KITTI folder holds scans: the object benchmark is also had without."""
    return not _is_pictures_alone(path)


def camera_number(name: str) -> int | None:
    """The number of a camera by the name of its folder, image_2 or image_02, or by the number itself; else None."""
    found = re.fullmatch(r"(?:image_)?0?([0-3])", name.strip("/"))
    return None if found is None else int(found[1])


def find_cameras(path: Path) -> list[int]:
    """The numbers of the cameras whose images a KITTI folder holds."""
    return [camera for camera in range(4) if find_layout(path, camera).images]


def find_layout(path: Path, camera: int = CAMERA) -> KittiLayout:
    """Find the files of a KITTI folder (camera: number of the camera whose images are wanted, 0 to 3)."""
    if (path / _RAW_SCANS).is_dir():
        return _raw(path, camera)
    named = _of_sequence(path)
    if named is not None:
        return _tracking(named, path.name, camera)
    if _has(path / _SCANS, "*.bin") or _is_pictures_alone(path):
        is_object = (path / _LABELS).is_dir() or (path / "calib").is_dir()
        return _object(path, camera) if is_object else _sequence(path, camera)
    found = _sequences(path)
    if len(found) != 1:
        names = list_some([file.name for file in found])
        raise SimjudgeError(
            f"{path}: holds {len(found)} sequences ({names}); name one by its scans, as {found[0] if found else path}"
        )
    return _tracking(path, found[0].name, camera)


def _object(root: Path, camera: int) -> KittiLayout:
    images, folder = _images(root, _image_folders(camera))
    return KittiLayout(
        root,
        camera,
        _SCANS,
        sorted((root / _SCANS).glob("*.bin")),
        folder,
        images,
        _text_files(root / _LABELS),
        _text_files(root / RESULTS),
        calibration={name: [file] for name, file in _text_files(root / "calib").items()},
    )


def _tracking(root: Path, name: str, camera: int) -> KittiLayout:
    images, folder = _images(root, (f"image_{camera:02d}/{name}",))
    oxts, calibration = root / "oxts" / f"{name}.txt", root / "calib" / f"{name}.txt"
    return KittiLayout(
        root,
        camera,
        f"{_SCANS}/{name}",
        _scans(root / _SCANS / name),
        folder,
        images,
        results=_text_files(root / "results" / name / "data"),
        tracks=_file(root / "label_02" / f"{name}.txt"),
        calibration=_one(calibration),
        oxts=[oxts] if oxts.is_file() else (),
    )


def _sequence(root: Path, camera: int) -> KittiLayout:
    images, folder = _images(root, _image_folders(camera))
    oxts = root / "oxts.txt"
    tracks = next((root / name for name in ("label_02.txt", "label_2.txt") if (root / name).is_file()), None)
    poses = sorted(root.glob("poses*.txt"))
    return KittiLayout(
        root,
        camera,
        _SCANS,
        _scans(root / _SCANS),
        folder,
        images,
        results=_text_files(root / RESULTS),
        tracks=tracks,
        calibration=_one(root / "calib.txt"),
        poses=poses[0] if poses else None,
        oxts=[oxts] if oxts.is_file() else (),
        times=_file(root / "times.txt"),
    )


def _raw(root: Path, camera: int) -> KittiLayout:
    images, folder = _images(root, _image_folders(camera))
    calibration = [
        next((folder / name for folder in (root, root.parent) if (folder / name).is_file()), None)
        for name in _RAW_CALIBRATION
    ]
    found = [file for file in calibration if file is not None]
    return KittiLayout(
        root,
        camera,
        _RAW_SCANS.as_posix(),
        _scans(root / _RAW_SCANS),
        folder,
        images,
        results=_text_files(root / RESULTS),
        calibration={"": found} if found else {},
        oxts=sorted((root / "oxts" / "data").glob("*.txt")),
        times=_file(root / "velodyne_points" / "timestamps.txt"),
        tracklets=_file(root / TRACKLETS),
    )


def _is_pictures_alone(path: Path) -> bool:
    """Whether a path has pictures and labels as the object benchmark has them, and no scans."""
    return not (path / _SCANS).is_dir() and _has(path / _LABELS, "*.txt") and bool(list_images(path / "image_2"))


def _of_sequence(path: Path) -> Path | None:
    """The root of the tracking benchmark, where a path is the scans of one sequence of it."""
    is_one = path.is_dir() and path.absolute().parent.name == _SCANS and _has(path, "*.bin")
    return path.absolute().parents[1] if is_one else None


def _sequences(path: Path) -> list[Path]:
    folder = path / _SCANS
    return sorted(entry for entry in folder.iterdir() if entry.is_dir()) if folder.is_dir() else []


def _scans(folder: Path) -> list[Path]:
    found = sorted(folder.glob("*.bin"))
    if not found:
        raise SimjudgeError(f"{folder}: holds no scan (.bin); give a folder that does")
    return found


def _image_folders(camera: int) -> tuple[str, ...]:
    """Where a layout keeps the images of a camera; people move the folders of one benchmark beside those of another."""
    return tuple(f"{name}{below}" for below in ("", "/data") for name in (f"image_{camera}", f"image_{camera:02d}"))


def other_images(layout: KittiLayout) -> list[Path]:
    """List the images in folders called image... of which the layout takes none."""
    folders = [] if layout.images else sorted(entry for entry in layout.root.glob("image*") if entry.is_dir())
    return [image for folder in folders for images in images_below(folder).values() for image in images]


def _images(root: Path, folders: Sequence[str]) -> tuple[dict[str, Path], str]:
    """The images by name, and their folder: the first that holds some."""
    for folder in folders:
        found = list_images(root / folder)
        if found:
            return {image.stem: image for image in found}, folder
    return {}, ""


def _text_files(folder: Path) -> dict[str, Path]:
    return {file.stem: file for file in sorted(folder.glob("*.txt"))}


def _file(path: Path) -> Path | None:
    return path if path.is_file() else None


def _one(path: Path) -> dict[str, list[Path]]:
    return {"": [path]} if path.is_file() else {}


def _has(folder: Path, pattern: str) -> bool:
    return any(folder.glob(pattern))
