"""Series compared: what differs, the floor, what is counted, and how the rows are ordered."""

from functools import partial

import numpy as np
import pytest

from simjudge.core.errors import SimjudgeError
from simjudge.objects.series import Series
from simjudge.objects.series_comparison import compare_series, halves_difference
from simjudge.results.metric_rows import AGAIN, DIFFERS, HALVES, NOT_SHOWN, TOO_FEW, WITHIN_FLOOR

compare = partial(compare_series, shift_limit=1.0)
TIME = np.arange(150) / 15


def noisy(seed, level=5.0, spread=1.0):
    return level + spread * np.random.default_rng(seed).standard_normal(len(TIME))


def series(value, metric="box width", subject="cone 1", time=TIME, unit="px"):
    return Series(metric, unit, subject, np.asarray(time, float), np.asarray(value, float))


def only_row(real, virtual, *again):
    (row,) = compare([real], [virtual], again).rows
    return row


def test_a_difference_is_shown_with_means_and_interval():
    row = only_row(series(noisy(1)), series(noisy(2, 7.0)))
    assert row.verdict == DIFFERS
    assert row.means == pytest.approx((noisy(1).mean(), noisy(2, 7.0).mean()))
    assert row.difference.mean == pytest.approx(row.means[1] - row.means[0])
    assert row.difference.low < 2 < row.difference.high
    assert row.floor.source == HALVES
    assert row.times_floor == pytest.approx(abs(row.difference.mean) / row.floor.value)


@pytest.mark.parametrize(
    ("virtual", "again", "verdict"),
    [
        (noisy(3), (), NOT_SHOWN),
        (noisy(4, 5.8), (series(noisy(5, 6.5)),), WITHIN_FLOOR),
        (noisy(4, 9.0), (series(noisy(5, 6.5)),), DIFFERS),
        (np.full(150, np.nan), (), TOO_FEW),
    ],
)
def test_verdicts(virtual, again, verdict):
    row = only_row(series(noisy(1)), series(virtual), *again)
    assert row.verdict == verdict
    assert row.floor.source == (AGAIN if again else HALVES)


def test_a_floor_of_another_recording_that_lacks_the_object_is_that_of_halves():
    row = only_row(series(noisy(1)), series(noisy(2)), series(noisy(3), subject="cone 2"))
    assert row.floor.source == HALVES


def test_halves_of_a_steady_change_do_not_differ():
    assert halves_difference(TIME, 3 * TIME + 2) == pytest.approx(0, abs=1e-12)
    assert halves_difference(np.array([0, 1, 4.0]), np.array([0, 1, 4.0])) == pytest.approx([0], abs=1e-12)
    value = noisy(1)
    expected = [value[i] - (value[i - 1] + value[i + 1]) / 2 for i in range(1, 149, 2)]
    assert halves_difference(TIME, value) == pytest.approx(expected)


def test_frames_without_partner_or_value_are_counted():
    real, virtual = noisy(1), noisy(2)
    real[:4], virtual[3:9] = np.nan, np.nan
    row = only_row(series(real), series(virtual[:-10], time=TIME[:-10]))
    assert row.unpaired == (10, 0)
    assert row.missing == (3, 5, 1)
    assert row.difference.frames == 140 - 9
    assert np.isnan(row.real[:4]).all()


def test_rows_are_judged_together_and_those_that_differ_come_first():
    subjects = [f"cone {i}" for i in range(40)]
    real = [series(noisy(i), subject=name) for i, name in enumerate(subjects)]
    virtual = [
        series(noisy(100 + i, 5.0 + (3.0 if i == 20 else 1.0 if i == 30 else 0.0)), subject=s)
        for i, s in enumerate(subjects)
    ]
    rows = compare(real, virtual).rows
    single = [row for row in rows if row.is_single]
    assert [row.subject for row in single if row.verdict == DIFFERS] == ["cone 20", "cone 30"]
    assert [row.subject for row in rows[:3]] == ["all objects", "cone 20", "cone 30"]
    alone = [only_row(a, b).difference.p for a, b in zip(real, virtual, strict=True)]
    assert sum(p <= 0.05 for p in alone) > 2, "without Holm chance would add rows"


def test_the_shift_of_all_rows_is_their_median():
    real = [series(np.sin((1 + i) * TIME), subject=str(i)) for i in range(3)]
    virtual = [series(np.sin((1 + i) * (TIME - 0.1)), subject=str(i)) for i in range(3)]
    found = compare(real, virtual)
    assert found.rows[0].shift.seconds == pytest.approx(0.1, abs=0.005)
    assert found.shift == pytest.approx(0.1, abs=0.005)
    assert compare(real[:1], [series(TIME * 0, subject="0")]).shift is None


def test_what_one_side_alone_has_is_named():
    found = compare([series(noisy(1)), series(noisy(1), "piqe", "")], [series(noisy(2)), series(noisy(1), "points")])
    assert [row.metric for row in found.rows] == ["box width"]
    assert found.only_real == [("piqe", "")]
    assert found.only_virtual == [("points", "cone 1")]


@pytest.mark.parametrize(
    ("real", "virtual", "said"),
    [
        ([series(TIME), series(TIME)], [series(TIME)], "box width of cone 1: there are two series"),
        ([series(TIME)], [series(TIME, unit="m")], "its unit is px in real, m in virtual"),
    ],
)
def test_series_that_cannot_be_compared_are_refused(real, virtual, said):
    with pytest.raises(SimjudgeError, match=said):
        compare(real, virtual)


def test_what_differs_a_little_in_each_object_shows_in_all_of_them():
    subjects = [f"cone {i}" for i in range(30)]
    real = [series(noisy(i), subject=name) for i, name in enumerate(subjects)]
    virtual = [series(noisy(100 + i, 5.12), subject=name) for i, name in enumerate(subjects)]
    virtual[4].value[50:] = np.nan
    pooled, *single = compare(real, virtual).rows
    assert (pooled.subject, pooled.verdict) == ("all objects", DIFFERS)
    assert not any(row.verdict == DIFFERS for row in single)
    by_frame = [np.nanmean([b.value[i] - a.value[i] for a, b in zip(real, virtual, strict=True)]) for i in range(150)]
    assert pooled.difference.mean == pytest.approx(np.mean(by_frame))
    floors = [np.mean([halves_difference(TIME, a.value)[i] for a in real]) for i in range(74)]
    assert pooled.floor.difference == pytest.approx(floors)


def test_metrics_with_one_value_an_object_are_averaged_over_the_objects():
    first = np.array([0.0])
    names = [f"cone {i}" for i in range(12)]
    real = [series([i], "first sight", name, first, "s") for i, name in enumerate(names)]
    virtual = [series([i + 0.5 + 0.01 * (i % 3)], "first sight", name, first, "s") for i, name in enumerate(names)]
    pooled, *single = compare(real, virtual).rows
    assert (pooled.verdict, pooled.difference.frames, pooled.difference.block) == (DIFFERS, 12, 1)
    assert pooled.difference.mean == pytest.approx(0.51)
    assert {row.verdict for row in single} == {TOO_FEW}
