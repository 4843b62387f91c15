"""Noise and strokes that textures are made of. All of it repeats: the left edge goes on at the right."""

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
