"""What import-linter (pyproject.toml, `make lint`) cannot see of the order of the rooms."""

import ast

from project_file import CONTENT, ROOT

ROOMS = {p.name for p in (ROOT / "simjudge").iterdir() if (p / "__init__.py").exists()}


def imported(path):
    """Every module that a file names in an absolute import, in functions and under TYPE_CHECKING too."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def importers(folder, unwanted):
    return [
        f"{path.relative_to(ROOT)} imports {name}"
        for path in sorted(folder.rglob("*.py"))
        for name in imported(path)
        if unwanted(name.split("."))
    ]


def test_every_room_has_its_place_in_the_order():
    layers = next(c for c in CONTENT["tool"]["importlinter"]["contracts"] if c["type"] == "layers")["layers"]
    assert set(layers) == ROOMS | {"cli"}


def test_the_library_never_imports_the_nodes():
    """They are installed as simjudge.nodes, which import-linter does not find: it reads folders."""
    assert importers(ROOT / "simjudge", lambda name: name[:2] == ["simjudge", "nodes"]) == []


def test_no_room_imports_the_front_door():
    """simjudge/__init__.py offers functions of all rooms: to a room it is above."""
    assert [
        line for room in ROOMS for line in importers(ROOT / "simjudge" / room, lambda name: name == ["simjudge"])
    ] == []


def test_nodes_import_each_other_by_relative_imports_alone():
    """Under an absolute name they would be found in the installed package or on disk, not in both."""
    assert importers(ROOT / "nodes", lambda name: name[0] == "nodes" or name[:2] == ["simjudge", "nodes"]) == []
