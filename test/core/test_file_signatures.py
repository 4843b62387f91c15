"""Formats that simjudge does not read are called by their names."""

import numpy as np
import pytest

import simjudge as sj
from simjudge.core.files import name_format
from simjudge.core.images import ImageError, decode_image, encode_jpeg, encode_png, image_size

FOREIGN = {
    "AVIF": b"\0\0\0\x20ftypavif\0\0\0\0avifmif1",
    "HEIC": b"\0\0\0\x18ftypheic\0\0\0\0",
    "video (MP4)": b"\0\0\0\x20ftypisom\0\0\x02\0",
    "video (H.264 or H.265)": b"\0\0\0\x01\x67\x42\0\x1e",
    "depth (compressedDepth)": bytes(12) + b"\x89PNG\r\n\x1a\n",
    "JPEG XL": b"\xff\x0a\xfa\x1f",
    "OpenEXR": b"v/1\x01\x02\0\0\0",
}


@pytest.mark.parametrize("name", FOREIGN)
def test_a_picture_of_another_format_is_named(tmp_path, name):
    said = f"is {name}, which simjudge does not read"
    with pytest.raises(ImageError) as error:
        decode_image(FOREIGN[name], "x")
    assert said in str(error.value)
    (tmp_path / "a.jpg").write_bytes(FOREIGN[name])
    with pytest.raises(ImageError) as error:
        image_size(tmp_path / "a.jpg")
    assert said in str(error.value)
    (tmp_path / "a.jpg").rename(tmp_path / "a.xyz")
    for path in (tmp_path, tmp_path / "a.xyz"):
        with pytest.raises(sj.SimjudgeError) as error:
            sj.read(path)
        assert f"{name}, which simjudge does not read" in str(error.value)


def test_what_simjudge_reads_has_no_name_here():
    pixels = np.zeros((4, 4, 3), np.uint8)
    assert name_format(encode_png(pixels)) == name_format(encode_jpeg(pixels)) == name_format(b"") == ""
