"""Pictures of a point cloud from arrays alone: from above and in perspective, coloured by height, with 3-D boxes.

    pictures = cloud_pictures(points, box_corners(centre, rotation, size), colours)
    pictures.top, pictures.perspective        # RGB, uint8

Coordinates are those of vehicles (REP 103): x ahead, y left, z up, metres. From above x points up in the picture and y
to the left. What lies nearer to the eye covers what lies behind it; the edges of boxes are drawn over all points.
"""

from __future__ import annotations

from typing import NamedTuple

import cv2
import numpy as np
import numpy.typing as npt

from simjudge.core.arrays import FloatArray
from simjudge.core.images import RgbImage
from simjudge.questions.recording.cloud_scale import CloudScale, finite_points, grid_places
from simjudge.questions.recording.cloud_views import CloudView, PerspectiveView, TopView

GROUND: tuple[int, int, int] = (16, 21, 28)
"""Colour behind all points, RGB."""
_GRID, _AXES = (52, 62, 74), (104, 118, 134)
"""Colours of the grid's lines, and of those through the origin."""
_BOX = (255, 255, 255)
_FINE = 4
"""Binary digits of a pixel's fraction that OpenCV draws lines with."""
_CORNERS = np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)])
_EDGES = np.array([(a, b) for a in range(8) for b in range(a + 1, 8) if a ^ b in (1, 2, 4)])
"""Pairs of corners that differ in one coordinate."""


class CloudPictures(NamedTuple):
    """A cloud seen twice: RGB, uint8 (H, W, 3) each."""

    top: RgbImage
    perspective: RgbImage


def box_corners(centre: npt.ArrayLike, rotation: npt.ArrayLike, size: npt.ArrayLike) -> FloatArray:
    """The corners of boxes.

    Args:
        centre: (K, 3), metres.
        rotation: (K, 3, 3), the box's axes to the cloud's.
        size: (K, 3), along the box's own axes, metres.

    Returns:
        (K, 8, 3); bits of the number of a corner say on which side it is along x (4), y (2) and z (1).
    """
    middle, turned = np.asarray(centre, np.float64).reshape(-1, 3), np.asarray(rotation, np.float64).reshape(-1, 3, 3)
    local = _CORNERS * np.asarray(size, np.float64).reshape(-1, 1, 3)
    return np.asarray(middle[:, None] + np.einsum("kij,kcj->kci", turned, local))


def cloud_pictures(
    points: npt.ArrayLike,
    boxes: npt.ArrayLike = (),
    box_colours: npt.ArrayLike = _BOX,
    *,
    scale: CloudScale | None = None,
    size: int = 900,
) -> CloudPictures:
    """Draw a cloud from above and in perspective, coloured by height, over a grid in metres.

    Args:
        points: (N, 3), x ahead, y left, z up, metres; what is not finite is left out.
        boxes: (K, 8, 3), corners of 3-D boxes as `box_corners` gives them.
        box_colours: (K, 3) or (3,), RGB, 0-255.
        scale: radius and heights; None: chosen for this cloud.
        size: height of both pictures, pixels; the one from above is square, the other 4:3.

    Returns:
        Both pictures. The distance of the grid's lines is `CloudScale.step`.
    """
    places = finite_points(points)
    chosen = scale or CloudScale.of_clouds([places])
    corners = np.asarray(boxes, np.float64).reshape(-1, 8, 3)
    views: tuple[CloudView, CloudView] = (
        TopView(chosen.radius, size, chosen.centre), PerspectiveView.behind(chosen, round(size * 4 / 3), size)
    )  # fmt: skip
    return CloudPictures(*(draw_cloud(view, places, corners, box_colours, chosen) for view in views))


