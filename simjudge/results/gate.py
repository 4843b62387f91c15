"""Gates for checks that run by themselves: `--fail-on` and `--require`, and what they write for CI.

`--fail-on gap` fails where a gap is shown. `--require predicts` passes where one is ruled out.

Rows of metrics as a check of gaps sees them (`--fail-on`): each in shares of the largest value that counts.
"""

from __future__ import annotations

import html
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from xml.etree import ElementTree as ET

from simjudge.core.errors import UsageError
from simjudge.core.installed import version
from simjudge.core.printable import printable
from simjudge.core.text import JsonMapping
from simjudge.method.detector_measures import DetectorMeasure
from simjudge.method.entry_numbers import EntryNumbers
from simjudge.method.kinds import KindDifferences
from simjudge.method.multiple_tests import holm
from simjudge.method.verdicts import Outcome, Reason, Scope, Verdict, verdict_by_margin, worst_verdict
from simjudge.results.context_table import OVERALL
from simjudge.results.saved_result import Result, ResultEntry


@dataclass(frozen=True)
class NamedComparison:
    """A comparison as a check sees it."""

    name: str
    entries: tuple[ResultEntry, ...]  # all classes together first, then class by class
    measures: tuple[DetectorMeasure, ...] = ()  # what else the detector does; empty where that was not judged
    where: KindDifferences | None = None  # kinds of contexts; None where they were not tested
    apart: bool = False  # whether entries are of metrics of their own, in each of which a gap must be ruled out

    @classmethod
    def of_result(cls, result: Result) -> NamedComparison:
        """A comparison that was saved, or is fresh."""
        return cls(result.name, result.entries, result.measures, result.header.where)


FAILURES = tuple(outcome for outcome in Outcome if outcome.exit_code)
"""Outcomes that fail a gate, the worst first."""


@dataclass(frozen=True)
class GateCase:
    """One thing that a gate looked at."""

    comparison: str
    subject: str  # such as "all classes", a class, "recall", or a kind of contexts
    verdict: str  # in words
    size: str  # the difference with its interval; empty where there is none
    outcome: Outcome
    interval: tuple[float, float, float] | None = None  # lower end, gap, upper end; None where it is of no gap
    margin: float = 0.0

    @property
    def said(self) -> str:
        """The verdict with its numbers."""
        return f"{self.verdict}; {self.size}" if self.size else self.verdict

    @property
    def line(self) -> str:
        """What to say of it."""
        told = self.outcome in (Outcome.GAP, Outcome.NOT_EVERYWHERE)
        return f"{self.comparison}, {self.subject}: {self.size if told and self.size else self.said}"


GAP, PREDICTS = "gap", "predicts"
"""Words of `--fail-on` and `--require`."""
_OPTIONS = {GAP: "--fail-on", PREDICTS: "--require"}


