"""Cells against a naive loop over all of them; resolution of two echoes; false alarms as often as set."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binomtest

from simjudge.sim.sensors.radar.cells import find_peaks, merged, spread
from simjudge.sim.sensors.radar.detections import detect
from simjudge.sim.sensors.radar.echoes import Echoes, aim_rays, corner_section, rough_sections
from simjudge.sim.sensors.radar.radar import Radar, point_spread, ratio

SMALL = Radar(
    "r",
    10,
    77e9,
    (math.radians(90), math.radians(10)),
    (1.0, 40.0),
    (-8.0, 8.0),
    (1.0, 1.0, math.radians(6)),
    ratio(13) * 30.0**4,
)


def echoes(*rows):
    """Rows of range, speed, azimuth, section."""
    table = np.array(rows, float).reshape(-1, 4)
    position = table[:, :1] * np.stack([np.cos(table[:, 2]), np.sin(table[:, 2]), np.zeros(len(table))], 1)
    return Echoes(position, table[:, 1], table[:, 3], np.arange(len(table)))


def test_cells_are_those_of_a_loop_over_all_cells_and_echoes():
    """Three echoes: a strong one, a weak one, one whose speed is near the end and comes in at the other."""
    given, amplitude = echoes((20, 1.3, 0.2, 1), (10, -3, -0.4, 1), (30, 7.8, 0, 1)), np.array([100.0, 2 + 1j, 30j])
    cell, wave, source = spread(SMALL, given, amplitude)
    ranges, speeds, sines = (axis.low + axis.step * np.arange(axis.cells) for axis in SMALL.axes)
    width = SMALL.axes[1].cells * SMALL.axes[1].step
    whole = np.zeros([axis.cells for axis in SMALL.axes], complex)
    parts = []
    for row in range(3):
        far = np.linalg.norm(given.position[row])
        turn = (speeds - given.speed[row] + width / 2) % width - width / 2
        factors = [
            point_spread(apart / axis.step, 40)
            for apart, axis in zip((ranges - far, turn, sines - given.position[row, 1] / far), SMALL.axes, strict=True)
        ]
        parts.append(amplitude[row] * np.einsum("i,j,k->ijk", *factors))
        whole += parts[-1]
    # What is left out is less than a faint side lobe, or a side lobe of a side lobe.
    assert np.abs(whole.ravel()[cell] - wave).max() < 0.5 * math.sqrt(0.05) + 100 * 1e-4
    left_out = np.delete(np.abs(whole.ravel()), cell)
    assert left_out.max() < math.sqrt(0.05) + 100 * 1e-4
    strongest = np.argmax(np.abs(np.array([part.ravel()[cell] for part in parts])), 0)
    clear = np.abs(wave) > 1
    assert np.array_equal(strongest[clear], source[clear])


def test_a_strong_echo_is_found_where_it_is():
    found = detect(SMALL, echoes((20.3, 2.2, 0.31, 50)), np.random.default_rng(1))
    best = found.snr.argmax()
    assert found.range[best] == pytest.approx(20.3, abs=0.05)
    assert found.speed[best] == pytest.approx(2.2, abs=0.05)
    assert found.azimuth[best] == pytest.approx(0.31, abs=0.005)
    assert found.rcs[best] == pytest.approx(10 * math.log10(50), abs=0.5)
    assert found.thing[best] == 0
    assert found.true_points[best] == pytest.approx(echoes((20.3, 0, 0.31, 1)).position[0])


@pytest.mark.parametrize(("speed", "resolution"), [(1.0, 1.0), (1.0, 3.1), (2.5, 1.13), (-6.6, 0.77)])
def test_a_speed_beyond_the_span_comes_in_again_after_the_whole_span(speed, resolution):
    radar = replace(SMALL, resolution=(1.0, resolution, math.radians(6)))
    for turns in (-2, -1, 1, 2):
        found = detect(radar, echoes((20, speed + 16 * turns, 0, 50)), np.random.default_rng(1))
        assert found.speed[found.snr.argmax()] == pytest.approx(speed, abs=0.1)


@pytest.mark.parametrize("apart", [(1, 0, 0), (0, 1, 0), (0, 0, math.radians(6))])
@pytest.mark.parametrize(("share", "expected"), [(0.25, 1), (1.6, 2)])
def test_two_echoes_are_told_apart_beyond_the_resolution_and_are_one_below_it(apart, share, expected):
    """In 40 readings with other phases; nearer than the resolution these may tear the two apart at times."""
    step = share * np.array(apart)
    counts = []
    for seed in range(40):
        random = np.random.default_rng(seed)
        given = echoes((20, 1, 0, 300), (20 + step[0], 1 + step[1], step[2], 300))
        counts.append(len(detect(replace(SMALL, false_alarms=1e-6), given, random)))
    assert np.mean(np.array(counts) == expected) >= 0.9, counts


def test_echoes_of_one_thing_above_and_below_are_together_as_far_away_as_each():
    position = np.array([[10.0, 1.0, 2.0], [10.0, 1.0, -2.0]])
    given = Echoes(position, np.zeros(2), np.ones(2), np.zeros(2, np.int64))
    one, _ = merged(SMALL, given, np.random.default_rng(0))
    far = math.sqrt(105)
    assert np.linalg.norm(one.position, axis=1) == pytest.approx([far])
    assert one.position[:, 1] == pytest.approx([1.0])
    assert one.section.tolist() == [2.0]


def test_power_falls_with_the_fourth_power_of_the_range():
    snr = [detect(SMALL, echoes((far, 0, 0, 1000)), np.random.default_rng(2)).snr.max() for far in (9.6, 19.2, 38.4)]
    assert -np.diff(snr) == pytest.approx([40 * math.log10(2)] * 2, abs=0.4)


def test_noise_alone_is_detected_as_often_as_set():
    """1000 readings without an echo: each of all their cells is one trial."""
    radar, random = replace(SMALL, false_alarms=2.0), np.random.default_rng(3)
    nothing = echoes()
    count = sum(len(detect(radar, nothing, random)) for _ in range(1000))
    interval = binomtest(count, 1000 * radar.cells).proportion_ci(0.999)
    assert interval.low * radar.cells < 2.0 < interval.high * radar.cells


def test_noise_passes_the_threshold_as_often_in_cells_that_echoes_reach():
    """Cells around an echo too weak to matter are worked out one by one, by their own noise."""
    radar, random = replace(SMALL, false_alarms=SMALL.cells * 0.005), np.random.default_rng(4)
    weak, count = echoes((20, 0, 0, 1e-9)), 0
    for _ in range(300):
        cell, _, _ = spread(radar, *merged(radar, weak, random))
        peaks = find_peaks(radar, weak, np.zeros(1, complex), random)
        near = np.abs(peaks.place - [20, 0, 0]) < 2.2 * np.array([axis.step for axis in radar.axes])
        count += int(near.all(1).sum())
    # 125 cells; neighbours that are both above the threshold count once: 26 of them lie around each.
    interval = binomtest(count, 300 * 125).proportion_ci(0.999)
    assert len(cell) == 125
    assert interval.low < 0.005 < interval.high + 0.005 * 0.005 * 13


def test_side_lobes_are_reported_where_no_guard_keeps_them():
    strong = echoes((20, 0, 0, 1e4))
    guarded = detect(replace(SMALL, false_alarms=1e-6), strong, np.random.default_rng(5))
    bare = detect(replace(SMALL, false_alarms=1e-6, guard=None), strong, np.random.default_rng(5))
    assert len(guarded) == 1
    assert len(bare) > 10
    assert np.median(bare.snr) == pytest.approx(bare.snr.max() - 40, abs=2)


def test_rough_surfaces_of_a_sphere_have_the_sections_of_optics():
    """A sphere of radius a, its pieces by rings: pi a^2 (1 + m^2 / 2) mirrored, and 8/3 pi a^2 scattered."""
    cosine = (np.arange(200_000) + 0.5) / 200_000
    area = 2 * math.pi * 3.0**2 * cosine / len(cosine)  # across the ray, of a ring at an even step of the cosine
    mirrored = rough_sections(replace(SMALL, diffuse=0.0, slope=0.1), area, cosine, np.ones_like(area)).sum()
    assert mirrored == pytest.approx(math.pi * 9 * (1 + 0.1**2 / 2), rel=1e-3)
    scattered = rough_sections(replace(SMALL, diffuse=1.0), area, cosine, np.full_like(area, 0.5)).sum()
    assert scattered == pytest.approx(0.5 * 8 / 3 * math.pi * 9, rel=1e-6)


def test_a_corner_has_its_formula_and_no_more_than_a_mirror():
    a = 0.15
    assert corner_section(SMALL, a**2 / math.sqrt(3), 50.0) == pytest.approx(
        4 * math.pi * a**4 / (3 * SMALL.wavelength**2)
    )
    assert corner_section(SMALL, 100.0, 5.0) == pytest.approx(math.pi * 25)


def test_rays_share_out_the_solid_angle_of_the_field():
    _, solid = aim_rays(SMALL, np.random.default_rng(0))
    assert solid.sum() == pytest.approx(math.radians(90) * 2 * math.sin(math.radians(5)), rel=1e-4)
