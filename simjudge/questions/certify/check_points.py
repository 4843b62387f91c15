"""Check a dossier of localizations or trackers: `python verify.py [FOLDER]`. It needs Python 3.10 or later and NumPy.

Each file must be the one that manifest.sha256 names. Then these are computed again from samples.csv, by the plain
definitions, and trajectories.json or tracks.json must say them:

* Of each metric mean W1 over the real samples that have like simulated ones, both overlaps, and both means.
* How many sampling units each side has.
* That each verdict follows from p, the interval of the gap and the margin, and that no p after correction for the
  number of metrics is smaller than before.

Not computed again: the errors themselves, the bootstrap's noise, p and interval of the gap, and the pictures of the
page. Not checked at all: that the samples are real. Exit code 0: everything agrees; 1: something does not.
"""

from __future__ import annotations

import csv
import hashlib
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

Json = dict[str, Any]
Array = np.ndarray[Any, Any]
MANIFEST, SAMPLES = "manifest.sha256", "samples.csv"
RESULTS = ("trajectories.json", "tracks.json")
CLOSE, SIGNIFICANCE, MOST_SAMPLES = 1e-9, 0.05, 2000
UNTESTED = {"too_few", "not_tested", "no_overlap"}


def sha256(path: Path) -> str:
    """Digest of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def changed_files(folder: Path) -> list[str]:
    """Files that are not those of the manifest."""
    named = dict(line.split("  ", 1)[::-1] for line in (folder / MANIFEST).read_text("utf-8").splitlines())
    here = {file.relative_to(folder).as_posix() for file in folder.rglob("*") if file.is_file()} - {MANIFEST}
    gone, new = sorted(set(named) - here), sorted(here - set(named))
    other = [name for name in sorted(here & set(named)) if sha256(folder / name) != named[name]]
    return [
        *(f"{name}: is missing" for name in gone),
        *(f"{name}: is not in {MANIFEST}" for name in new),
        *(f"{name}: has changed" for name in other),
    ]


def read_samples(path: Path) -> dict[str, Array]:
    """Numbers by column; an empty cell is NaN."""
    with path.open(encoding="utf-8", newline="") as stream:
        heads, *rows = csv.reader(stream)
    table = np.array([[float(cell) if cell else np.nan for cell in row] for row in rows]).reshape(-1, len(heads))
    return dict(zip(heads, table.T, strict=True))


def distance(first: Array, second: Array) -> float:
    """W1 of two samples: the area between their distribution functions."""
    values = np.unique(np.concatenate([first, second]))
    below = [np.searchsorted(np.sort(side), values[:-1], "right") / len(side) for side in (first, second)]
    return float(np.abs(below[0] - below[1]) @ np.diff(values))


def compared(samples: dict[str, Array], parameters: Json) -> tuple[Array, Array, Array]:
    """Of the real and of the simulated side the rows that were compared, and all contexts by their tolerances."""
    names = str(parameters["contexts"]).split(",")
    contexts = np.column_stack([samples[name] / float(parameters[f"{name}_tolerance"]) for name in names])
    sides = [np.flatnonzero(samples["side"] == side) for side in (0, 1)]
    real, sim = (rows[:: max(1, -(-len(rows) // MOST_SAMPLES))] for rows in sides)
    return real, sim, contexts


def found_numbers(row: Json, samples: dict[str, Array], rows: tuple[Array, Array, Array]) -> Json:
    """What the samples give for one metric."""
    real, sim, contexts = rows
    value = np.minimum(samples[row["metric"]], row["reach"])
    w1, in_real, in_sim = [], np.zeros(len(real), bool), np.zeros(len(sim), bool)
    for context in contexts[real]:
        like = [np.abs(contexts[side] - context).max(1) <= 1.0 for side in (real, sim)]
        if like[1].any():
            in_real |= like[0]
            in_sim |= like[1]
            w1.append(distance(value[real[like[0]]], value[sim[like[1]]]))
    units = [len(np.unique(samples[f"unit {row['metric']}"][side])) for side in (real, sim)]
    return {
        "compared": len(w1),
        "mean_w1": float(np.mean(w1)) if w1 else None,
        "overlap_a": float(in_real.mean()),
        "overlap_b": float(in_sim.mean()),
        "mean_performance_a": float(value[real].mean()),
        "mean_performance_b": float(value[sim].mean()),
        "units_a": units[0],
        "units_b": units[1],
    }


def differs(what: str, found: float | None, stated: float | None) -> list[str]:
    """A line where two numbers are not one."""
    same = found is None and stated is None
    if not same and found is not None and stated is not None:
        same = abs(found - stated) <= CLOSE * max(1.0, abs(found))
    return [] if same else [f"{what}: {stated} is stated, {found} is found"]


def verdict(p: float, low: float, high: float, margin: float) -> str:
    """What follows from the numbers of a metric."""
    if p > SIGNIFICANCE:
        return "predicts" if high < margin else "cannot_tell"
    return "small_gap" if high < margin else "large_gap" if low >= margin else "gap"


def wrong_numbers(folder: Path) -> list[str]:
    """What a result says and its samples do not."""
    said: Json = json.loads(next(folder / name for name in RESULTS if (folder / name).is_file()).read_text("utf-8"))
    samples, wrong = read_samples(folder / SAMPLES), list[str]()
    rows = compared(samples, said["parameters"])
    drawn = int(said["parameters"]["draws"]) > 0
    for row in said["metrics"]:
        for name, number in found_numbers(row, samples, rows).items():
            if drawn or not name.startswith("units"):
                wrong += differs(f"{row['metric']}, {name}", number, row[name])
        if row["verdict"] in UNTESTED or row["p_adjusted"] is None:
            continue
        follows = verdict(row["p_adjusted"], row["gap_low"], row["gap_high"], row["margin"])
        if follows != row["verdict"]:
            wrong.append(f"{row['metric']}, verdict {row['verdict']}: {follows} follows from its numbers")
        if row["p_adjusted"] < row["p_value"] - CLOSE:
            wrong.append(f"{row['metric']}, p: {row['p_adjusted']} after correction is below {row['p_value']} before")
    return wrong


def main(arguments: list[str]) -> int:
    """Check the folder that is named, or the one where the script lies."""
    folder = Path(arguments[0]) if arguments else Path(__file__).resolve().parent
    wrong = changed_files(folder)
    for part in sorted(path.parent for path in folder.rglob(SAMPLES)):
        wrong += [f"{part.name}: {line}" for line in wrong_numbers(part)]
    for line in wrong:
        sys.stdout.write(f"{line}\n")
    sys.stdout.write("something does not agree\n" if wrong else "everything agrees\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
