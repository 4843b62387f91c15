"""Enumerations whose members are text: `enum.StrEnum`, which Python 3.10 lacks."""

from __future__ import annotations

import sys

if sys.version_info >= (3, 11):
    from enum import StrEnum
else:
    from enum import Enum

    class StrEnum(str, Enum):
        """As in the standard library of Python 3.11: a member prints as its value."""

        __str__ = str.__str__
        __format__ = str.__format__


__all__ = ["StrEnum"]
