"""The settings of `simjudge data filter`, declared once (see `simjudge.core.settings`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from simjudge.core.errors import UsageError
from simjudge.core.settings import ReadSettings, Settings, TextForm, file_or_name, setting

MATCH_BY = ("set", "twin", "random")  # What of a reference an image is matched to
Gains = tuple[float, float, float]


def filter_record_path(out: Path) -> Path:
    """Path of the file that says what `simjudge data filter` did."""
    return out.with_name(f"{out.name}.filter.json")


def channel_gains(given: str | Sequence[float]) -> Gains:
    """Gains of red, green and blue."""
    try:
        red, green, blue = (float(part) for part in (given.split(",") if isinstance(given, str) else given))
    except (TypeError, ValueError):
        raise UsageError(f"--white-balance {given}: give three gains as R,G,B, such as 1.4,1,0.65") from None
    return red, green, blue


_GAINS = TextForm(channel_gains, lambda gains: ",".join(f"{gain:g}" for gain in gains), "R,G,B")


@dataclass(frozen=True, kw_only=True)
class DistanceSettings(Settings, panel="Weather in recorded images"):
    """How far away what the images show is; the camera's filters before the exposure then act, too."""

    distance: float | None = setting(
        None, "Distance assumed of all that is seen, for the camera's before_exposure (weather).", unit="m"
    )
    depth: Path | None = setting(
        None,
        "Folder of depth pictures (16-bit PNG, millimetres) by the frames' names, for the camera's before_exposure.",
    )


@dataclass(frozen=True, kw_only=True)
class FilterSettings(DistanceSettings, ReadSettings):
    """What is done to the images, in the order of the fields."""

    # Images that another program has made of the set's own, by the same names; taken in their place.
    images: Path | None = setting(
        None, "Folder of images that another program made from those of IN, with the same names and sizes."
    )
    # Camera whose lens bends the images of a pinhole, with label pictures and boxes.
    lens: Path | None = setting(
        None, "Camera (file or name) whose lens distortion is applied to pinhole images, label images and boxes."
    )
    blur: float | None = setting(None, "Gaussian blur, standard deviation.", unit="px")
    vignetting: float | None = setting(
        None, "Vignetting (cos^4), by the angle off axis at the corners.", unit="degrees"
    )
    noise: float | None = setting(None, "Gaussian noise, standard deviation.", unit="grey levels of 255")
    bayer: str | None = setting(
        None, "Bayer mosaic of this pattern, demosaiced along edges.", choices=("RGGB", "BGGR", "GRBG", "GBRG")
    )
    # gray_world, white_balance: white balance by the image, and by fixed gains.
    gray_world: bool = setting(default=False, help="Gray-world white balance: red, green and blue get the same mean.")
    white_balance: Gains | None = setting(None, "Gains of red, green and blue.", form=_GAINS)
    match_colours: Path | None = setting(
        None, "Match the ratios of mean red, green and blue of this set (undoes a white balance)."
    )
    match_exposure: Path | None = setting(None, "Match mean and standard deviation of brightness of this set.")
    match_channels: Path | None = setting(
        None, "Match mean and standard deviation of red, of green and of blue of this set."
    )
    colour_transfer: Path | None = setting(
        None, "Match means and standard deviations in CIELAB of this set (Reinhard's colour transfer)."
    )
    fourier_adaptation: Path | None = setting(
        None, "Take low-frequency amplitudes from this set (Fourier domain adaptation, FDA)."
    )
    # What of a reference each image is matched to.
    match_by: str = setting(
        "set",
        "Reference of each image: the mean of the set, its pair (same stamp or name), or a random image.",
        choices=MATCH_BY,
    )
    # Half the width of the window of swapped frequencies over the shorter side.
    fourier_share: float = setting(
        0.01, "Half the width of the window of swapped frequencies, as a share of the shorter side (FDA's beta)."
    )
    gamma: float | None = setting(None, "Gamma exponent; above 1 darkens mid tones.")
    jpeg: int | None = setting(None, "JPEG quality, 1..100. Default: lossless.")
    # The file of a camera or the name of one that comes with simjudge: its filters, in place of all these.
    camera: str | Path | None = setting(
        None, "Camera (file or name) whose filters are applied instead of the options above.", form=file_or_name()
    )
    # Of the noise and of random references.
    seed: int = setting(0, "Seed of noise and random references.", low=0)

    @property
    def references(self) -> dict[str, Path]:
        """The sets that are references, by the setting that names them, in the order in which they act."""
        names = ("match_colours", "match_exposure", "match_channels", "colour_transfer", "fourier_adaptation")
        given: dict[str, Any] = {name: getattr(self, name) for name in names}
        return {name: path for name, path in given.items() if path is not None}


@dataclass(frozen=True, kw_only=True)
class CloudWeatherSettings(Settings, panel="Weather in recorded clouds"):
    """Weather that is put before the lidar of recorded clouds."""

    weather: str | Path | None = setting(
        None,
        "Sensor file (or name) with a lidar in fog, dust, rain or spray, put before recorded clouds.",
        form=file_or_name(),
    )
    lidar: str | None = setting(None, "Lidar of the sensor file, if several in it have weather.")
    cloud_topic: str | None = setting(None, "Point cloud topic, if the recording has several.")
    white: float | None = setting(
        None,
        "Intensity that the recording's lidar reports of a white surface. Default: intensity.scale of the sensor file.",
        low=1e-6,
        high=1e9,
    )


@dataclass(frozen=True, kw_only=True)
class FilterCommandSettings(FilterSettings, CloudWeatherSettings):
    """What `simjudge data filter` can do."""
