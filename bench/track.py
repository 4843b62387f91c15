"""How often a car drives the track by lidar, and how fast: `python bench/track.py [SENSORS [SEEDS [LAPS]]]`.

Every seed is another start on the track, and other noise. SENSORS is a file or a name; without one, those of
docs/measurements/engines.md: ideal, vlp16, noisy.
"""

from __future__ import annotations

import sys
import time
from collections import deque
from pathlib import Path
from typing import NamedTuple

from simjudge.sim.driving.closed_loop import DEFAULT_LIMIT, DriveLimits, DriveOutcome
from simjudge.sim.driving.drive import DriveOptions, make_closed_loop

HERE = Path(__file__).parent
SENSORS = (str(HERE / "lidar_ideal.yaml"), "vlp16", str(HERE / "lidar_noisy.yaml"))


class Run(NamedTuple):
    """A drive, and simulated seconds in a second."""

    outcome: DriveOutcome
    ratio: float


def drive(sensors: str, seed: int, laps: int = 2) -> Run:
    """Drive the track by lidar."""
    options = DriveOptions("track", "plain_half", seed=seed, images=False, sensors=sensors, driver="lidar")
    loop = make_closed_loop(options, DriveLimits(laps=laps, duration=laps * DEFAULT_LIMIT))
    begin = time.perf_counter()
    deque(loop.run(), 0)
    seconds = time.perf_counter() - begin
    outcome = loop.outcome()
    loop.engine.close()
    return Run(outcome, outcome.seconds / seconds)


def main() -> None:
    """Print the tables of docs/measurements/engines.md."""
    given = sys.argv[1:]
    count, laps = int(given[1]) if len(given) > 1 else 20, int(given[2]) if len(given) > 2 else 2
    for sensors in given[:1] or SENSORS:
        print(f"\n{Path(sensors).name}, {laps} laps")
        print("| seed | finished | touched | laps, s | least distance, m | off the line, mean | most | of real time |")
        print("| --- | --- | --- | --- | --- | --- | --- | --- |")
        clean = 0
        for seed in range(count):
            outcome, ratio = drive(sensors, seed, laps)
            clean += outcome.clean
            end = "yes" if outcome.finished else f"{outcome.reason} after {outcome.distance:.1f} m"
            lap_times = ", ".join(f"{lap:.1f}" for lap in outcome.lap_times)
            numbers = f"{outcome.clearance:.3f} | {outcome.mean_offset:.3f} | {outcome.max_offset:.3f} | {ratio:.1f}"
            print(f"| {seed} | {end} | {', '.join(outcome.touched) or 'none'} | {lap_times} | {numbers} |", flush=True)
        print(f"{clean} of {count} finished without touching a barrier")


if __name__ == "__main__":
    main()
