"""A dossier of a ranking and of a price of labels: the script finds every edit, though digests and page are anew."""

from __future__ import annotations

import csv
import json
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from random_frames import made

import simjudge as sj
from simjudge.core.errors import SimjudgeError
from simjudge.core.object_tables import Predictions
from simjudge.judging import label_noise
from simjudge.questions.certify import check, check_joint
from simjudge.questions.certify.dossier import certify, write_manifest

SETTINGS = {"patch": 40, "theta": 0.4, "draws": 60, "block": 0.0}
QUANTILES = ("0.05", "0.25", "0.75", "0.95")
NOT_COMPUTED = {*check.NOT_COMPUTED, "invented"}


def seen(seed, error, name, frames=14, per_frame=4):
    """Frames whose boxes are found some pixels off."""
    frames, random = made(seed, frames, per_frame), np.random.default_rng(seed)
    box = frames.objects.box + random.normal(0, error, frames.objects.box.shape)
    box = np.sort(box.reshape(-1, 2, 2), axis=1).reshape(-1, 4)
    found = Predictions.build(frames.objects.frame, frames.objects.class_id, box, np.full(len(box), 0.9))
    return replace(frames, predictions=found, name=name)


@pytest.fixture(scope="module")
def dossier_of_both(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made")
    real, good, poor = seen(1, 1.0, "real"), seen(2, 1.0, "good"), seen(3, 4.0, "poor")
    same = replace(good, name="same")
    sj.rank(real, [poor, good, same], folder / "ranking", **SETTINGS)
    sj.price_label_error(seen(4, 3.0, "noisy"), good, "2px,5%missed", folder / "price", **SETTINGS)
    written = certify([folder / "ranking", folder / "price"], folder / "dossier", title="Both")
    assert written.sentences[0] == "ranking: Cannot tell which is nearest: good or same."
    assert written.sentences[1].startswith("price: Without the labels' error the gap is ")
    return folder / "dossier"


@pytest.fixture
def dossier(dossier_of_both, tmp_path):
    shutil.copytree(dossier_of_both, tmp_path / "dossier")
    return tmp_path / "dossier"


def verify(folder):
    return subprocess.run([sys.executable, "-I", folder / "verify.py"], capture_output=True, text=True, check=False)


def sign_again(folder):
    """Make seal, digests and page agree with what lies in results/, as a careful forger would."""
    page = (folder / "index.html").read_text(encoding="utf-8")
    for place, text in check_joint.page_of_dossier(folder).items():
        page = re.sub(rf'(data-check="{re.escape(place)}">)[^<]*', lambda m, t=text: m[1] + t, page)
    (folder / "index.html").write_text(page, encoding="utf-8")
    facts = json.loads((folder / "dossier.json").read_text(encoding="utf-8")) | {"seal": check.seal(folder)}
    names = [file.relative_to(folder).as_posix() for file in folder.rglob("*") if file.is_file()]
    kept = sorted({*names} - {"dossier.json", "manifest.sha256"})
    facts["files"] = {name: check.sha256(folder / name) for name in kept}
    (folder / "dossier.json").write_text(json.dumps(facts), encoding="utf-8")
    (folder / "manifest.sha256").unlink()
    write_manifest(folder)


def edit(path, change):
    content = json.loads(path.read_text(encoding="utf-8"))
    change(content)
    path.write_text(json.dumps(content), encoding="utf-8")


def edit_numbers(content, names):
    """Edit every number in some entries; how many there were, quantiles of one list as one."""
    stack, count = [(content, names)], 0
    while stack:
        held, keys = stack.pop()
        for key in keys:
            value = held[key]
            if isinstance(value, (dict, list)):
                stack.append((value, list(value) if isinstance(value, dict) else range(len(value))))
            elif isinstance(value, (int, float)) and key not in (*NOT_COMPUTED, *QUANTILES):
                held[key], count = value + (1 if isinstance(value, int) else 0.013), count + 1
    return count


def test_the_script_agrees_and_names_what_it_does_not_check_as_the_page_does(dossier):
    done = verify(dossier)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("everything that is checked agrees\n")
    page = (dossier / "index.html").read_text(encoding="utf-8")
    lines = check_joint.unchecked(dossier)
    assert {*check_joint.UNCHECKED_OF.values()} < {*lines}
    for line in lines:
        assert f"NOT CHECKED: {line}\n" in done.stdout
        assert line in page.replace("&#39;", "'")
    assert "overall, good and poor: nearer: 0." in done.stdout


def test_a_ranking_alone_says_nothing_of_errors_of_labels_nor_a_price_of_poses(dossier):
    for taken, other in (("price", check_joint.LABEL_ERROR), ("ranking", check_joint.RANKING)):
        shutil.move(dossier / "results" / taken, dossier.parent / taken)
        assert check_joint.UNCHECKED_OF[other] not in check_joint.unchecked(dossier)
        assert len(check_joint.unchecked(dossier)) == len(check_joint.UNCHECKED_HERE) + 1
        shutil.move(dossier.parent / taken, dossier / "results" / taken)
    page = (dossier / "index.html").read_text(encoding="utf-8")
    assert "1 variance in B" in page
    assert "1.5 variances in B" in page


def test_the_script_is_one_file_without_simjudge_and_has_one_source(dossier):
    script = (dossier / "verify.py").read_text(encoding="utf-8")
    assert "import simjudge" not in script
    assert "from simjudge" not in script
    for module in (check, check_joint):
        source = re.findall(r"^def (\w+)", Path(module.__file__).read_text(encoding="utf-8"), re.MULTILINE)
        shipped = [name for name in source if f"\ndef {name}(" in script]
        assert len(shipped) > 0.6 * len(source)
    names = re.findall(r"^(?:def|class) (\w+)|^(\w+) = ", script, re.MULTILINE)
    assert len(names) == len(set(names)), "two modules call two things alike"
    assert len(script.splitlines()) < 1510


@pytest.mark.parametrize(
    ("name", "file", "entries"),
    [
        ("ranking", "ranking.json", ("simulations", "pairs", "pairs_by_class", "covered")),
        ("price", "label_error.json", ("as_labelled", "levels", "corrected", "price")),
    ],
)
def test_every_number_that_is_edited_is_found(dossier, name, file, entries):
    path = dossier / "results" / name / file
    content = json.loads(path.read_text(encoding="utf-8"))
    count = edit_numbers(content, entries)
    path.write_text(json.dumps(content), encoding="utf-8")
    _, wrong = check_joint.check_result(path.parent)
    assert (len(wrong), count > 50) == (count, True), wrong


@pytest.mark.parametrize(
    ("name", "file", "change", "said"),
    [
        (
            "ranking",
            "ranking.json",
            lambda c: c["pairs"][0].update(nearness="alike"),
            "nearness is first_is_nearer, not",
        ),
        ("ranking", "ranking.json", lambda c: c["pairs"][0].update(first="poor", second="good"), "first is good, not"),
        ("ranking", "ranking.json", lambda c: c["simulations"][0]["overall"].update(verdict="predicts"), "verdict is"),
        ("ranking", "ranking.json", lambda c: c["parameters"].update(margin=0.9), "margin is 0.9, not 0.05"),
        ("ranking", "ranking.json", lambda c: c["parameters"].update(theta=0.45), "mean_w1 is"),
        ("ranking", "ranking.json", lambda c: c["parameters"].update(seed=5), "p_value"),
        ("ranking", "ranking.json", lambda c: c["parameters"].update(min_score=0.999), "predictions score below min_s"),
        ("ranking", "ranking.json", lambda c: c["simulations"].pop(), "of 2 simulations 3 are compared"),
        ("ranking", "ranking.json", lambda c: c["pairs"].pop(), "3 pairs are found, not 2"),
        ("ranking", "ranking.json", lambda c: c["inputs"]["a"].update(objects=1), "inputs, real: objects is"),
        ("price", "label_error.json", lambda c: c["corrected"].update(verdict="predicts"), "without error: verdict is"),
        ("price", "label_error.json", lambda c: c["as_labelled"].update(verdict="predicts"), "as labelled: verdict is"),
        ("price", "label_error.json", lambda c: c["parameters"].update(margin=0.9), "margin is 0.9, not 0.05"),
        (
            "price",
            "label_error.json",
            lambda c: c.update(error="1px,5%missed"),
            "labels are not off as the seed has it",
        ),
        ("price", "label_error.json", lambda c: c["levels"].pop(), "5 levels of error are found, not 4"),
    ],
)
def test_edits_of_words_settings_and_lists_are_found(dossier, name, file, change, said):
    edit(dossier / "results" / name / file, change)
    _, wrong = check_joint.check_result(dossier / "results" / name)
    assert any(said in line for line in wrong), wrong[:5]


@pytest.mark.parametrize(
    ("name", "column", "change", "said"),
    [
        ("ranking/contexts-1", "performance", lambda v: str(float(v) * 0.5), "performance is not what the box"),
        ("ranking/contexts-1", "unit", lambda v: str(int(v) // 3), "p_value"),
        ("price/contexts-7", "x0", lambda v: str(float(v) - 0.2), "line"),
        ("price/contexts-7", "unit", lambda v: str(int(v) // 3), "unit is not that of the labels"),
    ],
)
def test_edits_of_contexts_are_found(dossier, name, column, change, said):
    path = dossier / "results" / f"{name}.csv"
    with path.open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    for row in rows:
        row[column] = change(row[column])
    with path.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, rows[0].keys(), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    _, wrong = check_joint.check_result(path.parent)
    assert any(said in line for line in wrong), wrong[:5]


def test_an_edit_is_found_though_seal_digests_and_page_are_anew(dossier):
    edit(dossier / "results/ranking/ranking.json", lambda c: c["pairs"][0].update(difference=0.5))
    assert "ranking.json is not the file that manifest.sha256 names" in verify(dossier).stdout
    sign_again(dossier)
    done = verify(dossier)
    assert (done.returncode, done.stdout.count("WRONG")) == (1, 1), done.stdout
    assert "WRONG: ranking, overall, good and poor: difference is 0." in done.stdout


def test_a_page_that_says_something_else_is_found(dossier):
    page = dossier / "index.html"
    text = page.read_text(encoding="utf-8")
    places = re.findall(r'data-check="([^"]*)">([^<]*)<', text)
    assert len(places) > 100
    page.write_text(re.sub(r'(data-check="[^"]*">)([^<]*)<', r"\1\g<2>1<", text), encoding="utf-8")
    wrong = check.check_page(page.read_text(encoding="utf-8"), check_joint.page_of_dossier(dossier))
    assert len(wrong) == len(places)
    assert verify(dossier).returncode == 1


def test_a_price_and_a_ranking_of_an_earlier_simjudge_are_refused_in_one_line(dossier_of_both, tmp_path):
    old = tmp_path / "old"
    shutil.copytree(dossier_of_both.parent / "ranking", old)
    (old / "contexts.parquet").unlink()
    assert sj.load_result(old).lines[0].startswith("Cannot tell")
    with pytest.raises(SimjudgeError, match=r"made by another simjudge, which kept no contexts; compare again$"):
        certify([old], tmp_path / "dossier")
    with pytest.raises(SimjudgeError, match="has a dossier of its own: give these folders alone"):
        certify([dossier_of_both.parent / "ranking", tmp_path], tmp_path / "dossier")


def test_the_script_knows_the_levels_and_replicates_of_a_price():
    assert (check_joint.LEVELS, check_joint.REPLICATES) == (label_noise.LEVELS, label_noise.REPLICATES)


def test_a_price_is_certified_where_frames_lose_their_only_label(tmp_path):
    real, sim = (seen(seed, error, name, 40, 1) for seed, error, name in ((4, 3.0, "noisy"), (2, 1.0, "good")))
    sj.price_label_error(real, sim, "30%missed", tmp_path / "price", **SETTINGS)
    certify([tmp_path / "price"], tmp_path / "dossier")
    assert verify(tmp_path / "dossier").stdout.endswith("everything that is checked agrees\n")
