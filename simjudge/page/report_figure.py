"""The matplotlib Figure of the report: its style, its tooltips, and files that are the same every time."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from simjudge.page.palette import LIGHT

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
_STYLE: dict[str, Any] = {
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
_SAVED: dict[str, Any] = {
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

    Attributes:
        description: one sentence that says what is drawn, for those who cannot see it.
        tooltips: id of an artist (`Artist.set_gid`) to the tooltips of its marks, in the order of drawing. The page
            shows them; files do not hold them.
    """

    def __init__(self, width: float, height: float, description: str = "") -> None:
        """Make an empty figure."""
        super().__init__(figsize=(width / POINTS_PER_INCH, height / POINTS_PER_INCH), dpi=SCREEN_DPI)
        self.description = description
        self.tooltips: dict[str, list[str]] = {}

    def add_tooltips(self, artist: Artist, texts: Sequence[str]) -> None:
        """Give the marks of an artist their tooltips.

        Args:
            texts: a text for each of its marks: one for a line, one for each point of a scatter.
        """
        name = f"tip{len(self.tooltips)}"
        artist.set_gid(name)
        self.tooltips[name] = list(texts)

    def savefig(self, fname: Any, *, salt: str = "simjudge", **options: Any) -> None:
        """Save the figure, with text as text (SVG) or with embedded fonts (PDF), and without the date.

        Args:
            fname: a file, by path or open for writing. The suffix says the format.
        """
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
    """Add axes at a fixed position: no layout engine, which would draw everything twice.

    Args:
        box: left, top, width and height in the figure, points from its upper left corner.
        margins: left, right, top and bottom, points, kept inside the box for numbers and names.
    """
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
    """Make a name fit to be drawn.

    Args:
        longest: cut longer texts to this many characters; 0 does not cut.

    Returns:
        The text without characters that XML cannot hold, on one line.
    """
    clean = " ".join(_NOT_IN_XML.sub("\ufffd", text).split())
    return clean if not longest or len(clean) <= longest else f"{clean[: longest - 1]}…"


Figures = Mapping[str, Callable[[], ReportFigure]]
"""Figures by name, not drawn yet. Drawing one raises `NothingToDrawError` where it has no data."""
