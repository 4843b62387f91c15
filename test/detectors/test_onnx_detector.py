"""The ONNX detector on tiny models whose output is known, and on files that are no model."""

import numpy as np
import pytest
from onnx_models import classes_head, constant_model

from simjudge.core.errors import SimjudgeError
from simjudge.detectors.detection import load_detector
from simjudge.detectors.detector import BadAnswerError

SQUARE = np.zeros((64, 64, 3), np.uint8)


def only(detector, image=SQUARE):
    (found,) = detector([image])
    return list(zip(found.class_id.tolist(), found.box.tolist(), found.score.round(5).tolist(), strict=True))


def test_classes_head_takes_the_best_class_and_suppresses_by_class(tmp_path):
    rows = [
        [20, 20, 20, 20, 0.9, 0.1],  # red
        [21, 20, 20, 20, 0.8, 0.1],  # the same red once more: suppressed
        [21, 20, 20, 20, 0.1, 0.7],  # a green one in the same place: stays
        [50, 50, 10, 10, 0.04, 0.03],  # below the score
    ]
    detector = load_detector(constant_model(tmp_path / "m.onnx", classes_head(rows)))
    assert detector.class_names == {0: "red", 1: "green"}
    assert only(detector) == [(0, [10, 10, 30, 30], 0.9), (1, [11, 10, 31, 30], 0.7)]


def test_objectness_head_multiplies_the_two(tmp_path):
    out = np.zeros((100, 7), np.float32)
    out[:3] = [[20, 20, 20, 20, 0.5, 0.8, 0.1], [50, 50, 8, 8, 0.04, 1, 1], [50, 50, 8, 8, 0.5, 0.0, 0.08]]
    detector = load_detector(constant_model(tmp_path / "m.onnx", out))
    assert detector.head == "objectness"
    assert only(detector) == [(0, [10, 10, 30, 30], 0.4)]


def test_end_to_end_head_is_taken_as_it_is(tmp_path):
    out = np.zeros((30, 6), np.float32)
    out[:3] = [[10, 10, 30, 30, 0.9, 1], [11, 10, 31, 30, 0.8, 1], [1, 1, 5, 5, 0.01, 0]]
    detector = load_detector(constant_model(tmp_path / "m.onnx", out))
    assert only(detector) == [(1, [10, 10, 30, 30], 0.9), (1, [11, 10, 31, 30], 0.8)]


@pytest.mark.parametrize(
    ("shape", "names", "metadata", "head"),
    [
        ((6, 84), "{0: 'a', 1: 'b'}", {}, "classes"),
        ((84, 7), "{0: 'a', 1: 'b'}", {}, "objectness"),
        ((300, 6), "{0: 'a', 1: 'b'}", {}, "end to end"),
        ((5, 2100), "{0: 'a'}", {}, "classes"),
        ((2100, 6), "{0: 'a'}", {}, "objectness"),  # v5 with one class looks like an NMS-free head, but for its length
        ((2100, 6), "{0: 'a'}", {"end2end": "True"}, "end to end"),
        ((84, 2100), "", {}, "classes"),  # no names
        ((2100, 85), "", {}, "objectness"),
        ((6, 84), "['a', 'b']", {}, "classes"),  # a list of names
    ],
)
def test_which_head_it_is(tmp_path, shape, names, metadata, head):
    model = constant_model(tmp_path / "m.onnx", np.zeros(shape), metadata={"names": names, **metadata})
    detector = load_detector(model)
    assert detector.head == head
    assert only(detector) == []


def test_boxes_come_back_through_the_letterbox(tmp_path):
    # 128x64 into 64x64: half the size, 16 rows of grey above and below.
    rows = [[32, 32, 32, 16, 0.9, 0], [32, 8, 10, 10, 0.8, 0], [62, 32, 20, 20, 0.7, 0]]
    detector = load_detector(constant_model(tmp_path / "m.onnx", classes_head(rows)))
    assert only(detector, np.zeros((64, 128, 3), np.uint8)) == [
        (0, [32, 16, 96, 48], 0.9),
        (0, [104, 12, 128, 52], 0.7),  # clipped; the one in the grey border alone is gone
    ]


