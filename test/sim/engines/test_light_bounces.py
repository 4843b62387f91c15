"""Light that surfaces throw on each other, against closed formulas, on both tracers."""

from dataclasses import replace

import numpy as np
import pytest
from light_scenes import ball, lamp, looking, narrow, plain, scene, sheet, thing, white

SIDE = 4


def mean_pixel(make, world, start, to, count=30):
    """The mean over many small pictures from about one place: paths are random."""
    light = make(world)
    values = [
        light.render(narrow(SIDE), [looking((*start[:2], start[2] + 1e-4 * k), to)], 16).mean((0, 1))
        for k in range(count)
    ]
    light.close()
    return np.mean(values, 0)


@pytest.mark.parametrize("bounces", [1, 2, 4])
def test_inside_a_ball_each_bounce_adds_the_share_that_is_reflected(light_of, bounces):
    # A lamp in the middle of a ball of radius 1: every point gets irradiance 1 from it, and the mean of all light.
    rho = 0.5
    world = scene(thing("ball", ball(1.0, 4), plain((rho,) * 3)), lights=[lamp(0, 0, 0)])
    inside = replace(world, bounces=bounces)
    seen = mean_pixel(light_of, inside, (0.3, 0, 0), (1, 0.05, 0))
    direct = mean_pixel(light_of, world, (0.3, 0, 0), (1, 0.05, 0), count=1)
    assert direct == pytest.approx(rho / np.pi, rel=0.12)
    # What it reflects of all around is the base and a little gloss.
    share = (seen / direct)[0]
    expected = sum(rho**k for k in range(bounces + 1))
    assert share == pytest.approx(expected, rel=0.04)


@pytest.mark.parametrize("bounces", [1, 3])
def test_in_a_white_furnace_nothing_is_seen(light_of, bounces):
    world = scene(thing("floor", sheet()), thing("ball", ball(), white()), ambient=(1.0,) * 3, background=(1.0,) * 3)
    seen = mean_pixel(light_of, replace(world, bounces=bounces), (3, 0, 2), (0, 0, 0.2), count=4)
    assert seen == pytest.approx(1.0, abs=2e-4)


def test_a_red_wall_reddens_the_floor_beside_it_and_a_corner_is_darker_than_the_open(light_of):
    wall = thing("wall", ball(1.0, 4), plain((0.9, 0.0, 0.0)))
    world = replace(
        scene(
            thing("floor", sheet(), plain((0.8,) * 3)),
            wall,
            lights=[lamp(0, 0, 4, 20.0)],
            background=(0.5,) * 3,
            ambient=(0.5,) * 3,
        ),
        bounces=2,
    )
    beside = mean_pixel(light_of, world, (1.3, 0, 3), (1.3, 0.01, 0))
    direct = mean_pixel(light_of, replace(world, bounces=0, ambient=(0, 0, 0)), (1.3, 0, 3), (1.3, 0.01, 0), 1)
    far = mean_pixel(light_of, world, (20, 0, 3), (20, 0.01, 0))
    thrown = beside - direct
    assert thrown[0] > 1.1 * thrown[1]
    assert thrown[1] < 0.9 * far[1]


def test_the_same_pose_gives_the_same_bytes(light_of):
    world = replace(scene(thing("ball", ball(), white()), lights=[lamp(0, 0, 3)], background=(0.2,) * 3), bounces=2)
    one, two = (mean_pixel(light_of, world, (3, 0, 1), (0, 0, 0), 1) for _ in range(2))
    assert one.tobytes() == two.tobytes()
