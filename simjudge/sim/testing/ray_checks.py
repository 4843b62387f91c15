"""Checks of single rays, of which lidars, distances and free camera poses are made."""

from __future__ import annotations

import math

import numpy as np
from scipy.spatial.transform import Rotation

from simjudge.core.arrays import FloatArray
from simjudge.core.errors import UsageError
from simjudge.geometry.keyframes import Keyframes
from simjudge.geometry.poses import Pose
from simjudge.sim.engines.contract import STANDING, BodyMotion, Engine, Hits, SceneState
from simjudge.sim.sensors.camera.lens import Lens
from simjudge.sim.testing.checks import ContractBrokenError, EngineBuilder, engine_check
from simjudge.sim.testing.contract_scene import AT, CAMERA, CONE_HEIGHT, LENS, WALL, contract_scene
from simjudge.sim.testing.expectations import expect, expect_near, expect_refused

GRAZING = 0.001
"""Share of rays that may meet something else: those that graze an edge."""
DOWN = (0.0, 0.0, -1.0)


def labels_and_rays_agree(engine: Engine, lens: Lens, state: SceneState) -> None:
    """Expect that the label picture shows what single rays through the pixels' centres meet.

    Args:
        state: where the camera is, with everything where the scene has it.
    """
    labels = engine.labels(lens, state)
    rays = lens.rays().reshape(-1, 3)
    origins = np.tile(state.camera.position, (len(rays), 1))
    hits = engine.cast_rays(origins, rays @ state.camera.rotation_matrix().T, {})
    instances = np.array([thing.instance for thing in engine.things] + [0])
    same = float((instances[hits.thing] == labels.instance.ravel()).mean())
    expect(same > 0.995, f"the same instance by rays in 99.5 % of the pixels; found {same:.2%}")
    depth = labels.depth.ravel()
    both = np.isfinite(hits.distance) & np.isfinite(depth)
    expect(both.any(), "something hit")
    near = float((np.abs(hits.distance[both] * rays[both, 2] - depth[both]) < 5e-3).mean())
    expect(near > 0.995, f"the same depth within 5 mm by rays in 99.5 % of the pixels; found {near:.2%}")
    alike = float((np.isfinite(hits.distance) == np.isfinite(depth)).mean())
    expect(alike > 0.995, f"nothing hit where depth is inf in 99.5 % of the pixels; found {alike:.2%}")


@engine_check("rays", "Distances, lidars and label pictures must show one and the same world.")
def labels_agree_with_rays(build: EngineBuilder) -> None:
    engine = build(contract_scene())
    labels_and_rays_agree(engine, LENS, AT)


@engine_check("rays", "A lidar's points are these distances.")
def rays_hit_what_is_there(build: EngineBuilder) -> None:
    engine = build(contract_scene())
    hits = engine.cast_rays(
        [(0, 0, 1), (0, 0, 0.5), (-2, 0, 1), (0, 0, 1)], [(0, 0, -1), (1, 0, 0), (0, 0, -1), (0, 0, 1)]
    )
    found = [engine.names[index] if index >= 0 else None for index in hits.thing]
    expect(found == ["floor", "wall", "crate", None], f"floor, wall, crate and nothing; found {found}")
    expect_near(hits.distance, [1, WALL, 0.8, math.inf], "distance of four rays, m", absolute=1e-4)
    expect_near(hits.normal[:3], [[0, 0, 1], [-1, 0, 0], [0, 0, 1]], "outward normals", absolute=1e-4)
    expect(np.isnan(hits.normal[3]).all(), "a normal of NaN where nothing is hit")


@engine_check("rays", "Cameras are not put where a thing stands now.")
def rays_see_things_where_they_are_now_or_as_told(build: EngineBuilder) -> None:
    engine = build(contract_scene())

    def below(**more: object) -> str:
        return engine.names[engine.cast_rays([(1, 1, 1)], [DOWN], **more).thing[0]]  # type: ignore[arg-type]

    expect(below() == "floor", f"the floor before something is placed; found {below()}")
    engine.set_pose("crate", Pose((1, 1, 0)))
    expect(below() == "crate", f"the crate that was placed; found {below()}")
    expect(below(bodies={}) == "floor", "the floor where bodies={}: everything where the scene has it")
    told = engine.cast_rays([(1, 1, 1)], [DOWN], {"red": Pose((1, 1, 0.2))})
    expect(engine.names[told.thing[0]] == "red", "the red cone where bodies has it")
    expect_near(told.distance[0], 0.8 - CONE_HEIGHT, "distance of the raised cone, m", absolute=1e-3)


@engine_check("rays", "A misspelt name must not be ignored.")
def rays_refuse_unknown_bodies(build: EngineBuilder) -> None:
    engine = build(contract_scene())
    expect_refused(lambda: engine.cast_rays([(0, 0, 1)], [(0, 0, 1)], {"nobody": Pose()}), "rays with an unknown body")


