"""simjudge: a perception algorithm as the judge of a simulated camera.

The functions and classes below are loaded when they are first used, so that `import simjudge` costs nothing. Each one
stands in the room that its work belongs to.

    import simjudge as sj

    real, sim = sj.read("real.mcap"), sj.read("sim/")
    judged = [sj.detect(frames, "detector.onnx") for frames in (real, sim)]

Every error that simjudge raises on purpose is a `SimjudgeError`. A `UsageError`, which is a `SimjudgeError` too, says
that the request itself makes no sense.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from simjudge.core.errors import Losses as Losses
    from simjudge.core.errors import SimjudgeError as SimjudgeError
    from simjudge.core.errors import UsageError as UsageError
    from simjudge.core.frames import FrameSet as FrameSet
    from simjudge.core.object_tables import Objects as Objects
    from simjudge.core.object_tables import Predictions as Predictions
    from simjudge.data import sets
    from simjudge.data.clouds import CloudSet as CloudSet
    from simjudge.data.depth_errors import DepthErrors as DepthErrors
    from simjudge.data.depth_errors import depth_errors as depth_errors
    from simjudge.data.rosbag2.live_recording import Recovered as Recovered
    from simjudge.data.rosbag2.live_recording import recover as recover
    from simjudge.data.set_parts import Split as Split
    from simjudge.data.set_parts import convert as convert
    from simjudge.data.set_parts import join as join
    from simjudge.data.set_parts import split as split
    from simjudge.data.sets import Topics as Topics
    from simjudge.data.sets import read_clouds as read_clouds
    from simjudge.data.sets import write_clouds as write_clouds
    from simjudge.detectors.clouds.cuboid_detection import detect_clouds as detect_clouds
    from simjudge.detectors.clouds.cuboid_detection import detect_cuboids as detect_cuboids
    from simjudge.detectors.clouds.cuboid_settings import LidarCuboidFile as LidarCuboidFile
    from simjudge.detectors.detection import detect as detect
    from simjudge.detectors.detection import load_detector as load_detector
    from simjudge.detectors.detector import Detections as Detections
    from simjudge.detectors.detector import Detector as Detector
    from simjudge.detectors.training import TrainedDetector as TrainedDetector
    from simjudge.detectors.training import train as train
    from simjudge.judging.compare_settings import CompareSettings as CompareSettings
    from simjudge.judging.compare_settings import SweepSettings as SweepSettings
    from simjudge.judging.given_numbers import JudgedObject as JudgedObject
    from simjudge.judging.given_numbers import PredictedObject as PredictedObject
    from simjudge.judging.performance_source import OwnPerformance as OwnPerformance
    from simjudge.questions.calibrate.run import calibrate_imu as calibrate_imu
    from simjudge.questions.calibrate.run import calibrate_noise as calibrate_noise
    from simjudge.questions.compare.result import ComparisonResult as ComparisonResult
    from simjudge.questions.compare.result import SweepResult as SweepResult
    from simjudge.questions.compare.result import compare as compare
    from simjudge.questions.compare.result import sweep as sweep
    from simjudge.questions.cover.result import CoverResult as CoverResult
    from simjudge.questions.cover.run import cover as cover
    from simjudge.questions.cover.settings import CoverSettings as CoverSettings
    from simjudge.questions.doctor.diagnosis import Diagnosis as Diagnosis
    from simjudge.questions.doctor.live_diagnosis import diagnose_graph as diagnose_graph
    from simjudge.questions.doctor.run import diagnose as diagnose
    from simjudge.questions.drives.run import DriveComparisonResult as DriveComparisonResult
    from simjudge.questions.drives.run import compare_drives as compare_drives
    from simjudge.questions.engines.run import compare_engines as compare_engines
    from simjudge.questions.explain.result import Explanation as Explanation
    from simjudge.questions.explain.run import explain as explain
    from simjudge.questions.explain.settings import ExplainSettings as ExplainSettings
    from simjudge.questions.fit.page import fit as fit
    from simjudge.questions.fit.result import CameraFit as CameraFit
    from simjudge.questions.fit.result import LidarFit as LidarFit
    from simjudge.questions.fit.settings import FitSettings as FitSettings
    from simjudge.questions.info import Contents as Contents
    from simjudge.questions.info import info as info
    from simjudge.questions.label_error.page import LabelErrorResult as LabelErrorResult
    from simjudge.questions.label_error.run import price_label_error as price_label_error
    from simjudge.questions.objects.run import ObjectComparisonResult as ObjectComparisonResult
    from simjudge.questions.objects.run import compare_objects as compare_objects
    from simjudge.questions.objects.settings import ObjectSettings as ObjectSettings
    from simjudge.questions.plan.plan import Plan as Plan
    from simjudge.questions.plan.plan import plan as plan
    from simjudge.questions.policies.run import PolicyComparisonResult as PolicyComparisonResult
    from simjudge.questions.policies.run import compare_policies as compare_policies
    from simjudge.questions.policies.run import read_policy_trials as read_policy_trials
    from simjudge.questions.policies.trials import PolicyTrials as PolicyTrials
    from simjudge.questions.rank.page import RankingResult as RankingResult
    from simjudge.questions.rank.run import rank as rank
    from simjudge.questions.real_performance import RealPerformance as RealPerformance
    from simjudge.questions.real_performance import estimate_real_performance as estimate_real_performance
    from simjudge.questions.reconstruct.run import Reconstruction as Reconstruction
    from simjudge.questions.reconstruct.run import reconstruct as reconstruct
    from simjudge.questions.recording.cloud_pictures import CloudPictures as CloudPictures
    from simjudge.questions.recording.cloud_pictures import cloud_pictures as cloud_pictures
    from simjudge.questions.report.kinds import load_result as load_result
    from simjudge.questions.report.report import report as report
    from simjudge.questions.tracks.run import TrackComparisonResult as TrackComparisonResult
    from simjudge.questions.tracks.run import compare_tracks as compare_tracks
    from simjudge.questions.trajectories.run import TrajectoryComparisonResult as TrajectoryComparisonResult
    from simjudge.questions.trajectories.run import compare_trajectories as compare_trajectories
    from simjudge.sim.capture.rendering import render as render
    from simjudge.sim.capture.replaying import replay as replay
    from simjudge.sim.capture.simulators.labelling import label_recording as label_recording
    from simjudge.sim.driving.drive import drive as drive
    from simjudge.sim.engines import registry
    from simjudge.sim.sensors.camera.filtering import filter_images as filter  # noqa: A004, F401 - the command's name
    from simjudge.sim.sensors.exporting import ExportedSensors as ExportedSensors
    from simjudge.sim.sensors.exporting import export_camera as export_camera
    from simjudge.sim.sensors.exporting import export_sensors as export_sensors
    from simjudge.sim.sensors.lidar.contract import check_lidar as check_lidar
    from simjudge.sim.sensors.lidar.lidar_calibration import calibrate_lidar as calibrate_lidar
    from simjudge.sim.sensors.recorded_weather import WeatheredClouds as WeatheredClouds
    from simjudge.sim.sensors.recorded_weather import weather_clouds as weather_clouds

    __version__: str
    # Their names in their rooms are others.
    read, write = sets.read_set, sets.write_set
    list_engines = registry.engine_availability

_HOMES = {
    "CameraFit": "simjudge.questions.fit.result",
    "CloudPictures": "simjudge.questions.recording.cloud_pictures",
    "CloudSet": "simjudge.data.clouds",
    "CompareSettings": "simjudge.judging.compare_settings",
    "ComparisonResult": "simjudge.questions.compare.result",
    "Contents": "simjudge.questions.info",
    "CoverResult": "simjudge.questions.cover.result",
    "CoverSettings": "simjudge.questions.cover.settings",
    "DepthErrors": "simjudge.data.depth_errors",
    "Detections": "simjudge.detectors.detector",
    "Detector": "simjudge.detectors.detector",
    "Diagnosis": "simjudge.questions.doctor.diagnosis",
    "DriveComparisonResult": "simjudge.questions.drives.run",
    "ExplainSettings": "simjudge.questions.explain.settings",
    "Explanation": "simjudge.questions.explain.result",
    "ExportedSensors": "simjudge.sim.sensors.exporting",
    "FitSettings": "simjudge.questions.fit.settings",
    "FrameSet": "simjudge.core.frames",
    "JudgedObject": "simjudge.judging.given_numbers",
    "LabelErrorResult": "simjudge.questions.label_error.page",
    "LidarCuboidFile": "simjudge.detectors.clouds.cuboid_settings",
    "LidarFit": "simjudge.questions.fit.result",
    "Losses": "simjudge.core.errors",
    "ObjectComparisonResult": "simjudge.questions.objects.run",
    "ObjectSettings": "simjudge.questions.objects.settings",
    "Objects": "simjudge.core.object_tables",
    "OwnPerformance": "simjudge.judging.performance_source",
    "Plan": "simjudge.questions.plan.plan",
    "PolicyComparisonResult": "simjudge.questions.policies.run",
    "PolicyTrials": "simjudge.questions.policies.trials",
    "PredictedObject": "simjudge.judging.given_numbers",
    "Predictions": "simjudge.core.object_tables",
    "RankingResult": "simjudge.questions.rank.page",
    "RealPerformance": "simjudge.questions.real_performance",
    "Reconstruction": "simjudge.questions.reconstruct.run",
    "Recovered": "simjudge.data.rosbag2.live_recording",
    "SimjudgeError": "simjudge.core.errors",
    "Split": "simjudge.data.set_parts",
    "SweepResult": "simjudge.questions.compare.result",
    "SweepSettings": "simjudge.judging.compare_settings",
    "Topics": "simjudge.data.sets",
    "TrackComparisonResult": "simjudge.questions.tracks.run",
    "TrainedDetector": "simjudge.detectors.training",
    "TrajectoryComparisonResult": "simjudge.questions.trajectories.run",
    "UsageError": "simjudge.core.errors",
    "WeatheredClouds": "simjudge.sim.sensors.recorded_weather",
    "calibrate_imu": "simjudge.questions.calibrate.run",
    "calibrate_lidar": "simjudge.sim.sensors.lidar.lidar_calibration",
    "calibrate_noise": "simjudge.questions.calibrate.run",
    "check_lidar": "simjudge.sim.sensors.lidar.contract",
    "cloud_pictures": "simjudge.questions.recording.cloud_pictures",
    "compare": "simjudge.questions.compare.result",
    "compare_drives": "simjudge.questions.drives.run",
    "compare_engines": "simjudge.questions.engines.run",
    "compare_objects": "simjudge.questions.objects.run",
    "compare_policies": "simjudge.questions.policies.run",
    "compare_tracks": "simjudge.questions.tracks.run",
    "compare_trajectories": "simjudge.questions.trajectories.run",
    "convert": "simjudge.data.set_parts",
    "cover": "simjudge.questions.cover.run",
    "depth_errors": "simjudge.data.depth_errors",
    "detect": "simjudge.detectors.detection",
    "detect_clouds": "simjudge.detectors.clouds.cuboid_detection",
    "detect_cuboids": "simjudge.detectors.clouds.cuboid_detection",
    "diagnose": "simjudge.questions.doctor.run",
    "diagnose_graph": "simjudge.questions.doctor.live_diagnosis",
    "drive": "simjudge.sim.driving.drive",
    "estimate_real_performance": "simjudge.questions.real_performance",
    "explain": "simjudge.questions.explain.run",
    "export_camera": "simjudge.sim.sensors.exporting",
    "export_sensors": "simjudge.sim.sensors.exporting",
    "filter": "simjudge.sim.sensors.camera.filtering:filter_images",
    "fit": "simjudge.questions.fit.page",
    "info": "simjudge.questions.info",
    "join": "simjudge.data.set_parts",
    "label_recording": "simjudge.sim.capture.simulators.labelling",
    "list_engines": "simjudge.sim.engines.registry:engine_availability",
    "load_detector": "simjudge.detectors.detection",
    "load_result": "simjudge.questions.report.kinds",
    "price_label_error": "simjudge.questions.label_error.run",
    "plan": "simjudge.questions.plan.plan",
    "rank": "simjudge.questions.rank.run",
    "read": "simjudge.data.sets:read_set",
    "read_clouds": "simjudge.data.sets",
    "read_policy_trials": "simjudge.questions.policies.run",
    "reconstruct": "simjudge.questions.reconstruct.run",
    "recover": "simjudge.data.rosbag2.live_recording",
    "render": "simjudge.sim.capture.rendering",
    "replay": "simjudge.sim.capture.replaying",
    "report": "simjudge.questions.report.report",
    "split": "simjudge.data.set_parts",
    "sweep": "simjudge.questions.compare.result",
    "train": "simjudge.detectors.training",
    "weather_clouds": "simjudge.sim.sensors.recorded_weather",
    "write": "simjudge.data.sets:write_set",
    "write_clouds": "simjudge.data.sets",
}
"""By the name here, its module, and behind a colon the name there where it is another.

A test holds it equal to the imports above, which editors and type checkers read.
"""

__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return import_module("simjudge.core.installed").version()
    if name not in _HOMES:
        raise AttributeError(f"module 'simjudge' has no attribute {name!r}")
    module, _, attribute = _HOMES[name].partition(":")
    value = globals()[name] = getattr(import_module(module), attribute or name)
    return value


def __dir__() -> list[str]:
    return sorted({"__version__", *_HOMES, *(name for name in globals() if name.startswith("__"))})
