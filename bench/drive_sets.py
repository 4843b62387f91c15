"""Many drives of the lab without pictures, as CSV: `python bench/drive_sets.py OUT [CAR...]`, `--engine chrono`.

The ground truth drives, so poses and commands are those that `simjudge sim drive` records with the same options.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from pathlib import Path

import numpy as np

from simjudge.data.drive_logs import COLUMNS
from simjudge.sim.driving.closed_loop import DrivenCommand, MotionSample
from simjudge.sim.driving.drive import DriveOptions, make_closed_loop

CAMERA = str(Path(__file__).with_name("drive_sets.yaml"))


def write_drive(out: Path, scene: str, car: str | None, seed: int, engine: str = "default") -> float:
    """Drive once, and write time, x, y, yaw, speed, steering and throttle at each motion sample; seconds it took.

    Beside it stands OUT.json: how the drive ended.
    """
    begin = time.perf_counter()
    loop = make_closed_loop(DriveOptions(scene, CAMERA, engine=engine, vehicle=car, seed=seed, images=False))
    rows: list[tuple[float, ...]] = []
    commands: list[tuple[float, float, float]] = [(-np.inf, np.nan, np.nan)]
    for event in loop.run():
        if isinstance(event, DrivenCommand):
            commands.append((event.time / 1e9, event.command.steering, event.command.throttle))
        elif isinstance(event, MotionSample):
            x, y, z, w = event.state.pose.orientation
            yaw = float(np.arctan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z)))
            place = event.state.pose.position
            rows.append((event.time / 1e9, place[0], place[1], yaw, event.state.velocity[0]))
    # Commands stand with the motion of the same instant, as in a recording.
    given = np.array(commands)
    last = np.searchsorted(given[:, 0], [row[0] for row in rows], side="right") - 1
    table = np.column_stack([rows, given[last, 1:]])
    outcome = loop.outcome()
    loop.engine.close()
    if not outcome.finished:
        print(f"{out.name}: {outcome.reason}", file=sys.stderr)
    out.with_suffix(".json").write_text(json.dumps(asdict(outcome), default=sorted))
    with out.open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(COLUMNS)
        writer.writerows([["" if np.isnan(value) else repr(float(value)) for value in row] for row in table])
    return time.perf_counter() - begin


def main() -> None:
    """Write the drives."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("cars", nargs="*", default=["art1"], help="names or files of cars")
    parser.add_argument("--count", type=int, default=12)
    parser.add_argument("--first", type=int, default=0, help="first seed")
    parser.add_argument("--scene", default="lab")
    parser.add_argument("--engine", default="default")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    with ProcessPoolExecutor(given.jobs) as pool:
        waiting = {}
        for car in given.cars:
            name = Path(car).stem if given.engine == "default" else f"{given.engine}_{Path(car).stem}"
            for seed in range(given.first, given.first + given.count):
                path = given.out / f"{name}_{seed}.csv"
                if not path.exists():
                    waiting[path] = pool.submit(write_drive, path, given.scene, car, seed, given.engine)
        for path, job in waiting.items():
            print(f"{path}: {job.result():.0f} s", flush=True)


if __name__ == "__main__":
    main()
