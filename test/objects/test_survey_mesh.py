"""Meshes of surveys: boxes and posts of known size, by trimesh; the ground of a slope; reflectances by the cosine."""

import math

import numpy as np
import pytest
import trimesh

from simjudge.objects.survey_cloud import SurveyCloud
from simjudge.objects.survey_mesh import (
    Post,
    face_texture,
    fit_post,
    grey,
    ground_grid,
    painted,
    wrap_points,
    write_obj,
)
from simjudge.sim.scene.mesh_files import read_mesh
from simjudge.sim.scene.scene_fields import image_to_linear

SIZE = np.array([2.0, 0.6, 1.1])


def bare(points, **more):
    count = len(points)
    fields = {"scan": np.zeros(count, np.int64), "origin": np.empty((0, 3)), "reflected": None, "colour": None}
    return SurveyCloud(np.asarray(points, float), **(fields | more))


@pytest.mark.parametrize(("noise", "within"), [(0.0, 0.002), (0.015, 0.016)])
def test_rays_meet_the_shell_of_a_box_where_the_box_is(noise, within):
    random = np.random.default_rng(0)
    box = trimesh.creation.box(SIZE)
    points = box.sample(6000, seed=1) + random.normal(0, noise, (6000, 3))
    shell = trimesh.Trimesh(*wrap_points(points, 0.08), process=False)
    start = np.c_[random.uniform(-0.9, 0.9, 300), np.full(300, -5.0), random.uniform(-0.5, 0.5, 300)]
    place, ray, _ = shell.ray.intersects_location(start, np.tile([[0, 1.0, 0]], (300, 1)), multiple_hits=False)
    assert len(ray) == 300
    error = place[:, 1] + 0.3
    assert np.quantile(np.abs(error), 0.95) < within
    assert np.abs(shell.bounds - np.array([-SIZE, SIZE]) / 2).max() < 0.02 + 4 * noise


def test_a_sheet_seen_from_one_side_has_two_sides_that_nearly_touch():
    random = np.random.default_rng(0)
    points = np.c_[np.zeros(3000), random.uniform(-1, 1, 3000), random.uniform(0, 1, 3000)]
    vertices, faces = wrap_points(points, 0.08)
    assert np.abs(vertices[:, 0]).max() < 0.03
    shell = trimesh.Trimesh(vertices, faces, process=False)
    start = np.c_[np.full(200, -3.0), random.uniform(-0.9, 0.9, 200), random.uniform(0.1, 0.9, 200)]
    for side in (1.0, -1.0):
        ahead = np.tile([[side, 0, 0]], (200, 1))
        place, ray, _ = shell.ray.intersects_location(start * (side, 1, 1), ahead, multiple_hits=False)
        assert len(ray) == 200
        assert np.abs(place[:, 0]).max() < 0.005


def test_gaps_between_points_are_closed_up_to_three_cells():
    y, z = np.meshgrid(np.arange(0, 2, 0.2), np.arange(0, 1, 0.2))
    shell = trimesh.Trimesh(*wrap_points(np.c_[np.zeros(y.size), y.ravel(), z.ravel()], 0.08), process=False)
    start = np.c_[np.full(100, -3.0), np.linspace(0.02, 1.78, 100), np.full(100, 0.31)]
    ray = shell.ray.intersects_location(start, np.tile([[1.0, 0, 0]], (100, 1)), multiple_hits=False)[1]
    assert len(ray) == 100


def rod_hits(width, noise, seed, height=3.65, count=300):
    """Returns of beams from a lidar that passes a round rod at the origin, and where the lidar was."""
    random = np.random.default_rng(seed)
    origin = np.c_[random.uniform(-10, 10, count), np.full(count, -3.0), np.full(count, 1.8)]
    away = -origin[:, :2] / np.linalg.norm(origin[:, :2], axis=1, keepdims=True)
    offset = random.uniform(-width / 2, width / 2, count)
    flat = np.c_[-away[:, 1], away[:, 0]] * offset[:, None] - away * np.sqrt(width**2 / 4 - offset**2)[:, None]
    points = np.c_[flat, random.uniform(0.1, height, count)]
    ray = points - origin
    ray /= np.linalg.norm(ray, axis=1, keepdims=True)
    return points + ray * random.normal(0, noise, (count, 1)), origin


@pytest.mark.parametrize("width", [0.0254, 0.06, 0.12])
def test_posts_are_as_wide_as_their_rod_whatever_the_range_noise(width):
    found = []
    for seed in range(5):
        points, origin = rod_hits(width, 0.02, seed)
        post = fit_post(bare(points, scan=np.arange(len(points)), origin=origin), 0.0)
        found.append((post.width, math.hypot(*post.foot[:2]), post.foot[2], post.top[2]))
    mean = np.mean(found, 0)
    assert mean[0] == pytest.approx(width, rel=0.06)
    assert mean[1] < 0.01
    assert mean[2] == pytest.approx(0, abs=1e-9)
    assert mean[3] == pytest.approx(3.65, abs=0.05)


