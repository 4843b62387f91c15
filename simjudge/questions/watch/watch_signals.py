"""Readings of sensors on a rerun screen: clouds, 3-D boxes, scans, an IMU's signals, a GPS track."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.spatial.transform import Rotation

from simjudge.core.arrays import FloatArray
from simjudge.core.box_drawing import class_colour
from simjudge.geometry.poses import Pose
from simjudge.page.palette import DARK, rgb
from simjudge.questions.recording.cloud_scale import CloudScale, finite_points
from simjudge.sim.sensors.inertial.motion import geodetic_to_enu
from simjudge.sim.sensors.inertial.noise import Triple
from simjudge.sim.sensors.recorded_readings import RecordedBoxes

TIMELINE = "stamp"
CLOUDS, TURNING, FORCES, TRACKS = "clouds", "turn_rate", "acceleration", "gps"
"""Where the kinds of readings are in rerun's tree of entities."""
_POINT = 2.0
"""Radius of a point, in the screen's own pixels."""
_AXES = (("x", "red"), ("y", "green"), ("z", "blue"))
_SCAN = (255, 85, 85)


class SignalLayers:
    """Shows readings. Whoever calls it has set the time before.

    Attributes:
        kinds: those of `CLOUDS`, `TURNING`, `FORCES`, `TRACKS` that have come.
    """

    def __init__(self, rerun: Any, recording: Any, new_kind: Callable[[], None]) -> None:
        """Show on a recording.

        Args:
            new_kind: called when readings of a kind come for the first time.
        """
        self._rerun, self._recording, self._new_kind = rerun, recording, new_kind
        self.kinds: list[str] = []
        self._scale: CloudScale | None = None
        self._known: set[str] = set()
        self._reference: Triple | None = None
        self._last_place: dict[str, npt.NDArray[np.float64]] = {}

    def show_cloud(self, topic: str, points: npt.ArrayLike, mount: Pose) -> None:
        """Show points, coloured by height; the first cloud chooses the heights at the ends of the colours.

        Args:
            points: (N, 3), metres; what is not finite is left out.
        """
        self._take(CLOUDS)
        places = mount.to_world(finite_points(points))
        if self._scale is None and len(places):
            self._scale = CloudScale.of_clouds([places])
        colours = self._scale.colours(places[:, 2]) if self._scale is not None else None
        self._points(topic, places, colours)

    def show_scan(self, topic: str, points: FloatArray, mount: Pose) -> None:
        """Show the points of a scan in one plane, in one colour.

        Args:
            points: (N, 3), metres.
        """
        self._take(CLOUDS)
        self._points(topic, mount.to_world(points), np.array([_SCAN], np.uint8))

    def show_boxes(self, topic: str, boxes: RecordedBoxes, mount: Pose) -> None:
        """Show 3-D boxes with their classes' names."""
        self._take(CLOUDS)
        names = [name or str(number) for name, number in zip(boxes.class_name, boxes.class_id.tolist(), strict=True)]
        colours = [
            class_colour(number, name) for name, number in zip(boxes.class_name, boxes.class_id.tolist(), strict=True)
        ]
        rotation = mount.rotation_matrix() @ boxes.rotation
        quaternions = Rotation.from_matrix(rotation).as_quat() if len(boxes) else np.empty((0, 4))
        self._recording.log(
            self._path(CLOUDS, topic),
            self._rerun.Boxes3D(
                centers=mount.to_world(boxes.centre), sizes=boxes.size, quaternions=quaternions,
                colors=np.array(colours, np.uint8).reshape(-1, 3), labels=names,
            ),
        )  # fmt: skip

    def show_imu(self, topic: str, turning: Triple | None, force: Triple | None) -> None:
        """Show a reading of an IMU as points of curves.

        Args:
            turning: turn rates, rad/s; None where they are not measured.
            force: accelerations, m/s^2; None where they are not measured.
        """
        for kind, values in ((TURNING, turning), (FORCES, force)):
            if values is None:
                continue
            self._take(kind)
            for value, (axis, colour) in zip(values, _AXES, strict=True):
                path = f"{self._path(kind, topic)}/{axis}"
                if path not in self._known:
                    self._known.add(path)
                    line = self._rerun.SeriesLines(names=f"{topic} {axis}", colors=[rgb(DARK[colour])])
                    self._recording.log(path, line, static=True)
                self._recording.log(path, self._rerun.Scalars(value))

    def show_fix(self, topic: str, place: Triple) -> None:
        """Show a fix: a piece of the track in metres east and north of the first fix, and a place on the earth.

        Args:
            place: latitude and longitude, degrees, and altitude, metres.
        """
        self._take(TRACKS)
        if self._reference is None:
            self._reference = (place[1], place[0], place[2])
        east, north, _ = geodetic_to_enu(np.array([place]), self._reference)[0].tolist()
        # A picture's rows count downwards.
        here = np.array([east, -north])
        path = self._path(TRACKS, topic)
        before = self._last_place.get(topic, here)
        self._last_place[topic] = here
        self._recording.log(path, self._rerun.LineStrips2D([np.stack([before, here])], colors=[rgb(DARK["green"])]))
        self._recording.log(path, self._rerun.GeoPoints(lat_lon=[place[:2]]))

    def views(self, parts: Any) -> tuple[list[Any], list[Any]]:
        """The views of what has come, for a layout."""
        spatial, others = [], []
        if CLOUDS in self.kinds:
            spatial.append(parts.Spatial3DView(origin=CLOUDS, name="points: x ahead, y left, z up, coloured by height"))
        if TURNING in self.kinds:
            others.append(parts.TimeSeriesView(origin=TURNING, name="turn rate [rad/s]"))
        if FORCES in self.kinds:
            others.append(parts.TimeSeriesView(origin=FORCES, name="acceleration [m/s^2]"))
        if TRACKS in self.kinds:
            ends = self._rerun.TimeRangeBoundary
            so_far = self._rerun.VisibleTimeRange(TIMELINE, start=ends.infinite(), end=ends.cursor_relative())
            name = "GPS: metres east (right) and north (up) of the first fix"
            others.append(parts.Spatial2DView(origin=TRACKS, name=name, time_ranges=[so_far]))
        return spatial, others

    def _points(self, topic: str, places: FloatArray, colours: Any) -> None:
        radius = self._rerun.Radius.ui_points(_POINT)
        self._recording.log(self._path(CLOUDS, topic), self._rerun.Points3D(places, colors=colours, radii=radius))

    def _path(self, kind: str, topic: str) -> str:
        parts = (self._rerun.escape_entity_path_part(part) for part in topic.strip("/").split("/"))
        return "/".join((kind, *parts))

    def _take(self, kind: str) -> None:
        if kind not in self.kinds:
            self.kinds.append(kind)
            if kind == CLOUDS:
                self._recording.log(CLOUDS, self._rerun.ViewCoordinates.FLU, static=True)
            self._new_kind()
