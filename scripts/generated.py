"""Writes each file that a program makes: `make generated`. With --check it only names those that are old."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

SCRIPTS = Path(__file__).resolve().parent
MAKERS = ("badges", "changelog_rst", "draw_rooms", "llms_txt", "ros_page", "schemas", "versions")
"""Each has files(): what they should say, by path."""


def main(arguments: list[str]) -> str | None:
    """Write what is not as it should be, or (--check) say which files that are: the reason to fail."""
    old = []
    for maker in MAKERS:
        for path, text in runpy.run_path(str(SCRIPTS / f"{maker}.py"))["files"]().items():
            if not path.exists() or path.read_text(encoding="utf-8") != text:
                old.append(str(path.relative_to(SCRIPTS.parent)))
                if "--check" not in arguments:
                    path.write_text(text, encoding="utf-8")
    if "--check" in arguments and old:
        return f"not what the sources say any more: {', '.join(old)}; run: make generated"
    sys.stdout.write("".join(f"{name}: written anew\n" for name in old))
    return None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
