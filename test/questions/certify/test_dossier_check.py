"""Edits of a dossier are found, though whoever made them wrote digests, seal, dossier.json and page anew."""

import csv
import json
import math
import re
import shutil
from dataclasses import replace

import numpy as np
import pytest
from scipy import special, stats
from test_dossier import pictures

from simjudge.core.errors import SimjudgeError
from simjudge.core.frames import FrameSet
from simjudge.core.object_tables import Objects, Predictions
from simjudge.data.formats.plain_json import write_plain_json
from simjudge.judging.compare_settings import CompareSettings
from simjudge.judging.comparison import compare_sets
from simjudge.method.gap import estimate_gap, gap_behind
from simjudge.method.patch_size import default_patch
from simjudge.questions.certify import check as dossier_check
from simjudge.questions.certify.check import (
    Together,
    check_dossier,
    holm,
    page_texts,
    seal,
    sha256,
    student,
)
from simjudge.questions.certify.check import (
    estimate_gap as gap_again,
)
from simjudge.questions.certify.check import (
    gap_behind as gap_behind_again,
)
from simjudge.questions.certify.dossier import certify, write_manifest


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made")
    for name, seed in (("real", 0), ("sim", 1)):
        write_plain_json(pictures(name, seed, frames=16), folder / f"{name}.json")
    for name, seed in (("first", 0), ("second", 3)):
        settings = CompareSettings(draws=60, seed=seed, patch=120)  # at which not all overlaps
        compare_sets(folder / "real.json", folder / "sim.json", settings).save(folder / name)
    certify([folder / "first", folder / "second"], folder / "dossier")
    return folder


@pytest.fixture
def dossier(made, tmp_path):
    shutil.copytree(made / "dossier", tmp_path / "dossier")
    return tmp_path / "dossier"


def results(folder):
    files = sorted((folder / "results").glob("*/result.json"))
    return {file.parent.name: json.loads(file.read_text()) for file in files}


def sign_again(folder, *, state=True):
    """Make digests, seal, dossier.json and page agree with what lies in results/, as a careful forger would."""
    facts, said = json.loads((folder / "dossier.json").read_text()), results(folder)
    if state:
        facts["results"] = [each for each in facts["results"] if each["name"] in said]
        known = {name: each["overall"]["p_adjusted"] for name, each in said.items()}
        p_of_all = holm({name: p for name, p in known.items() if p is not None})
        texts = {"seal": seal(folder), "count": str(len(said))}
        for fact in facts["results"]:
            each = said[fact["name"]]
            entries = {"overall": each["overall"], **each["by_class"]}
            fact |= {
                "parameters": each["parameters"],
                "margin": each["parameters"]["margin"],
                "verdicts": {key: entry["verdict"] for key, entry in entries.items()},
                "p_of_all_results": p_of_all.get(fact["name"]),
            }
            texts |= page_texts(fact["name"], each, p_of_all.get(fact["name"]), 0)
        facts |= {"count": len(said), "seal": seal(folder)}
        page = (folder / "index.html").read_text()
        for place, text in texts.items():
            page = re.sub(rf'(data-check="{re.escape(place)}">)[^<]*', lambda m, t=text: m[1] + t, page)
        (folder / "index.html").write_text(page)
    names = [file.relative_to(folder).as_posix() for file in folder.rglob("*") if file.is_file()]
    facts["files"] = {name: sha256(folder / name) for name in names if name not in ("dossier.json", "manifest.sha256")}
    (folder / "dossier.json").write_text(json.dumps(facts))
    (folder / "manifest.sha256").unlink()
    write_manifest(folder)


def edit_result(folder, change, name="first"):
    file = folder / "results" / name / "result.json"
    said = json.loads(file.read_text())
    change(said)
    file.write_text(json.dumps(said))


def edit_rows(folder, change):
    file = folder / "results/first/contexts.csv"
    with file.open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    rows = change(rows) or rows
    with file.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, rows[0].keys(), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def set_in(*path, value):
    def change(said):
        for key in path[:-1]:
            said = said[key]
        said[path[-1]] = value

    return change


def all_entries(**changes):
    def change(said):
        for entry in (said["overall"], *said["by_class"].values()):
            entry.update(changes)

    return change


def untested(said):
    all_entries(verdict="not_tested", verdict_reason="", p_adjusted=None, detectable_gap=None)(said)


def other_margin(said):
    said["parameters"]["margin"] = 0.4
    all_entries(margin=0.4)(said)


