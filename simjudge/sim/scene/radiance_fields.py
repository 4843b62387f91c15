"""What may stand in a scene's file about light: its tint, and radiance."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Discriminator, Tag, model_validator

from simjudge.core.documents import Fields
from simjudge.core.field_types import Number, conflict
from simjudge.sim.scene.colour import temperature_to_linear
from simjudge.sim.scene.scene_fields import Colour, NotNegative

_COOLEST = 1667.0
"""Kelvin; the fit of `colour.temperature_to_linear` begins here."""
_HOTTEST = 25000.0
"""Kelvin; the fit of `colour.temperature_to_linear` ends here."""


def _number_or_fields(value: Any) -> str:
    return "fields" if isinstance(value, dict) else "number"


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
        """Linear RGB of an amount of light."""
        tint = self.colour or (1.0, 1.0, 1.0)
        if self.temperature is not None:
            red, green, blue = temperature_to_linear(self.temperature).tolist()
            tint = (red, green, blue)
        return amount * tint[0], amount * tint[1], amount * tint[2]


class RadianceFields(TintFields):
    """An amount of light with a tint."""

    radiance: NotNegative
    """1 is an image's full scale at gain 1."""


Radiance = Annotated[
    Annotated[NotNegative, Tag("number")] | Annotated[RadianceFields, Tag("fields")], Discriminator(_number_or_fields)
]


def linear_radiance(given: float | RadianceFields) -> tuple[float, float, float]:
    """Linear RGB of a radiance: a number, or {radiance, colour or temperature}."""
    return given.tinted(given.radiance) if isinstance(given, RadianceFields) else (given, given, given)
