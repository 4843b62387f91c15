"""The bench of verdicts: what it counts, and a small form of it, which holds verdicts to account in every run."""

import dataclasses
import enum

import numpy as np
import pytest
from random_frames import made
from test_verdict_designs import bench_module

bench_module("told_units")
designs = bench_module("verdict_designs")
bench_module("verdict_tables")
verdicts = bench_module("verdicts")
DESIGNS, NOTHING, Difference = designs.DESIGNS, designs.NOTHING, designs.Difference
Trial = verdicts.Trial


class Code(str, enum.Enum):
    """As results have them."""

    PREDICTS = "predicts"


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ("large gap", "large_gap"),
        ("large_gap", "large_gap"),
        ("predicts within margin", "predicts"),
        (Code.PREDICTS, "predicts"),
        ("too few", "too_few"),
    ],
)
def test_verdicts_are_read_as_words_and_as_codes(given, code):
    assert verdicts.verdict_code(given) == code


def trials(*said, told=0.5):
    return [Trial(verdict, gap, low, high, told, 1.0) for verdict, gap, low, high in said]


def test_a_row_counts_what_was_said():
    said = trials(
        ("gap", 0.03, 0.01, 0.05),
        ("predicts", 0.0, 0.0, 0.02),
        ("cannot_tell", 0.01, 0.0, 0.1),
        ("too_few", None, None, None),
        ("too_few", None, None, None),
    )
    row = verdicts.Row.of_trials(DESIGNS["frames_50"], NOTHING, said)
    counted = (row.gaps, row.of_given, row.too_few, row.cannot_tell, row.predicts, row.holds, row.told)
    assert [(share.hits, share.trials) for share in counted] == [(1, 5), (1, 3), (2, 5), (1, 5), (1, 5), (2, 3), (0, 5)]
    assert row.mean == pytest.approx(0.04 / 3)
    assert row.median == 0.01
    assert row.truth == 0


def test_shares_have_the_exact_binomial_interval():
    low, high = verdicts.Share(1, 20).interval
    assert (low, high) == pytest.approx((0.00127, 0.24873), abs=1e-5)  # Clopper and Pearson's, as published
    assert str(verdicts.Share(0, 0)) == "-"


def faults(design, difference, *said, told=0.5):
    return verdicts.Row.of_trials(DESIGNS[design], difference, trials(*said, told=told)).faults()


HOLDS = ("cannot_tell", 0.0, 0.0, 0.3)


def test_faults_where_nothing_differs():
    assert faults("frames_50", NOTHING, *[HOLDS] * 100) == []
    assert faults("frames_50", NOTHING, *[HOLDS] * 90, *[("gap", 0.0, 0.0, 0.1)] * 10) == ["false gaps?"]
    assert faults("frames_50", NOTHING, *[HOLDS] * 70, *[("gap", 0.0, 0.01, 0.1)] * 30) == [
        "interval",
        "false gaps",
        "false gaps of the verdicts",
    ]
    assert faults("frames_50", NOTHING, *[("too_few", None, None, None)] * 90, *[HOLDS] * 10) == ["too few"]
    assert faults("slow_200", NOTHING, *[("too_few", None, None, None)] * 90, *[HOLDS] * 10) == []
    assert faults("frames_50", NOTHING, *[("cannot_tell", 0.02, 0.0, 0.1)] * 100) == ["median of G"]


def test_faults_where_something_differs():
    lower = Difference(0.1)
    found = ("large_gap", 0.1, 0.06, 0.14)
    assert faults("frames_50", lower, *[found] * 100, told=0.01) == []
    missed = ("predicts", 0.1, 0.02, 0.11)
    assert faults("frames_50", lower, *[missed] * 100, told=0.01) == ["power", "predicts"]
    assert faults("frames_50", lower, *[missed] * 100, told=0.5) == ["predicts"]
    assert faults("frames_50", lower, *[("large_gap", 0.07, 0.06, 0.14)] * 50) == ["bias"]
    assert faults("frames_50", lower, *[("large_gap", 0.1, 0.11, 0.14)] * 50) == ["interval"]


def test_power_on_independent_frames_is_held_against_that_of_permutations():
    found, missed = ("gap", 0.06, 0.01, 0.12), ("cannot_tell", 0.05, 0.0, 0.12)
    assert faults("frames_50", designs.SMALL_GAP, *[found] * 55, *[missed] * 45) == []
    assert faults("frames_50", designs.SMALL_GAP, *[found] * 30, *[missed] * 70) == ["power, earlier"]


