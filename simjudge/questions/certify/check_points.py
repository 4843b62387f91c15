"""Compute a comparison of localizations or of trackers again from samples.csv (method, sections 4 and 6).

Two stretches (or boxes) are alike where no coordinate of their contexts differs by more than its tolerance.
"""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

from simjudge.questions.certify.check_files import Array, Json, RefusedError, bounded, differences
from simjudge.questions.certify.check_statistics import (
    compare_class,
    doubt_of_blocks,
    finished,
    holm,
    normal_numbers,
    numbers_of,
    p_of,
    together,
    too_little,
    unit_counts,
    verdict_by_margin,
)

MOST_SAMPLES = 2000
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
TAKEN_POINTS = (
    *("version", "losses", "notes", "parameters", "inputs", "scores", "drawn"),
    *("metrics.*.unit", "metrics.*.block_slots", "metrics.*.scope"),
)
"""Of the result: what the samples do not give, or what is computed with."""
UNCHECKED_POINTS = (
    "that the samples are real: invented errors give numbers that agree",
    "the errors and their sampling units: both are taken as the table has them",
    "whether blocks of time are in doubt: the numbers must be those of one answer",
    "that nothing was left out: other comparisons, runs, samples",
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


def judged_metric(samples: dict[str, Array], like: tuple[Array, list[Array]], row: Json, said: Json) -> list[Json]:
    """What the samples give for a metric, whichever side's blocks are in doubt; p is not over all metrics yet."""
    rows, alike = like
    parameters, count, every = said["parameters"], len(like[0]), np.arange(len(like[0]))
    margin, reach = limits(row, parameters)
    units = samples[f"unit {row['metric']}"].astype(np.int64)
    table = {
        "performance": np.minimum(samples[row["metric"]], reach)[rows] / reach,
        "of_a": samples["side"][rows] == 0,
        "expected": np.full((count, 2), np.nan),
        "unit": units[rows],
        "block": np.full(count, -1),
    }
    if (units < 0).any() or (units >= 2 * len(units)).any() or not np.isfinite(table["performance"]).all():
        raise RefusedError(f"{row['metric']}: an error is missing, or a sampling unit has no number")
    draws, seed = int(parameters["draws"]), int(parameters["seed"])
    bounded(draws, "draws")
    if draws < 1:
        raise RefusedError("nothing was drawn, so nothing was tested")
    normals = normal_numbers(table, draws, seed, (int(units.max()) + 1, 0))
    found = compare_class(table, every, alike, every, normals, 1, np.ones(count, bool))
    found["largest"] = np.array(float(np.ptp(table["performance"])) or 1.0)
    held, answers = unit_counts(table, every), []
    for doubted in ((False, False), (True, False), (False, True)):
        inputs = {side: {"units": held[k], "doubted": doubted[k]} for k, side in enumerate("ab")}
        own = {"inputs": inputs, "parameters": {"seed": seed}}
        boot = together([found | {"chance": found["chance"] * doubt_of_blocks(own, draws)}])
        p = 0.0 if boot is None else p_of(boot.mean, boot.chance)
        judged = too_little(boot, held), p, len(said["metrics"])
        entry = finished(numbers_of(table, [(every, found)]), boot, held, margin / reach, own, draws, judged)
        scaled = {key: in_unit(value, reach) if key in SCALED else value for key, value in entry.items()}
        answers.append({"metric": row["metric"], "reach": reach, **scaled})
    return answers


def in_unit(value: object, reach: float) -> object:
    """A number, or numbers by name, in the unit of the metric."""
    if isinstance(value, dict):
        return {name: in_unit(each, reach) for name, each in value.items()}
    return value * reach if isinstance(value, (int, float)) else value


def recompute_points(folder: Path, said: Json) -> tuple[Json, list[str]]:
    """What samples.csv gives of trajectories.json or tracks.json."""
    samples = read_samples(folder / "samples.csv")
    like = like_points(samples, said["parameters"])
    metrics = [name.removeprefix("unit ") for name in samples if name.startswith("unit ")]
    if [row["metric"] for row in said["metrics"]] != metrics:
        raise RefusedError(f"metrics are {', '.join(metrics)}, not as the result says")
    skipped, found = (*TAKEN_POINTS, "*.p_adjusted", "*.verdict"), list[Json]()
    for row in said["metrics"]:
        # Which sides' blocks are in doubt is not known: the numbers must be those of one answer.
        answers = judged_metric(samples, like, row, said)
        counts = [sum(1 for _ in differences({"": row}, {"": one}, skipped)) for one in answers]
        found.append(answers[counts.index(min(counts))])
    decided = {k: entry["p_adjusted"] for k, entry in enumerate(found) if entry["verdict"] not in UNDECIDED}
    for k, p in holm(decided).items():
        low, high, margin = (found[k][name] for name in ("gap_low", "gap_high", "margin"))
        found[k] |= {"p_adjusted": p, "verdict": verdict_by_margin(p, low, high, margin)}
    return {"metrics": found}, []
