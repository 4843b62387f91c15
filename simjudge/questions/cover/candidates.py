"""Pictures that might be rendered: their poses, and the labels that they will have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from simjudge.core.arrays import BoolArray, IntArray
from simjudge.core.display import ShortRepr
from simjudge.core.frames import FrameSet
from simjudge.core.object_tables import Objects
from simjudge.core.progress import Advance
from simjudge.geometry.poses import Pose
from simjudge.method.patches import object_contexts
from simjudge.questions.cover.context_coverage import similar_pairs
from simjudge.questions.cover.label_sketch import LabelSketch, SketchedThings
from simjudge.questions.cover.label_view import LabelView, labelled_frames
from simjudge.questions.cover.pose_search import PoseSearch, SearchedContext
from simjudge.questions.cover.settings import CoverSettings
from simjudge.sim.capture.camera_poses import RandomPoses
from simjudge.studies.class_numbering import ClassNumbering

_AT_ONCE = 32
"""Contexts that are searched before what was found is joined with all others."""
_POSES = 4
"""Poses of a search whose labels are looked at."""
_SLACK = 0.06
"""Sketches that are less similar than needed by this are looked at too."""


@dataclass(frozen=True, repr=False, eq=False)
class Candidate(ShortRepr):
    """A picture that might be rendered.

    Attributes:
        camera: pose of the optical frame in the world.
        objects: the labels that the rendering gives, with the scene's class ids.
    """

    camera: Pose
    scene_seed: int
    objects: Objects


@dataclass(repr=False, eq=False)
class CandidatePool(ShortRepr):
    """Candidates, and which wanted contexts each of them resembles.

    Attributes:
        a: the set whose contexts are wanted.
        wanted: int64 (N,), rows of its objects.
        covers: for each candidate the rows of `a.objects` that it resembles, each once.
        resembled: bool, by row of `a.objects`, whether any candidate resembles it.
        random: numbers of the candidates that are the random pictures to compare with.
    """

    a: FrameSet
    wanted: IntArray
    settings: CoverSettings
    class_names: dict[int, str]
    candidates: list[Candidate] = field(default_factory=list)
    covers: list[IntArray] = field(default_factory=list)
    resembled: BoolArray = field(init=False)
    random: list[int] = field(default_factory=list)
    sketched: int = 0

    def __post_init__(self) -> None:
        """Nothing is resembled yet."""
        self.resembled = np.zeros(len(self.a.objects), np.bool_)

    def add(self, new: Sequence[Candidate], camera_set: FrameSet) -> None:
        """Add candidates, joined with the wanted contexts."""
        pairs = similar_pairs(self.a, camera_set, self.settings.method, self.wanted)
        frame = camera_set.objects.frame[pairs.column]
        for number, each in enumerate(new):
            self.candidates.append(each)
            self.covers.append(np.unique(pairs.row[frame == number]))
        self.resembled[pairs.row] = True

    def missing(self) -> IntArray:
        """The wanted contexts that no candidate resembles."""
        return self.wanted[~self.resembled[self.wanted]]


class PlacementSearch:
    """Fills a pool with candidates of one placement of a scene."""

    def __init__(self, pool: CandidatePool, view: LabelView, numbering: ClassNumbering, mount: Pose) -> None:
        """Take a placed scene."""
        self._pool, self._view, self._numbering, self._mount = pool, view, numbering, mount
        scene = view.engine.scene
        ids = scene_class_ids(numbering, dict(scene.class_names))
        self.things = SketchedThings.of_scene(scene, view.engine.poses(), ids)

    def add_random(self, poses: RandomPoses, indices: Sequence[int], advance: Advance, baseline: int) -> None:
        """Add random poses.

        Args:
            baseline: those with a lower index are the random pictures to compare with.
        """
        found = []
        for done, index in enumerate(indices, 1):
            (camera,) = poses.at(index, [poses.stamp[index]], self._view.engine)
            found.append(self._candidate(camera))
            advance(done, len(indices))
        first = len(self._pool.candidates)
        self._add(found)
        self._pool.random += [first + n for n, index in enumerate(indices) if index < baseline]

    def add_searched(self, advance: Advance) -> None:
        """Search poses for every wanted context that no candidate resembles."""
        pool, settings, lens = self._pool, self._pool.settings, self._view.camera.lens
        area = self._view.engine.scene.area
        missing = pool.missing()
        if not settings.refinements or lens.omnidirectional or area is None or not len(missing):
            return
        sketch = LabelSketch(self.things, lens, settings.min_size)
        search = PoseSearch(sketch, self._mount, area, settings.theta, settings.seed)
        for begin in range(0, len(missing), _AT_ONCE):
            rows = missing[begin : begin + _AT_ONCE]
            rows = rows[~pool.resembled[rows]]
            found = [each for row, planes in zip(rows.tolist(), context_planes(pool.a, rows, settings), strict=True)
                     for each in self._searched(search, row, planes)]  # fmt: skip
            self._add(found)
            advance(min(begin + _AT_ONCE, len(missing)), len(missing))

    def _searched(self, search: PoseSearch, row: int, planes: dict[int, BoolArray]) -> list[Candidate]:
        """The poses found for a context, with the rendering's labels."""
        pool, objects = self._pool, self._pool.a.objects
        width, height = pool.a.size[objects.frame[row]].tolist()
        wanted = SearchedContext(planes, int(objects.class_id[row]), objects.box[row], (width, height))
        found = search.search(wanted, row, pool.settings.refinements, _POSES)
        pool.sketched += pool.settings.refinements
        near = [each.body for each in found if each.similarity >= pool.settings.theta - _SLACK]
        return [self._candidate(body.optical_frame()) for body in near if self._view.is_allowed(body)]

    def _candidate(self, camera: Pose) -> Candidate:
        return Candidate(camera, self._view.engine.scene.seed, self._view.labels(camera))

    def _add(self, found: Sequence[Candidate]) -> None:
        labels = labelled_frames("", self._view.camera, self._pool.class_names, [each.objects for each in found])
        self._pool.add(found, self._numbering.apply(labels))


def context_planes(a: FrameSet, rows: IntArray, settings: CoverSettings) -> list[dict[int, BoolArray]]:
    """Contexts as boolean images.

    Args:
        rows: (N,) rows of its objects.

    Returns:
        For each context bool (h, w) by class id.
    """
    contexts = object_contexts(a, settings.method, rows)
    return [contexts.planes(number, settings.method.patch) for number in range(len(rows))]


def scene_class_ids(numbering: ClassNumbering, class_names: dict[int, str]) -> dict[int, int]:
    """The class id under a numbering of each class of a scene."""
    ids = sorted(class_names)
    one_each = Objects.build(np.zeros(len(ids)), ids, np.tile([0.0, 0.0, 1.0, 1.0], (len(ids), 1)))
    frames = FrameSet.build("scene", [[1, 1]], one_each, class_names=class_names)
    return dict(zip(ids, numbering.apply(frames).objects.class_id.tolist(), strict=True))
