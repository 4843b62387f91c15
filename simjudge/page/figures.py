"""The figures of all pages: their matplotlib style, names beside points, and files for papers with the numbers."""

from __future__ import annotations

import csv
import io
import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib as mpl
import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.collections import Collection, LineCollection, PathCollection, PolyCollection
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle, StepPatch

from simjudge.core.errors import SimjudgeError
from simjudge.core.files import atomic_file
from simjudge.page.chart_data import LIGHT, NothingToDrawError

POINTS_PER_INCH = 72.0
"""Sizes of figures are given in points. An SVG's user unit is a point."""
SCREEN_DPI = 110.0
"""Resolution of a figure that is saved as PNG or shown by a notebook as one, pixels per inch."""
TICK_SIZE = 11.0
"""Size of the numbers on axes, points."""
LABEL_SIZE = 12.0
"""Size of the names of axes, points."""
LINE_WIDTH = 2.0
"""Width of a line that shows data, points."""
_STYLE: dict[str, object] = {
    "font.family": ["DejaVu Sans"],
    "font.size": TICK_SIZE,
    "text.color": LIGHT["ink"],
    # A class may be called "$5": text is never read as mathematics.
    "text.parse_math": False,
    "figure.facecolor": LIGHT["panel"],
    "axes.facecolor": "none",
    "axes.spines.left": False,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.spines.bottom": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.labelcolor": LIGHT["ink"],
    "axes.labelsize": LABEL_SIZE,
    "axes.labelpad": 5.0,
    "axes.titlesize": LABEL_SIZE,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "grid.color": LIGHT["grid"],
    "grid.linewidth": 1.0,
    "grid.linestyle": "-",
    "xtick.bottom": False,
    "ytick.left": False,
    "xtick.color": LIGHT["soft"],
    "ytick.color": LIGHT["soft"],
    "xtick.labelsize": TICK_SIZE,
    "ytick.labelsize": TICK_SIZE,
    "lines.linewidth": LINE_WIDTH,
    "lines.dashed_pattern": [3.0, 2.0],
    "legend.frameon": False,
    "legend.fontsize": TICK_SIZE,
}
_SAVED: dict[str, object] = {
    # SVG keeps text as text: small, searchable, editable, and in the page's own font. PDF embeds its fonts as TrueType.
    "svg.fonttype": "none",
    "pdf.fonttype": 42,
}
_METADATA: dict[str, dict[str, str | None]] = {
    "svg": {"Date": None, "Creator": "simjudge"},
    "pdf": {"CreationDate": None, "Creator": "simjudge", "Producer": None},
}
_NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@contextmanager
def report_style() -> Iterator[None]:
    """Draw in the style of the report, whatever the user's matplotlib settings are."""
    with mpl.rc_context(_STYLE):
        yield


class ReportFigure(Figure):  # type: ignore[misc] # matplotlib has other types with every version
    """A figure of the report, made without pyplot: it needs no display and no closing.

    `description`: one sentence that says what is drawn, for those who cannot see it; `tooltips`: id of an artist
    (`Artist.set_gid`) to the tooltips of its marks, in the order of drawing. The page shows them; files do not hold
    them.
    """

    def __init__(self, width: float, height: float, description: str = "") -> None:
        """Make an empty figure."""
        super().__init__(figsize=(width / POINTS_PER_INCH, height / POINTS_PER_INCH), dpi=SCREEN_DPI)
        self.description = description
        self.tooltips: dict[str, list[str]] = {}

    def add_tooltips(self, artist: Artist, texts: Sequence[str]) -> None:
        """Give the marks of an artist their tooltips."""
        name = f"tip{len(self.tooltips)}"
        artist.set_gid(name)
        self.tooltips[name] = list(texts)

    def savefig(self, fname: Any, *, salt: str = "simjudge", **options: Any) -> None:
        """Save the figure, with text as text (SVG) or with embedded fonts (PDF), and without the date."""
        suffix = Path(fname).suffix[1:] if isinstance(fname, (str, Path)) else ""
        kind = str(options.get("format") or suffix or mpl.rcParams["savefig.format"]).lower()
        options.setdefault("metadata", _METADATA.get(kind))
        with mpl.rc_context({**_STYLE, **_SAVED, "svg.hashsalt": salt}), warnings.catch_warnings():
            # A name in a script that DejaVu lacks is still text in an SVG: the viewer draws it in a font that has it.
            warnings.filterwarnings("ignore", message=".*Glyph.*missing from font")
            super().savefig(fname, **options)

    def svg(self, salt: str = "simjudge") -> str:
        """Write the figure as SVG."""
        text = io.StringIO()
        self.savefig(text, format="svg", salt=salt)
        return text.getvalue()

    def _repr_svg_(self) -> str:
        return self.svg()


