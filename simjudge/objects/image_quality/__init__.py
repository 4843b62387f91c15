"""Quality of whole pictures without a reference: PIQE with its maps, NIQE, BRISQUE, and histograms of colour.

The words of PIQE's scale are here, because pages need them without the loops that rate a picture.
"""

from __future__ import annotations

import math

PIQE_CLASSES = ((20, "excellent"), (35, "good"), (50, "fair"), (80, "poor"), (100, "bad"))
"""Words of the scale, each with the largest score that it is for."""


def piqe_class(score: float) -> str:
    """The word for a score: "excellent", "good", "fair", "poor" or "bad"."""
    if math.isnan(score):
        return ""
    return next((word for most, word in PIQE_CLASSES if math.floor(score + 0.5) <= most), PIQE_CLASSES[-1][1])
