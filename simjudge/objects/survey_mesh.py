"""Meshes of what stands in a survey: the ground as a grid of heights, things as thin shells around their points.

A shell begins as the surface that lies `reach` from the nearest point (marching cubes of the distance field), which
closes the gaps between points. Each of its vertices then moves along its normal onto the points near its axis, and no
farther from the nearest point than a quarter of a cell: surfaces lie in the middle of noisy points, and a sheet that
was seen from one side has two sides that nearly touch. No normals of points are needed.

A thing that is thin beside its length becomes a post. A lidar's range noise hides how wide it is; how far its returns
stray across the beams does not. Over a post of the width w that is evenly

    w = sqrt(12) times the standard deviation of the returns across their beams,

and beams hit it pi / 8 w before its axis on average. A beam's own width adds to w. Where the beams are not known, the
points are all around if they spread alike along both sides, w is then 2 times their deviation from the axis; else w is
sqrt(12) times the larger deviation.

Source: Lorensen and Cline, "Marching cubes", SIGGRAPH 1987. Shells are wrapped as in Portaneri et al., "Alpha wrapping
with an offset", ACM Transactions on Graphics 41(4), 2022, in a simpler way.
"""

from __future__ import annotations

import importlib
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt
from scipy.ndimage import binary_dilation
from scipy.spatial import cKDTree

from simjudge.core.arrays import BoolArray, FloatArray, IntArray, ShortRepr
from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.core.installed import install_command
from simjudge.objects.survey import fill_cells
from simjudge.objects.survey_cloud import SurveyCloud
from simjudge.sim.scene.scene_fields import to_linear, to_srgb

MOST_VOXELS = 40_000_000
"""Of one thing's distance field; a larger thing gets larger cells."""
REACH = 1.5
"""Cells between the points and the surface that a shell begins as."""
_SPREAD = 0.6
"""Standard deviation, in cells, of the weights of points around a vertex's axis."""
_NEAREST = 16
_LEAST_COSINE = 0.1
"""Of the angle between beam and normal: what grazes a surface tells little of what it reflects."""
POST_WIDTH, POST_SHAPE, POST_LENGTH = 0.25, 5.0, 0.6
"""Metres that a post's points spread at most, its least length over that spread, and its least length."""
_POST_SIDES, _POST_BAND = 8, 0.15
_THINNEST = 0.01


@dataclass(frozen=True, eq=False, repr=False)
class SurveyMesh(ShortRepr):
    """Triangles with one colour each."""

    vertices: FloatArray  # float64 (V, 3), metres
    faces: IntArray  # int64 (F, 3), counter-clockwise seen from outside
    reflectance: FloatArray | None  # (F,), 0 to 1; None where the survey has no intensities
    colour: npt.NDArray[np.uint8] | None  # uint8 (F, 3), sRGB; None where it has no colours


def marching_cubes(field: npt.NDArray[np.float32], level: float) -> tuple[FloatArray, IntArray]:
    """Vertices (V, 3), in cells, and faces of the surface where a field has a value, seen from its larger side."""
    try:
        measure = importlib.import_module("skimage.measure")
    except ImportError as error:
        raise UsageError(f"meshes of a survey need scikit-image: {install_command('skimage')}") from error
    vertices, faces, _, _ = measure.marching_cubes(field, level, gradient_direction="ascent")
    return np.asarray(vertices, np.float64), np.asarray(faces, np.int64)


def affordable_cell(points: FloatArray, cell: float) -> float:
    """The cell that was asked for, or a larger one for a thing whose distance field would not fit the memory."""
    while np.prod(np.ptp(points, axis=0) / cell + 8) > MOST_VOXELS:
        cell *= 1.26
    return cell


