"""What a driver takes and gives as messages: odometry, camera_info and detections in; cones and the line out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from geometry_msgs.msg import Point, PoseStamped, Quaternion
from nav_msgs.msg import Odometry, Path
from std_msgs.msg import ColorRGBA, Header
from visualization_msgs.msg import Marker, MarkerArray

from simjudge.core.arrays import FloatArray
from simjudge.core.errors import SimjudgeError
from simjudge.core.names import normalized_name
from simjudge.data.rosbag2.cloud_messages import read_cloud
from simjudge.detectors.detector import Detections
from simjudge.geometry.poses import Pose
from simjudge.sim.driving.barrier_driver import ScanPoints
from simjudge.sim.driving.cone_driver import ConeMap
from simjudge.sim.driving.cones import ConeShape
from simjudge.sim.vehicle.vehicle import VehicleState

from .headers import describe_message, message_stamp
from .markers import erasing_marker

_RED = (0.85, 0.16, 0.1)
"""Colour of cones on the right, RGB, 0 to 1."""
_GREEN = (0.07, 0.55, 0.25)
"""Colour of cones on the left, RGB, 0 to 1."""
_PALE = 0.35
"""Opacity of a cone that does not count yet, 0 to 1."""


def vehicle_state(message: Odometry) -> VehicleState:
    """How the car moves, from odometry.

    Args:
        message: pose in metres and quaternion in the odometry frame; twist in m/s and rad/s in the car's frame.

    Returns:
        The state; acceleration, steering and wheels, which odometry does not tell, are 0.
    """
    pose, twist = message.pose.pose, message.twist.twist
    p, q, v, w = pose.position, pose.orientation, twist.linear, twist.angular
    velocity, turning = (v.x, v.y, v.z), (w.x, w.y, w.z)
    if not np.all(np.isfinite([*velocity, *turning])):
        raise SimjudgeError(f"velocity {velocity}, turning {turning}: no motion")
    place = Pose((p.x, p.y, p.z), (q.x, q.y, q.z, q.w))
    return VehicleState(message_stamp(message) / 1e9, place, velocity, turning, (0.0,) * 3, 0.0, (0.0,) * 4)


def side_detections(message: Any, sides: Mapping[str, int]) -> Detections:
    """The detections of a simjudge_msgs/DetectionArray that are of a side's class.

    Args:
        sides: by a class's name or number, as text, the number it has here; others are left out.
    """
    rows = [
        (sides.get(normalized_name(each.class_name), sides.get(str(each.class_id))), each)
        for each in message.detections
    ]
    kept = [(number, each) for number, each in rows if number is not None]
    boxes = [(each.box.x0, each.box.y0, each.box.x1, each.box.y1) for _, each in kept]
    return Detections.build([number for number, _ in kept], boxes, [each.score for _, each in kept])


def scan_points(message: Any) -> ScanPoints:
    """The points of a scan (sensor_msgs/PointCloud2) with the fields x, y, z and, where it has one, time.

    Args:
        message: `time` is in seconds from the message's stamp. Points that are not finite are left out: drivers mark
            beams without a return so.
    """
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
    """A line as a path, each pose facing the next.

    Args:
        header: with the frame of the points.
        line: (P, 2) points, metres.
    """
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
    """The cones that a driver knows, as cylinders.

    Args:
        header: with the frame of the cones.
        cones: positions in metres; those that do not count yet are pale.
        right_class: class of the cones on the right, drawn red; others are green.
        shape: radius and height of a cone, metres.
    """
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
