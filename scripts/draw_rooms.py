"""Draw docs/images/rooms.svg, which ARCHITECTURE.md shows: which room of the library imports which.

The rooms stand in the order that pyproject.toml holds them to (`make lint`). A dot says that the room of the row
imports the room of the column. Every import downwards is a dot right of the diagonal. An import upwards would be a red
dot left of it. `make generated` draws it. It needs grimp (`make setup-test`).
"""

from __future__ import annotations

import sys
from pathlib import Path

import grimp

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10
    from pip._vendor import tomli as tomllib

ROOT = Path(__file__).resolve().parents[1]
PICTURE = ROOT / "docs/images/rooms.svg"
PURPOSES = {
    "nodes": "ROS 2 nodes: topics in, one call of the library, messages out",
    "commands": "the command line: options in, one call of the library, a table out",
    "ros": "graphs: which nodes run with which parameters",
    "questions": "a folder for each question: settings, run, result, words, page, command",
    "judging": "sets judged and compared, once and live",
    "bridge": "a program's own PyChrono system, seen and recorded",
    "objects": "the second judge: the same objects, and the whole signal, in two sensors",
    "sim": "the simulator: scenes, sensors, engines, capture, driving, vehicles",
    "detectors": "detectors, training, assignment of detections to objects",
    "data": "data sets and recordings: read, written, converted",
    "page": "the kit of all pages: templates, figures that save themselves, numbers as text",
    "results": "what a comparison leaves, and reading it again",
    "method": "contexts: patches, join, W1, certainty, verdicts",
    "geometry": "poses, trajectories, transforms",
    "terminal": "what every command does alike: options from settings, tables, progress, Ctrl-C",
    "core": "frames, images, boxes, errors, files",
}
"""What each room is for, in a line."""
ROW_PX = 26
NAME_PX = 104
TEXT_PX = 456
TOP_PX = 96
MARGIN_PX = 12


def rooms() -> list[str]:
    """The rooms from the top down, `nodes` first."""
    tools = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]
    layers = next(c for c in tools["importlinter"]["contracts"] if c["type"] == "layers")["layers"]
    return ["nodes", *(name for name in layers if name != "cli")]


def imports(names: list[str]) -> set[tuple[str, str]]:
    """Every pair of a room and another one that it imports."""
    sys.path.insert(0, str(ROOT))  # where `nodes` is a package
    graph = grimp.build_graph("simjudge", "nodes", cache_dir=None)
    pairs = set()
    for module in graph.modules:
        for target in graph.find_modules_directly_imported_by(module):
            pair = (room_of(module), room_of(target))
            if pair[0] != pair[1] and set(pair) <= set(names):
                pairs.add(pair)
    return pairs


def room_of(module: str) -> str:
    """The room that a module stands in, by the module's full name."""
    parts = module.split(".")
    return "nodes" if parts[0] == "nodes" else parts[1] if len(parts) > 1 else ""


def drawing() -> str:
    """The picture as SVG."""
    names = rooms()
    pairs = imports(names)
    left = MARGIN_PX + NAME_PX + TEXT_PX
    width, height = left + ROW_PX * len(names) + MARGIN_PX, TOP_PX + ROW_PX * len(names) + MARGIN_PX
    lines = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
            'font-family="sans-serif" font-size="13">'
        ),
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
        f'<text x="{MARGIN_PX}" y="{TOP_PX - 14}" fill="#555555">a dot: the row imports the column</text>',
    ]
    for row, name in enumerate(names):
        x, y = left + ROW_PX * (row + 0.5), TOP_PX + ROW_PX * (row + 0.5)
        lines.append(f'<text transform="translate({x + 4:g} {TOP_PX - 8}) rotate(-60)">{name}</text>')
        lines.append(
            f'<rect x="{MARGIN_PX}" y="{y - ROW_PX / 2 + 1:g}" width="{width - 2 * MARGIN_PX}" height="{ROW_PX - 2}" '
            f'rx="4" fill="#eef4f3"/>'
        )
        lines.append(f'<text x="{MARGIN_PX + 8}" y="{y + 5:g}" font-weight="bold">{name}</text>')
        lines.append(f'<text x="{MARGIN_PX + NAME_PX}" y="{y + 5:g}" fill="#333333">{PURPOSES[name]}</text>')
        lines.append(f'<rect x="{x - 9:g}" y="{y - 9:g}" width="18" height="18" rx="3" fill="#c9d6d3"/>')
        for column, other in enumerate(names):
            if (name, other) in pairs:
                dot = left + ROW_PX * (column + 0.5)
                colour = "#00796b" if column > row else "#c62828"
                lines.append(f'<circle cx="{dot:g}" cy="{y:g}" r="5" fill="{colour}"/>')
    return "\n".join([*lines, "</svg>", ""])


def files() -> dict[Path, str]:
    """The file with the drawing."""
    return {PICTURE: drawing()}
