"""The page of a study shows what its steps compared, and pages of their own come beside it."""

from __future__ import annotations

from pathlib import Path

from made_results import made_contexts, made_set, write_result, write_sweep
from many_sets_results import write_many_sets

from simjudge.questions.study.file import Study
from simjudge.questions.study.run import StudyResult
from simjudge.questions.study.study import write_study_page
from simjudge.questions.study.work import StepRecord


def test_comparisons_sweeps_and_many_sets_are_shown(tmp_path: Path) -> None:
    table = made_contexts(*(made_set(name, seed, 6, pictures=False) for name, seed in (("a", 1), ("b", 2))))
    steps = (
        StepRecord("judged", "compare", write_result(tmp_path / "judged", table), 1.0),
        StepRecord("swept", "sweep", write_sweep(tmp_path / "swept", table), 1.0),
        StepRecord("all_pairs", "compare_sets", write_many_sets(tmp_path / "all_pairs"), 1.0),
    )
    study = Study("tried", "What predicts what?", "A <stand-in> of reality.", "tiny")
    write_study_page(StudyResult(study, tmp_path, steps), tmp_path / "index.html")
    page = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert "A &lt;stand-in&gt; of reality." in page
    assert "judged: gap" in page
    assert '<a href="judged.html">Verdicts, figures and galleries by class' in page
    assert "Mean W1 of" in page
    assert "14 settings of theta and patch" in page
    assert "all pairs: many sets, many nets" in page
    assert page.count('class="chart"') == 2 + 3 * 3 + 2 * 3  # pairs, many sets, the sweep along theta and patch
    for name in ("judged.html", "swept.html"):
        assert 'content="simjudge report"' in (tmp_path / name).read_text(encoding="utf-8")
