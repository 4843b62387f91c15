"""A lidar's turn as a picture, rings x columns, with what is labelled in it: what the judge of pictures takes.

The grid has a row a ring, the highest first; columns around the turn, from behind over the left. A person who stands at
the lidar and looks ahead sees the same: ahead is the middle, left is left. The first and the last column are
neighbours. Near is bright yellow, far is dark blue, and a pixel without a return is black.

Labelled things are cuboids cast onto the grid, which show what the device could have seen: its dropouts do not change
them; or the points that lie in them. What lies nearer hides what lies behind.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import cv2
import numpy as np
import numpy.typing as npt

from simjudge.core.arrays import BoolArray, FloatArray, IntArray, ShortRepr
from simjudge.core.errors import Advance, Losses, SimjudgeError
from simjudge.core.frames import FrameSet
from simjudge.core.images import EncodedImage, ImageError, RgbImage
from simjudge.core.object_tables import BoolImage, Masks, Objects, Predictions
from simjudge.core.text import Json
from simjudge.data.clouds import CloudBoxes, CloudSet, LidarPoints, lidar_points
from simjudge.detectors.cuboid_iou import upright_cuboids

# Of a range image where nobody says otherwise: 0.2 degrees, as most spinning lidars have them at 10 turns a second.
COLUMNS = 1800
EVEN_ROWS = 64  # Rows of a grid for clouds without rings
_CLOUDS = 8  # Clouds of a set that the grid is measured on
# Share of the distance to the next ring by which a ring's elevation may vary (median absolute deviation).
_STEADY = 0.25
_ENDS = (0.2, 99.8)  # Percentiles of the elevations that an even grid reaches from and to


@dataclass(frozen=True, eq=False, repr=False)
class RangeGrid(ShortRepr):
    """Where the beams of a range image point."""

    elevation: FloatArray  # (R,), radians, of each row, the highest first
    columns: int = COLUMNS
    rings: bool = False  # whether the rows are a device's rings

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return len(self.elevation), self.columns

    @property
    def azimuth(self) -> FloatArray:
        """(C,), radians, of each column's middle."""
        return np.asarray(math.pi - (np.arange(self.columns) + 0.5) * (2 * math.pi / self.columns), np.float64)

    def pixels(self, points: FloatArray) -> tuple[IntArray, IntArray]:
        """The pixel of each point: rows, int64 (N,); points (N, 3), metres, from the lidar."""
        elevation = np.arctan2(points[:, 2], np.hypot(points[:, 0], points[:, 1]))
        ascending = self.elevation[::-1]
        # A row reaches half-way to its neighbours; the outer ones reach as far outwards as inwards.
        between = (ascending[1:] + ascending[:-1]) / 2
        ends = [ascending[0] - (between[0] - ascending[0]), ascending[-1] + (ascending[-1] - between[-1])]
        place = np.searchsorted(np.concatenate([ends[:1], between, ends[1:]]), elevation, "right") - 1
        rows = len(ascending) - 1 - place
        rows[(place < 0) | (place >= len(ascending))] = -1
        return rows.astype(np.int64), self.column(np.arctan2(points[:, 1], points[:, 0]))

    def column(self, azimuth: FloatArray) -> IntArray:
        """The columns of azimuths (azimuth: radians, counter-clockwise from ahead)."""
        # Columns run clockwise from behind, so that the picture has left on the left.
        number = np.floor((math.pi - np.asarray(azimuth)) * (self.columns / (2 * math.pi)))
        return number.astype(np.int64) % self.columns

    @property
    def pixel_height(self) -> float:
        """How high a pixel is, on average, as a multiple of its width, by angle."""
        height = (self.elevation[0] - self.elevation[-1]) / (len(self.elevation) - 1)
        return float(height / (2 * math.pi / self.columns))

    def content(self) -> Json:
        """What result.json says of it."""
        return {
            "rows": len(self.elevation),
            "columns": self.columns,
            "rings": self.rings,
            "elevations_deg": np.round(np.degrees(self.elevation), 4).tolist(),
            "pixel_height": self.pixel_height,
        }

    def describe(self) -> str:
        """Rows, columns and elevations, for a person to read."""
        high, low = np.degrees(self.elevation[[0, -1]])
        kind = "rings" if self.rings else "even rows"
        return f"{len(self.elevation)} {kind} from {low:.2f} to {high:.2f} degrees, {self.columns} columns"


