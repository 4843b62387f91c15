"""SVG elements written by hand, where a chart library does not do it.

Rows of the verdict table stretch with the table: their coordinates are percentages. Cards of the gallery are images
with boxes over them. Every other figure of the page is drawn by matplotlib (figures.py).
"""

from __future__ import annotations

from markupsafe import Markup, escape


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
