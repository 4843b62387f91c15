"""The messages of objects_node: numbers and boxes out; scans of two lidars in, a picture of both maps out."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from geometry_msgs.msg import Point
from simjudge_msgs.msg import ObjectMetric, ObjectSummary
from std_msgs.msg import ColorRGBA, Header
from visualization_msgs.msg import Marker, MarkerArray

from simjudge.core.errors import SimjudgeError
from simjudge.core.frames import FrameSet
from simjudge.data.clouds import Cloud
from simjudge.data.rosbag2.cloud_writing import read_cloud
from simjudge.data.rosbag2.interfaces import header_stamp
from simjudge.data.rosbag2.recorded_poses import pose_numbers, standing_pose, transform_fields
from simjudge.geometry.poses import Pose
from simjudge.geometry.trajectories import MotionLimits
from simjudge.geometry.transforms import LivePoses, exposure_poses
from simjudge.judging.live.live_objects import SIDES, LiveMaps
from simjudge.objects.occupancy import OCCUPIED, ONLY_REAL, ONLY_VIRTUAL, Agreement, OccupancyMap, Rgb, map_agreement
from simjudge.objects.series_comparison import SeriesComparison
from simjudge.objects.settings import OccupancySettings
from simjudge.objects.sightings import Sightings
from simjudge.ros.node_settings import LIVE_MAPPING

from .messages import describe_message, erasing_marker, make_header, message_stamp, set_text_height
from .runtime import SimjudgeNode, declared_publisher, declared_subscription


class ObjectMaps:
    """Enters scans into the maps of both lidars; all that touches the maps is done on the worker's thread.

    Attributes:
        changed: whether scans came since the maps were published.
        newest_stamp: of a scan that was entered, nanoseconds; 0 before the first.
    """

    def __init__(self, node: SimjudgeNode, post: Callable[[Callable[[], object]], None]) -> None:
        self.changed, self.newest_stamp = False, 0
        self._node, self._post = node, post
        settings = OccupancySettings(**{name: node.settings[name] for name in LIVE_MAPPING})
        self._maps = LiveMaps(settings, node.settings["map_size"], node.losses)
        self._markers = declared_publisher(node, "objects/map/markers")
        mounts, limits = MountInput(node), MotionLimits(max_speed=settings.max_speed)
        self._inputs = [
            ScanInput(node, name, mounts, limits, partial(self._take, side)) for side, name in enumerate(SIDES)
        ]

    def settle(self, wait: float) -> None:
        """Take the scans whose poses are known; give up those that waited too long (wait: seconds)."""
        for scan_input in self._inputs:
            scan_input.settle(wait)

    def counts(self) -> dict[str, int]:
        """Scans that came."""
        return {
            f"{name} scans received": scan_input.received for name, scan_input in zip(SIDES, self._inputs, strict=True)
        }

    def publish(self) -> tuple[OccupancyMap, OccupancyMap] | None:
        """Publish the maps' picture; runs on the worker's thread. The maps; None until each has a scan."""
        self.changed = False
        maps = self._maps.maps
        if maps is not None:
            self._markers.publish(map_markers(make_header(self.newest_stamp, self._inputs[0].frame_id), *maps))
        return maps

    def _take(self, side: int, stamp: int, cloud: Cloud, pose: Pose) -> None:
        self._post(partial(self._enter, side, stamp, cloud, pose))

    def _enter(self, side: int, stamp: int, cloud: Cloud, pose: Pose) -> None:
        try:
            self._maps.enter(side, stamp, cloud, pose)
        except SimjudgeError as error:
            self._node.lose(f"{SIDES[side]} scans that cannot be read", str(error))
            return
        self.changed, self.newest_stamp = True, max(self.newest_stamp, stamp)


_NAN = math.nan
_SIDES = (("real", ONLY_REAL), ("virtual", ONLY_VIRTUAL))
_DISTANCE = 1.0  # Metres before the camera of the plane in which boxes stand; the picture is as wide there
_LINE, _TEXT = 0.003, 0.03  # Metres: thickness of a box's edges, height of a name
_CELL = 0.02  # Height of a cell of a map, metres
# Ends of a box's four edges, as columns of x0, y0, x1, y1.
_CORNERS = ((0, 1), (2, 1), (2, 1), (2, 3), (2, 3), (0, 3), (0, 3), (0, 1))


def object_summary(
    head: Header,
    pairs: int,
    rows: Sequence[SeriesComparison],
    maps: tuple[OccupancyMap, OccupancyMap] | None,
    losses: list[str],
) -> ObjectSummary:
    """A summary (head: stamp of the newest pair, frame of the real camera; maps of the real and the virtual lidar)."""
    out = ObjectSummary(header=head, pairs=pairs, metrics=[_metric(row) for row in rows], losses=losses)
    occupied = Agreement(0, 0, 0) if maps is None else map_agreement(*maps).occupied
    if maps is not None:
        out.scans_real, out.scans_virtual = maps[0].scans, maps[1].scans
    out.map_f1, out.map_iou = occupied.f1, occupied.iou
    out.map_precision, out.map_recall = occupied.precision, occupied.recall
    return out


def map_markers(head: Header, real: OccupancyMap, virtual: OccupancyMap) -> MarkerArray:
    """The occupied cells of two maps, coloured as in their picture (`simjudge.objects.occupancy`)."""
    side = 1 / real.extent.cells_per_metre
    cells = Marker(header=head, ns="occupied cells", type=Marker.CUBE_LIST, action=Marker.ADD)
    cells.pose.orientation.w = 1.0
    cells.scale.x = cells.scale.y = side
    cells.scale.z = _CELL
    left, bottom = real.extent.corner
    rows, columns = np.nonzero(real.occupied | virtual.occupied)
    x, y = left + (columns + 0.5) * side, bottom + (rows + 0.5) * side
    cells.points = [Point(x=corner[0], y=corner[1]) for corner in np.stack([x, y], 1).tolist()]
    state = 2 * real.occupied[rows, columns].astype(np.int64) + virtual.occupied[rows, columns] - 1
    colours = [_colour(rgb) for rgb in (ONLY_VIRTUAL, ONLY_REAL, OCCUPIED)]
    cells.colors = [colours[value] for value in state.tolist()]
    return MarkerArray(markers=[cells])


def box_markers(head: Header, frames: tuple[FrameSet, FrameSet], seen: tuple[Sightings, Sightings]) -> MarkerArray:
    """The boxes of a pair of frames, in a plane 1 m before the camera, in which a picture is 1 m wide."""
    out = MarkerArray(markers=[erasing_marker(head)])
    for (side, rgb), one, what in zip(_SIDES, frames, seen, strict=True):
        width, height = (float(value) for value in one.size[0])
        colour = _colour(rgb)
        lines = Marker(header=head, ns=f"{side} boxes", type=Marker.LINE_LIST, action=Marker.ADD, color=colour)
        lines.scale.x = _LINE
        lines.pose.orientation.w = 1.0
        boxes = what.box.tolist()
        lines.points = [_point(box[i], box[j], width, height) for box in boxes for i, j in _CORNERS]
        out.markers.append(lines)
        for number, (box, name) in enumerate(zip(boxes, what.class_name.tolist(), strict=True)):
            text = Marker(header=head, ns=f"{side} names", id=number, type=Marker.TEXT_VIEW_FACING, action=Marker.ADD)
            text.pose.position = _point(box[0], box[1] if side == "real" else box[3], width, height)
            text.pose.orientation.w = 1.0
            set_text_height(text, _TEXT)
            text.color, text.text = colour, name
            out.markers.append(text)
    return out


def _metric(row: SeriesComparison) -> ObjectMetric:
    real, virtual = row.means
    interval = row.difference
    return ObjectMetric(
        metric=row.metric,
        unit=row.unit,
        subject=row.subject,
        real_mean=real,
        virtual_mean=virtual,
        difference=virtual - real,
        low=_NAN if interval is None else interval.low,
        high=_NAN if interval is None else interval.high,
        frames=row.frames,
    )


def _colour(rgb: Rgb) -> ColorRGBA:
    return ColorRGBA(r=rgb[0] / 255, g=rgb[1] / 255, b=rgb[2] / 255, a=1.0)


def _point(x: float, y: float, width: float, height: float) -> Point:
    """A pixel's place in the plane of the boxes."""
    return Point(x=(x - width / 2) / width, y=(y - height / 2) / width, z=_DISTANCE)


