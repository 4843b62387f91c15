"""What the car looks like, for engines that show it: a small open-wheel buggy made from the vehicle's own figures.

Lengths are parts of the wheelbase (along x), of the wheels' radius (up) and of the room between the wheels (across).
The nose falls away so steeply that ART-1's camera, 80 degrees wide and 0.1 rad nose down, sees nothing of the car.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from simjudge.core.arrays import FloatArray
from simjudge.geometry.poses import Pose
from simjudge.sim.scene.model import Mesh, Surface, Thing
from simjudge.sim.vehicle.vehicle import Vehicle


class MeshBuilder:
    """A mesh being put together. Its texture is a row of `colours` equal fields, one for each colour of a palette."""

    def __init__(self, colours: int) -> None:
        self._colours = colours
        self._vertices: list[FloatArray] = []
        self._normals: list[FloatArray] = []
        self._uv: list[FloatArray] = []
        self._faces: list[npt.NDArray[np.int64]] = []
        self._count = 0

    def sheet(self, points: FloatArray, colour: npt.ArrayLike, *, closed: bool = False) -> None:
        """A smooth sheet over points (A, B, 3), metres; from outside, A goes to the right where B goes up."""
        a, b = points.shape[0] - 1, points.shape[1] - 1
        corners = np.stack([points[:-1, :-1], points[1:, :-1], points[1:, 1:], points[:-1, 1:]], axis=2)
        flat = np.cross(corners[:, :, 2] - corners[:, :, 0], corners[:, :, 3] - corners[:, :, 1])
        around = np.zeros((a + 1, b + 1, 3))
        for i, j in ((0, 0), (1, 0), (1, 1), (0, 1)):
            around[i : i + a, j : j + b] += flat
        if closed:
            around[:, 0] = around[:, -1] = around[:, 0] + around[:, -1]
        normals = np.stack([around[:-1, :-1], around[1:, :-1], around[1:, 1:], around[:-1, 1:]], axis=2)
        fields = np.broadcast_to(np.asarray(colour), (a, b))
        self._quads(corners.reshape(-1, 4, 3), normals.reshape(-1, 4, 3), fields.ravel())

    def box(
        self,
        x: tuple[float, float],
        y: tuple[float, float],
        z: tuple[float, float],
        colour: int,
        pose: Pose | None = None,
    ) -> None:
        """A box between two x, y and z, metres, in the frame of `pose`."""
        pose = pose or Pose()
        quads, normals = [], []
        for axis in range(3):
            for side in (0, 1):
                u, v = (axis + 1) % 3, (axis + 2) % 3
                ends = (x, y, z)
                quad = np.zeros((4, 3))
                quad[:, axis] = ends[axis][side]
                quad[:, u] = [ends[u][0], ends[u][1], ends[u][1], ends[u][0]]
                quad[:, v] = [ends[v][0], ends[v][0], ends[v][1], ends[v][1]]
                normal = np.zeros(3)
                normal[axis] = 2 * side - 1
                quads.append(pose.to_world(quad if side else quad[::-1]))
                normals.append(np.tile(pose.rotation_matrix() @ normal, (4, 1)))
        self._quads(np.array(quads), np.array(normals), np.full(6, colour))

    def mesh(self) -> Mesh:
        """All of it as one mesh."""
        vertices, normals, uv = (np.concatenate(part) for part in (self._vertices, self._normals, self._uv))
        return Mesh(vertices, np.concatenate(self._faces), uv, normals)

    def _quads(self, corners: FloatArray, normals: FloatArray, colour: npt.NDArray[np.int64]) -> None:
        """Quads (Q, 4, 3) counter-clockwise from outside; triangles without an area are left out."""
        four = self._count + np.arange(4 * len(corners)).reshape(-1, 4)
        faces = np.concatenate([four[:, [0, 1, 2]], four[:, [0, 2, 3]]])
        triangles = np.concatenate([corners[:, [0, 1, 2]], corners[:, [0, 2, 3]]])
        area = np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])
        length = np.linalg.norm(normals, axis=-1, keepdims=True)
        u = (np.repeat(colour, 4) + 0.5) / self._colours
        self._faces.append(faces[np.linalg.norm(area, axis=1) > 1e-12])
        self._vertices.append(corners.reshape(-1, 3))
        self._normals.append((normals / np.where(length > 0, length, 1)).reshape(-1, 3))
        self._uv.append(np.stack([u, np.full_like(u, 0.5)], axis=-1))
        self._count += 4 * len(corners)


VEHICLE = "vehicle"
WHEELS = ("front_left", "front_right", "rear_left", "rear_right")
# The car's parts by the names that poses have; "vehicle" is everything but the wheels, its frame is base_link.
PARTS = (VEHICLE, *(f"{VEHICLE}/wheel_{wheel}" for wheel in WHEELS))
BLUE, GLASS, DARK, RUBBER, METAL, WHITE = range(6)  # Rows of the palette
_PALETTE = np.array(
    [
        [0.02, 0.10, 0.42],
        [0.01, 0.012, 0.015],
        [0.02, 0.02, 0.022],
        [0.012, 0.012, 0.012],
        [0.5, 0.5, 0.52],
        [0.75, 0.75, 0.72],
    ],
    np.float32,
)
_TUB = np.array(
    [
        # x / wheelbase, half width / room, bottom and top / radius, and how much narrower it is on top
        [-0.17, 0.45, 0.75, 1.15, 0.80],
        [-0.08, 0.78, 0.55, 1.55, 0.75],
        [0.10, 0.84, 0.50, 2.05, 0.62],
        [0.26, 0.84, 0.50, 2.50, 0.55],
        [0.50, 0.80, 0.50, 2.45, 0.55],
        [0.74, 0.66, 0.50, 1.58, 0.72],
        [0.98, 0.58, 0.50, 1.42, 0.75],
        [1.12, 0.52, 0.50, 1.15, 0.75],
        [1.23, 0.42, 0.50, 0.80, 0.80],
    ]
)
_FLOOR = 0.42  # Height of the body's lowest part / wheels' radius
_TOP = 1.6  # Height up to which the body is solid / wheels' radius
_NOSE = 1.29  # The body's foremost x / wheelbase
_TAIL = -0.2  # The body's rearmost x / wheelbase
_HALF_WIDTH = 0.8  # Half the body's width / room between the wheels


def body_box(car: Vehicle) -> tuple[tuple[float, float, float], tuple[float, float, float]]:
    """Centre and size, metres in base_link, of the box that stands for all but the wheels in collisions."""
    low, high = _FLOOR * car.wheel_radius, _TOP * car.wheel_radius
    x0, x1 = _TAIL * car.wheelbase, _NOSE * car.wheelbase
    return ((x0 + x1) / 2, 0.0, (low + high) / 2), (x1 - x0, 2 * _HALF_WIDTH * _room(car), high - low)


def wheel_poses(car: Vehicle, base: Pose) -> dict[str, Pose]:
    """The wheels of a car that stands still with its wheels straight."""
    return {part: base @ Pose(wheel_centre(car, wheel)) for part, wheel in zip(PARTS[1:], WHEELS, strict=True)}


def wheel_centre(car: Vehicle, wheel: str) -> tuple[float, float, float]:
    """Centre of a wheel in base_link, metres."""
    across = car.track / 2 if wheel.endswith("left") else -car.track / 2
    return car.wheelbase if wheel.startswith("front") else 0.0, across, car.wheel_radius


def car_things(car: Vehicle, base: Pose | None = None) -> tuple[Thing, ...]:
    """The car as things to be seen: the body, then the wheels (their frames at their centres, y along the axle)."""
    base = base or Pose()
    poses = {VEHICLE: base} | wheel_poses(car, base)
    wheel = _wheel(car)
    return tuple(
        Thing(part, _body(car) if part == VEHICLE else wheel, _surface(part), poses[part], motion="free", mass=1.0)
        for part in PARTS
    )


def _surface(part: str) -> Surface:
    texture = np.repeat(np.repeat(_PALETTE[None], 8, axis=0), 8, axis=1)
    return Surface((1.0, 1.0, 1.0), texture, 0.3 if part == VEHICLE else 0.7, 0.0)


def _room(car: Vehicle) -> float:
    return (car.track - car.wheel_width) / 2


def _body(car: Vehicle) -> Mesh:
    shape = MeshBuilder(len(_PALETTE))
    long, high, wide = car.wheelbase, car.wheel_radius, _room(car)
    _tub(shape, long, high, wide)
    shape.box((-0.18 * long, 1.22 * long), (-0.62 * wide, 0.62 * wide), (_FLOOR * high, 0.52 * high), DARK)
    shape.box((1.2 * long, _NOSE * long), (-0.78 * wide, 0.78 * wide), (_FLOOR * high, 0.72 * high), DARK)
    shape.box((_TAIL * long, -0.14 * long), (-0.7 * wide, 0.7 * wide), (0.5 * high, 0.85 * high), DARK)
    for x in (0.0, long):
        for low in (0.72, 1.12):
            arm = (low * high, (low + 0.12) * high)
            shape.box((x - 0.2 * high, x + 0.2 * high), (-1.05 * wide, 1.05 * wide), arm, DARK)
    shape.box((-0.24 * long, -0.06 * long), (-0.95 * wide, 0.95 * wide), (2.2 * high, 2.27 * high), WHITE)
    for side in (-1, 1):
        across = sorted((side * 0.95 * wide, side * 1.0 * wide))
        shape.box((-0.26 * long, -0.05 * long), (across[0], across[1]), (2.0 * high, 2.45 * high), BLUE)
        strut = sorted((side * 0.3 * wide, side * 0.36 * wide))
        shape.box((-0.14 * long, -0.1 * long), (strut[0], strut[1]), (1.2 * high, 2.2 * high), DARK)
    if "camera" in car.mounts:
        _camera(shape, car.mounts["camera"], 1.2 * high)
    return shape.mesh()


def _camera(shape: MeshBuilder, mount: Pose, deck: float) -> None:
    """A small housing behind the mount's point, and the post that it stands on. Nothing is ahead of the point."""
    size = 0.018
    shape.box((-0.045, -0.012), (-size, size), (-size, size), DARK, mount)
    shape.box((-0.012, -0.006), (-0.009, 0.009), (-0.009, 0.009), METAL, mount)
    x, y, z = mount.to_world([-0.03, 0, -size]).tolist()
    if z > deck:
        shape.box((x - 0.008, x + 0.008), (y - 0.008, y + 0.008), (deck, z), METAL)


