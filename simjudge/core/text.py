"""Text, JSON, XML and YAML files: read tolerantly (BOM, CRLF), within bounds, refused with file, line and remedy.

JSON may hold what Python reads and later trips over: deep nesting, and texts that are not Unicode.

PyYAML's C loader calls itself for each level of brackets and repeats whatever an alias stands for, so that a small file
can end the process or fill the memory. The events of a file are therefore counted before anything is made of them.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast
from xml.etree.ElementTree import Element, ParseError

import numpy as np
import yaml
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


MOST_VALUES = 200_000  # Values that a file may have, those counted again that an alias repeats
_LONGEST_PROBLEM = 200  # Characters of a message of PyYAML's that are shown
_SafeLoader: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True)
class YamlFile:
    """What a YAML file holds."""

    path: Path
    content: Any
    root: yaml.Node | None  # the same as nodes, which know their lines; None for an empty file

    def line(self, location: Iterable[object]) -> int | None:
        """The line, from 1 on, of a value or of the last part of the way to it that the file has; None without any."""
        node, line = self.root, None
        for part in location:
            found = _child(node, part)
            if found is None:
                return line
            key, node = found
            line = key.start_mark.line + 1
        return line


def read_yaml(path: Path, *, unique: bool = True) -> YamlFile:
    """Read a YAML file."""
    return parse_yaml(read_text(path), path, unique=unique)


def parse_yaml(text: str, path: Path, *, unique: bool = True) -> YamlFile:
    """Parse YAML text that is held in a file of another kind."""
    try:
        _check_bounds(text)
        loader = (_UniqueLoader if unique else _Loader)(text)
        try:
            root = loader.get_single_node()
            return YamlFile(path, None if root is None else loader.construct_document(root), root)
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        line = f":{error.problem_mark.line + 1}" if error.problem_mark else ""
        problem = one_line(error.problem or error.context or error, _LONGEST_PROBLEM)
        raise SimjudgeError(f"{path}{line}: not valid YAML ({problem}); correct that line") from error
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        problem = one_line(error, _LONGEST_PROBLEM) or type(error).__name__
        raise SimjudgeError(f"{path}: not valid YAML ({problem}); correct the file") from error


def _check_bounds(text: str) -> None:
    """Refuse a text that is nested too deep, repeats itself without end, or holds too many values."""
    count, sizes = 0, dict[str, int]()
    open_parts: list[tuple[str | None, int]] = []
    for event in yaml.parse(text, Loader=_SafeLoader):
        if isinstance(event, yaml.CollectionStartEvent):
            open_parts.append((event.anchor, count))
            if len(open_parts) > MOST_LEVELS:
                raise _refusal(f"more than {MOST_LEVELS} levels of lists and tables", event)
        elif isinstance(event, yaml.CollectionEndEvent):
            anchor, before = open_parts.pop()
            if anchor is not None:
                sizes[anchor] = count - before
        elif isinstance(event, yaml.AliasEvent):
            if any(anchor == event.anchor for anchor, _ in open_parts):
                raise _refusal(f"*{event.anchor} stands within what it repeats", event)
            count += sizes.get(event.anchor or "", 0)
        elif isinstance(event, yaml.ScalarEvent) and event.anchor is not None:
            sizes[event.anchor] = 1
        count += isinstance(event, yaml.NodeEvent)
        if count > MOST_VALUES:
            raise _refusal(f"more than {MOST_VALUES} values, what aliases repeat counted again", event)


def _refusal(problem: str, event: yaml.Event) -> yaml.MarkedYAMLError:
    return yaml.MarkedYAMLError(problem=problem, problem_mark=cast("yaml.Mark | None", event.start_mark))


def _child(node: yaml.Node | None, part: object) -> tuple[yaml.Node, yaml.Node] | None:
    """The node that bears the name, and the one below it."""
    if isinstance(node, yaml.MappingNode):
        return next(((key, value) for key, value in node.value if key.value == str(part)), None)
    if isinstance(node, yaml.SequenceNode) and isinstance(part, int) and 0 <= part < len(node.value):
        return node.value[part], node.value[part]
    return None


class _Loader(_SafeLoader):  # type: ignore[misc, valid-type]
    """PyYAML's safe loader; a scalar that its own constructors trip over is an error with a line."""

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:  # noqa: FBT001, FBT002
        if not isinstance(node, yaml.ScalarNode):
            return super().construct_object(node, deep)
        try:
            return super().construct_object(node, deep)
        except (ValueError, IndexError, KeyError, AttributeError, OverflowError, TypeError) as error:
            kind = node.tag.rpartition(":")[2]
            raise yaml.constructor.ConstructorError(
                None, None, f"{one_line(node.value)!r} is no {kind}; put a text in quotes", node.start_mark
            ) from error


class _UniqueLoader(_Loader):
    """A field that stands twice is an error, not the second one."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:  # noqa: FBT001, FBT002
        seen: set[object] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode) and key.tag != "tag:yaml.org,2002:merge":
                if key.value in seen:
                    raise yaml.constructor.ConstructorError(
                        None, None, f"{one_line(key.value)} stands there twice", key.start_mark
                    )
                seen.add(key.value)
        content: dict[Hashable, Any] = super().construct_mapping(node, deep)
        if len(content) < len(seen):
            # 1, 1.0 and true are one key.
            raise yaml.constructor.ConstructorError(None, None, "two fields are the same number", node.start_mark)
        return content
