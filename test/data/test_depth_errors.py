"""Errors of predicted depth: known answers, units, what is left out, and what is refused in a line."""

import csv
import struct
from types import SimpleNamespace

import cv2
import numpy as np
import pytest

import simjudge as sj
from simjudge.core.errors import Losses, SimjudgeError
from simjudge.core.frames import FrameSet
from simjudge.core.images import ArrayImages
from simjudge.core.names import NO_STAMP
from simjudge.core.object_tables import Objects
from simjudge.data.depth_errors import depth_layout, errors_of_region
from simjudge.data.depth_images import _nearest, depth_of_message, open_depth, read_depth
from simjudge.data.rosbag2.interfaces import standard_types
from simjudge.data.rosbag2.writing import write_recording
from simjudge.data.sets import write_set

HEIGHT, WIDTH = 60, 80


def depth_picture(seed):
    """A floor that comes nearer, 1 to 9 m."""
    return np.linspace(9, 1, HEIGHT)[:, None] + np.random.default_rng(seed).random((HEIGHT, WIDTH))


def as_png(metres):
    return cv2.imencode(".png", np.round(np.nan_to_num(metres) * 1000).astype(np.uint16))[1].tobytes()


def photographs(folder, frames=8, boxes=()):
    """A YOLO set of grey pictures with labels, if any."""
    table = np.array([(frame, *box) for frame in range(frames) for box in boxes], float).reshape(-1, 5)
    objects = Objects.build(table[:, 0], np.zeros(len(table)), table[:, 1:])
    images = ArrayImages([np.full((HEIGHT, WIDTH, 3), 40 + frame, np.uint8) for frame in range(frames)])
    names = [f"frame_{frame}" for frame in range(frames)]
    sizes = np.full((frames, 2), (WIDTH, HEIGHT))
    held = FrameSet.build(folder.name, sizes, objects, frame_name=names, images=images, class_names={0: "cone"})
    write_set(held, folder, "yolo")
    return [f"frame_{frame}" for frame in range(frames)]


def with_depth(folder, *, factor, boxes=(), size=(HEIGHT, WIDTH)):
    """Photographs, true depth as PNG, and depth that is predicted too far by a factor, as .npy."""
    names = photographs(folder, boxes=boxes)
    for kind in ("depth", "predicted_depth"):
        (folder / kind).mkdir()
    for seed, name in enumerate(names):
        true = np.round(depth_picture(seed), 3)
        true[:3, :5] = 0
        (folder / f"depth/{name}.png").write_bytes(as_png(true))
        told = np.where(true > 0, true, 5) * factor
        told[10, :4] = np.nan
        np.save(folder / f"predicted_depth/{name}.npy", told[: size[0], : size[1]].astype(np.float32))
    return folder


def rows_of(path):
    with path.open() as stream:
        return list(csv.DictReader(stream))


def test_known_answers_of_a_region():
    truth = np.array([[1, 2, 4], [np.nan, 4, 8]], np.float32)
    told = np.array([[1.5, 2, 3], [7, np.nan, 8]], np.float32)
    found = errors_of_region(truth, told)
    np.testing.assert_allclose(found, [(0.5 + 0 + 0.25 + 0) / 4, 1.5 / 4, np.sqrt(1.25 / 4), 0.5, 1 / 5])
    assert errors_of_region(truth, np.full_like(truth, np.nan)) is None


def test_the_layout_says_which_part_of_the_picture_is_how_deep():
    truth = np.full((30, 40), np.nan, np.float32)
    truth[:10, :10], truth[20:, 30:] = 1.0, 3.0
    layout = depth_layout(truth).reshape(3, 4, -1)
    assert layout[0, 0, 2] == pytest.approx(1 / 12), "1 m is two doublings of 0.25 m"
    part = np.log2(3 / 0.25) - 3
    np.testing.assert_allclose(layout[2, 3, 3:5], np.array([1 - part, part]) / 12)
    assert layout.sum() == pytest.approx(2 / 12)


