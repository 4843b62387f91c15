"""Check a dossier of localizations or trackers: `python verify.py [FOLDER]`. It needs Python 3.10 or later and NumPy.

Each file must be the one that manifest.sha256 and dossier.json name. Then everything that trajectories.json or
tracks.json says of a metric is computed again from samples.csv, by the plain definitions (docs/concepts/method.md of
simjudge, sections 4 and 6), from the same normal numbers:

* Two stretches (or boxes) are alike where no coordinate of their contexts differs by more than its tolerance.
* Of each metric W1 over the real samples that have like simulated ones, both overlaps, means, noise, the gap with its
  interval, p, p over all metrics (Holm), the gap that would have been shown, the verdict and its reason.
* Margins and reach are those of the settings.

What it does not check is named at the end. Exit code 0: everything agrees; 1: something does not.
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path

import numpy as np

from simjudge.questions.certify.check import (
    NOT_COMPUTED,
    UNREADABLE,
    WORDS,
    Array,
    Json,
    RefusedError,
    agree,
    bounded,
    check_results,
    compare_class,
    doubt_of_blocks,
    holm,
    judge,
    normal_numbers,
    number,
    print_check,
    read_json,
    said_of,
    verdict_by_margin,
)

SAMPLES, RESULTS, MOST_SAMPLES = "samples.csv", ("trajectories.json", "tracks.json"), 2000
MARGINS = {
    "APE translation": "margin_position",
    "APE rotation": "margin_rotation",
    "RPE translation": "margin_relative",
    "RPE rotation": "margin_turn",
}
"""Of localizations: the setting that is a metric's margin. Trackers have one margin, and scores reach 1."""
UNDECIDED = {"too_few", "not_tested", "no_overlap"}
SCALED = (
    *("mean_w1", "mean_abs_mean_diff", "median_w1", "max_w1", "weighted_w1", "noise", "noise_q95", "gap", "gap_low"),
    *("gap_high", "gap_size", "detectable_gap", "margin", "w1_quantiles"),
    *(f"{name}_{side}" for side in "ab" for name in ("mean_performance", "mean_performance_outside")),
    *(f"std_performance_outside_{side}" for side in "ab"),
)
"""What is in the unit of the metric."""
UNCHECKED_POINTS = (
    "that the samples are real: invented errors give numbers that agree",
    "the errors and their sampling units: both are taken as the table has them",
    "whether blocks of time are in doubt: the numbers must be those of one answer",
    "that nothing was left out: other comparisons, runs, samples",
    "numbers of single runs, words and pictures of the page: simjudge certify --check makes the page again",
)


def read_samples(path: Path) -> dict[str, Array]:
    """Numbers by column; an empty cell is NaN."""
    with path.open(encoding="utf-8", newline="") as stream:
        heads, *rows = csv.reader(stream)
    bounded(len(rows), "contexts")
    table = np.array([[float(cell) if cell else np.nan for cell in row] for row in rows]).reshape(-1, len(heads))
    if np.isinf(table).any() or np.isnan(table).sum() != sum(cell == "" for row in rows for cell in row):
        raise RefusedError(f"{path.name}: numbers must be finite, or empty")
    return dict(zip(heads, table.T, strict=True))


