"""Files with bytes flipped, cut off or put in: a set, perhaps with losses, or an error of one line."""

from contextlib import suppress

import numpy as np
import pytest

from simjudge.core.errors import SimjudgeError
from simjudge.core.frames import FrameSet
from simjudge.core.object_tables import Masks, Objects, Predictions
from simjudge.data.sets import read_predictions, read_set, sniff_format, write_set

N = 60
CASES = [
    ("yolo", "data.yaml"),
    ("yolo", "labels/b.txt"),
    ("yolo", "simjudge.json"),
    ("coco", "annotations.json"),
    ("coco", "results.json"),
    ("cvat", "annotations.xml"),
    ("cvat", "predictions.xml"),
    ("cpd", "simjudge.json"),
    ("x.json", ""),
]


@pytest.fixture
def frames():
    image = np.zeros((30, 40), bool)
    image[4:9, 5:12] = True
    masks = Masks.from_images([None, image, None])
    objects = Objects.build([0, 1, 1], [1, 2, 1], [[1, 2, 5, 6], [5, 4, 12, 9], [3.5, 2, 10, 9]], [3, 4, 5], masks)
    found = Predictions.build([1], [1], [[1, 2, 8, 9]], [0.25])
    return FrameSet.build(
        "x", [(40, 30)] * 2, objects, found, frame_name=["a", "b"], stamp=[5, 9], class_names={1: "red", 2: "green"}
    )


def damaged(data, random):
    out = bytearray(data)
    for _ in range(random.integers(1, 4)):
        place = int(random.integers(0, len(out) + 1))
        match random.integers(0, 4):
            case 0:
                del out[place : place + int(random.integers(1, 30))]
            case 1:
                out[place:place] = random.choice([b"nan", b"-", b"1e999", b'"', b"\x00", b"[]", b"<", b"9" * 20])
            case 2 if place < len(out):
                out[place] = int(random.integers(0, 256))
            case _:
                start = int(random.integers(0, len(out) + 1))
                out[place:place] = out[start : start + 20]
    return bytes(out) or b" "


@pytest.mark.parametrize(("name", "file"), CASES)
def test_no_damage_ends_in_a_traceback(frames, tmp_path, name, file):
    path = tmp_path / name
    write_set(frames, path, None if path.suffix else name)
    target = path / file if file else path
    data = target.read_bytes()
    random = np.random.default_rng(len(name + file))
    for _ in range(N):
        target.write_bytes(damaged(data, random))
        for action in (sniff_format, read_set, lambda p: read_predictions(p, frames)):
            with suppress(SimjudgeError):
                found = action(path)
                if isinstance(found, FrameSet):
                    assert np.isfinite(found.objects.box).all()
                    assert (found.size > 0).all()
                    assert (found.objects.frame < len(found)).all()
