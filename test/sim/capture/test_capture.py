"""One Capture for all: whoever sees a scene at an instant gets the same labelled frame of it."""

from dataclasses import replace
from types import SimpleNamespace

import driving_scenes
import numpy as np
import pytest
from render_scenes import camera_file, scene_file

from simjudge.core.errors import Losses
from simjudge.geometry.poses import Pose, Trajectory
from simjudge.geometry.trajectories import TrajectoryInterpolator
from simjudge.questions.engines.run import capture_views
from simjudge.sim.capture.camera_poses import CameraPath
from simjudge.sim.capture.capture import Capture, exposure_at
from simjudge.sim.capture.frame_store import FrameStore
from simjudge.sim.capture.ground_truth import Labelling
from simjudge.sim.capture.render_plan import PlacedScene, RenderPlan
from simjudge.sim.capture.rendering import render_missing as render_frames
from simjudge.sim.capture.replay_plan import ReplayPlan, ReplaySource
from simjudge.sim.capture.replaying import render_missing as replay_frames
from simjudge.sim.driving.closed_loop import DrivenFrame
from simjudge.sim.driving.drive import DriveOptions, make_closed_loop, read_drive_setup
from simjudge.sim.engines.registry import make_engine
from simjudge.sim.scene.read import read_scene
from simjudge.sim.sensors.camera.camera_file import read_camera
from simjudge.sim.sensors.camera.chain import Step

pytest.importorskip("mujoco", reason="MuJoCo (the extra `sim`) is not installed")
pytest.importorskip("mitsuba", reason="Mitsuba (the extra `sim`) is not installed")

NAME, STAMP = "pose_00000", 1_000_000_000
"""The name that `engines compare` gives its first frame: the camera's noise follows from it."""
EVERYTHING = Labelling(min_size=1, min_visible=0)
SEED = 4


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """Scene file, a noisy camera that smears, and a pose of its optical frame."""
    folder = tmp_path_factory.mktemp("capture")
    noise = Step("shot_noise", {"shot": 10, "read": 1})
    camera = replace(read_camera(camera_file(folder)), steps=(noise,), exposure_time=0.01, exposure_samples=2, gain=1.5)
    return scene_file(folder), camera, Pose.from_euler(-1.0, 0.1, 0.3, pitch=0.2).optical_frame()


@pytest.fixture(scope="module")
def expected(world):
    """The frames of a Capture by itself: bodies where the scene has them, and where physics has put them at rest."""
    scene, camera, pose = world
    engine = make_engine("default", read_scene(scene, SEED))
    capture = Capture(engine, camera, EVERYTHING, SEED)
    frames = {}
    for name, bodies in (("scene", {}), ("physics", engine.poses())):
        exposure = exposure_at(camera, STAMP, NAME, lambda stamps: [pose] * len(stamps), lambda _, b=bodies: b)
        frames[name] = capture.capture(exposure)
    engine.close()
    assert len(frames["scene"].truth) > 1
    return frames


def stored(store):
    """Pixels and objects of a store's only frame."""
    frames = store.frames("x", [NAME], np.array([STAMP]), (96, 64), {})
    return frames.images.read(0), frames.objects


def rendered(scene, camera, pose, folder):
    poses = SimpleNamespace(frame_name=(NAME,), stamp=(STAMP,), at=lambda _, stamps, __: [pose] * len(stamps))
    plan = RenderPlan(scene, camera, poses, labelling=EVERYTHING, seed=SEED)
    placed, store = PlacedScene(plan), FrameStore.beside(folder / "rendered", {})
    render_frames(plan, placed, store, 1, lambda *_: None)
    placed.close()
    return stored(store)


def replayed(scene, camera, pose, folder):
    seconds = np.array([0, 1, 2, 3]) * 10**9
    body = Trajectory("x", "", "", seconds, np.tile(pose.position, (4, 1)), np.tile(pose.orientation, (4, 1)))
    source = ReplaySource(body, "x", [NAME], np.array([STAMP]), None, Losses())
    plan = ReplayPlan(source, CameraPath(TrajectoryInterpolator(body), Pose()), camera, EVERYTHING, SEED)
    engine, store = make_engine("default", read_scene(scene, SEED)), FrameStore.beside(folder / "replayed", {})
    replay_frames(engine, plan, store, lambda *_: None)
    engine.close()
    return stored(store)


def compared(scene, camera, pose, folder):
    del folder
    engine = make_engine("default", read_scene(scene, SEED))
    view = capture_views(engine, camera, [pose], SEED, lambda *_: None)[0]
    engine.close()
    return view.image, view.objects


@pytest.mark.parametrize(("user", "bodies"), [(rendered, "scene"), (replayed, "scene"), (compared, "physics")])
def test_all_users_get_the_same_frame_of_an_instant(world, expected, tmp_path, user, bodies):
    image, objects = user(*world, tmp_path)
    np.testing.assert_array_equal(image, expected[bodies].pixels())
    for name in ("box", "class_id", "instance", "distance", "visible"):
        np.testing.assert_array_equal(getattr(objects, name), getattr(expected[bodies].truth.objects, name))


@pytest.mark.long
def test_a_drive_gets_the_frame_that_another_engine_has_of_the_instant(tmp_path):
    options = DriveOptions(
        str(driving_scenes.scene_file(tmp_path)), str(driving_scenes.camera_file(tmp_path)), seed=SEED
    )
    loop, setup = make_closed_loop(options), read_drive_setup(options)
    driven = next(event for event in loop.run() if isinstance(event, DrivenFrame)).captured
    loop.engine.close()
    engine = make_engine("default", setup.scene, setup.vehicle, setup.start)
    again = Capture(engine, setup.cameras[0].camera, Labelling(), SEED).capture(driven.exposure)
    engine.close()
    assert len(driven.truth)
    np.testing.assert_array_equal(driven.pixels(), again.pixels())
    np.testing.assert_array_equal(driven.truth.objects.box, again.truth.objects.box)
    np.testing.assert_array_equal(driven.labels.instance, again.labels.instance)


def test_without_an_image_the_labels_are_the_same(world, expected):
    scene, camera, _ = world
    engine = make_engine("default", read_scene(scene, SEED))
    frame = Capture(engine, camera, EVERYTHING, SEED).capture(expected["scene"].exposure, image=False)
    engine.close()
    np.testing.assert_array_equal(frame.truth.objects.box, expected["scene"].truth.objects.box)
    np.testing.assert_array_equal(frame.labels.class_id, expected["scene"].labels.class_id)
    with pytest.raises(ValueError, match="without an image"):
        frame.pixels()


def test_masks_and_visible_shares_come_with_the_frame(world, expected):
    scene, camera, _ = world
    engine = make_engine("default", read_scene(scene, SEED))
    frame = Capture(engine, camera, EVERYTHING, SEED, masks=True).capture(expected["scene"].exposure, image=False)
    engine.close()
    assert frame.truth.objects.visible.tolist() == expected["scene"].truth.objects.visible.tolist()
    areas = [int(frame.truth.objects.masks.crop(row).sum()) for row in range(len(frame.truth))]
    assert areas == frame.truth.pixels.tolist()
    assert (frame.frame_name, frame.stamp) == (NAME, STAMP)
    assert frame.camera_pose == expected["scene"].exposure.middle.camera
