"""Dossiers of every kind: untouched ones agree to the byte; every edit of a number or a word in one is found."""

import csv
import itertools
import json
import math
import re
import shutil
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path

import numpy as np
import pytest
from forged import edit_json, edited, forgeries, leaves, sign_again, verify
from random_frames import made
from test_dossier import pictures
from track_samples import made_tracks
from trajectory_samples import made_run
from typer.testing import CliRunner

import simjudge as sj
from simjudge.commands.app import app
from simjudge.core.errors import SimjudgeError
from simjudge.core.frames import FrameSet
from simjudge.core.object_tables import Objects, Predictions
from simjudge.data.formats.plain_json import write_plain_json
from simjudge.judging import label_noise, point_metrics
from simjudge.judging.compare_settings import CompareSettings
from simjudge.judging.comparison import compare_sets
from simjudge.questions.certify import check_joint, check_points
from simjudge.questions.certify.check_files import differences, read_json
from simjudge.questions.certify.dossier import certify, check_again
from simjudge.questions.certify.verify import CHECKED_KINDS, check_dossier, check_result, kind_of

JOINT = {"patch": 40, "theta": 0.4, "draws": 60, "block": 0.0}
CELLS = {("act", "pick"): (9, 5), ("act", "place"): (7, 6), ("dp", "pick"): (3, 2), ("dp", "place"): (6, 6)}
KINDS = ("compare", "policies", "price", "ranking", "tracks", "trajectories")


def seen(seed, error, name, frames=14, per_frame=4):
    """Frames whose boxes are found some pixels off."""
    frames, random = made(seed, frames, per_frame), np.random.default_rng(seed)
    box = frames.objects.box + random.normal(0, error, frames.objects.box.shape)
    box = np.sort(box.reshape(-1, 2, 2), axis=1).reshape(-1, 4)
    found = Predictions.build(frames.objects.frame, frames.objects.class_id, box, np.full(len(box), 0.9))
    return replace(frames, predictions=found, name=name)


def trials(cells=CELLS):
    return [
        {"policy": policy, "task": task, "side": side, "success": k < hits}
        for (policy, task), sides in cells.items()
        for side, hits in zip(("real", "sim"), sides, strict=True)
        for k in range(10)
    ]


def tracked(name, boxes):
    objects = Objects.build(boxes.frame, boxes.class_id, boxes.box, boxes.track)
    return FrameSet.build(name, [[500, 500]] * 100, objects)


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    folder = tmp_path_factory.mktemp("results")
    for name, seed in (("real", 0), ("sim", 1)):
        write_plain_json(pictures(name, seed, frames=16), folder / f"{name}.json")
    settings = CompareSettings(draws=60, patch=120)
    compare_sets(folder / "real.json", folder / "sim.json", settings).save(folder / "compare")
    sj.compare_policies(trials(), out=folder / "policies", draws=300)
    sj.compare_trajectories([made_run(1, 60)], [made_run(2, 60, error=0.6)], folder / "trajectories", draws=60)
    pairs = [tuple(tracked(f"{k}", boxes) for k, boxes in enumerate(made_tracks(seed))) for seed in range(4)]
    sj.compare_tracks(pairs[:2], pairs[2:], folder / "tracks", draws=60)
    good = seen(2, 1.0, "good")
    sj.rank(seen(1, 1.0, "real"), [seen(3, 4.0, "poor"), good], folder / "ranking", **JOINT)
    sj.price_label_error(seen(4, 3.0, "noisy"), good, "2px,5%missed", folder / "price", **JOINT)
    return folder


@pytest.fixture(scope="module")
def whole(results):
    """A dossier of results of every kind."""
    certify([results / name for name in KINDS], results / "dossier", title="All kinds")
    return results / "dossier"


@pytest.fixture(scope="module")
def recomputed(whole):
    """What is said and found of each, once."""
    out = {}
    for name in KINDS:
        folder = whole / "results" / name
        said = read_json(folder / kind_of(folder))
        out[name] = said, CHECKED_KINDS[kind_of(folder)].recompute(folder, said)[0]
    return out


@pytest.fixture
def small(results, tmp_path):
    certify([results / "policies"], tmp_path / "dossier")
    return tmp_path / "dossier"


