"""What may stand in a scene file, outdoors and many things at once included; see docs/reference/files_scene.md.

A file is read in three steps: `file_content` takes over what it extends and draws what is random; the models here check
every field; `read` builds the scene from them, by way of `forms`, `lights` and `placements`.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag, model_validator

from simjudge.core.documents import Document, Fields
from simjudge.core.field_types import Choice, Flag, Label, Number, Text, Vector, Whole, conflict
from simjudge.sim.scene.model import RAY_DEPTH
from simjudge.sim.scene.scene_fields import (
    FARTHEST,
    MOST_CLASSES,
    Amount,
    Area,
    ClassType,
    Colour,
    Name,
    NotNegative,
    Point2,
    Positive,
    Radiance,
    RadianceFields,
    Reference,
    RowChange,
    RowKey,
    Share,
    TintFields,
)
from simjudge.sim.scene.thing_fields import KindFields, PoseFields, SceneThingFields, SurfaceFields

MOST_PLACED = 5000  # Things of one random placement, or of one side of a path
_LARGEST_TURN = 400.0  # Degrees that one piece of a course turns


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


CONTRAST = 0.02  # Of black things before the horizon, at the distance that is called the visibility (Koschmieder, 1924)


class SunFields(TintFields):
    """Light from one direction."""

    irradiance: NotNegative
    """Of a surface that faces the sun; a white one has the radiance irradiance / pi."""
    azimuth: Amount | None = None
    """Degrees to the left of +x, where the sun stands."""
    elevation: Annotated[float, Number(gt=0, le=90)] | None = None
    """Degrees above the horizon."""
    direction: Annotated[tuple[float, float, float], Vector("x y z", largest=FARTHEST)] | None = None
    """In place of the two angles: from the scene towards the sun, of any length."""

    @model_validator(mode="after")
    def _check_direction(self) -> SunFields:
        if self.direction is not None:
            both = [name for name in ("azimuth", "elevation") if getattr(self, name) is not None]
            if both:
                raise conflict("the direction says it; remove one of the two", both[0])
            if not self.direction[2] > 1e-6 * math.hypot(*self.direction):
                message = f"[x, y, z] with z above 0 is needed, towards the sun; this is {list(self.direction)}"
                raise conflict(message, "direction")
        elif self.elevation is None:
            raise conflict("degrees above the horizon are needed, or a direction; nothing is given", "elevation")
        return self

    def towards(self) -> tuple[float, float, float]:
        """The unit vector from the scene towards the sun."""
        if self.direction is not None:
            x, y, z = self.direction
            length = math.hypot(x, y, z)
            return x / length, y / length, z / length
        azimuth, elevation = math.radians(self.azimuth or 0.0), math.radians(self.elevation or 0.0)
        flat = math.cos(elevation)
        return flat * math.cos(azimuth), flat * math.sin(azimuth), math.sin(elevation)


class GradientFields(Fields):
    """A sky that changes from the horizon to the zenith, linearly with the sine of the elevation."""

    zenith: Colour
    """Straight up (sRGB)."""
    horizon: Colour
    """At the horizon (sRGB)."""
    ground: Colour | None = None
    """Everywhere below the horizon (sRGB); that of the horizon, if left out."""


class SkyFields(TintFields):
    """What is seen where nothing is, and lights the scene: a picture, a gradient, or one colour."""

    file: Annotated[str, Text("the path of an image")] | None = None
    """An equirectangular panorama, twice as wide as high: PNG or JPEG (sRGB), HDR or EXR (linear)."""
    gradient: GradientFields | None = None
    """Colours of the zenith, the horizon and the ground."""
    radiance: NotNegative = 1.0
    """Of white in the picture or the gradient, of 1 in HDR and EXR, or of the colour; 1 is full scale."""
    yaw: Amount = 0.0
    """Degrees by which a picture is turned to the left; its middle is ahead, at +x, if left out."""
    cloud_cover: Share = 0.0
    """Share of the sky under clouds: 0 as the gradient has it, 1 overcast. The sun grows weaker, the sky gray."""

    @model_validator(mode="after")
    def _check_source(self) -> SkyFields:
        if self.file is not None and self.gradient is not None:
            raise conflict("the file says it; remove one of the two", "gradient")
        if self.yaw != 0 and self.file is None:
            raise conflict("only a picture can be turned", "yaw")
        if self.cloud_cover and self.file is not None:
            raise conflict("the picture shows its own clouds; remove one of the two", "cloud_cover")
        return self


class FogFields(RadianceFields):
    """Fog of the same density everywhere; its radiance is what is seen where it hides everything."""

    density: Positive | None = None
    """Extinction coefficient, 1/m: after d metres exp(-density d) of the light is left."""
    visibility: Positive | None = None
    """In place of the density: metres at which 2 % of the contrast is left."""
    ceiling: Amount | None = None
    """Metres, height above which there is no fog; everywhere, if left out."""

    @model_validator(mode="after")
    def _check_density(self) -> FogFields:
        self.only("density", "visibility", subject="fog")
        return self

    def extinction(self) -> float:
        """The extinction coefficient, 1/m."""
        return self.density if self.density is not None else -math.log(CONTRAST) / (self.visibility or math.inf)


_MOST_LAMPS = 64  # Columns, and rows, of a grid of lamps


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


class CarDriveFields(Fields):
    """Where a car drives by itself, and how fast; it brakes where an open line ends."""

    along: Annotated[Literal["course", "ahead"], Choice()] | None = None
    """Along the scene's course, or straight ahead from where it starts."""
    path: LineFields | None = None
    """Along a line of its own."""
    file: Annotated[str, Text("the path of a trajectory")] | None = None
    """As a trajectory was recorded, a text file (TUM, CSV) or a recording of base_link in the scene: its line, and by
    simulated time how far along."""
    topic: Annotated[str, Text("a topic of poses")] | None = None
    """Of a recording, where the poses are; the only one, if left out."""
    left: Amount = 0.0
    """Metres to the left of the line at which it drives."""
    speed: Positive | None = None
    """Metres a second."""
    speeds: (
        Annotated[
            tuple[Annotated[tuple[float, float], Vector("seconds m/s", ge=0, largest=FARTHEST)], ...],
            Field(min_length=1),
        ]
        | None
    ) = None
    """In place of the speed: [seconds, metres a second], each from its time on; it stands until the first."""

    @model_validator(mode="after")
    def _check_drive(self) -> CarDriveFields:
        if self.only("along", "path", "file", subject="a drive") == "file":
            for name in ("speed", "speeds"):
                if getattr(self, name) is not None:
                    raise conflict("the trajectory says it; remove one of the two", name)
        else:
            self.only("speed", "speeds", subject="a drive")
            if self.topic is not None:
                raise conflict("only a recording has topics; give its file", "topic")
        times = [time for time, _ in self.speeds or ()]
        if times != sorted(set(times)):
            raise conflict(f"each time must be later than the one before; these are {times}", "speeds")
        return self


