"""What the integrator runs on: arithmetic on many rays at once, the search for what they hit, the rays of a camera.

There are two: `MitsubaTracer` (compiled for CPU or GPU) and `NumpyTracer` (slow, needs nothing that a machine may
lack). Both do the same arithmetic in float32, so that their pictures agree but for the last bits.

A *number* is one float for each ray; a *vector* has three or more of them, to be had by index; both take part in
arithmetic, a number with a vector too. A *mask* is a bool for each ray.
"""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache, lru_cache
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from simjudge.core.arrays import FloatArray, IntArray
from simjudge.geometry.poses import Pose
from simjudge.sim.engines.default.packed import Floats
from simjudge.sim.engines.ray_search import Tree, grow, grow_forest, search
from simjudge.sim.scene.model import Mesh

Input = TypeVar("Input")
Output = TypeVar("Output")


class Hit(NamedTuple):
    """What rays hit first."""

    valid: Any  # mask: they hit something. The rest means nothing where they do not
    distance: Any
    thing: Any
    face: Any  # row of the face among those of all things
    # b1, b2: numbers, the weights of the face's second and third corner at the point.
    b1: Any
    b2: Any


class Tracer(Protocol):
    """Arithmetic and rays.

    Attributes:
        xp: a module with sqrt, floor, minimum, maximum, abs, sin, cos, exp and log2.
        everywhere: the mask that is always true.
        wavefront: rays that are best followed at once.
        knows_open_ways: whether `blocked` is quicker where ways are known to be open.
    """

    @property
    def xp(self) -> Any:
        """See the class."""

    @property
    def everywhere(self) -> Any:
        """See the class."""

    @property
    def wavefront(self) -> int:
        """See the class."""

    @property
    def knows_open_ways(self) -> bool:
        """See the class."""

    def close(self) -> None:
        """Give back what it holds."""

    def follow(self, work: Callable[[Input], Output], wavefronts: Sequence[Input]) -> list[Output]:
        """The results of work on each wavefront."""

    def move(self, moved: Mapping[int, Floats], rotations: FloatArray, positions: FloatArray) -> None:
        """Put things elsewhere: new vertices (V, 3) in the world by index; where all things are, (T, 3, 3), (T, 3)."""

    def table(self, rows: Any) -> Any:
        """A float32 or int32 array (rows, width) for `row` (rows: float32 or int32 (rows, width))."""

    def row(self, table: Any, index: Any, width: int, active: Any) -> Any:
        """A table's row for each ray, a vector."""

    def given(self, columns: Floats) -> Any:
        """A vector from the host's array (N, 3), or (N, 2) (columns: float32 (N, 3) or (N, 2))."""

    def same(self, values: Sequence[float]) -> Any:
        """The same numbers for all rays, to be had by index; no kernel is compiled for their values."""

    def vector(self, numbers: Sequence[Any]) -> Any:
        """A vector of three numbers (numbers: three numbers)."""

    def dot(self, a: Any, b: Any) -> Any:
        """The product of two vectors of three: number (a: vector; b: vector)."""

    def cross(self, a: Any, b: Any) -> Any:
        """The vector at right angles to two: vector, right-handed (a: vector; b: vector)."""

    def angle(self, y: Any, x: Any) -> Any:
        """The angle of a point about the origin, from the x axis: number, -pi to pi (y, x: numbers)."""

    def largest(self, vector: Any) -> Any:
        """The largest of a vector's numbers (vector of numbers)."""

    def select(self, mask: Any, yes: Any, no: Any) -> Any:
        """One or the other."""

    def whole(self, number: Any) -> Any:
        """The integer below a number (number of each ray)."""

    def decimal(self, integer: Any) -> Any:
        """An integer as a number (integer of each ray)."""

    def hit(self, origin: Any, direction: Any, active: Any, *, together: bool = True) -> Hit:
        """What rays hit first; those that are not active hit nothing (origin: vector, world, metres)."""

    def bit(self, integer: Any, number: Any) -> Any:
        """Whether a bit is set (integer of each ray, 0 or more; number of the bit, from the lowest, 0 or more)."""

    def blocked(
        self, origin: Any, direction: Any, distance: Any, active: Any, *, together: bool, open_way: Any = False
    ) -> Any:
        """Mask: something stands within the distance. Together: neighbouring rays go the same way, by and large."""

    def hidden(self, origin: Any, direction: Any, distance: Any, active: Any) -> Any:
        """Mask: something that does not move all the time, and is not clear, lies nearer than a distance (metres)."""

    def add_up(self, count: int, active: Any, term: Callable[[Any], Any], like: Any) -> Any:
        """The sum of the vectors term(0) + term(1) + ..., where active (like: a vector with the shape of the sum)."""

    def where(self, mask: Any, work: Callable[[], Any]) -> Any:
        """What some work gives where a mask is true, else zeros; rays nearby that do not need it do not wait for it."""

    def places(self, order: IntArray) -> Any:
        """Places for `means` and `host`: the places, where the rays are followed (order (N,))."""

    def means(self, vector: Any, block: int, places: Any = None) -> Floats:
        """A vector (N, 3) on the host, averaged over each `block` in a row: float32 (N / block, 3)."""

    def host(self, *arrays: Any, places: Any = None) -> list[Any]:
        """Arrays on the host; vectors become (N, 3) (places: where the rays' values belong; None)."""


