"""Families of the second judge's metrics, in the order in which tables show them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

PLACES, SIZES, SIGHTS = "Places and motion", "Sizes", "Sights"
QUALITY, MOMENTS, RETURNS, OTHERS = "Picture quality", "Moments", "Returns", "Other metrics"
FAMILIES = (PLACES, SIZES, SIGHTS, QUALITY, MOMENTS, RETURNS, OTHERS)
"""All families, in order."""
_STARTS = {
    PLACES: ("centroid", "offset", "centre inside", "yaw"),
    SIZES: ("box", "region", "length", "width", "height"),
    SIGHTS: (
        "seen", "sight", "first sight", "last sight", "objects", "found", "false positives", "precision", "recall",
        "identity switches", "mota", "motp", "idf1", "pole matches", "clusters",
    ),
    QUALITY: ("piqe", "niqe", "brisque"),
    MOMENTS: ("hu ", "J1", "J2", "J3"),
    RETURNS: ("points", "intensity"),
}  # fmt: skip
"""What the names of a family's metrics begin with."""
Row = Mapping[str, Any]


def metric_family(metric: str) -> str:
    """The family of a metric.

    Args:
        metric: its name, as "box width".

    Returns:
        One of FAMILIES.
    """
    return next((family for family, starts in _STARTS.items() if metric.startswith(starts)), OTHERS)


def by_family(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """Put rows into families.

    Args:
        rows: of objects.json.

    Returns:
        The rows of each family that has some, families in order; rows of one family stay in theirs.
    """
    groups: dict[str, list[Row]] = {family: [] for family in FAMILIES}
    for row in rows:
        groups[metric_family(row["metric"])].append(row)
    return {family: members for family, members in groups.items() if members}
