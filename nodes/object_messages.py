"""The second judge's live numbers and boxes as messages."""

from __future__ import annotations

import math
from collections.abc import Sequence

from geometry_msgs.msg import Point
from simjudge_msgs.msg import ObjectMetric, ObjectSummary
from std_msgs.msg import ColorRGBA, Header
from visualization_msgs.msg import Marker, MarkerArray

from simjudge.core.frames import FrameSet
from simjudge.objects.compared_series import SeriesComparison
from simjudge.objects.map_agreement import ONLY_REAL, ONLY_VIRTUAL
from simjudge.objects.sightings import Sightings

_NAN = math.nan
_SIDES = (("real", ONLY_REAL), ("virtual", ONLY_VIRTUAL))
_DISTANCE = 1.0
"""Metres before the camera of the plane in which boxes stand; the picture is as wide there."""
_LINE, _TEXT = 0.003, 0.03
"""Metres: thickness of a box's edges, height of a name."""
_CORNERS = ((0, 1), (2, 1), (2, 1), (2, 3), (2, 3), (0, 3), (0, 3), (0, 1))
"""Ends of a box's four edges, as columns of x0, y0, x1, y1."""


def object_summary(head: Header, pairs: int, rows: Sequence[SeriesComparison], losses: list[str]) -> ObjectSummary:
    """A summary.

    Args:
        head: stamp of the newest pair, frame of the real camera.
        pairs: how many pairs the rows are of.
        rows: of metrics and subjects.
        losses: what was left out, a line each.
    """
    out = ObjectSummary(header=head, pairs=pairs, metrics=[_metric(row) for row in rows], losses=losses)
    out.map_f1 = out.map_precision = out.map_recall = out.map_iou = _NAN
    return out


def box_markers(head: Header, frames: tuple[FrameSet, FrameSet], seen: tuple[Sightings, Sightings]) -> MarkerArray:
    """The boxes of a pair of frames, in a plane 1 m before the camera, in which a picture is 1 m wide.

    Args:
        head: stamp and optical frame.
        frames: of the real and the virtual camera, one frame each.
        seen: what they show.

    Returns:
        Boxes and names, real red and virtual cyan; earlier ones go.
    """
    out = MarkerArray(markers=[Marker(header=head, action=Marker.DELETEALL)])
    for (side, rgb), one, what in zip(_SIDES, frames, seen, strict=True):
        width, height = (float(value) for value in one.size[0])
        colour = ColorRGBA(r=rgb[0] / 255, g=rgb[1] / 255, b=rgb[2] / 255, a=1.0)
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
            text.scale.z = _TEXT
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


def _point(x: float, y: float, width: float, height: float) -> Point:
    """A pixel's place in the plane of the boxes."""
    return Point(x=(x - width / 2) / width, y=(y - height / 2) / width, z=_DISTANCE)
