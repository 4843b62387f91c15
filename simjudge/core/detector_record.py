"""Which detector made predictions: kept with them in every format, so that a comparison can name it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from simjudge.core.errors import SimjudgeError
from simjudge.core.text import one_line

DIGITS_SHOWN = 8
"""Digits of a detector's digest that people read."""


@dataclass(frozen=True)
class DetectorRecord:
    """A detector as it ran.

    Attributes:
        name: what it is called: the stem of its file.
        sha256: of its file, 64 hexadecimal digits; "" where it was no file.
        settings: what it ran with, such as imgsz and min_score.
    """

    name: str
    sha256: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        """The detector as people read it: "yolo11n (3f2a01bc, imgsz 640, min_score 0.05)"."""
        facts = [self.sha256[:DIGITS_SHOWN]] if self.sha256 else []
        facts += [f"{key} {_plain(value)}" for key, value in self.settings.items()]
        return f"{self.name} ({', '.join(facts)})" if facts else self.name

    def to_json(self) -> dict[str, Any]:
        """The record as JSON and result.json hold it."""
        return {"name": self.name, "sha256": self.sha256, "settings": dict(self.settings)}

    @classmethod
    def from_json(cls, content: Any, where: str) -> DetectorRecord:
        """Read a record.

        Args:
            where: names the place to a person: the file, and the field.
        """
        found = content if isinstance(content, dict) else {}
        name, sha256, settings = found.get("name"), found.get("sha256", ""), found.get("settings", {})
        if not isinstance(name, str) or not isinstance(sha256, str) or not isinstance(settings, dict):
            raise SimjudgeError(f"{where}: {one_line(content)} does not say which detector made the predictions")
        return cls(name, sha256, settings)


def _plain(value: Any) -> str:
    if isinstance(value, list | tuple):
        return "x".join(map(str, value))
    return f"{value:g}" if isinstance(value, float) else str(value)
