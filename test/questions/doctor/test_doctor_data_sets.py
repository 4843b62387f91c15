"""Data sets, and recordings of others: what they can be used for, and what is named for those that cannot."""

import json
import shlex

import numpy as np
import pytest
from bag_samples import SECOND
from public_data import PUBLIC_DATA, missing
from typer.testing import CliRunner

import simjudge as sj
from simjudge.commands.app import app
from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.core.images import ArrayImages, encode_png
from simjudge.core.object_tables import Objects
from simjudge.questions.doctor import diagnosis as names
from simjudge.questions.doctor.diagnosis import NO, WITH_LOSS, YES
from simjudge.questions.doctor.run import diagnose

SIZE = (64, 48)
SHARED = PUBLIC_DATA


def test_topics_of_a_data_set_cannot_be_chosen(tmp_path):
    with pytest.raises(SimjudgeError):
        diagnose(tmp_path / "nothing")
    (tmp_path / "set.json").write_text("[]")
    with pytest.raises(UsageError, match="is no recording"):
        diagnose(tmp_path / "set.json", image_topic="/a")


def test_kitti_rows_beside_scans_are_named_and_nothing_is_converted_that_cannot_be(tmp_path):
    """The layout of FSKITTI: scans that only `check lidar` reads, and boxes in rows that tell nothing of a picture."""
    for name in ("points", "labels"):
        (tmp_path / name).mkdir()
    np.zeros((40, 5), np.float32).tofile(tmp_path / "points/0.bin")
    (tmp_path / "labels/0.txt").write_text("blue_cone 0 0 0 0 0 0 0 0.36 0.25 0.25 14.2 11.6 -0.97 0\n")
    (tmp_path / "labels/1.txt").write_text("0 0.5 0.5 0.1 0.1\n")
    assert not any("formula_drive" in line for line in diagnose(tmp_path).remedies)
    (tmp_path / "metadata.json").write_text("{}")
    found = diagnose(tmp_path)
    (row,) = (each for each in found.findings if each.check == names.BOXES)
    assert (row.verdict, row.note[:8]) == (names.MISSING, "1 files ")
    assert row.mend == f"python scripts/formula_drive.py {tmp_path} made"
    assert not any(line.startswith("simjudge data convert") for line in found.remedies)


def test_why_a_data_set_has_no_pictures_is_said_once(tmp_path):
    for name in ("velodyne", "label_02"):
        (tmp_path / name).mkdir()
    np.ones((40, 4), np.float32).tofile(tmp_path / "velodyne/000000.bin")
    said = CliRunner().invoke(app, ["doctor", str(tmp_path)]).output
    assert said.count("holds no images of camera") <= 1


PUBLIC = {
    "real_bags/nav2_turtlebot.mcap": {"replay": WITH_LOSS, "compare": NO, "drive": NO},
    "real_rc_cones": {"compare": WITH_LOSS, "replay": NO, "lidar": NO},
    "real_signals": {"compare": WITH_LOSS, "replay": NO},
    "real_formula_drive/estoril_autox2": {"compare": NO, "lidar": NO},
    "real_formula_drive/alverca_april2": {"compare": NO, "lidar": NO, "replay": NO},
    "real_lidar/kitti_tracking_0000": {"compare": NO, "lidar": WITH_LOSS},
    "real_lidar/argoverse2_sweep": {"compare": NO, "lidar": YES},
}


@pytest.mark.slow
@pytest.mark.parametrize("path", PUBLIC)
def test_public_data(path):
    if not (SHARED / path).exists():
        pytest.skip(missing(path))
    found = diagnose(SHARED / path)
    assert {name: found.question(name).answer for name in PUBLIC[path]} == PUBLIC[path]


def test_recording_of_a_turtlebot():
    path = SHARED / "real_bags" / "nav2_turtlebot.mcap"
    if not path.exists():
        pytest.skip(missing("real_bags"))
    found = diagnose(path)
    held = {each.check: each for each in found.findings}
    assert found.failed == [f"{names.RATE} (/odom)"]
    assert "1.76 s" in held[names.RATE].figure
    assert held[names.POSES].figure.startswith("2639 of base_link in odom")


@pytest.mark.parametrize("stamped", [True, False])
def test_objects_are_followed_over_time_only_where_pictures_have_times(tmp_path, stamped):
    """The line that is printed is one that works: pictures in a folder have no time of recording to stand in."""
    stamps = [number * SECOND // 10 for number in range(1, 9)] if stamped else None
    objects = Objects.build(range(8), [0] * 8, [[8, 8, 20, 20]] * 8, [1] * 8)
    pictures = ArrayImages([np.random.default_rng(n).integers(0, 256, (48, 64, 3), np.uint8) for n in range(8)])
    made = sj.FrameSet.build("set", [SIZE] * 8, objects, stamp=stamps, class_names={0: "cone"}, images=pictures)
    for name in ("real", "virtual"):
        sj.write(made, tmp_path / name, "yolo")
    found = diagnose(tmp_path / "real")
    answer = next(each for each in found.answers if each.question.name == "objects")
    assert answer.answer == (WITH_LOSS if stamped else NO)
    line = found.command(answer).replace("VIRTUAL", shlex.quote(str(tmp_path / "virtual")))
    words = [word.replace("result", str(tmp_path / "result")) for word in shlex.split(line)[1:]]
    code = CliRunner().invoke(app, words).exit_code
    assert code in ((0, 3) if stamped else (1,))


@pytest.mark.parametrize("corners", [True, False])
def test_corners_in_place_of_sizes_are_suspected(tmp_path, corners):
    """Many tools write x0 y0 x1 y1 into COCO's bbox, which is x y width height."""
    boxes = [(5 + 3 * i, 6 + 2 * i, 14, 12) for i in range(12)]
    rows = [[x, y, x + width, y + height] if corners else [x, y, width, height] for x, y, width, height in boxes]
    content = {
        "images": [{"id": i, "file_name": f"{i}.png", "width": SIZE[0], "height": SIZE[1]} for i in range(12)],
        "categories": [{"id": 1, "name": "cone"}],
        "annotations": [{"id": i, "image_id": i, "category_id": 1, "bbox": row} for i, row in enumerate(rows)],
    }
    (tmp_path / "set").mkdir()
    for i in range(12):
        (tmp_path / f"set/{i}.png").write_bytes(encode_png(np.zeros((SIZE[1], SIZE[0], 3), np.uint8)))
    (tmp_path / "set/annotations.json").write_text(json.dumps(content))
    (found,) = (each for each in diagnose(tmp_path / "set").findings if each.check == names.LABELS_FIT)
    beyond = sum(x0 + x1 > SIZE[0] + 1 or y0 + y1 > SIZE[1] + 1 for x0, y0, x1, y1 in rows) if corners else 0
    assert found.figure == "0 left out" + (f", {beyond} beyond the pictures" if corners else "")
    assert found.verdict == (names.FAIL if corners else names.PASS)
    assert ("does the file hold x0 y0 x1 y1" in found.note) == corners