def draw_cloud(
    view: CloudView, points: FloatArray, boxes: FloatArray, box_colours: npt.ArrayLike, scale: CloudScale
) -> RgbImage:
    """Draw a cloud as one view shows it.

    Args:
        points: (N, 3), finite, metres.
        boxes: (K, 8, 3), corners, metres.
        box_colours: (K, 3) or (3,), RGB, 0-255.

    Returns:
        RGB, uint8 (H, W, 3).
    """
    image = np.full((view.height, view.width, 3), GROUND, np.uint8)
    lines, axes = _grid(scale)
    draw_segments(image, view, lines, np.broadcast_to(_GRID, (len(lines), 3)))
    draw_segments(image, view, axes, np.broadcast_to(_AXES, (len(axes), 3)))
    near = (np.abs(points[:, :2] - scale.centre) <= 2 * scale.radius).all(1)
    draw_points(image, view, points[near], scale.colours(points[near, 2]), max(round(view.height / 300), 1))
    colours = np.broadcast_to(np.asarray(box_colours).reshape(-1, 3), (len(boxes), 3))
    edges = boxes[:, _EDGES].reshape(-1, 2, 3)
    draw_segments(image, view, edges, np.repeat(colours, len(_EDGES), 0), max(round(view.height / 450), 1))
    return image


def draw_points(
    image: RgbImage, view: CloudView, points: FloatArray, colours: npt.NDArray[np.uint8], size: int = 2
) -> None:
    """Draw points as squares; the nearest one shows where several lie.

    Args:
        image: RGB, uint8 (H, W, 3), of the view's size; it is written on.
        points: (N, 3), metres.
        colours: (N, 3), RGB.
        size: side of a square, pixels.
    """
    place, depth = view.project(points)
    seen = np.isfinite(depth) & (np.abs(place) < 2**30).all(1)
    order = np.nonzero(seen)[0][np.argsort(-depth[seen], kind="stable")]
    corner = np.floor(place[order] - (size - 1) / 2).astype(np.int64)
    rank = np.arange(len(order))
    front = np.full(view.width * view.height, -1, np.int64)
    for down in range(size):
        for right in range(size):
            column, row = corner[:, 0] + right, corner[:, 1] + down
            inside = (column >= 0) & (column < view.width) & (row >= 0) & (row < view.height)
            np.maximum.at(front, row[inside] * view.width + column[inside], rank[inside])
    covered = front >= 0
    image.reshape(-1, 3)[covered] = colours[order[front[covered]]]


def draw_segments(
    image: RgbImage, view: CloudView, segments: FloatArray, colours: npt.NDArray[np.generic], width: int = 1
) -> None:
    """Draw straight lines.

    Args:
        image: RGB, uint8 (H, W, 3), of the view's size; it is written on.
        segments: (M, 2, 3), metres.
        colours: (M, 3), RGB, 0-255.
        width: of a line, pixels.
    """
    cut = view.clip(segments)
    place, depth = view.project(cut.reshape(-1, 3))
    # OpenCV counts from the middle of the first pixel, in 32 bits.
    fixed = np.round((place.reshape(-1, 2, 2) - 0.5) * 2**_FINE)
    drawn = np.isfinite(depth.reshape(-1, 2)).all(1) & (np.abs(fixed) < 2**28).all((1, 2))
    for ends, colour in zip(fixed[drawn].astype(int).tolist(), colours[drawn].tolist(), strict=True):
        cv2.line(image, ends[0], ends[1], colour, width, cv2.LINE_AA, _FINE)


def _grid(scale: CloudScale) -> tuple[FloatArray, FloatArray]:
    """Lines of the ground's grid, and the two through the origin."""
    lines: list[FloatArray] = []
    middle: list[FloatArray] = []
    for axis in (0, 1):
        for place in grid_places(scale, axis).tolist():
            ends = np.full((2, 3), scale.low)
            ends[:, axis] = place
            ends[:, 1 - axis] = scale.centre[1 - axis] - scale.radius, scale.centre[1 - axis] + scale.radius
            (middle if place == 0 else lines).append(ends)
    return np.reshape(lines, (-1, 2, 3)), np.reshape(middle, (-1, 2, 3))
