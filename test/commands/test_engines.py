"""`simjudge info engines` and `simjudge engines compare`, as a person runs them."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

SIMJUDGE = Path(sys.executable).with_name("simjudge")
CAMERA = "size: [160, 90]\nfield_of_view: 80\nrate: 10\n"


def run(*arguments, cwd=None):
    command = [SIMJUDGE, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=cwd)


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


@pytest.mark.slow
def test_an_engine_agrees_with_itself(tmp_path):
    pytest.importorskip("mujoco", reason="MuJoCo (the extra `sim`) is not installed")
    pytest.importorskip("mitsuba", reason="Mitsuba (the extra `sim`) is not installed")
    camera, out = tmp_path / "camera.yaml", tmp_path / "out"
    camera.write_text(CAMERA)
    model = Path(__file__).parents[2] / "config" / "detectors" / "cones_red_green.yaml"
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
