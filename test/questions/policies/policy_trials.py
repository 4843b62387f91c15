"""Trials of policies made from counts, and the tables of seven publications."""

from __future__ import annotations

import csv

import numpy as np
from public_data import public_data

from simjudge.questions.policies.trials import PolicyTrials

csv.field_size_limit(10**9)


def counted(*cells):
    """Trials of (policy, task, real, successes, trials)."""
    rows = [(p, t, r, float(k < hits)) for p, t, r, hits, count in cells for k in range(count)]
    policy, task, real, outcome = map(np.array, zip(*rows, strict=True))
    return PolicyTrials.of_columns(policy, task, real.astype(bool), outcome)


def both(policy, task, real, sim):
    """Two cells of (successes, trials)."""
    return (policy, task, True, *real), (policy, task, False, *sim)


def published(name):
    """The path of a table of ../shared/data/robot_policies; the test is skipped where it is absent."""
    return public_data(f"robot_policies/{name}.csv")


def rows_of(name):
    with published(name).open(encoding="utf-8") as stream:
        return list(csv.DictReader(line for line in stream if not line.startswith("#")))
