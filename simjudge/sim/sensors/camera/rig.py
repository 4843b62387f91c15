"""Several named cameras on one car: where each sits, or how it follows the car, and the YAML file that says so.

cameras:
  front: plain_half                      # a camera's file, or the name of one that comes with simjudge
  rear:
    camera: my_camera.yaml               # relative to this file
    rate: 10                             # images a second, in place of the camera's own
    mount: {position: [-0.1, 0.0, 0.2], yaw: 180}    # in base_link; without it, the car's mount of that name
  pair:
    camera: plain_half
    mount: {position: [0.4, 0.06, 0.2]}  # of pair/left
    baseline: 0.12                       # metres from pair/left to pair/right
  chase:
    camera: plain_half
    follow: {distance: 2.0, height: 1.0, time_constant: 0.3, aim: 0.1}     # a third-person camera
driver: front                            # the camera that the car is driven by; the first, if left out
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import model_validator

from simjudge.core.arrays import hash_value
from simjudge.core.documents import Document, Fields, check_content
from simjudge.core.errors import UsageError
from simjudge.core.field_types import Label, Number, Text, conflict
from simjudge.core.files import hash_files
from simjudge.core.installed import CAMERA as CAMERA_FILES
from simjudge.core.installed import RIG, find_file, shipped_files
from simjudge.core.text import list_some, nearest_name, one_line, read_yaml
from simjudge.data.rosbag2.interfaces import CAMERA
from simjudge.data.rosbag2.storage import is_recording
from simjudge.geometry.poses import MountFields, Pose
from simjudge.sim.sensors.camera.calibration import Calibration, holds_calibration
from simjudge.sim.sensors.camera.camera import Camera
from simjudge.sim.sensors.camera.camera_file import read_camera


@dataclass(frozen=True)
class Follow:
    """How a third-person camera follows a car."""

    distance: float  # metres behind base_link
    height: float  # metres above base_link
    time_constant: float  # seconds in which 63 % of a step of the car is made up for; 0: at once
    aim: float  # metres above base_link of the point that it looks at


@dataclass(frozen=True)
class MountedCamera:
    """A camera of a car."""

    name: str
    camera: Camera  # lens, exposure, chain, rate and lag
    # Pose of its body (x ahead) in base_link; without meaning where it follows.
    mount: Pose = field(default_factory=Pose)
    follow: Follow | None = None  # how it follows the car; None: it sits on the car
    baseline: float = 0.0  # metres from the first camera of a stereo pair to this one, to the right; 0 for all others

    def calibration(self) -> Calibration:
        """What camera_info says: of the second camera of a stereo pair, P has Tx = -fx baseline."""
        made = self.camera.lens.camera_info(self.camera.name).calibration
        if not self.baseline:
            return made
        projection = np.array(made.projection, np.float64)
        projection[0, 3] = -projection[0, 0] * self.baseline
        return replace(made, projection=projection)

    def noise_seed(self, seed: int) -> int:
        """The seed of this camera's noise: cameras that take an image at the same time have noise of their own."""
        if self.name == CAMERA:
            return seed
        return int(np.random.SeedSequence((seed, zlib.crc32(self.name.encode()))).generate_state(1)[0])


_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_TAKEN = ("base", "map", "odom")  # Names of frames that are no camera's
_FARTHEST = 1e3  # Metres
_LONGEST = 60.0  # Seconds
PAIR = ("left", "right")  # The cameras of a stereo pair NAME are NAME/left and NAME/right


class FollowFields(Fields):
    """A third-person camera, behind and above the car, that looks at it."""

    distance: Annotated[float, Number(gt=0, le=_FARTHEST)] = 2.0
    """Metres behind base_link."""
    height: Annotated[float, Number(gt=0, le=_FARTHEST)] = 1.0
    """Metres above base_link."""
    time_constant: Annotated[float, Number(ge=0, le=_LONGEST)] = 0.3
    """Seconds in which it makes up for 63 % of a step of the car."""
    aim: Annotated[float, Number(ge=0, le=_FARTHEST)] = 0.1
    """Metres above base_link of the point that it looks at."""


class RigCameraFields(Fields):
    """One camera, or a stereo pair."""

    camera: Annotated[str, Text("a camera's file or name")]
    """A camera's file, relative to this one, or the name of a camera that comes with simjudge."""
    mount: MountFields | None = None
    """Where it sits in base_link; without it the car's mount of that name."""
    follow: FollowFields | None = None
    """In place of a mount: it follows the car."""
    rate: Annotated[float, Number(gt=0)] | None = None
    """Images a second, in place of the camera's own."""
    baseline: Annotated[float, Number(gt=0, le=_FARTHEST)] | None = None
    """Metres: makes a stereo pair NAME/left, which sits at the mount, and NAME/right, so far to its right."""

    @model_validator(mode="after")
    def _check(self) -> RigCameraFields:
        if self.follow is not None:
            both = next((name for name in ("mount", "baseline") if getattr(self, name) is not None), None)
            if both:
                raise conflict("a camera that follows has none; remove one of the two", both)
        return self


