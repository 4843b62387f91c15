"""Textures by code: the same every time, without seams, in range, and quick to make."""

import time

import numpy as np
import pytest

from simjudge.core.errors import UsageError
from simjudge.sim.scene.scene_fields import to_linear
from simjudge.sim.scene.textures import _PATTERNS, _painted, make_texture, patterns
from simjudge.sim.scene.textures.patterns import (
    blend,
    blur,
    draw_lines,
    grid_cells,
    smooth_step,
    spectral,
    stretched_noise,
    wandering_line,
)

TILEABLE = {
    "brick",
    "brushed_metal",
    "carpet",
    "concrete",
    "floor_tiles",
    "plaster",
    "terrazzo",
    "vinyl_tiles",
    "wood",
}
WHOLE = {"books", "cardboard", "ceiling_tiles", "cone_plastic", "door", "poster", "screen", "whiteboard"}
"""Pictures of one thing; ceiling tiles end in a rail, cones have a foot and a tip."""
OF_MANY_COLOURS = {"books", "brick", "cardboard", "door", "poster", "screen", "terrazzo"}


def test_every_pattern_is_known_and_says_what_it_is():
    assert set(patterns()) == TILEABLE | WHOLE
    assert all(text.endswith((".", ":")) or len(text) > 20 for text in patterns().values())


@pytest.mark.parametrize("name", sorted(TILEABLE | WHOLE))
def test_a_pattern(name):
    texture = make_texture(name, {"size": 128, "seed": 3})
    assert texture.shape == (128, 128, 3)
    assert texture.dtype == np.float32
    assert not texture.flags.writeable
    assert 0 <= texture.min() <= texture.max() <= 1
    assert texture.std() > 0.001
    _painted.cache_clear()
    again = make_texture(name, {"seed": 3, "size": 128})
    assert again is not texture
    assert again.tobytes() == texture.tobytes()
    assert make_texture(name, {"seed": 4, "size": 128}).tobytes() != texture.tobytes()


@pytest.mark.parametrize("name", sorted(TILEABLE))
def test_a_texture_goes_on_at_its_edges(name):
    texture = make_texture(name, {"size": 256, "seed": 1}).mean(2)
    for axis in (0, 1):
        steps = np.abs(np.diff(texture, axis=axis, append=np.take(texture, [0], axis=axis))).mean(1 - axis)
        # Joints lie on the edges; the step over the edge is none that does not happen within.
        assert steps[-1] <= 1.2 * steps.max(initial=0, where=np.arange(256) < 255)


@pytest.mark.parametrize("name", sorted((TILEABLE | WHOLE) - OF_MANY_COLOURS))
def test_a_texture_has_the_colour_that_was_asked_for(name):
    colour = (0.5, 0.6, 0.4)
    texture = make_texture(name, {"size": 256, "colour": list(colour)})
    assert np.median(texture, axis=(0, 1)) == pytest.approx(to_linear(colour), abs=0.06)
    assert make_texture(name, {"size": 256, "colour": "#808080"})[..., 0].mean() == pytest.approx(0.2159, abs=0.05)


def test_textures_are_made_in_half_a_second():
    make_texture("terrazzo", {"size": 64})
    for name, function in _PATTERNS.items():
        for _ in range(3):
            start = time.thread_time()
            function(size=1024)
            taken = time.thread_time() - start
            if taken < 0.5:
                break
        assert taken < 0.5, name


def test_stripes_are_where_they_should_be():
    plain, striped = (make_texture("cone_plastic", {"wear": 0, "stripes": n, "colour": "#d02010"}) for n in (0, 1))
    v = 1 - (np.arange(256) + 0.5) / 256
    changed = np.any(np.abs(plain - striped) > 0.1, axis=(1, 2))
    assert v[changed].min() == pytest.approx(0.45 + 0.4 / 3, abs=0.01)
    assert v[changed].max() == pytest.approx(0.45 + 0.8 / 3, abs=0.01)