def wrap_points(points: FloatArray, cell: float) -> tuple[FloatArray, IntArray]:
    """The shell around points (N, 3), N at least 4: vertices and faces; `cell`: metres (see `affordable_cell`)."""
    cell = affordable_cell(points, cell)
    reach, tree = REACH * cell, cKDTree(points)
    low = points.min(0) - 4 * cell
    shape = np.ceil((points.max(0) - low) / cell).astype(int) + 5
    near = np.zeros(shape, np.bool_)
    near[tuple(np.rint((points - low) / cell).astype(int).T)] = True
    near = binary_dilation(near, np.ones((3, 3, 3), np.bool_), iterations=math.ceil(REACH) + 1)
    at = np.argwhere(near)
    field = np.full(shape, 2 * reach, np.float32)
    field[near] = np.minimum(tree.query(at * cell + low, distance_upper_bound=2 * reach)[0], 2 * reach)
    vertices, faces = marching_cubes(field, reach)
    vertices = vertices * cell + low
    normal = _vertex_normals(vertices, faces)
    _, rows = tree.query(vertices, min(_NEAREST, len(points)))
    around = points[rows.reshape(len(vertices), -1)] - vertices[:, None]
    along = np.einsum("vki,vi->vk", around, normal)
    aside = np.maximum((around**2).sum(2) - along**2, 0)
    # Relative to the nearest one, so that some weight is left where all are far.
    weight = np.exp(-(aside - aside.min(1, keepdims=True)) / (2 * (_SPREAD * cell) ** 2))
    pulled = vertices + normal * ((weight * along).sum(1) / weight.sum(1))[:, None]
    gap, nearest = tree.query(pulled)
    most = cell / 4
    pulled = points[nearest] + (pulled - points[nearest]) * np.minimum(most / np.maximum(gap, 1e-12), 1.0)[:, None]
    return _without_slivers(pulled, faces)


def _vertex_normals(vertices: FloatArray, faces: IntArray) -> FloatArray:
    """Unit normals (V, 3) of vertices: the mean of their faces' by area."""
    normal = np.zeros_like(vertices)
    facet = _facets(vertices, faces)
    for corner in range(3):
        np.add.at(normal, faces[:, corner], facet)
    unit: FloatArray = normal / np.maximum(np.linalg.norm(normal, axis=1, keepdims=True), 1e-12)
    return unit


def _facets(vertices: FloatArray, faces: IntArray) -> FloatArray:
    """The normals (F, 3) of faces, as long as twice their areas."""
    a, b, c = (vertices[faces[:, corner]] for corner in range(3))
    found: FloatArray = np.cross(b - a, c - a)
    return found


def _without_slivers(vertices: FloatArray, faces: IntArray) -> tuple[FloatArray, IntArray]:
    """Leave out faces without area, as they are written, and vertices without faces."""
    vertices = np.round(vertices, 4)
    faces = faces[np.linalg.norm(_facets(vertices, faces), axis=1) > 1e-7]
    used, index = np.unique(faces, return_inverse=True)
    return vertices[used], index.reshape(-1, 3).astype(np.int64)


@dataclass(frozen=True, eq=False, repr=False)
class Post(ShortRepr):
    """A thin thing: a round rod from its foot to its top."""

    foot: FloatArray  # (3,), metres, on its axis
    top: FloatArray
    width: float  # metres

    def mesh(self) -> tuple[FloatArray, IntArray]:
        """A prism in bands, so that each can reflect otherwise: vertices and faces."""
        axis = self.top - self.foot
        length = float(np.linalg.norm(axis))
        bands = max(round(length / _POST_BAND), 1)
        side = np.cross(axis / length, [1.0, 0, 0] if abs(axis[0]) < 0.5 * length else [0, 1.0, 0])
        side /= np.linalg.norm(side)
        other = np.cross(axis / length, side)
        turn = np.arange(_POST_SIDES) * 2 * math.pi / _POST_SIDES
        # As wide on average as the round rod: the mean width of a regular polygon is its perimeter over pi.
        radius = self.width / 2 * math.pi / (_POST_SIDES * math.sin(math.pi / _POST_SIDES))
        ring = radius * (np.cos(turn)[:, None] * side + np.sin(turn)[:, None] * other)
        levels = self.foot + np.linspace(0, 1, bands + 1)[:, None] * axis
        vertices = np.concatenate([(levels[:, None] + ring).reshape(-1, 3), [self.top]])
        faces = []
        for band in range(bands):
            for k in range(_POST_SIDES):
                a, b = band * _POST_SIDES + k, band * _POST_SIDES + (k + 1) % _POST_SIDES
                faces += [(a, b, b + _POST_SIDES), (a, b + _POST_SIDES, a + _POST_SIDES)]
        rim = bands * _POST_SIDES
        faces += [(rim + k, rim + (k + 1) % _POST_SIDES, len(vertices) - 1) for k in range(_POST_SIDES)]
        return vertices, np.array(faces, np.int64)


