"""PCD files: by hand after the format's description, through all three kinds of data, and into a recording and back."""

import struct

import numpy as np
import pytest

import simjudge as sj
from simjudge.core.errors import SimjudgeError
from simjudge.data.clouds import NO_VIEWPOINT, Cloud, CloudBoxes, CloudSet
from simjudge.data.formats.pcd import read_pcd, write_pcd
from simjudge.data.sets import read_clouds, write_clouds

HEAD = """# .PCD v0.7 - Point Cloud Data file format
VERSION 0.7
FIELDS x y z ring t
SIZE 4 4 4 2 8
TYPE F F F U I
COUNT 1 1 1 1 1
WIDTH 2
HEIGHT 1
VIEWPOINT 1 2 3 1 0 0 0
POINTS 2
DATA """
ROWS = [(1.5, -2.0, 0.1, 3, 2**60 + 1), (4.0, float("nan"), -1e-30, 65535, -5)]
PACKED = b"".join(struct.pack("<fffHq", *row) for row in ROWS)
COLUMNS = b"".join(
    struct.pack(f"<2{code}", *column) for code, column in zip("fffHq", zip(*ROWS, strict=True), strict=True)
)
LITERALS = bytes([31]) + COLUMNS[:32] + bytes([len(COLUMNS) - 33]) + COLUMNS[32:]
FILES = {
    "ascii": b"1.5 -2 0.1 3 1152921504606846977\n4 nan -1e-30 65535 -5\n",
    "binary": PACKED,
    "binary_compressed": struct.pack("<II", len(LITERALS), len(COLUMNS)) + LITERALS,
}
MIXED = np.dtype(
    {
        "names": ["x", "y", "z", "rgb", "ring", "normal", "label"],
        "formats": ["<f4", "<f4", "<f4", "<u4", "u1", ("<f8", (3,)), "<i2"],
        "offsets": [0, 4, 8, 16, 20, 24, 48],
        "itemsize": 64,
    }
)
"""With gaps, as PCL lays points out."""


def mixed(count=7):
    """Every bit of every field is used."""
    random = np.random.default_rng(1)
    table = np.frombuffer(random.bytes(MIXED.itemsize * count), MIXED).copy()
    for name in ("x", "y", "z", "normal"):
        table[name] = random.normal(size=table[name].shape)
    table["x"][:1], table["x"][1:2] = np.nan, np.inf
    return table


def same(found, expected):
    for name in expected.dtype.names:
        assert found[name].dtype == expected[name].dtype
        np.testing.assert_array_equal(found[name], expected[name])


@pytest.mark.parametrize("kind", FILES)
def test_files_written_by_hand(kind, tmp_path):
    (tmp_path / "a.pcd").write_bytes((HEAD + kind + "\n").encode() + FILES[kind])
    cloud = read_pcd(tmp_path / "a.pcd")
    assert cloud.fields == ("x", "y", "z", "ring", "t")
    assert cloud.viewpoint == (1, 2, 3, 1, 0, 0, 0)
    expected = np.array(ROWS, [("x", "f4"), ("y", "f4"), ("z", "f4"), ("ring", "u2"), ("t", "i8")])
    same(cloud.table, expected)
    write_pcd(tmp_path / "b.pcd", cloud, kind)
    same(read_pcd(tmp_path / "b.pcd").table, expected)
    if kind == "binary":
        assert (tmp_path / "b.pcd").read_bytes().endswith(b"DATA binary\n" + PACKED)


@pytest.mark.parametrize("kind", ["ascii", "binary", "binary_compressed"])
@pytest.mark.parametrize("count", [0, 1, 6])
def test_fields_of_any_type_come_back(kind, count, tmp_path):
    table = mixed(count)
    height = 2 if count == 6 else 1
    write_pcd(tmp_path / "a.pcd", Cloud(table, height, (0.1, 2, 3, 0.5, 0.5, 0.5, 0.5)), kind)
    cloud = read_pcd(tmp_path / "a.pcd")
    same(cloud.table, table)
    assert (cloud.height, cloud.viewpoint[0], cloud.viewpoint[3]) == (height, 0.1, 0.5)
    if kind == "binary":
        assert cloud.table.dtype == MIXED
        assert cloud.table.tobytes() == table.tobytes()


