"""What can be asked of a recording, and which checks each question leans on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from simjudge.questions.doctor.findings import (
    BOXES,
    CALIBRATED_SIZE,
    CALIBRATION,
    CENTRE,
    CLOCK_TOPIC,
    CLOUD_FIELDS,
    CLOUDS,
    CONSTANT,
    CONTRACT,
    COVERED,
    DISTORTION,
    ENCODING,
    FRAME_IDS,
    IMAGE_SIZE,
    IMAGES,
    INPUT,
    JUMPS,
    LABELS,
    LABELS_FIT,
    MISSING,
    MOTION,
    MOUNT,
    ONE_CLOCK,
    OPTICAL,
    PACE,
    POSES,
    PREDICTIONS_FIT,
    RATE,
    RECORDING,
    RISING,
    STAMPS,
    TREE,
    TROUBLE,
    Finding,
)

YES, WITH_LOSS, NO = "yes", "with loss", "no"


@dataclass(frozen=True)
class Question:
    """A question that simjudge answers, and what it takes.

    Attributes:
        name: for `--for`.
        needs: checks without which it cannot be answered.
        wants: checks without which it is answered less well, each with what is lost then.
        holds: checks whose subject must be there, good or not.
        command: that answers it, with {path}, {task}, {model} and {poses} to be filled in.
    """

    name: str
    text: str
    needs: Sequence[str]
    wants: dict[str, str]
    command: str
    holds: Sequence[str] = ()


@dataclass(frozen=True)
class Answer:
    """Whether a question can be answered.

    Attributes:
        lacking: findings that stand in its way.
        losses: what is lost where it is answered with loss.
    """

    question: Question
    answer: str
    lacking: Sequence[Finding]
    losses: Sequence[str]


_TIMES = {
    STAMPS: "times of recording stand for stamps",
    RISING: "frames out of order",
    PACE: "times of another pace",
    CLOCK_TOPIC: "time that jumps",
    RATE: "gaps",
}
_OF_LIDARS = (CLOUDS, CLOUD_FIELDS, BOXES)
QUESTIONS = (
    Question(
        "compare", "judge a detector", (IMAGES, ENCODING, LABELS),
        {
            LABELS_FIT: "labels that found no picture", IMAGE_SIZE: "patches of two sizes",
            PREDICTIONS_FIT: "predictions that found no picture",
            STAMPS: "blocks of neighbouring frames cannot be told", RISING: "frames out of order",
        },
        "simjudge compare {path} SIMULATED {task}--model {model} --out result",
    ),
    Question(
        "replay", "replay the poses in simulation", (RECORDING, POSES, STAMPS, RISING, ONE_CLOCK),
        {
            IMAGES: "no real frame to compare the simulated one with", COVERED: "frames without a pose",
            JUMPS: "poses that jump", CALIBRATION: "a nominal camera", CALIBRATED_SIZE: "a nominal camera",
            CENTRE: "a camera that looks aside", DISTORTION: "a lens without distortion",
            CONSTANT: "the first of several calibrations", MOUNT: "the mount of the car's file",
            OPTICAL: "the mount of the car's file", TREE: "the mount of the car's file",
            FRAME_IDS: "frames by guess",
        },
        "simjudge replay {path} --scene lab --camera reference{poses} --out replayed.mcap",
    ),
    Question(
        "objects", "compare by objects over time", (IMAGES, ENCODING, RISING),
        {
            LABELS: "objects by a detector's tracks alone", LABELS_FIT: "labels that found no picture",
            STAMPS: "times of recording stand for stamps",
            RATE: "gaps in each object's series", CALIBRATION: "no horizon from the transforms",
            MOUNT: "no horizon from the transforms", IMAGE_SIZE: "series of two sizes",
        },
        "simjudge objects {path} VIRTUAL --out result",
        # Of a recording the times of its messages will do; pictures in a folder have none.
        (STAMPS,),
    ),
    Question(
        "lidar", "judge a lidar", (CLOUDS, CLOUD_FIELDS, BOXES),
        {
            CONTRACT: "scans that no spinning lidar gives",
            STAMPS: "blocks of neighbouring scans cannot be told", RATE: "gaps",
        },
        "simjudge compare {path} SIMULATED --sensor lidar --model lidar_cuboids --out result",
    ),
    Question(
        "live", "watch live", (RECORDING, IMAGES, ENCODING),
        {LABELS: "a detector alone, no gap to a reference", **_TIMES, FRAME_IDS: "no place in RViz"},
        "simjudge run detect bag:={path} model:={model} watch:=true",
    ),
    Question(
        "drive", "drive in closed loop", (RECORDING, IMAGES, ENCODING, CALIBRATION, MOTION, ONE_CLOCK, STAMPS),
        {
            CALIBRATED_SIZE: "cones at wrong places", CENTRE: "cones at wrong places",
            DISTORTION: "cones at wrong places", MOUNT: "the mount of the car's file",
            OPTICAL: "the mount of the car's file", INPUT: "nobody obeys the driver", RATE: "gaps",
            RISING: "old detections",
        },
        "ros2 run simjudge drive_node --ros-args -p vehicle:=art1",
    ),
)  # fmt: skip
"""In the order in which they are answered."""


def answer_questions(findings: Sequence[Finding]) -> list[Answer]:
    """Answer all questions."""
    return [_answer(question, findings) for question in QUESTIONS]


def _answer(question: Question, findings: Sequence[Finding]) -> Answer:
    trouble = [each for each in findings if each.verdict in TROUBLE]
    known = {each.check for each in findings}
    unheld = [each for each in trouble if each.check in question.holds and each.verdict == MISSING]
    stops = [each for each in trouble if each.check in question.needs] + unheld
    if _has_whole_lidar(findings):
        stops = [each for each in stops if each.check not in _OF_LIDARS]
    absent = [Finding.missing(check, f"no {check}") for check in question.needs if check not in known]
    if stops or absent:
        return Answer(question, NO, [*stops, *absent], [])
    less = [each for each in trouble if each.check in question.wants]
    losses = list(dict.fromkeys(question.wants[each.check] for each in less))
    return Answer(question, WITH_LOSS if less else YES, less, losses)


def _has_whole_lidar(findings: Sequence[Finding]) -> bool:
    """Whether one lidar of several has all that is asked of lidars: one is enough."""
    lidars = {each.about for each in findings if each.check == CLOUDS}
    troubled = {each.about for each in findings if each.check in _OF_LIDARS and each.verdict in TROUBLE}
    return bool(lidars - troubled)
