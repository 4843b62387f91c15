"""What every engine must do, whatever moves and lights it: `simjudge.engines.contract` as tests.

Physics is held to what holds for any car of these figures; how well a car's physics is right, its own tests say.
"""

import math
from dataclasses import replace

import numpy as np
import pytest
from contract_scene import CAMERA, CAMERA_HEIGHT, CONE_HEIGHT, GREEN, LENS, RED, WALL, contract_scene
from scipy.spatial.transform import Rotation

from simjudge.capture.ground_truth import Labelling, ground_truth
from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.engines.contract import STANDING, BodyMotion, SceneState
from simjudge.engines.registry import ENGINES
from simjudge.geometry.keyframes import Keyframes
from simjudge.geometry.poses import Pose
from simjudge.scene.model import Course
from simjudge.vehicle.vehicle import Command
from simjudge.vehicle.vehicle_file import read_vehicle

GRAVITY = 9.81
CONES = {"green": (GREEN, 7), "red": (RED, 3)}
WHEELS = tuple(f"vehicle/wheel_{place}" for place in ("front_left", "front_right", "rear_left", "rear_right"))
AT = SceneState(CAMERA)


def run(engine, seconds):
    """Step for about that long; returns for how long it was."""
    whole = round(seconds / engine.step_size) * engine.step_size
    engine.step(whole)
    return whole


def near(pose, other, metres=1e-6, radians=1e-6):
    turned = (pose.inverse() @ other).orientation
    angle = 2 * math.atan2(math.hypot(*turned[:3]), abs(turned[3]))
    return math.dist(pose.position, other.position) <= metres and angle <= radians


def pixel_of(point):
    """Column and row of the pixel in which a point of the world is seen."""
    column, row = np.round(LENS.project(CAMERA.to_body(point))).astype(int)
    return int(column), int(row)


def middle(name):
    """A point inside a cone, halfway up."""
    thing = {thing.name: thing for thing in contract_scene().things}[name]
    return np.add(thing.pose.position, (0, 0, CONE_HEIGHT / 2))


