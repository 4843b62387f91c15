"""Camera filters of the weather by name: fog, dust, rain and spray, by how far away what each pixel sees is.

`simjudge.sim.sensors.fog` and `simjudge.sim.sensors.weather` have the models and their sources. They stand in a
camera's `before_exposure`, act on linear light, and show the air's light (`red`, `green`, `blue`) where they hide
things.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from simjudge.core.arrays import FloatArray
from simjudge.sim.sensors.camera.filters import AnyImage, as_float, camera_filter, require, require_colours, to_type_of
from simjudge.sim.sensors.fog import extinction
from simjudge.sim.sensors.weather import RainView, Spray, expected_drops, rain_extinction, rate_problem, streaks

_MOST_DROPS = 5_000_000  # Of one picture: 0.3 GB, and seconds to draw


@camera_filter
def fog(
    image: AnyImage,
    *,
    distance: FloatArray,
    density: float | None = None,
    visibility: float | None = None,
    optical_range: float | None = None,
    red: float = 0.8,
    green: float = 0.8,
    blue: float = 0.8,
) -> AnyImage:
    """See through fog: light J from d metres becomes J t + A (1 - t), t = exp(-density d) (Koschmieder).

    Args:
        image: (H, W, 3), uint8 or floating point, linear light.
        distance: (H, W), metres along each pixel's ray, inf for nothing.
        density: extinction coefficient, 1/m, above 0; or one of the next two.
        visibility: metres at which 2 % of a contrast is left: 3.912 / density.
        optical_range: metres at which 5 % of a beam is left (MOR): 2.996 / density.
        red: light A of the air, as green and blue are, 0 or more.

    Returns:
        The image in fog, same type and shape.
    """
    found = _density("fog", density, visibility, optical_range)
    return _veiled("fog", image, found * distance, (red, green, blue))


@camera_filter
def dust(
    image: AnyImage,
    *,
    distance: FloatArray,
    density: float | None = None,
    visibility: float | None = None,
    optical_range: float | None = None,
    red: float = 0.6,
    green: float = 0.45,
    blue: float = 0.3,
) -> AnyImage:
    """See through dust: as through fog, with a light of its own, that of sand by default (chosen, not measured)."""
    found = _density("dust", density, visibility, optical_range)
    return _veiled("dust", image, found * distance, (red, green, blue))


@camera_filter
def rain(  # noqa: PLR0913 - what a file may say
    image: AnyImage,
    *,
    distance: FloatArray,
    rays: FloatArray,
    exposure_time: float,
    rate: float,
    exposure: float | None = None,
    speed: float = 0.0,
    wind: float = 0.0,
    near: float = 0.5,
    far: float = 4.0,
    red: float = 0.8,
    green: float = 0.8,
    blue: float = 0.8,
    seed: int | tuple[int, ...] = 0,
) -> AnyImage:
    """See through rain of `rate` mm/h: drops near the camera as streaks, one by one, and a veil by those beyond.

    Args:
        image: (H, W, 3), uint8 or floating point, linear light.
        distance: (H, W), metres along each pixel's ray, inf for nothing.
        rays: (H, W, 3), unit, optical frame; drops are seen as by a pinhole of the focal length in the middle.
        exposure_time: the camera's, seconds.
        rate: mm/h, 0 to 300.
        exposure: seconds for which drops fall; left out: the camera's exposure time.
        speed: of the camera ahead, m/s.
        wind: to the right, m/s.
        near: metres from which on drops are drawn.
        far: metres to which drops are drawn; those beyond are a veil.
        red: light of the air, and of the drops, as green and blue are, 0 or more.
        seed: of the drops.

    Returns:
        The image in rain, same type and shape.
    """
    problem = rate_problem(rate)
    require(not problem, problem)
    seconds = exposure_time if exposure is None else exposure
    require(0 <= seconds <= 1, f"rain: exposure {seconds} s; it must be in 0..1")
    require(0.2 <= near < far <= 10, f"rain: near {near}, far {far} m; 0.2 <= near < far <= 10 is needed")
    require(max(abs(speed), abs(wind)) <= 100, f"rain: speed {speed}, wind {wind} m/s; 100 at most")
    light = _light("rain", image, (red, green, blue))
    if rate == 0:
        return image.copy()
    beyond = np.maximum(distance - far, 0.0)
    veiled = _veiled("rain", as_float(image), rain_extinction(rate) * beyond, (red, green, blue))
    view = RainView(image.shape[:2], _focal(rays), near, far)
    drops = expected_drops(rate, view, seconds, (wind, speed))
    require(
        drops <= _MOST_DROPS,
        f"rain: {drops / 1e6:.0f} million drops come into view in {seconds:g} s; {_MOST_DROPS // 1_000_000} million at"
        " most: lower exposure, rate or far, or raise near",
    )
    entropy = (seed,) if isinstance(seed, int) else tuple(seed)
    covered = streaks(rate, view, seconds, (wind, speed), distance, entropy).astype(np.float32)[:, :, None]
    return to_type_of(image, veiled * (1 - covered) + light * covered)


@camera_filter
def spray(  # noqa: PLR0913 - what a file may say
    image: AnyImage,
    *,
    distance: FloatArray,
    rays: FloatArray,
    ahead: float,
    left: float = 0.0,
    up: float = 0.0,
    length: float = 3.0,
    width: float = 0.8,
    height: float = 0.6,
    density: float | None = None,
    visibility: float | None = None,
    optical_range: float | None = None,
    red: float = 0.8,
    green: float = 0.8,
    blue: float = 0.8,
) -> AnyImage:
    """See through a plume of spray whose middle is `ahead`, `left` and `up` of the camera.

    Args:
        image: (H, W, 3), uint8 or floating point, linear light.
        distance: (H, W), metres along each pixel's ray, inf for nothing.
        rays: (H, W, 3), unit, optical frame.
        ahead: metres from the camera to the plume's middle, as left and up are.
        length: standard deviation of the plume along the view, metres, as width and height are across it.
        density: extinction coefficient in its middle, 1/m, above 0; or visibility or optical_range, as of fog.
        red: light of the air, as green and blue are, 0 or more.

    Returns:
        The image behind the plume, same type and shape.
    """
    found = _density("spray", density, visibility, optical_range)
    try:
        plume = Spray(found, (ahead, left, up), (length, width, height))
    except ValueError as error:
        require(False, str(error))  # noqa: FBT003 - an assertion
        raise
    level = np.stack([rays[..., 2], -rays[..., 0], -rays[..., 1]], -1)
    return _veiled("spray", image, np.nan_to_num(plume.depth(level, distance)), (red, green, blue))


def _density(name: str, density: float | None, visibility: float | None, optical_range: float | None) -> float:
    given = [value for value in (density, visibility, optical_range) if value is not None]
    require(len(given) == 1, f"{name}: give one of density, visibility and optical_range")
    require(0 < given[0] < math.inf, f"{name}: {given[0]}; a number above 0 is needed")
    return extinction(density, visibility, optical_range)


def _light(name: str, image: AnyImage, air: tuple[float, float, float]) -> npt.NDArray[np.float32]:
    """The light of the air, checked."""
    require_colours(image, name)
    light = np.array(air, np.float32)
    red, green, blue = air
    finite = bool(np.all(np.isfinite(light)) and np.all(light >= 0))
    require(finite, f"{name}: light {red}, {green}, {blue}; 0 or more each")
    return light


def _veiled(name: str, image: AnyImage, depth: FloatArray, air: tuple[float, float, float]) -> AnyImage:
    """The image behind an optical depth (H, W) that shows the light of the air."""
    light = _light(name, image, air)
    left = np.exp(-depth).astype(np.float32)[:, :, None]
    return to_type_of(image, as_float(image) * left + light * (1 - left))


def _focal(rays: FloatArray) -> float:
    """Pixels per unit of slope in the middle of a picture."""
    row, column = rays.shape[0] // 2, rays.shape[1] // 2
    one, next_one = rays[row, column - 1], rays[row, column]
    require(
        rays.shape[1] > 1 and bool(np.isfinite([one, next_one]).all()), "rain: the camera sees nothing in its middle"
    )
    return 1 / math.tan(2 * math.asin(float(np.linalg.norm(one - next_one)) / 2))
