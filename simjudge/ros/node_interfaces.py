"""The topics and services of every node: names, types, quality of service, purpose.

The nodes make their publishers, subscriptions and services from these tables (`simjudge.nodes.runtime`). The tables
and the drawing of docs/reference/ros.md, and the checks of the RViz layouts, come from the same tables.
"""

from __future__ import annotations

from typing import NamedTuple, NoReturn

# Quality of service of images: best effort where large shared memory is set up, else reliable. Subscriptions ask for
# best effort, which fits every publisher.
CAMERA = "camera"
RELIABLE = "reliable"  # Reliable and volatile
LATCHED = "latched"  # Reliable and transient local: a late subscriber gets the last messages too
RECORDED = "as recorded"  # As the publishers of the recording offered it

_IMAGE = "sensor_msgs/msg/Image"
_JPEG = "sensor_msgs/msg/CompressedImage"
_TRANSFORMS = "tf2_msgs/msg/TFMessage"
_DETECTIONS_2D = "vision_msgs/msg/Detection2DArray"
_DETECTIONS_3D = "vision_msgs/msg/Detection3DArray"


class Endpoint(NamedTuple):
    """A topic at a node."""

    topic: str  # its name, relative to the node's namespace unless it begins with a slash
    type: str
    qos: str  # what is offered or requested: CAMERA, RELIABLE, LATCHED or RECORDED
    purpose: str
    when: str = ""  # the condition under which the endpoint exists, "" for always
    depth: int = 10
    type_parameter: str = ""  # the node's parameter that may name another message type, "" for none
    reliability_parameter: str = ""  # the node's parameter that sets the reliability, "" for none


class Service(NamedTuple):
    """A service of a node."""

    name: str  # `~` stands for the node's own name
    type: str
    purpose: str
    when: str = ""  # the condition under which it exists, "" for always


class NodeInterface(NamedTuple):
    """A node's topics and services. Every node publishes /diagnostics too."""

    publishes: tuple[Endpoint, ...] = ()
    subscribes: tuple[Endpoint, ...] = ()
    serves: tuple[Service, ...] = ()

    def publisher(self, topic: str) -> Endpoint:
        """The declaration of a published topic."""
        return _find(self.publishes, topic)

    def subscription(self, topic: str) -> Endpoint:
        """The declaration of a topic that the node subscribes to."""
        return _find(self.subscribes, topic)

    def service(self, name: str) -> Service:
        """The declaration of a service."""
        return next((serve for serve in self.serves if serve.name == name), None) or _missing(name)


def _find(endpoints: tuple[Endpoint, ...], topic: str) -> Endpoint:
    return next((endpoint for endpoint in endpoints if endpoint.topic == topic), None) or _missing(topic)


def _missing(name: str) -> NoReturn:
    raise KeyError(f"{name} is not declared in simjudge/ros/node_interfaces.py")


DIAGNOSTICS = Endpoint(
    "/diagnostics", "diagnostic_msgs/msg/DiagnosticArray", RELIABLE, "state of every task of a node, once a second"
)
_RAW = Endpoint("camera/image_raw", _IMAGE, CAMERA, "the camera's images")
_COMPRESSED = Endpoint("camera/image_raw/compressed", _JPEG, CAMERA, "the same, as JPEG or PNG")
_IMAGES = (_RAW, _COMPRESSED)
_LABELS = Endpoint(
    "camera/ground_truth", "simjudge_msgs/msg/LabelledObjectArray", RELIABLE, "labels, by an image's stamp"
)
_DETECTIONS = Endpoint(
    "camera/detections", "simjudge_msgs/msg/DetectionArray", RELIABLE, "what a detector found, by that stamp", depth=100
)
_SUMMARY = Endpoint("validation/summary", "simjudge_msgs/msg/ValidationSummary", LATCHED, "all of result.json, so far")
_CONTEXTS = Endpoint(
    "validation/contexts", "simjudge_msgs/msg/ContextPerformanceArray", RELIABLE, "a frame's contexts, W1"
)
_CAMERA_INFO = Endpoint("camera/camera_info", "sensor_msgs/msg/CameraInfo", CAMERA, "the lens")
_ODOMETRY = Endpoint("vehicle/odometry", "nav_msgs/msg/Odometry", RELIABLE, "how the car moves")
_INPUT = Endpoint(
    "vehicle/input",
    "simjudge_msgs/msg/VehicleInput",
    RELIABLE,
    "what the driver does, or another type by `input_type`",
    depth=100,
    type_parameter="input_type",
)
_OUTPUT = _INPUT._replace(
    purpose="what the driver does, or another type by `output_type`", type_parameter="output_type"
)
_CLOCK = Endpoint("/clock", "rosgraph_msgs/msg/Clock", RELIABLE, "simulated time")
_TF = Endpoint("/tf", _TRANSFORMS, RELIABLE, "where frames are")
_TF_STATIC = Endpoint("/tf_static", _TRANSFORMS, LATCHED, "where frames are that do not move", depth=1)
_PAUSE = Service("~/pause", "std_srvs/srv/SetBool", "pause, or go on")

