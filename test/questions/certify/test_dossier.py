"""A dossier: a script without simjudge finds the same numbers, and every byte that is not as it was."""

import json
import os
import shutil
import subprocess
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

import simjudge as sj
from simjudge.commands.app import app
from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.core.frames import FrameSet
from simjudge.core.object_tables import Masks, Objects, Predictions
from simjudge.data.formats.plain_json import write_plain_json
from simjudge.judging.compare_settings import CompareSettings
from simjudge.judging.comparison import compare_sets
from simjudge.questions.certify.check_statistics import holm
from simjudge.questions.certify.dossier import certify, check_again

SETTINGS = {
    "as it is": {},
    "paired": {"paired": True},
    "class blind": {"class_blind": True},
    "mask factor": {"mask_factor": 1.5},
    "public tool": {"preset": "cpd"},
    "few similar": {"theta": 0.95, "seed": 7},
    "few draws": {"draws": 9},
    "one class": {"classes": ["red"]},
}


MASKED = {
    "masks": {"share": 1.0, "given": {}},
    "masks, paired": {"share": 1.0, "given": {"paired": True}},
    "masks, mask factor": {"share": 1.0, "given": {"mask_factor": 1.5}},
    "masks, public tool": {"share": 1.0, "given": {"preset": "cpd"}},
    "masks and boxes": {"share": 0.6, "given": {"masks": "use"}},
    "masks of one class": {"share": 1.0, "given": {"classes": ["red"]}},
}


def masks_of(box, rng, share):
    """Blobs that fill their boxes in part, some beyond the picture; some objects have none."""
    origin = np.floor(box[:, :2]).astype(int) - rng.integers(0, 3, (len(box), 2)) * [1, 20]
    crops = [np.ones((24, 30), bool) if rng.random() < share else None for _ in box]
    for crop in crops:
        if crop is not None:
            crop[rng.integers(0, 4) :: 5, 10:20] = False
            crop[:, 0] = rng.random() < 0.5
    return Masks.from_crops(crops, origin)


def pictures(name, seed, frames=24, masked=0.0):
    """Boxes of two classes on a few places, so that contexts are alike; seed 1 is found less well."""
    rng = np.random.default_rng(seed)
    rows = []
    for frame in range(frames):
        for place, kind in enumerate(rng.integers(1, 3, rng.integers(1, 4)).tolist()):
            rows.append((frame, kind, 40.0 + 60 * place + rng.integers(-2, 3), 50.5 + rng.integers(-2, 3)))
    box = np.array([(x, y, x + 30, y + 24) for _, _, x, y in rows])
    shift = np.abs(rng.normal(0, 2 + 4 * seed, len(rows)))[:, None] * [1, 0, 1, 0]
    frame, kind = ([row[i] for row in rows] for i in range(2))
    found = rng.random(len(rows)) < 0.9
    predictions = Predictions.build(
        np.array(frame)[found], np.array(kind)[found], (box + shift)[found], np.full(int(found.sum()), 0.9)
    )
    masks = masks_of(box, rng, masked) if masked else None
    return FrameSet.build(
        name,
        [[240, 160]] * frames,
        Objects.build(frame, kind, box, masks=masks),
        predictions,
        class_names={1: "red", 2: "blue"},
        independent=True,
    )


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sets")
    for name, seed in (("real", 0), ("sim", 1)):
        write_plain_json(pictures(name, seed), folder / f"{name}.json")
    return folder


def compared(files, out, **given):
    settings = CompareSettings(**({"draws": 60} | given))
    compare_sets(files / "real.json", files / "sim.json", settings).save(out)
    return out


