"""An ablation: the bars are comparisons of their own, and the ranking follows from the verdicts."""

import csv

import pytest
from ablation_sets import CHANGES, SETTINGS, ablation_predictions

from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.method.entry_numbers import EntryNumbers
from simjudge.method.verdicts import Verdict
from simjudge.questions.ablation import (
    AS_FAR,
    DIFFERS,
    DISAGREE,
    FARTHER,
    NEARER,
    NOT_WORTH,
    PREDICTS_REALITY,
    QUESTIONS,
    TRAINED_BASELINE,
    TRAINED_REALITY,
    UNKNOWN,
    WORTH,
    compare_distance,
    compare_variants,
    is_ablation,
    load_ablation,
    rank_verdict,
)
from simjudge.questions.compare.result import compare
from simjudge.results.saved_result import ResultEntry


@pytest.fixture(scope="module")
def predictions():
    return ablation_predictions()


@pytest.fixture(scope="module")
def ablation(predictions, tmp_path_factory):
    out = tmp_path_factory.mktemp("ablation") / "out"
    return compare_variants(predictions, out, changes=CHANGES, **SETTINGS), out


def test_each_bar_is_the_comparison_of_its_question(ablation, predictions):
    result, _ = ablation
    at, every = predictions, ("baseline", "pinhole", "noise")
    expected = {
        PREDICTS_REALITY: {name: (at["real"]["real"], at["by_real"][name]) for name in every},
        DIFFERS: {name: (at["by_baseline"]["baseline"], at["by_baseline"][name]) for name in ("pinhole", "noise")},
        TRAINED_REALITY: {
            "baseline": (at["real"]["baseline"], at["by_baseline"]["baseline"]),
            "pinhole": (at["real"]["pinhole"], at["by_itself"]["pinhole"]),
        },
        TRAINED_BASELINE: {"pinhole": (at["baseline_by"]["pinhole"], at["by_itself"]["pinhole"])},
    }
    assert list(expected) == list(QUESTIONS)
    for question, bars in expected.items():
        answers = result.answers(question)
        assert [each.variant for each in answers] == list(bars)
        for answer in answers:
            alone = compare(*bars[answer.variant], paired=True, **SETTINGS).content["overall"]
            entry = answer.entry("overall")
            assert entry.label == answer.variant
            assert entry.numbers.mean_w1 == pytest.approx(alone["mean_w1"], rel=1e-12)
            assert entry.verdict == entry.numbers.verdict_study
            assert answer.entry("9") is None


def test_the_ranking_tells_what_matters_from_what_does_not(ablation):
    result, _ = ablation
    first, second = result.ranking()
    assert (first.variant, first.verdict, first.direction, first.trained) == ("pinhole", WORTH, FARTHER, True)
    assert (second.variant, second.trained) == ("noise", False)
    assert second.verdict in (NOT_WORTH, UNKNOWN)
    assert second.direction == AS_FAR
    assert first.effect > 0.2 > second.effect
    largest = max(
        answer.entry("overall").numbers.gap
        for question in (DIFFERS, TRAINED_BASELINE)
        for answer in result.answers(question)
        if answer.variant == "pinhole"
    )
    assert first.effect == largest


def test_gaps_to_reality_stand_in_the_ranking(ablation):
    result, _ = ablation

    def gap(question, variant):
        return next(each for each in result.answers(question) if each.variant == variant).entry("overall").numbers.gap

    pinhole, noise = result.ranking()
    assert (pinhole.seen_gap, noise.seen_gap) == tuple(gap(PREDICTS_REALITY, name) for name in ("pinhole", "noise"))
    assert (pinhole.learnt_gap, noise.learnt_gap) == (gap(TRAINED_REALITY, "pinhole"), None)


def test_one_net_judges_all_where_none_learnt_from_simulation(predictions, tmp_path):
    given = {"real": {"real": predictions["real"]["real"]}, "by_real": predictions["by_real"]}
    result = compare_variants(given, tmp_path / "out", changes=CHANGES, **SETTINGS)
    assert (result.trained, result.judge, result.sets.nets) == ((), "real", ("real",))
    assert [len(result.answers(question)) for question in QUESTIONS] == [3, 2, 0, 0]
    for answer in result.answers(DIFFERS):
        pair = given["by_real"]["baseline"], given["by_real"][answer.variant]
        alone = compare(*pair, paired=True, **SETTINGS).content["overall"]
        assert answer.entry("overall").numbers.mean_w1 == pytest.approx(alone["mean_w1"], rel=1e-12)
    assert {each.learnt_gap for each in result.ranking()} == {None}
    again = load_ablation(tmp_path / "out")
    assert (again.ranking(), again.trained, again.judge) == (result.ranking(), (), "real")
    with pytest.raises(UsageError, match="real has none for baseline"):
        compare_variants({**given, "by_itself": predictions["by_itself"]}, changes=CHANGES, **SETTINGS)


