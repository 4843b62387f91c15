"""What every node publishes, subscribes to and serves: names, types, quality of service, purpose.

A test holds this against the running nodes; the page on ROS and the RViz layout are checked against it.
"""

from __future__ import annotations

from typing import NamedTuple

CAMERA = "camera"
"""Quality of service of pictures: best effort where large shared memory is set up, else reliable; taken as offered."""
RELIABLE, LATCHED, RECORDED = "reliable", "latched", "as recorded"
_IMAGE, _JPEG = "sensor_msgs/msg/Image", "sensor_msgs/msg/CompressedImage"
_TRANSFORMS = "tf2_msgs/msg/TFMessage"
_DIAGNOSTICS = "diagnostic_msgs/msg/DiagnosticArray"


class Endpoint(NamedTuple):
    """A topic at a node: relative to the node's namespace unless it begins with a slash.

    Attributes:
        topic: its name.
        type: of its messages.
        quality: what is offered or asked for: CAMERA, RELIABLE, LATCHED (reliable and transient local), RECORDED.
        purpose: what it is.
        when: the condition, "" for always.
    """

    topic: str
    type: str
    quality: str
    purpose: str
    when: str = ""


class Service(NamedTuple):
    """A service of a node; ~ is the node's own name."""

    name: str
    type: str
    purpose: str
    when: str = ""


class NodeInterface(NamedTuple):
    """A node's topics and services; all of them publish /diagnostics too."""

    publishes: tuple[Endpoint, ...]
    subscribes: tuple[Endpoint, ...]
    serves: tuple[Service, ...] = ()


DIAGNOSTICS = Endpoint("/diagnostics", _DIAGNOSTICS, RELIABLE, "state of every task of a node, once a second")
_PICTURES = (
    Endpoint("camera/image_raw", _IMAGE, CAMERA, "the camera's pictures"),
    Endpoint("camera/image_raw/compressed", _JPEG, CAMERA, "the same, as JPEG or PNG"),
)
_LABELS = Endpoint("camera/ground_truth", "simjudge_msgs/msg/LabelledObjectArray", RELIABLE,
                   "labels, by a picture's stamp")
_FOUND = Endpoint("camera/detections", "simjudge_msgs/msg/DetectionArray", RELIABLE,
                  "what a detector found, by that stamp")
_SUMMARY = Endpoint("validation/summary", "simjudge_msgs/msg/ValidationSummary", LATCHED, "all of result.json, so far")
_CONTEXTS = Endpoint("validation/contexts", "simjudge_msgs/msg/ContextPerformanceArray", RELIABLE,
                     "a frame's contexts, W1")
_INFO = Endpoint("camera/camera_info", "sensor_msgs/msg/CameraInfo", CAMERA, "the lens", "with a calibration")
_ODOMETRY = Endpoint("vehicle/odometry", "nav_msgs/msg/Odometry", RELIABLE, "how the car moves")
_INPUT = Endpoint("vehicle/input", "simjudge_msgs/msg/VehicleInput", RELIABLE,
                  "what the driver does, or another type by `input_type`")
_TF = Endpoint("/tf", _TRANSFORMS, RELIABLE, "where frames are")
_TF_STATIC = Endpoint("/tf_static", _TRANSFORMS, LATCHED, "where frames are that do not move")
_SENSORS = tuple(
    Endpoint(topic, f"sensor_msgs/msg/{kind}", RELIABLE, purpose, "with `sensors`, each where there is one of its kind")
    for topic, kind, purpose in (
        ("imu/data", "Imu", "acceleration and turning, without orientation"),
        ("imu/mag", "MagneticField", "the earth's field"),
        ("gps/fix", "NavSatFix", "where the car is on earth"),
        ("scan/points", "PointCloud2", "x, y, z, intensity of a lidar's turn"),
    )
)

