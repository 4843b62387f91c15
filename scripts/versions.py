"""The version of pyproject.toml in the files that must repeat it: those of ROS 2 packages, and the citation."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
COPIES = {
    "package.xml": r"(?<=<version>)[^<]+(?=</version>)",
    "msgs/package.xml": r"(?<=<version>)[^<]+(?=</version>)",
    "CITATION.cff": r"(?m)(?<=^version: ).+$",
}
"""Where in each file the version stands."""


def files() -> dict[Path, str]:
    """What each of the files should say."""
    stated = re.search(r'(?m)^version = "(.+)"$', (ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    if stated is None:
        raise SystemExit("pyproject.toml: has no version")
    found = {}
    for name, place in COPIES.items():
        text, count = re.subn(place, stated[1], (ROOT / name).read_text(encoding="utf-8"))
        if count != 1:
            raise SystemExit(f"{name}: has {count} places for the version, and must have one")
        found[ROOT / name] = text
    return found