def no_draws(said):
    said["parameters"]["draws"] = 0
    names = ("p_value", "p_adjusted", "noise", "noise_q95", "gap", "gap_low", "gap_high", "detectable_gap")
    lost = dict.fromkeys(names)
    all_entries(draws=0, verdict="not_tested", verdict_reason="", **lost)(said)


def swap(rows, *columns):
    """The best and the worst found object of B, the set that is worse."""
    found = [row for row in rows if row["set"] == "b" and float(row["performance"]) > 0]
    found.sort(key=lambda row: float(row["performance"]))
    low, high = found[0], found[-1]
    for column in columns:
        low[column], high[column] = high[column], low[column]


def better(rows):
    """B's performance is raised, with nothing else."""
    for row in rows:
        if row["set"] == "b" and float(row["performance"]) > 0:
            row["performance"] = "0.95"


def one_unit(rows):
    for row in rows:
        row["unit"] = "0"


EDITS = {
    "all verdicts marked untested": (untested, "all classes: verdict is"),
    "one verdict marked too few": (set_in("overall", "verdict", value="too_few"), "all classes: verdict is"),
    "another margin in a class": (set_in("by_class", "1", "margin", value=0.4), "red: margin is 0.05, not 0.4"),
    "another margin everywhere, verdicts kept": (other_margin, "verdict is"),
    "no draws": (no_draws, "draws are 0"),
    "p made large": (set_in("overall", "p_value", value=0.5), "all classes: p_value is"),
    "a corrected p made large": (set_in("by_class", "1", "p_adjusted", value=0.9), "red: p_adjusted is"),
    "an interval made narrow": (set_in("overall", "gap_high", value=0.01), "all classes: gap_high is"),
    "a gap that would have been shown made small": (
        set_in("overall", "detectable_gap", value=0.001),
        "all classes: detectable_gap is",
    ),
    "another threshold": (set_in("parameters", "theta", value=0.5), "is"),
    "another seed": (set_in("parameters", "seed", value=99), "p_value|noise"),
    "a verdict at a neighbouring threshold taken away": (
        set_in("overall", "verdict_above", value=None),
        "all classes: verdict_above is",
    ),
    "the overlap made whole": (set_in("overall", "overlap_a", value=1.0), "all classes: overlap_a is"),
    "a class taken away": (lambda said: said["by_class"].pop("1"), "red: n_a is"),
    "more objects than there are": (set_in("inputs", "a", "objects", value=9999), "objects and units are"),
}


@pytest.mark.parametrize("name", EDITS)
def test_an_edited_result_is_found(dossier, name):
    change, words = EDITS[name]
    edit_result(dossier, change)
    sign_again(dossier)
    _, wrong = check_dossier(dossier)
    assert any(line.startswith("first, ") and re.search(words, line) for line in wrong), wrong


ROWS = {
    "performances swapped": (lambda rows: swap(rows, "performance"), "performance is not what the box"),
    "performances and predictions swapped": (
        lambda rows: swap(rows, "performance", "predicted_x0", "predicted_y0", "predicted_x1", "predicted_y1"),
        "performance is not what the box",
    ),
    "performance raised": (better, "performance is not what the box"),
    "objects taken away": (lambda rows: [row for row in rows if float(row["performance"]) > 0], "n_a is|objects"),
    "units joined": (one_unit, "units are 52 and 1|objects and units are"),
    "sets swapped": (
        lambda rows: [row | {"set": {"a": "b", "b": "a"}[row["set"]]} for row in rows],
        "objects and units|n_a is",
    ),
}


@pytest.mark.parametrize("name", ROWS)
def test_an_edited_table_is_found(dossier, name):
    change, words = ROWS[name]
    edit_rows(dossier, change)
    sign_again(dossier)
    _, wrong = check_dossier(dossier)
    assert any(line.startswith("first, ") and re.search(words, line) for line in wrong), wrong


def test_an_untouched_dossier_agrees_and_one_signed_again_too(dossier):
    assert check_dossier(dossier)[1] == []
    sign_again(dossier)
    lines, wrong = check_dossier(dossier)
    assert wrong == []
    assert [line for line in lines if "invented boxes" in line] == [f"NOT CHECKED: {dossier_check.UNCHECKED[0]}"]


