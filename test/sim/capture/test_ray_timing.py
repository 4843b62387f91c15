"""Rays with times of their own: motion blur as grain, rolling shutters, and the labels of both, against formulas."""

from dataclasses import replace

import numpy as np
import pytest
from light_scenes import ball, flat, plain, scene, thing, white
from trimesh import creation

from simjudge.core.errors import SimjudgeError
from simjudge.geometry.poses import Pose, interpolate_pose
from simjudge.sim.capture.capture import Capture, FrameExposure, exposure_at, timed_exposure
from simjudge.sim.capture.ground_truth import Labelling, ground_truth
from simjudge.sim.capture.silhouette import RowStates, pixels_alone, pixels_alone_by_rays
from simjudge.sim.engines.contract import SceneState
from simjudge.sim.sensors.camera.camera import SECOND, exposure_stamps, middle_stamp, ready_stamp
from simjudge.sim.sensors.camera.camera_file import read_camera
from simjudge.sim.sensors.camera.lens import lens_with_field

AHEAD = Pose().optical_frame()
BLURRED = replace(
    read_camera("plain"),
    lens=lens_with_field("pinhole", (120, 60), 40),
    supersampling=4,
    exposure_time=0.02,
    exposure_samples=32,
    motion_blur="rays",
)
ROLLING = replace(BLURRED, lens=lens_with_field("pinhole", (96, 80), 60), exposure_time=0.0, line_time=2e-4)
FOCAL = BLURRED.lens.focal[0]
DISTANCE = 2.0


def lit(*things):
    """Things that shine evenly: ambient light only."""
    return scene(*things, ambient=(0.8, 0.8, 0.8))


def panel(y=0.0, width=0.4, name="panel"):
    """A bright plate, its face `DISTANCE` before the camera."""
    mesh = flat(creation.box([0.02, width, 8.0]))
    return thing(name, mesh, white(), Pose((DISTANCE + 0.01, y, 0)), class_id=1, instance=1, motion="free", mass=1.0)


def flying_ball(radius):
    place = Pose((DISTANCE, 0, 0))
    return thing("ball", ball(radius, 4), white(), place, class_id=1, instance=1, motion="free", mass=1.0)


def exposure_of(camera, begin, end, name="f"):
    """An exposure between whose ends camera and bodies go evenly; begin and end: (camera, bodies)."""
    stamps = exposure_stamps(camera, 0)

    def state(share):
        bodies = {key: interpolate_pose(pose, end[1][key], share) for key, pose in begin[1].items()}
        return SceneState(interpolate_pose(begin[0], end[0], share), bodies)

    states = tuple(state(stamp / (camera.open_time * SECOND)) for stamp in stamps)
    return FrameExposure(name, 0, states, state(0.5))


def sideways(way, what):
    """Both ends of an exposure in which the camera, or the panel, goes aside by `way` metres."""
    ends = []
    for y in (-way / 2, way / 2):
        camera = Pose((0, y, 0)).optical_frame() if what == "camera" else AHEAD
        ends.append((camera, {"panel": Pose((DISTANCE + 0.01, y, 0))} if what == "body" else {}))
    return ends


def shine(light_of, things, exposure, camera=BLURRED):
    """The picture, 1 where the bright things are."""
    seen = light_of(lit(*things))
    timed = timed_exposure(camera, exposure)
    picture = seen.render_timed(camera.lens, timed, camera.rays_per_pixel)[..., 0]
    still = seen.render(camera.lens, [exposure.middle], camera.rays_per_pixel)[..., 0]
    return picture / still.max()


@pytest.mark.parametrize("what", ["camera", "body"])
def test_a_moving_edge_is_a_ramp_as_wide_as_its_way(light_of, what):
    """Both edges of a plate of width b, smeared over L = f way / d pixels: trapezoids, by their formula."""
    way = 0.3
    row = shine(light_of, [panel()], exposure_of(BLURRED, *sideways(way, what))).mean(0)
    length, half = FOCAL * way / DISTANCE, FOCAL * 0.4 / DISTANCE / 2
    x = np.abs(np.arange(120) - 59.5)
    # The plate covers x from c - half to c + half, c uniform over the smear.
    expected = np.clip((np.minimum(length / 2, half - x) + length / 2) / length, 0, 1)
    assert length > 20
    assert np.abs(row - expected).max() < 0.03
    assert np.abs(row - expected).mean() < 0.006


