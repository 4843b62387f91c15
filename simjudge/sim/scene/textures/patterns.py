"""Patterns painted by code, sRGB 0 to 1, (size, size, 3), seamless: floors, walls, furniture, and their noise."""

from __future__ import annotations

import cv2
import numpy as np
import numpy.typing as npt
from scipy import fft

from simjudge.core.arrays import FloatArray

Image = npt.NDArray[np.float32]


def spectral(size: int, random: np.random.Generator, exponent: float = 2.0, coarsest: float = 1.0) -> Image:
    """Noise (size, size), mean 0, deviation 1, amplitude falling as frequency^-exponent / 2 from `coarsest` cycles."""
    white = random.standard_normal((size, size), np.float32)
    # Along axis 1 a real transform keeps the positive frequencies only.
    fy, fx = np.fft.fftfreq(size, 1 / size)[:, None], np.fft.rfftfreq(size, 1 / size)[None]
    frequency = np.hypot(fy, fx)
    gain = np.where(frequency >= coarsest, np.maximum(frequency, 1.0) ** (-exponent / 2), 0).astype(np.float32)
    gain[0, 0] = 0
    out: Image = fft.irfft2(fft.rfft2(white) * gain, s=(size, size))
    out /= out.std()
    return out


def stretched_noise(size: int, random: np.random.Generator, along: float, across: float) -> Image:
    """Noise (size, size), mean 0, deviation 1, stretched: features `along` pixels wide and `across` pixels high."""
    white = random.standard_normal((size, size), np.float32)
    fy, fx = np.fft.fftfreq(size)[:, None], np.fft.rfftfreq(size)[None]
    gain = np.exp(-2 * np.pi**2 * ((fx * along) ** 2 + (fy * across) ** 2)).astype(np.float32)
    gain[0, 0] = 0
    out: Image = fft.irfft2(fft.rfft2(white) * gain, s=(size, size))
    out /= out.std()
    return out


def blur(image: Image, sigma: float) -> Image:
    """A Gaussian blur that goes on across the edges; any number of channels (image: (H, W) or (H, W, C))."""
    reach = min(int(4 * sigma + 1), image.shape[0] - 1)
    padded = cv2.copyMakeBorder(image, reach, reach, reach, reach, cv2.BORDER_WRAP)
    soft = cv2.GaussianBlur(padded, (0, 0), sigma)
    out: Image = np.ascontiguousarray(soft[reach:-reach, reach:-reach])
    return out


def draw_lines(size: int, lines: list[FloatArray], widths: list[int]) -> Image:
    """Lines, each points (P, 2) in parts of the texture, drawn with widths in pixels: (size, size), 1 on them."""
    out = np.zeros((size, size), np.uint8)
    for line, width in zip(lines, widths, strict=True):
        low, high = np.floor(line.min(0) - 0.02).astype(int), np.floor(line.max(0) + 0.02).astype(int)
        for i in range(low[0], high[0] + 1):
            for j in range(low[1], high[1] + 1):
                points = np.round((line - [i, j]) * size * 16).astype(np.int32)
                cv2.polylines(out, [points[:, None]], False, 255, width, cv2.LINE_AA, 4)  # noqa: FBT003
    return np.asarray(out / 255, np.float32)


def wandering_line(
    random: np.random.Generator, start: FloatArray, length: float, step: float, turn: float
) -> FloatArray:
    """A line that wanders: points (P, 2), each `step` on in a direction that changes by about `turn` radians."""
    count = max(int(length / step), 2)
    angle = random.uniform(0, 2 * np.pi) + np.cumsum(random.normal(0, turn, count))
    return start + np.cumsum(step * np.stack([np.cos(angle), np.sin(angle)], 1), 0)


def wandering_lines(
    random: np.random.Generator, count: int, lengths: tuple[float, float], step: float, turn: float
) -> list[FloatArray]:
    """Lines that wander from anywhere: scuffs, cracks, scratches. The lines, points (P, 2) each."""
    return [wandering_line(random, random.random(2), random.uniform(*lengths), step, turn) for _ in range(count)]


