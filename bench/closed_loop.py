"""How often, and how fast, the closed loop drives: `python bench/closed_loop.py [SCENE [DETECTOR [SEEDS [CAMERA]]]]`.

Every seed is another placement of what is placed at random, another start of the car, other noise.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import NamedTuple

from simjudge.sim.driving.closed_loop import DrivenFrame, DriveOutcome
from simjudge.sim.driving.drive import DriveOptions, make_closed_loop
from simjudge.sim.driving.pilots import GROUND_TRUTH

CAMERA = str(Path(__file__).with_name("closed_loop.yaml"))
LARGE = str(Path(__file__).with_name("closed_loop_large.yaml"))
_WARM = 5


class Run(NamedTuple):
    """A drive, and simulated seconds in a second once it was warm."""

    outcome: DriveOutcome
    ratio: float


def drive(
    scene: str, detector: str, seed: int, camera: str = CAMERA, most: float = 180.0, engine: str = "default"
) -> Run:
    """Drive a scene's course, for `most` simulated seconds at most."""
    loop = make_closed_loop(DriveOptions(scene, camera, detector, engine=engine, seed=seed, images=False))
    begin = begun = 0.0
    for event in loop.run():
        if isinstance(event, DrivenFrame) and event.event.number == _WARM:
            begin, begun = time.perf_counter(), loop.engine.time
        if loop.engine.time > most:
            break
    ratio = (loop.engine.time - begun) / (time.perf_counter() - begin)
    outcome = loop.outcome()
    loop.engine.close()
    return Run(outcome, ratio)


def rows() -> list[tuple[str, str, str, str]]:
    """The lines of the benchmark's table."""
    out = []
    for detector, camera, size, engine, wanted in (
        ("cones_red_green", CAMERA, "640x360", "default", "-"),
        ("cones_red_green", CAMERA, "640x360", "baked", "1.2"),
        ("cones_red_green", LARGE, "1280x720", "default", "-"),
        ("cones_red_green", LARGE, "1280x720", "baked", "0.5"),
        (GROUND_TRUTH, CAMERA, "640x360", "default", "-"),
    ):
        done = drive("lab", detector, 0, camera, most=8.0, engine=engine)
        what = f"closed loop, lab (20 lights), {size} at 10 Hz, one ray a pixel, {detector}, engine {engine}"
        out.append((what, f"{done.ratio:.2f} of real time", wanted, "-"))
    return out


def main() -> None:
    """Print the table of docs/measurements/engines.md."""
    given = sys.argv[1:]
    scene, detector = given[0] if given else "lab", given[1] if len(given) > 1 else GROUND_TRUTH
    count, camera = int(given[2]) if len(given) > 2 else 20, given[3] if len(given) > 3 else CAMERA
    print(f"{scene}, {detector}, {camera}")
    print("| seed | finished | cones touched | m beside the line, mean | most | seconds | of real time |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    clean = 0
    for seed in range(count):
        outcome, ratio = drive(scene, detector, seed, camera)
        clean += outcome.clean
        end = "yes" if outcome.finished else outcome.reason
        numbers = f"{outcome.mean_offset:.3f} | {outcome.max_offset:.3f} | {outcome.seconds:.1f} | {ratio:.2f}"
        print(f"| {seed} | {end} | {', '.join(outcome.touched) or 'none'} | {numbers} |", flush=True)
    print(f"{clean} of {count} finished without touching a cone")


if __name__ == "__main__":
    main()
