"""Paints a course of coloured cones as a small car's camera would frame it, with boxes that are known exactly.

A picture is computed by casting one ray a pixel onto a floor, four walls and cones. There is no transport of light: no
lamp, no reflection, no true shadow. It is a stand-in to try things on, not a photograph and not a simulator.

World frame (REP 103): x along the hall, y to the left, z up, metres, the floor at z = 0. Camera frame: x right, y down,
z forward.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import cv2
import numpy as np
import numpy.typing as npt

from simjudge.core.arrays import FloatArray, IntArray

OVERSAMPLING = 2
"""Rays a pixel along each side, averaged."""
CONE_HEIGHT, FOOT_RADIUS, TOP_RADIUS = 0.077, 0.036, 0.009
"""A small traffic cone, metres."""
STRIPE = (0.52, 0.64)
"""Where the white stripe is, as parts of the height."""
RED, GREEN = 1, 2
FloatImage = npt.NDArray[np.float32]
Window = tuple[int, int, int, int]
"""A part of the oversampled picture's plane: x0, y0, x1, y1, the last two just outside."""


@dataclass(frozen=True)
class Camera:
    """A pinhole camera. Its centre is the middle of the picture."""

    width: int = 640
    height: int = 360
    field_of_view: float = 1.396
    """Horizontal, radians."""

    @property
    def focal(self) -> float:
        """Focal length in pixels."""
        return self.width / 2 / math.tan(self.field_of_view / 2)

    def rays(self, window: Window | None = None) -> FloatImage:
        """Directions of rays in the camera frame, (h, w, 3) with OVERSAMPLING, not normalized: z is 1.

        Those of the whole picture, or of a window that may reach beyond it.
        """
        x0, y0, x1, y1 = window or (0, 0, self.width * OVERSAMPLING, self.height * OVERSAMPLING)
        step = 1 / OVERSAMPLING
        x = (np.arange(x0, x1) + 0.5) * step - self.width / 2
        y = (np.arange(y0, y1) + 0.5) * step - self.height / 2
        grid = np.meshgrid(x / self.focal, y / self.focal)
        return np.stack([*grid, np.ones_like(grid[0])], 2).astype(np.float32)


@dataclass(frozen=True)
class Pose:
    """Where the camera is and looks: metres and radians; pitch is down positive, roll clockwise positive."""

    x: float
    y: float
    z: float
    yaw: float
    pitch: float
    roll: float = 0.0

    def rotation(self) -> FloatArray:
        """The matrix (3, 3) that takes camera coordinates to world coordinates."""
        cy, sy, cp, sp = math.cos(self.yaw), math.sin(self.yaw), math.cos(self.pitch), math.sin(self.pitch)
        cr, sr = math.cos(self.roll), math.sin(self.roll)
        forward = np.array([cy * cp, sy * cp, -sp])
        right = np.array([sy, -cy, 0.0])
        down = np.cross(forward, right)
        return np.stack([cr * right + sr * down, cr * down - sr * right, forward], 1)


@dataclass(frozen=True)
class Look:
    """What things look like; colours are red, green, blue in [0, 1]."""

    floor: tuple[float, float, float] = (0.52, 0.50, 0.47)
    wall: tuple[float, float, float] = (0.78, 0.78, 0.75)
    cones: Mapping[int, tuple[float, float, float]] = field(
        default_factory=lambda: {RED: (0.80, 0.10, 0.08), GREEN: (0.08, 0.52, 0.22)}
    )
    """By class id."""
    stripe: tuple[float, float] = STRIPE
    """Where the cones' white stripe is, as parts of the height; (0, 0) for none."""
    tile: float = 0.6
    """Side of a floor tile, metres."""
    texture: float = 0.0
    """How uneven floor and wall are, as a part of their brightness."""
    gradient: float = 0.1
    """How much brighter the hall is at its far end."""
    seed: int = 0


