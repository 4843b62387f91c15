"""Making the classes of two sets mean the same thing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from shlex import quote

import numpy as np

from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.core.frames import FrameSet
from simjudge.core.names import free_class_id, normalized_name
from simjudge.core.object_tables import AnyTable
from simjudge.core.text import list_some, nearest_name, one_line


def match_classes(a: FrameSet, b: FrameSet) -> FrameSet:
    """B with the class ids of A: matched by name where both sets name their classes, else by id."""
    matched = ClassNumbering(a.class_names).apply(b)
    in_a, in_b = set(a.objects.class_id.tolist()), set(matched.objects.class_id.tolist())
    if not in_a & in_b:
        for frames, ids in ((a, in_a), (b, in_b)):
            if not ids:
                raise SimjudgeError(
                    f"{frames.name} has no labels, so that {a.name} and {b.name} have no class in common: label its "
                    "images, or give labels with --from-predictions of a stronger detector (simjudge data convert)"
                )
        remedy = ""
        if in_a and in_b:
            pair = f"{one_line(matched.class_name(min(in_b)))}={one_line(a.class_name(min(in_a)))}"
            remedy = f"say which are the same, as in --b-rename {quote(pair)}, or "
        raise SimjudgeError(
            f"{a.name} and {b.name} have no class in common: {_listed(a, in_a)} against {_listed(matched, in_b)}; "
            f"{remedy}give them the same names or ids"
        )
    return matched


def describe_numbers(a: FrameSet, b: FrameSet, option: str = "--{}-rename ") -> str:
    """Say what class numbers are taken to mean where only one of two sets names its classes."""
    named, nameless, letter = (a, b, "b") if a.class_names else (b, a, "a")
    used = np.unique(nameless.objects.class_id).tolist()
    if not named.class_names or nameless.class_names or not used:
        return ""
    pairs = [f"{k} = {named.class_names.get(k, 'no class of it')}" for k in used]
    remedy = f"name its classes to be sure, or say which they are: {option.format(letter)}{used[0]}=NAME"
    return (
        f"warning: {nameless.name} has no class names: its numbers are taken for those of {named.name}"
        f" ({', '.join(pairs)}); {remedy}"
    )


class ClassNumbering:
    """One numbering of classes for sets that come one after the other: names that are new get free numbers.

    Names are equal whatever their case, and whether words are parted by spaces, hyphens or underscores. A set without
    names keeps its ids, and so does every set where the first one has no names.
    """

    def __init__(self, names: dict[int, str]) -> None:
        """Start with a first set."""
        self.names = dict(names)
        self._named = bool(names)
        self._by_name = {normalized_name(name): class_id for class_id, name in names.items()}

    def apply(self, frames: FrameSet) -> FrameSet:
        """The set under this numbering."""
        if not self._named or not frames.class_names:
            return frames
        number = {class_id: self._number(class_id, name) for class_id, name in frames.class_names.items()}
        if all(class_id == new for class_id, new in number.items()):
            return frames
        used = set(frames.objects.class_id.tolist())
        nameless = {k: self._number(k, f"class {k} of {frames.name}") for k in sorted(used - set(number))}
        number |= nameless
        return replace(
            frames,
            objects=_numbered(frames.objects, number),
            ignored=_numbered(frames.ignored, number | {-1: -1}),
            predictions=None if frames.predictions is None else _numbered(frames.predictions, number),
            class_names={number[class_id]: name for class_id, name in frames.class_names.items()},
        )

    def _number(self, class_id: int, name: str) -> int:
        key = normalized_name(name)
        if key not in self._by_name:
            new = class_id if class_id not in self.names else free_class_id(self.names)
            self._by_name[key], self.names[new] = new, name
        return self._by_name[key]


def _numbered(table: AnyTable, number: dict[int, int]) -> AnyTable:
    # A number that nothing names must not become a class that has one.
    ids = np.array([number.get(int(k), -1 - int(k)) for k in table.class_id], np.int64)
    return replace(table, class_id=ids)


def _listed(frames: FrameSet, ids: set[int]) -> str:
    return ", ".join(sorted(frames.class_name(k) for k in ids)) or "nothing labelled"


def chosen_classes(a: FrameSet, b: FrameSet, wanted: Iterable[str] | None) -> tuple[FrameSet, FrameSet]:
    """Two sets without the labels, the predictions and the names of the classes that are not judged."""
    selection = ClassSelection(wanted or (), (a, b))
    return selection.apply(a), selection.apply(b)


class ClassSelection:
    """The classes that are judged.

    Names are equal whatever their case, and whether words are parted by spaces, hyphens or underscores. A class without
    a name is called by its number.
    """

    def __init__(self, wanted: Iterable[str], sets: Sequence[FrameSet]) -> None:
        """Choose classes."""
        self._wanted = {normalized_name(name): name for name in wanted}
        self._names = next((frame_set.class_names for frame_set in sets if frame_set.class_names), {})
        if not self._wanted:
            return
        known = [name for frame_set in sets for name in self._known(frame_set)]
        for key, name in self._wanted.items():
            if key not in map(normalized_name, known):
                raise UsageError(f"--class {one_line(name)}: no set has this class{nearest_name(name, set(known))}")
        for frame_set in sets:
            if len(frame_set.objects) and not len(self.apply(frame_set).objects):
                listed = list_some([one_line(name) for name in self._wanted.values()])
                raise SimjudgeError(f"{frame_set.name}: holds no labelled object of {listed} (--class)")

    def apply(self, frames: FrameSet) -> FrameSet:
        """The set without the labels, the predictions and the names of other classes."""
        if not self._wanted:
            return frames
        predictions = frames.predictions
        return replace(
            frames,
            objects=self._chosen(frames.objects, frames),
            ignored=self._chosen(frames.ignored, frames),
            predictions=None if predictions is None else self._chosen(predictions, frames),
            class_names={k: name for k, name in frames.class_names.items() if normalized_name(name) in self._wanted},
        )

    def _chosen(self, table: AnyTable, frames: FrameSet) -> AnyTable:
        ids = [
            k
            for k in np.unique(table.class_id).tolist()
            if k < 0 or normalized_name(self._name(frames, k)) in self._wanted
        ]
        return table.take(np.flatnonzero(np.isin(table.class_id, ids)))

    def _known(self, frames: FrameSet) -> list[str]:
        """The names that a set's classes have, of objects or not."""
        used = np.unique(frames.objects.class_id).tolist()
        return [self._name(frames, k) for k in {**frames.class_names, **dict.fromkeys(used)}]

    def _name(self, frames: FrameSet, class_id: int) -> str:
        return (frames.class_names or self._names).get(class_id, str(class_id))


