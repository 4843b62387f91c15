"""Small charts as inline SVG.

Colours are classes of the page's style sheet, so that the same chart is readable in light, in dark and on paper; what a
mark stands for is its hover title.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from markupsafe import Markup, escape


def tag(name: str, *children: str, **attributes: object) -> Markup:
    """One element. `class_` is written class, underscores become hyphens, None is left out, text is escaped."""
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(_plain(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    return Markup(f"<{name}{written}>{''.join(escape(c) for c in children)}</{name}>")  # noqa: S704 - all escaped


def title(text: str | None) -> Markup:
    """A hover title, nothing for None."""
    return tag("title", text) if text else Markup("")


def nice_ticks(low: float, high: float, count: int = 5) -> list[float]:
    """About `count` round numbers from `low` to `high`, both included where they are round."""
    if not high > low:
        return [low]
    rough = (high - low) / count
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(m * power for m in (1.0, 2.0, 2.5, 5.0, 10.0) if m * power >= rough * 0.999)
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [round(i * step, 12) + 0.0 for i in range(first, last + 1)]


def round_up(value: float) -> float:
    """The next of 1, 2, 2.5, 5 times a power of ten that is not below a positive value."""
    power = 10.0 ** math.floor(math.log10(value))
    return next(m * power for m in (1.0, 2.0, 2.5, 5.0, 10.0) if m * power >= value * (1 - 1e-9))


@dataclass(frozen=True)
class Scale:
    """A linear map from data (low, high) to pixels (start, end)."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        """The pixel of a value."""
        return self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)


@dataclass
class Chart:
    """A chart with two linear axes, `width` x `height` SVG units (pixels at full size).

    Attributes:
        x_range, y_range: what the axes span, in data.
        what: one sentence that says what is drawn, for those who cannot see it.
        x_ticks, y_ticks: (value, text) pairs; round numbers where None.
    """

    what: str
    x_range: tuple[float, float]
    y_range: tuple[float, float]
    x_label: str = ""
    y_label: str = ""
    width: int = 400
    height: int = 240
    x_ticks: Sequence[tuple[float, str]] | None = None
    y_ticks: Sequence[tuple[float, str]] | None = None
    parts: list[Markup] = field(default_factory=list)

    left = 54
    right = 18
    top = 12
    bottom = 42

    @property
    def x(self) -> Scale:
        """Data to pixels, to the right."""
        return Scale(*self.x_range, self.left, self.width - self.right)

    @property
    def y(self) -> Scale:
        """Data to pixels, upward."""
        return Scale(*self.y_range, self.height - self.bottom, self.top)

    def add(self, *parts: Markup) -> None:
        """Draw over what is there."""
        self.parts.extend(parts)

    def bar(self, x0: float, x1: float, y0: float, y1: float, css: str, hover: str | None = None) -> None:
        """A rectangle, corners in data."""
        left, right, top, bottom = self.x(x0), self.x(x1), self.y(y1), self.y(y0)
        size = {"width": max(right - left, 0.5), "height": max(bottom - top, 0.0)}
        self.add(tag("rect", title(hover), x=left, y=top, class_=css, **size))

    def line(self, xs: Sequence[float], ys: Sequence[float], css: str, hover: str | None = None) -> None:
        """A polyline through data points."""
        points = " ".join(f"{_plain(self.x(a))},{_plain(self.y(b))}" for a, b in zip(xs, ys, strict=True))
        self.add(tag("polyline", title(hover), points=points, class_=f"line {css}"))

    def dot(self, x: float, y: float, css: str, hover: str | None = None, radius: float = 3.5) -> None:
        """A round mark at a data point."""
        self.add(tag("circle", title(hover), cx=self.x(x), cy=self.y(y), r=radius, class_=css))

    def upright(self, x: float, css: str, hover: str | None = None) -> None:
        """A vertical line over the whole height."""
        low, high = self.y_range
        self.line([x, x], [low, high], css, hover)

    def text(self, x: float, y: float, words: str, css: str = "tick", anchor: str = "middle") -> None:
        """Words at a place in pixels."""
        self.add(tag("text", words, x=x, y=y, class_=css, text_anchor=anchor))

    def svg(self) -> Markup:
        """The whole chart."""
        return tag(
            "svg",
            *self._axes(),
            *self.parts,
            viewBox=f"0 0 {self.width} {self.height}",
            class_="chart",
            role="img",
            aria_label=self.what,
        )

    def _axes(self) -> list[Markup]:
        floor, wall = self.height - self.bottom, self.left
        out = []
        for value, words in self.x_ticks if self.x_ticks is not None else _labelled(*self.x_range):
            at = self.x(value)
            out.append(tag("line", x1=at, x2=at, y1=self.top, y2=floor, class_="grid"))
            out.append(tag("text", words, x=at, y=floor + 14, class_="tick", text_anchor="middle"))
        for value, words in self.y_ticks if self.y_ticks is not None else _labelled(*self.y_range):
            at = self.y(value)
            out.append(tag("line", x1=wall, x2=self.width - self.right, y1=at, y2=at, class_="grid"))
            out.append(tag("text", words, x=wall - 5, y=at + 4, class_="tick", text_anchor="end"))
        middle = (wall + self.width - self.right) / 2
        out.append(tag("text", self.x_label, x=middle, y=self.height - 8, class_="name", text_anchor="middle"))
        half = (self.top + floor) / 2
        turned = f"rotate(-90 12 {_plain(half)})"
        out.append(tag("text", self.y_label, x=12, y=half, class_="name", text_anchor="middle", transform=turned))
        return out


def number_text(value: float) -> str:
    """A number as short as it can be written: 0.25, 1, 1,500."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def _labelled(low: float, high: float) -> list[tuple[float, str]]:
    return [(v, number_text(v)) for v in nice_ticks(low, high)]


def _plain(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.2f}".rstrip("0").rstrip(".")
    return str(value)