def test_a_saved_ablation_is_read_again(ablation):
    result, out = ablation
    again = load_ablation(out)
    assert is_ablation(out)
    assert not is_ablation(out.parent)
    assert (again.ranking(), again.trained, again.changes) == (result.ranking(), result.trained, result.changes)
    with (out / "ablation.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["question"] for row in rows[::3]] == 3 * [PREDICTS_REALITY] + 2 * [DIFFERS] + 2 * [TRAINED_REALITY] + [
        TRAINED_BASELINE
    ]
    entry = result.answers(DIFFERS)[0].entry("overall")
    found = next(row for row in rows if row["question"] == DIFFERS and row["class"] == "all classes")
    assert float(found["mean_w1"]) == entry.numbers.mean_w1
    assert found["verdict_study"] == entry.verdict
    (out / "ablation.json").write_text("{}")
    with pytest.raises(SimjudgeError, match=r"ablation\.json: .*real"):
        load_ablation(out)


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [
        ([Verdict.PREDICTS, Verdict.PREDICTS], NOT_WORTH),
        ([Verdict.PREDICTS, Verdict.SMALL_GAP], NOT_WORTH),
        ([Verdict.PREDICTS, Verdict.CANNOT_TELL], UNKNOWN),
        ([Verdict.NO_OVERLAP], UNKNOWN),
        ([], UNKNOWN),
        ([Verdict.CANNOT_TELL, Verdict.GAP], WORTH),
        ([Verdict.LARGE_GAP, Verdict.PREDICTS], WORTH),
    ],
)
def test_the_rule_of_the_ranking(verdicts, expected):
    assert rank_verdict(verdicts) == expected


@pytest.mark.parametrize(
    ("variant", "verdict", "expected"),
    [
        ((0.01, 0.04), Verdict.PREDICTS, NEARER),
        ((0.01, 0.06), Verdict.PREDICTS, AS_FAR),
        ((0.21, 0.3), Verdict.GAP, FARTHER),
        ((None, None), Verdict.NO_OVERLAP, AS_FAR),
    ],
)
def test_nearer_and_farther_need_intervals_apart(variant, verdict, expected):
    assert compare_distance(_entry(*variant, verdict), _entry(0.05, 0.2, Verdict.GAP)) == expected


def _entry(low, high, word=Verdict.GAP):
    return ResultEntry("overall", "x", EntryNumbers(gap_low=low, gap_high=high, verdict_study=word))


NEAR, FAR, BETWEEN = _entry(0.0, 0.04), _entry(0.3, 0.4), _entry(0.1, 0.15)


@pytest.mark.parametrize(
    ("variant", "baseline", "expected"),
    [
        ((BETWEEN, None), (BETWEEN, BETWEEN), AS_FAR),
        ((NEAR, None), (BETWEEN, NEAR), NEARER),  # no net of its own: that of the baseline says nothing of it
        ((BETWEEN, NEAR), (BETWEEN, FAR), NEARER),
        ((BETWEEN, FAR), (BETWEEN, NEAR), FARTHER),
        ((NEAR, NEAR), (FAR, BETWEEN), NEARER),
        ((NEAR, FAR), (FAR, NEAR), DISAGREE),
    ],
)
def test_the_direction_is_that_of_the_net_of_reality_and_of_the_variants_own(ablation, variant, baseline, expected):
    result, _ = ablation
    entries = {"noise": list(variant), "pinhole": [BETWEEN, None], "baseline": list(baseline)}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(result), "reality_entries", lambda _, name: entries[name])
        assert next(each for each in result.ranking() if each.variant == "noise").direction == expected


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda given: given["real"].pop("pinhole"), "real has none for pinhole"),
        (lambda given: given["by_baseline"].pop("noise"), "by_baseline has none for noise"),
        (lambda given: given.pop("baseline_by"), "baseline_by has none for pinhole"),
        (lambda given: given.update(by_gan={}), "by_gan is no table"),
        (lambda given: given["by_itself"].update(pinhol=None), "pinhol is no variant; is pinhole meant"),
        (lambda given: given["by_real"].update(fog=None), "by_baseline has none for fog"),
        (lambda given: given.update(by_real={}), "by_real needs a variant"),
    ],
)
def test_missing_predictions_are_named(predictions, change, says):
    given = {name: dict(table) for name, table in predictions.items()}
    change(given)
    with pytest.raises(UsageError, match=says):
        compare_variants(given, changes=CHANGES, **SETTINGS)
    with pytest.raises(UsageError, match="changes: pinhole has no phrase"):
        compare_variants(predictions, changes={}, **SETTINGS)


def test_real_frames_are_no_twins_where_the_study_says_so(predictions):
    given = {"real": {"real": predictions["real"]["real"]}, "by_real": predictions["by_real"]}
    result = compare_variants(given, changes=CHANGES, real_is_twin=False, **SETTINGS)
    paired = {(each.a, each.b): each.paired for each in result.sets.comparisons}
    assert paired == {
        ("real", "baseline"): False,
        ("real", "pinhole"): False,
        ("real", "noise"): False,
        ("baseline", "pinhole"): True,
        ("baseline", "noise"): True,
    }
