"""The same objects in a real and a virtual camera, while their frames come: the numbers of `simjudge robot objects`.

The newest pairs of frames are kept, and objects are followed through all of them anew for each summary: the functions
are those of `simjudge.objects.camera_series`, so that the numbers are the same. Hu's moments, which take longest, are
measured once for each frame.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from simjudge.core.arrays import FloatArray, ShortRepr
from simjudge.core.errors import Losses, no_log
from simjudge.core.frames import FrameSet
from simjudge.data.clouds import Cloud, CloudSet
from simjudge.data.set_parts import join_sets
from simjudge.geometry.poses import Pose
from simjudge.objects.camera_series import count_series
from simjudge.objects.object_series import object_series, object_views
from simjudge.objects.occupancy import EMPTY, LEFT_OUT, NO_GROUND, BeamSet, MapExtent, OccupancyMap, scan_beams
from simjudge.objects.picture_series import binary_hu_series
from simjudge.objects.series import WHOLE, Series, common_start, scan_poses, stamps_to_seconds
from simjudge.objects.series_comparison import SeriesComparison, compare_series
from simjudge.objects.settings import CameraObjectSettings, OccupancySettings
from simjudge.objects.sightings import Finder, FollowedObjects, Sightings, follow_objects

SIDES = ("real", "virtual")
OUTSIDE = "scans outside of the occupancy map (map_size)"
LATE = "scans that are not newer than the one before, left out of the occupancy map"


class LiveMaps:
    """The maps of both lidars, on one grid."""

    def __init__(self, settings: OccupancySettings, size: float, losses: Losses) -> None:
        """Start with nothing. `size`: width and height of the grid, metres."""
        self._settings, self._reach, self._losses = settings, size / 2, losses
        self._sides: tuple[_LiveMap, _LiveMap] | None = None

    def enter(self, side: int, stamp: int, cloud: Cloud, pose: Pose) -> None:
        """Enter a scan. `stamp`: nanoseconds; a scan that is not newer than the one before of its side is left out."""
        if self._sides is None:
            place = np.array([pose.position])
            extent = MapExtent.around(place, self._reach, self._settings.cells_per_metre)
            real, virtual = (_LiveMap(name, extent, self._settings) for name in SIDES)
            self._sides = real, virtual
        self._sides[side].enter(stamp, cloud, pose, self._losses)

    @property
    def maps(self) -> tuple[OccupancyMap, OccupancyMap] | None:
        """The real and the virtual map; None until each has a scan."""
        if self._sides is None or not all(side.map.scans for side in self._sides):
            return None
        return self._sides[0].map, self._sides[1].map


class _LiveMap:
    """The map of one lidar."""

    def __init__(self, name: str, extent: MapExtent, settings: OccupancySettings) -> None:
        self.map = OccupancyMap(extent, settings)
        self._name, self._settings = name, settings
        self._last: tuple[int, Pose] | None = None
        self._ground: np.ndarray | None = None
        self._early: list[BeamSet] = []

    def enter(self, stamp: int, cloud: Cloud, pose: Pose, losses: Losses) -> None:
        if self._last is not None and stamp <= self._last[0]:
            losses.add(LATE, cloud.where)
            return
        if self._is_outside(pose):
            losses.add(OUTSIDE, cloud.where)
            return
        # A scan whose pose cannot be reached from the last one is left out, as of a whole set.
        before = [] if self._last is None else [self._last]
        stamps, poses = zip(*before, (stamp, pose), strict=True)
        clouds = CloudSet(
            self._name, [cloud.where] * len(stamps), np.array(stamps, np.int64), lambda _: cloud, poses=poses
        )
        scans = scan_poses(clouds, self._settings.max_speed, losses, LEFT_OUT)
        if len(scans) < len(stamps):
            return
        self._last = stamp, pose
        beams, own = scan_beams(clouds, scans, len(scans) - 1, self._settings, losses)
        if not len(beams):
            losses.add(EMPTY, cloud.where)
            return
        if own is None:
            losses.add(NO_GROUND, cloud.where)
        self._ground = self._ground if own is None else own
        self._early.append(beams)
        if self._ground is None:
            return
        for message in self._early:
            self.map.enter(message, self._ground)
        self._early.clear()

    def _is_outside(self, pose: Pose) -> bool:
        """Whether beams of a scan would leave the grid."""
        extent, reach = self.map.extent, self._settings.map_range
        x, y = pose.position[:2]
        left, bottom = extent.corner
        right, top = (
            corner + cells / extent.cells_per_metre for corner, cells in ((left, extent.columns), (bottom, extent.rows))
        )
        return not (left + reach <= x <= right - reach and bottom + reach <= y <= top - reach)


OBJECT_METRICS = ("box width", "box height", "centroid x", "centroid y")
"""What is measured of each object; of whole pictures the number of objects and Hu's moments of the binary picture."""


