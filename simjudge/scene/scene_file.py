"""What may stand in a scene's file; docs/scenes.md explains it with examples.

A file is read in three steps: `file_content` takes over what it extends and draws what is random; the models here check
every field; `read` builds the scene from them, by way of `surfaces`, `forms`, `lights` and `placements`.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Discriminator, Field, Tag, model_validator

from simjudge.core.documents import Document, Fields
from simjudge.core.field_types import Choice, Label, Number, Numbers, Text, Whole, conflict
from simjudge.geometry.poses import Pose
from simjudge.scene.colour import temperature_to_linear
from simjudge.scene.model import Surface
from simjudge.scene.scene_fields import (
    FARTHEST,
    MOST_CLASSES,
    MOST_INSTANCES,
    Amount,
    Area,
    ClassType,
    Colour,
    Name,
    NotNegative,
    Point,
    Point2,
    Point3,
    Positive,
    Reference,
    RepeatType,
    RowChange,
    RowKey,
    Share,
)
from simjudge.scene.solid_meshes import SEGMENTS

SHAPES = ("mesh", "box", "cylinder", "cone", "plane", "parts")
"""The fields of which a thing has one, unless it is of a kind."""
_MOST_SEGMENTS = 256
"""Sides of what is round."""
_MOST_PLACED = 5000
"""Things of one random placement."""
_MOST_LAMPS = 64
"""Columns, and rows, of a grid of lamps."""
_COOLEST = 1667.0
"""Kelvin; the fit of `colour.temperature_to_linear` begins here."""
_HOTTEST = 25000.0
"""Kelvin; the fit of `colour.temperature_to_linear` ends here."""
_LARGEST_TURN = 400.0
"""Degrees that one piece of a course turns."""


def _text_or_fields(value: Any) -> str:
    return "text" if isinstance(value, str) else "fields"


def _number_or_fields(value: Any) -> str:
    return "fields" if isinstance(value, dict) else "number"


def _list_or_fields(value: Any) -> str:
    return "fields" if isinstance(value, dict) else "list"


class PoseFields(Fields):
    """Where something stands, and how it is turned: by angles or by a quaternion."""

    at: Point | None = None
    """[x, y, z] or [x, y], metres."""
    yaw: Amount | None = None
    """Degrees to the left."""
    pitch: Amount | None = None
    """Degrees nose down."""
    roll: Amount | None = None
    """Degrees to the right."""
    quaternion: Annotated[tuple[float, float, float, float], Numbers("x y z w", largest=FARTHEST)] | None = None
    """In place of the angles."""

    @model_validator(mode="after")
    def _check_pose(self) -> PoseFields:
        if self.quaternion is not None:
            both = [angle for angle in ("yaw", "pitch", "roll") if getattr(self, angle) is not None]
            if both:
                raise conflict("the quaternion says it; remove one of the two", both[0])
            if not abs(math.hypot(*self.quaternion) - 1) < 0.01:
                message = f"four numbers [x, y, z, w] of length 1 are needed; this is {list(self.quaternion)}"
                raise conflict(message, "quaternion")
        return self

    def pose(self) -> Pose:
        """The pose."""
        at = self.at or (0.0, 0.0, 0.0)
        if self.quaternion is not None:
            return Pose(at, self.quaternion)
        yaw, pitch, roll = (math.radians(angle or 0.0) for angle in (self.yaw, self.pitch, self.roll))
        return Pose.from_euler(*at, yaw=yaw, pitch=pitch, roll=roll)


class TintFields(Fields):
    """A tint of light: a colour, or a temperature."""

    colour: Colour | None = None
    """Tint (sRGB)."""
    temperature: Annotated[float, Number(ge=_COOLEST, le=_HOTTEST)] | None = None
    """Kelvin; the luminance is kept."""

    @model_validator(mode="after")
    def _check_tint(self) -> TintFields:
        if self.colour is not None and self.temperature is not None:
            raise conflict("the colour says it; remove one of the two", "temperature")
        return self

    def tinted(self, amount: float) -> tuple[float, float, float]:
        """Linear RGB of an amount of light.

        Args:
            amount: of white light.
        """
        tint = self.colour or (1.0, 1.0, 1.0)
        if self.temperature is not None:
            red, green, blue = temperature_to_linear(self.temperature).tolist()
            tint = (red, green, blue)
        return amount * tint[0], amount * tint[1], amount * tint[2]


class RadianceFields(TintFields):
    """Light that comes from everywhere."""

    radiance: NotNegative
    """1 is an image's full scale at gain 1."""