@dataclass(frozen=True)
class Course:
    """A hall with cones.

    Attributes:
        place: float64 (N, 2), where the cones stand.
        class_id: int64 (N,), each with a colour in `Look.cones`.
        hall: x0, y0, x1, y1 of the walls.
    """

    place: FloatArray
    class_id: IntArray
    hall: tuple[float, float, float, float]


@dataclass(frozen=True)
class Painted:
    """A picture and what is in it.

    Attributes:
        pixels: float32 (H, W, 3), full scale 1.
        cone: int64 (K,), the cones that can be seen.
        box: float64 (K, 4), x0, y0, x1, y1 around the visible part of each, to 1 / OVERSAMPLING of a pixel.
        unhidden: float64 (K,), how much of the cone's outline within the picture nothing else hides, in (0, 1].
        visible: float64 (K,), how much of its whole outline can be seen: beyond the picture, nothing can.
        distance: float64 (K,), from the camera straight to the middle of the cone, metres.
    """

    pixels: FloatImage
    cone: IntArray
    box: FloatArray
    unhidden: FloatArray
    visible: FloatArray
    distance: FloatArray


def paint(course: Course, pose: Pose, camera: Camera, look: Look) -> Painted:
    """Paint what the camera sees from a pose."""
    canvas = _Canvas.of_hall(course, pose, camera, look)
    distance = np.linalg.norm(course.place - [pose.x, pose.y], axis=1)
    for cone in np.argsort(-distance):  # the far ones first: nearer ones are painted over them
        canvas.add_cone(int(cone), course, look)
    small = cv2.resize(canvas.picture, (camera.width, camera.height), interpolation=cv2.INTER_AREA)
    return _seen(np.asarray(small, np.float32), canvas, course)


@dataclass(frozen=True)
class _Canvas:
    """A picture being painted, one element a ray: its colour, whose it is.

    And how many rays would meet each cone alone: within the picture, and on a picture without edges.
    """

    pose: Pose
    camera: Camera
    eye: FloatArray
    rays: FloatImage
    picture: FloatImage
    owner: IntArray
    outline: IntArray
    whole: IntArray

    @classmethod
    def of_hall(cls, course: Course, pose: Pose, camera: Camera, look: Look) -> _Canvas:
        rays = camera.rays() @ pose.rotation().T.astype(np.float32)
        eye = np.array([pose.x, pose.y, pose.z])
        picture = _hall(course, eye.astype(np.float32), rays, look)
        owner = np.full(rays.shape[:2], -1, np.int64)
        none = np.zeros(len(course.place), np.int64)
        return cls(pose, camera, eye, rays, picture, owner, none, none.copy())

    def add_cone(self, cone: int, course: Course, look: Look) -> None:
        """Paint one cone: the exact intersection of every ray near it with a frustum."""
        around = _window(course.place[cone], self.pose, self.camera)
        if around is None:
            return
        rows, columns = self.owner.shape
        x0, y0, x1, y1 = max(around[0], 0), max(around[1], 0), min(around[2], columns), min(around[3], rows)
        if x0 >= x1 or y0 >= y1:
            return
        eye, window = self.eye - [*course.place[cone], 0.0], (slice(y0, y1), slice(x0, x1))
        reach, height, facing = _frustum(eye, self.rays[window].astype(np.float64))
        hit = np.isfinite(reach)
        self.outline[cone] = self.whole[cone] = np.count_nonzero(hit)
        if around != (x0, y0, x1, y1):
            beyond = self.camera.rays(around) @ self.pose.rotation().T.astype(np.float32)
            self.whole[cone] = np.count_nonzero(np.isfinite(_frustum(eye, beyond.astype(np.float64))[0]))
        colour = np.array(look.cones[int(course.class_id[cone])])
        part = height / CONE_HEIGHT
        stripe = (part > look.stripe[0]) & (part < look.stripe[1])
        painted = np.where(stripe[..., None], 0.88, colour) * (0.55 + 0.45 * np.clip(facing, 0, 1))[..., None]
        self.picture[window][hit] = painted[hit]
        self.owner[window][hit] = cone