def smooth_step(x: npt.NDArray[np.floating], low: float, high: float) -> Image:
    """0 below `low`, 1 above `high`, smooth between (x: any shape)."""
    t = np.clip((x - low) / (high - low), 0, 1)
    return np.asarray(t * t * (3 - 2 * t), np.float32)


def blend(one: npt.ArrayLike, other: npt.ArrayLike, share: Image) -> Image:
    """(H, W, 3) from `one` where the share (H, W) is 0 to `other` where it is 1; either may be one colour."""
    a, b = np.asarray(one, np.float32), np.asarray(other, np.float32)
    return np.asarray(a + (b - a) * share[..., None], np.float32)


def grid_cells(size: int, columns: int, rows: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], Image]:
    """Tiles: column and row of each pixel (broadcast to (size, size)), and pixels to the nearest joint's middle."""
    x, y = (np.arange(size) + 0.5) / size * columns, (np.arange(size) + 0.5) / size * rows
    near_x = np.minimum(x % 1, 1 - x % 1) * size / columns
    near_y = np.minimum(y % 1, 1 - y % 1) * size / rows
    column, row = np.broadcast_arrays(x.astype(np.int64)[None], y.astype(np.int64)[:, None])
    return column, row, np.minimum(near_x[None], near_y[:, None]).astype(np.float32)


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


def wood(*, size: int = 512, seed: int = 0, colour: Srgb = (0.66, 0.50, 0.34), contrast: float = 0.5) -> Image:
    """Wood: grain along u, rings, pores; about 1 m across (colour: main colour). SRGB, 0 to 1, (size, size, 3)."""
    random = np.random.default_rng([seed, 21])
    y = np.arange(size)[:, None] / size
    bend = 0.35 * stretched_noise(size, random, size / 5, size / 12)
    rings = np.sin(2 * np.pi * (9 * y + bend)) + 0.5 * np.sin(2 * np.pi * (23 * y + 2 * bend))
    fine, pores = stretched_noise(size, random, size / 12, 0.8), stretched_noise(size, random, 10, 0.6)
    tone = contrast * (0.05 * rings + 0.05 * fine - 0.10 * smooth_step(pores, 1.6, 3.0))
    return np.asarray(np.asarray(colour) * (1 + 1.4 * tone[..., None] * [0.8, 1.0, 1.2]), np.float32)


def door(
    *, size: int = 512, seed: int = 0, colour: Srgb = (0.58, 0.42, 0.28), frame: Srgb = (0.35, 0.36, 0.38)
) -> Image:
    """A wooden door in its frame, with a window slit, a handle and a kick plate: the whole texture is one door."""
    random = np.random.default_rng([seed, 22])
    out = np.transpose(wood(size=size, seed=seed, colour=colour, contrast=0.4), (1, 0, 2)).copy()
    y, x = np.mgrid[0:size, 0:size] / (size - 1)  # y downwards from the top
    out = blend(out, frame, ((np.minimum(x, 1 - x) < 0.05) | (y < 0.025)).astype(np.float32))
    gap = (np.abs(np.minimum(x, 1 - x) - 0.053) < 0.004) | ((np.abs(y - 0.027) < 0.002) & (x > 0.05) & (x < 0.95))
    out = blend(out, (0.08, 0.08, 0.08), gap.astype(np.float32))
    slit = (np.abs(x - 0.72) < 0.07) & (np.abs(y - 0.3) < 0.15)
    glass = np.float32(0.10) + np.float32(0.12) * smooth_step(1 - y + 0.1 * x, 0.55, 0.85)
    out = blend(out, glass[..., None] * np.array([0.9, 1.0, 1.1], np.float32), slit.astype(np.float32))
    rim = (np.abs(x - 0.72) < 0.082) & (np.abs(y - 0.3) < 0.158) & ~slit
    out = blend(out, np.multiply(colour, 0.5), rim.astype(np.float32))
    steel = 0.62 + 0.05 * stretched_noise(size, random, 30, 1)[..., None]
    plate = (np.abs(x - 0.5) < 0.40) & (y > 0.86) & (y < 0.985)
    handle = ((np.abs(x - 0.87) < 0.022) & (np.abs(y - 0.52) < 0.045)) | (
        (np.abs(x - 0.82) < 0.07) & (np.abs(y - 0.515) < 0.008)
    )
    return blend(out, steel, (plate | handle).astype(np.float32))