@pytest.mark.parametrize("batch", ["batch", 1, 4])
@pytest.mark.parametrize("half_input", [False, True])
def test_any_number_of_pictures_of_any_size(tmp_path, batch, half_input):
    model = constant_model(
        tmp_path / "m.onnx", classes_head([[20, 20, 20, 20, 0.9, 0]]), batch=batch, half_input=half_input
    )
    images = [np.zeros((height, 64, 3), np.uint8) for height in (64, 32, 64, 20, 64, 64)]
    found = load_detector(model)(images)
    assert [len(f) for f in found] == [1] * 6
    assert found[0].box.tolist() == found[4].box.tolist() == [[10, 10, 30, 30]]
    assert load_detector(model)([]) == []


def test_open_input_size(tmp_path):
    rows = classes_head([[20, 20, 20, 20, 0.9, 0]])
    model = constant_model(tmp_path / "m.onnx", rows, size=None, metadata={"imgsz": "[96, 64]"})
    assert load_detector(model).input_size == (64, 96)
    assert load_detector(model, imgsz=128).input_size == (128, 128)


def test_low_scores_are_kept_when_asked_for(tmp_path):
    model = constant_model(tmp_path / "m.onnx", classes_head([[20, 20, 20, 20, 0.002, 0]]))
    assert only(load_detector(model)) == []
    assert len(only(load_detector(model, min_score=0.001))) == 1


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "not a readable ONNX model"),
        (b"no model at all", "not a readable ONNX model"),
    ],
)
def test_unreadable_model(tmp_path, content, message):
    path = tmp_path / "m.onnx"
    path.write_bytes(content)
    with pytest.raises(SimjudgeError, match=message) as caught:
        load_detector(path)
    assert "\n" not in str(caught.value)
    assert str(path) in str(caught.value)


def test_cut_off_model(tmp_path):
    path = constant_model(tmp_path / "m.onnx", classes_head([]))
    path.write_bytes(path.read_bytes()[:200])
    with pytest.raises(SimjudgeError, match="not a readable ONNX model"):
        load_detector(path)


@pytest.mark.parametrize(
    ("shape", "size", "metadata", "message"),
    [
        ((3, 9), 64, {}, "no YOLO detection head"),
        ((6, 84), 64, {"task": "segment"}, "task is 'segment'"),
        ((6, 84), 64, {"names": "{0: 'cut"}, "class names in its metadata"),
        ((6, 84), 64, {"names": "3"}, "class names in its metadata"),
        ((6, 84), 64, {"names": "{'a': 1}"}, "class names in its metadata"),
        ((6, 84), 64, {"names": "{1e999: 'a'}"}, "class names in its metadata"),
        ((6, 84), 64, {"names": "[" * 5000}, "class names in its metadata"),
        ((6, 84), None, {"imgsz": "large"}, "give --imgsz"),
        ((6, 84), None, {"imgsz": "[64, 64, 64]"}, "give --imgsz"),
        ((6, 84), None, {"imgsz": "[]"}, "give --imgsz"),
        ((6, 84), None, {"imgsz": "1e999"}, "give --imgsz"),
        ((6, 84), None, {"imgsz": "0"}, "size in its metadata is 0; give --imgsz"),
        ((6, 84), None, {"imgsz": "-64"}, "size in its metadata is -64; give --imgsz"),
        ((6, 84), None, {"imgsz": "10000000"}, "size in its metadata is 10000000; give --imgsz"),
        ((6, 84), None, {"imgsz": "(" * 5000}, "give --imgsz"),
    ],
)
def test_models_that_are_no_yolo_detector(tmp_path, shape, size, metadata, message):
    model = constant_model(tmp_path / "m.onnx", np.zeros(shape), size=size, metadata=metadata)
    with pytest.raises(SimjudgeError, match=message):
        load_detector(model)


def test_a_fixed_input_size_cannot_be_changed(tmp_path):
    model = constant_model(tmp_path / "m.onnx", classes_head([]))
    with pytest.raises(SimjudgeError, match="fixed at 64x64"):
        load_detector(model, imgsz=128)


def rows_of(head, rows):
    """An output of either head of 50 places; rows are (four numbers, score, class)."""
    if head == "end to end":
        out = np.zeros((50, 6), np.float32)
        out[: len(rows)] = rows
        return out
    per_class = [[*row[:4], *(row[4] if c == row[5] else 0 for c in range(2))] for row in rows]
    if head == "classes":
        return classes_head(per_class)
    out = np.zeros((100, 7), np.float32)
    out[: len(rows)] = [[*row[:4], 1, *row[4:]] for row in per_class]
    return out


NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize("head", ["classes", "objectness", "end to end"])
@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ([20, 20, 30, 30, NAN, 0], "scores are NaN or infinite"),
        ([20, 20, 30, 30, INF, 1], "scores are NaN or infinite"),
        ([20, 20, 30, 30, -INF, 1], "scores are NaN or infinite"),
        ([20, 20, NAN, 30, 0.9, 1], "boxes are NaN or infinite"),
        ([20, 20, 30, INF, 0.9, 1], "boxes are NaN or infinite"),
        ([20, 20, 30, 30, 7.5, 1], "scores from 0 to 7.5, where 0 to 1 are probabilities; export"),
        ([20, 20, 30, 30, -4, 1], "scores from -4 to"),
    ],
)
def test_an_answer_that_is_none_is_refused(tmp_path, head, row, problem):
    out = rows_of(head, [row])
    if head == "objectness" and problem.startswith("scores from 0"):
        problem = "scores from 0 to 7.5"
    detector = load_detector(constant_model(tmp_path / "m.onnx", out))
    assert detector.head == head
    with pytest.raises(BadAnswerError, match=f"m, image 0 .*{problem}") as caught:
        detector([SQUARE, SQUARE])
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("class_id", [2, -1, 0.5, NAN, 1e9])
def test_classes_that_the_model_does_not_name_are_refused(tmp_path, class_id):
    out = rows_of("end to end", [[20, 20, 30, 30, 0.9, 1], [20, 20, 30, 30, 0.8, class_id]])
    detector = load_detector(constant_model(tmp_path / "m.onnx", out))
    with pytest.raises(BadAnswerError, match=r"class .* found, but the names are those of 0, 1;"):
        detector([SQUARE])


def test_a_box_that_nothing_is_found_in_may_be_anything(tmp_path):
    out = rows_of("end to end", [[20, 20, 30, 30, 0.9, 1], [NAN, 20, -INF, 30, 0.001, 77]])
    assert only(load_detector(constant_model(tmp_path / "m.onnx", out))) == [(1, [20, 20, 30, 30], 0.9)]


def test_boxes_of_negative_size_are_counted(tmp_path):
    out = rows_of("end to end", [[20, 20, 30, 30, 0.9, 1], [30, 20, 10, 40, 0.8, 1], [5, 9, 10, 8, 0.7, 0]])
    (found,) = load_detector(constant_model(tmp_path / "m.onnx", out))([SQUARE])
    assert len(found) == 1
    assert found.inverted == 2


def test_an_output_whose_batch_is_fixed_within(tmp_path):
    onnx = pytest.importorskip("onnx", reason="onnx (the extra 'train') is not installed")
    path = constant_model(tmp_path / "m.onnx", classes_head([]))
    model = onnx.load(str(path))
    for tensor in model.graph.initializer:
        if tensor.name == "answer":  # four times the answer, however many images there are
            four = np.repeat(onnx.numpy_helper.to_array(tensor), 4, axis=0)
            tensor.CopyFrom(onnx.numpy_helper.from_array(four, "answer"))
    del model.graph.output[0].type.tensor_type.shape.dim[:]
    onnx.save(model, str(path))
    with pytest.raises(SimjudgeError, match=r"for 1 images the net gives an output of shape \(4, 6, 50\)"):
        load_detector(path)


def test_metadata_that_is_no_text(tmp_path):
    path = constant_model(tmp_path / "x.onnx", classes_head([]), metadata={"author": "damagedhere"})
    path.write_bytes(path.read_bytes().replace(b"damagedhere", b"\xf3amagedhere"))
    with pytest.raises(SimjudgeError, match="metadata is no UTF-8 text"):
        load_detector(path)


def test_a_task_of_any_length_is_one_short_line(tmp_path):
    path = constant_model(tmp_path / "x.onnx", classes_head([]), metadata={"task": "x" * 5000})
    with pytest.raises(SimjudgeError, match=r"the model's task is 'x{57}") as error:
        load_detector(path)
    assert len(str(error.value)) < 500
