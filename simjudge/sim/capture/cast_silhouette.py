"""The number of pixels that a thing would cover alone, where `silhouette` cannot tell it: by casting a ray for each.

These are images whose rows are exposed one after another, where each row sees camera and thing elsewhere, and those of
lenses that see all around or are fisheyes beyond 80 degrees. The image goes on beyond its edges: rows there are exposed
with the row at the edge, a fisheye ends where it takes in no more, and a lens that sees all around at the poles.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numba import njit

from simjudge.core.arrays import FloatArray, IntArray
from simjudge.core.display import ShortRepr
from simjudge.geometry.poses import Pose
from simjudge.sim.capture.silhouette import pixel_stride, sees_beyond, triangle_boxes, unlimited_rays
from simjudge.sim.engines.contract import Poses, SceneState
from simjudge.sim.engines.ray_search import DEPTH, grow_forest, make_ray, search_thing
from simjudge.sim.engines.ray_times import TimedExposure
from simjudge.sim.scene.model import Mesh, Thing
from simjudge.sim.sensors.camera.distortion import equidistant_end, equidistant_radius
from simjudge.sim.sensors.camera.lens import Lens

_NEAREST = False  # What `search_thing` is asked for: whether anything is hit
_RIM = 64  # Directions along a cone
_BOXES = 9  # Rows of the image at whose times a thing's box is looked for


@dataclass(frozen=True, eq=False, repr=False)
class RowStates(ShortRepr):
    """Where camera and bodies are when each row of an image sees them."""

    height: int
    middle: SceneState  # where they are in the middle of the exposure
    timed: TimedExposure | None = None  # when the rows are exposed; None: all in the middle

    @property
    def bodies(self) -> tuple[Poses, ...]:
        """Where the bodies are in each part of the exposure."""
        return (self.middle.bodies,) if self.timed is None else self.timed.bodies

    def cameras(self, rows: IntArray) -> tuple[FloatArray, FloatArray, IntArray]:
        """Where the camera is when rows see it: rotations (h, 3, 3); rows: their numbers (h,)."""
        if self.timed is None:
            rotation = np.tile(self.middle.camera.rotation_matrix(), (len(rows), 1, 1))
            return rotation, np.tile(self.middle.camera.position, (len(rows), 1)), np.zeros(len(rows), np.int64)
        times = self.timed.label_times(rows, self.height)
        return *self.timed.camera.at(times), self.timed.parts(times)


def pixels_alone_by_rays(things: Sequence[Thing], states: RowStates, lens: Lens) -> int:
    """Pixels whose centre's ray hits a thing that is alone in the world, on an image without edges."""
    found = (_box([(thing.mesh, _at(thing, bodies)) for thing in things], at, lens) for at, bodies in _samples(states))
    boxes = [box for box in found if box is not None]
    if not boxes:
        return 0
    if lens.omnidirectional:
        boxes = _on_one_turn(boxes, round(2 * math.pi * lens.focal[0]))
    corners = np.array(boxes, np.int64)
    low, high = corners[:, :2].min(0), corners[:, 2:].max(0)
    every = pixel_stride(low, high)
    rays = unlimited_rays(lens, low, high, every)
    rotations, origins = _seen_from(things, states, np.arange(low[1], high[1] + 1, every))
    return every**2 * int(_covered(rays, rotations, origins, grow_forest([thing.mesh for thing in things]).below))


def _at(thing: Thing, bodies: Poses) -> Pose:
    return bodies.get(thing.name, thing.pose)


def _samples(states: RowStates) -> list[tuple[Pose, Poses]]:
    """Camera and bodies at the times of some rows, the first and the last among them."""
    rows = np.linspace(0, states.height - 1, 1 if states.timed is None else _BOXES).round().astype(np.int64)
    rotation, position, part = states.cameras(rows)
    return [(_pose(rotation[k], position[k]), states.bodies[part[k]]) for k in range(len(rows))]


def _seen_from(things: Sequence[Thing], states: RowStates, rows: IntArray) -> tuple[FloatArray, FloatArray]:
    """The optical frame in the frame of each part, for each row: rotations (h, B, 3, 3) and origins (h, B, 3)."""
    rotation, position, part = states.cameras(rows)
    rotations, origins = np.empty((len(rows), len(things), 3, 3)), np.empty((len(rows), len(things), 3))
    for number, thing in enumerate(things):
        poses = [_at(thing, bodies) for bodies in states.bodies]
        inverse = np.array([pose.rotation_matrix().T for pose in poses])[part]
        offset = position - np.array([pose.position for pose in poses])[part]
        rotations[:, number], origins[:, number] = inverse @ rotation, np.einsum("hij,hj->hi", inverse, offset)
    return rotations, origins


def _box(parts: Sequence[tuple[Mesh, Pose]], camera: Pose, lens: Lens) -> IntArray | None:
    """First column and row, last column and row of the pixels in which a thing may be seen; None: it cannot be."""
    if lens.omnidirectional:
        return _box_around(_ball(parts, camera), lens)
    if sees_beyond(lens):
        return _box_of_fisheye(_ball(parts, camera), lens)
    ((_, box),) = triangle_boxes([parts], camera, lens)
    return np.concatenate([box[:, :2].min(0), box[:, 2:].max(0)]) if len(box) else None


