"""Pictures that might be rendered: camera poses from which surroundings resemble a context, and their labels."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.spatial.transform import Rotation

from simjudge.core.arrays import BoolArray, FloatArray, IntArray, ShortRepr
from simjudge.core.errors import Advance
from simjudge.core.frames import FrameSet
from simjudge.core.object_tables import Objects
from simjudge.geometry.poses import OPTICAL_ORIENTATION, Pose
from simjudge.judging.class_numbering import ClassNumbering
from simjudge.method.patches import object_contexts
from simjudge.questions.cover.label_sketch import LabelSketch, SketchedThings
from simjudge.questions.cover.result import similar_pairs
from simjudge.questions.cover.settings import CoverSettings
from simjudge.sim.capture.camera_poses import HEIGHTS, TILT, RandomPoses, is_free_position
from simjudge.sim.capture.capture import Capture, exposure_at
from simjudge.sim.capture.ground_truth import Labelling
from simjudge.sim.engines.contract import Engine
from simjudge.sim.sensors.camera.camera import SECOND, Camera


class LabelView:
    """A camera before a placed scene that takes labels only."""

    def __init__(self, engine: Engine, camera: Camera, labelling: Labelling) -> None:
        """Put a camera before an engine."""
        self.engine, self.camera = engine, camera
        self._capture = Capture(engine, camera, labelling)

    def labels(self, pose: Pose) -> Objects:
        """The labelled objects of a picture that is rendered here by a camera that stands still."""
        exposure = exposure_at(self.camera, SECOND, "labels", lambda stamps: [pose] * len(stamps))
        return self._capture.capture(exposure, image=False).truth.objects

    def is_allowed(self, body: Pose) -> bool:
        """Tell whether a camera may stand at a pose: within the scene's area, and free."""
        area, (x, y, _) = self.engine.scene.area, body.position
        if area is not None and not (area[0] <= x <= area[2] and area[1] <= y <= area[3]):
            return False
        return is_free_position(body.position, self.engine, self.engine.poses())


def labelled_frames(name: str, camera: Camera, class_names: dict[int, str], objects: Sequence[Objects]) -> FrameSet:
    """Labels of several pictures as a set without pictures."""
    frame = np.repeat(np.arange(len(objects)), [len(objects_of_set) for objects_of_set in objects])
    class_id = np.concatenate([np.zeros(0, np.int64), *(objects_of_set.class_id for objects_of_set in objects)])
    box = np.concatenate([np.zeros((0, 4)), *(objects_of_set.box for objects_of_set in objects)])
    table = Objects.build(frame, class_id, box)
    return FrameSet.build(name, np.tile(camera.lens.size, (len(objects), 1)), table, class_names=class_names)


_FIRST_SHARE = 0.4
"""Share of the tries that are spread over all things and directions; the others are drawn around the best of those."""
_KEPT = (48, 32, 16, 10, 6, 4, 4)
"""Poses around which further ones are drawn, in each round."""
_AROUND_ONE = 2
"""Poses that see the same thing, of those kept, in the first half of the rounds: a good one may be behind others."""
_SHRINKING = 0.6
"""Steps of a round, as a share of those of the round before."""
_STEPS = (0.12, 0.12, 0.06, 0.12, 0.5, 0.5)
"""Standard deviations of the first steps: across the floor and upwards in distances to the thing, yaw in radians, pitch
and roll in spreads of random poses."""
_TILT_LIMIT = 3.0
"""Pitch and roll stay within as many spreads."""
_ENOUGH = 0.07
"""A sketch that is as much more similar than needed is not improved."""


@dataclass(frozen=True, repr=False, eq=False)
class SearchedContext(ShortRepr):
    """A context that is looked for."""

    planes: Mapping[int, npt.NDArray[np.bool_]]  # bool (h, w) by class id
    class_id: int
    box: FloatArray  # (4,), the anchor's, pixels
    size: tuple[int, int]  # width and height of its picture


class SketchedPose(NamedTuple):
    """A pose that was found."""

    body: Pose  # of the camera's body in the world, x ahead
    similarity: float


