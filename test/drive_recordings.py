"""A small recording of a drive: a lidar on a tilted mount, boxes, a camera, odometry, GPS and IMU with their truth."""

import math

import numpy as np
from bag_samples import SECOND, TYPES, image, write_mcap

from simjudge.data.rosbag2.cloud_writing import cloud_message
from simjudge.sim.sensors.lidar.scan import POINT

CLOUDS, RATE = 5, 10
START = 1_700_000_000 * SECOND
MOUNT = (0.5, 0.0, 1.0)
"""Of the lidar in base_link, metres; it is turned left by 90 degrees."""
PLACE = (43.0717, -89.412, 260.0)
"""Of the first fix: degrees north and east, metres."""
OFFSETS = {"gyroscope": (0.01, -0.02, 0.03), "accelerometer": (0.1, 0.2, -0.3)}
"""By which the IMU's readings are off, rad/s and m/s^2."""
METRES_NORTH = 2.0
"""That the GPS receiver's second fix is beside the truth."""


def message(kind, *values):
    return TYPES.types[kind](*values)


def header(stamp, frame):
    seconds, nanoseconds = divmod(stamp, SECOND)
    return message("std_msgs/msg/Header", message("builtin_interfaces/msg/Time", seconds, nanoseconds), frame)


def vector(values, kind="Vector3"):
    return message(f"geometry_msgs/msg/{kind}", *(float(value) for value in values))


def cloud(stamp, points, *, ring=None, frame="roof_link"):
    table = np.zeros(len(points), POINT)
    table["x"], table["y"], table["z"] = np.asarray(points, np.float64).T
    table["ring"] = np.arange(len(points)) % 4 if ring is None else ring
    return cloud_message(TYPES.types.__getitem__, header(stamp, frame), table)


def points_of(number):
    """In the lidar's frame: ahead of the car is -y; one more point in each cloud, one without a place."""
    places = [(float(k % 3), -5.0 - k, 0.1 * k) for k in range(20 + number)]
    return np.array([*places, (math.nan, 0.0, 0.0)])


def boxes(stamp):
    pose = message("geometry_msgs/msg/Pose", vector((0.0, -6.0, 0.5), "Point"), vector((0, 0, 0, 1), "Quaternion"))
    made = [
        message("simjudge_msgs/msg/LabelledBox", number, name, number, pose, vector((1.0, 2.0, 3.0)), 5)
        for number, name in ((1, "red cone"), (2, "green cone"))
    ]
    return message("simjudge_msgs/msg/LabelledBoxArray", header(stamp, "roof_link"), made)


def mounts():
    turned = vector((0, 0, math.sin(math.pi / 4), math.cos(math.pi / 4)), "Quaternion")
    transform = message("geometry_msgs/msg/Transform", vector(MOUNT), turned)
    link = message("geometry_msgs/msg/TransformStamped", header(START, "base_link"), "roof_link", transform)
    return message("tf2_msgs/msg/TFMessage", [link])


def odometry(stamp, x):
    pose = message("geometry_msgs/msg/Pose", vector((x, 0, 0), "Point"), vector((0, 0, 0, 1), "Quaternion"))
    twist = message("geometry_msgs/msg/Twist", vector((1, 0, 0)), vector((0, 0, 0)))
    covariance = np.zeros(36)
    return message(
        "nav_msgs/msg/Odometry",
        header(stamp, "odom"),
        "base_link",
        message("geometry_msgs/msg/PoseWithCovariance", pose, covariance),
        message("geometry_msgs/msg/TwistWithCovariance", twist, covariance),
    )


def fix(stamp, latitude, longitude=PLACE[1], *, altitude=PLACE[2], status=0):
    said = message("sensor_msgs/msg/NavSatStatus", status, 1)
    return message(
        "sensor_msgs/msg/NavSatFix", header(stamp, "gps_link"), said, latitude, longitude, altitude, np.zeros(9), 0
    )


def imu(stamp, turning, force):
    return message(
        "sensor_msgs/msg/Imu",
        header(stamp, "imu_link"),
        vector((0, 0, 0, 1), "Quaternion"),
        np.zeros(9),
        vector(turning),
        np.zeros(9),
        vector(force),
        np.zeros(9),
    )


def drive_messages():
    """Everything, by topic, in order of time."""
    out = [("/tf_static", START, mounts())]
    for number in range(CLOUDS):
        stamp = START + number * SECOND // RATE
        out += [
            ("/scan/points", stamp, cloud(stamp, points_of(number))),
            ("/scan/points/ground_truth", stamp, cloud(stamp, points_of(number))),
            ("/scan/points/boxes", stamp, boxes(stamp)),
            ("/camera/image_raw", stamp, image(stamp + 20_000_000, 64, 48, 40 * number)),
            ("/vehicle/odometry", stamp, odometry(stamp, 0.5 * number)),
        ]
    north = METRES_NORTH / meridian_radius() * 180 / math.pi
    for number in range(2):
        stamp = START + number * SECOND
        out += [
            ("/gps/fix", stamp, fix(stamp, PLACE[0] + number * north)),
            ("/gps/fix/ground_truth", stamp, fix(stamp, PLACE[0])),
        ]
    for number in range(10):
        stamp = START + number * SECOND // 100
        turning, force = np.array([0.1 * number, 0, 0]), np.array([0, 0, 9.81])
        off = [turning + OFFSETS["gyroscope"], force + OFFSETS["accelerometer"]]
        out += [("/imu/data", stamp, imu(stamp, *off)), ("/imu/data/ground_truth", stamp, imu(stamp, turning, force))]
    return out


def meridian_radius():
    """Of WGS 84 at the place, at its height: metres for a radian of latitude."""
    a, f = 6378137.0, 1 / 298.257223563
    e2 = f * (2 - f)
    return a * (1 - e2) / (1 - e2 * math.sin(math.radians(PLACE[0])) ** 2) ** 1.5 + PLACE[2]


def write_drive(path, messages=None):
    write_mcap(path, drive_messages() if messages is None else messages)
    return path
