"""What of a recording or a data set is usable for which question, and what mends the rest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from simjudge.core.display import Summary, SummaryRepr, SummaryTable
from simjudge.core.errors import Losses, UsageError
from simjudge.questions.doctor.findings import (
    MISSING,
    POSES,
    Finding,
    quoted,
)
from simjudge.questions.doctor.fitting_detector import ANY_DETECTOR
from simjudge.questions.doctor.usable_for import QUESTIONS, Answer
from simjudge.sim.sensors.lidar.checked_scans import FAIL, NOT_CHECKED, PASS

_ORDER = {FAIL: 0, MISSING: 1, PASS: 2, NOT_CHECKED: 3}


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
        topics: of a running graph, a row each for programs: topic, type, publishers, subscriptions, messages.
        detector: for the lines that run one.
        task: the option that a comparison takes, with a space behind it; empty for none.
    """

    path: Path
    kind: str
    findings: Sequence[Finding]
    answers: Sequence[Answer]
    notes: Sequence[str] = ()
    losses: Losses = field(default_factory=Losses)
    topics: Sequence[dict[str, Any]] = ()
    detector: str = ANY_DETECTOR
    task: str = ""

    @property
    def topic_table(self) -> SummaryTable:
        """A row a topic of a running graph."""
        rows = [
            [each["topic"], each["type"], ", ".join(each["publishers"]), ", ".join(each["subscriptions"]),
             str(each["messages"])]
            for each in self.topics
        ]  # fmt: skip
        return SummaryTable(["topic", "type", "published by", "subscribed to by", "messages"], rows, text_columns=4)

    @property
    def failed(self) -> list[str]:
        """The checks that failed, each with its topic."""
        return [f"{each.check}{f' ({each.about})' if each.about else ''}" for each in self.findings
                if each.verdict == FAIL]  # fmt: skip

    @property
    def remedies(self) -> dict[str, list[str]]:
        """By each line that mends something, the checks that it mends; what fails comes first."""
        out: dict[str, list[str]] = {}
        for each in sorted(self.findings, key=lambda finding: _ORDER[finding.verdict]):
            if each.mend and each.check not in out.setdefault(each.mend, []):
                out[each.mend].append(each.check)
        return out

    @property
    def questions(self) -> SummaryTable:
        """A row a question."""
        rows = [
            [each.question.text, each.answer, ", ".join(dict.fromkeys(f.check for f in each.lacking)),
             "; ".join(each.losses)]
            for each in self.answers
        ]  # fmt: skip
        return SummaryTable(["question", "usable", "what is missing or fails", "what is lost by it"], rows, 4)

    @property
    def checks(self) -> SummaryTable:
        """A row a check that could be made, or whose object is missing."""
        rows = [
            [each.check, each.verdict, each.about, each.figure, each.limit if each.verdict == FAIL else "", each.note]
            for each in self.findings
            if each.verdict != NOT_CHECKED
        ]
        return SummaryTable(["check", "verdict", "topic", "measured", "should be", "note"], rows, text_columns=6)

    @property
    def not_checked(self) -> list[str]:
        """The checks that could not be made, by the reason: a line a reason."""
        reasons: dict[str, list[str]] = {}
        for each in self.findings:
            if each.verdict == NOT_CHECKED and each.check not in reasons.setdefault(each.note, []):
                reasons[each.note].append(each.check)
        return [f"{why}: {', '.join(checks)}" for why, checks in reasons.items()]

    def question(self, name: str) -> Answer:
        """The answer to one question.

        Args:
            name: of the question.

        Raises:
            UsageError: there is none of that name.
        """
        for each in self.answers:
            if each.question.name == name:
                return each
        raise UsageError(f"no question {name}; there are {', '.join(each.name for each in QUESTIONS)}")

    def command(self, answer: Answer) -> str:
        """The command that answers a question with this recording.

        Args:
            answer: to the question.
        """
        poses = next((f" --poses {each.about}" for each in self.findings if each.check == POSES and each.about), "")
        return answer.question.command.format(path=quoted(self.path), poses=poses, model=self.detector, task=self.task)

    def content(self) -> dict[str, Any]:
        """The same for programs."""
        return {
            "path": str(self.path),
            "kind": self.kind,
            "questions": {
                each.question.name: {
                    "text": each.question.text, "usable": each.answer, "losses": list(each.losses),
                    "lacking": list(dict.fromkeys(finding.check for finding in each.lacking)),
                    "command": self.command(each),
                }
                for each in self.answers
            },
            "checks": [dict(vars(each)) for each in self.findings],
            "notes": list(self.notes),
            **({"topics": list(self.topics)} if self.topics else {}),
        }  # fmt: skip

    def summary(self) -> Summary:
        """What it says, for a person to read."""
        lines = [f"{', '.join(checks)}: {line}" for line, checks in self.remedies.items()]
        rows: list[Any] = [self.questions, *lines, self.checks, *(("not checked", line) for line in self.not_checked)]
        return Summary(str(self.path), self.kind, [*rows, *self.losses.lines()])
