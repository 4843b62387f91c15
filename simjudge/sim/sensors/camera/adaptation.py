"""Pictures made to look like those of a reference, without training, and the reference that they are adapted to.

Each way has two halves. `measure` takes numbers of a reference picture, `apply` gives a picture these numbers. Of a
calibration set the mean of its pictures' numbers is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import fft

from simjudge.core.arrays import IntArray, ShortRepr
from simjudge.core.errors import Losses, ProgressBar, UsageError
from simjudge.core.frames import FrameSet
from simjudge.core.images import Images
from simjudge.data.frame_sequences import pair_frames
from simjudge.sim.sensors.camera.chain import FrameStep, Step, frame_seed
from simjudge.sim.sensors.camera.filters import (
    FULL_SCALE,
    AnyImage,
    FloatImage,
    as_float,
    camera_filter,
    require,
    require_colours,
    to_type_of,
)
from simjudge.sim.sensors.camera.isp import inverse_gray_world, linear_light, match_channels, match_exposure, srgb

Numbers = npt.NDArray[np.float64]
# Linear sRGB to CIE XYZ (IEC 61966-2-1); each row is divided by the white of D65, its sum.
_TO_XYZ = np.array(
    [
        [0.4124564, 0.3575761, 0.1804375],
        [0.2126729, 0.7151522, 0.0721750],
        [0.0193339, 0.1191920, 0.9503041],
    ]
)
_TO_WHITE_SHARES = _TO_XYZ / _TO_XYZ.sum(1, keepdims=True)
_FROM_WHITE_SHARES = np.linalg.inv(_TO_WHITE_SHARES)
_BEND = 6 / 29  # Cube root below which CIELAB's curve is a straight line
_NO_CONTRAST = 1e-6  # Standard deviation of a channel of CIELAB below which it has no contrast to scale
WIDEST_SHARE = 0.4  # Of the shorter side, for `fourier_adaptation`: the window must not reach the highest frequency


@camera_filter
def colour_transfer(
    image: AnyImage,
    *,
    lightness: float,
    a: float,
    b: float,
    lightness_deviation: float,
    a_deviation: float,
    b_deviation: float,
) -> AnyImage:
    """Give each image the mean and standard deviation of L*, a* and b* that a calibration set has (Reinhard).

    Each channel of CIELAB is shifted and scaled by itself. A channel of a single value gets the mean only.

    Source:
        Reinhard, Ashikhmin, Gooch and Shirley, "Color transfer between images", IEEE Computer Graphics and
        Applications 21(5), 2001, in CIELAB in place of their l-alpha-beta.
    """
    require_colours(image, "colour_transfer")
    means = np.array([lightness, a, b], np.float64)
    deviations = np.array([lightness_deviation, a_deviation, b_deviation], np.float64)
    held = bool(np.isfinite([means, deviations]).all() and (deviations >= 0).all())
    require(held, "colour_transfer: means must be finite, and deviations 0 or more")
    lab = cielab(as_float(image))
    old_means, old_deviations = lab.mean((0, 1)), lab.std((0, 1))
    gains = np.divide(deviations, old_deviations, out=np.ones(3), where=old_deviations > _NO_CONTRAST)
    return to_type_of(image, display_values((lab - old_means) * gains + means))


def cielab(image: FloatImage) -> npt.NDArray[np.float64]:
    """CIELAB under D65 of display values (sRGB): (H, W, 3): L*, a*, b* (image (H, W, 3))."""
    shares = linear_light(image.astype(np.float64)) @ _TO_WHITE_SHARES.T
    roots = np.where(shares > _BEND**3, np.cbrt(shares), shares / (3 * _BEND**2) + 4 / 29)
    x, y, z = np.moveaxis(roots, -1, 0)
    return np.stack([116 * y - 16, 500 * (x - y), 200 * (y - z)], -1)


def display_values(lab: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """The inverse of `cielab`; colours that a display cannot show lie outside [0, 1] (lab (H, W, 3)). (H, W, 3)."""
    y = (lab[:, :, 0] + 16) / 116
    roots = np.stack([y + lab[:, :, 1] / 500, y, y - lab[:, :, 2] / 200], -1)
    shares = np.where(roots > _BEND, roots**3, 3 * _BEND**2 * (roots - 4 / 29))
    return np.asarray(srgb(shares @ _FROM_WHITE_SHARES.T))


def fourier_adaptation(image: AnyImage, amplitudes: Numbers, share: float) -> AnyImage:
    """Give an image the amplitudes of low frequencies that a reference has; phases and higher frequencies stay.

    Source:
        Yang and Soatto, "FDA: Fourier domain adaptation for semantic segmentation", CVPR 2020, Eq. (1) to (3).
    """
    values = as_float(image)
    reach = window_reach(image.shape[:2], share)
    extra = (len(amplitudes) - (2 * reach + 1)) // 2
    wanted = amplitudes[extra : len(amplitudes) - extra, extra : len(amplitudes) - extra]
    spectrum = np.asarray(fft.fft2(values, axes=(0, 1), norm="forward"))
    window = _window(reach)
    phase = np.angle(spectrum[window])
    spectrum[window] = wanted * np.exp(1j * phase)
    return to_type_of(image, np.asarray(fft.ifft2(spectrum, axes=(0, 1), norm="forward")).real)


def low_frequency_amplitudes(image: AnyImage, reach: int) -> Numbers:
    """Amplitudes (2 reach + 1, 2 reach + 1, 3) of an image's low frequencies over the number of pixels: of any size."""
    if min(image.shape[:2]) < 2 * reach + 1:
        raise UsageError(
            f"a reference picture of {image.shape[1]}x{image.shape[0]}: {2 * reach + 1} pixels each way are needed;"
            " give a smaller --fourier-share"
        )
    spectrum = np.asarray(fft.fft2(as_float(image), axes=(0, 1), norm="forward"))
    return np.asarray(np.abs(spectrum[_window(reach)]), np.float64)


