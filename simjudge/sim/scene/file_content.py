"""What a scene's file says before its fields are checked: YAML, what it extends, and what its seed draws.

* `extends: NAME_OR_FILE` takes over another scene. Fields with parts are merged part by part, anything else is
  replaced, and null takes a part away.
* `{between: [low, high]}` in place of a number is drawn evenly (whole numbers, both ends included, where both ends
  are whole), `{one_of: [...]}` in place of anything is one of the list. What is drawn depends on the seed and on the
  field's name, not on what else the file holds.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from simjudge.core.documents import Location, error_at, field_name
from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.core.field_types import is_number
from simjudge.core.files import is_file
from simjudge.core.installed import SCENE, find_file
from simjudge.core.text import one_line
from simjudge.core.yaml_file import YamlFile, read_yaml
from simjudge.sim.scene.scene_fields import FARTHEST

FILE_FIELDS = ("mesh", "file")  # Fields that hold the path of a file, relative to the scene's file that says so
_DEEPEST = 8  # Files that extend one another at most


class SceneContent(NamedTuple):
    """What a scene's file says, with all that it extends and everything drawn."""

    content: dict[str, Any]
    sources: tuple[YamlFile, ...]  # the file and those it extends, the most particular first


def read_content(path: Path, seed: int) -> SceneContent:
    """All fields of a scene's file, those it extends among them, with everything drawn and paths made whole."""
    content, sources = _extended(path, ())
    drawn: dict[str, object] = _Draws(path, sources, seed).drawn(content, ())
    return SceneContent(drawn, sources)


def random_of(seed: int, where: str) -> np.random.Generator:
    """The random numbers of one field of a scene."""
    return np.random.default_rng([seed, zlib.crc32(where.encode())])


def _extended(path: Path, before: tuple[Path, ...]) -> tuple[dict[Any, Any], tuple[YamlFile, ...]]:
    file = read_yaml(path)
    if len(before) > _DEEPEST or path.resolve() in before:
        raise SimjudgeError(f"{before[0]}: extends: it comes back to itself through {path.name}; break the circle")
    if not isinstance(file.content, dict):
        raise SimjudgeError(f"{path}: no scene: fields such as things and lights are needed")
    content: dict[Any, Any] = _with_whole_paths(file.content, path.parent)
    if "extends" not in content:
        return content, (file,)
    given = content.pop("extends")
    if not isinstance(given, str) or not given:
        raise error_at(path, (file,), ("extends",), f"a scene's name or file is needed; this is {one_line(given)}")
    beside = path.parent / given
    try:
        base = beside if is_file(beside) else find_file(given, SCENE)
    except UsageError as error:
        raise error_at(path, (file,), ("extends",), str(error)) from error
    found, sources = _extended(base, (*before, path.resolve()))
    found.pop("name", None)
    merged: dict[Any, Any] = _merged(found, content)
    return merged, (file, *sources)


def _with_whole_paths(content: Any, folder: Path) -> Any:
    """A copy whose fields of files hold whole paths."""
    if isinstance(content, list):
        return [_with_whole_paths(item, folder) for item in content]
    if not isinstance(content, dict):
        return content
    return {
        key: str(folder / value) if key in FILE_FIELDS and isinstance(value, str) else _with_whole_paths(value, folder)
        for key, value in content.items()
    }


def _merged(base: Any, change: Any) -> Any:
    if not isinstance(base, dict) or not isinstance(change, dict) or _is_draw(base) or _is_draw(change):
        return change
    return {**base, **{key: _merged(base.get(key), value) for key, value in change.items()}}


def _is_draw(content: dict[Any, Any]) -> bool:
    return set(content) in ({"between"}, {"one_of"})


class _Draws:
    """Puts what the seed draws in place of each draw."""

    def __init__(self, path: Path, sources: Sequence[YamlFile], seed: int) -> None:
        self._path, self._sources, self._seed = path, sources, seed

    def drawn(self, content: Any, location: tuple[int | str, ...]) -> Any:
        if isinstance(content, list):
            return [self.drawn(item, (*location, number)) for number, item in enumerate(content)]
        if not isinstance(content, dict):
            return content
        if set(content) == {"between"}:
            return self._between(content["between"], location)
        if set(content) == {"one_of"}:
            choices = content["one_of"]
            if not isinstance(choices, list) or not choices:
                raise self._error((*location, "one_of"), f"a list is needed; this is {one_line(choices)}")
            return self.drawn(choices[int(self._random(location).integers(len(choices)))], location)
        return {key: self.drawn(value, (*location, str(key))) for key, value in content.items()}

    def _between(self, ends: Any, location: Location) -> float:
        pair = isinstance(ends, list) and len(ends) == 2 and all(is_number(end, FARTHEST) for end in ends)
        if not pair or ends[0] > ends[1]:
            raise self._error((*location, "between"), f"[low, high] is needed; this is {one_line(ends)}")
        random = self._random(location)
        whole = type(ends[0]) is int and type(ends[1]) is int
        return int(random.integers(ends[0], ends[1] + 1)) if whole else float(random.uniform(*ends))

    def _random(self, location: Location) -> np.random.Generator:
        return random_of(self._seed, field_name(location))

    def _error(self, location: Location, message: str) -> SimjudgeError:
        return error_at(self._path, self._sources, location, message)
