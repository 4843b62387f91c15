"""How often drives are called apart: `python bench/drive_false_alarms.py REAL.csv... [--sim SIM.csv...]`.

Without `--sim` both sides are random drives of REAL, so that nothing differs and every "gap" is a false alarm. With
`--sim` one side is random drives of each, and every "gap" is right.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from simjudge.data.drive_logs import DriveLog, read_drive
from simjudge.method.verdicts import GAPS, Verdict
from simjudge.questions.drives.run import compare_drive_sets
from simjudge.questions.drives.settings import METRICS, DriveComparisonSettings

BOOTSTRAP = 20
"""A few draws: without any there is no verdict, and whether there is a gap does not depend on them."""
_ALL = "all together"


def draw_sides(
    real: Sequence[DriveLog], sim: Sequence[DriveLog], count: int, random: np.random.Generator
) -> tuple[list[DriveLog], list[DriveLog]]:
    """Random drives for both sides, none twice."""
    if not sim:
        chosen = [real[k] for k in random.permutation(len(real))[: 2 * count]]
        return chosen[:count], chosen[count:]
    first, second = (random.permutation(len(side))[:count] for side in (real, sim))
    return [real[k] for k in first], [sim[k] for k in second]


def count_verdicts(
    real: Sequence[DriveLog], sim: Sequence[DriveLog], count: int, tries: int, settings: DriveComparisonSettings
) -> Counter[tuple[str, str]]:
    """How often each metric got each verdict; how often any had a gap, and how often all were too few."""
    random, found = np.random.default_rng(count), Counter[tuple[str, str]]()
    for number in range(tries):
        drives = draw_sides(real, sim, count, random)
        result = compare_drive_sets(*drives, replace(settings, seed=number))
        verdicts = {each.metric: each.certainty.verdict for each in result.results}
        found.update(verdicts.items())
        found[_ALL, "gap"] += any(verdict in GAPS for verdict in verdicts.values())
        found[_ALL, Verdict.TOO_FEW] += all(verdict == Verdict.TOO_FEW for verdict in verdicts.values())
    return found


def main() -> None:
    """Print the table of docs/measurements/trajectories.md."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("real", nargs="+", type=Path)
    parser.add_argument("--sim", nargs="+", type=Path, default=[])
    parser.add_argument("--counts", nargs="+", type=int, default=[2, 3, 4, 5, 6, 8, 10, 15, 20], help="drives a side")
    parser.add_argument("--tries", type=int, default=400)
    parser.add_argument("--course", help="scene whose course is the line")
    given = parser.parse_args()
    real, sim = ([read_drive(path) for path in side] for side in (given.real, given.sim))
    settings = DriveComparisonSettings(bootstrap=BOOTSTRAP, course=given.course)
    print(f"| drives a side | {' | '.join(METRICS)} | any of them | too few |\n|{' --- |' * (len(METRICS) + 3)}")
    for count in given.counts:
        if count > (min(len(real), len(sim)) if sim else len(real) // 2):
            continue
        found = count_verdicts(real, sim, count, given.tries, settings)
        shares = [sum(found[metric, verdict] for verdict in GAPS) for metric in METRICS]
        row = [*shares, found[_ALL, "gap"], found[_ALL, Verdict.TOO_FEW]]
        print(f"| {count} | " + " | ".join(f"{100 * each / given.tries:.1f} %" for each in row) + " |", flush=True)


if __name__ == "__main__":
    main()