@pytest.mark.parametrize("half", [False, True])
def test_posts_of_a_single_cloud_are_as_wide_as_their_rod(half):
    """Without beams: hit evenly all around, or across one side."""
    random, width = np.random.default_rng(0), 0.1
    across = random.uniform(-width / 2, width / 2, 4000)
    around = random.uniform(0, 2 * math.pi, 4000)
    side = np.c_[across, -np.sqrt(width**2 / 4 - across**2)]
    ring = width / 2 * np.c_[np.cos(around), np.sin(around)]
    post = fit_post(bare(np.c_[side if half else ring, random.uniform(0.1, 2, 4000)]), 0.0)
    assert post.width == pytest.approx(width, rel=0.03)


def test_a_barrier_and_a_low_thing_are_no_posts():
    random = np.random.default_rng(0)
    assert fit_post(bare(trimesh.creation.box(SIZE).sample(500, seed=0)), 0.0) is None
    assert fit_post(bare(random.normal(0, 0.02, (50, 3))), 0.0) is None


def test_the_prism_of_a_post_is_closed_above_and_as_wide_on_average():
    vertices, faces = Post(np.zeros(3), np.array([0, 0, 2.0]), 0.1).mesh()
    prism = trimesh.Trimesh(vertices, faces)
    assert prism.bounds[:, 2] == pytest.approx([0, 2])
    turned = [np.ptp(vertices[:, :2] @ (math.cos(a), math.sin(a))) for a in np.linspace(0, math.pi, 400)]
    assert np.mean(turned) == pytest.approx(0.1, rel=1e-3)
    assert (prism.face_normals[:, :2] * prism.triangles_center[:, :2]).sum(1).min() > -1e-9


def test_the_ground_of_a_slope_and_its_gap():
    random = np.random.default_rng(0)
    at = random.uniform(0, 8, (20_000, 2))
    kept = ~((np.abs(at - 4) < 1).all(1))
    points = np.c_[at, 0.1 * at[:, 0] + random.normal(0, 0.02, len(at))][kept]
    grid = ground_grid(bare(points), np.ones(len(points), bool), 0.25)
    assert (~grid.seen).sum() == pytest.approx(64, abs=2)
    places = np.c_[random.uniform(0.3, 7.7, (500, 2)), np.zeros(500)]
    assert np.abs(grid.height(places) + 0.1 * places[:, 0]).max() < 0.04
    mesh = trimesh.Trimesh(*grid.mesh(), process=False)
    start, down = places + np.array([0, 0, 9.0]), np.tile([[0, 0, -1.0]], (500, 1))
    hit = mesh.ray.intersects_location(start, down, multiple_hits=False)
    assert hit[0][np.argsort(hit[1]), 2] == pytest.approx(-grid.height(places), abs=0.01)
    assert (mesh.face_normals[:, 2] > 0).all()


def test_faces_reflect_what_beams_brought_back_over_the_cosine():
    random = np.random.default_rng(0)
    points = np.c_[np.zeros(4000), random.uniform(-1, 1, 4000), random.uniform(0, 1, 4000)]
    origin = np.array([[-3.0, -2.5, 0.5], [-4.0, 2.0, 0.5]])
    scan = random.integers(0, 2, 4000)
    ray = points - origin[scan]
    cosine = np.abs(ray[:, 0]) / np.linalg.norm(ray, axis=1)
    truth = np.where(points[:, 1] < 0, 0.2, 0.6)
    cloud = bare(points, scan=scan, origin=origin, reflected=truth * cosine)
    vertices, faces = wrap_points(points, 0.08)
    mesh = painted(vertices, faces, cloud)
    middle = vertices[faces].mean(1)
    facet = np.cross(vertices[faces[:, 1]] - vertices[faces[:, 0]], vertices[faces[:, 2]] - vertices[faces[:, 0]])
    flat = np.abs(facet[:, 0]) > 0.95 * np.linalg.norm(facet, axis=1)
    inner = flat & (np.abs(middle[:, 1]) > 0.1) & (np.abs(middle[:, 1]) < 0.9)
    assert inner.sum() > 200
    off = mesh.reflectance[inner] / np.where(middle[inner, 1] < 0, 0.2, 0.6) - 1
    assert np.quantile(np.abs(off), 0.95) < 0.05
    assert abs(off.mean()) < 0.01


def test_a_written_mesh_shows_each_face_in_its_own_colour(tmp_path):
    vertices, faces = Post(np.zeros(3), np.array([0, 0, 1.0]), 0.2).mesh()
    reflectance = np.random.default_rng(0).uniform(0, 1, len(faces))
    picture, uv, of_corner = face_texture(grey(reflectance))
    write_obj(tmp_path / "post.obj", vertices, faces, uv, of_corner)
    held = read_mesh(tmp_path / "post.obj", materials=False)
    assert held.has_uv.all()
    assert held.mesh.vertices[held.mesh.faces] == pytest.approx(vertices[faces], abs=1e-4)
    middle = held.mesh.uv[held.mesh.faces].mean(1)
    side = len(picture)
    row, column = ((1 - middle[:, 1]) * side).astype(int), (middle[:, 0] * side).astype(int)
    assert image_to_linear(picture)[row, column, 0] == pytest.approx(reflectance, abs=0.005)
