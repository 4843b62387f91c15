"""Textures on a tracer: bilinear, between levels of half the size each."""

from __future__ import annotations

from typing import Any

from simjudge.sim.engines.default.packed import Floats, Integers
from simjudge.sim.engines.default.packed_textures import LEVEL, TEXEL
from simjudge.sim.engines.default.tracer import Tracer


class TextureLookup:
    """Textures one after another, each with its levels."""

    def __init__(self, tracer: Tracer, levels: Integers, texels: Floats, *, around: bool = False) -> None:
        """Bring them to where the tracer computes.

        Args:
            levels: int32 (M, 4): first texel, width, height, 0.
            texels: float32 (N, 4): red, green, blue, 0.
            around: they are panoramas, which end at their upper and lower edges; otherwise they repeat there too.
        """
        self._t, self._around = tracer, around
        self._levels, self._texels = tracer.table(levels), tracer.table(texels)

    def value(self, lookup: Any, u: Any, v: Any, texels: Any, valid: Any) -> Any:
        """Between the two levels whose texels are about as wide as the ray; white where there is no texture.

        Args:
            lookup: first level, levels (0: no texture), anything, texels per texture coordinate.

        Returns:
            Vector, linear RGB.
        """
        t = self._t
        textured = valid & (lookup[1] > 0)
        depth = t.xp.log2(t.xp.maximum(texels * t.decimal(lookup[3]), 1.0))
        last = t.xp.maximum(lookup[1] - 1, 0)
        level = t.xp.minimum(t.xp.maximum(t.whole(depth), 0), last)
        part = t.select(level < last, depth - t.decimal(level), 0.0)
        fine = self._bilinear(lookup[0] + level, u, v, textured)
        coarse = self._bilinear(lookup[0] + t.xp.minimum(level + 1, last), u, v, textured)
        return t.select(textured, fine + (coarse - fine) * part, 1.0)

    def finest(self, u: Any, v: Any) -> Any:
        """The first texture's first level.

        Returns:
            Vector, linear RGB.
        """
        return self._bilinear(0, u, v, self._t.everywhere)

    def _bilinear(self, level: Any, u: Any, v: Any, active: Any) -> Any:
        """One level of a texture; row 0 is at v = 1."""
        t = self._t
        begin, width, height, _ = t.row(self._levels, level, LEVEL, active)
        x = fraction(t.xp, u) * t.decimal(width) - 0.5
        y = (1 - (v if self._around else fraction(t.xp, v))) * t.decimal(height) - 0.5
        left, top = t.whole(x), t.whole(y)
        f, g = x - t.decimal(left), y - t.decimal(top)
        last, first = (height - 1, 0) if self._around else (0, height - 1)
        right, bottom = t.select(left + 1 >= width, 0, left + 1), t.select(top + 1 >= height, last, top + 1)
        left, top = t.select(left < 0, width - 1, left), t.select(top < 0, first, top)

        def texel(column: Any, row: Any) -> Any:
            at = t.row(self._texels, begin + row * width + column, TEXEL, active)
            return t.vector([at[0], at[1], at[2]])

        upper = texel(left, top) * (1 - f) + texel(right, top) * f
        return upper * (1 - g) + (texel(left, bottom) * (1 - f) + texel(right, bottom) * f) * g


def fraction(xp: Any, number: Any) -> Any:
    """What is left of a number above the integer below it."""
    return number - xp.floor(number)
