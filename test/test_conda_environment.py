"""environment.yml has everything that setup.py asks for, and what PyChrono and RoboStack are built for."""

import ast
import re
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[1]
ELSEWHERE = {"opencv-python-headless": "opencv"}
"""Names of conda for those of pip."""


def required():
    """The names in setup.py's lists CORE and SIM."""
    names = set()
    for node in ast.parse((ROOT / "setup.py").read_text()).body:
        if isinstance(node, ast.Assign) and node.targets[0].id in ("CORE", "SIM"):
            names |= {re.split(r"[<>=\[;]", entry)[0].strip().lower() for entry in ast.literal_eval(node.value)}
    return names


def given():
    content = yaml.safe_load((ROOT / "environment.yml").read_text())
    entries = [entry for entry in content["dependencies"] if isinstance(entry, str)]
    entries += next(entry["pip"] for entry in content["dependencies"] if isinstance(entry, dict))
    return content, {re.split(r"[<>=]", entry)[0].strip().lower(): entry for entry in entries}


def test_nothing_is_missing():
    _, there = given()
    needed = required()
    assert len(needed) > 10
    assert {ELSEWHERE.get(name, name) for name in needed} - there.keys() == set()


def test_python_is_one_that_both_are_built_for():
    content, there = given()
    assert there["python"] == "python=3.12"
    assert content["channels"][0] == "projectchrono"
    assert content["channels"][-1] == "conda-forge"
    assert "pychrono" in there