class TextureFields(Fields):
    """A texture from an image's file, or painted by a pattern of `simjudge.scene.textures` with its parameters."""

    model_config = ConfigDict(extra="allow")

    file: Annotated[str, Text("the path of an image")] | None = None
    """PNG or JPEG, relative to this file."""
    pattern: Annotated[str, Text("a pattern's name")] | None = None
    """A painted pattern; its parameters follow."""

    @model_validator(mode="after")
    def _check_source(self) -> TextureFields:
        self.only("file", "pattern", subject="a texture")
        if self.file is not None and self.parameters():
            raise conflict("no such field beside file", min(self.parameters()))
        return self

    def parameters(self) -> dict[str, Any]:
        """The parameters of the pattern."""
        return {str(name): value for name, value in (self.model_extra or {}).items()}


class SurfaceFields(Fields):
    """What a thing is made of."""

    colour: Colour | None = None
    """Albedo (sRGB); multiplies the texture."""
    texture: TextureFields | None = None
    """Plain colour, if left out."""
    repeat: Annotated[tuple[float, float], RepeatType()] | None = None
    """Metres (units of texture coordinates) after which the texture repeats: one number, or [across, up]."""
    roughness: Share = Surface.roughness
    """0 (mirror) to 1."""
    metallic: Share = Surface.metallic
    """0 to 1."""

    @model_validator(mode="after")
    def _check_repeat(self) -> SurfaceFields:
        if self.repeat is not None and self.texture is None:
            raise conflict("there is no texture that could repeat", "repeat")
        return self


class CylinderFields(Fields):
    """A closed cylinder on its base."""

    radius: Positive
    """Metres."""
    height: Positive
    """Metres."""
    segments: Annotated[int, Whole(3, _MOST_SEGMENTS)] = SEGMENTS
    """Sides."""


class ConeFields(CylinderFields):
    """A closed cone, or the frustum of one, on its base."""

    top: NotNegative = 0.0
    """Radius at the top, metres."""


class ShapeFields(Fields):
    """A shape and its surface."""

    mesh: Annotated[str, Text("the path of an OBJ file")] | None = None
    """An OBJ file, relative to this file."""
    box: Annotated[tuple[float, float, float], Numbers("x y z", gt=0, largest=FARTHEST)] | None = None
    """Metres; its origin is the middle of its base."""
    cylinder: CylinderFields | None = None
    """Its origin is the middle of its base."""
    cone: ConeFields | None = None
    """Its origin is the middle of its base."""
    plane: Annotated[tuple[float, float], Numbers("x y", gt=0, largest=FARTHEST)] | None = None
    """Metres; it faces +z."""
    parts: Annotated[tuple[PartFields, ...], Field(min_length=1)] | None = None
    """Further shapes, each in its place."""
    kind: Reference | None = None
    """A kind, whose fields are taken over."""
    surface: (
        Annotated[
            Annotated[Reference, Tag("text")] | Annotated[SurfaceFields, Tag("fields")], Discriminator(_text_or_fields)
        ]
        | None
    ) = None
    """The name of a surface, or its fields."""
    uv: Annotated[Literal["box"], Choice()] | None = None
    """Of a mesh: texture coordinates in metres, from the side of a box that each triangle faces."""


class PartFields(ShapeFields, PoseFields):
    """A part of a thing, in the thing's frame."""

    copies: Annotated[tuple[Point3, ...], Field(min_length=1)] | None = None
    """Where it stands, several times, on top of its own pose: [x, y, z] each."""


class KindFields(ShapeFields):
    """What a thing is, wherever it stands."""

    class_: Annotated[str | int, ClassType()] | None = Field(default=None, alias="class")
    """Name or number from `classes`; not labelled, if left out."""
    motion: Annotated[Literal["static", "free"], Choice()] = "static"
    """Static things never move; free ones obey physics."""
    mass: Positive | None = None
    """Kg, of free things."""
    collider: Annotated[Literal["none", "hull", "box", "plane"], Choice()] | None = None
    """The solid that stands for it in physics; the shape's own, if left out."""


class ThingFields(KindFields, PoseFields):
    """One thing, or several that are alike."""

    instance: Annotated[int, Whole(1, MOST_INSTANCES)] | None = None
    """Instance id in label images; the next free one, if left out."""
    copies: Annotated[tuple[PoseFields, ...], Field(min_length=1)] | None = None
    """Where it stands, several times."""

    @model_validator(mode="after")
    def _check_copies(self) -> ThingFields:
        own = [field for field in PoseFields.model_fields if getattr(self, field) is not None]
        if self.copies is not None and own:
            raise conflict("copies have poses of their own; remove one", own[0])
        return self


