"""Finding a detector, matching its classes with a set's, and running it over a set."""

from collections.abc import Sequence
from contextlib import contextmanager

import cv2
import numpy as np
import pytest

from simjudge.core.errors import SimjudgeError
from simjudge.core.frames import FrameSet
from simjudge.core.images import ArrayImages, FileImages
from simjudge.core.object_tables import Objects
from simjudge.detectors.detection import detect, load_detector
from simjudge.detectors.detector import Detections, map_classes


class Corner:
    """Sees one thing of each of its classes: a box as large as the value of the picture's first pixel."""

    name = "corner"

    def __init__(self, class_names):
        self.class_names = class_names
        self.batches = []

    def __call__(self, images: Sequence[np.ndarray]):
        self.batches.append(len(images))
        ids = list(self.class_names)
        return [Detections.build(ids, [[0, 0, int(i[0, 0, 0]), 5]] * len(ids), [0.5] * len(ids)) for i in images]


def picture(value, size=(40, 30)):
    return np.full((size[1], size[0], 3), value, np.uint8)


def make(images, names=None, classes=(1,)):
    objects = Objects.build([0] * len(classes), list(classes), [[0, 0, 5, 5]] * len(classes))
    return FrameSet.build("set", [(40, 30)] * len(images), objects, class_names=names, images=images)


def test_every_picture_in_batches_lazily():
    detector, steps = Corner({0: "red"}), []
    frames = make(ArrayImages([picture(i + 1) for i in range(5)]), {1: "red"})

    @contextmanager
    def progress(task):
        assert task == "detecting on set"
        yield lambda done, total: steps.append((done, total))

    found = detect(frames, detector, batch=2, progress=progress)
    assert detector.batches == [2, 2, 1]
    assert steps == [(2, 5), (4, 5), (5, 5)]
    assert found.predictions.frame.tolist() == [0, 1, 2, 3, 4]
    assert found.predictions.box[:, 2].tolist() == [1, 2, 3, 4, 5]
    assert found.predictions.class_id.tolist() == [1] * 5  # the set's id, not the model's
    assert found.predicted.all()
    assert not found.losses


def test_missing_damaged_and_resized_pictures_are_not_predicted(tmp_path):
    files = []
    for i in range(5):
        files.append(tmp_path / f"{i}.png")
        cv2.imwrite(str(files[-1]), picture(10, (20, 30) if i == 3 else (40, 30)))
    files[1].write_bytes(files[1].read_bytes()[:40])
    files[2].write_bytes(b"")
    files[4].unlink()
    frames = make(FileImages([files[0], files[1], files[2], files[3], None, files[4]]), {1: "red"})
    found = detect(frames, Corner({0: "red"}))
    assert found.predicted.tolist() == [True, False, False, False, False, False]
    assert found.predictions.frame.tolist() == [0]
    assert dict(found.losses.counts) == {
        "damaged pictures, not predicted": 3,
        "pictures of another size than their labels say, not predicted": 1,
        "frames without a picture, not predicted": 1,
    }
    assert not frames.losses  # what was read before stays as it was


def test_a_gigantic_image_is_left_out_before_it_is_decoded(tmp_path, monkeypatch):
    monkeypatch.setattr("simjudge.core.images.LARGEST_IMAGE", 40 * 30)
    for i, size in enumerate([(40, 30), (41, 30), (40, 30)]):
        cv2.imwrite(str(tmp_path / f"{i}.png"), picture(10, size))
    giant = tmp_path / "1.png"
    giant.write_bytes(giant.read_bytes()[:60])  # decoding it would say that it is cut off
    frames = make(FileImages([tmp_path / f"{i}.png" for i in range(3)]), {1: "red"})
    found = detect(frames, Corner({0: "red"}))
    assert found.predicted.tolist() == [True, False, True]
    (line,) = found.losses.lines()
    assert "1.png: 41x30 is over" in line


def test_large_images_make_small_batches(monkeypatch):
    monkeypatch.setattr("simjudge.detectors.detection._LARGEST_BATCH", picture(1).size)
    detector = Corner({0: "red"})
    detect(make(ArrayImages([picture(i + 1) for i in range(5)]), {1: "red"}), detector, batch=8)
    assert detector.batches == [2, 2, 1]


def test_all_pictures_damaged():
    found = detect(make(ArrayImages([None, None]), {1: "red"}), Corner({0: "red"}))
    assert not found.predicted.any()
    assert len(found.predictions) == 0


def test_a_set_without_pictures():
    frames = FrameSet.build("set", [(40, 30)])
    with pytest.raises(SimjudgeError, match="set: has no pictures"):
        detect(frames, Corner({0: "red"}))


