"""What the sampling units of a set are, in words that a user checks in a second."""

from __future__ import annotations

from dataclasses import dataclass

from simjudge.core.display import ShortRepr

_TIMES = (
    "",
    "once",
    "twice",
    "three times",
    "four times",
    "five times",
    "six times",
    "seven times",
    "eight times",
    "nine times",
    "ten times",
)
_FEW = 20
"""Units below which a hint says what more would help."""


@dataclass(frozen=True, repr=False)
class SideUnits(ShortRepr):
    """The sampling units of one set.

    Attributes:
        kind: "things", "blocks", "frames", "photographs" or "named".
        frames: how many frames the set has.
        things: how many things were told apart; 0 where units are none.
        passes: how often a thing is passed, the median.
        noun: what the things are called, in the plural.
        block_frames: frames of a block; 1 where there are none.
        block_seconds: the length of a block; None where no times are known.
        time_blocks: blocks of time that are drawn beside things; 0 where things alone are drawn.
        short: whether the set is a recording too short to tell how long its frames go together: too few blocks.
        unclear: whether things look alike, so that nobody can tell which one is passed again.
        source: how things were told: "numbers" or "tracks".
        named: what the user named; empty where nothing was.
        notes: what else is to be said, such as why instance numbers are ignored.
        warning: where alike names are taken as independent photographs, and how to change it.
    """

    count: int
    kind: str
    frames: int
    sightings: int
    things: int = 0
    passes: int = 1
    noun: str = "things"
    block_frames: int = 1
    block_seconds: float | None = None
    time_blocks: int = 0
    short: bool = False
    unclear: bool = False
    source: str = ""
    named: str = ""
    notes: tuple[str, ...] = ()
    warning: str = ""

    def describe(self, name: str) -> str:
        """One line for people."""
        parts = [f"{name}: {self._head()}", self._hint(), *self.notes, self.warning]
        return "; ".join(part for part in parts if part)

    def _head(self) -> str:
        units = f"{self.count:,} unit{'s' if self.count != 1 else ''}"
        frames = f"{self.frames:,} frame{'s' if self.frames != 1 else ''}"
        if self.kind == "things":
            return self._things(frames, units)
        if self.kind == "blocks":
            length = f"blocks of {self.block_frames:,}{self._seconds()}"
            text = f"{frames} in {length}: {units}"
            if self.short:
                text = f"{frames} follow each other, too few to tell how long they go together: {units} at most"
        elif self.kind == "photographs":
            text = f"{frames} are variants of {self.count:,} photographs: {units}"
        else:
            text = f"{frames}, each a unit"
        return f"{text} (--unit {self.named})" if self.named else text

    def _things(self, frames: str, units: str) -> str:
        times = _TIMES[self.passes] if self.passes < len(_TIMES) else f"{self.passes} times"
        noun = self.noun.removesuffix("s") if self.things == 1 else self.noun
        each = f", {times} each" if self.passes > 1 else ""
        together = "" if self.things <= self.count else ", some always seen together"
        together = " that look alike" if self.unclear else together
        text = f"{frames} show {self.things:,} {noun}{each}{together}: {units}"
        if self.named:
            text += f" (--unit {self.named})"
        if self.time_blocks:
            text += (
                f"; objects of one time are alike too, so {self.time_blocks:,} blocks of {self.block_frames:,}"
                f" frame{'s' if self.block_frames != 1 else ''}{self._seconds()} are drawn beside them"
            )
        return text

    def _seconds(self) -> str:
        return "" if self.block_seconds is None else f" ({self.block_seconds:.3g} s)"

    def _hint(self) -> str:
        """What more would help, where units are few."""
        if self.count >= _FEW:
            return ""
        if self.kind == "things":
            return "new places and things would make more units, more passes of the same would not"
        alone = " (or --block 0, where frames are independent)" if self.short else ""
        return f"a longer recording would make more units{alone}" if self.kind == "blocks" else ""
