"""LZF: streams written by hand after the format's description, and everything back as it was."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simjudge.data.format_support.lzf import compress, decompress


@pytest.mark.parametrize(
    ("stream", "plain"),
    [
        (b"\x02abc", b"abc"),
        (b"\x00a\xe0\x00\x00", b"a" * 10),  # a literal; 7 + 0 + 2 bytes from one back
        (b"\x02abc\x20\x02", b"abcabc"),  # 1 + 2 bytes from three back
        (b"\x1f" + bytes(range(32)) + b"\x20\x1f", bytes(range(32)) + b"\x00\x01\x02"),
    ],
)
def test_known_streams(stream, plain):
    assert decompress(stream, len(plain)) == plain


@pytest.mark.parametrize("stream", [b"\x02ab", b"\x20\x00", b"\xe0\x00", b"\x00a\x20", b"\x00a\x20\x05", b"\x05abcdef"])
def test_damaged_streams(stream):
    assert decompress(stream, 3) is None


@settings(max_examples=200, deadline=None)
@given(st.one_of(st.binary(max_size=400), st.lists(st.sampled_from([b"ab", b"xyz" * 30, b"\0" * 300]), max_size=40)))
def test_everything_comes_back(data):
    plain = data if isinstance(data, bytes) else b"".join(data)
    packed = compress(plain)
    assert decompress(packed, len(plain)) == plain
    assert len(packed) <= len(plain) + len(plain) // 32 + 1


def test_points_become_smaller():
    x = np.linspace(0, 100, 5000).astype("<f4")
    plain = x.tobytes() + np.zeros(5000, "<f4").tobytes() + (np.arange(5000) % 16).astype("<u2").tobytes()
    assert len(compress(plain)) < 0.6 * len(plain)
