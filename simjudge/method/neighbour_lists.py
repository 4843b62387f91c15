"""Growing lists of members for many rows, in one flat array: the A_c and B_c of live contexts."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from simjudge.core.arrays import BoolArray, FloatArray, IntArray
from simjudge.core.numba_cache import njit

FIRST_ROOM = 8


class NeighbourLists:
    """For each row a list of numbers (of samples), kept in order of the samples' performance when asked for.

    A list that outgrows its room moves to the end of the flat array with twice the room, so appending costs the same
    on average however long the lists are.
    """

    def __init__(self) -> None:
        """No rows yet."""
        self.items = np.zeros(1024, np.int32)
        self.used = 0
        self.start = np.zeros(0, np.int64)
        self.length = np.zeros(0, np.int64)
        self.room = np.zeros(0, np.int64)
        self.ordered = np.zeros(0, np.int64)

    def __len__(self) -> int:
        """The number of rows."""
        return len(self.start)

    def add_rows(self, count: int) -> None:
        """Add rows with empty lists."""
        nothing = np.zeros(count, np.int64)
        self.start = np.concatenate([self.start, nothing])
        self.length, self.room = np.concatenate([self.length, nothing]), np.concatenate([self.room, nothing])
        self.ordered = np.concatenate([self.ordered, nothing])

    def append(self, rows: IntArray, items: npt.NDArray[np.int32]) -> None:
        """Append items[k] to the list of rows[k], for all k.

        Args:
            rows: int64 (K,).
            items: int32 (K,), numbers of samples.
        """
        done = 0
        while done < len(rows):
            done, self.used = _append(rows, items, done, self.items, self.used, self.start, self.length, self.room)
            if done < len(rows):
                grown = np.zeros(2 * len(self.items) + 2 * int(self.room[rows[done]]), np.int32)
                grown[: self.used] = self.items[: self.used]
                self.items = grown

    def sort_lists(self, rows: IntArray, performance: FloatArray) -> None:
        """Order the lists of some rows by the performance of their members.

        Args:
            rows: int64 (R,).
            performance: (N,), by number of the sample.
        """
        _put_in_order(rows, self.items, self.start, self.length, self.ordered, performance)

    def keep(self, rows: BoolArray, number: npt.NDArray[np.int32]) -> None:
        """Drop rows and members; what stays keeps its order.

        Args:
            rows: bool (R,), the rows that stay.
            number: int32 (N,), by number of the sample: its new number, -1 where it is no longer a member of any list.
        """
        self.start, self.length, self.ordered = self.start[rows], self.length[rows], self.ordered[rows]
        self.room = _with_room(self.length)
        kept = np.zeros(max(1024, int(self.room.sum())), np.int32)
        self.used = _keep(self.items, self.start, self.length, self.ordered, self.room, number, kept)
        self.items = kept

    def of(self, row: int) -> npt.NDArray[np.int32]:
        """The list of one row, as a view."""
        return self.items[self.start[row] : self.start[row] + self.length[row]]


@njit(cache=True, nogil=True)
def _append(rows, items, done, flat, used, start, length, room):  # type: ignore[no-untyped-def]
    """Append from number `done` on until the flat array is full; returns how far it came, and what is used."""
    for k in range(done, len(rows)):
        row = rows[k]
        if length[row] == room[row]:
            wanted = max(FIRST_ROOM, 2 * room[row])
            if used + wanted > len(flat):
                return k, used
            for i in range(length[row]):
                flat[used + i] = flat[start[row] + i]
            start[row], room[row] = used, wanted
            used += wanted
        flat[start[row] + length[row]] = items[k]
        length[row] += 1
    return len(rows), used


@njit(cache=True, nogil=True)
def _put_in_order(rows, flat, start, length, ordered, performance):  # type: ignore[no-untyped-def]
    """Sort what is new in each list and merge it with what was in order before."""
    for r in range(len(rows)):
        row = rows[r]
        first, old, count = start[row], ordered[row], length[row]
        if old == count:
            continue
        new = flat[first + old : first + count].copy()
        new = new[np.argsort(performance[new], kind="mergesort")]
        write, left = count - 1, old - 1
        for k in range(len(new) - 1, -1, -1):
            while left >= 0 and performance[flat[first + left]] > performance[new[k]]:
                flat[first + write] = flat[first + left]
                write -= 1
                left -= 1
            flat[first + write] = new[k]
            write -= 1
        ordered[row] = count


@njit(cache=True, nogil=True)
def _with_room(length):  # type: ignore[no-untyped-def]
    """A list's length with room for some more: a window forgets about as many members as come, and seldom moves one."""
    return length + length // 8 + FIRST_ROOM


@njit(cache=True, nogil=True)
def _keep(flat, start, length, ordered, room, number, out):  # type: ignore[no-untyped-def]
    """Write the lists without the members that go, each with some room, one behind the other; returns what is used."""
    used = 0
    for row in range(len(start)):
        first, kept, in_order = start[row], 0, 0
        for i in range(length[row]):
            new = number[flat[first + i]]
            if new >= 0:
                out[used + kept] = new
                kept += 1
                if i < ordered[row]:
                    in_order += 1
        start[row], length[row], ordered[row] = used, kept, in_order
        room[row] = _with_room(kept)
        used += room[row]
    return used