def test_a_patch_that_the_sets_chose_is_chosen_again(made, tmp_path):
    settings = CompareSettings(draws=60)
    compare_sets(made / "real.json", made / "sim.json", settings).save(tmp_path / "chosen")
    certify([tmp_path / "chosen"], tmp_path / "dossier")
    lines, wrong = check_dossier(tmp_path / "dossier")
    assert not wrong
    # Objects are 30 px wide: twice that is over the 240 px of the pictures times 120 / 1280, 1.5 times is the least.
    assert "chosen: patch 48x48: chosen by the sizes of pictures and objects" in lines


def test_a_patch_that_the_sets_do_not_choose_is_said_where_it_is_called_chosen(dossier):
    file = dossier / "results/first/result.json"
    said = json.loads(file.read_text())
    said["parameters"]["patch_chosen"] = True
    file.write_text(json.dumps(said))
    sign_again(dossier)
    lines, _ = check_dossier(dossier)
    (line,) = (line for line in lines if "patch" in line)
    assert line.startswith("NOT CHECKED: first: that the sets chose the patch 120x120:")
    assert line.endswith("alone give 48x48")


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
    assert dossier_check.chosen_patch(table) == default_patch(sizes, boxes)[0]


def test_a_dossier_without_results_is_refused(dossier):
    shutil.rmtree(dossier / "results")
    sign_facts = json.loads((dossier / "dossier.json").read_text()) | {"results": [], "count": 0}
    (dossier / "dossier.json").write_text(json.dumps(sign_facts))
    (dossier / "results").mkdir()
    sign_again(dossier, state=False)
    assert check_dossier(dossier)[1] == ["there are no results: nothing was checked"]


@pytest.mark.parametrize("place", ["first|overall|verdict", "first|headline", "first|sentence", "second|1|gap", "seal"])
def test_an_edited_page_is_found(dossier, place):
    file = dossier / "index.html"
    page = re.sub(rf'(data-check="{re.escape(place)}">)[^<]*', r"\1Predicts", file.read_text())
    file.write_text(page)
    sign_again(dossier, state=False)
    _, wrong = check_dossier(dossier)
    assert any(f"index.html: {place} is" in line and "not 'Predicts'" in line for line in wrong), wrong


def test_a_verdict_on_what_else_the_detector_does_must_follow_from_its_numbers(dossier):
    edit_result(dossier, lambda said: said["measures"]["recall"].update(verdict="large_gap"))
    sign_again(dossier, state=False)
    _, wrong = check_dossier(dossier)
    assert any("recall: large_gap does not follow from p, interval and margin" in line for line in wrong), wrong


def test_measures_that_were_taken_away_are_missed_on_the_page(dossier):
    edit_result(dossier, lambda said: said.pop("measures"))
    sign_again(dossier, state=False)
    _, wrong = check_dossier(dossier)
    assert any("index.html: first|sentence is" in line and "was not judged" in line for line in wrong), wrong


def test_the_page_says_what_makes_the_worst_verdict(made):
    said = json.loads((made / "first/result.json").read_text())
    assert dossier_check.overall_verdict(said)[1] == []
    said["overall"]["verdict"] = "predicts"
    for name, each in said["measures"].items():
        each["verdict"] = "large_gap" if name.startswith("false_positives") else "predicts"
    texts = page_texts("first", said, 0.5, 0)
    assert texts["first|headline"].startswith("Large gap (false positives, false positives away")
    assert "Performance by itself: predicts within the margin." in texts["first|sentence"]
    assert "not computed again" in texts["first|sentence"]


def test_a_second_verdict_on_the_page_is_found(dossier):
    file = dossier / "index.html"
    page = file.read_text()
    file.write_text(page.replace("</header>", '</header><p class="word">Predicts within 0.05</p>'))
    assert file.read_text() != page
    sign_again(dossier, state=False)
    assert check_dossier(dossier)[1] == ["index.html: a verdict stands where none is checked: Predicts within"]


@pytest.mark.parametrize(
    ("field", "value"),
    [("margin", 0.3), ("p_of_all_results", 0.9), ("verdicts", {}), ("parameters", {}), ("performance_not_of_boxes", 4)],
)
def test_edited_facts_are_found(dossier, field, value):
    facts = json.loads((dossier / "dossier.json").read_text())
    facts["results"][0][field] = value
    (dossier / "dossier.json").write_text(json.dumps(facts))
    sign_again(dossier, state=False)
    _, wrong = check_dossier(dossier)
    words = "first: 0 performances" if field == "performance_not_of_boxes" else f"dossier.json: {field} of first is"
    assert any(line.startswith(words) for line in wrong), wrong


