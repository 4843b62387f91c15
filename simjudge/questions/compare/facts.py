"""What is said beside the verdict: overlap, performance, balance, kinds of contexts, mistakes, what to do next."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from simjudge.method.balance import UNBALANCED
from simjudge.method.entry_numbers import Control
from simjudge.method.kinds import KindDifference, KindDifferences
from simjudge.method.verdicts import FEWEST_UNITS, Reason, Verdict
from simjudge.page.chart_data import NO_BREAK_SPACE, Cell, format_count, format_number, format_p, format_percent
from simjudge.questions.compare.overall_words import judged_words, measure_step, worst_measure
from simjudge.questions.compare.words import SMALL_OVERLAP, SetNames, blind_set
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
    """Write what the two overlaps mean."""
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
    """Read both overlaps together, in a word or two for a table."""
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
    """Write in which set the detector does better."""
    a, b = entry.numbers.mean_performance_a, entry.numbers.mean_performance_b
    if a is None or b is None:
        return ""
    means = f"{format_number(a, 2)} in {names.a} and {format_number(b, 2)} in {names.b}"
    which = "all contexts of the classes that both sets hold" if entry.key == OVERALL else "all contexts"
    if entry.own is not None:
        own = f"{entry.own.own_value(a):.3g} in {names.a} and {entry.own.own_value(b):.3g} in {names.b}"
        return f"Over {which}, mean {entry.own.name} is {own}, as shares of its range {means}."
    return f"Over {which}, the detector's mean performance is {means}."


def share_sentence(entry: ResultEntry, names: SetNames) -> str:
    """Write mean W1 as a share of the mean performance in A: 0.08 of 0.8 is 10 %."""
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
    "neighbours": ("in smaller crowds", "in larger crowds"),
    "covered share": ("less covered by other boxes", "more covered by other boxes"),
    "visible share": ("more hidden", "less hidden"),
    "log distance": ("nearer", "farther away"),
}
"""Covariate to what B's objects are where theirs is less, and where it is more."""


def balance_sentence(result: Result) -> str:
    """Write how unlike the objects of like contexts are."""
    unlike = sorted(_unlike_classes(result), key=lambda item: -abs(item[2]))
    if not unlike:
        return ""
    key, covariate, difference = unlike[0]
    names, balance = result.header.class_names, result.header.balance
    less, more = _OBJECTS.get(covariate, (f"of less {covariate}", f"of more {covariate}"))
    of_class = f" of class {names.get(key, key)}" if len(balance) > 1 else ""
    others = f"; {len(unlike) - 1} more classes are unlike too" if len(unlike) > 2 else ""
    others = "; another class is unlike too" if len(unlike) == 2 else others
    done = (
        "performance is adjusted to like objects"
        if balance[key].adjusted
        else "performance could not be adjusted to that, so W1 holds it too"
    )
    return (
        f"Within batches B's objects{of_class} are {less if difference > 0 else more} than A's "
        f"({format_number(abs(difference), 1)} standard deviations of {covariate}){others}: {done}."
    )


def _unlike_classes(result: Result) -> Iterator[tuple[str, str, float]]:
    """Class, covariate and difference (A less B) where it is above the limit or adjusted; the largest of each class."""
    for key, found in result.header.balance.items():
        largest = max(found.differences.items(), key=lambda item: abs(item[1]), default=None)
        if largest is not None and (abs(largest[1]) > UNBALANCED or found.adjusted):
            yield key, *largest


def control_sentence(result: Result) -> str:
    """Write what the judge says between halves of A, and between halves of B, where there is nothing to find."""
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
        few = "" if numbers.verdict_reason == Reason.FEW_UNITS else ", too few of them in like contexts"
        return f"is too little to be halved ({numbers.units_a:,} and {numbers.units_b:,} independent units{few})"
    return (
        f"shows a gap in {found.gaps} of {found.splits} splits into random halves (median "
        f"{format_number(numbers.gap)}, 95 %: up to {format_number(numbers.gap_high)})"
    )


def sequential_sentence(result: Result) -> str:
    """What live frames have shown, however often one looked; empty where that was not asked for."""
    said = next((one["sequential"] for one in result.content["inputs"].values() if one and "sequential" in one), None)
    if said is None:
        return ""
    if said["difference"] is None:
        return "No block of time was whole."
    verdict = {
        "gap": "the live frames differ from the reference",
        "predicts": "the live frames do not differ from the reference by the margin",
    }.get(said["verdict"], "nothing is certain yet")
    return (
        f"After {format_count(said['blocks'])} blocks of time {verdict}: mean performance live less reference "
        f"{format_number(said['difference'])}, within {format_number(said['low'])} to {format_number(said['high'])} at "
        "all looks together with an error of at most 5 %."
    )


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


CHECK_SET = (
    "Look at the pictures of {0} with its labels, and at its classes (simjudge doctor): if the detector knows them by "
    "other names, say so with --rename. Where both are right, the detector fails in {0}, and the verdict stands."
)
MOST_TIMES_MORE = 100.0
"""Beyond so many times more frames, no number is forecast."""