@pytest.mark.parametrize(
    ("model", "names", "labelled", "rename", "ids", "notes"),
    [
        ({0: "red", 1: "green"}, {1: "red", 2: "green"}, [1], {}, {0: 1, 1: 2}, 0),  # by name
        ({0: "Red", 1: "GREEN cone"}, {1: "red", 2: "green_cone"}, [1], {}, {0: 1, 1: 2}, 0),  # however written
        ({0: "red"}, {1: "red", 2: "green"}, [1], {}, {0: 1}, 1),  # the model does not know green
        ({0: "red", 5: "car"}, {1: "red"}, [1], {}, {0: 1}, 1),  # cars are dropped
        ({0: "blue"}, {3: "blue_cone"}, [3], {"blue": "blue_cone"}, {0: 3}, 0),  # renamed
        ({0: "Blue", 1: "yellow-cone"}, {3: "blue_cone", 4: "YELLOW"}, [3], {}, {0: 3, 1: 4}, 1),  # obvious, and said
        ({0: "blue", 1: "blue_cone"}, {3: "blue_cone"}, [3], {}, {1: 3}, 1),  # the exact one wins
        ({0: "red", 1: "blue"}, {3: "blue_cone", 4: "BLUE cone", 5: "red"}, [3], {}, {0: 5}, 2),  # two could be meant
        ({0: "blue", 1: "red"}, {3: "cone"}, [3], {"blue": "cone", "red": "cone"}, {0: 3, 1: 3}, 0),  # several are one
        ({}, {1: "red"}, [1], {"7": "red"}, {7: 1}, 1),  # the model has no names: by number
        ({}, {}, [1], {}, None, 1),  # nobody has names
    ],
)
def test_classes_are_matched(model, names, labelled, rename, ids, notes):
    found = map_classes("net", model, make(ArrayImages([picture(1)]), names, labelled), rename)
    assert found.ids == ids
    assert len(found.notes) == notes
    assert found.names == names


@pytest.mark.parametrize(
    ("model", "labelled", "rename", "ids", "names"),
    [
        ({0: "red", 1: "blue"}, [4, 6], {"red": "4", "blue": "6"}, {0: 4, 1: 6}, {4: "red", 6: "blue"}),
        ({0: "red", 1: "blue"}, [4], {"red": "4", "blue": "4"}, {0: 4, 1: 4}, {4: "red/blue"}),
        ({}, [4], {"0": "4"}, {0: 4}, {4: "4"}),
        ({0: "red", 1: "blue"}, [], {}, {0: 0, 1: 1}, {0: "red", 1: "blue"}),  # bare pictures
        ({0: "red", 1: "blue"}, [], {"red": "cone", "blue": "Cone"}, {0: 0, 1: 0}, {0: "cone"}),
        ({}, [], {}, None, {}),
    ],
)
def test_a_set_without_names_gets_those_of_the_detector(model, labelled, rename, ids, names):
    found = map_classes("net", model, make(ArrayImages([picture(1)]), {}, labelled), rename)
    assert found.ids == ids
    assert found.names == names


@pytest.mark.parametrize(
    ("model", "names", "rename", "message"),
    [
        ({0: "car"}, {1: "red"}, {}, "no class in common .red in the set, car in the model."),
        ({0: "car"}, {}, {}, r"set has no class names .numbers 1., and net has .car.: .*--rename car=1, for example"),
        ({0: "car", 1: "bus"}, {}, {}, r"set has no class names .* and net has .car, bus.: .*--rename bus=1 where"),
        ({}, {1: "red", 2: "a b"}, {}, r"net has no class names .numbers 1, 2., .*--rename 1=red,2=a b where"),
        ({}, {1: "red"}, {"car": "red"}, "--rename car=... must begin with a number"),
        ({0: "car"}, {1: "red"}, {"bus": "red"}, "net has no class 'bus': car"),
    ],
)
def test_nothing_in_common(model, names, rename, message):
    with pytest.raises(SimjudgeError, match=message):
        map_classes("net", model, make(ArrayImages([picture(1)]), names), rename)


def test_what_the_set_does_not_have_is_dropped_and_said():
    said = []
    found = detect(make(ArrayImages([picture(9)]), {1: "red"}), Corner({0: "red", 1: "car"}), log=said.append)
    assert found.predictions.class_id.tolist() == [1]
    assert said == ["set does not have car: what corner finds of it is dropped"]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("absent.onnx", "neither a file nor the name of a detector .*cones_red_green"),
        ("model.engine", "no detector: give a .onnx, a .pt, or a .yaml"),
        ("folder", "neither a file nor the name of a detector"),
    ],
)
def test_what_is_no_detector(tmp_path, name, message):
    (tmp_path / "folder").mkdir()
    (tmp_path / "model.engine").write_bytes(b"x")
    with pytest.raises(SimjudgeError, match=message):
        load_detector(tmp_path / name)


class Fixed(Corner):
    """Answers with what it was given, whatever it is shown."""

    def __init__(self, *answers):
        super().__init__({0: "red"})
        self.answers = answers

    def __call__(self, images):
        return [Detections.build([c], [box], [score], lost) for c, box, score, lost in self.answers[: len(images)]]


BOX = [0, 0, 5, 5]


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        ((0, BOX, float("nan"), 0), "scores are NaN"),
        ((0, [0, 0, float("inf"), 5], 0.5, 0), "boxes are NaN or infinite"),
        ((0, BOX, 1.5, 0), "scores from 1.5 to 1.5"),
        ((3, BOX, 0.5, 0), "class 3 found, but the names are those of 0"),
    ],
)
def test_an_answer_that_is_none_names_model_and_image(answer, problem):
    frames = make(ArrayImages([picture(1), picture(2)]), {1: "red"})
    with pytest.raises(SimjudgeError, match=rf"corner on set: frame 000001: {problem}"):
        detect(frames, Fixed((0, BOX, 0.5, 0), answer))


def test_boxes_of_negative_size_are_losses():
    found = detect(make(ArrayImages([picture(1)]), {1: "red"}), Fixed((0, BOX, 0.5, 2)))
    assert dict(found.losses.counts) == {"detections of negative width or height": 2}
    assert "corner on set: frame 000000" in found.losses.lines()[0]
