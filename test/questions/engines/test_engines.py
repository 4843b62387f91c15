"""`simjudge doctor --brief engines` and `simjudge sim engines compare`, as a person runs them."""

import importlib.util
import json
import os
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
from support import processes

ROOT = Path(__file__).parents[3]
CAMERA = "size: [160, 90]\nfield_of_view: 80\nrate: 10\n"


def run(*arguments, cwd=None):
    command = [*processes.SIMJUDGE, *map(str, arguments)]
    return processes.run(command, capture_output=True, text=True, check=False, cwd=cwd)


def test_engines_say_what_they_are():
    done = run("info", "engines")
    assert done.returncode == 0, done.stderr
    assert "default: " in done.stdout
    if importlib.util.find_spec("pychrono") is None:
        assert "chrono: cannot run here" in done.stdout
        assert "conda install -c projectchrono" in done.stdout
    if importlib.util.find_spec("mujoco") is not None and importlib.util.find_spec("mitsuba") is not None:
        assert "MuJoCo " in done.stdout
        assert "variant " in done.stdout


def test_a_folder_called_engines_is_still_a_folder(tmp_path):
    (tmp_path / "engines").mkdir()
    done = run("info", "engines", cwd=tmp_path)
    assert done.returncode != 0
    assert "can run here" not in done.stdout


def test_a_missing_engine_is_one_line(tmp_path):
    if importlib.util.find_spec("pychrono") is not None:
        pytest.skip("PyChrono is installed")
    camera = tmp_path / "camera.yaml"
    camera.write_text(CAMERA)
    done = run("engines", "compare", "lab", "--camera", camera, "--a", "chrono", "-n", 1, "--out", tmp_path / "out")
    assert done.returncode == 1
    assert done.stderr.strip().splitlines()[-1].startswith("error: engine chrono: PyChrono is missing")
    assert not (tmp_path / "out").exists()


@pytest.mark.long
@pytest.mark.slow
def test_an_engine_agrees_with_itself(tmp_path):
    pytest.importorskip("mujoco", reason="MuJoCo (the extra `sim`) is not installed")
    pytest.importorskip("mitsuba", reason="Mitsuba (the extra `sim`) is not installed")
    camera, out = tmp_path / "camera.yaml", tmp_path / "out"
    camera.write_text(CAMERA)
    model = Path(__file__).parents[3] / "config" / "detectors" / "cones_red_green.yaml"
    done = run(
        *("engines", "compare", "lab", "--camera", camera, "--a", "default", "--b", "default"),
        *("-n", 3, "--model", model, "--out", out),
    )
    assert done.returncode in (0, 3), done.stderr
    found = json.loads((out / "numbers.json").read_text())
    assert found["agree"]
    assert found["corner_worst_px"] == 0
    assert found["picture_rms"] == [0, 0, 0]
    page = (out / "index.html").read_text()
    assert "Boxes agree" in page
    assert "The judge" in page
    assert (out / "result" / "result.json").is_file()
    assert len(list((out / "a" / "images").iterdir())) == 3


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The example engine of examples/, installed with its entry point into a folder of its own."""
    for needed in ("pip", "setuptools"):
        if importlib.util.find_spec(needed) is None:
            pytest.skip(f"{needed} is not installed")
    folder = tmp_path_factory.mktemp("site")
    source = folder / "source"
    shutil.copytree(ROOT / "examples" / "matte_engine", source)
    pip = [sys.executable, "-m", "pip", "install", "-q", "--no-index", "--no-deps", "--no-build-isolation"]
    processes.run([*pip, "--target", folder / "site", source], check=True, capture_output=True)
    return folder / "site"


def run_with(site, *arguments):
    path = os.pathsep.join([str(site), os.environ.get("PYTHONPATH", "")])
    command, environment = [*processes.SIMJUDGE, *map(str, arguments)], os.environ | {"PYTHONPATH": path}
    return processes.run(command, capture_output=True, text=True, check=False, env=environment)


@pytest.mark.long
def test_somebody_elses_engine_renders(site, tmp_path):
    camera, out = tmp_path / "camera.yaml", tmp_path / "out"
    camera.write_text("size: [48, 32]\nfield_of_view: 80\nrate: 10\nsupersampling: 1\n")
    done = run_with(site, "render", "lab", "--engine", "matte", "--camera", camera, "-n", 1, "--out", out)
    assert done.returncode == 0, done.stderr
    about = json.loads((tmp_path / "out.render.json").read_text())
    assert about["engine"] == {"name": "matte", "variant": f"NumPy {np.__version__}"}
    assert len(list(out.rglob("*.png"))) == 1
    listed = run_with(site, "info", "engines")
    assert "matte: can run here\n  registered by matte-engine 0.1.0 (matte_engine:MatteEngine)" in listed.stdout


def test_somebody_elses_engine_is_checked(site):
    done = run_with(site, "engines", "check", "matte_engine:MatteEngine")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "26 pass, 0 fail, 20 cannot be checked" in done.stdout
    assert "6 cannot be checked: engine matte has no physics" in done.stdout


def test_an_engine_that_breaks_the_contract_ends_with_exit_code_1(site, tmp_path):
    text = "from matte_engine import *\nclass Deaf(MatteEngine):\n    def set_pose(self, name, pose): pass\n"
    (tmp_path / "deaf.py").write_text(text)
    done = run_with(f"{site}{os.pathsep}{tmp_path}", "engines", "check", "deaf:Deaf")
    assert done.returncode == 1
    assert "fail: what is placed is there: pose of the crate that was placed: found" in done.stdout


def test_an_engine_that_is_not_there_is_one_line():
    done = run("engines", "check", "defualt")
    assert done.returncode == 2
    assert done.stderr == "error: engine 'defualt': no engine has this name; is default meant?\n"