def _seen(pixels: FloatImage, canvas: _Canvas, course: Course) -> Painted:
    cones, boxes, shown = [], [], []
    for cone in np.flatnonzero(canvas.outline):
        rows, columns = np.nonzero(canvas.owner == cone)
        if len(rows) == 0:
            continue
        cones.append(int(cone))
        boxes.append([columns.min(), rows.min(), columns.max() + 1, rows.max() + 1])
        shown.append(len(rows))
    cone_of, count = np.array(cones, np.int64), np.array(shown, np.float64)
    box = np.array(boxes, np.float64).reshape(-1, 4) / OVERSAMPLING
    middle = np.insert(course.place[cone_of], 2, CONE_HEIGHT / 2, axis=1)
    distance = np.linalg.norm(middle - canvas.eye, axis=1)
    return Painted(pixels, cone_of, box, count / canvas.outline[cone_of], count / canvas.whole[cone_of], distance)


def _hall(course: Course, eye: FloatImage, rays: FloatImage, look: Look) -> FloatImage:
    """Floor and walls: for each ray, the nearest of five planes."""
    x0, y0, x1, y1 = course.hall
    with np.errstate(divide="ignore", invalid="ignore"):
        to_floor = np.where(rays[..., 2] < 0, -eye[2] / rays[..., 2], np.inf)
        to_x = np.where(rays[..., 0] > 0, x1 - eye[0], x0 - eye[0]) / rays[..., 0]
        to_y = np.where(rays[..., 1] > 0, y1 - eye[1], y0 - eye[1]) / rays[..., 1]
    to_wall = np.minimum(np.abs(to_x), np.abs(to_y))
    on_floor = to_floor < to_wall
    hit = eye + rays * np.minimum(to_floor, to_wall)[..., None]
    along = np.where(np.abs(to_x) < np.abs(to_y), hit[..., 1], hit[..., 0])
    floor = np.array(look.floor, np.float32) * _floor_pattern(hit[..., 0], hit[..., 1], course, look)[..., None]
    wall = np.array(look.wall, np.float32) * _wall_pattern(along, hit[..., 2], look)[..., None]
    brightness = 1 + look.gradient * ((hit[..., 0] - x0) / (x1 - x0) - 0.5)
    return np.asarray(np.where(on_floor[..., None], floor, wall) * brightness[..., None], np.float32)


def _floor_pattern(x: FloatImage, y: FloatImage, course: Course, look: Look) -> FloatImage:
    """Brightness of the floor: tiles with joints, unevenness, and a dark spot where a cone stands."""
    u, v = x / look.tile, y / look.tile
    joint = np.minimum(np.abs(u - np.rint(u)), np.abs(v - np.rint(v))) < 0.004 / look.tile
    shade = np.where(joint, 0.78, 1.0)
    if look.texture:
        coarse, fine = _noise(x, y, 0.35, look.seed), _noise(x, y, 0.02, look.seed + 1)
        shade = shade * (1 + look.texture * (0.6 * coarse + 0.4 * fine))
    for cx, cy in course.place:
        squared = ((x - cx - 0.01) / (1.6 * FOOT_RADIUS)) ** 2 + ((y - cy) / (1.4 * FOOT_RADIUS)) ** 2
        near = squared < 6
        shade[near] *= 1 - 0.55 * np.exp(-squared[near])
    return np.asarray(shade, np.float32)


def _wall_pattern(along: FloatImage, height: FloatImage, look: Look) -> FloatImage:
    """Brightness of the walls: a skirting board, and unevenness."""
    shade = np.where(height < 0.09, 0.35, 1.0)
    if look.texture:
        shade = shade * (1 + 0.5 * look.texture * _noise(along, height, 0.8, look.seed + 2))
    return np.asarray(shade, np.float32)