def next_step(result: Result) -> str:
    """Write what to do after the verdict over all classes together."""
    entry, names = result.overall, SetNames.of_result(result)
    if entry is None:
        return ""
    if blind := blind_set(entry):
        return CHECK_SET.format(blind)
    if (worst := worst_measure(result)) is not None:
        return measure_step(worst, entry, names)
    m, a, b = f"{entry.margin:g}", names.a, names.b
    if (kind := result.hidden_gap) is not None:
        return (
            f"Do not use {b} for {kind.kind}: the report has pictures of such contexts from both sets. "
            f"{_ways_to_change(result)}Then compare again."
        )
    change = (
        f"{_largest_gap(result)}The report's kinds of contexts and galleries show where the two differ. "
        f"{_ways_to_change(result)}Then compare again."
    )
    return entry.verdict.follows.format(
        a=a,
        b=b,
        m=m,
        change=change,
        more=_more_frames(result, entry),
        few=_too_few(entry),
        overlap=_within_overlap(result, entry, names),
        judged=judged_words(result),
        cover=_ways_to_cover(result),
    )


def times_more_frames(entry: ResultEntry) -> float | None:
    """Forecast how many times as many units would tell a gap of the margin from none.

    Intervals and the smallest gap that is shown shrink with the square root of the number of independent units. The
    larger of both must come down to the margin: the gap that would have been shown in 80 of 100 cases, and the upper
    end of the interval.
    """
    high, shown = entry.numbers.gap_high, entry.numbers.detectable_gap
    if high is None or shown is None or entry.margin <= 0:
        return None
    return max(1.0, (max(high, shown) / entry.margin) ** 2)


def _more_frames(result: Result, entry: ResultEntry) -> str:
    factor, m = times_more_frames(entry), f"{entry.margin:g}"
    asked = result.header.parameters
    pairs = " Where both sets show the same places, simjudge plan --paired says whether pairs need fewer."
    pairs = "" if asked.paired or not asked.compares_boxes else pairs
    if factor is None:
        return f"Record more frames.{pairs}"
    if factor > MOST_TIMES_MORE:
        return f"These frames are far too few: more than {MOST_TIMES_MORE:.0f} times as many would be needed.{pairs}"
    counts = [_round_up(factor * count) for count in (entry.numbers.units_a, entry.numbers.units_b)]
    times = f"{factor:.1f}" if factor < 3 else f"{factor:.0f}"
    return (
        f"About {times} times as many independent units ({counts[0]:,} of A and {counts[1]:,} of B) would tell "
        f"whether the difference reaches {m}.{pairs}"
    )


def _ways_to_change(result: Result) -> str:
    if result.header.parameters.compares_boxes:
        return (
            "simjudge explain says which part of the camera causes it, and simjudge fit looks for a camera that closes "
            "it. "
        )
    return "Change there what the simulation shows otherwise. "


def _ways_to_cover(result: Result) -> str:
    poses = ": simjudge cover searches the poses for that in a scene" if result.header.parameters.compares_boxes else ""
    sweep = "simjudge compare --sweep shows whether a lower --theta or a smaller --patch finds contexts in common"
    return f"{poses}. {sweep}"


def _round_up(count: float) -> int:
    """A forecast with two digits that mean something."""
    step: int = 10 ** max(0, math.floor(math.log10(max(count, 1))) - 1)
    return math.ceil(count / step) * step


def _largest_gap(result: Result) -> str:
    gaps = [e for e in result.classes if e.verdict.differs and e.numbers.gap is not None]
    if len(result.classes) < 2 or not gaps:
        return ""
    largest = max(gaps, key=lambda e: e.numbers.gap or 0.0)
    label = largest.label if largest.label.startswith("class ") else f"class {largest.label}"
    return f"Begin with {label}, whose gap is {format_number(largest.numbers.gap)}. "


def _within_overlap(result: Result, entry: ResultEntry, names: SetNames) -> str:
    share = entry.numbers.overlap_a
    if share is None or share >= SMALL_OVERLAP:
        return ", in contexts that it shows"
    only = f", but only in the {format_percent(share)} of contexts that it shows"
    if not result.header.parameters.compares_boxes:
        return only
    return f"{only}. For the others, simjudge cover makes pictures of a scene that look like the rest of {names.a}"


def _too_few(entry: ResultEntry) -> str:
    reason = entry.numbers.verdict_reason
    if reason == Reason.NEVER_PREDICTED:
        return Verdict.DETECTOR_FAILS.follows
    if reason == Reason.LONE_UNITS:
        return "Record more frames at like places, or compare at a lower --theta, so that more objects are alike."
    if reason == Reason.FEW_DRAWS:
        return "Compare again with more --draws, or a live run with a longer certainty_time."
    return (
        f"Record longer, at new places and of new things: {FEWEST_UNITS} independent units of each set are the least, "
        "and 50 are a good start."
    )


