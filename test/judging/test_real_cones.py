"""The study real_cones: what it deals, trains and judges, and a tiny one from two folders to its page."""

import json

import numpy as np
import pytest

from simjudge.core.errors import UsageError
from simjudge.core.frames import FrameSet
from simjudge.core.images import ArrayImages
from simjudge.core.object_tables import Objects
from simjudge.data.sets import read_set, write_set
from simjudge.questions.study.file import read_study
from simjudge.questions.study.run import ONE_JOB
from simjudge.questions.study.study import PAGE, VERBS, run_study

STUDY = "real_cones"
SETS = {"R1": "real", "R2": "real", "S1": "sim", "S2": "sim"}


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Two data sets of 12 numbered pictures with bright triangles, the one's ground grey, the other's brown."""
    made = {}
    for seed, (name, ground) in enumerate({"real": (110, 110, 110), "sim": (120, 90, 60)}.items()):
        rng = np.random.default_rng(seed)
        pictures, frame, class_id, box = [], [], [], []
        for number in range(12):
            picture = np.full((64, 128, 3), ground, np.uint8) + rng.integers(0, 20, (64, 128, 3), np.uint8)
            for kind, colour in enumerate(((20, 60, 200), (230, 190, 20))):
                x, y = int(rng.integers(4, 96)), int(rng.integers(4, 36))
                for row in range(20):
                    picture[y + row, x + 10 - row // 2 : x + 11 + row // 2] = colour
                frame.append(number)
                class_id.append(kind)
                box.append([x, y, x + 21, y + 20])
            pictures.append(picture)
        frames = FrameSet.build(
            name,
            [(128, 64)] * 12,
            Objects.build(frame, class_id, box),
            images=ArrayImages(pictures),
            frame_name=[f"{number:04d}" for number in range(12)],
            class_names={0: "blue cone", 1: "yellow cone"},
        )
        made[name] = tmp_path_factory.mktemp("cones") / name
        write_set(frames, made[name], "yolo")
    return made


@pytest.mark.parametrize("size", ["tiny", "small", "full"])
def test_both_nets_are_trained_alike_and_judged_on_what_neither_has_seen(folders, size):
    study = read_study(STUDY, VERBS, size, folders)
    steps = {step.name: step for step in study.steps}
    real, sim = (dict(steps[f"net-{domain}"].arguments) for domain in ("real", "sim"))
    trained = {domain: given.pop("data") for domain, given in (("real", real), ("sim", sim))}
    assert real == sim
    assert [(each.step, each.file) for each in trained.values()] == [("real", "1"), ("sim", "1")]
    for name, domain in SETS.items():
        for net in ("real", "sim"):
            given = steps[f"seen-{name}-Net_{net}"].arguments
            assert given["detector"].step == f"net-{net}"
            assert (given["source"].step, given["source"].file) == (domain, name[1].translate({49: "2", 50: "3"}))
    judged = steps["judged"].arguments
    assert judged["domains"] == SETS
    assert {name: list(nets) for name, nets in judged["predictions"].items()} == {
        name: ["Net_real", "Net_sim"] for name in SETS
    }
    assert len(steps) == 2 + 2 + 8 + 1 + 1


def test_an_input_that_is_left_out_is_asked_for(folders):
    with pytest.raises(UsageError, match="sim"):
        read_study(STUDY, VERBS, "small", {"real": folders["real"]})


@pytest.mark.long
def test_a_tiny_one_runs_to_its_page(folders, tmp_path):
    pytest.importorskip("ultralytics")
    result = run_study(STUDY, tmp_path / "out", size="tiny", inputs=folders, options=ONE_JOB)
    assert {step.name for step in result.steps} >= {"net-real", "net-sim", "judged"}
    parts = [read_set(tmp_path / "out" / domain / number) for domain in folders for number in "123"]
    assert [list(part.frame_name) for part in parts[:3]] == [
        [f"{number:04d}" for number in range(first, first + 4)] for first in (0, 4, 8)
    ]
    content = json.loads((tmp_path / "out/judged/sets.json").read_text())
    pairs = {(each["a"], each["b"], each["net"]) for each in content["comparisons"]}
    assert len(pairs) == 12 * 2
    kinds = {each["a"] + each["b"]: each["kind"] for each in content["comparisons"]}
    assert (kinds["R1R2"], kinds["S2S1"], kinds["R1S2"]) == ("real-real", "sim-sim", "real-sim")
    assert next(each.name for each in result.findings["findings"]) == "splits: Net_sim, across domains"
    assert (tmp_path / "out" / PAGE).is_file()