def rename_classes(frames: FrameSet, rename: Mapping[str, str], option: str) -> FrameSet:
    """The set, its labels and predictions, with some classes renamed; classes of one new name become one."""
    names = rename_class_names(frames, rename, option)
    if names == frames.class_names:
        return frames
    new = {normalized_name(name) for name in rename.values()}
    first: dict[str, int] = {}
    for class_id, name in sorted(names.items()):
        first.setdefault(normalized_name(name), class_id)
    moved = {k: first[normalized_name(name)] for k, name in names.items() if normalized_name(name) in new}
    return replace(
        frames,
        objects=_renumbered(frames.objects, moved),
        ignored=_renumbered(frames.ignored, moved),
        predictions=None if frames.predictions is None else _renumbered(frames.predictions, moved),
        class_names={k: name for k, name in names.items() if moved.get(k, k) == k},
    )


def rename_class_names(frames: FrameSet, rename: Mapping[str, str], option: str) -> dict[int, str]:
    """The class names of a set, some of them changed; several numbers may then have one name."""
    tables = [frames.objects] + ([] if frames.predictions is None else [frames.predictions])
    used = {int(k) for table in tables for k in np.unique(table.class_id)}
    known = {k: frames.class_name(k) for k in sorted({*frames.class_names, *used})}
    names = dict(frames.class_names)
    for old, new in rename.items():
        ids = [k for k, name in known.items() if normalized_name(name) == normalized_name(old)]
        if not ids:
            raise SimjudgeError(
                f"{option} {one_line(old)}={one_line(new)}: {frames.name} has no class {one_line(old)!r};"
                f" it has {list_some([one_line(name) for name in known.values()]) or 'none'}"
            )
        names |= dict.fromkeys(ids, new)
    return names


def _renumbered(table: AnyTable, moved: Mapping[int, int]) -> AnyTable:
    return replace(table, class_id=np.array([moved.get(k, k) for k in table.class_id.tolist()], np.int64))


def match_predicted_classes(frames: FrameSet, rename: Mapping[str, str]) -> FrameSet:
    """The set with the classes of its predictions renamed; where nothing tells what they are, it is refused.

    Detectors publish numbers ("0") for classes that the labels call by name ("cone"), or the other way round. Every
    object would count as missed, and the pictures would be blamed.
    """
    found = frames.predictions
    if found is None or frames.classless or not len(found) or not len(frames.objects):
        return frames
    ids, labelled = (np.unique(table.class_id).tolist() for table in (found, frames.objects))
    number = {normalized_name(frames.class_name(k)): k for k in {*frames.class_names, *labelled}}
    new = {normalized_name(old): name for old, name in rename.items()}
    keys = {k: normalized_name(frames.class_name(k)) for k in ids}
    moved = {k: _numbered_prediction(frames, new[key], number) for k, key in keys.items() if key in new}
    if moved:
        classes = np.array([moved.get(k, k) for k in found.class_id.tolist()], np.int64)
        return replace(frames, predictions=replace(found, class_id=classes))
    unmatched = unmatched_classes(frames)
    if unmatched is not None:
        raise SimjudgeError(f"{unmatched.what}; say it with --rename {unmatched.example}")
    return frames


@dataclass(frozen=True)
class UnmatchedClasses:
    """Classes of predictions and labels of which nothing tells which are the same."""

    what: str  # what is wrong, as the beginning of a message
    example: str  # how one of the predictions' classes may be renamed


def unmatched_classes(frames: FrameSet) -> UnmatchedClasses | None:
    """Look whether predictions and labels have no class in common while one of them is without names."""
    found = frames.predictions
    if found is None or frames.classless or not len(found) or not len(frames.objects):
        return None
    ids, labelled = (np.unique(table.class_id).tolist() for table in (found, frames.objects))
    nameless = [k for k in (*ids, *labelled) if k not in frames.class_names]
    if not frames.class_names or not nameless or set(ids) & set(labelled):
        return None
    theirs, ours = ([one_line(frames.class_name(k)) for k in numbers] for numbers in (ids, labelled))
    return UnmatchedClasses(
        f"{frames.name}: its predictions are of class {list_some(theirs)}, its labels of {list_some(ours)}, and nothing"
        " tells which are the same",
        f"{theirs[0]}={ours[0]}",
    )


def _numbered_prediction(frames: FrameSet, name: str, number: Mapping[str, int]) -> int:
    found = number.get(normalized_name(name))
    if found is None:
        known = list_some([frames.class_name(k) for k in number.values()])
        raise SimjudgeError(f"--rename ...={one_line(name)}: {frames.name} has no such class; it has {known}")
    return found