def test_ghosts_become_grain(light_of):
    """Four moments make steps of a quarter; rays with times of their own make none, but noise from pixel to pixel."""
    ends = sideways(0.3, "camera")
    grain = shine(light_of, [panel()], exposure_of(BLURRED, *ends))
    moments = replace(BLURRED, motion_blur="moments", exposure_samples=4)
    seen = light_of(lit(panel()))
    ghosts = seen.render(moments.lens, exposure_of(moments, *ends).scene_states, 16)[..., 0]
    ghosts /= ghosts.max()
    steps = [np.abs(np.diff(picture.mean(0))).max() for picture in (ghosts, grain)]
    assert steps[0] == pytest.approx(0.25, abs=0.02)
    assert steps[1] < 0.08
    assert ghosts.std(0).max() < 1e-5  # rows are alike
    assert 0.01 < grain.std(0).max() < 0.25


def test_a_moving_ball_covers_what_the_integral_says(light_of):
    radius, way = 0.12, 0.5
    things = [flying_ball(radius)]
    ends = [(AHEAD, {"ball": Pose((DISTANCE, y, 0.3 * y))}) for y in (-way / 2, way / 2)]
    picture = shine(light_of, things, exposure_of(BLURRED, *ends))
    # The share of time for which the ray of a pixel passes the centre by less than the radius.
    rays = AHEAD.to_world(BLURRED.lens.rays())
    covered = np.zeros(rays.shape[:2])
    for y in (np.arange(400) / 400 + 1 / 800 - 0.5) * way:
        centre = np.array([DISTANCE, y, 0.3 * y])
        along = rays @ centre
        covered += centre @ centre - along**2 < radius**2
    covered /= 400
    assert picture.sum() == pytest.approx(covered.sum(), rel=0.01)
    assert np.abs(picture - covered).mean() < 0.01


def test_pictures_follow_from_seed_and_name_to_the_byte(light_of):
    ends = sideways(0.3, "body")
    seen = light_of(lit(panel()))

    def picture(name, seed):
        timed = timed_exposure(BLURRED, exposure_of(BLURRED, *ends, name), seed)
        return seen.render_timed(BLURRED.lens, timed, 4).tobytes()

    first = picture("f", 3)
    assert picture("f", 3) == first
    assert picture("g", 3) != first
    assert picture("f", 4) != first


