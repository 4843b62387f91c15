"""The ground of a scene: its heights where it is not flat, what stands on it, and lines to drive along.

A grid of heights is what MuJoCo collides with, and what says how high the ground is where something is placed. Rays
see the mesh.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.spatial import ConvexHull

from simjudge.core.arrays import BoolArray, FloatArray, ShortRepr
from simjudge.core.documents import Location
from simjudge.core.errors import UsageError
from simjudge.core.numba_cache import njit
from simjudge.geometry.poses import Pose
from simjudge.sim.scene.model import NO_INSTANCE, Collider, Mesh, Thing
from simjudge.sim.scene.scene_file import ArcsFields, LineFields, SceneDocument, SineFields

MOST_HEIGHTS = 4_000_000  # Heights of one ground at most
_CELLS = 500  # Cells along the longer side of a ground whose file does not say how large they are
_SMALLEST = 0.01  # Metres: such a cell's side at least


def ground_collider(mesh: Mesh, cell: float | None = None) -> Collider:
    """The heights of a mesh from above, at most `cell` apart (a 500th of the longer side, 1 cm at least), metres."""
    low, high = mesh.vertices.min(0), mesh.vertices.max(0)
    size = (high - low)[:2]
    if not np.all(size > 0):
        raise UsageError("a mesh without area seen from above is no ground")
    step = cell or max(float(size.max()) / _CELLS, _SMALLEST)
    columns, rows = (max(math.ceil(side / step - 1e-9), 1) + 1 for side in size.tolist())
    if columns * rows > MOST_HEIGHTS:
        raise UsageError(f"{columns} x {rows} heights are more than {MOST_HEIGHTS}; take a larger cell")
    heights = np.full((rows, columns), low[2])
    raise_to_triangles(mesh.vertices[mesh.faces], low, size / (columns - 1, rows - 1), heights)
    middle = (low + high) / 2
    return Collider("ground", tuple(size.tolist()), (float(middle[0]), float(middle[1]), 0.0), heights)


@dataclass(frozen=True, eq=False, repr=False)
class Ground(ShortRepr):
    """The uneven grounds of a scene, to stand on."""

    things: tuple[Thing, ...] = ()

    @classmethod
    def of(cls, things: Iterable[Thing]) -> Ground:
        """Those of some things that are ground."""
        return cls(tuple(thing for thing in things if thing.collider.kind == "ground"))

    def height(self, x: float, y: float) -> float:
        """Metres above z = 0; 0 where there is no uneven ground (x, y: metres, world)."""
        return self.stand(Pose((x, y, 0.0))).position[2]

    def stand(self, pose: Pose) -> Pose:
        """A pose on the level ground, put on whatever uneven ground is there: raised, and tilted with the slope."""
        x, y, z = pose.position
        found = [hit for hit in (_under(thing, x, y) for thing in self.things) if hit is not None]
        if not found:
            return pose
        height, normal = max(found, key=lambda hit: hit[0])
        return Pose((x, y, z + height)) @ Pose.from_matrix(_tilt(normal)) @ Pose((0.0, 0.0, 0.0), pose.orientation)


def _tilt(normal: FloatArray) -> FloatArray:
    """The shortest rotation (as 3 x 4) that takes z to a normal that points upwards."""
    x, y, z = normal
    rotation = np.array(
        [
            [1 - x * x / (1 + z), -x * y / (1 + z), x],
            [-x * y / (1 + z), 1 - y * y / (1 + z), y],
            [-x, -y, z],
        ]
    )
    return np.hstack([rotation, np.zeros((3, 1))])


def _under(thing: Thing, x: float, y: float) -> tuple[float, FloatArray] | None:
    """Height and unit normal of a ground at a place of the world; None beside it."""
    heights = thing.collider.heights
    if heights is None:
        return None
    local = thing.pose.to_body([x, y, 0.0])[:2] - thing.collider.centre[:2]
    size = np.array(thing.collider.size)
    rows, columns = heights.shape
    at = (local / size + 0.5) * (columns - 1, rows - 1)
    if np.any(at < 0) or np.any(at > (columns - 1, rows - 1)):
        return None
    j, i = np.minimum(at.astype(int), (columns - 2, rows - 2))
    u, v = at - (j, i)
    (a, b), (c, d) = heights[i, j : j + 2], heights[i + 1, j : j + 2]
    along = ((b - a) * (1 - v) + (d - c) * v) / (size[0] / (columns - 1))
    across = ((c - a) * (1 - u) + (d - b) * u) / (size[1] / (rows - 1))
    height = (a * (1 - u) + b * u) * (1 - v) + (c * (1 - u) + d * u) * v
    normal = thing.pose.rotation_matrix() @ (np.array([-along, -across, 1.0]) / math.hypot(along, across, 1.0))
    return float(height) + thing.pose.position[2], normal


# Weight of a triangle's corner from which on a point counts as inside: borders of triangles belong to both.
_INSIDE = -1e-9


@njit(cache=True)  # type: ignore[untyped-decorator]
def raise_to_triangles(triangles: FloatArray, low: FloatArray, step: FloatArray, heights: FloatArray) -> None:
    """Raise a grid of heights, in place, to the highest triangle (F, 3, 3) above or below each of its points."""
    rows, columns = heights.shape
    for t in range(len(triangles)):
        a, b, c = triangles[t, 0], triangles[t, 1], triangles[t, 2]
        area = (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
        if abs(area) < 1e-15:
            continue
        left, right = min(a[0], b[0], c[0]), max(a[0], b[0], c[0])
        front, back = min(a[1], b[1], c[1]), max(a[1], b[1], c[1])
        for i in range(max(int((front - low[1]) / step[1]), 0), min(int((back - low[1]) / step[1]) + 2, rows)):
            y = low[1] + i * step[1]
            for j in range(max(int((left - low[0]) / step[0]), 0), min(int((right - low[0]) / step[0]) + 2, columns)):
                x = low[0] + j * step[0]
                v = ((x - a[0]) * (c[1] - a[1]) - (y - a[1]) * (c[0] - a[0])) / area
                w = ((b[0] - a[0]) * (y - a[1]) - (b[1] - a[1]) * (x - a[0])) / area
                if v >= _INSIDE and w >= _INSIDE and v + w <= 1 - _INSIDE:
                    heights[i, j] = max(heights[i, j], a[2] + v * (b[2] - a[2]) + w * (c[2] - a[2]))


_STEP = 0.02  # Metres between the points of a line
_LONGEST = 2000.0  # Metres
_LARGEST_GAP = 0.01  # Metres between the start and the end of arcs that are closed
_LARGEST_KINK = math.radians(1.0)  # Radians between the directions of their start and their end


def build_line(document: SceneDocument, fields: LineFields, location: Location) -> FloatArray:
    """The line that a scene's file describes: points (P, 2)."""
    if fields.waypoints is not None:
        kind = "waypoints"
        line = _waypoints(document, fields.waypoints, (*location, "waypoints"), closed=fields.closed)
    elif fields.arcs is not None:
        kind, line = "arcs", _arcs(document, fields.arcs, (*location, "arcs"))
        if fields.closed:
            line = _joined(document, line, fields.arcs, (*location, "arcs"))
    elif fields.sine is not None:
        kind, line = "sine", _sine(document, fields.sine, (*location, "sine"))
    else:
        raise document.error(location, "a path needs one of waypoints, arcs, sine; none is given")
    length = float(np.sum(np.linalg.norm(np.diff(line, axis=0), axis=1)))
    _check_length(document, length, (*location, kind))
    return resample(line, _STEP)


