"""Documents made from declared settings: a table for a page, a JSON schema for editors."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from simjudge.core.settings import Setting

_JSON_TYPES: dict[type, str] = {bool: "boolean", int: "integer", float: "number", str: "string", Path: "string"}


def markdown_table(rows: Iterable[Setting], head: str = "setting") -> str:
    """A documentation table, one row a setting."""
    lines = [f"| {head} | type | default | range | what it does |", "| --- | --- | --- | --- | --- |"]
    for row in rows:
        default = "must be given" if row.required else f"`{row.default_text}`" if row.default_text else ""
        cells = (f"`{row.name}`", row.type_text, default, row.range_text, row.help_text)
        lines.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |")
    return "\n".join(lines)


def json_schema(rows: Iterable[Setting], title: str) -> dict[str, Any]:
    """The JSON schema of an object that holds settings by name."""
    rows = tuple(rows)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": title,
        "type": "object",
        "properties": {row.name: _property(row) for row in rows},
        "required": [row.name for row in rows if row.required],
        "additionalProperties": False,
    }


def _property(row: Setting) -> dict[str, Any]:
    kind = "string" if row.form else _JSON_TYPES[row.kind]
    item: dict[str, Any] = {"type": kind}
    if row.allowed:
        item["enum"] = list(row.allowed)
    if row.low is not None:
        item["minimum"] = row.low
    if row.high is not None:
        item["maximum"] = row.high
    out = {"type": "array", "items": item} if row.many and not row.form else item
    if row.optional:
        # "enum" would refuse null even where "type" admits it.
        out = {"anyOf": [out, {"type": "null"}]}
    out["description"] = row.description
    if not row.required and row.default is not None:
        out["default"] = row.text(row.default) if row.form or row.kind is Path else row.default
    return out
