"""Completion in bash, zsh and fish, each by the shell itself where it is installed."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SIMJUDGE = Path(sys.executable).with_name("simjudge")
WORDS = [
    (["comp"], ["compare"]),
    (["robot", "tra"], ["tracks", "trajectories"]),
    (["compare", "--th"], ["--theta"]),
    (["compare", "a", "b", "--preset", ""], ["cpd", "paper"]),
]
BASH = (
    'source {script}; COMP_WORDS=(simjudge "$@"); COMP_CWORD=$#; _simjudge_completion simjudge;'
    ' printf "%s\\n" "${{COMPREPLY[@]}}"'
)
# What zsh would show: names and their descriptions.
ZSH = (
    "compdef() {{ : }}; _arguments() {{ print -r -- $* }}; source {script};"
    ' words=(simjudge "$@"); CURRENT=${{#words}}; _simjudge_completion'
)
FISH = 'source {script}; complete -C "simjudge $argv"'


def shell(name, line, words):
    """Run a line in a shell without its start files; its arguments are words."""
    program = shutil.which(name)
    if program is None or not SIMJUDGE.exists():
        pytest.skip(f"{name} or the command simjudge is not installed")
    plain = {"bash": ["--norc", "-c", line, name], "zsh": ["-f", "-c", line, name], "fish": ["-c", line]}[name]
    environment = {**os.environ, "PATH": f"{SIMJUDGE.parent}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        [program, *plain, *words], env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert not done.stderr, done.stderr
    return done.stdout


@pytest.mark.parametrize(("words", "wanted"), WORDS)
@pytest.mark.parametrize(("name", "line"), [("bash", BASH), ("zsh", ZSH), ("fish", FISH)])
def test_the_shell_completes_commands_options_and_values(tmp_path, name, line, words, wanted):
    script = tmp_path / "completion"
    environment = {**os.environ, "_SIMJUDGE_COMPLETE": f"source_{name}"}
    script.write_bytes(subprocess.run([SIMJUDGE], env=environment, capture_output=True, check=False).stdout)
    said = shell(name, line.format(script=script), words)
    if name == "zsh":
        assert all(f'"{word}"' in said for word in wanted)
    else:
        assert sorted(row.split("\t")[0] for row in said.split("\n") if row) == wanted
