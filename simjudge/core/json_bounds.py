"""What JSON may hold that Python reads and later trips over: deep nesting, and texts that are no Unicode."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

MOST_LEVELS = 64
"""Levels of lists and tables within each other that a JSON or YAML file may have."""
_BLOCK = 1 << 20
"""Bytes whose brackets are counted at once."""
_BRACKETS = np.zeros(256, np.int8)
"""What each byte does to the number of open brackets."""
_BRACKETS[[ord("["), ord("{")]] = 1
_BRACKETS[[ord("]"), ord("}")]] = -1
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_PAIR_OR_ESCAPE = re.compile(r"\\u[dD][89abAB]..\\u[dD][c-fC-F]..|\\u[dD][89a-fA-F]..|\\.", re.DOTALL)
_ONE_ESCAPE = len("\\ud800")


def is_too_deep(text: str, content: Any) -> bool:
    """Whether lists and tables lie in each other deeper than they may."""
    return _open_brackets(text) > MOST_LEVELS and _levels_end(content)


def find_half_character(text: str) -> re.Match[str] | None:
    r"""The first escape of one half of a character alone, such as \ud800, which no file can be written with.

    Args:
        text: the JSON.
    """
    if _SURROGATE.search(text) is None:
        return None
    escapes = _PAIR_OR_ESCAPE.finditer(text)
    return next((each for each in escapes if len(each[0]) == _ONE_ESCAPE), None)


def _open_brackets(text: str) -> int:
    """How many brackets are open at once at most; brackets within texts count too."""
    data = np.frombuffer(text.encode("utf-8", "surrogatepass"), np.uint8)
    now, most = 0, 0
    for start in range(0, len(data), _BLOCK):
        steps = np.cumsum(_BRACKETS[data[start : start + _BLOCK]], dtype=np.int64)
        most = max(most, now + int(steps.max()))
        now += int(steps[-1])
    return most


def _levels_end(content: Any) -> bool:
    level = [content]
    for _ in range(MOST_LEVELS):
        inside = (each.values() if isinstance(each, dict) else each for each in level)
        level = [part for parts in inside for part in parts if isinstance(part, dict | list)]
        if not level:
            return False
    return True
