"""The Python of docs/guides/figures.md makes the figures that it says, from saved results."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import pytest
from made_results import made_contexts, made_set, write_result
from many_sets_results import write_many_sets
from pages import ROOT, blocks

from simjudge.page import figures as figure_files

CODE = blocks((ROOT / "docs/guides/figures.md").read_text(encoding="utf-8"), "python")
MADE = {
    "w1_vs_overlap.pdf": "%PDF",
    "figures/overview.csv": "panel,",
    "histogram.svg": "<?xml",
    "w1_by_height.pdf": "%PDF",
    "bars.pdf": "%PDF",
    "matrix.pdf": "%PDF",
}


@pytest.mark.slow
def test_every_snippet_runs_and_makes_its_figure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    sets = [made_set(name, seed, 6, classes=(1,), pictures=False) for name, seed in (("a", 1), ("b", 2))]
    write_result(tmp_path / "result", made_contexts(*sets), names={"1": "red"})
    write_many_sets(tmp_path / "compared")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(figure_files, "PNG_DPI", 40.0)  # drawn quickly
    mpl.use("agg")
    for number, code in enumerate(CODE):
        exec(compile(code, f"snippet {number}", "exec"), {})  # noqa: S102 - our own page
    for name, start in MADE.items():
        assert (tmp_path / name).read_bytes().startswith(start.encode()), name
    said = capsys.readouterr().out
    assert "performance_distributions_1_red" in said
    assert "real-sim" in said
