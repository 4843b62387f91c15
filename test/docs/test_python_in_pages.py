"""Python that the pages show imports what exists, and calls functions of the front door that exist."""

import ast
import importlib

import pytest
from pages import PAGES, ROOT, blocks

import simjudge

SHOWN = [(page, code) for page in PAGES for code in blocks(page.read_text(encoding="utf-8"), "python")]


def missing(code):
    """What a piece of Python imports from simjudge, or reads of `sj`, and does not find."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.ImportFrom) and node.module.split(".")[0] == "simjudge":
            module = importlib.import_module(node.module)
            yield from (f"{node.module}.{a.name}" for a in node.names if not hasattr(module, a.name))
        elif isinstance(node, ast.Attribute) and ast.unparse(node.value) == "sj" and not hasattr(simjudge, node.attr):
            yield f"sj.{node.attr}"


@pytest.mark.parametrize(("page", "code"), SHOWN, ids=[str(page.relative_to(ROOT)) for page, _ in SHOWN])
def test_what_is_imported_exists(page, code):
    assert list(missing(code)) == [], page


def test_the_check_itself():
    assert list(missing("from simjudge.core.errors import Losses, Gains\nimport simjudge as sj\nsj.reed")) == [
        "simjudge.core.errors.Gains",
        "sj.reed",
    ]
