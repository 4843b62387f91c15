"""What long work tells its caller: what went wrong, in one line; what was lost, counted; how far it is.

Two things happen to bad input, never a third: a `SimjudgeError` ends the command (exit code 1) with one line that
names file, row and remedy; or the bad piece is left out and counted in `Losses` (the command finishes, exit code 3).

Library functions take `log` and `progress`. The command line passes functions that print to stderr; a notebook may
pass `print`.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field


class SimjudgeError(Exception):
    """An error a user can act on. The message is one line and names the file, the row and the remedy."""


class UsageError(SimjudgeError):
    """The request itself makes no sense, whatever the files hold (exit code 2)."""


def is_interrupt(error: BaseException) -> bool:
    """Whether an error is an interrupt, or was made of one and of nothing that the system refused.

    A compiled library that calls Python back may turn Ctrl-C into an error of its own: Dr.Jit makes a RuntimeError
    of it, with the interrupt as its cause.
    """
    each: BaseException | None = error
    seen: set[int] = set()
    while each is not None and id(each) not in seen:
        if isinstance(each, KeyboardInterrupt):
            return True
        if isinstance(each, OSError):
            return False
        seen.add(id(each))
        each = each.__cause__ or each.__context__
    return False


_PLURAL = re.compile(r"\b[a-z]\w*(?<![sui])s\b(?!')")
"""The first of these in a phrase is what is counted: words before it, such as "damaged" or "label", have no plural."""
_VERB = re.compile(
    r"(,? (?:that|which)) (are no (?=\w+s\b)|are|were|have|do|make|fit|hold|name|contradict|stand|pass|jump)\b ?"
)
_IRREGULAR = {"are no": "is no", "are": "is", "were": "was", "have": "has", "do": "does", "pass": "passes"}


def counted(count: int, kind: str) -> str:
    """A number and what it is of: "2 boxes that are tilted", "1 box that is tilted".

    Args:
        kind: a plural phrase, as of `Losses`.
    """
    found = _PLURAL.search(kind)
    if count != 1 or found is None:
        return f"{count} {kind}"
    rest = kind[found.end() :]
    verb = _VERB.match(rest)
    if verb is not None:
        said, after = verb[2].strip(), rest[verb.end() :]
        if said == "are no":
            after = _PLURAL.sub(lambda word: _singular(word[0]), after, count=1)
        rest = f"{verb[1]} {_IRREGULAR.get(said, said + 's')} {after}".rstrip()
    rest = re.sub(r"\btheir\b", "its", rest)
    return f"1 {kind[: found.start()]}{_singular(found[0])}{rest}"


def _singular(word: str) -> str:
    if word.endswith("ies"):
        return word[:-3] + "y"
    return word[:-2] if re.search(r"(ss|x|sh|ch)es$", word) else word[:-1]


@dataclass
class Losses:
    """Pieces of input that were left out: counted by kind, the first few of each named.

    A kind is a short plural phrase that reads well behind a number, e.g. "boxes with zero area" (see `counted`).
    """

    named_per_kind: int = 5
    counts: Counter[str] = field(default_factory=Counter)
    examples: dict[str, list[str]] = field(default_factory=dict)

    def add(self, kind: str, where: str, count: int = 1) -> None:
        """Count lost pieces of one kind.

        Args:
            kind: a short plural phrase, such as "boxes with zero area".
            where: names one of the pieces: file, row or message, and what it held.
            count: how many; 0 adds nothing.
        """
        if count <= 0:
            return
        self.counts[kind] += count
        examples = self.examples.setdefault(kind, [])
        if len(examples) < self.named_per_kind:
            examples.append(where)

    def extend(self, other: Losses) -> None:
        """Take over all of another collection's counts and examples."""
        for kind, count in other.counts.items():
            self.counts[kind] += count
            room = self.named_per_kind - len(self.examples.setdefault(kind, []))
            self.examples[kind].extend(other.examples.get(kind, [])[: max(room, 0)])

    def count_once(self, other: Losses) -> None:
        """Take over kinds of which another collection counts more: the same pieces, lost in another view of them."""
        for kind, count in other.counts.items():
            if count > self.counts[kind]:
                self.counts[kind] = count
                self.examples[kind] = list(other.examples.get(kind, [])[: self.named_per_kind])

    def __bool__(self) -> bool:
        return bool(self.counts)

    @property
    def reason(self) -> str:
        """The end of a message about input of which nothing is left: what was left out first."""
        return f" (left out: {self.lines()[0]})" if self else ""

    def lines(self) -> list[str]:
        """One line a kind: the count, the kind, and the first few places."""
        out = []
        for kind, count in self.counts.items():
            named = self.examples.get(kind, [])
            more = f" (and {count - len(named)} more)" if count > len(named) else ""
            out.append(f"{counted(count, kind)}: {'; '.join(named)}{more}")
        return out


Log = Callable[[str], None]  # Receives one line that a person should read, without a line end
Advance = Callable[[int, int], None]  # Receives how many pieces of work are done, and how many there are
# Opens a task of the given name; the context manager yields the function that advances it.
ProgressBar = Callable[[str], AbstractContextManager[Advance]]


def no_log(line: str) -> None:
    """Drop a log line."""
    del line


@contextmanager
def no_progress(task: str) -> Iterator[Advance]:
    """Open a task whose progress nobody watches."""
    del task

    def advance(done: int, total: int) -> None:
        del done, total

    yield advance


class ProgressLines:
    """Lines that say now and then how far a task is, for what is no terminal: a file, or a node's log."""

    def __init__(self, task: str, period: float, clock: Callable[[], float] = time.monotonic) -> None:
        """Begin a task (period: seconds between lines; clock: gives the time, seconds)."""
        self._task, self._period, self._clock = task, period, clock
        self._said = clock()
        self._first: tuple[int, float] | None = None
        self._promised = False

    def line(self, done: int, total: int) -> str:
        """The line that is due, with the time that the rest takes at the pace so far; empty where none is due."""
        now = self._clock()
        if self._first is None and done > 0:
            # What comes before the first pieces (loading, compiling) says nothing of the pace of the others.
            self._first = (done, now)
        if now - self._said < self._period or not 0 < done < total:
            return ""
        self._said = now
        begun, begin = self._first or (done, now)
        if done == begun:
            return f"{self._task}: {done} of {total}"
        left = (now - begin) * (total - done) / (done - begun)
        self._promised = True
        return f"{self._task}: {done} of {total}, about {format_seconds_left(left)} left"

    def last_line(self) -> str:
        """The line of a task that ends, so that no time left stands for what comes next; empty where none was said."""
        return f"{self._task}: done" if self._promised else ""


def format_seconds_left(seconds: float) -> str:
    """A rough time: "40 s", "12 min" or "3.5 h"."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
