"""Noise and holes of a depth camera from depth images of a standing scene, as filters of simjudge's depth camera.

Noise: the variance of each pixel over time, pooled by depth, is (c + q z^2)^2. Stereo devices and those with a pattern
have q: an error of disparity counts as z^2. Rounding to whole millimetres adds 1/12 mm^2, which is taken off.

Holes: what is missing away from edges comes and goes at random (`holes`), what is missing beside jumps of depth is the
device's (`edge_holes`). What no image ever has away from edges is out of range, or black, and counts for neither.

Every second image is fitted; the others judge: the fitted camera looks at the scene's median depth, and its noise and
holes are set beside theirs. Intervals, 95 %, are of tiles of the image drawn again: neighbouring pixels share errors.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import ndimage
from scipy.optimize import nnls

from simjudge.core.arrays import BoolArray, FloatArray, ShortRepr
from simjudge.core.errors import SimjudgeError
from simjudge.sim.sensors.camera.depth_filters import DepthCamera, DepthStep

FEWEST = 10  # Depth images, at least
JUMP = 0.05  # Share of the nearer depth from which a step between neighbours is an edge, as filter edge_holes has it
_FARTHEST = 8  # Pixels from an edge up to which holes are counted by distance
_TILE, _DRAWS = 16, 400  # Pixels of a tile's side; draws of tiles
_BINS = 20  # Ranges of depth, at most
_FEWEST_PIXELS = 200  # Pixels of a range of depth, at least
_CLEAR = 0.02  # Share of holes that edges must add to have some
_MOVED = 0.2  # Share of pixels that may differ between both halves of the recording
_TOLD = 0.55  # Steps of depth values: measured noise of less is mostly rounding
_AT_ONCE = 500_000  # Depths that are worked on at once, in rows of all images: sums need several float64 copies
_SPREAD = 1.3  # Farthest over nearest depth from which both parts of the noise can be told apart


class FittedNumber(NamedTuple):
    """A number and its 95 % interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.3g} ({self.low:.3g} to {self.high:.3g})"


@dataclass(frozen=True)
class JudgedDepth:
    """A number of the recording's other half beside that of the simulated camera."""

    what: str
    unit: str
    recorded: float
    simulated: float

    def __str__(self) -> str:
        return f"{self.what}: recorded {self.recorded:.4g}, simulated {self.simulated:.4g} {self.unit}"


@dataclass(frozen=True)
class DepthCalibration:
    """What depth images tell of a depth camera.

    Attributes:
        constant: c of the noise, metres; quadratic: its q, 1 / metre.
        holes: share of pixels that are lost at random, in squares of `hole_size` pixels.
        edge_holes: share of pixels that are lost up to `edge_width` pixels beside edges; None where edges lose none.
        judged: the recording beside the simulated camera.
        notes: what the images cannot tell.
    """

    name: str
    frames: int
    size: tuple[int, int]
    constant: FittedNumber
    quadratic: FittedNumber
    holes: FittedNumber
    hole_size: int
    edge_holes: FittedNumber | None
    edge_width: int
    judged: tuple[JudgedDepth, ...]
    notes: tuple[str, ...]

    @property
    def steps(self) -> tuple[DepthStep, ...]:
        """The filters of a depth camera."""
        steps = []
        if self.edge_holes is not None:
            edges = {"jump": JUMP, "width": float(self.edge_width), "share": _rounded(self.edge_holes.value)}
            steps.append(DepthStep("edge_holes", edges))
        noise = {"constant": _rounded(self.constant.value), "quadratic": _rounded(self.quadratic.value)}
        steps.append(DepthStep("axial_noise", noise))
        if self.holes.value > 0:
            steps.append(DepthStep("holes", {"share": _rounded(self.holes.value), "size": float(self.hole_size)}))
        return tuple(steps)

    def depth_file(self) -> str:
        """The part `depth` of a camera's file."""
        width, height = self.size
        lines = [
            f"# Depth of {' '.join(self.name.split())}.",
            f"# {self.frames} depth images of a standing scene, {width}x{height}, by simjudge sim calibrate depth.",
            f"# Noise: constant {self.constant} m, quadratic {self.quadratic} 1/m; holes {self.holes}.",
            *(f"# {row}." for row in self.judged),
            *(f"# Note: {note}." for note in self.notes),
            "# Put this into a camera's file (docs/guides/camera.md).",
            "depth:",
            "  filters:",
        ]
        for step in self.steps:
            numbers = ", ".join(f"{name}: {value:g}" for name, value in step.parameters.items())
            lines.append(f"    - {step.name}: {{{numbers}}}")
        return "\n".join(lines) + "\n"


