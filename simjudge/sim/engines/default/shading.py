"""How surfaces reflect light, as plain functions of cosines. They take NumPy arrays and Mitsuba's alike.

The metallic-roughness convention: a mix of a metal, whose reflectance is its colour, and a dielectric of reflectance
0.04 above a diffuse base. The gloss is a Cook-Torrance lobe: the GGX distribution of Trowbridge and Reitz with Smith's
height-correlated shadowing and Schlick's Fresnel term (Walter et al., "Microfacet models for refraction through rough
surfaces", 2007; Heitz, "Understanding the masking-shadowing function", 2014). What the dielectric's gloss reflects
never reaches its base: the base is scaled by what is left on the way in and on the way out (Kelemen and
Szirmay-Kalos, 2001). What a rough metal's facets throw at one another comes out evenly in the same manner (Kulla and
Conty, "Revisiting physically based shading at Imageworks", 2017). Both are reciprocal, and white stays white in a
uniform light.

Every `xp` is the module that does the arithmetic: `numpy` or `drjit`.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

DIELECTRIC = 0.04  # Reflectance at normal incidence of what is no metal (refractive index 1.5)
SMOOTHEST = 0.02  # GGX alpha below which the gloss of a lamp does not shrink: it stands for the lamp's own size
TABLE = 64  # Cosines in a table of `gloss_table`
_SAMPLES = 1024
FULL = 0.9  # Part of a lamp's range up to which it falls off with 1/d^2 exactly


def lamp_window(xp: Any, ranges: Any) -> Any:
    """The factor that takes a lamp to nothing at a distance of one range: 1 up to FULL of it, then a smooth step."""
    t = xp.minimum(xp.maximum((ranges - FULL) * (1 / (1 - FULL)), 0.0), 1.0)
    return 1 - t * t * (3 - 2 * t)


def schlick(cosine: Any) -> Any:
    """Schlick's (1 - cosine)^5: the part of the way from a reflectance at normal incidence to 1."""
    m = 1 - cosine
    square = m * m
    return square * square * m


def gloss(xp: Any, alpha: Any, n_h: Any, n_l: Any, n_v: Any) -> Any:
    """D V = D G2 / (4 n_l n_v) of GGX and Smith, height-correlated, per steradian, from cosines with the half way."""
    a2 = alpha * alpha
    d = n_h * n_h * (a2 - 1) + 1
    smith = n_l * xp.sqrt(n_v * n_v * (1 - a2) + a2) + n_v * xp.sqrt(n_l * n_l * (1 - a2) + a2)
    return a2 / (d * d * smith) * (0.5 / math.pi)


def visible_normal(xp: Any, alpha: Any, n_v: Any, u1: Any, u2: Any) -> tuple[Any, Any, Any]:
    """A normal of GGX that a viewer sees, for two uniform numbers in 0..1: along the viewer's tangent, across, up.

    The viewer has the cosine n_v and lies in the plane of the tangent (Heitz, "Sampling the GGX distribution of visible
    normals", 2018).
    """
    x, z = alpha * xp.sqrt(xp.maximum(1 - n_v * n_v, 0.0)), n_v
    length = xp.sqrt(x * x + z * z)
    x, z = x / length, z / length
    r = xp.sqrt(u1)
    t1, t2 = r * xp.cos(2 * math.pi * u2), r * xp.sin(2 * math.pi * u2)
    s = (1 + z) / 2
    t2 = (1 - s) * xp.sqrt(xp.maximum(1 - t1 * t1, 0.0)) + s * t2
    t3 = xp.sqrt(xp.maximum(1 - t1 * t1 - t2 * t2, 0.0))
    # The basis: across, then (-z, 0, x), then the stretched viewer.
    along, across, up = alpha * (t3 * x - t2 * z), alpha * t1, xp.maximum(t2 * x + t3 * z, 1e-6)
    norm = xp.sqrt(along * along + across * across + up * up)
    return along / norm, across / norm, up / norm


@cache
def gloss_table(alpha: float) -> npt.NDArray[np.float32]:
    """What the gloss reflects of a uniform light, by the viewer's cosine: (TABLE, 2).

    Row i is for the cosine (i / (TABLE - 1))^2, more of them where much happens; 0 is taken as a thousandth. A surface
    of reflectance r at normal incidence reflects r * column 0 + column 1, in all directions together: the mean of
    Schlick's term times G2 / G1 over a fixed lattice of visible normals. Returns float32 (TABLE, 2).
    """
    n_v = np.maximum(np.linspace(0, 1, TABLE) ** 2, 1e-3)[:, None]
    k = np.arange(_SAMPLES)[None]
    along, _, up = visible_normal(np, alpha, n_v, (k + 0.5) / _SAMPLES, np.modf(k * 0.6180339887498949 + 0.5)[0])
    v_h = np.sqrt(1 - n_v**2) * along + n_v * up
    n_l = 2 * v_h * up - n_v
    lambda_v, lambda_l = (np.sqrt(1 + alpha**2 * (1 / c**2 - 1)) for c in (n_v, np.maximum(n_l, 1e-9)))
    weight = np.where(n_l > 0, (1 + lambda_v) / (lambda_v + lambda_l), 0)
    f = schlick(np.clip(v_h, 0, 1))
    return np.stack([(weight * (1 - f)).mean(1), (weight * f).mean(1)], 1).astype(np.float32)


def left_for_base(table: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """What a dielectric's gloss lets through to its base, by cosine (TABLE,): float32 (TABLE,), 0 to 1."""
    left: npt.NDArray[np.float32] = 1 - np.float32(DIELECTRIC) * table[:, 0] - table[:, 1]
    return left


def lost_between_facets(table: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """What a gloss of reflectance 1 does not send out at once, by cosine, float32 (TABLE,); never quite nothing."""
    lost: npt.NDArray[np.float32] = np.maximum(1 - table[:, 0] - table[:, 1], np.float32(1e-6))
    return lost


def again_and_again(colour: Any, lost: Any) -> Any:
    """What comes out of light that a metal's facets throw at one another, mean `lost` (Kulla and Conty)."""
    mean = colour * (20 / 21) + 1 / 21
    return mean * mean * (1 - lost) / (1 - mean * lost)


def hemisphere_mean(values: npt.NDArray[np.float32]) -> float:
    """The cosine-weighted mean over a hemisphere of a function that is linear between a table's rows: exact."""
    x = np.linspace(0, 1, len(values))
    low, high, a, b = x[:-1], x[1:], values[:-1].astype(np.float64), values[1:].astype(np.float64)
    slope = (b - a) / (high - low)
    # With mu = x^2: the integral of 4 x^3 (a + slope (x - low)) over each cell.
    return float(np.sum((a - slope * low) * (high**4 - low**4) + slope * 0.8 * (high**5 - low**5)))
