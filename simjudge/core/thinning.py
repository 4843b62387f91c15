"""Which frames of an input are taken: every one, every N-th, or as many a second."""

from __future__ import annotations

from dataclasses import dataclass

from simjudge.core.errors import UsageError


@dataclass(frozen=True)
class Thinning:
    """Every N-th frame, or as many a second as `rate` says."""

    every: int = 1
    rate: float | None = None  # frames a second; None for all

    def __post_init__(self) -> None:
        """Check that one of the two is asked for at most."""
        if self.every > 1 and self.rate is not None:
            raise UsageError(f"--every {self.every} --rate {self.rate:g}: give one of them")

    def __bool__(self) -> bool:
        """Whether any frame may be left out."""
        return self.every > 1 or self.rate is not None

    def __str__(self) -> str:
        """What is taken, in words: "every 5th frame"; empty for all."""
        if self.rate is not None:
            return f"{self.rate:g} frames a second"
        return f"every {self.every}{_ending(self.every)} frame" if self.every > 1 else ""


def _ending(number: int) -> str:
    return "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")


ALL_FRAMES = Thinning()