def _rounded(value: float) -> float:
    return float(f"{value:.4g}")


@dataclass(frozen=True, eq=False, repr=False)
class _Facts(ShortRepr):
    """What half of the images say, given the scene."""

    variance: FloatArray  # (H, W), of each pixel over time; NaN where it was measured less than thrice
    count: npt.NDArray[np.int64]  # (H, W), of images that have the pixel
    frames: int
    both: float  # share of pairs of neighbours, away from edges, of which both are lost
    correlation: float  # of a pixel's noise from image to image


class _SceneMap(NamedTuple):
    """The scene that stands."""

    depth: npt.NDArray[np.float32]  # (H, W), median over time, metres; from the nearest pixel where never measured
    distance: npt.NDArray[np.int64]  # (H, W), pixels to the nearest jump of depth; 1 beside it
    seen: BoolArray  # (H, W), measured at least once
    blank: BoolArray  # (H, W), in a large part that is never measured: out of range, or black


def calibrate_depth(name: str, images: Sequence[npt.NDArray[np.float32]], *, seed: int = 0) -> DepthCalibration:
    """Fit noise and holes.

    Args:
        name: of the recording.
        images: depth images (H, W) of one size, metres; NaN where nothing is measured.
        seed: of the intervals and of the simulated camera.

    Raises:
        SimjudgeError: too few images, of unlike sizes, without depth, or the scene moves.
    """
    if len(images) < FEWEST:
        raise SimjudgeError(f"{name}: {len(images)} depth images are too few; {FEWEST} are needed, 100 are better")
    sizes = {image.shape for image in images}
    if len(sizes) > 1:
        known = ", ".join(f"{width}x{height}" for height, width in sorted(sizes))
        raise SimjudgeError(f"{name}: depth images of unlike sizes: {known}; those of one camera are needed")
    stack = np.stack(images).astype(np.float32, copy=False)
    if not np.isfinite(stack).any():
        raise SimjudgeError(f"{name}: no pixel has a depth")
    scene = _scene_map(stack)
    notes = _check_standing(name, stack)
    step = _rounding(stack)
    fitted, held = stack[::2], stack[1::2]
    facts = _facts(fitted, scene)
    tiles = _tiles(scene.depth.shape)
    constant, quadratic, more = _fit_noise(facts, scene, tiles, step, seed)
    holes, size, edges, width = _fit_holes(facts, scene, tiles, seed)
    notes += more
    # Of images that follow each other: every second one is fitted
    correlation = _facts(stack[: max(len(stack) // 2, FEWEST)], scene).correlation
    if correlation > 0.2:
        notes.append(
            f"noise goes together from image to image (correlation {correlation:.2f}): the device filters in"
            " time; simulated noise is new in each image"
        )
    made = DepthCalibration(
        name, len(images), (stack.shape[2], stack.shape[1]), constant, quadratic, holes, size, edges, width, (), ()
    )
    simulated = _simulate(made.steps, scene, len(held), step, seed)
    judged = tuple(_judge(_facts(held, scene), _facts(simulated, scene), scene))
    return DepthCalibration(**{**vars(made), "judged": judged, "notes": tuple(notes)})


def _bands(stack: npt.NDArray[np.float32]) -> Iterator[slice]:
    """Rows of all images, few enough to be worked on at once."""
    count, height, width = stack.shape
    rows = max(_AT_ONCE // (count * width), 1)
    return (slice(begin, begin + rows) for begin in range(0, height, rows))


def _scene_map(stack: npt.NDArray[np.float32]) -> _SceneMap:
    seen: BoolArray = np.asarray(np.isfinite(stack).any(axis=0))
    depth = np.full(seen.shape, np.nan, np.float32)
    for rows in _bands(stack):
        depth[rows][seen[rows]] = np.nanmedian(stack[:, rows][:, seen[rows]], axis=0)
    if not seen.all():
        rows, columns = ndimage.distance_transform_edt(~seen, return_distances=False, return_indices=True)
        depth = depth[rows, columns]
    beside = np.zeros(seen.shape, bool)
    for axis in (0, 1):
        first, second = (depth[1:], depth[:-1]) if axis == 0 else (depth[:, 1:], depth[:, :-1])
        edge = np.abs(first - second) > JUMP * np.minimum(first, second)
        if axis == 0:
            beside[1:] |= edge
            beside[:-1] |= edge
        else:
            beside[:, 1:] |= edge
            beside[:, :-1] |= edge
    blank = _large_parts(~seen)
    beside &= ~blank  # what fills such a part has edges of its own
    far = np.full(seen.shape, np.iinfo(np.int64).max // 2)
    distance = ndimage.distance_transform_cdt(~beside, "chessboard").astype(np.int64) + 1 if beside.any() else far
    return _SceneMap(depth, distance, seen, blank)


def _large_parts(unseen: BoolArray) -> BoolArray:
    """The connected parts that no edge explains: somewhere farther than `_FARTHEST` from what is seen."""
    labels, count = ndimage.label(unseen)
    depth = ndimage.distance_transform_cdt(np.pad(unseen, 1, mode="edge"), "chessboard")[1:-1, 1:-1]
    inner = ndimage.maximum(depth, labels, np.arange(count + 1))
    large: BoolArray = np.asarray(inner > _FARTHEST)[labels] & unseen
    return large


def _check_standing(name: str, stack: npt.NDArray[np.float32]) -> list[str]:
    """Refuse a scene whose second half is another one."""
    halves = [stack[: len(stack) // 2], stack[len(stack) // 2 :]]
    with np.errstate(invalid="ignore", divide="ignore"):
        count = [np.isfinite(half).sum(axis=0) for half in halves]
        sure = (count[0] >= 3) & (count[1] >= 3)
        if not sure.any():
            raise SimjudgeError(f"{name}: no pixel has a depth in six images or more; longer recordings are needed")
        drifting = 0
        for rows in _bands(stack):
            first, second = (half[:, rows][:, sure[rows]].astype(np.float64) for half in halves)
            error = np.sqrt(sum(np.nanvar(half, axis=0) / len(half) for half in (first, second)) + 1e-7)
            drifting += int((np.abs(np.nanmean(first, 0) - np.nanmean(second, 0)) > 8 * error).sum())
        moved = drifting / int(sure.sum())
    if moved > _MOVED:
        raise SimjudgeError(
            f"{name}: {moved:.0%} of the pixels have another depth in the second half: camera and scene must stand"
        )
    return [f"{moved:.1%} of the pixels drift between both halves"] if moved > 0.02 else []


def _rounding(stack: npt.NDArray[np.float32]) -> float:
    """The step of depth values: a millimetre where all are whole millimetres, else 0."""
    some = stack[:: max(len(stack) // 8, 1)]
    values = some[np.isfinite(some)].astype(np.float64) * 1000
    return 1e-3 if np.abs(values - np.rint(values)).max(initial=0.0) < 2e-3 else 0.0


def _facts(stack: npt.NDArray[np.float32], scene: _SceneMap) -> _Facts:
    there = np.isfinite(stack)
    count = there.sum(axis=0)
    variance = np.full(count.shape, np.nan)
    lag = own = 0.0
    for rows in _bands(stack):
        known, within = there[:, rows], count[rows]
        off = np.where(known, stack[:, rows] - scene.depth[rows], 0).astype(np.float64)
        mean = off.sum(axis=0) / np.maximum(within, 1)
        square = (off**2).sum(axis=0) - within * mean**2
        variance[rows] = np.where(within >= 3, square / np.maximum(within - 1, 1), np.nan)
        centred = np.where(known, off - mean, 0)
        lag += float((centred[1:] * centred[:-1]).sum())
        own += float((centred**2).sum())
    own *= int((there[1:] & there[:-1]).sum()) / max(int(there.sum()), 1)
    # A mean of n images takes 1 / n of correlation away.
    correlation = float(lag / own + 1 / len(stack)) if own > 0 else 0.0
    away = (scene.distance > _FARTHEST) & scene.seen
    lost, both, pairs_seen = ~there, 0, 0
    for one, other, first, second in (
        (lost[:, 1:], lost[:, :-1], away[1:], away[:-1]),
        (lost[:, :, 1:], lost[:, :, :-1], away[:, 1:], away[:, :-1]),
    ):
        at = first & second
        both += int((one & other & at).sum())
        pairs_seen += int(at.sum()) * len(stack)
    return _Facts(variance, count, len(stack), both / max(pairs_seen, 1), correlation)


def _tiles(shape: tuple[int, ...]) -> npt.NDArray[np.int64]:
    """The number of each pixel's tile, (H, W)."""
    rows, columns = (np.arange(side) // _TILE for side in shape)
    return np.asarray(rows[:, None] * (columns[-1] + 1) + columns[None], np.int64)


def _draws(tiles: npt.NDArray[np.int64], seed: int) -> FloatArray:
    """How often each tile is drawn, (draws, tiles)."""
    count = int(tiles.max()) + 1
    return np.random.default_rng(seed).multinomial(count, np.full(count, 1 / count), _DRAWS).astype(np.float64)


def _sums(tiles: npt.NDArray[np.int64], values: FloatArray) -> FloatArray:
    """The sum of values over each tile."""
    return np.bincount(tiles.ravel(), values.ravel(), minlength=int(tiles.max()) + 1).astype(np.float64)


def _depth_bins(facts: _Facts, scene: _SceneMap) -> list[BoolArray]:
    """Pixels away from edges whose variance is known, by ranges of depth."""
    known = np.isfinite(facts.variance) & (facts.count >= 5) & (scene.distance > _FARTHEST)
    if known.sum() < _FEWEST_PIXELS:
        raise SimjudgeError(
            f"{int(known.sum())} pixels away from edges are measured often enough; {_FEWEST_PIXELS} are needed"
        )
    bins = int(min(_BINS, max(known.sum() // _FEWEST_PIXELS, 1)))
    ends = np.unique(np.quantile(scene.depth[known], np.linspace(0, 1, bins + 1)))
    if len(ends) == 1:
        return [known]
    place = np.clip(np.searchsorted(ends, scene.depth, side="right") - 1, 0, len(ends) - 2)
    return [known & (place == number) for number in range(len(ends) - 1)]


def _fit_noise(
    facts: _Facts, scene: _SceneMap, tiles: npt.NDArray[np.int64], step: float, seed: int
) -> tuple[FittedNumber, FittedNumber, list[str]]:
    bins = [part for part in _depth_bins(facts, scene) if part.any()]
    z = np.array([float(scene.depth[part].mean()) for part in bins])
    freedom = np.stack([_sums(tiles, np.where(part, facts.count - 1, 0)) for part in bins], 1)
    weighted = (facts.count - 1) * np.nan_to_num(facts.variance)
    squares = np.stack([_sums(tiles, np.where(part, weighted, 0)) for part in bins], 1)
    notes = []
    # Where noise is smaller, rounding hides it or adds to it, and 1/12 is not what it adds.
    told = squares.sum(0) >= (_TOLD * step) ** 2 * freedom.sum(0)
    if told.any() and not told.all():
        notes.append(f"noise nearer than {z[told].min():.2f} m is below what whole millimetres tell, and is not fitted")
        z, freedom, squares = z[told], freedom[:, told], squares[:, told]
    spread = float(z.max() / z.min())
    if spread < _SPREAD:
        notes.append(
            f"all depths are within {z.min():.2f} to {z.max():.2f} m: constant and quadratic noise cannot be told"
            " apart, all is taken for quadratic"
        )

    def fit(drawn: FloatArray) -> FloatArray:
        degrees = drawn @ freedom
        held = degrees > 0
        deviation = np.sqrt(np.maximum((drawn @ squares)[held] / degrees[held] - step**2 / 12, 0))
        # A range without any noise must not outweigh all others.
        weight = np.sqrt(2 * degrees[held]) / np.maximum(deviation, max(float(deviation.max(initial=0.0)) / 100, 1e-9))
        columns = np.stack([np.full(held.sum(), 1.0 if spread >= _SPREAD else 0.0), z[held] ** 2], 1)
        found: FloatArray = nnls(columns * weight[:, None], deviation * weight)[0]
        return found

    whole = fit(np.ones(len(freedom)))
    low, high = np.quantile([fit(drawn) for drawn in _draws(tiles, seed)], [0.025, 0.975], axis=0)
    constant, quadratic = (FittedNumber(*map(float, numbers)) for numbers in zip(whole, low, high, strict=True))
    smallest = constant.value + quadratic.value * z.min() ** 2
    if step and smallest < 0.4 * step:
        notes.append(f"near noise, {1000 * smallest:.2g} mm, is below what whole millimetres tell")
    return constant, quadratic, notes


def _fit_holes(
    facts: _Facts, scene: _SceneMap, tiles: npt.NDArray[np.int64], seed: int
) -> tuple[FittedNumber, int, FittedNumber | None, int]:
    lost = facts.frames - facts.count
    away = (scene.distance > _FARTHEST) & scene.seen
    drawn = _draws(tiles, seed)

    def share(region: BoolArray) -> tuple[float, FloatArray]:
        holes = _sums(tiles, np.where(region, lost, 0))
        every = _sums(tiles, np.where(region, facts.frames, 0))
        return float(holes.sum() / max(every.sum(), 1)), (drawn @ holes) / np.maximum(drawn @ every, 1)

    base, base_drawn = share(away)
    holes = FittedNumber(base, *map(float, np.quantile(base_drawn, [0.025, 0.975])))
    size = 1
    if 0 < base < 1 and facts.both > 0:
        # Two neighbours are in one square with (s - 1) / s, else lost each on its own.
        together = (facts.both - base**2) / (base - base**2)
        size = max(round(1 / max(1 - together, 1e-3)), 1)
    excess = []
    for distance in range(1, _FARTHEST + 1):
        region = (scene.distance == distance) & ~scene.blank
        found = share(region)[0] if region.any() else 0.0
        excess.append((found - base) / max(1 - base, 1e-9))
    if excess[0] < _CLEAR:
        return holes, size, None, 0
    width = next((number for number, value in enumerate(excess) if value < excess[0] / 2), _FARTHEST)
    value, near = share((scene.distance <= width) & ~scene.blank)
    added = (near - base_drawn) / np.maximum(1 - base_drawn, 1e-9)
    low, high = np.quantile(added, [0.025, 0.975])
    return holes, size, FittedNumber((value - base) / max(1 - base, 1e-9), float(low), float(min(high, 1.0))), width


def _simulate(
    steps: tuple[DepthStep, ...], scene: _SceneMap, count: int, rounding: float, seed: int
) -> npt.NDArray[np.float32]:
    """Images of the scene by the fitted camera, where it has a depth at all."""
    camera = DepthCamera(steps=steps)
    truth = np.where(scene.blank, np.float32(np.nan), scene.depth)
    images = np.stack([camera.measure(truth, 1.0, (seed, number)) for number in range(count)])
    return np.rint(images / rounding) * np.float32(rounding) if rounding else images


def _judge(recorded: _Facts, simulated: _Facts, scene: _SceneMap) -> Iterator[JudgedDepth]:
    away = (scene.distance > _FARTHEST) & scene.seen
    known = away & np.isfinite(recorded.variance) & np.isfinite(simulated.variance)
    ends = np.unique(np.quantile(scene.depth[known], np.linspace(0, 1, 4))) if known.any() else np.zeros(0)
    for low, high in pairwise(ends):
        part = known & (scene.depth >= low) & (scene.depth <= high)
        both = [
            1000 * math.sqrt(float(np.average(facts.variance[part], weights=facts.count[part] - 1)))
            for facts in (recorded, simulated)
        ]
        yield JudgedDepth(f"noise from {low:.2f} to {high:.2f} m", "mm", *both)
    near = (scene.distance <= 2) & ~scene.blank
    for what, region in (("lost away from edges", away), ("lost up to 2 px from edges", near)):
        if region.any():
            shares = [100 * float(1 - facts.count[region].mean() / facts.frames) for facts in (recorded, simulated)]
            yield JudgedDepth(what, "%", *shares)
    if recorded.both or simulated.both:
        yield JudgedDepth("lost with their neighbour", "%", 100 * recorded.both, 100 * simulated.both)
