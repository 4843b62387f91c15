"""What may stand in a scene's file; docs/guides/scenes.md explains it with examples.

A file is read in three steps: `file_content` takes over what it extends and draws what is random; the models here check
every field; `read` builds the scene from them, by way of `surfaces`, `forms`, `lights` and `placements`.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator

from simjudge.core.documents import Document, Fields
from simjudge.core.field_types import Text, Whole, conflict
from simjudge.sim.scene.outdoor_fields import FogFields, SkyFields, SunFields
from simjudge.sim.scene.placement_fields import PlacementFields
from simjudge.sim.scene.radiance_fields import Radiance, TintFields
from simjudge.sim.scene.scene_fields import (
    MOST_CLASSES,
    Area,
    ClassType,
    Name,
    NotNegative,
    Point2,
    Positive,
    Reference,
    Share,
)
from simjudge.sim.scene.thing_fields import KindFields, PoseFields, SceneThingFields, SurfaceFields

_MOST_LAMPS = 64
"""Columns, and rows, of a grid of lamps."""


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


MOST_BOUNCES = 8
"""Surfaces of a path of light at most: what is left after them is less than a per cent of the light."""


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
