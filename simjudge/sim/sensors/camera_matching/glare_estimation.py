"""How much more light one camera scatters than another, by the coloured halos around lit lamps.

The brightest spot of a labelled thing is a lamp where it reaches full scale. How colour falls off around it, ring by
ring, hardly depends on exposure or on what else a picture shows. B's halos are drawn from its light, in which a lamp is
brighter than full scale, with many shares and radii, and held against A's, class by class.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import cv2
import numpy as np
import numpy.typing as npt

from simjudge.core.arrays import FloatArray, IntArray, ShortRepr
from simjudge.core.frames import FrameSet
from simjudge.core.images import ImageError
from simjudge.sim.sensors.camera.chain import LitImages
from simjudge.sim.sensors.camera.filters import WIDEST_GLARE, glare
from simjudge.sim.sensors.camera.isp import srgb
from simjudge.sim.sensors.camera_matching.camera_difference import LEAST_GLARE, MOST_GLARE

WIDTH = 320  # Pixels to which wider pictures are scaled: halos are smooth
REACH = 28  # Pixels of that around a lamp in which its colour is measured
_EDGES = np.array([0, 2, 4, 6, 8, 10, 13, 16, 20, 24, REACH])
_RADII = np.array([4.0, 7.0, 11.0, 18.0, 28.0, 45.0])
_SHARES = np.array([0, 0.01, 0.02, 0.04, 0.07, 0.1, 0.14, 0.2, 0.27, 0.35, 0.45, MOST_GLARE])
_FINE = np.linspace(0, MOST_GLARE, 241)
_LIT = 0.97  # Of full scale, from which a spot is a lamp
_FEWEST = 3  # Lamps of a class in each set
_MOST_FRAMES = 80  # Of each set, evenly chosen
_BETTER = 0.65  # Share of the squares that may be left where glare is believed
_ROUGH = 0.01  # Of full scale, to which halos are taken as known at best
_REFITS = 20
_STREAM = 49
_down, _right = np.mgrid[-REACH : REACH + 1, -REACH : REACH + 1]
_RING = np.digitize(np.hypot(_down, _right), _EDGES) - 1
FloatImage = npt.NDArray[np.float32]  # (H, W, 3)


@dataclass(frozen=True)
class GlareEstimate:
    """The glare that B's camera lacks."""

    share: float  # of the light
    radius: float  # pixels of B's pictures within which half of it falls
    drawn: tuple[float, ...]  # shares on drawn lamps
    lamps: tuple[int, int]  # that A and B show


@dataclass(frozen=True, repr=False, eq=False)
class _Halos(ShortRepr):
    """By class, the colour around each lamp: (N, rings, 3), or of many glares (N, radii, shares, rings, 3)."""

    of: Mapping[str, FloatArray]
    scale: float  # pixels of a picture in one of WIDTH


def estimate_glare(a: FrameSet, b: FrameSet, seed: int) -> GlareEstimate | None:
    """How much B's light must be scattered so that its lamps have A's halos; None where that cannot be told.

    B's images know their light (`LitImages`).
    """
    real, virtual = _halos(a, _pixels(a), _seen), _halos(b, _light(b), _scattered)
    both = [name for name, halos in real.of.items() if min(len(halos), len(virtual.of.get(name, ()))) >= _FEWEST]
    if not both:
        return None
    random = np.random.default_rng([seed, _STREAM])

    def drawn(halos: _Halos, name: str) -> FloatArray:
        return halos.of[name][random.integers(0, len(halos.of[name]), len(halos.of[name]))]

    share, radius, left = _best([(real.of[name], virtual.of[name]) for name in both])
    again = tuple(_best([(drawn(real, name), drawn(virtual, name)) for name in both])[0] for _ in range(_REFITS))
    if left > _BETTER or np.quantile(again, 0.05) < LEAST_GLARE:
        return None
    counts = [sum(len(halos.of[name]) for name in both) for halos in (real, virtual)]
    return GlareEstimate(share, min(radius * virtual.scale, WIDEST_GLARE), again, (counts[0], counts[1]))


