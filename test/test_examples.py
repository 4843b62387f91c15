"""The pages of Python run as they stand: docs/reference/python.md block by block, and the notebooks of examples/."""

import json
import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOKS = sorted((ROOT / "examples").glob("*.ipynb"))
NEEDS_THE_SIMULATOR = ("replay_and_judge",)
PAGE = ROOT / "docs/reference/python.md"
_BLOCK = re.compile(r"(?:<!-- (?P<note>[^\n]*) -->\n)?```python\n(?P<code>.*?)```", re.DOTALL)
_HAS_SIMULATOR = find_spec("mitsuba") is not None and find_spec("mujoco") is not None


@pytest.fixture
def folder(tmp_path):
    """A folder with the recordings that come with simjudge, and one beside it as examples/ is."""
    (tmp_path / "bags").symlink_to(ROOT / "bags", target_is_directory=True)
    (tmp_path / "examples").mkdir()
    return tmp_path


def run_code(code, folder):
    """Run Python in a process of its own, as a reader would; matplotlib draws into memory."""
    environment = {**os.environ, "MPLBACKEND": "agg", "PYTHONWARNINGS": "default"}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def page_blocks():
    """The blocks of docs/reference/python.md that can run here, in order."""
    found = _BLOCK.finditer(PAGE.read_text(encoding="utf-8"))
    kept = [m for m in found if m["note"] != "not run by the tests"]
    return [m["code"] for m in kept if _HAS_SIMULATOR or m["note"] != "needs the extra sim"]


@pytest.mark.long
@pytest.mark.slow
def test_the_page_of_python_runs(folder):
    blocks = page_blocks()
    assert len(blocks) >= 8
    printed = run_code("\n".join(blocks), folder)
    shown = PAGE.read_text(encoding="utf-8").split("```\nreal_stand_in.mcap: data set")[1]
    assert f"real_stand_in.mcap: data set{shown.split('```')[0]}" in printed
    for name in ("result.svg", "report.html", "result/result.json", "noisy.json"):
        assert (folder / name).exists(), name


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_a_notebook_runs(path, folder):
    if path.stem in NEEDS_THE_SIMULATOR and not _HAS_SIMULATOR:
        pytest.skip("the extra 'sim' is not installed")
    nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed")
    nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed")
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    resources = {"metadata": {"path": str(folder / "examples")}}
    nbclient.NotebookClient(notebook, timeout=500, kernel_name="python3", resources=resources).execute()


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_a_notebook_holds_no_outputs(path):
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    assert not any(cell.get("outputs") or cell.get("execution_count") for cell in cells)


def test_there_are_three_notebooks():
    assert [path.stem for path in NOTEBOOKS] == ["change_the_camera", "compare_two_sets", "replay_and_judge"]
