"""How objects show themselves: few lines, no whole arrays."""

import ast
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import simjudge
from simjudge.core.arrays import ShortRepr, Summary, SummaryTable
from simjudge.core.frames import FrameSet
from simjudge.core.object_tables import Masks, Objects, Predictions

SUMMARY = Summary("a<b", "kind", [("frames", "3"), SummaryTable(["class", "n"], [["cone", "12"], ["x", "1"]]), "end"])


def test_summary_as_text():
    assert SUMMARY.text().splitlines() == ["a<b: kind", "frames       3", "class   n", "cone   12", "x       1", "end"]


def test_summary_as_html_is_escaped():
    html = SUMMARY.html()
    assert html.startswith("<b>a&lt;b</b>: kind<table><tr><th")
    assert html.count("<table>") == html.count("</table>") == 3


@dataclass(frozen=True, repr=False)
class Holder(ShortRepr):
    array: np.ndarray
    many: list
    text: str


def test_short_repr():
    assert repr(Holder(np.zeros((3, 4)), list(range(9)), "x" * 99)) == (
        f"Holder(array=float64[3, 4], many=list of 9, text='{'x' * 59}...)"
    )


@pytest.fixture
def frames():
    count = 4000
    box = np.tile([1.0, 1, 5, 5], (count, 1))
    objects = Objects.build(np.arange(count), np.ones(count), box, masks=Masks.none(count))
    found = Predictions.build([0], [1], [[1, 1, 5, 5]], [0.5])
    size = np.full((count, 2), 9)
    stamp = np.arange(count) * 10**9
    return FrameSet.build("set", size, objects, found, class_names={1: "cone"}, stamp=stamp)


def test_a_set_shows_ten_lines(frames):
    lines = repr(frames).splitlines()
    assert lines[0] == "set: data set"
    assert "stamps       4000 frames, 0.000 s to 3999.000 s (3999.000 s)" in lines
    assert lines[-1].split() == ["1", "cone", "4000", "4000", "1"]
    assert len(lines) <= 10
    assert "<td>cone</td>" in frames._repr_html_()


@pytest.mark.parametrize("table", ["objects", "predictions"])
def test_tables_show_no_arrays(frames, table):
    assert len(repr(getattr(frames, table))) < 400


def dataclasses_with_arrays():
    """Public dataclasses of the library that hold an array in a field: (module, class, node)."""
    for path in sorted(Path(simjudge.__file__).parent.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.ClassDef) or node.name.startswith("_"):
                continue
            if not any("dataclass" in ast.unparse(decorator) for decorator in node.decorator_list):
                continue
            types = " ".join(ast.unparse(each.annotation) for each in node.body if isinstance(each, ast.AnnAssign))
            if re.search(r"NDArray|(Int|Float|Bool)Array|(Rgb|Bool)Image", types):
                yield f"{path.name}:{node.name}", node


def test_no_dataclass_dumps_its_arrays():
    found = dict(dataclasses_with_arrays())
    shown = {name for name, node in found.items() if not _is_short(node)}
    assert len(found) > 100
    assert shown == set()


def _is_short(node):
    own = any(isinstance(part, ast.FunctionDef) and part.name == "__repr__" for part in node.body)
    bases = {ast.unparse(base) for base in node.bases}
    quiet = any("repr=False" in ast.unparse(decorator) for decorator in node.decorator_list)
    return quiet and (own or bool({"ShortRepr", "SummaryRepr"} & bases))
