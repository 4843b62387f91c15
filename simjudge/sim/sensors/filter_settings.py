"""The settings of `simjudge filter`, declared once (see `simjudge.core.settings`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from simjudge.core.errors import UsageError
from simjudge.core.setting_groups import ReadSettings
from simjudge.core.settings import TextForm, setting

MATCH_BY = ("set", "twin", "random")  # What of a reference an image is matched to
Gains = tuple[float, float, float]


def channel_gains(given: str | Sequence[float]) -> Gains:
    """Gains of red, green and blue."""
    try:
        red, green, blue = (float(part) for part in (given.split(",") if isinstance(given, str) else given))
    except (TypeError, ValueError):
        raise UsageError(f"--white-balance {given}: give three gains as R,G,B, such as 1.4,1,0.65") from None
    return red, green, blue


_GAINS = TextForm(channel_gains, lambda gains: ",".join(f"{gain:g}" for gain in gains), "R,G,B")


@dataclass(frozen=True, kw_only=True)
class FilterSettings(ReadSettings):
    """What is done to the images, in the order of the fields."""

    # Images that another program has made of the set's own, by the same names; taken in their place.
    images: Path | None = setting(
        None, "Folder of images that another program made of those of IN: same names, same sizes."
    )
    # Camera whose lens bends the images of a pinhole, with label pictures and boxes.
    lens: Path | None = setting(
        None, "Camera (file or name) whose lens bends images of a pinhole, with their label pictures and boxes."
    )
    blur: float | None = setting(None, "Gaussian blur, standard deviation.", unit="px")
    vignetting: float | None = setting(None, "Darker corners: the view's angle there, off axis.", unit="degrees")
    noise: float | None = setting(None, "Gaussian noise, standard deviation.", unit="grey levels of 255")
    bayer: str | None = setting(
        None, "Bayer mosaic of this pattern, demosaiced along edges.", choices=("RGGB", "BGGR", "GRBG", "GBRG")
    )
    # gray_world, white_balance: white balance by the image, and by fixed gains.
    gray_world: bool = setting(default=False, help="White balance: red, green and blue get the same mean.")
    white_balance: Gains | None = setting(None, "Gains of red, green and blue.", form=_GAINS)
    match_colours: Path | None = setting(
        None, "Set whose proportions of mean red, green and blue the images get (undoes a white balance)."
    )
    match_exposure: Path | None = setting(None, "Set whose mean and standard deviation of brightness the images get.")
    colour_transfer: Path | None = setting(
        None, "Set whose means and standard deviations in CIELAB the images get (Reinhard's colour transfer)."
    )
    fourier_adaptation: Path | None = setting(None, "Set whose amplitudes of low frequencies the images get (FDA).")
    # What of a reference each image is matched to.
    match_by: str = setting(
        "set",
        "Reference of each image: the mean of the set, its twin there (same stamp or name), or a random one.",
        choices=MATCH_BY,
    )
    # Half the width of the window of swapped frequencies over the shorter side.
    fourier_share: float = setting(
        0.01, "Half the width of the window of swapped frequencies, as a share of the shorter side (FDA's beta)."
    )
    gamma: float | None = setting(None, "Exponent; above 1 darkens the mid tones.")
    jpeg: int | None = setting(None, "Store as JPEG of this quality, 1..100 (else without loss).")
    # The file of a camera or the name of one that comes with simjudge: its filters, in place of all these.
    camera: str | None = setting(None, "A camera's filters, by FILE or NAME, in place of those above.")
    # Of the noise and of random references.
    seed: int = setting(0, "Seed of the noise, and of random references.", low=0)

    @property
    def references(self) -> dict[str, Path]:
        """The sets that are references, by the setting that names them, in the order in which they act."""
        names = ("match_colours", "match_exposure", "colour_transfer", "fourier_adaptation")
        given: dict[str, Any] = {name: getattr(self, name) for name in names}
        return {name: path for name, path in given.items() if path is not None}
