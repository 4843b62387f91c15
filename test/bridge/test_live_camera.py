"""When a camera looks at a system that somebody else steps, and what becomes of it: a world that is a formula."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from simjudge.bridge.live_camera import CameraPlace, LiveCamera, segmentation_error
from simjudge.core.errors import UsageError
from simjudge.geometry.poses import Pose
from simjudge.sim.capture.ground_truth import Labelling
from simjudge.sim.engines.chrono.cameras import ProbeResult
from simjudge.sim.engines.contract import Labels
from simjudge.sim.scene.model import Scene
from simjudge.sim.sensors.camera.camera import Camera
from simjudge.sim.sensors.camera.lens import lens_with_field
from simjudge.sim.sensors.camera.rig import MountedCamera

LENS = lens_with_field("pinhole", (8, 6), 80)
MS = 1_000_000


def vector(x, y, z):
    return SimpleNamespace(x=x, y=y, z=z)


class Body:
    """A body that drives along x at 1 m/s."""

    def __init__(self, world):
        self.world = world

    def GetFrameRefToAbs(self):  # noqa: N802 - Chrono's name
        turn = SimpleNamespace(e0=1.0, e1=0.0, e2=0.0, e3=0.0)
        return SimpleNamespace(GetPos=lambda: vector(self.world.time, 0.0, 0.0), GetRot=lambda: turn)


class World:
    """Nothing is labelled in it; light is its time."""

    def __init__(self):
        self.time = 0.0

    def object_poses(self):
        return {}

    def scene(self):
        return Scene("world", (), ())

    def own_labels(self, classes, instances):
        return classes, instances


class Light:
    """Radiance that is the world's time."""

    def __init__(self, world):
        self.world, self.rays = world, []

    def radiance(self, lens, rays):
        self.rays.append(rays)
        return np.full((lens.size[1], lens.size[0], 3), self.world.time, np.float32)

    def labels(self, lens):
        shape = lens.size[1], lens.size[0]
        return Labels(np.zeros(shape, np.uint8), np.zeros(shape, np.uint16), np.ones(shape, np.float32))


def run(camera, steps, step_ms):
    """The frames of a camera, and the camera, after some steps."""
    world = World()
    light = Light(world)
    live = LiveCamera(world, MountedCamera("camera", camera), CameraPlace(Body(world), Pose()), light, Labelling(), 0)
    frames = []
    for number in range(1, steps + 1):
        now = number * step_ms * MS
        world.time = now / 1e9
        live.observe(now)
        frames += live.take(now)
    return frames, live, light


def camera(**fields):
    return Camera("c", Path("c.yaml"), LENS, (), **{"rate": 30.0, "lag": 0.0, "supersampling": 1, **fields})


def test_a_frame_is_taken_at_the_first_step_at_or_after_its_time():
    """At 30 Hz, frames are due at 33.333, 66.667 and 100 ms; with steps of 4 ms: 36, 68 and 100 ms."""
    frames, live, _ = run(camera(), 25, 4)
    assert [frame.captured.stamp // MS for frame in frames] == [36, 68, 100]
    assert live.missed == 0
    assert frames[1].captured.camera_pose.position[0] == pytest.approx(0.068)


def test_an_exposure_is_the_mean_of_its_moments_at_steps_of_their_own():
    """Four moments of 8 ms from 34 ms on are due at 34.33, 36.33, 38.33, 40.33 ms: at steps of 1 ms 35, 37, 39, 41."""
    frames, _, light = run(camera(exposure_time=0.008, exposure_samples=4, supersampling=4), 45, 1)
    (frame,) = frames
    assert frame.captured.stamp == 34 * MS
    assert frame.captured.image.pixels[0, 0, 0] == round(255 * (1.055 * 0.038 ** (1 / 2.4) - 0.055))
    assert light.rays == [4, 4, 4, 4]


def test_a_lag_holds_a_frame_back():
    frames, _, _ = run(camera(lag=0.03), 63, 1)
    assert frames == []
    (frame,) = run(camera(lag=0.03), 64, 1)[0]
    assert (frame.captured.stamp, frame.time) == (34 * MS, 64 * MS)


def test_frames_between_two_steps_are_counted():
    """Steps of 0.1 s: of the 30 frames of a second, 10 are taken, and the last step's are due after it."""
    frames, live, _ = run(camera(), 10, 100)
    assert len(frames) == 10
    assert len(frames) + live.missed == 30


def test_rays_with_times_of_their_own_are_refused():
    with pytest.raises(UsageError, match="line_time"):
        run(camera(line_time=1e-5), 1, 1)


def test_labels_of_an_uncorrected_segmentation_camera():
    """At hFOV 1.4 and 1280 px: rays to tan(0.7) = 0.8423 in colour and 2.8 / pi = 0.8913 in labels."""
    probed = ProbeResult({"camera": "tangent", "segmentation": "linear", "depth": "linear"}, frozenset())
    lens = lens_with_field("pinhole", (1280, 720), np.degrees(1.4))
    assert segmentation_error(lens, probed) == pytest.approx(640 * (1 - 0.84229 / 0.89127), abs=0.01)
