"""Numbers to messages: every field of result.json has its place, undefined is NaN, colours are fixed."""

import math

import numpy as np
import pytest
from random_frames import made

pytest.importorskip("rclpy", reason="rclpy is not installed: pip install simjudge[ros]")
pytest.importorskip("simjudge_msgs", reason="simjudge_msgs is not installed: make setup-ros")

from simjudge_msgs.msg import ClassSummary, ComparisonParameters, SetSummary

from simjudge.judging.compare_settings import CompareSettings
from simjudge.judging.live.judge import LiveJudge
from simjudge.judging.pair import compare_pair
from simjudge.judging.result_writing import comparison_parameters
from simjudge.method.entry_numbers import ComparisonNumbers, EntryNumbers
from simjudge.method.kinds import HiddenGap, KindDifference, KindDifferences
from simjudge.method.method import PRESETS, Method
from simjudge.method.verdicts import Verdict
from simjudge.nodes.diagnostics import OK, WARN
from simjudge.nodes.messages import make_header
from simjudge.nodes.validation_output import (
    contexts_message,
    marker_message,
    summary_message,
    text_message,
    verdict_state,
)
from simjudge.questions.watch import SummaryLine, summary_lines
from simjudge.results.metric_rows import verdict_words

SHORT = CompareSettings(patch=(120, 120), theta=0.3, draws=20, block=0.0)
HEAD = make_header(1_500_000_000, "camera")
SIDE = {
    "path": "",
    "name": "x",
    "sha256": "",
    "format": "yolo",
    "frames": 3,
    "objects": 4,
    "predictions": 5,
    "false_positives": 6,
    "predictions_path": None,
    "predictions_sha256": None,
    "units": 3,
}


def about(**settings):
    parameters = comparison_parameters(CompareSettings(**settings))
    return {"parameters": parameters, "inputs": {"a": SIDE, "b": SIDE}, "class_names": {"0": "cone", "1": "post"}}


NOT_ESTIMATED = {"gap_share", "gap_size", "adjusted_w1", "detectable_gap", "p_adjusted"}
"""Also undefined where there are too few units, or nothing to adjust."""


@pytest.mark.parametrize("far", [False, True])
def test_a_summary_holds_every_number(far):
    numbers = compare_pair(made(1, 12), made(2, 12, far), SHORT).numbers
    message = summary_message(HEAD, numbers, None, about(), ["1 thing: here"], 6)
    entries = [*zip(message.by_class, numbers.by_class.values(), strict=True), (message.overall, numbers.overall)]
    undefined = 0
    for entry, wanted in entries:
        fields = set(ClassSummary.get_fields_and_field_types())
        said_by_file = wanted.to_json()
        assert set(said_by_file) <= fields
        pointwise = {"pointwise_pairs", "pointwise_mean_difference"}
        assert fields - set(said_by_file) == {"class_id", "class_name"} | pointwise
        for name, value in said_by_file.items():
            said = getattr(entry, name)
            if name == "w1_quantiles":
                np.testing.assert_array_equal(said, [math.nan if v is None else v for v in value.values()])
            elif value is None:
                undefined += name not in NOT_ESTIMATED
                assert math.isnan(said)
            else:
                assert said == value
    assert (undefined > 0) == far
    assert [(e.class_id, e.class_name) for e in message.by_class] == [(0, "cone"), (1, "post")]
    assert (message.overall.class_id, message.losses, message.certainty_frames) == (-1, ["1 thing: here"], 6)
    assert list(message.by_class_reversed) == []
    assert math.isnan(message.overall_reversed.mean_w1)
    assert (message.header.stamp.sec, message.header.stamp.nanosec) == (1, 500_000_000)
    assert message.header.frame_id == "camera"


