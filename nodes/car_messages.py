"""How a car moves and what its driver sees, from messages; the cones and the path that it knows, as messages."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from geometry_msgs.msg import Point, PoseStamped, Quaternion
from nav_msgs.msg import Odometry, Path
from scipy.spatial.transform import Rotation
from std_msgs.msg import ColorRGBA, Header
from visualization_msgs.msg import Marker, MarkerArray

from simjudge.core.arrays import FloatArray
from simjudge.core.errors import SimjudgeError
from simjudge.core.names import normalized_name
from simjudge.data.drive_logs import CAR, FIXED, fit_twist
from simjudge.data.rosbag2.cloud_writing import read_cloud
from simjudge.detectors.detector import Detections
from simjudge.geometry.poses import Pose
from simjudge.sim.driving.cone_driver import ConeMap
from simjudge.sim.driving.cones import ConeShape
from simjudge.sim.driving.line_follower import ScanPoints
from simjudge.sim.vehicle.vehicle import VehicleState
from simjudge.sim.vehicle.vehicle_messages import ODOMETRY_TOPIC

from .messages import describe_message, erasing_marker, message_stamp

_RED = (0.85, 0.16, 0.1)  # Colour of cones on the right, RGB, 0 to 1
_GREEN = (0.07, 0.55, 0.25)  # Colour of cones on the left, RGB, 0 to 1
_PALE = 0.35  # Opacity of a cone that does not count yet, 0 to 1


def vehicle_state(message: Odometry) -> VehicleState:
    """How the car moves, from odometry: the state (message: pose in metres and quaternion in the odometry frame)."""
    pose, twist = message.pose.pose, message.twist.twist
    p, q, v, w = pose.position, pose.orientation, twist.linear, twist.angular
    velocity, turning = (v.x, v.y, v.z), (w.x, w.y, w.z)
    if not np.all(np.isfinite([*velocity, *turning])):
        raise SimjudgeError(f"velocity {velocity}, turning {turning}: no motion")
    place = Pose((p.x, p.y, p.z), (q.x, q.y, q.z, q.w))
    return VehicleState(message_stamp(message) / 1e9, place, velocity, turning, (0.0,) * 3, 0.0, (0.0,) * 4)


class OdometryReader:
    """States of a car from its odometry; a twist that the poses show to be in the fixed frame is turned by the yaw."""

    _WINDOW, _EVERY = 250, 25  # Messages whose motion tells the frame, and after how many it is asked again

    def __init__(self, warn: Callable[[str], object]) -> None:
        self._warn = warn
        self._rows: deque[tuple[float, float, float, float, float, float]] = deque(maxlen=self._WINDOW)
        self._count = 0
        self._frame: str | None = CAR

    def state(self, message: Odometry) -> VehicleState:
        """The state with its velocity along the car's axes."""
        now = vehicle_state(message)
        velocity, (yaw, _, _) = now.velocity, now.pose.angles()
        self._rows.append((now.time, *now.pose.position[:2], yaw, *velocity[:2]))
        self._count += 1
        if self._frame == CAR and not self._count % self._EVERY:
            time, x, y, heading, *linear = np.array(self._rows).T
            fit = fit_twist(time, np.stack([x, y], 1), np.unwrap(heading), np.stack(linear, 1))
            if fit is not None and fit.frame != CAR:
                self._frame = fit.frame
                done = "turned by the yaw" if fit.frame == FIXED else "used as it is"
                self._warn(f"{ODOMETRY_TOPIC}: {fit.problem}; it is {done} from now on")
        if self._frame != FIXED:
            return now
        turned = Rotation.from_quat(now.pose.orientation).inv().apply(velocity)
        return replace(now, velocity=tuple(turned.tolist()))


def side_detections(message: Any, sides: Mapping[str, int]) -> Detections:
    """The detections of a simjudge_msgs/DetectionArray that are of a side's class."""
    rows = [
        (sides.get(normalized_name(detection.class_name), sides.get(str(detection.class_id))), detection)
        for detection in message.detections
    ]
    kept = [(number, message) for number, message in rows if number is not None]
    boxes = [(message.box.x0, message.box.y0, message.box.x1, message.box.y1) for _, message in kept]
    return Detections.build([number for number, _ in kept], boxes, [message.score for _, message in kept])


def scan_points(message: Any) -> ScanPoints:
    """The points of a scan (sensor_msgs/PointCloud2), finite ones: x, y, z and perhaps time (from the stamp)."""
    where = describe_message(message, "scan/points")
    table = read_cloud(message, where)
    names = table.dtype.names or ()
    lacking = [name for name in ("x", "y", "z") if name not in names]
    if lacking:
        raise SimjudgeError(f"{where}: the points have no {', '.join(lacking)}")
    points = np.stack([table[name] for name in ("x", "y", "z")], 1).astype(np.float64)
    time = table["time"].astype(np.float64) if "time" in names else np.zeros(len(points))
    kept = np.isfinite(points).all(1) & np.isfinite(time)
    return ScanPoints(points[kept], time[kept])


def path_message(header: Header, line: FloatArray) -> Path:
    """A line as a path, each pose facing the next (header: with the frame of the points; line (P, 2) points)."""
    out = Path(header=header)
    if len(line) < 2:
        return out
    ahead = np.gradient(line, axis=0)
    for (x, y), yaw in zip(line.tolist(), np.arctan2(ahead[:, 1], ahead[:, 0]).tolist(), strict=True):
        place = PoseStamped(header=header)
        place.pose.position = Point(x=x, y=y, z=0.0)
        place.pose.orientation = Quaternion(x=0.0, y=0.0, z=float(np.sin(yaw / 2)), w=float(np.cos(yaw / 2)))
        out.poses.append(place)
    return out


def cone_markers(header: Header, cones: ConeMap, right_class: int, shape: ConeShape) -> MarkerArray:
    """The cones that a driver knows, as cylinders (header: with the frame of the cones; cones: positions in metres)."""
    out = MarkerArray(markers=[erasing_marker(header, "cones")])
    rows = zip(cones.position.tolist(), cones.class_id().tolist(), cones.trusted().tolist(), strict=True)
    for number, ((x, y), class_id, trusted) in enumerate(rows):
        marker = Marker(header=header, ns="cones", id=number, type=Marker.CYLINDER, action=Marker.ADD)
        marker.pose.position = Point(x=x, y=y, z=shape.height / 2)
        marker.pose.orientation.w = 1.0
        marker.scale.x = marker.scale.y = 2 * shape.radius
        marker.scale.z = shape.height
        red, green, blue = _RED if class_id == right_class else _GREEN
        marker.color = ColorRGBA(r=red, g=green, b=blue, a=1.0 if trusted else _PALE)
        out.markers.append(marker)
    return out
