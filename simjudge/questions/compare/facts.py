"""What is said beside the verdict: overlap, performance, balance of objects, control, kinds of contexts."""

from __future__ import annotations

from collections.abc import Iterator

from simjudge.method.balance import UNBALANCED
from simjudge.method.entry_numbers import Control
from simjudge.method.kinds import KindDifference, KindDifferences
from simjudge.method.verdicts import Verdict
from simjudge.page.number_format import NO_BREAK_SPACE, format_count, format_number, format_p, format_percent
from simjudge.questions.compare.words import SetNames
from simjudge.results.context_table import OVERALL
from simjudge.results.saved_result import Result, ResultEntry

HIGH_OVERLAP = 0.5
"""An overlap from here on is called high."""
LITTLE_OVERLAP = 0.2
"""Below this O_A, the contexts that were compared are far fewer than the rest."""

_READINGS = {
    (True, True): ("B covers A", "Both overlaps are high: {b} covers what {a} shows."),
    (True, False): ("B shows much more", "O_A is high and O_B low: much of {b} has no counterpart in {a}."),
    (False, True): ("B is repetitive", "O_A is low and O_B high: {b} is repetitive and misses the variety of {a}."),
    (False, False): (
        "unlike",
        "Both overlaps are low: the sets show unlike contexts, and a detector trained on {b} may fail in {a}.",
    ),
}
"""Whether O_A and O_B are high to what this means, in short and as a sentence."""


def overlap_sentences(entry: ResultEntry, names: SetNames) -> list[str]:
    """Write what the two overlaps mean.

    Returns:
        A sentence for O_A, one for O_B, and where both are defined one that reads them together.
    """
    out = [_one_side(entry, "a", names.a, names.b), _one_side(entry, "b", names.b, names.a)]
    return [line for line in (*out, joint_overlap_sentence(entry, names)) if line]


def joint_overlap_sentence(entry: ResultEntry, names: SetNames) -> str:
    """Read both overlaps together: what B covers of A, and what it shows beside.

    Returns:
        A sentence or two; empty where an overlap is undefined.

    Source:
        arXiv 2208.01022, section IV: the four readings of O_A and O_B.
    """
    overlap_a, overlap_b = entry.numbers.overlap_a, entry.numbers.overlap_b
    if overlap_a is None or overlap_b is None or not entry.numbers.n_a or not entry.numbers.n_b:
        return ""
    reading = _READINGS[overlap_a >= HIGH_OVERLAP, overlap_b >= HIGH_OVERLAP][1].format(a=names.a, b=names.b)
    if 0 < overlap_a < LITTLE_OVERLAP:
        reading += f" W1 speaks for few contexts of {names.a} alone: little can be said about the rest."
    return reading


def overlap_reading(entry: ResultEntry) -> str:
    """Read both overlaps together, in a word or two for a table.

    Returns:
        Words; empty where an overlap is undefined.
    """
    overlap_a, overlap_b = entry.numbers.overlap_a, entry.numbers.overlap_b
    if overlap_a is None or overlap_b is None:
        return ""
    return _READINGS[overlap_a >= HIGH_OVERLAP, overlap_b >= HIGH_OVERLAP][0]


def _one_side(entry: ResultEntry, which: str, own: str, other: str) -> str:
    total, inside = (int(entry.numbers.number(f"{name}_{which}") or 0) for name in ("n", "n_overlap"))
    share = entry.numbers.number(f"overlap_{which}")
    if share is None or not total:
        return f"{own} has no contexts here, so its overlap is undefined."
    missing = f"{total - inside:,} {'has' if total - inside == 1 else 'have'}"
    counts = f"{format_percent(share)} of the contexts of {own} ({inside:,} of {total:,})"
    if which == "a":
        line = f"O_A: {other} shows {counts}"
        rest = f"; {missing} nothing similar there, and the W1 says nothing about them."
    else:
        line = f"O_B: {counts} occur in {other}"
        rest = f"; {missing} no counterpart there."
    return line + (rest if inside < total else ".")


def performance_sentences(entry: ResultEntry, names: SetNames) -> list[str]:
    """Write everything that is said of the detector's performance."""
    said = (performance_sentence(entry, names), share_sentence(entry, names), pointwise_sentence(entry, names.samples))
    return [line for line in said if line]


def performance_sentence(entry: ResultEntry, names: SetNames) -> str:
    """Write in which set the detector does better.

    Returns:
        A sentence; empty where a set has no contexts.
    """
    a, b = entry.numbers.mean_performance_a, entry.numbers.mean_performance_b
    if a is None or b is None:
        return ""
    means = f"{format_number(a, 2)} in {names.a} and {format_number(b, 2)} in {names.b}"
    which = "all contexts of the classes that both sets hold" if entry.key == OVERALL else "all contexts"
    return f"Over {which}, the detector's mean performance is {means}."


