"""Results that earlier versions saved: `earlier/words` is one of 26 November 2026, whose verdicts were words."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import simjudge as sj
from simjudge.core.errors import SimjudgeError
from simjudge.method.verdicts import Reason, Verdict
from simjudge.questions.certify.dossier import certify
from simjudge.results.result_fields import current_content
from simjudge.results.saved_result import load_result

WORDS = Path(__file__).parent / "earlier" / "words"


def test_a_result_whose_verdicts_are_words_is_read():
    result = load_result(WORDS)
    assert [entry.verdict for entry in result.entries] == [Verdict.PREDICTS, Verdict.PREDICTS, Verdict.TOO_FEW]
    assert [entry.numbers.verdict_reason for entry in result.entries] == ["", "", Reason.FEW_UNITS]
    assert [entry.verdict_words for entry in result.entries] == ["predicts within 0.4"] * 2 + ["too few"]


def test_what_it_called_floor_and_excess_is_no_gap_and_the_other_numbers_are_kept():
    said, entry = json.loads((WORDS / "result.json").read_text())["overall"], load_result(WORDS).overall
    assert said["excess_w1"] > 0
    missing = {"gap", "gap_low", "gap_high", "noise", "noise_q95", "detectable_gap", "gap_share", "gap_size"}
    assert all(getattr(entry.numbers, name) is None for name in missing)
    kept = {name: value for name, value in entry.numbers.to_json().items() if name in said and name != "verdict"}
    assert kept == {name: said[name] for name in kept}
    assert {"mean_w1", "p_value", "p_adjusted", "overlap_a", "w1_quantiles", "map50_b"} < set(kept)
    assert entry.numbers.lacks_gap


def test_report_shows_it(tmp_path):
    folder = tmp_path / "words"
    shutil.copytree(WORDS, folder)
    page = sj.report(folder, tmp_path / "page.html")
    assert page.sentences[0].startswith("words: all classes: Predicts within 0.4: no difference is shown")
    assert all("Mean W1 is 0." in line for line in page.sentences[:2])
    assert all("no gap estimate; compare again." in line for line in page.sentences)


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
        "metrics": [{"verdict": "too_few", "verdict_reason": "few_units", "p_value": None}],
        "causes": [{"verdict": "cannot be told"}],
    }
    assert current_content(current_content(earlier)) == current_content(earlier)


def test_certify_asks_for_a_new_comparison(tmp_path):
    with pytest.raises(SimjudgeError, match="made by another simjudge, which kept too little; compare again"):
        certify([WORDS], tmp_path / "dossier")
