"""Judging some classes only: the others are taken out of labels and predictions before anything is compared."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from simjudge.core.class_names import normalized_name
from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.core.frames import FrameSet
from simjudge.core.object_tables import AnyTable
from simjudge.core.text import list_some, nearest_name, one_line


def chosen_classes(a: FrameSet, b: FrameSet, wanted: Iterable[str] | None) -> tuple[FrameSet, FrameSet]:
    """Two sets without the labels, the predictions and the names of the classes that are not judged.

    Args:
        wanted: the names of the classes that are judged; None for all.

    Raises:
        UsageError: neither set has a class of one of these names.
        SimjudgeError: a set has no labelled object of any of them.
    """
    selection = ClassSelection(wanted or (), (a, b))
    return selection.apply(a), selection.apply(b)


class ClassSelection:
    """The classes that are judged.

    Names are equal whatever their case, and whether words are parted by spaces, hyphens or underscores. A class without
    a name is called by its number.
    """

    def __init__(self, wanted: Iterable[str], sets: Sequence[FrameSet]) -> None:
        """Choose classes.

        Args:
            sets: what is compared. In a set without names a number means what the first set with names calls it.

        Raises:
            UsageError: no set has a class of that name.
            SimjudgeError: a set has no labelled object of any of them.
        """
        self._wanted = {normalized_name(name): name for name in wanted}
        self._names = next((each.class_names for each in sets if each.class_names), {})
        if not self._wanted:
            return
        known = [name for each in sets for name in self._known(each)]
        for key, name in self._wanted.items():
            if key not in map(normalized_name, known):
                raise UsageError(f"--class {one_line(name)}: no set has this class{nearest_name(name, set(known))}")
        for each in sets:
            if len(each.objects) and not len(self.apply(each).objects):
                listed = list_some([one_line(name) for name in self._wanted.values()])
                raise SimjudgeError(f"{each.name}: holds no labelled object of {listed} (--class)")

    def apply(self, frames: FrameSet) -> FrameSet:
        """The set without the labels, the predictions and the names of other classes.

        Args:
            frames: a set; it may be another one than those that the classes were chosen from.
        """
        if not self._wanted:
            return frames
        predictions = frames.predictions
        return replace(
            frames,
            objects=self._chosen(frames.objects, frames),
            predictions=None if predictions is None else self._chosen(predictions, frames),
            class_names={k: name for k, name in frames.class_names.items() if normalized_name(name) in self._wanted},
        )

    def _chosen(self, table: AnyTable, frames: FrameSet) -> AnyTable:
        ids = [k for k in np.unique(table.class_id).tolist() if normalized_name(self._name(frames, k)) in self._wanted]
        return table.take(np.flatnonzero(np.isin(table.class_id, ids)))

    def _known(self, frames: FrameSet) -> list[str]:
        """The names that a set's classes have, of objects or not."""
        used = np.unique(frames.objects.class_id).tolist()
        return [self._name(frames, k) for k in {**frames.class_names, **dict.fromkeys(used)}]

    def _name(self, frames: FrameSet, class_id: int) -> str:
        return (frames.class_names or self._names).get(class_id, str(class_id))
