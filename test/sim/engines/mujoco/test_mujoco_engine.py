"""MuJoCo's own renderer behind the contract: the exported camera, textures, lamps and lenses, against other answers."""

import importlib
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("mujoco", reason="MuJoCo (the extra `sim`) is not installed")

import mujoco

from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.geometry.poses import Pose
from simjudge.sim.engines.contract import SceneState
from simjudge.sim.engines.mujoco import gl_pictures
from simjudge.sim.engines.mujoco.mujoco_engine import MujocoEngine, sky_radiance
from simjudge.sim.engines.mujoco.visual_model import split_faces
from simjudge.sim.engines.registry import make_engine
from simjudge.sim.scene.model import PointLight, Scene, Sky, Sun, Surface, Thing, box, plane
from simjudge.sim.sensors.camera.lens import Lens, lens_with_field
from simjudge.sim.sensors.exporting import export_camera

CAMERA = Pose((0, 0, 1)).optical_frame()
LENS = lens_with_field("pinhole", (96, 64), 80)


@pytest.fixture(autouse=True)
def _needs_opengl():
    try:
        gl_pictures.make_context()[1].free()
    except SimjudgeError as error:
        pytest.skip(str(error))


def wall(surface):
    """A wall of 4 x 4 m, 3 m ahead of the camera, its texture's lower left corner on the left."""
    return Thing("wall", box(0.1, 4.0, 4.0), surface, Pose((3.05, 0, -1)))


def picture(scene, engine=MujocoEngine, lens=LENS, rays=4):
    with closing(engine(scene)) as made:
        return made.render(lens, [SceneState(CAMERA)], rays)


@pytest.mark.parametrize("centre", [(47.5, 31.5), (40.0, 35.25)])
def test_the_exported_camera_sees_what_the_engine_sees(centre, tmp_path):
    """`simjudge sim export camera --to mujoco`, loaded by MuJoCo, has the frustum that the engine renders through."""
    file = tmp_path / "camera.yaml"
    file.write_text(
        "image_width: 96\nimage_height: 64\ncamera_name: home\ndistortion_model: plumb_bob\n"
        f"camera_matrix: {{rows: 3, cols: 3, data: [70, 0, {centre[0]}, 0, 70, {centre[1]}, 0, 0, 1]}}\n"
        "distortion_coefficients: {rows: 1, cols: 5, data: [0, 0, 0, 0, 0]}\n"
    )
    text = export_camera(file, "mujoco").text
    model = mujoco.MjModel.from_xml_string(f"<mujoco><worldbody>{text}</worldbody></mujoco>")
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    scene, view = mujoco.MjvScene(model=model, maxgeom=10), mujoco.MjvCamera()
    view.type, view.fixedcamid = mujoco.mjtCamera.mjCAMERA_FIXED, 0
    mujoco.mjv_updateScene(model, data, mujoco.MjvOption(), None, view, mujoco.mjtCatBit.mjCAT_ALL.value, scene)
    theirs = scene.camera[0]
    with closing(MujocoEngine(Scene("s", (wall(Surface()),), ()))) as engine:
        engine.render(Lens("pinhole", (96, 64), (70.0, 70.0), centre), [SceneState(CAMERA)])
        ours = engine._pictures._shown.camera[0]
        for name in ("frustum_center", "frustum_bottom", "frustum_top"):
            found, wanted = (getattr(camera, name) / camera.frustum_near for camera in (ours, theirs))
            assert found == pytest.approx(wanted, abs=1e-5)


def test_textures_lie_as_in_the_default_engine():
    pytest.importorskip("mitsuba", reason="Mitsuba (the extra `sim`) is not installed")
    texture = np.random.default_rng(0).random((4, 4, 3)).astype(np.float32).repeat(8, 0).repeat(8, 1)
    scene = Scene("s", (wall(Surface(texture=texture, roughness=1.0)),), (), ambient=(1.0, 1.0, 1.0))
    scaled = replace(scene.things[0].mesh, uv=scene.things[0].mesh.uv / 4)
    scene = replace(scene, things=(replace(scene.things[0], mesh=scaled),))
    ours, theirs = picture(scene), picture(scene, lambda scene: make_engine("default", scene))
    assert np.quantile(np.abs(ours - theirs), 0.75) < 0.05  # within the squares
    assert np.corrcoef(ours.ravel(), theirs.ravel())[0, 1] > 0.97


def test_a_lamps_light_is_that_of_the_formula_whatever_its_strength():
    for intensity in (0.02, 2.0, 200.0):
        lamp = PointLight((1.0, 0.0, 1.0), (intensity,) * 3, 50)
        found = picture(Scene("s", (wall(Surface((0.5, 0.5, 0.5))),), (lamp,)))
        for row, column in ((31, 47), (20, 30), (45, 70)):
            ray = LENS.rays_at(np.array([column, row], float))
            y, z = (-ray[:2] / ray[2] * 3.0).tolist()
            distance = np.sqrt(4 + y**2 + z**2)
            assert found[row, column, 0] == pytest.approx(0.5 * intensity / np.pi * 2 / distance**3, rel=0.05, abs=1e-4)


