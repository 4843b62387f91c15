"""A detector's classes as those of a data set."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from simjudge.core.class_names import normalized_name
from simjudge.core.errors import SimjudgeError
from simjudge.core.frames import FrameSet
from simjudge.core.text import list_some, one_line, parse_integer

_PAIRS_SHOWN = 20
"""Classes at most that a message shows how to rename."""


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
    """Match a detector's classes with a set's by name; what has no names has to be renamed, unless neither side has.

    Names are equal whatever their case, and whether words are parted by spaces, hyphens or underscores. Where that
    leaves a class without its like, "blue" and "blue_cone" are one, unless two classes claim the same; this is noted.
    A class without a name is called by its number.

    Args:
        model_names: the detector's class names by id; empty where it has none.
        rename: by a name of the detector's, what the set calls it; several may become one class of the set.
    """
    rename = rename or {}
    theirs = _new_names(model, model_names or _numbers(model, rename), rename)
    labelled = np.unique(frames.objects.class_id).tolist()
    if not frames.class_names and not labelled:
        return _of_pictures(theirs)
    if not frames.class_names and not theirs:
        note = f"neither {frames.name} nor {model} has class names: numbers are taken to mean the same in both"
        return ClassMap(None, {}, [note])
    if not rename:
        _require_names(model, theirs, frames, labelled)
    ours = frames.class_names or {c: str(c) for c in labelled}
    by_name = {normalized_name(name): class_id for class_id, name in ours.items()}
    ids = {c: by_name[normalized_name(name)] for c, name in theirs.items() if normalized_name(name) in by_name}
    alike = _alike({c: n for c, n in theirs.items() if c not in ids},
                   {c: n for c, n in ours.items() if c not in ids.values()})  # fmt: skip
    ids |= alike
    if not ids:
        raise SimjudgeError(
            f"{frames.name} and {model} have no class in common ({list_some(list(ours.values()))} in the set, "
            f"{list_some(list(theirs.values()))} in the model); say with --rename MODEL=SET which are the same"
        )
    notes = []
    if alike:
        pairs = list_some([f"{theirs[c]} = {ours[mine]}" for c, mine in alike.items()])
        notes.append(f"taken for the same in {model} and {frames.name}: {pairs}; --rename MODEL=SET says otherwise")
    unknown = [name for c, name in ours.items() if c not in ids.values()]
    if unknown:
        notes.append(f"{model} does not know {list_some(unknown)}: those objects cannot be found")
    dropped = [name for c, name in theirs.items() if c not in ids]
    if dropped:
        notes.append(f"{frames.name} does not have {list_some(dropped)}: what {model} finds of it is dropped")
    if not model_names:
        notes.append(f"what {model} finds of classes that are not renamed is dropped")
    return ClassMap(ids, dict(frames.class_names) or _names_by(ids, model_names, ours), notes)


def _alike(theirs: dict[int, str], ours: dict[int, str]) -> dict[int, int]:
    """The set's ids by the model's, of names that differ by an appended "cone" alone; none that two could mean."""

    def by_stem(names: dict[int, str]) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for class_id, name in names.items():
            found.setdefault(normalized_name(name).removesuffix(" cone"), []).append(class_id)
        return found

    mine = by_stem(ours)
    return {c[0]: mine[stem][0] for stem, c in by_stem(theirs).items() if len(c) == 1 == len(mine.get(stem, ()))}


def _of_pictures(theirs: dict[int, str]) -> ClassMap:
    """The classes of pictures that nobody labelled: the detector's; several of one name become the first of them."""
    first: dict[str, int] = {}
    ids = {c: first.setdefault(normalized_name(name), c) for c, name in theirs.items()}
    return ClassMap(ids or None, {c: theirs[c] for c in first.values()}, [])


def _require_names(model: str, theirs: dict[int, str], frames: FrameSet, labelled: list[int]) -> None:
    """Refuse to match by number what one side alone has names for."""
    ours = frames.class_names
    if ours and theirs:
        return
    if theirs:
        nameless, named, names, numbers = frames.name, model, theirs, labelled
        pairs = [f"{theirs[c]}={c}" for c in labelled if c in theirs]
    else:
        nameless, named, names, numbers = model, frames.name, ours, list(ours)
        pairs = [f"{c}={name}" for c, name in ours.items()]
    example = f"{','.join(pairs[:_PAIRS_SHOWN])} where numbers mean the same"
    if not pairs:
        example = f"{next(iter(names.values()))}={numbers[0]}, for example"
    without, having = list_some([str(c) for c in numbers]), list_some(list(names.values()))
    raise SimjudgeError(
        f"{nameless} has no class names (numbers {without}), and {named} has ({having}): name the classes of "
        f"{nameless}, or say which are the same: --rename {example}"
    )


def _names_by(ids: dict[int, int], model_names: dict[int, str], ours: dict[int, str]) -> dict[int, str]:
    """Names for the classes of a set without names: those that the detector has for them."""
    return {
        mine: "/".join(model_names[c] for c, to in ids.items() if to == mine and c in model_names) or number
        for mine, number in ours.items()
    }


def _numbers(model: str, rename: Mapping[str, str]) -> dict[int, str]:
    """The classes of a detector without names: the numbers that are renamed."""
    found = {name: parse_integer(name) for name in rename}
    wrong = next((name for name, number in found.items() if number is None), None)
    if wrong is not None:
        raise SimjudgeError(f"{model} has no class names: --rename {one_line(wrong)}=... must begin with a number")
    return {number: name for name, number in found.items() if number is not None}


def _new_names(model: str, names: dict[int, str], rename: Mapping[str, str]) -> dict[int, str]:
    known = {normalized_name(name) for name in names.values()}
    for name in rename:
        if normalized_name(name) not in known:
            raise SimjudgeError(f"{model} has no class {one_line(name)!r}: {list_some(list(names.values()))}")
    new = {normalized_name(old): name for old, name in rename.items()}
    return {c: new.get(normalized_name(name), name) for c, name in names.items()}
