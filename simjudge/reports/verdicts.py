"""The two pictures of a verdict: W1 against its floor, and W1 against overlap (the paper's Fig. 2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from simjudge.reports.svg import Chart, nice_ticks, number_text, round_up, tag, title
from simjudge.reports.words import interval, number, p_text, percent
from simjudge.results.saved_result import OVERALL, Entry

PALETTE = ("blue", "orange", "green", "magenta", "yellow", "indigo", "teal", "red")
"""The style sheet's colours for things that are told apart by colour, as CSS classes c-blue, ... and c-ink."""
LABELLED = 14
"""Up to how many points carry their name in the picture."""
_LABEL_HEIGHT = 13.0
_NEAR = 60.0
_STRIP = 0.15
"""The share of the W1 axis kept free above and below for the corners' names."""


@dataclass(frozen=True)
class Point:
    """An entry, what to call it in a picture of several, the CSS class of its colour, and whether it is secondary."""

    entry: Entry
    label: str
    colour: str
    small: bool = False


def colours(labels: Sequence[str]) -> list[str]:
    """A colour each: what is called after a colour gets it, the others those not used, from the start when they end."""
    own = [next((w for w in label.lower().split() if w in PALETTE), None) for label in labels]
    free = [c for c in PALETTE if c not in own] or list(PALETTE)
    taken = 0
    out = []
    for named in own:
        out.append(f"c-{named or free[taken % len(free)]}")
        taken += named is None
    return out


def entry_colours(entries: Sequence[Entry]) -> list[str]:
    """Colours of the entries of one result: ink for all classes together."""
    given = iter(colours([e.label for e in entries if e.key != OVERALL]))
    return ["c-ink" if e.key == OVERALL else next(given) for e in entries]


def common_top(entries: Sequence[Entry]) -> float:
    """Where the W1 axis of forest plots ends: a round number above everything drawn."""
    values = [e.number(f) for e in entries for f in ("mean_w1", "w1_high", "floor_q95", "floor_mean")]
    return round_up(max((v for v in values if v), default=0.1) * 1.04)


def hover(entry: Entry, label: str) -> str:
    """An entry's numbers in a line, W1 with all that must stand beside it."""
    spread = f" [{interval(entry)}]" if interval(entry) else ""
    return (
        f"{label}: {entry.verdict}; mean W1 {number(entry.number('mean_w1'))}{spread}, floor "
        f"{number(entry.number('floor_mean'))} (95 % quantile {number(entry.number('floor_q95'))}), "
        f"p = {p_text(entry.number('p_value'))}; overlap O_A {percent(entry.number('overlap_a'))}, "
        f"O_B {percent(entry.number('overlap_b'))}"
    )


def forest_row(entry: Entry, top: float) -> Markup:
    """Observed mean W1 with its interval against what chance gives; stretches to any width."""
    parts = [tag("line", x1=_at(t, top), x2=_at(t, top), y1=0, y2=30, class_="grid") for t in nice_ticks(0, top)]
    floor, beyond, w1 = (entry.number(f) for f in ("floor_mean", "floor_q95", "mean_w1"))
    low, high = entry.number("w1_low"), entry.number("w1_high")
    if beyond is not None:
        parts.append(tag("rect", x=0, y=7, width=_at(beyond, top), height=16, class_="floor-band"))
    if floor is not None:
        parts.append(tag("line", x1=_at(floor, top), x2=_at(floor, top), y1=4, y2=26, class_="floor-line"))
    kind = entry.verdict.replace(" ", "-")
    if low is not None and high is not None:
        parts.append(tag("line", x1=_at(low, top), x2=_at(high, top), y1=15, y2=15, class_=f"spread v-{kind}"))
    if w1 is None:
        parts.append(tag("text", "undefined", x="1%", y=19, class_="tick"))
    else:
        parts.append(tag("circle", cx=_at(w1, top), cy=15, r=5, class_=f"observed v-{kind}"))
    return tag("svg", title(hover(entry, entry.label)), *parts, class_="forest", role="img", height=30)


def forest_axis(top: float) -> Markup:
    """The axis below forest rows."""
    parts = []
    for value in nice_ticks(0, top):
        anchor = "start" if value == 0 else ("end" if value > 0.97 * top else "middle")
        parts.append(tag("text", number_text(value), x=_at(value, top), y=12, class_="tick", text_anchor=anchor))
    return tag("svg", *parts, class_="forest", role="presentation", height=16)