@dataclass(frozen=True)
class Gate:
    """When a comparison fails a check.

    With "gap" it fails where a difference beyond chance may reach the margin; with "predicts", unless a difference of
    the margin is ruled out, on average and in every kind of contexts; without a word it never does.
    """

    word: str = ""
    margin: float | None = None  # difference of performance; None for the margin of each comparison
    these: bool = False  # whether a verdict on the recordings at hand is enough

    @classmethod
    def parse(cls, word: str, given: str, *, these: bool = False) -> Gate:
        """Read the text of an option."""
        kind, colon, number = given.partition(":")
        try:
            margin = float(number) if colon else None
        except ValueError:
            margin = math.nan
        if kind != word or (margin is not None and not 0 <= margin <= 1):
            raise UsageError(
                f"{_OPTIONS[word]} {given!r}: write {word}, or {word}:0.05 with a difference of performance from 0 to 1"
            )
        return cls(word, margin, these)

    def __str__(self) -> str:
        """The option and its text."""
        margin = "" if self.margin is None else f":{self.margin:g}"
        return f"{_OPTIONS[self.word]} {self.word}{margin}" if self.word else "simjudge"

    def cases(self, compared: Sequence[NamedComparison]) -> list[GateCase]:
        """Look at comparisons; several are corrected for their number (Holm), a class fails only where all do."""
        adjusted = holm([one.entries[0].numbers.p_adjusted for one in compared])
        found: list[GateCase] = []
        for one, least in zip(compared, adjusted, strict=True):
            found += self._cases(one, least, len(compared))
        return found

    def _cases(self, one: NamedComparison, least: float | None, comparisons: int) -> list[GateCase]:
        """Performance over all classes, each class, the measures, and the kind of contexts that differs most."""
        overall, *classes = one.entries
        margin = overall.margin if self.margin is None else self.margin

        def case(
            subject: str, verdict: Verdict, size: str, *, required: bool, of: ResultEntry | None = None
        ) -> GateCase:
            outcome = verdict.outcome
            failing = () if not self.word else FAILURES if required and self.word == PREDICTS else (Outcome.GAP,)
            if outcome not in (Outcome.PASSED, *failing):
                outcome = Outcome.NOT_JUDGED
            interval = None if of is None else _interval(of)
            return GateCase(one.name, subject, verdict.words(margin), size, outcome, interval, margin)

        performance = _verdict(overall, least, margin)
        found = [case(overall.label, performance, _gap_size(overall), required=True, of=overall)]
        smaller = self.word == PREDICTS and not self.these and overall.numbers.scope == Scope.THESE
        if smaller and found[0].outcome == Outcome.PASSED:
            size = f"{found[0].size}, {Scope.THESE.words} alone: give three or more a side, or --scope these"
            found = [replace(found[0], size=size.removeprefix(", "), outcome=Outcome.CANNOT_TELL)]
        found += [case(e.label, _verdict(e, least, margin), _gap_size(e), required=one.apart, of=e) for e in classes]
        for measure in one.measures:
            times = margin / overall.margin if overall.margin > 0 else 1.0
            verdict = measure.verdict_at(times * measure.margin, comparisons)
            if verdict == Verdict.NOT_TESTED:
                continue
            # Where performance has too few units, what cannot be told of a measure says nothing more.
            required = worst_verdict(performance, verdict) == verdict
            found.append(case(measure.measure.replace("_", " "), verdict, _measure_size(measure), required=required))
        fails = any(case.outcome in FAILURES for case in found)
        kind = None if one.where is None or self.word != PREDICTS or fails else one.where.largest(margin, comparisons)
        if kind is not None:
            size = f"B less A {kind.difference:.3f} (95 %: {kind.low:.3f} to {kind.high:.3f})"
            found.append(GateCase(one.name, kind.kind, "gap", size, Outcome.NOT_EVERYWHERE))
        return found

    def sight(self, compared: Sequence[NamedComparison]) -> str:
        """What comparisons without such a gap would have shown: the words behind "passed"."""
        if not compared:
            return "nothing was compared"
        overall = [one.entries[0] for one in compared]
        blind = sum(entry.numbers.p_adjusted is None for entry in overall)
        shown = [size for entry in overall if (size := entry.numbers.shown_gap) is not None]
        words = [f"a gap of {max(shown):.3f} would have been shown in about 80 of 100 cases"] if shown else []
        if blind:
            words.append(f"{blind} of {len(overall)} comparisons could not tell any gap (no overlap, or too few units)")
        return "; ".join(words)


def _verdict(entry: ResultEntry, least: float | None, margin: float) -> Verdict:
    """The verdict by another margin, where p over all classes is at least so large."""
    low, high, p = entry.numbers.gap_low, entry.numbers.gap_high, entry.numbers.p_adjusted
    if not entry.verdict.decided and entry.verdict != Verdict.NOT_TESTED:
        return entry.verdict
    if p is None or least is None or low is None or high is None:
        return Verdict.CANNOT_TELL if entry.verdict.decided else entry.verdict
    found = verdict_by_margin(max(p, least), low, high, margin)
    turns = found == Verdict.PREDICTS and entry.numbers.verdict_reason == Reason.TURNS_WITH_THETA
    return Verdict.CANNOT_TELL if turns else found


def worst_outcome(cases: Sequence[GateCase]) -> Outcome:
    """The outcome that decides."""
    outcomes = {case.outcome for case in cases}
    return next((outcome for outcome in FAILURES if outcome in outcomes), Outcome.PASSED)


def _interval(entry: ResultEntry) -> tuple[float, float, float] | None:
    """Lower end, gap and upper end."""
    low, gap, high = entry.numbers.gap_low, entry.numbers.gap, entry.numbers.gap_high
    if gap is None or low is None or high is None or entry.verdict.unsized:
        return None
    return low, gap, high


def _gap_size(entry: ResultEntry) -> str:
    interval = _interval(entry)
    return "" if interval is None else "gap {1:.3f} (95 %: {0:.3f} to {2:.3f})".format(*interval)


def _measure_size(measure: DetectorMeasure) -> str:
    if measure.difference is None or measure.low is None or measure.high is None or measure.verdict.unsized:
        return ""
    return f"B less A {measure.difference:.3f} (95 %: {measure.low:.3f} to {measure.high:.3f})"


