"""The settings of the nodes that have no world in them, each declared once (see `simjudge.core.settings`).

The parameters of a node come from its class here, and so do the launch arguments of the same settings. The settings of
sim_node and replay_node are in `simjudge.ros.simulation_settings`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from simjudge.core.settings import LabelSettings, Settings, setting
from simjudge.data.rosbag2.interfaces import FRAME_ID, INPUT_TYPE
from simjudge.data.rosbag2.storage import COMPRESSIONS
from simjudge.detectors.detector_settings import DEFAULT_IOU, DEFAULT_MIN_SCORE
from simjudge.judging.compare_settings import COUNT, IGNORE, RESET
from simjudge.objects.settings import FOLLOW_LABELS, FOLLOW_PREDICTIONS
from simjudge.questions.policies.settings import MARGIN, REAL, SIM
from simjudge.sim.driving.drive_settings import (
    CONE_HEIGHT,
    CONE_RADIUS,
    CONES,
    DEFAULT_LIDAR,
    ENABLE_BUTTON,
    FASTEST,
    LATERAL_ACCELERATION,
    LEAST_SCORE,
    LIDAR,
    PEDALS_AXIS,
    SLOWEST,
    STEERING_AXIS,
)

TRANSPORTS = ("auto", "raw", "compressed")  # Which images a node subscribes to; auto: those that come
RELIABILITIES = ("auto", "best_effort", "reliable")
PICTURES, SOLIDS, BOXES, THINGS = "pictures", "solids", "boxes", "things"  # Forms of another simulator's ground truth
LANE_WIDTH = 1.0  # Metres between left and right cones where nobody says otherwise


def transport(images: str = "Images to subscribe to") -> Any:
    """The declaration of the parameter `transport`, a field of a settings class."""
    return setting("auto", f"{images}: raw, compressed, or auto, those that come.", choices=TRANSPORTS)


def reliability(images: str = "the images") -> Any:
    """The declaration of the parameter `reliability`, a field of a settings class."""
    return setting("auto", f"Reliability requested of {images}; auto takes what is offered.", choices=RELIABILITIES)


def autostart() -> Any:
    """The declaration of the parameter `autostart`, a field of the settings class of a node with a life cycle."""
    return setting(
        default=True, help="Configure and activate at the start; false: stay unconfigured for a lifecycle manager."
    )


def output_type() -> Any:
    """The declaration of the parameter `output_type`, a field of the settings class of a node that drives."""
    return setting(
        INPUT_TYPE,
        "Message type of vehicle/input; or art_msgs/msg/VehicleInput, geometry_msgs/msg/Twist or"
        " TwistStamped, ackermann_msgs/msg/AckermannDriveStamped: a robot's own.",
    )


def base_frame() -> Any:
    """The declaration of the parameter `base_frame`, likewise."""
    return setting("base_link", "Coordinate frame in the headers of vehicle/input.")


@dataclass(frozen=True, kw_only=True)
class StageSettings(Settings):
    """The settings of every node that takes data from other nodes (see `simjudge.nodes.ending`)."""

    ends_after: tuple[str, ...] = setting(
        (),
        "Nodes of the same run. Told to end, this node first waits until those of them that publish what it"
        " subscribes to have ended.",
    )


@dataclass(frozen=True, kw_only=True)
class PublishingStageSettings(StageSettings):
    """The settings of a stage whose subscribers must miss nothing."""

    wait_for: tuple[str, ...] = setting(
        (), "Subscriptions that must exist before the first message is published, each as `NODE TOPIC`."
    )
    wait_timeout: float = setting(120.0, "Time to wait for them before giving up.", unit="s", low=0)


@dataclass(frozen=True, kw_only=True)
class CameraBridgeSettings(StageSettings):
    """The settings of camera_bridge_node."""

    transport: str = transport()
    reliability: str = reliability()
    publish_reliability: str = setting(
        "auto",
        "Reliability of the published images; auto is best effort where large shared memory is set up, else reliable.",
        choices=RELIABILITIES,
    )
    calibration: str | None = setting(
        None, "YAML file of ROS's camera_calibration. Without one there is neither camera_info nor image_rect."
    )
    calibration_check: str = setting(
        "refuse",
        "What to do about a principal point that does not suit the size that the calibration claims.",
        choices=("refuse", "warn"),
    )
    scale_calibration: bool = setting(
        default=False, help="Scale the calibration to images of another size and the same shape."
    )
    frame_id: str | None = setting(None, "Coordinate frame of the headers. Without one it stays as it comes.")
    restamp: str = setting(
        "never", "arrival: stamp images when they come, for cameras without a clock.", choices=("never", "arrival")
    )
    upside_down: bool = setting(
        default=False, help="Flip raw images that come with the bottom row first, as Chrono::ROS's do."
    )


@dataclass(frozen=True, kw_only=True)
class DetectionSettings(PublishingStageSettings):
    """The settings of detection_node."""

    model: str = setting(
        help="Detector: a .onnx, .pt or .yaml file, or the name of one that comes with simjudge.", changeable=True
    )
    min_score: float = setting(
        DEFAULT_MIN_SCORE,
        "Score below which detections are not published. Keep it low; a comparison chooses its own.",
        low=0,
        high=1,
        changeable=True,
    )
    iou: float = setting(
        DEFAULT_IOU, "Overlap (IoU) of two boxes of one class above which only the better one stays.", low=0, high=1
    )
    imgsz: int | None = setting(
        None, "Side of the network's input, where the model leaves it open.", unit="px", low=0, high=8192
    )
    device: str | None = setting(None, "Device of a .pt model: cpu, 0, ...")
    every_frame: bool = setting(
        default=False, help="Detect on every image in order, for recordings; otherwise always on the newest image."
    )
    autostart: bool = autostart()
    queue_mb: float = setting(1000.0, "Memory for images that wait, with every_frame.", unit="MB", low=1, high=1e6)
    drain: float = setting(
        3.0,
        "Time to work on images that still wait when the node is told to end, with every_frame.",
        unit="s",
        low=0,
        high=1e6,
        changeable=True,
    )
    transport: str = transport()
    reliability: str = reliability()


@dataclass(frozen=True, kw_only=True)
class GroundTruthSettings(StageSettings, LabelSettings):
    """The settings of ground_truth_node."""

    simulator: str = setting(help="Simulator: a file, or the name of one that comes with simjudge, such as gazebo.")
    form: str = setting(
        PICTURES,
        "Form of the simulator's ground truth that is read: pictures, boxes on the image, solids (boxes in space), or "
        "things (poses of what the simulator's file describes).",
        choices=(PICTURES, SOLIDS, BOXES, THINGS),
    )
    classes: tuple[str, ...] = setting(
        (), "What the simulator's numbers mean, each as `NUMBER=NAME`, in place of the file's."
    )
    boxes_type: str = setting(
        "vision_msgs/msg/Detection2DArray",
        "Type of the messages on simulator/boxes: this one, or webots_ros2_msgs/msg/CameraRecognitionObjects.",
    )
    solids_type: str = setting(
        "vision_msgs/msg/Detection3DArray",
        "Type of the messages on simulator/solids: this one, or derived_object_msgs/msg/ObjectArray.",
    )
    images_type: str = setting(
        "sensor_msgs/msg/Image",
        "Type of the messages on simulator/images: this one, or sensor_msgs/msg/CompressedImage.",
    )
    wait: float = setting(
        2.0, "Time for which solids and things wait for the poses around their stamp.", unit="s", low=0, high=600
    )


@dataclass(frozen=True, kw_only=True)
class DriverSettings(StageSettings):
    """The settings of drive_node."""

    vehicle: str = setting("art1", "Car: a file, or the name of one that comes with simjudge.")
    driver: str = setting(
        CONES, "By what it drives: cones that a detector finds, or a lidar between barriers.", choices=(CONES, LIDAR)
    )
    sensors: str = setting(
        DEFAULT_LIDAR,
        "With driver lidar: the car's sensors, a file or the name of one that comes with simjudge. The"
        " first lidar on the car is driven by.",
    )
    camera: str | None = setting(
        None,
        "The car's camera, or a rig whose driver counts: a file, or the name of one that comes with simjudge."
        " Without one, its lens is that of camera/camera_info.",
    )
    right: str = setting("red", "Class name (or number) of the cones on the right.")
    left: str = setting("green", "Class name (or number) of the cones on the left.")
    lane_width: float = setting(
        LANE_WIDTH,
        "Approximate distance between left and right cones. On lanes above 1 m the driver looks as many"
        " times further ahead.",
        unit="m",
        low=0.3,
        high=10,
    )
    cone_radius: float = setting(
        CONE_RADIUS, "Radius of a cone's foot, with driver cones.", unit="m", low=0.005, high=1
    )
    cone_height: float = setting(CONE_HEIGHT, "Height of a cone, with driver cones.", unit="m", low=0.005, high=2)
    fastest: float = setting(FASTEST, "Speed on a straight line that is known well.", unit="m/s", low=0.1, high=20)
    slowest: float = setting(
        SLOWEST,
        "Speed in the tightest curve, and where the line is not known.",
        unit="m/s",
        low=0.05,
        high=20,
    )
    sideways: float = setting(
        LATERAL_ACCELERATION, "Lateral acceleration allowed in curves.", unit="m/s^2", low=0.1, high=20
    )
    min_score: float = setting(LEAST_SCORE, "Score below which detections are ignored.", low=0, high=1)
    silence: float = setting(
        0.5,
        "Time of odometry without detections or scans after which the car drives on slowly by what it knows, then"
        " stops.",
        unit="s",
        low=0.05,
        high=10,
        changeable=True,
    )
    output_type: str = output_type()
    base_frame: str = base_frame()


@dataclass(frozen=True, kw_only=True)
class ManualSettings(StageSettings):
    """The settings of manual_node. The names of axes and button, and their defaults, are those of teleop_twist_joy."""

    vehicle: str = setting("art1", "Car: a file, or the name of one that comes with simjudge.")
    keyboard: bool = setting(
        default=True, help="Take keys from the terminal, or from a pipe, that the standard input is."
    )
    axis_linear: int = setting(
        PEDALS_AXIS, "Axis of sensor_msgs/Joy for the pedals: throttle positive, brake negative.", low=0, high=99
    )
    axis_angular: int = setting(STEERING_AXIS, "Axis for the steering, left positive.", low=0, high=99)
    enable_button: int = setting(ENABLE_BUTTON, "Button that must be held; without it the car brakes.", low=0, high=99)
    require_enable_button: bool = setting(default=True, help="Whether it must be held.")
    timeout: float = setting(
        0.5,
        "Simulated time without another message, of joy, cmd_vel or ackermann_cmd, after which the car brakes.",
        unit="s",
        low=0.05,
        high=3600,
    )
    fastest: float = setting(
        1.5,
        "Speed of full throttle, where output_type asks for a speed.",
        unit="m/s",
        low=0.05,
        high=20,
        changeable=True,
    )
    output_type: str = output_type()
    base_frame: str = base_frame()


@dataclass(frozen=True, kw_only=True)
class PlaySettings(Settings):
    """The settings of play_node."""

    bag: str = setting(help="Recording: a rosbag2 folder, a .mcap or a .db3 file.")
    rate: float = setting(1.0, "Seconds of the recording played in a second.", low=0.01, high=1000, changeable=True)
    start_offset: float = setting(0.0, "Time to leave out at the start of the recording.", unit="s", low=0)
    loop: bool = setting(default=False, help="Start again at the end; time jumps back then.")
    clock: float = setting(
        0.0, "Rate at which the recording's time is published on /clock; 0 for never.", unit="Hz", low=0, high=1000
    )
    topics: tuple[str, ...] = setting((), "Topics to play; all that can be played where none is named.")
    reliability: str = setting(
        "recorded", "Reliability of the publishers.", choices=("recorded", "reliable", "best_effort")
    )
    start_paused: bool = setting(default=False, help="Wait for the service ~/pause before the first message.")
    wait_for_subscribers: tuple[str, ...] = setting(
        (), "Topics that must have a subscriber before the recording starts; `all` for every played topic."
    )
    wait_for: tuple[str, ...] = setting(
        (), "Subscriptions that must exist before the recording starts, each as `NODE TOPIC`."
    )
    wait_timeout: float = setting(30.0, "Time to wait for subscribers before giving up.", unit="s", low=0)


@dataclass(frozen=True, kw_only=True)
class RecordSettings(StageSettings):
    """The settings of record_node."""

    out: str = setting(help="The recording, which must not exist yet: x.mcap or x.db3, any other name for a folder.")
    topics: tuple[str, ...] = setting((), "Topics to record, from when on they exist.")
    pattern: str | None = setting(
        None, "Regular expression; topics whose full name matches are recorded too, e.g. /camera/.*"
    )
    exclude: str | None = setting(None, "Regular expression; topics that match `pattern` and this one are left out.")
    storage: str = setting("mcap", "Storage of a folder.", choices=("mcap", "sqlite3"))
    max_size: int | None = setting(
        None,
        "Largest size of a file, before compression; a folder then holds several. Not given: one file.",
        unit="MB",
        low=1,
        high=10_000_000,
    )
    compression: str = setting(
        "none",
        "What zstd compresses: in a folder, each file once it is complete, or each message; in any mcap, its chunks.",
        choices=COMPRESSIONS,
    )
    depth: int = setting(100, "Messages of a topic that wait at most while the disk is busy.", low=1, high=10000)


@dataclass(frozen=True, kw_only=True)
class WatchSettings(StageSettings):
    """The settings of watch_node."""

    save: str | None = setting(None, "The .rrd file to save to; there is no window then.")
    where: str = setting(
        "auto",
        "Where it is shown; auto: a file with `save`, else a window where there is a screen, else a browser.",
        choices=("auto", "window", "browser", "file"),
    )
    quality: int = setting(80, "JPEG quality of raw images as shown.", unit="%", low=1, high=100)
    max_mb: int = setting(
        1000,
        "Size of the file from which on images and point clouds are left out of it.",
        unit="MB",
        low=1,
        high=1_000_000,
    )
    transport: str = transport()
    reliability: str = reliability()


@dataclass(frozen=True, kw_only=True)
class LiveObjectSettings(StageSettings):
    """The settings of objects_node beside those of how objects are followed (`simjudge.objects.settings`)."""

    sensor: str = setting(
        "camera",
        "Sensors to compare: of lidars occupancy maps, from scans, odometry and /tf_static.",
        choices=("camera", "lidar", "both"),
    )
    follow: str = setting(
        FOLLOW_LABELS,
        "What to track through the images: labels (camera/ground_truth of each side), or"
        " predictions (camera/detections).",
        choices=(FOLLOW_LABELS, FOLLOW_PREDICTIONS),
    )
    tolerance: float = setting(
        0.0, "Greatest difference between the stamps of a real and a virtual frame.", unit="s", low=0, high=10
    )
    wait: float = setting(
        5.0,
        "Time that a frame of one side waits for its partner, once the other side has passed it or is silent.",
        unit="s",
        low=0.01,
        high=3600,
    )
    wait_count: int = setting(200, "Frames of each side that wait at most.", low=1, high=100_000)
    jump_back: float = setting(
        1.0,
        "How far before the newest stamp a stamp must lie to be a jump back, after which all begins anew.",
        unit="s",
        low=0,
    )
    window: float = setting(
        60.0, "Time before the newest stamp whose frames the numbers are of; 0: all.", unit="s", low=0
    )
    summary_period: float = setting(1.0, "Time between summaries while frames come.", unit="s", low=0.05, high=3600)
    map_size: float = setting(
        200.0, "Width and height of the occupancy maps, around the first scan.", unit="m", low=1, high=10_000
    )
    image_size: str | None = setting(None, "Size of the images, WIDTHxHEIGHT, where the messages do not say it.")


# Settings of `CameraObjectSettings` that are parameters of objects_node too.
LIVE_FOLLOWING = ("same_by", "min_score", "track_gap", "track_reach", "track_frames", "match_distance")
# Settings of `OccupancySettings` that are parameters of objects_node too.
LIVE_MAPPING = ("cells_per_metre", "map_range", "map_low", "map_high", "no_return_range", "max_speed")


@dataclass(frozen=True, kw_only=True)
class ValidationSettings(StageSettings):
    """The settings of validation_node beside those of the comparison (`simjudge.judging.compare_settings`)."""

    a: str | None = setting(None, "Set to be predicted, usually real: any data set or recording; with `b`.")
    b: str | None = setting(None, "Set that predicts, usually simulated.")
    once: bool = setting(
        default=False,
        help="With a and b: end when the result is written. Otherwise the node stays, with the summary"
        " for subscribers that come later.",
    )
    reference: str | None = setting(None, "Set that live frames are compared with, instead of a and b.")
    predictions: str | None = setting(None, "Predictions for the reference, made earlier.")
    reference_drives: tuple[str, ...] = setting(
        (),
        "Drives that the live drive is compared with, instead of a and b or reference: recordings with odometry, or"
        " .csv files.",
    )
    input_type: str = setting(
        INPUT_TYPE,
        "Message type of vehicle/input, with reference_drives; or art_msgs/msg/VehicleInput,"
        " ackermann_msgs/msg/AckermannDriveStamped (steering angles).",
    )
    live_is: str = setting(
        "b", "a: live reality against a simulated reference; b: live simulation against a real one.", choices=("a", "b")
    )
    tolerance: float = setting(
        0.0, "Greatest difference between the stamps of ground truth and detections.", unit="s", low=0, high=10
    )
    wait: float = setting(
        5.0,
        "Time that ground truth waits for its detections, or they for it, once the other has passed it or is silent.",
        unit="s",
        low=0.01,
        high=3600,
    )
    wait_count: int = setting(1000, "Messages of each kind that wait at most.", low=1, high=100_000)
    jump_back: float = setting(
        1.0,
        "How far before the newest stamp a stamp must lie to be a jump back, not only out of order.",
        unit="s",
        low=0,
    )
    on_jump: str = setting(
        IGNORE,
        "When stamps jump back (looped recording): count each stamp once, forget the frames so far, or count"
        " all frames.",
        choices=(IGNORE, RESET, COUNT),
    )
    summary_period: float = setting(
        1.0, "Time between summaries while frames come.", unit="s", low=0.05, high=3600, changeable=True
    )
    certainty_period: float = setting(
        0.0,
        "Time between computations of certainty and the other direction, beside the live work; 0: only at the end.",
        unit="s",
        low=0,
        high=86_400,
    )
    certainty_time: float = setting(
        60.0,
        "Time for certainty at the end, after the plain numbers are written; as many bootstrap draws as fit are"
        " made, and their number is said. 0: none.",
        unit="s",
        low=0,
        high=86_400,
        changeable=True,
    )
    sequential: bool = setting(
        default=False,
        help="A verdict on the mean performance of live frames that holds whenever one looks: its error is at most 5 %"
        " over all times together.",
    )
    sequential_block: float = setting(
        10.0,
        "With sequential: length of the blocks of time that are independent of each other; 0: every frame is.",
        unit="s",
        low=0,
        high=86_400,
    )
    window: float | None = setting(
        None, "Time before the newest stamp whose frames the numbers are of. Not given: all.", unit="s", low=0
    )
    keep: int | None = setting(
        20_000,
        "Most live objects that are kept; beyond it the numbers are of a random share of the frames. A frame"
        " with more boxes than a tenth of it is left out.",
        low=10,
        high=10_000_000,
    )
    resume: bool = setting(
        default=True, help="Go on where a killed run ended, by the journal beside `out`; false: begin anew."
    )
    image_size: str | None = setting(None, "Size of the images, WIDTHxHEIGHT, where the messages do not say it.")
    ground_truth_type: str = setting(
        "simjudge_msgs/msg/LabelledObjectArray",
        "Message type of camera/ground_truth; or vision_msgs/msg/Detection2DArray.",
    )
    detections_type: str = setting(
        "simjudge_msgs/msg/DetectionArray", "Message type of camera/detections; or vision_msgs/msg/Detection2DArray."
    )
    boxes_reliability: str = setting(
        "reliable", "Reliability requested of ground truth and detections.", choices=("reliable", "best_effort")
    )
    transport: str = transport("Images that the overlay is drawn on")
    reliability: str = reliability("those images")
    out: str | None = setting(
        None, "Folder for result.json, contexts.parquet and report.html; without one, nothing is written."
    )
    both_directions: bool = setting(default=True, help="Also compute A predicting B, for the summary.")
    frame_id: str = setting(FRAME_ID, "Coordinate frame of summary and markers where no message names one.")
    report: bool = setting(default=True, help="Write report.html beside result.json.")
    autostart: bool = autostart()


@dataclass(frozen=True, kw_only=True)
class TrialsSettings(StageSettings):
    """The settings of trials_node.

    Attributes:
        out: the table that is written, .jsonl; one that is there is gone on with.
        sim: table of simulated trials to compare with.
    """

    out: str = setting("trials.jsonl", "Table (.jsonl) that trials are added to; one that is there is gone on with.")
    sim: str = setting("", "Table of simulated trials to compare with; they go into a new table first.")
    side: str = setting(REAL, "Side of trials whose message says none: real or sim.", choices=(REAL, SIM))
    trial_type: str = setting(
        "diagnostic_msgs/msg/DiagnosticStatus",
        "Type of a trial's message: DiagnosticStatus with keys policy, task, success; or String with JSON.",
        choices=("diagnostic_msgs/msg/DiagnosticStatus", "std_msgs/msg/String"),
    )
    margin: float = setting(MARGIN, "Difference of success from which a gap matters.", low=1e-6, high=1)
    policy: str = setting("", "Judge the trials of this policy alone; all are written.")
    task: str = setting("", "Judge the trials at this task alone; all are written.")
    until_certain: bool = setting(default=False, help="End as soon as the verdict is certain.")
