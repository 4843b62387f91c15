"""Stamps that have come, with a number each, in twelve bytes a stamp: a dictionary takes fifteen times as much."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

_RECENT = 4096
"""Stamps that are kept in a dictionary before they are sorted in."""


class StampTable:
    """A number for each stamp, which is looked up by the stamp; the first that is added stays."""

    def __init__(self) -> None:
        """No stamp yet."""
        self._stamps = np.zeros(0, np.int64)
        self._values = np.zeros(0, np.uint32)
        self._recent: dict[int, int] = {}

    def __len__(self) -> int:
        """How many stamps there are."""
        return len(self._stamps) + len(self._recent)

    def __contains__(self, stamp: int) -> bool:
        """Whether a stamp has been added."""
        return self.get(stamp) is not None

    def add(self, stamp: int, value: int = 0) -> None:
        """Add a stamp, unless it is there.

        Args:
            stamp: nanoseconds.
        """
        if stamp in self:
            return
        self._recent[stamp] = value
        if len(self._recent) >= _RECENT:
            self._sort_in()

    def get(self, stamp: int) -> int | None:
        """The number of a stamp, None where it has not been added.

        Args:
            stamp: nanoseconds.
        """
        if stamp in self._recent:
            return self._recent[stamp]
        place = int(np.searchsorted(self._stamps, stamp))
        if place < len(self._stamps) and self._stamps[place] == stamp:
            return int(self._values[place])
        return None

    def stamps(self) -> npt.NDArray[np.int64]:
        """All stamps, ascending."""
        self._sort_in()
        return self._stamps

    def nonzero(self, stamps: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        """Whether each of some stamps is here with a number that is not 0.

        Args:
            stamps: (N,) nanoseconds.
        """
        here = self.stamps()
        if not len(here):
            return np.zeros(len(stamps), np.bool_)
        place = np.minimum(np.searchsorted(here, stamps), len(here) - 1)
        return np.asarray((here[place] == stamps) & (self._values[place] != 0))

    def _sort_in(self) -> None:
        if not self._recent:
            return
        stamps = np.concatenate([self._stamps, np.fromiter(self._recent.keys(), np.int64, len(self._recent))])
        values = np.concatenate([self._values, np.fromiter(self._recent.values(), np.uint32, len(self._recent))])
        order = np.argsort(stamps, kind="stable")
        self._stamps, self._values = stamps[order], values[order]
        self._recent.clear()
