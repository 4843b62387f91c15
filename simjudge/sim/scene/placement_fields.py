"""What may stand in a scene's file about many things at once: tables, paths, random places."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag, model_validator

from simjudge.core.documents import Fields
from simjudge.core.field_types import Choice, Flag, Label, Number, Text, Vector, Whole, conflict
from simjudge.sim.scene.scene_fields import (
    FARTHEST,
    Amount,
    Area,
    NotNegative,
    Point2,
    Positive,
    Reference,
    RowChange,
    RowKey,
)

MOST_PLACED = 5000
"""Things of one random placement, or of one side of a path."""
_LARGEST_TURN = 400.0
"""Degrees that one piece of a course turns."""


def _list_or_fields(value: Any) -> str:
    return "fields" if isinstance(value, dict) else "list"


class TableFields(Fields):
    """Measured things: rows `id colour x y`."""

    file: Annotated[str, Text("the path of a table")] | None = None
    """Relative to this file."""
    rows: Annotated[str, Text("rows `id colour x y`")] | None = None
    """In place of a file."""
    kinds: dict[Annotated[str, Label()], Annotated[str, Label()]]
    """The kind of each colour."""
    leave_out: Annotated[tuple[Annotated[tuple[str, ...], RowKey()], ...], Field(min_length=1)] | None = None
    """Rows to leave out: [id, colour], or an id alone."""
    correct: (
        Annotated[tuple[Annotated[tuple[str, str, float, float], RowChange()], ...], Field(min_length=1)] | None
    ) = None
    """Rows as they should be: [id, colour, x, y]."""
    at: Point2 = (0.0, 0.0)
    """The table's origin, metres."""
    yaw: Amount = 0.0
    """Degrees by which the table's x axis is turned to the left."""

    @model_validator(mode="after")
    def _check_source(self) -> TableFields:
        self.only("file", "rows", subject="a table")
        return self


class PieceFields(Fields):
    """A piece of a course: straight, or an arc."""

    straight: Positive | None = None
    """Metres."""
    left: Annotated[float, Number(ge=1e-3, le=_LARGEST_TURN)] | None = None
    """Degrees."""
    right: Annotated[float, Number(ge=1e-3, le=_LARGEST_TURN)] | None = None
    """Degrees."""
    radius: Positive | None = None
    """Metres, of an arc."""

    @model_validator(mode="after")
    def _check_piece(self) -> PieceFields:
        turned = self.only("straight", "left", "right", subject="a piece") != "straight"
        if turned and self.radius is None:
            raise conflict("a number above 0 is needed; nothing is given", "radius")
        if not turned and self.radius is not None:
            raise conflict("no such field of a straight piece", "radius")
        return self


class ArcsFields(Fields):
    """A line of straights and arcs."""

    start: Annotated[tuple[float, float, float], Vector("x y yaw", largest=FARTHEST)]
    """Metres and degrees."""
    pieces: Annotated[tuple[PieceFields, ...], Field(min_length=1)]
    """One after the other."""


class SineFields(Fields):
    """A line that swings about a straight one; it swings to the left first."""

    from_: Point2 = Field(alias="from")
    """Metres."""
    to: Point2
    """Metres."""
    amplitude: Amount
    """Metres."""
    periods: Positive
    """How often it swings."""


class LineFields(Fields):
    """A line to drive along."""

    waypoints: Annotated[tuple[Point2, ...], Field(min_length=1)] | None = None
    """Points [x, y], metres, that a smooth line goes through."""
    arcs: ArcsFields | None = None
    """Straights and arcs."""
    sine: SineFields | None = None
    """A sine."""
    closed: Annotated[bool, Flag()] = False
    """Whether the line comes back to its start: waypoints are joined, arcs must end where they began."""

    @model_validator(mode="after")
    def _check_line(self) -> LineFields:
        if self.only("waypoints", "arcs", "sine", subject="a path") == "sine" and self.closed:
            raise conflict("a sine does not come back to its start; take waypoints or arcs", "closed")
        return self


class PathFields(LineFields):
    """Things in rows to the left and right of a line."""

    width: Positive
    """Metres between the left and the right row."""
    spacing: Positive
    """Metres between the things of a row."""
    left: Reference | None = None
    """The kind to the left."""
    right: Reference | None = None
    """The kind to the right."""
    lead_in: NotNegative = 0.0
    """Metres at the start of the line without things."""
    lead_out: NotNegative = 0.0
    """Metres at the end of the line without things."""
    jitter: NotNegative = 0.0
    """Metres by which things are off their places at most; up to a quarter of the width."""
    facing: Annotated[Literal["any", "along"], Choice()] = "any"
    """How things are turned: by chance, or with their x axis along the line."""

    @model_validator(mode="after")
    def _check_jitter(self) -> PathFields:
        if self.jitter > self.width / 4:
            raise conflict(f"a number from 0 to {self.width / 4:g} is needed; this is {self.jitter:g}", "jitter")
        for name in ("lead_in", "lead_out"):
            if self.closed and getattr(self, name):
                raise conflict("a closed path has neither start nor end; remove one of the two", name)
        return self


class RandomFields(Fields):
    """Things at random places, apart from each other and from all that stands on the floor."""

    kinds: Annotated[
        Annotated[dict[Annotated[str, Label()], Annotated[int, Whole(0, MOST_PLACED)]], Tag("fields")]
        | Annotated[tuple[Annotated[str, Label()], ...], Field(min_length=1), Tag("list")],
        Discriminator(_list_or_fields),
    ]
    """Kinds, with the count of each, or a list of which as many of each as can be are taken."""
    count: Annotated[int, Whole(0, MOST_PLACED)] | None = None
    """How many, where kinds is a list."""
    area: Area | None = None
    """[x0, y0, x1, y1], metres; the scene's, if left out."""
    spacing: Positive
    """Metres between two things at least."""
    clear: NotNegative = 0.1
    """Metres that stay clear between a thing and what stands there already."""
    keep_out: Annotated[tuple[Area, ...], Field(min_length=1)] | None = None
    """Areas without things."""
    yaw: Amount | None = None
    """Degrees; random, if left out."""

    @model_validator(mode="after")
    def _check_count(self) -> RandomFields:
        if isinstance(self.kinds, dict) and self.count is not None:
            raise conflict("kinds has the counts; remove one of the two", "count")
        if not isinstance(self.kinds, dict) and self.count is None:
            raise conflict(f"{Whole(0, MOST_PLACED).needed} is needed; nothing is given", "count")
        return self


class PlacementFields(Fields):
    """Many things at once."""

    table: TableFields | None = None
    """Where somebody measured them."""
    path: PathFields | None = None
    """Along a line to drive along."""
    random: RandomFields | None = None
    """At random."""

    @model_validator(mode="after")
    def _check_placement(self) -> PlacementFields:
        self.only("table", "path", "random", subject="a placement")
        return self