def cardboard(
    *, size: int = 512, seed: int = 0, colour: Srgb = (0.68, 0.53, 0.37), tape: float = 0.5, label: float = 0.4
) -> Image:
    """Corrugated cardboard: flutes, fibres, a strip of tape, a printed label; one texture a side."""
    random = np.random.default_rng([seed, 23])
    y, x = np.mgrid[0:size, 0:size] / (size - 1)
    flutes = 0.012 * np.sin(2 * np.pi * x * 90)
    tone = flutes + 0.02 * spectral(size, random, 1.0, 6) + 0.025 * spectral(size, random, 3.0, 1)
    out = np.asarray(np.asarray(colour) * (1 + 1.3 * tone[..., None]), np.float32)
    strip = smooth_step(0.055 - np.abs(x - 0.5), 0, 0.004) * (np.abs(y - 0.5) > 0.36)
    out = blend(out, np.minimum(np.multiply(colour, 1.18), 1), tape * strip.astype(np.float32))
    u, v = 0.12 + 0.4 * random.random(), 0.42 + 0.2 * random.random()
    stuck = (x > u) & (x < u + 0.30) & (y > v) & (y < v + 0.17)
    lines = stuck & ((y - v) % 0.034 < 0.014) & (x < u + 0.04 + 0.22 * random.random())
    out = blend(out, (0.9, 0.9, 0.88), label * stuck.astype(np.float32))
    out = blend(out, (0.15, 0.14, 0.13), label * lines.astype(np.float32))
    edge = np.minimum(np.minimum(x, 1 - x), np.minimum(y, 1 - y))
    return blend(out, np.multiply(colour, 0.75), 0.4 * (1 - smooth_step(edge, 0.0, 0.015)))


def brushed_metal(*, size: int = 512, seed: int = 0, colour: Srgb = (0.72, 0.73, 0.74), contrast: float = 0.4) -> Image:
    """Brushed or painted sheet metal: fine streaks along u (colour: main colour). SRGB, 0 to 1, (size, size, 3)."""
    random = np.random.default_rng([seed, 24])
    tone = contrast * (0.05 * stretched_noise(size, random, size / 8, 0.7) + 0.02 * spectral(size, random, 3.0, 1))
    return np.asarray(np.asarray(colour) * (1 + tone[..., None]), np.float32)


def cone_plastic(
    *,
    size: int = 256,
    seed: int = 0,
    colour: Srgb = (0.83, 0.16, 0.10),
    stripe: Srgb = (0.92, 0.92, 0.90),
    stripes: int = 0,
    wear: float = 0.4,
) -> Image:
    """Plastic of a traffic cone, v = 0 at its foot: faint mottle, scuffs that whiten, dirt below, `stripes` bands."""
    random = np.random.default_rng([seed, 25])
    v = 1 - (np.arange(size)[:, None] + 0.5) / size
    tone = 0.03 * spectral(size, random, 2.0, 2) + 0.02 * spectral(size, random, 0.5, 8)
    out = np.asarray(np.asarray(colour) * (1 + tone[..., None]), np.float32)
    if stripes:
        # Bands between the base plate and the tip, as wide as the gaps between them.
        place = (v - 0.45) / 0.4 * (2 * stripes + 1)
        band = (place > 0) & (place < 2 * stripes + 1) & (np.floor(place) % 2 == 1)
        out = blend(out, stripe, np.broadcast_to(band, (size, size)).astype(np.float32))
    rub = smooth_step(spectral(size, random, 1.2, 4), 1.7, 2.6)
    out = blend(out, np.minimum(np.multiply(colour, 0.8) + 0.2, 1), 0.5 * wear * rub)
    dirt = smooth_step(0.3 - v + 0.08 * spectral(size, random, 2.0, 3), 0, 0.3)
    return blend(out, (0.25, 0.22, 0.2), 0.35 * wear * dirt)


