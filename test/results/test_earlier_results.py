"""Results that earlier versions saved: `earlier/words` is one of 26 November 2026, whose verdicts were words."""

from __future__ import annotations

import shutil
from pathlib import Path

import simjudge as sj
from simjudge.context.verdicts import Reason, Verdict
from simjudge.results.earlier_results import current_content
from simjudge.results.saved_result import load_result

WORDS = Path(__file__).parent / "earlier" / "words"


def test_a_result_whose_verdicts_are_words_is_read():
    result = load_result(WORDS)
    assert [entry.verdict for entry in result.entries] == [Verdict.PREDICTS, Verdict.PREDICTS, Verdict.TOO_FEW]
    assert [entry.numbers.verdict_reason for entry in result.entries] == ["", "", Reason.FEW_UNITS]
    assert [entry.verdict_words for entry in result.entries] == ["predicts within 0.4"] * 2 + ["too few"]


def test_report_shows_it(tmp_path):
    folder = tmp_path / "words"
    shutil.copytree(WORDS, folder)
    page = sj.report(folder, tmp_path / "page.html")
    assert page.sentences[0].startswith("words: all classes: Predicts within 0.4: no difference is shown")


def test_only_verdicts_and_reasons_change():
    earlier = {
        "overall": {"verdict": "predicts within margin", "verdict_reason": "", "note": "too few"},
        "comparisons": [{"overall": {"verdict_study": "cannot tell"}}],
        "metrics": [{"verdict": "too few", "verdict_reason": "short recording", "p_value": None}],
        "causes": [{"verdict": "cannot be told"}],
    }
    assert current_content(earlier) == {
        "overall": {"verdict": "predicts", "verdict_reason": "", "note": "too few"},
        "comparisons": [{"overall": {"verdict_study": "cannot_tell"}}],
        "metrics": [{"verdict": "too_few", "verdict_reason": "short_recording", "p_value": None}],
        "causes": [{"verdict": "cannot be told"}],
    }
    assert current_content(current_content(earlier)) == current_content(earlier)
