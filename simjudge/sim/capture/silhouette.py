"""The number of pixels that a thing would cover if nothing stood before it and the image had no edges.

The pixels of an image go on beyond its edges, with rays through the same lens, as far as the lens takes rays in and the
view does not exceed 80 degrees to either side, up or down. Parts behind the camera's plane cover nothing.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from simjudge.core.arrays import FloatArray, IntArray, ShortRepr
from simjudge.core.numba_cache import njit
from simjudge.geometry.poses import Pose
from simjudge.sim.engines.contract import Poses, SceneState
from simjudge.sim.engines.ray_search import DEPTH, grow_forest, make_ray, search_thing
from simjudge.sim.engines.ray_times import TimedExposure
from simjudge.sim.scene.model import Mesh, Thing
from simjudge.sim.sensors.camera.distortion import equidistant_end, equidistant_radius, slope_end, whole
from simjudge.sim.sensors.camera.lens import Lens

Corner: TypeAlias = tuple[float, float, float]
# A triangle's first corner, two sides, and what of the formula does not depend on the ray.
TriangleTerms: TypeAlias = tuple[Corner, Corner, Corner, Corner, float]


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def triangle_terms(corners: FloatArray) -> TriangleTerms:
    """What all rays from the origin share of a triangle (corners: float64 (3, 3), in the camera's optical frame)."""
    ax, ay, az = corners[0]
    ux, uy, uz = corners[1, 0] - ax, corners[1, 1] - ay, corners[1, 2] - az
    vx, vy, vz = corners[2, 0] - ax, corners[2, 1] - ay, corners[2, 2] - az
    # The rays start at the origin, so that s = -a, and s x u does not depend on the ray.
    qx, qy, qz = uy * az - uz * ay, uz * ax - ux * az, ux * ay - uy * ax
    return (ax, ay, az), (ux, uy, uz), (vx, vy, vz), (qx, qy, qz), vx * qx + vy * qy + vz * qz


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def meeting_point(terms: TriangleTerms, direction: FloatArray) -> float:
    """How many lengths of a ray (3,) from the origin lead to the triangle: below 0 behind the camera, 0 on a miss."""
    (ax, ay, az), (ux, uy, uz), (vx, vy, vz), (qx, qy, qz), reach = terms
    dx, dy, dz = direction
    px, py, pz = dy * vz - dz * vy, dz * vx - dx * vz, dx * vy - dy * vx
    determinant = ux * px + uy * py + uz * pz
    if not abs(determinant) > 1e-300:  # also where the ray is NaN
        return 0.0
    inverse = 1 / determinant
    b1 = -(ax * px + ay * py + az * pz) * inverse
    b2 = (dx * qx + dy * qy + dz * qz) * inverse
    return reach * inverse if b1 >= 0 and b2 >= 0 and b1 + b2 <= 1 else 0.0


WIDEST = math.tan(math.radians(80))  # Slope of the rays at which an unlimited image ends
# Pixels that are tested, about; of larger things every other pixel, or every third, ... of every such row.
_MOST = 1_000_000
_MARGIN = 1.0  # Pixels around a triangle's box, for rounding
_SLOPES = 4001  # Slopes at which a lens's map is sampled for its bend
_DIRECTIONS = 90  # Directions around the axis in which the map of a lens that is not round is sampled for its bend
_LENSES = 2  # Lenses whose rays are kept: the one in use, and one beside it
_kept: OrderedDict[Lens, FloatArray] = OrderedDict()


Parts: TypeAlias = Sequence[tuple[Mesh, Pose]]  # A thing's meshes with their poses in the world


def pixels_alone(things: Sequence[Parts], camera: Pose, lens: Lens) -> list[int]:
    """Pixels whose centre's ray hits a thing alone in the world; of things over a million pixels, every n-th."""
    return [_pixels(corners, box, lens) for corners, box in triangle_boxes(things, camera, lens)]


def _pixels(corners: FloatArray, box: IntArray, lens: Lens) -> int:
    """Pixels that triangles (F, 3, 3) in the optical frame cover, each within its box."""
    if not len(box):
        return 0
    low, high = box[:, :2].min(0), box[:, 2:].max(0)
    every = pixel_stride(low, high)
    box = np.concatenate([-((low - box[:, :2]) // every), (box[:, 2:] - low) // every], 1)
    return every**2 * int(_covered_by_triangles(unlimited_rays(lens, low, high, every), corners, box))


def triangle_boxes(things: Sequence[Parts], camera: Pose, lens: Lens) -> list[tuple[FloatArray, IntArray]]:
    """The triangles (F, 3, 3) of things that may be seen on an image without edges, and their pixels int64 (F, 4)."""
    points = [pose.to_world(mesh.vertices) for parts in things for mesh, pose in parts]
    first = np.cumsum([0, *map(len, points)])
    of_mesh = iter(range(len(points)))
    faces = [np.concatenate([mesh.faces + first[next(of_mesh)] for mesh, _ in parts]) for parts in things]
    vertices = camera.to_body(np.concatenate([np.zeros((0, 3)), *points]))
    seen = np.all(np.abs(vertices[:, :2]) < WIDEST * vertices[:, 2:], axis=1)
    within = [bool(seen[corners].all()) for corners in faces]
    boxes = iter(_boxes(vertices, [corners for corners, inside in zip(faces, within, strict=True) if inside], lens))
    found = []
    for thing_corners, inside in zip(faces, within, strict=True):
        corners = vertices[thing_corners]
        box = next(boxes) if inside else _boxes_clipped(corners, lens)
        known = box[:, 0] <= box[:, 2]
        found.append((corners[known], box[known]))
    return found


@lru_cache(maxsize=8)
def sees_beyond(lens: Lens) -> bool:
    """Whether a lens sees all around, or is a fisheye whose corners look farther aside than 80 degrees."""
    if lens.model != "equidistant":
        return lens.omnidirectional
    width, height = lens.size
    corners = lens.rays_at([[x, y] for x in (-0.5, width - 0.5) for y in (-0.5, height - 0.5)])
    return bool(np.any(np.abs(corners[:, :2]).max(-1) > WIDEST * corners[:, 2]))


def pixel_stride(low: IntArray, high: IntArray) -> int:
    """n, where every n-th pixel of every n-th row is tested (low, high: first and last pixel (x, y) of the area)."""
    return math.ceil(math.sqrt(float(np.prod(high - low + 1)) / _MOST))


def _boxes(vertices: FloatArray, faces: Sequence[IntArray], lens: Lens) -> list[IntArray]:
    """Pixels in which the triangles of things may be seen: first and last column and row, int64 (F, 4) a thing.

    First > last: none. A triangle's edges are straight in slopes (x / z, y / z). A map of slopes to pixels that bends
    by no more than b leaves the box around the corners' pixels by no more than b L^2 / 6, with L the longest edge: the
    error of linear interpolation over a triangle within a circle of radius L / sqrt(3).
    """
    if not faces:
        return []
    # All things at once: a thing has few triangles, and NumPy takes longer to begin than to compute.
    every = np.concatenate(faces)
    used = np.zeros(len(vertices), np.bool_)
    used[every] = True
    slopes = np.zeros((len(vertices), 2))
    np.divide(vertices[:, :2], vertices[:, 2:], out=slopes, where=used[:, None])
    pixels, slope, lens_map = _projected(slopes, lens)
    low, high, longest = _spans(np.hstack([pixels, slopes]), every)
    bend = [lens_map.bend_to(float(slope[corners].max(initial=0.0))) for corners in faces]
    count = [len(corners) for corners in faces]
    margin = _MARGIN + max(lens.focal) * np.repeat(bend, count) * longest**2 / 6
    return np.split(_whole(low, high, margin, lens_map.reach), np.cumsum(count)[:-1])


def _boxes_clipped(corners: FloatArray, lens: Lens) -> IntArray:
    """The same of triangles (F, 3, 3) that may reach beyond the unlimited image, cut off there."""
    polygons, count = _clipped(np.ascontiguousarray(corners), WIDEST)
    seen = np.arange(polygons.shape[1]) < count[:, None]
    longest = np.hypot(*(_span(polygons[:, :, axis], seen) for axis in (0, 1)))
    pixels, slope, lens_map = _projected(polygons, lens)
    bend = lens_map.bend_to(float(slope.max(initial=0.0)))
    low, high = (end(np.where(seen[..., None], pixels, out), 1) for end, out in ((np.min, np.inf), (np.max, -np.inf)))
    none = count == 0
    low[none], high[none] = 0, 0
    box = _whole(low, high, _MARGIN + max(lens.focal) * bend * longest**2 / 6, lens_map.reach)
    box[none] = (0, 0, -1, -1)
    return box


def _projected(slopes: FloatArray, lens: Lens) -> tuple[FloatArray, FloatArray, _LensMap]:
    """Pixels of slopes (..., 2), how steep each is, and what the lens makes of slopes."""
    lens_map = _map(lens)
    slope = np.hypot(slopes[..., 0], slopes[..., 1])
    shrunk = np.minimum(1.0, lens_map.end / np.maximum(slope, 1e-12))[..., None]
    pixels = lens.project(np.concatenate([slopes * shrunk, np.ones((*slope.shape, 1))], -1))
    return pixels, slope, lens_map


def _whole(low: FloatArray, high: FloatArray, margin: FloatArray, reach: FloatArray) -> IntArray:
    """Boxes (F, 4) in whole pixels around the least and largest ones (F, 2), within the unlimited image."""
    low, high = (np.clip(edge, reach[:2], reach[2:]) for edge in (low - margin[:, None], high + margin[:, None]))
    return np.concatenate([np.floor(low), np.ceil(high)], 1).astype(np.int64)


def _span(values: FloatArray, seen: npt.NDArray[np.bool_]) -> FloatArray:
    """Largest less smallest of the values seen in each row; 0 where there are none."""
    span = np.where(seen, values, -np.inf).max(1) - np.where(seen, values, np.inf).min(1)
    return np.asarray(np.maximum(span, 0.0), np.float64)


class _LensMap(NamedTuple):
    """What a lens makes of slopes."""

    end: float  # the largest slope that counts: slopes beyond the end, where a lens has one, count as the end
    slope: FloatArray
    bend: FloatArray  # the most by which the map of slopes to radii bends up to each of them: its second derivative
    beyond: float  # the same for slopes beyond the end
    reach: FloatArray  # the pixels of an unlimited image: first column and row, last column and row

    def bend_to(self, slope: float) -> float:
        if slope > self.end:
            return max(float(self.bend[-1]), self.beyond)
        return float(self.bend[min(int(np.searchsorted(self.slope, slope)) + 1, len(self.bend) - 1)])


@lru_cache(maxsize=8)
def _map(lens: Lens) -> _LensMap:
    return _round_map(lens) if lens.is_round else _sampled_map(lens)


def _round_map(lens: Lens) -> _LensMap:
    slope = np.linspace(0, WIDEST * math.sqrt(2), _SLOPES)[1:]
    radius = lens.radius(slope)
    known = np.isfinite(radius)
    slope, radius = slope[known], radius[known]
    along = np.gradient(np.gradient(radius, slope), slope)
    across = np.gradient(radius / slope, slope)
    bend = np.maximum.accumulate(np.abs(along) + 2 * np.abs(across))
    centre, ends = np.array(lens.centre), radius[-1] * np.array(lens.focal)
    reach = np.concatenate([np.floor(centre - ends), np.ceil(centre + ends)])
    return _LensMap(float(slope[-1]), slope, bend, 2 * radius[-1] / slope[-1] ** 2, reach)


def _sampled_map(lens: Lens) -> _LensMap:
    """The same of a lens that is not round, from a grid of slopes in polar coordinates."""
    end = min(WIDEST * math.sqrt(2), slope_end(whole(lens.coefficients)) * (1 - 1e-9))
    slope = np.linspace(0, end, _SLOPES)[1:]
    around = np.linspace(0, 2 * math.pi, _DIRECTIONS, endpoint=False)
    unit = np.stack([np.cos(around), np.sin(around), np.zeros(_DIRECTIONS)], -1)
    step = float(slope[1] - slope[0])

    def bent(offset: FloatArray) -> FloatArray:
        points = slope[:, None, None] * unit + offset
        points[..., 2] = 1
        radius = np.hypot(points[..., 0], points[..., 1])
        points[..., :2] *= np.minimum(1, end / np.maximum(radius, 1e-12))[..., None]
        found: FloatArray = (lens.project(points) - lens.centre) / lens.focal
        return found

    here = bent(np.zeros(3))
    x, y = np.array([step, 0, 0]), np.array([0, step, 0])
    second = [bent(x) - 2 * here + bent(-x), bent(y) - 2 * here + bent(-y), (bent(x + y) - bent(x) - bent(y) + here)]
    norm = np.sqrt(
        sum(factor * np.sum(np.square(derivative), -1) for factor, derivative in zip((1, 1, 2), second, strict=True))
    )
    bend = np.maximum.accumulate(np.max(norm[:-2], axis=1)) / step**2
    pixels = here * lens.focal + lens.centre
    reach = np.concatenate([np.floor(np.min(pixels, axis=(0, 1))), np.ceil(np.max(pixels, axis=(0, 1)))])
    beyond = 2 * float(np.max(np.hypot(here[-1, :, 0], here[-1, :, 1]))) / end**2
    return _LensMap(end, slope[:-2], bend, beyond, reach)


def unlimited_rays(lens: Lens, low: IntArray, high: IntArray, every: int) -> FloatArray:
    """Unit rays (h, w, 3) through every n-th pixel from `low` to `high`; NaN beyond 80 degrees to a side, up, down."""
    inside = (low >= 0).all() and (high < lens.size).all()
    if inside and every == 1:
        if lens not in _kept:
            _kept[lens] = lens.rays()
            while len(_kept) > _LENSES:
                _kept.popitem(last=False)
        return np.ascontiguousarray(_kept[lens][low[1] : high[1] + 1, low[0] : high[0] + 1])
    x, y = np.arange(low[0], high[0] + 1, every), np.arange(low[1], high[1] + 1, every)
    rays = lens.rays_at(np.stack(np.meshgrid(x, y), -1))
    if not sees_beyond(lens):
        rays[np.abs(rays[..., :2]).max(-1) > WIDEST * rays[..., 2]] = np.nan
    return rays


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _spans(points: FloatArray, faces: IntArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Of triangles with corners (x, y, slope x, slope y): least and largest x and y (F, 2), longest edge in slopes."""
    low, high, longest = np.empty((len(faces), 2)), np.empty((len(faces), 2)), np.empty(len(faces))
    for i in range(len(faces)):
        a, b, c = points[faces[i, 0]], points[faces[i, 1]], points[faces[i, 2]]
        for axis in range(2):
            low[i, axis], high[i, axis] = min(a[axis], b[axis], c[axis]), max(a[axis], b[axis], c[axis])
        ab, bc, ca = b[2:] - a[2:], c[2:] - b[2:], a[2:] - c[2:]
        square = max(ab[0] ** 2 + ab[1] ** 2, bc[0] ** 2 + bc[1] ** 2, ca[0] ** 2 + ca[1] ** 2)
        longest[i] = math.sqrt(square)
    return low, high, longest


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _clipped(corners: FloatArray, widest: float) -> tuple[FloatArray, IntArray]:
    """Triangles cut to the pyramid |x|, |y| <= w z (Sutherland and Hodgman, 1974): slopes (F, 7, 2), corner counts."""
    slopes = np.zeros((len(corners), 7, 2))
    count = np.zeros(len(corners), np.int64)
    now, cut = np.zeros((8, 3)), np.zeros((8, 3))
    for i in range(len(corners)):
        n = 3
        now[:3] = corners[i]
        for plane in range(4):
            axis, sign = plane // 2, 1.0 - 2.0 * (plane % 2)
            m = 0
            for k in range(n):
                here, there = now[k], now[(k + 1) % n]
                a, b = widest * here[2] - sign * here[axis], widest * there[2] - sign * there[axis]
                if a >= 0:
                    cut[m] = here
                    m += 1
                if (a > 0 and b < 0) or (a < 0 and b > 0):
                    cut[m] = here + (a / (a - b)) * (there - here)
                    m += 1
            now[:m] = cut[:m]
            n = m
        for k in range(n):
            if now[k, 2] > 0:
                slopes[i, count[i]] = now[k, :2] / now[k, 2]
                count[i] += 1
    return slopes, count


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _covered_by_triangles(rays: FloatArray, corners: FloatArray, box: IntArray) -> int:
    """Pixels whose ray hits a triangle, each triangle tried within its box."""
    hit = np.zeros(rays.shape[:2], np.uint8)
    for i in range(len(corners)):
        terms = triangle_terms(corners[i])
        for y in range(box[i, 1], box[i, 3] + 1):
            for x in range(box[i, 0], box[i, 2] + 1):
                if not hit[y, x] and meeting_point(terms, rays[y, x]) > 0:
                    hit[y, x] = 1
    return int(hit.sum())


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