class _Ball(NamedTuple):
    """A ball around a thing: its centre in the optical frame, half the angle of its cone (pi: the camera is inside)."""

    centre: FloatArray
    half: float


def _ball(parts: Sequence[tuple[Mesh, Pose]], camera: Pose) -> _Ball:
    points = np.concatenate([camera.to_body(pose.to_world(mesh.vertices)) for mesh, pose in parts])
    centre = (points.min(0) + points.max(0)) / 2
    distance, radius = float(np.linalg.norm(centre)), float(np.linalg.norm(points - centre, axis=1).max())
    return _Ball(centre, math.asin(radius / distance) if radius < distance else math.pi)


def _box_of_fisheye(ball: _Ball, lens: Lens) -> IntArray:
    """The pixels of a ball, from directions along its cone; the whole image where the lens ends within the cone."""
    end = equidistant_end(lens.coefficients)
    axis = ball.centre / max(float(np.linalg.norm(ball.centre)), 1e-300)
    if math.acos(min(max(axis[2], -1.0), 1.0)) + ball.half >= end or ball.half >= math.pi / 2:
        reach = float(equidistant_radius(end, lens.coefficients)) * np.array(lens.focal)
        return np.concatenate([np.floor(lens.centre - reach), np.ceil(lens.centre + reach)]).astype(np.int64)
    first, second = np.linalg.svd(axis[None])[2][1:]
    around = np.linspace(0, 2 * math.pi, _RIM, endpoint=False)[:, None]
    rim = math.cos(ball.half) * axis + math.sin(ball.half) * (np.cos(around) * first + np.sin(around) * second)
    pixels = lens.project(np.vstack([axis, rim]))
    low, high = pixels.min(0), pixels.max(0)
    margin = 2 + 0.05 * (high - low)  # between two of the directions, and where the lens bends
    return np.concatenate([np.floor(low - margin), np.ceil(high + margin)]).astype(np.int64)


def _on_one_turn(boxes: Sequence[IntArray], turn: int) -> list[IntArray]:
    """Boxes brought near to the first by whole turns; where they are wider than one together, one turn."""
    middle = boxes[0][0] + boxes[0][2]
    moved = [box - np.array([1, 0, 1, 0]) * (turn * round((box[0] + box[2] - middle) / 2 / turn)) for box in boxes]
    first, last = min(box[0] for box in moved), max(box[2] for box in moved)
    if last - first >= turn:
        moved = [np.array([first, box[1], first + turn - 1, box[3]]) for box in moved]
    return moved


def _box_around(ball: _Ball, lens: Lens) -> IntArray:
    """The pixels of a ball, on an image that sees all around; columns may go on beyond the seam."""
    centre, half = ball
    down = math.atan2(centre[1], math.hypot(centre[0], centre[2]))
    # Seen from the camera, the ball's cone reaches asin(sin(half) / cos(down)) to each side, all around at a pole.
    aside = math.pi
    if abs(down) + half < math.pi / 2:
        aside = math.asin(min(math.sin(half) / math.cos(down), 1.0))
    right = math.atan2(centre[0], centre[2])
    pole = math.pi / 2
    angles = np.array([[right - aside, max(down - half, -pole)], [right + aside, min(down + half, pole)]])
    low, high = angles * lens.focal + lens.centre
    low, high = np.floor(low - 1), np.ceil(high + 1)
    if aside == math.pi:  # once around, no pixel twice
        high[0] = low[0] + round(2 * math.pi * lens.focal[0]) - 1
    return np.concatenate([low, high]).astype(np.int64)


def _pose(rotation: FloatArray, position: FloatArray) -> Pose:
    matrix = np.eye(4)
    matrix[:3, :3], matrix[:3, 3] = rotation, position
    return Pose.from_matrix(matrix)


@njit(cache=True, nogil=True)
def _covered(rays, rotations, origins, below):  # type: ignore[no-untyped-def]
    """Pixels whose ray (h, w, 3) hits a part; parts are searched in their own frames."""
    boxes, links, roots, corners = below
    stack = np.empty(DEPTH, np.int64)
    count = 0
    for y in range(rays.shape[0]):
        for x in range(rays.shape[1]):
            u, v, w = rays[y, x]
            if not math.isfinite(u):
                continue
            for part in range(len(roots)):
                r, o = rotations[y, part], origins[y, part]
                ray = make_ray(
                    o[0],
                    o[1],
                    o[2],
                    r[0, 0] * u + r[0, 1] * v + r[0, 2] * w,
                    r[1, 0] * u + r[1, 1] * v + r[1, 2] * w,
                    r[2, 0] * u + r[2, 1] * v + r[2, 2] * w,
                )
                if search_thing(boxes, links, roots[part], corners, ray, np.inf, _NEAREST, stack)[1] >= 0:
                    count += 1
                    break
    return count
