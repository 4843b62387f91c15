"""What is said of a coverage search, in sentences."""

from __future__ import annotations

from simjudge.questions.cover.newly_covered import NewlyCovered
from simjudge.questions.cover.result import CoverResult
from simjudge.results.verdict_words import verdict_words


def cover_sentences(found: CoverResult) -> list[str]:
    """Say how much the pictures cover, beside random ones, and what stays uncovered."""
    before, after = float(found.curve.overlap[0]), float(found.curve.overlap[-1])
    lines = [
        f"O_A rises from {before:.3f} to {after:.3f} with {_pictures(found.count)}",
        f"with {_pictures(len(found.random.overlap) - 1)} at random, O_A would be {found.random.overlap[-1]:.3f}",
    ]
    if not found.count:
        lines = [f"O_A is {before:.3f}; no picture of this scene that was tried covers more"]
    elif found.same_labels == found.count:
        lines.append("every picture has exactly the labels that were predicted")
    else:
        lines.append(f"{found.count - found.same_labels} of {found.count} pictures have other labels than predicted")
    if found.newly_covered is not None:
        lines.append(_judged(found.newly_covered))
    lines += [f"{number} contexts stay uncovered: {reason}" for reason, number in found.reasons().items()]
    return lines


def _judged(newly: NewlyCovered) -> str:
    """W1 on the newly covered contexts, beside what chance gives."""
    sure = newly.certainty
    verdict = verdict_words(sure.verdict, sure.margin)
    if newly.mean_w1 is None or sure.noise is None:
        return f"W1 on the {newly.contexts} newly covered contexts cannot be told: {verdict}"
    gap = "" if sure.gap is None else f"the gap is {sure.gap:.3f} (95 %: {sure.gap_low:.3f} to {sure.gap_high:.3f}), "
    return (
        f"on the {newly.contexts} newly covered contexts {gap}W1 {newly.mean_w1:.3f}, by chance {sure.noise:.3f}: "
        f"{verdict}"
    )


def _pictures(count: int) -> str:
    return f"{count} new picture" + ("" if count == 1 else "s")
