"""What the README shows of `simjudge demo` is what it finds."""

import re
from pathlib import Path

import pytest

from simjudge.questions.demo.run import SIMULATIONS, run_demo

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")
GAP = r"([\d.]+) \((?:95\s%: )?([\d.]+) to ([\d.]+)\)"


def row(first):
    """The cells of a row of the table."""
    line = next(line for line in TEXT.splitlines() if line.startswith(f"| {first} |"))
    return [cell.strip() for cell in line.strip("|").split("|")]


@pytest.mark.long
def test_the_table_is_what_the_demo_finds(tmp_path):
    found = run_demo(tmp_path / "out").results
    classes = dict(re.fullmatch(r"(.*) \((\d+)\)", cell).groups() for cell in row("pictures")[3:])
    for name, called in SIMULATIONS.items():
        _, verdict, gap, *shown = row(called)
        meaning, result = found[name].meaning, found[name]
        assert meaning.lower().startswith(f"{verdict}, in these recordings: ")
        # The last digits of scores differ between processors; the verdict and the gap to 0.01 do not.
        stated, printed = (re.search(GAP, text).groups() for text in (gap, meaning))
        assert [float(x) for x in stated] == pytest.approx([float(x) for x in printed], abs=0.01)
        by_class = {result.class_names[int(key)]: entry for key, entry in result.numbers.by_class.items()}
        assert {kind: by_class[kind].units_a for kind in classes} == {k: int(n) for k, n in classes.items()}
        for side, cells in (("a", row("photographs")[3:]), ("b", shown)):
            numbers = [getattr(by_class[kind], f"mean_performance_{side}") for kind in classes]
            assert [float(cell) for cell in cells] == pytest.approx(numbers, abs=0.01)
    control = str(next(iter(found.values())).control)
    assert row("photographs")[1].removeprefix("halves of them: ") in control.split("; ", maxsplit=1)[0]


def test_the_door_is_short():
    assert sum(bool(re.search(r"\w", word)) for word in re.sub(r"\]\([^)]*\)", "]", TEXT).split()) <= 450
