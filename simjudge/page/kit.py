"""What pages are composed of: sections with tables, figures and galleries, in one template with one style sheet.

Text is escaped, markup is kept. matplotlib's SVG is a document of its own. In a page its style rule would hold for the
whole page, and its ids would occur twice. The colours of a figure become CSS variables, which follow light mode, dark
mode and print.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Generic, TypeVar
from xml.etree.ElementTree import Element, SubElement, tostring

import cv2
import numpy as np
from defusedxml.ElementTree import fromstring
from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template
from markupsafe import Markup, escape

from simjudge.core.errors import Log, SimjudgeError, UsageError
from simjudge.core.files import atomic_file, check_output
from simjudge.core.frames import FrameSet
from simjudge.core.images import RgbImage, encode_jpeg
from simjudge.core.installed import version
from simjudge.method.verdicts import Verdict
from simjudge.page.chart_data import DARK, LIGHT, Cell, css_variables
from simjudge.page.figures import Figures, ReportFigure, save_drawn
from simjudge.page.report_settings import HTML, Report, ReportSettings

_VARIABLES = {colour: f"var(--{name})" for name, colour in reversed(LIGHT.items())}
_COLOUR = re.compile(r"#[0-9a-f]{6}")
_LONG_NUMBER = re.compile(r"-?\d+\.\d{3,}")
_COORDINATES = ("d", "x", "y", "transform")
_KEPT = {"path": ("id",), "image": ("width", "height")}
"""Further attributes that an element needs, by its tag."""
_ROOT_STYLE = "stroke-linejoin:round;stroke-linecap:butt"
"""What matplotlib says in a style rule for all elements."""
_DROPPED = ("metadata", "style", "clipPath", "title")
"""A figure draws nothing outside its axes, so that its clip paths are not needed."""


class FigureEmbedder:
    """Embeds the figures of one page, each under a name of its own."""

    def __init__(self) -> None:
        """Begin a page."""
        self._count = 0

    def embed(self, figure: ReportFigure) -> Markup:
        """Write a figure as an SVG element of this page."""
        self._count += 1
        return inline_svg(figure, f"f{self._count}")


def inline_svg(figure: ReportFigure, name: str) -> Markup:
    """Write a figure as an SVG element of a page."""
    document = fromstring(figure.svg(salt=name))
    root = Element("svg", {"viewBox": document.attrib["viewBox"], "class": "chart", "role": "img"})
    root.attrib |= {"aria-label": figure.description, "style": _ROOT_STYLE}
    for child in document:
        root.extend(_cleaned(child, figure.tooltips))
    return Markup(tostring(root, encoding="unicode"))  # noqa: S704 - written by an XML writer


def _cleaned(node: Element, tooltips: dict[str, list[str]]) -> list[Element]:
    """Rewrite an element and what it holds; an element that says nothing gives way to what it holds."""
    tag = node.tag.rpartition("}")[2]
    name = node.attrib.get("id", "")
    if tag in _DROPPED or name == "patch_1" or _is_invisible(node):  # patch_1 is the figure's background
        return []
    children = list(chain.from_iterable(_cleaned(child, tooltips) for child in node))
    if name in tooltips:
        marks = list(_marks(children))
        for mark, text in zip(marks, tooltips[name], strict=True):
            SubElement(mark, "title").text = text
    attributes = dict(_attributes(node))
    if tag == "g" and not attributes:
        return children
    if tag == "defs" and not children:
        return []
    out = Element(tag, attributes)
    out.text = None if children else (node.text or "").strip() or None
    out.extend(children)
    return [out]


def _attributes(node: Element) -> Iterator[tuple[str, str]]:
    for given, value in node.attrib.items():
        key = given.rpartition("}")[2]
        if key == "style":
            style = [part.strip() for part in value.split(";") if not part.strip().startswith("font-family")]
            text = ";".join(style).replace(": ", ":")
            yield "style", _COLOUR.sub(lambda found: _VARIABLES.get(found[0], found[0]), text)
        elif key in _COORDINATES:
            if not value.startswith("rotate(-0 "):
                yield key, _LONG_NUMBER.sub(_shorter, " ".join(value.split()))
        elif key == "href" or key in _KEPT.get(node.tag.rpartition("}")[2], ()):
            yield key, value


def _shorter(found: re.Match[str]) -> str:
    return f"{float(found[0]):.2f}".rstrip("0").rstrip(".")


def _is_invisible(node: Element) -> bool:
    style = node.attrib.get("style", "")
    return node.tag.endswith("path") and style == "fill: none"


def _marks(elements: list[Element]) -> Iterator[Element]:
    """Yield what is drawn, in order: definitions are not."""
    for found in elements:
        if found.tag in ("path", "use"):
            yield found
        elif found.tag != "defs":
            yield from _marks(list(found))


_VOID = ("img", "br")
"""HTML's elements without an end."""