class GridFields(Fields):
    """Lamps in rows and columns."""

    columns: Annotated[int, Whole(1, _MOST_LAMPS)]
    """Lamps along x."""
    rows: Annotated[int, Whole(1, _MOST_LAMPS)]
    """Lamps along y."""
    from_: Point2 = Field(alias="from")
    """The first lamp's place, metres."""
    to: Point2
    """The last lamp's place, metres."""
    height: Positive
    """Metres."""


class LightFields(TintFields, PoseFields):
    """A lamp that shines equally in all directions, or a grid of them."""

    intensity: NotNegative
    """A surface that faces it at distance d gets irradiance intensity / d^2."""
    range: Positive
    """Metres beyond which it does not shine."""
    grid: GridFields | None = None
    """In place of `at`."""
    spread: Share = 0.0
    """Each lamp is up to this share brighter or darker."""
    fixture: Reference | None = None
    """A kind, its origin at the lamp."""

    @model_validator(mode="after")
    def _check_places(self) -> LightFields:
        self.only("at", "grid", subject="a light")
        if self.at is not None and self.at[2] <= 0:
            raise conflict(f"[x, y, z] with z above 0 is needed; this is {list(self.at)}", "at")
        return self


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

    start: Annotated[tuple[float, float, float], Numbers("x y yaw", largest=FARTHEST)]
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

    @model_validator(mode="after")
    def _check_line(self) -> LineFields:
        self.only("waypoints", "arcs", "sine", subject="a path")
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

    @model_validator(mode="after")
    def _check_jitter(self) -> PathFields:
        if self.jitter > self.width / 4:
            raise conflict(f"a number from 0 to {self.width / 4:g} is needed; this is {self.jitter:g}", "jitter")
        return self


class RandomFields(Fields):
    """Things at random places, apart from each other and from all that stands on the floor."""

    kinds: Annotated[
        Annotated[dict[Annotated[str, Label()], Annotated[int, Whole(0, _MOST_PLACED)]], Tag("fields")]
        | Annotated[tuple[Annotated[str, Label()], ...], Field(min_length=1), Tag("list")],
        Discriminator(_list_or_fields),
    ]
    """Kinds, with the count of each, or a list of which as many of each as can be are taken."""
    count: Annotated[int, Whole(0, _MOST_PLACED)] | None = None
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
            raise conflict(f"{Whole(0, _MOST_PLACED).needed} is needed; nothing is given", "count")
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


Radiance = Annotated[
    Annotated[NotNegative, Tag("number")] | Annotated[RadianceFields, Tag("fields")], Discriminator(_number_or_fields)
]


class SceneFile(Fields):
    """A scene: metres, degrees, sRGB colours, z up."""

    name: Annotated[str, Text()] | None = None
    """The file's own without its suffix, if left out."""
    classes: dict[Annotated[int, Whole(1, MOST_CLASSES)], Annotated[str, Text("a name")]] = Field(default_factory=dict)
    """Names of labelled classes by number."""
    surfaces: dict[Name, SurfaceFields] = Field(default_factory=dict)
    """Surfaces that things name."""
    kinds: dict[Name, KindFields] = Field(default_factory=dict)
    """Things without a place."""
    things: dict[Name, ThingFields] = Field(default_factory=dict)
    """Things in their places."""
    lights: dict[Name, LightFields] = Field(default_factory=dict)
    """Lamps."""
    ambient: Radiance = 0.0
    """Light that comes equally from everywhere, unshadowed."""
    background: Radiance = 0.0
    """What rays see that hit nothing."""
    placements: dict[Name, PlacementFields] = Field(default_factory=dict)
    """Many things at once."""
    area: Area | None = None
    """[x0, y0, x1, y1], metres: where random cameras and things may stand."""

    @model_validator(mode="after")
    def _check_classes(self) -> SceneFile:
        seen = set[str]()
        for number, name in self.classes.items():
            if name in seen:
                raise conflict(f"two classes are called {name}; rename one", "classes", str(number))
            seen.add(name)
        return self


SceneDocument = Document[SceneFile]
ShapeFields.model_rebuild()
KindFields.model_rebuild()
ThingFields.model_rebuild()
SceneFile.model_rebuild()