NOTHING = "none"
"""Key of result.json for an object on which no prediction landed, and for a prediction that landed on no object."""
MATRIX_CLASSES = 10
"""Up to how many classes the confusion is drawn as a matrix; of more classes the most frequent pairs are listed."""
LISTED_PAIRS = 30
"""How many pairs of unlike classes are listed where there are more classes."""
Counts = Mapping[str, Mapping[str, int]]


@dataclass(frozen=True)
class ConfusionCell:
    """How often predictions of one class landed on objects of another."""

    text: str  # the share of the objects of this class, or the count where there are no objects
    count: int
    share: float | None  # of the objects of this class, 0 to 1; None in the row of no object
    like: bool  # whether both classes are the same


@dataclass(frozen=True)
class ConfusionTable:
    """The confusion of classes in one set."""

    name: str
    heads: list[str]
    # class of the objects, how many there are, and a cell for each of `heads`. Empty with many classes.
    rows: list[tuple[str, str, list[ConfusionCell]]]
    # the most frequent pairs of unlike classes, with many classes: labelled, predicted, count, share
    pairs: list[list[Cell]]


@dataclass(frozen=True)
class KindTable:
    """Kinds of contexts."""

    sentence: str
    rows: list[list[Cell]]  # the cells of the table, in the order of its columns


@dataclass(frozen=True)
class WhereView:
    """Where two sets differ."""

    kinds: KindTable | None  # kinds of contexts; None where the result holds none
    invented: KindTable | None  # kinds of places, and the share of them that hold an invention; None without inventions
    confusion: list[ConfusionTable]  # one for A and one for B; empty where the result does not hold it


def where_view(result: Result, names: SetNames) -> WhereView:
    """Gather what the page shows; `names` are those of the sets."""
    counts = result.header.confusion
    labels = {entry.key: entry.label for entry in result.classes}
    labels |= result.header.class_names
    tables = [
        _confusion_table(name, counts[which], labels)
        for which, name in (("a", names.a), ("b", names.b))
        if which in counts
    ]
    kinds, invented = result.header.where, result.header.where_invented
    return WhereView(
        _kind_table(kinds, where_sentence(kinds)), _kind_table(invented, invented_sentence(invented)), tables
    )


def _kind_table(found: KindDifferences | None, sentence: str) -> KindTable | None:
    if found is None:
        return None
    return KindTable(sentence, [_cells(kind) for kind in (*found.kinds, found.everywhere)])


def _cells(kind: KindDifference) -> list[Cell]:
    low, high = format_number(kind.low), format_number(kind.high)
    return [
        Cell(kind.kind, kind.kind),
        Cell(format_number(kind.difference), kind.difference),
        Cell(f"{low} to {high}", kind.low),
        Cell(format_p(kind.p), kind.p),
        *(Cell(format_number(value), value) for value in (kind.performance_a, kind.performance_b)),
        Cell(format_count(kind.contexts), kind.contexts),
    ]


def _confusion_table(name: str, counts: Counts, labels: Mapping[str, str]) -> ConfusionTable:
    seen = {key for labelled, row in counts.items() for key in (labelled, *row)} - {NOTHING}
    classes = sorted(seen, key=int)
    if len(classes) > MATRIX_CLASSES:
        return ConfusionTable(name, [], [], _frequent_pairs(counts, labels))
    rows = []
    for labelled in [*classes, NOTHING]:
        row = counts.get(labelled, {})
        total = None if labelled == NOTHING else sum(row.values())
        cells = [_cell(row.get(key, 0), total, like=key == labelled) for key in classes]
        # On no object no prediction could have landed.
        cells += [_cell(row.get(NOTHING, 0), total, like=False)] if total is not None else []
        rows.append((labels.get(labelled, labelled) if total is not None else "no object", format_count(total), cells))
    return ConfusionTable(name, [*(labels.get(key, key) for key in classes), "missed"], rows, [])


def _cell(count: int, total: int | None, *, like: bool) -> ConfusionCell:
    if not total:
        return ConfusionCell(format_count(count) if total is None else format_percent(None), count, None, like)
    return ConfusionCell(format_percent(count / total), count, count / total, like)


def _frequent_pairs(counts: Counts, labels: Mapping[str, str]) -> list[list[Cell]]:
    pairs = [
        (count, labelled, predicted, count / sum(row.values()))
        for labelled, row in counts.items()
        for predicted, count in row.items()
        if NOTHING not in (labelled, predicted) and labelled != predicted
    ]
    pairs.sort(key=lambda pair: (-pair[0], pair[1:3]))
    out = []
    for count, labelled, predicted, share in pairs[:LISTED_PAIRS]:
        words = (Cell(text, text) for text in (labels.get(labelled, labelled), labels.get(predicted, predicted)))
        out.append([*words, Cell(format_count(count), count), Cell(format_percent(share), share)])
    return out
