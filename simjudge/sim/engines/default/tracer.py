"""What the integrator runs on: arithmetic on many rays at once, and the search for what they hit.

There are two: `mitsuba_tracer` (compiled for CPU or GPU) and `numpy_tracer` (slow, needs nothing that a machine may
lack). Both do the same arithmetic in float32, so that their pictures agree but for the last bits.

A *number* is one float for each ray; a *vector* has three or more of them, to be had by index; both take part in
arithmetic, a number with a vector too. A *mask* is a bool for each ray.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, TypeVar

from simjudge.core.arrays import FloatArray, IntArray
from simjudge.sim.engines.default.packed import Floats

Input = TypeVar("Input")
Output = TypeVar("Output")


class Hit(NamedTuple):
    """What rays hit first.

    Attributes:
        valid: mask: they hit something. The rest means nothing where they do not.
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
        xp: a module with sqrt, floor, minimum, maximum, abs, sin, cos, exp and log2.
        everywhere: the mask that is always true.
        wavefront: rays that are best followed at once.
        knows_open_ways: whether `blocked` is quicker where ways are known to be open.
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

    @property
    def knows_open_ways(self) -> bool:
        """See the class."""

    def close(self) -> None:
        """Give back what it holds."""

    def follow(self, work: Callable[[Input], Output], wavefronts: Sequence[Input]) -> list[Output]:
        """The results of work on each wavefront.

        Args:
            work: from one wavefront to its result.
            wavefronts: pieces of about `wavefront` rays.

        Returns:
            The results, in order.
        """

    def move(self, moved: Mapping[int, Floats], rotations: FloatArray, positions: FloatArray) -> None:
        """Put things elsewhere: new vertices (V, 3) in the world by index; where all things are, (T, 3, 3), (T, 3).

        Args:
            moved: float32 vertices (V, 3) in the world, by index of the thing.
            rotations: (T, 3, 3), thing to world, of all things.
            positions: (T, 3), metres, of all things.
        """

    def table(self, rows: Any) -> Any:
        """A float32 or int32 array (rows, width) for `row`.

        Args:
            rows: float32 or int32 (rows, width).

        Returns:
            The table, where the rays are followed.
        """

    def row(self, table: Any, index: Any, width: int, active: Any) -> Any:
        """A table's row for each ray, a vector.

        Args:
            table: of `table`.
            index: integer for each ray.
            width: columns of the table.
            active: mask; other rays get zeros.

        Returns:
            A vector of that width.
        """

    def given(self, columns: Floats) -> Any:
        """A vector from the host's array (N, 3), or (N, 2).

        Args:
            columns: float32 (N, 3) or (N, 2).

        Returns:
            The vector.
        """

    def same(self, values: Sequence[float]) -> Any:
        """The same numbers for all rays, to be had by index; no kernel is compiled for their values.

        Args:
            values: numbers.

        Returns:
            The vector.
        """

    def vector(self, numbers: Sequence[Any]) -> Any:
        """A vector of three numbers.

        Args:
            numbers: three numbers.

        Returns:
            The vector.
        """

    def dot(self, a: Any, b: Any) -> Any:
        """The product of two vectors of three.

        Args:
            a: vector.
            b: vector.

        Returns:
            Number.
        """

    def cross(self, a: Any, b: Any) -> Any:
        """The vector at right angles to two.

        Args:
            a: vector.
            b: vector.

        Returns:
            Vector, right-handed.
        """

    def angle(self, y: Any, x: Any) -> Any:
        """The angle of a point about the origin, from the x axis.

        Args:
            y, x: numbers.

        Returns:
            Number, -pi to pi.
        """

    def largest(self, vector: Any) -> Any:
        """The largest of a vector's numbers.

        Args:
            vector: of numbers.

        Returns:
            Number.
        """

    def select(self, mask: Any, yes: Any, no: Any) -> Any:
        """One or the other.

        Args:
            mask: of the choice.
            yes: number or vector where the mask is true.
            no: number or vector where it is not.

        Returns:
            Number or vector.
        """

    def whole(self, number: Any) -> Any:
        """The integer below a number.

        Args:
            number: of each ray.

        Returns:
            Integer.
        """

    def decimal(self, integer: Any) -> Any:
        """An integer as a number.

        Args:
            integer: of each ray.

        Returns:
            Number.
        """

    def hit(self, origin: Any, direction: Any, active: Any, *, together: bool = True) -> Hit:
        """What rays hit first; those that are not active hit nothing.

        Args:
            origin: vector, world, metres.
            direction: vector, unit, world.
            active: mask.
            together: neighbouring rays have nearly the same direction, as a camera's have, which suits a search in
                packets.

        Returns:
            What each ray hits.
        """

    def bit(self, integer: Any, number: Any) -> Any:
        """Whether a bit is set.

        Args:
            integer: of each ray, 0 or more.
            number: of the bit, from the lowest, 0 or more.

        Returns:
            The mask.
        """

    def blocked(
        self, origin: Any, direction: Any, distance: Any, active: Any, *, together: bool, open_way: Any = False
    ) -> Any:
        """Mask: something stands within the distance. Together: neighbouring rays go the same way, by and large.

        Args:
            origin: vector, world, metres.
            direction: vector, unit, world.
            distance: number, metres.
            active: mask; other rays are not blocked.
            together: neighbouring rays have nearly the same direction, which makes the search faster.
            open_way: mask: nothing that stands is in the way, as is known beforehand.

        Returns:
            The mask.
        """

    def hidden(self, origin: Any, direction: Any, distance: Any, active: Any) -> Any:
        """Mask: something that does not move all the time, and is not clear, lies nearer than a distance.

        Args:
            origin: world, metres.
            direction: unit, world.
            distance: metres.
            active: mask; other rays are not hidden.

        Returns:
            The mask.
        """

    def add_up(self, count: int, active: Any, term: Callable[[Any], Any], like: Any) -> Any:
        """The sum of the vectors term(0) + term(1) + ..., where active.

        Args:
            count: of the terms.
            active: mask.
            term: from an integer, 0 to count - 1, to a vector.
            like: a vector with the shape of the sum.

        Returns:
            The sum.
        """

    def where(self, mask: Any, work: Callable[[], Any]) -> Any:
        """What some work gives where a mask is true, else zeros; rays nearby of which none needs it do not wait for it.

        Args:
            mask: mask.
            work: gives a vector of three.

        Returns:
            The vector.
        """

    def places(self, order: IntArray) -> Any:
        """Places for `means` and `host`.

        Args:
            order: (N,), each number from 0 to N - 1 once: where the values of a ray, or of a block of rays, belong.

        Returns:
            The places, where the rays are followed.
        """

    def means(self, vector: Any, block: int, places: Any = None) -> Floats:
        """A vector (N, 3) on the host, averaged over each `block` in a row.

        Args:
            vector: of N rays.
            block: rays in a row that are averaged.
            places: where the blocks' means belong; None: they stay in the rays' order.

        Returns:
            Float32 (N / block, 3).
        """

    def host(self, *arrays: Any, places: Any = None) -> list[Any]:
        """Arrays on the host; vectors become (N, 3).

        Args:
            arrays: numbers or vectors, of N rays each.
            places: where the rays' values belong; None: they stay in the rays' order.
        """
