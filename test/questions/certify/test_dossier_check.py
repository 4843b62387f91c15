"""The script of a dossier finds what the method finds: patches, adjusted performance, time, gaps and quantiles."""

import csv
import json
import math
import shutil
from dataclasses import replace

import numpy as np
import pytest
from forged import edit_json
from scipy import stats
from test_dossier import pictures

from simjudge.core.frames import FrameSet
from simjudge.core.object_tables import Objects, Predictions
from simjudge.data.formats.plain_json import write_plain_json
from simjudge.judging.compare_settings import CompareSettings
from simjudge.judging.comparison import compare_sets
from simjudge.method.gap import estimate_gap, gap_behind
from simjudge.method.patch_size import default_patch
from simjudge.questions.certify import check_contexts
from simjudge.questions.certify.check_statistics import Together, student
from simjudge.questions.certify.check_statistics import estimate_gap as gap_again
from simjudge.questions.certify.check_statistics import gap_behind as gap_behind_again
from simjudge.questions.certify.dossier import certify
from simjudge.questions.certify.verify import check_dossier, check_result


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made")
    for name, seed in (("real", 0), ("sim", 1)):
        write_plain_json(pictures(name, seed, frames=16), folder / f"{name}.json")
    compare_sets(folder / "real.json", folder / "sim.json", CompareSettings(draws=60, patch=120)).save(folder / "first")
    certify([folder / "first"], folder / "dossier")
    return folder


@pytest.fixture
def dossier(made, tmp_path):
    shutil.copytree(made / "dossier", tmp_path / "dossier")
    return tmp_path / "dossier"


def test_a_patch_that_the_sets_chose_is_chosen_again(made, tmp_path):
    settings = CompareSettings(draws=60)
    compare_sets(made / "real.json", made / "sim.json", settings).save(tmp_path / "chosen")
    certify([tmp_path / "chosen"], tmp_path / "dossier")
    lines, wrong = check_dossier(tmp_path / "dossier")
    assert not wrong
    # Objects are 30 px wide: twice that is over the 240 px of the pictures times 120 / 1280, 1.5 times is the least.
    said = json.loads((tmp_path / "dossier/results/chosen/result.json").read_text())["parameters"]
    assert (said["patch"], said["patch_chosen"]) == ([48, 48], True)
    assert not any("patch" in line for line in lines if "TAKEN" not in line)


def test_a_patch_that_the_sets_do_not_choose_is_said_where_it_is_called_chosen(dossier):
    edit_json(dossier / "results/first/result.json", ("parameters", "patch_chosen"), value=True)
    lines, wrong, _ = check_result(dossier / "results/first")
    assert wrong == []
    assert lines[1] == "NOT CHECKED: that the sets chose the patch 120x120: these contexts alone give 48x48"


@pytest.mark.parametrize("seed", range(20))
def test_the_scripts_rule_of_the_patch_is_that_of_comparisons(seed):
    random = np.random.default_rng(seed)
    sizes, boxes, frames = [], [], []
    for _ in range(2):
        sizes.append(random.integers(200, 4000, (random.integers(1, 6), 2)))
        frames.append(np.repeat(np.arange(len(sizes[-1])), random.integers(1, 9, len(sizes[-1]))))
        corner = random.uniform(0, 100, (len(frames[-1]), 2))
        boxes.append(np.hstack([corner, corner + random.uniform(1, 10 ** random.uniform(0.5, 3), corner.shape)]))
    table = {
        "of_a": np.repeat([True, False], [len(each) for each in frames]),
        "frame": np.concatenate(frames),
        "size": np.concatenate([size[frame] for size, frame in zip(sizes, frames, strict=True)]),
        "box": np.concatenate(boxes),
    }
    assert check_contexts.chosen_patch(table) == default_patch(sizes, boxes)[0]


def test_masks_whose_runs_do_not_fill_them_are_refused(dossier):
    first = dossier / "results/first"
    for side, words in [
        (100_000, "10,000,000,000 pixels are more than"),
        (10, "the runs of row 0 do not fill 10 x 10 pixels"),
    ]:
        (first / "masks.csv").write_text(f"row,left,top,width,height,runs\n0,0,0,{side},{side},0 5\n")
        assert words in check_result(first)[1][0]