_WITH_DEPTH = "with a `camera` that has depth"
# Topics of `simjudge.nodes.simulated_car`.
_SIMULATED_CAMERA = (
    _RAW._replace(depth=30),
    _COMPRESSED._replace(depth=30),
    _LABELS._replace(depth=30),
    _CAMERA_INFO._replace(depth=30),
    Endpoint("camera/semantic", _IMAGE, CAMERA, "class of every pixel, 8UC1", depth=30),
    Endpoint("camera/instance", _IMAGE, CAMERA, "instance of every pixel, 16UC1", depth=30),
    Endpoint("camera/depth/image_raw", _IMAGE, CAMERA, "metres of every pixel, 32FC1", _WITH_DEPTH, depth=30),
    _CAMERA_INFO._replace(topic="camera/depth/camera_info", when=_WITH_DEPTH, depth=30),
)
# Odometry comes often, and a node that works on an image reads it late: deep queues.
# Topics of `simjudge.nodes.simulated_car`.
_SIMULATED_CAR = (_ODOMETRY._replace(depth=200), _TF._replace(depth=200), _TF_STATIC, _CLOCK._replace(depth=200))
# More of them, of a car whose figures are known.
_DESCRIBED_CAR = (
    Endpoint(
        "joint_states", "sensor_msgs/msg/JointState", RELIABLE, "angles and speeds of steering and wheels", depth=200
    ),
    Endpoint("robot_description", "std_msgs/msg/String", LATCHED, "the car as URDF", depth=1),
)
# Topics of `simjudge.nodes.sim_sensors` by the default names; a sensors file may name others.
RIDING_SENSORS = tuple(
    Endpoint(
        topic,
        f"sensor_msgs/msg/{kind}",
        RELIABLE,
        purpose,
        "with `sensors`, each where there is one of its kind",
        depth=depth,
    )
    for topic, kind, purpose, depth in (
        ("imu/data", "Imu", "acceleration and turning, without orientation", 200),
        ("imu/mag", "MagneticField", "the earth's field", 200),
        ("gps/fix", "NavSatFix", "where the car is on earth", 200),
        ("scan/points", "PointCloud2", "x, y, z, intensity of a lidar's turn", 5),
    )
)
_MARKERS, _PATH = "visualization_msgs/msg/MarkerArray", "nav_msgs/msg/Path"
# Topics of `simjudge.nodes.sim_sensors` and `sensor_views` beside those of the sensors.
_BESIDE_SENSORS = (
    Endpoint(
        "scan/laser",
        "sensor_msgs/msg/LaserScan",
        RELIABLE,
        "the turn of a lidar with one level ring",
        "with such a lidar in `sensors`",
    ),
    Endpoint(
        "scan/points/boxes",
        "simjudge_msgs/msg/LabelledBoxArray",
        RELIABLE,
        "3-D boxes of the labelled things",
        "with a lidar in `sensors`",
    ),
    Endpoint(
        "scan/points/boxes/markers",
        _MARKERS,
        RELIABLE,
        "the boxes as cubes with their classes, for RViz",
        "with a lidar in `sensors`",
    ),
    Endpoint(
        "scan/points/boxes/vision",
        _DETECTIONS_3D,
        RELIABLE,
        "the boxes again",
        "with a lidar in `sensors`, where vision_msgs is installed",
    ),
    Endpoint(
        "radar/detections",
        "sensor_msgs/msg/PointCloud2",
        RELIABLE,
        "x, y, z, radial_velocity, rcs, snr of a radar's detections",
        "with a radar in `sensors`",
    ),
    Endpoint(
        "radar/scan",
        "radar_msgs/msg/RadarScan",
        RELIABLE,
        "the detections again",
        "with a radar in `sensors`, where radar_msgs is installed",
    ),
    Endpoint(
        "imu/data/markers",
        _MARKERS,
        RELIABLE,
        "acceleration and turn rate as arrows, for RViz",
        "with an IMU in `sensors`",
    ),
    Endpoint("gps/fix/path", _PATH, RELIABLE, "the fixes in the odometry frame, for RViz", "with a GPS in `sensors`"),
)


