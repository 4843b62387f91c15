"""Images: whole or refused, and their bytes unchanged."""

import io
import struct
import zlib
from contextlib import suppress

import cv2
import numpy as np
import pytest
from PIL import Image, ImageOps

from simjudge.core.images import (
    ArrayImages,
    FileImages,
    ImageError,
    ImageSubset,
    check_encoded_size,
    decode_image,
    decode_values,
    encode_jpeg,
    encode_png,
    image_size,
    is_turned,
)


def noise(seed=1):
    return np.random.default_rng(seed).integers(0, 256, (30, 40, 3), np.uint8)


def encoded(kind, pixels):
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, kind)
    return buffer.getvalue()


def exr_header(width, height, channels=1):
    """Magic, version, channels, data window, and the end of the attributes (OpenEXR file layout)."""
    listed = b"".join(b"c%d\0" % number + bytes(16) for number in range(channels)) + b"\0"
    window = struct.pack("<iiii", 0, 0, width - 1, height - 1)
    named = ((b"channels", b"chlist", listed), (b"dataWindow", b"box2i", window))
    fields = (name + b"\0" + kind + b"\0" + struct.pack("<I", len(data)) + data for name, kind, data in named)
    return b"v/1\x01" + struct.pack("<I", 2) + b"".join(fields) + b"\0"


def png_header(width, height):
    chunk = b"IHDR" + struct.pack(">IIBBBBB", width, height, 16, 0, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + struct.pack(">I", 13)
        + chunk
        + struct.pack(">I", zlib.crc32(chunk))
        + bytes(4)
        + b"IDAT"
        + bytes(9)
    )


@pytest.mark.filterwarnings("ignore::PIL.Image.DecompressionBombWarning")
@pytest.mark.parametrize(
    ("data", "said"),
    [
        (exr_header(40_000, 30_000), "40000x30000 is over 89 million pixels"),
        (exr_header(9_000, 9_000, 5), "9000x9000 with 5 channels is too large; save fewer channels"),
        (exr_header(40, 30)[:-9], r"no EXR image \(its header is damaged\)"),
        (b"#?RADIANCE\nFORMAT=32-bit_rle_rgbe\n\n-Y 30000 +X 40000\n", "40000x30000 is over 89 million pixels"),
        (png_header(40_000, 30_000), "exceeds limit"),
        (png_header(10_000, 9_000), "10000x9000 is over 89 million pixels"),
    ],
)
def test_an_image_too_large_is_refused_by_its_header(data, said):
    with pytest.raises(ImageError, match=f"x: .*{said}"):
        check_encoded_size(data, "x")


@pytest.mark.parametrize("data", [b"", b"noise", exr_header(40, 30, 3), encoded("png", noise())])
def test_what_fits_or_has_no_header_passes(data):
    check_encoded_size(data, "x")


def test_png_is_lossless_and_red_is_first():
    data = encode_png(noise())
    np.testing.assert_array_equal(np.asarray(Image.open(io.BytesIO(data))), noise())
    np.testing.assert_array_equal(decode_image(data, "x"), noise())