def even_grid(low: float, high: float, rows: int, columns: int = COLUMNS) -> RangeGrid:
    """A grid with rows as far apart everywhere (low, high: elevations of the last and the first row, radians)."""
    return RangeGrid(np.linspace(high, low, rows), columns)


def measure_grid(clouds: CloudSet, columns: int = COLUMNS) -> RangeGrid:
    """Choose the grid for a set: its rings where its clouds number them, else even rows over its elevations."""
    several = [points for points in _some(clouds) if len(points)]
    if not several:
        raise SimjudgeError(f"{clouds.name}: no point in its first clouds; a range image needs some")
    elevation = np.concatenate([_elevations(points) for points in several])
    rings = [points.ring for points in several if points.ring is not None]
    if len(rings) == len(several):
        found = _ring_elevations(np.concatenate(rings), elevation)
        if found is not None:
            return RangeGrid(found, columns, rings=True)
    low, high = np.percentile(elevation, _ENDS)
    return even_grid(float(low), max(float(high), float(low) + 1e-3), EVEN_ROWS, columns)


def _some(clouds: CloudSet) -> Sequence[LidarPoints]:
    chosen = np.unique(np.linspace(0, len(clouds) - 1, min(_CLOUDS, len(clouds))).astype(np.int64))
    read = (clouds[int(index)] for index in chosen)
    return [lidar_points(cloud.table, cloud.where) for cloud in read]


def _elevations(points: LidarPoints) -> FloatArray:
    x, y, z = points.stored.astype(np.float64).T
    elevation: FloatArray = np.arctan2(z, np.hypot(x, y))
    return elevation


def _ring_elevations(ring: IntArray, elevation: FloatArray) -> FloatArray | None:
    """The rings' elevations, the highest first; None where they vary too much to be rings."""
    numbers, row = np.unique(ring, return_inverse=True)
    if len(numbers) < 2:
        return None
    each = [elevation[row == number] for number in range(len(numbers))]
    middle = np.array([np.median(values) for values in each])
    # Median deviations: a few points of another ring must not decide.
    spread = np.array([np.median(np.abs(values - m)) for values, m in zip(each, middle, strict=True)])
    order = np.argsort(-middle)
    step = -np.diff(middle[order])
    # To the nearer of both neighbouring rings; the outer rings have one.
    nearest = np.minimum(np.append(step, np.inf), np.append(np.inf, step))
    return None if (spread[order] > _STEADY * nearest).any() else middle[order]


NOBODY = -1  # The owner of a pixel that shows nothing labelled


@dataclass(frozen=True, eq=False, repr=False)
class Silhouettes(ShortRepr):
    """What a scan's range image shows of K things."""

    owner: IntArray  # int64 (R, C), the thing that each pixel shows; NOBODY for none
    share: FloatArray  # (K,), which part of its own silhouette is not hidden by another, 0 to 1; NaN where nobody knows


def cast_cuboids(cuboids: FloatArray, grid: RangeGrid) -> Silhouettes:
    """Cast rays through all pixels onto upright cuboids: the nearest cuboid of each pixel (cuboids (K, 7))."""
    depth = np.full(grid.shape, np.inf)
    owner = np.full(grid.shape, NOBODY, np.int64)
    whole = np.zeros(len(cuboids))
    for k, cuboid in enumerate(cuboids):
        columns = _columns_around(cuboid, grid)
        distance = _distances(cuboid, grid, columns)
        whole[k] = np.count_nonzero(np.isfinite(distance))
        nearer = distance < depth[:, columns]
        owner[:, columns] = np.where(nearer, k, owner[:, columns])
        depth[:, columns] = np.where(nearer, distance, depth[:, columns])
    shown = np.bincount(owner[owner >= 0], minlength=len(cuboids))
    return Silhouettes(owner, np.divide(shown, whole, out=np.zeros(len(cuboids)), where=whole > 0))


def own_pixels(cuboid: FloatArray, grid: RangeGrid) -> tuple[IntArray, IntArray]:
    """The rows and columns that a cuboid would show in if nothing hid it (cuboid (7,), see `cast_cuboids`)."""
    columns = _columns_around(cuboid, grid)
    rows, places = np.nonzero(np.isfinite(_distances(cuboid, grid, columns)))
    return rows.astype(np.int64), columns[places]