def sensor_endpoint(topic: str, message_type: str) -> Endpoint:
    """A topic of a simulated sensor, under whatever name: as deep as the one of its type that is stated."""
    stated = (*RIDING_SENSORS, *_BESIDE_SENSORS, *_DESCRIBED_CAR)
    depth = next(
        (endpoint.depth for endpoint in stated if endpoint.type == message_type), Endpoint._field_defaults["depth"]
    )
    return Endpoint(topic, message_type, RELIABLE, "a sensor", depth=depth)


_SCANS = Endpoint("scan/points", "sensor_msgs/msg/PointCloud2", RELIABLE, "scans")
_WITH_DRIVES = "with `reference_drives`"
_OF_LIDARS = "with `sensor` lidar or both"
_WATCHED_DEPTH = 100
# What watch_node looks for: every topic of these types but the truth beside another, as its publisher offers it.
WATCHED_SENSORS = tuple(
    Endpoint(topic, kind, RELIABLE, purpose, "and all others of this type", depth=depth)
    for topic, kind, purpose, depth in (
        *(
            (endpoint.topic, endpoint.type, endpoint.purpose, endpoint.depth)
            for endpoint in RIDING_SENSORS
            if "mag" not in endpoint.topic
        ),
        *((endpoint.topic, endpoint.type, endpoint.purpose, endpoint.depth) for endpoint in _BESIDE_SENSORS[:2]),
        ("scan/points/cuboids", "simjudge_msgs/msg/DetectedBoxArray", "3-D boxes that a detector found", 10),
    )
)

