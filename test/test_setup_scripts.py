"""The shell functions that find a Python and ask apt for what pip cannot give."""

import os
import pty
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def shell(line, path, **environment):
    """Run a line with scripts/common.sh loaded and only the given folder, then the system's, to find programs in."""
    return subprocess.run(
        ["/bin/bash", "-euo", "pipefail", "-c", f". scripts/common.sh; {line}"],
        cwd=ROOT,
        env={"PATH": f"{path}:/usr/bin:/bin", **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def program(folder, name, body):
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def programs(tmp_path):
    """A folder with every usual name of Python, none of which runs, as a version manager's shims may be."""
    folder = tmp_path / "programs"
    for name in ("python3", "python3.10", "python3.11", "python3.12", "python3.13", "python3.14"):
        program(folder, name, f"echo {name}: command not found >&2; exit 127")
    return folder


def test_a_python_that_does_not_run_is_passed_over(programs):
    program(programs, "python3.11", f'exec {sys.executable} "$@"')
    done = shell("find_python", programs)
    assert done.stdout.strip() == "python3.11"
    assert done.stderr == ""


def test_a_python_of_another_version_is_passed_over(programs):
    program(programs, "python3", "echo 3.9.18")
    program(programs, "python3.12", f'exec {sys.executable} "$@"')
    assert shell("find_python", programs).stdout.strip() == "python3.12"


def test_the_python_asked_for_is_taken_or_refused(programs):
    assert shell("find_python", programs, PYTHON=sys.executable).stdout.strip() == sys.executable
    refused = shell("find_python", programs, PYTHON="python3.12")
    assert refused.returncode == 1
    assert "PYTHON=python3.12 is not a working Python" in refused.stderr


def test_a_missing_venv_module_is_installed_and_said(programs, tmp_path):
    mark = tmp_path / "installed"
    # Without Debian's package the import fails; "installing" leaves the mark that makes it work.
    program(
        programs,
        "python3.12",
        f'case "$2" in *ensurepip*) [ -e {mark} ];; *) echo 3.12.1;; esac',
    )
    program(programs, "apt-get", f'echo "$@" >&2; case "$*" in *install*) touch {mark};; esac')
    program(programs, "id", "echo 0")
    # The machine's own Python is last in the list of names and would do; it is taken only if none needs apt.
    done = shell("suits() { [ $1 = python3.12 ]; }; find_python", programs)
    assert done.stdout.strip() == "python3.12"
    assert "installing with apt: python3.12-venv (Python's venv module" in done.stderr


@pytest.mark.parametrize(
    ("user", "has_sudo", "code", "says"),
    [
        ("0", False, 0, "installing with apt: gadget (just because)"),
        ("1000", True, 0, "installing with apt: gadget (just because)"),
        ("1000", False, 1, "not root and no sudo to install gadget with (just because)"),
    ],
)
def test_apt_is_used_as_root_or_through_sudo_or_not_at_all(tmp_path, user, has_sudo, code, says):
    folder = tmp_path / "only"
    program(folder, "id", f"echo {user}")
    program(folder, "env", 'while case "$1" in *=*) true;; *) false;; esac; do shift; done; exec "$@"')
    program(folder, "apt-get", f'echo "$@" >> {tmp_path}/asked')
    if has_sudo:
        program(folder, "sudo", f'echo sudo >> {tmp_path}/asked; [ "$1" = -n ] && shift; exec "$@"')
    done = subprocess.run(
        ["/bin/bash", "-euo", "pipefail", "-c", ". scripts/common.sh; apt_install 'just because' gadget"],
        cwd=ROOT,
        env={"PATH": str(folder)},
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == code, done.stderr
    assert says in done.stderr
    asked = (tmp_path / "asked").read_text() if (tmp_path / "asked").exists() else ""
    assert ("install" in asked) == (code == 0)
    assert ("sudo" in asked) == (code == 0 and has_sudo)


def on_terminal(line, path):
    """What a terminal is shown of a line, as `shell` runs it."""
    main, other = pty.openpty()
    command = ["/bin/bash", "-euo", "pipefail", "-c", f". scripts/common.sh; {line}"]
    with subprocess.Popen(
        command, cwd=ROOT, env={"PATH": f"{path}:/usr/bin:/bin"}, stderr=other, stdout=other
    ) as running:
        os.close(other)
        shown = b""
        while True:
            try:
                part = os.read(main, 4096)
            except OSError:
                break
            shown += part
    os.close(main)
    return running.returncode, shown.decode()


NOISE = 'for n in 1 2 3; do echo "Collecting package$n"; sleep 0.8; done'


def test_an_installer_says_nothing_but_how_far_it_is(tmp_path):
    program(tmp_path / "bin", "installer", NOISE)
    code, shown = on_terminal(f"follow {tmp_path}/log 6 ^Collecting 'installing core' installer", tmp_path / "bin")
    assert code == 0
    assert "Collecting" not in shown
    assert re.search(r"installing core: \d+ s, [12] of 6, about \d+ s left", shown)
    assert (tmp_path / "log").read_text().splitlines() == [f"Collecting package{n}" for n in (1, 2, 3)]


def test_work_in_the_background_shows_how_far_it_is_since_it_began(tmp_path):
    (tmp_path / "log").write_text("Collecting one\nCollecting two\n")
    line = f"SECONDS=10; start_progress {tmp_path}/log 4 ^Collecting 'setting up' 0; sleep 1.5; stop_progress"
    code, shown = on_terminal(line, tmp_path / "bin")
    assert code == 0
    assert re.search(r"setting up: 1\d s, 2 of 4, about 1\d s left", shown)


def test_without_a_terminal_it_says_nothing(tmp_path):
    program(tmp_path / "bin", "installer", NOISE.replace("0.8", "0"))
    done = shell(f"follow {tmp_path}/log 6 ^Collecting 'installing core' installer", tmp_path / "bin")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_an_installer_that_fails_names_its_log(tmp_path):
    program(tmp_path / "bin", "installer", "seq 40; echo no such package >&2; exit 7")
    done = shell(f"follow {tmp_path}/log 6 ^x 'installing core' installer", tmp_path / "bin")
    assert done.returncode == 7
    lines = done.stderr.splitlines()
    assert lines[-2:] == ["no such package", f"simjudge: installing core failed; its whole output is in {tmp_path}/log"]
    assert len(lines) < 15


NO_WHEEL = """case "$*" in
    *platform*) echo 3.14.2;;
    -V) echo Python 3.14.2;;
    *"pip install"*) echo "$@" >> asked; {answer};;
esac"""
NOT_FOUND = "echo 'ERROR: No matching distribution found for pypatchworkpp==1.4.1'; exit 1"
MARKED = "echo 'Ignoring pypatchworkpp: markers do not match your environment'"


@pytest.mark.parametrize("answer", [NOT_FOUND, MARKED])
@pytest.mark.parametrize("group", ["lidar", "sim"])
def test_nothing_is_built_from_source_and_a_ground_finder_without_a_wheel_is_left_out(tmp_path, answer, group):
    (tmp_path / "scripts").mkdir()
    for name in ("setup.sh", "common.sh"):
        shutil.copy(ROOT / "scripts" / name, tmp_path / "scripts")
    (tmp_path / "scripts/llvm.sh").write_text("#!/bin/sh\n")
    (tmp_path / "scripts/llvm.sh").chmod(0o755)
    (tmp_path / "requirements").mkdir()
    (tmp_path / f"requirements/{group}.txt").write_text("pypatchworkpp==1.4.1\n")
    for name in ("setup.py", "pyproject.toml"):
        (tmp_path / name).write_text("")
    (tmp_path / ".venv").mkdir()
    program(tmp_path / ".venv/bin", "python", NO_WHEEL.replace("{answer}", answer))
    done = subprocess.run(
        ["bash", "scripts/setup.sh", group],
        cwd=tmp_path,
        env={"PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
        timeout=20,
    )
    (asked,) = (tmp_path / "asked").read_text().splitlines()
    assert "--only-binary :all: --no-binary empy" in asked, "once, and no source"
    if answer is NOT_FOUND:
        assert "there is no wheel of pypatchworkpp==1.4.1 for Python 3.14.2 on" in done.stderr
    assert done.returncode == (1 if (answer, group) == (NOT_FOUND, "sim") else 0), done.stderr
    assert ("left out: Patchwork++ (pypatchworkpp)" in done.stderr) == (group == "lidar")


def test_set_up_again_is_skipped_where_nothing_changed():
    stamps = [ROOT / f".venv/.stamp-{group}" for group in ("core", "train", "test")]
    if not all(stamp.exists() for stamp in stamps) or Path(sys.prefix) != ROOT / ".venv":
        pytest.skip("this .venv was not made by make: no stamps in it")
    done = subprocess.run(
        ["scripts/setup.sh", "core", "train", "test"],
        cwd=ROOT,
        env={**os.environ, "PYTHON": ""},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
