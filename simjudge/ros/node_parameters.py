"""Which settings are parameters of which node: what a parameter file may name, known without ROS."""

from __future__ import annotations

from simjudge.core.settings import Setting, chosen, declared
from simjudge.objects.camera_settings import CameraObjectSettings
from simjudge.objects.occupancy_settings import OccupancySettings
from simjudge.ros.live_drive_settings import DRIVE_ROWS
from simjudge.ros.node_settings import (
    LIVE_FOLLOWING,
    LIVE_MAPPING,
    CameraBridgeSettings,
    DetectionSettings,
    DriverSettings,
    GroundTruthSettings,
    LiveObjectSettings,
    ManualSettings,
    PlaySettings,
    RecordSettings,
    ValidationSettings,
    WatchSettings,
)
from simjudge.ros.simulation_settings import ReplaySettings, SimSettings
from simjudge.studies.compare_settings import CompareSettings

NODE_PARAMETERS: dict[str, tuple[Setting, ...]] = {
    "camera_bridge_node": declared(CameraBridgeSettings),
    "detection_node": declared(DetectionSettings),
    "ground_truth_node": declared(GroundTruthSettings),
    "validation_node": (*declared(ValidationSettings), *declared(CompareSettings), *DRIVE_ROWS),
    "objects_node": (
        *declared(LiveObjectSettings), *chosen(CameraObjectSettings, LIVE_FOLLOWING),
        *chosen(OccupancySettings, LIVE_MAPPING),
    ),
    "replay_node": declared(ReplaySettings),
    "sim_node": declared(SimSettings),
    "drive_node": declared(DriverSettings),
    "manual_node": declared(ManualSettings),
    "play_node": declared(PlaySettings),
    "record_node": declared(RecordSettings),
    "watch_node": declared(WatchSettings),
}  # fmt: skip
"""The settings that are parameters, by the node's name."""
EVERY_NODE = ("use_sim_time", "start_type_description_service", "qos_overrides")
"""Parameters that rclpy gives to every node; those of `qos_overrides` have names below it."""