def test_the_same_seed_gives_the_same_trial():
    tried = [verdicts.try_once(DESIGNS["frames_50"], NOTHING, 3, 99, 7) for _ in range(2)]
    assert vars(tried[0]) | {"seconds": 0} == vars(tried[1]) | {"seconds": 0}


@pytest.mark.parametrize("name", ["frames_50", "frames_classes", "slow_600", "sizes_80", "laps_random"])
def test_told_test_and_comparison_have_one_w1(name):
    """Two independent ways from boxes to W1: without anything in common but the specification."""
    design = DESIGNS[name]
    a, b = design.draw(np.random.default_rng(5))
    settings = verdicts.settings_of(design, 49, 1)
    found = verdicts.compare_pair(a.frames, b.frames, settings, precision=False)
    expected = verdicts.told_w1(a, b, settings)
    assert found.numbers.overall.mean_w1 == pytest.approx(expected, abs=1e-6)


def test_halves_of_a_set_share_no_photograph():
    names = [f"photo{number // 3}_jpg.rf.{number}" for number in range(30)]
    halves = verdicts.Halves(dataclasses.replace(made(0, 30), frame_name=names))
    assert halves.units == 5
    a, b = ({name.split("_")[0] for name in side.frames.frame_name} for side in halves.draw(np.random.default_rng(2)))
    assert len(a) == len(b) == 5
    assert not a & b
    row = verdicts.Row.of_trials(halves, NOTHING, [verdicts.try_once(halves, NOTHING, 1, 99, 0, None)])
    assert (row.truth, row.gaps.trials, row.told.trials) == (0, 1, 0)


def test_tables_have_a_row_for_each_difference():
    rows = list(verdicts.rows(["frames_50"], 4, 2, 49, 0))
    assert [row.difference for row in rows] == ["none", "gap 0.06", "gap 0.1", "gap 0.2"]
    assert [row.gaps.trials for row in rows] == [4, 4, 2, 2]
    text = verdicts.table(rows)
    assert len(text.splitlines()) == 3 + 1 + 5
    assert len({line.count("|") for line in text.splitlines()[:3]}) == 1


def test_a_run_that_is_cut_keeps_its_lines_and_has_its_tables(tmp_path, capsys, monkeypatch):
    file = tmp_path / "trials.jsonl"
    options = ["--designs", "room_30,frames_50", "--trials", "4", "--gap-trials", "2", "--draws", "49", "--jobs", "1"]
    monkeypatch.setattr("sys.argv", ["verdicts.py", *options, "--out", str(file)])
    verdicts.main()
    printed = capsys.readouterr().out
    assert len(file.read_text("utf-8").splitlines()) == 2 * (4 + 4 + 2 + 2)
    assert "| false gap | " in printed
    rows, read = list(verdicts.rows(["frames_50"], 4, 2, 49, 0)), verdicts.read_rows(file)
    timeless = [[dataclasses.replace(row, seconds=0) for row in each] for each in (rows, read[:4])]
    assert timeless[0] == timeless[1]
    file.write_text(file.read_text("utf-8")[:-30], "utf-8")
    assert sum(row.gaps.trials for row in verdicts.read_rows(file)) == 23
    monkeypatch.setattr("sys.argv", ["verdicts.py", "--table", str(file)])
    verdicts.main()
    cut = capsys.readouterr().out
    assert len(cut.splitlines()) == len(printed.splitlines())


def test_trials_fit_the_time_and_a_cut_run_has_tried_something_of_everything():
    wanted = verdicts.fitted_tasks(list(DESIGNS), 3000.0)
    spent = sum(task.seconds * count for task, count in wanted.items())
    assert 2400 < spent <= 3000
    parts = verdicts.parts_of(wanted, 199, 0)
    for task, count in wanted.items():
        numbers = [number for part in parts if part[0] == task for number in part[1]]
        assert sorted(numbers) == list(range(count))
    first = {part[0] for part in parts[: len(parts) // 3]}
    assert first == set(wanted)


SMALL = [
    "frames_50",
    "laps_laps_ids",
    "slow_600",
    "names_nanoseconds",
    "sizes_50",
    "crowds_50",
    "pairs_40",
    "kinds_25",
    "room_30",
    "drives_3_05",
    "drives_4_00",
    "drives_kinds_4",
    "drives_course_4",
]
"""A design of each kind."""


@pytest.mark.slow
@pytest.mark.parametrize("name", SMALL)
def test_small_form_of_the_bench_holds(name):
    """What chance may have done (see `Row.faults`) is no failure here; the bench itself has the trials to tell."""
    for row in verdicts.rows([name], 20, 6, 199, 0):
        assert [fault for fault in row.faults() if not fault.endswith("?")] == [], row
