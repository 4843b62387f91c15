"""What the README shows of `simjudge demo` is what it prints."""

import re
from pathlib import Path

import pytest

from simjudge.questions.demo.run import SIMULATIONS, run_demo

ROOT = Path(__file__).parents[1]


@pytest.mark.slow
def test_the_verdicts_are_those_of_the_demo(tmp_path):
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    found = run_demo(tmp_path / "out")
    for name, called in SIMULATIONS.items():
        shown = re.search(rf"^{called}: (.*?)\n\n?", text, re.MULTILINE)
        assert shown, called
        # The last digits of scores differ between processors; the verdict and the gap to 0.01 do not.
        words, printed = shown[1].split(), found.results[name].meaning.split()
        assert len(words) <= len(printed)
        for word, other in zip(words, printed, strict=False):
            if re.fullmatch(r"[\d.]+[,;.)]?", word):
                assert abs(float(word.strip(",;.)")) - float(other.strip(",;.)"))) <= 0.01
            else:
                assert word == other
