"""What every page is made of: its template with the colours of the style sheet, pictures and figures.

matplotlib's SVG is a document of its own. In a page its style rule would hold for the whole page, and its ids would
occur twice. The colours of a figure become CSS variables, which follow light mode, dark mode and print.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from xml.etree.ElementTree import Element, SubElement, tostring

import cv2
import numpy as np
from defusedxml.ElementTree import fromstring
from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template
from markupsafe import Markup, escape

from simjudge.core.errors import SimjudgeError
from simjudge.core.frames import FrameSet
from simjudge.core.images import RgbImage, encode_jpeg
from simjudge.page.figures import ReportFigure
from simjudge.page.palette import DARK, LIGHT, VERDICT_COLOURS, css_variables

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
    """Write a figure as an SVG element of a page.

    Args:
        name: a name that no other figure of the page has: it makes ids unique.
    """
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


def element(name: str, *children: str, **attributes: object) -> Markup:
    """Write one SVG element.

    Args:
        attributes: a trailing underscore is dropped (`class_`), the others become hyphens. None leaves one out.
    """
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(_attribute_text(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    return Markup(f"<{name}{written}>{''.join(escape(c) for c in children)}</{name}>")  # noqa: S704 - all escaped


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
    """Load the template of a page.

    Returns:
        The template. What it is given is escaped, and what it is not given is an error.
    """
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals.update(
        light=css_variables(LIGHT), dark=css_variables(DARK), verdict_colours=tuple(VERDICT_COLOURS.values())
    )
    return environment.get_template(name)


_WIDEST, _JPEG_QUALITY = 420, 85


def frame_uri(frames: FrameSet, share: float) -> str:
    """A picture of a set as a data URI, made small."""
    if frames.images is None:
        raise SimjudgeError(f"{frames.name}: has no pictures")
    return picture_uri(frames.images.read(int(share * (len(frames) - 1))))


def picture_uri(picture: RgbImage) -> str:
    """A picture as a data URI, made small.

    Args:
        picture: (H, W, 3), uint8 RGB.
    """
    height, width = picture.shape[:2]
    if width > _WIDEST:
        size = (_WIDEST, max(1, round(height * _WIDEST / width)))
        picture = np.asarray(cv2.resize(picture, size, interpolation=cv2.INTER_AREA), np.uint8)
    return "data:image/jpeg;base64," + base64.b64encode(encode_jpeg(picture, _JPEG_QUALITY)).decode("ascii")
