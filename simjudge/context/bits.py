"""Bit-packed masks: compiled helpers that set and count bits. Bit b of a row of words is bit b % 64 of word b // 64."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import config, njit, types, uint64
from numba.extending import intrinsic

from simjudge.core.errors import SimjudgeError

if config.DISABLE_JIT:
    raise SimjudgeError("NUMBA_DISABLE_JIT is set: simjudge counts bits in compiled code alone; unset it")

WORD = 64
CACHE_LINE = 64
"""Bytes."""
BLOCK = 8
"""Side of the square blocks, in pixels, whose counts bound an intersection from above. 8 x 8 fits a byte."""


@intrinsic  # type: ignore[untyped-decorator]
def count_ones(typing_context: Any, word: Any) -> Any:
    """The number of set bits of a word: the processor's own instruction, which LLVM also vectorizes.

    Args:
        typing_context: numba's.
        word: a uint64.

    Returns:
        int64.
    """
    del typing_context, word

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
        del context, signature
        return builder.ctpop(arguments[0])

    return types.int64(types.uint64), generate


@njit(cache=True, nogil=True)
def set_run(words, start, stop):  # type: ignore[no-untyped-def]
    """Set the bits start .. stop - 1 of a row of words.

    Args:
        words: uint64 (W,), in and out.
        start: first bit.
        stop: bit behind the last one, above `start`.
    """
    first, last = start // WORD, (stop - 1) // WORD
    ones = uint64(0xFFFFFFFFFFFFFFFF)
    head = ones << uint64(start % WORD)
    tail = ones >> uint64(WORD - 1 - (stop - 1) % WORD)
    if first == last:
        words[first] |= head & tail
        return
    words[first] |= head
    for i in range(first + 1, last):
        words[i] = ones
    words[last] |= tail


@njit(cache=True, nogil=True)
def count_common_bits(a, p, b, q):  # type: ignore[no-untyped-def]
    """How many bits two rows of words have in common.

    Args:
        a: uint64 (P, W).
        p: row of `a`.
        b: uint64 (Q, W).
        q: row of `b`.
    """
    # Rows by number, not as slices: a slice counts references, which costs more than the row.
    count = 0
    for i in range(a.shape[1]):
        count += count_ones(a[p, i] & b[q, i])
    return count


@njit(cache=True, nogil=True)
def minimum_sum(a, p, b, q):  # type: ignore[no-untyped-def]
    """Sum of the element-wise minimum of two rows of block counts: no intersection of the two masks can be larger.

    Args:
        a: uint8 (P, K), set pixels of each 8 x 8 block.
        p: row of `a`.
        b: uint8 (Q, K).
        q: row of `b`.
    """
    total = 0
    for i in range(a.shape[1]):
        total += min(a[p, i], b[q, i])
    return total


@njit(cache=True, nogil=True)
def count_blocks(words, height, width, blocks):  # type: ignore[no-untyped-def]
    """Count the set pixels of each 8 x 8 block of a mask.

    Args:
        words: uint64 (W,), height x width pixels, row-major, 64 a word.
        height: of the mask, pixels.
        width: of the mask, pixels.
        blocks: uint8 (K,), zeros; out: the counts, row-major.

    Returns:
        The count of the whole mask.
    """
    across = (width + BLOCK - 1) // BLOCK
    total = 0
    for row in range(height):
        for column in range(across):
            bit = row * width + column * BLOCK
            taken = min(BLOCK, width - column * BLOCK)
            word, shift = bit // WORD, bit % WORD
            value = words[word] >> uint64(shift)
            if shift + taken > WORD:
                value |= words[word + 1] << uint64(WORD - shift)
            ones = count_ones(value & ((uint64(1) << uint64(taken)) - uint64(1)))
            blocks[(row // BLOCK) * across + column] += ones
            total += ones
    return total
