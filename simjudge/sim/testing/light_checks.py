"""Checks of things, places and time, and of light: labels, pictures and single rays."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from scipy.spatial.transform import Rotation

from simjudge.core.arrays import FloatArray
from simjudge.core.errors import UsageError
from simjudge.geometry.keyframes import Keyframes
from simjudge.geometry.poses import Pose
from simjudge.sim.capture.ground_truth import Labelling, ground_truth
from simjudge.sim.engines.contract import STANDING, BodyMotion, Engine, Hits, SceneState
from simjudge.sim.sensors.camera.lens import Lens
from simjudge.sim.testing.checks import (
    AT,
    BACKGROUND,
    CAMERA,
    CAMERA_HEIGHT,
    CONE_HEIGHT,
    GREEN,
    GREEN_CONE,
    LENS,
    RED,
    RED_CONE,
    WALL,
    ContractBrokenError,
    EngineBuilder,
    cone_middle,
    contract_scene,
    engine_check,
    expect,
    expect_near,
    expect_pose,
    expect_refused,
    pixel_of,
    poses_differ,
)
from simjudge.sim.vehicle.vehicle import Command

_TWINS_DIFFER = 0.01  # Of the radiance
_TWIN_PIXELS = 0.01  # Share of pixels that may differ: rays along an edge, shadows thinner than the baked grid
GRAVITY = 9.81  # m/s^2
NAMES = ("floor", "wall", "green", "red", "crate")


def run_for(engine: Engine, seconds: float) -> float:
    """Step for about so long, in whole steps: the time that passed, seconds."""
    whole = round(seconds / engine.step_size) * engine.step_size
    engine.step(whole)
    return whole


@engine_check("scene", "Recordings name the engine, and the indices of ray hits point into its names.")
def it_says_what_it_is(build: EngineBuilder) -> None:
    engine = build(contract_scene())
    expect(engine.name and isinstance(engine.name, str), f"a name; found {engine.name!r}")
    expect(engine.variant, "a variant that says what it runs on")
    expect(engine.scene.name == "contract", "the scene as it was given")
    expect(engine.names == NAMES, f"names {NAMES}; found {engine.names}")
    expect(tuple(thing.name for thing in engine.things) == NAMES, "things in the order of names")
    expect(engine.step_size > 0, f"a positive step_size; found {engine.step_size}")
    expect(engine.time == 0, f"time 0 at the start; found {engine.time}")


@engine_check("scene", "Labels and distances are computed from these poses.")
def things_start_where_the_scene_has_them(build: EngineBuilder) -> None:
    engine = build(contract_scene())
    poses = engine.poses()
    expect(set(poses) == {"green", "red", "crate"}, f"poses of the free things alone; found {sorted(poses)}")
    for thing in engine.scene.things:
        if thing.motion == "free":
            expect_pose(poses[thing.name], thing.pose, thing.name, 1e-3, 1e-3)


@engine_check("scene", "A command for a car that is not there must not seem to work.")
def without_a_car_the_car_is_refused(build: EngineBuilder) -> None:
    engine = build(contract_scene())
    expect_refused(lambda: engine.drive(Command()), "drive without a car")
    expect_refused(engine.vehicle_state, "vehicle_state without a car")
    expect_refused(lambda: engine.set_pose("vehicle", Pose()), "set_pose of the car without a car")
    expect(engine.touched_things() == frozenset(), "nothing touched without a car")


@engine_check("scene", "Replay puts things where they were measured.")
def what_is_placed_is_there(build: EngineBuilder) -> None:
    engine = build(contract_scene())
    before = engine.poses()
    crate = Pose.from_euler(-1, 1, 0.5, yaw=0.3, pitch=-0.4, roll=2)
    engine.set_pose("crate", crate)
    expect_pose(engine.poses()["crate"], crate, "the crate that was placed")
    expect_pose(engine.poses()["red"], before["red"], "the red cone that was not")


@engine_check("scene", "A misspelt name must not be ignored.")
def what_is_not_free_cannot_be_placed(build: EngineBuilder) -> None:
    engine = build(contract_scene())
    for name in ("nothing", "wall", ""):
        expect_refused(lambda name=name: engine.set_pose(name, Pose()), f"set_pose of {name!r}")  # type: ignore[misc]


@engine_check("scene", "Runs with the same seed begin alike only if reset puts everything back.")
def reset_puts_things_back(build: EngineBuilder) -> None:
    engine = build(contract_scene())
    first = engine.poses()
    engine.set_pose("crate", Pose((0.9, 0, 0)))
    engine.reset()
    expect(engine.time == 0, f"time 0 after reset; found {engine.time}")
    for name, pose in engine.poses().items():
        expect_pose(pose, first[name], f"{name} after reset")


@engine_check("physics", "Cameras and sensors are due at times that are counted in steps.")
def time_is_kept(build: EngineBuilder) -> None:
    engine = build(contract_scene())
    step = engine.step_size
    engine.step(step)
    expect_near(engine.time, step, "time after one step, s", absolute=1e-12)
    for _ in range(7):
        engine.step(100 * step)
    expect_near(engine.time, 701 * step, "time after 701 steps, s", absolute=1e-9)


@engine_check("physics", "A part of a step would be lost without a word.")
def time_goes_in_whole_steps(build: EngineBuilder) -> None:
    engine = build(contract_scene())
    run_for(engine, engine.step_size)
    engine.reset()
    for steps in (0, -1, 0.5, 1.5, math.nan, math.inf):
        seconds = steps * engine.step_size
        expect_refused(lambda seconds=seconds: engine.step(seconds), f"step({seconds})")  # type: ignore[misc]
        expect(engine.time == 0, f"no time passed by step({seconds})")


@engine_check("physics", "Gravity is the simplest physics that can be wrong.")
def a_thing_falls(build: EngineBuilder) -> None:
    engine = build(contract_scene())
    engine.set_pose("crate", Pose((-2, 0, 1.5)))
    seconds = run_for(engine, 0.4)
    x, y, z = engine.poses()["crate"].position
    expect_near(1.5 - z, GRAVITY * seconds**2 / 2, "height fallen in 0.4 s, m", relative=0.02)
    expect_near((x, y), (-2, 0), "x and y of the falling crate, m", absolute=1e-6)


@engine_check("physics", "Cones that creep would be labelled where they were not put.")
def what_lies_stays(build: EngineBuilder) -> None:
    engine = build(contract_scene())
    before = engine.poses()
    engine.step(1000 * engine.step_size)
    for name, pose in engine.poses().items():
        expect_pose(pose, before[name], f"{name} after 1000 steps", 2e-3, 5e-3)


@engine_check("physics", "Things that were hit must lie on the floor, not in it.")
def a_fallen_thing_comes_to_rest_on_the_floor(build: EngineBuilder) -> None:
    engine = build(contract_scene())
    engine.set_pose("crate", Pose((-2, 0, 0.3)))
    run_for(engine, 2)
    expect_near(engine.poses()["crate"].position, (-2, 0, 0), "position of the fallen crate, m", absolute=0.01)


@engine_check("physics", "A reset after physics is a start, not a continuation.")
def reset_ends_motion(build: EngineBuilder) -> None:
    engine = build(contract_scene())
    first = engine.poses()
    engine.set_pose("crate", Pose((0.9, 0, 1.0)))
    run_for(engine, 0.2)
    expect(poses_differ(engine.poses()["crate"], first["crate"], 0.1), "the crate moved before the reset")
    engine.reset()
    expect(engine.time == 0, f"time 0 after reset; found {engine.time}")
    run_for(engine, 0.5)
    expect_pose(engine.poses()["crate"], first["crate"], "the crate 0.5 s after reset", 0.01, 0.02)


CONES = {"green": (GREEN, GREEN_CONE), "red": (RED, RED_CONE)}


@engine_check("light", "Boxes are made from the label picture; an engine with another lens labels beside the object.")
def labels_are_where_the_lens_projects_things(build: EngineBuilder) -> None:
    labels = build(contract_scene()).labels(LENS, AT)
    shapes = [label.shape for label in labels]
    expect(shapes == [(64, 96)] * 3, f"three pictures of 64 rows and 96 columns; found {shapes}")
    types = [str(label.dtype) for label in labels]
    expect(types == ["uint8", "uint16", "float32"], f"uint8 classes, uint16 instances, float32 depth; found {types}")
    for name, (class_id, instance) in CONES.items():
        column, row = pixel_of(cone_middle(name))
        found = (int(labels.class_id[row, column]), int(labels.instance[row, column]))
        wanted = (class_id, instance)
        expect(found == wanted, f"class and instance {wanted} on the {name} cone; found {found}")
    instances = set(np.unique(labels.instance).tolist())
    expect(instances == {0, RED_CONE, GREEN_CONE}, f"the instances of the two cones alone; found {instances}")
    expect(np.array_equal(labels.class_id > 0, labels.instance > 0), "a class where there is an instance")


@engine_check("light", "A picture that is upside down or mirrored looks right on its own.")
def left_is_left_and_up_is_up(build: EngineBuilder) -> None:
    engine = build(contract_scene())
    labels = engine.labels(LENS, AT)
    rows, columns = np.nonzero(labels.class_id == GREEN)
    expect(len(rows) and columns.max() < 47, "the green cone in the left half")
    expect(len(rows) and rows.min() > 31, "the green cone below the middle, as it is below the camera")
    red = np.nonzero(labels.class_id == RED)[1]
    expect(len(red) and red.min() > 48, "the red cone in the right half")
    expect(np.isinf(labels.depth[0]).all(), "nothing but background above the wall: depth inf in row 0")
    engine.set_pose("red", Pose((2, -0.6, CAMERA_HEIGHT + 0.1)))
    raised = engine.labels(LENS, SceneState(CAMERA, engine.poses()))
    rows = np.nonzero(raised.class_id == RED)[0]
    expect(len(rows) and rows.max() < 32, "the raised red cone above the middle")


@engine_check("light", "Boxes that are a few pixels too small or too large pass every other look.")
def labels_are_as_tall_as_they_should_be(build: EngineBuilder) -> None:
    rows, columns = np.nonzero(build(contract_scene()).labels(LENS, AT).class_id == GREEN)
    ends = [[2, 0.6, CONE_HEIGHT], [2 - 0.4 * CONE_HEIGHT, 0.6, 0]]
    top, foot = LENS.project(CAMERA.to_body(ends))[:, 1]
    expect(len(rows), "the green cone in the labels")
    expect_near(rows.min(), top, "upper row of the green cone, px", absolute=1.1)
    expect_near(rows.max(), foot, "lower row of the green cone, px", absolute=1.1)
    middle = LENS.project(CAMERA.to_body([2, 0.6, 0.1]))[0]
    expect_near(columns.mean(), middle, "mean column of the green cone, px", absolute=1.1)


@engine_check("light", "Depth is along the optical axis, not along the ray.")
def depth_is_along_the_optical_axis(build: EngineBuilder) -> None:
    depth = build(contract_scene()).labels(LENS, AT).depth
    for point in ((WALL, 0, 0.6), (WALL, 1.5, 0.7), (WALL, -2.2, 0.8)):
        column, row = pixel_of(np.array(point))
        expect_near(depth[row, column], WALL, "depth of the wall, m", absolute=2e-3)
    ray = LENS.rays()[-1, 48]
    expect_near(depth[-1, 48], CAMERA_HEIGHT / ray[1] * ray[2], "depth of the floor, m", relative=2e-3)


@engine_check("light", "Moving things and replayed poses are given with each instant.")
def things_are_seen_where_an_instant_has_them(build: EngineBuilder) -> None:
    engine = build(contract_scene())
    column, row = pixel_of(cone_middle("green"))
    swapped = {"green": Pose((2, -0.6, 0)), "red": Pose((2, 0.6, 0))}
    found = int(engine.labels(LENS, SceneState(CAMERA, swapped)).class_id[row, column])
    expect(found == RED, f"class {RED} where the red cone was put; found {found}")
    red, green, _ = engine.render(LENS, [SceneState(CAMERA, swapped)])[row, column]
    expect(red > 2 * green, f"a red pixel where the red cone was put; found red {red:.3f}, green {green:.3f}")
    expect(engine.labels(LENS, AT).class_id[row, column] == GREEN, "the green cone back in its place")


@engine_check("light", "Noise, white balance and gamma are added later, to linear light.")
def pictures_are_linear_rgb(build: EngineBuilder) -> None:
    engine = build(contract_scene())
    for rays in (1, 4):
        picture = engine.render(LENS, [AT], rays)
        found = (picture.shape, str(picture.dtype))
        expect(found == ((64, 96, 3), "float32"), f"float32 of 64 x 96 x 3; found {found}")
        expect(np.isfinite(picture).all() and (picture >= 0).all(), "finite radiance, 0 or more")
        expect_near(picture[0], np.tile(BACKGROUND, (96, 1)), "the background in row 0", absolute=0.01)
        for name, channel in (("red", 0), ("green", 1)):
            column, row = pixel_of(cone_middle(name))
            expect(picture[row, column].argmax() == channel, f"the {name} cone {name}; found {picture[row, column]}")


@engine_check("light", "The same command gives the same bytes.")
def pictures_come_out_the_same(build: EngineBuilder) -> None:
    one, other = (build(contract_scene()).render(LENS, [AT], 4) for _ in range(2))
    expect(one.tobytes() == other.tobytes(), "the same bytes from two engines with the same scene")


@engine_check("light", "Of two ways to trace that show different pictures nobody knows which is right.")
def other_ways_to_trace_show_the_same_picture(build: EngineBuilder) -> None:
    scene = contract_scene()
    moving = replace(scene, things=tuple(replace(t, motion="scripted") if t.name == "red" else t for t in scene.things))
    engine = build(moving)
    twins = getattr(engine, "twin_pictures", lambda *_: ())  # most engines have one way
    state = SceneState(CAMERA, {"red": Pose((2.0, 0.1, 0.0))})
    picture = engine.render(LENS, [state], 4)
    for name, other in twins(LENS, state, 4):
        off = (np.abs(picture - other) > _TWINS_DIFFER * (0.1 + other)).any(2).mean()
        expect(off <= _TWIN_PIXELS, f"the picture by {name} in all but {_TWIN_PIXELS:.0%} of pixels; {off:.1%} are off")


@engine_check("light", "A tone curve or an automatic exposure inside the engine would spoil every camera model.")
def more_light_is_brighter(build: EngineBuilder) -> None:
    dim, bright = (build(contract_scene(light)).render(LENS, [AT])[28:31, 40:56].mean() for light in (1.0, 2.0))
    expect(dim > 0.005, f"a wall that is lit; found {dim:.4f}")
    expect(1.2 * dim < bright < 2.2 * dim, f"1.2 to 2.2 times as bright with twice the lamp; found {bright / dim:.2f}")


@engine_check("light", "Motion blur is the mean of the instants of an exposure.")
def an_exposure_is_the_mean_of_its_instants(build: EngineBuilder) -> None:
    engine = build(contract_scene())
    states = [
        SceneState(Pose((0, y, CAMERA_HEIGHT)).optical_frame(), {"red": Pose((2, y, 0))}) for y in (-0.1, 0.05, 0.3)
    ]
    each = np.mean([engine.render(LENS, [state]) for state in states], axis=0)
    expect_near(engine.render(LENS, states), each, "radiance of an exposure of three instants", absolute=2e-3)


@engine_check("light", "Hidden objects are left out by the share of them that is seen.")
def the_visible_share_is_that_of_two_label_pictures(build: EngineBuilder) -> None:
    engine = build(contract_scene())
    hidden = SceneState(CAMERA, {"crate": Pose((1.0, 0.44, 0.17))})
    labels = engine.labels(LENS, hidden)
    truth = ground_truth(engine.scene, LENS, hidden, labels, Labelling(0, 0)).objects
    both = (labels, engine.labels(LENS, AT))
    together, alone = (np.bincount(labels.instance.ravel(), minlength=8) for labels in both)
    found = truth.instance.tolist()
    expect(found == [RED_CONE, GREEN_CONE], f"both cones labelled; found instances {found}")
    share = together[[RED_CONE, GREEN_CONE]] / alone[[RED_CONE, GREEN_CONE]]
    expect_near(truth.visible, share, "visible share of the cones", absolute=1.5 / alone[GREEN_CONE])
    expect(truth.visible[0] > 0.98, f"the red cone fully seen; found {truth.visible[0]:.2f}")
    expect(0.3 < truth.visible[1] < 0.8, f"a part of the green cone hidden; found {truth.visible[1]:.2f}")


@engine_check("light", "Results are shown over the distance of the objects.")
def the_distance_is_to_the_middle_of_a_thing(build: EngineBuilder) -> None:
    engine = build(contract_scene())
    lying = Pose.from_euler(2.5, 0.6, 0.12, roll=math.pi / 2)
    for pose, centre in ((Pose((2, 0.6, 0)), (2, 0.6, CONE_HEIGHT / 2)), (lying, (2.5, 0.6 - CONE_HEIGHT / 2, 0.12))):
        state = SceneState(CAMERA, {"green": pose})
        truth = ground_truth(engine.scene, LENS, state, engine.labels(LENS, state), Labelling(0, 0)).objects
        found = truth.distance[truth.instance.tolist().index(GREEN_CONE)]
        expect_near(found, math.dist(centre, (0, 0, CAMERA_HEIGHT)), "distance of the green cone, m", absolute=1e-6)


@engine_check("light", "A picture of a wrong request must not look like one of a right request.")
def what_cannot_be_seen_is_refused(build: EngineBuilder) -> None:
    engine = build(contract_scene())
    nobody = SceneState(CAMERA, {"nobody": Pose()})
    expect_refused(lambda: engine.render(LENS, [nobody]), "render with a body that is not in the scene")
    expect_refused(lambda: engine.labels(LENS, nobody), "labels with a body that is not in the scene")
    expect_refused(lambda: engine.render(LENS, []), "render without an instant")
    expect_refused(lambda: engine.render(LENS, [AT], 3), "render with 3 rays per pixel")
    expect_refused(lambda: engine.render(LENS, [AT], 0), "render with 0 rays per pixel")


GRAZING = 0.001  # Share of rays that may meet something else: those that graze an edge
DOWN = (0.0, 0.0, -1.0)


def labels_and_rays_agree(engine: Engine, lens: Lens, state: SceneState) -> None:
    """Expect that the label picture shows what single rays through the pixels' centres meet."""
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
            engine,
            Hits(*(column[rows] for column in found)),
            engine.cast_rays(origins[rows], rays[rows], bodies),
            rays[rows],
            {"floor", "wall", "red", "green"},
        )


@engine_check("timed rays", "Things that have come to rest between two scans stand where they rest.")
def timed_rays_see_what_has_come_to_rest(build: EngineBuilder) -> None:
    engine = build(contract_scene())
    rays = _rays(np.random.default_rng(6), 2000)
    origins, times = np.tile(CAMERA.position, (2000, 1)), np.zeros(2000)
    here, there = Pose.from_euler(1, -0.5, 0.1, yaw=0.4), Pose.from_euler(1.5, 0.6, 0, pitch=0.3)
    away = Pose((-2, 0, 0))
    # Red and crate move, one rests, both rest, they have changed places.
    for red, crate in (
        ((away, here), (there, away)),
        ((here, here), (there, away)),
        ((here, here), (away, away)),
        ((there, there), (here, here)),
    ):
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
    rays = random.normal((1.5, 0, -0.3), size=(count, 3))
    unit: FloatArray = rays / np.linalg.norm(rays, axis=1, keepdims=True)
    return unit


def _pose_at(keyframes: Keyframes, time: float, body: int) -> Pose:
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