def test_a_result_that_was_taken_away_is_missed(dossier):
    shutil.rmtree(dossier / "results/second")
    sign_again(dossier, state=False)
    _, wrong = check_dossier(dossier)
    assert "dossier.json names 2 results (first, second), there are 1: first" in wrong
    assert any("the seal is not the digest" in line for line in wrong)
    facts = json.loads((dossier / "dossier.json").read_text())
    facts |= {"results": facts["results"][:1], "count": 1, "seal": seal(dossier)}
    (dossier / "dossier.json").write_text(json.dumps(facts))
    sign_again(dossier, state=False)
    _, wrong = check_dossier(dossier)
    assert any("p_of_all_results of first is" in line for line in wrong)
    assert any("index.html: second|overall|verdict is None" in line for line in wrong)


HOSTILE = {
    "draws": (
        lambda said: (all_entries(draws=10**12)(said), set_in("parameters", "draws", value=10**12)(said)),
        "1,000,000,000,000 draws are more than",
    ),
    "patch": (set_in("parameters", "patch", value=[100_000, 100_000]), "pixels are more than"),
    "negative draws": (
        lambda said: (all_entries(draws=-5)(said), set_in("parameters", "draws", value=-5)(said)),
        "-5 draws",
    ),
    "scores": (set_in("parameters", "min_score", value=0.999), "predictions score below min_score, which is 0.999"),
    "a word for a number": (set_in("parameters", "theta", value="high"), "cannot be computed: ValueError"),
    "nothing": (lambda said: said["parameters"].clear(), "cannot be computed: KeyError"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_numbers_are_one_clear_line(dossier, made, tmp_path, name):
    change, words = HOSTILE[name]
    edit_result(dossier, change)
    sign_again(dossier, state=False)
    lines, wrong, _ = dossier_check.compare_numbers(dossier / "results/first")
    assert (lines, len(wrong)) == ([], 1)
    assert words in wrong[0]
    assert "\n" not in wrong[0]
    shutil.copytree(made / "first", tmp_path / "first")
    shutil.copyfile(dossier / "results/first/result.json", tmp_path / "first/result.json")
    with pytest.raises(SimjudgeError):
        certify([tmp_path / "first"], tmp_path / "other")


@pytest.mark.parametrize("column", ["unit", "block"])
def test_units_without_bound_are_refused(dossier, column):
    edit_rows(dossier, lambda rows: rows[0].update({column: str(10**12)}))
    wrong = dossier_check.compare_numbers(dossier / "results/first")[1]
    assert f"{column}s must be numbered from 0 on" in wrong[0]


def test_masks_whose_runs_do_not_fill_them_are_refused(dossier):
    first = dossier / "results/first"
    for side, words in [
        (100_000, "10,000,000,000 pixels are more than"),
        (10, "the runs of row 0 do not fill 10 x 10 pixels"),
    ]:
        (first / "masks.csv").write_text(f"row,left,top,width,height,runs\n0,0,0,{side},{side},0 5\n")
        assert words in dossier_check.compare_numbers(first)[1][0]


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
    said = results(tmp_path / "dossier")["r"]
    assert (said["overall"]["adjusted_w1"] is None) == (make is video)
    assert any(said["inputs"][side]["doubted"] for side in "ab") == (make is short_video)
    if make is short_video:
        file = tmp_path / "dossier/results/r/result.json"
        file.write_text(file.read_text().replace('"doubted": true', '"doubted": false'))
        assert any("noise_q95 is" in line for line in dossier_check.compare_numbers(file.parent)[1])


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


def test_the_error_function_of_the_script_is_scipys():
    x = np.concatenate([np.linspace(-8, 8, 100_001), [0.0, 6.0, -6.0, 1e300, 1e-300, np.nextafter(6.0, 0)]])
    np.testing.assert_allclose(dossier_check.erf(x), special.erf(x), atol=2e-14)


@pytest.mark.parametrize("strict", [False, True])
def test_alike_contexts_are_those_of_a_loop_over_pairs_of_small_numbers(strict):
    """Patches take a byte a pixel; blocks of them are multiplied, and 600 are three blocks."""
    patches = (np.random.default_rng(0).random((600, 30)) < 0.4).astype(np.uint8)
    patches[:3] = 0
    [found] = dossier_check.similar_contexts(patches, [0.5], strict=strict)
    for number in range(0, 600, 37):
        both = (patches & patches[number]).sum(1)
        share = both / np.maximum((patches | patches[number]).sum(1), 1)
        assert found[number].tolist() == np.flatnonzero(share > 0.5 if strict else share >= 0.5).tolist()
