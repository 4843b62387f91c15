"""What a recording holds of a camera beside its images: camera_info, where it was (tf), label images.

Label images: the class and the instance of every pixel, beside a camera's colours and through the same lens.

Rays through the pixels' centres decide, in the middle of the exposure. Every counted thing is in the instance image,
also one that is too small or too hidden to get a box.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import cv2
import numpy as np
import numpy.typing as npt

from simjudge.core.images import ImageError
from simjudge.data.rosbag2.interfaces import CAMERA_INFO, IMAGE, standard_types
from simjudge.data.rosbag2.writing import CAMERA, DEFAULT_TOPICS, FRAME_ID, camera_topics
from simjudge.geometry.poses import Pose
from simjudge.sim.sensors.camera.calibration import Calibration
from simjudge.sim.sensors.camera.depth_filters import DepthImage, depth_message_fields, depth_topics

# (H, W): classes as uint8, 0 where there is none; or instances as uint16, 0 where it is nothing that is counted.
LabelImage = npt.NDArray[np.uint8] | npt.NDArray[np.uint16]
LABEL_IMAGES = ("semantic", "instance")  # What the topics and the folders of the two are called
_ENCODINGS: dict[str, tuple[str, np.dtype[Any]]] = {
    "semantic": ("8UC1", np.dtype("u1")),
    "instance": ("16UC1", np.dtype("<u2")),
}


def label_message_fields(kind: str, values: LabelImage) -> dict[str, Any]:
    """The fields of a sensor_msgs/Image of a label image: 8UC1 or little-endian 16UC1 without padding."""
    height, width = values.shape
    encoding, dtype = _ENCODINGS[kind]
    data = np.ascontiguousarray(values, dtype).reshape(-1).view(np.uint8)
    return {
        "height": height,
        "width": width,
        "encoding": encoding,
        "is_bigendian": 0,
        "step": width * dtype.itemsize,
        "data": data,
    }


def encode_label_png(values: LabelImage) -> bytes:
    """A label image as a PNG of one channel, 8 or 16 bits as the array has."""
    done, buffer = cv2.imencode(".png", values, [cv2.IMWRITE_PNG_COMPRESSION, 3])
    if not done:
        raise ImageError("a label image could not be encoded as PNG")
    return buffer.tobytes()


def decode_label_png(data: bytes) -> LabelImage:
    """The label image of a PNG that `encode_label_png` made."""
    return cast("LabelImage", cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_UNCHANGED))


CAMERA_INFO_TOPIC = DEFAULT_TOPICS[CAMERA_INFO]
TF_TOPIC = "/tf"


class CameraMessages:
    """Makes the messages of one camera, a frame at a time."""

    def __init__(self, calibration: Calibration, fixed_frame: str, frame_id: str = FRAME_ID) -> None:
        self._types = standard_types().types
        self._calibration, self._fixed_frame, self._frame_id = calibration, fixed_frame, frame_id

    def at(self, stamp: int, pose: Pose, camera: str = CAMERA) -> Iterator[tuple[str, Any]]:
        """Topic and message of camera_info and tf, as `write_recording` takes them."""
        yield camera_topics(camera)[CAMERA_INFO], self.info(stamp)
        yield TF_TOPIC, self.transform(stamp, pose)

    def depth(self, stamp: int, depth: DepthImage, camera: str = CAMERA) -> Iterator[tuple[str, Any]]:
        """Topic and message of a depth image (metres) and of its camera_info, which is the camera's own."""
        image, info = depth_topics(camera)
        yield image, self._new(IMAGE, header=self._header(stamp, self._frame_id), **depth_message_fields(depth))
        yield info, self.info(stamp)

    def label_image(self, stamp: int, kind: str, values: LabelImage, camera: str = CAMERA) -> tuple[str, Any]:
        """Topic and message of a label image, as a simulated camera publishes it."""
        header = self._header(stamp, self._frame_id)
        return f"/{camera}/{kind}", self._new(IMAGE, header=header, **label_message_fields(kind, values))

    def info(self, stamp: int) -> Any:
        """The camera_info (stamp: nanoseconds, of the message's header)."""
        made = self._calibration
        none = self._new(
            "sensor_msgs/msg/RegionOfInterest", x_offset=0, y_offset=0, height=0, width=0, do_rectify=False
        )
        return self._new(
            CAMERA_INFO,
            header=self._header(stamp, self._frame_id),
            height=made.size[1],
            width=made.size[0],
            distortion_model=made.model,
            d=np.asarray(made.distortion, np.float64),
            k=np.asarray(made.matrix, np.float64).reshape(-1),
            r=np.asarray(made.rectification, np.float64).reshape(-1),
            p=np.asarray(made.projection, np.float64).reshape(-1),
            binning_x=0,
            binning_y=0,
            roi=none,
        )

    def transform(self, stamp: int, camera: Pose) -> Any:
        """The pose as a tf2_msgs/TFMessage, from the fixed frame to the optical frame (REP 103)."""
        x, y, z = camera.position
        qx, qy, qz, qw = camera.orientation
        moved = self._new(
            "geometry_msgs/msg/Transform",
            translation=self._new("geometry_msgs/msg/Vector3", x=x, y=y, z=z),
            rotation=self._new("geometry_msgs/msg/Quaternion", x=qx, y=qy, z=qz, w=qw),
        )
        stamped = self._new(
            "geometry_msgs/msg/TransformStamped",
            header=self._header(stamp, self._fixed_frame),
            child_frame_id=self._frame_id,
            transform=moved,
        )
        return self._new("tf2_msgs/msg/TFMessage", transforms=[stamped])

    def _header(self, stamp: int, frame_id: str) -> Any:
        sec, nanosec = divmod(stamp, 1_000_000_000)
        time = self._new("builtin_interfaces/msg/Time", sec=sec, nanosec=nanosec)
        return self._new("std_msgs/msg/Header", stamp=time, frame_id=frame_id)

    def _new(self, kind: str, /, **values: Any) -> Any:
        return self._types[kind](**values)