class PoseSearch:
    """Searches for poses in one placed scene; heights and tilts are those that random poses may have."""

    def __init__(
        self, sketch: LabelSketch, mount: Pose, area: tuple[float, float, float, float], theta: float, seed: int
    ) -> None:
        """Take a scene. `area`: x0, y0, x1, y1, metres, where cameras may stand."""
        self._sketch, self._area, self._theta = sketch, area, theta
        self._seed = seed
        _, self._pitch, self._roll = (mount @ Pose(orientation=OPTICAL_ORIENTATION).inverse()).angles()
        self._height = mount.position[2]

    def search(self, context: SearchedContext, number: int, tries: int, most: int) -> list[SketchedPose]:
        """Search for poses from which a context is seen."""
        things = np.flatnonzero(self._sketch.things.class_id == context.class_id)
        if not len(things) or not tries:
            return []
        random = np.random.default_rng((self._seed, number))
        first = max(int(_FIRST_SHARE * tries), 1)
        poses, anchors = self._spread(context, things, first, random)
        scores = self._similarity(poses, anchors, context)
        steps = np.array(_STEPS)
        for turn, kept in enumerate(_KEPT):
            best = _best_rows(scores, anchors, kept, _AROUND_ONE if turn < len(_KEPT) // 2 else kept)
            if scores[best[0]] >= min(self._theta + _ENOUGH, 1):
                break
            children = np.repeat(best, max((tries - first) // (len(_KEPT) * len(best)), 1))
            moved = self._moved(poses[children], anchors[children], steps, random)
            poses = np.concatenate([poses[best], moved])
            anchors = np.concatenate([anchors[best], anchors[children]])
            scores = np.concatenate([scores[best], self._similarity(moved, anchors[len(best) :], context)])
            steps = steps * _SHRINKING
        return self._best(poses, anchors, scores, most)

    def _best(self, poses: FloatArray, anchors: IntArray, scores: FloatArray, most: int) -> list[SketchedPose]:
        found: list[SketchedPose] = []
        for row in _best_rows(scores, anchors, most, max(most // 2, 1)).tolist():
            if scores[row] > 0:
                x, y, z, yaw, pitch, roll = poses[row].tolist()
                body = Pose.from_euler(x, y, z, yaw=yaw, pitch=pitch, roll=roll)
                found.append(SketchedPose(body, float(scores[row])))
        return found

    def _spread(
        self, context: SearchedContext, things: IntArray, count: int, random: np.random.Generator
    ) -> tuple[FloatArray, IntArray]:
        """Poses that see a thing of the class as large and in the same column as the context's anchor."""
        own, lens = self._sketch.things, self._sketch.lens
        anchors = things[random.integers(len(things), size=count)]
        x0, y0, x1, y1 = context.box
        scale = lens.size[1] / context.size[1]
        distance = lens.focal[1] * own.height[anchors] / max((y1 - y0) * scale, 1.0) * random.uniform(0.8, 1.25, count)
        column = (x0 + x1) / 2 * lens.size[0] / context.size[0]
        aside = math.atan((column - lens.centre[0]) / lens.focal[0])
        bearing = random.uniform(-math.pi, math.pi, count)
        centre = own.centre[anchors]
        return self._within(
            np.column_stack(
                [
                    centre[:, 0] - distance * np.cos(bearing),
                    centre[:, 1] - distance * np.sin(bearing),
                    self._height * random.uniform(*HEIGHTS, count) + self._floor(anchors),
                    bearing + aside + random.normal(0, 0.05, count),
                    self._pitch + random.normal(0, TILT[0], count),
                    self._roll + random.normal(0, TILT[1], count),
                ]
            ),
            anchors,
        ), anchors

    def _floor(self, anchors: IntArray) -> FloatArray:
        """Height of the floor, taken as that on which the thing stands, metres."""
        return np.asarray(self._sketch.things.points[anchors, :, 2].min(1))

    def _moved(
        self, poses: FloatArray, anchors: IntArray, steps: FloatArray, random: np.random.Generator
    ) -> FloatArray:
        """Poses nearby."""
        centre = self._sketch.things.centre[anchors]
        distance = np.linalg.norm(poses[:, :2] - centre[:, :2], axis=1)
        scale = np.column_stack(
            [*[distance] * 3, np.ones(len(poses)), np.full(len(poses), TILT[0]), np.full(len(poses), TILT[1])]
        )
        moved = poses + random.normal(0, 1, poses.shape) * steps * scale
        # The camera turns with its step, so that the thing stays in its column.
        before, after = (np.arctan2(*(centre[:, :2] - trajectory[:, :2]).T[::-1]) for trajectory in (poses, moved))
        moved[:, 3] += after - before
        return self._within(moved, anchors)

    def _within(self, poses: FloatArray, anchors: IntArray) -> FloatArray:
        """Poses that random poses might have too."""
        floor = self._floor(anchors)
        low, high = (self._height * factor + floor for factor in HEIGHTS)
        poses[:, 0] = np.clip(poses[:, 0], self._area[0], self._area[2])
        poses[:, 1] = np.clip(poses[:, 1], self._area[1], self._area[3])
        poses[:, 2] = np.clip(poses[:, 2], low, high)
        for column, middle, spread in ((4, self._pitch, TILT[0]), (5, self._roll, TILT[1])):
            poses[:, column] = np.clip(poses[:, column], middle - _TILT_LIMIT * spread, middle + _TILT_LIMIT * spread)
        return poses

    def _similarity(self, poses: FloatArray, anchors: IntArray, context: SearchedContext) -> FloatArray:
        optical = Rotation.from_euler("ZYX", poses[:, 3:]) * Rotation.from_quat(OPTICAL_ORIENTATION)
        return self._sketch.similarity(
            np.ascontiguousarray(optical.as_matrix()), np.ascontiguousarray(poses[:, :3]), anchors, context.planes
        )


def _best_rows(scores: FloatArray, anchors: IntArray, most: int, around_one: int) -> IntArray:
    """The rows of the highest scores, best first, at most some of the same anchor."""
    order = np.argsort(-scores, kind="stable")
    by_anchor = order[np.argsort(anchors[order], kind="stable")]
    starts = np.flatnonzero(np.diff(anchors[by_anchor], prepend=-1))
    place = np.arange(len(order)) - np.repeat(starts, np.diff(starts, append=len(order)))
    rank = np.empty(len(order), np.int64)
    rank[by_anchor] = place
    return order[rank[order] < around_one][:most]


_AT_ONCE = 32
"""Contexts that are searched before what was found is joined with all others."""
_POSES = 4
"""Poses of a search whose labels are looked at."""
_SLACK = 0.06
"""Sketches that are less similar than needed by this are looked at too."""


@dataclass(frozen=True, repr=False, eq=False)
class Candidate(ShortRepr):
    """A picture that might be rendered."""

    camera: Pose  # pose of the optical frame in the world
    scene_seed: int
    objects: Objects  # the labels that the rendering gives, with the scene's class ids


@dataclass(repr=False, eq=False)
class CandidatePool(ShortRepr):
    """Candidates, and which wanted contexts each of them resembles."""

    a: FrameSet  # the set whose contexts are wanted
    wanted: IntArray  # int64 (N,), rows of its objects
    settings: CoverSettings
    class_names: dict[int, str]
    candidates: list[Candidate] = field(default_factory=list)
    # for each candidate the rows of `a.objects` that it resembles, each once
    covers: list[IntArray] = field(default_factory=list)
    resembled: BoolArray = field(init=False)  # bool, by row of `a.objects`, whether any candidate resembles it
    # numbers of the candidates that are the random pictures to compare with
    random: list[int] = field(default_factory=list)
    sketched: int = 0

    def __post_init__(self) -> None:
        """Nothing is resembled yet."""
        self.resembled = np.zeros(len(self.a.objects), np.bool_)

    def add(self, new: Sequence[Candidate], camera_set: FrameSet) -> None:
        """Add candidates, joined with the wanted contexts."""
        pairs = similar_pairs(self.a, camera_set, self.settings.method, self.wanted)
        frame = camera_set.objects.frame[pairs.column]
        for number, context in enumerate(new):
            self.candidates.append(context)
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
        """Add random poses."""
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
            found = [
                match
                for row, planes in zip(rows.tolist(), context_planes(pool.a, rows, settings), strict=True)
                for match in self._searched(search, row, planes)
            ]
            self._add(found)
            advance(min(begin + _AT_ONCE, len(missing)), len(missing))

    def _searched(self, search: PoseSearch, row: int, planes: dict[int, BoolArray]) -> list[Candidate]:
        """The poses found for a context, with the rendering's labels."""
        pool, objects = self._pool, self._pool.a.objects
        width, height = pool.a.size[objects.frame[row]].tolist()
        wanted = SearchedContext(planes, int(objects.class_id[row]), objects.box[row], (width, height))
        found = search.search(wanted, row, pool.settings.refinements, _POSES)
        pool.sketched += pool.settings.refinements
        near = [match.body for match in found if match.similarity >= pool.settings.theta - _SLACK]
        return [self._candidate(body.optical_frame()) for body in near if self._view.is_allowed(body)]

    def _candidate(self, camera: Pose) -> Candidate:
        return Candidate(camera, self._view.engine.scene.seed, self._view.labels(camera))

    def _add(self, found: Sequence[Candidate]) -> None:
        labels = labelled_frames("", self._view.camera, self._pool.class_names, [view.objects for view in found])
        self._pool.add(found, self._numbering.apply(labels))


def context_planes(a: FrameSet, rows: IntArray, settings: CoverSettings) -> list[dict[int, BoolArray]]:
    """Contexts as boolean images.

    `rows`: (N,) rows of its objects; returns for each context bool (h, w) by class id.
    """
    contexts = object_contexts(a, settings.method, rows)
    return [contexts.planes(number, settings.method.patch) for number in range(len(rows))]


def scene_class_ids(numbering: ClassNumbering, class_names: dict[int, str]) -> dict[int, int]:
    """The class id under a numbering of each class of a scene."""
    ids = sorted(class_names)
    one_each = Objects.build(np.zeros(len(ids)), ids, np.tile([0.0, 0.0, 1.0, 1.0], (len(ids), 1)))
    frames = FrameSet.build("scene", [[1, 1]], one_each, class_names=class_names)
    return dict(zip(ids, numbering.apply(frames).objects.class_id.tolist(), strict=True))
