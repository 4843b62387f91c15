"""Where two sets differ, in a sentence: the kind of contexts that differs most."""

from __future__ import annotations

from simjudge.method.kinds import KindDifference, KindDifferences
from simjudge.page.number_format import NO_BREAK_SPACE, format_count, format_number, format_p, format_percent
from simjudge.results.saved_result import Result

WHERE, INVENTED = "where", "where_invented"
"""Fields of result.json."""


def saved_kinds(result: Result, field: str = WHERE) -> KindDifferences | None:
    """The kinds of contexts that a result holds; None where it has none, as results of earlier versions."""
    content = result.header.get(field)
    return None if content is None else KindDifferences.from_json(content)


def where_sentence(found: KindDifferences | None) -> str:
    """Name the kind of contexts that differs most; empty where none was tested."""
    if found is None or not found.tested:
        return ""
    if not found.outstanding:
        return f"No kind of context stands out, of {format_count(found.tested)} that were tested together."
    worst = found.outstanding[0]
    over = f"p = {format_p(worst.p)} over {format_count(found.tested)} kinds of contexts"
    return (
        f"Largest difference, B minus A: {worst.kind}: {difference_text(worst)}, {over}. Over all contexts: "
        f"{difference_text(found.everywhere)}."
    )


def invented_sentence(found: KindDifferences | None) -> str:
    """Name the kind of places where inventions differ most; empty where none was tested."""
    if found is None or not found.tested:
        return ""
    shares = f"{_shares(found.everywhere)} over all places"
    if not found.outstanding:
        return f"No kind of place stands out, of {format_count(found.tested)} that were tested together: {shares}."
    worst = found.outstanding[0]
    over = f"p = {format_p(worst.p)} over {format_count(found.tested)} kinds of places"
    return f"Largest difference: {worst.kind}: {_shares(worst)}, {over}; {shares}."


def _shares(kind: KindDifference) -> str:
    return f"an invention in {format_percent(kind.performance_a)} of A and {format_percent(kind.performance_b)} of B"


def difference_text(kind: KindDifference) -> str:
    """Such as "−0.212 (95 %: −0.271 to −0.153)"."""
    interval = f"{format_number(kind.low)} to {format_number(kind.high)}"
    return f"{format_number(kind.difference)} (95{NO_BREAK_SPACE}%: {interval})"