def test_jpeg_is_close_and_red_is_first():
    red = np.zeros((16, 16, 3), np.uint8)
    red[..., 0] = 200
    assert np.abs(np.asarray(Image.open(io.BytesIO(encode_jpeg(red)))).astype(int) - red).max() < 4


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "BMP", "TIFF", "WEBP"])
def test_cut_off_images_are_refused(kind):
    data = encoded(kind, noise())
    with pytest.raises(ImageError, match="where: the image is cut off or damaged"):
        decode_image(data[: len(data) // 2], "where")
    with pytest.raises(ImageError, match="0 bytes"):
        decode_image(b"", "where")


@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::Warning")
@pytest.mark.parametrize("kind", ["JPEG", "PNG", "BMP", "TIFF", "WEBP"])
def test_damaged_bytes_give_a_image_or_an_error(kind, tmp_path):
    random = np.random.default_rng(4)
    data = encoded(kind, noise())
    for _ in range(150):
        damaged = bytearray(data[: random.integers(1, len(data) + 1)])
        for place in random.integers(0, min(len(damaged), 120), 4):
            damaged[place] = random.integers(0, 256)
        (tmp_path / "x").write_bytes(damaged)
        for read in (lambda b: decode_image(b, "x"), lambda _: image_size(tmp_path / "x")):
            with suppress(ImageError):
                read(bytes(damaged))


def test_a_header_that_claims_a_gigantic_image(tmp_path):
    data = bytearray(encoded("BMP", noise()))
    data[18:26] = (200_000).to_bytes(4, "little") * 2
    (tmp_path / "x.bmp").write_bytes(data)
    with pytest.raises(ImageError):
        image_size(tmp_path / "x.bmp")


def test_sizes_come_from_the_header(tmp_path):
    (tmp_path / "a.jpg").write_bytes(encoded("JPEG", noise()))
    assert image_size(tmp_path / "a.jpg") == (40, 30)
    for name, content, message in (("b.jpg", b"", "0 bytes"), ("c.jpg", b"text", "not a readable image")):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(ImageError, match=message):
            image_size(tmp_path / name)
    with pytest.raises(ImageError, match="cannot be read: No such file"):
        image_size(tmp_path / "gone.jpg")


def test_files_arrays_and_choices(tmp_path):
    path = tmp_path / "a.PNG"
    path.write_bytes(encode_png(noise()))
    files = FileImages([path, None])
    assert [files.has(i) for i in range(len(files))] == [True, False]
    assert files.read_encoded(0).data == path.read_bytes()
    assert files.read_encoded(0).suffix == ".png"
    assert files.read_encoded(1) is None
    chosen = ImageSubset(files, np.array([1, 0]))
    np.testing.assert_array_equal(chosen.read(1), noise())
    arrays = ArrayImages([None, noise(2)])
    assert arrays.read_encoded(1) is None
    for images, missing in ((files, 1), (chosen, 0), (arrays, 0)):
        with pytest.raises(ImageError, match="has no image"):
            images.read(missing)
    path.unlink()
    with pytest.raises(ImageError, match="cannot be read"):
        files.read(0)


RAMP = np.arange(0, 65536, 7, dtype=np.uint16)[:9360].reshape(90, 104)
"""All depths of gray, on a grid of 7."""


def deep_files():
    """Images with 16 bits a channel, encoded by OpenCV and Pillow; each with its pixels, red first."""
    colours = np.stack([RAMP, RAMP[::-1], RAMP[:, ::-1]], axis=2)
    gray = np.repeat(RAMP[:, :, None], 3, axis=2)
    opaque = np.dstack([colours[:, :, ::-1], np.full_like(RAMP, 65535)])
    tiff = io.BytesIO()
    Image.fromarray(RAMP).save(tiff, "TIFF")
    return {
        "gray.png": (cv2.imencode(".png", RAMP)[1].tobytes(), gray),
        "gray.tif": (tiff.getvalue(), gray),
        "rgb.png": (cv2.imencode(".png", colours[:, :, ::-1])[1].tobytes(), colours),
        "rgba.png": (cv2.imencode(".png", opaque)[1].tobytes(), colours),
        "rgb.tif": (cv2.imencode(".tif", colours[:, :, ::-1])[1].tobytes(), colours),
    }


@pytest.mark.parametrize("name", sorted(deep_files()))
def test_sixteen_bits_are_scaled_to_eight(name):
    data, deep = deep_files()[name]
    assert np.array_equal(decode_image(data, name), np.rint(deep / 257).astype(np.uint8))


@pytest.mark.parametrize(
    ("pixels", "reason"),
    [
        (np.linspace(0, 1, 100, dtype=np.float32).reshape(10, 10), "floating-point values"),
        (np.full((10, 10), 70000, np.int32), "32-bit values from 70000 to 70000"),
        (np.full((10, 10), -1, np.int32), "32-bit values from -1 to -1"),
    ],
)
def test_values_of_unknown_scale_are_refused(pixels, reason):
    with pytest.raises(ImageError, match=f"depth.tif: .*{reason}.*convert it to 8 or 16 bits"):
        decode_image(encoded("TIFF", pixels), "depth.tif")


def test_a_tiff_whose_offsets_are_no_whole_numbers():
    data = bytearray(encoded("TIFF", noise()))
    first = int.from_bytes(data[4:8], "little")
    for entry in range(first + 2, first + 2 + 12 * int.from_bytes(data[first : first + 2], "little"), 12):
        if int.from_bytes(data[entry : entry + 2], "little") == 273:  # StripOffsets becomes a float
            data[entry + 2 : entry + 4] = (11).to_bytes(2, "little")
            data[entry + 4 : entry + 8] = (1).to_bytes(4, "little")
    with pytest.raises(ImageError, match="cut off or damaged"):
        decode_image(bytes(data), "x")


def turned_file(kind, orientation, pixels):
    """An image file with an EXIF orientation, and its pixels as they are stored."""
    exif = Image.Exif()
    exif[274] = orientation
    buffer = io.BytesIO()
    more = {"lossless": True} if kind == "WEBP" else {}
    Image.fromarray(pixels).save(buffer, kind, exif=exif, **more)
    return buffer.getvalue()


QUARTERS = np.kron(np.arange(24, dtype=np.uint8).reshape(2, 4, 3) * 10, np.ones((16, 16, 1), np.uint8))


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("kind", ["JPEG", "PNG", "TIFF", "WEBP"])
def test_an_image_is_turned_as_exif_says(tmp_path, kind, orientation):
    """As Pillow's `exif_transpose` does, and OpenCV for a JPEG."""
    data = turned_file(kind, orientation, QUARTERS)
    pixels = decode_image(data, "x")
    with Image.open(io.BytesIO(data)) as image:
        upright = np.asarray(ImageOps.exif_transpose(image).convert("RGB"))
    np.testing.assert_array_equal(pixels, upright)
    assert pixels.shape[:2] == ((64, 32) if orientation > 4 else (32, 64))
    if kind == "JPEG":
        read = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR)[:, :, ::-1]
        assert np.abs(read.astype(int) - pixels).max() <= 2
    path = tmp_path / f"x.{kind.lower()}"
    path.write_bytes(data)
    assert image_size(path) == pixels.shape[1::-1]
    if kind != "TIFF":  # Pillow turns TIFF itself
        assert is_turned(data) == (orientation != 1)
        assert decode_image(data, "x", upright=False).shape == QUARTERS.shape


def test_sixteen_bits_are_turned_too():
    deep = (np.arange(6, dtype=np.uint16) * 9000).reshape(2, 3)
    pixels = decode_values(turned_file("PNG", 6, deep), "x")
    np.testing.assert_array_equal(pixels[:, :, 0], np.rot90(deep, -1))


@pytest.mark.parametrize("orientation", [0, 9, 65535])
def test_an_orientation_that_is_none_turns_nothing(orientation):
    data = turned_file("PNG", orientation, QUARTERS)
    np.testing.assert_array_equal(decode_image(data, "x"), QUARTERS)
    assert not is_turned(data)


def test_damaged_exif_turns_nothing():
    buffer = io.BytesIO()
    Image.fromarray(QUARTERS).save(buffer, "PNG", exif=b"Exif\0\0MM\0*\0\0\0\x08\0\x07nonsense")
    np.testing.assert_array_equal(decode_image(buffer.getvalue(), "x"), QUARTERS)
