"""Memory of a live comparison over an hour at 30 Hz, fed as fast as it goes: `python bench/live_memory.py [--keep N]`.

A frame holds 0 to 8 cones at random places; the reference is 200 such frames; one message in ten finds no partner; the
numbers are asked for once a second. Prints frames, minutes at 30 Hz, frames kept, and resident memory in MB.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import numpy.typing as npt

from simjudge.core.errors import Losses
from simjudge.data.set_parts import join_sets
from simjudge.data.sets import write_set
from simjudge.judging.compare_settings import CompareSettings
from simjudge.judging.inputs import read_input
from simjudge.judging.live.frame_builder import LiveFrameBuilder
from simjudge.judging.live.judge import LiveMemory
from simjudge.judging.live.session import LiveOptions, LiveSession
from simjudge.judging.live.stream_matching import NO_PARTNER, MatchedMessages, UnmatchedMessage

RATE = 30
"""Frames in a second."""
HOUR = 3600 * RATE
"""Frames in an hour."""
PRINTED = HOUR // 20
"""Frames between lines."""
NAMES = {1: "red", 2: "green"}
NO_MASK = SimpleNamespace(x=0, y=0, width=0, height=0, bits=b"")


def messages(random: np.random.Generator) -> tuple[SimpleNamespace, SimpleNamespace]:
    """What a simulator and a detector publish of a frame: labels and detections."""
    count = int(random.integers(0, 9))
    centre = random.uniform([0, 180], [640, 260], (count, 2))
    size = random.uniform(12, 60, (count, 1))
    box = np.hstack([centre - size / 2, centre + size / 2])
    kind = random.integers(1, 3, count)
    found = box + random.normal(0, 2, box.shape)
    head = {
        "frame_name": "",
        "image_width": 640,
        "image_height": 360,
        "class_names": [SimpleNamespace(id=number, name=name) for number, name in NAMES.items()],
    }
    labels = [_item(*row, instance_id=-1) for row in zip(kind, box, strict=True)]
    scores = random.uniform(0.3, 1, count).tolist()
    detections = [_item(*row, score=score) for *row, score in zip(kind, found, scores, strict=True)]
    return SimpleNamespace(**head, objects=labels), SimpleNamespace(**head, detections=detections)


def _item(kind: int, box: npt.NDArray[np.float64], **more: float) -> SimpleNamespace:
    edges = SimpleNamespace(**dict(zip(("x0", "y0", "x1", "y1"), box.tolist(), strict=True)))
    return SimpleNamespace(class_id=int(kind), class_name=NAMES[int(kind)], box=edges, mask=NO_MASK, **more)


def reference(random: np.random.Generator, path: Path) -> None:
    """Write a labelled and predicted set of 200 frames."""
    builder = LiveFrameBuilder(("labels", "boxes"))
    built = [builder.build(10**9 * (number + 1), *messages(random), Losses()) for number in range(200)]
    write_set(join_sets([each for each in built if each is not None]), path)


def resident_mb() -> float:
    """Resident memory of this process, MB."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return int(next(line for line in lines if line.startswith("VmRSS")).split()[1]) / 1024


def main() -> None:
    """Feed an hour of frames."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keep", type=int, default=20_000)
    parser.add_argument("--window", type=float)
    parser.add_argument("--frames", type=int, default=HOUR)
    parser.add_argument("--live-is-a", action="store_true")
    given = parser.parse_args()
    random = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "reference.json"
        reference(random, path)
        options = LiveOptions(
            CompareSettings(theta=0.5, patch=120),
            given.live_is_a,
            memory=LiveMemory(given.window, given.keep or None),
            journal=Path(folder) / "run.journal",
        )
        builder = LiveFrameBuilder(("labels", "boxes"))
        session = LiveSession(options, read_input(path, None, allow_outside=False), builder, print)
        for number in range(given.frames):
            stamp = 10**9 + number * 10**9 // RATE
            session.add(MatchedMessages(stamp, 0, *messages(random)))
            if number % 10 == 0:
                session.count_unmatched(UnmatchedMessage(0, stamp + 1, NO_PARTNER))
            if number % RATE == 0:
                session.judge.numbers()
            if number % PRINTED == 0 or number == given.frames - 1:
                kept = session.judge.frame_count
                print(f"{number:7d} {number / RATE / 60:5.1f} {kept:6d} {resident_mb():7.1f}", flush=True)
        session.close(finished=True)


if __name__ == "__main__":
    main()