def window_reach(size: tuple[int, ...], share: float) -> int:
    """The highest frequency that `fourier_adaptation` swaps, periods an image (size: height and width, pixels)."""
    return int(min(size) * share)


def _window(reach: int) -> tuple[Any, ...]:
    frequencies = np.arange(-reach, reach + 1)
    return np.ix_(frequencies, frequencies)


@dataclass(frozen=True)
class Adaptation:
    """A way to make pictures look like those of a reference."""

    name: str
    measure: Callable[[AnyImage], Numbers]  # numbers of a reference picture, the same shape for each
    apply: Callable[[AnyImage, Numbers], AnyImage]
    # Takes the numbers as the parameters of the camera filter of this name; None where there is none.
    parameters: Callable[[Numbers], dict[str, float]] | None


def _exposure(image: AnyImage) -> Numbers:
    values = as_float(image)
    return np.array([values.mean(dtype=np.float64), values.std(dtype=np.float64)]) * FULL_SCALE


def _channel_means(image: AnyImage) -> Numbers:
    return np.asarray(as_float(image).mean((0, 1), dtype=np.float64)) * FULL_SCALE


def _channel_statistics(image: AnyImage) -> Numbers:
    values = as_float(image)
    numbers = values.mean((0, 1), dtype=np.float64), values.std((0, 1), dtype=np.float64)
    return np.concatenate(numbers) * FULL_SCALE


def _lab_statistics(image: AnyImage) -> Numbers:
    lab = cielab(as_float(image))
    return np.concatenate([lab.mean((0, 1)), lab.std((0, 1))])


def _by_filter(
    function: Callable[..., AnyImage], measure: Callable[[AnyImage], Numbers], names: tuple[str, ...]
) -> Adaptation:

    def parameters(numbers: Numbers) -> dict[str, float]:
        return dict(zip(names, numbers.tolist(), strict=True))

    def apply(image: AnyImage, numbers: Numbers) -> AnyImage:
        return function(image, **parameters(numbers))

    return Adaptation(function.__name__, measure, apply, parameters)


# Mean and standard deviation over all pixels and channels.
EXPOSURE = _by_filter(match_exposure, _exposure, ("mean", "deviation"))
# The proportions of the channels' means.
CHANNEL_MEANS = _by_filter(inverse_gray_world, _channel_means, ("red", "green", "blue"))
# Mean and standard deviation of each channel.
CHANNELS = _by_filter(
    match_channels,
    _channel_statistics,
    ("red", "green", "blue", "red_deviation", "green_deviation", "blue_deviation"),
)
# Means and standard deviations in CIELAB (Reinhard).
COLOUR_TRANSFER = _by_filter(
    colour_transfer,
    _lab_statistics,
    ("lightness", "a", "b", "lightness_deviation", "a_deviation", "b_deviation"),
)


