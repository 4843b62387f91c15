"""Two streams of stamped messages, matched one to one by stamp while they come in.

Nothing is ever matched twice or across passes of a looped recording; what finds no partner within bounded waiting is
handed out as left over. Within the tolerance the nearest come together, as in `simjudge.data.frame_sequences`.

A stream that lost messages may have jumped back more or less often than the other one: equal stamps that keep the order
of both streams are matched all the same, and are of one pass from there on.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from simjudge.data.frame_sequences import pair_stamps

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
        """Add a stamp, unless it is there. `stamp`: nanoseconds."""
        if stamp in self:
            return
        self._recent[stamp] = value
        if len(self._recent) >= _RECENT:
            self._sort_in()

    def get(self, stamp: int) -> int | None:
        """The number of a stamp, None where it has not been added. `stamp`: nanoseconds."""
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
        """Whether each of some stamps is here with a number that is not 0. `stamps`: (N,) nanoseconds."""
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


NO_PARTNER = "alone"
"""No message of the other stream came with this stamp; journals hold this word."""
DUPLICATE = "duplicate"
"""The stream had this stamp before."""
UNSTAMPED = "unstamped"
"""The message has no stamp."""
_REMEMBERED = 200_000
"""Stamps of a stream that are remembered."""
_SIDES = (0, 1)


@dataclass(frozen=True)
class MatchedMessages:
    """A message of each stream that belong together."""

    stamp: int  # of the first stream's message, nanoseconds
    lap: int  # which pass over a looped recording it is of, from 0
    first: Any
    second: Any


@dataclass(frozen=True)
class UnmatchedMessage:
    """A message that is not matched."""

    side: int
    stamp: int  # nanoseconds; only a count where it has none
    reason: str  # NO_PARTNER (no partner), DUPLICATE (its stream had the stamp before) or UNSTAMPED


@dataclass(frozen=True)
class BackwardJump:
    """A stream's stamps jumped back: from `before` to `stamp`; its messages are of pass `lap` from here on."""

    side: int
    before: int
    stamp: int
    lap: int


Event: TypeAlias = "MatchedMessages | UnmatchedMessage | BackwardJump"


@dataclass
class _PendingMessage:
    item: Any
    arrived: float  # seconds
    number: int  # of the stream's messages, from 1


@dataclass
class _Stream:
    """One stream: its pass, its newest stamp (of this pass, and before its last jump), what waits, what was there."""

    lap: int = 0
    received: int = 0  # messages
    matched: int = 0  # number of the latest message that was matched
    newest: int | None = None
    before: int | None = None
    last: float = 0.0
    waiting: dict[tuple[int, int], _PendingMessage] = field(default_factory=dict)
    seen: dict[tuple[int, int], None] = field(default_factory=dict)

    def take(self, key: tuple[int, int]) -> Any:
        pending = self.waiting.pop(key)
        self.matched = max(self.matched, pending.number)
        return pending.item

    def find(self, stamp: int) -> tuple[int, int] | None:
        """The first message of a stamp, of any pass, that came after all that were matched."""
        return next((k for k, item in self.waiting.items() if k[1] == stamp and item.number > self.matched), None)

    def shift(self, lap: int, passes: int) -> None:
        """Count the passes from `lap` on as so many later."""

        def later(key: tuple[int, int]) -> tuple[int, int]:
            return (key[0] + passes, key[1]) if key[0] >= lap else key

        self.lap += passes
        self.waiting = {later(key): item for key, item in self.waiting.items()}
        self.seen = {later(key): None for key in self.seen}


@dataclass(frozen=True)
class MatchingLimits:
    """How messages are matched."""

    tolerance_ns: int = 0  # largest difference of stamps, nanoseconds
    wait: float = 5.0  # seconds that a message waits for its partner, or for anything from a stream that lags behind
    max_waiting: int = 1000  # messages of a stream that wait at most; the longest waiting goes first
    # nanoseconds that a stamp must lie before the newest one to be a jump back; less is out of order
    jump_ns: int = 1_000_000_000


