"""What of a recording or a data set is usable for which question, what checks found, and how to fix the rest."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from simjudge.core.arrays import Summary, SummaryRepr, SummaryTable
from simjudge.core.errors import Losses, SimjudgeError, UsageError
from simjudge.core.frames import FrameSet
from simjudge.detectors.detector import map_classes
from simjudge.sim.sensors.lidar.checked_scans import FAIL, NOT_CHECKED, PASS

MISSING = "missing"
"""Verdict where what would be checked is not there: no fault, but some questions cannot be asked."""
TROUBLE = (FAIL, MISSING)
"""Verdicts that can keep a question from being answered."""

IMAGES, ENCODING, IMAGE_SIZE = "images", "image encoding", "image size"
STAMPS, RISING, ONE_CLOCK, PACE, CLOCK_TOPIC = (
    "stamps filled in",
    "stamps rise",
    "one clock",
    "stamps keep pace",
    "/clock rises",
)
RATE, FRAME_IDS, TREE = "rate without gaps", "frame ids", "one tree of frames"
POSES, JUMPS, COVERED = "poses", "poses without jumps", "poses cover the images"
MOUNT, OPTICAL = "camera on the body", "optical frame"
CALIBRATION, CALIBRATED_SIZE, CENTRE, DISTORTION, CONSTANT = (
    "calibration",
    "calibration fits the images",
    "principal point",
    "distortion model",
    "calibration stays",
)
SIMULATOR_LABELS = "labels of a simulator"
LABELS, LABELS_FIT, PREDICTIONS, PREDICTIONS_FIT = (
    "labels",
    "labels fit the images",
    "predictions",
    "predictions fit the images",
)
CLOUDS, CLOUD_FIELDS, CONTRACT, BOXES, FOUND_BOXES = (
    "clouds",
    "fields of the points",
    "spinning lidar",
    "labels in clouds",
    "predictions in clouds",
)
INPUT, MOTION, RECORDING = "vehicle's input", "odometry", "messages of a robot"
ONE_TYPE, QOS, PUBLISHED, HEARD, ONE_CLOCK_PUBLISHER, NOW, CAMERA_IN_WORLD = (
    "one type a topic",
    "QoS fits",
    "subscriptions have publishers",
    "messages come",
    "one publisher of /clock",
    "stamps are now",
    "camera in the world",
)
"""Checks of a running graph alone."""


@dataclass(frozen=True)
class Finding:
    """What one check found."""

    check: str
    verdict: str
    about: str = ""  # the topic or file that it is about; "" for all
    figure: str = ""
    limit: str = ""
    note: str = ""  # where it is worst, or why it was not checked
    mend: str = ""  # a command that mends it, as it can be typed; "" where nothing is to mend

    @classmethod
    def measured(
        cls, check: str, about: str, figure: str, limit: str, *, good: bool, note: str = "", mend: str = ""
    ) -> Finding:
        """A finding with a figure; note and remedy are dropped where all is well."""
        return cls(check, PASS if good else FAIL, about, figure, limit, "" if good else note, "" if good else mend)

    @classmethod
    def missing(cls, check: str, note: str, mend: str = "", about: str = "") -> Finding:
        """A finding that something is not there."""
        return cls(check, MISSING, about, note=note, mend=mend)

    @classmethod
    def unknown(cls, check: str, note: str, about: str = "") -> Finding:
        """A finding that a check cannot be made."""
        return cls(check, NOT_CHECKED, about, note=note)


def failed(findings: Iterable[Finding], check: str) -> bool:
    """Whether a check failed for any topic."""
    return any(finding.check == check and finding.verdict == FAIL for finding in findings)


def quoted(path: object) -> str:
    """A path as a shell takes it."""
    text = str(path)
    if "\n" in text:
        raise UsageError(f"{text!r}: a line end in a path; rename it")
    return shlex.quote(text)


ANY_DETECTOR = "cones_red_green"
SHIPPED = (ANY_DETECTOR, "cones_blue_yellow", "krc_barriers")
"""Detectors that come with simjudge and need no training, by name."""
OWN_DETECTOR = "MODEL.onnx"
"""Stands for the file of a person's own detector."""


def fitting_detector(frames: FrameSet | None) -> str:
    """Choose a detector for the classes of a set."""
    if has_only_label_pictures(frames):
        return OWN_DETECTOR
    if frames is None or not len(frames.objects):
        return ANY_DETECTOR
    from simjudge.detectors.detection import load_detector  # noqa: PLC0415 - slow to import

    for name in SHIPPED:
        with suppress(SimjudgeError):
            map_classes(name, load_detector(name).class_names, frames)
            return name
    return OWN_DETECTOR


def has_only_label_pictures(frames: FrameSet | None) -> bool:
    """Whether the ground truth of a set is its label pictures."""
    return frames is not None and frames.semantic is not None and not len(frames.objects)


YES, WITH_LOSS, NO = "yes", "with loss", "no"


