"""Floors. Each function paints (size, size, 3), sRGB from 0 to 1, that repeats without a seam."""

from __future__ import annotations

import cv2
import numpy as np

from simjudge.core.arrays import FloatArray
from simjudge.sim.scene.textures.noise import (
    Image,
    blend,
    blur,
    draw_lines,
    grid_cells,
    smooth_step,
    spectral,
    stretched_noise,
    wandering_lines,
)

Srgb = tuple[float, float, float]


def concrete(
    *,
    size: int = 1024,
    seed: int = 0,
    colour: Srgb = (0.62, 0.61, 0.59),
    stains: float = 0.5,
    cracks: float = 0.3,
    scuffs: float = 0.4,
) -> Image:
    """Polished concrete: clouds, fine grain, stains, hairline cracks and scuffs, about 3 m across.

    Args:
        size: pixels along each side.
        colour: main colour, sRGB, 0 to 1.
        stains: how dark they are, 0 to 1.
        cracks: how many, 0 to 1.
        scuffs: how many, 0 to 1.

    Returns:
        sRGB, 0 to 1, (size, size, 3).
    """
    random = np.random.default_rng([seed, 1])
    tone = 0.030 * spectral(size, random, 3.0, 2) + 0.012 * spectral(size, random, 1.2, 8)
    grain = spectral(size, random, 0.0)
    tone += 0.010 * grain - 0.05 * smooth_step(grain, 2.6, 3.4)
    blot = spectral(size, random, 3.4, 3)
    tone -= stains * 0.07 * smooth_step(blot, 0.9, 2.0) * (1 + 0.3 * spectral(size, random, 1.6, 10))
    tone += stains * 0.03 * smooth_step(blot, -1.2, -2.4)
    out = np.asarray(colour, np.float32) + tone[..., None] * np.array([1.0, 1.0, 1.04], np.float32)
    count = round(14 * scuffs)
    rubs = wandering_lines(random, count, (0.02, 0.15), 0.01, 0.05)
    rubbed = blur(draw_lines(size, rubs, random.integers(1, 4, count).tolist()), 1.2)
    out = blend(out, np.multiply(colour, 0.55), 0.5 * rubbed * smooth_step(spectral(size, random, 1.5, 12), -1, 1))
    count = round(7 * cracks)
    split = wandering_lines(random, count, (0.15, 0.5), 0.006, 0.35)
    return blend(out, np.multiply(colour, 0.55), 0.55 * blur(draw_lines(size, split, [1] * count), 0.6))


def vinyl_tiles(
    *,
    size: int = 1024,
    seed: int = 0,
    colour: Srgb = (0.70, 0.70, 0.68),
    tiles: int = 8,
    contrast: float = 0.4,
    joint: float = 0.35,
    scuffs: float = 0.4,
) -> Image:
    """Vinyl floor tiles, `tiles` x `tiles` of them: speckles, streaks turned from tile to tile, thin joints, scuffs.

    Args:
        size: pixels along each side.
        colour: main colour, sRGB, 0 to 1.
        joint: how dark the joints are, 0 to 1.
        scuffs: how many, 0 to 1.

    Returns:
        sRGB, 0 to 1, (size, size, 3).
    """
    random = np.random.default_rng([seed, 2])
    column, row, near = grid_cells(size, tiles, tiles)
    shade = random.normal(0, 0.018, (tiles, tiles))[row, column]
    marble = spectral(size, random, 1.7, 12)
    rotated = np.where((column + row) % 2 == 0, marble, marble.T)
    speckle = blur(spectral(size, random, 0.0), 0.8)
    speckle /= speckle.std()
    tone = shade + contrast * (
        0.030 * rotated - 0.06 * smooth_step(speckle, 1.3, 2.6) + 0.05 * smooth_step(-speckle, 1.5, 2.6)
    )
    tone += 0.012 * spectral(size, random, 3.2, 1)
    out = np.asarray(colour, np.float32) + tone[..., None].astype(np.float32)
    count = round(26 * scuffs)
    rubs = wandering_lines(random, count, (0.01, 0.1), 0.008, 0.08)
    rubbed = blur(draw_lines(size, rubs, random.integers(1, 3, count).tolist()), 1.0)
    out = blend(out, np.multiply(colour, 0.5), 0.5 * rubbed)
    return blend(out, np.multiply(colour, 0.45), joint * (1 - smooth_step(near, 0.3, 1.3)))


