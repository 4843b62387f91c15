"""What a rendering consists of: scene, camera, poses and placements; the engine for each frame; sides of a data set."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from simjudge.core.arrays import hash_value
from simjudge.core.errors import UsageError
from simjudge.core.installed import version
from simjudge.data.rosbag2.interfaces import CAMERA
from simjudge.sim.capture.camera_poses import CameraPoses
from simjudge.sim.capture.ground_truth import Labelling
from simjudge.sim.engines.contract import Engine
from simjudge.sim.engines.registry import make_engine
from simjudge.sim.scene.model import Scene
from simjudge.sim.scene.read import read_scene
from simjudge.sim.scene.scene_changes import LightFactors
from simjudge.sim.sensors.camera.camera import Camera
from simjudge.sim.sensors.camera.rig import MountedCamera
from simjudge.sim.sensors.sensor_spec import SensorSpec
from simjudge.sim.vehicle.other_cars import read_other_cars
from simjudge.sim.vehicle.vehicle import Vehicle


@dataclass(frozen=True)
class RenderPlan:
    """What is to be rendered."""

    scene: str | Path  # file or name of the scene
    camera: Camera  # the camera that sees the scene
    poses: CameraPoses  # poses of the camera, one for each frame
    placements: int = 1  # number of placements of the scene's random things; each is seen in a run of frames
    labelling: Labelling = field(default_factory=Labelling)
    seed: int = 0  # seed of the placements and of the camera's noise
    engine: str = "default"
    sensors: tuple[SensorSpec, ...] = ()
    vehicle: Vehicle | None = None  # the car that carries them; None where the poses are those of another body
    name: str = CAMERA  # of the camera, with which its topics begin
    baseline: float = 0.0  # metres from the first camera of a stereo pair to this one; 0 for all others
    label_images: bool = False  # whether the class and the instance of each pixel are kept too
    # The scene's seed for each frame, those of one placement in a row; empty: one for each of `placements`, drawn from
    # `seed`.
    scene_seeds: tuple[int, ...] = ()
    light: LightFactors = field(default_factory=LightFactors)  # by what the scene's light is multiplied

    def __post_init__(self) -> None:
        if not 1 <= self.placements <= len(self):
            raise UsageError(f"{self.placements} placements for {len(self)} frames: 1 to {len(self)} are needed")
        if self.scene_seeds and len(self.scene_seeds) != len(self):
            raise UsageError(f"{len(self.scene_seeds)} seeds of the scene for {len(self)} frames")

    def __len__(self) -> int:
        return len(self.poses.stamp)

    @property
    def independent(self) -> bool:
        """Whether each frame stands by itself: at random poses, not along a path."""
        return self.poses.path() is None

    @property
    def mounted(self) -> MountedCamera:
        """The camera with its name."""
        return MountedCamera(self.name, self.camera, baseline=self.baseline)

    @property
    def exposed_in_turn(self) -> bool:
        """Whether each frame's exposure comes from the frames before it."""
        return self.camera.auto_exposure is not None and self.poses.path() is not None

    def placement(self, index: int) -> int:
        """Number of the placement that a frame sees."""
        if self.scene_seeds:
            return self._seeds.index(self.scene_seeds[index])
        return index * self.placements // len(self)

    def scene_seed(self, placement: int) -> int:
        """The scene's seed for a placement: the seed itself where there is one placement, else drawn from it."""
        if self.scene_seeds:
            return self._seeds[placement]
        return placement_seed(self.seed, placement, self.placements)

    @cached_property
    def _seeds(self) -> tuple[int, ...]:
        """The seeds that were given, each once, in their order."""
        return tuple(dict.fromkeys(self.scene_seeds))


def placement_seed(seed: int, placement: int, placements: int) -> int:
    """The scene's seed for a placement: the seed itself where there is one placement, else drawn from it."""
    return seed if placements == 1 else int(np.random.SeedSequence((seed, placement)).generate_state(1)[0])


class PlacedScene:
    """An engine with the scene as the frames see it, one placement at a time.

    Attributes:
        engine: the engine with the placement of the last frame that was asked for.
    """

    def __init__(self, plan: RenderPlan) -> None:
        self._plan, self._placement = plan, 0
        scene = self._read(0)
        self.engine: Engine = make_engine(plan.engine, scene)
        self._digest = _placed_digest(scene)

    def close(self) -> None:
        """Close the engine."""
        self.engine.close()

    def engine_for(self, index: int) -> Engine:
        """The engine with the placement that a frame sees; the engine of another placement is closed."""
        placement = self._plan.placement(index)
        if placement != self._placement:
            scene = self._read(placement)
            digest = _placed_digest(scene)
            if digest != self._digest:  # a scene without anything random stays as it is
                self.engine.close()
                self.engine, self._digest = make_engine(self._plan.engine, scene), digest
            self._placement = placement
        return self.engine

    def _read(self, placement: int) -> Scene:
        return self._plan.light.apply(read_scene(self._plan.scene, self._plan.scene_seed(placement)))


def _placed_digest(scene: Scene) -> str:
    """A fingerprint of a scene as it was placed, with what its cars' files say."""
    whole, cars = read_other_cars(scene)
    return hash_value([replace(whole, seed=0), [car.vehicle for car in cars]])


def describe_rendering(plan: RenderPlan, engine: Engine) -> dict[str, object]:
    """All that the frames depend on, as JSON has it."""
    camera, scene = plan.camera, engine.scene
    about = {
        "version": version(),
        "scene": {
            "name": scene.name,
            "path": str(scene.path),
            "sha256": hash_value(scene),
            "placements": plan.placements,
        },
        "camera": {"name": camera.name, "path": str(camera.path), "sha256": hash_value(camera)},
        "poses": {
            "kind": type(plan.poses).__name__,
            "frames": len(plan),
            "sha256": hash_value(plan.poses),
            "independent": plan.independent,
        },
        "labelling": {"min_size": plan.labelling.min_size, "min_visible": plan.labelling.min_visible},
        "engine": {"name": engine.name, "variant": engine.variant},
        "seed": plan.seed,
    }
    if plan.label_images:
        about["label_images"] = True
    if plan.scene_seeds:
        about["scene_seeds"] = hash_value(plan.scene_seeds)
    if not plan.light.neutral:
        about["light"] = dict(plan.light.changed())
    if plan.sensors:
        about["sensors"] = {"names": [spec.name for spec in plan.sensors], "sha256": hash_value(plan.sensors)}
    return about


def assign_sides(plan: RenderPlan, valid: float, test: float) -> list[str]:
    """The side of a data set that a frame is on: "train", "valid" or "test"; frames of one placement stay together."""
    if not valid and not test:
        return []
    groups = plan.placements if plan.placements > 1 else len(plan)
    counts = [max(round(share * groups), 1) if share else 0 for share in (valid, test)]
    if sum(counts) >= groups:
        what = "placements (--scenes)" if plan.placements > 1 else "frames"
        raise UsageError(f"--valid {valid:g}, --test {test:g}: {groups} {what} leave nothing to train on")
    order = np.random.default_rng(plan.seed).permutation(groups)
    side = np.full(groups, "train", dtype="<U5")
    side[order[: counts[0]]], side[order[counts[0] : sum(counts)]] = "valid", "test"
    return [str(side[plan.placement(index) if plan.placements > 1 else index]) for index in range(len(plan))]
