"""The second judge's live numbers and boxes as messages."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from geometry_msgs.msg import Point
from simjudge_msgs.msg import ObjectMetric, ObjectSummary
from std_msgs.msg import ColorRGBA, Header
from visualization_msgs.msg import Marker, MarkerArray

from simjudge.core.frames import FrameSet
from simjudge.objects.occupancy import OCCUPIED, ONLY_REAL, ONLY_VIRTUAL, Agreement, OccupancyMap, Rgb, map_agreement
from simjudge.objects.series_comparison import SeriesComparison
from simjudge.objects.sightings import Sightings

from .markers import erasing_marker, set_text_height

_NAN = math.nan
_SIDES = (("real", ONLY_REAL), ("virtual", ONLY_VIRTUAL))
_DISTANCE = 1.0
"""Metres before the camera of the plane in which boxes stand; the picture is as wide there."""
_LINE, _TEXT = 0.003, 0.03
"""Metres: thickness of a box's edges, height of a name."""
_CELL = 0.02
"""Height of a cell of a map, metres."""
_CORNERS = ((0, 1), (2, 1), (2, 1), (2, 3), (2, 3), (0, 3), (0, 3), (0, 1))
"""Ends of a box's four edges, as columns of x0, y0, x1, y1."""


def object_summary(
    head: Header,
    pairs: int,
    rows: Sequence[SeriesComparison],
    maps: tuple[OccupancyMap, OccupancyMap] | None,
    losses: list[str],
) -> ObjectSummary:
    """A summary.

    Args:
        head: stamp of the newest pair, frame of the real camera.
        maps: of the real and the virtual lidar; None where there are none.
    """
    out = ObjectSummary(header=head, pairs=pairs, metrics=[_metric(row) for row in rows], losses=losses)
    occupied = Agreement(0, 0, 0) if maps is None else map_agreement(*maps).occupied
    if maps is not None:
        out.scans_real, out.scans_virtual = maps[0].scans, maps[1].scans
    out.map_f1, out.map_iou = occupied.f1, occupied.iou
    out.map_precision, out.map_recall = occupied.precision, occupied.recall
    return out


def map_markers(head: Header, real: OccupancyMap, virtual: OccupancyMap) -> MarkerArray:
    """The occupied cells of two maps, coloured as in their picture (`simjudge.objects.occupancy`).

    Returns:
        A list of cubes: white where both are occupied, red the real one alone, cyan the virtual one alone.
    """
    side = 1 / real.extent.cells_per_metre
    cells = Marker(header=head, ns="occupied cells", type=Marker.CUBE_LIST, action=Marker.ADD)
    cells.pose.orientation.w = 1.0
    cells.scale.x = cells.scale.y = side
    cells.scale.z = _CELL
    left, bottom = real.extent.corner
    rows, columns = np.nonzero(real.occupied | virtual.occupied)
    x, y = left + (columns + 0.5) * side, bottom + (rows + 0.5) * side
    cells.points = [Point(x=each[0], y=each[1]) for each in np.stack([x, y], 1).tolist()]
    state = 2 * real.occupied[rows, columns].astype(np.int64) + virtual.occupied[rows, columns] - 1
    colours = [_colour(rgb) for rgb in (ONLY_VIRTUAL, ONLY_REAL, OCCUPIED)]
    cells.colors = [colours[each] for each in state.tolist()]
    return MarkerArray(markers=[cells])


def box_markers(head: Header, frames: tuple[FrameSet, FrameSet], seen: tuple[Sightings, Sightings]) -> MarkerArray:
    """The boxes of a pair of frames, in a plane 1 m before the camera, in which a picture is 1 m wide.

    Returns:
        Boxes and names, real red and virtual cyan; earlier ones go.
    """
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
