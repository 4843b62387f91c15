"""LZF, in which PCD files are compressed: the format of liblzf, without a header.

A byte below 32 says how many literal bytes follow, less one. Any other byte begins a copy of what was written before:
its upper three bits are the length less two (7: the next byte is added), its lower five bits and the byte after are how
far back, less one.

Source: lzf_c.c and lzf_d.c of liblzf 3.6, http://software.schmorp.de/pkg/liblzf.html.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from simjudge.core.numba_cache import njit

_HASH_BITS = 15
_FARTHEST = 1 << 13
_LONGEST_COPY = (1 << 8) + (1 << 3)
_MOST_LITERALS = 32
MOST_GROWTH = _LONGEST_COPY / 3  # Bytes that one compressed byte can become at most

Bytes = npt.NDArray[np.uint8]


def decompress(data: bytes, size: int) -> bytes | None:
    """Decompress: the bytes; None where the data do not give just so many."""
    out = np.empty(size, np.uint8)
    return out.tobytes() if _decompress(np.frombuffer(data, np.uint8), out) == size else None


def compress(data: bytes) -> bytes:
    """Compress."""
    source = np.frombuffer(data, np.uint8)
    out = np.empty(len(source) + len(source) // _MOST_LITERALS + 2, np.uint8)
    return out[: _compress(source, out)].tobytes()


@njit(cache=True, nogil=True)
def _decompress(source, out):  # type: ignore[no-untyped-def]
    at, to = 0, 0
    while at < len(source):
        control = int(source[at])
        at += 1
        if control < _MOST_LITERALS:
            count = control + 1
            if at + count > len(source) or to + count > len(out):
                return -1
            for k in range(count):
                out[to + k] = source[at + k]
            at += count
            to += count
            continue
        count = control >> 5
        if count == 7:
            if at >= len(source):
                return -1
            count += int(source[at])
            at += 1
        if at >= len(source):
            return -1
        start = to - ((control & 31) << 8) - int(source[at]) - 1
        at += 1
        count += 2
        if start < 0 or to + count > len(out):
            return -1
        # One by one: what is copied may overlap what is written.
        for k in range(count):
            out[to + k] = out[start + k]
        to += count
    return to


@njit(cache=True, nogil=True)
def _compress(source, out):  # type: ignore[no-untyped-def]
    seen = np.full(1 << _HASH_BITS, -1, np.int64)
    at, to, literals, size = 0, 0, 0, len(source)
    while at < size:
        length = 0
        if at + 2 < size:
            word = (int(source[at]) << 16) | (int(source[at + 1]) << 8) | int(source[at + 2])
            slot = ((word * 2654435761) >> 15) & ((1 << _HASH_BITS) - 1)
            start = seen[slot]
            seen[slot] = at
            if start >= 0 and at - start <= _FARTHEST:
                most = min(size - at, _LONGEST_COPY)
                while length < most and source[start + length] == source[at + length]:
                    length += 1
        if length < 3:
            # A run of literals begins with a byte that counts them, which is set when the run is over.
            if literals == 0:
                to += 1
            out[to] = source[at]
            to += 1
            at += 1
            literals += 1
            if literals == _MOST_LITERALS:
                out[to - literals - 1] = literals - 1
                literals = 0
            continue
        if literals:
            out[to - literals - 1] = literals - 1
            literals = 0
        back, code = at - start - 1, length - 2
        if code < 7:
            out[to] = (code << 5) | (back >> 8)
            to += 1
        else:
            out[to] = (7 << 5) | (back >> 8)
            out[to + 1] = code - 7
            to += 2
        out[to] = back & 255
        to += 1
        at += length
    if literals:
        out[to - literals - 1] = literals - 1
    return to
