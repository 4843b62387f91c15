"""What the steps of a study depend on: their arguments, the files that these name, and the steps before."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from simjudge.core.digest import hash_value
from simjudge.core.errors import SimjudgeError
from simjudge.core.files import hash_files
from simjudge.core.installed import CAMERA, DETECTOR, SCENE, SENSORS, VEHICLE, find_file, shipped_files
from simjudge.core.version import version
from simjudge.questions.study.file import Study
from simjudge.questions.study.values import StepReference
from simjudge.scene.read import read_scene
from simjudge.scene.scene_digest import scene_digest

_KINDS = {"camera": CAMERA, "scene": SCENE, "sensors": SENSORS, "vehicle": VEHICLE}
"""Arguments that name files that come with simjudge, or are paths."""


def step_digests(study: Study) -> dict[str, str]:
    """Digests of what the steps depend on, by their names.

    Args:
        study: the study, its steps in an order in which they can run.

    Raises:
        SimjudgeError: a step names what is not there, or a file of it cannot be read.
    """
    digests: dict[str, str] = {}
    files: dict[Path, str] = {}
    for step in study.steps:
        seed = step.arguments.get("seed", 0)
        try:
            content = {key: _content(key, each, seed, digests, files) for key, each in step.arguments.items()}
        except SimjudgeError as error:
            raise type(error)(f"step {step.name}: {error}") from error
        ending = step.output.removeprefix(step.name)
        digests[step.name] = hash_value([version(), step.verb, ending, content])
    return digests


def _content(key: str, value: Any, seed: Any, digests: Mapping[str, str], files: dict[Path, str]) -> Any:
    """What counts of an argument's value."""
    if isinstance(value, StepReference):
        return [digests[value.step], value.file]
    if isinstance(value, Mapping):
        return {name: _content(name, each, seed, digests, files) for name, each in value.items()}
    if isinstance(value, list):
        return [_content(key, each, seed, digests, files) for each in value]
    if key == "scene" and isinstance(value, str | Path):
        read_scene(value, seed)  # so that a scene that cannot be built is refused before anything runs
        return scene_digest(value, seed)
    if key in _KINDS and isinstance(value, str | Path):
        value = find_file(value, _KINDS[key])
    elif isinstance(value, str):
        value = shipped_files(DETECTOR).get(value, value) if key == "detector" else value
    if not isinstance(value, Path):
        return value
    if value not in files:
        files[value] = hash_files(value)
    return files[value]