NODES: dict[str, NodeInterface] = {
    "camera_bridge_node": NodeInterface(
        (*_PICTURES, _INFO,
         Endpoint("camera/image_rect", _IMAGE, CAMERA, "undistorted pictures", "with a calibration")),
        (Endpoint("image", _IMAGE, CAMERA, "a real camera's pictures"),
         Endpoint("image/compressed", _JPEG, CAMERA, "the same, as JPEG or PNG")),
    ),
    "detection_node": NodeInterface(
        (_FOUND, Endpoint("camera/detections/overlay", _IMAGE, CAMERA, "the picture with detections drawn on it"),
         Endpoint("camera/detections/vision", "vision_msgs/msg/Detection2DArray", RELIABLE, "the detections again",
             "where vision_msgs is installed")),
        _PICTURES,
    ),
    "validation_node": NodeInterface(
        (_SUMMARY, _CONTEXTS._replace(when="live"),
         Endpoint("validation/overlay", _IMAGE, CAMERA, "the picture, boxes coloured by W1", "live"),
         Endpoint("validation/markers", "visualization_msgs/msg/MarkerArray", LATCHED, "the numbers, for RViz")),
        (_LABELS._replace(when="live"), _FOUND._replace(when="live"),
         *(each._replace(when="live, while somebody looks at the overlay") for each in _PICTURES)),
        (Service("~/load_reference", "simjudge_msgs/srv/LoadReference", "compare with another set from now on", "live"),
         Service("~/reset", "simjudge_msgs/srv/Reset", "forget the live frames so far", "live"),
         Service("~/save_report", "simjudge_msgs/srv/SaveReport", "write the result so far", "live")),
    ),
    "replay_node": NodeInterface(
        (*(each._replace(purpose="the simulated camera's pictures") for each in _PICTURES[:1]), *_PICTURES[1:], _LABELS,
         _INFO._replace(when=""), Endpoint("camera/semantic", _IMAGE, CAMERA, "class of every pixel, 8UC1"),
         Endpoint("camera/instance", _IMAGE, CAMERA, "instance of every pixel, 16UC1")),
        (Endpoint("image", _IMAGE, CAMERA, "a real camera's pictures", "with `trigger` image"),
         Endpoint("image/compressed", _JPEG, CAMERA, "the same, as JPEG or PNG", "with `trigger` image"),
         Endpoint("camera_info", "sensor_msgs/msg/CameraInfo", CAMERA, "when a real camera took one",
             "with `trigger` camera_info"),
         Endpoint("poses", "geometry_msgs/msg/PoseStamped", CAMERA, "where the body is, or another type by `pose_type`",
             "with `pose_type` pose"),
         _TF._replace(when="with `pose_type` tf"), _TF_STATIC._replace(when="with `pose_type` tf")),
    ),
    "sim_node": NodeInterface(
        (*_PICTURES, _LABELS, _INFO._replace(when=""),
         Endpoint("camera/semantic", _IMAGE, CAMERA, "class of every pixel, 8UC1"),
         Endpoint("camera/instance", _IMAGE, CAMERA, "instance of every pixel, 16UC1"),
         _FOUND._replace(when="with `ground_truth_detections`"), _ODOMETRY, _TF, _TF_STATIC, *_SENSORS,
         Endpoint("/clock", "rosgraph_msgs/msg/Clock", RELIABLE, "simulated time"),
         Endpoint("sim/real_time_factor", "std_msgs/msg/Float64", RELIABLE, "simulated seconds in a second")),
        (_INPUT,),
        (Service("~/pause", "std_srvs/srv/SetBool", "pause, or go on"),
         Service("~/reset", "std_srvs/srv/Trigger", "all at the start again; time goes on")),
    ),
    "drive_node": NodeInterface(
        (_INPUT, Endpoint("drive/path", "nav_msgs/msg/Path", RELIABLE, "the line that the driver follows"),
         Endpoint("drive/cones", "visualization_msgs/msg/MarkerArray", RELIABLE, "the cones that it knows")),
        (_FOUND, _ODOMETRY, _INFO._replace(when="without `camera`")),
    ),
    "play_node": NodeInterface(
        (*(each._replace(quality=RECORDED, when="recorded") for each in (*_PICTURES, _LABELS)),
         Endpoint("/clock", "rosgraph_msgs/msg/Clock", RELIABLE, "the recording's time", "with `clock` above 0")),
        (), (Service("~/pause", "std_srvs/srv/SetBool", "pause, or go on"),),
    ),
    "record_node": NodeInterface((), tuple(each._replace(when="named") for each in (*_PICTURES, _LABELS, _FOUND))),
    "watch_node": NodeInterface((), (*_PICTURES, _LABELS, _FOUND, _CONTEXTS, _SUMMARY)),
}  # fmt: skip