def video(name, seed, frames=240):
    """Things that stand still in a video whose blur comes and goes: things and blocks of time both count."""
    random = np.random.default_rng(seed)
    blur, thing = np.repeat(random.normal(0, 4, frames // 8), 8), random.normal(0, 4, 12)
    frame, place = np.repeat(np.arange(frames), 4), np.tile(np.arange(4), frames)
    number = (frame // 40 * 2 + place) % 12
    shift = np.maximum(0, 6 + blur[frame] + thing[number] + random.normal(0, 0.5, len(frame)))
    box = np.stack([30 + 50 * place, np.full(len(frame), 60.5), 60 + 50 * place, np.full(len(frame), 84.5)], axis=1)
    kind, found = np.ones(len(frame), int), box + shift[:, None] * [1, 0, 1, 0]
    return FrameSet.build(
        name,
        [[240, 160]] * frames,
        Objects.build(frame, kind, box, instance=number),
        Predictions.build(frame, kind, found, np.full(len(frame), 0.9)),
        class_names={1: "red"},
        stamp=np.arange(frames) * 100_000_000,
    )


def unlike(name, seed, frames=150):
    """One object a frame, A's mostly small and B's mostly large; small ones are found less well, some not at all."""
    random = np.random.default_rng(seed)
    size = 20 + 40 * random.beta(2 + seed, 3 - seed, frames)
    box = np.stack([120 - size / 2, 80 - size / 2, 120 + size / 2, 80 + size / 2], axis=1)
    prediction = box.copy()
    prediction[:, 2] = box[:, 0] + size * np.clip(0.15 * np.log(size) + random.normal(0.3, 0.05, frames), 0.05, 1)
    frame, found = np.arange(frames), random.random(frames) < 0.85
    kind, score = np.ones(frames, int), np.full(frames, 0.9)
    predictions = Predictions.build(frame[found], kind[found], prediction[found], score[found])
    return FrameSet.build(
        name,
        [[240, 160]] * frames,
        Objects.build(frame, kind, box),
        predictions,
        class_names={1: "red"},
        independent=True,
    )


def crowded(name, seed, frames=150):
    """A fifth of A's frames and four fifths of B's show two things of which each covers a third of the other."""
    random = np.random.default_rng(seed)
    frame = np.repeat(np.arange(frames), 1 + (random.random(frames) < 0.2 + 0.6 * seed))
    corner = np.stack([np.full(len(frame), 100.0), 60.0 + 20 * (np.diff(frame, prepend=-1) == 0)], axis=1)
    box, kind = np.hstack([corner, corner + 30]), np.ones(len(frame), int)
    cut = random.uniform(3, 9, len(frame)) + 3 * (np.bincount(frame) == 2)[frame]
    return FrameSet.build(
        name,
        [[240, 160]] * frames,
        Objects.build(frame, kind, box),
        Predictions.build(frame, kind, box - cut[:, None] * [0, 0, 1, 0], np.full(len(frame), 0.9)),
        class_names={1: "red"},
        independent=True,
    )


def short_video(name, seed, frames=24):
    """Frames whose light may go together for longer than so short a recording tells."""
    made = unlike(name, seed, frames)
    seen = made.predictions
    light = np.where(np.arange(frames) % 4 < 2, 8, -8)[seen.frame]
    moved = replace(seen, box=seen.box + light[:, None] * [0, 0, 1, 0])
    return replace(made, predictions=moved, stamp=np.arange(frames) * 100_000_000, independent=False)


@pytest.mark.parametrize(
    ("make", "given", "column"),
    [
        (video, {"unit": "instance"}, "block"),
        (unlike, {"theta": 0.6}, "expected_performance"),
        (crowded, {"theta": 0.5}, "expected_performance"),
        (short_video, {"theta": 0.5}, "expected_performance"),
    ],
)
def test_time_beside_things_and_adjusted_performance_are_computed_again(tmp_path, make, given, column):
    for name, seed in (("real", 0), ("sim", 1)):
        write_plain_json(make(name, seed), tmp_path / f"{name}.json")
    settings = CompareSettings(draws=60, **given)
    compare_sets(tmp_path / "real.json", tmp_path / "sim.json", settings).save(tmp_path / "r")
    certify([tmp_path / "r"], tmp_path / "dossier")
    assert check_dossier(tmp_path / "dossier")[1] == []
    with (tmp_path / "dossier/results/r/contexts.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert all(row[column] for row in rows)
    said = json.loads((tmp_path / "dossier/results/r/result.json").read_text())
    assert (said["overall"]["adjusted_w1"] is None) == (make is video)
    assert any(said["inputs"][side]["doubted"] for side in "ab") == (make is short_video)
    if make is short_video:
        file = tmp_path / "dossier/results/r/result.json"
        file.write_text(file.read_text().replace('"doubted": true', '"doubted": false'))
        assert any("noise_q95 is" in line for line in check_result(file.parent)[1])


@pytest.mark.parametrize("freedom", [5, 6, 23, 24, 999, 1000, 20_001])
def test_quantiles_of_t_are_those_of_scipy(freedom):
    assert student(freedom) == pytest.approx(stats.t.ppf(0.975, freedom), rel=2e-4)


def test_the_gap_is_that_of_the_method():
    random = np.random.default_rng(0)
    noise = random.uniform(0.02, 0.1, 40)
    nothing = dict.fromkeys(("units", "chance", "around", "around_square", "extreme"), np.zeros(0))
    boot = Together(
        **nothing,
        noise=noise,
        weight=np.full(40, 1 / 40),
        square=noise**2 * math.pi / 2,
        adjusted=noise + random.uniform(0, 0.2, 40),
        told=1.0,
        mean=0.0,
    )
    right = estimate_gap(boot.adjusted, noise, boot.square, boot.weight)
    assert gap_again(boot) == pytest.approx((right.mean, right.share, right.size), rel=1e-12)
    assert gap_behind_again(0.15, boot) == pytest.approx(gap_behind(0.15, noise, boot.weight), rel=1e-12)


@pytest.mark.parametrize("strict", [False, True])
def test_alike_contexts_are_those_of_a_loop_over_pairs_of_small_numbers(strict):
    """Patches take a byte a pixel; blocks of them are multiplied, and 600 are three blocks."""
    patches = (np.random.default_rng(0).random((600, 30)) < 0.4).astype(np.uint8)
    patches[:3] = 0
    [found] = check_contexts.similar_contexts(patches, [0.5], strict=strict)
    for number in range(0, 600, 37):
        both = (patches & patches[number]).sum(1)
        share = both / np.maximum((patches | patches[number]).sum(1), 1)
        assert found[number].tolist() == np.flatnonzero(share > 0.5 if strict else share >= 0.5).tolist()
