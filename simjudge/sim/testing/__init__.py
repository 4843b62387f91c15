"""The contract that an engine of somebody else's must keep, as checks: for a program, for pytest, for the command line.

With pytest, one test a check::

    @pytest.mark.parametrize("check", ENGINE_CHECKS, ids=str)
    def test_my_engine(check):
        check(MyEngine)

`simjudge sim engines check package:Class` does the same and prints a table.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from simjudge.core.errors import Advance
from simjudge.geometry.poses import Pose
from simjudge.sim.capture.camera_poses import camera_mount, choose_camera_poses
from simjudge.sim.engines.contract import Engine, SceneState
from simjudge.sim.scene.model import NO_CLASS, NO_INSTANCE, Scene
from simjudge.sim.sensors.camera.camera import Camera
from simjudge.sim.sensors.camera.lens import Lens
from simjudge.sim.testing import car_checks, light_checks
from simjudge.sim.testing.checks import (
    CannotBeChecked,
    CheckResult,
    ContractBrokenError,
    EngineBuilder,
    EngineCheck,
    engine_check,
    expect,
)
from simjudge.sim.testing.light_checks import labels_and_rays_agree

__all__ = [
    "ENGINE_CHECKS",
    "CannotBeChecked",
    "CheckResult",
    "ContractBrokenError",
    "EngineBuilder",
    "EngineCheck",
    "check_engine",
    "scene_checks",
]

# Every promise of the contract, on a small scene made in code.
ENGINE_CHECKS: tuple[EngineCheck, ...] = tuple(
    member
    for module in (light_checks, car_checks)
    for member in vars(module).values()
    if isinstance(member, EngineCheck)
)


def check_engine(
    builder: EngineBuilder, checks: Iterable[EngineCheck] = ENGINE_CHECKS, advance: Advance | None = None
) -> tuple[CheckResult, ...]:
    """Hold an engine to the contract."""
    chosen, results = tuple(checks), []
    for check in chosen:
        results.append(check.run(builder))
        if advance is not None:
            advance(len(results), len(chosen))
    return tuple(results)


def scene_checks(scene: Scene, lens: Lens, cameras: Sequence[Pose]) -> tuple[EngineCheck, ...]:
    """The promises that can be tried in any scene."""
    states = [SceneState(camera) for camera in cameras]
    classes = {thing.class_id for thing in scene.things} | {scene.background_class, NO_CLASS}
    instances = {thing.instance for thing in scene.things} | {NO_INSTANCE}

    @engine_check("scene", "A thing that an engine leaves out is missing in every picture.")
    def all_things_are_there(build: EngineBuilder) -> None:
        engine, names = build(scene), tuple(thing.name for thing in scene.things)
        missing = sorted(set(names) - set(engine.names))
        expect(engine.names == names, f"the scene's things in their order; missing: {', '.join(missing) or 'none'}")

    @engine_check("light", "Labels with ids that the scene does not know become objects of no class.")
    def labels_are_those_of_the_scene(build: EngineBuilder) -> None:
        engine = build(scene)
        for state in states:
            labels = engine.labels(lens, state)
            unknown = set(np.unique(labels.class_id).tolist()) - classes
            expect(not unknown, f"no class but the scene's; found {sorted(unknown)}")
            unknown = set(np.unique(labels.instance).tolist()) - instances
            expect(not unknown, f"no instance but the scene's; found {sorted(unknown)}")

    @engine_check("rays", "Distances, lidars and label pictures must show one and the same world.")
    def labels_agree_with_rays(build: EngineBuilder) -> None:
        engine = build(scene)
        for state in states:
            labels_and_rays_agree(engine, lens, state)

    @engine_check("light", "One pixel that is no number spoils every filter and every detector behind it.")
    def pictures_are_finite(build: EngineBuilder) -> None:
        engine = build(scene)
        for state in states:
            picture = engine.render(lens, [state])
            expect(np.isfinite(picture).all() and (picture >= 0).all(), "finite radiance, 0 or more")
            expect(picture.any(), "some light")

    @engine_check("light", "The same command gives the same bytes.")
    def pictures_come_out_the_same(build: EngineBuilder) -> None:
        one, other = (build(scene).render(lens, states[:1], 4).tobytes() for _ in range(2))
        expect(one == other, "the same bytes from two engines with the same scene")

    return (
        all_things_are_there,
        labels_are_those_of_the_scene,
        labels_agree_with_rays,
        pictures_are_finite,
        pictures_come_out_the_same,
    )


def scene_cameras(engine: Engine, scene: str, lens: Lens, count: int, seed: int) -> list[Pose]:
    """Random camera poses in a scene, or poses along its course where it has no area for random ones."""
    kind = "path" if engine.scene.area is None and engine.scene.course is not None else "random"
    camera = Camera("check", Path("check"), lens, (), rate=1.0, lag=0.0)
    poses, _ = choose_camera_poses(kind, scene, camera, count, seed, camera_mount(None, None)[0])
    return [poses.at(index, [stamp], engine)[0] for index, stamp in enumerate(poses.stamp)]