def mark_points(points: FloatArray, cuboids: FloatArray, grid: RangeGrid) -> Silhouettes:
    """The cuboid (K, 7) that the nearest point (N, 3) of each pixel lies in, faces included; of several the nearer."""
    thing = np.full(len(points), NOBODY, np.int64)
    # Far to near: where cuboids overlap, the nearer one writes last.
    for k in np.argsort(-np.linalg.norm(cuboids[:, :3], axis=1), kind="stable"):
        thing[_inside(points, cuboids[k])] = k
    rows, columns = grid.pixels(points)
    # The nearest comes last, and stays; of equally near ones that of the first thing, whatever their order.
    order = np.lexsort((-thing, -np.linalg.norm(points, axis=1)))
    order = order[rows[order] >= 0]
    owner = np.full(grid.shape, NOBODY, np.int64)
    owner[rows[order], columns[order]] = thing[order]
    return Silhouettes(owner, np.full(len(cuboids), np.nan))


def _inside(points: FloatArray, cuboid: FloatArray) -> BoolArray:
    offset = points - cuboid[:3]
    cos, sin = math.cos(cuboid[6]), math.sin(cuboid[6])
    own = np.column_stack(
        [cos * offset[:, 0] + sin * offset[:, 1], cos * offset[:, 1] - sin * offset[:, 0], offset[:, 2]]
    )
    return np.asarray((np.abs(own) <= cuboid[3:6] / 2).all(1))


def _columns_around(cuboid: FloatArray, grid: RangeGrid) -> IntArray:
    """The columns that a cuboid may show in, each once."""
    distance, radius = math.hypot(cuboid[0], cuboid[1]), math.hypot(cuboid[3], cuboid[4]) / 2
    if distance <= radius:
        return np.arange(grid.columns)
    # The tangent from the lidar to the circle around the footprint; one column more for rounding.
    half = math.ceil(math.asin(radius / distance) / (2 * math.pi) * grid.columns) + 1
    middle = int(grid.column(np.array(math.atan2(cuboid[1], cuboid[0]))))
    count = min(2 * half + 1, grid.columns)
    return (middle - half + np.arange(count)) % grid.columns


def _distances(cuboid: FloatArray, grid: RangeGrid, columns: IntArray) -> FloatArray:
    """How far away the rays of some columns meet a cuboid, (R, columns); inf where they do not (slab method)."""
    # Rays turned into the frame of the cuboid, whose faces then are planes of one coordinate.
    relative = grid.azimuth[columns] - cuboid[6]
    level, rise = np.cos(grid.elevation)[:, None], np.sin(grid.elevation)[:, None]
    direction = (level * np.cos(relative), level * np.sin(relative), np.broadcast_to(rise, (len(rise), len(columns))))
    cos, sin = math.cos(cuboid[6]), math.sin(cuboid[6])
    x, y, z = cuboid[:3]
    near, far = np.full(direction[0].shape, -np.inf), np.full(direction[0].shape, np.inf)
    with np.errstate(divide="ignore", invalid="ignore"):
        for along, middle, size in zip(direction, (cos * x + sin * y, cos * y - sin * x, z), cuboid[3:6], strict=True):
            one, other = (middle - size / 2) / along, (middle + size / 2) / along
            # A ray in the plane of a face: 0 / 0, which limits nothing.
            near = np.fmax(near, np.fmin(one, other))
            far = np.fmin(far, np.fmax(one, other))
    # A lidar inside of a cuboid sees no face of it from outside: near is negative then.
    return np.where((near <= far) & (near > 0), near, np.inf)


_NEAR, _FAR = 1.0, 100.0  # Metres at the ends of the colours, which go by the logarithm of the range
_DARKEST = 40  # Of 255: the colour of the farthest, so that it is not black


@dataclass(frozen=True, eq=False, repr=False)
class RangePictures(ShortRepr):
    """The range images of a set's clouds; each is made when it is asked for."""

    clouds: CloudSet
    grid: RangeGrid

    def __len__(self) -> int:
        return len(self.clouds)

    def has(self, index: int) -> bool:
        """Every cloud has one."""
        return 0 <= index < len(self)

    def read(self, index: int) -> RgbImage:
        """Make the picture of a cloud: uint8 (R, C, 3), red first."""
        try:
            cloud = self.clouds[index]
            points = lidar_points(cloud.table, cloud.where)
        except SimjudgeError as error:
            raise ImageError(str(error)) from error
        return range_colours(range_image(points.stored.astype(np.float64), self.grid))

    def read_encoded(self, index: int) -> EncodedImage | None:
        """None: no picture is stored."""
        del index
        return None