def fourier(share: float, reach: int) -> Adaptation:
    """The adaptation by low frequencies (FDA)."""
    in_range = 0 < share <= WIDEST_SHARE
    require(in_range, f"--fourier-share {share:g}: it must be above 0, and {WIDEST_SHARE:g} at most")
    return Adaptation(
        fourier_adaptation.__name__,
        lambda image: low_frequency_amplitudes(image, reach),
        lambda image, numbers: fourier_adaptation(image, numbers, share),
        None,
    )


_DRAW = 0x5E7  # Part of the seed that keeps the draw of a reference apart from the noise of the frame


@dataclass(frozen=True, eq=False, repr=False)
class ReferencePictures(ShortRepr):
    """The pictures that those of another set are adapted to."""

    name: str  # of the set, for messages and records
    images: Images
    rows: IntArray  # numbers of the frames that have a picture

    @classmethod
    def of_set(cls, frames: FrameSet) -> ReferencePictures:
        """The pictures of a set."""
        images = frames.images
        rows = [] if images is None else [index for index in range(len(frames)) if images.has(index)]
        if images is None or not rows:
            raise UsageError(f"{frames.name}: has no pictures to match to")
        return cls(frames.name, images, np.array(rows, np.int64))

    def step(self, adaptation: Adaptation, partners: IntArray | None, progress: ProgressBar) -> Step | FrameStep:
        """The step of a chain that adapts pictures to this reference: to each frame's partner, or to the mean."""
        if partners is not None:
            return FrameStep(adaptation.name, _EachItsOwn(adaptation, self.images, partners))
        with progress(f"measuring {self.name}") as advance:
            total: Numbers | float = 0.0
            for number, row in enumerate(self.rows.tolist()):
                total = total + adaptation.measure(self.images.read(row))
                advance(number + 1, len(self.rows))
        mean = np.asarray(total) / len(self.rows)
        if adaptation.parameters is not None:
            return Step(adaptation.name, adaptation.parameters(mean))
        return FrameStep(adaptation.name, lambda _, image: adaptation.apply(image, mean))

    def draw(self, names: Sequence[str], seed: int) -> IntArray:
        """A random picture of the set for each frame, int64 (N,): by the seed and the frame's name alone."""
        drawn = [np.random.default_rng((*frame_seed(seed, name), _DRAW)).integers(len(self.rows)) for name in names]
        return self.rows[np.array(drawn, np.int64).reshape(-1)]


@dataclass(frozen=True)
class _EachItsOwn:
    """Adapts each picture to a picture of its own."""

    adaptation: Adaptation
    images: Images
    partners: IntArray

    def __call__(self, index: int, image: AnyImage) -> AnyImage:
        reference = self.images.read(int(self.partners[index]))
        return self.adaptation.apply(image, self.adaptation.measure(reference))


def with_twins(frames: FrameSet, reference: FrameSet, losses: Losses) -> tuple[FrameSet, IntArray, IntArray]:
    """The frames with a twin in the reference (by stamp, else by name): their set, the twins' numbers, their own."""
    images = reference.images
    ours, theirs = pair_frames(frames, reference)
    held = np.array([images is not None and images.has(int(row)) for row in theirs], np.bool_)
    ours, theirs = ours[held], theirs[held]
    if not len(ours):
        raise UsageError(
            f"{frames.name}: no frame has a twin in {reference.name}, by stamp or name; give --match-by set or random"
        )
    for index in np.setdiff1d(np.arange(len(frames)), ours).tolist():
        losses.add(f"frames without a twin in {reference.name}", frames.describe_frame(index))
    return frames.take(ours), theirs, ours


def with_images_of(frames: FrameSet, pictures: FrameSet) -> FrameSet:
    """A set with pictures that another program has made of its own, one for each frame, of the same name and size."""
    images = pictures.images
    rows = {name: row for row, name in enumerate(pictures.frame_name) if images is not None and images.has(row)}
    missing = [name for name in frames.frame_name if name not in rows]
    if images is None or missing:
        raise UsageError(
            f"--images {pictures.name}: {len(missing)} of {len(frames)} frames have no picture of their name there,"
            f" the first is {missing[0]}; translate all pictures of {frames.name} and keep their names"
        )
    chosen = pictures.take([rows[name] for name in frames.frame_name])
    for index in np.flatnonzero((chosen.size != frames.size).any(1)).tolist():
        (width, height), (wide, high) = chosen.size[index].tolist(), frames.size[index].tolist()
        raise UsageError(
            f"--images {pictures.name}: {frames.frame_name[index]} is {width}x{height}, that of {frames.name} is"
            f" {wide}x{high}; labels fit pictures of the same size only"
        )
    return replace(frames, images=chosen.images)
