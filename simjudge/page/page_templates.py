"""The templates of all pages, with the colours that their style sheet needs."""

from __future__ import annotations

from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template

from simjudge.page.palette import DARK, LIGHT, VERDICT_COLOURS, css_variables

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