def floor_tiles(
    *,
    size: int = 1024,
    seed: int = 0,
    colour: Srgb = (0.66, 0.62, 0.56),
    joint: Srgb = (0.42, 0.40, 0.38),
    tiles: int = 4,
    contrast: float = 0.5,
) -> Image:
    """Ceramic tiles, `tiles` x `tiles` of them, with joints of mortar.

    Args:
        size: pixels along each side.
        colour: main colour, sRGB, 0 to 1.
        joint: colour of the mortar, sRGB, 0 to 1.

    Returns:
        sRGB, 0 to 1, (size, size, 3).
    """
    random = np.random.default_rng([seed, 3])
    column, row, near = grid_cells(size, tiles, tiles)
    shade = contrast * random.normal(0, 0.045, (tiles, tiles))[row, column]
    tone = shade + contrast * (0.035 * spectral(size, random, 2.2, 5) + 0.012 * spectral(size, random, 0.4, 20))
    width = size / 300
    tone -= 0.05 * (1 - smooth_step(near, width, 2.2 * width))
    mortar = np.asarray(joint, np.float32) + 0.02 * spectral(size, random, 1.0, 20)[..., None]
    tile = np.asarray(colour, np.float32) + tone[..., None].astype(np.float32)
    return blend(tile, mortar, 1 - smooth_step(near, 0.75 * width, 1.25 * width))


def terrazzo(
    *,
    size: int = 1024,
    seed: int = 0,
    colour: Srgb = (0.56, 0.54, 0.51),
    chips: float = 0.6,
    contrast: float = 0.6,
) -> Image:
    """Terrazzo: ground chips of marble in cement, about 1.5 m across.

    Args:
        size: pixels along each side.
        colour: main colour, sRGB, 0 to 1.
        chips: how dense the chips lie, 0 to 1.

    Returns:
        sRGB, 0 to 1, (size, size, 3).
    """
    random = np.random.default_rng([seed, 4])
    base = np.asarray(colour, np.float32) + (0.012 * spectral(size, random, 2.4, 2))[..., None]
    out: Image = np.ascontiguousarray(base + 0.012 * spectral(size, random, 0.3)[..., None])
    tints = np.array([[0.25, 0.24, 0.22], [0.9, 0.88, 0.84], [0.55, 0.42, 0.34], [0.42, 0.44, 0.45], [0.75, 0.7, 0.62]])
    for _ in range(round(5200 * chips)):
        corners, middle = random.integers(5, 9), random.random(2) * size
        radius = size * min(random.lognormal(-6.0, 0.5), 0.012)
        angle = np.sort(random.uniform(0, 2 * np.pi, corners))
        reach = radius * random.uniform(0.6, 1.2, (corners, 1))
        outline = middle + reach * np.stack([np.cos(angle), np.sin(angle)], 1)
        tint = tints[random.integers(len(tints))] + random.normal(0, 0.04, 3)
        shade = tuple((np.asarray(colour) * (1 - contrast) + tint * contrast).tolist())
        for shift in _shifts(middle, radius * 1.3, size):
            cv2.fillConvexPoly(out, np.round((outline + shift) * 16).astype(np.int32), shade, cv2.LINE_AA, 4)
    return blur(out, 0.6)


def carpet(
    *,
    size: int = 1024,
    seed: int = 0,
    colour: Srgb = (0.24, 0.26, 0.30),
    contrast: float = 0.5,
    tiles: int = 4,
) -> Image:
    """Carpet tiles of looped pile, `tiles` x `tiles` of them, the pile turned from tile to tile.

    Args:
        size: pixels along each side.
        colour: main colour, sRGB, 0 to 1.

    Returns:
        sRGB, 0 to 1, (size, size, 3).
    """
    random = np.random.default_rng([seed, 5])
    column, row, near = grid_cells(size, tiles, tiles)
    loops = blur(spectral(size, random, 0.0), 1.1)
    lines = stretched_noise(size, random, 3.0, 0.7)
    rotated = np.where((column + row) % 2 == 0, lines, lines.T)
    tone = contrast * (0.045 * loops / loops.std() + 0.045 * rotated / rotated.std())
    tone += 0.012 * spectral(size, random, 3.0, 1)
    tone += np.where((column + row) % 2 == 0, 0.012, -0.012) + random.normal(0, 0.008, (tiles, tiles))[row, column]
    flecks = smooth_step(spectral(size, random, 0.2), 2.0, 3.2)
    out = np.asarray(colour, np.float32) * (1 + 2.2 * tone[..., None].astype(np.float32))
    out = blend(out, np.minimum(np.add(colour, 0.22), 1), 0.6 * contrast * flecks)
    return blend(out, np.multiply(colour, 0.5), 0.5 * (1 - smooth_step(near, 0.5, 2.0)))


def _shifts(middle: FloatArray, radius: float, size: int) -> list[FloatArray]:
    """By how much a spot is to be drawn again so that it goes on beyond the edges."""
    sides = [[0] + [size] * int(m < radius) + [-size] * int(m > size - radius) for m in middle]
    return [np.array([x, y], np.float64) for x in sides[0] for y in sides[1]]


PATTERNS = (concrete, vinyl_tiles, floor_tiles, terrazzo, carpet)
