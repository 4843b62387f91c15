"""Valid input turned bad: bytes flipped, cut and doubled; values of a text replaced by those that readers trip over.

All choices come from one `random.Random`: hypothesis gives one that it can shrink, atheris one made of its seed.
"""

from __future__ import annotations

import json
import re
from random import Random
from typing import Any

import yaml

DIGITS_30 = 123456789012345678901234567890
DIGITS_5000 = "9" * 5000
VALUES: tuple[Any, ...] = (
    None,
    True,
    0,
    -1,
    1,
    2,
    0.5,
    1.7,
    65_535,
    65_536,
    2**31,
    2**31 - 1,
    -(2**31) - 1,
    2**53,
    2**63 - 1,
    2**63,
    -(2**63),
    DIGITS_30,
    1e-9,
    1e18,
    1e200,
    -1e200,
    1e300,
    float("inf"),
    float("-inf"),
    float("nan"),
    "",
    " ",
    "a",
    "0",
    "-1",
    "1e400",
    "nan",
    "../../../../etc/passwd",
    "/etc/passwd",
    "/dev/zero",
    "nul\x00",
    "x\ny",
    "\ud800",
    "a\udfffb",
    "\U0001f6a6",
    "x" * 5000,
    "red",
    "1",
    "a,b",
    "<&>\"'",
    "%s{}",
    "[bold]",
    "\x1b[31m",
    [],
    {},
    [[]],
    [0],
    [0, 0],
    [1, 2, 3, 4],
    [None],
    ["a"],
    {"a": 1},
    {"": {}},
    {"size": [2**20, 2**20], "counts": "1"},
    {"size": [1_000_000, 1_000_000], "counts": [10**12]},
)
"""What a value of JSON, or of YAML, may be replaced by."""
WORDS = (
    "",
    "0",
    "-1",
    "1",
    "1.7",
    "65536",
    "2147483648",
    "4294967296",
    "9223372036854775808",
    str(DIGITS_30),
    "1e-9",
    "1e18",
    "1e200",
    "-1e200",
    "1e300",
    "1e400",
    "inf",
    "-inf",
    "nan",
    ".inf",
    ".nan",
    "NaN",
    "Infinity",
    "null",
    "true",
    "~",
    "''",
    '""',
    '"',
    "'",
    "[]",
    "{}",
    "[",
    "]",
    "{",
    "}",
    ",",
    ":",
    "&a",
    "*a",
    "<<",
    "!!int ''",
    "!!python/none",
    "!a b",
    "2020-13-45",
    "0x",
    "0b",
    "1:99",
    "=",
    "a",
    "\\ud800",
    '"\\ud800"',
    '"\\udfff"',
    "\x00",
    "\ud800",
    "﻿",
    "%",
    "#",
    "|",
    "> ",
    "- ",
    "\t",
    "\r\n",
    "\n",
    " ",
    "/dev/zero",
    "../x",
    "0x7fffffff",
    "1_000",
    "٣",
    "²",
)
"""What a word of a text may be replaced by."""
LONG = (DIGITS_5000, "x" * 100_000, *(3000 * each for each in ("[", '{"a":', "- ", "<a>", "(", "\n")))
"""What a word of a text may be replaced by, at times."""
_WORD = re.compile(r'"(?:[^"\\]|\\.)*"|[-+]?\.?\d[\w.+-]*|\w+|[^\s\w]|\s+')


def mutate(data: bytes, form: str, random: Random) -> bytes:
    """One bad version of valid input.

    Args:
        data: the valid input, or a version that is bad already.
        form: "json", "yaml", "text" or "bytes".
        random: makes every choice.
    """
    for _ in range(random.randint(1, 3)):
        if form == "bytes" or random.randrange(8) == 0:
            data = _mutate_bytes(data, random)
        elif form in ("json", "yaml") and random.randrange(4) > 0:
            data = _mutate_tree(data, form, random)
        else:
            data = _mutate_words(data, random)
    return data


def _mutate_bytes(data: bytes, random: Random) -> bytes:  # noqa: PLR0911 - one for each kind of damage
    at = random.randint(0, len(data))
    end = min(len(data), at + 2 ** random.randint(0, 8))
    kind = random.randrange(8)
    if kind == 0:
        return data[:at]
    if kind == 1:
        return data[:at] + data[end:]
    if kind == 2:
        return data[:end] + data[at:]
    if kind == 3:
        return data[:at] + random.randbytes(4) + data[at:]
    if kind == 4:
        to = random.randint(0, len(data))
        return data[:to] + data[at:end] + data[to:]
    if kind == 5:
        size = random.choice([1, 2, 4, 8])
        limit = 2 ** (8 * size)
        number = random.choice([0, 1, limit // 2 - 1, limit // 2, limit - 1, 2 ** (4 * size)])
        return data[:at] + number.to_bytes(size, random.choice(["little", "big"])) + data[at + size :]
    if at == len(data):
        return data
    return data[:at] + bytes([data[at] ^ (1 << random.randrange(8))]) + data[at + 1 :]


def _mutate_words(data: bytes, random: Random) -> bytes:
    words = _WORD.findall(data.decode("utf-8", "surrogateescape"))
    if not words:
        return data
    at = random.randrange(len(words))
    kind = random.randrange(6)
    if kind == 0:
        del words[at]
    elif kind == 1:
        other = random.randrange(len(words))
        words[at:at] = words[min(at, other) : max(at, other)][:50]
    elif kind == 2:
        other = random.randrange(len(words))
        words[at], words[other] = words[other], words[at]
    elif kind == 3 and random.randrange(4) == 0:
        words[at] = random.choice(LONG)
    else:
        words[at] = random.choice(WORDS)
    return "".join(words).encode("utf-8", "surrogatepass")


def _mutate_tree(data: bytes, form: str, random: Random) -> bytes:
    """Replace, remove, double or move a part of what a JSON or YAML file holds."""
    try:
        content = json.loads(data) if form == "json" else yaml.load(data, yaml.CSafeLoader)
    except (ValueError, RecursionError, yaml.YAMLError, AttributeError, TypeError, IndexError, KeyError):
        return _mutate_words(data, random)
    places = _places(content)
    if not places:
        return _mutate_words(data, random)
    inside, key = random.choice(places)
    other, other_key = random.choice(places)
    kind = random.randrange(6)
    if kind == 0:
        del inside[key]
    elif kind == 1:
        inside[key] = other[other_key]
    elif kind == 2 and isinstance(inside, dict):
        inside[random.choice(["", "a", "\ud800", "0", str(key) + "x", str(DIGITS_30)])] = inside.pop(key)
    elif kind == 2:
        inside.insert(key, inside[key])
    else:
        inside[key] = random.choice(VALUES)
    try:
        if form == "json":
            return json.dumps(content).encode()
        return yaml.dump(content, Dumper=yaml.CSafeDumper, sort_keys=False).encode()
    except (ValueError, RecursionError, TypeError, yaml.YAMLError):
        return _mutate_words(data, random)


def _places(content: Any) -> list[tuple[Any, Any]]:
    """Every value in tables and lists: what holds it, and its key."""
    found: list[tuple[Any, Any]] = []
    todo = [content]
    seen: set[int] = set()
    while todo:
        each = todo.pop()
        if id(each) in seen:
            continue
        keys = list(each) if isinstance(each, dict) else range(len(each)) if isinstance(each, list) else ()
        if isinstance(each, dict | list):
            seen.add(id(each))
        found += [(each, key) for key in keys]
        todo += [each[key] for key in keys]
    return found
