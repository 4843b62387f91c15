"""Commands that the pages show exist, and so do their options and arguments."""

import re
import shlex

import pytest
from called_command import called
from pages import PAGES, ROOT, blocks, prose

from simjudge.ros.graphs import GRAPHS

GLOBAL = {"--version", "--help", "-h"}
END = re.compile(r"^(;|\||&&?|>|do|done)$")
INLINE = re.compile(r"`((?:\.venv/bin/)?simjudge [^`]+)`")


def shown(page):
    """Every call of simjudge on a page, as words, without the word simjudge."""
    text = page.read_text(encoding="utf-8")
    lines = "\n".join(blocks(text, "", "sh", "bash")).replace("\\\n", " ").splitlines()
    lines += INLINE.findall(prose(text))
    for line in lines:
        try:
            words = shlex.split(line.replace(";", " ; "), comments=True)
        except ValueError:  # a drawing or a table with an apostrophe
            continue
        for start, word in enumerate(words):
            if word in ("simjudge", ".venv/bin/simjudge") and (
                start == 0 or END.match(words[start - 1]) or words[start - 1] == "do"
            ):
                call = words[start + 1 :]
                yield call[: next((i for i, each in enumerate(call) if END.match(each)), len(call))]


def wrong(call):
    """What of a call does not exist."""
    command, rest = called(call)
    if command is None:
        return [] if rest[0].isupper() else rest[:1]  # a placeholder
    options = GLOBAL | {name for p in command.params for name in (*p.opts, *p.secondary_opts)}
    missing = [word for word in rest if re.match(r"--?[a-z]", word) and word.partition("=")[0] not in options]
    if call[:2] == ["ros", "run"] and len(call) > 2 and call[2] in GRAPHS:
        known = {argument.name for argument in GRAPHS[call[2]].arguments}
        missing += [word for word in rest if ":=" in word and word.partition(":=")[0] not in known]
    return missing


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_commands_on_the_page_exist(page):
    assert {" ".join(call): wrong(call) for call in shown(page) if wrong(call)} == {}


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("compare a b --out r", []),
        ("compare a b --uot r", ["--uot"]),
        ("compares a b", ["compares"]),
        ("engines compare lab", []),
        ("ros run live bag:=x", []),
        ("ros run live bagg:=x", ["bagg:=x"]),
        ("COMMAND --whatever", []),
    ],
)
def test_the_check_itself(call, expected):
    assert wrong(call.split()) == expected


def test_calls_are_found_in_blocks_and_in_lines(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "Use `simjudge doctor --brief x`.\n```\nfor s in a b; do simjudge detect $s --out \\\n  x; done  # all\n```\n"
    )
    assert list(shown(page)) == [["detect", "$s", "--out", "x"], ["doctor", "--brief", "x"]]
