"""Dockerfile, compose service and devcontainer: every path, extra and command that they name is there."""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest
import yaml
from project_file import ROOT, required_names

from simjudge.ros.graphs import GRAPHS

DOCKERFILE = ROOT / "docker/Dockerfile"
TEXT = DOCKERFILE.read_text(encoding="utf-8")


def instructions():
    joined = re.sub(r"\\\n", " ", "\n".join(line for line in TEXT.splitlines() if not line.startswith("#")))
    return [line.split(maxsplit=1) for line in joined.splitlines() if line.strip()]


def read_compose():
    return yaml.safe_load((ROOT / "docker/compose.yaml").read_text(encoding="utf-8"))


def test_programs_of_the_checkout_that_the_image_runs_are_there():
    named = set(re.findall(r"(?:/ws/)?src/simjudge/([\w./]+)", TEXT))
    assert named == {"scripts/ros_overlay.sh", "scripts/llvm.sh", "docker/entrypoint.sh"}
    for name in named:
        assert os.access(ROOT / name, os.X_OK), name
    assert (ROOT / "msgs/package.xml").is_file()


def test_the_image_begins_with_its_distribution_and_ends_with_a_command():
    words = [word for word, _ in instructions()]
    assert words[:2] == ["ARG", "FROM"]
    assert words[-2:] == ["ENTRYPOINT", "CMD"]
    assert set(words) <= {"ARG", "FROM", "SHELL", "ENV", "WORKDIR", "COPY", "RUN", "ENTRYPOINT", "CMD"}


@pytest.mark.parametrize("command", [rest for word, rest in instructions() if word == "RUN"])
def test_bash_can_parse_each_step(command):
    subprocess.run(["bash", "-n", "-c", command], check=True, capture_output=True)


def test_extras_are_those_of_pyproject():
    (extras,) = re.findall(r'^ARG EXTRAS="(.*)"', TEXT, re.MULTILINE)
    assert all(required_names(extra) for extra in extras.split())


def test_the_steps_are_those_of_the_page():
    page = (ROOT / "docs/start/install.md").read_text(encoding="utf-8")
    (rosdep,) = re.findall(r"^rosdep install (.*)", page, re.MULTILINE)
    assert rosdep in TEXT


def test_nothing_that_git_keeps_is_left_out_of_the_image():
    left_out = (ROOT / "docker/Dockerfile.dockerignore").read_text(encoding="utf-8").split()
    ignored = {line.strip("/") for line in (ROOT / ".gitignore").read_text(encoding="utf-8").split()}
    assert {name for name in left_out if "*" not in name} <= {".git", *ignored}


def test_the_entrypoint_runs_a_command_with_the_workspace_around_it(tmp_path):
    (tmp_path / "install").mkdir()
    (tmp_path / "install/setup.bash").write_text("export FROM_WORKSPACE=yes\n")
    script = tmp_path / "entrypoint.sh"
    script.write_text((ROOT / "docker/entrypoint.sh").read_text().replace("/ws/", f"{tmp_path}/"))
    command = ["bash", str(script), "bash", "-c", 'echo "$FROM_WORKSPACE $1"; exit 3', "-", "a b"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (3, "yes a b\n")


def test_compose_builds_this_image_on_the_network_of_art():
    made = read_compose()
    for service in made["services"].values():
        context = (ROOT / "docker" / service["build"]["context"]).resolve()
        assert context == ROOT
        assert context / service["build"]["dockerfile"] == DOCKERFILE
        assert set(service["build"]["args"]) <= set(re.findall(r"^ARG (\w+)", TEXT, re.MULTILINE))
    assert made["networks"]["default"] == {"name": "${SIMJUDGE_NETWORK:-art}", "external": True}


def test_the_service_runs_a_graph_that_there_is():
    simjudge, run, graph, *words = read_compose()["services"]["simjudge"]["command"]
    assert (simjudge, run) == ("simjudge", "run")
    made = GRAPHS[graph].processes(dict(word.split(":=") for word in words))
    assert any(process.executable == "detection_node" for process in made)


def test_the_devcontainer_builds_the_same_image_and_mounts_the_checkout_where_it_was():
    folder = ROOT / ".devcontainer"
    made = json.loads((folder / "devcontainer.json").read_text(encoding="utf-8"))
    assert (folder / made["build"]["dockerfile"]).resolve() == DOCKERFILE
    assert (folder / made["build"]["context"]).resolve() == ROOT
    place = Path(dict(instructions())["WORKDIR"]) / "src/simjudge"
    assert made["workspaceFolder"] == str(place)
    assert f"target={place}," in made["workspaceMount"]
