"""Floors, walls, ceilings and what hangs on them, painted by code: sRGB from 0 to 1, (size, size, 3), seamless."""

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
    """Polished concrete: clouds, fine grain, stains, hairline cracks and scuffs, about 3 m across."""
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
    """Vinyl floor tiles, `tiles` x `tiles` of them: speckles, streaks turned from tile to tile, thin joints, scuffs."""
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
    """Ceramic tiles, `tiles` x `tiles` of them, with joints of mortar."""
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
    *, size: int = 1024, seed: int = 0, colour: Srgb = (0.56, 0.54, 0.51), chips: float = 0.6, contrast: float = 0.6
) -> Image:
    """Terrazzo: ground chips of marble in cement, about 1.5 m across."""
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
    *, size: int = 1024, seed: int = 0, colour: Srgb = (0.24, 0.26, 0.30), contrast: float = 0.5, tiles: int = 4
) -> Image:
    """Carpet tiles of looped pile, `tiles` x `tiles` of them, the pile turned from tile to tile."""
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


FLOORS = (concrete, vinyl_tiles, floor_tiles, terrazzo, carpet)


def plaster(
    *, size: int = 512, seed: int = 0, colour: Srgb = (0.86, 0.85, 0.82), contrast: float = 0.4, marks: float = 0.3
) -> Image:
    """Painted plaster: the orange peel of a roller, faint clouds, a few marks; about 2 m across."""
    random = np.random.default_rng([seed, 11])
    peel = spectral(size, random, 0.8, size / 40)
    tone = contrast * (0.014 * peel + 0.016 * spectral(size, random, 3.0, 1))
    out = np.asarray(colour, np.float32) + tone[..., None]
    count = round(10 * marks)
    rubs = wandering_lines(random, count, (0.01, 0.05), 0.005, 0.15)
    return blend(out, np.multiply(colour, 0.7), 0.4 * blur(draw_lines(size, rubs, [1] * count), 0.8))


