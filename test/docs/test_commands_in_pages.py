"""Commands that the pages show exist, and so do their options and arguments."""

import re
import shlex

import pytest
import typer
from pages import PAGES, ROOT, blocks, prose

from simjudge.commands.app import app
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
    command, rest = typer.main.get_command(app), list(call)
    while hasattr(command, "commands") and rest and not rest[0].startswith("-"):
        name = rest.pop(0)
        if name.isupper():  # a placeholder
            return []
        if name not in command.commands:
            return [name]
        command = command.commands[name]
    options = GLOBAL | {name for p in command.params for name in (*p.opts, *p.secondary_opts)}
    missing = [word for word in rest if re.match(r"--?[a-z]", word) and word.partition("=")[0] not in options]
    if call[0] == "run" and len(call) > 1 and call[1] in GRAPHS:
        known = {argument.name for argument in GRAPHS[call[1]].arguments}
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
        ("run live bag:=x", []),
        ("run live bagg:=x", ["bagg:=x"]),
        ("COMMAND --whatever", []),
    ],
)
def test_the_check_itself(call, expected):
    assert wrong(call.split()) == expected


def test_calls_are_found_in_blocks_and_in_lines(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "Use `simjudge info x`.\n```\nfor s in a b; do simjudge detect $s --out \\\n  x; done  # all\n```\n"
    )
    assert list(shown(page)) == [["detect", "$s", "--out", "x"], ["info", "x"]]
