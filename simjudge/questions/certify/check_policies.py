"""Check a dossier of policies: `python verify.py [FOLDER]`. It needs Python 3.10 or later, NumPy, and nothing else.

Each file must be the one that manifest.sha256 names. Then these are computed again from trials.csv, by the plain
definitions, and policies.json must say them:

* Rates of each cell (one policy at one task under one named condition) and W1 between its real and simulated outcomes.
* Mean W1 over cells, the level of chance and p, by dealing trials (or units) anew within cells, or swapping pairs. Both
  are drawn with other random numbers, and must agree within four standard errors.
* r, rho, MMRV over the policies, their p over all orders of up to eight policies, the choice and what it costs as
  measured, and whether it is right without each task.
* That each verdict follows from p, the interval of the gap and the margin.

Not computed again: the bootstrap's noise and interval of the gap, posteriors (chance of the right choice, expected
loss), intervals of r, rho and MMRV, contexts of numbers, and the pictures of the page. Not checked at all: that the
trials are real. Exit code 0: everything agrees; 1: something does not.
"""

from __future__ import annotations

import csv
import hashlib
import itertools
import json
import math
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

Json = dict[str, Any]
Array = np.ndarray[Any, Any]
MANIFEST, TRIALS, RESULT = "manifest.sha256", "trials.csv", "policies.json"
CLOSE = 1e-9
DRAWS, ERRORS = 4000, 4.0
SIGNIFICANCE = 0.05
ALL_ORDERS = 8


def sha256(path: Path) -> str:
    """Digest of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def changed_files(folder: Path) -> list[str]:
    """Files that are not those of the manifest."""
    lines = [line.split("  ", 1) for line in (folder / MANIFEST).read_text("utf-8").splitlines()]
    named = {name: digest for digest, name in lines}
    here = {file.relative_to(folder).as_posix() for file in folder.rglob("*") if file.is_file()} - {MANIFEST}
    wrong = [f"{name}: is missing" for name in named if name not in here]
    wrong += [f"{name}: is not in {MANIFEST}" for name in sorted(here) if name not in named]
    return wrong + [
        f"{name}: has changed" for name in sorted(here & set(named)) if sha256(folder / name) != named[name]
    ]


def read_trials(path: Path) -> tuple[Rows, list[str]]:
    """The rows, and the names of the conditions that are words."""
    with path.open(encoding="utf-8", newline="") as stream:
        layout = json.loads(stream.readline().partition(": ")[2])
        return list(csv.DictReader(stream)), list(layout["words"])


def distance(first: Array, second: Array) -> float:
    """W1 of two samples: the area between their distribution functions."""
    values = np.unique(np.concatenate([first, second]))
    below = [np.searchsorted(np.sort(side), values[:-1], "right") / len(side) for side in (first, second)]
    return float(np.abs(below[0] - below[1]) @ np.diff(values))


def dealt_again(real: Rows, sim: Rows, random: np.random.Generator) -> float:
    """W1 of a cell after one permutation."""
    twins = {row["pair"]: k for k, row in enumerate(sim) if row["pair"]}
    pairs = [(k, twins[row["pair"]]) for k, row in enumerate(real) if row["pair"] in twins]
    a, b = (np.array([float(row["outcome"]) for row in side]) for side in (real, sim))
    if 2 * len(pairs) >= max(len(real), len(sim)):
        for first, second in pairs:
            if random.random() < 0.5:
                a[first], b[second] = b[second], a[first]
        return distance(a, b)
    units: dict[tuple[int, str], list[float]] = defaultdict(list)
    for side, rows in enumerate((real, sim)):
        for row in rows:
            units[side, row["unit"]].append(float(row["outcome"]))
    count = sum(side == 0 for side, _ in units)
    held = list(units.values())
    order = random.permutation(len(held))
    mine, other = ([held[k] for k in part] for part in (order[:count], order[count:]))
    return distance(np.concatenate(mine), np.concatenate(other))


def correlation(first: Array, second: Array) -> float:
    """Pearson's r; NaN where a side is constant."""
    a, b = first - first.mean(), second - second.mean()
    size = math.sqrt(float(a @ a) * float(b @ b))
    return float(a @ b) / size if size > 1e-12 else math.nan


