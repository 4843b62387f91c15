"""The badges of the README, drawn from what pyproject.toml and setup.py state: they say nothing else."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
_WIDTH, _PAD = 6.6, 6
"""Pixels of a letter at 11 px, and around a word."""


def files() -> dict[Path, str]:
    """What each badge should say."""
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    setup = (ROOT / "setup.py").read_text(encoding="utf-8")
    pythons = re.search(r'python_requires=">=(\d\.\d+),<3\.(\d+)"', setup)
    version, licence = re.search(r'(?m)^version = "(.+)"$', project), re.search(r'license="(.+)"', setup)
    if not (pythons and version and licence):
        raise SystemExit("version, licence or Pythons are not stated where they were")
    said = {
        "version": version[1],
        "python": f"{pythons[1]} to 3.{int(pythons[2]) - 1}",
        "licence": licence[1],
    }
    return {ROOT / f"docs/images/badge_{name}.svg": badge(name, value) for name, value in said.items()}


def badge(name: str, value: str) -> str:
    """A name on grey beside a value on blue."""
    left, right = (round(len(word) * _WIDTH + 2 * _PAD) for word in (name, value))
    texts = "".join(
        f'<text x="{x}" y="14" textLength="{round(len(word) * _WIDTH)}">{word}</text>'
        for x, word in ((_PAD, name), (left + _PAD, value))
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + right}" height="20" role="img"'
        f' aria-label="{name}: {value}"><rect width="{left + right}" height="20" rx="3" fill="#4a4f57"/>'
        f'<path d="M{left} 0h{right - 3}a3 3 0 0 1 3 3v14a3 3 0 0 1 -3 3h-{right - 3}z" fill="#1f6feb"/>'
        f'<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">{texts}</g></svg>\n'
    )
