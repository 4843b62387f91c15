"""The authors' layout: what their loader makes of the files, read and written here."""

import numpy as np
import pytest

from simjudge.core.errors import SimjudgeError
from simjudge.core.frames import FrameSet
from simjudge.core.object_tables import Objects, Predictions
from simjudge.data.formats.cpd import read_cpd, sniff_cpd, write_cpd


@pytest.fixture
def layout(tmp_path, image):
    for stem in ("a", "b", "c"):
        image(tmp_path / f"imgs/{stem}.png")
    for folder in ("labels", "PREDS/labels"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "labels/a.txt").write_text("0 0.5 0.5 0.25 0.2\n1 0.25 0.5 0.25 0.2\n")
    (tmp_path / "PREDS/labels/a.txt").write_text("1 0.5 0.5 0.25 0.2\n")
    (tmp_path / "PREDS/labels/b.txt").write_text("")
    return tmp_path


def test_reads_what_the_authors_write(layout):
    assert sniff_cpd(layout)
    frames = read_cpd(layout)
    np.testing.assert_array_equal(frames.objects.box, [[15, 12, 25, 18], [5, 12, 15, 18]])
    assert frames.objects.class_id.tolist() == [0, 1]
    assert frames.labelled.all()  # no label file: nothing in the image, as their loader has it
    assert frames.predictions.class_id.tolist() == [1]
    assert frames.predictions.score.tolist() == [1.0]
    assert frames.predicted.all()
    assert not frames.losses


def authors_boxes(path):
    """Their rows as their loader takes them: five columns, class + 1."""
    rows = np.array([line.split() for line in path.read_text().splitlines()], float).reshape(-1, 5)
    return rows[:, 0] + 1, rows[:, 1:]


def test_writes_what_their_tool_reads(tmp_path):
    objects = Objects.build([0, 0], [1, 2], [[15, 12, 25, 18], [5, 12, 15, 18]])
    found = Predictions.build([0], [2], [[15, 12, 25, 18]], [0.3])
    frames = FrameSet.build("x", [(40, 30)] * 2, objects, found)
    write_cpd(frames, tmp_path / "out")
    classes, boxes = authors_boxes(tmp_path / "out/labels/000000.txt")
    assert classes.tolist() == [1, 2]
    np.testing.assert_array_equal(boxes, [[0.5, 0.5, 0.25, 0.2], [0.25, 0.5, 0.25, 0.2]])
    classes, _ = authors_boxes(tmp_path / "out/PREDS/labels/000000.txt")
    assert classes.tolist() == [2]
    assert (tmp_path / "out/PREDS/labels/000001.txt").read_text() == ""  # their tool needs the file


def test_labels_edited_afterwards_keep_their_class_ids(tmp_path):
    objects = Objects.build([0], [7], [[15, 12, 25, 18]])
    frames = FrameSet.build("x", [(40, 30)] * 2, objects, class_names={3: "a", 7: "b"})
    write_cpd(frames, tmp_path / "out")
    (tmp_path / "out/labels/000001.txt").write_text("0 .5 .5 .2 .2\n1 .5 .5 .2 .2\n")
    back = read_cpd(tmp_path / "out")
    assert back.objects.class_id.tolist() == [7, 3, 7]
    assert back.class_names == {3: "a", 7: "b"}


def test_what_does_not_belong_together(layout):
    (layout / "imgs/a.png").unlink()
    (layout / "imgs/b.png").write_bytes(b"")
    (layout / "labels/c.txt").write_text("0 .5 .5\n")
    frames = read_cpd(layout)
    assert list(frames.frame_name) == ["c"]
    assert dict(frames.losses.counts) == {
        "unreadable images": 1,
        "label files without an image": 1,
        "prediction files without an image": 1,
        "malformed rows": 1,
    }


def test_an_empty_set_is_an_error(tmp_path):
    (tmp_path / "imgs").mkdir()
    (tmp_path / "labels").mkdir()
    with pytest.raises(SimjudgeError, match="empty set"):
        read_cpd(tmp_path)