@pytest.mark.parametrize("preset", sorted(PRESETS))
def test_parameters_and_sets_have_their_places(preset):
    empty = ComparisonNumbers({}, EntryNumbers())
    message = summary_message(HEAD, empty, empty, about(preset=preset, model="x.onnx"), [], 0)
    said = message.parameters
    given = about(preset=preset, model="x.onnx")["parameters"]
    assert {"patch_height", "patch_width", *given} - {"patch"} == set(ComparisonParameters.get_fields_and_field_types())
    assert [said.patch_height, said.patch_width] == given["patch"]
    for name in set(given) - {"patch", "mask_factor", "block"}:
        assert getattr(said, name) == ("" if given[name] is None else given[name])
    for name in ("mask_factor", "block"):
        assert getattr(said, name) == given[name] or (math.isnan(getattr(said, name)) and given[name] is None)
    assert set(SIDE) == set(SetSummary.get_fields_and_field_types())
    for name, value in SIDE.items():
        assert getattr(message.a, name) == ("" if value is None else value)


@pytest.mark.parametrize("live_is_a", [False, True])
def test_contexts_of_live_frames(live_is_a):
    judge = LiveJudge(made(1), Method(theta=0.3), live_is_a=live_is_a)
    live = made(2)
    judged = None
    for index in range(len(live)):
        judged = judge.add_frame(live.take([index]))
        judge.numbers()
    message = contexts_message(HEAD, judged, live_is_a=live_is_a)
    assert (message.image_width, message.image_height) == (640, 480)
    assert message.frame_name == live.frame_name[-1]
    assert len(message.contexts) == 4
    comparisons = {k: judge._classes[k].comparison() for k in (0, 1)}
    for row, context in enumerate(message.contexts):
        assert (context.set, context.object) == (0 if live_is_a else 1, row)
        assert context.class_name == {0: "cone", 1: "post"}[context.class_id]
        assert [context.box.x0, context.box.y1] == judged.frames.objects.box[row][[0, 3]].tolist()
        assert context.performance == judged.assignment.performance[row]
        assert context.has_prediction == (judged.assignment.prediction[row] >= 0)
        assert math.isnan(context.score) != context.has_prediction
        same = [i for i in range(4) if judged.frames.objects.class_id[i] == context.class_id]
        at = same.index(row) - len(same)
        if live_is_a and context.compared:
            comparison = comparisons[context.class_id]
            assert (context.w1, context.mean_difference) == (comparison.w1[at], comparison.difference[at])
            assert [context.batch_a, context.batch_b] == comparison.batch[at].tolist()
        else:
            assert math.isnan(context.w1)
            assert (context.batch_a, context.batch_b) == (0, 0)
        assert context.in_overlap == judged.in_overlap[row]
    assert any(c.in_overlap for c in message.contexts)


def test_markers_say_verdict_and_numbers():
    numbers = compare_pair(made(1), made(2, far=True), CompareSettings(draws=0)).numbers
    markers = marker_message(HEAD, summary_lines(numbers, {"0": "cone", "1": "post"})).markers
    assert markers[0].action == markers[0].DELETEALL
    assert [m.text for m in markers[1:]] == [
        f"{name}: no overlap\nW1 -, overlap 0.000 / 0.000" for name in ("all classes", "cone", "post")
    ]
    assert {m.header.frame_id for m in markers} == {"camera"}
    assert [m.id for m in markers] == [-1, 0, 1, 2], "RViz shows an array with a number twice as an error"
    assert all(0 < m.scale.x < m.scale.z for m in markers[1:]), "RViz's width of a space"
    rows = [m.pose.position.y for m in markers[1:]]
    assert rows == sorted(rows), "from above down, in an optical frame"
    assert rows[-1] < -0.375, "above a picture that is 1 m wide and 4:3"