def test_gaps_in_compressed_data_of_other_programs(tmp_path):
    """PCL leaves them out, others write them."""
    head = "FIELDS x _ y\nSIZE 4 1 4\nTYPE F U F\nCOUNT 1 4 1\nWIDTH 1\nHEIGHT 1\nPOINTS 1\nDATA binary_compressed\n"
    for gap in (b"", b"????"):
        plain = struct.pack("<f", 1.0) + gap + struct.pack("<f", 2.0)
        packed = bytes([len(plain) - 1]) + plain
        data = struct.pack("<II", len(packed), len(plain)) + packed
        (tmp_path / "a.pcd").write_bytes(head.encode() + data)
        assert read_pcd(tmp_path / "a.pcd").table.tolist() == [(1.0, 2.0)]


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("DATA binary", "DAAT binary", "is not a PCD file: it has no line DATA"),
        ("FIELDS x y z ring t", "", "its header lacks FIELDS"),
        ("SIZE 4 4 4 2 8", "SIZE 4 4 4 2", "header line SIZE has 4 entries for 5 FIELDS"),
        ("SIZE 4 4 4 2 8", "SIZE 4 4 4 2 3", "field t has TYPE I of SIZE 3, which PCD does not know"),
        ("TYPE F F F U I", "TYPE F F F U Q", "field t has TYPE Q"),
        ("COUNT 1 1 1 1 1", "COUNT 1 1 1 1 -1", "header line COUNT holds -1, which is no whole number"),
        ("COUNT 1 1 1 1 1", "COUNT 1 1 1 1 999999999999", "correct FIELDS and COUNT"),
        ("FIELDS x y z ring t", "FIELDS x y z ring x", "field x stands twice"),
        ("WIDTH 2\n", "WIDTH 2\nWIDTH 3\n", "line 8: WIDTH stands twice"),
        ("WIDTH 2", "WIDTH 3", "WIDTH 3 x HEIGHT 1 are not POINTS 2"),
        ("WIDTH 2", "WIDTH two", "header line WIDTH holds two"),
        ("VIEWPOINT 1 2 3 1 0 0 0", "VIEWPOINT 1 2 3", "VIEWPOINT needs seven numbers"),
        ("DATA binary", "DATA text", "DATA text is not known"),
        ("WIDTH 2\nHEIGHT 1", "WIDTH 3\nHEIGHT 1\nPOINTS 3", "POINTS stands twice"),
    ],
)
def test_headers_that_are_wrong(old, new, words, tmp_path):
    path = tmp_path / "a.pcd"
    text = HEAD + "binary\n"
    assert old in text
    path.write_bytes(text.replace(old, new).encode() + PACKED)
    with pytest.raises(SimjudgeError, match=words) as caught:
        read_pcd(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("kind", "data", "words"),
    [
        ("binary", PACKED[:-1], "43 bytes of data are too few for 2 points of 22 bytes"),
        ("binary", PACKED * 2, "88 bytes of data are too many for 2 points"),
        ("ascii", b"1 2 3 4 5\n", "has 1 rows of points, and its header says 2"),
        ("ascii", b"1 2 3 4 5\n1 2 3 4\n", "line 13: has 4 numbers, and its header says 5"),
        ("ascii", b"1 2 3 4 5\n1 2 x 4 5\n", "line 13: .*'x'.* to float32"),
        ("binary_compressed", b"", "would be 0 bytes"),
        ("binary_compressed", struct.pack("<II", 5, 2**31) + b"12345", "would be 2147483648 bytes"),
        ("binary_compressed", struct.pack("<II", 20, 44) + b"\xff" * 20, "its compressed data are damaged"),
    ],
)
def test_data_that_are_wrong(kind, data, words, tmp_path):
    (tmp_path / "a.pcd").write_bytes((HEAD + kind + "\n").encode() + data)
    with pytest.raises(SimjudgeError, match=words):
        read_pcd(tmp_path / "a.pcd")