def _check_length(document: SceneDocument, length: float, location: Location) -> None:
    """Refuse a line that is too long, before points are made of it where possible."""
    if not 0 < length <= _LONGEST:
        raise document.error(location, f"{length:.0f} m long; 0 to {_LONGEST:.0f} m can be")


def resample(line: FloatArray, step: float) -> FloatArray:
    """The points of a line at even arc lengths, both ends included: points (Q, 2); line: points (P, 2), metres."""
    length = np.concatenate([[0], np.cumsum(np.linalg.norm(np.diff(line, axis=0), axis=1))])
    at = np.linspace(0, length[-1], max(math.ceil(length[-1] / step - 1e-9), 1) + 1)
    return np.stack([np.interp(at, length, line[:, k]) for k in range(2)], 1)


def headings(line: FloatArray, *, closed: bool = False) -> FloatArray:
    """The direction of a line at its points: radians (P,), counter-clockwise from +x (line: points (P, 2), metres)."""
    if closed:
        ahead = np.gradient(np.concatenate([line[-2:-1], line, line[1:2]]), axis=0)[1:-1]
    else:
        ahead = np.gradient(line, axis=0)
    angle: FloatArray = np.arctan2(ahead[:, 1], ahead[:, 0])
    return angle


def tightest_radius(line: FloatArray, *, closed: bool = False) -> float:
    """The smallest radius of curvature of a line, metres (line: points (P, 2), metres, evenly spaced)."""
    if closed:
        line = np.concatenate([line[-3:-1], line, line[1:3]])
    turn = np.abs(np.diff(np.unwrap(headings(line))))
    step = np.linalg.norm(np.diff(line, axis=0), axis=1)
    # The ends' headings are one-sided, half a step off.
    return float(np.min(step[1:-1] / np.maximum(turn[1:-1], 1e-12))) if len(line) > 4 else math.inf


