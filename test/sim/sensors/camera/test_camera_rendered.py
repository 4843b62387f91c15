"""What the default engine shows through a camera: where things are, how far they smear, how noisy they are."""

from dataclasses import replace

import cv2
import numpy as np
import pytest
from scipy.spatial import ConvexHull
from solid_scenes import AT_ORIGIN, RADIAL, box, cone, labels_of, random_scene, scene_of

from simjudge.geometry.poses import Pose, interpolate_pose
from simjudge.sim.capture.capture import develop, gather_light
from simjudge.sim.engines.contract import SceneState
from simjudge.sim.engines.registry import make_engine
from simjudge.sim.scene.model import Collider
from simjudge.sim.sensors.camera.camera_file import read_camera
from simjudge.sim.sensors.camera.isp import shot_noise
from simjudge.sim.sensors.camera.lens import Lens, lens_with_field

pytest.importorskip("mujoco", reason="MuJoCo (the extra `sim`) is not installed")
pytest.importorskip("mitsuba", reason="Mitsuba (the extra `sim`) is not installed")

SIZE = (320, 200)
LENSES = {
    "pinhole": lens_with_field("pinhole", SIZE, 80),
    "fov": lens_with_field("fov", SIZE, 80),
    "radial": lens_with_field("radial", SIZE, 80, RADIAL),
    "plumb_bob": Lens(
        "plumb_bob", SIZE, (0.6 * SIZE[0],) * 2, (0.52 * SIZE[0], 0.46 * SIZE[1]), (-0.3, 0.09, 0.004, -0.006, 0.0)
    ),
    "equidistant": lens_with_field("equidistant", SIZE, 100, (0.01, -0.002, 0.0, 0.0)),
}


@pytest.fixture
def engine_of():
    made = []

    def make(scene):
        made.append(make_engine("default", scene))
        return made[-1]

    yield make
    for engine in made:
        engine.close()


def instants(begin, end, count):
    """Middles of `count` equal parts of an exposure that begins and ends so."""
    shares = [(2 * i + 1) / (2 * count) for i in range(count)]
    return [
        SceneState(
            interpolate_pose(begin.camera, end.camera, share),
            {name: interpolate_pose(pose, end.bodies[name], share) for name, pose in begin.bodies.items()},
        )
        for share in shares
    ]


def outline(corners, info):
    """The outline of a convex solid in pixels, by OpenCV and camera_info alone: (N, 2), its straight edges in steps."""
    order = ConvexHull(corners[:, :2] / corners[:, 2:]).vertices
    edges = zip(corners[order], corners[np.roll(order, -1)], strict=True)
    points = np.concatenate([np.linspace(begin, end, 50)[:-1] for begin, end in edges])
    project = cv2.fisheye.projectPoints if info.model == "equidistant" else cv2.projectPoints
    pixels, _ = project(points.reshape(-1, 1, 3), np.zeros(3), np.zeros(3), info.matrix, info.distortion)
    return pixels.reshape(-1, 1, 2).astype(np.float32)


@pytest.mark.parametrize("model", LENSES)
@pytest.mark.parametrize("seed", range(3))
def test_corners_reproject_by_camera_info_to_the_silhouette(engine_of, model, seed):
    """OpenCV, told nothing but camera_info, knows which pixels see a thing: wrong by a tenth of a pixel at most."""
    lens = LENSES[model]
    info = lens.camera_info().calibration
    random = np.random.default_rng(seed)
    camera = Pose.from_euler(*random.uniform(-0.3, 0.3, 3), yaw=0.2, pitch=-0.1, roll=0.3).optical_frame()
    for number in range(3):
        x = random.uniform(1.5, 4)
        pose = Pose((x, random.uniform(-0.45, 0.45) * x, random.uniform(-0.2, 0.2) * x), tuple(random.normal(size=4)))
        thing = cone("it", 0.15, 0.4, pose, 1, 1) if number % 2 else box("it", (0.2, 0.3, 0.4), pose, 1, 1)
        instance = engine_of(scene_of(thing)).labels(lens, SceneState(camera)).instance
        edge = outline(camera.to_body(thing.pose.to_world(thing.mesh.vertices)), info)
        away = [[cv2.pointPolygonTest(edge, (x, y), True) for x in range(SIZE[0])] for y in range(SIZE[1])]
        wrong = (np.array(away) > 0) != (instance == 1)
        assert instance.any()
        assert np.abs(np.array(away)[wrong]).max(initial=0) <= 0.1