def test_a_folder_into_a_recording_and_back(tmp_path):
    """Names, stamps, fields of any type, gaps, rows and viewpoints."""
    folder = tmp_path / "scans"
    folder.mkdir()
    clouds = {
        "first": Cloud(mixed(6), 2, (1, 2, 3, 0, 1, 0, 0)),
        "1700000000.000000007": Cloud(mixed(3)),
        "1700000000100000000": Cloud(mixed(0)),
    }
    for name, cloud in clouds.items():
        write_pcd(folder / f"{name}.pcd", cloud)
    lost = sj.convert(folder, tmp_path / "a.mcap").losses
    assert not lost
    back = sj.convert(tmp_path / "a.mcap", tmp_path / "again", to="pcd")
    assert not back.losses
    files = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert {path.name: path.read_bytes() for path in (tmp_path / "again").iterdir()} == files
    held = read_clouds(tmp_path / "a.mcap")
    assert sorted(held.stamp.tolist()) == [-1, 1700000000_000000007, 1700000000_100000000]
    assert {cloud.viewpoint for cloud in held} == {NO_VIEWPOINT, (1, 2, 3, 0, 1, 0, 0)}


def test_stamps_stay_and_boxes_are_counted(tmp_path):
    """A cloud whose name says nothing of its stamp is called by it, as the format's page says."""
    boxes = CloudBoxes(
        np.zeros(1, int),
        np.ones(1, int),
        np.ones(1, int),
        np.zeros((1, 3)),
        np.array([[0.0, 0, 0, 1]]),
        np.ones((1, 3)),
    )
    clouds = CloudSet("a", ["lidar"], np.array([1_700_000_000_000_000_007]), lambda _: Cloud(mixed(3)), boxes=boxes)
    losses = write_clouds(clouds, tmp_path / "scans", "pcd")
    assert losses.counts == {"boxes in space that PCD files have no place for": 1}
    assert read_clouds(tmp_path / "scans").stamp.tolist() == [1_700_000_000_000_000_007]


def test_what_a_recording_cannot_hold_is_counted(tmp_path):
    (tmp_path / "scans").mkdir()
    write_pcd(tmp_path / "scans" / "a.pcd", Cloud(np.zeros(2, [("x", "f4"), ("t", "i8")])))
    write_pcd(tmp_path / "scans" / "b.pcd", Cloud(np.zeros(2, [("x", "f4")])))
    (tmp_path / "scans" / "c.pcd").write_text("no cloud")
    lost = sj.convert(tmp_path / "scans", tmp_path / "a.mcap").losses
    assert lost.counts == {"clouds that cannot be read": 2}
    assert "field 't'" in lost.lines()[0]
    assert "is not a PCD file" in lost.lines()[0]


def test_what_is_refused(tmp_path):
    (tmp_path / "scans").mkdir()
    (tmp_path / "scans" / "a.pcd").write_text("no cloud")
    clouds = read_clouds(tmp_path / "scans")
    with pytest.raises(SimjudgeError, match="holds no cloud that can be read"):
        write_clouds(clouds, tmp_path / "a.mcap")
    assert not (tmp_path / "a.mcap").exists()
    with pytest.raises(SimjudgeError, match="holds PCD point clouds and no images"):
        sj.read(tmp_path / "scans")
    with pytest.raises(sj.UsageError, match="a folder of point clouds needs --to"):
        write_clouds(clouds, tmp_path / "b")
    with pytest.raises(sj.UsageError, match="--to yolo: no format of point clouds"):
        write_clouds(clouds, tmp_path / "b", "yolo")
    with pytest.raises(SimjudgeError, match="a PCD field cannot be called 'a b'"):
        write_pcd(tmp_path / "a.pcd", Cloud(np.zeros(1, [("a b", "f4")])))