@pytest.mark.parametrize("ending", [".npy", ".tiff", ".png", ".exr"])
def test_every_form_of_a_depth_image_gives_metres(tmp_path, ending):
    metres = np.round(depth_picture(0), 3).astype(np.float32)
    metres[0, :3] = [0, np.nan, -1]
    path = tmp_path / f"depth{ending}"
    if ending == ".npy":
        np.save(path, metres)
    elif ending == ".png":
        path.write_bytes(as_png(np.maximum(metres, 0)))
    elif ending == ".tiff":
        path.write_bytes(cv2.imencode(".tiff", metres)[1].tobytes())
    else:
        mitsuba = pytest.importorskip("mitsuba")
        mitsuba.set_variant("scalar_rgb")
        mitsuba.Bitmap(metres[:, :, None]).write(str(path))
    found = read_depth(path)
    np.testing.assert_allclose(found[1:], metres[1:], atol=1e-6)
    assert np.isnan(found[0, :3]).all()
    np.testing.assert_allclose(read_depth(path, 0.5)[1:], metres[1:] * (500 if ending == ".png" else 0.5), rtol=1e-5)


def test_errors_by_frame_and_what_is_left_out(tmp_path):
    a, b = with_depth(tmp_path / "real", factor=1.1), with_depth(tmp_path / "sim", factor=1.3)
    found = sj.depth_errors(a, b, tmp_path / "out")
    for side, factor in zip(found.errors, (1.1, 1.3), strict=True):
        np.testing.assert_allclose(side[:, 0], factor - 1, atol=1e-6)
        np.testing.assert_allclose(side[:, 3], 1.0 if factor < 1.25 else 0.0)
        np.testing.assert_allclose(side[:, 4], 4 / (HEIGHT * WIDTH - 15))
    rows = rows_of(tmp_path / "out/errors.csv")
    assert [row["set"] for row in rows] == ["a"] * 8 + ["b"] * 8
    assert found.invalid.counts["pixels without true depth (0, NaN or infinite)"] == 16 * 15
    assert found.invalid.counts["pixels with true depth and no predicted one"] == 16 * 4
    assert not found.losses, "every device leaves pixels out; that is no loss of a set"
    (a / "predicted_depth/frame_3.npy").unlink()
    fewer = sj.depth_errors(a, b, tmp_path / "out")
    assert len(fewer.errors[0]) == 7
    assert fewer.losses.counts["frames without a predicted depth image"] == 1


def test_photographs_without_labels_are_compared_by_them(tmp_path):
    a, b = with_depth(tmp_path / "real", factor=1.1), with_depth(tmp_path / "sim", factor=1.3)
    out = tmp_path / "out"
    sj.depth_errors(a, b, out)
    result = sj.compare(
        a,
        b,
        performance=f"{out / 'errors.csv'}:abs_rel:0:1:lower",
        contexts="frames",
        features=out / "features.csv",
        theta=0.6,
        draws=0,
    )
    assert result.numbers.overall.mean_w1 == pytest.approx(0.2, abs=1e-6)


def test_errors_by_object_are_those_of_its_box(tmp_path):
    boxes = [(10, 5, 30, 25), (40, 30, 70, 55)]
    folders = [with_depth(tmp_path / name, factor=f, boxes=boxes) for name, f in (("real", 1.1), ("sim", 1.3))]
    found = sj.depth_errors(*folders, tmp_path / "out", regions="objects")
    assert len(found.errors[0]) == 16
    rows = rows_of(tmp_path / "out/errors.csv")
    assert [row["object"] for row in rows[:4]] == ["0", "1", "0", "1"]
    inside = np.round(depth_picture(0), 3)[5:25, 10:30]
    assert float(rows[0]["mae"]) == pytest.approx(0.1 * inside.mean(), abs=1e-5)
    assert not (tmp_path / "out/features.csv").exists()


