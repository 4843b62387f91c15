"""What comparisons of runs metric by metric have in common: folders, tolerances, and tables of means by kind."""

import numpy as np
import pytest

from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.judging.compare_settings import check_contexts
from simjudge.judging.metric_comparison import MetricQuestion, MetricsFile, few_runs_note, share_of
from simjudge.judging.metric_page import by_side, kind_edges, kind_rows
from simjudge.results.metric_rows import MetricWords

QUESTION = MetricQuestion(
    "compare-things", "things.json", MetricsFile, lambda names: {"t.parquet": names}, "As real", MetricWords("runs", "")
)


def saved(*verdicts):
    rows = [
        {"metric": f"m{n}", "unit": "m", "compared": 3, "margin": 0.1, "verdict": verdict, "overlap_a": 0.954}
        for n, verdict in enumerate(verdicts)
    ]
    content = {"parameters": {}, "drawn": "runs", "metrics": rows, "notes": [], "losses": []}
    return QUESTION.saved("x", content, tables={"t.parquet": {}})


def test_the_headline_is_that_of_the_metric_that_fits_least():
    assert saved("predicts", "predicts").headline == "As real"
    assert saved("predicts", "large_gap", "cannot_tell").headline == "Large gap"
    assert saved("predicts").overlaps == ("95 %", "0 %")
    assert len(saved("predicts", "large_gap").table.rows) == 2
    assert repr(saved("predicts")).startswith("SavedMetrics(name='x'")


def test_a_folder_without_the_file_names_the_command(tmp_path):
    with pytest.raises(SimjudgeError, match=r"holds no things\.json; run simjudge compare-things first"):
        QUESTION.load(tmp_path)


def test_a_tolerance_not_given_is_a_share_of_what_is_seen_and_never_below_the_least():
    assert share_of(None, 0.25, 1.23456, 0.01) == 0.309
    assert share_of(None, 0.25, 0.001, 0.01) == 0.01
    assert share_of(0.5, 0.25, 100.0, 0.01) == 0.5
    assert few_runs_note("drives", "blocks").startswith("fewer than 6 drives on a side: blocks are drawn instead")


def test_means_by_kind_are_those_of_a_plain_loop():
    random = np.random.default_rng(0)
    table = {"side": random.integers(0, 2, 90).astype(float), "size": random.normal(size=90), "m": random.random(90)}
    edges = kind_edges(table["size"]).tolist()
    rows = kind_rows(table, "size", ["m"], "{:.3g} to {:.3g}".format)
    assert len(rows) == len(edges) - 1 == 3
    assert sum(int(count) for row in rows for count in row[1:3]) == 90
    for low, high, row in zip(edges, edges[1:], rows, strict=False):
        last = high == edges[-1]
        real, sim = (
            [
                table["m"][i]
                for i in range(90)
                if table["side"][i] == side and low <= table["size"][i] and (table["size"][i] < high or last)
            ]
            for side in (0, 1)
        )
        shown = [float(text) for text in row[3].split(" → ")]
        assert shown == pytest.approx([np.mean(real), np.mean(sim)], abs=1e-3)
        assert row[1:3] == [str(len(real)), str(len(sim))]


def test_rows_stand_below_their_side():
    class Sides:
        real, sim = [1], [2, 3]

    assert by_side(Sides, lambda n: [str(n)]) == ["real", ["1"], "simulated", ["2"], ["3"]]


def test_unknown_contexts_are_refused_with_those_that_are_known():
    check_contexts(["size"], ("size", "crowd"))
    for given in ((), ("light",)):
        with pytest.raises(UsageError, match="name one or more of size, crowd"):
            check_contexts(given, ("size", "crowd"))
