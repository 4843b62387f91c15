"""What to do after each verdict. test/method/test_coverage.py tests the forecast of frames."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from simjudge.method.entry_numbers import EntryNumbers
from simjudge.method.verdicts import Verdict
from simjudge.questions.compare.facts import next_step
from simjudge.results.result_header import ResultHeader
from simjudge.results.saved_result import Result, ResultEntry

SURE = {
    "mean_w1": 0.1,
    "gap": 0.02,
    "gap_high": 0.1,
    "detectable_gap": 0.08,
    "margin": 0.05,
    "units_a": 41,
    "units_b": 9,
    "overlap_a": 0.9,
    "verdict_reason": "",
}


def made(verdict: str, classes: tuple[ResultEntry, ...] = (), paired: bool = False, **more: object) -> Result:
    inputs = {"a": {"name": "hall"}, "b": {"name": "sim"}}
    header = {"parameters": {"paired": paired}, "inputs": inputs}
    overall = ResultEntry("overall", "all classes", EntryNumbers.from_json(SURE | {"verdict": verdict} | more))
    return Result("r", Path(), ResultHeader.from_json(header), overall, classes, None)


@pytest.mark.parametrize(
    ("result", "said"),
    [
        (made("large_gap"), "simjudge explain says which part of the camera causes it"),
        (made("gap"), "About 4 times as many independent units (170 of A and 36 of B) would tell whether"),
        (made("small_gap"), "If differences below 0.05 do not matter to you, use B (sim). Otherwise: "),
        (made("predicts"), "Use B (sim) in place of A (hall) to test this detector, in contexts that it"),
        (made("predicts", overlap_a=0.2), "but only in the 20\u00a0% of contexts that it shows"),
        (made("cannot_tell"), "About 4 times as many"),
        (made("cannot_tell"), "simjudge plan --paired says whether pairs need fewer"),
        (made("cannot_tell", gap_high=0.06, detectable_gap=0.07), "About 2.0 times as many independent units (81 "),
        (made("cannot_tell", margin=0.005), "more than 100 times as many would be needed"),
        (made("cannot_tell", margin=0.0), "Record more frames."),
        (
            made("too_few", verdict_reason="few_units"),
            "6 independent units of each set are the least, and 50 are a good start.",
        ),
        (made("too_few", verdict_reason="lone_units"), "at a lower --theta"),
        (made("too_few", verdict_reason="uneven_units"), "Record longer, at new places and of new things"),
        (made("too_few", verdict_reason="never_predicted"), "--rename"),
        (made("too_few", verdict_reason="few_draws"), "more --draws"),
        (made("no_overlap"), "simjudge compare --sweep shows whether a lower --theta or a smaller --patch"),
        (made("not_tested"), "without --draws 0"),
        (made("detector_fails"), "Take a detector that works on one of"),
        (
            made("large_gap", recall_a=0.0, recall_b=0.7),
            "Look at the pictures of A with its labels",
        ),
        (made("too_few", map50_a=0.4, map50_b=0.0), "the detector fails in B, and the verdict"),
    ],
)
def test_every_verdict_says_what_to_do(result: Result, said: str) -> None:
    assert said in next_step(result)


def test_no_verdict_is_left_alone() -> None:
    for verdict in Verdict:
        assert next_step(made(verdict)).endswith(".")
        assert "--paired" not in next_step(made(verdict, paired=True))


def test_the_class_that_differs_most_comes_first() -> None:
    classes = tuple(
        ResultEntry(key, label, EntryNumbers.from_json(SURE | {"verdict": verdict, "gap": gap}))
        for key, label, verdict, gap in (
            ("1", "red", "gap", 0.1),
            ("2", "green", "large_gap", 0.2),
            ("3", "blue", "cannot_tell", 0.3),
        )
    )
    assert next_step(made("gap", classes)).startswith("Begin with class green, whose gap is 0.200. ")
    assert next_step(made("gap", classes[:1])).startswith("The report's kinds of contexts")


@pytest.mark.parametrize("parameters", [{"task": "semantic"}, {"sensor": "lidar"}])
@pytest.mark.parametrize("verdict", sorted(Verdict))
def test_no_command_is_named_that_refuses_label_pictures_or_lidars(verdict: str, parameters: dict[str, str]) -> None:
    result = made(verdict, overlap_a=0.2)
    text = next_step(replace(result, header=ResultHeader.from_json({**result.content, "parameters": parameters})))
    named = set(re.findall(r"simjudge ([a-z]+)", text))
    assert named <= {"compare"}
    assert len(set(re.findall(r"simjudge ([a-z]+)", next_step(result)))) >= len(named)