def share_sentence(entry: ResultEntry, names: SetNames) -> str:
    """Write mean W1 as a share of the mean performance in A: 0.08 of 0.8 is 10 %.

    Returns:
        A sentence; empty where there is no W1, or the mean performance is 0.
    """
    w1, share, mean = (entry.numbers.number(f) for f in ("mean_w1", "relative_w1", "mean_performance_a"))
    if w1 is None or share is None:
        return ""
    return (
        f"Mean W1 of {format_number(w1)} is {format_number(100 * share, 0)}{NO_BREAK_SPACE}% of the mean performance "
        f"in {names.a}, {format_number(mean)}."
    )


def pointwise_sentence(entry: ResultEntry, samples: str = "objects") -> str:
    """Write how far the two performances of the same object lie apart, in paired sets.

    Returns:
        A sentence; empty where sets were not compared as pairs, or no object is in both.

    Source:
        arXiv 2208.01022, the pointwise study: mean |perf(a_i) - perf(b_i)|.
    """
    difference, w1 = entry.numbers.pointwise_mean_difference, entry.numbers.mean_w1
    if difference is None:
        return ""
    pairs = entry.numbers.pointwise_pairs or 0
    beside = "" if w1 is None else f"; mean W1, which compares like contexts instead, is {format_number(w1)}"
    one = {"patches": "patch"}.get(samples, "object")
    shared = f"the one {one}" if pairs == 1 else f"the {pairs:,} {samples}"
    return (
        f"Pointwise: over {shared} that both sets show, performance differs by {format_number(difference)} on "
        f"average{beside}."
    )


_OBJECTS = {
    "log box area": ("smaller", "larger"),
    "log aspect": ("narrower", "wider"),
    "truncated": ("less often cut off by the image's edge", "more often cut off by the image's edge"),
    "visible share": ("more hidden", "less hidden"),
    "log distance": ("nearer", "farther away"),
}
"""Covariate to what B's objects are where theirs is less, and where it is more."""


def balance_sentence(result: Result) -> str:
    """Write how unlike the objects of like contexts are.

    Returns:
        A sentence about the class whose objects are most unlike; empty where all are alike.
    """
    unlike = sorted(_unlike_classes(result), key=lambda item: -abs(item[2]))
    if not unlike:
        return ""
    key, covariate, difference = unlike[0]
    names, balance = result.header.get("class_names") or {}, result.header["balance"]
    less, more = _OBJECTS.get(covariate, (f"of less {covariate}", f"of more {covariate}"))
    of_class = f" of class {names.get(key, key)}" if len(balance) > 1 else ""
    others = f"; {len(unlike) - 1} more classes are unlike too" if len(unlike) > 2 else ""
    others = "; another class is unlike too" if len(unlike) == 2 else others
    done = (
        "performance is adjusted to like objects"
        if balance[key]["adjusted"]
        else "performance could not be adjusted to that, so W1 holds it too"
    )
    return (
        f"Within batches B's objects{of_class} are {less if difference > 0 else more} than A's "
        f"({format_number(abs(difference), 1)} standard deviations of {covariate}){others}: {done}."
    )


def _unlike_classes(result: Result) -> Iterator[tuple[str, str, float]]:
    """Class, covariate and difference (A less B) where it is above the limit; the largest of each class."""
    for key, found in (result.header.get("balance") or {}).items():
        largest = max(found["differences"].items(), key=lambda item: abs(item[1]), default=None)
        if largest is not None and abs(largest[1]) > UNBALANCED:
            yield key, *largest


def control_sentence(result: Result) -> str:
    """Write what the judge says between halves of A, and between halves of B, where there is nothing to find.

    Returns:
        Sentences; empty where there is no control.
    """
    names = SetNames.of_result(result)
    called = {"a": names.a, "b": names.b}
    said = [f"{called[side]} against itself {_found(found)}" for side, found in result.control.items()]
    if not said:
        return ""
    suspect = [called[side] for side, found in result.control.items() if 2 * found.gaps > found.splits]
    alarm = (
        f" {' and '.join(suspect)} should not differ from {'itself' if len(suspect) == 1 else 'themselves'}: what is "
        "drawn independently is smaller than it seems (see --unit and --block), and p above is not to be trusted."
    )
    return f"{'; '.join(said)}.{alarm if suspect else ''}"


def _found(found: Control) -> str:
    numbers = found.entry
    if numbers.verdict == Verdict.NO_OVERLAP or numbers.gap is None:
        return "has nothing in common to compare"
    if numbers.verdict == Verdict.TOO_FEW:
        return f"is too little to be halved ({numbers.units_a:,} and {numbers.units_b:,} independent units)"
    return (
        f"shows a gap in {found.gaps} of {found.splits} splits into random halves (median "
        f"{format_number(numbers.gap)}, 95 %: up to {format_number(numbers.gap_high)})"
    )


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
