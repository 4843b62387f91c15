"""Times of the judge: Algorithm 1 at growing sizes, beside the obvious slow ways of doing the same."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
from scenes import cone_scenes, with_predictions
from scipy.stats import wasserstein_distance as scipy_distance

from simjudge.core.frames import FrameSet
from simjudge.data.sets import write_set
from simjudge.method.algorithm import ClassComparison, compare_class, draw_pairs
from simjudge.method.bootstrap import DrawSchedule, UnitNumbers
from simjudge.method.method import Method
from simjudge.method.patches import object_contexts
from simjudge.method.pool import ClassPair, Samples
from simjudge.method.wasserstein import wasserstein_distance

Row = tuple[str, str, str, str]
METHOD = Method()
NO_DRAWS = ("--draws", "0")


def samples(frames: FrameSet, performance: np.ndarray, class_id: int, method: Method, first_unit: int = 0) -> Samples:
    """The samples of one class; each frame is a unit, numbered from `first_unit` on."""
    rows = np.flatnonzero(frames.objects.class_id == class_id)
    contexts = object_contexts(frames, method, rows)
    return Samples(contexts, performance[rows], UnitNumbers(first_unit + frames.objects.frame[rows]))


def judge_all(
    count: int, method: Method = METHOD, thetas: list[float] | None = None, draws: int = 0
) -> list[list[ClassComparison]]:
    """Both classes of two sets, from loaded boxes to the result."""
    (a, of_a), (b, of_b) = cone_scenes(count, 1), cone_scenes(count, 2)
    normals = DrawSchedule(len(a) + len(b), 0, draws, 0).next_batch()
    found = []
    for k in (1, 2):
        pair = ClassPair(samples(a, of_a, k, method), samples(b, of_b, k, method, len(a)), normals)
        found.append(compare_class(pair.a, pair.b, method, thetas))
        if normals is not None:
            draw_pairs([pair], method, thetas)
    return found


def seconds(work: Callable[[], object], times: int = 3) -> float:
    """The shortest of some runs."""
    best = np.inf
    for _ in range(times):
        start = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - start)
    return float(best)


def growing() -> Iterator[Row]:
    """Contexts against contexts, up to 100,000 x 100,000 in a process of its own that tells its memory."""
    judge_all(200, thetas=[0.5, 0.8])
    judge_all(200, draws=2)
    for count, target in ((1_400, "0.15 s"), (10_000, "2 s")):
        yield f"Algorithm 1, {count:,} x {count:,}", f"{seconds(lambda n=count: judge_all(n)):.3f} s", target, ""
    code = "import judge; judge.large()"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=Path(__file__).parent, capture_output=True, text=True, check=True
    )
    took, memory = json.loads(done.stdout)
    yield "Algorithm 1, 100,000 x 100,000", f"{took:.1f} s, {memory:.2f} GB", "90 s, 2 GB", ""
    took = seconds(lambda: judge_all(1_400, draws=1000))
    yield "with 1,000 draws, 1,400 x 1,400", f"{took:.3f} s", "", ""


def large() -> None:
    """Print seconds and gigabytes of the largest case."""
    judge_all(200)
    took = seconds(lambda: judge_all(100_000), times=1)
    print(json.dumps([took, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6]))


def sweep() -> Iterator[Row]:
    """Eleven thresholds from one join, beside the lowest alone."""
    thetas = np.linspace(0.5, 0.9, 11).tolist()
    lowest = replace(METHOD, theta=0.5)
    judge_all(1_400, lowest)
    judge_all(1_400, lowest, thetas)
    one, eleven = [], []
    for _ in range(5):
        one.append(seconds(lambda: judge_all(5_000, lowest), 1))
        eleven.append(seconds(lambda: judge_all(5_000, lowest, thetas), 1))
    yield (
        "eleven thetas, 5,000 x 5,000",
        f"{min(eleven):.2f} s",
        "1.5 x lowest alone",
        f"{min(eleven) / min(one):.2f} x lowest alone",
    )


def slow_ways() -> Iterator[Row]:
    """A plain NumPy loop for the join, and SciPy for W1."""
    (a, of_a), (b, of_b) = cone_scenes(1_400, 1), cone_scenes(1_400, 2)
    first, second = samples(a, of_a, 1, METHOD), samples(b, of_b, 1, METHOD)
    sets = [[s.contexts.planes(i, METHOD.patch) for i in range(150)] for s in (first, second)]
    stacks = [np.stack([np.stack([p.get(k, np.zeros(METHOD.patch, bool)) for k in (1, 2)]) for p in s]) for s in sets]

    def numpy_loop() -> int:
        similar = 0
        for c in stacks[0]:
            for other in stacks[1]:
                inter, union = (c & other).sum(), (c | other).sum()
                similar += inter >= METHOD.theta * union
        return similar

    slow = seconds(numpy_loop, 1) / 150**2
    pairs = len(first.performance) * (len(first.performance) + len(second.performance))
    fast = seconds(lambda: compare_class(first, second, METHOD)) / pairs
    beside = f"{slow / fast:,.0f} x faster than NumPy ({slow * 1e6:.0f} us)"
    yield "one pair of contexts", f"{fast * 1e9:.1f} ns", "", beside
    values = np.random.default_rng(0).random(2_000)
    for size in (20, 1_000):
        left, right = values[:size], values[size : 2 * size]
        ours = seconds(lambda x=left, y=right: [wasserstein_distance(x, y) for _ in range(200)]) / 200
        scipy = seconds(lambda x=left, y=right: [scipy_distance(x, y) for _ in range(200)]) / 200
        yield f"W1 of {size} and {size} values", f"{ours * 1e6:.1f} us", "", f"{scipy / ours:.1f} x faster than SciPy"


def whole_process() -> Iterator[Row]:
    """`simjudge compare` as a user runs it, files to report data."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        for name, count, seed in (("a", 1_423, 1), ("b", 1_409, 2)):
            frames = with_predictions(cone_scenes(count, seed, per_frame=1)[0], seed)
            write_set(frames, place / f"{name}.json")
        command = [
            sys.executable,
            "-m",
            "simjudge",
            "compare",
            "a.json",
            "b.json",
            "--preset",
            "cpd",
            "--theta",
            "0.8",
            "--patch",
            "120x120",
            "--out",
            "result",
        ]

        def run(*more: str) -> None:
            subprocess.run([*command, *more], cwd=place, check=True, capture_output=True)

        def import_only() -> None:
            subprocess.run([sys.executable, "-c", "import numba"], check=True)

        run()
        # In turns: other work on the machine slows all three.
        times = [[_times(work) for work in (run, import_only, lambda: run(*NO_DRAWS))] for _ in range(5)]
        (whole, used), (_, imported), (_, bare) = np.min(times, axis=0)
        first = _first_run(place)
    beside = f"{used:.2f} s of processor time, {used / imported:.1f} x importing numba; {bare:.2f} s without draws"
    yield "simjudge compare --preset cpd, 1,423 x 1,409, whole process", f"{whole:.2f} s", "1 s", beside
    yield "the first one of a machine, 221 x 220, no loop compiled", f"{first:.2f} s of processor time", "5 s", ""


def _first_run(place: Path) -> float:
    """Processor seconds of a comparison of small sets where numba's cache is empty."""
    for name, count, seed in (("small_a", 221, 1), ("small_b", 220, 2)):
        write_set(with_predictions(cone_scenes(count, seed, per_frame=1)[0], seed), place / f"{name}.json")
    command = [sys.executable, "-m", "simjudge", "compare", "small_a.json", "small_b.json", "--out", "small"]
    empty = os.environ | {"NUMBA_CACHE_DIR": str(place / "empty")}
    return _times(lambda: subprocess.run(command, cwd=place, env=empty, check=True, capture_output=True))[1]


def _times(work: Callable[[], object]) -> tuple[float, float]:
    """Seconds of the clock and of processors that child processes take."""
    start, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    work()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.perf_counter() - start, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def rows() -> Iterator[Row]:
    """What, how long, what is wanted, beside what."""
    yield from growing()
    yield from sweep()
    yield from slow_ways()
    yield from whole_process()