def add_axes(
    figure: ReportFigure,
    box: tuple[float, float, float, float],
    margins: tuple[float, float, float, float] = (64.0, 18.0, 12.0, 42.0),
) -> Axes:
    """Add axes at a fixed position: no layout engine, which would draw everything twice."""
    width, height = (side * POINTS_PER_INCH for side in figure.get_size_inches())
    left, right, top, bottom = margins
    x0, y0, x1, y1 = box[0] + left, box[1] + top, box[0] + box[2] - right, box[1] + box[3] - bottom
    return figure.add_axes((x0 / width, 1 - y1 / height, (x1 - x0) / width, (y1 - y0) / height))


def axes_size(axes: Axes) -> tuple[float, float]:
    """Measure axes."""
    figure = axes.figure
    width, height = (side * POINTS_PER_INCH for side in figure.get_size_inches())
    box = axes.get_position()
    return box.width * width, box.height * height


def plain_text(text: str, longest: int = 0) -> str:
    """Make a name fit to be drawn."""
    clean = " ".join(_NOT_IN_XML.sub("\ufffd", text).split())
    return clean if not longest or len(clean) <= longest else f"{clean[: longest - 1]}…"


Figures = Mapping[str, Callable[[], ReportFigure]]
"""Figures by name, not drawn yet. Drawing one raises `NothingToDrawError` where it has no data."""


LABEL_HEIGHT = 13.0
"""Distance of two names that stand below each other, points."""
NEAR = 60.0
"""Points of a figure that lie nearer than this, in points, get their names in one column."""
_DISTANCES = (18.0, 30.0, 45.0, 65.0, 90.0, 120.0, 150.0, 180.0, 220.0, 260.0)
"""How far a column of names may stand from its points, points; the nearest clear place is taken."""
_SHIFTS = tuple(sign * step * 12.0 for step in range(11) for sign in (1, -1))
"""How far a column may be moved up, points."""

Spot = tuple[float, float]
LabelBox = tuple[float, float, float, float]
"""Left, lower, right and upper edge, points."""


@dataclass(frozen=True)
class PlacedLabel:
    """Where a name stands."""

    x: float  # x, y: the end of the name that is nearer to its point, and the name's middle, points
    y: float
    on_left: bool  # whether the name is left of its point


def place_labels(
    spots: Sequence[Spot], widths: Sequence[float], marks: Sequence[LabelBox], room: LabelBox
) -> list[PlacedLabel]:
    """Place the names of points. Names of points near each other stand in a column."""
    out: dict[int, PlacedLabel] = {}
    taken = list(marks)
    for group in _near_groups([x for x, _ in spots]):
        order = sorted(group, key=lambda n: spots[n][1])
        best = min(
            _columns([spots[n] for n in order], [widths[n] for n in order], room),
            key=lambda column: _covered(column, [widths[n] for n in order], taken),
        )
        taken += [_rectangle(place, widths[n]) for n, place in zip(order, best, strict=True)]
        out |= dict(zip(order, best, strict=True))
    return [out[n] for n in range(len(spots))]


def spread_positions(wanted: Sequence[float], apart: float, low: float, high: float) -> list[float]:
    """Move positions apart, each as little as possible."""
    blocks: list[list[float]] = []  # what each block's first position should be, and how many positions it holds
    for n, position in enumerate(wanted):
        blocks.append([position - n * apart, 1])
        while len(blocks) > 1 and blocks[-2][0] > blocks[-1][0]:
            (mean, size), (other, more) = blocks[-2:]
            blocks[-2:] = [[(mean * size + other * more) / (size + more), size + more]]
    firsts = [mean for mean, size in blocks for _ in range(int(size))]
    top = high - (len(wanted) - 1) * apart
    return [max(low, min(first, top)) + n * apart for n, first in enumerate(firsts)]


def _columns(spots: Sequence[Spot], widths: Sequence[float], room: LabelBox) -> list[list[PlacedLabel]]:
    """The candidates for a column of names, the best first: near its points, and on the side where there is room."""
    lowest, highest, widest = min(x for x, _ in spots), max(x for x, _ in spots), max(widths)
    right_first = highest + _DISTANCES[0] + widest <= room[2]
    out = []
    for distance in _DISTANCES:
        for on_left in (not right_first, right_first):
            x = lowest - distance if on_left else highest + distance
            inside = x - widest >= room[0] if on_left else x + widest <= room[2]
            if not inside and (distance > _DISTANCES[0] or on_left == right_first):
                continue
            x = max(x, room[0] + widest) if on_left else x
            for shift in _SHIFTS:
                ys = spread_positions([y + shift for _, y in spots], LABEL_HEIGHT, room[1], room[3])
                out.append([PlacedLabel(x, y, on_left) for y in ys])
    return out


