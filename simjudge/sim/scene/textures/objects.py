"""Furniture, boxes and other objects. Each function paints (size, size, 3), sRGB from 0 to 1."""

from __future__ import annotations

import numpy as np

from simjudge.sim.scene.textures.floors_and_walls import Srgb
from simjudge.sim.scene.textures.noise import Image, blend, blur, smooth_step, spectral, stretched_noise


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
