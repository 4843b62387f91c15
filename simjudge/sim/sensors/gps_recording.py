"""The track of a GPS receiver out of a recording."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simjudge.core.arrays import FloatArray, IntArray
from simjudge.core.display import ShortRepr
from simjudge.core.errors import Losses
from simjudge.data.rosbag2.filled_stamps import fill_in_stamps
from simjudge.data.rosbag2.recorded_poses import decoded_messages, header_stamp
from simjudge.data.rosbag2.recording import Recording
from simjudge.data.rosbag2.storage import format_seconds
from simjudge.sim.sensors.inertial.earth import geodetic_to_enu

FIX = "sensor_msgs/msg/NavSatFix"
_LATITUDE = 90.0
_NO_FIX = 0
"""NavSatStatus.status below which there is no fix."""


@dataclass(frozen=True, eq=False, repr=False)
class GpsTrack(ShortRepr):
    """Fixes of a GPS receiver, in the order of the recording.

    Attributes:
        stamp: int64 (N,), nanoseconds: of the headers; where all of those are 0, the times of recording.
        place: (N, 3): latitude and longitude, degrees, and altitude above the ellipsoid, metres.
    """

    topic: str
    stamp: IntArray
    place: FloatArray

    def __len__(self) -> int:
        """The number of fixes."""
        return len(self.stamp)

    def metres(self, about: GpsTrack | None = None) -> FloatArray:
        """The track on a plane.

        Args:
            about: the track whose first fix is the origin; None: this one.

        Returns:
            (N, 3), metres east, north and up of that fix, in its tangent plane.
        """
        latitude, longitude, altitude = (about or self).place[0].tolist()
        return geodetic_to_enu(self.place, (longitude, latitude, altitude))


def read_gps(recording: Recording, topic: str, losses: Losses) -> GpsTrack:
    """Read sensor_msgs/NavSatFix messages.

    Args:
        losses: takes messages that cannot be decoded, that say they have no fix, or whose numbers are no place. An
            altitude that is not finite counts as 0: receivers without one write NaN.
    """
    stamps, times, places = [], [], []
    for stored, message in decoded_messages(recording, {topic}, losses):
        place = (float(message.latitude), float(message.longitude), float(message.altitude))
        where = f"{recording.path}: {topic} at {format_seconds(stored.time)}"
        if message.status.status < _NO_FIX:
            losses.add("GPS messages without a fix", where)
        elif not (abs(place[0]) <= _LATITUDE and np.isfinite(place[1])):
            losses.add("GPS messages whose numbers are no place", where)
        else:
            stamps.append(header_stamp(message.header))
            times.append(stored.time)
            places.append((*place[:2], place[2] if np.isfinite(place[2]) else 0.0))
    stamp = np.array(fill_in_stamps(stamps, times, f"{recording.path}: {topic}"), np.int64)
    return GpsTrack(topic, stamp, np.array(places, np.float64).reshape(-1, 3))