def range_image(points: FloatArray, grid: RangeGrid) -> FloatArray:
    """The range of the nearest point of each pixel (points (N, 3)): (R, C), metres; 0 where there is no point."""
    rows, columns = grid.pixels(points)
    image = np.full(grid.shape, np.inf)
    inside = rows >= 0
    np.minimum.at(image, (rows[inside], columns[inside]), np.linalg.norm(points[inside], axis=1))
    return np.where(np.isfinite(image), image, 0.0)


def range_colours(image: npt.NDArray[np.floating]) -> RgbImage:
    """The colours of a range image: uint8 (R, C, 3), red first (image (R, C), metres; 0 where there is no return)."""
    share = np.log(np.clip(image, _NEAR, _FAR) / _NEAR) / np.log(_FAR / _NEAR)
    shade = np.round(255 - share * (255 - _DARKEST)).astype(np.uint8)
    colours = cv2.applyColorMap(shade, cv2.COLORMAP_INFERNO)[:, :, ::-1]
    return np.ascontiguousarray(np.where((image > 0)[:, :, None], colours, 0).astype(np.uint8))


FROM_CUBOIDS = "cuboids"  # An object's pixels are those whose rays meet its cuboid first
FROM_POINTS = "points"  # An object's pixels are those of the points in its cuboid
TILT = np.radians(10.0)  # Cuboids that are tilted more are counted: they are taken as upright


@dataclass(frozen=True, eq=False, repr=False)
class ScanFrames(ShortRepr):
    """Scans as frames, and what a person should know of how they were made."""

    frames: FrameSet
    classless: bool  # whether the detector knows no classes: what it finds has one class, which nothing labelled has
    notes: tuple[str, ...]


def scan_frames(
    clouds: CloudSet, grid: RangeGrid, paint: str = FROM_CUBOIDS, *, advance: Advance | None = None
) -> ScanFrames:
    """Put what is labelled and found in clouds into range images, painted FROM_CUBOIDS or FROM_POINTS."""
    if clouds.boxes is None or clouds.labelled is None or not len(clouds.boxes):
        raise SimjudgeError(f"{clouds.name}: holds no cuboids that are labelled; nothing can be compared")
    labelled, damaged = clouds.labelled.copy(), Losses()
    solids, tilted = _cuboids(clouds.boxes, clouds.name)
    shown: list[_Shown] = []
    for index in range(len(clouds)):
        rows = np.flatnonzero(clouds.boxes.cloud == index)
        if len(rows) and labelled[index]:
            seen = _silhouettes(clouds, index, solids[rows], grid, paint, damaged)
            if seen is None:
                labelled[index] = False
            else:
                shown.extend(_shown_things(rows, seen, grid))
        if advance is not None:
            advance(index + 1, len(clouds))
    hidden = int(labelled[clouds.boxes.cloud].sum()) - len(shown)
    predictions, unclear = _predictions(clouds, grid)
    size = np.tile(np.array(grid.shape[::-1], np.int64), (len(clouds), 1))
    losses = Losses()
    losses.extend(clouds.losses)
    losses.extend(damaged)
    frames = FrameSet.build(
        clouds.name,
        size,
        _objects(clouds.boxes, solids, shown),
        predictions,
        frame_name=list(clouds.cloud_name),
        stamp=clouds.stamp,
        labelled=labelled,
        predicted=clouds.predicted,
        class_names=dict(clouds.class_names),
        images=RangePictures(clouds, grid),
        losses=losses,
    )
    return ScanFrames(replace(frames, cyclic=True), _is_classless(clouds), _notes(clouds, hidden, tilted + unclear))


class _Shown(NamedTuple):
    """A thing that shows: its row, the left and upper pixel of what shows, which pixels do, and which part of it."""

    row: int
    origin: tuple[int, int]
    crop: BoolImage
    share: float


def _cuboids(boxes: CloudBoxes, name: str, *, flat: bool = False) -> tuple[FloatArray, int]:
    """Upright cuboids, flat ones too where a detector may find such; and how many were tilted by more than TILT."""
    sound = np.isfinite(np.hstack([boxes.centre, boxes.orientation, boxes.size])).all(1)
    sound &= ((boxes.size > 0) | (flat & (boxes.size == 0))).all(1) & boxes.orientation.any(1)
    if not sound.all():
        row = int(np.argmin(sound))
        raise SimjudgeError(
            f"{name}: box {row} (cloud {int(boxes.cloud[row])}) is no cuboid, of size"
            f" {' x '.join(f'{side:g}' for side in boxes.size[row])}; numbers must be finite and sizes above 0"
        )
    upright, tilt = upright_cuboids(boxes.centre, boxes.orientation, boxes.size)
    return upright, int((tilt > TILT).sum())