def check(folder, *arguments):
    """Run the script with nothing of simjudge in reach."""
    bare = "import sys, runpy; sys.argv = sys.argv[1:];"
    bare += "sys.modules.update(dict.fromkeys(['simjudge', 'scipy', 'pandas', 'pyarrow', 'numba']));"
    bare += "runpy.run_path(sys.argv[0], run_name='__main__')"
    return subprocess.run(
        [sys.executable, "-I", "-c", bare, str(folder / "verify.py"), *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=os.sep,
    )


@pytest.mark.parametrize("way", SETTINGS)
def test_the_script_finds_the_same_numbers(files, tmp_path, way):
    given = dict(SETTINGS[way])
    result = compared(files, tmp_path / "r", **given)
    found = certify([result], tmp_path / "dossier")
    assert found.losses.lines() == []
    if way == "as it is":
        done = check(tmp_path / "dossier")
        assert done.returncode == 0, done.stdout + done.stderr
    said = json.loads((result / "result.json").read_text())["overall"]
    lines, wrong = check_again(tmp_path / "dossier")
    assert wrong == []
    assert lines[1].startswith(f"r, result.json: computed again: verdict {said['verdict']}, mean_w1 ")
    assert float(lines[1].split("mean_w1 ")[1].partition(",")[0]) == pytest.approx(said["mean_w1"], rel=1e-9)


@pytest.mark.parametrize("way", MASKED)
def test_the_script_paints_masks(tmp_path, way):
    for name, seed in (("real", 0), ("sim", 1)):
        write_plain_json(pictures(name, seed, masked=MASKED[way]["share"]), tmp_path / f"{name}.json")
    result = compared(tmp_path, tmp_path / "r", **MASKED[way]["given"])
    said = json.loads((result / "result.json").read_text())
    assert said["parameters"]["painted"] == ("masks" if MASKED[way]["share"] == 1 else "masks and boxes")
    certify([result], tmp_path / "dossier")
    file = tmp_path / "dossier/results/r/masks.csv"
    assert file.is_file()
    file.write_text(file.read_text().replace(" 10 ", " 11 "))
    assert "results/r/masks.csv is not the file" in check_again(tmp_path / "dossier")[1][0]
    for change, words in [("x", "has changed since"), (None, "is not there")]:
        (tmp_path / "sim.json").write_text(change) if change else (tmp_path / "sim.json").unlink()
        with pytest.raises(SimjudgeError, match=f"painted from masks, and .*{words}"):
            certify([result], tmp_path / "other")


@pytest.fixture(scope="module")
def dossier(files, tmp_path_factory):
    folder = tmp_path_factory.mktemp("made")
    certify([compared(files, folder / "first"), compared(files, folder / "second", seed=3)], folder / "dossier")
    return folder / "dossier"


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("index.html", 0.5),
        ("dossier.json", 0.01),
        ("manifest.sha256", 0.01),
        ("manifest.sha256", 0.99),
        ("verify.py", 0.5),
        ("results/first/result.json", 0.99),
        ("results/second/contexts.csv", 0.5),
    ],
)
def test_a_flipped_byte_is_found(dossier, name, place):
    file = dossier / name
    before = file.read_bytes()
    content = bytearray(before)
    content[int(place * len(content))] ^= 1
    file.write_bytes(content)
    done = check(dossier)
    file.write_bytes(before)
    assert done.returncode == 1
    assert name in done.stdout + done.stderr  # a script that is no Python any more says so