def gate_summary(title: str, cases: Sequence[GateCase], picture: str = "") -> str:
    """Write what a gate saw as Markdown, as the summary of a CI job shows it (picture: drawn in characters)."""
    worst = worst_outcome(cases)
    said = "passed" if worst == Outcome.PASSED else f"failed ({_words(worst)})"
    lines = [
        f"### {_cell(title)}: {said}",
        "",
        "| comparison | of | verdict | size | outcome |",
        "| --- | --- | --- | --- | --- |",
    ]
    lines += [
        f"| {' | '.join(map(_cell, (c.comparison, c.subject, c.verdict, c.size, _words(c.outcome))))} |" for c in cases
    ]
    if picture:
        lines[2:2] = ["```text", printable(picture).replace("`", "'"), "```", ""]
    return "\n".join(lines if cases else [*lines[:2], "Nothing was compared."]) + "\n\n"


def _words(outcome: Outcome) -> str:
    return outcome.replace("_", " ")


def _cell(text: str) -> str:
    return html.escape(re.sub(r"([\\|*_`\[\]])", r"\\\1", printable(" ".join(text.split()))), quote=False)


def gate_junit(title: str, cases: Sequence[GateCase], *, seconds: float = 0.0) -> str:
    """Write what a gate saw as JUnit XML: a suite a comparison, a case for each thing that was looked at."""
    stamp = datetime.now(timezone.utc).replace(microsecond=0, tzinfo=None).isoformat()
    root = ET.Element("testsuites", _counts(cases) | {"name": _xml(title), "time": f"{seconds:.3f}"})
    for name in dict.fromkeys(case.comparison for case in cases):
        own = [case for case in cases if case.comparison == name]
        facts = {"name": _xml(name), "time": "0.000", "timestamp": stamp, "hostname": f"simjudge-{version()}"}
        suite = ET.SubElement(root, "testsuite", _counts(own) | {"skipped": _count(own, skipped=True)} | facts)
        for case in own:
            named = {"classname": f"simjudge.{_xml(name)}", "name": _xml(case.subject), "time": "0.000"}
            held = ET.SubElement(suite, "testcase", named)
            if case.outcome in FAILURES:
                failure = ET.SubElement(held, "failure", {"type": _words(case.outcome), "message": _xml(case.line)})
                failure.text = _xml(f"{case.verdict}; {case.size}".removesuffix("; "))
            elif case.outcome == Outcome.NOT_JUDGED:
                ET.SubElement(held, "skipped", {"message": _xml(case.line)})
            else:
                ET.SubElement(held, "system-out").text = _xml(f"{case.verdict}; {case.size}".removesuffix("; "))
    ET.indent(root)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{ET.tostring(root, encoding="unicode")}\n'


def _counts(cases: Sequence[GateCase]) -> dict[str, str]:
    return {"tests": str(len(cases)), "failures": _count(cases, skipped=False), "errors": "0"}


def _count(cases: Sequence[GateCase], *, skipped: bool) -> str:
    return str(sum(case.outcome == Outcome.NOT_JUDGED if skipped else case.outcome in FAILURES for case in cases))


def _xml(text: str) -> str:
    """The text without the characters that XML has no place for."""
    return re.sub(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "?", text)


def compared_metrics(name: str, rows: Sequence[JsonMapping]) -> NamedComparison:
    """The metrics of a comparison; the p of all is that with the smallest."""
    entries = []
    for row in rows:
        numbers, reach = EntryNumbers.from_json(row), float(row["reach"])
        share = _divided(numbers, reach)
        label = f"{row['metric']} in shares of {reach:g} {row['unit']}".rstrip()
        entries.append(ResultEntry(str(row["metric"]), label, share))
    first = min(entries, key=lambda entry: 2.0 if (p := entry.numbers.p_adjusted) is None else p)
    overall = ResultEntry(OVERALL, f"most different: {first.label}", first.numbers)
    return NamedComparison(name, (overall, *entries), apart=True)


def _divided(numbers: EntryNumbers, reach: float) -> EntryNumbers:
    def divided(value: float | None) -> float | None:
        return None if value is None else value / reach

    return replace(
        numbers,
        gap=divided(numbers.gap),
        gap_low=divided(numbers.gap_low),
        gap_high=divided(numbers.gap_high),
        detectable_gap=divided(numbers.detectable_gap),
        margin=numbers.margin / reach,
    )
