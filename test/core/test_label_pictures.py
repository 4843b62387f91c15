"""Label pictures: class numbers and class colours out of files, each against the pixels that were written."""

import io

import numpy as np
import pytest
from PIL import Image

from simjudge.core.frames import UNKNOWN, UNLABELLED, decode_label_colours, decode_label_numbers
from simjudge.core.images import ImageError

LABELS = np.arange(12, dtype=np.uint8).reshape(3, 4)


def encoded(image, form="PNG"):
    stream = io.BytesIO()
    image.save(stream, form)
    return stream.getvalue()


def test_numbers_are_the_values_of_one_channel_and_the_indices_of_a_palette():
    assert np.array_equal(decode_label_numbers(encoded(Image.fromarray(LABELS)), "x"), LABELS)
    palette = Image.fromarray(LABELS, "P")
    palette.putpalette(list(range(255, -1, -1)) * 3)
    assert np.array_equal(decode_label_numbers(encoded(palette), "x"), LABELS)
    assert np.array_equal(decode_label_numbers(encoded(Image.fromarray(LABELS.astype(np.uint16))), "x"), LABELS)


def test_colours_stand_for_classes_and_an_unknown_one_is_kept_apart():
    pixels = np.array([[[128, 64, 128], [0, 0, 0]], [[1, 2, 3], [70, 130, 180]]], np.uint8)
    table = {(128, 64, 128): 7, (70, 130, 180): 23, (0, 0, 0): UNLABELLED}
    found = decode_label_colours(encoded(Image.fromarray(pixels)), "x", table)
    assert found.tolist() == [[7, UNLABELLED], [UNKNOWN, 23]]


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "0 bytes"),
        (b"\x89PNG\r\n\x1a\n", "damaged"),
        (encoded(Image.fromarray(LABELS))[:48], "damaged"),
        (encoded(Image.new("RGB", (2, 2))), "one channel"),
        (encoded(Image.fromarray(np.full((2, 2), 300, np.uint16))), "class 300"),
    ],
)
def test_a_picture_that_holds_no_class_numbers_is_refused_by_name(data, says):
    with pytest.raises(ImageError, match=says) as caught:
        decode_label_numbers(data, "a/b.png")
    assert str(caught.value).startswith("a/b.png: ")


def test_a_jpeg_of_colours_is_refused():
    with pytest.raises(ImageError, match="JPEG"):
        decode_label_colours(encoded(Image.new("RGB", (8, 8)), "JPEG"), "x.jpg", {(0, 0, 0): 1})
