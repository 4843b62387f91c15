"""Labels that nobody drew: predictions of a teacher, regions of label pictures; called so in every format."""

import numpy as np
import pytest

from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.core.frames import EncodedLabels, FrameSet
from simjudge.core.images import ArrayImages, encode_png
from simjudge.core.names import DetectorRecord
from simjudge.core.object_tables import Predictions
from simjudge.data.semantic_classes import labels_from_pictures, labels_from_predictions
from simjudge.data.set_parts import convert, join_sets
from simjudge.data.sets import read_set, write_set


def predicted_set(name="photos"):
    scores = [0.9, 0.4, 0.6, 0.5, 0.2]
    boxes = [[i, i, i + 10, i + 8] for i in range(5)]
    predictions = Predictions.build([0, 0, 1, 2, 2], [0, 1, 0, 0, 1], boxes, scores)
    random = np.random.default_rng(0)
    return FrameSet.build(
        name,
        [[40, 30]] * 4,
        predictions=predictions,
        predicted=[True, True, True, False],
        frame_name=["p0", "p1", "p2", "p3"],
        class_names={0: "car", 1: "sign"},
        images=ArrayImages([random.integers(0, 255, (30, 40, 3)).astype(np.uint8) for _ in range(4)]),
        detector=DetectorRecord("yolo11x", "ab" * 32),
    )


def test_predictions_of_a_score_or_more_become_labels():
    found = labels_from_predictions(predicted_set(), 0.5)
    assert found.objects.frame.tolist() == [0, 1, 2]
    assert found.objects.box[:, 0].tolist() == [0, 2, 3]
    assert found.labelled.tolist() == [True, True, True, False]
    assert found.predictions is None
    assert found.label_source == "predictions of yolo11x at 0.5, a teacher"


@pytest.mark.parametrize("target", ["set.json", "set.mcap", "set"])
def test_every_format_keeps_whose_labels_they_are_and_the_name_says_it(tmp_path, target):
    out, form = tmp_path / target, None if "." in target else "yolo"
    convert(predicted_set(), out, to=form, from_predictions=0.5)
    again = read_set(out)
    assert again.label_source == "predictions of yolo11x at 0.5, a teacher"
    assert again.name.endswith(", labels: predictions of yolo11x at 0.5, a teacher")
    assert len(again.objects) == 3
    write_set(again, tmp_path / "again.json")
    assert read_set(tmp_path / "again.json").name == "again, labels: predictions of yolo11x at 0.5, a teacher"


def test_a_teacher_labels_a_set_that_keeps_its_own_predictions(tmp_path):
    write_set(predicted_set(), tmp_path / "teacher.json")
    student = predicted_set("student").with_predictions(None)
    own = Predictions.build([0], [0], [[1, 1, 12, 10]], [0.7])
    done = convert(
        student.with_predictions(own, detector=DetectorRecord("small")),
        tmp_path / "out.json",
        labels=tmp_path / "teacher.json",
        from_predictions=0.5,
    )
    assert (len(done.objects), len(done.predictions)) == (3, 1)
    assert read_set(tmp_path / "out.json").label_source == "predictions of yolo11x at 0.5, a teacher"
    assert read_set(tmp_path / "out.json").detector.name == "small"


def test_text_files_of_predictions_may_be_the_teacher(tmp_path):
    write_set(predicted_set().with_predictions(None), tmp_path / "photos.json")
    folder = tmp_path / "found"
    folder.mkdir()
    (folder / "p0.txt").write_text("0 0.5 0.5 0.2 0.2 0.8\n1 0.3 0.3 0.1 0.1 0.3\n")
    done = convert(tmp_path / "photos.json", tmp_path / "out.json", labels=folder, from_predictions=0.5)
    assert done.objects.class_id.tolist() == [0]
    assert done.label_source == "predictions of found at 0.5, a teacher"


def test_joined_sets_say_all_their_teachers():
    first, second = (labels_from_predictions(predicted_set(name), least) for name, least in (("x", 0.5), ("y", 0.6)))
    assert join_sets([first, second]).label_source == (
        "predictions of yolo11x at 0.5, a teacher; predictions of yolo11x at 0.6, a teacher"
    )


def test_what_cannot_teach_is_refused():
    frames = predicted_set()
    with pytest.raises(SimjudgeError, match=r"photos: no prediction has a score of 0.95: the highest score is 0.9"):
        labels_from_predictions(frames, 0.95)
    with pytest.raises(SimjudgeError, match="photos: holds no predictions to take for labels; run"):
        labels_from_predictions(frames.with_predictions(None), 0.5)
    with pytest.raises(UsageError, match="a score above 0"):
        labels_from_predictions(frames, 0)


def region_set():
    picture = np.zeros((30, 40), np.uint8)
    picture[2:8, 3:9] = 1
    picture[8:10, 9:12] = 1  # touches by a corner
    picture[20:28, 20:36] = 1
    picture[0, 39] = 1  # too small
    picture[15:19, 0:40] = 2
    data = encode_png(picture[..., None])
    frames = FrameSet.build("streets", [[40, 30]], class_names={0: "road", 1: "car", 2: "kerb"})
    return FrameSet(**{**vars(frames), "semantic": EncodedLabels([data])}), picture


def test_regions_of_label_pictures_become_objects_with_their_pixels():
    frames, picture = region_set()
    found = labels_from_pictures(frames, ["Car"])
    assert found.objects.box.tolist() == [[3, 2, 12, 10], [20, 20, 36, 28]]
    assert found.objects.class_id.tolist() == [1, 1]
    painted = sum(found.objects.masks.to_image(i, 40, 30) for i in range(2))
    expected = picture == 1
    expected[0, 39] = False
    assert (painted == expected).all()
    assert found.label_source == "regions of label pictures (car)"


def test_a_class_that_label_pictures_lack_is_refused():
    with pytest.raises(UsageError, match="streets: its label pictures have no class bus; they have road, car, kerb"):
        labels_from_pictures(region_set()[0], ["bus"])
