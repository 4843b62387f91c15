"""Reflection as functions of directions: never more comes out than went in, and it is the same both ways round."""

from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simjudge.sim.engines.default.shading import (
    DIELECTRIC,
    TABLE,
    again_and_again,
    gloss,
    gloss_table,
    hemisphere_mean,
    lamp_window,
    left_for_base,
    lost_between_facets,
    schlick,
    visible_normal,
)

ROUGHNESS = (0.15, 0.3, 0.5, 0.7, 1.0)


@cache
def microfacets(alpha, steps=2000, turns=100):
    """GGX's normals (N, 3), evenly by its own distribution D n_h (Walter et al., equations 35 and 36), and D."""
    share, phi = np.meshgrid((np.arange(steps) + 0.5) / steps, (np.arange(turns) + 0.5) / turns * np.pi)
    z = 1 / np.sqrt(1 + alpha**2 * share / (1 - share))
    sine = np.sqrt(1 - z**2)
    half = np.stack([sine * np.cos(phi), sine * np.sin(phi), z], -1).reshape(-1, 3)
    return half, alpha**2 / np.pi / (half[:, 2] ** 2 * (alpha**2 - 1) + 1) ** 2


def summed(alpha, seen, shine):
    """The integral of shine(light's directions) n_l over all directions, by way of the microfacets that mirror them."""
    half, d = microfacets(alpha)
    v_h = half @ seen
    lit = 2 * v_h[:, None] * half - seen
    there = (lit[:, 2] > 0) & (v_h > 0)
    lit, half, d, v_h = lit[there], half[there], d[there], v_h[there]
    return np.sum(shine(lit) * lit[:, 2] * 4 * v_h / (d * half[:, 2])) / len(there)


def viewer(cosine):
    return np.array([np.sqrt(1 - cosine**2), 0, cosine])


def glossy(alpha, f0, lit, seen):
    """The gloss (N,) for directions of light (N, 3) and one viewer."""
    half = lit + seen
    half /= np.linalg.norm(half, axis=1, keepdims=True)
    f = schlick(half @ seen)
    return (f0 * (1 - f) + f) * gloss(np, alpha, half[:, 2], lit[:, 2], seen[2])


def base(alpha, lit_z, seen_z):
    """The white base under a dielectric's gloss."""
    return twice(left_for_base(gloss_table(alpha)), lit_z, seen_z)


def metal_base(alpha, lit_z, seen_z):
    """What the facets of a white metal throw at one another."""
    lost = lost_between_facets(gloss_table(alpha))
    return twice(lost, lit_z, seen_z) * again_and_again(1.0, hemisphere_mean(lost))


def twice(left, lit_z, seen_z):
    mean = hemisphere_mean(left)
    let_in, let_out = (left[low] + (left[high] - left[low]) * part for low, high, part in map(cell, (lit_z, seen_z)))
    return let_in * let_out / mean / np.pi


def cell(cosine):
    """The table's rows about a cosine, and how far it is from the first to the second."""
    at = np.sqrt(cosine) * (TABLE - 1)
    low = np.minimum(at.astype(int), TABLE - 2)
    return low, low + 1, at - low


@pytest.mark.parametrize("roughness", ROUGHNESS)
@pytest.mark.parametrize("cosine", [0.05, 0.1, 0.4, 0.8, 1.0])
@pytest.mark.parametrize("f0", [DIELECTRIC, 1.0])
def test_the_table_is_the_gloss_summed_over_all_directions(roughness, cosine, f0):
    alpha, seen = roughness**2, viewer(cosine)
    reflected = summed(alpha, seen, lambda lit: glossy(alpha, f0, lit, seen))
    low, high, part = cell(cosine)
    table = gloss_table(alpha) @ [f0, 1]
    assert table[low] + (table[high] - table[low]) * part == pytest.approx(reflected, rel=3e-3, abs=1e-4)
    assert reflected <= 1.0


