"""What a lidar gets back from things that are not the same all over: known answers."""

import math
from dataclasses import replace

import numpy as np
import pytest
import yaml

from simjudge.geometry.keyframes import Keyframes
from simjudge.geometry.poses import Pose
from simjudge.sim.capture.sensor_feed import LidarCapture
from simjudge.sim.engines.contract import STANDING, BodyMotion
from simjudge.sim.engines.registry import make_engine
from simjudge.sim.scene.model import Collider, Paint, Retroreflection, Scene, Surface, Thing, box, repeat_texture
from simjudge.sim.scene.read import read_scene
from simjudge.sim.sensors.lidar.lidar import Lidar

pytest.importorskip("mitsuba", reason="Mitsuba (the extra `sim`) is not installed")

# 41 beams within 20 degrees to either side, none on the border between the halves.
AHEAD = Lidar("roof", 10, 42, (0.01,), (0.1, 50), math.radians(40))
STILL = Keyframes.build([0.0], [[Pose()]])
BRIGHT, DARK = Surface(reflectance=0.9), Surface(reflectance=0.02)


def halves():
    """A texture whose left half (seen from outside) is 0.9, its right half 0.02."""
    texture = np.full((4, 8, 3), 0.02, np.float32)
    texture[:, :4] = 0.9
    return Surface((1.0, 1.0, 1.0), texture)


def board(surface, **more):
    """5 m ahead, 4 m wide; its face to the lidar is -x, on which a texture's left is y = 2."""
    mesh = repeat_texture(box(0.1, 4.0, 4.0), (4.0, 4.0))
    return Thing("board", mesh, surface, Pose((5.05, 0, -2.0)), **more)


def seen(things, sensor=STILL, motion=STANDING, lidar=AHEAD):
    engine = make_engine("default", Scene("s", tuple(things), ()))
    scan = LidarCapture(engine, lidar).capture(10**9, sensor, motion).scan
    engine.close()
    return scan


def cosine(scan):
    return np.cos(scan.azimuth) * np.cos(scan.elevation)


def painted():
    """Two boxes in one thing, each of a reflectance of its own."""
    left, right = (box(0.1, 2.0, 4.0) for _ in range(2))
    aside = np.array([0.0, 1, 0])
    vertices = np.concatenate([left.vertices + aside, right.vertices - aside])
    faces = np.concatenate([left.faces, right.faces + len(left.vertices)])
    mesh = replace(
        left, vertices=vertices, faces=faces, uv=np.tile(left.uv, (2, 1)), normals=np.tile(left.normals, (2, 1))
    )
    of_face = np.repeat([0, 1], [len(left.faces), len(right.faces)])
    return replace(board(BRIGHT), mesh=mesh, paint=Paint((BRIGHT, DARK), of_face))


@pytest.mark.parametrize("made", [lambda: board(halves()), painted])
def test_a_board_half_bright_and_half_dark_gives_both(made):
    scan = seen([made()])
    expected = np.where(scan.points[:, 1] > 0, 0.9, 0.02)
    assert set(expected) == {0.9, 0.02}
    assert scan.intensity / cosine(scan) == pytest.approx(expected, rel=1e-5)


def test_stripes_of_a_texture_come_one_by_one():
    texture = np.zeros((1, 16, 3), np.float32)
    texture[:, ::2] = 0.8
    scan = seen([board(Surface((1.0, 1.0, 1.0), texture))], lidar=replace(AHEAD, columns=400))
    stripe = np.floor((2 - scan.points[:, 1]) / 0.25)
    clear = np.abs((2 - scan.points[:, 1]) / 0.25 - np.rint((2 - scan.points[:, 1]) / 0.25)) > 1e-3
    expected = np.where(stripe % 2 == 0, 0.8, 0.0)
    assert scan.intensity[clear] / cosine(scan)[clear] == pytest.approx(expected[clear], rel=1e-5, abs=1e-9)


@pytest.mark.parametrize("upside_down", [False, True])
def test_a_moving_board_keeps_its_halves(upside_down):
    """It goes 1 m to the left during the turn; upside down, the bright half is on the right."""
    moving = board(halves(), motion="free", mass=1.0, collider=Collider("hull"))
    turned = (1.0, 0, 0, 0) if upside_down else (0, 0, 0, 1.0)
    height = 2.0 if upside_down else -2.0
    path = Keyframes.build([-0.05, 0.0], [[Pose((5.05, -0.5, height), turned)], [Pose((5.05, 0.5, height), turned)]])
    lidar = replace(AHEAD, window=0.05)
    scan = seen([moving], STILL, BodyMotion(("board",), path), lidar)
    middle = 20 * (scan.time + 0.025)
    expected = np.where((scan.points[:, 1] > middle) != upside_down, 0.9, 0.02)
    assert set(expected) == {0.9, 0.02}
    assert scan.intensity / cosine(scan) == pytest.approx(expected, rel=1e-5)


def test_a_retroreflector_is_as_much_brighter_as_its_factor_within_its_acceptance_angle():
    surface = Surface(reflectance=0.5, retroreflection=Retroreflection(200.0, math.radians(12)))
    scan = seen([board(surface)])
    angle = np.degrees(np.arccos(cosine(scan)))
    expected = np.where(angle <= 12, 100.0, 0.5)
    assert set(expected) == {100.0, 0.5}
    assert scan.intensity / cosine(scan) == pytest.approx(expected, rel=1e-5)


def test_a_scenes_file_has_retroreflectors(tmp_path):
    path = tmp_path / "sign.yaml"
    surface = {"reflectance": 0.4, "retroreflection": {"factor": 150, "acceptance": 20}}
    path.write_text(yaml.safe_dump({"things": {"sign": {"box": [0.1, 4, 4], "at": [5.05, 0, -2], "surface": surface}}}))
    scan = seen(read_scene(path).things)
    angle = np.degrees(np.arccos(cosine(scan)))
    assert scan.intensity / cosine(scan) == pytest.approx(np.where(angle <= 20, 60.0, 0.4), rel=1e-5)


def test_the_mean_of_a_wide_beam_holds_both_halves():
    """A beam on the border: half of its 9 rays on either side but for the middle column, which is on the dark side."""
    lidar = Lidar("roof", 10, 1, (0.0,), (0.1, 50), 0.01, divergence=(0.03, 0.03), samples=2, start=-1e-4)
    scan = seen([board(halves())], lidar=lidar)
    assert scan.intensity == pytest.approx([(3 * 0.9 + 6 * 0.02) / 9], rel=1e-3)