def _noise(x: FloatImage, y: FloatImage, scale: float, seed: int) -> FloatImage:
    """Smooth noise in [-1, 1] over the plane, features of about `scale` metres, period 256 of them."""
    table = np.random.default_rng(seed).uniform(-1, 1, (256, 256)).astype(np.float32)
    u, v = x / scale, y / scale
    i, j = np.floor(u), np.floor(v)
    fu, fv = u - i, v - j
    i, j = i.astype(np.int64) & 255, j.astype(np.int64) & 255
    i1, j1 = (i + 1) & 255, (j + 1) & 255
    low = table[i, j] * (1 - fu) + table[i1, j] * fu
    high = table[i, j1] * (1 - fu) + table[i1, j1] * fu
    return np.asarray(low * (1 - fv) + high * fv, np.float32)


def _window(place: FloatArray, pose: Pose, camera: Camera) -> Window | None:
    """What a cone can cover of a picture without edges; None where it is behind the camera."""
    corners = [
        (place[0] + dx * FOOT_RADIUS, place[1] + dy * FOOT_RADIUS, z)
        for dx in (-1, 1)
        for dy in (-1, 1)
        for z in (0.0, CONE_HEIGHT)
    ]
    seen = (np.array(corners) - [pose.x, pose.y, pose.z]) @ pose.rotation()
    if seen[:, 2].min() < 0.05:
        return None
    u = (seen[:, 0] / seen[:, 2] * camera.focal + camera.width / 2) * OVERSAMPLING
    v = (seen[:, 1] / seen[:, 2] * camera.focal + camera.height / 2) * OVERSAMPLING
    return math.floor(u.min()), math.floor(v.min()), math.ceil(u.max()), math.ceil(v.max())


def _frustum(eye: FloatArray, direction: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Where rays meet an upright frustum that stands at the origin.

    Args:
        eye: (3,), where the rays start.
        direction: (h, w, 3).

    Returns:
        How far along each ray (infinite where it misses), the height of the hit, and how squarely the surface there
        faces the light (above, to the left and towards the camera), each (h, w).
    """
    slope = (TOP_RADIUS - FOOT_RADIUS) / CONE_HEIGHT
    radius = FOOT_RADIUS + slope * eye[2]
    dx, dy, dz = direction[..., 0], direction[..., 1], direction[..., 2]
    a = dx**2 + dy**2 - (slope * dz) ** 2
    half_b = eye[0] * dx + eye[1] * dy - radius * slope * dz
    c = eye[0] ** 2 + eye[1] ** 2 - radius**2
    root = np.sqrt(np.maximum(half_b**2 - a * c, 0))
    side = np.where(half_b**2 >= a * c, (-half_b - root) / a, np.inf)
    with np.errstate(invalid="ignore"):
        height = eye[2] + side * dz
    on_side = np.isfinite(side) & (side > 0) & (height >= 0) & (height <= CONE_HEIGHT)
    with np.errstate(divide="ignore"):
        cap = np.where(dz < 0, (CONE_HEIGHT - eye[2]) / dz, np.inf)
    on_cap = np.isfinite(cap) & (cap > 0)
    reach_cap = np.where(on_cap, cap, 0.0)
    on_cap &= np.hypot(eye[0] + reach_cap * dx, eye[1] + reach_cap * dy) <= TOP_RADIUS
    reach = np.where(on_side, side, np.inf)
    reach = np.where(on_cap & (cap < reach), cap, reach)
    finite = np.where(np.isfinite(reach), reach, 0.0)
    hit = eye + finite[..., None] * direction
    normal = np.stack([hit[..., 0], hit[..., 1], -slope * np.hypot(hit[..., 0], hit[..., 1])], -1)
    normal = np.where((on_cap & (reach == cap))[..., None], [0.0, 0.0, 1.0], normal)
    normal /= np.maximum(np.linalg.norm(normal, axis=-1, keepdims=True), 1e-12)
    light = np.array([eye[0], eye[1], 0.0]) / max(float(np.hypot(eye[0], eye[1])), 1e-9) * 0.5 + [0.0, 0.35, 0.8]
    return reach, hit[..., 2], normal @ (light / np.linalg.norm(light))