class NumpyTracer:
    """See `simjudge.sim.engines.default.tracer.Tracer`. Vectors are (3, N), or (3, 1) where all rays share them."""

    xp = np
    everywhere = True
    knows_open_ways = False
    wavefront = 1 << 14

    def __init__(
        self, meshes: Sequence[Mesh], vertices: Sequence[Floats], moving: Sequence[bool], clear: Sequence[bool]
    ) -> None:
        """Build it from the things' triangles and their vertices in the world; clear things block no light."""
        self._opaque = np.flatnonzero(~np.array(clear, bool))
        self._standing: Tree | None = None
        self._still = np.flatnonzero(~np.array(clear, bool) & ~np.array(moving, bool))
        forest = grow_forest(meshes)
        self._faces, self._below = forest.faces.astype(np.int32), forest.below
        self._bounds = np.array([[v.min(0), v.max(0)] for v in vertices], np.float64).reshape(-1, 2, 3)
        self.move({}, np.zeros((len(meshes), 3, 3)), np.zeros((len(meshes), 3)))

    def move(self, moved: Mapping[int, Floats], rotations: FloatArray, positions: FloatArray) -> None:
        for index, vertices in moved.items():
            self._bounds[index] = vertices.min(0), vertices.max(0)
        # Vertices were rounded to float32, what is searched is not: leave room for that.
        room = 1e-6 * (1 + np.abs(self._bounds).max(initial=0.0))
        low, high = self._bounds[:, 0] - room, self._bounds[:, 1] + room
        self._top = self._blocking = grow(low, high)
        if len(self._opaque) < len(low):
            self._blocking = _grow_some(low, high, self._opaque)
        self._standing = None
        self._bounded = low, high
        self._rotations, self._positions = rotations.astype(np.float64), positions.astype(np.float64)

    def close(self) -> None:
        """Nothing is held but arrays."""

    def follow(self, work: Callable[[Input], Output], wavefronts: Sequence[Input]) -> list[Output]:
        def quietly(wavefront: Input) -> Output:
            with np.errstate(all="ignore"):  # lanes that nobody looks at hold anything
                return work(wavefront)

        with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
            return list(pool.map(quietly, wavefronts))

    def table(self, rows: Any) -> Any:
        return np.ascontiguousarray(rows)

    def row(self, table: Any, index: Any, width: int, active: Any) -> Any:  # noqa: ARG002 - tables know their width
        if np.ndim(index) == 0:
            return table[index]
        return table[index if active is True else np.where(active, index, 0)].T

    def given(self, columns: Floats) -> Any:
        return np.ascontiguousarray(columns.T, np.float32)

    def same(self, values: Sequence[float]) -> Any:
        return np.array(values, np.float32)

    def vector(self, numbers: Sequence[Any]) -> Any:
        stacked = np.stack(np.broadcast_arrays(*numbers))
        return stacked[:, None] if stacked.ndim == 1 else stacked

    def dot(self, a: Any, b: Any) -> Any:
        return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]

    def cross(self, a: Any, b: Any) -> Any:
        return np.stack([a[k - 2] * b[k - 1] - a[k - 1] * b[k - 2] for k in range(3)])

    def angle(self, y: Any, x: Any) -> Any:
        return np.arctan2(y, x)

    def largest(self, vector: Any) -> Any:
        return vector.max(0)

    def select(self, mask: Any, yes: Any, no: Any) -> Any:
        return np.where(mask, yes, no)

    def whole(self, number: Any) -> Any:
        return np.floor(number).astype(np.int32)

    def decimal(self, integer: Any) -> Any:
        return np.asarray(integer).astype(np.float32)

    def hit(self, origin: Any, direction: Any, active: Any, *, together: bool = True) -> Hit:  # noqa: ARG002
        count = direction.shape[1]
        distance, thing, face, b1, b2 = self._search(self._top, origin, direction, np.full(count, np.inf), active)
        # Trees have their own order of the faces.
        faces = self._faces[face] if len(self._faces) else face
        return Hit(np.isfinite(distance), distance, thing, faces, b1, b2)

    def bit(self, integer: Any, number: Any) -> Any:
        return (integer >> min(number, 31)) & 1 > 0

    def blocked(
        self,
        origin: Any,
        direction: Any,
        distance: Any,
        active: Any,
        *,
        together: bool,  # noqa: ARG002
        open_way: Any = False,  # noqa: ARG002
    ) -> Any:
        return np.isfinite(self._search(self._blocking, origin, direction, distance, active, nearest=False)[0])

    def hidden(self, origin: Any, direction: Any, distance: Any, active: Any) -> Any:
        if self._standing is None:
            self._standing = _grow_some(*self._bounded, self._still)
        return np.isfinite(self._search(self._standing, origin, direction, distance, active, nearest=False)[0])

    def add_up(self, count: int, active: Any, term: Callable[[Any], Any], like: Any) -> Any:
        total = np.zeros((3, len(like)), np.float32)
        for i in range(count if np.any(active) else 0):
            total += term(i)
        return total

    def where(self, mask: Any, work: Callable[[], Any]) -> Any:
        return np.where(mask, work(), np.float32(0)) if np.any(mask) else np.zeros((3, 1), np.float32)

    def places(self, order: IntArray) -> Any:
        return order

    def means(self, vector: Any, block: int, places: Any = None) -> Floats:
        mean: Floats = self.host(vector.reshape(3, -1, block).mean(2, dtype=np.float32), places=places)[0]
        return mean

    def host(self, *arrays: Any, places: Any = None) -> list[Any]:
        rows = [array.T for array in arrays]
        return rows if places is None else [_in_place(row, places) for row in rows]

    def _search(
        self, top: Tree, origin: Any, direction: Any, limit: Any, active: Any, *, nearest: bool = True
    ) -> tuple[Any, ...]:
        origin, direction = np.broadcast_arrays(origin, direction)
        count = direction.shape[1]
        out = (
            np.zeros(count, np.float32),
            np.zeros(count, np.int32),
            np.zeros(count, np.int32),
            np.zeros(count, np.float32),
            np.zeros(count, np.float32),
        )
        origins = np.ascontiguousarray(origin, np.float64)
        limits, mask = (
            np.broadcast_to(np.asarray(limit, np.float64), (count,)).copy(),
            np.broadcast_to(active, (count,)).copy(),
        )
        search(
            origins,
            np.ascontiguousarray(direction, np.float64),
            limits,
            mask,
            nearest,
            tuple(top),
            self._below,
            self._rotations,
            self._positions,
            out,
        )
        return out