def fit_post(cloud: SurveyCloud, floor: float) -> Post | None:
    """Fit a post to points; None where they are none. `floor`: z of the ground below, metres."""
    points = cloud.points
    middle = np.median(points, axis=0)
    axis = np.linalg.eigh(np.cov((points - middle).T))[1][:, 2]
    if abs(axis[2]) < 0.9:
        return None
    axis = axis * np.sign(axis[2])
    along = (points - middle) @ axis
    aside = points - middle - along[:, None] * axis
    low, high = np.quantile(along, [0.0, 1.0])
    spread = 4 * float(np.sqrt(np.median((aside**2).sum(1))))
    if spread > POST_WIDTH or high - low < max(POST_LENGTH, POST_SHAPE * spread):
        return None
    ray = cloud.ray()
    if ray is None:
        _, less, more = (max(float(value), 0.0) for value in np.linalg.eigvalsh(np.cov(aside.T)))
        width = 2 * math.sqrt(less + more) if less > more / 2 else math.sqrt(12 * more)
        place = middle
    else:
        ray = ray - (ray @ axis)[:, None] * axis
        ray /= np.maximum(np.linalg.norm(ray, axis=1, keepdims=True), 1e-9)
        place, width = _axis_place(aside, ray, axis)
        place = middle + place
    foot = place + axis * ((floor - place[2]) / axis[2])
    return Post(foot, place + axis * high, max(width, _THINNEST))


def _axis_place(aside: FloatArray, ray: FloatArray, axis: FloatArray) -> tuple[FloatArray, float]:
    """Where a post's axis is, from the middle of its points, and how wide it is."""
    across = np.cross(axis, ray)
    place, width = np.zeros(3), 0.0
    for _ in range(4):
        # Across the beams the axis is in the middle of returns, along them pi / 8 of the width behind.
        offset = ((aside - place) * across).sum(1)
        kept = np.abs(offset) <= 3 * 1.4826 * np.median(np.abs(offset)) + 1e-6
        width = math.sqrt(12) * float(np.std(offset[kept]))
        behind = (aside + ray * (math.pi / 8 * width))[kept]
        place = behind.mean(0)
    return place, width


@dataclass(frozen=True, eq=False, repr=False)
class GroundGrid(ShortRepr):
    """The ground as heights."""

    corner: FloatArray  # float64 (2,), x and y of the middle of the first cell
    cell: float
    z: FloatArray  # float64 (R, C), rows along y
    seen: BoolArray  # bool (R, C), whether points lie in each cell; others are filled
    reflectance: FloatArray | None  # (R, C)
    colour: npt.NDArray[np.uint8] | None  # uint8 (R, C, 3)

    def height(self, points: FloatArray) -> FloatArray:
        """How far points (N, 3) lie above the ground, metres."""
        at = (points[:, :2] - self.corner) / self.cell
        row, column = (np.clip(at[:, k], 0, size - 1) for k, size in ((1, self.z.shape[0]), (0, self.z.shape[1])))
        i, j = (
            np.minimum(row.astype(int), max(self.z.shape[0] - 2, 0)),
            np.minimum(column.astype(int), max(self.z.shape[1] - 2, 0)),
        )
        v, u = row - i, column - j
        k, m = np.minimum(i + 1, self.z.shape[0] - 1), np.minimum(j + 1, self.z.shape[1] - 1)
        z = self.z
        ground = (z[i, j] * (1 - u) + z[i, m] * u) * (1 - v) + (z[k, j] * (1 - u) + z[k, m] * u) * v
        above: FloatArray = points[:, 2] - ground
        return above

    def mesh(self) -> tuple[FloatArray, IntArray]:
        """Two triangles between four cells: vertices (R C, 3) and faces."""
        rows, columns = self.z.shape
        y, x = np.mgrid[:rows, :columns]
        vertices = np.stack([x * self.cell + self.corner[0], y * self.cell + self.corner[1], self.z], -1).reshape(-1, 3)
        a = (y[:-1, :-1] * columns + x[:-1, :-1]).ravel()
        b, c, d = a + 1, a + columns + 1, a + columns
        return vertices, np.concatenate([np.stack([a, b, c], 1), np.stack([a, c, d], 1)])


