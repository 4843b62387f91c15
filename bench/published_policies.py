"""Seven published tables of robot policies, judged: `python bench/published_policies.py FOLDER`, as CSV.

FOLDER holds the tables (`scripts/fetch_data.py` says where they come from). `--into bench/tables` writes what
docs/measurements/policies.md links to.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from simjudge.page.chart_data import DASH, format_number, format_p
from simjudge.questions.policies.run import compare_policies, read_policy_trials
from simjudge.questions.policies.trials import PolicyTrials
from simjudge.results.metric_rows import verdict_words

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Published:
    """A table, or the part of it under one condition.

    Attributes:
        said: the coefficients that its figure or table prints; "-" where it prints none over policies.
        only: a condition and its value; None for the whole table.
    """

    name: str
    table: str
    said: str
    only: tuple[str, str] | None = None


TABLES = (
    Published("SIMPLER, google robot", "simpler-decisions", "-", ("embodiment", "google_robot")),
    Published("SIMPLER, widowx", "simpler-decisions", "-", ("embodiment", "widowx")),
    Published("WM-PolicyEval, Cosmos", "wm-policyeval", "r 0.687", ("world_model", "Cosmos")),
    Published("WM-PolicyEval, IRASim", "wm-policyeval", "r 0.613", ("world_model", "IRASim")),
    Published("WorldGym", "worldgym-decisions", "-"),
    Published("MolmoSpaces, pick", "molmospaces", "r 0.96, rho 1.00", ("task", "pick")),
    Published("MolmoSpaces, open", "molmospaces", "r 0.85, rho 0.40", ("task", "open")),
    Published("MolmoSpaces, close", "molmospaces", "r 0.97, rho 1.00", ("task", "close")),
    Published("Real2Sim, toy packing", "real2sim-200-trials", "r 0.897", ("task", "toy_packing")),
    Published("Real2Sim, rope routing", "real2sim-200-trials", "r 0.918", ("task", "rope_routing")),
    Published("Real2Sim, T-block", "real2sim-200-trials", "r 0.950", ("task", "t_block")),
    Published("large behavior models, nominal", "lbm_seen_tasks", "-", ("Panel", "Nominal")),
    Published("large behavior models, shifted", "lbm_seen_tasks", "-", ("Panel", "DistShift")),
)


def part_of(trials: PolicyTrials, only: tuple[str, str] | None) -> PolicyTrials:
    """The trials under one condition."""
    if only is None:
        return trials
    names = trials.tasks if only[0] == "task" else trials.word_names[only[0]]
    rows = trials.task if only[0] == "task" else trials.words[only[0]]
    chosen = [number for number, name in enumerate(names) if only[1].lower() in name.lower()]
    return trials.take(np.isin(rows, chosen))


def number(value: float | None) -> str:
    """With three digits; a dash for none."""
    return DASH if value is None else format_number(value)


def ends(pair: Sequence[float] | None) -> str:
    """An interval, in brackets."""
    return "" if pair is None else f" ({format_number(pair[0])} to {format_number(pair[1])})"


def ranking_row(published: Published, row: Row) -> list[str]:
    """What the ranking is worth."""
    choice, kept = row["by_sim"], row["kept_without"]
    known = choice["expected_regret"] is not None
    lost = choice["expected_regret"] if known else choice["regret"]
    right = "right" if choice["regret"] == 0 else f"{choice['policy']}; robot: {row['by_real']['policy']}"
    return [
        published.name,
        published.said,
        str(len(row["policies"])),
        number(row["r"]["value"]) + ends(row["r"]["interval"]),
        DASH if row["r"]["p_value"] is None else format_p(row["r"]["p_value"]),
        format_p(row["least_p"]),
        number(row["r_without_noise"]),
        number(row["rho"]["value"]),
        number(row["mmrv"]["value"]),
        right,
        f"{100 * lost:.1f}",
        str(len(row["reversals"])),
        f"{sum(each['right'] for each in kept)} of {len(kept)}" if kept else DASH,
        str(row["verdict"]).replace("_", " "),
    ]


def gap_row(name: str, row: Row) -> list[str]:
    """What the rates are worth."""
    return [
        name,
        str(row["cells"]),
        f"{row['trials_real']} / {row['trials_sim']}",
        number(row["w1"]),
        number(row["permutation_floor"]),
        number(row["noise"]),
        number(row["gap"]) + ends((row["gap_low"], row["gap_high"])),
        format_p(row["p_adjusted"]),
        verdict_words(row["verdict"], row["margin"]),
    ]


def judged(folder: Path) -> dict[str, list[list[str]]]:
    """All tables by name, each with its heads first."""
    rankings, gaps, panels = [], [], list[list[str]]()
    for published in TABLES:
        trials = part_of(read_policy_trials(folder / f"{published.table}.csv"), published.only)
        content = compare_policies(trials).content
        if content["ranking"] is not None:
            rankings.append(ranking_row(published, content["ranking"]))
        if content["overall"]["gap"] is not None:
            gaps.append(gap_row(published.name, content["overall"]))
        if published.table == "lbm_seen_tasks":
            panels += [gap_row(f"{published.name}: {row['task']}", row) for row in content["by_task"]]
            panels += [gap_row(f"{published.name}: {row['policy']}", row) for row in content["by_policy"]]
    heads = ["table", "printed", "policies", "r (noise of the trials)", "p of r", "best p", "r without noise", "rho"]
    heads += ["MMRV", "the choice", "points lost", "reversals", "right without a task", "verdict"]
    of_gaps = ["table", "cells", "trials real / sim", "mean difference", "level of chance", "noise", "gap (95 %)"]
    of_gaps += ["p", "verdict"]
    return {"rankings": [heads, *rankings], "rates": [of_gaps, *gaps], "panels": [of_gaps, *panels]}


def main(arguments: list[str]) -> None:
    """Print the tables, or write each as a CSV file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--into", type=Path, help="Folder for policies_NAME.csv.")
    given = parser.parse_args(arguments)
    for name, rows in judged(given.folder).items():
        if given.into is None:
            print(name)
            csv.writer(sys.stdout).writerows(rows)
            continue
        with (given.into / f"policies_{name}.csv").open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows(rows)


if __name__ == "__main__":
    main(sys.argv[1:])