def _best(classes: Sequence[tuple[FloatArray, FloatArray]]) -> tuple[float, float, float]:
    """Share and radius (in pictures of WIDTH) whose halos are nearest, and what is left of the squares."""
    squares = np.zeros((len(_RADII), len(_FINE)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a ring beyond all pictures
        for real, virtual in classes:
            # A ring counts by how well it is known: lamps differ most at their edges.
            error = np.sqrt(np.nanvar(real, 0) * (1 / len(real) + 1 / len(virtual)) + _ROUGH**2)
            off = np.nan_to_num((np.nanmean(virtual, 0) - np.nanmean(real, 0)) / error)
            off = off.reshape(len(_RADII), len(_SHARES), -1)
            for number, of_radius in enumerate(off):
                fine = np.stack([np.interp(_FINE, _SHARES, column) for column in of_radius.T], 1)
                squares[number] += (fine**2).sum(1)
    row, column = (int(number) for number in np.unravel_index(squares.argmin(), squares.shape))
    least, place = squares.min(1), float(row)
    if 0 < row < len(_RADII) - 1:
        before, here, after = least[row - 1 : row + 2]
        place += float((before - after) / max(2 * (before - 2 * here + after), 1e-12))
    radius = float(np.exp(np.interp(place, np.arange(len(_RADII)), np.log(_RADII))))
    return float(_FINE[column]), radius, float(squares[row, column] / max(squares[0, 0], 1e-12))


def _pixels(frames: FrameSet) -> Callable[[int], FloatImage]:
    images = frames.images
    if images is None:
        raise ValueError("the set has no images")
    return lambda index: images.read(index).astype(np.float32) / np.float32(255)


def _light(frames: FrameSet) -> Callable[[int], FloatImage]:
    images = frames.images
    if not isinstance(images, LitImages):
        raise TypeError("the light of these images is not known")
    return lambda index: np.asarray(images.light(index).light, np.float32)


def _halos(
    frames: FrameSet, read: Callable[[int], FloatImage], around: Callable[[FloatImage, Sequence[IntArray]], FloatArray]
) -> _Halos:
    """The halos of a set's lamps; `read`: a frame's picture; `around`: what is measured around places in it."""
    found: dict[str, list[FloatArray]] = {}
    objects = frames.objects
    shown = np.unique(objects.frame)
    scale = 1.0
    for frame in shown[np.unique(np.linspace(0, len(shown) - 1, min(len(shown), _MOST_FRAMES)).astype(int))].tolist():
        try:
            picture = read(frame)
        except ImageError:
            continue
        scale = max(picture.shape[1] / WIDTH, 1.0)
        if scale > 1:
            size = (WIDTH, max(round(picture.shape[0] / scale), 1))
            picture = np.asarray(cv2.resize(picture, size, interpolation=cv2.INTER_AREA))
        rows = np.flatnonzero(objects.frame == frame)
        lamps = [(row, _lamp(picture, objects.box[row] / scale)) for row in rows.tolist()]
        lit = [(row, lamp) for row, lamp in lamps if lamp is not None]
        if lit:
            for (row, _), halo in zip(lit, around(picture, [lamp for _, lamp in lit]), strict=True):
                found.setdefault(frames.class_names[int(objects.class_id[row])], []).append(halo)
    return _Halos({name: np.stack(halos) for name, halos in found.items()}, scale)


def _lamp(picture: FloatImage, box: FloatArray) -> IntArray | None:
    """Row and column of the brightest spot in a box, if it is a lamp."""
    left, top, right, bottom = np.maximum(box, 0).astype(int)
    bright = cv2.GaussianBlur(picture.max(2) + picture.min(2), (0, 0), 1.2)[top:bottom, left:right]
    if bright.size == 0:
        return None
    down, across = np.unravel_index(bright.argmax(), bright.shape)
    at = np.array([top + int(down), left + int(across)])
    return at if picture[at[0], at[1]].max() >= _LIT else None


def _cut(picture: FloatImage, at: IntArray) -> FloatImage:
    """(2 REACH + 1, 2 REACH + 1, 3) around a place; NaN beyond the picture."""
    reach = ((REACH, REACH), (REACH, REACH), (0, 0))
    padded = np.pad(picture, reach, constant_values=np.nan)
    return np.asarray(padded[at[0] : at[0] + 2 * REACH + 1, at[1] : at[1] + 2 * REACH + 1])


def _chroma(cuts: FloatArray) -> FloatArray:
    """(..., rings, 3), how far each colour of a ring lies from gray; `cuts` (..., 2 REACH + 1, 2 REACH + 1, 3)."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        rings = np.stack([np.nanmean(cuts[..., ring == _RING, :], -2) for ring in range(len(_EDGES) - 1)], -2)
    return np.asarray(rings - rings.mean(-1, keepdims=True))


def _seen(picture: FloatImage, lamps: Sequence[IntArray]) -> FloatArray:
    return _chroma(np.stack([_cut(picture, lamp) for lamp in lamps]))


def _scattered(light: FloatImage, lamps: Sequence[IntArray]) -> FloatArray:
    """(N, radii, shares, rings, 3), the colour around lamps of a light that is scattered by each share and radius."""
    found = np.empty((len(lamps), len(_RADII), len(_SHARES), len(_EDGES) - 1, 3))
    plain = [_cut(light, lamp) for lamp in lamps]
    for number, radius in enumerate(_RADII):
        halo = glare(light, share=1.0, radius=float(radius))
        for lamp, (at, cut) in enumerate(zip(lamps, plain, strict=True)):
            spread = _cut(np.asarray(halo, np.float32), at)
            mixed = [np.clip(srgb((1 - share) * cut + share * spread), 0, 1) for share in _SHARES.astype(np.float32)]
            found[lamp, number] = _chroma(np.stack(mixed))
    return found