def _grow_some(low: FloatArray, high: FloatArray, chosen: IntArray) -> Tree:
    tree = grow(low[chosen], high[chosen])
    return tree._replace(order=chosen[tree.order])


def _in_place(values: Any, places: IntArray) -> Any:
    placed = np.empty(values.shape, values.dtype)
    placed[places] = values
    return placed


class View(NamedTuple):
    """From where a camera looks."""

    rotation: FloatArray  # (3, 3), camera to world
    origin: FloatArray  # (3,), world, metres
    spread: float  # angle between neighbouring rays, radians
    grain_shift: tuple[float, float]  # two numbers in 0..1 that shift the grain


class Rays(NamedTuple):
    """A wavefront of a lens's rays, on the device."""

    direction: Any  # unit vectors in the camera's frame; in the world where the rays have origins of their own
    grain: Any  # two numbers in 0..1 for each ray: where in its lobe a surface mirrors it
    origin: Any = None  # world, metres; None: all begin where the view has the camera
    places: Any = None  # each pixel's place in the image, row by row; None: what is seen stays in the rays' order


class Spot(NamedTuple):
    """Where rays hit, and all that shading needs to know there, in the world.

    `off` is the point, off the surface; `emitted` is None where nothing of the scene shines. `hit` is what was hit, and
    `front` the mask of those that were hit from outside.
    """

    valid: Any
    point: Any
    off: Any
    normal: Any
    facet: Any
    view: Any
    base: Any
    metal: Any
    f0: Any
    alpha: Any
    roughness: Any
    row: Any
    mean_left: Any
    mean_lost: Any
    emitted: Any
    hit: Hit
    front: Any