class SceneCarFields(PoseFields):
    """A car with physics beside the one that carries the camera; base_link is what stands at its place."""

    vehicle: Annotated[str, Text("the name or the file of a vehicle")] | None = None
    """Its figures; those of the scene's own car, if left out."""
    class_: Annotated[str | int, ClassType()] | None = Field(default=None, alias="class")
    """Name or number from `classes`; not labelled, if left out."""
    colour: Colour | None = None
    """Of its paint (sRGB); blue, if left out."""
    start: NotNegative | None = None
    """In place of `at`: metres along its line where it starts; 0, if both are left out."""
    drive: CarDriveFields | None = None
    """How it drives; parked with its brakes on, if left out."""

    @model_validator(mode="after")
    def _check_start(self) -> SceneCarFields:
        ahead = self.drive is not None and self.drive.along == "ahead"
        if (self.drive is None or ahead) and self.at is None:
            raise conflict("[x, y] is needed, where it starts; nothing is given", "at")
        for name in PoseFields.model_fields:
            if self.start is not None and getattr(self, name) is not None:
                raise conflict("the pose says where it starts; remove one of the two", "start")
            if self.at is None and getattr(self, name) is not None:
                raise conflict("it starts along its line; give at as well, or remove it", name)
        return self


MOST_DEPTH = 32  # Surfaces of glass that a ray passes at most: each takes time of every ray
MOST_BOUNCES = 8  # Surfaces of a path of light at most: what is left after them is less than a per cent of the light


class SceneFile(Fields):
    """A scene: metres, degrees, sRGB colours, z up."""

    name: Annotated[str, Text()] | None = None
    """The file's own without its suffix, if left out."""
    classes: dict[Annotated[int, Whole(1, MOST_CLASSES)], Annotated[str, Text("a name")]] = Field(default_factory=dict)
    """Names of labelled classes by number."""
    stuff: tuple[Annotated[str | int, ClassType()], ...] = ()
    """Classes whose things are not counted, such as road and sky: label images show them, no boxes do."""
    surfaces: dict[Name, SurfaceFields] = Field(default_factory=dict)
    """Surfaces that things name."""
    kinds: dict[Name, KindFields] = Field(default_factory=dict)
    """Things without a place."""
    things: dict[Name, SceneThingFields] = Field(default_factory=dict)
    """Things in their places."""
    lights: dict[Name, LightFields] = Field(default_factory=dict)
    """Lamps."""
    ambient: Radiance = 0.0
    """Light that comes equally from everywhere, unshadowed."""
    bounces: Annotated[int, Whole(0, MOST_BOUNCES)] = 0
    """Surfaces that throw light on, traced by paths, before ambient light stands for the rest; 0 traces none."""
    ray_depth: Annotated[int, Whole(1, MOST_DEPTH)] = RAY_DEPTH
    """Surfaces of clear glass that a ray passes; behind more of them it sees what is behind everything."""
    background: Radiance = 0.0
    """What rays see that hit nothing, where there is no sky."""
    background_class: Annotated[str | int, ClassType()] | None = None
    """Class of what rays see that hit nothing, by name or number; none, if left out."""
    sun: SunFields | None = None
    """Light from one direction, with hard shadows."""
    sky: SkyFields | None = None
    """What is seen where nothing is; it lights the scene."""
    fog: FogFields | None = None
    """Fog that thickens with distance."""
    vehicle: Annotated[str, Text("the name or the file of a vehicle")] | None = None
    """The car that drives here and carries the camera, unless another is asked for; art1, if left out."""
    placements: dict[Name, PlacementFields] = Field(default_factory=dict)
    """Many things at once."""
    area: Area | None = None
    """[x0, y0, x1, y1], metres: where random cameras and things may stand."""
    cars: dict[Name, SceneCarFields] = Field(default_factory=dict)
    """Other cars, with physics and drivers of their own."""

    @model_validator(mode="after")
    def _check_classes(self) -> SceneFile:
        seen = set[str]()
        for number, name in self.classes.items():
            if name in seen:
                raise conflict(f"two classes are called {name}; rename one", "classes", str(number))
            seen.add(name)
        return self

    @model_validator(mode="after")
    def _check_background(self) -> SceneFile:
        if self.sky is not None and "background" in self.model_fields_set and self.background != 0:
            raise conflict("the sky says what is seen; remove one of the two", "background")
        return self


SceneDocument = Document[SceneFile]
