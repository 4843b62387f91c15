"""Results of many sets made by hand: every number of a comparison is known."""

from __future__ import annotations

import json
from itertools import permutations
from pathlib import Path

DOMAINS = {"lab": "real", "hall": "real", "lab_sim": "sim"}
NETS = ("Net_real", "Net_sim")


def made_number(a: str, b: str, net: str, key: str) -> float:
    """A W1 that tells which comparison it is of."""
    step = 0.1 * (DOMAINS[a] != DOMAINS[b]) * (1 + 2 * (net == "Net_sim"))
    return round(step + 0.01 * list(DOMAINS).index(a) + 0.003 * list(DOMAINS).index(b) + 0.001 * len(key), 6)


def made_entry(a: str, b: str, net: str, key: str, *, paired: bool) -> dict:
    w1 = made_number(a, b, net, key)
    gap = DOMAINS[a] != DOMAINS[b]
    entry = {
        "n_a": 10,
        "n_b": 12,
        "compared": 8,
        "n_overlap_a": 8,
        "n_overlap_b": 3,
        "overlap_a": 0.8,
        "overlap_b": 0.25,
        "mean_w1": w1,
        "relative_w1": w1 / 0.8,
        "mean_performance_a": 0.8,
        "mean_performance_b": 0.7,
        "noise": 0.02,
        "noise_q95": 0.03,
        "gap": max(0.0, w1 - 0.02),
        "gap_low": max(0.0, w1 - 0.03),
        "gap_high": w1,
        "p_value": 0.001 if gap else 0.4,
        "p_adjusted": 0.001 if gap else 0.4,
        "p_study": 0.01 if gap else 1.0,
        "margin": 0.05,
        "draws": 999,
        "units_a": 10,
        "units_b": 10,
        "verdict_reason": "",
        "detectable_gap": 0.06,
        "verdict": "large_gap" if gap else "cannot_tell",
        "verdict_study": "large_gap" if gap else "cannot_tell",
    }
    if a == "hall" and b == "lab_sim" and key == "2":
        entry |= dict.fromkeys(
            ("mean_w1", "relative_w1", "noise", "gap", "gap_low", "gap_high", "p_value", "detectable_gap")
        )
        entry |= {"p_adjusted": None, "p_study": None, "verdict": "no_overlap", "verdict_study": "no_overlap"}
        entry |= {"compared": 0, "overlap_a": 0.0, "n_overlap_a": 0, "overlap_b": 0.0, "n_overlap_b": 0}
    if paired:
        entry |= {"pointwise_pairs": 7, "pointwise_mean_difference": round(2 * w1, 6)}
    return entry


def write_many_sets(folder: Path, path: str = "") -> Path:
    """Write sets.json of three sets and two nets; the lab has a twin."""
    folder.mkdir(parents=True)
    comparisons = []
    for a, b in permutations(DOMAINS, 2):
        paired, kind = {a, b} == {"lab", "lab_sim"}, "-".join(sorted((DOMAINS[a], DOMAINS[b])))
        for net in NETS:
            numbers = {key: made_entry(a, b, net, key, paired=paired) for key in ("1", "2", "overall")}
            overall = numbers.pop("overall")
            comparisons.append(
                {"a": a, "b": b, "net": net, "kind": kind, "paired": paired, "by_class": numbers, "overall": overall}
            )
    nets = {
        net: {"path": path, "name": net, "frames": 3, "objects": 10, "predictions": 9, "mean_performance": 0.8}
        for net in NETS
    }
    content = {
        "version": "0.1.0",
        "parameters": {"theta": 0.8, "patch": [120, 120], "draws": 999},
        "sets": {name: {"domain": domain, "nets": nets} for name, domain in DOMAINS.items()},
        "class_names": {"1": "red", "2": "green"},
        "comparisons": comparisons,
        "losses": ["1 frame: <too> few"],
    }
    (folder / "sets.json").write_text(json.dumps(content), encoding="utf-8")
    return folder
