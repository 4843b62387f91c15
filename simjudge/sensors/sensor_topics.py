"""The topics of a car's sensors beside the camera.

Where there is one sensor of a kind, its topic is the usual one: imu/data, imu/mag, gps/fix, scan/points,
wheels/joint_states;
where there are several, each has its own name in front of the slash. One accelerometer and one gyroscope at the same
place share imu/data.
"""

from __future__ import annotations

from collections.abc import Sequence

from simjudge.sensors.sensor_spec import SensorSpec

_INERTIAL = "imu/data"
_USUAL = {
    "accelerometer": _INERTIAL,
    "gyroscope": _INERTIAL,
    "imu": _INERTIAL,
    "magnetometer": "imu/mag",
    "gps": "gps/fix",
    "encoders": "wheels/joint_states",
    "lidar": "scan/points",
}


def sensor_topics(specs: Sequence[SensorSpec]) -> dict[str, str]:
    """The topic of each sensor by its name, as the module says.

    Args:
        specs: the sensors of one car.

    Returns:
        Topics by the sensor's name.
    """
    inertial = [spec for spec in specs if _USUAL[spec.kind] == _INERTIAL]
    kinds = [spec.kind for spec in specs]
    topics = {}
    for spec in specs:
        usual = _USUAL[spec.kind]
        one = kinds.count(spec.kind) == 1 if spec not in inertial else len(inertial) == 1 or _are_one(inertial)
        topics[spec.name] = usual if one else f"{spec.name}/{usual.split('/')[1]}"
    return topics


def _are_one(inertial: Sequence[SensorSpec]) -> bool:
    """Whether they are an accelerometer and a gyroscope at one place."""
    mounts = {(spec.body, spec.mount.position, spec.mount.orientation) for spec in inertial}
    return sorted(spec.kind for spec in inertial) == ["accelerometer", "gyroscope"] and len(mounts) == 1
