"""A set of clouds as a recording: clouds, boxes, images, calibration and poses, as `drive --sensors` records them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from simjudge.core.arrays import IntArray
from simjudge.core.errors import Losses, SimjudgeError
from simjudge.core.names import NO_STAMP
from simjudge.data.clouds import NO_VIEWPOINT, CameraCalibration, Cloud, CloudBoxes, CloudSet, Table
from simjudge.data.rosbag2.cloud_messages import (
    CLOUD_TYPE,
    CUBOIDS,
    VISION,
    cloud_message,
    detected_boxes_message,
    has_vision_msgs,
    vision_boxes,
)
from simjudge.data.rosbag2.interfaces import BOXES_3D, CAMERA_INFO, DETECTED_BOXES_3D, VISION_BOXES_3D, standard_types
from simjudge.data.rosbag2.writing import (
    FRAME_ID,
    MessageMaker,
    StampedMessage,
    frame_messages,
    recording_stamps,
    set_metadata,
    write_messages,
)
from simjudge.geometry.poses import Pose


def points_in_boxes(table: Table, boxes: CloudBoxes, rows: IntArray) -> list[int]:
    """Count the points in some boxes, their faces included (boxes: in the cloud's frame; rows: int64 (K,))."""
    if not len(rows):
        return []
    points = np.stack([table[name].astype(np.float64) for name in "xyz"], -1)
    counts = []
    for row in rows.tolist():
        own = Rotation.from_quat(boxes.orientation[row]).inv().apply(points - boxes.centre[row])
        counts.append(int((np.abs(own) <= boxes.size[row] / 2).all(1).sum()))
    return counts


CLOUDS = "/scan/points"
VIEWPOINTS = "/scan/points/viewpoint"
BOXES = "/scan/points/boxes"
CAMERA = "/camera/camera_info"
ODOMETRY = "/odom"
FILES = "/kitti/files"
# Under this key rosbag2's custom data hold [stamp, name, whether the stamp is its own] of each cloud.
CLOUDS_KEY = "simjudge.clouds"
_FIXED = "odom"
_FIRST, _STEP = 1_000_000_000, 100_000_000


def write_cloud_recording(clouds: CloudSet, path: Path) -> Losses:
    """Write clouds, and what belongs to them, as a recording.

    A cloud without a stamp gets that of the frame of its name, else 1 s for the first and 0.1 s more for each that
    follows. Returns clouds and images that could not be read, and were left out.
    """
    frame_stamps = np.zeros(0, np.int64) if clouds.frames is None else recording_stamps(clouds.frames)
    stamps = cloud_stamps(clouds, frame_stamps)
    names = [[s, name, clouds.has_stamp(i)] for i, (s, name) in enumerate(zip(stamps, clouds.cloud_name, strict=True))]
    custom = {CLOUDS_KEY: json.dumps({"clouds": names})}
    if clouds.frames is not None:
        custom |= set_metadata(clouds.frames)
    losses = Losses()
    write_messages(_messages(clouds, stamps, frame_stamps, losses), path, custom)
    return losses


def cloud_stamps(clouds: CloudSet, frame_stamps: IntArray) -> list[int]:
    """Choose the stamp that each cloud has in a recording: nanoseconds, all different (frame_stamps: int64 (F,))."""
    names = [] if clouds.frames is None else clouds.frames.frame_name
    of_frame = dict(zip(names, frame_stamps.tolist(), strict=True))
    own = {int(stamp) for stamp in clouds.stamp if stamp != NO_STAMP}
    stamps: list[int] = []
    used: dict[int, str] = {}
    for index, (name, said) in enumerate(zip(clouds.cloud_name, clouds.stamp.tolist(), strict=True)):
        stamp = said if said != NO_STAMP else of_frame.get(name, _FIRST + index * _STEP)
        while said == NO_STAMP and (stamp in used or stamp in own):
            stamp += 1
        if stamp in used:
            raise SimjudgeError(f"{clouds.name}: clouds {used[stamp]} and {name} have the same stamp; rename one")
        used[stamp] = name
        stamps.append(stamp)
    return stamps


def _messages(clouds: CloudSet, stamps: list[int], frame_stamps: IntArray, losses: Losses) -> Iterator[StampedMessage]:
    """All messages in order of their stamps: of each stamp, frames first."""
    frames = clouds.frames
    maker = None if frames is None else MessageMaker(standard_types(), frames, frame_stamps)
    rows = [(stamp, 0, index) for index, stamp in enumerate(frame_stamps.tolist())]
    rows += [(stamp, 1, index) for index, stamp in enumerate(stamps)]
    cloud_maker = _CloudMaker(clouds)
    rows.sort()
    if rows:
        yield from cloud_maker.fixed(rows[0][0])
    written = False
    for stamp, is_cloud, index in rows:
        if not is_cloud:
            if maker is not None:
                yield from frame_messages(maker, index, stamp, losses)
            continue
        try:
            made = list(cloud_maker.messages(clouds.read(index), index, stamp))
        except SimjudgeError as error:
            losses.add("clouds that cannot be read", str(error))
            continue
        yield from made
        written = True
    if not written:
        raise SimjudgeError(f"{clouds.name}: holds no cloud that can be read{losses.reason}")


class _CloudMaker:
    """Makes the messages of clouds."""

    def __init__(self, clouds: CloudSet) -> None:
        self._clouds, self._types, self._vision = clouds, standard_types().types, has_vision_msgs()
        self._standing = len({id(camera) for camera in clouds.cameras}) == 1
        self._size = (
            {}
            if clouds.frames is None
            else dict(zip(clouds.frames.frame_name, clouds.frames.size.tolist(), strict=True))
        )

    def fixed(self, stamp: int) -> Iterator[StampedMessage]:
        """What holds for all clouds: texts, and transforms that stand."""
        clouds = self._clouds
        for name, text in clouds.files.items():
            kind = "std_msgs/msg/String"
            yield StampedMessage(stamp, FILES, kind, self._new(kind, data=json.dumps({"path": name, "text": text})))
        links = []
        if clouds.mount is not None:
            links.append((clouds.body, clouds.frame_id, clouds.mount))
        if self._standing:
            links.append((clouds.frame_id, FRAME_ID, clouds.cameras[0].pose))
        if links:
            yield self._transforms("/tf_static", stamp, links)

    def messages(self, cloud: Cloud, index: int, stamp: int) -> Iterator[StampedMessage]:
        """What was taken at one time."""
        clouds, header = self._clouds, self._header(stamp, self._clouds.frame_id)
        yield StampedMessage(stamp, CLOUDS, CLOUD_TYPE, self._cloud(header, cloud))
        if cloud.viewpoint != NO_VIEWPOINT:
            x, y, z, qw, qx, qy, qz = cloud.viewpoint
            kind = "geometry_msgs/msg/PoseStamped"
            pose = self._pose((x, y, z), (qx, qy, qz, qw))
            yield StampedMessage(stamp, VIEWPOINTS, kind, self._new(kind, header=header, pose=pose))
        if clouds.boxes is not None and clouds.labelled is not None and clouds.labelled[index]:
            yield from self._with_vision(stamp, BOXES, BOXES_3D, self._boxes(header, cloud, index))
        if clouds.predictions is not None and clouds.predicted is not None and clouds.predicted[index]:
            found = detected_boxes_message(self._types, header, clouds.predictions, index, clouds.class_names)
            yield from self._with_vision(stamp, CLOUDS + CUBOIDS, DETECTED_BOXES_3D, found)
        moving = []
        if clouds.cameras:
            if not self._standing:
                moving.append((clouds.frame_id, FRAME_ID, clouds.cameras[index].pose))
            size = self._size.get(clouds.cloud_name[index])
            if size is not None:
                info = self._camera_info(clouds.cameras[index], stamp, size)
                yield StampedMessage(stamp, CAMERA, CAMERA_INFO, info)
        if clouds.poses:
            kind = "nav_msgs/msg/Odometry"
            yield StampedMessage(stamp, ODOMETRY, kind, self._odometry(clouds.poses[index], stamp))
            moving.append((_FIXED, clouds.body, clouds.poses[index]))
        if moving:
            yield self._transforms("/tf", stamp, moving)

    def _cloud(self, header: Any, cloud: Cloud) -> Any:
        try:
            return cloud_message(self._types.__getitem__, header, cloud.table, height=cloud.height)
        except SimjudgeError as error:
            raise SimjudgeError(f"{cloud.where}: {error}; leave the field out") from error

    def _with_vision(self, stamp: int, topic: str, kind: str, boxes: Any) -> Iterator[StampedMessage]:
        """Boxes, and the same as vision_msgs has them, where it is installed."""
        yield StampedMessage(stamp, topic, kind, boxes)
        if self._vision:
            again = vision_boxes(self._types.__getitem__, boxes)
            yield StampedMessage(stamp, f"{topic}/{VISION}", VISION_BOXES_3D, again)

    def _boxes(self, header: Any, cloud: Cloud, index: int) -> Any:
        boxes = self._clouds.boxes
        assert boxes is not None  # noqa: S101 - asked for by its caller
        rows = np.flatnonzero(boxes.cloud == index)
        counts = points_in_boxes(cloud.table, boxes, rows)
        made = []
        for row, count in zip(rows.tolist(), counts, strict=True):
            number = int(boxes.class_id[row])
            position, turn = tuple(boxes.centre[row].tolist()), tuple(boxes.orientation[row].tolist())
            made.append(
                self._new(
                    "simjudge_msgs/msg/LabelledBox",
                    class_id=number,
                    class_name=self._clouds.class_names.get(number, ""),
                    instance_id=int(boxes.instance[row]),
                    pose=self._pose(position, turn),
                    size=self._new("geometry_msgs/msg/Vector3", **_xyz(boxes.size[row].tolist())),
                    points=count,
                )
            )
        return self._new(BOXES_3D, header=header, boxes=made)

    def _camera_info(self, camera: CameraCalibration, stamp: int, size: list[int]) -> Any:
        matrix = camera.matrix
        return self._new(
            CAMERA_INFO,
            header=self._header(stamp, FRAME_ID),
            height=size[1],
            width=size[0],
            distortion_model="plumb_bob",
            d=np.zeros(5),
            k=matrix.ravel(),
            r=np.eye(3).ravel(),
            p=np.concatenate([matrix, np.zeros((3, 1))], 1).ravel(),
            binning_x=0,
            binning_y=0,
            roi=self._new(
                "sensor_msgs/msg/RegionOfInterest", x_offset=0, y_offset=0, height=0, width=0, do_rectify=False
            ),
        )

    def _odometry(self, pose: Pose, stamp: int) -> Any:
        nothing = self._new("geometry_msgs/msg/Vector3", x=0.0, y=0.0, z=0.0)
        twist = self._new("geometry_msgs/msg/Twist", linear=nothing, angular=nothing)
        # Speeds are not known: a covariance that begins with -1 says so, as in sensor_msgs/Imu.
        unknown = np.array([-1.0, *[0.0] * 35])
        made = self._pose(pose.position, pose.orientation)
        return self._new(
            "nav_msgs/msg/Odometry",
            header=self._header(stamp, _FIXED),
            child_frame_id=self._clouds.body,
            pose=self._new("geometry_msgs/msg/PoseWithCovariance", pose=made, covariance=np.zeros(36)),
            twist=self._new("geometry_msgs/msg/TwistWithCovariance", twist=twist, covariance=unknown),
        )

    def _transforms(self, topic: str, stamp: int, links: list[tuple[str, str, Pose]]) -> StampedMessage:
        made = [
            self._new(
                "geometry_msgs/msg/TransformStamped",
                header=self._header(stamp, parent),
                child_frame_id=child,
                transform=self._new(
                    "geometry_msgs/msg/Transform",
                    translation=self._new("geometry_msgs/msg/Vector3", **_xyz(pose.position)),
                    rotation=self._turn(pose.orientation),
                ),
            )
            for parent, child, pose in links
        ]
        kind = "tf2_msgs/msg/TFMessage"
        return StampedMessage(stamp, topic, kind, self._new(kind, transforms=made))

    def _pose(self, position: Any, orientation: Any) -> Any:
        point = self._new("geometry_msgs/msg/Point", **_xyz(position))
        return self._new("geometry_msgs/msg/Pose", position=point, orientation=self._turn(orientation))

    def _turn(self, orientation: Any) -> Any:
        x, y, z, w = orientation
        return self._new("geometry_msgs/msg/Quaternion", x=x, y=y, z=z, w=w)

    def _header(self, stamp: int, frame_id: str) -> Any:
        sec, nanosec = divmod(stamp, 1_000_000_000)
        time = self._new("builtin_interfaces/msg/Time", sec=sec, nanosec=nanosec)
        return self._new("std_msgs/msg/Header", stamp=time, frame_id=frame_id)

    def _new(self, kind: str, /, **values: Any) -> Any:
        return self._types[kind](**values)


def _xyz(values: Any) -> dict[str, float]:
    x, y, z = values
    return {"x": float(x), "y": float(y), "z": float(z)}