@dataclass(frozen=True, eq=False, repr=False)
class _Pair(ShortRepr):
    """A real and a virtual frame of one instant: a set of one frame each, what it shows, Hu's moments (7,) of it."""

    frames: tuple[FrameSet, FrameSet]
    seen: tuple[Sightings, Sightings]
    hu: tuple[FloatArray, FloatArray]


class LiveObjects:
    """The newest pairs of frames of two cameras."""

    def __init__(self, settings: CameraObjectSettings, window: float | None) -> None:
        """Start with nothing. `window`: seconds before the newest stamp in which pairs are kept; None: all."""
        self._finder, self._window = Finder(settings), window
        self._pairs: dict[int, _Pair] = {}

    def __len__(self) -> int:
        """The number of pairs."""
        return len(self._pairs)

    @property
    def newest_stamp(self) -> int:
        """The stamp of the newest pair, nanoseconds; there must be one."""
        return max(self._pairs)

    def add(self, real: FrameSet, virtual: FrameSet) -> tuple[Sightings, Sightings]:
        """Add a pair; pairs that are older than the window are dropped."""
        settings = self._finder.settings
        seen = tuple(self._finder.sightings(side, settings.follow, virtual=side is virtual) for side in (real, virtual))
        hu = [_values(binary_hu_series(frames, one)) for frames, one in zip((real, virtual), seen, strict=True)]
        self._pairs[int(real.stamp[0])] = _Pair((real, virtual), (seen[0], seen[1]), (hu[0], hu[1]))
        if self._window is not None:
            oldest = max(self._pairs) - round(self._window * 1e9)
            self._pairs = {stamp: pair for stamp, pair in self._pairs.items() if stamp >= oldest}
        return seen[0], seen[1]

    def clear(self) -> None:
        """Forget all pairs."""
        self._pairs.clear()

    def compare(self) -> Sequence[SeriesComparison]:
        """Follow the objects through all pairs, and compare the same ones."""
        if not self._pairs:
            return []
        settings = self._finder.settings
        pairs = [self._pairs[stamp] for stamp in sorted(self._pairs)]
        sets = join_sets([pair.frames[0] for pair in pairs]), join_sets([pair.frames[1] for pair in pairs])
        seen = tuple(self._finder.sightings(sets[side], settings.follow, virtual=side == 1) for side in (0, 1))
        objects = follow_objects(sets, (seen[0], seen[1]), settings, no_log)
        classes = sorted({str(name) for view in seen for name in np.unique(view.class_name)})
        series: tuple[list[Series], list[Series]] = ([], [])
        for side in (0, 1):
            time = stamps_to_seconds(sets[side].stamp)
            series[side].extend(_objects(objects, sets, side))
            series[side].extend(count_series(seen[side], time, classes))
            hu = np.stack([pair.hu[side] for pair in pairs], axis=1)
            series[side].extend(
                Series(f"hu {i} (binary)", "", WHOLE, time, value) for i, value in enumerate(hu, start=1)
            )
        return compare_series(*series, shift_limit=0.0).rows


def _objects(objects: FollowedObjects, sets: tuple[FrameSet, FrameSet], side: int) -> list[Series]:
    """The series of each object that both cameras show."""
    tracks = (objects.real, objects.virtual)[side]
    views = object_views(tracks, sets[side].stamp)
    return [
        one_series
        for pair, subject in zip(objects.pairs, objects.subject, strict=True)
        for one_series in object_series(views[pair[side]], subject, common_start(sets))
        if one_series.metric in OBJECT_METRICS
    ]


def _values(series: Sequence[Series]) -> FloatArray:
    """The values of series of one frame."""
    return np.array([float(one_series.value[0]) for one_series in series])