class EngineContract:
    """Subclasses have a fixture `build(scene, vehicle=None, start=None)` that makes engines and closes them."""

    @pytest.fixture
    def engine(self, build):
        return build(contract_scene())

    @pytest.fixture
    def driven(self, build):
        """With a car at the origin, facing the wall between the cones."""
        return build(contract_scene(), read_vehicle("art1"))

    # What there is.

    def test_it_says_what_it_is(self, driven):
        assert driven.name in ENGINES
        assert driven.variant
        assert driven.scene.name == "contract"
        assert driven.names[:5] == ("floor", "wall", "green", "red", "crate")
        assert set(driven.names[5:]) >= {"vehicle", *WHEELS}
        assert all(name.split("/")[0] == "vehicle" for name in driven.names[5:])
        assert driven.step_size > 0
        assert driven.time == 0

    def test_things_start_where_the_scene_has_them(self, driven):
        poses = driven.poses()
        assert set(poses) >= {"green", "red", "crate", "vehicle", *WHEELS}
        assert not {"floor", "wall"} & set(poses)
        for thing in driven.scene.things:
            if thing.motion == "free":
                assert near(poses[thing.name], thing.pose, 1e-3, 1e-3)
        assert near(poses["vehicle"], Pose(), 0.02, 0.02)

    def test_wheels_are_where_their_names_say(self, driven):
        car, poses = driven.vehicle_state(), driven.poses()
        figures = read_vehicle("art1")
        for name in WHEELS:
            ahead, left, up = car.pose.to_body(poses[name].position)
            assert ahead == pytest.approx(figures.wheelbase if "front" in name else 0, abs=0.02)
            assert left == pytest.approx(figures.track / 2 * (1 if name.endswith("left") else -1), abs=0.02)
            assert up == pytest.approx(figures.wheel_radius, abs=0.02)

    def test_the_car_starts_where_it_is_told(self, build):
        start = Pose.from_euler(-1, 2, yaw=2.0)
        engine = build(contract_scene(), read_vehicle("art1"), start)
        assert near(engine.vehicle_state().pose, start, 0.02, 0.02)
        run(engine, 0.1)
        assert near(engine.vehicle_state().pose, start, 0.02, 0.02)

    def test_a_course_says_where_the_car_starts(self, build):
        scene = replace(contract_scene(), course=Course(np.array([[1.0, 1.0], [1.0, 3.0]]), 1.0))
        engine = build(scene, read_vehicle("art1"))
        assert near(engine.vehicle_state().pose, Pose.from_euler(1, 1, yaw=math.pi / 2), 0.02, 0.02)

    def test_without_a_car(self, engine):
        assert engine.names == ("floor", "wall", "green", "red", "crate")
        for call in (lambda: engine.drive(Command()), engine.vehicle_state, lambda: engine.set_pose("vehicle", Pose())):
            with pytest.raises(UsageError):
                call()
        assert engine.touched_things() == frozenset()

    # Time and placing.

    def test_time_is_kept(self, engine):
        step = engine.step_size
        engine.step(step)
        assert engine.time == pytest.approx(step, abs=1e-12)
        for _ in range(7):
            engine.step(100 * step)
        assert engine.time == pytest.approx(701 * step, abs=1e-9)

    @pytest.mark.parametrize("steps", [0, -1, 0.5, 1.5, math.nan, math.inf])
    def test_time_goes_in_whole_steps(self, engine, steps):
        with pytest.raises(UsageError):
            engine.step(steps * engine.step_size)
        assert engine.time == 0

    def test_what_is_placed_is_there(self, driven):
        before = driven.poses()
        crate, car = (
            Pose.from_euler(-1, 1, 0.5, yaw=0.3, pitch=-0.4, roll=2),
            Pose.from_euler(1, -1, 0.1, yaw=-2.5, pitch=0.1),
        )
        driven.set_pose("crate", crate)
        driven.set_pose("vehicle", car)
        after = driven.poses()
        assert near(after["crate"], crate)
        assert near(after["vehicle"], car)
        assert near(driven.vehicle_state().pose, car)
        assert near(after["red"], before["red"])
        for name in WHEELS:
            was = before["vehicle"].to_body(before[name].position)
            assert after["vehicle"].to_body(after[name].position) == pytest.approx(was, abs=0.02)
        assert driven.vehicle_state().velocity == (0, 0, 0)

    @pytest.mark.parametrize("name", ["nothing", "wall", "vehicle/wheel_front_left", ""])
    def test_what_cannot_be_placed(self, driven, name):
        with pytest.raises(UsageError):
            driven.set_pose(name, Pose())

    def test_a_pose_is_made_of_numbers(self):
        for position, orientation in (((math.nan, 0, 0), (0, 0, 0, 1)), ((0, 0, 0), (0, 0, 0, 0))):
            with pytest.raises(SimjudgeError):
                Pose(position, orientation)

    @pytest.mark.parametrize("wrong", [{"steering": 1.1}, {"throttle": -0.1}, {"braking": 2}, {"steering": math.nan}])
    def test_a_command_is_within_its_range(self, wrong):
        with pytest.raises(SimjudgeError):
            Command(**wrong)

    def test_reset_is_the_start(self, driven):
        first = driven.poses()
        driven.drive(Command(1.0, 1.0, 0.0))
        driven.set_pose("crate", Pose((0.9, 0, 0)))
        driven.step(1000 * driven.step_size)
        moved = driven.poses()
        assert not near(moved["crate"], first["crate"], 0.1)
        driven.reset()
        assert driven.time == 0
        assert driven.touched_things() == frozenset()
        assert all(near(pose, first[name], 1e-6, 1e-6) for name, pose in driven.poses().items())
        run(driven, 0.5)
        assert near(driven.vehicle_state().pose, first["vehicle"], 0.02, 0.02), "it is still driven"

    def test_the_same_twice(self, build):
        ends = []
        for _ in range(2):
            engine = build(contract_scene(), read_vehicle("art1"))
            engine.drive(Command(0.4, 0.8, 0.0))
            engine.step(1000 * engine.step_size)
            ends.append(engine.poses())
        assert ends[0] == ends[1]

    # Physics.

    def test_a_thing_falls(self, engine):
        engine.set_pose("crate", Pose((-2, 0, 1.5)))
        seconds = run(engine, 0.4)
        x, y, z = engine.poses()["crate"].position
        assert 1.5 - z == pytest.approx(GRAVITY * seconds**2 / 2, rel=0.02)
        assert (x, y) == pytest.approx((-2, 0), abs=1e-6)

    def test_what_lies_stays(self, engine):
        before = engine.poses()
        engine.step(1000 * engine.step_size)
        for name, pose in engine.poses().items():
            assert near(pose, before[name], 2e-3, 5e-3), name

    def test_a_fallen_thing_comes_to_rest_on_the_floor(self, engine):
        engine.set_pose("crate", Pose((-2, 0, 0.3)))
        run(engine, 2)
        assert engine.poses()["crate"].position == pytest.approx((-2, 0, 0), abs=0.01)

    @pytest.mark.parametrize("yaw", [0.0, math.pi / 2, -2.5])
    def test_throttle_drives_ahead(self, build, yaw):
        start = Pose.from_euler(-6, -6, yaw=yaw)
        engine = build(contract_scene(), read_vehicle("art1"), start)
        engine.drive(Command(0.0, 1.0, 0.0))
        run(engine, 0.5)
        assert engine.vehicle_state().acceleration[0] > 0.05
        run(engine, 1.0)
        state, before = engine.vehicle_state(), engine.vehicle_state().pose
        seconds = 10 * engine.step_size
        engine.step(seconds)
        x, y, _ = start.to_body(state.pose.position)
        assert x > 0.2
        assert abs(y) < 0.05
        assert state.time == pytest.approx(engine.time - seconds)
        assert state.velocity[0] > 0.2
        assert abs(state.velocity[1]) < 0.05
        assert all(speed * 0.085 == pytest.approx(state.velocity[0], rel=0.15) for speed in state.wheel_speeds)
        moved = before.to_body(engine.vehicle_state().pose.position) / seconds
        assert moved[0] == pytest.approx(state.velocity[0], rel=0.1)

    @pytest.mark.parametrize("steering", [1.0, -1.0])
    def test_positive_steering_is_left(self, build, steering):
        start = Pose.from_euler(-6, -6, yaw=0.8)
        engine = build(contract_scene(), read_vehicle("art1"), start)
        engine.drive(Command(steering, 1.0, 0.0))
        run(engine, 2)
        state = engine.vehicle_state()
        _, left, _ = start.to_body(state.pose.position)
        assert state.steering_angle * steering > 0.2
        assert left * steering > 0.05
        assert state.angular_velocity[2] * steering > 0.1
        assert (start.inverse() @ state.pose).angles()[0] * steering > 0.1

    def test_steering_angle_follows_the_command(self, driven):
        driven.drive(Command(0.5, 0.0, 1.0))
        run(driven, 1)
        half = read_vehicle("art1").steering_limit / 2
        assert driven.vehicle_state().steering_angle == pytest.approx(half, rel=0.15)

    def test_brakes_stop_and_hold(self, build):
        engine = build(contract_scene(), read_vehicle("art1"), Pose((-8, -3, 0)))
        engine.drive(Command(0.0, 1.0, 0.0))
        run(engine, 2)
        fast = engine.vehicle_state()
        engine.drive(Command(0.0, 0.0, 1.0))
        run(engine, 1.5)
        stopped = engine.vehicle_state()
        assert abs(stopped.velocity[0]) < 0.02
        assert 0 < stopped.pose.position[0] - fast.pose.position[0] < 2.0
        run(engine, 1)
        assert near(engine.vehicle_state().pose, stopped.pose, 0.02, 0.02)

    def test_a_car_left_alone_stands(self, driven):
        run(driven, 2)
        state = driven.vehicle_state()
        assert near(state.pose, Pose(), 0.02, 0.02)
        assert np.abs(state.velocity).max() < 0.01
        assert np.abs(state.acceleration).max() < 0.5

    def test_it_knows_what_the_car_touched(self, build):
        engine = build(contract_scene(), read_vehicle("art1"), Pose((0.4, 0.6, 0)))
        engine.step(10 * engine.step_size)
        assert engine.touched_things() == frozenset()
        before = engine.poses()["green"]
        engine.drive(Command(0.0, 1.0, 0.0))
        for _ in range(40):
            run(engine, 0.1)
        assert engine.touched_things() == {"green"}
        assert not near(engine.poses()["green"], before, 0.05)

    # Light.

    def test_labels_are_where_the_lens_projects_things(self, engine):
        labels = engine.labels(LENS, AT)
        assert [each.shape for each in labels] == [(64, 96)] * 3
        assert [each.dtype for each in labels] == [np.uint8, np.uint16, np.float32]
        for name, (class_id, instance) in CONES.items():
            column, row = pixel_of(middle(name))
            assert (labels.class_id[row, column], labels.instance[row, column]) == (class_id, instance)
        assert set(np.unique(labels.instance)) == {0, 3, 7}
        assert np.array_equal(labels.class_id > 0, labels.instance > 0)

    def test_left_is_left_and_up_is_up(self, engine):
        labels = engine.labels(LENS, AT)
        rows, columns = np.nonzero(labels.class_id == GREEN)
        assert columns.max() < 47, "green stands left"
        assert rows.min() > 31, "below the camera's height"
        assert np.nonzero(labels.class_id == RED)[1].min() > 48
        assert np.isinf(labels.depth[0]).all(), "nothing but background above the wall"
        engine.set_pose("red", Pose((2, -0.6, CAMERA_HEIGHT + 0.1)))
        raised = engine.labels(LENS, SceneState(CAMERA, engine.poses()))
        assert np.nonzero(raised.class_id == RED)[0].max() < 32

    def test_labels_are_as_tall_as_they_should_be(self, engine):
        rows, columns = np.nonzero(engine.labels(LENS, AT).class_id == GREEN)
        top, foot = LENS.project(CAMERA.to_body([[2, 0.6, CONE_HEIGHT], [2 - 0.4 * CONE_HEIGHT, 0.6, 0]]))[:, 1]
        assert rows.min() == pytest.approx(top, abs=1.1)
        assert rows.max() == pytest.approx(foot, abs=1.1)
        assert columns.mean() == pytest.approx(LENS.project(CAMERA.to_body([2, 0.6, 0.1]))[0], abs=1.1)

    def test_depth_is_along_the_optical_axis(self, engine):
        depth = engine.labels(LENS, AT).depth
        for point in ((WALL, 0, 0.6), (WALL, 1.5, 0.7), (WALL, -2.2, 0.8)):
            column, row = pixel_of(point)
            assert depth[row, column] == pytest.approx(WALL, abs=2e-3)
        ray = LENS.rays()[-1, 48]
        assert depth[-1, 48] == pytest.approx(CAMERA_HEIGHT / ray[1] * ray[2], rel=2e-3)

    def test_labels_agree_with_rays(self, engine):
        labels = engine.labels(LENS, AT)
        rays = LENS.rays().reshape(-1, 3)
        hits = engine.cast_rays(np.tile(CAMERA.position, (len(rays), 1)), rays @ CAMERA.rotation_matrix().T)
        instances = np.array([thing.instance for thing in engine.scene.things] + [0])
        assert (instances[hits.thing] == labels.instance.ravel()).mean() > 0.995
        both = np.isfinite(hits.distance) & np.isfinite(labels.depth.ravel())
        assert both.mean() > 0.5
        along = hits.distance[both] * rays[both, 2]
        assert (np.abs(along - labels.depth.ravel()[both]) < 5e-3).mean() > 0.995
        assert (np.isfinite(hits.distance) == np.isfinite(labels.depth.ravel())).mean() > 0.995

    def test_rays_hit_what_is_there(self, engine):
        origins = [(0, 0, 1), (0, 0, 0.5), (-2, 0, 1), (0, 0, 1)]
        directions = [(0, 0, -1), (1, 0, 0), (0, 0, -1), (0, 0, 1)]
        hits = engine.cast_rays(origins, directions)
        assert [engine.names[index] if index >= 0 else None for index in hits.thing] == ["floor", "wall", "crate", None]
        assert hits.distance == pytest.approx([1, WALL, 0.8, math.inf], abs=1e-4)
        assert hits.normal[:3] == pytest.approx(np.array([[0, 0, 1], [-1, 0, 0], [0, 0, 1]]), abs=1e-4)
        assert np.isnan(hits.normal[3]).all()

    def test_rays_see_things_where_they_are_now_or_as_told(self, engine):
        down = ([(1, 1, 1)], [(0, 0, -1)])
        assert engine.names[engine.cast_rays(*down).thing[0]] == "floor"
        engine.set_pose("crate", Pose((1, 1, 0)))
        assert engine.names[engine.cast_rays(*down).thing[0]] == "crate"
        assert engine.names[engine.cast_rays(*down, bodies={}).thing[0]] == "floor", "where the scene has it"
        told = engine.cast_rays(*down, bodies={"red": Pose((1, 1, 0.2))})
        assert engine.names[told.thing[0]] == "red"
        assert told.distance[0] == pytest.approx(0.8 - CONE_HEIGHT, abs=1e-3)

    def test_timed_rays_see_everything_where_it_is_at_their_time(self, engine):
        """At each time the same as rays that are all cast then."""
        random = np.random.default_rng(5)
        times = np.array([-0.1, -0.07, -0.03, 0.0])
        names = ("red", "crate")
        keyframes = Keyframes.build(
            [-0.1, -0.05, 0.0],
            [
                [Pose.from_euler(1, -0.5, 0), Pose.from_euler(-2, 0, 0)],
                [Pose.from_euler(1.2, 0, 0.1, yaw=1), Pose.from_euler(-2, 0, 0)],
                [Pose.from_euler(1.4, 0.5, 0, yaw=1.5, pitch=0.4), Pose.from_euler(-2, 0, 0)],
            ],
        )
        rays = random.normal((1.5, 0, -0.3), size=(4000, 3))
        rays /= np.linalg.norm(rays, axis=1, keepdims=True)
        origins = np.tile(CAMERA.position, (4000, 1)) + random.normal(size=(4000, 3)) * 0.02
        at = np.repeat(times, 1000)
        found = engine.cast_timed_rays(origins, rays, at, BodyMotion(names, keyframes))
        shared = engine.cast_timed_rays(origins, rays, at[::2], BodyMotion(names, keyframes))
        assert all(np.array_equal(one, other, equal_nan=True) for one, other in zip(found, shared, strict=True))
        for time in times:
            bodies = {}
            for body, name in enumerate(names):
                (rotation,), (position,) = keyframes.at(np.array([time]), body)
                turned = Rotation.from_matrix(rotation).as_quat()
                bodies[name] = Pose(tuple(position.tolist()), tuple(turned.tolist()))
            rows = at == time
            then = engine.cast_rays(origins[rows], rays[rows], bodies)
            same = found.thing[rows] == then.thing
            assert same.mean() > 0.999, "but for rays that graze an edge"
            both = same & np.isfinite(then.distance)
            assert {engine.names[k] for k in then.thing[both]} >= {"floor", "wall", "red", "green"}
            # The distance along the normal: at a grazing floor the last bit of a float32 direction is millimetres.
            cosine = np.abs(np.einsum("ni,ni->n", rays[rows], then.normal))[both]
            assert np.abs((found.distance[rows][both] - then.distance[both]) * cosine).max() < 1e-5
            assert np.abs(found.normal[rows][both] - then.normal[both]).max() < 1e-4

    def test_timed_rays_see_what_has_come_to_rest_where_it_rests(self, engine):
        """Turn by turn the same as rays that are all cast with the bodies where they rest by then."""
        rays = np.random.default_rng(6).normal((1.5, 0, -0.3), size=(2000, 3))
        rays /= np.linalg.norm(rays, axis=1, keepdims=True)
        origins, times = np.tile(CAMERA.position, (2000, 1)), np.zeros(2000)
        here, there = Pose.from_euler(1, -0.5, 0.1, yaw=0.4), Pose.from_euler(1.5, 0.6, 0, pitch=0.3)
        away = Pose((-2, 0, 0))
        # Red and crate move, one rests, both rest, they have changed places, all is where the scene has it.
        for red, crate in [
            ((away, here), (there, away)), ((here, here), (there, away)), ((here, here), (away, away)),
            ((there, there), (here, here)), (None, None),
        ]:  # fmt: skip
            motion, bodies = STANDING, {}
            if red is not None:
                motion = BodyMotion(("red", "crate"), Keyframes.build([-0.1, 0.0], [*zip(red, crate, strict=True)]))
                bodies = {"red": red[1], "crate": crate[1]}
            found, then = engine.cast_timed_rays(origins, rays, times, motion), engine.cast_rays(origins, rays, bodies)
            same = found.thing == then.thing
            assert same.mean() > 0.999, "but for rays that graze an edge"
            both = same & np.isfinite(then.distance)
            assert {engine.names[k] for k in then.thing[both]} >= {"floor", "wall", "green"}
            cosine = np.abs(np.einsum("ni,ni->n", rays, then.normal))[both]
            assert np.abs((found.distance[both] - then.distance[both]) * cosine).max() < 1e-5
            assert np.abs(found.normal[both] - then.normal[both]).max() < 1e-4

    def test_what_stands_for_ever_cannot_move_under_timed_rays(self, engine):
        ray = (np.zeros((1, 3)), np.array([[0.0, 0.0, -1.0]]), np.zeros(1))
        for name, words in [("wall", "stands for ever"), ("nobody", "is not in the scene")]:
            motion = BodyMotion((name,), Keyframes.build([0.0], [[Pose()]]))
            with pytest.raises(UsageError, match=words):
                engine.cast_timed_rays(*ray, motion)

    def test_rays_see_the_car(self, driven):
        driven.set_pose("vehicle", Pose((-4, 3, 0)))
        hits = driven.cast_rays([(-4 + 0.25, 3, 1), (-4, 3.166, 1)], [(0, 0, -1)] * 2)
        assert [driven.names[index] for index in hits.thing] == ["vehicle", "vehicle/wheel_rear_left"]
        ahead = SceneState(Pose.from_euler(-2, 3, 0.12, yaw=math.pi).optical_frame(), driven.poses())
        labels = driven.labels(LENS, ahead)
        assert 1.2 < labels.depth[31:34, 44:52].min() < 1.6, "the car's nose"
        assert not labels.class_id.any(), "nobody labels the car"

    def test_a_scene_states_bodies_are_seen_where_they_are_told(self, engine):
        column, row = pixel_of(middle("green"))
        swapped = {"green": Pose((2, -0.6, 0)), "red": Pose((2, 0.6, 0))}
        assert engine.labels(LENS, SceneState(CAMERA, swapped)).class_id[row, column] == RED
        picture = engine.render(LENS, [SceneState(CAMERA, swapped)])
        assert picture[row, column, 0] > 2 * picture[row, column, 1]
        assert engine.labels(LENS, AT).class_id[row, column] == GREEN, "and back"

    @pytest.mark.parametrize("rays", [1, 4])
    def test_pictures_are_linear_rgb(self, engine, rays):
        picture = engine.render(LENS, [AT], rays)
        assert (picture.shape, picture.dtype) == ((64, 96, 3), np.float32)
        assert np.isfinite(picture).all()
        assert (picture >= 0).all()
        assert picture[0] == pytest.approx(np.tile([0.1, 0.2, 0.5], (96, 1)), abs=0.01), "the background, row 0 on top"
        for name, channel in (("red", 0), ("green", 1)):
            column, row = pixel_of(middle(name))
            assert picture[row, column].argmax() == channel

    def test_pictures_come_out_the_same(self, build):
        pictures = [build(contract_scene()).render(LENS, [AT], 4) for _ in range(2)]
        assert pictures[0].tobytes() == pictures[1].tobytes()

    def test_more_light_is_brighter(self, build):
        dim, bright = (build(contract_scene(light)).render(LENS, [AT]) for light in (1, 2))
        wall = (slice(28, 31), slice(40, 56))
        assert dim[wall].mean() > 0.005
        assert 1.2 * dim[wall].mean() < bright[wall].mean() < 2.2 * dim[wall].mean()

    def test_an_exposure_is_the_mean_of_its_scene_states(self, engine):
        scene_states = [
            SceneState(Pose((0, y, CAMERA_HEIGHT)).optical_frame(), {"red": Pose((2, y, 0))}) for y in (-0.1, 0.05, 0.3)
        ]
        each = np.mean([engine.render(LENS, [scene_state]) for scene_state in scene_states], axis=0)
        assert engine.render(LENS, scene_states) == pytest.approx(each, abs=2e-3)

    def test_the_visible_share_is_that_of_two_label_pictures(self, engine):
        """One with the crate before a part of the green cone, one with nothing before it."""
        hidden = SceneState(CAMERA, {"crate": Pose((1.0, 0.44, 0.17))})
        labels = engine.labels(LENS, hidden)
        truth = ground_truth(engine.scene, LENS, hidden, labels, Labelling(0, 0)).objects
        both = (labels, engine.labels(LENS, AT))
        together, alone = (np.bincount(each.instance.ravel(), minlength=8) for each in both)
        assert truth.instance.tolist() == [3, 7]
        assert truth.visible == pytest.approx(together[[3, 7]] / alone[[3, 7]], abs=1.5 / alone[7])
        assert truth.visible[0] > 0.98
        assert 0.3 < truth.visible[1] < 0.8

    @pytest.mark.parametrize(
        ("pose", "centre"),
        [
            (Pose((2, 0.6, 0)), (2, 0.6, CONE_HEIGHT / 2)),
            (Pose.from_euler(2.5, 0.6, 0.12, roll=math.pi / 2), (2.5, 0.6 - CONE_HEIGHT / 2, 0.12)),
        ],
    )
    def test_the_distance_is_to_the_middle_of_a_thing_where_it_is_now(self, engine, pose, centre):
        state = SceneState(CAMERA, {"green": pose})
        truth = ground_truth(engine.scene, LENS, state, engine.labels(LENS, state), Labelling(0, 0)).objects
        expected = math.dist(centre, (0, 0, CAMERA_HEIGHT))
        assert truth.distance[truth.instance.tolist().index(7)] == pytest.approx(expected, abs=1e-6)

    def test_what_cannot_be_seen_is_refused(self, engine):
        nobody = SceneState(CAMERA, {"nobody": Pose()})
        for call in (
            lambda: engine.render(LENS, [nobody]),
            lambda: engine.labels(LENS, nobody),
            lambda: engine.cast_rays([(0, 0, 1)], [(0, 0, 1)], {"nobody": Pose()}),
            lambda: engine.render(LENS, []),
            lambda: engine.render(LENS, [AT], 3),
            lambda: engine.render(LENS, [AT], 0),
        ):
            with pytest.raises(UsageError):
                call()
