"""The KRC experiment from its drive to its page, in a tiny size: small pictures, few beams, three seconds."""

import json
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from simjudge.commands.app import app
from simjudge.core.installed import STUDY, find_file
from simjudge.data.sets import read_clouds, read_set
from simjudge.questions.study.file import read_study
from simjudge.questions.study.study import VERBS
from simjudge.results.saved_result import read_findings

pytest.importorskip("mujoco", reason="MuJoCo (the extra `sim`) is not installed")
pytest.importorskip("mitsuba", reason="Mitsuba (the extra `sim`) is not installed")

FOLDER = find_file("krc", STUDY).parent


def tiny_study(folder):
    """The shipped study with cameras of 160 x 90, lidars of 450 columns, and three seconds."""
    content = yaml.safe_load((FOLDER / "krc.yaml").read_text())
    content["sizes"] = {"small": {"rate": 4, "seconds": 3, "part": 2}}
    for name in ("objects_ideal", "objects_physical"):
        del content["steps"][name]["objects"]["pole_class"]  # none is near within two seconds
    (folder / "krc").mkdir()
    for path in (FOLDER / "krc").glob("*.yaml"):
        fields = yaml.safe_load(path.read_text())
        if path.name.startswith("camera"):
            fields |= {"size": [160, 90], "supersampling": 1}
            fields.pop("exposure_samples", None)
        elif path.name.startswith("lidar"):
            fields["roof"] |= {"columns": 450, "samples": 1}
        else:
            fields["min_area"] = 4
        (folder / "krc" / path.name).write_text(yaml.safe_dump(fields))
    file = folder / "tiny.yaml"
    file.write_text(yaml.safe_dump(content, sort_keys=False))
    return file


@pytest.mark.parametrize("size", ["small", "full"])
def test_the_shipped_study_says_what_can_be_done(size):
    study = read_study("krc", VERBS, size)
    assert study.stands_in
    assert {step.verb for step in study.steps} <= set(VERBS)
    real = study.steps[0]
    assert (real.verb, real.arguments["driver"]) == ("drive", "straight")
    assert isinstance(real.arguments["camera"], Path)
    assert 60 / real.arguments["rate"] in (4, 8), "a camera of 60 Hz, thinned"
    assert [step.needs for step in study.steps[1:5]] == [("real",)] * 4


@pytest.mark.slow
@pytest.mark.long
def test_from_the_drive_to_the_page(tmp_path):
    file, out = tiny_study(tmp_path), tmp_path / "out"
    done = CliRunner().invoke(app, ["study", "run", str(file), "--out", str(out)])
    assert done.exit_code in (0, 3), done.output
    page = (out / "index.html").read_text()
    assert "Reality is simulated in this study." in page
    assert "97.23%" in page
    assert page.count("data:image/png") == 2
    found = read_findings(out / "findings")
    assert [each.name for each in found] == [
        "Occupancy maps, ideal lidar",
        "Occupancy maps, physical lidar",
        "Thin poles",
        "Motion lengthens barriers",
        "Boxes flicker",
        "A wider field",
        "A wrong alignment",
    ]
    real, ideal = (read_set(out / f"{name}.mcap") for name in ("real", "ideal"))
    assert real.stamp.tolist() == ideal.stamp.tolist()
    clouds = [read_clouds(out / f"{name}.mcap") for name in ("real", "ideal", "physical")]
    assert all(each.stamp.tolist() == clouds[0].stamp.tolist() for each in clouds)
    assert all(len(each.poses) == len(each.stamp) for each in clouds)
    for name in ("objects_ideal", "objects_physical"):
        assert f'href="{name}.html"' in page
        rows = json.loads((out / name / "objects.json").read_text())["rows"]
        assert {"box height", "piqe"} <= {row["metric"] for row in rows}
        assert any(row["subject"].startswith("orange barrier") for row in rows)
        assert (out / f"{name}.html").stat().st_size > 10_000
    before = {path: path.stat().st_mtime_ns for path in out.glob("*.mcap")}
    again = CliRunner().invoke(app, ["study", "run", str(file), "--out", str(out)])
    assert again.exit_code == done.exit_code
    assert before == {path: path.stat().st_mtime_ns for path in out.glob("*.mcap")}
