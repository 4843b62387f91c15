"""What a path holds is found out by looking; what is written, by the name."""

import json
from pathlib import Path

import numpy as np
import pytest
from public_data import PUBLIC_DATA, missing

from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.core.frames import FrameSet
from simjudge.core.images import ArrayImages
from simjudge.core.object_tables import Objects, Predictions
from simjudge.core.settings import Thinning
from simjudge.core.text import load_json
from simjudge.data.frame_sequences import attach_labels
from simjudge.data.sets import as_frames, read_predictions, read_set, sniff_format, thin_frames, write_set
from simjudge.judging.inputs import read_input

SHARED = PUBLIC_DATA.parent
FOLDERS = {"yolo": "yolo", "coco": "coco", "cvat": "cvat", "cpd": "cpd"}
FORMATS = FOLDERS | {"x.json": "json", "x.mcap": "bag", "x.db3": "bag"}


@pytest.fixture
def frames():
    objects = Objects.build([0, 1], [1, 2], [[3, 4, 9, 10], [3, 4, 19, 20]])
    found = Predictions.build([0, 1], [1, 2], [[3, 4, 9, 11], [3, 5, 19, 20]], [0.5, 0.75])
    images = ArrayImages([np.full((30, 40, 3), 60 * i, np.uint8) for i in range(3)])
    return FrameSet.build(
        "made",
        [(40, 30)] * 3,
        objects,
        found,
        stamp=[10**9, 2 * 10**9, 3 * 10**9],
        class_names={1: "red", 2: "green"},
        images=images,
    )


def write(frames, path):
    write_set(frames, path, None if path.suffix else path.name)
    return path


@pytest.mark.parametrize(("name", "kind"), FORMATS.items())
def test_formats_are_found_out(frames, tmp_path, name, kind):
    path = write(frames, tmp_path / name)
    assert sniff_format(path) == kind
    assert len(read_set(path).objects) == 2
    if kind == "json":
        moved = path.rename(tmp_path / "no_ending")
        assert sniff_format(moved) == kind
        assert len(read_set(moved).objects) == 2


@pytest.mark.parametrize("name", FORMATS)
def test_predictions_come_from_anything(frames, tmp_path, name):
    path = write(frames, tmp_path / name)
    bare = frames.with_predictions(None)
    joined = read_predictions(path, bare)
    np.testing.assert_array_equal(joined.predictions.box, frames.predictions.box)
    np.testing.assert_array_equal(joined.predictions.score, frames.predictions.score)
    assert joined.predicted.all()
    assert bare.predictions is None


@pytest.mark.parametrize(
    ("name", "part", "kind"),
    [
        ("yolo", "predictions", "yolo-predictions"),
        ("cpd", "PREDS", "yolo-predictions"),
        ("cpd", "PREDS/labels", "yolo-predictions"),
        ("coco", "results.json", "coco-results"),
    ],
)
def test_predictions_alone(frames, tmp_path, name, part, kind):
    path = write(frames, tmp_path / name) / part
    assert sniff_format(path) == kind
    joined = read_predictions(path, read_set(tmp_path / name))
    if name != "cpd":  # whose rows have neither scores nor these class ids
        np.testing.assert_array_equal(joined.predictions.class_id, frames.predictions.class_id)
        np.testing.assert_array_equal(joined.predictions.score, frames.predictions.score)
        np.testing.assert_allclose(joined.predictions.box, frames.predictions.box, atol=1e-9)
    with pytest.raises(SimjudgeError, match="give it beside the data set"):
        read_set(path)


def test_no_predictions_in_it(frames, tmp_path):
    path = write(frames.with_predictions(None), tmp_path / "x.json")
    with pytest.raises(SimjudgeError, match="holds no predictions"):
        read_predictions(path, frames)


def test_no_detections_at_all(frames, tmp_path):
    path = tmp_path / "results.json"
    path.write_text("[]")
    joined = read_predictions(path, frames)
    assert len(joined.predictions) == 0
    assert joined.predicted.all()


