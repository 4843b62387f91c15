"""The verdicts of a comparison, as results and messages spell them, and the level of significance behind them."""

from __future__ import annotations

GAP = "gap"
NO_GAP = "no gap shown"
NO_OVERLAP = "no overlap"
NOT_TESTED = "not tested"
VERDICTS = (GAP, NO_GAP, NO_OVERLAP, NOT_TESTED)

SIGNIFICANCE = 0.05
"""Corrected p value up to which a difference counts as a gap."""
