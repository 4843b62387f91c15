"""A small world of boxes in space, as Gazebo, Isaac Sim, CARLA and Chrono::ROS send it, and as rays see it."""

import json

import numpy as np
from bag_samples import TYPES, header, write_mcap
from rosbags.typesys import get_types_from_msg
from scipy.spatial.transform import Rotation
from simulated_worlds import raw_image, stamps

from simjudge.geometry.poses import Pose

WIDTH, HEIGHT, FOCAL = 96, 64, 80.0
STAMPS = stamps(3)
CARLA = "derived_object_msgs/msg/Object"
if CARLA not in TYPES.types:
    fields = (
        "std_msgs/Header header\nuint32 id\nuint8 detection_level\nbool object_classified\ngeometry_msgs/Pose pose\n"
        "geometry_msgs/Twist twist\ngeometry_msgs/Accel accel\ngeometry_msgs/Polygon polygon\n"
        "shape_msgs/SolidPrimitive shape\nuint8 classification\nuint8 classification_certainty\n"
        "uint32 classification_age\n"
    )
    TYPES.register(get_types_from_msg(fields, CARLA))
    array = "std_msgs/Header header\nderived_object_msgs/Object[] objects\n"
    TYPES.register(get_types_from_msg(array, CARLA + "Array"))
# Class, middle, yaw, size: the second stands partly behind the first, the third is too far, the last is behind.
CARS = [
    ("car", (8.0, 0.6, 0.75), 0.4, (3.0, 1.5, 1.5)),
    ("truck", (13.0, -0.4, 1.25), -0.3, (5.0, 2.0, 2.5)),
    ("car", (90.0, 3.0, 0.75), 0.0, (3.0, 1.5, 1.5)),
    ("car", (9.0, -4.0, 0.75), 1.2, (3.0, 1.5, 1.5)),
    ("car", (-6.0, 0.0, 0.75), 0.0, (3.0, 1.5, 1.5)),
]


def camera_at(stamp):
    """The camera's body in the world: it drives ahead."""
    return Pose.from_euler((stamp - STAMPS[0]) / 1e9 * 5, 0.2, 1.2, yaw=0.05, pitch=0.06)


def entry(origins, rays, pose, size):
    """Where rays enter a box, by the slabs of its sides; infinite where they miss it."""
    turn = Rotation.from_quat(pose.orientation)
    origin, along = turn.inv().apply(origins - np.array(pose.position)), turn.inv().apply(rays)
    with np.errstate(divide="ignore", invalid="ignore"):
        near, far = ((sign * np.array(size) / 2 * np.sign(along) - origin) / along for sign in (-1, 1))
    enters, leaves = near.max(-1), far.min(-1)
    return np.where((enters <= leaves) & (enters > 0), enters, np.inf)


def expected(stamp, min_visible=0.25):
    """Class and box of what is labelled, by a ray through each pixel's centre; and its visible share and distance."""
    camera = camera_at(stamp)
    margin = 200
    x, y = np.meshgrid(np.arange(-margin, WIDTH + margin) + 0.5, np.arange(-margin, HEIGHT + margin) + 0.5)
    ahead = np.stack([np.ones_like(x), -(x - WIDTH / 2) / FOCAL, -(y - HEIGHT / 2) / FOCAL], -1).reshape(-1, 3)
    rays = Rotation.from_quat(camera.orientation).apply(ahead)
    hits = np.stack([entry(np.array(camera.position), rays, placed(car), car[3]) for car in CARS])
    first = np.where(np.isfinite(hits.min(0)), hits.argmin(0), -1).reshape(x.shape)
    inside = np.s_[margin : margin + HEIGHT, margin : margin + WIDTH]
    out = []
    for number, (name, middle, _, _) in enumerate(CARS):
        rows, columns = np.nonzero(first[inside] == number)
        if not len(rows) or min(np.ptp(rows), np.ptp(columns)) + 1 < 5:
            continue
        share = len(rows) / np.isfinite(hits[number]).sum()
        if share >= min_visible:
            box = (columns.min(), rows.min(), columns.max() + 1, rows.max() + 1)
            distance = np.linalg.norm(np.array(middle) - camera.position)
            out.append((name, *map(float, box), round(share, 3), round(float(distance), 6)))
    return sorted(out)


