"""What may stand in a scene's file about its things: poses, surfaces, shapes, kinds."""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Discriminator, Field, Tag, model_validator

from simjudge.core.documents import Fields
from simjudge.core.field_types import Choice, Number, Text, Vector, Whole, conflict
from simjudge.geometry.poses import Pose
from simjudge.sim.scene.model import SEGMENTS, Surface
from simjudge.sim.scene.scene_fields import (
    FARTHEST,
    MOST_INSTANCES,
    Amount,
    ClassType,
    Colour,
    MotionPathFields,
    NotNegative,
    Point,
    Point3,
    Positive,
    Radiance,
    Reference,
    RepeatType,
    Share,
)

# The fields of which a thing has one, unless it is of a kind.
SHAPES = ("mesh", "box", "cylinder", "cone", "plane", "parts")
_DENSEST = 4.0  # Refractive index; of silicon in the infrared it is 3.4
_STRONGEST = 10.0  # Of normal maps
_BRIGHTEST = 1e5  # Factor of a retro-reflector
_MOST_SEGMENTS = 256  # Sides of what is round


def _text_or_fields(value: Any) -> str:
    return "text" if isinstance(value, str) else "fields"


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
    quaternion: Annotated[tuple[float, float, float, float], Vector("x y z w", largest=FARTHEST)] | None = None
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


class TextureFields(Fields):
    """A texture from an image's file, or painted by a pattern of `simjudge.sim.scene.textures` with its parameters."""

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

    def parameters(self) -> dict[str, object]:
        """The parameters of the pattern."""
        return {str(name): value for name, value in (self.model_extra or {}).items()}


class NormalMapFields(Fields):
    """Small bumps: an image of normals in tangent space, as glTF and OpenGL have them (green is up)."""

    file: Annotated[str, Text("the path of an image")]
    """PNG or JPEG, relative to this file: red, green and blue are 255 (n + 1) / 2."""
    strength: Annotated[float, Number(ge=0, le=_STRONGEST)] = 1.0
    """How much the bumps count: x and y of the normals are multiplied by it."""


class RetroreflectionFields(Fields):
    """What sends a lidar's light back to where it came from, as sheeting of signs and vests does."""

    factor: Annotated[float, Number(ge=1, le=_BRIGHTEST)]
    """Times as much as a matt surface of its reflectance sends back."""
    acceptance: Annotated[float, Number(gt=0, le=90)] = 30.0
    """Largest angle between the beam and the surface's normal at which it does, degrees; beyond it is matt."""


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
    reflectance: Share | None = None
    """Of a lidar's light, 0 to 1; that of visible light (the luminance of colour and texture there), if left out."""
    retroreflection: RetroreflectionFields | None = None
    """It sends a lidar's light back to where it came from; as matt surfaces do, if left out."""
    radar_reflectance: Share | None = None
    """Of a radar's waves that meet it squarely, share of the power; 1 for metal and 0.1 for the rest, if left out.
    Painted metal has about 1."""
    emission: Radiance = 0.0
    """Radiance that it sends out by itself; multiplies the texture. It lights nothing else."""
    normal_map: NormalMapFields | None = None
    """Small bumps; they repeat as the texture does."""
    refractive_index: Annotated[float, Number(ge=1, le=_DENSEST)] | None = None
    """Clear glass: 1.52; water: 1.33. Opaque, if left out."""

    @model_validator(mode="after")
    def _check_repeat(self) -> SurfaceFields:
        if self.repeat is not None and self.texture is None and self.normal_map is None:
            raise conflict("there is no texture that could repeat", "repeat")
        return self

    @model_validator(mode="after")
    def _check_glass(self) -> SurfaceFields:
        if self.refractive_index is not None:
            for other in ("texture", "normal_map", "roughness", "metallic"):
                if other in self.model_fields_set:
                    raise conflict("clear glass is smooth and has only a colour; remove one of the two", other)
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

    mesh: Annotated[str, Text("the path of an OBJ, glTF or GLB file")] | None = None
    """An OBJ, glTF or GLB file, relative to this file; its materials count unless a surface is given."""
    box: Annotated[tuple[float, float, float], Vector("x y z", gt=0, largest=FARTHEST)] | None = None
    """Metres; its origin is the middle of its base."""
    cylinder: CylinderFields | None = None
    """Its origin is the middle of its base."""
    cone: ConeFields | None = None
    """Its origin is the middle of its base."""
    plane: Annotated[tuple[float, float], Vector("x y", gt=0, largest=FARTHEST)] | None = None
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
    """Static things never move, unless they have a path; free ones obey physics."""
    mass: Positive | None = None
    """Kg, of free things."""
    collider: Annotated[Literal["none", "hull", "box", "plane", "ground"], Choice()] | None = None
    """The solid that stands for it in physics; the shape's own, if left out. `ground` is a mesh to drive on."""
    cell: Positive | None = None
    """Metres between the heights by which physics knows a ground; a 500th of its longer side, if left out."""


class SceneThingFields(KindFields, PoseFields):
    """One thing, or several that are alike."""

    instance: Annotated[int, Whole(1, MOST_INSTANCES)] | None = None
    """Instance id in label images; the next free one, if left out."""
    copies: Annotated[tuple[PoseFields, ...], Field(min_length=1)] | None = None
    """Where it stands, several times."""
    path: MotionPathFields | None = None
    """It moves along this path by simulated time; its yaw, pitch and roll turn it on the path."""

    @model_validator(mode="after")
    def _check_copies(self) -> SceneThingFields:
        own = [field for field in PoseFields.model_fields if getattr(self, field) is not None]
        if self.copies is not None and own:
            raise conflict("copies have poses of their own; remove one", own[0])
        if self.path is not None and (self.at is not None or self.copies is not None):
            raise conflict("the path's waypoints say it; remove one of the two", "copies" if self.copies else "at")
        return self


ShapeFields.model_rebuild()
KindFields.model_rebuild()
SceneThingFields.model_rebuild()