def _tub(shape: MeshBuilder, long: float, high: float, wide: float) -> None:
    """The painted body: rounded sections along x, dark glass around its upper part, closed at both ends."""
    rows = _finer(_TUB, 6)
    stations = np.stack([_section(row, long, high, wide) for row in rows])
    lowest, highest = stations[..., 2].min(axis=1), stations[..., 2].max(axis=1)
    up = (stations[0, :, 2] - lowest[0]) / (highest[0] - lowest[0])
    around = (np.minimum(up[:-1], up[1:]) > 0.62) & (np.maximum(up[:-1], up[1:]) < 0.99)
    glass = (highest[:-1] > 1.95 * high)[:, None] & around
    shape.sheet(stations, np.where(glass, GLASS, BLUE), closed=True)
    for end in (stations[0], stations[-1][::-1]):
        centre = np.broadcast_to(end.mean(axis=0), end.shape)
        shape.sheet(np.stack([centre, end]), BLUE, closed=True)


def _finer(rows: FloatArray, times: int) -> FloatArray:
    """More stations between the given ones, along a smooth line."""
    from scipy.interpolate import PchipInterpolator  # noqa: PLC0415 - only for looks

    at = np.linspace(0, len(rows) - 1, (len(rows) - 1) * times + 1)
    finer: FloatArray = PchipInterpolator(np.arange(len(rows)), rows)(at)
    return finer


