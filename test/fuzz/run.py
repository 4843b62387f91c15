"""Attack readers for as long as asked, one target in one process: `make fuzz TARGET=coco HOURS=1`.

With atheris (an extra of the developer requirements) the bytes are chosen by which code they reach; without it they are
chosen at random. Inputs that reached something new stay in
`.fuzz/TARGET/`, inputs that failed in `.fuzz/TARGET.failed/`.
"""

from __future__ import annotations

import argparse
import logging
import os
import subprocess
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, redirect_stderr
from importlib.util import find_spec
from io import StringIO
from pathlib import Path
from random import Random
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
KEPT = ROOT / ".fuzz"
SECONDS_AN_INPUT = 60
"""Wall-clock time after which libFuzzer calls an input too slow; the readers' own bound is computing time."""
MEGABYTES = 4000
"""Memory of a process at most."""
sys.path[:0] = [str(HERE), str(HERE.parent), str(HERE.parent / "detectors"), str(ROOT)]


def main() -> None:
    """Attack the targets that are named, one after the other."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("targets", nargs="*", help="Targets; all of them, if none is named.")
    parser.add_argument("--hours", type=float, default=1.0, help="Time for each target.")
    parser.add_argument("--seed", type=int, default=1, help="Seed of the choices.")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        attack(given.targets[0], 3600 * given.hours, given.seed)
    from fuzz_targets import TARGETS

    unknown = [name for name in given.targets if name not in TARGETS]
    if unknown:
        parser.error(f"no target {unknown[0]}; there are {', '.join(TARGETS)}")
    failed = False
    for name in given.targets or TARGETS:
        if TARGETS[name].needs and find_spec(TARGETS[name].needs) is None:
            sys.stdout.write(f"{name}: skipped, {TARGETS[name].needs} is not installed\n")
            continue
        words = [sys.executable, __file__, name, "--child", "--hours", str(given.hours), "--seed", str(given.seed)]
        failed |= subprocess.run(words, check=False).returncode != 0
    sys.exit(1 if failed else 0)


class Tally:
    """How many inputs were tried, and each kind of failure once."""

    def __init__(self, name: str) -> None:
        """Begin."""
        self.name, self.begin, self.tried, self.read = name, time.monotonic(), 0, 0
        self.failures: dict[str, Path] = {}

    def fail(self, data: bytes) -> None:
        """Keep an input that failed, unless another failed at the same place."""
        kind, error, trace = sys.exc_info()
        frames = traceback.extract_tb(trace)
        own = [f for f in frames if "/simjudge/" in f.filename] or frames
        place = f"{own[-1].filename.rpartition('/simjudge/')[2]}:{own[-1].lineno}: {kind.__name__}"
        if place in self.failures:
            return
        folder = KEPT / f"{self.name}.failed"
        folder.mkdir(parents=True, exist_ok=True)
        self.failures[place] = folder / f"{len(self.failures)}"
        self.failures[place].write_bytes(data)
        text = f"{place}: {str(error)[:300]}"
        self.failures[place].with_suffix(".txt").write_text(f"{text}\n{''.join(traceback.format_tb(trace))}")
        sys.stdout.write(f"{self.name}: FAILED {text} (kept in {self.failures[place]})\n")
        sys.stdout.flush()

    def say(self) -> None:
        """The numbers, on one line."""
        minutes = (time.monotonic() - self.begin) / 60
        sys.stdout.write(
            f"{self.name}: {self.tried} inputs in {minutes:.1f} min, {self.read} of them could be read, "
            f"{len(self.failures)} kinds of failure\n"
        )
        sys.stdout.flush()


def attack(name: str, seconds: float, seed: int) -> None:
    """Attack one target until the time is over."""
    guided = find_spec("atheris") is not None
    with instrumented() if guided else nullcontext():
        from fuzz_attack import Attack, bounded
        from fuzz_targets import TARGETS

        logging.disable(logging.CRITICAL)
        warnings.simplefilter("ignore")
        target = TARGETS[name]
        attacked, tally = Attack(target), Tally(name)
        attacked(attacked.valid)
    end = time.monotonic() + seconds

    def once(data: bytes) -> None:
        if time.monotonic() > end:
            tally.say()
            attacked.close()
            # libFuzzer does not give control back.
            os._exit(1 if tally.failures else 0)
        tally.tried += 1
        try:
            with bounded():
                tally.read += attacked(data)
        except Exception:  # noqa: BLE001 - this is what is looked for
            tally.fail(data)

    once(attacked.valid)
    if not tally.read:
        raise SystemExit(f"{name}: the valid example cannot be read")
    (guide if guided else at_random)(attacked, Random(seed), once)


@contextmanager
def instrumented() -> Iterator[None]:
    """What is imported in the block says which of its code is reached."""
    import atheris

    with redirect_stderr(StringIO()), atheris.instrument_imports(INSTRUMENTED, COMPILED, enable_loader_override=False):
        yield


def guide(attacked: Any, random: Random, once: Callable[[bytes], None]) -> None:
    """Let libFuzzer choose among bad versions of what reached new code before; it ends with the process."""
    import atheris
    from hostile_input import mutate

    target = attacked.target
    kept = KEPT / target.name
    kept.mkdir(parents=True, exist_ok=True)
    (kept / "valid").write_bytes(attacked.valid)

    def change(data: bytes, most: int, number: int) -> bytes:
        own = Random(number)
        return mutate(data, target.form, own)[:most] if own.randrange(4) else atheris.Mutate(data, most)

    words = [
        sys.argv[0],
        f"-rss_limit_mb={MEGABYTES}",
        f"-seed={random.randrange(1, 2**31)}",
        "-verbosity=0",
        f"-timeout={SECONDS_AN_INPUT}",
        f"-max_len={4 * len(attacked.valid) + 200_000}",
        "-print_final_stats=0",
        f"-artifact_prefix={KEPT}/{target.name}.",
        str(kept),
    ]
    atheris.Setup(words, once, custom_mutator=change)
    atheris.Fuzz()


def at_random(attacked: Any, random: Random, once: Callable[[bytes], None]) -> None:
    """Try bad versions of the valid input, and bad versions of those; it ends with the process."""
    from hostile_input import mutate

    kept = [attacked.valid]
    while True:
        data = mutate(random.choice(kept), attacked.target.form, random)
        once(data)
        if random.randrange(20) == 0:
            kept = [attacked.valid, *kept[-20:], data]


INSTRUMENTED = ["simjudge"]
"""What says which of its code is reached."""
COMPILED = [
    ".".join(file.relative_to(ROOT).with_suffix("").parts)
    for file in (ROOT / "simjudge").rglob("*.py")
    if "numba" in file.read_text(encoding="utf-8")
]
"""Modules whose functions numba compiles, which knows nothing of that; atheris takes exact names alone."""


if __name__ == "__main__":
    main()
