"""What a camera's file asks of Chrono's own cameras, under the key `chrono`; other engines refuse such a camera.

    chrono: {noise: {constant: {mean: 0, deviation: 0.01}}}          # ChFilterCameraNoiseConstNormal
    chrono: {noise: {pixel_dependent: {slope: 0.0004, intercept: 0.0004}}}     # ChFilterCameraNoisePixDep
    chrono:
      physical:                            # ChPhysCameraSensor
        aperture: 1.6                      # F-number
        exposure: 0.01                     # seconds
        iso: 100
        focal_length: 0.012                # metres
        focus_distance: 3.0                # metres
        vignetting: true                   # its stages, each off if left out
        defocus: true
        exposure_to_value: true            # aperture, exposure and ISO make the brightness
        noise: true                        # not together with exposure_to_value

The camera's own `filters` follow, as ever.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import model_validator

from simjudge.core.documents import Fields
from simjudge.core.field_types import Flag, Number, conflict

LIGHT = 1e7 * 250 * 5.86e-6**2
"""Aggregator gain x scene light x pixel area, ChPhysCameraSensor's defaults: a radiance of 1 becomes LIGHT x exposure x
ISO / aperture^2 of full scale with exposure_to_value."""

Share = Annotated[float, Number(ge=0, le=1)]
Amount = Annotated[float, Number(ge=1e-9, le=1e9)]
Switch = Annotated[bool, Flag()]


@dataclass(frozen=True)
class ChronoNoise:
    """Noise that Chrono adds to the gamma-encoded image, each colour of each pixel on its own; full scale is 1.

    Attributes:
        kind: "constant": normal with a mean and a deviation; "pixel_dependent": normal with the variance
            slope x value + intercept.
    """

    kind: Literal["constant", "pixel_dependent"]
    mean: float = 0.0
    deviation: float = 0.0
    slope: float = 0.0
    intercept: float = 0.0


@dataclass(frozen=True)
class ChronoPhysical:
    """Settings of ChPhysCameraSensor, in its own units.

    Attributes:
        exposure: seconds.
        focal_length, focus_distance: metres; the sensor's width follows from the camera's lens.
        vignetting, defocus, noise, exposure_to_value: which of its stages work; the aggregation of light always does
            where exposure_to_value works.
    """

    aperture: float = 1.6
    exposure: float = 0.01
    iso: float = 100.0
    focal_length: float = 0.012
    focus_distance: float = 3.0
    vignetting: bool = False
    defocus: bool = False
    noise: bool = False
    exposure_to_value: bool = False


ChronoCamera = ChronoNoise | ChronoPhysical


class ConstantNoiseFields(Fields):
    """Normal noise (ChFilterCameraNoiseConstNormal); full scale is 1."""

    mean: Annotated[float, Number(ge=-1, le=1)] = 0.0
    """Mean of the noise."""
    deviation: Share = 0.0
    """Standard deviation of the noise."""


class PixelDependentNoiseFields(Fields):
    """Normal noise with the variance slope x value + intercept (ChFilterCameraNoisePixDep); full scale is 1."""

    slope: Share = 0.0
    """Variance per value."""
    intercept: Share = 0.0
    """Variance at value 0."""


class NoiseFields(Fields):
    """Noise that Chrono adds to the gamma-encoded image."""

    constant: ConstantNoiseFields | None = None
    """The same at every value."""
    pixel_dependent: PixelDependentNoiseFields | None = None
    """More at higher values."""

    @model_validator(mode="after")
    def _check(self) -> NoiseFields:
        self.only("constant", "pixel_dependent", subject="noise")
        return self


class PhysicalFields(Fields):
    """Settings of ChPhysCameraSensor."""

    aperture: Amount = ChronoPhysical.aperture
    """F-number."""
    exposure: Amount = ChronoPhysical.exposure
    """Seconds."""
    iso: Amount = ChronoPhysical.iso
    """ISO speed."""
    focal_length: Amount = ChronoPhysical.focal_length
    """Metres."""
    focus_distance: Amount = ChronoPhysical.focus_distance
    """Metres."""
    vignetting: Switch = False
    """Whether corners are darker."""
    defocus: Switch = False
    """Whether what is off the focus distance is blurred."""
    noise: Switch = False
    """Whether it has noise; not together with exposure_to_value."""
    exposure_to_value: Switch = False
    """Whether aperture, exposure and ISO make the brightness."""

    @model_validator(mode="after")
    def _check(self) -> PhysicalFields:
        if self.noise and self.exposure_to_value:
            # phys_cam_ops.cu: (signal + 1 electron/s x t) x ISO, the signal LIGHT x t / aperture^2 at radiance 1.
            times = self.aperture**2 / LIGHT
            raise conflict(
                "noise, exposure_to_value: Chrono's default dark current, which Python cannot set, is"
                f" {times:.0f} times the light of white at this aperture; leave one of the two out"
            )
        return self


class ChronoFields(Fields):
    """What is asked of Chrono's own cameras."""

    noise: NoiseFields | None = None
    """Noise on Chrono's camera."""
    physical: PhysicalFields | None = None
    """ChPhysCameraSensor in place of Chrono's camera."""

    @model_validator(mode="after")
    def _check(self) -> ChronoFields:
        self.only("noise", "physical", subject="chrono")
        return self

    def settings(self) -> ChronoCamera:
        """What it asks for, as engines take it."""
        if self.physical is not None:
            return ChronoPhysical(**self.physical.model_dump())
        if self.noise is not None and self.noise.constant is not None:
            return ChronoNoise("constant", **self.noise.constant.model_dump())
        pixel_dependent = self.noise.pixel_dependent if self.noise else None
        return ChronoNoise("pixel_dependent", **(pixel_dependent.model_dump() if pixel_dependent else {}))