def offset_line(line: FloatArray, left: float, *, closed: bool = False) -> FloatArray:
    """The points beside a line's points: points (P, 2); line: points (P, 2), metres; left: metres to the left."""
    angle = headings(line, closed=closed)
    return line + left * np.stack([-np.sin(angle), np.cos(angle)], 1)


def _waypoints(
    document: SceneDocument, waypoints: Sequence[tuple[float, float]], location: Location, *, closed: bool
) -> FloatArray:
    """A cubic spline through the waypoints, over the lengths of its chords."""
    points = np.array([*waypoints, *(waypoints[:1] if closed else ())], np.float64)
    chords = np.linalg.norm(np.diff(points, axis=0), axis=1)
    least = 3 if closed else 2
    if len(waypoints) < least or not np.all(chords > 1e-6):
        again = "; the first is not given again at the end" if closed else ""
        message = f"{'three' if closed else 'two'} points or more, all apart, are needed{again}"
        raise document.error(location, message)
    if len(points) == 2:
        return points
    along = np.concatenate([[0], np.cumsum(chords)])
    _check_length(document, float(along[-1]), location)
    fine = np.linspace(0, along[-1], math.ceil(along[-1] / (_STEP / 4)) + 1)
    line: FloatArray = CubicSpline(along, points, bc_type="periodic" if closed else "natural")(fine)
    return line


def _joined(document: SceneDocument, line: FloatArray, fields: ArcsFields, location: Location) -> FloatArray:
    """Arcs that come back to their start, with the start as their last point."""
    turned = sum((piece.left or 0.0) - (piece.right or 0.0) for piece in fields.pieces)
    kink = abs(math.remainder(math.radians(turned), 2 * math.pi))
    gap = float(np.linalg.norm(line[-1] - line[0]))
    if gap > _LARGEST_GAP or kink > _LARGEST_KINK:
        off = f"{gap:.3f} m and {math.degrees(kink):.1f} degrees off"
        raise document.error(location, f"they end {off} their start; change the pieces, or remove closed")
    return np.concatenate([line[:-1], line[:1]])


def _arcs(document: SceneDocument, fields: ArcsFields, location: Location) -> FloatArray:
    """`arcs: {start: [x, y, yaw], pieces: [{straight: 1}, {left: 90, radius: 2}, ...]}`, angles in degrees."""
    x, y, yaw = fields.start
    angle, parts, total = math.radians(yaw), [np.array([[x, y]])], 0.0
    for piece in fields.pieces:
        if piece.straight is not None:
            length, curvature = piece.straight, 0.0
        else:
            radius, turn = piece.radius or 0.0, piece.left or piece.right or 0.0
            length, curvature = radius * math.radians(turn), (1 if piece.left is not None else -1) / radius
        total += length
        _check_length(document, total, location)
        along = np.linspace(0, length, math.ceil(length / (_STEP / 4)) + 1)[1:]
        parts.append(parts[-1][-1] + _arc(along, angle, curvature))
        angle += length * curvature
    line: FloatArray = np.concatenate(parts)
    return line


def _arc(along: FloatArray, angle: float, curvature: float) -> FloatArray:
    now = angle + along * curvature
    if curvature == 0:
        line: FloatArray = np.stack([along * math.cos(angle), along * math.sin(angle)], 1)
    else:
        line = np.stack([np.sin(now) - math.sin(angle), math.cos(angle) - np.cos(now)], 1) / curvature
    return line