def brick(
    *,
    size: int = 1024,
    seed: int = 0,
    colour: Srgb = (0.55, 0.30, 0.23),
    joint: Srgb = (0.66, 0.64, 0.60),
    columns: int = 4,
    contrast: float = 0.6,
) -> Image:
    """Bricks in running bond, `columns` a row and three times as many rows; four columns are about 1 m across."""
    random = np.random.default_rng([seed, 12])
    rows = 2 * ((3 * columns + 1) // 2)
    y = (np.arange(size) + 0.5) / size * rows
    row = np.broadcast_to(y.astype(np.int64)[:, None], (size, size))
    x = ((np.arange(size) + 0.5) / size * columns)[None] + 0.5 * (row % 2)
    column = x.astype(np.int64) % columns
    wobble = 0.5 * spectral(size, random, 2.0, 10)
    near = np.minimum(
        np.minimum(x % 1, 1 - x % 1) * size / columns, (np.minimum(y % 1, 1 - y % 1) * size / rows)[:, None]
    )
    shade = contrast * random.normal(0, 0.11, (rows, columns))[row, column]
    tone = shade + contrast * (
        0.10 * spectral(size, random, 1.4, 8) - 0.12 * smooth_step(spectral(size, random, 0.6), 1.8, 3)
    )
    face = np.asarray(colour, np.float32) * (1 + tone[..., None].astype(np.float32))
    mortar = np.asarray(joint, np.float32) * (1 + 0.05 * spectral(size, random, 0.8, 10)[..., None])
    width = size / 170
    edge = smooth_step(near + wobble, 0.7 * width, 1.3 * width)
    return blend(mortar * (1 - 0.25 * smooth_step(near, 0.3 * width, width))[..., None], face, edge)


def ceiling_tiles(
    *, size: int = 512, seed: int = 0, colour: Srgb = (0.88, 0.88, 0.86), tiles: int = 4, joint: float = 0.35
) -> Image:
    """Mineral ceiling tiles, `tiles` x `tiles` of them, pitted, in a grid of rails."""
    random = np.random.default_rng([seed, 13])
    column, row, near = grid_cells(size, tiles, tiles)
    pits = smooth_step(blur(spectral(size, random, 0.0), 0.7), 0.45, 0.9)
    tone = random.normal(0, 0.008, (tiles, tiles))[row, column] - 0.10 * pits + 0.006 * spectral(size, random, 2.0, 2)
    out = np.asarray(colour, np.float32) + tone[..., None].astype(np.float32)
    width = size / tiles / 40
    rail = 1 - smooth_step(near, width, 1.6 * width)
    out = blend(out, np.multiply(colour, 1.04), rail)
    shadow = smooth_step(near, width, 1.6 * width) * (1 - smooth_step(near, 1.6 * width, 3.2 * width))
    return blend(out, np.multiply(colour, 0.6), joint * shadow)


def whiteboard(*, size: int = 512, seed: int = 0, colour: Srgb = (0.93, 0.94, 0.94), writing: float = 0.5) -> Image:
    """A whiteboard with sketches, formulas and what the wiper left of older ones; its rim is aluminium."""
    random = np.random.default_rng([seed, 14])
    out = np.asarray(colour, np.float32) - 0.03 * smooth_step(spectral(size, random, 3.0, 2), 0.4, 2.5)[..., None]
    pens = np.array([[0.12, 0.16, 0.45], [0.10, 0.10, 0.12], [0.65, 0.12, 0.12], [0.10, 0.42, 0.22]])
    for pen in pens:
        lines, widths = [], []
        for _ in range(round(7 * writing)):
            at = random.uniform([0.07, 0.1], [0.75, 0.85])
            if random.random() < 0.3:
                lines.append(_figure(random, at))
                widths.append(2)
            else:
                lines += _words(random, at)
                widths += [1] * (len(lines) - len(widths))
        out = blend(out, pen, 0.85 * draw_lines(size, lines, widths))
    y, x = np.mgrid[0:size, 0:size] / (size - 1)
    rim = np.minimum(np.minimum(x, 1 - x) / 0.012, np.minimum(y, 1 - y) / 0.02)
    return blend(out, (0.62, 0.63, 0.65), (rim < 1).astype(np.float32))


def poster(
    *, size: int = 512, seed: int = 0, colour: Srgb = (0.13, 0.27, 0.47), accent: Srgb = (0.86, 0.52, 0.12)
) -> Image:
    """A conference poster: a coloured head, columns of text, some figures."""
    random = np.random.default_rng([seed, 15])
    out = np.full((size, size, 3), 0.95, np.float32)
    unit = size / 100
    _fill(out, (0, 0, 100, 14), colour, unit)
    _fill(out, (12, 4, 88, 6.5), (0.95, 0.95, 0.95), unit)
    _fill(out, (25, 8.5, 75, 10), (0.8, 0.83, 0.88), unit)
    for left in (4.0, 36.0, 68.0):
        top = 18.0
        while top < 92:
            if random.random() < 0.35 and top < 74:
                height = random.uniform(12, 20)
                _fill(out, (left, top, left + 28, top + height), (0.88, 0.9, 0.92), unit)
                across = np.linspace(left + 2, left + 26, 30)
                curve = top + height * (0.5 + 0.35 * np.sin(across * random.uniform(0.2, 0.6) + random.uniform(0, 6)))
                points = np.round(np.stack([across, curve], 1) * unit).astype(np.int32)
                cv2.polylines(out, [points[:, None]], False, accent, max(int(unit / 2), 1), cv2.LINE_AA)  # noqa: FBT003
                top += height + 3
            else:
                if random.random() < 0.3:
                    _fill(out, (left, top, left + 18, top + 1.8), colour, unit)
                    top += 3.5
                for _ in range(int(random.integers(4, 9))):
                    _fill(out, (left, top, left + random.uniform(22, 28), top + 0.7), (0.45, 0.45, 0.47), unit)
                    top += 1.7
                top += 1.5
    return out


def _fill(out: Image, area: tuple[float, float, float, float], colour: Srgb, unit: float) -> None:
    x0, y0, x1, y1 = (round(value * unit) for value in area)
    out[y0 : max(y1, y0 + 1), x0:x1] = colour


def _figure(random: np.random.Generator, at: FloatArray) -> FloatArray:
    kind, reach = random.integers(3), random.uniform(0.04, 0.12)
    t = np.linspace(0, 1, 40)
    if kind == 0:
        shape = np.array([[0, 0], [1, 0.02], [1.02, 0.6], [0.01, 0.61], [0, 0]])
    elif kind == 1:
        shape = 0.4 * np.stack([np.cos(7 * t), np.sin(7 * t)], 1)
    else:
        shape = np.stack([1.5 * t, -np.exp(-3 * t) * np.sin(12 * t)], 1)
    return at + reach * shape


def _words(random: np.random.Generator, at: FloatArray) -> list[FloatArray]:
    """A line of handwriting: words of up and down strokes."""
    lines, x = [], 0.0
    for _ in range(int(random.integers(2, 5))):
        count = int(random.integers(8, 24))
        across = x + np.arange(count) * 0.004
        lines.append(at + np.stack([across, random.uniform(-0.009, 0.009, count)], 1))
        x = across[-1] + 0.015
    return lines


WALLS = (plaster, brick, ceiling_tiles, whiteboard, poster)