class RigFile(Fields):
    """Several cameras of one car."""

    cameras: dict[Annotated[str, Label()], RigCameraFields | Annotated[str, Text("a camera's file or name")]]
    """By name; their topics and frames begin with it."""
    driver: Annotated[str, Text("the name of a camera")] | None = None
    """The camera that the car is driven by; the first, if left out."""

    @model_validator(mode="after")
    def _check(self) -> RigFile:
        if not self.cameras:
            raise conflict("one camera or more is needed", "cameras")
        for name in self.cameras:
            if not _NAME.fullmatch(name):
                raise conflict("a name of letters, digits and _ is needed, as ROS has them", "cameras", name)
            if name in _TAKEN:
                raise conflict(f"{name} is the name of another frame; call it otherwise", "cameras", name)
        return self


@dataclass(frozen=True)
class Rig:
    """The cameras of a car as a file has them, the one that drives first."""

    path: Path
    # With the mounts that the file gives; None where the car's own mount counts.
    cameras: tuple[tuple[MountedCamera, Pose | None], ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the cameras, the one that drives first."""
        return tuple(camera.name for camera, _ in self.cameras)

    def mounted(self, mounts: Mapping[str, Pose]) -> tuple[MountedCamera, ...]:
        """The cameras where they sit on a car."""
        out = []
        for index, (camera, mount) in enumerate(self.cameras):
            own = mounts.get(camera.name, mounts.get(CAMERA) if index == 0 else None)
            if camera.follow is None and mount is None and own is None:
                has = f"the car has {list_some(sorted(mounts))}" if mounts else "the car has none"
                raise UsageError(f"{self.path}: camera {camera.name}: needs a mount ({has}), or follow")
            out.append(replace(camera, mount=mount or own or Pose()) if camera.follow is None else camera)
        return tuple(out)


def read_rig(given: str | Path | Camera) -> Rig:
    """Read the cameras of a car: a rig's file, or the one camera of a camera's file, which is then called `camera`."""
    if isinstance(given, Camera):
        return Rig(given.path, ((MountedCamera(CAMERA, given), None),))
    path = rig_path(given)
    if path is None:
        camera = read_camera(given)
        return Rig(camera.path, ((MountedCamera(CAMERA, camera), None),))
    file = read_yaml(path)
    document = check_content(file.content, RigFile, "set of cameras", path, (file,))
    cameras = tuple(camera for name in document.content.cameras for camera in _cameras(document, name))
    names = [mounted.name for mounted, _ in cameras]
    driver = document.content.driver or names[0]
    if driver not in names:
        raise document.error(("driver",), f"there is no camera {one_line(driver)}{nearest_name(driver, names)}")
    first = cameras[names.index(driver)]
    if first[0].follow is not None:
        raise document.error(
            ("driver",) if document.content.driver else ("cameras", driver),
            "a camera that follows cannot drive; name another as driver",
        )
    return Rig(path, (first, *(mounted for mounted in cameras if mounted is not first)))


def camera_digest(given: str | Path) -> str:
    """Hash the file of a camera or a rig, with the cameras and the calibrations that it names."""
    rig = read_rig(given)
    cameras = [[mounted.name, *map(hash_files, _camera_files(mounted.camera.path))] for mounted, _ in rig.cameras]
    return hash_value([hash_files(rig.path), cameras])


def _camera_files(path: Path) -> list[Path]:
    """A camera's file, and the calibration that it names."""
    content = {} if is_recording(path) or holds_calibration(path) else read_yaml(path).content
    calibration = content.get("calibration")
    return [path] if calibration is None else [path, path.parent / calibration]


def rig_path(given: str | Path) -> Path | None:
    """The rig's file that is given; None where something else is given."""
    if is_recording(Path(given)):
        return None
    shipped = shipped_files(RIG)
    if not Path(given).is_file() and str(given) in shipped:
        return shipped[str(given)]
    path = find_file(given, CAMERA_FILES)
    if holds_calibration(path):
        return None
    content = read_yaml(path).content
    return path if isinstance(content, dict) and "cameras" in content else None


def _cameras(document: Document[RigFile], name: str) -> Iterator[tuple[MountedCamera, Pose | None]]:
    fields = document.content.cameras[name]
    if isinstance(fields, str):
        fields = RigCameraFields(camera=fields)
    camera = _camera(document, name, fields)
    mount = None if fields.mount is None else fields.mount.pose()
    if fields.baseline is None:
        follow = None if fields.follow is None else Follow(**dict(fields.follow))
        yield MountedCamera(name, camera, follow=follow), mount
        return
    if mount is None:
        raise document.error(("cameras", name), "a stereo pair needs a mount: that of its left camera")
    left, right = (f"{name}/{side}" for side in PAIR)
    yield MountedCamera(left, camera), mount
    yield MountedCamera(right, camera, baseline=fields.baseline), mount @ Pose((0.0, -fields.baseline, 0.0))


def _camera(document: Document[RigFile], name: str, fields: RigCameraFields) -> Camera:
    location: Any = ("cameras", name, "camera")
    if isinstance(document.content.cameras[name], str):
        location = location[:2]
    try:
        camera = read_camera(fields.camera, document.path.parent)
        return camera if fields.rate is None else camera.at_rate(fields.rate)
    except UsageError as error:
        raise document.error(location, str(error)) from error