def _covered(column: Sequence[PlacedLabel], widths: Sequence[float], marks: Sequence[LabelBox]) -> int:
    rectangles = [_rectangle(place, width) for place, width in zip(column, widths, strict=True)]
    return sum(
        x0 < right and left < x1 and y0 < upper and lower < y1
        for x0, y0, x1, y1 in rectangles
        for left, lower, right, upper in marks
    )


def _rectangle(place: PlacedLabel, width: float) -> LabelBox:
    left = place.x - width if place.on_left else place.x
    return (left, place.y - LABEL_HEIGHT / 2, left + width, place.y + LABEL_HEIGHT / 2)


def _near_groups(positions: Sequence[float]) -> list[list[int]]:
    """Group the numbers of positions that lie near each other."""
    out: list[list[int]] = []
    last = -1e9
    for n in sorted(range(len(positions)), key=lambda n: positions[n]):
        if positions[n] - last > NEAR:
            out.append([])
        out[-1].append(n)
        last = positions[n]
    return out


KINDS = ("svg", "pdf", "png")
"""File formats of a figure."""
PNG_DPI = 300.0
"""Resolution of PNG files, pixels per inch of a figure at its own size."""


def file_name(text: str) -> str:
    """Replace what a file name should not hold."""
    return re.sub(r"[^A-Za-z0-9._-]+", "_", text).strip("._")[:60] or "result"


def save_drawn(figures: Figures, folder: Path) -> list[Path]:
    """Draw figures and save them (`save_figure`)."""
    written: list[Path] = []
    for name, draw in figures.items():
        try:
            figure = draw()
        except NothingToDrawError:
            continue
        written += save_figure(figure, folder / name)
    return written


