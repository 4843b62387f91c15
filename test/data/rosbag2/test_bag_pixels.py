"""Image messages of every encoding, against pixels worked out by hand."""

from __future__ import annotations

import io
from typing import Any

import cv2
import numpy as np
import pytest
from bag_samples import TYPES, header, jpeg
from PIL import Image

from simjudge.core.images import ImageError, decode_image, encode_jpeg, encode_png
from simjudge.data.rosbag2.image_messages import compressed_to_rgb, encoded_image, raw_to_rgb

RED, GREY = (200, 40, 10), (90, 90, 90)
WIDTH, HEIGHT = 8, 6


def message(encoding: str, rows: Any, *, padding: int = 0, big: bool = False) -> Any:
    """A raw image of (height, bytes a row), each row padded."""
    data = np.pad(np.asarray(rows, np.uint8), ((0, 0), (0, padding)), constant_values=77)
    step = data.shape[1]
    return TYPES.types["sensor_msgs/msg/Image"](header(1), HEIGHT, WIDTH, encoding, int(big), step, data.reshape(-1))


def rows(*pixel: int) -> Any:
    return np.tile(np.array(pixel, np.uint8), (HEIGHT, WIDTH))


def wide(*pixel: int, order: str = "<") -> Any:
    """16 bit pixels as bytes."""
    return np.tile(np.array(pixel, f"{order}u2"), (HEIGHT, WIDTH)).view(np.uint8)


