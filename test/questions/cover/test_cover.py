"""`simjudge cover` end to end in a tiny scene: labels as predicted, more covered than by chance, reasons, bad input."""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path

import numpy as np
import pytest
from render_scenes import SCENE, camera_file, scene_file
from scipy.stats import wasserstein_distance

import simjudge as sj
from simjudge.cli import main
from simjudge.core.errors import SimjudgeError, UsageError, no_progress
from simjudge.core.object_tables import Objects
from simjudge.detectors.assignment import assign
from simjudge.questions.cover.result import (
    CLASS_MISSING,
    NOT_FOUND,
    TOO_MANY,
    TOO_NEAR,
    TOO_SMALL,
    judge_newly_covered,
    similar_pairs,
)

pytest.importorskip("mujoco", reason="MuJoCo (the extra `sim`) is not installed")
pytest.importorskip("mitsuba", reason="Mitsuba (the extra `sim`) is not installed")

QUICK = {"tries": 12, "refinements": 600, "patch": (24, 24), "min_size": 3.0}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with a scene, a camera, and a set of the scene."""
    folder = tmp_path_factory.mktemp("cover")
    scene_file(folder)
    camera_file(folder)
    sj.render(folder / "tiny.yaml", folder / "a", camera=folder / "camera.yaml", n=20, seed=3, scenes=1, min_size=3.0)
    return folder


def a_with(box, class_id=1, names=None):
    """A set of one frame."""
    boxes = np.array(box, float).reshape(-1, 4)
    table = Objects.build(np.zeros(len(boxes)), np.resize(class_id, len(boxes)), boxes)
    return sj.FrameSet.build("a", [[96, 64]], table, class_names=names or {1: "red", 2: "green"})


@pytest.fixture(scope="module")
def covered(place):
    out = place / "out"
    scene, camera = place / "tiny.yaml", place / "camera.yaml"
    return sj.cover(place / "a", out, scene=scene, camera=camera, n=6, scenes=2, **QUICK), out


def test_rendered_labels_are_those_predicted(covered):
    found, out = covered
    assert 1 <= found.count <= 6
    assert found.same_labels == found.count == len(sj.read(out / "pictures"))


def test_o_a_is_that_of_a_comparison_of_the_rendered_set(covered, place):
    found, out = covered
    a, b = sj.read(place / "a"), sj.read(out / "pictures")
    empty = sj.Predictions.empty()
    compared = sj.compare(a.with_predictions(empty), b.with_predictions(empty), patch="24x24", draws=0)
    overall = compared.numbers.overall
    assert overall.overlap_a == pytest.approx(found.curve.overlap[-1])
    assert overall.compared / overall.n_a == pytest.approx(found.curve.resembled[-1])
    assert found.curve.overlap[0] == 0
    assert np.all(np.diff(found.curve.overlap) >= 0)


def test_without_a_patch_it_suits_a_and_the_camera_and_is_said(place, tmp_path):
    said = []
    a = a_with([10, 10, 28, 24])
    options = {"scene": place / "tiny.yaml", "camera": place / "camera.yaml", "n": 1, "tries": 2, "refinements": 0}
    found = sj.cover(a, tmp_path / "out", log=said.append, **options)
    # 120/1280 of either picture's side is less than 1.5 times the object, 18 px: 27, to the next multiple of 4.
    assert (found.parameters["patch"], found.parameters["patch_chosen"]) == ([28, 28], True)
    assert "patch 28x28 px, by the size of images and objects; --patch sets another" in said


def test_files_of_the_folder(covered):
    found, out = covered
    told = json.loads((out / "cover.json").read_text())
    assert told["overlap_after"] == found.curve.overlap[-1]
    assert told["pictures"] == found.count
    with (out / "curve.csv").open() as file:
        assert [int(row["pictures"]) for row in csv.DictReader(file)] == list(range(7))
    assert "What stays uncovered" in (out / "cover.html").read_text()
    assert {f"coverage.{kind}" for kind in ("svg", "pdf", "png", "csv")} <= {each.name for each in out.iterdir()}
    assert sum(told["uncovered"].values()) == round((1 - found.curve.resembled[-1]) * found.contexts)


def test_the_poses_render_the_same_labels_again(covered, place, tmp_path):
    found, out = covered
    with (out / "poses.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert sorted(int(row["rank"]) for row in rows) == list(range(1, found.count + 1))
    sj.render(
        place / "tiny.yaml",
        tmp_path / "again",
        camera=place / "camera.yaml",
        poses=out / "poses.csv",
        mount="optical",
        min_size=3.0,
    )
    again, pictures = sj.read(tmp_path / "again"), sj.read(out / "pictures")
    assert np.array_equal(again.objects.frame, pictures.objects.frame)
    assert np.array_equal(again.objects.box, pictures.objects.box)
    with pytest.raises(UsageError, match="column scene_seed"):
        sj.render(
            place / "tiny.yaml",
            tmp_path / "other",
            camera=place / "camera.yaml",
            poses=out / "poses.csv",
            mount="optical",
            scenes=2,
        )


def test_each_pose_sees_the_placement_of_its_seed(covered, place, tmp_path):
    rows = (covered[1] / "poses.csv").read_text().splitlines()[1:3]
    head, poses = "stamp,x,y,z,qx,qy,qz,qw", [",".join(row.split(",")[1:8]) for row in rows]
    given = tmp_path / "given.csv"
    turns = [(seed, pose) for pose in poses for seed in (3, 5)]
    given.write_text(
        "\n".join([f"{head},scene_seed", *(f"{n},{pose},{seed}" for n, (seed, pose) in enumerate(turns, 1))])
    )
    alone = tmp_path / "alone.csv"
    alone.write_text("\n".join([head, *(f"{10 * n},{pose}" for n, pose in enumerate(poses, 1))]))
    how = {"camera": place / "camera.yaml", "mount": "optical", "min_size": 3.0}
    sj.render(place / "tiny.yaml", tmp_path / "set", poses=given, **how)
    together = sj.read(tmp_path / "set")
    boxes = [together.objects.box[together.objects.frame == frame].tolist() for frame in range(4)]
    for turn, seed in enumerate((3, 5)):
        sj.render(place / "tiny.yaml", tmp_path / str(seed), poses=alone, seed=seed, **how)
        single = sj.read(tmp_path / str(seed))
        for frame in range(2):
            assert boxes[2 * frame + turn] == single.objects.box[single.objects.frame == frame].tolist()
    assert boxes[0] != boxes[1]


def test_what_b_covers_is_not_covered_again(covered, place, tmp_path):
    found, out = covered
    scene, camera = place / "tiny.yaml", place / "camera.yaml"
    more = sj.cover(place / "a", tmp_path / "more", scene=scene, camera=camera, n=2, b=out / "pictures", **QUICK)
    assert more.curve.overlap[0] == pytest.approx(found.curve.overlap[-1])
    assert more.wanted == round((1 - found.curve.resembled[-1]) * found.contexts)


def test_w1_of_newly_covered_contexts_is_that_of_a_loop(covered, place):
    a, new = sj.detect(place / "a", "cones_red_green"), sj.read(covered[1] / "pictures")
    settings = sj.CoverSettings(**QUICK)
    method = settings.method
    rows = np.unique(similar_pairs(a, new, method).row)[::2]
    found = judge_newly_covered(a, new, rows, Path("cones_red_green"), settings, no_progress)
    mine = assign(a, method.min_score).performance
    other = assign(sj.detect(new, "cones_red_green"), method.min_score).performance
    own, across = similar_pairs(a, a, method, rows), similar_pairs(a, new, method, rows)
    own_to_rows = np.isin(own.column, rows)
    expected = [
        wasserstein_distance(mine[own.column[(own.row == row) & own_to_rows]], other[across.column[across.row == row]])
        for row in rows
    ]
    assert len(rows) > 3
    assert found.contexts == len(rows)
    assert found.mean_w1 == pytest.approx(np.mean(expected))
    assert found.certainty.noise is not None


@pytest.mark.parametrize(
    ("box", "class_id", "reason"),
    [
        ([40, 30, 42, 32], 1, TOO_SMALL),
        ([0, -4000, 96, 4000], 1, TOO_NEAR),
        ([[40 + 2 * i, 30, 41 + 2 * i, 42] for i in range(9)], 1, TOO_MANY),
        ([[40, 30, 80, 34]], 1, NOT_FOUND),
    ],
)
def test_why_a_context_cannot_be_had(place, tmp_path, box, class_id, reason):
    a = a_with(box, class_id, {1: "red", 2: "green", 7: "post"})
    scene, camera = place / "tiny.yaml", place / "camera.yaml"
    found = sj.cover(a, tmp_path / "out", scene=scene, camera=camera, n=1, **QUICK | {"tries": 1, "refinements": 50})
    assert {each.reason for each in found.uncovered} == {reason}
    assert found.count == 0


def test_contexts_of_a_class_that_the_scene_lacks_are_said(place, tmp_path):
    a = a_with([[40, 30, 50, 42], [40, 30, 42, 32]], [7, 1], {1: "red", 2: "green", 7: "post"})
    scene, camera = place / "tiny.yaml", place / "camera.yaml"
    found = sj.cover(a, tmp_path / "out", scene=scene, camera=camera, n=1, **QUICK | {"tries": 1, "refinements": 50})
    assert [each.reason for each in found.uncovered] == 2 * [CLASS_MISSING]  # the red one's patch shows the post too


def test_bad_input_is_refused_before_the_work(place, tmp_path):
    given = {"scene": place / "tiny.yaml", "camera": place / "camera.yaml"}
    with pytest.raises(SimjudgeError, match="labelled object"):
        sj.cover(a_with(np.zeros((0, 4))), tmp_path / "x", **given)
    with pytest.raises(SimjudgeError, match=r"nowhere\.onnx"):
        sj.cover(place / "a", tmp_path / "x", model="nowhere.onnx", **given)
    with pytest.raises(UsageError, match="-n 0"):
        sj.cover(place / "a", tmp_path / "x", n=0, **given)
    cone = {"kind": "red_cone", "at": [0.6, 0.6]}
    path = {"waypoints": [[-1, -1], [1, -1]], "speed": 1.0}
    for change, words in (
        ({"area": None, "placements": None, "things": SCENE["things"] | {"cone": cone}}, "area"),
        ({"placements": None}, "nothing that is labelled"),
        ({"things": SCENE["things"] | {"cone": {"kind": "red_cone", "path": path}}}, "move along paths"),
    ):
        with pytest.raises(UsageError, match=words):
            sj.cover(place / "a", tmp_path / "x", **given | {"scene": scene_file(tmp_path, **change)})
    with pytest.raises(SimjudgeError, match="no class in common"):
        sj.cover(place / "a", tmp_path / "x", b=a_with([1, 1, 9, 9], 7, {7: "post"}), **given)
    with pytest.raises(SimjudgeError, match=r"no class in common: post against (red, green|green, red)"):
        sj.cover(a_with([1, 1, 9, 9], 7, {7: "post"}), tmp_path / "x", **given)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "note").touch()
    with pytest.raises(SimjudgeError, match="'note'"):
        sj.cover(place / "a", tmp_path / "full", **given)
    assert not (tmp_path / "x").exists()


def ended():
    with pytest.raises(SystemExit) as caught:
        main()
    return caught.value.code


def test_from_the_command_line(place, tmp_path, capsys, monkeypatch):
    out = tmp_path / "out"
    line = [
        "cover",
        place / "a",
        "--scene",
        place / "tiny.yaml",
        "--camera",
        place / "camera.yaml",
        "--out",
        out,
        "-n",
        2,
        "--tries",
        5,
        "--refinements",
        200,
        "--patch",
        "24x24",
        "--min-size",
        3,
        "--model",
        "cones_red_green",
    ]
    monkeypatch.setattr(sys, "argv", ["simjudge", *map(str, line)])
    assert ended() == 0
    told = capsys.readouterr().err
    assert "O_A rises from 0.000 to" in told
    assert "2 new pictures at random" in told
    assert "newly covered contexts cannot be told: too few" in told
    assert json.loads((out / "cover.json").read_text())["newly_covered"]["contexts"] > 0
    assert ended() == 1
    assert "another --out" in capsys.readouterr().err
