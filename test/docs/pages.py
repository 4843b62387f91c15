"""The pages of the documentation, for the tests that hold them to the code."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), ROOT / "bags/README.md", *(ROOT / "docs").rglob("*.md")])
BLOCK = re.compile(r"^( *)```(\w*)\n(.*?)^\1```", re.MULTILINE | re.DOTALL)


def blocks(text, *languages):
    """The code blocks of a page that are of one of some languages; "" for one that names none."""
    return [body for _, language, body in BLOCK.findall(text) if language in languages]


def prose(text):
    """A page without its code blocks."""
    return BLOCK.sub("", text)
