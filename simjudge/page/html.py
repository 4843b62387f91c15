"""What every page is made of: its template with the colours of the style sheet, pictures and figures.

matplotlib's SVG is a document of its own. In a page its style rule would hold for the whole page, and its ids would
occur twice. The colours of a figure become CSS variables, which follow light mode, dark mode and print.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterator, Sequence
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

from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.core.files import atomic_file, check_output
from simjudge.core.frames import FrameSet
from simjudge.core.images import RgbImage, encode_jpeg
from simjudge.core.installed import version
from simjudge.core.progress import Log
from simjudge.page.figures import Figures, ReportFigure, save_drawn
from simjudge.page.palette import DARK, LIGHT, VERDICT_COLOURS, css_variables
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
        verdict_colours=tuple(VERDICT_COLOURS.values()),
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
            raise UsageError(f"--to {settings.to}: needs one folder that simjudge compare wrote")
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
