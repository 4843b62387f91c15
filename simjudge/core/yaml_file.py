"""YAML that may come from anywhere: read with the line of every value, and within bounds.

PyYAML's C loader calls itself for each level of brackets and repeats whatever an alias stands for, so that a small file
can end the process or fill the memory. The events of a file are therefore counted before anything is made of them.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import yaml

from simjudge.core.errors import SimjudgeError
from simjudge.core.text import MOST_LEVELS, one_line, read_text

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
