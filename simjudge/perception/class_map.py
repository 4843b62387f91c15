"""A detector's classes as those of a data set."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from simjudge.core.class_names import normalized_name
from simjudge.core.errors import SimjudgeError
from simjudge.core.frames import FrameSet
from simjudge.core.text import one_line


@dataclass(frozen=True)
class ClassMap:
    """A detector's class ids as those of a data set.

    Attributes:
        ids: the set's id by the detector's id; a detector's class that is not in it is dropped.
        names: names of the set's classes afterwards.
        notes: what a person should know about it, one line each.
    """

    ids: dict[int, int] | None
    names: dict[int, str]
    notes: list[str]


def map_classes(
    model: str, model_names: dict[int, str], frames: FrameSet, rename: Mapping[str, str] | None = None
) -> ClassMap:
    """Match a detector's classes with a set's, by name where both have names, else by id.

    Names are equal whatever their case, and whether words are parted by spaces, hyphens or underscores. Where that
    leaves a class without its like, "blue" and "blue_cone" are one, unless two classes claim the same; this is noted.

    Args:
        model: what the detector is called.
        model_names: the detector's class names by id; empty where it has none.
        frames: the set.
        rename: by a name of the detector's, what the set calls it.

    Raises:
        SimjudgeError: they have no class in common, or a name to be renamed does not exist.
    """
    theirs = _new_names(model, model_names, rename or {})
    ours = frames.class_names
    if not ours or not theirs:
        return _same_ids(model, frames, theirs)
    by_name = {normalized_name(name): class_id for class_id, name in ours.items()}
    ids = {c: by_name[normalized_name(name)] for c, name in theirs.items() if normalized_name(name) in by_name}
    alike = _alike({c: n for c, n in theirs.items() if c not in ids},
                   {c: n for c, n in ours.items() if c not in ids.values()})  # fmt: skip
    ids |= alike
    if not ids:
        raise SimjudgeError(
            f"{frames.name} and {model} have no class in common ({_some(list(ours.values()))} in the set, "
            f"{_some(list(theirs.values()))} in the model); say with --rename MODEL=SET which are the same"
        )
    notes = []
    if alike:
        pairs = _some([f"{theirs[c]} = {ours[mine]}" for c, mine in alike.items()])
        notes.append(f"taken for the same in {model} and {frames.name}: {pairs}; --rename MODEL=SET says otherwise")
    unknown = [name for c, name in ours.items() if c not in ids.values()]
    if unknown:
        notes.append(f"{model} does not know {_some(unknown)}: those objects cannot be found")
    dropped = [name for c, name in theirs.items() if c not in ids]
    if dropped:
        notes.append(f"{frames.name} does not have {_some(dropped)}: what {model} finds of it is dropped")
    return ClassMap(ids, dict(ours), notes)


def _alike(theirs: dict[int, str], ours: dict[int, str]) -> dict[int, int]:
    """The set's ids by the model's, of names that differ by an appended "cone" alone; none that two could mean."""

    def by_stem(names: dict[int, str]) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for class_id, name in names.items():
            found.setdefault(normalized_name(name).removesuffix(" cone"), []).append(class_id)
        return found

    mine = by_stem(ours)
    return {c[0]: mine[stem][0] for stem, c in by_stem(theirs).items() if len(c) == 1 == len(mine.get(stem, ()))}


def _same_ids(model: str, frames: FrameSet, theirs: dict[int, str]) -> ClassMap:
    """The match where one side has no names."""
    labelled = {int(c) for c in np.unique(frames.objects.class_id)}
    if labelled and theirs and not labelled & set(theirs):
        raise SimjudgeError(
            f"{frames.name} and {model} have no class in common: ids {sorted(labelled)} in the set (which has "
            f"no class names), {sorted(theirs)} in the model"
        )
    who = frames.name if not frames.class_names else model
    notes = [f"{who} has no class names: class ids are taken to mean the same in both"] if labelled else []
    return ClassMap(None, dict(frames.class_names or theirs), notes)


def _new_names(model: str, names: dict[int, str], rename: Mapping[str, str]) -> dict[int, str]:
    known = {normalized_name(name) for name in names.values()}
    for name in rename:
        if normalized_name(name) not in known:
            raise SimjudgeError(f"{model} has no class {one_line(name)!r}: {_some(list(names.values()))}")
    new = {normalized_name(old): name for old, name in rename.items()}
    return {c: new.get(normalized_name(name), name) for c, name in names.items()}


def _some(names: list[str], most: int = 8) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
