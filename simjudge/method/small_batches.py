"""What draws lack in a batch of few units: for the compiled loops of the bootstrap, and for those of NumPy."""
# mypy: disallow-untyped-defs=False, disallow-incomplete-defs=False, disallow-untyped-calls=False

from __future__ import annotations

import math

import numpy as np
from numba.extending import register_jitable

_NOTHING = 1e-300
"""So that what does not vary is multiplied by 1."""
UNTOLD = -1.0
"""In place of W1 of a row of which one side is a single unit."""
NOISE_ALIKE, NOISE_UNLIKE, NOISE_MOST, SQUARE_UNLIKE = 0.5, 0.9, 0.25, 0.65
CHANCE_ALIKE, CHANCE_UNLIKE = 0.77, (0.06, 0.19)
"""What draws lack where a batch holds few units: of like and of unlike number on the two sides, see `shortfall`.

By simulation of 1 to 240 units a side (test/method/test_bootstrap.py).
"""


@register_jitable
def inflation(units):
    """What makes up for distribution functions that are taken from the batch itself."""
    return math.sqrt(units / (units - 1))


@register_jitable
def crossed_share(by_unit, by_block, by_both):
    """By what to multiply draws that carry units and blocks of time: what a sighting has by itself is in both.

    A variance is that by units, and by blocks, less that by what they have in common (Cameron, Gelbach and Miller, J.
    Bus. Econ. Stat. 29, 2011); and no less than the larger one of the two. All three may be arrays.
    """
    both = by_unit + by_block
    least = np.maximum(by_unit, by_block)
    return np.sqrt((np.maximum(both - by_both, least) + _NOTHING) / (both + _NOTHING))


@register_jitable
def unlike_numbers(units_a, units_b):
    """By how much sides of unlike numbers of units raise the relative variance of the noise's variance v.

    E sqrt(v) < sqrt(E v) is what draws lack that are taken from the batch itself. The relative variance of v is
    (V_a^2 / k_a + V_b^2 / k_b) / (V_a + V_b)^2 with V = 1 / k, the noise of each side; for as many units on both sides
    that is 1 / (k_a + k_b).
    """
    each = 1.0 / units_a, 1.0 / units_b
    return (each[0] ** 3 + each[1] ** 3) / (each[0] + each[1]) ** 2 - 1.0 / (units_a + units_b)


@register_jitable
def shortfall(units_a, units_b):
    """By what to multiply W* around the pooled distribution; W* with the noise within; and its square."""
    units, unlike = units_a + units_b, max(0.0, unlike_numbers(units_a, units_b))
    # One unit against one has 1.77 times the W1 of plain draws, two against two 1.25, six against six 1.07.
    chance = 1 + CHANCE_ALIKE / (units - 1) + min(unlike, CHANCE_UNLIKE[0] + CHANCE_UNLIKE[1] * unlike)
    noise = 1 + min(NOISE_MOST, NOISE_ALIKE / units + NOISE_UNLIKE * unlike)
    return chance, noise, 1 + SQUARE_UNLIKE * unlike
