"""environment.yml has everything that pyproject.toml asks for, and what PyChrono and RoboStack are built for."""

import re

import yaml
from project_file import ROOT, required_names

ELSEWHERE = {"opencv-python-headless": "opencv"}
"""Names of conda for those of pip."""


def given():
    content = yaml.safe_load((ROOT / "environment.yml").read_text())
    entries = [entry for entry in content["dependencies"] if isinstance(entry, str)]
    entries += next(entry["pip"] for entry in content["dependencies"] if isinstance(entry, dict))
    return content, {re.split(r"[<>=]", entry)[0].strip().lower(): entry for entry in entries}


def test_nothing_is_missing():
    _, there = given()
    needed = required_names("core") | required_names("sim")
    assert len(needed) > 10
    assert {ELSEWHERE.get(name, name) for name in needed} - there.keys() == set()


def test_python_is_one_that_both_are_built_for():
    content, there = given()
    assert there["python"] == "python=3.12"
    assert content["channels"][0] == "projectchrono/label/release"
    assert content["channels"][-1] == "conda-forge"
    assert "pychrono" in there