def test_depth_of_recordings_is_read_by_stamp(tmp_path):
    types = standard_types().types
    names = [f"frame_{frame}" for frame in range(4)]
    images = ArrayImages([np.full((HEIGHT, WIDTH, 3), 40, np.uint8)] * 4)
    stamp = 1_000_000_000 + np.arange(4) * 100_000_000
    held = FrameSet.build(
        "real", np.full((4, 2), (WIDTH, HEIGHT)), Objects.empty(), frame_name=names, images=images, stamp=stamp
    )

    def message(index, values, encoding):
        seconds, rest = divmod(int(stamp[index]) + 3_000_000, 10**9)
        header = types["std_msgs/msg/Header"](types["builtin_interfaces/msg/Time"](seconds, rest), "camera")
        data = np.ascontiguousarray(values).view(np.uint8).reshape(-1)
        return types["sensor_msgs/msg/Image"](header, HEIGHT, WIDTH, encoding, 0, len(data) // HEIGHT, data)

    def beside(index):
        true = np.round(depth_picture(index), 3)
        yield "/camera/depth/image_raw", message(index, np.round(true * 1000).astype("<u2"), "16UC1")
        yield "/camera/predicted_depth", message(index, (true * 1.1).astype("<f4"), "32FC1")

    path = tmp_path / "real.mcap"
    write_recording(held, path, extra_messages=beside)
    found = sj.depth_errors(
        path, path, tmp_path / "out", truth="/camera/depth/image_raw", predicted="/camera/predicted_depth"
    )
    np.testing.assert_allclose(found.errors[0][:, 0], 0.1, atol=1e-6)
    with pytest.raises(SimjudgeError, match=r"/wrong: is no topic of images; there are .*/camera/depth/image_raw"):
        sj.depth_errors(path, path, tmp_path / "out", truth="/wrong", predicted="/camera/predicted_depth")


def compressed(kind, data):
    return SimpleNamespace(format=kind, data=np.frombuffer(data, np.uint8))


def test_compressed_metres_are_steps_of_inverse_depth():
    """By compressed_depth_image_transport: step = a / depth + b, with a = 100 * 101 and b = 1 - a / 10 m."""
    metres, a = depth_picture(0), 10100.0
    b = 1 - a / 10
    steps = (a / metres + b).astype(np.uint16)
    steps[0, :2] = 0
    png = cv2.imencode(".png", steps)[1].tobytes()
    found = depth_of_message(compressed("32FC1; compressedDepth png", struct.pack("<iff", 0, a, b) + png), "here")
    assert np.isnan(found[0, :2]).all()
    np.testing.assert_allclose(found[1:], metres[1:], atol=0.02)
    with pytest.raises(SimjudgeError, match="here: the header of its compressed depth is broken"):
        depth_of_message(compressed("32FC1; compressedDepth png", bytes(12) + png), "here")
    with pytest.raises(SimjudgeError, match="here: is compressed as RVL, which simjudge does not read; record the raw"):
        depth_of_message(compressed("16UC1; compressedDepth rvl", bytes(40)), "here")
    grey = cv2.imencode(".png", np.full((4, 4), 9, np.uint8))[1].tobytes()
    with pytest.raises(SimjudgeError, match=r"here: holds whole numbers \(uint8\), whose unit is not known"):
        depth_of_message(compressed("png", grey), "here")


def test_the_depth_image_of_a_frame_is_the_nearest_of_any_order():
    rng = np.random.default_rng(0)
    stamps = rng.integers(0, 10**9, 40)
    for count in (0, 1, 2, 40):
        frames = SimpleNamespace(stamp=np.concatenate([[NO_STAMP], rng.integers(0, 10**9, 30), stamps[:1]]))
        found = dict(_nearest(frames, stamps[:count], list(range(count))))
        for index, stamp in enumerate(frames.stamp.tolist()):
            distance = np.abs(stamps[:count] - stamp)
            near = stamp != NO_STAMP and count and distance.min() <= 20_000_000
            assert found.get(index) == (int(distance.argmin()) if near else None)


def test_names_with_dots_are_whole_names(tmp_path):
    names = ["1700000000.25", "1700000000.50"]
    frames = FrameSet.build("tum", np.full((2, 2), (WIDTH, HEIGHT)), Objects.empty(), frame_name=names)
    (tmp_path / "depth").mkdir()
    for name in names:
        (tmp_path / f"depth/{name}.png").write_bytes(as_png(depth_picture(0)))
    found = open_depth(tmp_path, frames, "depth", None, Losses()).found
    assert [found[index].stem for index in range(2)] == names


def test_a_header_that_claims_more_than_the_file_holds_is_refused(tmp_path):
    np.save(tmp_path / "a.npy", np.ones((4, 4)))
    data = (tmp_path / "a.npy").read_bytes().replace(b"(4, 4)", b"(9999999, 9999999)")[:128]
    (tmp_path / "a.npy").write_bytes(data.replace(b"            \n", b"\n"))
    with pytest.raises(SimjudgeError, match=r"a.npy: is no depth image that can be read"):
        read_depth(tmp_path / "a.npy")
    with (tmp_path / "b.npy").open("wb") as stream:
        np.savez(stream, one=np.ones((4, 4)))
    with pytest.raises(SimjudgeError, match=r"b.npy: holds several arrays"):
        read_depth(tmp_path / "b.npy")


def test_unlike_sizes_and_unknown_units_are_refused(tmp_path):
    a, b = with_depth(tmp_path / "real", factor=1.1), with_depth(tmp_path / "sim", factor=1.1, size=(30, 40))
    with pytest.raises(SimjudgeError, match="its true depth is 80x60 and its predicted one 40x30; write both in one"):
        sj.depth_errors(a, b, tmp_path / "out")
    np.save(a / "predicted_depth/frame_0.npy", np.ones((HEIGHT, WIDTH), np.int32))
    with pytest.raises(SimjudgeError, match=r"frame_0.npy: holds whole numbers .* say the metres of a step"):
        sj.depth_errors(a, a, tmp_path / "out")
    np.save(a / "predicted_depth/frame_0.npy", np.ones((HEIGHT, WIDTH, 3)))
    with pytest.raises(SimjudgeError, match=r"has the shape \(60, 80, 3\)"):
        sj.depth_errors(a, a, tmp_path / "out")
    (a / "depth/frame_0.png").write_bytes(b"\x89PNG cut")
    with pytest.raises(SimjudgeError, match=r"frame_0.png: is no depth image that can be read"):
        sj.depth_errors(a, a, tmp_path / "out")
    with pytest.raises(SimjudgeError, match=r"nowhere: is no folder of depth images"):
        sj.depth_errors(a, a, tmp_path / "out", truth="nowhere")
    assert not (tmp_path / "out").exists()
    (tmp_path / "out").write_text("")
    with pytest.raises(SimjudgeError, match="out: is a file; --out must be a folder"):
        sj.depth_errors(a, a, tmp_path / "out")


def test_earlier_tables_are_replaced_whole_and_anything_else_is_refused(tmp_path):
    boxes = [(10, 5, 30, 25)]
    a, out, lines = with_depth(tmp_path / "real", factor=1.1, boxes=boxes), tmp_path / "out", []
    sj.depth_errors(a, a, out, log=lines.append)
    assert not any("will be replaced" in line for line in lines)
    sj.depth_errors(a, a, out, regions="objects", log=lines.append)
    assert f"note: {out} holds earlier tables, which will be replaced" in lines
    assert [path.name for path in out.iterdir()] == ["errors.csv"], "features of frames are of no use to objects"
    (out / "notes.txt").write_text("precious")
    with pytest.raises(SimjudgeError, match=r"out: holds 'notes.txt', which no table of depth errors has; choose"):
        sj.depth_errors(a, a, out)
    assert "object" in rows_of(out / "errors.csv")[0]


@pytest.mark.parametrize(
    ("true", "predicted", "option"),
    [(1, 1000, "predicted"), (1000, 1, "truth"), (1000, 1000, "truth"), (0.02, 20, "predicted")],
)
def test_floats_that_look_like_millimetres_are_refused_until_their_unit_is_said(tmp_path, true, predicted, option):
    real = with_depth(tmp_path / "real", factor=1.1)
    for index in range(8):
        depth = depth_picture(index)
        (real / f"depth/frame_{index}.png").unlink()
        np.save(real / f"depth/frame_{index}.npy", (depth * true).astype(np.float32))
        np.save(real / f"predicted_depth/frame_{index}.npy", (depth * predicted * 1.1).astype(np.float32))
    with pytest.raises(SimjudgeError, match=f"probably holds millimetres: say --{option}-scale 0.001, or"):
        sj.depth_errors(real, real, tmp_path / "out")
    assert not (tmp_path / "out").exists()
    scales = {"truth_scale": 1 / true if true > 1 else 1, "predicted_scale": 1 / predicted * min(true, 1)}
    found = sj.depth_errors(real, real, tmp_path / "out", **scales)
    np.testing.assert_allclose(found.errors[0][:, 0], 0.1, atol=1e-5)


def test_depths_that_differ_several_times_over_get_a_note(tmp_path):
    real, lines = with_depth(tmp_path / "real", factor=4.0), []
    sj.depth_errors(real, real, tmp_path / "out", log=lines.append)
    assert any("if a unit is wrong, say the metres of a step" in line for line in lines)


def test_millimetres_are_refused_where_the_first_frames_have_no_depth(tmp_path):
    real = with_depth(tmp_path / "real", factor=1.1)
    for index in range(8):
        (real / f"depth/frame_{index}.png").unlink()
        if index >= 6:
            np.save(real / f"depth/frame_{index}.npy", depth_picture(index).astype(np.float32) * 1000)
    with pytest.raises(SimjudgeError, match="probably holds millimetres: say --truth-scale"):
        sj.depth_errors(real, real, tmp_path / "out")
