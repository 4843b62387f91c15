"""What a scene's file says before anything is made of it: YAML, what it extends, and what its seed draws.

* `extends: NAME_OR_FILE` takes over another scene. Fields with parts are merged part by part, anything else is
  replaced, and null takes a part away.
* `{between: [low, high]}` in place of a number is drawn evenly (whole numbers, both ends included, where both ends
  are whole), `{one_of: [...]}` in place of anything is one of the list. What is drawn depends on the seed and on the
  field's name, not on what else the file holds.
"""

from __future__ import annotations

import zlib
from collections.abc import Hashable
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.core.installed import roots
from simjudge.core.text import one_line, read_text
from simjudge.scene.entry import is_numbers

_FILES = ("mesh", "file")
"""Fields that hold the path of a file, relative to the scene's file that says so."""
_DEEPEST = 8


def shipped_scenes() -> dict[str, Path]:
    """The scenes that come with simjudge, by name."""
    found = [path for root in roots() for path in sorted((root / "config" / "scenes").glob("*.yaml"))]
    return {path.stem: path for path in reversed(found)}


def scene_file(given: str | Path) -> Path:
    """The scene's file of a path or of a shipped scene's name.

    Raises:
        UsageError: there is no such file, nor a scene of that name.
    """
    path, shipped = Path(given), shipped_scenes()
    if path.is_file():
        return path
    if str(given) in shipped:
        return shipped[str(given)]
    names = ", ".join(sorted(shipped)) or "none"
    raise UsageError(f"{given}: neither a scene's file nor the name of one that is shipped ({names})")


def read_content(path: Path, seed: int) -> dict[str, Any]:
    """All fields of a scene's file, those it extends among them, with everything drawn and paths made whole.

    Raises:
        SimjudgeError: the file, or one it extends, is no YAML with fields, or a draw makes no sense.
    """
    try:
        content: dict[str, Any] = _drawn(path, _extended(path, ()), "", seed)
    except RecursionError as error:
        raise SimjudgeError(f"{path}: parts within parts without end; break the circle of anchors") from error
    return content


def random_of(seed: int, where: str) -> np.random.Generator:
    """The random numbers of one place of a scene."""
    return np.random.default_rng([seed, zlib.crc32(where.encode())])


def _extended(path: Path, before: tuple[Path, ...]) -> dict[str, Any]:
    if len(before) > _DEEPEST or path.resolve() in before:
        raise SimjudgeError(f"{before[0]}: extends: it comes back to itself through {path.name}; break the circle")
    content = _loaded(path)
    if "extends" not in content:
        return content
    given = content.pop("extends")
    if not isinstance(given, str) or not given:
        raise SimjudgeError(f"{path}: extends: a scene's name or file is needed; this is {one_line(given)}")
    beside, shipped = path.parent / given, shipped_scenes()
    if not beside.is_file() and given not in shipped:
        names = ", ".join(sorted(shipped)) or "none"
        raise SimjudgeError(f"{path}: extends: {given} is neither beside it nor the name of a shipped scene ({names})")
    base = beside if beside.is_file() else shipped[given]
    found = _extended(base, (*before, path.resolve()))
    found.pop("name", None)
    merged: dict[str, Any] = _merged(found, content)
    return merged


def _loaded(path: Path) -> dict[str, Any]:
    text = read_text(path)
    try:
        content = yaml.load(text, Loader=_Loader)  # noqa: S506 - it is a safe one
    except yaml.MarkedYAMLError as error:
        line = f":{error.problem_mark.line + 1}" if error.problem_mark else ""
        raise SimjudgeError(f"{path}{line}: no YAML: {one_line(error.problem or error)}") from error
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise SimjudgeError(f"{path}: no YAML: {one_line(error)}") from error
    if not isinstance(content, dict):
        raise SimjudgeError(f"{path}: no scene: fields such as things and lights are needed")
    _make_paths_whole(content, path.parent)
    return content


class _Loader(yaml.SafeLoader):
    """YAML's safe loader, but a field that stands twice is an error, not the second one."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:  # noqa: FBT001, FBT002
        seen: set[object] = set()
        for key, _ in node.value:
            if key.tag != "tag:yaml.org,2002:merge":
                if key.value in seen:
                    mark = key.start_mark
                    raise yaml.constructor.ConstructorError(None, None, f"{key.value} stands there twice", mark)
                seen.add(key.value)
        return super().construct_mapping(node, deep)


def _make_paths_whole(content: Any, folder: Path) -> None:
    parts = content.values() if isinstance(content, dict) else content if isinstance(content, list) else ()
    for part in parts:
        _make_paths_whole(part, folder)
    if isinstance(content, dict):
        for field in _FILES:
            if isinstance(content.get(field), str):
                content[field] = str(folder / content[field])


def _merged(base: Any, change: Any) -> Any:
    if not isinstance(base, dict) or not isinstance(change, dict) or _is_draw(base) or _is_draw(change):
        return change
    return {**base, **{key: _merged(base.get(key), value) for key, value in change.items()}}


def _is_draw(content: dict[Any, Any]) -> bool:
    return set(content) in ({"between"}, {"one_of"})


def _drawn(path: Path, content: Any, where: str, seed: int) -> Any:
    if isinstance(content, list):
        return [_drawn(path, item, f"{where}[{number}]", seed) for number, item in enumerate(content)]
    if not isinstance(content, dict):
        return content
    if set(content) == {"between"}:
        ends = content["between"]
        if not is_numbers(ends, 2) or ends[0] > ends[1]:
            raise SimjudgeError(f"{path}: {where}.between: [low, high] is needed; this is {one_line(ends)}")
        random = random_of(seed, where)
        whole = type(ends[0]) is int and type(ends[1]) is int
        return int(random.integers(ends[0], ends[1] + 1)) if whole else float(random.uniform(*ends))
    if set(content) == {"one_of"}:
        choices = content["one_of"]
        if not isinstance(choices, list) or not choices:
            raise SimjudgeError(f"{path}: {where}.one_of: a list is needed; this is {one_line(choices)}")
        return _drawn(path, choices[int(random_of(seed, where).integers(len(choices)))], where, seed)
    return {key: _drawn(path, value, f"{where}.{key}" if where else str(key), seed) for key, value in content.items()}