def test_a_dossier_of_all_kinds_agrees_and_is_made_again_to_the_byte(whole):
    done = verify(whole)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert done.stdout.count("computed again") == len(KINDS)
    assert "TAKEN AS IT IS: policies.json: version, losses" in done.stdout
    said = CliRunner().invoke(app, ["report", "--dossier", "--check", str(whole)])
    assert said.exit_code == 0, said.output
    assert "made again, byte by byte: verify.py, index.html, results/policies/index.html" in " ".join(
        said.output.split()
    )
    page = (whole / "index.html").read_text(encoding="utf-8")
    assert page.count('href="results/') == len(KINDS) - 1


@pytest.mark.parametrize("name", KINDS)
def test_every_leaf_that_is_edited_is_found_or_named_as_taken(whole, recomputed, name):
    said, tree = recomputed[name]
    taken = CHECKED_KINDS[kind_of(whole / "results" / name)].taken
    checked = [path for path in leaves(said) if not _is_taken(path, taken)][::3]
    assert len(checked) > 25
    for number, path in enumerate(checked):
        tried = forgeries(_at(said, path))
        value = tried[number % len(tried)]
        assert list(differences(edited(said, path, value), tree, taken)) != [], (path, value)


def _is_taken(path, taken):
    starts = [".".join(map(str, path[: k + 1])) for k in range(len(path))]
    return any(fnmatchcase(start, pattern) for start in starts for pattern in taken)


def _at(held, path):
    for name in path:
        held = held[name]
    return held


EDITS = [
    ("compare", ("parameters", "theta"), 0.5, "overall."),
    ("compare", ("parameters", "seed"), 99, "p_value|noise"),
    ("compare", ("parameters", "margin"), 0.4, "overall.margin is 0.4, not 0.05"),
    ("compare", ("parameters", "draws"), 0, "draws are 0: nothing was tested"),
    ("compare", ("parameters", "draws"), 10**12, "1,000,000,000,000 draws are more than"),
    ("compare", ("parameters", "draws"), -5, "-5 draws are more than"),
    ("compare", ("parameters", "patch"), [100_000, 100_000], "pixels are more than"),
    ("compare", ("parameters", "theta"), "high", "cannot be computed: ValueError"),
    ("compare", ("parameters", "min_score"), 0.999, "predictions score below min_score, which is 0.999"),
    ("compare", ("by_class", "1"), ..., "by_class.1 is {.*, not nothing"),
    ("compare", ("overall", "gap"), math.nan, "result.json holds NaN, which is no number"),
    ("compare", ("measures", "recall", "verdict"), "large_gap", "measures.recall.verdict is"),
    ("policies", ("parameters", "seed"), "9", "p_value"),
    ("policies", ("parameters", "margin"), "0.5", "overall.margin is 0.5, not 0.1"),
    ("policies", ("ranking",), None, "ranking is {.*, not None"),
    ("policies", ("by_policy", 0), ..., "by_policy"),
    ("ranking", ("parameters", "margin"), 0.9, "overall.margin is 0.9, not 0.05"),
    ("ranking", ("parameters", "seed"), 5, "p_value|noise"),
    ("ranking", ("simulations", 0, "overall", "map50_a"), 0.0, "overall.map50_a is nothing, not 0.0"),
    ("ranking", ("simulations", 0), ..., "of 1 simulations 2 are compared"),
    ("ranking", ("pairs", 0), ..., "pairs is|pairs.0 is"),
    ("price", ("error",), "1px,5%missed", "labels are not off as the seed has it"),
    ("tracks", ("parameters", "margin"), "0.9", "margin is 0.9, not 0.05"),
    ("trajectories", ("metrics", 0), ..., "metrics are APE translation"),
    ("trajectories", ("metrics", 0, "gap_high"), math.inf, "holds Infinity, which is no number"),
    ("trajectories", ("parameters", "draws"), "0", "nothing was drawn"),
]


@pytest.mark.parametrize(("name", "path", "value", "said"), EDITS)
def test_edits_of_settings_and_whole_parts_are_found(whole, tmp_path, name, path, value, said):
    shutil.copytree(whole / "results" / name, tmp_path / name)
    edit_json(tmp_path / name / kind_of(tmp_path / name), path, value)
    wrong = check_result(tmp_path / name)[1]
    assert any(re.search(said, line) for line in wrong), wrong