def corners(points: Sequence[Point]) -> Markup:
    """W1 against overlap O_A, the four corners named; each point with its interval and the floor below it."""
    drawn = [p for p in points if p.entry.number("mean_w1") is not None]
    highest = max((max(p.entry.number("mean_w1") or 0, p.entry.number("w1_high") or 0) for p in drawn), default=0)
    top = 0.5 if highest <= 0.47 else 1.0
    chart = Chart(
        "Mean W1 against overlap O_A, one point a class; what each corner of the picture means is written there.",
        (0, 1), (-_STRIP * top, (1 + _STRIP) * top),
        "overlap O_A: share of A's contexts that B shows", "mean W1", 520, 400,
        x_ticks=[(v, percent(v)) for v in (0, 0.2, 0.4, 0.6, 0.8, 1)],
        y_ticks=[(v, number_text(v)) for v in nice_ticks(0, top)],
    )  # fmt: skip
    _name_corners(chart)
    for point in drawn:
        _draw(chart, point)
    named = [p for p in drawn if not p.small]
    if len(named) <= LABELLED:
        _label(chart, named)
    return chart.svg()


def _name_corners(chart: Chart) -> None:
    left, right = chart.left + 8, chart.width - chart.right - 8
    top, floor = chart.top + 16, chart.height - chart.bottom - 22
    for x, y, anchor, word, meaning in (
        (left, top, "start", "neither", "little is shown, and it misleads"),
        (right, top, "end", "shown, but the detector differs", "like contexts, unlike performance"),
        (left, floor, "start", "right, but little", "what is shown is right, much is missing"),
        (right, floor, "end", "B predicts A", "like contexts, like performance"),
    ):
        chart.text(x, y, word, "corner", anchor)
        chart.text(x, y + 14, meaning, "corner-small", anchor)


def _draw(chart: Chart, point: Point) -> None:
    entry, x = point.entry, point.entry.number("overlap_a") or 0.0
    colour, words = point.colour, hover(point.entry, point.label)
    low, high, floor = (entry.number(f) for f in ("w1_low", "w1_high", "floor_mean"))
    if low is not None and high is not None and not point.small:
        chart.line([x, x], [low, high], f"whisker {colour}", words)
    if floor is not None and not point.small:
        pixel, y = chart.x(x), chart.y(floor)
        chart.add(tag("line", title(words), x1=pixel - 7, x2=pixel + 7, y1=y, y2=y, class_="floor-line"))
    chart.dot(x, entry.number("mean_w1") or 0.0, f"point {colour}", words, 3.0 if point.small else 5.0)


def _label(chart: Chart, points: Sequence[Point]) -> None:
    """Names beside the points, pushed apart where they would lie over each other, with a hair line to the point."""
    spots = [(chart.x(p.entry.number("overlap_a") or 0.0), chart.y(p.entry.number("mean_w1") or 0.0)) for p in points]
    longest = max((len(p.label) for p in points), default=0)
    on_left = [x + 16 + 6.5 * len(p.label) > chart.width - chart.right for (x, _), p in zip(spots, points, strict=True)]
    for group in _groups([x + (-20.0 if left else 0.0) for (x, _), left in zip(spots, on_left, strict=True)]):
        left = any(on_left[n] for n in group)
        edge = min(spots[n][0] for n in group) - 18 if left else max(spots[n][0] for n in group) + 18
        edge = max(edge, 60.0 + 6.5 * longest) if left else edge
        order = sorted(group, key=lambda n: spots[n][1])
        room = chart.y(chart.y_range[1] / (1 + _STRIP)) + 8, chart.y(0.0)
        for n, y in zip(order, spread([spots[n][1] for n in order], _LABEL_HEIGHT, *room), strict=True):
            x, at = spots[n]
            chart.add(tag("line", x1=x, y1=at, x2=edge + (2 if left else -2), y2=y, class_="hair"))
            chart.text(edge, y + 4, points[n].label, "point-name", "end" if left else "start")


def spread(wanted: Sequence[float], apart: float, low: float, high: float) -> list[float]:
    """Places as near to the wanted ones (ascending) as can be while `apart` from each other, within low..high."""
    blocks: list[list[float]] = []  # what each block's first place should be, and how many places it holds
    for n, place in enumerate(wanted):
        blocks.append([place - n * apart, 1])
        while len(blocks) > 1 and blocks[-2][0] > blocks[-1][0]:
            (mean, size), (other, more) = blocks[-2:]
            blocks[-2:] = [[(mean * size + other * more) / (size + more), size + more]]
    firsts = [mean for mean, size in blocks for _ in range(int(size))]
    top = high - (len(wanted) - 1) * apart
    return [max(low, min(first, top)) + n * apart for n, first in enumerate(firsts)]


def _groups(places: Sequence[float]) -> list[list[int]]:
    """Numbers of places that lie near each other."""
    out: list[list[int]] = []
    last = -1e9
    for n in sorted(range(len(places)), key=lambda n: places[n]):
        if places[n] - last > _NEAR:
            out.append([])
        out[-1].append(n)
        last = places[n]
    return out


def _at(value: float, top: float) -> str:
    return f"{100 * value / top:.2f}%"
