"""Text, JSON and XML files: read tolerantly (BOM, CRLF), refused with file, line and remedy.

JSON may hold what Python reads and later trips over: deep nesting, and texts that are not Unicode.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element, ParseError

import numpy as np
from defusedxml import DefusedXmlException
from defusedxml.ElementTree import fromstring

from simjudge.core.errors import SimjudgeError
from simjudge.core.files import LARGEST_TEXT, read_bytes

# A JSON or YAML object as it stands in a file: what it holds is checked where it is used.
Json = dict[str, Any]
JsonMapping = Mapping[str, Any]

MOST_LEVELS = 64  # Levels of lists and tables within each other that a JSON or YAML file may have
_BLOCK = 1 << 20  # Bytes whose brackets are counted at once
_BRACKETS = np.zeros(256, np.int8)  # What each byte does to the number of open brackets
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
    return next((escape for escape in escapes if len(escape[0]) == _ONE_ESCAPE), None)


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
        inside = (node.values() if isinstance(node, dict) else node for node in level)
        level = [part for parts in inside for part in parts if isinstance(part, dict | list)]
        if not level:
            return False
    return True


class _RepeatedFieldError(Exception):
    """A field that stands twice in one object, of which JSON would take the last."""


def _unique_fields(pairs: list[tuple[str, Any]]) -> dict[str, object]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        names = [name for name, _ in pairs]
        raise _RepeatedFieldError(next(name for i, name in enumerate(names) if name in names[:i]))
    return fields


def read_text(path: str | Path) -> str:
    """Read a UTF-8 file, without its byte order mark."""
    path = Path(path)
    data = read_bytes(path, LARGEST_TEXT)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise SimjudgeError(f"{path}: not UTF-8 text (byte {error.start}); save it as UTF-8") from error


def load_json(path: str | Path) -> Any:
    """Parse a JSON file."""
    path = Path(path)
    text = read_text(path)
    try:
        content = json.loads(text, object_pairs_hook=_unique_fields)
    except json.JSONDecodeError as error:
        detail = "the file is empty" if not text.strip() else f"{error.msg}, column {error.colno}"
        raise SimjudgeError(f"{path}:{error.lineno}: not valid JSON ({detail}); write the file anew") from error
    except _RepeatedFieldError as error:
        raise SimjudgeError(f"{path}: the field {one_line(error)} stands twice in one object; keep one") from error
    except (RecursionError, ValueError) as error:
        raise SimjudgeError(f"{path}: not usable JSON ({type(error).__name__}); write the file anew") from error
    if is_too_deep(text, content):
        raise SimjudgeError(f"{path}: not usable JSON (more than {MOST_LEVELS} levels); write the file anew")
    half = find_half_character(text)
    if half is not None:
        line = text.count("\n", 0, half.start()) + 1
        raise SimjudgeError(f"{path}:{line}: {half[0]} is half a character (a lone surrogate); correct that text")
    return content


def load_xml(path: str | Path) -> Element:
    """Parse an XML file; entities and external references are refused."""
    path = Path(path)
    data = read_bytes(path, LARGEST_TEXT)
    try:
        root: Element = fromstring(data)
    except ParseError as error:
        line = error.position[0]
        reason = str(error).split(":")[0]
        raise SimjudgeError(f"{path}:{line}: not valid XML ({reason}); export the annotations again") from error
    except (DefusedXmlException, ValueError, LookupError) as error:
        raise SimjudgeError(f"{path}: XML that is refused ({type(error).__name__}); export it again") from error
    return root


def parse_number(value: Any) -> float | None:
    """Read a value out of a file as a number: the number, perhaps NaN or infinite; None where it is none."""
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return None


def parse_integer(value: Any) -> int | None:
    """Read a value out of a file as a whole number: the number, below 2^53 in size; None where it is none."""
    read = parse_number(value)
    return int(read) if read is not None and abs(read) < 2**53 and read == int(read) else None


def one_line(text: object, limit: int = 60) -> str:
    """Shorten a value to one line, to be named in a message."""
    line = " ".join(str(text).split())
    return line if len(line) <= limit else line[: limit - 3] + "..."


def check_unicode(names: Sequence[str]) -> None:
    """Refuse names that no text file can hold: those of files whose bytes are no UTF-8."""
    try:
        "".join(names).encode()
    except UnicodeEncodeError:
        name = next(name for name in names if not _is_unicode(name))
        raise SimjudgeError(f"{one_line(ascii(name))}: the name of this file is not valid UTF-8; rename it") from None


def _is_unicode(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


_LONGEST_NAME = 100  # Characters of a name in a list: a damaged file may name anything


def list_some(names: Sequence[str], most: int = 8) -> str:
    """Join names to a list for a message, long ones cut off."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    cut = (name if len(name) <= _LONGEST_NAME else f"{name[:_LONGEST_NAME]}..." for name in names[:most])
    return ", ".join(cut) + more


def near_name(given: object, known: Collection[str]) -> str:
    """The end of a message about a name that does not exist: the nearest one, or nothing where none is near."""
    folded = {name.casefold(): name for name in known}
    near = difflib.get_close_matches(str(given).casefold(), folded, 1)
    return f"; is {folded[near[0]]} meant?" if near else ""


def nearest_name(given: object, known: Collection[str]) -> str:
    """The end of a message about a name that does not exist: the nearest one, or all there are."""
    return near_name(given, known) or f"; there are {', '.join(sorted(known)) or 'none'}"
