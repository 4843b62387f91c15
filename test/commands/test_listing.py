"""`--list` names everything that comes with simjudge, and defaults stand in for what is not named."""

from __future__ import annotations

import inspect

import pytest
from typer.testing import CliRunner

from simjudge.commands.app import app
from simjudge.core.installed import (
    CAMERA,
    DEFAULT_CAMERA,
    DETECTOR,
    RIG,
    SCENE,
    SIMULATOR,
    VEHICLE,
    shipped_files,
)
from simjudge.sim.capture.rendering import render
from simjudge.sim.driving.drive import drive


@pytest.mark.parametrize("command", ["render", "drive", "replay"])
def test_the_list_names_every_file_and_needs_nothing_else(command: str) -> None:
    done = CliRunner().invoke(app, [command, "--list"])
    assert done.exit_code == 0
    lines = [line.split()[0] for line in done.stdout.splitlines() if line.startswith("  ") and line[2] != " "]
    kinds = (SCENE, CAMERA, RIG, VEHICLE, DETECTOR, SIMULATOR)
    expected = [name for kind in kinds for name in sorted(shipped_files(kind))]
    assert lines == expected


@pytest.mark.parametrize("function", [render, drive])
def test_python_and_the_command_have_the_same_default_camera(function) -> None:
    assert inspect.signature(function).parameters["camera"].default == DEFAULT_CAMERA
    assert DEFAULT_CAMERA in shipped_files(CAMERA)
    done = CliRunner().invoke(app, [function.__name__, "--help"])
    assert f"[default: {DEFAULT_CAMERA}]" in " ".join(done.stdout.split())
