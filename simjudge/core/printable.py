"""Texts of data as a terminal or a summary may show them; loads at once, as the program's start needs it."""

from __future__ import annotations

import re


def printable(text: str) -> str:
    """A text for a terminal or a summary: what would steer a terminal, or turn the order of letters, as its escape."""
    return _UNPRINTABLE.sub(lambda found: ascii(found[0])[1:-1], text)


_UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")