def element(name: str, *children: object, **attributes: object) -> Markup:
    """Write one element of a page or of a drawing in it."""
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(_attribute_text(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    end = "" if name in _VOID else f"</{name}>"
    return Markup(f"<{name}{written}>{''.join(escape(c) for c in children)}{end}")  # noqa: S704 - all escaped


def _attribute_text(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.2f}".rstrip("0").rstrip(".")
    return str(value)


_GENERATOR = b'<meta name="generator" content="simjudge report">'
"""Stands near the beginning of every page, so that an older page is known as one."""


def is_report(path: Path) -> bool:
    """Tell whether a file is a page that simjudge wrote."""
    with path.open("rb") as stream:
        return _GENERATOR in stream.read(8192)


def load_template(name: str) -> Template:
    """Load the template of a page."""
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals.update(
        version=version(),
        light=css_variables(LIGHT),
        dark=css_variables(DARK),
        verdict_colours=tuple(dict.fromkeys(verdict.colour for verdict in Verdict)),
    )
    return environment.get_template(name)


def write_page(path: Path, page: str) -> None:
    """Write a page; it appears whole or not at all."""
    with atomic_file(path) as temporary:
        temporary.write_text(page, encoding="utf-8")


_WIDEST, _JPEG_QUALITY = 420, 85


def frame_uris(sets: Sequence[FrameSet], count: int) -> list[list[str]]:
    """Pictures of several sets at the same shares of their frames, as data URIs; without shares that cannot be read."""
    rows = []
    for share in np.linspace(0.15, 0.85, count).tolist():
        try:
            rows.append([_frame_uri(frames, share) for frames in sets])
        except SimjudgeError:  # noqa: PERF203 - a picture that cannot be read
            continue
    return rows


def _frame_uri(frames: FrameSet, share: float) -> str:
    if frames.images is None:
        raise SimjudgeError(f"{frames.name}: has no pictures")
    return picture_uri(frames.images.read(int(share * (len(frames) - 1))))


def picture_uri(picture: RgbImage, widest_px: int = _WIDEST) -> str:
    """A picture as a data URI, made small."""
    return data_uri(encode_jpeg(shrunk(picture, widest_px), _JPEG_QUALITY), "jpeg")


def data_uri(data: bytes, kind: str) -> str:
    """An encoded picture, a "jpeg" or a "png", as part of a page."""
    return f"data:image/{kind};base64,{base64.b64encode(data).decode('ascii')}"


def shrunk(picture: RgbImage, widest_px: int) -> RgbImage:
    """A picture that is at most so wide."""
    height, width = picture.shape[:2]
    if width <= widest_px:
        return picture
    size = (widest_px, max(1, round(height * widest_px / width)))
    return np.asarray(cv2.resize(picture, size, interpolation=cv2.INTER_AREA), np.uint8)


Saved = TypeVar("Saved")


@dataclass(frozen=True)
class ResultPage(Generic[Saved]):
    """The page of a kind of result folder, with the files that may stand beside it."""

    noun: str  # what a folder is called, as in "one of objects"
    load: Callable[[Path], Saved]
    # makes the page of a result, of its folder and of the title that was asked for ("" for none)
    render: Callable[[Saved, Path, str], str]
    figures: Callable[[Saved], Figures]  # all figures of a result
    sentences: Callable[[Saved], list[str]]  # what a result says
    write_table: Callable[[Saved, Path], None] | None = None  # writes its table as CSV; None where there is none
    table_start: str = ""  # with which such a file begins
    tables: str = ""  # where its tables are, behind `noun` in a refusal

    def report(self, folder: Path, out: Path, settings: ReportSettings, log: Log) -> Report:
        """Write the page of a result folder; what cannot be done is refused before."""
        if settings.to != HTML:
            raise UsageError(f"--to {settings.to}: needs one folder of a comparison of one A and one B")
        pages_only = ("latex", "label") if self.write_table is not None else ("csv", "latex", "label")
        unused = [name for name in pages_only if getattr(settings, name) is not None]
        if unused:
            raise UsageError(f"--{unused[0]} is for results of compare and sweep; {folder} is {self.noun}{self.tables}")
        for path, is_own in ((out, is_report), (settings.csv, self._is_table)):
            if path is not None and check_output(path, is_own, overwrite=settings.overwrite):
                log(f"note: {path} is there already and will be replaced")
        if settings.figures is not None and not settings.overwrite:
            check_output(settings.figures)
        saved = self.load(folder)
        write_page(out, self.render(saved, folder, settings.title))
        if settings.csv is not None and self.write_table is not None:
            self.write_table(saved, settings.csv)
            log(f"wrote {settings.csv}")
        if settings.figures is not None:
            log(f"wrote {len(save_drawn(self.figures(saved), settings.figures))} files into {settings.figures}")
        return Report(out, self.sentences(saved))

    def _is_table(self, path: Path) -> bool:
        start = self.table_start.encode()
        with path.open("rb") as stream:
            return stream.read(len(start)) == start


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
