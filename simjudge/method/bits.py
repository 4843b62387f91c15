"""Bit-packed masks: compiled helpers that set and count bits. Bit b of a row of words is bit b % 64 of word b // 64."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import config, types, uint64
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np.arrayobj import make_array

from simjudge.core.errors import SimjudgeError
from simjudge.core.numba_cache import njit

if config.DISABLE_JIT:
    raise SimjudgeError("NUMBA_DISABLE_JIT is set: simjudge counts bits in compiled code alone; unset it")

WORD = 64
CACHE_LINE = 64
"""Bytes."""
BLOCK = 8
"""Side of the square blocks, in pixels, whose counts bound an intersection from above. 8 x 8 fits a byte."""


def whole_lines(length: int, item_bytes: int) -> int:
    """A row length that fills cache lines: what is left over a vector register would be counted one by one."""
    items = CACHE_LINE // item_bytes
    return -(-length // items) * items


_I32, _I64 = ir.IntType(32), ir.IntType(64)
_BYTES, _WORDS = ir.VectorType(ir.IntType(8), CACHE_LINE), ir.VectorType(_I64, CACHE_LINE // 8)


@intrinsic  # type: ignore[untyped-decorator]
def count_ones(typing_context: Any, word: Any) -> Any:
    """The number of set bits of a word: the processor's own instruction, which LLVM also vectorizes.

    Args:
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


@intrinsic  # type: ignore[untyped-decorator]
def count_common_bits(typing_context: Any, a: Any, p: Any, b: Any, q: Any, first: Any, end: Any) -> Any:
    """How many bits two rows of words have in common, cache line by cache line.

    Args:
        a: uint64 (P, W), whole cache lines a row, C order.
        b: uint64 (Q, W).

    Returns:
        int64.
    """
    del typing_context

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
        rows = _row_addresses(context, builder, signature, arguments)
        ones = _llvm_function(builder, "llvm.ctpop.v8i64", ir.FunctionType(_WORDS, [_WORDS]))
        total = cgutils.alloca_once_value(builder, ir.Constant(_WORDS, [0] * 8))
        step = ir.Constant(_I64, 1)
        with cgutils.for_range_slice(builder, arguments[4], arguments[5], step, _I64) as (line, _):
            both = builder.and_(*(_load_line(builder, row, line, _WORDS) for row in rows))
            builder.store(builder.add(builder.load(total), builder.call(ones, [both])), total)
        add = _llvm_function(builder, "llvm.vector.reduce.add.v8i64", ir.FunctionType(_I64, [_WORDS]))
        return builder.call(add, [builder.load(total)])

    return types.int64(a, p, b, q, first, end), generate


@intrinsic  # type: ignore[untyped-decorator]
def minimum_sum(typing_context: Any, a: Any, p: Any, b: Any, q: Any, lines: Any) -> Any:
    """Sum of the element-wise minimum of two rows of counts: no intersection of the two masks can be larger.

    LLVM makes one instruction of the sum over a cache line where the processor has one (psadbw); a loop in Python terms
    takes nine times as long.

    Args:
        a: uint8 (P, K), whole cache lines a row, C order: set pixels of each block.
        b: uint8 (Q, K).

    Returns:
        int64.
    """
    del typing_context

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
        rows = _row_addresses(context, builder, signature, arguments)
        wide = ir.VectorType(_I32, CACHE_LINE)
        add = _llvm_function(builder, "llvm.vector.reduce.add.v64i32", ir.FunctionType(_I32, [wide]))
        total = cgutils.alloca_once_value(builder, ir.Constant(_I32, 0))
        with cgutils.for_range(builder, arguments[4], intp=_I64) as loop:
            x, y = (_load_line(builder, row, loop.index, _BYTES) for row in rows)
            least = builder.select(builder.icmp_unsigned("<", x, y), x, y)
            of_line = builder.call(add, [builder.zext(least, wide)])
            builder.store(builder.add(builder.load(total), of_line), total)
        return builder.zext(builder.load(total), _I64)

    return types.int64(a, p, b, q, lines), generate


def _row_addresses(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> list[Any]:
    """Where row `p` of array `a` and row `q` of array `b` begin, of arguments a, p, b, q."""
    addresses = []
    for at in (0, 2):
        array = make_array(signature.args[at])(context, builder, arguments[at])
        stride = cgutils.unpack_tuple(builder, array.strides)[0]
        addresses.append(builder.add(builder.ptrtoint(array.data, _I64), builder.mul(arguments[at + 1], stride)))
    return addresses


def _load_line(builder: ir.IRBuilder, row: Any, line: Any, kind: ir.VectorType) -> Any:
    address = builder.add(row, builder.mul(line, ir.Constant(_I64, CACHE_LINE)))
    return builder.load(builder.inttoptr(address, kind.as_pointer()), align=1)


def _llvm_function(builder: ir.IRBuilder, name: str, kind: ir.FunctionType) -> Any:
    return builder.module.globals.get(name) or ir.Function(builder.module, kind, name)


@njit(cache=True, nogil=True)
def count_blocks(words, height, width, blocks):  # type: ignore[no-untyped-def]
    """Count the set pixels of each 8 x 8 block of a mask.

    Args:
        words: uint64 (W,), height x width pixels, row-major, 64 a word.
        height: of the mask, pixels.
        width: of the mask, pixels.
        blocks: uint8 (K,), zeros; out: the counts, row-major.
    """
    across = (width + BLOCK - 1) // BLOCK
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


@njit(cache=True, nogil=True)
def count_bits(words):  # type: ignore[no-untyped-def]
    """Count the set bits of a row of words.

    Args:
        words: uint64 (W,).

    Returns:
        int64.
    """
    total = 0
    for k in range(len(words)):
        total += count_ones(words[k])
    return total