@pytest.mark.parametrize(
    ("name", "to", "error"),
    [
        ("x.json", "yolo", "is written as json by its name"),
        ("folder", None, "a folder needs --to coco|cpd|cvat|yolo"),
        ("folder", "voc", "--to voc: no such format"),
    ],
)
def test_requests_that_make_no_sense(frames, tmp_path, name, to, error):
    with pytest.raises(UsageError) as caught:
        write_set(frames, tmp_path / name, to)
    assert error in str(caught.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", FORMATS)
def test_nothing_is_overwritten(frames, tmp_path, name):
    path = write(frames, tmp_path / name)
    before = sorted((p, p.stat().st_mtime_ns) for p in tmp_path.rglob("*"))
    with pytest.raises(SimjudgeError, match="exists already"):
        write(frames, path)
    assert sorted((p, p.stat().st_mtime_ns) for p in tmp_path.rglob("*")) == before


@pytest.mark.parametrize("name", ["yolo", "coco", "cvat", "cpd", "x.json"])
def test_a_full_disk_leaves_nothing(frames, tmp_path, name, monkeypatch):
    def full(*_args, **_more):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    monkeypatch.setattr("xml.etree.ElementTree.ElementTree.write", full)
    with pytest.raises(SimjudgeError, match="the disk is full"):
        write(frames, tmp_path / "out" / name)
    left = [p for p in (tmp_path / "out").rglob("*") if p.name != "x.images" and p.parent.name != "x.images"]
    assert left == []


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.json", b"{}"),
        ("a.xml", b"<svg/>"),
        ("a.txt", b"hello"),
        ("a.bin", bytes(100)),
        ("empty", b""),
        ("a.yaml", b"k: v"),
    ],
)
def test_files_that_are_no_data_set(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(SimjudgeError, match=r"; give a recording .*, a folder of images, or .* COCO, CPD, .* or YOLO$"):
        read_set(tmp_path / name)


def test_an_empty_folder_and_nothing_at_all(tmp_path):
    with pytest.raises(SimjudgeError, match="an empty folder; give a recording"):
        read_set(tmp_path)
    (tmp_path / "more").mkdir()
    with pytest.raises(SimjudgeError, match="not a data set that simjudge knows; give"):
        read_set(tmp_path)
    with pytest.raises(SimjudgeError, match="does not exist"):
        read_set(tmp_path / "gone")


def test_a_bare_folder_of_images(frames, tmp_path):
    (write(frames, tmp_path / "yolo") / "images").rename(tmp_path / "photos")
    assert sniff_format(tmp_path / "photos") == "images"
    found = read_set(tmp_path / "photos")
    assert not found.labelled.any()
    assert found.stamp.tolist() == frames.stamp.tolist()


def test_a_recording_labelled_by_hand(frames, tmp_path):
    """Bag to folder, labelled there, and back by name and stamp."""
    bare = FrameSet.build("bag", frames.size, stamp=frames.stamp, images=frames.images)
    write(bare, tmp_path / "bag.mcap")
    folder = tmp_path / "yolo"
    write(read_set(tmp_path / "bag.mcap"), folder)
    (folder / "labels/1_000000000.txt").write_text("0 0.5 0.5 0.5 0.5\n")
    (folder / "labels/3_000000000.txt").write_text("")
    (folder / "data.yaml").write_text("train: images\nval: images\nnames: [cone]\n")
    joined = attach_labels(read_set(folder), read_set(tmp_path / "bag.mcap"))
    write(joined, tmp_path / "out.mcap")
    back = read_set(tmp_path / "out.mcap")
    assert back.labelled.tolist() == [True, False, True]
    assert back.class_names == {0: "cone"}
    np.testing.assert_array_equal(back.objects.box, [[10, 7.5, 30, 22.5]])
    assert not back.losses


@pytest.mark.parametrize(
    ("path", "frame_count", "object_count", "classes"),
    [
        ("data/real_rc_cones", 157, 398, ["blue_cone", "yellow_cone"]),
        ("data/real_rc_cones/test", 6, 16, ["blue_cone", "yellow_cone"]),
        ("data/real_signals", 1470, 1470, ["green", "left", "red", "right", "stop", "straight", "yellow"]),
        ("data/real_signals/valid/images", 294, 294, ["green", "left", "red", "right", "stop", "straight", "yellow"]),
        ("golden/a.json", 25, 223, []),
        ("golden/b.json", 25, None, []),
    ],
)
def test_real_data(path, frame_count, object_count, classes):
    if not (SHARED / path).exists():
        pytest.skip(missing(path.removeprefix("data/")))
    frames = read_set(SHARED / path)
    assert len(frames) == frame_count
    assert object_count is None or len(frames.objects) == object_count
    assert list(frames.class_names.values()) == classes
    assert frames.labelled.all()
    assert not frames.losses
    if path.startswith("data"):
        labels = sorted((SHARED / path.removesuffix("/images")).rglob("labels/*.txt"))
        text = "".join(p.read_text() + "\n" for p in labels)
        assert len(text.split()) == 5 * object_count
        expected = sum(float(row.split()[3]) * float(row.split()[4]) for row in text.splitlines() if row)
        extent = (frames.objects.box[:, 2:] - frames.objects.box[:, :2]) / frames.size[frames.objects.frame]
        np.testing.assert_allclose(extent.prod(1).sum(), expected, rtol=1e-9)
    else:
        content = json.loads((SHARED / path).read_text())
        boxes = [o["box"] for frame in content for o in frame["objects"]]
        np.testing.assert_array_equal(frames.objects.box, boxes)


def test_a_json_file_is_parsed_once(tmp_path, monkeypatch):
    """By a comparison, which says its format besides."""
    (tmp_path / "a.json").write_text('[{"size": [4, 4], "objects": []}]')
    parsed = []
    monkeypatch.setattr(
        "simjudge.data.format_support.image_files.load_json", lambda path: parsed.append(path) or load_json(path)
    )
    described = read_input(tmp_path / "a.json", None, allow_outside=False)
    assert described.describe(described.frames, 0)["format"] == "json"
    assert parsed == [tmp_path / "a.json"]


BAG = Path(__file__).parents[2] / "bags" / "sim.mcap"


def stamped(times, name="drive"):
    count = len(times)
    objects = Objects.build(range(count), [0] * count, [[0, 0, 5, 5]] * count)
    return FrameSet.build(name, [[20, 20]] * count, objects, stamp=np.rint(np.array(times) * 1e9).astype(np.int64))


def test_every_nth_frame_is_taken_in_the_order_of_time():
    times = np.random.default_rng(0).permutation(np.arange(23) / 10)
    found = thin_frames(stamped(times), Thinning(every=5))
    assert sorted(found.stamp / 1e9) == pytest.approx([0, 0.5, 1.0, 1.5, 2.0])
    assert found.name == "drive, every 5th frame"
    assert len(found.objects) == 5


@pytest.mark.parametrize("rate", [0.7, 1, 3, 7, 10, 29])
def test_a_rate_takes_the_first_frame_of_each_period(rate):
    times = np.arange(120) / 10 + np.random.default_rng(1).uniform(-0.02, 0.02, 120)
    found = thin_frames(stamped(times), Thinning(rate=rate))
    kept, last = [], None
    step = np.median(np.diff(times))
    for time in times:
        period = int((time - times[0] + step / 2) * rate)
        if period != last:
            kept.append(time)
            last = period
    assert found.stamp / 1e9 == pytest.approx(kept, abs=1e-8)
    assert len(found) == pytest.approx(min(12 * rate, 120), abs=1)


def test_times_of_a_thinned_recording_stay_true():
    whole, thinned = read_set(BAG), as_frames(BAG, thinning=Thinning(rate=0.5))
    assert set(thinned.stamp) <= set(whole.stamp)
    assert np.diff(thinned.stamp) / 1e9 == pytest.approx([2.0] * 9)
    assert thinned.name == f"{whole.name}, 0.5 frames a second"


def test_frames_without_times_have_no_rate():
    frames = FrameSet.build("photos", [[8, 8]] * 4, frame_name=["b", "a", "d", "c"])
    with pytest.raises(UsageError, match="--rate 2: the frames of photos have no times; give --every N"):
        thin_frames(frames, Thinning(rate=2))
    assert list(thin_frames(frames, Thinning(every=2)).frame_name) == ["b", "d"]


def test_both_are_refused():
    with pytest.raises(UsageError, match="give one of them"):
        Thinning(every=2, rate=5)


@pytest.mark.parametrize(
    ("every", "words"), [(1, ""), (2, "2nd"), (3, "3rd"), (4, "4th"), (11, "11th"), (21, "21st"), (112, "112th")]
)
def test_what_is_taken_is_said_in_words(every, words):
    assert str(Thinning(every)) == (f"every {words} frame" if words else "")
