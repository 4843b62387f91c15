"""Figures as elements of the page: with the colours and the font of the page, and with tooltips.

matplotlib's SVG is a document of its own. In a page its style rule would hold for the whole page, and its ids would
occur twice. The colours of a figure become CSS variables, which follow light mode, dark mode and print.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain
from xml.etree.ElementTree import Element, SubElement, tostring

from defusedxml.ElementTree import fromstring
from markupsafe import Markup, escape

from simjudge.page.palette import LIGHT
from simjudge.page.report_figure import ReportFigure

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
