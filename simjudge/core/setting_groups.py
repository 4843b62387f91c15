"""What a person decides about reading any data set, declared once (see `simjudge.core.settings`)."""

from __future__ import annotations

from dataclasses import dataclass

from simjudge.core.settings import Settings, setting


@dataclass(frozen=True, kw_only=True)
class ReadSettings(Settings):
    """How data sets are read, whatever is done with them afterwards.

    Attributes:
        allow_outside: take pictures that lie outside of the data set's folder.
    """

    allow_outside: bool = setting(
        default=False,
        help="Take pictures that lie outside of the data set's folder, as a data set from elsewhere may name any file.",
    )
