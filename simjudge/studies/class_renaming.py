"""Classes of a set under other names, so that two sets that call one class otherwise can be compared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from simjudge.core.class_names import normalized_name
from simjudge.core.errors import SimjudgeError
from simjudge.core.frames import FrameSet
from simjudge.core.object_tables import AnyTable
from simjudge.core.text import list_some, one_line


def rename_classes(frames: FrameSet, rename: Mapping[str, str], option: str) -> FrameSet:
    """The set, its labels and predictions, with some classes renamed; classes of one new name become one.

    Args:
        rename: the new name by the name that the set has, or by the number of a class without a name.

    Raises:
        SimjudgeError: the set has no class of such a name.
    """
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
        predictions=None if frames.predictions is None else _renumbered(frames.predictions, moved),
        class_names={k: name for k, name in names.items() if moved.get(k, k) == k},
    )


def rename_class_names(frames: FrameSet, rename: Mapping[str, str], option: str) -> dict[int, str]:
    """The class names of a set, some of them changed; several numbers may then have one name.

    Raises:
        SimjudgeError: the set has no class of such a name.
    """
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