class _WaitingScan(NamedTuple):
    message: Any
    arrived: float


class MountInput:
    """The transforms that stand, of a whole graph.

    Attributes:
        links: by a frame's name, its parent and its pose in it.
    """

    def __init__(self, node: SimjudgeNode) -> None:
        self.links: dict[str, tuple[str, Pose]] = {}
        self._node = node
        declared_subscription(node, "/tf_static", self._take)

    def _take(self, message: Any) -> None:
        for transform in message.transforms:
            fields = transform_fields(transform)
            try:
                pose = Pose(fields["position"], fields["orientation"])
            except SimjudgeError as error:
                self._node.lose("transforms that are none", str(error))
                continue
            self.links[fields["child"].lstrip("/")] = (fields["parent"].lstrip("/"), pose)


class ScanInput:
    """The scans of one lidar, each handed on once its pose is known.

    Attributes:
        frame_id: the poses' fixed frame; "" before the first pose.
    """

    def __init__(
        self,
        node: SimjudgeNode,
        side: str,
        mounts: MountInput,
        limits: MotionLimits,
        take: Callable[[int, Cloud, Pose], None],
    ) -> None:
        """Subscribe (take: given stamp, cloud and pose of the lidar in the fixed frame)."""
        self.received, self.frame_id = 0, ""
        self._node, self._side, self._mounts, self._limits, self._hand_on = node, side, mounts, limits, take
        self.topic = str(node.resolve_topic_name(f"{side}/scan/points"))
        self._odometry = str(node.resolve_topic_name(f"{side}/vehicle/odometry"))
        self._poses, self._body = LivePoses(self._odometry), ""
        self._waiting: deque[_WaitingScan] = deque()
        declared_subscription(node, f"{side}/scan/points", self._take_scan)
        declared_subscription(node, f"{side}/vehicle/odometry", self._take_pose)

    def settle(self, wait: float) -> None:
        """Hand on the scans whose poses are known, in order; give up those that waited too long (wait: seconds)."""
        while self._waiting:
            scan = self._waiting[0]
            stamp = message_stamp(scan.message)
            found = exposure_poses(self._poses, stamp, stamp, self._limits)
            frame = str(scan.message.header.frame_id)
            mount = standing_pose(self._mounts.links, frame, self._body) if self._body else None
            if (found is None or mount is None) and time.monotonic() - scan.arrived < wait:
                return
            self._waiting.popleft()
            where = describe_message(scan.message, self.topic)
            if found is None:
                self._node.lose(f"{self._side} scans without a pose", f"{where}; poses come from {self._odometry}")
            elif isinstance(found, str):
                self._node.lose(f"{self._side} scans {found}", where)
            elif mount is None:
                self._node.lose(
                    f"{self._side} scans of a lidar whose mount is not known",
                    f"{where}: no transforms of /tf_static link {frame!r} and {self._body!r}",
                )
            else:
                self._hand_over(stamp, scan.message, where, found.poses([stamp])[0] @ mount)

    def _hand_over(self, stamp: int, message: Any, where: str, pose: Pose) -> None:
        try:
            cloud = Cloud(read_cloud(message, where), int(message.height), where=where)
        except SimjudgeError as error:
            self._node.lose(f"{self._side} scans that cannot be read", str(error))
            return
        self._poses.forget(stamp)
        self._hand_on(stamp, cloud, pose)

    def _take_scan(self, message: Any) -> None:
        self.received += 1
        self._waiting.append(_WaitingScan(message, time.monotonic()))
        self.settle(self._node.settings["wait"])

    def _take_pose(self, message: Any) -> None:
        numbers = pose_numbers(message.pose.pose.position, message.pose.pose.orientation)
        stamp = header_stamp(message.header)
        try:
            pose = Pose(numbers[:3], numbers[3:])  # type: ignore[arg-type]
        except SimjudgeError as error:
            self._node.lose("poses that are none", f"{self._odometry} at {stamp / 1e9:.3f} s: {error}")
            return
        self.frame_id, self._body = str(message.header.frame_id), str(message.child_frame_id)
        self._poses.add(stamp, pose)
        self.settle(self._node.settings["wait"])
