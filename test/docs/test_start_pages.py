"""What the pages of the start show runs as it stands there, on recordings, drives and trials of those names."""

import shlex
import subprocess
import sys

import pytest
from drive_samples import made_drive, write_csv
from pages import ROOT, blocks
from typer.testing import CliRunner

from simjudge.commands.app import app
from simjudge.questions.demo.run import copy_samples

START = sorted(path for path in (ROOT / "docs/start").glob("*.md") if blocks(path.read_text(), "sh"))


@pytest.fixture
def desk(tmp_path, monkeypatch):
    """A folder with the files that the pages name."""
    copy_samples(tmp_path)
    for seed in range(6):
        write_csv(tmp_path / f"real_{seed}.csv", made_drive(seed))
        write_csv(tmp_path / f"sim_{seed}.csv", made_drive(seed + 10))
    trials = [
        f"{policy},{task},{side},{int(number < hits)}"
        for policy, hits in (("act", 8), ("dp", 4), ("pi0", 6), ("smolvla", 2))
        for task in ("stack", "pour")
        for side in ("real", "sim")
        for number in range(10)
    ]
    (tmp_path / "trials.csv").write_text("\n".join(("policy,task,side,success", *trials)))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def expand(words, folder):
    """The words with what a shell makes of a star."""
    for word in words:
        yield from sorted(path.name for path in folder.glob(word)) if "*" in word else [word]


@pytest.mark.slow
@pytest.mark.parametrize("page", START, ids=lambda path: path.stem)
def test_each_line_of_the_page_runs(page, desk):
    for line in "".join(blocks(page.read_text(), "sh")).splitlines():
        program, *words = expand(shlex.split(line, comments=True), desk)
        if program == "python":
            subprocess.run([sys.executable, *words], check=True, timeout=120)
            continue
        assert program == "simjudge", line
        done = CliRunner().invoke(app, words)
        assert done.exit_code == 0, f"{line}\n{done.output}\n{done.exception!r}"


@pytest.mark.slow
@pytest.mark.usefixtures("desk")
@pytest.mark.parametrize("page", START, ids=lambda path: path.stem)
def test_the_python_of_the_page_runs(page):
    for code in blocks(page.read_text(), "python"):
        exec(compile(code, str(page), "exec"), {})  # noqa: S102 (our own pages)
