"""What the integrator runs on: arithmetic on many rays at once, and the search for what they hit.

There are two: `mitsuba_tracer` (compiled for CPU or GPU) and `numpy_tracer` (slow, needs nothing that a machine may
lack). Both do the same arithmetic in float32, so that their pictures agree but for the last bits.

A *number* is one float for each ray; a *vector* has three or more of them, to be had by index; both take part in
arithmetic, a number with a vector too. A *mask* is a bool for each ray.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, TypeVar

from simjudge.core.frames import FloatArray
from simjudge.engines.default.packed import Floats

Input = TypeVar("Input")
Output = TypeVar("Output")


class Hit(NamedTuple):
    """What rays hit first.

    Attributes:
        valid: mask: they hit something. The rest means nothing where they do not.
        distance: number.
        thing: index of the thing.
        face: row of the face among those of all things.
        b1, b2: numbers, the weights of the face's second and third corner at the point.
    """

    valid: Any
    distance: Any
    thing: Any
    face: Any
    b1: Any
    b2: Any


class Tracer(Protocol):
    """Arithmetic and rays.

    Attributes:
        xp: a module with sqrt, floor, minimum, maximum, abs, sin, cos and log2.
        everywhere: the mask that is always true.
        wavefront: rays that are best followed at once.
    """

    @property
    def xp(self) -> Any:
        """See the class."""

    @property
    def everywhere(self) -> Any:
        """See the class."""

    @property
    def wavefront(self) -> int:
        """See the class."""

    def close(self) -> None:
        """Give back what it holds."""

    def follow(self, work: Callable[[Input], Output], wavefronts: Sequence[Input]) -> list[Output]:
        """The results of work on each wavefront."""

    def move(self, moved: Mapping[int, Floats], rotations: FloatArray, positions: FloatArray) -> None:
        """Put things elsewhere: new vertices (V, 3) in the world by index; where all things are, (T, 3, 3), (T, 3)."""

    def table(self, rows: Any) -> Any:
        """A float32 or int32 array (rows, width) for `row`."""

    def row(self, table: Any, index: Any, width: int, active: Any) -> Any:
        """A table's row for each ray, a vector."""

    def given(self, columns: Floats) -> Any:
        """A vector from the host's array (N, 3), or (N, 2)."""

    def same(self, values: Sequence[float]) -> Any:
        """The same numbers for all rays, to be had by index; no kernel is compiled for their values."""

    def vector(self, numbers: Sequence[Any]) -> Any:
        """A vector of three numbers."""

    def dot(self, a: Any, b: Any) -> Any:
        """The product of two vectors of three."""

    def cross(self, a: Any, b: Any) -> Any:
        """The vector at right angles to two."""

    def largest(self, vector: Any) -> Any:
        """The largest of a vector's numbers."""

    def select(self, mask: Any, yes: Any, no: Any) -> Any:
        """One or the other."""

    def whole(self, number: Any) -> Any:
        """The integer below a number."""

    def decimal(self, integer: Any) -> Any:
        """An integer as a number."""

    def hit(self, origin: Any, way: Any, active: Any) -> Hit:
        """What rays hit first; those that are not active hit nothing."""

    def blocked(self, origin: Any, way: Any, distance: Any, active: Any, *, together: bool) -> Any:
        """Mask: something stands within the distance. Together: neighbouring rays go the same way, by and large."""

    def add_up(self, count: int, active: Any, term: Callable[[Any], Any], like: Any) -> Any:
        """The sum of the vectors term(0) + term(1) + ..., where active."""

    def means(self, vector: Any, block: int) -> Floats:
        """A vector (N, 3) on the host, averaged over each `block` in a row."""

    def host(self, *arrays: Any) -> list[Any]:
        """Arrays on the host; vectors become (N, 3)."""