@pytest.mark.parametrize("verdict", Verdict)
def test_diagnostics_warn_unless_a_gap_of_the_margin_is_ruled_out(verdict):
    entry = EntryNumbers(mean_w1=0.25, gap=0.2, gap_low=0.1, gap_high=0.3, verdict=verdict)
    state = verdict_state(entry, summary_lines(ComparisonNumbers({"0": entry}, entry), {"0": "cone"}))
    assert (state.level == OK) == (verdict in {Verdict.PREDICTS, Verdict.SMALL_GAP, Verdict.NOT_TESTED})
    assert state.level in (OK, WARN)
    assert state.message == f"all classes: {verdict_words(verdict, 0.05)}"
    assert {
        "gap": "0.2000",
        "gap_low": "0.1000",
        "gap_high": "0.3000",
        "mean_w1": "0.2500",
    }.items() <= state.values.items()
    assert "noise" not in state.values, "what is not computed is left out"


def test_one_text_has_all_lines_and_stays_with_the_camera():
    lines = [
        SummaryLine("all classes: gap", "W1 0.125", (255, 0, 51)),
        SummaryLine("cone: not tested", "W1 0.250", (0, 255, 0)),
    ]
    text = text_message(HEAD, lines)
    assert (text.type, text.action) == (text.TEXT_VIEW_FACING, text.ADD)
    assert text.text == "all classes: gap, W1 0.125\ncone: not tested, W1 0.250"
    assert (text.header.frame_id, text.header.stamp.sec, text.frame_locked) == ("camera", 0, True)
    assert 0 < text.scale.x < text.scale.z, "RViz's width of a space"
    assert (text.color.r, text.color.g, text.color.b, text.color.a) == pytest.approx((1.0, 0.0, 0.2, 1.0))
    assert text.pose.position.y < 0, "up, in an optical frame"
    assert text.scale.z > 0


def test_a_summary_names_the_place_that_its_verdict_hides_and_what_is_certain_at_every_look():
    kind = KindDifference("cone, under 24 px high, on the left", 2, 41, 0.8, 0.3, -0.6, -0.4, 0.002)
    numbers = ComparisonNumbers({}, EntryNumbers(verdict=Verdict.PREDICTS))
    sequential = {"blocks": 7, "difference": -0.02, "low": -0.2, "high": 0.1, "verdict": "open", "block": 2.0}
    given = about()
    given["inputs"] = {"a": SIDE, "b": SIDE | {"sequential": sequential}}
    hidden = HiddenGap.find(Verdict.PREDICTS, 0.05, KindDifferences(130, kind, (kind,)))
    message = summary_message(HEAD, numbers, None, given, [], 6, hidden)
    said = message.hidden_gap
    assert (said.kind, said.contexts, said.tested) == (kind.kind, 41, 130)
    assert (said.performance_a, said.performance_b, said.difference) == (0.8, 0.3, -0.5)
    assert (said.low, said.high, said.p) == (-0.6, -0.4, 0.002)
    said = message.sequential
    assert (said.blocks, said.difference, said.low, said.high, said.verdict) == (7, -0.02, -0.2, 0.1, "open")
    lines = summary_lines(numbers, {}, hidden=hidden)
    words = (
        "not everywhere: in cone, under 24 px high, on the left the gap is 0.50 (p = 0.002 over 130 kinds of contexts)"
    )
    assert lines[1].text == words
    assert marker_message(HEAD, lines).markers[2].text == words
    assert text_message(HEAD, lines).text.splitlines()[1] == words
    none = summary_message(HEAD, numbers, None, about(), [], 6)
    assert (none.hidden_gap.kind, none.hidden_gap.tested, none.sequential.verdict) == ("", 0, "")
    assert math.isnan(none.hidden_gap.difference)
    assert math.isnan(none.sequential.low)


@pytest.mark.parametrize("verdict", Verdict)
def test_only_a_verdict_within_the_margin_hides_a_gap_of_the_margin_or_more(verdict):
    kind = KindDifference("on the left", 1, 41, 0.8, 0.7, -0.15, -0.05, 0.01)
    where = KindDifferences(130, kind, (kind,))
    hides = verdict in (Verdict.PREDICTS, Verdict.SMALL_GAP)
    assert (HiddenGap.find(verdict, 0.05, where) is not None) == hides
    assert HiddenGap.find(verdict, 0.2, where) is None
    assert HiddenGap.find(verdict, 0.05, None) is None