def ground_grid(cloud: SurveyCloud, free: BoolArray, cell: float) -> GroundGrid:
    """The ground below a survey: the median height of the points of each cell; others filled by springs.

    `cloud`: the points of the ground; `free`: bool (N,), those of cells in which nothing stands.
    """
    first = np.floor(cloud.points[:, :2].min(0) / cell)
    at = (np.floor(cloud.points[:, :2] / cell) - first).astype(np.int64)
    columns, rows = at.max(0) + 1
    if rows < 2 or columns < 2:
        raise SimjudgeError(f"the ground is less than two cells of {cell:g} m wide; give a smaller --ground-cell")
    check_ground_cells(int(columns), int(rows))
    number = at[:, 1] * columns + at[:, 0]
    order = np.lexsort((cloud.points[:, 2], number))
    order = order[free[order]]
    if not len(order):
        raise SimjudgeError("no point of the survey is ground on which nothing stands; give a smaller --survey-window")
    cells, start, count = np.unique(number[order], return_index=True, return_counts=True)
    height = cloud.points[order, 2]
    middle = (height[start + (count - 1) // 2] + height[start + count // 2]) / 2
    z = np.full(rows * columns, np.nan)
    z[cells] = middle
    seen = np.isfinite(z).reshape(rows, columns)
    reflectance, colour = _ground_light(cloud.take(order), number[order], (int(rows), int(columns)))
    return GroundGrid((first + 0.5) * cell, cell, fill_cells(z.reshape(rows, columns)), seen, reflectance, colour)


def check_ground_cells(columns: int, rows: int) -> None:
    """Refuse more cells than fit the memory."""
    most = MOST_VOXELS // 10
    if columns * rows > most:
        raise SimjudgeError(f"the ground has {columns} x {rows} cells, over {most}: give a larger --ground-cell")


def _ground_light(
    cloud: SurveyCloud, number: IntArray, shape: tuple[int, int]
) -> tuple[FloatArray | None, npt.NDArray[np.uint8] | None]:
    size = shape[0] * shape[1]

    def filled(total: npt.NDArray[Any], weight: npt.NDArray[Any]) -> FloatArray:
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = np.where(weight > 0, total / weight, np.nan)
        return np.clip(fill_cells(mean.reshape(shape)), 0, 1)

    reflectance: FloatArray | None = None
    if cloud.reflected is not None:
        ray = cloud.ray()
        cosine = np.ones(len(cloud)) if ray is None else np.abs(ray[:, 2])
        told = cosine >= min(_LEAST_COSINE, float(cosine.max()))
        light, weight = (
            np.bincount(number[told], values[told], size) for values in (np.asarray(cloud.reflected), cosine)
        )
        reflectance = filled(light, weight)
    if cloud.colour is None:
        return reflectance, None
    count = np.bincount(number, minlength=size).astype(float)
    linear = to_linear(cloud.colour / 255)
    channels = [filled(np.bincount(number, linear[:, k], size), count) for k in range(3)]
    return reflectance, _bytes(np.stack(channels, -1))


def painted(vertices: FloatArray, faces: IntArray, cloud: SurveyCloud, *, round_post: bool = False) -> SurveyMesh:
    """Give each face what the points next to it reflected; beams that met it at an angle brought less back."""
    if cloud.reflected is None and cloud.colour is None:
        return SurveyMesh(vertices, faces, None, None)
    _, rows = cKDTree(cloud.points).query(vertices[faces].mean(1), min(_NEAREST, len(cloud)))
    rows = rows.reshape(len(faces), -1)
    reflectance: FloatArray | None = None
    if cloud.reflected is not None:
        ray = cloud.ray()
        if ray is None:
            cosine = np.ones(rows.shape)
        elif round_post:
            # Over a round rod that is hit evenly the cosine is pi / 4 on average.
            cosine = np.full(rows.shape, math.pi / 4)
        else:
            facet = _facets(vertices, faces)
            facet /= np.maximum(np.linalg.norm(facet, axis=1, keepdims=True), 1e-12)
            cosine = np.maximum(np.abs(np.einsum("fki,fi->fk", ray[rows], facet)), _LEAST_COSINE)
        reflectance = np.clip(cloud.reflected[rows].sum(1) / cosine.sum(1), 0, 1)
    colour = None if cloud.colour is None else _bytes(to_linear(cloud.colour[rows] / 255).mean(1))
    return SurveyMesh(vertices, faces, reflectance, colour)


def _bytes(linear: FloatArray) -> npt.NDArray[np.uint8]:
    return np.asarray(np.rint(np.clip(to_srgb(linear), 0, 1) * 255), np.uint8)


def grey(reflectance: FloatArray) -> npt.NDArray[np.uint8]:
    """Reflectances (...) as grey sRGB colours uint8 (..., 3)."""
    return np.repeat(_bytes(reflectance)[..., None], 3, axis=-1)


def write_obj(
    path: Path, vertices: FloatArray, faces: IntArray, uv: FloatArray | None = None, of_corner: IntArray | None = None
) -> None:
    """Write a mesh; `uv` (T, 2) with `of_corner` (F, 3), which of them each corner has; None: that of its vertex."""
    lines = [f"v {x:.4f} {y:.4f} {z:.4f}" for x, y, z in vertices.tolist()]
    if uv is None:
        lines += [f"f {a} {b} {c}" for a, b, c in (faces + 1).tolist()]
    else:
        corners = faces if of_corner is None else of_corner
        lines += [f"vt {u:.6f} {v:.6f}" for u, v in uv.tolist()]
        pairs = np.stack([faces + 1, corners + 1], -1).reshape(-1, 6).tolist()
        lines += [f"f {a}/{i} {b}/{j} {c}/{k}" for a, i, b, j, c, k in pairs]
    path.write_text("\n".join(lines) + "\n", encoding="ascii")


def face_texture(colour: npt.NDArray[np.uint8]) -> tuple[npt.NDArray[np.uint8], FloatArray, IntArray]:
    """A picture with a pixel for each face, its coordinates (F, 2), and which of them each corner has (F, 3)."""
    side = max(math.ceil(math.sqrt(len(colour))), 1)
    picture = np.zeros((side * side, 3), np.uint8)
    picture[: len(colour)] = colour
    row, column = np.divmod(np.arange(len(colour)), side)
    uv = np.stack([(column + 0.5) / side, 1 - (row + 0.5) / side], -1)
    return picture.reshape(side, side, 3), uv, np.repeat(np.arange(len(colour))[:, None], 3, axis=1)


def write_png(path: Path, picture: npt.NDArray[np.uint8]) -> None:
    """Write a picture, red first."""
    done, data = cv2.imencode(".png", cv2.cvtColor(picture, cv2.COLOR_RGB2BGR))
    if not done:
        raise SimjudgeError(f"{path}: cannot be written as PNG")
    path.write_bytes(data.tobytes())