@pytest.mark.parametrize(
    ("name", "parameters", "message"),
    [
        ("marble", {}, r"pattern: there is no 'marble'; there are books, "),
        ("concrete", {"colors": 1}, r"concrete\.colors: no such parameter; is colour meant\?"),
        ("concrete", {"colour": "grey"}, r'concrete\.colour: "#rrggbb" or three numbers'),
        ("concrete", {"seed": -1}, r"concrete\.seed: a whole number from 0"),
        ("concrete", {"seed": True}, r"concrete\.seed: a whole number"),
        ("concrete", {"size": 8}, r"concrete\.size: a whole number from 16 to 4096"),
        ("concrete", {"cracks": float("nan")}, r"concrete\.cracks: a number from 0 to 1"),
        ("vinyl_tiles", {"tiles": 0}, r"vinyl_tiles\.tiles: a whole number from 1"),
    ],
)
def test_a_texture_that_cannot_be(name, parameters, message):
    with pytest.raises(UsageError, match=message):
        make_texture(name, parameters)


def test_noise_has_the_spectrum_that_was_asked_for():
    size = 256
    noise = spectral(size, np.random.default_rng(0), 3.0, 4)
    assert (noise.mean(), noise.std()) == pytest.approx((0, 1), abs=1e-4)
    power = np.abs(np.fft.fft2(noise)) ** 2
    frequency = np.hypot(np.fft.fftfreq(size, 1 / size)[:, None], np.fft.fftfreq(size, 1 / size)[None])
    assert power[frequency < 4].max() < 1e-6 * power.max()
    bands = [(5, 8), (10, 16), (20, 32), (40, 64)]
    middle = [np.mean(frequency[(frequency >= a) & (frequency < b)]) for a, b in bands]
    level = [np.mean(power[(frequency >= a) & (frequency < b)]) for a, b in bands]
    slope = np.polyfit(np.log(middle), np.log(level), 1)[0]
    assert slope == pytest.approx(-3, abs=0.15)


def test_streaks_are_longer_than_high():
    noise = stretched_noise(256, np.random.default_rng(0), 12, 2)

    def correlation(shift, axis):
        return float(np.mean(noise * np.roll(noise, shift, axis)))

    # Gaussian-filtered white noise: correlation exp(-d^2 / 4 s^2).
    assert correlation(12, 1) == pytest.approx(np.exp(-0.25), abs=0.1)
    assert correlation(2, 0) == pytest.approx(np.exp(-0.25), abs=0.1)


def test_a_blur_goes_on_across_the_edges():
    spot = np.zeros((64, 64), np.float32)
    spot[0, 0] = 1
    soft = blur(spot, 2.0)
    assert soft.sum() == pytest.approx(1, abs=1e-5)
    assert soft[0, 3] == pytest.approx(soft[0, -3])
    assert soft[-3, 0] == pytest.approx(soft[3, 0])


def test_strokes_go_on_across_the_edges():
    line = np.array([[0.9, 0.5], [1.1, 0.5]])
    drawn = draw_lines(100, [line], [3])
    assert drawn[50, 95] == drawn[50, 5] == 1
    assert drawn[50, 50] == 0
    path = wandering_line(np.random.default_rng(0), np.array([0.5, 0.5]), 0.3, 0.01, 0.2)
    assert np.linalg.norm(np.diff(path, axis=0), axis=1) == pytest.approx(0.01 * np.ones(len(path) - 1))


def test_mixing_and_steps():
    share = np.array([[0.0, 0.5, 1.0]], np.float32)
    assert blend((0, 0, 0), (1, 0.5, 0), share)[0, 1] == pytest.approx([0.5, 0.25, 0])
    assert smooth_step(np.array([-1.0, 0.5, 2.0]), 0, 1) == pytest.approx([0, 0.5, 1])


def test_tiles():
    column, row, near = grid_cells(100, 4, 2)
    assert (column[0, 30], row[0, 30], row[60, 30]) == (1, 0, 1)
    assert near[10, 12] == pytest.approx(10.5)  # to the joint above
    assert near[25, 0] == pytest.approx(0.5)
