"""The programs of examples/chrono say how they are called, also where there is no PyChrono."""

import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "examples/chrono"


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.py")), ids=lambda path: path.stem)
def test_without_an_argument_a_program_says_how_it_is_called(path):
    done = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert f"python examples/chrono/{path.name} drive.mcap" in done.stderr
    assert "Traceback" not in done.stderr
