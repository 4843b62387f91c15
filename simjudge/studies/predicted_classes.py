"""Predictions and labels of one set under the same classes, where the set itself calls them otherwise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from simjudge.core.class_names import normalized_name
from simjudge.core.errors import SimjudgeError
from simjudge.core.frames import FrameSet
from simjudge.core.text import list_some, one_line


def match_predicted_classes(frames: FrameSet, rename: Mapping[str, str]) -> FrameSet:
    """The set with the classes of its predictions renamed; where nothing tells what they are, it is refused.

    Detectors publish numbers ("0") for classes that the labels call by name ("cone"), or the other way round. Every
    object would count as missed, and the pictures would be blamed.

    Args:
        rename: by what the predictions call a class (its number where it has no name), what the labels call it.

    Raises:
        SimjudgeError: predictions and labels have no class in common and one of them has no names, or a new name is
            none of the set's.
    """
    found = frames.predictions
    if found is None or frames.classless or not len(found) or not len(frames.objects):
        return frames
    ids, labelled = (np.unique(table.class_id).tolist() for table in (found, frames.objects))
    number = {normalized_name(frames.class_name(k)): k for k in {*frames.class_names, *labelled}}
    new = {normalized_name(old): name for old, name in rename.items()}
    keys = {k: normalized_name(frames.class_name(k)) for k in ids}
    moved = {k: _numbered(frames, new[key], number) for k, key in keys.items() if key in new}
    if moved:
        classes = np.array([moved.get(k, k) for k in found.class_id.tolist()], np.int64)
        return replace(frames, predictions=replace(found, class_id=classes))
    unmatched = unmatched_classes(frames)
    if unmatched is not None:
        raise SimjudgeError(f"{unmatched.what}; say it with --rename {unmatched.example}")
    return frames


@dataclass(frozen=True)
class UnmatchedClasses:
    """Classes of predictions and labels of which nothing tells which are the same.

    Attributes:
        what: what is wrong, as the beginning of a message.
        example: how one of the predictions' classes may be renamed.
    """

    what: str
    example: str


def unmatched_classes(frames: FrameSet) -> UnmatchedClasses | None:
    """Look whether predictions and labels have no class in common while one of them is without names."""
    found = frames.predictions
    if found is None or frames.classless or not len(found) or not len(frames.objects):
        return None
    ids, labelled = (np.unique(table.class_id).tolist() for table in (found, frames.objects))
    nameless = [k for k in (*ids, *labelled) if k not in frames.class_names]
    if not frames.class_names or not nameless or set(ids) & set(labelled):
        return None
    theirs, ours = ([one_line(frames.class_name(k)) for k in each] for each in (ids, labelled))
    return UnmatchedClasses(
        f"{frames.name}: its predictions are of class {list_some(theirs)}, its labels of {list_some(ours)}, and nothing"
        " tells which are the same",
        f"{theirs[0]}={ours[0]}",
    )


def _numbered(frames: FrameSet, name: str, number: Mapping[str, int]) -> int:
    found = number.get(normalized_name(name))
    if found is None:
        known = list_some([frames.class_name(k) for k in number.values()])
        raise SimjudgeError(f"--rename ...={one_line(name)}: {frames.name} has no such class; it has {known}")
    return found