def test_times_are_uniform_over_the_exposure():
    camera = replace(BLURRED, line_time=1e-4)
    timed = timed_exposure(camera, exposure_of(camera, *sideways(0.1, "camera")))
    times = timed.ray_times((120, 60), 9) - np.arange(60)[:, None, None] * 1e-4
    assert times.min() >= 0
    assert times.max() < 0.02
    for ray in range(9):  # any one ray of a pixel, over the image
        counts = np.histogram(times[..., ray], 10, (0, 0.02))[0]
        assert np.abs(counts - 720).max() < 4.5 * np.sqrt(720)
    assert np.sort(times // (0.02 / 9), axis=-1).tolist() == np.broadcast_to(np.arange(9), times.shape).tolist()


def test_where_nothing_moves_all_rays_share_one_scene():
    exposure = exposure_at(BLURRED, 0, "f", lambda stamps: [AHEAD] * len(stamps))
    assert timed_exposure(BLURRED, exposure) is None
    trembling = exposure_of(BLURRED, *sideways(1e-8, "body"))
    assert len(timed_exposure(BLURRED, trembling).bodies) == 1


def pole(y):
    """A thin upright pole, 3 m before the camera."""
    mesh = flat(creation.cylinder(0.03, 12, sections=24))
    return thing("pole", mesh, plain((1, 1, 1)), Pose((3, y, 0)), class_id=1, instance=1, motion="free", mass=1.0)


@pytest.mark.parametrize("what", ["camera", "body"])
def test_a_pole_leans_by_its_speed_and_the_line_time(light_of, what):
    """Row r sees it at r line_time: x = f tan(a), a its bearing then; picture, labels and box agree."""
    camera, height = ROLLING, ROLLING.lens.size[1]
    times, focal = np.arange(height) * camera.line_time, ROLLING.lens.focal[0]
    if what == "camera":  # turns to the left by 0.3 rad
        ends = [(Pose.from_euler(0, 0, 0, yaw=yaw).optical_frame(), {}) for yaw in (-0.15, 0.15)]
        bearing = -0.15 + 0.3 * times / times[-1]
        expected = 47.5 + focal * np.tan(bearing)
    else:  # goes to the left by 1 m, in 32 steps
        ends = [(AHEAD, {"pole": Pose((3, y, 0))}) for y in (-0.5, 0.5)]
        expected = 47.5 - focal * (-0.5 + times / times[-1]) / 3
    exposure = exposure_of(camera, *ends)
    timed = timed_exposure(camera, exposure)
    seen = light_of(lit(pole(0.0)))
    labels = seen.labels_timed(camera.lens, timed)
    columns = np.array([np.flatnonzero(row).mean() for row in labels.instance])
    assert np.ptp(expected) > 24
    assert np.abs(columns - expected).max() < 0.5 + (0.5 if what == "body" else 0)
    picture = seen.render_timed(camera.lens, timed, 16)[..., 0]
    centre = (picture * np.arange(96)).sum(1) / picture.sum(1)
    assert np.abs(centre - expected).max() < 0.2 + (0.5 if what == "body" else 0)
    truth = ground_truth(lit(pole(0.0)), camera.lens, exposure.middle, labels, Labelling(0, 0), timed=timed).objects
    x = np.flatnonzero(labels.instance.any(0))
    assert truth.box.tolist() == [[x[0], 0, x[-1] + 1, height]]
    assert labels.depth[labels.instance > 0] == pytest.approx(3, abs=0.5)


def test_the_whole_of_a_thing_is_counted_row_by_row(light_of):
    """A ball that rises while the rows go down is flattened; none of it is hidden, so all of it is visible."""
    things = [flying_ball(0.2)]
    camera = replace(ROLLING, exposure_samples=256)
    scene_seen = lit(*things)
    ends = [(AHEAD, {"ball": Pose((2, 0, z))}) for z in (-0.3, 0.3)]
    exposure = exposure_of(camera, *ends)
    timed = timed_exposure(camera, exposure)
    labels = light_of(scene_seen).labels_timed(camera.lens, timed)
    truth = ground_truth(scene_seen, camera.lens, exposure.middle, labels, Labelling(0, 0), timed=timed)
    still = pixels_alone([[(things[0].mesh, Pose((2, 0, 0)))]], AHEAD, camera.lens)[0]
    # Rows go down by v = 80 rows in the exposure, the ball up by f 0.6 / 2 rows: its height shrinks by v / (v + u).
    up = camera.lens.focal[1] * 0.6 / 2
    assert truth.pixels[0] / still == pytest.approx(80 / (80 + up), abs=0.03)
    assert truth.objects.visible[0] == pytest.approx(1, abs=0.01)


def test_casting_counts_what_rasterising_counts():
    shape = thing("cone", flat(creation.cone(0.3, 0.7, sections=40)), white(), class_id=1, instance=1)
    for x, y, z in ((2, 0.3, -0.2), (1.2, -0.9, 0.1), (0.4, 0, -0.3)):
        placed = replace(shape, pose=Pose.from_euler(x, y, z, roll=0.4))
        lens = lens_with_field("radial", (96, 80), 70, (-0.2, 0.02, 0))
        expected = pixels_alone([[(placed.mesh, placed.pose)]], AHEAD, lens)[0]
        assert abs(pixels_alone_by_rays([placed], RowStates(80, SceneState(AHEAD)), lens) - expected) <= 2


def test_stamps_of_a_rolling_shutter():
    camera = replace(ROLLING, exposure_time=0.01, exposure_samples=4)
    whole = round((0.01 + 79 * 2e-4) * SECOND)
    assert exposure_stamps(camera, 5) == [5 + round(whole * k / 4) for k in range(5)]
    assert middle_stamp(camera, 5) == 5 + whole // 2
    assert ready_stamp(camera, 5) == 5 + whole


def test_an_engine_that_takes_whole_images_refuses():
    class Whole:
        name = "chrono"

    for camera, field in ((BLURRED, "motion_blur: rays"), (ROLLING, "line_time")):
        with pytest.raises(SimjudgeError, match=f"{field}: engine chrono takes all of an image at one instant"):
            Capture(Whole(), camera)