def like_points(samples: dict[str, Array], parameters: Json) -> tuple[Array, list[Array]]:
    """The samples that are compared, the real ones first, and which of them are like each."""
    names = str(parameters["contexts"]).split(",")
    contexts = np.column_stack([samples[name] / float(parameters[f"{name}_tolerance"]) for name in names])
    sides = [np.flatnonzero(samples["side"] == side) for side in (0, 1)]
    rows = np.concatenate([held[:: max(1, -(-len(held) // MOST_SAMPLES))] for held in sides])
    points = contexts[rows]
    return rows, [np.flatnonzero((np.abs(points - point) <= 1.0).all(1)) for point in points]


def limits(row: Json, parameters: Json) -> tuple[float, float]:
    """Margin and reach of a metric, by the settings."""
    if row["metric"] not in MARGINS:
        return float(parameters["margin"]), 1.0
    margin = float(parameters[MARGINS[row["metric"]]])
    return margin, margin * float(parameters["reach"])


def judged_metric(
    samples: dict[str, Array], like: tuple[Array, list[Array]], row: Json, said: Json, doubted: tuple[bool, bool]
) -> Json:
    """What the samples give for one metric, as one of several; p is not yet over all of them."""
    rows, alike = like
    parameters, metrics = said["parameters"], len(said["metrics"])
    margin, reach = limits(row, parameters)
    units = samples[f"unit {row['metric']}"].astype(np.int64)
    count, every = len(rows), np.arange(len(rows))
    table = {
        "performance": np.minimum(samples[row["metric"]], reach)[rows] / reach,
        "of_a": samples["side"][rows] == 0,
        "expected": np.full((count, 2), np.nan),
        "predicted": np.zeros((count, 4)),
        "unit": units[rows],
        "block": np.full(count, -1),
    }
    if (units < 0).any() or (units >= 2 * len(units)).any() or not np.isfinite(table["performance"]).all():
        raise RefusedError(f"{row['metric']}: an error is missing, or a sampling unit has no number")
    draws, seed = int(parameters["draws"]), int(parameters["seed"])
    bounded(draws, "draws")
    if draws < 1:
        raise RefusedError("nothing was drawn, so nothing was tested")
    held = [len(np.unique(table["unit"][table["of_a"] == of_a])) for of_a in (True, False)]
    inputs = {side: {"units": held[k], "doubted": doubted[k]} for k, side in enumerate("ab")}
    own = {"inputs": inputs, "overall": {}, "by_class": {}, "parameters": {"seed": seed}}
    normals = normal_numbers(table, draws, seed, (int(units.max()) + 1, 0))
    found = compare_class(table, every, alike, every, normals, 1, np.ones(count, bool))
    found["chance"] = found["chance"] * doubt_of_blocks(own, draws)
    found["largest"] = np.array(float(np.ptp(table["performance"])) or 1.0)
    # As one of several that are alike: the gap that would have been shown is that after the correction.
    entry = judge(table, {str(k): (every, found) for k in range(metrics)}, own, margin / reach)["0"]
    return {key: scaled(value, reach) if key in SCALED else value for key, value in entry.items()}


def scaled(value: object, reach: float) -> object:
    """A number, or numbers by name, in the unit of the metric."""
    if isinstance(value, dict):
        return {name: scaled(each, reach) for name, each in value.items()}
    return value * reach if isinstance(value, (int, float)) else value


def check_points(folder: Path) -> tuple[list[str], list[str]]:
    """A line for each metric; what its samples do not give."""
    try:
        names = [name for name in RESULTS if (folder / name).is_file()]
        if len(names) != 1:
            raise RefusedError(f"there must be one of {' and '.join(RESULTS)}")
        said = read_json(folder / names[0])
        samples = read_samples(folder / SAMPLES)
        like = like_points(samples, said["parameters"])
        metrics = [name.removeprefix("unit ") for name in samples if name.startswith("unit ")]
        if [row["metric"] for row in said["metrics"]] != metrics:
            raise RefusedError(f"metrics are {', '.join(metrics)}, not as {names[0]} says")
        # Which sides' blocks are in doubt is not known: the numbers must be those of one answer.
        answers = [
            [judged_metric(samples, like, row, said, doubted) for row in said["metrics"]]
            for doubted in ((False, False), (True, False), (False, True))
        ]
        found = [
            min(each, key=lambda entry, row=row: len(differing_metric(row, entry, corrected=False)))
            for row, each in zip(said["metrics"], zip(*answers, strict=True), strict=True)
        ]
    except UNREADABLE as error:
        return [], [f"cannot be computed: {said_of(error)}"]
    decided = {k: entry["p_adjusted"] for k, entry in enumerate(found) if entry["verdict"] not in UNDECIDED}
    for k, p in holm(decided).items():
        low, high, margin = (found[k][name] for name in ("gap_low", "gap_high", "margin"))
        found[k] |= {"p_adjusted": p, "verdict": verdict_by_margin(p, low, high, margin)}
    lines, wrong = [], []
    for row, entry in zip(said["metrics"], found, strict=True):
        lines.append(f"{row['metric']}: {WORDS[entry['verdict']]}: gap {number(entry.get('gap'))}")
        wrong += differing_metric(row, entry, corrected=True)
        if not agree(row.get("reach"), right := limits(row, said["parameters"])[1]):
            wrong.append(f"{row['metric']}, reach: {row.get('reach')} is stated, {right} is found")
    return lines, wrong


def differing_metric(row: Json, entry: Json, *, corrected: bool) -> list[str]:
    """A line for each field that is not what was found."""
    known = {"verdict_below": None, "verdict_above": None, **entry}
    own = {"metric", "unit", "reach", "block_slots", *NOT_COMPUTED, *(() if corrected else ("p_adjusted", "verdict"))}
    return [
        f"{row['metric']}, {name}: {row.get(name, 'nothing')} is stated, {known.get(name)} is found"
        for name in (*known, *(name for name in row if name not in known and row[name] is not None))
        if name not in own and not agree(row.get(name, "missing"), known.get(name))
    ]


def check_point_dossier(folder: Path) -> tuple[list[str], list[str]]:
    """What was found, and what is wrong; a line each."""
    return check_results(folder, check_points, UNCHECKED_POINTS)


def main() -> int:
    """Check a dossier of localizations or trackers."""
    return print_check(check_point_dossier)


if __name__ == "__main__":
    sys.exit(main())
