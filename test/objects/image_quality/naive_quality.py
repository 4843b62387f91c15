"""PIQE and the features of NIQE and BRISQUE written down once more, slowly and literally."""

from __future__ import annotations

import math

import numpy as np
from scipy.ndimage import correlate
from scipy.special import gamma


def naive_gray(pixels):
    """Green is the rest of red and blue, so that white stays 255."""
    red, blue = 0.298936021293775, 0.114020904255103
    value = red * pixels[..., 0] + (1 - red - blue) * pixels[..., 1] + blue * pixels[..., 2]
    return np.floor(value + 0.5)


def gaussian_window():
    y, x = np.mgrid[-3:4, -3:4]
    window = np.exp(-(x * x + y * y) / (2 * (7 / 6) ** 2))
    return window / window.sum()


def naive_mscn(gray, edge):
    mode = {"zero": "constant", "repeat": "nearest"}[edge]
    mean = correlate(gray, gaussian_window(), mode=mode)
    deviation = np.sqrt(np.abs(correlate(gray * gray, gaussian_window(), mode=mode) - mean * mean))
    return (gray - mean) / (deviation + 1), deviation


def naive_cubic(x):
    x = abs(x)
    if x <= 1:
        return 1.5 * x**3 - 2.5 * x**2 + 1
    return -0.5 * x**3 + 2.5 * x**2 - 4 * x + 2 if x < 2 else 0.0


def naive_half_line(line):
    """A line at half its length: every tap weighed by the stretched kernel, mirrored at the ends."""
    count, out = len(line), []
    for u in range(math.ceil(count / 2)):
        centre = (u + 0.5) * 2 - 0.5
        total = weights = 0.0
        for tap in range(math.floor(centre) - 6, math.floor(centre) + 8):
            weight = naive_cubic((centre - tap) / 2)
            inside = tap % (2 * count)
            total += weight * line[inside if inside < count else 2 * count - 1 - inside]
            weights += weight
        out.append(total / weights)
    return out


def naive_half_scale(gray):
    rows = np.array([naive_half_line(line) for line in gray])
    return np.array([naive_half_line(line) for line in rows.T]).T


def naive_piqe(pixels):
    """Score and the three masks."""
    height, width = pixels.shape[:2]
    rows, columns = math.ceil(height / 16) * 16, math.ceil(width / 16) * 16
    wide = np.pad(naive_gray(pixels.astype(float)), ((0, rows - height), (0, columns - width)), mode="symmetric")
    mscn, _ = naive_mscn(wide, "repeat")
    masks = np.zeros((3, rows, columns), bool)
    active, distortion = 0, 0.0
    for top in range(0, rows, 16):
        for left in range(0, columns, 16):
            here = np.s_[top : top + 16, left : left + 16]
            block = mscn[here]
            variance = np.var(block, ddof=1)
            if variance <= 0.1:
                continue
            active += 1
            masks[0][here] = True
            edges = [block[0], block[-1], block[:, 0], block[:, -1]]
            if any(np.std(edge[i : i + 6], ddof=1) < 0.1 for edge in edges for i in range(11)):
                masks[1][here] = True
                distortion += 1 - variance
            surround = np.delete(np.delete(block, 7, axis=1), 8, axis=1)
            ratio = np.std(block[:, 7:9], ddof=1) / np.std(surround, ddof=1)
            sigma = math.sqrt(variance)
            if sigma > 2 * abs(sigma - ratio) / max(sigma, ratio):
                masks[2][here] = True
                distortion += variance
    return 100 * (distortion + 1) / (active + 1), masks[:, :height, :width]


SHAPES = np.arange(200, 10001) / 1000


def naive_ggd(values):
    """Shape and variance."""
    ratios = gamma(1 / SHAPES) * gamma(3 / SHAPES) / gamma(2 / SHAPES) ** 2
    wanted = np.mean(values**2) / np.mean(np.abs(values)) ** 2
    return SHAPES[np.argmin(np.abs(ratios - wanted))], np.mean(values**2)


def naive_aggd(values):
    """Shape, and the left and the right standard deviation."""
    left = math.sqrt(np.mean(values[values < 0] ** 2))
    right = math.sqrt(np.mean(values[values > 0] ** 2))
    g = left / right
    wanted = np.mean(np.abs(values)) ** 2 / np.mean(values**2) * (g**3 + 1) * (g + 1) / (g**2 + 1) ** 2
    ratios = gamma(2 / SHAPES) ** 2 / (gamma(1 / SHAPES) * gamma(3 / SHAPES))
    return SHAPES[np.argmin((ratios - wanted) ** 2)], left, right


def naive_brisque_features(gray):
    features = []
    for scale in range(2):
        mscn, _ = naive_mscn(gray, "zero")
        features += naive_ggd(mscn)
        for shift in ((0, 1), (1, 0), (1, 1), (-1, 1)):
            shape, left, right = naive_aggd(mscn * np.roll(mscn, shift, (0, 1)))
            scaling = math.sqrt(gamma(1 / shape) / gamma(3 / shape))
            features += [shape, (right - left) * gamma(2 / shape) / gamma(1 / shape) * scaling, left**2, right**2]
        if scale == 0:
            gray = naive_half_scale(gray)
    return np.array(features)


def naive_niqe_block(mscn):
    """The 18 features of a block at one scale."""
    shape, left, right = naive_aggd(mscn)
    scaling = math.sqrt(gamma(1 / shape) / gamma(3 / shape))
    features = [shape, scaling * (left + right) / 2]
    for shift in ((0, 1), (1, 0), (1, 1), (1, -1)):
        shape, left, right = naive_aggd(mscn * np.roll(mscn, shift, (0, 1)))
        left, right = (deviation * math.sqrt(gamma(1 / shape) / gamma(3 / shape)) for deviation in (left, right))
        features += [shape, (right - left) * gamma(2 / shape) / gamma(1 / shape), left, right]
    return features


def naive_niqe_features(gray):
    """A row of 36 features for each whole block of 96 x 96, and the mean deviation within each."""
    rows, columns = gray.shape[0] // 96, gray.shape[1] // 96
    gray = gray[: rows * 96, : columns * 96]
    features, sharpness = [[] for _ in range(rows * columns)], []
    for side in (96, 48):
        mscn, deviation = naive_mscn(gray, "repeat")
        for i in range(rows):
            for j in range(columns):
                here = np.s_[i * side : (i + 1) * side, j * side : (j + 1) * side]
                features[i * columns + j] += naive_niqe_block(mscn[here])
                if side == 96:
                    sharpness.append(deviation[here].mean())
        gray = naive_half_scale(gray)
    return np.array(features), np.array(sharpness)
