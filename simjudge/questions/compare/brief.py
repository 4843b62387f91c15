"""What `simjudge compare` prints: the verdict as one sentence, classes in five columns, the control, one next step."""

from __future__ import annotations

import re
import textwrap
from functools import partial

from simjudge.method.entry_numbers import Control
from simjudge.method.verdicts import Verdict
from simjudge.page.chart_data import DASH, format_number
from simjudge.questions.compare.facts import control_sentence, next_step
from simjudge.questions.compare.overall_words import overall_headline, worst_measure
from simjudge.questions.compare.words import SetNames, blind_set, meaning, own_units
from simjudge.results.metric_rows import verdict_words
from simjudge.results.saved_result import Result, ResultEntry

_LONGEST_NAME = 19
_WIDTH = 100
_CLASSES = 5


def brief_lines(result: Result, lost: int = 0) -> list[str]:
    """The lines of a comparison; `lost`: how many kinds of loss the sentence warns of."""
    entry = result.overall
    if entry is None:
        return []
    warning = f" Input was left out ({lost} {'warning' if lost == 1 else 'warnings'} below)." if lost else ""
    said = [_sentence(result, entry) + warning]
    if result.verdict != Verdict.DETECTOR_FAILS:
        said += [*_table(result), *_control(result)]
    step = next_step(result).partition(". ")[0].rstrip(".")
    said.append(f"next: {step}.")
    named = [_named(text, result) for text in said]
    return [line for text in named for line in ([text] if text.startswith(" ") else textwrap.wrap(text, _WIDTH))]


def _names(result: Result) -> tuple[str, str]:
    names = result.set_name("a"), result.set_name("b")
    short = names[0] != names[1] and all(len(name) <= _LONGEST_NAME for name in names)
    return names if short else ("A", "B")


def _named(text: str, result: Result) -> str:
    """Call the sets by their names."""
    full, names = SetNames.of_result(result), _names(result)
    for long, letter, name in ((full.a, "A", names[0]), (full.b, "B", names[1])):
        text = re.sub(rf"\b(in|of) {letter}\b(?! \()", partial(_renamed, name), text)
        text = text.replace(long, name) if long != letter else text
    return text


def _renamed(name: str, found: re.Match[str]) -> str:
    return f"{found[1]} {name}"


def _sentence(result: Result, entry: ResultEntry) -> str:
    words, blind, kind = overall_headline(result), blind_set(entry), result.hidden_gap
    numbers = entry.numbers
    if result.verdict == Verdict.DETECTOR_FAILS:
        return "The detector finds next to nothing in either set: this says nothing about the simulation."
    if blind:
        return f"{words}; check classes and labels of {blind} first."
    if kind is not None:
        return f"{words}: in {kind.kind} the gap is {format_number(abs(kind.difference), 2)}."
    if worst_measure(result) is not None:
        return f"{words}."
    if entry.verdict.unsized or numbers.lacks_gap or numbers.gap is None or numbers.gap_low is None:
        return f"{words}: {meaning(entry, SetNames.of_result(result))}"
    subject = "performance" if entry.own is None else entry.own.name
    a, b = _names(result)
    alike = "" if "over" in words else "in similar surroundings "
    own = own_units(entry)
    return f"{words}: {alike}{subject} differs by {_gap(entry)} between {a} and {b}.{' ' + own if own else ''}"


def _gap(entry: ResultEntry) -> str:
    numbers = entry.numbers
    if not entry.verdict.decided or numbers.gap is None:
        return DASH
    gap, low, high = (format_number(value, 2) for value in (numbers.gap, numbers.gap_low, numbers.gap_high))
    return f"{gap} ({low} to {high})"


def _size(entry: ResultEntry) -> float:
    """How much a class differs: its gap, or the means where no gap can be told."""
    numbers = entry.numbers
    means = abs((numbers.mean_performance_a or 0.0) - (numbers.mean_performance_b or 0.0))
    return max(means, 0.0 if _gap(entry) == DASH else numbers.gap or 0.0)


def _table(result: Result) -> list[str]:
    """The classes, those that differ most first."""
    a, b = _names(result)
    entries = sorted(result.classes, key=_size, reverse=True)
    shown = entries if len(entries) <= _CLASSES else entries[: _CLASSES - 1]
    rows: list[tuple[str, ...]] = [("class", "verdict", "gap (95 %)", f"mean in {a}", f"mean in {b}")]
    for entry in shown:
        numbers = entry.numbers
        means = (format_number(value, 2) for value in (numbers.mean_performance_a, numbers.mean_performance_b))
        rows.append((entry.label[:24], verdict_words(entry.verdict, entry.margin), _gap(entry), *means))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["".join(f"  {cell:{width}}" for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    more = len(entries) - len(shown)
    return [*lines, f"  {more} more: --details, or the report"] if more else lines


def _control(result: Result) -> list[str]:
    """Whether the judge finds gaps where there are none; whole where it does."""
    found = result.control.items()
    if any(2 * control.gaps > control.splits for _, control in found):
        return [f"control: {control_sentence(result)}"]
    halves = ", ".join(f"of {side.upper()} {_splits(control)}" for side, control in found)
    return [f"control, gaps between random halves: {halves}"] if halves else []


def _splits(control: Control) -> str:
    numbers = control.entry
    unsaid = numbers.gap is None or numbers.verdict.unsized
    return "too little to halve" if unsaid else f"{control.gaps} of {control.splits} splits"