def _silhouettes(
    clouds: CloudSet, index: int, solids: FloatArray, grid: RangeGrid, paint: str, damaged: Losses
) -> Silhouettes | None:
    """What a cloud's range image shows; None where the cloud's points are needed and cannot be read."""
    if paint == FROM_CUBOIDS:
        return cast_cuboids(solids, grid)
    try:
        cloud = clouds[index]
        points = lidar_points(cloud.table, cloud.where)
    except SimjudgeError as error:
        damaged.add("clouds that cannot be read", str(error))
        return None
    return mark_points(points.stored.astype(np.float64), solids, grid)


def _shown_things(rows: IntArray, seen: Silhouettes, grid: RangeGrid) -> list[_Shown]:
    out = []
    for k, row in enumerate(rows.tolist()):
        pixels = np.nonzero(seen.owner == k)
        if len(pixels[0]):
            origin, crop = _crop(pixels[0], pixels[1], grid.columns)
            out.append(_Shown(row, origin, crop, float(seen.share[k])))
    return out


def _crop(rows: IntArray, columns: IntArray, width: int) -> tuple[tuple[int, int], BoolImage]:
    """The smallest window around pixels of a cyclic image, behind the widest gap: left, upper, and which are set."""
    used = np.unique(columns)
    gaps = np.diff(used, append=used[0] + width)
    left = int(used[(int(np.argmax(gaps)) + 1) % len(used)])
    across, top = (columns - left) % width, int(rows.min())
    crop = np.zeros((int(rows.max()) - top + 1, int(across.max()) + 1), np.bool_)
    crop[rows - top, across] = True
    return (left, top), crop


def _objects(boxes: CloudBoxes, solids: FloatArray, shown: list[_Shown]) -> Objects:
    rows = np.array([object_crop.row for object_crop in shown], np.int64)
    box = [_box(object_crop.origin, object_crop.crop.shape) for object_crop in shown]
    masks = Masks.from_crops([object_crop.crop for object_crop in shown], [object_crop.origin for object_crop in shown])
    return Objects.build(
        boxes.cloud[rows],
        boxes.class_id[rows],
        box,
        boxes.instance[rows],
        masks,
        distance=np.linalg.norm(boxes.centre[rows], axis=1),
        visible=[object_crop.share for object_crop in shown],
        cuboid=solids[rows],
    )


def _box(origin: tuple[int, int], shape: tuple[int, ...]) -> tuple[int, int, int, int]:
    return origin[0], origin[1], origin[0] + shape[1], origin[1] + shape[0]


def _predictions(clouds: CloudSet, grid: RangeGrid) -> tuple[Predictions | None, int]:
    """What a detector found, with the boxes around its pixels; around its middle where it has none."""
    found = clouds.predictions
    if found is None:
        return None, 0
    solids, tilted = _cuboids(found, f"{clouds.name}: predictions", flat=True)
    box = []
    for solid in solids:
        rows, columns = own_pixels(solid, grid)
        if not len(rows):
            row, columns = grid.pixels(solid[None, :3])
            rows = np.maximum(row, 0)
        origin, crop = _crop(rows, columns, grid.columns)
        box.append(_box(origin, crop.shape))
    return Predictions.build(found.cloud, found.class_id, box, found.score, cuboid=solids), tilted


def _is_classless(clouds: CloudSet) -> bool:
    found, boxes = clouds.predictions, clouds.boxes
    if found is None or boxes is None:
        return False
    kinds = np.unique(found.class_id)
    return len(kinds) == 1 and kinds[0] not in boxes.class_id


def _notes(clouds: CloudSet, hidden: int, tilted: int) -> tuple[str, ...]:
    notes = []
    if hidden:
        notes.append(
            f"{clouds.name}: {hidden} labelled objects show in no pixel of the range image: they are behind others, or"
            " between two rows; they take no part"
        )
    if tilted:
        notes.append(f"{clouds.name}: {tilted} cuboids are tilted by more than 10 degrees; all are taken as upright")
    return tuple(notes)