@dataclass(frozen=True)
class Question:
    """A question that simjudge answers, and what it takes."""

    name: str  # for `--for`
    text: str
    needs: Sequence[str]  # checks without which it cannot be answered
    wants: dict[str, str]  # checks without which it is answered less well, each with what is lost then
    command: str  # that answers it, with {path}, {task}, {model} and {poses} to be filled in
    holds: Sequence[str] = ()  # checks whose subject must be there, good or not


@dataclass(frozen=True)
class Answer:
    """Whether a question can be answered."""

    question: Question
    answer: str
    lacking: Sequence[Finding]  # findings that stand in its way
    losses: Sequence[str]  # what is lost where it is answered with loss


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
        "compare",
        "judge a detector",
        (IMAGES, ENCODING, LABELS),
        {
            LABELS_FIT: "labels that found no picture",
            IMAGE_SIZE: "patches of two sizes",
            PREDICTIONS_FIT: "predictions that found no picture",
            STAMPS: "blocks of neighbouring frames cannot be told",
            RISING: "frames out of order",
        },
        "simjudge compare {path} SIMULATED {task}--model {model} --out result",
    ),
    Question(
        "replay",
        "replay the poses in simulation",
        (RECORDING, POSES, STAMPS, RISING, ONE_CLOCK),
        {
            IMAGES: "no real frame to compare the simulated one with",
            COVERED: "frames without a pose",
            JUMPS: "poses that jump",
            CALIBRATION: "a nominal camera",
            CALIBRATED_SIZE: "a nominal camera",
            CENTRE: "a camera that looks aside",
            DISTORTION: "a lens without distortion",
            CONSTANT: "the first of several calibrations",
            MOUNT: "the mount of the car's file",
            OPTICAL: "the mount of the car's file",
            TREE: "the mount of the car's file",
            FRAME_IDS: "frames by guess",
        },
        "simjudge sim replay {path} --scene lab --camera reference{poses} --out replayed.mcap",
    ),
    Question(
        "objects",
        "compare by objects over time",
        (IMAGES, ENCODING, RISING),
        {
            LABELS: "objects by a detector's tracks alone",
            LABELS_FIT: "labels that found no picture",
            STAMPS: "times of recording stand for stamps",
            RATE: "gaps in each object's series",
            CALIBRATION: "no horizon from the transforms",
            MOUNT: "no horizon from the transforms",
            IMAGE_SIZE: "series of two sizes",
        },
        "simjudge robot objects {path} VIRTUAL --out result",
        # Of a recording the times of its messages will do; pictures in a folder have none.
        (STAMPS,),
    ),
    Question(
        "lidar",
        "judge a lidar",
        (CLOUDS, CLOUD_FIELDS, BOXES),
        {
            CONTRACT: "scans that no spinning lidar gives",
            STAMPS: "blocks of neighbouring scans cannot be told",
            RATE: "gaps",
        },
        "simjudge compare {path} SIMULATED --sensor lidar --model lidar_cuboids --out result",
    ),
    Question(
        "live",
        "watch live",
        (RECORDING, IMAGES, ENCODING),
        {LABELS: "a detector alone, no gap to a reference", **_TIMES, FRAME_IDS: "no place in RViz"},
        "simjudge ros run detect bag:={path} model:={model} watch:=true",
    ),
    Question(
        "drive",
        "drive in closed loop",
        (RECORDING, IMAGES, ENCODING, CALIBRATION, MOTION, ONE_CLOCK, STAMPS),
        {
            CALIBRATED_SIZE: "cones at wrong places",
            CENTRE: "cones at wrong places",
            DISTORTION: "cones at wrong places",
            MOUNT: "the mount of the car's file",
            OPTICAL: "the mount of the car's file",
            INPUT: "nobody obeys the driver",
            RATE: "gaps",
            RISING: "old detections",
        },
        "ros2 run simjudge drive_node --ros-args -p vehicle:=art1",
    ),
)
"""In the order in which they are answered."""


def answer_questions(findings: Sequence[Finding], questions: Sequence[Question] = QUESTIONS) -> list[Answer]:
    """Answer all questions."""
    return [_answer(question, findings) for question in questions]


def _answer(question: Question, findings: Sequence[Finding]) -> Answer:
    trouble = [finding for finding in findings if finding.verdict in TROUBLE]
    known = {finding.check for finding in findings}
    unheld = [problem for problem in trouble if problem.check in question.holds and problem.verdict == MISSING]
    stops = [problem for problem in trouble if problem.check in question.needs] + unheld
    if _has_whole_lidar(findings):
        stops = [stop for stop in stops if stop.check not in _OF_LIDARS]
    absent = [Finding.missing(check, f"no {check}") for check in question.needs if check not in known]
    if stops or absent:
        return Answer(question, NO, [*stops, *absent], [])
    less = [problem for problem in trouble if problem.check in question.wants]
    losses = list(dict.fromkeys(question.wants[row.check] for row in less))
    return Answer(question, WITH_LOSS if less else YES, less, losses)


def _has_whole_lidar(findings: Sequence[Finding]) -> bool:
    """Whether one lidar of several has all that is asked of lidars: one is enough."""
    lidars = {finding.about for finding in findings if finding.check == CLOUDS}
    troubled = {finding.about for finding in findings if finding.check in _OF_LIDARS and finding.verdict in TROUBLE}
    return bool(lidars - troubled)