def placed(car):
    _, middle, yaw, _ = car
    return Pose.from_euler(*middle, yaw=yaw)


def found(frames, index):
    table = frames.objects
    return sorted(
        (
            frames.class_names[int(table.class_id[row])],
            *table.box[row].tolist(),
            round(float(table.visible[row]), 3),
            round(float(table.distance[row]), 6),
        )
        for row in np.flatnonzero(table.frame == index).tolist()
    )


def new(name, *values):
    return TYPES.types[name](*values)


def pose_message(pose):
    x, y, z, w = pose.orientation
    return new(
        "geometry_msgs/msg/Pose",
        new("geometry_msgs/msg/Point", *pose.position),
        new("geometry_msgs/msg/Quaternion", x, y, z, w),
    )


def head(stamp, frame):
    made = header(stamp)
    made.frame_id = frame
    return made


def camera_info(stamp, frame):
    """As all of them send it: the principal point is half the width, counted from the first pixel's corner."""
    k = np.array([FOCAL, 0, WIDTH / 2, 0, FOCAL, HEIGHT / 2, 0, 0, 1])
    p = np.array([FOCAL, 0, WIDTH / 2, 0, 0, FOCAL, HEIGHT / 2, 0, 0, 0, 1, 0])
    region = new("sensor_msgs/msg/RegionOfInterest", 0, 0, 0, 0, False)
    return new(
        "sensor_msgs/msg/CameraInfo",
        head(stamp, frame),
        HEIGHT,
        WIDTH,
        "plumb_bob",
        np.zeros(5),
        k,
        np.eye(3).reshape(-1),
        p,
        0,
        0,
        region,
    )


def transform(stamp, parent, child, pose):
    x, y, z, w = pose.orientation
    made = new(
        "geometry_msgs/msg/Transform",
        new("geometry_msgs/msg/Vector3", *pose.position),
        new("geometry_msgs/msg/Quaternion", x, y, z, w),
    )
    return new("tf2_msgs/msg/TFMessage", [new("geometry_msgs/msg/TransformStamped", head(stamp, parent), child, made)])


def detections(stamp, frame, rows):
    items = []
    for kind, pose, size in rows:
        guess = new(
            "vision_msgs/msg/ObjectHypothesisWithPose",
            new("vision_msgs/msg/ObjectHypothesis", kind, 1.0),
            new("geometry_msgs/msg/PoseWithCovariance", pose_message(pose), np.zeros(36)),
        )
        box = new("vision_msgs/msg/BoundingBox3D", pose_message(pose), new("geometry_msgs/msg/Vector3", *size))
        items.append(new("vision_msgs/msg/Detection3D", head(stamp, frame), [guess], box, ""))
    return new("vision_msgs/msg/Detection3DArray", head(stamp, frame), items)


def gazebo(stamp):
    """In the renderer's axes (x right, y up, z back), whatever the header says."""
    renderer = camera_at(stamp) @ Pose.from_matrix([[0, 0, -1, 0], [-1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 1]])
    numbers = {"car": "1", "truck": "2"}
    rows = [(numbers[car[0]], renderer.inverse() @ placed(car), car[3]) for car in CARS]
    yield "/boxes_3d", detections(stamp, "camera_link", rows)
    yield "/camera/camera_info", camera_info(stamp, "camera_link")


def isaac(stamp):
    """In the world's frame, whatever the header says; the numbers' names in JSON."""
    names = {"0": {"class": "car"}, "1": {"class": "truck"}}
    ids = {"car": "0", "truck": "1"}
    yield "/bbox_3d", detections(stamp, "sim_camera", [(ids[car[0]], placed(car), car[3]) for car in CARS])
    yield "/semantic_labels_3d", new("std_msgs/msg/String", json.dumps(names))
    yield "/camera_info", camera_info(stamp, "sim_camera")
    yield "/tf", transform(stamp, "world", "sim_camera", camera_at(stamp).optical_frame())


