"""Clouds, boxes in space, and what belongs to them.

A cloud is a table: a structured NumPy array with a row a point and the fields as its source has them. Coordinates are
metres in the sensor's frame (REP 103: x ahead, y left, z up). Stamps are nanoseconds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from simjudge.core.arrays import BoolArray, FloatArray, IntArray
from simjudge.core.display import ShortRepr
from simjudge.core.errors import Losses, SimjudgeError
from simjudge.core.frames import FrameSet
from simjudge.core.names import NO_STAMP

if TYPE_CHECKING:
    from simjudge.geometry.poses import Pose  # loads SciPy, which reading images does not need

Table = npt.NDArray[np.void]  # Points, a row each
# Of a sensor: x, y, z, metres, and a quaternion w, x, y, z, as PCD files have it.
Viewpoint = tuple[float, float, float, float, float, float, float]
NO_VIEWPOINT: Viewpoint = (0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0)


@dataclass(frozen=True, eq=False, repr=False)
class Cloud(ShortRepr):
    """The points of one turn or one shot."""

    table: Table  # a row a point, with the fields of its source
    height: int = 1  # rows of an organized cloud, which the table holds one after the other; 1 for others
    viewpoint: Viewpoint = NO_VIEWPOINT
    where: str = "a cloud"  # names the cloud in messages: its file, or recording, topic and stamp

    def __len__(self) -> int:
        return len(self.table)

    @property
    def fields(self) -> tuple[str, ...]:
        """The names of the fields."""
        return tuple(self.table.dtype.names or ())


@dataclass(frozen=True, eq=False, repr=False)
class CloudBoxes(ShortRepr):
    """N labelled things in space. Rows are ordered by cloud."""

    cloud: IntArray  # int64 (N,), the number of the cloud that each box belongs to
    class_id: IntArray  # int64 (N,)
    instance: IntArray  # int64 (N,), the same thing has the same number in all clouds; -1 where unknown
    centre: FloatArray  # float64 (N, 3), metres, in the clouds' frame
    orientation: FloatArray  # float64 (N, 4), quaternions x, y, z, w, box to the clouds' frame
    size: FloatArray  # float64 (N, 3), metres, along the box's own x (ahead), y (left) and z (up)

    def __len__(self) -> int:
        return len(self.cloud)


@dataclass(frozen=True, eq=False, repr=False)
class CloudPredictions(CloudBoxes, ShortRepr):
    """N boxes that a detector found in clouds. Rows are ordered by cloud."""

    score: FloatArray  # float64 (N,), in [0, 1]
    points: IntArray  # int64 (N,), the points that each was made of; -1 where nobody counted


@dataclass(frozen=True, eq=False, repr=False)
class CameraCalibration(ShortRepr):
    """A camera beside a lidar. Its images are rectified: it has no distortion."""

    matrix: FloatArray  # (3, 3), the camera matrix, pixels
    pose: Pose  # of its optical frame (x right, y down, z ahead) in the clouds' frame


@dataclass(frozen=True, repr=False)
class CloudSet(ShortRepr):
    """Clouds of one lidar, and what belongs to them. A cloud is read when it is asked for.

    Attributes:
        name: of the folder or the recording.
        cloud_name: of each cloud: its file's, without the ending.
        stamp: int64 (C,), nanoseconds; NO_STAMP where it has none.
        read: reads a cloud by its number; raises SimjudgeError where it is damaged.
        frame_id: the clouds' frame.
        boxes: what is labelled in space; None where nobody labelled.
        labelled: bool (C,), whether somebody labelled a cloud, even if nothing is in it; None: none is labelled.
        class_names: of the boxes and predictions, by class id.
        frames: images of a camera, and what is labelled in them; None where there are none.
        cameras: the camera's calibration at each cloud; empty where it is not known.
        body: the frame of what carries the lidar; that of the clouds where its mount is not known.
        mount: the clouds' frame in the body's; None: they are one.
        poses: of the body at each cloud, in one fixed frame; empty where they are not known.
        files: texts of the folder that no other attribute holds with all that is in them, by relative path.
        losses: what was left out.
        predictions: boxes that a detector found; None where none has run.
        predicted: bool (C,), whether a detector has run on a cloud, even if it found nothing; None: on none.
    """

    name: str
    cloud_name: Sequence[str]
    stamp: IntArray
    read: Callable[[int], Cloud]
    frame_id: str = "lidar_link"
    boxes: CloudBoxes | None = None
    labelled: BoolArray | None = None
    class_names: Mapping[int, str] = field(default_factory=dict)
    frames: FrameSet | None = None
    cameras: Sequence[CameraCalibration] = ()
    body: str = "lidar_link"
    mount: Pose | None = None
    poses: Sequence[Pose] = ()
    files: Mapping[str, str] = field(default_factory=dict)
    losses: Losses = field(default_factory=Losses)
    predictions: CloudPredictions | None = None
    predicted: BoolArray | None = None

    def __len__(self) -> int:
        """The number of clouds."""
        return len(self.cloud_name)

    def __getitem__(self, index: int) -> Cloud:
        """Read a cloud."""
        return self.read(range(len(self))[index])

    def __iter__(self) -> Iterator[Cloud]:
        """Read the clouds one by one."""
        return (self.read(index) for index in range(len(self)))

    def has_stamp(self, index: int) -> bool:
        """Whether it is known when a cloud was taken."""
        return bool(self.stamp[index] != NO_STAMP)


def write_cloud_files(
    clouds: CloudSet, files: Sequence[Path], content: Callable[[Cloud], bytes], losses: Losses
) -> None:
    """Write each cloud into its file; clouds that cannot be read are counted."""
    written = 0
    for index, file in enumerate(files):
        try:
            data = content(clouds.read(index))
        except SimjudgeError as error:
            losses.add("clouds that cannot be read", str(error))
            continue
        file.write_bytes(data)
        written += 1
    if not written:
        raise SimjudgeError(f"{clouds.name}: holds no cloud that can be read{losses.reason}")