def test_the_script_runs_nothing_that_lies_beside_it(dossier, tmp_path):
    folder, ran = tmp_path / "d", tmp_path / "ran"
    shutil.copytree(dossier, folder)
    for name in ("csv.py", "numpy/__init__.py", "re.py"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(f"open({str(ran)!r}, 'w')")
    environment = os.environ | {"PYTHONPATH": ""}
    for cwd in (folder, tmp_path):
        done = subprocess.run(
            [sys.executable, folder / "verify.py"],
            capture_output=True,
            text=True,
            check=False,
            cwd=cwd,
            env=environment,
        )
        assert done.returncode == 1
        assert "WRONG: numpy/__init__.py is not named in manifest.sha256" in done.stdout
    assert not ran.exists()


@pytest.mark.parametrize("change", ["taken away", "added"])
def test_files_that_are_missing_or_new_are_found(dossier, change):
    file = dossier / "results/first/contexts.csv" if change == "taken away" else dossier / "results/first/more.csv"
    before = file.read_bytes() if file.exists() else None
    file.unlink() if before else file.write_text("x")
    done = check(dossier)
    file.write_bytes(before) if before else file.unlink()
    assert done.returncode == 1
    assert file.name in done.stdout


def test_a_result_whose_numbers_do_not_come_from_the_boxes_is_not_certified(files, tmp_path):
    file = compared(files, tmp_path / "r") / "result.json"
    said = json.loads(file.read_text())
    said["overall"]["mean_w1"] += 1e-6
    file.write_text(json.dumps(said))
    with pytest.raises(SimjudgeError, match=r"does not say what its tables give: overall\.mean_w1 is"):
        certify([tmp_path / "r"], tmp_path / "other")
    assert not (tmp_path / "other").exists()


def test_verdicts_that_do_not_follow_are_found(files, tmp_path):
    write_plain_json(pictures("worse", 5), tmp_path / "worse.json")
    settings = CompareSettings(draws=60, margin=0.02)
    compare_sets(files / "real.json", tmp_path / "worse.json", settings).save(tmp_path / "r")
    file = tmp_path / "r/result.json"
    said = json.loads(file.read_text())
    assert said["overall"]["verdict"] == "large_gap"
    assert certify([tmp_path / "r"], tmp_path / "dossier").losses.lines() == []
    for change, words in [
        ({"verdict": "small_gap"}, "overall.verdict is 'large_gap', not 'small_gap'"),
        ({"p_adjusted": 0.5}, "overall.p_adjusted is 0.0"),
        ({"n_b": 1}, "overall.n_b is"),
    ]:
        file.write_text(json.dumps(said | {"overall": said["overall"] | change}))
        with pytest.raises(SimjudgeError, match=words):
            certify([tmp_path / "r"], tmp_path / "other")


def test_corrections_are_those_of_holm():
    """The textbook's example: 0.01, 0.02, 0.03, 0.04 become 0.04, 0.06, 0.06, 0.06."""
    found = holm({"a": 0.04, "b": 0.01, "c": 0.03, "d": 0.02})
    assert [found[key] for key in "bdca"] == pytest.approx([0.04, 0.06, 0.06, 0.06])


def test_p_over_all_results_is_found(dossier):
    said = [json.loads((dossier / f"results/{name}/result.json").read_text()) for name in ("first", "second")]
    low, high = sorted(each["overall"]["p_value"] for each in said)
    held = [line.rpartition(" ")[2] for line in check(dossier).stdout.splitlines() if "(Holm)" in line]
    assert [float(p) for p in held] == pytest.approx([min(1, 2 * low), max(2 * low, high)], rel=1e-5)


@pytest.mark.parametrize("name", ["sweep.json", "sets.json", "ablation.json", "drives.json", "objects.json"])
def test_other_kinds_of_results_are_refused(tmp_path, name):
    (tmp_path / name).write_text("{}")
    with pytest.raises(SimjudgeError, match=r"holds a?.*; certify takes results of simjudge compare alone"):
        certify([tmp_path], tmp_path / "dossier")


def test_the_folder_of_a_study_names_its_results(tmp_path):
    (tmp_path / "study.json").write_text("{}")
    with pytest.raises(UsageError, match=r"is the folder of a study, whose page simjudge study report makes$"):
        certify([tmp_path], tmp_path / "dossier")
    (tmp_path / "compared/examples/1").mkdir(parents=True)
    (tmp_path / "compared/sets.json").write_text("{}")
    (tmp_path / "compared/examples/1/result.json").write_text("{}")
    with pytest.raises(UsageError, match=r"such as .*/compared/examples/1$"):
        certify([tmp_path], tmp_path / "dossier")
    with pytest.raises(UsageError, match=r"such as .*/compared$"):
        sj.report(tmp_path, tmp_path / "page.html")


def test_results_of_another_simjudge_are_refused(files, tmp_path):
    result = compared(files, tmp_path / "r")
    said = json.loads((result / "result.json").read_text())
    for side in ("parameters", "inputs"):
        less = {"a": {}, "b": {}} if side == "inputs" else {"theta": 0.8, "painted": "boxes"}
        changed = said | {side: less}
        (result / "result.json").write_text(json.dumps(changed))
        with pytest.raises(SimjudgeError, match="another simjudge, which kept too little"):
            certify([result], tmp_path / "dossier")


def test_scene_and_camera_of_a_rendered_set_are_named(files, tmp_path):
    for name in ("real", "sim"):
        (tmp_path / f"{name}.json").write_bytes((files / f"{name}.json").read_bytes())
    record = {
        "version": "9",
        "scene": {"name": "hall", "sha256": "5c"},
        "camera": {"name": "plain", "sha256": "ca"},
        "engine": {"name": "default", "variant": "x"},
        "seed": 7,
    }
    (tmp_path / "sim.json.render.json").write_text(json.dumps(record))
    (tmp_path / "real.json.render.json").write_text("{")
    found = certify([compared(tmp_path, tmp_path / "r")], tmp_path / "dossier")
    real, sim = json.loads((tmp_path / "dossier/dossier.json").read_text())["inputs"]["r"].values()
    assert real["rendered"] is None
    assert (sim["rendered"]["camera"], sim["rendered"]["scene_sha256"], sim["rendered"]["seed"]) == ("plain", "5c", 7)
    page = (tmp_path / "dossier/index.html").read_text()
    assert "camera plain" in page
    assert "nothing beside the set says" in page
    assert "1 record of a rendering that cannot be read" in found.losses.lines()[0]


def test_the_page_says_what_was_compared_and_what_it_is_no_evidence_for(dossier):
    page = (dossier / "index.html").read_text()
    facts = json.loads((dossier / "dossier.json").read_text())
    for name in facts["results"]:
        assert f"{name}: verdicts" in page
        said = json.loads((dossier / f"results/{name}/result.json").read_text())
        for side, given in facts["inputs"][name].items():
            assert said["inputs"][side]["sha256"] in page
            assert given["now"] == "unchanged"
    assert "no statement of conformity" in page
    assert facts["software"]["numpy"] == np.__version__


def test_inputs_that_have_changed_are_said(files, tmp_path):
    own = tmp_path / "sets"
    own.mkdir()
    for name in ("real", "sim"):
        (own / f"{name}.json").write_bytes((files / f"{name}.json").read_bytes())
    result = compared(own, tmp_path / "r")
    (own / "sim.json").write_text((own / "sim.json").read_text() + "\n")
    done = CliRunner().invoke(app, ["certify", str(result), "--out", str(tmp_path / "dossier")])
    assert done.exit_code == 3, done.output
    assert "input that has changed since the comparison" in done.output
    assert "changed since" in (tmp_path / "dossier/index.html").read_text()
    assert check(tmp_path / "dossier").returncode == 0  # the numbers are those of the files as they were


def test_results_that_cannot_be_computed_again_are_refused(files, tmp_path):
    result = compared(files, tmp_path / "r")
    said = json.loads((result / "result.json").read_text())
    for change, words in [
        ({"sensor": "lidar"}, "compares point clouds; certify takes comparisons of objects in pictures"),
        ({"task": "semantic"}, "compares label pictures; certify takes"),
        ({"certainty": "not yet"}, "was not found yet"),
    ]:
        (result / "result.json").write_text(json.dumps(said | {"parameters": said["parameters"] | change}))
        with pytest.raises(SimjudgeError, match=words):
            certify([result], tmp_path / "dossier")
        assert not (tmp_path / "dossier").exists()


def test_only_a_dossier_is_replaced(files, tmp_path):
    result = compared(files, tmp_path / "r")
    other = tmp_path / "other"
    other.mkdir()
    (other / "mine.txt").write_text("x")
    with pytest.raises(SimjudgeError):
        certify([result], other)
    assert (other / "mine.txt").exists()
    first = certify([result], tmp_path / "dossier")
    assert certify([result], tmp_path / "dossier").digest == first.digest
    (tmp_path / "dossier" / "results" / "mine.txt").write_text("x")
    with pytest.raises(SimjudgeError, match=r"holds 'results/mine.txt', which no manifest names"):
        certify([result], tmp_path / "dossier")
    assert (tmp_path / "dossier" / "results" / "mine.txt").exists()