def mosaic(first: str, second: str) -> Any:
    """A Bayer pattern of one colour: two letters a row, r g or b."""
    value = dict(zip("rgb", RED, strict=True))
    lines = [[value[letter] for letter in line] for line in (first, second)]
    return np.tile(np.array(lines, np.uint8), (HEIGHT // 2, WIDTH // 2))


@pytest.mark.parametrize("padding", [0, 5])
@pytest.mark.parametrize(
    ("encoding", "data", "big", "expected"),
    [
        ("rgb8", rows(*RED), False, RED),
        ("bgr8", rows(10, 40, 200), False, RED),
        ("8UC3", rows(10, 40, 200), False, RED),  # what cv_bridge makes of it
        ("rgba8", rows(*RED, 3), False, RED),
        ("bgra8", rows(10, 40, 200, 3), False, RED),
        ("mono8", rows(90), False, GREY),
        ("8UC1", rows(90), False, GREY),
        ("mono16", wide(90 * 257), False, GREY),
        ("mono16", wide(90 * 257 - 128), False, GREY),  # rounds to the nearest
        ("mono16", wide(90 * 257 - 129), False, (89, 89, 89)),
        ("mono16", wide(0x5A00 + 1, order=">"), True, GREY),
        ("rgb16", wide(*(257 * v for v in RED)), False, RED),
        ("bgr16", wide(*(257 * v for v in RED[::-1]), order=">"), True, RED),
        ("bayer_rggb8", mosaic("rg", "gb"), False, RED),
        ("bayer_bggr8", mosaic("bg", "gr"), False, RED),
        ("bayer_gbrg8", mosaic("gb", "rg"), False, RED),
        ("bayer_grbg8", mosaic("gr", "bg"), False, RED),
        ("yuv422", rows(128, 90)[:, : 2 * WIDTH], False, None),
        ("uyvy", rows(128, 90)[:, : 2 * WIDTH], False, None),
        ("yuv422_yuy2", rows(90, 128)[:, : 2 * WIDTH], False, None),
        ("yuyv", rows(90, 128)[:, : 2 * WIDTH], False, None),
    ],
)
def test_encodings(encoding: str, data: Any, big: bool, expected: Any, padding: int) -> None:
    pixels = raw_to_rgb(message(encoding, data, padding=padding, big=big), "x")
    assert pixels.shape == (HEIGHT, WIDTH, 3)
    assert pixels.dtype == np.uint8
    # Video range: Y 16..235 is 0..255.
    wanted = (round((90 - 16) * 255 / 219),) * 3 if expected is None else expected
    assert (pixels == wanted).all()


def bt601(y: Any, u: Any, v: Any) -> Any:
    """Red, green and blue of video range Y, U, V (ITU-R BT.601)."""
    y, u, v = (np.asarray(each, np.float64) - offset for each, offset in ((y, 16), (u, 128), (v, 128)))
    rgb = [1.164 * y + 1.596 * v, 1.164 * y - 0.813 * v - 0.391 * u, 1.164 * y + 2.018 * u]
    return np.clip(np.stack(rgb, -1), 0, 255)


@pytest.mark.parametrize("padding", [0, 8])
@pytest.mark.parametrize("encoding", ["nv12", "nv21", "nv24", "NV12"])
def test_a_plane_of_brightness_and_one_of_colour(encoding: str, padding: int) -> None:
    rng = np.random.default_rng(1)
    y = rng.integers(16, 236, (HEIGHT, WIDTH)).astype(np.uint8)
    share = 1 if encoding == "nv24" else 2
    u, v = rng.integers(90, 166, (2, HEIGHT // share, WIDTH // share)).astype(np.uint8)
    colour = np.stack([v, u] if encoding == "nv21" else [u, v], -1).reshape(HEIGHT // share, -1)
    sent = message(encoding, y, padding=padding)
    wide = np.pad(colour, ((0, 0), (0, padding * colour.shape[1] // WIDTH)), constant_values=77)
    sent.data = np.concatenate([sent.data, wide.reshape(-1)])
    expected = bt601(y, *(each.repeat(share, 0).repeat(share, 1) for each in (u, v)))
    assert np.abs(raw_to_rgb(sent, "x") - expected).max() <= 2
    if padding:
        sent.data = sent.data[:-padding]
        assert np.abs(raw_to_rgb(sent, "x") - expected).max() <= 2
    sent.data = sent.data[: -padding - 1]
    with pytest.raises(ImageError, match="size does not fit its data"):
        raw_to_rgb(sent, "x")


def test_padding_and_rows_stay_in_place() -> None:
    plain = np.arange(HEIGHT * WIDTH * 3, dtype=np.uint8).reshape(HEIGHT, WIDTH, 3)
    for padding in (0, 1, 64):
        assert np.array_equal(raw_to_rgb(message("rgb8", plain.reshape(HEIGHT, -1), padding=padding), "x"), plain)


def test_the_last_row_need_not_be_padded() -> None:
    sent = message("rgb8", rows(*RED), padding=9)
    sent.data = sent.data[:-9]
    assert (raw_to_rgb(sent, "x") == RED).all()


@pytest.mark.parametrize(
    ("encoding", "data", "said"),
    [
        ("16UC1", wide(5), "encoding '16UC1' is not that of an image"),
        ("32FC1", rows(1, 1, 1, 1), "encoding '32FC1'"),
        ("", rows(1), "encoding ''"),
        ("rgb8", rows(1), "the image's size does not fit its data"),
    ],
)
def test_what_is_no_image(encoding: str, data: Any, said: str) -> None:
    with pytest.raises(ImageError, match=said) as caught:
        raw_to_rgb(message(encoding, data), "/cam at 1 s")
    assert str(caught.value).startswith("/cam at 1 s: ")


def test_too_few_bytes() -> None:
    sent = message("mono8", rows(90))
    sent.data = sent.data[:-1]
    with pytest.raises(ImageError, match="47 bytes"):
        raw_to_rgb(sent, "x")


def test_odd_width_cannot_be_yuv422() -> None:
    sent = message("uyvy", rows(128, 90)[:, : 2 * WIDTH])
    sent.width = 7
    with pytest.raises(ImageError, match="cannot be uyvy"):
        raw_to_rgb(sent, "x")


@pytest.mark.parametrize("form", ["jpeg", "jpg", "rgb8; jpeg compressed bgr8", "bgr8; jpeg compressed bgr8", ""])
def test_compressed(form: str) -> None:
    pixels = np.full((16, 16, 3), RED, np.uint8)
    sent = jpeg(1, pixels, form)
    assert np.abs(compressed_to_rgb(sent, "x").astype(int) - RED).max() < 4
    encoded = encoded_image(sent)
    assert encoded is not None
    assert (encoded.data, encoded.suffix) == (encode_jpeg(pixels), ".jpg")


def test_compressed_with_red_and_blue_swapped() -> None:
    """compressed_image_transport may encode rgb8 as it is, which every other program takes for bgr."""
    pixels = np.full((16, 16, 3), RED, np.uint8)
    sent = jpeg(1, pixels[:, :, ::-1], "rgb8; jpeg compressed rgb8")
    assert np.abs(compressed_to_rgb(sent, "x").astype(int) - RED).max() < 4
    assert encoded_image(sent) is None


@pytest.mark.parametrize(("suffix", "form"), [(".png", "x"), (".webp", "webp"), (".bmp", "bmp"), (".tiff", "tiff")])
def test_the_bytes_tell_what_they_are(suffix: str, form: str) -> None:
    pixels = np.full((16, 16, 3), RED, np.uint8)
    data = encode_png(pixels) if suffix == ".png" else bytes(cv2.imencode(suffix, pixels)[1])
    sent = TYPES.types["sensor_msgs/msg/CompressedImage"](header(1), form, np.frombuffer(data, np.uint8))
    encoded = encoded_image(sent)
    assert encoded is not None
    assert encoded.suffix == suffix[:4].replace(".web", ".webp")
    assert decode_image(encoded.data, "x").shape == (16, 16, 3)


PATTERNS = [f"bayer_{pattern}{bits}" for pattern in ("rggb", "bggr", "gbrg", "grbg") for bits in (8, 16)]


@pytest.mark.parametrize("encoding", PATTERNS)
@pytest.mark.parametrize("kind", [".png", ".jpg"])
def test_a_compressed_mosaic_is_what_the_raw_one_is(encoding: str, kind: str) -> None:
    """compressed_image_transport encodes a Bayer mosaic as one channel, and names no target behind "compressed"."""
    if kind == ".jpg" and encoding.endswith("16"):
        pytest.skip("JPEG holds 8 bits")
    deep = np.random.default_rng(3).integers(0, 256, (HEIGHT, WIDTH), np.uint8)
    values = deep.astype(np.uint16) * 257 if encoding.endswith("16") else deep
    raw = raw_to_rgb(message(encoding, values.view(np.uint8)), "x")
    form = f"{encoding}; {'png' if kind == '.png' else 'jpeg'} compressed "
    data = cv2.imencode(kind, values, [cv2.IMWRITE_JPEG_QUALITY, 100] if kind == ".jpg" else [])[1]
    sent = TYPES.types["sensor_msgs/msg/CompressedImage"](header(1), form, data)
    assert np.abs(compressed_to_rgb(sent, "x").astype(int) - raw).max() <= (0 if kind == ".png" else 4)
    assert encoded_image(sent) is None  # as a file it would be grey


def test_colours_made_of_a_mosaic_before_they_were_compressed() -> None:
    sent = jpeg(1, np.full((16, 16, 3), RED, np.uint8), "bayer_rggb8; jpeg compressed bgr8")
    assert np.abs(compressed_to_rgb(sent, "x").astype(int) - RED).max() < 4
    sent = jpeg(1, np.full((16, 16, 3), RED, np.uint8), "bayer_rggb8; jpeg compressed ")
    assert np.abs(compressed_to_rgb(sent, "x").astype(int) - RED).max() < 4


def test_a_message_has_no_exif() -> None:
    """cv_bridge decodes IMREAD_UNCHANGED; as a file the picture would be turned."""
    exif = Image.Exif()
    exif[274] = 6
    buffer = io.BytesIO()
    Image.fromarray(np.full((8, 16, 3), 90, np.uint8)).save(buffer, "JPEG", exif=exif)
    data = np.frombuffer(buffer.getvalue(), np.uint8)
    sent = TYPES.types["sensor_msgs/msg/CompressedImage"](header(1), "jpeg", data)
    assert compressed_to_rgb(sent, "x").shape == (8, 16, 3)
    assert encoded_image(sent) is None


@pytest.mark.parametrize("form", ["16UC1; png compressed ", "32FC1; tiff compressed", "16UC1; compressedDepth png"])
def test_compressed_numbers_are_no_picture_either(form: str) -> None:
    data = cv2.imencode(".png", np.full((6, 8), 1500, np.uint16))[1]
    sent = TYPES.types["sensor_msgs/msg/CompressedImage"](header(1), form, data)
    with pytest.raises(ImageError, match=r"x: encoding '(16UC1|32FC1)' is not that of an image"):
        compressed_to_rgb(sent, "x")
