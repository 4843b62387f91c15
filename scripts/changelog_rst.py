"""Writes CHANGELOG.rst, which ROS tools such as bloom read, from CHANGELOG.md; `make generated` writes it."""

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
_TITLE = "Changelog for package simjudge"
_MADE = ".. Made from CHANGELOG.md by scripts/changelog_rst.py."
_INLINE = re.compile(r"(`[^`]+`)|\[((?:[^\]`]|`[^`]*`)+)\]\(([^)]+)\)|(\*\*[^*]+\*\*)|([*_|\\])")


def to_rst(text: str) -> str:
    """The changelog as reStructuredText: a section for each version, headings below it as bold lines.

    Args:
        text: CHANGELOG.md.
    """
    lines = [_TITLE, "^" * len(_TITLE), "", _MADE]
    for line in _joined(text[text.index("\n## ") :].splitlines()):
        if line.startswith("## "):
            # The tools know this word for what has no version yet.
            title = "Forthcoming" if line == "## Unreleased" else line.removeprefix("## ")
            lines += ["", title, "-" * len(title)]
        elif line.startswith("#"):
            lines += ["", f"**{line.lstrip('# ')}**", ""]
        elif line:
            lines.append(f"* {_inline(line[2:])}" if line.startswith("* ") else _inline(line))
    return "\n".join(lines) + "\n"


def _joined(lines: list[str]) -> Iterator[str]:
    """Paragraphs as one line each."""
    held = ""
    for line in lines:
        starts = not line or line.startswith(("#", "* "))
        if starts and held:
            yield held
            held = ""
        if line.startswith("#") or not line:
            yield line
        else:
            held = f"{held} {line.strip()}" if held else line
    if held:
        yield held


def _inline(text: str) -> str:
    return _INLINE.sub(_piece, text)


def _piece(found: re.Match[str]) -> str:
    code, label, target, bold, sign = found.groups()
    if code:
        return f"`{code}`"
    if label:
        # Pages of the repository are not beside the file where ROS shows it.
        return f"`{label.replace('`', '')} <{target}>`__" if "://" in target else _inline(label)
    return bold or f"\\{sign}"


def files() -> dict[Path, str]:
    """What the file should say."""
    return {ROOT / "CHANGELOG.rst": to_rst((ROOT / "CHANGELOG.md").read_text("utf-8"))}
