"""False alarms of `compare-drives` on made drives that do not differ: `python bench/drive_null.py [--tries 60]`.

A driver goes along a winding road once. His line wanders to the side and his speed wavers, each an AR(1) series along
the way; odometry has noise. Both sides are such drives, so every "gap" is false.
"""

from __future__ import annotations

import argparse
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np
import yaml
from scipy.signal import lfilter

from simjudge.core.arrays import FloatArray
from simjudge.data.drive_logs import DriveLog
from simjudge.method.verdicts import GAPS, SIGNIFICANCE, Verdict
from simjudge.questions.drives.run import compare_drive_sets
from simjudge.questions.drives.settings import DriveComparisonSettings

NOT_GIVEN = (Verdict.TOO_FEW, Verdict.NO_OVERLAP, Verdict.NOT_TESTED)
RADIUS, TURN = 3.0, 60
"""Metres and degrees of each bend; left and right take turns."""
BEND = RADIUS * np.radians(TURN)
LONG, SHORT = 160.0, 40.0
"""Metres of road, for few drives and for many."""
WANDER, WANDER_LENGTH = 0.04, 3.0
"""Metres: standard deviation of the way to the side, and the length over which it is forgotten."""
WAVER, WAVER_LENGTH = 0.06, 2.0
"""Share of the speed, and metres, likewise."""
POSITION_NOISE, HEADING_NOISE = 0.003, np.radians(0.3)
SPEED, RATE = 1.5, 20.0
SIZES = ((1, 1), (2, 2), (3, 3), (5, 5), (10, 10), (1, 10))
"""Real and simulated drives."""
SETTINGS = DriveComparisonSettings(draws=100)


def road(along: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """x, y and heading on the line, `along` metres from its start."""
    fine = np.arange(-20, LONG + 40, 0.01)
    heading = np.abs((fine + BEND) % (2 * BEND) - BEND) / RADIUS
    step = 0.01 * np.stack([np.cos(heading), np.sin(heading)])
    place = np.cumsum(step, 1)
    place -= place[:, [np.argmin(np.abs(fine))]]
    return np.interp(along, fine, place[0]), np.interp(along, fine, place[1]), np.interp(along, fine, heading)


def wavering(random: np.random.Generator, count: int, step: float, length: float) -> FloatArray:
    """An AR(1) series of standard deviation 1 that is forgotten over `length`, smooth over a few steps."""
    keep = float(np.exp(-step / length))
    start = int(5 * length / step)
    series = lfilter([np.sqrt(1 - keep**2)], [1, -keep], random.normal(size=count + start))[start:]
    smooth = max(1, round(0.3 / step))
    return np.convolve(np.pad(series, smooth, mode="edge"), np.ones(smooth) / smooth, "same")[smooth:-smooth]


def made_drive(seed: int, metres: float, bias: float = 0.0) -> DriveLog:
    """A drive of that driver, `bias` metres to the left."""
    random, step = np.random.default_rng(seed), SPEED / RATE
    count = int(metres / step)
    speed = SPEED * (1 + WAVER * wavering(random, count, step, WAVER_LENGTH))
    along = np.cumsum(speed / RATE)
    aside = bias + WANDER * wavering(random, count, step, WANDER_LENGTH)
    x, y, heading = road(along)
    steering = 0.3 * np.gradient(heading, along) + 0.05 * wavering(random, count, step, 0.5)
    position = np.stack([x - aside * np.sin(heading), y + aside * np.cos(heading)], 1)
    position += random.normal(0, POSITION_NOISE, position.shape)
    yaw = heading + np.arctan(np.gradient(aside, along)) + random.normal(0, HEADING_NOISE, count)
    return DriveLog(f"drive_{seed}", np.arange(count) / RATE, position, yaw, speed, steering, np.full(count, 0.5))


def write_course(folder: Path) -> str:
    """A scene with the road's line as its course."""
    pieces = [{side: TURN, "radius": RADIUS} for _ in range(round(LONG / BEND / 2)) for side in ("left", "right")]
    cone = {"cone": {"radius": 0.04, "height": 0.077}, "class": "cone", "surface": {"colour": "#d8281a"}}
    path = {
        "arcs": {"start": [0, 0, 0], "pieces": pieces},
        "width": 1.0,
        "spacing": 0.6,
        "left": "cone",
        "right": "cone",
    }
    scene = {
        "classes": {1: "cone"},
        "kinds": {"cone": cone},
        "placements": {"course": {"path": path}},
        "things": {"floor": {"plane": [400, 400], "surface": {"colour": "#8a8a8a"}}},
        "lights": {"lamp": {"at": [0, 2, 4], "intensity": 20, "range": 20}},
    }
    file = folder / "road.yaml"
    file.write_text(yaml.safe_dump(scene))
    return str(file)


def count_alarms(real: int, sim: int, tries: int, settings: DriveComparisonSettings) -> Counter[str]:
    """How many verdicts were given, how many of them were gaps, and how many p of a metric by itself were small."""
    found = Counter[str]()
    for number in range(tries):
        seeds = 10_000 * number + np.arange(real + sim)
        # Few drives must be long to be judged at all.
        drives = [made_drive(int(seed), SHORT if min(real, sim) > 4 else LONG) for seed in seeds]
        result = compare_drive_sets(drives[:real], drives[real:], settings)
        verdicts = [each.certainty.verdict for each in result.results]
        found["gaps"] += sum(verdict in GAPS for verdict in verdicts)
        found["given"] += sum(verdict not in NOT_GIVEN for verdict in verdicts)
        p = [each.certainty.p_value for each in result.results if each.certainty.p_value is not None]
        found["small"] += sum(value <= SIGNIFICANCE for value in p)
        found["tested"] += len(p)
    return found


def main() -> None:
    """Print the table of docs/measurements/trajectories.md."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tries", type=int, default=60)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        course = write_course(Path(folder))
        print("| drives, real and simulated | line | gaps of verdicts given | p <= 0.05 by itself |")
        print("|" + " --- |" * 4)
        for real, sim in SIZES:
            for name, line in (("the drives' own", None), ("course", course)):
                settings = DriveComparisonSettings(**{**vars(SETTINGS), "course": line})
                found = count_alarms(real, sim, given.tries, settings)
                share = f"{100 * found['gaps'] / found['given']:.1f} %" if found["given"] else "none given"
                print(
                    f"| {real}, {sim} | {name} | {found['gaps']} of {found['given']}: {share} | {found['small']} of"
                    f" {found['tested']} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
