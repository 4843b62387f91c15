"""The settings of sim_node and replay_node, each declared once (see `simjudge.core.settings`)."""

from __future__ import annotations

from dataclasses import dataclass

from simjudge.core.settings import LabelSettings, MotionLimitSettings, Settings, setting
from simjudge.data.rosbag2.interfaces import FRAME_ID, INPUT_TYPE, MAP_FRAME
from simjudge.ros.node_settings import RELIABILITIES, PublishingStageSettings, autostart, reliability, transport
from simjudge.sim.driving.drive_settings import CONES, DEFAULT_LIDAR, LIDAR, MANUAL, OTHER
from simjudge.sim.engines.registry import CHOICES, ENGINE_FORM

# The values of `pose_type` by the type of the messages.
POSE_TYPES = {
    "geometry_msgs/msg/PoseStamped": "pose",
    "geometry_msgs/msg/PoseWithCovarianceStamped": "pose_covariance",
    "nav_msgs/msg/Odometry": "odometry",
    "tf2_msgs/msg/TFMessage": "tf",
}
TRIGGERS = ("image", "camera_info")


@dataclass(frozen=True, kw_only=True)
class SimSettings(Settings):
    """The settings of sim_node."""

    scene: str = setting(help="Scene with a course: a file, or the name of one that comes with simjudge.")
    camera: str = setting(
        help="The car's camera, or a rig of several: a file, or the name of one that comes with simjudge."
    )
    vehicle: str | None = setting(
        None, "Car: a file, or the name of one that comes with simjudge. Not given: the scene's own, else art1."
    )
    engine: str = setting("default", f"Engine that moves and lights the scene: {CHOICES}.", form=ENGINE_FORM)
    driver: str = setting(
        CONES,
        "Who drives: cones, by cones that a detector finds; lidar, by a lidar between barriers; manual, a"
        " person, for whom time goes on; other, another node that publishes vehicle/input.",
        choices=(CONES, LIDAR, MANUAL, OTHER),
    )
    laps: int | None = setting(None, "Laps of a closed course. Not given: 1, by hand no end.", low=1)
    sensors: str | None = setting(
        None,
        "Lidar, GPS, inertial sensors and encoders on the car: a file, or the name of one that comes"
        f" with simjudge. Not given: none, or {DEFAULT_LIDAR} where a lidar drives.",
    )
    seed: int = setting(0, "Seed of the scene's placements, the camera's noise and the car's start.", low=0)
    camera_rate: float | None = setting(
        None, "Image rate of the camera that drives. Not given: its own.", unit="Hz", low=0, high=1000
    )
    lock_step: bool = setting(
        default=True,
        help="Time stands still until a command has answered a frame, or a scan where a lidar drives;"
        " otherwise it goes on as `speed` says.",
    )
    patience: float = setting(
        10.0,
        "Real time that the answer to a frame or scan may take in lock_step; then time goes on without it.",
        unit="s",
        low=0.1,
        high=3600,
        changeable=True,
    )
    speed: float = setting(
        1.0,
        "Simulated seconds in a second, without lock_step; 0 for as fast as it goes.",
        low=0,
        high=1000,
        changeable=True,
    )
    ground_truth_detections: bool = setting(
        default=False, help="Publish the ground truth as camera/detections, score 1, in a detector's place."
    )
    input_type: str = setting(
        INPUT_TYPE,
        "Message type of vehicle/input; or art_msgs/msg/VehicleInput, geometry_msgs/msg/Twist or"
        " TwistStamped, ackermann_msgs/msg/AckermannDriveStamped; sensor_msgs/msg/Joy with driver:=other.",
    )
    reliability: str = setting(
        "auto",
        "Reliability of images and camera_info; auto is reliable in lock_step, else best effort where large"
        " shared memory is set up.",
        choices=RELIABILITIES,
    )
    frame_prefix: str = setting(
        "", "Text before the names of all coordinate frames but the map's, such as a/, for several cars on one /tf."
    )
    odom_frame: str = setting("odom", "Coordinate frame of the odometry; it is the scene's own.")
    map_frame: str = setting(
        MAP_FRAME, "Coordinate frame above it, at the same place for ever; empty where another node publishes it."
    )
    wait_for: tuple[str, ...] = setting(
        (), "Subscriptions that must exist before the simulation starts, each as `NODE TOPIC`."
    )
    wait_timeout: float = setting(60.0, "Time to wait for them before giving up.", unit="s", low=0)
    start_paused: bool = setting(default=False, help="Wait for the service ~/pause before time begins.")
    once: bool = setting(
        default=True, help="End when the drive ends; otherwise stay, with time standing still, until ~/reset."
    )
    limit: float | None = setting(
        None, "Simulated time that a drive may take. Not given: 180 s a lap, by hand no end.", unit="s", low=0.1
    )
    still: float = setting(20.0, "Simulated time that the car may stand.", unit="s", low=0.1)
    autostart: bool = autostart()