def mean_ranks(values: Array) -> Array:
    """Ranks; ties have their mean."""
    return np.array([(values < value).sum() + ((values == value).sum() + 1) / 2 for value in values])


def violation(real: Array, sim: Array) -> float:
    """MMRV."""
    worst = [
        max(abs(real[i] - real[j]) * ((sim[i] > sim[j]) != (real[i] > real[j])) for j in range(len(real)))
        for i in range(len(real))
    ]
    return float(np.mean(worst))


def verdict(p: float, low: float, high: float, margin: float) -> str:
    """What follows from p, the interval of the gap and the margin."""
    if p > SIGNIFICANCE:
        return "predicts" if high < margin else "cannot_tell"
    if high < margin:
        return "small_gap"
    return "large_gap" if low >= margin else "gap"


def differs(what: str, found: float, stated: float | None, within: float = CLOSE) -> list[str]:
    """A line where two numbers do not agree; NaN is stated as none."""
    agree = stated is None if math.isnan(found) else stated is not None and abs(found - stated) <= within
    return [] if agree else [f"{what}: {stated} is stated, {found} is found"]


Rows = list[dict[str, str]]
Cells = dict[tuple[str, ...], tuple[Rows, Rows]]


def wrong_numbers(folder: Path) -> list[str]:
    """What policies.json says and the trials do not."""
    said = json.loads((folder / RESULT).read_text("utf-8"))
    rows, words = read_trials(folder / TRIALS)
    cells: Cells = defaultdict(lambda: ([], []))
    for row in rows:
        cells[tuple(row[name] for name in ("policy", "task", *words))][row["side"] != "real"].append(row)
    both = {key: sides for key, sides in cells.items() if all(sides)}
    stated = {tuple(row[name] for name in ("policy", "task", *words)): row for row in said["by_cell"]}
    if set(stated) != set(both):
        return [f"cells: {len(both)} are found, {len(stated)} are stated, or they are called differently"]
    wrong: list[str] = []
    w1: dict[tuple[str, ...], float] = {}
    for key, row in stated.items():
        a, b = (np.array([float(trial["outcome"]) for trial in side]) for side in both[key])
        w1[key] = distance(a, b)
        found = {
            "rate_real": a.mean(),
            "rate_sim": b.mean(),
            "w1": w1[key],
            "trials_real": len(a),
            "trials_sim": len(b),
        }
        for name, value in found.items():
            wrong += differs(f"{key} {name}", float(value), row[name])
    wrong += wrong_chance(said, both, w1)
    for row in (said["overall"], *said["by_policy"], *said["by_task"], *said["by_cell"]):
        wrong += wrong_verdict(row)
    return wrong + ([] if said["ranking"] is None else wrong_ranking(said["ranking"], rows))


def wrong_chance(said: Json, both: Cells, w1: dict[tuple[str, ...], float]) -> list[str]:
    """Mean W1, the level of chance and p of all cells together."""
    share = {key: 1 / len(both) for key in both}
    if said["parameters"].get("weights") == "trials":
        total = sum(len(sides[0]) for sides in both.values())
        share = {key: len(sides[0]) / total for key, sides in both.items()}
    overall, mean = said["overall"], sum(share[key] * w1[key] for key in both)
    wrong = differs("mean W1", mean, overall["w1"])
    if overall["p_value"] is None:
        return wrong
    random = np.random.default_rng(1)
    drawn = np.array(
        [sum(share[key] * dealt_again(*sides, random) for key, sides in both.items()) for _ in range(DRAWS)]
    )
    draws = max(1, int(said["parameters"]["draws"]))
    error = ERRORS * float(drawn.std()) * math.sqrt(1 / DRAWS + 1 / draws)
    wrong += differs("level of chance", float(drawn.mean()), overall["permutation_floor"], error + 1e-6)
    # Permutations with the same mean are ordered by their squares: p lies between these two.
    least, most = (float((1 + (drawn >= mean + slack).sum()) / (1 + DRAWS)) for slack in (1e-9, -1e-9))
    spread = ERRORS * math.sqrt(max(most * (1 - most), 1 / draws) * (1 / DRAWS + 1 / draws)) + 2 / draws
    if not least - spread <= overall["p_value"] <= most + spread:
        wrong.append(f"p: {overall['p_value']} is stated, {least:.4f} to {most:.4f} are found")
    return wrong