SIDE = 64  # Pixels after which the grain repeats
_ROUNDS = 24  # Times that the tiles are sharpened and ranked again
_WIDTH = 1.5  # Standard deviation of the low-pass filter that is taken away, pixels


@cache
def blue_noise() -> npt.NDArray[np.float32]:
    """Two tiles (2, SIDE, SIDE), even over 0..1 without low frequencies: white noise less its blur, ranked."""
    across = np.minimum(np.arange(SIDE), SIDE - np.arange(SIDE))
    kernel = np.exp(-(across[:, None] ** 2 + across[None] ** 2) / (2 * _WIDTH**2))
    low = np.fft.fft2(kernel / kernel.sum()).real
    tiles = np.random.default_rng(0).random((2, SIDE, SIDE))
    for _ in range(_ROUNDS):
        sharp = tiles - np.fft.ifft2(np.fft.fft2(tiles) * low).real
        ranks = sharp.reshape(2, -1).argsort(1, kind="stable").argsort(1, kind="stable")
        tiles = ((ranks + 0.5) / SIDE**2).reshape(2, SIDE, SIDE)
    return tiles.astype(np.float32)


def grain(pixels: npt.NDArray[np.int64], n: int) -> npt.NDArray[np.float32]:
    """Two numbers in 0..1 for each of n x n rays of each pixel, float32 (P n n, 2), spread evenly within a pixel."""
    within = (np.arange(n) + 0.5) / n
    spread = np.stack(np.meshgrid(within, within), -1).reshape(1, -1, 2)
    offset = blue_noise()[:, pixels[:, 1] % SIDE, pixels[:, 0] % SIDE].T[:, None]
    numbers: FloatArray = (spread + offset) % 1.0
    return numbers.reshape(-1, 2).astype(np.float32)


def grain_shift(camera: Pose) -> tuple[float, float]:
    """Two numbers in 0..1 that differ from one pose of the camera to the next: the grain does not stick to the lens."""
    hashed = zlib.crc32(struct.pack("<7d", *camera.position, *camera.orientation))
    return (hashed & 0xFFFF) / 0x10000, (hashed >> 16) / 0x10000


_BLOCK = 4  # Side, in pixels, of the blocks in which rays are ordered
_SIZES = 4  # Sizes of images whose order is kept


@lru_cache(maxsize=_SIZES)
def pixel_order(size: tuple[int, int]) -> npt.NDArray[np.int64]:
    """Indices int64 (H W,) of all pixels along a Z curve in each square block: neighbouring rays come together."""
    width, height = size
    y, x = np.divmod(np.arange(width * height), width)
    return np.lexsort((x & 1, y & 1, x & 2, y & 2, x // _BLOCK, y // _BLOCK))


def image_from_parts(size: tuple[int, int], parts: Sequence[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """An image from values in `pixel_order`: (H, W, ...); parts: the values, (N, ...) each, H W in all."""
    width, height = size
    values = parts[0] if len(parts) == 1 else np.concatenate(parts)
    return np.take(values, _places(size), axis=0).reshape(height, width, *values.shape[1:])


@lru_cache(maxsize=_SIZES)
def _places(size: tuple[int, int]) -> npt.NDArray[np.int64]:
    """Where in `pixel_order` each pixel stands, row by row."""
    return np.argsort(pixel_order(size))
