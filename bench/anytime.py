"""A verdict on live frames that holds at every look: how often it is ever wrong, and after how many blocks it is there.

    python bench/anytime.py --trials 400 --jobs 16

Frames come one by one into `LiveJudge`, as in the validation node, against a reference that is drawn anew each time.
What is wrong: a gap said where none is, "predicts" said where the gap is the margin, an interval that misses the gap at
any look.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context

import numpy as np
from scipy.stats import binomtest
from verdict_designs import Design, Effects, Side
from verdict_recordings import PATCH_PX, STEP_NS, Kinds, photographs
from where import lowered

from simjudge.judging.live.judge import LiveJudge
from simjudge.method.betting import SequenceVerdict
from simjudge.method.method import Method

MARGIN = 0.05


@dataclass(frozen=True)
class Stream:
    """A reference and a live stream.

    Attributes:
        words: what it is.
        reference, frames: how many frames each has.
        frames_a_block: live frames in a block of time, of which `block_frames` are told.
        time: spread of what neighbouring frames share.
        missed: share of the objects that nobody finds.
    """

    words: str
    reference: int
    frames: int
    frames_a_block: int = 1
    time: float = 0.0
    missed: float = 0.0


STREAMS = {
    "frames": Stream("300 independent frames against 300", 300, 300),
    "small": Stream("300 independent frames against 40", 40, 300),
    "missed": Stream("300 independent frames against 300, one object in ten missed", 300, 300, missed=0.1),
    "video": Stream("2,400 frames whose light lasts, blocks of 20, against 300 independent ones", 300, 2400, 20, 0.05),
}
"""By name."""


@dataclass(frozen=True)
class Trial:
    """What one stream said: the first verdict, after how many blocks, and whether the interval ever missed."""

    verdict: SequenceVerdict
    blocks: int
    missed: bool


def _sides(stream: Stream, random: np.random.Generator, gap: float) -> tuple[Side, Side]:
    effects = Effects(unit=0.0, frame=0.05, own=0.1, mean=0.65, time=stream.time, missed=stream.missed)
    record = [photographs(count, Kinds(4), 3) for count in (stream.reference, stream.frames)]
    known, live = Design("", "", 0, *record, effects).draw(random)
    return known, lowered(live, live.performance > 0, gap)


def try_once(name: str, gap: float, seed: int, number: int) -> Trial:
    """Let a stream come in, and look after every frame."""
    stream, random = STREAMS[name], np.random.default_rng([seed, number])
    known, live = _sides(stream, random, gap)
    block = 0.0 if stream.frames_a_block == 1 else stream.frames_a_block * STEP_NS / 1e9
    method = Method(patch=(PATCH_PX, PATCH_PX))
    judge = LiveJudge(known.frames, method, margin=MARGIN, sequence_block=block)
    found, truth, first, missed = judge.sequence, -gap * (1 - stream.missed), 0, False
    if found is None:
        raise ValueError(name)
    for index in range(stream.frames):
        frame = live.frames.take([index])
        frame.stamp[:] = (index + 1) * STEP_NS
        judge.add_frame(frame)
        state = found.state
        missed |= not state.low <= truth <= state.high
        if state.verdict is not SequenceVerdict.OPEN and not first:
            first = state.blocks
    return Trial(found.state.verdict, first, missed)


def trials(name: str, gap: float, *, count: int, seed: int, jobs: int) -> list[Trial]:
    """Try a stream so many times."""
    once: Callable[[int], Trial] = partial(try_once, name, gap, seed)
    if jobs == 1:
        return [once(number) for number in range(count)]
    os.environ |= dict.fromkeys(("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    with ProcessPoolExecutor(jobs, get_context("spawn")) as pool:
        return list(pool.map(once, range(count), chunksize=max(1, count // (4 * jobs))))


def lines(name: str, gap: float, found: list[Trial]) -> Iterator[str]:
    """What came out, a line."""
    counts = {verdict: sum(trial.verdict is verdict for trial in found) for verdict in SequenceVerdict}
    said = ", ".join(f"{verdict} {_share(count, len(found))}" for verdict, count in counts.items())
    ended = [trial.blocks for trial in found if trial.blocks]
    after = f"; median {np.median(ended):.0f} blocks" if ended else ""
    missed = _share(sum(trial.missed for trial in found), len(found))
    yield f"{name}, gap {gap:g} ({STREAMS[name].words}): {said}{after}; the interval ever missed in {missed}"


def _share(hits: int, count: int) -> str:
    low, high = binomtest(hits, count).proportion_ci(0.95, "exact")
    return f"{100 * hits / count:.1f} % ({100 * low:.1f} to {100 * high:.1f})"


def main() -> None:
    """Print a line a stream and gap."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--streams", default=",".join(STREAMS), help="names with commas; all of them by default")
    parser.add_argument("--gaps", default=f"0,{MARGIN},0.15", help="gaps with commas")
    parser.add_argument("--trials", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    given = parser.parse_args()
    for name in given.streams.split(","):
        for gap in map(float, given.gaps.split(",")):
            found = trials(name, gap, count=given.trials, seed=given.seed, jobs=given.jobs)
            for line in lines(name, gap, found):
                print(line, flush=True)


if __name__ == "__main__":
    main()