@pytest.mark.parametrize("model", ["pinhole", "radial"])
def test_labels_of_the_engine_are_those_of_trimesh(engine_of, model):
    lens = lens_with_field(model, (60, 40), 80, RADIAL if model == "radial" else (0, 0, 0))
    for seed in range(3):
        scene = random_scene(seed)
        ours, theirs = engine_of(scene).labels(lens, SceneState(AT_ORIGIN)), labels_of(scene, lens)
        assert np.count_nonzero(ours.instance != theirs.instance) <= 3  # rays along an edge
        assert np.count_nonzero(ours.class_id != theirs.class_id) <= 3


def bright_panel(y):
    """A white plate 0.2 m wide, 2 m before the camera: lit by the ambient light alone, to 0.8 evenly."""
    return box("panel", (0.001, 0.2, 2.0), Pose((2.0, y, 0)))


def profile(engine, camera, scene_states):
    """Radiance along the picture's middle row, red."""
    return gather_light(engine, camera, scene_states)[camera.lens.size[1] // 2, :, 0]


def smear(row, still):
    """Pixels over which the left edge is smeared: an even smear of length L adds L^2 / 12 to the edge's variance."""
    return np.sqrt(12 * (edge_variance(row) - edge_variance(still)))


def edge_variance(row):
    step = np.diff(row[: len(row) // 2])
    x = np.arange(len(step))
    middle = (step * x).sum() / step.sum()
    return (step * (x - middle) ** 2).sum() / step.sum()


CAMERA = read_camera("plain")


def with_lens(samples):
    lens = lens_with_field("pinhole", (400, 9), 40)
    return replace(CAMERA, lens=lens, supersampling=4, exposure_time=0.02, exposure_samples=samples)


@pytest.mark.parametrize("what", ["camera", "object"])
@pytest.mark.parametrize("speed", [0.5, 2.0, 5.0])
def test_motion_blur_is_as_long_as_speed_times_exposure(engine_of, what, speed):
    """At distance d, an edge that moves by v t smears over f v t / d pixels."""
    camera = with_lens(samples=64)
    panel = replace(bright_panel(0.0), motion="free", mass=1.0, collider=Collider("box", (0.001, 0.2, 2.0)))
    scene = replace(scene_of(panel), ambient=(0.8, 0.8, 0.8))
    engine = engine_of(scene)
    way = speed * camera.exposure_time
    here, there = Pose((0, -way / 2, 0)), Pose((0, way / 2, 0))
    if what == "camera":
        begin, end = SceneState(here.optical_frame()), SceneState(there.optical_frame())
    else:
        at = panel.pose.position
        begin, end = (
            SceneState(Pose().optical_frame(), {"panel": Pose((at[0], y, at[2]))}) for y in (-way / 2, way / 2)
        )
    row = profile(engine, camera, instants(begin, end, camera.exposure_samples))
    still = profile(engine, camera, [SceneState(Pose().optical_frame())])
    expected = camera.lens.focal[0] * way / (2.0 - 0.0005)
    assert smear(row, still) == pytest.approx(expected, rel=0.02, abs=0.25)
    # The light of the smear is that of the panel, and its middle stands where the panel is at half time.
    assert row.sum() == pytest.approx(still.sum(), rel=0.01)
    middle = (row * np.arange(len(row))).sum() / row.sum()
    assert middle == pytest.approx((len(row) - 1) / 2, abs=0.1)


def test_noise_of_a_rendered_surface_lies_on_the_line(engine_of):
    """An evenly lit wall through shot and read noise, in linear light: variance shot^2 I + read^2."""
    wall = box("wall", (0.001, 20, 20), Pose((2.0, 0, 0)))
    lens = lens_with_field("pinhole", (300, 200), 40)
    camera = replace(CAMERA, lens=lens, supersampling=1)
    for brightness in (0.1, 0.4, 0.9):
        engine = engine_of(replace(scene_of(wall), ambient=(brightness,) * 3))
        light = gather_light(engine, camera, [SceneState(Pose().optical_frame())])
        level = float(light.mean())
        assert light.std() < 1e-3
        noisy = (shot_noise(light, shot=12, read=3, seed=5) - light) * 255
        assert noisy.var() == pytest.approx(144 * level + 9, rel=0.02)


def test_the_same_call_gives_the_same_bytes(engine_of):
    camera = replace(read_camera("reference"), lens=LENSES["radial"])
    scene = replace(random_scene(1), ambient=(0.5, 0.5, 0.5))
    scene_states = instants(SceneState(Pose().optical_frame()), SceneState(Pose((0.1, 0, 0)).optical_frame()), 2)
    first, again = (develop(camera, gather_light(engine_of(scene), camera, scene_states), "a", 7) for _ in range(2))
    assert np.array_equal(first.pixels, again.pixels)
