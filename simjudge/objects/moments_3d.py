"""The three moment invariants of second order of points in space: they do not change with place and rotation.

Source: Sadjadi and Hall, "Three-dimensional moment invariants", IEEE Transactions on Pattern Analysis and Machine
Intelligence 2(2), 1980. Their moments are normalized by mu_000 alone here: a cloud is a set of samples, whose
number says how dense it is and not how large it is. So the invariants keep their sizes: m^2, m^4 and m^6.
"""

from __future__ import annotations

import numpy as np

from simjudge.core.arrays import FloatArray

UNITS = ("m^2", "m^4", "m^6")


def moment_invariants(points: FloatArray, weight: FloatArray | None = None) -> FloatArray:
    """Compute J1, J2 and J3 of a cloud.

    J1 = mu200 + mu020 + mu002; J2 = mu200 mu020 + mu200 mu002 + mu020 mu002 - mu110^2 - mu101^2 - mu011^2;
    J3 = mu200 mu020 mu002 + 2 mu110 mu101 mu011 - mu002 mu110^2 - mu020 mu101^2 - mu200 mu011^2, with
    mu_pqr = sum w (x - xm)^p (y - ym)^q (z - zm)^r / sum w.

    Args:
        points: float64 (N, 3), metres.
        weight: (N,), 0 or more, as intensities; None: all points weigh alike (binary).

    Returns:
        float64 (3,), in `UNITS`; NaN where there is no point, or no weight.
    """
    weights = np.ones(len(points)) if weight is None else np.asarray(weight, np.float64)
    total = float(weights.sum())
    if not total > 0:
        return np.full(3, np.nan)
    centred = points - weights @ points / total
    mu = (centred * weights[:, None]).T @ centred / total
    trace = float(np.trace(mu))
    minors = (trace**2 - float((mu * mu).sum())) / 2
    return np.array([trace, minors, float(np.linalg.det(mu))])
