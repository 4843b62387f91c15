"""Compiled loops over pixels: gray values, PIQE's blocks, and the sums that distributions are fitted to."""
# mypy: disallow-untyped-defs=False, disallow-incomplete-defs=False, disallow-untyped-calls=False

from __future__ import annotations

import numpy as np

from simjudge.core.numba_cache import njit

RED, GREEN, BLUE = 0.29893602129377540, 0.58704307445112125, 0.11402090425510334
"""Weights of MATLAB's rgb2gray: the first row of the inverse of NTSC's YIQ matrix. Its page rounds them to 4 digits."""
BLOCK = 16
"""Side of PIQE's blocks, pixels."""
SEGMENT = 6
"""Pixels of a segment of a block's edge."""
ACTIVE, FLAT = 0.1, 0.1
"""PIQE's thresholds: variance of an active block, and deviation of a segment that is too flat."""
ACTIVE_BLOCK, ARTIFACT_BLOCK, NOISY_BLOCK = 1, 2, 4
"""What a block is, as bits."""


@njit(cache=True, nogil=True)
def rgb_to_gray(pixels):
    """Gray as MATLAB's rgb2gray: uint8 (H, W, 3), red first, to whole levels 0 to 255, float64 (H, W)."""
    height, width, _ = pixels.shape
    gray = np.empty((height, width))
    for y in range(height):
        for x in range(width):
            value = RED * pixels[y, x, 0] + GREEN * pixels[y, x, 1] + BLUE * pixels[y, x, 2]
            gray[y, x] = np.floor(value + 0.5)
    return gray


@njit(cache=True, nogil=True)
def _deviation(values):
    """The standard deviation with n - 1, in two passes."""
    mean = 0.0
    for value in values:
        mean += value
    mean /= len(values)
    square = 0.0
    for value in values:
        square += (value - mean) ** 2
    return np.sqrt(square / (len(values) - 1))


@njit(cache=True, nogil=True)
def _has_flat_segment(block):
    """Whether six neighbours somewhere along the block's four edges hardly differ."""
    edges = np.empty((4, BLOCK))
    edges[0], edges[1], edges[2], edges[3] = block[0], block[:, -1], block[-1], block[:, 0]
    for edge in edges:
        for first in range(BLOCK - SEGMENT + 1):
            if _deviation(edge[first : first + SEGMENT]) < FLAT:
                return True
    return False


@njit(cache=True, nogil=True)
def _is_noisy(block, deviation):
    """Whether the two middle columns differ from the others as little as noise does."""
    centre, surround = np.empty(2 * BLOCK), np.empty((BLOCK - 2) * BLOCK)
    n = 0
    for y in range(BLOCK):
        centre[2 * y], centre[2 * y + 1] = block[y, 7], block[y, 8]
        for x in range(BLOCK):
            # MATLAB's piqe deletes column 7 and then, counting anew, column 9: column 8 stays in the surround.
            if x not in {7, 9}:
                surround[n] = block[y, x]
                n += 1
    around = _deviation(surround)
    if around == 0.0:
        return False
    ratio = _deviation(centre) / around
    return deviation > 2.0 * abs(deviation - ratio) / max(deviation, ratio)


@njit(cache=True, nogil=True)
def piqe_blocks(mscn):
    """What each block is to PIQE.

    `mscn`: float64 (H, W), normalized luminance; H and W multiples of 16; returns uint8 (H / 16, W / 16), bits of
    ACTIVE_BLOCK, ARTIFACT_BLOCK and NOISY_BLOCK; and float64 of that shape, the variance of each block.
    """
    rows, columns = mscn.shape[0] // BLOCK, mscn.shape[1] // BLOCK
    kind, variance = np.zeros((rows, columns), np.uint8), np.empty((rows, columns))
    for i in range(rows):
        for j in range(columns):
            block = np.ascontiguousarray(mscn[i * BLOCK : (i + 1) * BLOCK, j * BLOCK : (j + 1) * BLOCK])
            deviation = _deviation(block.ravel())
            variance[i, j] = deviation**2
            if variance[i, j] > ACTIVE:
                bits = ACTIVE_BLOCK
                if _has_flat_segment(block):
                    bits |= ARTIFACT_BLOCK
                if _is_noisy(block, deviation):
                    bits |= NOISY_BLOCK
                kind[i, j] = bits
    return kind, variance


@njit(cache=True, nogil=True)
def block_sums(values, block_height, block_width, shifts):
    """The sums to which distributions are fitted, of each block times itself shifted in a circle within the block.

    `values`: float64 (H, W); `block_height`, `block_width`: size of a block, pixels; what is left over right and below
    is left out; `shifts`: int64 (S, 2), rows and columns to shift by; where both are 0, the sums are of the block
    alone; returns float64 (H / block_height, W / block_width, S, 5): how many values are below 0 and above 0, the sums
    of their squares below and above, and the sum of absolute values.
    """
    rows, columns = values.shape[0] // block_height, values.shape[1] // block_width
    sums = np.zeros((rows, columns, len(shifts), 5))
    for i in range(rows):
        for j in range(columns):
            top, left = i * block_height, j * block_width
            block = values[top : top + block_height, left : left + block_width]
            for s in range(len(shifts)):
                _add_signed(block, shifts[s, 0], shifts[s, 1], sums[i, j, s])
    return sums


@njit(cache=True, nogil=True)
def _add_signed(block, shift_y, shift_x, total):
    height, width = block.shape
    alone = shift_y == 0 and shift_x == 0
    for y in range(height):
        other = (y - shift_y) % height
        for x in range(width):
            value = block[y, x] if alone else block[y, x] * block[other, (x - shift_x) % width]
            if value < 0.0:
                total[0] += 1.0
                total[2] += value * value
                total[4] -= value
            elif value > 0.0:
                total[1] += 1.0
                total[3] += value * value
                total[4] += value