def wrong_verdict(row: Json) -> list[str]:
    """A verdict that does not follow from the numbers beside it."""
    if row["verdict"] in {"too_few", "not_tested", "no_overlap"} or row["p_adjusted"] is None:
        return []
    follows = verdict(row["p_adjusted"], row["gap_low"], row["gap_high"], row["margin"])
    return [] if follows == row["verdict"] else [f"verdict {row['verdict']}: {follows} follows from its numbers"]


def wrong_ranking(said: Json, rows: Rows) -> list[str]:
    """What the ranking says and the trials do not."""
    cells: dict[tuple[str, str, str], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        cells[row["side"], row["policy"], row["task"]][row["unit"]].append(float(row["outcome"]))
    policies, tasks = said["policies"], said["tasks"]
    rate = np.array(
        [
            [[np.mean([np.mean(unit) for unit in cells[side, p, t].values()]) for t in tasks] for p in policies]
            for side in ("real", "sim")
        ]
    )
    # Rounded, since the order of the tasks must break no tie.
    real, sim = rate.mean(2).round(12)
    wrong = []
    for name, values in (("real", real), ("sim", sim)):
        for policy, found, stated in zip(policies, values, said[name], strict=True):
            wrong += differs(f"{name} rate of {policy}", float(found), stated)
    wrong += wrong_measures(said, real, sim)
    chosen = worst_of_first(real, sim)
    stated = policies.index(said["by_sim"]["policy"])
    if (sim[stated], real[stated]) != (sim[chosen], real[chosen]):
        wrong.append(f"choice: {said['by_sim']['policy']} is stated, {policies[chosen]} is found")
    wrong += differs("points lost", float(real.max() - real[chosen]), said["by_sim"]["regret"])
    for k, each in enumerate(said["kept_without"]):
        left = np.delete(rate, k, 2).mean(2).round(12)
        right = bool(left[0][worst_of_first(*left)] == left[0].max())
        if right != each["right"]:
            wrong.append(f"without {each['task']}: {each['right']} is stated, {right} is found")
    return wrong


def worst_of_first(real: Array, sim: Array) -> int:
    """The policy that the simulation ranks first; of several alike the one that does worst on the robot."""
    first = np.flatnonzero(sim == sim.max())
    return int(first[real[first].argmin()])


def wrong_measures(said: Json, real: Array, sim: Array) -> list[str]:
    """r, rho and MMRV, and their p over all orders."""
    measures = {
        "r": correlation,
        "rho": lambda a, b: correlation(mean_ranks(a), mean_ranks(b)),
        "mmrv": violation,
    }
    wrong = []
    for name, measure in measures.items():
        value = measure(real, sim)
        wrong += differs(name, value, said[name]["value"])
        if len(real) <= ALL_ORDERS and not math.isnan(value):
            other = np.array([measure(real, sim[list(order)]) for order in itertools.permutations(range(len(real)))])
            reached = other <= value + 1e-12 if name == "mmrv" else other >= value - 1e-12
            wrong += differs(f"p of {name}", float(reached.mean()), said[name]["p_value"])
    return wrong


def main(arguments: list[str]) -> int:
    """Check the folder that is named, or the one where the script lies."""
    folder = Path(arguments[0]) if arguments else Path(__file__).resolve().parent
    wrong = changed_files(folder)
    for part in sorted(path.parent for path in folder.rglob(RESULT)):
        wrong += [f"{part.name}: {line}" for line in wrong_numbers(part)]
    for line in wrong:
        sys.stdout.write(f"{line}\n")
    sys.stdout.write("something does not agree\n" if wrong else "everything agrees\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
