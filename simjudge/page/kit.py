"""What pages are composed of: sections with tables, figures and galleries. Text is escaped, markup is kept."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from markupsafe import Markup

from simjudge.page.html import element, load_template
from simjudge.page.number_format import Cell

SOURCE = (
    "After Elmquist, Serban and Negrut, A performance contextualization approach to validating camera models for robot "
    "simulation, arXiv 2208.01022."
)
"""Where the method is from."""
LOST = "Lost from the input, and not in any number here:"
"""Heading of what was lost."""


def page(
    title: str,
    about: object,
    *content: object,
    losses: Sequence[str] = (),
    heading: str = LOST,
    width_px: int = 1240,
    tab: str = "",
) -> str:
    """Write a whole page: `about` above its title, `losses` above both, under `heading`; `tab`: the browser's title."""
    parts = (lost(losses, heading), *content)
    return load_template("page.html").render(title=title, tab=tab or title, about=about, parts=parts, width_px=width_px)


def lost(lines: Sequence[str], heading: str = LOST) -> Markup:
    """What was lost, where it cannot be overlooked."""
    return element("aside", bold(heading), bullets(lines), class_="lost") if lines else Markup()


def section(heading: object, *content: object, kind: str | None = None, when: object = True) -> Markup:
    """A part of a page with a heading; nothing unless `when`."""
    return element("section", element("h2", heading), *content, class_=kind) if when else Markup()


def hero(word: object, colour: str, lead: str, *content: object, kind: str = "word long") -> Markup:
    """The answer of a page: a word or two in the colour of the verdict, a sentence, and more."""
    said = element("div", paragraph(lead, kind="lead"), *content)
    return element("section", paragraph(word, kind=kind), said, class_=f"hero v-{colour}")


def table(
    heads: Sequence[object],
    rows: Iterable[Sequence[object] | str],
    *,
    words: Collection[int] = (0,),
    row_heads: bool = False,
    kind: str | None = "rows",
) -> Markup:
    """A table; a row that is a text is the heading of those below it, and columns of `words` stand on the left."""

    def row(cells: Sequence[object] | str, tag: str) -> Markup:
        if isinstance(cells, str):
            return element("tr", element("th", cells, colspan=len(heads)), class_="group")
        return element("tr", *(_cell(c, tag, n in words, row_heads and not n) for n, c in enumerate(cells)))

    head = element("thead", row(heads, "th")) if heads else ""
    body = element("tbody", *(row(cells, "td") for cells in rows))
    return element("div", element("table", head, body, class_=kind), class_="scroll")


def _cell(cell: object, tag: str, is_word: bool, is_head: bool) -> Markup:  # noqa: FBT001 - two facts of its column
    given = cell if isinstance(cell, Cell) else Cell("")
    shown = cell if given is not cell else chip(given.text, given.colour) if given.colour else given.text
    return element(
        "th" if is_head else tag,
        shown,
        class_="word" if is_word else None,
        scope="row" if is_head and tag == "td" else None,
        data_value=None if given.value == "" else "" if given.value is None else str(given.value),
        title=given.hover or None,
    )


def figure(drawing: object, *, heading: object = "", caption: object = "", width_px: int | None = None) -> Markup:
    """A drawing with what is said of it."""
    return element(
        "figure",
        element("h4", heading) if heading else "",
        drawing,
        element("figcaption", caption) if caption else "",
        style=None if width_px is None else f"max-width: {width_px}px",
    )


def gallery(pictures: Iterable[tuple[object, str]], kind: str = "") -> Markup:
    """Pictures in a row, each a caption and a data URI; `kind`: "small" or "large", "" for up to three in a row."""
    shown = (element("figure", element("figcaption", words), image(uri, words)) for words, uri in pictures)
    return element("div", *shown, class_=f"gallery {kind}".rstrip())


def image(uri: str, words: object, kind: str | None = None) -> Markup:
    """A picture, from its data URI, and what is on it."""
    return element("img", src=uri, alt=words, class_=kind)


def paragraph(*content: object, kind: str | None = None) -> Markup:
    """A paragraph."""
    return element("p", *content, class_=kind)


def note(*content: object) -> Markup:
    """A small paragraph that says how to read what stands beside it."""
    return paragraph(*content, kind="key")


def bullets(lines: Iterable[object]) -> Markup:
    """A list; nothing without lines."""
    items = [element("li", line) for line in lines]
    return element("ul", *items) if items else Markup()


def parameters(values: Mapping[str, object]) -> Markup:
    """Names and values in a line."""
    shown = (Markup(" ").join((element("b", name), str(value))) for name, value in values.items())
    return paragraph(*(Markup("{} ").format(element("span", value)) for value in shown), kind="parameters")


def folded(summary: object, *content: object, kind: str = "more", is_open: bool = False) -> Markup:
    """What shows after a click."""
    return element("details", element("summary", summary), *content, class_=kind, open="" if is_open else None)


def chip(text: object, colour: str) -> Markup:
    """A verdict in its colour."""
    return element("span", text, class_=f"chip v-{colour}")


def bold(text: object) -> Markup:
    """Words that stand out."""
    return element("b", text)


def line_swatch(kind: str) -> Markup:
    """A short line of the kind of a set, "stroke-a", "stroke-b" or "stroke-w1", or of a series, "c-COLOUR"."""
    line = element("line", class_=f"line {kind}", x1=0, x2=22, y1=5, y2=5)
    return element("svg", line, class_="swatch", width=22, height=10)


def box_swatch(kind: str, style: str | None = None) -> Markup:
    """A small box of a kind: "label", "predicted" or "patch"."""
    box = element("rect", class_=kind, style=style, x=2, y=2, width=16, height=10)
    return element("svg", box, class_="swatch", width=20, height=14)


def legend(swatch: object, words: object) -> Markup:
    """What a mark of a figure means."""
    return element("span", swatch, " ", words, class_="legend") + " "


def dot(colour: str) -> Markup:
    """A small square of a colour, #rrggbb."""
    return element("span", class_="dot", style=f"background: {colour}")
