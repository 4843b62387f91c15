"""When a camera takes images and when it hands them over: whole nanoseconds, exact, without drift.

An image's stamp is the time at which it is due and its exposure starts: frame k at k / rate after the first, each
rounded by itself. Light falls on a row of the sensor for `exposure_time`: on the first row from the stamp on, on each
further row of a rolling shutter `line_time` later. The image is handed over `lag` after its stamp, or when the last
row has been exposed if that is later.
"""

from __future__ import annotations

from fractions import Fraction

from simjudge.sim.sensors.camera.camera import Camera

SECOND = 1_000_000_000


def frame_stamp_offset(rate: float, number: int) -> int:
    """Nanoseconds from the first frame's stamp to that of frame `number`, rounded to the nearest.

    Args:
        rate: frames a second.

    Returns:
        Nanoseconds.
    """
    return round(number * SECOND / _exact(rate))


def exposure_stamps(camera: Camera, stamp: int) -> list[int]:
    """Moments of the exposure of the frame with a stamp, nanoseconds, in order.

    Args:
        stamp: of the frame, nanoseconds.

    Returns:
        The middles of as many equal parts of the exposure as the camera has exposure samples, nanoseconds. Where rays
        have times of their own: the ends of these parts, one stamp more, the first being the frame's.
    """
    parts = 2 * camera.exposure_samples
    whole = SECOND * _open_time(camera)
    if camera.has_ray_times:
        return [stamp + round(2 * i * whole / parts) for i in range(camera.exposure_samples + 1)]
    return [stamp + round((2 * i + 1) * whole / parts) for i in range(camera.exposure_samples)]


def middle_stamp(camera: Camera, stamp: int) -> int:
    """The middle of that exposure: what stands where the smear's middle is.

    Args:
        stamp: of the frame, nanoseconds.

    Returns:
        Nanoseconds.
    """
    return stamp + round(SECOND * _open_time(camera) / 2)


def ready_stamp(camera: Camera, stamp: int) -> int:
    """When the frame is handed over.

    Args:
        stamp: of the frame, nanoseconds.

    Returns:
        Nanoseconds.
    """
    return stamp + round(SECOND * max(_exact(camera.lag), _open_time(camera)))


def _open_time(camera: Camera) -> Fraction:
    """Seconds from the stamp until the last row has been exposed."""
    return _exact(camera.exposure_time) + _exact(camera.line_time) * (camera.lens.size[1] - 1)


def _exact(number: float) -> Fraction:
    """What a person meant who wrote the number in decimals: 29.97 is 2997 / 100."""
    return Fraction(repr(float(number)))