def save_figure(figure: ReportFigure, path: Path) -> list[Path]:
    """Save a figure as SVG, as PDF and as PNG, and the numbers that it shows as CSV."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SimjudgeError(f"{path.parent}: cannot be made: {error.strerror}") from error
    written = [path.with_name(f"{path.name}.{kind}") for kind in KINDS]
    for kind, file in zip(KINDS, written, strict=True):
        with atomic_file(file) as temporary:
            figure.savefig(temporary, format=kind, dpi=PNG_DPI)
    numbers = path.with_name(f"{path.name}.csv")
    return [*written, numbers] if write_figure_data(figure, numbers) else written


class DrawnMark(NamedTuple):
    """One mark of a figure."""

    panel: int  # number of the axes that it is on, from 1 on
    x_axis: str
    y_axis: str
    series: str  # what the legend calls it; empty where it has no name there
    mark: str  # "line" (a vertex of one), "point", "interval", "bar" or "cell"
    x: float | None  # x, y: where it is; of intervals, bars and cells the lower end. None where a bar spans the axes.
    y: float | None
    x_end: float | None = None  # x_end, y_end: of intervals, bars and cells the upper end, else None
    y_end: float | None = None
    x_name: str = ""  # x_name, y_name: the name on the axis where it has names in place of numbers
    y_name: str = ""
    value: float | None = None  # what the colour of a cell says, else None
    text: str = ""  # what the page shows when the pointer is on it


def drawn_marks(figure: ReportFigure) -> list[DrawnMark]:
    """Read the marks of a figure."""
    return [mark for number, axes in enumerate(figure.axes, start=1) for mark in _Panel(figure, axes, number).marks()]


def write_figure_data(figure: ReportFigure, path: Path) -> bool:
    """Write the marks of a figure as CSV."""
    marks = drawn_marks(figure)
    if not marks:
        return False
    with atomic_file(path) as temporary, temporary.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(DrawnMark._fields)
        writer.writerows(["" if value is None else value for value in mark] for mark in marks)
    return True


class _Panel:
    """The axes of a figure, and how their marks become rows."""

    def __init__(self, figure: ReportFigure, axes: Axes, number: int) -> None:
        self.figure, self.axes = figure, axes
        self.start = (number, axes.get_xlabel(), axes.get_ylabel())
        self.names = [_tick_names(axis) for axis in (axes.xaxis, axes.yaxis)]

    def marks(self) -> Iterator[DrawnMark]:
        bars = {bar: container.get_label() for container in self.axes.containers for bar in container}
        for artist in self.axes.get_children():
            if isinstance(artist, Line2D):
                yield from self._line(artist)
            elif isinstance(artist, PathCollection):
                yield from self._points(artist)
            elif isinstance(artist, PolyCollection):
                yield from self._cells(artist)
            elif isinstance(artist, LineCollection):
                yield from self._intervals(artist)
            elif isinstance(artist, StepPatch):
                yield from self._steps(artist)
            elif isinstance(artist, Rectangle) and artist is not self.axes.patch:
                yield self._bar(artist, bars.get(artist, artist.get_label()))
            elif isinstance(artist, AxesImage):
                yield from self._image(artist)

    def _line(self, line: Line2D) -> Iterator[DrawnMark]:
        text = next(iter(self._tips(line)), "")
        for x, y in zip(*(np.ravel(part).tolist() for part in line.get_data()), strict=True):
            yield self._mark(line.get_label(), "line", x, y, text=text)

    def _points(self, dots: Collection) -> Iterator[DrawnMark]:
        offsets = np.asarray(dots.get_offsets(), np.float64).tolist()
        for (x, y), text in zip(offsets, _filled(self._tips(dots), len(offsets)), strict=True):
            yield self._mark(dots.get_label(), "point", x, y, text=text)

    def _cells(self, cells: PolyCollection) -> Iterator[DrawnMark]:
        values = cells.get_array()
        if values is None:  # a scale of colours
            return
        paths = cells.get_paths()
        for path, value, text in zip(paths, values.tolist(), _filled(self._tips(cells), len(paths)), strict=True):
            (x, y), (x_end, y_end) = path.vertices.min(axis=0).tolist(), path.vertices.max(axis=0).tolist()
            yield self._mark("", "cell", x, y, x_end=x_end, y_end=y_end, value=value, text=text)

    def _intervals(self, lines: LineCollection) -> Iterator[DrawnMark]:
        for (x, y), *_, (x_end, y_end) in (segment.tolist() for segment in lines.get_segments() if len(segment) > 1):
            yield self._mark(lines.get_label(), "interval", x, y, x_end=x_end, y_end=y_end)

    def _steps(self, steps: StepPatch) -> Iterator[DrawnMark]:
        values, edges, _ = steps.get_data()
        for value, (x, x_end) in zip(values.tolist(), pairwise(edges.tolist()), strict=True):
            yield self._mark(steps.get_label(), "bar", x, 0.0, x_end=x_end, y_end=value)

    def _bar(self, bar: Rectangle, label: Any) -> DrawnMark:
        (x, y), text = bar.get_xy(), next(iter(self._tips(bar)), "")
        x_end, y_end = x + bar.get_width(), y + bar.get_height()
        if bar.get_data_transform() != self.axes.transData:  # a band over the height or the width of the axes
            y, y_end = (None, None) if y_end - y == 1 else (y, y_end)
        return self._mark(label, "bar", x, y, x_end=x_end, y_end=y_end, text=text)

    def _image(self, image: AxesImage) -> Iterator[DrawnMark]:
        values = image.get_array()
        if values is None or values.ndim != 2:  # a picture
            return
        for (row, column), value in np.ndenumerate(np.ma.filled(values.astype(np.float64), np.nan)):
            if np.isfinite(value):
                yield self._mark("", "cell", column, row, x_end=column, y_end=row, value=float(value))

    def _mark(self, label: Any, mark: str, x: float | None, y: float | None, **more: Any) -> DrawnMark:
        series = str(label or "")
        x_name, y_name = (
            names.get(_middle(at, more.get(end)), "")
            for names, at, end in zip(self.names, (x, y), ("x_end", "y_end"), strict=True)
        )
        named = "" if series.startswith("_") else series
        return DrawnMark(*self.start, named, mark, x, y, x_name=x_name, y_name=y_name, **more)

    def _tips(self, artist: Any) -> Sequence[str]:
        return self.figure.tooltips.get(artist.get_gid() or "", [])


def _tick_names(axis: Any) -> dict[float | None, str]:
    """The names of an axis that has names in place of numbers, by where they are."""
    if not hasattr(axis.get_major_locator(), "locs"):
        return {}
    names = [get_ticklabel.get_text() for get_ticklabel in axis.get_ticklabels()]
    at = np.asarray(axis.get_ticklocs(), np.float64).round(6).tolist()
    return {} if all(_is_number(name) for name in names) else dict(zip(at, names, strict=False))


def _is_number(text: str) -> bool:
    try:
        float(text.replace("−", "-"))
    except ValueError:
        return not text
    return True


def _middle(low: float | None, high: float | None) -> float | None:
    return None if low is None else round(low if high is None else (low + high) / 2, 6)


def _filled(texts: Sequence[str], count: int) -> Sequence[str]:
    return texts if len(texts) == count else [""] * count
