"""One scan of a real and a virtual lidar from above: points of both, true cuboids, and those found in each."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.spatial.transform import Rotation

from simjudge.core.arrays import FloatArray
from simjudge.core.errors import SimjudgeError
from simjudge.core.images import RgbImage
from simjudge.data.clouds import CloudBoxes
from simjudge.data.lidar_points import lidar_points
from simjudge.detectors.clouds.cuboid_detection import detect_cloud_cuboids
from simjudge.detectors.clouds.cuboid_settings import LidarCuboidFile
from simjudge.geometry.poses import Pose
from simjudge.objects.lidar_measurements import LidarSide
from simjudge.objects.series import common_times
from simjudge.questions.objects.saved import ResultPicture
from simjudge.questions.recording.cloud_pictures import box_corners, draw_cloud, draw_points, draw_segments
from simjudge.questions.recording.cloud_scale import CloudScale
from simjudge.questions.recording.cloud_views import TopView

TRUE: tuple[int, int, int] = (255, 255, 255)
REAL: tuple[int, int, int] = (111, 177, 245)
VIRTUAL: tuple[int, int, int] = (245, 154, 74)
"""Colours of true cuboids, and of what the real and the virtual lidar say."""
_ON_GROUND = 0.4
"""Brightness of points on the ground."""
_SIZE = 1500
"""Pixels of the picture's longer side."""
_NEAR = 20.0
"""Metres from the lidar within which true cuboids are shown; beyond there are few points, and all becomes small."""
_MARGIN = 2.0
"""Metres around them."""


def cuboid_picture(real: LidarSide, virtual: LidarSide, detector: LidarCuboidFile) -> ResultPicture | None:
    """Draw the pair of scans with the most true cuboids, in the frame of the real lidar.

    Args:
        virtual: the virtual one; its scan is moved by the poses of both where they are known.

    Returns:
        The picture; None where there is no cuboid to show, or the scan cannot be read.
    """
    pair = _scans(real, virtual)
    if pair is None:
        return None
    try:
        drawn = [
            _DrawnScan(real, pair[0], Pose(), detector),
            _DrawnScan(virtual, pair[1], _moved(real, virtual, pair), detector),
        ]
    except SimjudgeError:
        return None  # measuring has counted it
    true = _corners(real.truth.boxes, pair[0], detector.farthest, Pose())
    shown = true if len(true) else np.concatenate([each.cuboids for each in drawn])
    if not len(shown):
        return None
    away = np.linalg.norm(shown[..., :2].mean(1), axis=1)
    shown = shown[away <= max(_NEAR, float(away.min()))]
    low, high = shown[..., :2].min((0, 1)) - _MARGIN, shown[..., :2].max((0, 1)) + _MARGIN
    scale = CloudScale(
        float((high - low).max()) / 2, float(shown[..., 2].min()), float(shown[..., 2].max()) + 1,
        (float(low[0] + high[0]) / 2, float(low[1] + high[1]) / 2),
    )  # fmt: skip
    seconds = real.time[pair[0]] - real.time.min()
    return ResultPicture(
        "cuboids",
        f"Cuboids in both scans at {seconds:.2f} s from above, {high[0] - low[0]:.0f} x {high[1] - low[1]:.0f} m",
        "White: true cuboids. Blue: points of the real lidar, and cuboids that are found in them. Orange: those of the "
        f"virtual lidar. Points on the ground are dark. Ahead is right; a square of the grid is {scale.step:g} m.",
        _draw(drawn, true, scale, high - low),
    )


class _DrawnScan:
    """One scan in the frame of the real lidar: points, which of them are on the ground, and cuboids."""

    def __init__(self, side: LidarSide, index: int, place: Pose, detector: LidarCuboidFile) -> None:
        cloud = side.clouds[index]
        found = detect_cloud_cuboids(cloud, detector)
        held = lidar_points(cloud.table, cloud.where)
        kept = ~found.own[held.seen]
        self.points = place.to_world(held.stored[kept].astype(np.float64))
        self.on_ground = found.ground[held.seen][kept]
        if side.predictions is not None:
            self.cuboids = _corners(side.predictions, index, np.inf, place)
        else:
            self.cuboids = _corners(found.cuboids, 0, np.inf, place)


def _scans(real: LidarSide, virtual: LidarSide) -> tuple[int, int] | None:
    """The numbers of the clouds of the pair in which the real lidar has the most true cuboids."""
    orders = [np.argsort(side.time, kind="stable") for side in (real, virtual)]
    common = common_times(real.time[orders[0]], virtual.time[orders[1]])
    if not len(common):
        return None
    index = orders[0][common.real]
    counts = np.bincount(real.truth.boxes.cloud, minlength=len(real.time))[index]
    # Of several the one in the middle.
    best = np.flatnonzero(counts == counts.max())
    place = best[len(best) // 2]
    return int(index[place]), int(orders[1][common.virtual[place]])


def _moved(real: LidarSide, virtual: LidarSide, pair: tuple[int, int]) -> Pose:
    """The virtual lidar in the frame of the real one; the same where their poses are not known."""
    poses = []
    for side, index in zip((real, virtual), pair, strict=True):
        if side.poses is None or index not in side.poses.index:
            return Pose()
        rows = np.flatnonzero(side.poses.index == index)
        poses.append(side.poses.poses[int(rows[0])])
    return poses[0].inverse() @ poses[1]


def _corners(boxes: CloudBoxes, cloud: int, reach: float, place: Pose) -> FloatArray:
    """Corners (K, 8, 3) of the boxes of one cloud within reach of the lidar."""
    rows = np.flatnonzero((boxes.cloud == cloud) & (np.linalg.norm(boxes.centre, axis=1) <= reach))
    if not len(rows):
        return np.empty((0, 8, 3))
    turned = Rotation.from_quat(boxes.orientation[rows]).as_matrix()
    corners = box_corners(boxes.centre[rows], turned, boxes.size[rows])
    return place.to_world(corners.reshape(-1, 3)).reshape(-1, 8, 3)


def _draw(drawn: Sequence[_DrawnScan], true: FloatArray, scale: CloudScale, extent: FloatArray) -> RgbImage:
    """Draw the square of the scale from above, and cut it to an extent in metres along x and y."""
    view = TopView(scale.radius, _SIZE, scale.centre)
    image = draw_cloud(view, np.empty((0, 3)), np.empty((0, 8, 3)), TRUE, scale)
    colours = [np.where(each.on_ground[:, None], _ON_GROUND, 1.0) * colour
               for each, colour in zip(drawn, (REAL, VIRTUAL), strict=True)]  # fmt: skip
    points = np.concatenate([each.points for each in drawn])
    draw_points(image, view, points, np.concatenate(colours).astype(np.uint8), 3)
    for corners, colour, width in ((true, TRUE, 2), (drawn[0].cuboids, REAL, 5), (drawn[1].cuboids, VIRTUAL, 2)):
        # The upper and the lower face look alike from above.
        face = corners[:, [1, 3, 7, 5]]
        edges = np.stack([face, np.roll(face, -1, axis=1)], axis=2).reshape(-1, 2, 3)
        draw_segments(image, view, edges, np.broadcast_to(np.array(colour), (len(edges), 3)), width)
    tall, wide = np.round(extent / (2 * scale.radius) * _SIZE).astype(int).tolist()
    top, left = (_SIZE - tall) // 2, (_SIZE - wide) // 2
    # Ahead is up in a view from above.
    return np.ascontiguousarray(np.rot90(image[top : top + tall, left : left + wide], -1))
