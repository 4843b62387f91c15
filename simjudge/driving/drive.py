"""A drive put together from names: scene, camera, detector, vehicle, engine, seed."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

from simjudge.capture.eye import Eye
from simjudge.capture.ground_truth import Labelling
from simjudge.core.digest import hash_value
from simjudge.core.errors import UsageError
from simjudge.core.version import version
from simjudge.driving.closed_loop import ClosedLoop, Rules
from simjudge.driving.driver import Driver, Manner
from simjudge.driving.finders import GROUND_TRUTH, load_finder
from simjudge.driving.lane import course_of, sides_of, start_of
from simjudge.engines.registry import make_engine
from simjudge.geometry.poses import Pose
from simjudge.perception.detector import DEFAULT_MIN_SCORE
from simjudge.scene.model import Scene
from simjudge.scene.read import read_scene
from simjudge.sensors.camera.camera import Camera
from simjudge.sensors.camera.camera_file import read_camera
from simjudge.vehicle.vehicle import Vehicle
from simjudge.vehicle.vehicle_file import read_vehicle


@dataclass(frozen=True)
class Wanted:
    """What is to be driven.

    Attributes:
        scene, camera, vehicle: files, or names of those that come with simjudge.
        detector: the same, or GROUND_TRUTH.
        engine: one of `simjudge.engines.registry.ENGINES`.
        seed: of the scene's placements, the camera's noise and where the car starts.
        rate: pictures a second; None: the camera's own.
        pictures: whether pictures are made also where the detector needs none.
        min_score: of the detector.
    """

    scene: str
    camera: str
    detector: str = GROUND_TRUTH
    vehicle: str = "art1"
    engine: str = "default"
    seed: int = 0
    rate: float | None = None
    pictures: bool = True
    min_score: float = DEFAULT_MIN_SCORE


@dataclass(frozen=True)
class Stage:
    """What a simulated drive needs, whoever drives.

    Attributes:
        scene, vehicle, camera: as read.
        start: of the car's base_link.
    """

    scene: Scene
    vehicle: Vehicle
    camera: Camera
    start: Pose


def read_stage(wanted: Wanted) -> Stage:
    """Read scene, vehicle and camera.

    Raises:
        UsageError: there is none of a name, the vehicle has no camera, or the rate is none.
        SimjudgeError: a file cannot be read, or the scene has no course.
    """
    vehicle, camera = read_vehicle(wanted.vehicle), read_camera(wanted.camera)
    if "camera" not in vehicle.mounts:
        raise UsageError(f"{wanted.vehicle}: has no mount called camera; give one under mounts")
    if wanted.rate is not None:
        if not wanted.rate > 0 or camera.exposure_time > 1 / wanted.rate:
            most = f", and at most {1 / camera.exposure_time:g} for its exposure" if camera.exposure_time else ""
            raise UsageError(f"{wanted.rate:g} pictures a second of camera {camera.name}: more than 0{most}")
        camera = replace(camera, rate=wanted.rate)
    scene = read_scene(wanted.scene, wanted.seed)
    return Stage(scene, vehicle, camera, start_of(course_of(scene), wanted.seed))


def make_loop(wanted: Wanted, rules: Rules | None = None) -> ClosedLoop:
    """Put a drive together; whoever takes it closes its engine.

    Raises:
        UsageError: see `read_stage`.
        SimjudgeError: something cannot be read or made.
    """
    stage = read_stage(wanted)
    finder = load_finder(wanted.detector, stage.scene, wanted.min_score)
    course, sides = course_of(stage.scene), sides_of(stage.scene)
    manner = Manner(lane_width=course.width, right_class=sides.right, left_class=sides.left)
    engine = make_engine(wanted.engine, stage.scene, stage.vehicle, stage.start)
    return ClosedLoop(
        engine,
        stage.vehicle,
        stage.camera,
        Eye(engine, stage.camera, Labelling(), wanted.seed),
        finder,
        Driver(stage.vehicle, stage.camera.lens, manner),
        rules or Rules(),
        pictures=wanted.pictures or finder.needs_pictures,
    )


def described(wanted: Wanted, loop: ClosedLoop) -> dict[str, Any]:
    """All that a drive depends on, as JSON has it."""
    scene, camera = loop.engine.scene, loop.camera
    return {
        "version": version(),
        **asdict(wanted),
        "scene": {"name": scene.name, "path": str(scene.path), "seed": scene.seed, "sha256": hash_value(scene)},
        "camera": {"name": camera.name, "path": str(camera.path), "sha256": hash_value(camera)},
        "vehicle": {"name": loop.vehicle.name, "sha256": hash_value(loop.vehicle)},
        "engine": {"name": loop.engine.name, "variant": loop.engine.variant},
    }