def _sine(document: SceneDocument, fields: SineFields, location: Location) -> FloatArray:
    """`sine: {from: [x, y], to: [x, y], amplitude: 0.8, periods: 1.5}`; it swings to the left first."""
    start, end = np.array(fields.from_), np.array(fields.to)
    length = float(np.linalg.norm(end - start))
    if length <= 1e-6:
        raise document.error((*location, "to"), "another point than from is needed")
    _check_length(document, length, location)
    amplitude, periods = fields.amplitude, fields.periods
    along = np.linspace(0, 1, math.ceil(length / (_STEP / 8)) + 1)
    ahead = (end - start) / length
    swing = amplitude * np.sin(2 * math.pi * periods * along)
    line: FloatArray = start + along[:, None] * (end - start) + swing[:, None] * np.array([-ahead[1], ahead[0]])
    return line


_HEAD_ROOM = 0.5  # Metres: things that begin above stand in nobody's way
_FLAT = 0.005  # Metres: things that end below stand in nobody's way
_THICKNESS = 1e-3
_SMALLEST_RADIUS = 0.05  # Metres: radius of the smallest circle about what moves


class Floor:
    """Convex outlines of solid static things, and circles about those that are free or counted.

    Attributes:
        circles: float64 (N, 3), x, y and radius, metres.
    """

    def __init__(self, things: Iterable[Thing] = ()) -> None:
        self.circles: FloatArray = np.zeros((0, 3))
        self._round: list[str] = []
        self._outlines: dict[str, FloatArray] = {}
        self.ground = Ground()
        self.add(things)

    def add(self, things: Iterable[Thing]) -> None:
        """Take note of those of the things that stand in the way."""
        circles, things = [], list(things)
        self.ground = Ground.of([*self.ground.things, *things])
        for thing in things:
            if thing.path is not None:
                # Circles so close together that they hold all that goes along the path.
                radius = max(radius_from_above(thing.mesh.vertices), _SMALLEST_RADIUS)
                swept = resample(thing.path.keyframes.position[:, 0, :2], radius / 2).tolist()
                circles += [[x, y, radius] for x, y in swept]
                self._round += [thing.name] * len(swept)
            elif thing.motion == "free" or thing.instance != NO_INSTANCE:
                circles.append([*thing.pose.position[:2], radius_from_above(thing.mesh.vertices)])
                self._round.append(thing.name)
            elif thing.collider.kind not in {"none", "plane", "ground"}:
                vertices = thing.pose.to_world(thing.mesh.vertices)
                if vertices[:, 2].min() <= _HEAD_ROOM and vertices[:, 2].max() >= _FLAT:
                    self._outlines[thing.name] = _outline(vertices[:, :2])
        self.circles = np.concatenate([self.circles, np.array(circles).reshape(-1, 3)])

    def blocked(self, points: FloatArray, margin: float) -> BoolArray:
        """Which of the points (N, 2) are nearer to an outline than `margin`, metres (a little more at corners)."""
        out = np.zeros(len(points), bool)
        for outline in self._outlines.values():
            out |= _beyond(outline, points) < margin
        return out

    def at(self, x: float, y: float, margin: float) -> str | None:
        """The name of what is nearer to a point than `margin`, metres; None where nothing is that near."""
        point = np.array([[x, y]])
        for name, (u, v, radius) in zip(self._round, self.circles.tolist(), strict=True):
            if math.hypot(x - u, y - v) < radius / math.sqrt(2) + margin:
                return name
        return next((name for name, outline in self._outlines.items() if _beyond(outline, point)[0] < margin), None)


def radius_from_above(vertices: FloatArray) -> float:
    """Metres from the origin of a mesh to the farthest of its vertices, seen from above (vertices: float64 (V, 3))."""
    return float(np.max(np.linalg.norm(vertices[:, :2], axis=1)))


def _outline(points: FloatArray) -> FloatArray:
    """Sides (S, 3) of the convex hull: a, b, c with a x + b y + c = metres beyond that side."""
    corners = np.array([[-1, -1], [-1, 1], [1, -1], [1, 1]]) * _THICKNESS / 2
    spread = (points[:, None] + corners).reshape(-1, 2)
    sides: FloatArray = ConvexHull(spread).equations
    return sides


def _beyond(outline: FloatArray, points: FloatArray) -> FloatArray:
    """Metres from an outline, negative inside; at corners less than the true distance."""
    distance: FloatArray = np.max(points @ outline[:, :2].T + outline[:, 2], axis=1)
    return distance
