"""The objects of judged frames as markers, in the overlay's colours, where lens and distance say they are."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from geometry_msgs.msg import Point
from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from sensor_msgs.msg import CameraInfo
from std_msgs.msg import ColorRGBA, Header
from visualization_msgs.msg import Marker, MarkerArray

from simjudge.core.arrays import FloatArray
from simjudge.core.errors import SimjudgeError
from simjudge.judging.live.judge import JudgedFrame
from simjudge.questions.watch import LARGEST_W1, OUTSIDE_COLOUR, context_colours, w1_colour
from simjudge.sim.driving.cones import CameraModel, camera_model_of
from simjudge.sim.sensors.camera.calibration import Calibration, message_calibration

from .messages import erasing_marker, set_text_height
from .runtime import SimjudgeNode, declared_publisher, declared_subscription

_CHECK_PERIOD = 0.5  # Seconds between looks whether somebody subscribes
_UNKNOWN = 1.0  # Metres before the camera at which a box stands whose thing is at an unknown distance
_TEXT, _LINE = 0.025, 0.006  # Height of a text and thickness of an edge at that distance, metres; both grow with it
_LEGEND_BELOW = 0.42  # Metres below the camera's axis
_OPACITY = 0.35
_EDGES, _FACES = (0, 1, 1, 2, 2, 3, 3, 0), (0, 1, 2, 0, 2, 3)  # Corners of a box's edges and of its two triangles
_LEGEND = (
    ("W1: 0", w1_colour(0.0)),
    (f"{LARGEST_W1 / 2:g}", w1_colour(LARGEST_W1 / 2)),
    (f"{LARGEST_W1:g} or more", w1_colour(LARGEST_W1)),
    ("no like context", OUTSIDE_COLOUR),
)


class ContextMarkers:
    """Publishes the objects of judged frames while somebody looks; takes the lens from camera_info meanwhile."""

    def __init__(self, node: SimjudgeNode) -> None:
        self._node = node
        self._publisher = declared_publisher(node, "validation/objects")
        self._subscription: object | None = None
        self._calibration: Calibration | None = None
        self._lens: CameraModel | None = None
        node.create_timer(_CHECK_PERIOD, self._look, clock=Clock(clock_type=ClockType.STEADY_TIME))

    def add(self, head: Header, judged: JudgedFrame) -> None:
        """Show a frame's objects (head: the frame's stamp, and the camera's optical frame)."""
        if self._publisher.get_subscription_count():
            width, height = (int(value) for value in judged.frames.size[0])
            self._publisher.publish(context_markers(head, judged, self._lens_for((width, height))))

    def _look(self) -> None:
        if self._subscription is None and self._publisher.get_subscription_count():
            self._subscription = declared_subscription(self._node, "camera/camera_info", self._take)

    def _take(self, message: CameraInfo) -> None:
        if self._calibration is not None:
            return
        try:
            self._calibration = message_calibration(message)
        except SimjudgeError as error:
            self._node.get_logger().warning(f"objects are shown 1 m before the camera: {error}", once=True)

    def _lens_for(self, size: tuple[int, int]) -> CameraModel | None:
        """The lens for labels made on pictures of a size; None where it is not known."""
        if self._calibration is not None and (self._lens is None or self._lens.size != size):
            try:
                self._lens = camera_model_of(self._calibration.scaled(size))
            except SimjudgeError as error:
                self._node.get_logger().warning(f"objects are shown 1 m before the camera: {error}", once=True)
                self._lens = None
        return self._lens


def context_markers(head: Header, judged: JudgedFrame, lens: CameraModel | None) -> MarkerArray:
    """A frame's objects as faces that look at the camera, each with W1 and performance, and a legend of the colours.

    Without a lens all stand in a plane 1 m before the camera, in which a picture is 1 m wide; with one, an object
    stands at its labelled distance, or at 1 m where that is unknown.
    """
    corners, distance = _corners(judged, lens)
    colours = [_rgba(colour) for colour in context_colours(judged).tolist()]
    edges = Marker(header=head, ns="boxes", id=0, type=Marker.LINE_LIST, action=Marker.ADD)
    faces = Marker(header=head, ns="boxes", id=1, type=Marker.TRIANGLE_LIST, action=Marker.ADD)
    edges.scale.x = _LINE * float(np.median(distance)) if len(distance) else _LINE
    faces.scale.x = faces.scale.y = faces.scale.z = 1.0
    out = MarkerArray(markers=[erasing_marker(head, "boxes")])
    for marker, order, opacity in ((edges, _EDGES, 1.0), (faces, _FACES, _OPACITY)):
        marker.pose.orientation.w = 1.0
        for box, colour in zip(corners.tolist(), colours, strict=True):
            marker.points += [Point(x=box[k][0], y=box[k][1], z=box[k][2]) for k in order]
            marker.colors += [ColorRGBA(r=colour.r, g=colour.g, b=colour.b, a=opacity)] * len(order)
        if marker.points:  # RViz calls a list without points an error
            out.markers.append(marker)
    for row, (box, colour) in enumerate(zip(corners, colours, strict=True)):
        x, y, z = ((box[0] + box[1]) / 2).tolist()
        height = _TEXT * float(distance[row])
        w1, performance = float(judged.w1[row]), float(judged.assignment.performance[row])
        text = f"W1 {w1:.2f}, " if np.isfinite(w1) else ""
        out.markers.append(_text(head, "numbers", row, f"{text}performance {performance:.2f}", height, colour))
        out.markers[-1].pose.position = Point(x=x, y=y - height, z=z)
    for number, (words, rgb) in enumerate(_LEGEND):
        out.markers.append(_text(head, "legend", number, words, _TEXT, _rgba(rgb)))
        out.markers[-1].pose.position = Point(x=0.3 * (number - 1.5), y=_LEGEND_BELOW, z=_UNKNOWN)
    return out


def _corners(judged: JudgedFrame, lens: CameraModel | None) -> tuple[FloatArray, FloatArray]:
    """The corners of boxes in the optical frame, (N, 4, 3), from the upper left one on, and their distances, metres."""
    objects, (width, height) = judged.frames.objects, judged.frames.size[0].tolist()
    pixels: npt.NDArray[np.float64] = objects.box[:, [[0, 1], [2, 1], [2, 3], [0, 3]]]
    if lens is None:
        aside = (pixels - np.array([width, height]) / 2) / width
        return np.concatenate([aside, np.full((*aside.shape[:-1], 1), _UNKNOWN)], -1), np.full(len(objects), _UNKNOWN)
    # Edges of boxes count from the picture's corner, pixels of a lens from the first pixel's centre.
    rays = np.nan_to_num(lens.rays_at(pixels - 0.5))
    distance = np.where(np.isfinite(objects.distance) & (objects.distance > 0), objects.distance, _UNKNOWN)
    return rays * distance[:, None, None], distance


def _text(head: Header, namespace: str, number: int, words: str, height: float, colour: ColorRGBA) -> Marker:
    text = Marker(header=head, ns=namespace, id=number, type=Marker.TEXT_VIEW_FACING, action=Marker.ADD, text=words)
    text.pose.orientation.w = 1.0
    text.color = colour
    set_text_height(text, height)
    return text


def _rgba(rgb: tuple[int, int, int] | list[int]) -> ColorRGBA:
    return ColorRGBA(r=rgb[0] / 255, g=rgb[1] / 255, b=rgb[2] / 255, a=1.0)