@dataclass
class _StampCluster:
    """Stamps of a pass, of both sides, that are near each other."""

    lap: int
    first: int
    last: int
    stamps: tuple[list[int], list[int]] = field(default_factory=lambda: ([], []))

    def holds(self, key: tuple[int, int]) -> bool:
        return key[0] == self.lap and self.first <= key[1] <= self.last


class StreamMatcher:
    """Matches two streams. `out_of_order`: messages of each stream that came after a newer one."""

    def __init__(self, limits: MatchingLimits) -> None:
        """Start with nothing."""
        self.limits = limits
        self.out_of_order = [0, 0]
        self._streams = (_Stream(), _Stream())

    def waiting(self, side: int) -> int:
        """How many messages of a stream wait for a partner. `side`: 0 for the first stream, 1 for the second."""
        return len(self._streams[side].waiting)

    def add(self, side: int, stamp: int, item: Any, now: float) -> list[Event]:
        """Take a message in.

        `side`: 0 for the first stream, 1 for the second; `stamp`: nanoseconds; `now`: seconds on a steady clock, for
        the waiting.
        """
        mine, other = self._streams[side], self._streams[1 - side]
        events: list[Event] = list(self._order(side, stamp, now))
        mine.received += 1
        partner = (mine.lap, stamp) if (mine.lap, stamp) in other.waiting else other.find(stamp)
        if partner and partner[0] > mine.lap:
            # Jumps of its own were not noticeable: its partner shows which pass it is in.
            mine.lap, mine.newest = partner[0], stamp
        elif partner and partner[0] < mine.lap and (mine.lap, stamp) not in mine.seen:
            other.shift(partner[0], mine.lap - partner[0])
        key = (mine.lap, stamp)
        if key in mine.seen:
            return [*events, UnmatchedMessage(side, stamp, DUPLICATE)]
        mine.seen[key] = None
        if len(mine.seen) > _REMEMBERED:
            del mine.seen[next(iter(mine.seen))]
        if partner:
            mine.matched = mine.received
            events.append(_match(key, side, item, other.take(key)))
        else:
            mine.waiting[key] = _PendingMessage(item, now, mine.received)
        events += self._settle()
        for which in _SIDES:
            while len(self._streams[which].waiting) > self.limits.max_waiting:
                events += self._give_up(which, next(iter(self._streams[which].waiting)))
        return events + self.expire(now)

    def expire(self, now: float) -> list[Event]:
        """Settle what has waited long enough. `now`: seconds on the steady clock of `add`."""
        events: list[Event] = []
        for side in _SIDES:
            waiting, other = self._streams[side].waiting, self._streams[1 - side]
            while waiting:
                key = next(iter(waiting))
                # A slow detector's next results may still be this one's, as long as they come.
                comes = now - other.last < self.limits.wait and not self._is_past(1 - side, *key)
                if comes or now - waiting[key].arrived < self.limits.wait:
                    break
                events += self._give_up(side, key)
        return events

    def finish(self) -> list[Event]:
        """Settle everything: nothing comes any more."""
        events: list[Event] = []
        for side in _SIDES:
            waiting = self._streams[side].waiting
            while waiting:
                events += self._give_up(side, next(iter(waiting)))
        return events

    def forget(self) -> None:
        """Drop what waits, and what was seen."""
        self._streams = (_Stream(), _Stream())

    def _order(self, side: int, stamp: int, now: float) -> Iterator[Event]:
        """Follow a stream's newest stamp, and its pass."""
        mine, other = self._streams[side], self._streams[1 - side]
        silent = now - mine.last >= self.limits.wait
        if mine.lap < other.lap and (mine.newest is None or silent):
            # It was not there when the other one jumped.
            mine.lap, mine.newest = other.lap, None
        mine.last = now
        if mine.lap > other.lap and mine.before is not None and stamp > mine.before:
            # It has caught up with itself while the other one went on: one wrong stamp, not a new pass.
            yield from self._rejoin(mine.lap)
            mine.newest, mine.before = stamp, None
        if mine.newest is None or stamp > mine.newest:
            mine.newest = stamp
        elif stamp < mine.newest - self.limits.jump_ns:
            before = mine.before = mine.newest
            mine.newest = stamp
            mine.lap += 1
            mine.seen = dict.fromkeys(mine.waiting)
            yield BackwardJump(side, before, stamp, mine.lap)
        elif stamp < mine.newest:
            self.out_of_order[side] += 1

    def _rejoin(self, lap: int) -> Iterator[Event]:
        """Put both streams into one pass, with all that waits; of one stamp in two passes, the first stays."""
        for side, stream in enumerate(self._streams):
            stream.lap = lap
            waiting: dict[tuple[int, int], _PendingMessage] = {}
            for (_, stamp), item in stream.waiting.items():
                if waiting.setdefault((lap, stamp), item) is not item:
                    yield UnmatchedMessage(side, stamp, DUPLICATE)
            stream.waiting = waiting
            stream.seen = {(lap, key[1]): None for key in stream.seen}

    def _settle(self) -> list[Event]:
        """Match, within the tolerance, what no later message can come nearer to while stamps are in order."""
        events: list[Event] = []
        if self.limits.tolerance_ns > 0:
            for cluster in self._clusters():
                if all(self._is_past(side, cluster.lap, cluster.last + self.limits.tolerance_ns) for side in _SIDES):
                    events += self._pair(cluster)
                    events += self._alone(cluster)
        return events

    def _is_past(self, side: int, lap: int, stamp: int) -> bool:
        stream = self._streams[side]
        return stream.lap > lap or (stream.lap == lap and stream.newest is not None and stream.newest > stamp)

    def _clusters(self) -> list[_StampCluster]:
        """What waits, in groups that nothing within the tolerance leads out of."""
        out: list[_StampCluster] = []
        everything = [(*key, side) for side in _SIDES for key in self._streams[side].waiting]
        for lap, stamp, message in sorted(everything):
            if not out or out[-1].lap != lap or stamp - out[-1].last > self.limits.tolerance_ns:
                out.append(_StampCluster(lap, stamp, stamp))
            out[-1].last = stamp
            out[-1].stamps[message].append(stamp)
        return out

    def _pair(self, cluster: _StampCluster) -> list[Event]:
        events: list[Event] = []
        for pair in zip(*pair_stamps(*cluster.stamps, self.limits.tolerance_ns), strict=True):
            keys = [(cluster.lap, cluster.stamps[side][int(pair[side])]) for side in _SIDES]
            items = [self._streams[side].take(keys[side]) for side in _SIDES]
            events.append(MatchedMessages(keys[0][1], cluster.lap, *items))
        return events

    def _alone(self, cluster: _StampCluster) -> list[Event]:
        left = []
        for side in _SIDES:
            waiting = self._streams[side].waiting
            left += [(side, stamp) for stamp in cluster.stamps[side] if waiting.pop((cluster.lap, stamp), None)]
        return [UnmatchedMessage(side, stamp, NO_PARTNER) for side, stamp in left]

    def _give_up(self, side: int, key: tuple[int, int]) -> list[Event]:
        """Settle one message now, with the best partner there is so far."""
        events: list[Event] = []
        if self.limits.tolerance_ns > 0:
            events += self._pair(next(cluster for cluster in self._clusters() if cluster.holds(key)))
        if self._streams[side].waiting.pop(key, None) is not None:
            events.append(UnmatchedMessage(side, key[1], NO_PARTNER))
        return events


def _match(key: tuple[int, int], side: int, item: Any, partner: Any) -> MatchedMessages:
    return MatchedMessages(key[1], key[0], *((item, partner) if side == 0 else (partner, item)))
