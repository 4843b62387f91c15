"""Who bumps into whom, in MuJoCo's bits, and how firmly."""

from __future__ import annotations

STATIC = 1
"""Bit of static things."""
FREE = 2
"""Bit of free things."""
BODY = 4
"""Bit of the car's body."""
TYRE = 8
"""Bit of the car's tyres, which the ground alone feels."""
WHEEL = 16
"""Bit of the car's wheels, which free things alone feel."""
GROUND = 32
"""Bit of ground that is not flat, which tyres feel by themselves (see `ground_contact`)."""
_OTHERS = {
    STATIC: FREE | BODY | TYRE,
    FREE: STATIC | FREE | BODY | WHEEL,
    BODY: STATIC | FREE,
    TYRE: STATIC,
    WHEEL: FREE,
    GROUND: FREE | BODY,
}
FIRM = (0.005, 1.0)
"""Time constant (s) and damping ratio of contacts: a thing sinks in by some 10 micrometres under its weight."""
THINGS = (0.6, 0.002, 0.0005)
"""Friction of things: sliding (no unit), and the lengths, metres, by which spinning and rolling are resisted."""
CAR = (0.3, 0.002, 0.0005)
"""Friction of the car's body, which is smooth."""


def collision_bits(kind: int) -> dict[str, int]:
    """What a geom of a kind collides with, as MuJoCo's attributes."""
    return {"contype": kind, "conaffinity": _OTHERS[kind]}
