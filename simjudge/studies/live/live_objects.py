"""The same objects in a real and a virtual camera, while their frames come: the numbers of `simjudge objects`.

The newest pairs of frames are kept, and objects are followed through all of them anew for each summary: the functions
are those of `simjudge.objects.camera_series`, so that the numbers are the same. Hu's moments, which take longest, are
measured once for each frame.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from simjudge.core.arrays import FloatArray
from simjudge.core.display import ShortRepr
from simjudge.core.frames import FrameSet
from simjudge.core.progress import no_log
from simjudge.data.set_parts import join_sets
from simjudge.objects.camera_series import count_series
from simjudge.objects.camera_settings import CameraObjectSettings
from simjudge.objects.object_series import object_series, object_views
from simjudge.objects.picture_series import binary_hu_series
from simjudge.objects.series import WHOLE, Series, common_start, stamps_to_seconds
from simjudge.objects.series_comparison import SeriesComparison, compare_series
from simjudge.objects.sightings import Finder, Sightings
from simjudge.objects.tracking import FollowedObjects, follow_objects

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
        """Start with nothing.

        Args:
            settings: how objects are followed and paired; `follow` says labels or predictions.
            window: seconds before the newest stamp in which pairs are kept; None: all.
        """
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
        seen = tuple(self._finder.sightings(each, settings.follow, virtual=each is virtual) for each in (real, virtual))
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
        """Follow the objects through all pairs, and compare the same ones.

        Returns:
            The rows: OBJECT_METRICS of each object and over all of them; "objects" and "hu 1 (binary)" to
            "hu 7 (binary)" of whole pictures. Empty without a pair.
        """
        if not self._pairs:
            return []
        settings = self._finder.settings
        pairs = [self._pairs[stamp] for stamp in sorted(self._pairs)]
        sets = join_sets([pair.frames[0] for pair in pairs]), join_sets([pair.frames[1] for pair in pairs])
        seen = tuple(self._finder.sightings(sets[side], settings.follow, virtual=side == 1) for side in (0, 1))
        objects = follow_objects(sets, (seen[0], seen[1]), settings, no_log)
        classes = sorted({str(name) for each in seen for name in np.unique(each.class_name)})
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
        each
        for pair, subject in zip(objects.pairs, objects.subject, strict=True)
        for each in object_series(views[pair[side]], subject, common_start(sets))
        if each.metric in OBJECT_METRICS
    ]


def _values(series: Sequence[Series]) -> FloatArray:
    """The values of series of one frame."""
    return np.array([float(each.value[0]) for each in series])
