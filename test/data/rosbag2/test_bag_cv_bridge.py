"""cv_bridge beside our own conversions: the guarded import, what it is asked for, and that both say the same."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import cv2
import numpy as np
import pytest
from bag_samples import TYPES, header

from simjudge.core.images import ImageError
from simjudge.data.rosbag2 import image_messages as cv_bridge_pixels
from simjudge.data.rosbag2.image_messages import raw_to_rgb

WIDTH, HEIGHT = 10, 8
CHANNELS = {"rgb": 3, "bgr": 3, "rgba": 4, "bgra": 4, "mono": 1}
BAYER = ("bayer_rggb", "bayer_bggr", "bayer_gbrg", "bayer_grbg")
COMMON = [(f"{name}{bits}", channels, bits) for name, channels in CHANNELS.items() for bits in (8, 16)]
COMMON += [(f"{name}{bits}", 1, bits) for name in BAYER for bits in (8, 16)]
COMMON += [("yuv422", 2, 8), ("yuv422_yuy2", 2, 8)]


def noise(encoding: str, channels: int, bits: int, *, padding: int = 0, big: bool = False) -> Any:
    """A raw image of noise; each row padded."""
    values = np.random.default_rng(len(encoding)).integers(0, 1 << bits, (HEIGHT, WIDTH * channels))
    rows = values.astype(f"{'>' if big else '<'}u{bits // 8}").view(np.uint8)
    data = np.pad(rows, ((0, 0), (0, padding)), constant_values=77)
    step = data.shape[1]
    return TYPES.types["sensor_msgs/msg/Image"](header(1), HEIGHT, WIDTH, encoding, int(big), step, data.reshape(-1))


@pytest.fixture(autouse=True)
def _forget() -> Iterator[None]:
    cv_bridge_pixels.load_bridge.cache_clear()
    yield
    cv_bridge_pixels.load_bridge.cache_clear()


class StandIn:
    """What CvBridge does for one more encoding, "gbr8", and for a depth."""

    def encoding_to_dtype_with_channels(self, encoding: str) -> tuple[str, int]:
        known = {"gbr8": ("uint8", 3), "bgr8": ("uint8", 3), "16UC1": ("uint16", 1), "32FC1": ("float32", 1)}
        if encoding not in known:
            raise TypeError(f"Unrecognized image encoding [{encoding}]")
        return known[encoding]

    def imgmsg_to_cv2(self, message: Any, desired_encoding: str) -> Any:
        if message.encoding not in ("gbr8", "bgr8"):
            raise TypeError(f"[{message.encoding}] is not a color format. but [{desired_encoding}] is.")
        pixels = np.ndarray((message.height, message.step // 3, 3), np.uint8, message.data)
        return pixels[:, :, [2, 0, 1] if message.encoding == "gbr8" else [2, 1, 0]]


def put(monkeypatch: pytest.MonkeyPatch, bridge: Any) -> None:
    module = ModuleType("cv_bridge")
    module.CvBridge = bridge  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "cv_bridge", module)


def broken_by(error: Exception) -> Any:
    def use(*_: Any) -> Any:
        raise error

    return lambda: SimpleNamespace(imgmsg_to_cv2=use, encoding_to_dtype_with_channels=use)


@pytest.mark.parametrize("padding", [0, 1, 6])
def test_an_encoding_of_cv_bridge(monkeypatch: pytest.MonkeyPatch, padding: int) -> None:
    put(monkeypatch, StandIn)
    sent = noise("gbr8", 3, 8, padding=padding)
    plain = sent.data.reshape(HEIGHT, -1)[:, : WIDTH * 3].reshape(HEIGHT, WIDTH, 3)
    assert np.array_equal(raw_to_rgb(sent, "x"), plain[:, :, [2, 0, 1]])
    sent.data = sent.data[: -padding - 1]
    with pytest.raises(ImageError, match="x: the image's size does not fit its data"):
        raw_to_rgb(sent, "x")


def test_our_own_encodings_are_not_asked_of_cv_bridge(monkeypatch: pytest.MonkeyPatch) -> None:
    put(monkeypatch, broken_by(AssertionError("asked")))
    assert raw_to_rgb(noise("bgr8", 3, 8), "x").shape == (HEIGHT, WIDTH, 3)


@pytest.mark.parametrize(
    ("bridge", "said"),
    [
        (StandIn, "simjudge can read, nor cv_bridge$"),
        (broken_by(ImportError("numpy.core\nfailed")), "does not work here: ImportError: numpy.core failed.$"),
        (broken_by(AttributeError("_ARRAY_API")), "does not work here: AttributeError: _ARRAY_API.$"),
        (lambda: SimpleNamespace(imgmsg_to_cv2=lambda *_: np.zeros((1, 1, 3))), "does not work here: it turns blue"),
    ],
)
@pytest.mark.parametrize(("encoding", "bits"), [("16UC1", 16), ("32FC1", 32), ("h264", 8)])
def test_what_is_no_image_to_cv_bridge_either(
    monkeypatch: pytest.MonkeyPatch, bridge: Any, said: str, encoding: str, bits: int
) -> None:
    put(monkeypatch, bridge)
    with pytest.raises(ImageError, match=said) as caught:
        raw_to_rgb(noise(encoding, 1, bits), "x")
    assert str(caught.value).startswith(f"x: encoding '{encoding}' is not that of an image that simjudge can read")
    assert "\n" not in str(caught.value)


def test_a_cv_bridge_that_cannot_be_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cv_bridge", ModuleType("cv_bridge"))
    with pytest.raises(ImageError, match="cv_bridge is installed and does not work here: ImportError"):
        raw_to_rgb(noise("32FC1", 1, 32), "x")


def test_a_cv_bridge_that_ends_the_process(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """As one that was built for NumPy 1 does beside NumPy 2; here it is told to."""
    body = "os.kill(os.getpid(), signal.SIGSEGV)"
    text = f"import os, signal\nclass CvBridge:\n    def imgmsg_to_cv2(self, *_):\n        {body}\n"
    (tmp_path / "cv_bridge.py").write_text(text)
    monkeypatch.delitem(sys.modules, "cv_bridge", raising=False)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.syspath_prepend(tmp_path)
    said = f"does not work here: it ends the process that uses it .signal 11.; is it built for NumPy {np.__version__}"
    with pytest.raises(ImageError, match=said):
        raw_to_rgb(noise("32FC1", 1, 32), "x")


@pytest.mark.parametrize("big", [False, True])
@pytest.mark.parametrize("name", BAYER)
def test_16_bit_bayer_is_scaled_after_demosaicing(name: str, big: bool) -> None:
    """As toCvCopyImpl of cv_bridge.cpp does it: cvtColor, then convertTo(CV_8U, 255 / 65535)."""
    sent = noise(f"{name}16", 1, 16, big=big)
    mosaic = sent.data.view(">u2" if big else "<u2").reshape(HEIGHT, WIDTH).astype(np.uint16)
    code = dict(zip(BAYER, ("BG", "RG", "GR", "GB"), strict=True))[name]
    colours = cv2.cvtColor(mosaic, getattr(cv2, f"COLOR_Bayer{code}2RGB"))
    assert np.array_equal(raw_to_rgb(sent, "x"), cv2.convertScaleAbs(colours, alpha=255 / 65535))


def test_every_16_bit_value_is_scaled_as_opencv_does() -> None:
    every = np.arange(1 << 16, dtype="<u2")
    sent = TYPES.types["sensor_msgs/msg/Image"](header(1), 256, 256, "mono16", 0, 512, every.view(np.uint8))
    wanted = cv2.convertScaleAbs(every.reshape(256, 256).astype(np.uint16), alpha=255 / 65535)
    assert np.array_equal(raw_to_rgb(sent, "x"), np.repeat(wanted[:, :, None], 3, axis=2))


@pytest.mark.parametrize("big", [False, True])
@pytest.mark.parametrize(("encoding", "channels", "bits"), COMMON)
def test_cv_bridge_and_our_own_conversions_agree(encoding: str, channels: int, bits: int, big: bool) -> None:
    bridge, why_not = cv_bridge_pixels.load_bridge()
    if bridge is None:
        pytest.skip(f"cv_bridge cannot be used: {why_not or 'not installed, it comes with a ROS 2 installation only'}")
    sent = noise(encoding, channels, bits, big=big)
    order = ">" if big else "<"
    pixels = sent.data.view(f"{order}u{bits // 8}").reshape(HEIGHT, WIDTH, channels).astype(f"u{bits // 8}")
    assert np.array_equal(raw_to_rgb(sent, "x"), cv_bridge_pixels.to_rgb(pixels, encoding))
