"""Cityscapes, GTA V and CamVid as published: laid out on the spot, read back to the pixel."""

import numpy as np
import pytest
from PIL import Image

from simjudge.core.errors import SimjudgeError
from simjudge.core.frames import UNLABELLED
from simjudge.data.formats.camvid import read_class_table
from simjudge.data.semantic_classes import STREET_CLASSES, TRAIN_NAMES, common_classes, scale_labels
from simjudge.data.sets import read_set, sniff_format
from simjudge.detectors.training_data import read_split

ROAD, SKY, CAR = (128, 64, 128), (70, 130, 180), (0, 0, 142)
TRAIN = np.array([[10, 10, 10, 10], [0, 0, 13, 13], [0, 0, 13, 255]], np.uint8)
"""Train ids of the picture that every layout below holds."""


def save(path, array):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(np.asarray(array, np.uint8)).save(path)


def colours(table):
    return np.array([[table[int(k)] for k in row] for row in TRAIN], np.uint8)


def numbers():
    own = {10: 23, 0: 7, 13: 26, 255: 3}
    return np.vectorize(own.get)(TRAIN)


STREET_COLOURS = {10: SKY, 0: ROAD, 13: CAR, 255: (0, 0, 0)}
PICTURE = np.full((3, 4, 3), 100, np.uint8)


def cityscapes(root, *, kind="labelIds"):
    for split, city in (("train", "aachen"), ("val", "bonn")):
        stem = f"{city}_000000_000019"
        save(root / "leftImg8bit" / split / city / f"{stem}_leftImg8bit.png", PICTURE)
        save(
            root / "gtFine" / split / city / f"{stem}_gtFine_{kind}.png",
            numbers() if kind == "labelIds" else colours(STREET_COLOURS),
        )


def gta5(root):
    for number in (1, 2):
        save(root / "images" / f"{number:05d}.png", PICTURE)
        save(root / "labels" / f"{number:05d}.png", colours(STREET_COLOURS))


def camvid(root, *, table="label_colors.txt"):
    for name in ("0001TP_006690", "0016E5_00390"):
        save(root / "701_StillsRaw_full" / f"{name}.png", PICTURE)
        save(
            root / "LabeledApproved_full" / f"{name}_L.png",
            colours({10: (128, 128, 128), 0: ROAD, 13: (64, 0, 128), 255: (0, 0, 0)}),
        )
    rows = [("128 128 128", "Sky"), ("128 64 128", "Road"), ("64 0 128", "Car"), ("0 0 0", "Void")]
    if table.endswith(".csv"):
        lines = ["name,r,g,b", *(f"{name},{colour.replace(' ', ',')}" for colour, name in rows)]
    else:
        lines = [f"{colour}\t\t{name}" for colour, name in rows]
    (root / table).write_text("\n".join(lines) + "\n")


LAYOUTS = [
    (cityscapes, {}, "cityscapes", ["aachen", "bonn"]),
    (cityscapes, {"kind": "color"}, "cityscapes", ["aachen", "bonn"]),
    (gta5, {}, "gta5", []),
    (camvid, {}, "camvid", ["0001TP", "0016E5"]),
    (camvid, {"table": "class_dict.csv"}, "camvid", ["0001TP", "0016E5"]),
]


@pytest.mark.parametrize(("make", "how", "form", "drives"), LAYOUTS)
def test_every_layout_gives_the_train_ids_of_cityscapes_and_its_drives(make, how, form, drives, tmp_path):
    make(tmp_path / "set", **how)
    assert sniff_format(tmp_path / "set") == form
    frames = read_set(tmp_path / "set")
    assert len(frames) == 2
    assert list(frames.recording) == drives
    assert not frames.losses
    table = common_classes([(frames.name, frames.class_names)]).numbers(frames.class_names)
    for i in range(2):
        assert np.array_equal(table[frames.semantic.read(i)], TRAIN)


def test_frames_of_cityscapes_are_called_as_it_calls_them_and_keep_its_sides(tmp_path):
    cityscapes(tmp_path / "set")
    assert list(read_set(tmp_path / "set").frame_name) == ["aachen_000000_000019", "bonn_000000_000019"]
    split, _ = read_split(tmp_path / "set", None, 0, semantic=True)
    assert split.own
    assert [list(side[0].frame_name) for side in (split.train, split.valid)] == [
        ["aachen_000000_000019"],
        ["bonn_000000_000019"],
    ]


def test_an_image_without_a_label_picture_and_one_of_another_size_are_counted(tmp_path):
    gta5(tmp_path / "set")
    save(tmp_path / "set" / "images" / "00003.png", PICTURE)
    save(tmp_path / "set" / "labels" / "00002.png", np.zeros((5, 5, 3)))
    frames = read_set(tmp_path / "set")
    assert [frames.semantic.has(i) for i in range(3)] == [True, False, False]
    said = "\n".join(frames.losses.lines())
    assert "without a label picture" in said
    assert "5x5, its image 4x3" in said


def test_labels_are_scaled_by_the_nearest_pixel():
    scaled = scale_labels(TRAIN, 8)
    assert np.array_equal(scaled, np.kron(TRAIN, np.ones((2, 2), np.uint8)))
    assert scale_labels(TRAIN, 2).shape == (2, 2)
    assert set(np.unique(scale_labels(TRAIN, 3))) <= set(np.unique(TRAIN))


def test_the_19_classes_have_distinct_numbers_and_colours():
    assert list(TRAIN_NAMES) == list(range(19))
    assert len({each.colour for each in STREET_CLASSES}) == len({each.label_id for each in STREET_CLASSES}) == 29


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("128 64 Road\n", ":1: 128 64 Road is not a class"),
        ("1 2 3 Road\n1 2 3 Car\n", r":2: colour \(1, 2, 3\) stands twice"),
        ("1 2 300 Road\n", ":1: .* is not a class"),
        ("0 0 0 Void\n", "names no class"),
    ],
)
def test_a_damaged_table_names_file_and_row(text, says, tmp_path):
    file = tmp_path / "label_colors.txt"
    file.write_text(text)
    with pytest.raises(SimjudgeError, match=says):
        read_class_table(file)


def test_void_has_no_class(tmp_path):
    (tmp_path / "label_colors.txt").write_text("0 0 0 Void\n9 8 7 Column_Pole\n")
    assert read_class_table(tmp_path / "label_colors.txt") == (
        {(0, 0, 0): UNLABELLED, (9, 8, 7): 1},
        {1: "Column_Pole"},
    )


def test_sets_without_a_class_in_common_are_refused():
    with pytest.raises(SimjudgeError, match="no class of pixels in common"):
        common_classes([("a", {7: "road"}), ("b", {1: "sky"})])
    own = common_classes([("a", {1: "red", 2: "green"}), ("b", {5: "Green"})])
    assert set(own.names.values()) == {"background", "red", "green"}
    assert own.numbers({5: "Green"})[5] == own.numbers({1: "red", 2: "green"})[2]