def carla(stamp):
    """All actors in the map, each at the middle of its base."""
    objects = []
    numbers = {"car": 6, "truck": 7}
    zero = new("geometry_msgs/msg/Vector3", 0.0, 0.0, 0.0)
    for number, (name, (x, y, z), yaw, size) in enumerate(CARS):
        polygon = new("geometry_msgs/msg/Polygon", [])
        shape = new("shape_msgs/msg/SolidPrimitive", 1, np.array(size), polygon)
        pose = pose_message(Pose.from_euler(x, y, z - size[2] / 2, yaw=yaw))
        twist, accel = new("geometry_msgs/msg/Twist", zero, zero), new("geometry_msgs/msg/Accel", zero, zero)
        known = (head(stamp, "map"), number, 0, True, pose, twist, accel, polygon, shape, numbers[name], 255, 1)
        objects.append(new(CARLA, *known))
    yield "/carla/objects", new(CARLA + "Array", head(stamp, "map"), objects)
    yield "/carla/ego/rgb_front/camera_info", camera_info(stamp, "ego/rgb_front")
    yield "/tf", transform(stamp, "map", "ego/rgb_front", camera_at(stamp).optical_frame())


def chrono(stamp):
    """A pose each, its header naming the body itself."""
    for number, car in enumerate(CARS):
        yield (
            f"/output/body{number}/pose",
            new("geometry_msgs/msg/PoseStamped", head(stamp, f"body{number}"), pose_message(placed(car))),
        )
    body = camera_at(stamp) @ Pose.from_euler(0.3, 0.0, 0.4, pitch=0.1).inverse()
    yield "/output/vehicle/pose", new("geometry_msgs/msg/PoseStamped", head(stamp, "vehicle"), pose_message(body))


FORMS = {
    "gazebo": (gazebo, "/camera/image", ["1=car", "2=truck"]),
    "isaac_sim": (isaac, "/rgb", []),
    "carla": (carla, "/carla/ego/rgb_front/image", []),
    "chrono_ros": (chrono, "/chrono/image", []),
}


def photograph():
    ramp = np.arange(HEIGHT * WIDTH * 3) % 251
    return ramp.reshape(HEIGHT, WIDTH, 3).astype(np.uint8)


def recorded(folder, form):
    messages, topic, _ = FORMS[form]
    every = []
    for stamp in STAMPS:
        every += [(name, stamp, message) for name, message in messages(stamp)]
        image = photograph()[::-1] if form == "chrono_ros" else photograph()
        every.append((topic, stamp, raw_image(stamp, image, "rgba8" if form == "chrono_ros" else "rgb8")))
    path = folder / "drive.mcap"
    write_mcap(path, every)
    return path


def simulator(folder, form):
    """The file that comes with simjudge; of Chrono::ROS a copy for these bodies."""
    if form != "chrono_ros":
        return form
    angle = 2 * float(np.degrees(np.arctan(WIDTH / 2 / FOCAL)))
    (folder / "camera.yaml").write_text(f"{{size: [{WIDTH}, {HEIGHT}], rate: 10, field_of_view: {angle!r}}}\n")
    things = "\n".join(
        f"  b{number}: {{name: {name}, topic: /output/body{number}/pose, box: {list(size)}}}"
        for number, (name, _, _, size) in enumerate(CARS)
    )
    path = folder / "chrono.yaml"
    path.write_text(
        f"images: {{upside_down: true, camera: {folder / 'camera.yaml'}, body: /output/vehicle/pose,"
        f" mount: {{position: [0.3, 0, 0.4], pitch: {float(np.degrees(0.1))!r}}}}}\nthings:\n{things}\n"
    )
    return path