def test_more_lamps_than_opengl_has_add_up():
    lamps = tuple(PointLight((1.0, y / 10, 1.0), (0.3,) * 3, 50) for y in range(-10, 11))
    scene = Scene("s", (wall(Surface()),), lamps)
    each = [picture(replace(scene, lights=(lamp,))) for lamp in lamps]
    assert picture(scene) == pytest.approx(np.sum(each, axis=0), abs=0.03)


def test_the_sun_throws_shadows():
    floor = Thing("floor", plane(20, 20), Surface((1.0, 1.0, 1.0)))
    roof = Thing("roof", box(1.0, 2.0, 0.05), Surface(), Pose((3, 0, 1.5)))
    scene = Scene("s", (floor, roof), (), sun=Sun((0.0, 0.0, 1.0), (np.pi,) * 3))
    found = picture(scene)[..., 0]
    column, row = np.rint(LENS.project(CAMERA.to_body(np.array([3.0, 0, 0])))).astype(int)
    assert found[row, column] < 0.05
    assert found[row, 5] == pytest.approx(1, abs=0.02)


def test_the_sky_is_seen_in_its_direction():
    image = np.zeros((4, 8, 3), np.float32)
    image[0], image[1, 2] = 5, 7  # above; ahead and left, a little up
    found = sky_radiance(image, np.array([[0, 0, 1.0], [0.5, 0.6, 0.5], [1, 0, -0.5]]), 0.0)
    assert found[:, 0].tolist() == [5, 7, 0]


def test_the_skys_light_is_its_mean_over_the_upper_half_of_all_directions():
    down = (np.arange(64) + 0.5) / 64 * np.pi
    image = np.repeat(np.abs(np.cos(down)).astype(np.float32)[:, None, None], 8, 1).repeat(3, 2)
    # The mean of a direction's height over a half sphere is 1/2.
    assert gl_pictures._mean_sky(Scene("s", (), (), sky=Sky(image))) == pytest.approx(np.full(3, 0.5), abs=1e-3)


def test_a_renderer_that_does_not_begin_is_one_line_and_gives_opengl_back(monkeypatch):
    freed = []
    kind, context = gl_pictures.make_context()
    monkeypatch.setattr(
        gl_pictures,
        "make_context",
        lambda: (kind, SimpleNamespace(make_current=context.make_current, free=lambda: freed.append(context.free()))),
    )

    def breaks(*_):
        raise RuntimeError("no framebuffer")

    monkeypatch.setattr(mujoco, "MjrContext", breaks)
    with pytest.raises(SimjudgeError, match=r"engine mujoco: its renderer does not begin by .*: no framebuffer"):
        picture(Scene("s", (wall(Surface()),), ()))
    assert len(freed) == 1


def test_pictures_can_be_taken_from_one_thread_after_another():
    with closing(MujocoEngine(Scene("s", (wall(Surface()),), (), ambient=(1.0, 1.0, 1.0)))) as engine:
        here = engine.render(LENS, [SceneState(CAMERA)])
        with ThreadPoolExecutor(1) as pool:
            there = pool.submit(engine.render, LENS, [SceneState(CAMERA)]).result()
        again = engine.render(LENS, [SceneState(CAMERA)])
    assert np.array_equal(here, there)
    assert np.array_equal(here, again)


def test_a_picture_beyond_what_opengl_draws_is_one_line():
    wide = lens_with_field("pinhole", (100_000, 2), 80)
    with pytest.raises(SimjudgeError, match=r"engine mujoco: OpenGL draws .* and 100000x2 are needed"):
        picture(Scene("s", (wall(Surface()),), ()), lens=wide, rays=1)


def test_faces_are_split_and_stay_the_same_surface():
    mesh = split_faces(box(1.0, 0.5, 0.1), 0.3)
    corners = mesh.vertices[mesh.faces]
    sides = np.linalg.norm(np.roll(corners, -1, axis=1) - corners, axis=2)
    assert sides.max() <= 0.3
    cross = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    assert np.linalg.norm(cross, axis=1).sum() / 2 == pytest.approx(2 * (0.5 + 0.1 + 0.05))
    assert (np.einsum("ni,ni->n", cross, mesh.normals[mesh.faces[:, 0]]) > 0).all()


def test_what_it_cannot_do_is_one_line():
    with closing(MujocoEngine(Scene("s", (wall(Surface()),), ()))) as engine:
        with pytest.raises(SimjudgeError, match="engine mujoco: the lens sees"):
            engine.render(lens_with_field("equirectangular", (64, 32), 360), [SceneState(CAMERA)])
        with pytest.raises(UsageError, match="a picture needs an instant"):
            engine.render(LENS, [])


def test_without_opengl_the_remedy_is_named(monkeypatch):
    def missing(name):
        raise ImportError(f"no {name} here")

    monkeypatch.setattr(importlib, "import_module", missing)
    with pytest.raises(SimjudgeError) as error:
        gl_pictures.make_context()
    assert "there is no OpenGL here (tried egl and osmesa); " in str(error.value)
    assert "apt-get install libegl1 libgl1-mesa-dri" in str(error.value)