@dataclass(frozen=True, kw_only=True)
class PoseSettings(PublishingStageSettings, MotionLimitSettings):
    """The settings of a node that subscribes to poses of one body."""

    pose_type: str = setting(
        "pose",
        "What `poses` is: PoseStamped, PoseWithCovarianceStamped or Odometry; tf: the transform from `parent`"
        " to `child` on /tf and /tf_static.",
        choices=tuple(POSE_TYPES.values()),
    )
    parent: str | None = setting(None, "Fixed frame of tf. Not given: the root of the tree.")
    child: str | None = setting(None, "The body's frame of tf. Not given: base_link or base_footprint.")
    pose_reliability: str = setting(
        "best_effort",
        "Reliability requested of the poses; best effort fits every publisher.",
        choices=("best_effort", "reliable"),
    )


@dataclass(frozen=True, kw_only=True)
class ReplaySettings(PoseSettings, LabelSettings):
    """The settings of replay_node."""

    scene: str = setting(help="Scene: a file, or the name of one that comes with simjudge.")
    camera: str = setting(help="Simulated camera: a file, or the name of one that comes with simjudge.")
    trigger: str = setting(
        "image",
        "Topic that tells when the real camera took an image: image, or camera_info, which is much smaller.",
        choices=TRIGGERS,
    )
    vehicle: str | None = setting(
        None,
        "Car whose base_link the poses are of, file or name. Not given: the scene's or art1, unless a mount is given.",
    )
    mount: str | None = setting(
        None,
        "Camera on the body, in place of vehicle: x,y,z[,yaw,pitch,roll] in metres and degrees; body or optical"
        " where the poses are the camera's own.",
    )
    align: str = setting("0,0,0", "Pose of the poses' fixed frame in the scene: x,y,z[,yaw], metres and degrees.")
    cones: str | None = setting(None, "Table of measured cones, id colour x y, in place of the scene's own.")
    cone_kinds: str | None = setting(
        None, "Scene objects for the colours in the table. Default: 0=red_cone,1=green_cone."
    )
    time_offset: float = setting(0.0, "Time added to an image's stamp to find its pose.", unit="s")
    noise_angle: float = setting(0.0, "Pose noise of yaw, pitch and roll each.", unit="deg", low=0, high=180)
    noise_position: float = setting(0.0, "Pose noise of x, y and z each.", unit="m", low=0, high=1e3)
    seed: int = setting(0, "Seed of scene, camera noise and pose noise.", low=0)
    engine: str = setting("default", f"Engine that lights the scene: {CHOICES}.", form=ENGINE_FORM)
    every_frame: bool = setting(
        default=False, help="Replay every image in order, for recordings; otherwise the newest image that has poses."
    )
    wait: float = setting(2.0, "Time that an image waits for its poses.", unit="s", low=0, high=1e6)
    drain: float = setting(
        3.0,
        "Time to work on images that still wait when the node is told to end, with every_frame.",
        unit="s",
        low=0,
        high=1e6,
    )
    frame_id: str = setting(FRAME_ID, "Optical frame of the simulated camera, in all headers.")
    frame_prefix: str = setting("", "Text before `frame_id`, such as a/.")
    transport: str = transport("Images that trigger a frame")
    reliability: str = reliability("those images")
