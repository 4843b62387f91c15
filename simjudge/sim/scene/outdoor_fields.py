"""What may stand in a scene's file about the outdoors: sun, sky and fog."""

from __future__ import annotations

import math
from typing import Annotated

from pydantic import model_validator

from simjudge.core.documents import Fields
from simjudge.core.field_types import Number, Text, Vector, conflict
from simjudge.sim.scene.radiance_fields import RadianceFields, TintFields
from simjudge.sim.scene.scene_fields import FARTHEST, Amount, Colour, NotNegative, Positive

CONTRAST = 0.02
"""Of black things before the horizon, at the distance that is called the visibility (Koschmieder, 1924)."""


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

    @model_validator(mode="after")
    def _check_source(self) -> SkyFields:
        if self.file is not None and self.gradient is not None:
            raise conflict("the file says it; remove one of the two", "gradient")
        if self.yaw != 0 and self.file is None:
            raise conflict("only a picture can be turned", "yaw")
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
