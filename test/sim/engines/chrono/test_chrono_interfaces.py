"""The package uses no name of PyChrono that its sources do not have; one line says when PyChrono is missing."""

import ast
import importlib.util
import re
from pathlib import Path

import pytest
from chrono_interfaces import ADDED, SINCE, VERIFIED

import simjudge.sim.engines.chrono as package
from simjudge.core.errors import SimjudgeError
from simjudge.geometry.poses import Pose
from simjudge.sim.engines.registry import make_engine
from simjudge.sim.scene.model import Scene

FOLDER = Path(package.__file__).parent
NAME = re.compile(r"(Ch[A-Z]\w+|[A-Z][A-Za-z0-9]*_[A-Z_]+|m_[a-z]+|vector_Ch\w+|color_\w+|[A-Z][a-z]+[A-Z]\w*)")
OTHERS = {
    "PathLike",
    "ArrayLike",
    "NDArray",
    "Generator",
    "PackageNotFoundError",
    "TemporaryDirectory",
    "Signals",
    "TimeoutExpired",
    "CompletedProcess",
}
"""Names of Python and NumPy that look like Chrono's."""


def known():
    return {name for names in VERIFIED.values() for name in names} | set(ADDED) | set(SINCE)


def chrono_names(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Attribute) and (NAME.fullmatch(node.attr) or re.match(r"[A-Z][a-z]", node.attr)):
            yield node.attr
        asks = isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("getattr", "hasattr")
        if asks and isinstance(node.args[1], ast.Constant):
            yield node.args[1].value
        if isinstance(node, ast.Constant) and re.fullmatch(r"(Ch|Get)[A-Z]\w+", str(node.value)):
            yield node.value


ASKING = sorted(FOLDER.glob("*.py"))


@pytest.mark.parametrize("path", ASKING, ids=lambda path: path.stem)
def test_every_name_is_verified(path):
    allowed = known() | OTHERS
    assert sorted(set(chrono_names(path)) - allowed - {"__init__"}) == []


def test_the_list_holds_nothing_that_is_not_used():
    text = "".join(path.read_text() for path in FOLDER.glob("*.py"))
    unused = [name for name in known() if len(name) > 2 and not re.search(rf"\b{re.escape(name)}\b", text)]
    assert unused == []


def test_without_pychrono_one_line_says_how_to_get_it():
    if importlib.util.find_spec("pychrono") is not None:
        pytest.skip("PyChrono is installed")
    with pytest.raises(SimjudgeError, match="conda install -c projectchrono -c conda-forge pychrono") as caught:
        make_engine("chrono", Scene("s", (), ()), None, Pose())
    assert "\n" not in str(caught.value)
    assert "3.12 or 3.13" in str(caught.value)
