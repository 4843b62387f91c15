"""A metric over time: what every metric of objects, of whole pictures and of whole scans ends as."""

from __future__ import annotations

from dataclasses import dataclass

from simjudge.core.arrays import FloatArray
from simjudge.core.display import ShortRepr

WHOLE = ""
"""The subject of a metric of the whole picture or scan."""


@dataclass(frozen=True, eq=False, repr=False)
class Series(ShortRepr):
    """One metric of one subject in one recording or set.

    Attributes:
        metric: what is measured: "box width", "piqe", "points".
        unit: of the values: "px", "m", "px/s"; "" for none.
        subject: the object it is measured of: "barrier 3"; WHOLE for the whole picture or scan.
        time: float64 (N,), seconds, ascending; the stamps of the frames or scans.
        value: float64 (N,), NaN where the metric has no value, as where the object is not seen.
    """

    metric: str
    unit: str
    subject: str
    time: FloatArray
    value: FloatArray

    def __len__(self) -> int:
        """The number of frames or scans."""
        return len(self.time)
