"""docs/papers.md is what its commands, marks and numbers say: nothing counted by hand, nothing invented."""

import re
from collections import Counter

import pytest
from called_command import called
from pages import ROOT, blocks
from test_commands_in_pages import GLOBAL, shown

from simjudge.core.installed import STUDY, find_file
from simjudge.questions.study.file import read_study
from simjudge.questions.study.study import VERBS

PAGE = ROOT / "docs/papers.md"
PAPERS = ("Context", "Components", "Sensors", "Off-road", "Testbed", "Few real frames")
MARKS = ("exact", "approximate", "missing", "wrong")
ANSWERS = ("agree", "does not agree", "cannot tell")
MEASURED = [*(ROOT / "docs/measurements").glob("*.md"), *(ROOT / "bench/tables").glob("*.csv")]


def rows(heading, head):
    """The cells of the table with some head below a heading."""
    below = PAGE.read_text(encoding="utf-8").split(f"\n## {heading}\n" if heading else "# The five papers", 1)[1]
    table = below.split("\n## ")[0].split(f"\n| {head} |", 1)[1].split("\n\n")[0]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.strip().splitlines()[2:]]


def statements(paper):
    return rows(paper, "statement")


def figures(paper):
    return rows(paper, "by")


def begins_with(text, words):
    return re.match("|".join(re.escape(word) for word in sorted(words, key=len, reverse=True)), text)


def parse(call):
    """Parse a call with the command's own parser, which refuses options, values and arguments that it does not know."""
    command, rest = called(call)
    with command.make_context("simjudge", rest) as context:
        return context.params


@pytest.mark.parametrize("call", sorted({tuple(call) for call in shown(PAGE)}), ids=" ".join)
def test_every_command_parses(call):
    assert not GLOBAL & set(call)
    parameters = parse(call)
    if call[:2] == ("study", "run"):
        inputs = {name: "." for name, _, _ in (pair.partition("=") for pair in parameters["given"])}
        read_study(call[2], VERBS, parameters["size"] or "small", inputs)
        assert find_file(call[2], STUDY).is_file()


@pytest.mark.parametrize("call", ["study run lab", "compare A B --theta much --out r", "replay a --lag 3 --out b"])
def test_the_parser_refuses_what_is_wrong(call):
    with pytest.raises(Exception, match=r"(?i)missing|invalid|no such option|a valid number"):
        parse(call.split())


@pytest.mark.parametrize(
    "name", sorted(set(re.findall(r"(?:test|bench|examples)/\S+?\.(?:py|yaml)", PAGE.read_text())))
)
def test_files_that_are_named_exist(name):
    assert (ROOT / name).is_file()


@pytest.mark.parametrize("paper", PAPERS)
def test_every_statement_is_shown_or_missing(paper):
    for statement, shown_by, mark in statements(paper):
        assert begins_with(mark, MARKS), statement
        assert bool(shown_by) != mark.startswith("missing"), statement
        assert not mark.startswith("approximate") or mark.startswith("approximate: "), statement


def test_the_counts_are_those_of_the_rows():
    found = {}
    for paper in PAPERS:
        marks = Counter(begins_with(mark, MARKS)[0] for *_, mark in statements(paper))
        answers = Counter(begins_with(answer, ANSWERS)[0] for *_, answer in figures(paper))
        found[f"[{paper}](#{paper.lower().replace(' ', '-')})"] = [
            *(marks[mark] for mark in MARKS),
            *(answers[answer] for answer in ANSWERS),
        ]
    found["all"] = [sum(column) for column in zip(*found.values(), strict=True)]
    assert {name: [int(n) for n in ",".join(cells).split(",")] for name, *cells in rows("", "paper")} == found


@pytest.mark.parametrize("paper", PAPERS)
def test_every_figure_has_a_command_an_answer_and_numbers_that_were_measured(paper):
    measured = "\n".join(page.read_text(encoding="utf-8") for page in MEASURED)
    commands = blocks(PAGE.read_text(encoding="utf-8").split(f"\n## {paper}\n", 1)[1], "")[0]
    for by, what, _, ours, answer in figures(paper):
        assert all(word in commands for word in by.split(", ")), by
        assert begins_with(answer, ANSWERS), what
        assert not ours.startswith("not run") or answer.startswith("cannot tell"), what
        for number in re.findall(r"-?\d+\.\d+", ours):
            assert re.search(rf"(?<![\d.]){re.escape(number)}(?!\d)", measured), (what, number)
