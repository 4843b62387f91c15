"""The Python front door: what it holds, and what importing it loads."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import simjudge as sj

HEAVY = ("numpy", "scipy", "numba", "cv2", "pyarrow", "onnxruntime", "rosbags", "typer", "rich", "yaml", "mitsuba")


def loaded_by(code):
    """The heavy packages that some code imports, in a process of its own."""
    asked = f"{code}\nimport sys\nprint(*[name for name in {HEAVY!r} if name in sys.modules])"
    return subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True).stdout.split()


def test_importing_it_loads_nothing():
    assert loaded_by("import simjudge; simjudge.__all__; dir(simjudge); simjudge.SimjudgeError") == []


@pytest.mark.parametrize("name", sj.__all__)
def test_every_name_is_there(name):
    assert name in dir(sj)
    assert getattr(sj, name).__doc__


def test_what_editors_see_is_what_is_there():
    tree = ast.parse(Path(sj.__file__).read_text(encoding="utf-8"))
    branch = next(n for n in tree.body if isinstance(n, ast.If))
    seen = {a.asname for n in branch.body if isinstance(n, ast.ImportFrom) for a in n.names if a.asname}
    for node in branch.body:
        if isinstance(node, ast.Assign):
            seen |= {name.id for name in ast.walk(node.targets[0]) if isinstance(name, ast.Name)}
    assert seen == set(sj.__all__)


def test_an_unknown_name():
    with pytest.raises(AttributeError, match="has no attribute 'reed'"):
        sj.reed  # noqa: B018


def test_the_command_line_loads_its_own_libraries_only():
    assert set(loaded_by("import simjudge.cli")) <= {"typer", "rich"}
