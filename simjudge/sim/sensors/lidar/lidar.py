"""What a lidar is, once read: its beams, when they fire, what they measure, and how well.

Metres, seconds, radians. The sensor's frame has x ahead, y left, z up (REP 103); azimuth goes counter-clockwise seen
from above, from x towards y; elevation goes up from the horizontal plane.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal

Returns = Literal["strongest", "first", "last", "mean", "dual"]


@dataclass(frozen=True)
class LidarNoise:
    """Standard deviations of what the device measures.

    Attributes:
        range: metres; grows along a line with the range r: range[0] + range[1] r.
        azimuth, elevation: radians.
        intensity: in the unit of the intensity as it is reported.
        drop_out: probability that a return is lost, each on its own.
    """

    range: tuple[float, float] = (0.0, 0.0)
    azimuth: float = 0.0
    elevation: float = 0.0
    intensity: float = 0.0
    drop_out: float = 0.0

    def __bool__(self) -> bool:
        """Whether there is any noise."""
        return any((*self.range, self.azimuth, self.elevation, self.intensity, self.drop_out))


@dataclass(frozen=True)
class LidarIntensity:
    """How the light that comes back is turned into the intensity that is reported.

    Attributes:
        falloff: metres; what comes from farther away is weaker by (falloff / r)^2. inf: distance does not count.
        calibrated: report what came back as if distance did not count, as devices do that report reflectivity; what is
            lost below the threshold is lost all the same.
        scale: reported for a white surface that faces the beam.
        levels: the largest number that is reported, where the device reports whole numbers; 0: any number.
    """

    falloff: float = math.inf
    calibrated: bool = True
    scale: float = 1.0
    levels: int = 0


@dataclass(frozen=True)
class Lidar:
    """A lidar.

    Attributes:
        rate: turns (scans) a second.
        field_of_view: width of the horizontal field, radians; 2 pi is a full turn.
        elevation: of each ring's beam, radians, the lowest ring first.
        range: nearest and farthest that is measured, metres.
        window: seconds that a turn takes, at most 1 / rate; 0: all beams at once, at the stamp.
        clockwise: whether the head turns clockwise seen from above, as most devices do.
        start: azimuth at which a turn begins, radians; None: at the right end of the field, or the left one where the
            head turns clockwise.
        ring_azimuth: of each ring, added to the column's azimuth, radians; () for none.
        ring_delay: of each ring, seconds after the column's time; () for none. The head turns on meanwhile.
        head_deviation: azimuth of the head less that of a head that turns evenly, radians, at equal steps of time from
            the first column's firing to the end of the window, linear in between; () for none.
        divergence: full angles of a beam, horizontal and vertical, radians.
        samples: R: a beam is (2R - 1)^2 rays.
        resolution: surfaces closer together than this along a beam give one return, metres.
        returns: which return is reported, see `simjudge.sim.sensors.lidar.returns`.
        threshold: returns weaker than this are lost; 1 is a white surface that faces the whole beam nearby.
        intensity: of the intensity that is reported.
        deskew: whether points are given in the sensor's frame at the stamp, instead of that of their own instant.
    """

    name: str
    rate: float
    columns: int
    elevation: tuple[float, ...]
    range: tuple[float, float]
    field_of_view: float = 2 * math.pi
    window: float = 0.0
    clockwise: bool = False
    start: float | None = None
    ring_azimuth: tuple[float, ...] = ()
    ring_delay: tuple[float, ...] = ()
    head_deviation: tuple[float, ...] = ()
    divergence: tuple[float, float] = (0.0, 0.0)
    samples: int = 1
    resolution: float = 0.1
    returns: Returns = "strongest"
    threshold: float = 0.0
    intensity: LidarIntensity = field(default_factory=LidarIntensity)
    noise: LidarNoise = field(default_factory=LidarNoise)
    deskew: bool = False

    @property
    def full_turn(self) -> bool:
        """Whether the field is a full turn."""
        return self.field_of_view > 2 * math.pi - 1e-9
