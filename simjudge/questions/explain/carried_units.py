"""The sampling units of a set whose frames were rendered again, so that the same draws serve it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from simjudge.core.arrays import IntArray
from simjudge.core.object_tables import NO_INSTANCE, Objects
from simjudge.studies.units.sampling_units import SampleUnits


def carried_units(units: SampleUnits, before: tuple[Objects, Objects], after: tuple[Objects, Objects]) -> SampleUnits:
    """The units of the objects that are labelled now: each takes that of what was in its place before.

    Args:
        before: those objects; none of a side where that side has none now.
    """
    a, b = (same_places(*both) for both in zip(before, after, strict=True))
    block = None if units.block is None else (units.block[0][a], units.block[1][b])
    return replace(units, unit=(units.unit[0][a], units.unit[1][b]), block=block)


def same_places(before: Objects, after: Objects) -> IntArray:
    """(N,) for each object after the one before that it is: of its frame, else of the nearest frame that shows any.

    Of several it is the one of the same class, then of the same instance number, then with the nearest centre.
    """
    filled = np.unique(before.frame)
    order = np.argsort(before.frame, kind="stable")
    centre, now = ((each.box[:, :2] + each.box[:, 2:]) / 2 for each in (before, after))
    out = np.empty(len(after), np.int64)
    for frame in np.unique(after.frame).tolist():
        nearest = filled[np.abs(filled - frame).argmin()]
        there = order[slice(*np.searchsorted(before.frame[order], [nearest, nearest + 1]))]
        for row in np.flatnonzero(after.frame == frame).tolist():
            other_class = before.class_id[there] != after.class_id[row]
            numbered = after.instance[row] != NO_INSTANCE
            other_thing = numbered & (before.instance[there] != after.instance[row])
            away = ((centre[there] - now[row]) ** 2).sum(1)
            out[row] = there[np.lexsort((away, other_thing, other_class))[0]]
    return out