@pytest.mark.parametrize("roughness", ROUGHNESS)
@pytest.mark.parametrize("metallic", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("cosine", [0.05, 0.3, 0.7, 1.0])
def test_a_white_surface_reflects_all_that_comes_in_and_no_more(roughness, metallic, cosine):
    alpha, seen = roughness**2, viewer(cosine)
    f0 = DIELECTRIC * (1 - metallic) + metallic
    reflected = summed(alpha, seen, lambda lit: glossy(alpha, f0, lit, seen))
    z = (np.arange(10_000) + 0.5) / 10_000
    both = (1 - metallic) * base(alpha, z, cosine) + metallic * metal_base(alpha, z, cosine)
    reflected += np.mean(both * z) * 2 * np.pi
    assert reflected == pytest.approx(1, abs=3e-3)


@given(st.floats(0, 1), st.floats(0, 0.9))
def test_what_comes_out_in_the_end_is_no_more_than_went_in(colour, lost):
    assert 0 <= again_and_again(colour, lost) <= 1


@given(
    roughness=st.floats(0.15, 1),
    a=st.tuples(st.floats(0.01, 1), st.floats(0, 6.28)),
    b=st.tuples(st.floats(0.01, 1), st.floats(0, 6.28)),
)
def test_light_goes_the_same_way_back(roughness, a, b):
    alpha = roughness**2
    (one,), (other,) = (
        np.array([[np.sqrt(1 - z * z) * np.cos(t), np.sqrt(1 - z * z) * np.sin(t), z]]) for z, t in (a, b)
    )
    there = glossy(alpha, DIELECTRIC, one[None], other)[0] + base(alpha, one[2], other[2])
    back = glossy(alpha, DIELECTRIC, other[None], one)[0] + base(alpha, other[2], one[2])
    assert there == pytest.approx(back, rel=1e-9)
    assert there >= 0


@pytest.mark.parametrize("roughness", ROUGHNESS)
def test_all_microfacets_together_cover_the_surface(roughness):
    """The integral of D n_h over the hemisphere is 1; D is taken from the gloss where viewer and lamp stand along h."""
    alpha = roughness**2
    angle = (np.arange(100_000) + 0.5) / 100_000 * np.pi / 2
    n = np.cos(angle)
    smith = 0.5 / (2 * n * np.sqrt(n**2 * (1 - alpha**2) + alpha**2))
    d = gloss(np, alpha, n, n, n) / smith
    assert np.mean(d * n * np.sin(angle)) * 2 * np.pi * np.pi / 2 == pytest.approx(1, rel=1e-3)


@pytest.mark.parametrize("roughness", [0.2, 0.5, 1.0])
@pytest.mark.parametrize("cosine", [0.1, 0.5, 0.95])
def test_drawn_normals_are_those_that_the_viewer_sees(roughness, cosine):
    """Their mean cosines agree with those of all microfacets, weighted by how large the viewer sees them."""
    alpha, seen = roughness**2, viewer(cosine)
    rng = np.random.default_rng(1)
    drawn = np.stack(visible_normal(np, alpha, cosine, rng.random(200_000), rng.random(200_000)), 1)
    assert np.linalg.norm(drawn, axis=1) == pytest.approx(1, abs=1e-9)
    angle, phi = np.meshgrid((np.arange(2000) + 0.5) / 2000 * np.pi / 2, (np.arange(200) + 0.5) / 200 * 2 * np.pi)
    half = np.stack([np.sin(angle) * np.cos(phi), np.sin(angle) * np.sin(phi), np.cos(angle)], -1).reshape(-1, 3)
    d = alpha**2 / np.pi / (half[:, 2] ** 2 * (alpha**2 - 1) + 1) ** 2
    weight = d * np.maximum(half @ seen, 0) * np.sin(angle.ravel())
    for k in range(3):
        assert drawn[:, k].mean() == pytest.approx(np.sum(weight * half[:, k]) / weight.sum(), abs=4e-3)


def test_a_mirror_has_one_normal():
    assert np.stack(visible_normal(np, 0.0, 0.3, 0.7, 0.2)) == pytest.approx([0, 0, 1])


@given(st.tuples(st.floats(0, 1), st.floats(0, 1)))
def test_the_mean_over_a_hemisphere_is_exact_between_the_rows(ends):
    """Of a + (b - a) sqrt(mu): the integral of 2 mu (a + (b - a) sqrt(mu)) is a + 4 (b - a) / 5."""
    a, b = ends
    values = np.linspace(a, b, TABLE).astype(np.float32)
    assert hemisphere_mean(values) == pytest.approx(a + 4 * (b - a) / 5, abs=1e-6)


def test_a_lamp_fades_smoothly_over_the_last_tenth_of_its_range():
    distance = np.array([0.1, 4.5, 4.75, 5.0, 7.0])
    assert lamp_window(np, distance / 5) == pytest.approx([1, 1, 0.5, 0, 0])
    near = lamp_window(np, np.linspace(0.88, 1.02, 1000))
    assert np.all(np.diff(near) <= 0)
    assert np.abs(np.diff(near, 2)).max() < 1e-4
