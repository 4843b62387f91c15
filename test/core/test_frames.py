"""The shared vocabulary: tables ordered by frame, sets that fit together, names that carry stamps."""

import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from simjudge.core.errors import Losses, SimjudgeError
from simjudge.core.frames import UNKNOWN, UNLABELLED, FrameSet, decode_label_colours, decode_label_numbers
from simjudge.core.images import ArrayImages, ImageError
from simjudge.core.names import NO_STAMP, name_to_stamp, stamp_to_name
from simjudge.core.object_tables import NO_INSTANCE, Masks, Objects, Predictions, concatenate_tables, row_offsets


@given(st.lists(st.integers(0, 5), max_size=30))
def test_rows_are_ordered_by_frame_and_keep_their_order_within(frames):
    count = np.arange(len(frames))
    table = Objects.build(frames, count, np.zeros((len(frames), 4)), distance=count / 3, visible=count / 99)
    expected = sorted(range(len(frames)), key=lambda i: frames[i])  # Python's sort is stable
    assert table.class_id.tolist() == expected
    assert table.distance.tolist() == [i / 3 for i in expected]
    assert table.visible.tolist() == [i / 99 for i in expected]
    start = row_offsets(table.frame, 6)
    assert np.diff(start).tolist() == [frames.count(i) for i in range(6)]


def test_tables_are_joined_with_all_their_columns():
    first = Objects.build([1, 3], [5, 6], np.ones((2, 4)), [7, 8], distance=[0.5, np.nan], visible=[1, 0.25])
    second = Objects.build([1], [9], np.zeros((1, 4)), masks=Masks.from_crops([np.ones((2, 2), bool)], [(3, 4)]))
    both = concatenate_tables([first, second])
    assert both.class_id.tolist() == [5, 9, 6]
    assert both.instance.tolist() == [7, NO_INSTANCE, 8]
    np.testing.assert_array_equal(both.distance, [0.5, np.nan, np.nan])
    np.testing.assert_array_equal(both.visible, [1, np.nan, 0.25])
    assert [both.masks.has(row) for row in range(3)] == [False, True, False]


def test_masks_and_scores_move_with_their_rows():
    crops = [np.ones((1, n + 1), bool) for n in range(3)]
    masks = Masks.from_crops(crops, np.zeros((3, 2)))
    table = Predictions.build([2, 0, 1], [0, 1, 2], np.zeros((3, 4)), [0.1, 0.2, 0.3], masks)
    assert table.score.tolist() == [0.2, 0.3, 0.1]
    assert table.masks.shape[:, 1].tolist() == [2, 3, 1]


@given(st.integers(0, 2**62))
def test_stamps_in_names(stamp):
    name = stamp_to_name(stamp)
    assert name_to_stamp(name) == stamp
    seconds, nanoseconds = name.split("_")
    assert int(seconds) * 10**9 + int(nanoseconds) == stamp


@pytest.mark.parametrize(
    "name", ["", "a", "1", "1_5", "1_0000000001", "-1_000000001", "x_000000001", "1_00000000a", "1.0_000000001"]
)
def test_names_without_a_stamp(name):
    assert name_to_stamp(name) == NO_STAMP


def frames():
    objects = Objects.build([0, 1, 1, 2], [1, 2, 3, 4], np.arange(16).reshape(4, 4))
    found = Predictions.build([2, 2], [1, 1], np.zeros((2, 4)), [0.5, 0.6])
    images = ArrayImages([np.full((2, 2, 3), i, np.uint8) for i in range(3)])
    return FrameSet.build("s", [(2, 2)] * 3, objects, found, stamp=[5, NO_STAMP, 7], images=images)


@pytest.mark.parametrize("chosen", [[2, 0], np.array([True, False, True])])
def test_take(chosen):
    some = frames().take(chosen)
    order = [2, 0] if isinstance(chosen, list) else [0, 2]
    assert some.stamp.tolist() == [[5, NO_STAMP, 7][i] for i in order]
    expected = [{0: [1], 1: [2, 3], 2: [4]}[i] for i in order]
    assert [some.objects.class_id[some.objects.frame == k].tolist() for k in range(2)] == expected
    assert [int(some.images.read(k)[0, 0, 0]) for k in range(2)] == order
    assert (some.predictions.frame == order.index(2)).all()


def test_what_build_fills_in():
    made = frames()
    assert list(made.frame_name) == ["0_000000005", "000001", "0_000000007"]
    assert made.labelled.all()
    assert made.predicted.all()
    bare = FrameSet.build("b", [(3, 4)])
    assert not bare.labelled.any()
    assert not bare.predicted.any()
    assert bare.class_name(3) == "3"


@pytest.mark.parametrize(
    "wrong",
    [
        {"stamp": [1]},
        {"labelled": [True]},
        {"predicted": [True]},
        {"frame_name": ["a", "a"]},
        {"images": ArrayImages([])},
    ],
)
def test_arrays_that_do_not_fit(wrong):
    with pytest.raises(SimjudgeError, match="s: "):
        FrameSet.build("s", [(2, 2)] * 2, **wrong)


def test_losses_count_all_and_name_few():
    losses, more = Losses(named_per_kind=2), Losses()
    for i in range(3):
        losses.add("boxes", f"a:{i}")
    more.add("boxes", "b:1", 4)
    more.add("rows", "b:2")
    more.add("rows", "never", 0)
    losses.extend(more)
    assert losses.lines() == ["7 boxes: a:0; a:1 (and 5 more)", "1 row: b:2"]
    assert losses
    assert not Losses()


def test_pieces_lost_in_several_views_count_once():
    losses, more = Losses(2), Losses(2)
    losses.add("frames", "a")
    losses.add("boxes", "b", 3)
    for where in ("c", "d", "e"):
        more.add("frames", where)
    more.add("boxes", "f", 2)
    more.add("scans", "g")
    losses.count_once(more)
    assert losses.lines() == ["3 frames: c; d (and 1 more)", "3 boxes: b (and 2 more)", "1 scan: g"]


@pytest.mark.parametrize("name", ["9" * 20 + "_000000000", "9" * 5000 + "_000000000", "9999999999_000000000", "1_2"])
def test_names_whose_stamp_has_more_than_64_bits_have_none(name):
    assert name_to_stamp(name) == NO_STAMP


def test_the_latest_stamp_that_a_name_can_carry():
    assert name_to_stamp("9223372036_854775807") == 2**63 - 1


@pytest.mark.parametrize("names", [{"name": "caf\udce9"}, {"frame_name": ["a", "caf\udce9"]}])
def test_a_name_that_no_file_can_hold(names):
    with pytest.raises(SimjudgeError, match=r"'caf\\udce9': the name of this file is not valid UTF-8; rename it"):
        FrameSet.build(**{"name": "x", "size": [(4, 3)] * 2, "frame_name": ["a", "é"], **names})


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