def books(
    *, size: int = 512, seed: int = 0, shelves: int = 4, fill: float = 0.85, colour: Srgb = (0.5, 0.5, 0.5)
) -> Image:
    """The front of a book case: `shelves` boards with books and binders; the whole texture is one front."""
    random = np.random.default_rng([seed, 26])
    out = np.full((size, size, 3), 0.07, np.float32)
    board = max(round(0.02 * size), 2)
    for shelf in range(shelves):
        top, floor = round(shelf * size / shelves) + board, round((shelf + 1) * size / shelves)
        x = board
        while x < size - board:
            width = int(size * random.uniform(0.012, 0.05))
            if random.random() > fill:
                x += 3 * width
                continue
            height = int((floor - top) * random.uniform(0.62, 0.93))
            shade = _spine(random)
            right = min(x + width, size - board)
            out[floor - height : floor, x:right] = shade
            out[floor - height : floor, x : x + 1] *= 0.5
            if width > 0.02 * size:
                band = floor - int(height * random.uniform(0.55, 0.8))
                out[band : band + max(height // 8, 2), x + 2 : right - 2] = np.minimum(shade + 0.35, 0.95)
            x += width + int(random.random() < 0.3)
        out[top - board : top] = colour
    out[:, :board] = out[:, -board:] = out[-board:] = colour
    return blur(out + 0.01 * spectral(size, random, 0.0)[..., None], 0.5)


def _spine(random: np.random.Generator) -> Image:
    """A book's colour: mostly dull, some white, black or bright."""
    kind = random.random()
    if kind < 0.25:
        return np.full(3, random.uniform(0.75, 0.92), np.float32)
    if kind < 0.4:
        return np.full(3, random.uniform(0.08, 0.2), np.float32)
    grey = random.uniform(0.2, 0.55)
    tint = grey + random.uniform(0.15, 0.55) * (random.dirichlet([1.2, 0.9, 1.2]) - 0.33)
    return np.clip(tint, 0.04, 0.85).astype(np.float32)


def screen(*, size: int = 256, seed: int = 0, colour: Srgb = (0.12, 0.14, 0.18)) -> Image:
    """A monitor that shows windows with code and a plot; its rim is black."""
    random = np.random.default_rng([seed, 27])
    out = np.zeros((size, size, 3), np.float32) + np.asarray(colour, np.float32)
    unit = size / 64
    hues = np.array([[0.85, 0.85, 0.85], [0.5, 0.75, 0.95], [0.95, 0.75, 0.4], [0.55, 0.85, 0.55]])
    for row in range(6, 58, 2):
        x = 4 + 2 * int(random.integers(0, 5))
        for _ in range(int(random.integers(0, 5))):
            width = int(random.integers(2, 7))
            out[round(row * unit) : round((row + 1) * unit), round(x * unit) : round(min(x + width, 38) * unit)] = (
                0.8 * hues[random.integers(4)]
            )
            x += width + 1
    out[round(6 * unit) : round(30 * unit), round(40 * unit) : round(60 * unit)] = (0.9, 0.9, 0.92)
    out[round(34 * unit) : round(58 * unit), round(40 * unit) : round(60 * unit)] = (0.3, 0.36, 0.42)
    y, x_ = np.mgrid[0:size, 0:size] / (size - 1)
    rim = np.minimum(np.minimum(x_, 1 - x_), np.minimum(y, 1 - y)) < 0.025
    return blend(out, (0.02, 0.02, 0.02), rim.astype(np.float32))


OBJECTS = (wood, door, cardboard, brushed_metal, cone_plastic, books, screen)