@engine_check("timed rays", "A turning lidar sees everything where it is at the time of each beam.")
def timed_rays_see_everything_where_it_is_at_their_time(build: EngineBuilder) -> None:
    engine = build(contract_scene())
    random = np.random.default_rng(5)
    names, away = ("red", "crate"), Pose.from_euler(-2, 0, 0)
    keyframes = Keyframes.build(
        [-0.1, -0.05, 0.0],
        [
            [Pose.from_euler(1, -0.5, 0), away],
            [Pose.from_euler(1.2, 0, 0.1, yaw=1), away],
            [Pose.from_euler(1.4, 0.5, 0, yaw=1.5, pitch=0.4), away],
        ],
    )
    rays = _rays(random, 4000)
    origins = np.tile(CAMERA.position, (4000, 1)) + random.normal(size=(4000, 3)) * 0.02
    times = np.array([-0.1, -0.07, -0.03, 0.0])
    at = np.repeat(times, 1000)
    motion = BodyMotion(names, keyframes)
    found = engine.cast_timed_rays(origins, rays, at, motion)
    shared = engine.cast_timed_rays(origins, rays, at[::2], motion)
    alike = all(np.array_equal(one, other, equal_nan=True) for one, other in zip(found, shared, strict=True))
    expect(alike, "the same hits where two rays in a row share a time")
    for time in times.tolist():
        bodies = {name: _pose_at(keyframes, time, body) for body, name in enumerate(names)}
        rows = at == time
        _expect_same(
            engine, Hits(*(each[rows] for each in found)), engine.cast_rays(origins[rows], rays[rows], bodies),
            rays[rows], {"floor", "wall", "red", "green"},
        )  # fmt: skip


@engine_check("timed rays", "Things that have come to rest between two scans stand where they rest.")
def timed_rays_see_what_has_come_to_rest(build: EngineBuilder) -> None:
    engine = build(contract_scene())
    rays = _rays(np.random.default_rng(6), 2000)
    origins, times = np.tile(CAMERA.position, (2000, 1)), np.zeros(2000)
    here, there = Pose.from_euler(1, -0.5, 0.1, yaw=0.4), Pose.from_euler(1.5, 0.6, 0, pitch=0.3)
    away = Pose((-2, 0, 0))
    # Red and crate move, one rests, both rest, they have changed places.
    for red, crate in (
        ((away, here), (there, away)), ((here, here), (there, away)), ((here, here), (away, away)),
        ((there, there), (here, here)),
    ):  # fmt: skip
        motion = BodyMotion(("red", "crate"), Keyframes.build([-0.1, 0.0], [*zip(red, crate, strict=True)]))
        then = engine.cast_rays(origins, rays, {"red": red[1], "crate": crate[1]})
        found = engine.cast_timed_rays(origins, rays, times, motion)
        _expect_same(engine, found, then, rays, {"floor", "wall", "green"})
    then = engine.cast_rays(origins, rays, {})
    _expect_same(engine, engine.cast_timed_rays(origins, rays, times, STANDING), then, rays, {"floor", "wall", "green"})


@engine_check("timed rays", "A motion of something that cannot move is a mistake.")
def what_stands_for_ever_cannot_move(build: EngineBuilder) -> None:
    engine = build(contract_scene())
    ray = (np.zeros((1, 3)), np.array([DOWN]), np.zeros(1))
    for name in ("wall", "nobody"):
        motion = BodyMotion((name,), Keyframes.build([0.0], [[Pose()]]))
        try:
            engine.cast_timed_rays(*ray, motion)
        except UsageError:
            continue
        raise ContractBrokenError(f"cast_timed_rays with a motion of {name}: done, expected UsageError")


def _rays(random: np.random.Generator, count: int) -> FloatArray:
    """Unit rays, most of them ahead and a little down."""
    rays = random.normal((1.5, 0, -0.3), size=(count, 3))
    unit: FloatArray = rays / np.linalg.norm(rays, axis=1, keepdims=True)
    return unit


def _pose_at(keyframes: Keyframes, time: float, body: int) -> Pose:
    """The pose of a body at a time."""
    (rotation,), (position,) = keyframes.at(np.array([time]), body)
    x, y, z = position.tolist()
    i, j, k, w = Rotation.from_matrix(rotation).as_quat().tolist()
    return Pose((x, y, z), (i, j, k, w))


def _expect_same(engine: Engine, found: Hits, then: Hits, rays: FloatArray, seen: set[str]) -> None:
    """The same hits, but for rays that graze an edge."""
    same = found.thing == then.thing
    share = float(same.mean())
    expect(share > 1 - GRAZING, f"the same things hit as by cast_rays at that instant; found {share:.2%}")
    both = same & np.isfinite(then.distance)
    names = {engine.names[index] for index in then.thing[both]}
    expect(names >= seen, f"hits on {', '.join(sorted(seen))}; found {', '.join(sorted(names))}")
    # The distance along the normal: at a grazing floor the last bit of a float32 direction is millimetres.
    cosine = np.abs(np.einsum("ni,ni->n", rays, then.normal))[both]
    along, wanted = found.distance[both] * cosine, then.distance[both] * cosine
    expect_near(along, wanted, "distance along the normal, m", absolute=1e-5)
    expect_near(found.normal[both], then.normal[both], "normals", absolute=1e-4)