_ORDER = {FAIL: 0, MISSING: 1, PASS: 2, NOT_CHECKED: 3}


@dataclass(frozen=True)
class TopicRow:
    """A topic of a running graph."""

    topic: str
    type: str
    publishers: Sequence[str]  # nodes
    subscriptions: Sequence[str]  # nodes
    messages: int


@dataclass(frozen=True, repr=False)
class Diagnosis(SummaryRepr):
    """What of a recording or a data set is usable for which question.

    Attributes:
        path: of the recording or data set.
        kind: what it is.
        findings: of all checks.
        answers: to all questions.
        notes: what a person should know although nothing is wrong.
        losses: what could not be read.
        topics: of a running graph.
        detector: for the lines that run one.
        task: the option that a comparison takes, with a space behind it; empty for none.
    """

    path: Path
    kind: str
    findings: Sequence[Finding]
    answers: Sequence[Answer]
    notes: Sequence[str] = ()
    losses: Losses = field(default_factory=Losses)
    topics: Sequence[TopicRow] = ()
    detector: str = ANY_DETECTOR
    task: str = ""

    @property
    def topic_table(self) -> SummaryTable:
        """A row a topic of a running graph."""
        rows = [
            [row.topic, row.type, ", ".join(row.publishers), ", ".join(row.subscriptions), str(row.messages)]
            for row in self.topics
        ]
        return SummaryTable(["topic", "type", "published by", "subscribed to by", "messages"], rows, text_columns=4)

    @property
    def failed(self) -> list[str]:
        """The checks that failed, each with its topic."""
        return [
            f"{finding.check}{f' ({finding.about})' if finding.about else ''}"
            for finding in self.findings
            if finding.verdict == FAIL
        ]

    @property
    def remedies(self) -> dict[str, list[str]]:
        """By each line that mends something, the checks that it mends; what fails comes first."""
        out: dict[str, list[str]] = {}
        for finding in sorted(self.findings, key=lambda held: _ORDER[held.verdict]):
            if finding.mend and finding.check not in out.setdefault(finding.mend, []):
                out[finding.mend].append(finding.check)
        return out

    @property
    def questions(self) -> SummaryTable:
        """A row a question."""
        rows = [
            [
                answer.question.text,
                answer.answer,
                ", ".join(dict.fromkeys(f.check for f in answer.lacking)),
                "; ".join(answer.losses),
            ]
            for answer in self.answers
        ]
        return SummaryTable(["question", "usable", "what is missing or fails", "what is lost by it"], rows, 4)

    @property
    def checks(self) -> SummaryTable:
        """A row a check that could be made, or whose object is missing."""
        rows = [
            [
                finding.check,
                finding.verdict,
                finding.about,
                finding.figure,
                finding.limit if finding.verdict == FAIL else "",
                finding.note,
            ]
            for finding in self.findings
            if finding.verdict != NOT_CHECKED
        ]
        return SummaryTable(["check", "verdict", "topic", "measured", "should be", "note"], rows, text_columns=6)

    @property
    def not_checked(self) -> list[str]:
        """The checks that could not be made, by the reason: a line a reason."""
        reasons: dict[str, list[str]] = {}
        for finding in self.findings:
            if finding.verdict == NOT_CHECKED and finding.check not in reasons.setdefault(finding.note, []):
                reasons[finding.note].append(finding.check)
        return [f"{why}: {', '.join(checks)}" for why, checks in reasons.items()]

    def question(self, name: str) -> Answer:
        """The answer to one question.

        Args:
            name: of the question.

        Raises:
            UsageError: there is none of that name.
        """
        for answer in self.answers:
            if answer.question.name == name:
                return answer
        raise UsageError(f"no question {name}; there are {', '.join(answer.question.name for answer in self.answers)}")

    def command(self, answer: Answer) -> str:
        """The command that answers a question with this recording.

        Args:
            answer: to the question.
        """
        poses = next(
            (f" --poses {finding.about}" for finding in self.findings if finding.check == POSES and finding.about), ""
        )
        return answer.question.command.format(path=quoted(self.path), poses=poses, model=self.detector, task=self.task)

    def content(self) -> dict[str, object]:
        """The same for programs."""
        return {
            "path": str(self.path),
            "kind": self.kind,
            "questions": {
                answer.question.name: {
                    "text": answer.question.text,
                    "usable": answer.answer,
                    "losses": list(answer.losses),
                    "lacking": list(dict.fromkeys(finding.check for finding in answer.lacking)),
                    "command": self.command(answer),
                }
                for answer in self.answers
            },
            "checks": [dict(vars(finding)) for finding in self.findings],
            "notes": list(self.notes),
            **({"topics": [dict(vars(row)) for row in self.topics]} if self.topics else {}),
        }

    def summary(self) -> Summary:
        """What it says, for a person to read."""
        lines = [f"{', '.join(checks)}: {line}" for line, checks in self.remedies.items()]
        rows: list[Any] = [self.questions, *lines, self.checks, *(("not checked", line) for line in self.not_checked)]
        return Summary(str(self.path), self.kind, [*rows, *self.losses.lines()])