# The interface of each node, by the node's name.
NODES: dict[str, NodeInterface] = {
    "camera_bridge_node": NodeInterface(
        tuple(
            endpoint._replace(depth=30, reliability_parameter="publish_reliability")
            for endpoint in (
                *_IMAGES,
                _CAMERA_INFO._replace(when="with a calibration"),
                Endpoint("camera/image_rect", _IMAGE, CAMERA, "undistorted images", "with a calibration"),
            )
        ),
        (
            Endpoint("image", _IMAGE, CAMERA, "a real camera's images"),
            Endpoint("image/compressed", _JPEG, CAMERA, "the same, as JPEG or PNG"),
        ),
    ),
    "detection_node": NodeInterface(
        (
            _DETECTIONS,
            Endpoint("camera/detections/overlay", _IMAGE, CAMERA, "the image with detections drawn on it", depth=5),
            Endpoint(
                "camera/detections/vision",
                _DETECTIONS_2D,
                RELIABLE,
                "the detections again",
                "where vision_msgs is installed",
                depth=100,
            ),
        ),
        _IMAGES,
    ),
    "ground_truth_node": NodeInterface(
        (_LABELS._replace(depth=100),),
        (
            Endpoint(
                "simulator/pictures",
                _IMAGE,
                CAMERA,
                "another simulator's instance or semantic pictures",
                "with `form` pictures",
                depth=100,
            ),
            Endpoint(
                "simulator/boxes",
                _DETECTIONS_2D,
                RELIABLE,
                "boxes that another simulator draws, or another type by `boxes_type`",
                "with `form` boxes",
                depth=100,
                type_parameter="boxes_type",
            ),
            Endpoint(
                "simulator/solids",
                _DETECTIONS_3D,
                RELIABLE,
                "boxes in space of another simulator, or another type by `solids_type`",
                "with `form` solids",
                depth=100,
                type_parameter="solids_type",
            ),
            Endpoint(
                "simulator/images",
                _IMAGE,
                CAMERA,
                "the images, whose stamps are labelled, or another type by `images_type`",
                "with `form` things",
                depth=100,
                type_parameter="images_type",
            ),
            Endpoint(
                "simulator/names",
                "std_msgs/msg/String",
                RELIABLE,
                "JSON that says what their numbers mean",
                "with a simulator that says it",
                depth=100,
            ),
            _CAMERA_INFO._replace(when="with `form` boxes, solids or things"),
            *(endpoint._replace(when="with `form` solids or things", depth=100) for endpoint in (_TF, _TF_STATIC)),
        ),
    ),
    "validation_node": NodeInterface(
        (
            _SUMMARY._replace(depth=1),
            _CONTEXTS._replace(when="live"),
            Endpoint(
                "validation/overlay",
                _IMAGE,
                CAMERA,
                "the image, boxes coloured by W1, the verdict in its colour, the numbers so far",
                "live",
                depth=2,
            ),
            Endpoint(
                "validation/objects",
                _MARKERS,
                RELIABLE,
                "the objects of a judged frame where they are, coloured by W1, with a legend, for RViz",
                "live",
                depth=1,
            ),
            Endpoint(
                "validation/markers", _MARKERS, LATCHED, "verdicts in their colours and the numbers, for RViz", depth=1
            ),
            Endpoint(
                "validation/text",
                "visualization_msgs/msg/Marker",
                LATCHED,
                "verdict, gap and W1 of all classes and of each, above the camera, for RViz",
                depth=1,
            ),
            Endpoint(
                "validation/drives",
                "std_msgs/msg/String",
                LATCHED,
                "all of drives.json, so far, as JSON",
                _WITH_DRIVES,
                depth=1,
            ),
        ),
        (
            _LABELS._replace(
                when="live", depth=1000, type_parameter="ground_truth_type", reliability_parameter="boxes_reliability"
            ),
            _DETECTIONS._replace(
                when="live", depth=1000, type_parameter="detections_type", reliability_parameter="boxes_reliability"
            ),
            *(endpoint._replace(when="live, while somebody looks at the overlay") for endpoint in _IMAGES),
            _CAMERA_INFO._replace(when="live, while somebody looks at the objects", depth=5),
            _ODOMETRY._replace(when=_WITH_DRIVES, depth=1000),
            _INPUT._replace(when=_WITH_DRIVES, depth=1000),
        ),
        (
            Service(
                "~/load_reference", "simjudge_msgs/srv/LoadReference", "compare with another set from now on", "live"
            ),
            Service("~/reset", "simjudge_msgs/srv/Reset", "forget the live frames so far", "live"),
            Service("~/save_report", "simjudge_msgs/srv/SaveReport", "write the result so far", "live"),
        ),
    ),
    "objects_node": NodeInterface(
        (
            Endpoint(
                "objects/summary",
                "simjudge_msgs/msg/ObjectSummary",
                LATCHED,
                "what real and virtual sensor say of the same objects",
                depth=1,
            ),
            Endpoint(
                "objects/markers", _MARKERS, LATCHED, "boxes of the newest pair, real red and virtual cyan", depth=1
            ),
            Endpoint(
                "objects/map/markers",
                _MARKERS,
                LATCHED,
                "cells that are occupied in both maps white, in the real one red, in the virtual one cyan",
                _OF_LIDARS,
                depth=1,
            ),
        ),
        (
            *(
                endpoint._replace(
                    topic=f"{side}/{endpoint.topic}",
                    purpose=f"{endpoint.purpose}, of the {side} {sensor}",
                    when=when,
                    depth=depth,
                )
                for side in ("real", "virtual")
                for sensor, when, depth, endpoint in (
                    ("camera", "with `follow` labels", 1000, _LABELS),
                    ("camera", "with `follow` predictions", 1000, _DETECTIONS),
                    ("lidar", _OF_LIDARS, 100, _SCANS),
                    ("lidar", _OF_LIDARS, 1000, _ODOMETRY),
                )
            ),
            _TF_STATIC._replace(when=_OF_LIDARS, depth=100),
        ),
    ),
    "replay_node": NodeInterface(
        (_SIMULATED_CAMERA[0]._replace(purpose="the simulated camera's images"), *_SIMULATED_CAMERA[1:]),
        (
            Endpoint("image", _IMAGE, CAMERA, "a real camera's images", "with `trigger` image"),
            Endpoint("image/compressed", _JPEG, CAMERA, "the same, as JPEG or PNG", "with `trigger` image"),
            Endpoint(
                "camera_info",
                "sensor_msgs/msg/CameraInfo",
                CAMERA,
                "when a real camera took one",
                "with `trigger` camera_info",
                depth=100,
                reliability_parameter="reliability",
            ),
            Endpoint(
                "poses",
                "geometry_msgs/msg/PoseStamped",
                CAMERA,
                "where the body is, or another type by `pose_type`",
                "with `pose_type` pose",
                depth=1000,
                reliability_parameter="pose_reliability",
            ),
            _TF._replace(when="with `pose_type` tf", depth=1000),
            _TF_STATIC._replace(when="with `pose_type` tf", depth=100),
        ),
    ),
    "sim_node": NodeInterface(
        (
            *_SIMULATED_CAMERA,
            Endpoint("NAME/image_raw", _IMAGE, CAMERA, "of a rig's camera NAME, as are all of the above", "with a rig"),
            _DETECTIONS._replace(when="with `ground_truth_detections`"),
            *_SIMULATED_CAR,
            *_DESCRIBED_CAR,
            *RIDING_SENSORS,
            *_BESIDE_SENSORS,
            Endpoint("sim/real_time_factor", "std_msgs/msg/Float64", RELIABLE, "simulated seconds in a second"),
        ),
        (_INPUT,),
        (_PAUSE, Service("~/reset", "std_srvs/srv/Trigger", "all at the start again; time goes on")),
    ),
    "drive_node": NodeInterface(
        (
            _OUTPUT,
            Endpoint("drive/path", "nav_msgs/msg/Path", RELIABLE, "the line that the driver follows"),
            Endpoint(
                "drive/cones",
                "visualization_msgs/msg/MarkerArray",
                RELIABLE,
                "the cones that it knows",
                "with `driver` cones",
            ),
        ),
        (
            _DETECTIONS._replace(when="with `driver` cones"),
            _ODOMETRY._replace(depth=1000),
            _CAMERA_INFO._replace(when="with `driver` cones, without `camera`", depth=5),
            _SCANS._replace(when="with `driver` lidar"),
        ),
    ),
    "manual_node": NodeInterface(
        (_OUTPUT,),
        (
            _ODOMETRY._replace(depth=1000),
            Endpoint("joy", "sensor_msgs/msg/Joy", RELIABLE, "a joystick"),
            Endpoint("cmd_vel", "geometry_msgs/msg/Twist", RELIABLE, "a wanted speed and turn"),
            Endpoint(
                "ackermann_cmd",
                "ackermann_msgs/msg/AckermannDriveStamped",
                RELIABLE,
                "a wanted speed and steering angle",
                "where ackermann_msgs is installed",
            ),
        ),
    ),
    "play_node": NodeInterface(
        (
            *(endpoint._replace(qos=RECORDED, when="recorded") for endpoint in (*_IMAGES, _LABELS)),
            _CLOCK._replace(purpose="the recording's time", when="with `clock` above 0"),
        ),
        (),
        (_PAUSE,),
    ),
    "record_node": NodeInterface(
        (), tuple(endpoint._replace(when="named") for endpoint in (*_IMAGES, _LABELS, _DETECTIONS))
    ),
    "trials_node": NodeInterface(
        (
            Endpoint(
                "policies/sequence", "diagnostic_msgs/msg/DiagnosticStatus", LATCHED, "what is certain so far", depth=1
            ),
        ),
        (
            Endpoint(
                "policies/trials",
                "diagnostic_msgs/msg/DiagnosticStatus",
                RELIABLE,
                "a trial's policy, task and outcome, or another type by `trial_type`",
                depth=1000,
                type_parameter="trial_type",
            ),
        ),
    ),
    "watch_node": NodeInterface(
        (),
        (
            *(
                endpoint._replace(depth=_WATCHED_DEPTH)
                for endpoint in (*_IMAGES, _LABELS, _DETECTIONS, _CONTEXTS, _SUMMARY)
            ),
            _TF_STATIC._replace(depth=100),
            *WATCHED_SENSORS,
        ),
    ),
}

# Nodes with a life cycle, which have the services and the topic of lifecycle_msgs too.
MANAGED_NODES = ("detection_node", "validation_node", "sim_node")

# What a program with a bridge (`simjudge.bridge`) is in the graph; it is no executable of this package.
CHRONO_BRIDGE = NodeInterface((*_SIMULATED_CAMERA, *_SIMULATED_CAR, *_DESCRIBED_CAR, *RIDING_SENSORS), (_INPUT,))