def _section(row: FloatArray, long: float, high: float, wide: float) -> FloatArray:
    """A closed rounded section (33, 3), from below up on the right side; first and last point are the same."""
    x, half, low, top, narrower = row
    angle = np.linspace(0, 2 * np.pi, 33) - np.pi / 2
    across, up = (np.sign(f) * np.abs(f) ** 0.55 for f in (-np.cos(angle), np.sin(angle)))
    z = (low + (top - low) * (up + 1) / 2) * high
    y = across * half * wide * (1 - (1 - narrower) * np.clip((up + 0.2) / 1.2, 0, 1))
    return np.stack([np.full_like(z, x * long), y, z], axis=-1)


def _wheel(car: Vehicle, sides: int = 40) -> Mesh:
    shape = MeshBuilder(len(_PALETTE))
    r, half = car.wheel_radius, car.wheel_width / 2
    profile = np.array(
        [
            [0.6, -0.8],
            [0.6, -1.0],
            [0.9, -1.0],
            [0.98, -0.85],
            [1.0, -0.6],
            [1.0, 0.6],
            [0.98, 0.85],
            [0.9, 1.0],
            [0.6, 1.0],
            [0.6, 0.8],
        ]
    ) * [r, half]
    tread = np.full((len(profile) - 1, sides), RUBBER)
    tread[3:6, ::2] = DARK
    shape.sheet(_lathe(profile, sides), tread, closed=True)
    spokes = np.where(np.arange(sides) % 8 < 4, METAL, DARK)
    for side in (-1, 1):
        disc = np.array([[0.14 * r, side * 0.85 * half], [0.6 * r, side * 0.75 * half]])
        hub = np.array([[0.0, side * 0.9 * half], [0.14 * r, side * 0.85 * half]])
        for ring, colours in ((disc[::-side], spokes[None]), (hub[::-side], np.full((1, sides), METAL))):
            shape.sheet(_lathe(ring, sides), colours, closed=True)
    return shape.mesh()


def _lathe(profile: FloatArray, sides: int) -> npt.NDArray[np.float64]:
    """A profile of (radius, y) turned about the y axis: (P, sides + 1, 3)."""
    angle = np.linspace(0, 2 * np.pi, sides + 1)
    radius, y = profile[:, :1], profile[:, 1:]
    return np.stack([radius * np.cos(angle), np.broadcast_to(y, (len(profile), sides + 1)), radius * np.sin(angle)], -1)