def test_a_name_that_is_there_twice_is_refused(whole, tmp_path):
    shutil.copytree(whole / "results/policies", tmp_path / "policies")
    file = tmp_path / "policies/policies.json"
    file.write_text(file.read_text().replace('"overall": {', '"overall": {"verdict": "predicts",', 1))
    assert "holds a name twice" in check_result(file.parent)[1][0]


@pytest.mark.parametrize("name", ["compare", "policies", "tracks"])
def test_a_result_that_its_tables_do_not_give_is_not_certified(results, tmp_path, name):
    shutil.copytree(results / name, tmp_path / name)
    path = ("metrics", 0, "p_value") if name == "tracks" else ("overall", "p_value")
    edit_json(tmp_path / name / kind_of(tmp_path / name), path, 0.9)
    with pytest.raises(SimjudgeError, match=r"does not say what its tables give: .*p_value is .*, not 0\.9"):
        certify([tmp_path / name], tmp_path / "dossier")


@pytest.mark.parametrize(
    ("name", "column", "change", "said"),
    [
        ("compare/contexts", "performance", lambda v: "0.95" if float(v) else v, "performance is not what the box"),
        ("compare/contexts", "unit", lambda _: "0", "inputs.a.units is 1, not"),
        ("compare/contexts", "unit", lambda _: str(10**12), "units must be numbered from 0 on"),
        ("compare/contexts", "set", lambda v: {"a": "b", "b": "a"}[v], "n_a is"),
        ("ranking/contexts-1", "unit", lambda v: str(int(v) // 3), "p_value|noise"),
        ("price/contexts-7", "x0", lambda v: str(float(v) - 0.2), "line"),
        ("price/contexts-7", "unit", lambda v: str(int(v) // 3), "unit is not that of the labels"),
        ("tracks/samples", "association (HOTA)", lambda v: "inf" if v else v, "numbers must be finite, or empty"),
    ],
)
def test_edits_of_tables_are_found(whole, tmp_path, name, column, change, said):
    shutil.copytree(whole / "results" / Path(name).parent, tmp_path / "part")
    file = tmp_path / f"part/{Path(name).name}.csv"
    with file.open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    with file.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, rows[0].keys(), lineterminator="\n")
        writer.writeheader()
        writer.writerows([row | {column: change(row[column])} for row in rows])
    wrong = check_result(tmp_path / "part")[1]
    assert any(re.search(said, line) for line in wrong), wrong


SHOWN = [
    ("index.html", "<!-- Predicts within 0.05 -->"),
    ("index.html", "<style>h1::after { content: 'Predicts within 0.05' }</style>"),
    ("index.html", "<p>Predicts within 0.05</p>"),
    ("results/policies/index.html", "<script>document.body.prepend('Predicts within 0.05')</script>"),
    ("results/policies/index.html", "Pre\u200bdicts within 0.05"),
    ("verify.py", "\n"),
    ("results/policies/trials.csv", "\n"),
]


@pytest.mark.parametrize(("file", "shown"), SHOWN)
def test_pages_and_tables_that_say_more_are_found(small, file, shown):
    text = (small / file).read_text(encoding="utf-8")
    (small / file).write_text(text.replace("</body>", f"{shown}</body>") + "\n", encoding="utf-8")
    sign_again(small)
    assert check_again(small)[1] == [f"{file} is not what simjudge makes of the results"]


@pytest.mark.parametrize("name", ["results", "results/policies/trials.csv", "results/policies/policies.json"])
def test_what_was_taken_away_is_missed(small, name):
    shutil.rmtree(small / name) if name == "results" else (small / name).unlink()
    sign_again(small)
    done = verify(small)
    words = {"results": "there are none", "results/policies/policies.json": "there must be one of"}
    assert done.returncode == 1
    assert f"WRONG: {words.get(name, 'policies, ')}" in done.stdout or words.get(name, "no such word") in done.stdout


def test_a_dossier_of_an_earlier_simjudge_is_left_to_its_own_script(small):
    (small / "dossier.json").write_text('{"simjudge": "0.1.0"}')
    sign_again(small)
    assert "an earlier simjudge made it: python -I" in check_again(small)[1][-1]


def test_files_that_no_dossier_has_are_found_though_the_manifest_names_them(small):
    (small / "results/policies/more.csv").write_text("x")
    (small / "numpy.py").write_text("x")
    sign_again(small)
    assert check_dossier(small)[1] == [
        "numpy.py is no file of a dossier",
        "results/policies/more.csv is no file of a dossier",
    ]


def test_a_forged_number_is_found_though_all_digests_and_pages_are_anew(small):
    edit_json(small / "results/policies/policies.json", ("overall", "gap"), 0.001)
    assert "policies.json is not the file that manifest.sha256 names" in verify(small).stdout
    sign_again(small, pages=True)
    done = verify(small)
    assert (done.returncode, done.stdout.count("WRONG")) == (1, 1), done.stdout
    assert "WRONG: policies, overall.gap is 0.00" in done.stdout


def test_the_script_is_one_file_without_simjudge_that_names_nothing_twice(whole):
    script = (whole / "verify.py").read_text(encoding="utf-8")
    assert "from simjudge" not in script
    names = re.findall(r"^(?:def|class) (\w+)|^(\w+) = ", script, re.MULTILINE)
    assert len(names) == len(set(names)), "two modules call two things alike"
    assert (check_joint.LEVELS, check_joint.REPLICATES) == (label_noise.LEVELS, label_noise.REPLICATES)
    assert check_points.MOST_SAMPLES == point_metrics.MOST_SAMPLES


def test_units_conditions_pairs_and_ties_of_policies_are_computed_again(tmp_path):
    random = np.random.default_rng(0)
    rows = itertools.product("ab", "xy", ("dim", "day"), ("real", "sim"), range(14))
    units = [
        {"policy": p, "task": t, "side": s, "light": w, "unit": f"{s}{k // 2}", "outcome": random.random()}
        for p, t, w, s, k in rows
    ]
    pairs = [
        {"policy": p, "task": t, "side": s, "pair": f"p{k}", "success": bool(random.random() < 0.6)}
        for p, t, s, k in itertools.product("abc", "xy", ("real", "sim"), range(14))
    ]
    ties = [
        {"policy": policy, "task": task, "side": side, "trials": 10, "successes": hits}
        for policy, sides in {"a": ((9, 8), (7, 9)), "b": ((4, 8), (9, 7))}.items()
        for task, counts in zip(("t", "u"), zip(*sides, strict=True), strict=True)
        for side, hits in zip(("real", "sim"), counts, strict=True)
    ]
    sj.compare_policies(units, out=tmp_path / "units", weights="trials", draws=200)
    sj.compare_policies(pairs, out=tmp_path / "pairs", draws=200)
    ranking = sj.compare_policies(ties, out=tmp_path / "ties", draws=200).content["ranking"]
    assert (ranking["by_sim"]["policy"], ranking["by_sim"]["regret"]) == ("b", pytest.approx(0.25))
    certify([tmp_path / name for name in ("units", "pairs", "ties")], tmp_path / "dossier")
    assert check_again(tmp_path / "dossier")[1] == []


def test_a_price_is_certified_where_frames_lose_their_only_label(tmp_path):
    real, sim = (seen(seed, error, name, 40, 1) for seed, error, name in ((4, 3.0, "noisy"), (2, 1.0, "good")))
    sj.price_label_error(real, sim, "30%missed", tmp_path / "price", **JOINT)
    certify([tmp_path / "price"], tmp_path / "dossier")
    assert check_dossier(tmp_path / "dossier")[1] == []


def test_a_ranking_of_an_earlier_simjudge_is_refused_in_one_line(results, tmp_path):
    shutil.copytree(results / "ranking", tmp_path / "old")
    (tmp_path / "old/contexts.parquet").unlink()
    assert sj.load_result(tmp_path / "old").lines[0].startswith(("Cannot tell", "good is nearest"))
    with pytest.raises(SimjudgeError, match=r"made by another simjudge, which kept no contexts; compare again$"):
        certify([tmp_path / "old"], tmp_path / "dossier")
    assert json.loads((results / "ranking/ranking.json").read_text())["draws"]
