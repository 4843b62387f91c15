"""The probe's judgement, on edges as Chrono's formulas put them."""

import math

import numpy as np
import pytest

from simjudge.core.errors import SimjudgeError
from simjudge.geometry.poses import Pose
from simjudge.sim.engines.chrono.cameras import (
    COEFFICIENTS,
    DISTANCE,
    FIELD,
    HEIGHT,
    WIDTH,
    expected_edge,
    found_edge,
    judge,
    plate,
)
from simjudge.sim.engines.chrono.lenses import SensorRequest, chrono_slopes
from simjudge.sim.engines.chrono.modules import FACTORS, SENSORS, Release
from simjudge.sim.engines.still_engine import MeshRays

HEAD = Release("10.0.0", "head", cameras=True, semantic_buffer=False, random_seed=True, phys_camera=True, vehicles=True)


def rendered(factor, *, radial, lens=True):
    """The plate as a sensor of Chrono sees it: a ray for every pixel, by its formula."""
    asked = SensorRequest((WIDTH, HEIGHT), FIELD, COEFFICIENTS if radial and lens else None)
    pixels = np.stack(np.meshgrid(np.arange(WIDTH), np.arange(HEIGHT)), -1)
    slopes = chrono_slopes(asked, pixels, factor)
    body = np.stack([np.ones(slopes.shape[:-1]), -slopes[..., 0], -slopes[..., 1]], -1).reshape(-1, 3)
    body /= np.linalg.norm(body, axis=1, keepdims=True)
    hits = MeshRays([plate()]).cast(np.zeros_like(body), body, [Pose()])
    return (hits.thing >= 0).reshape(HEIGHT, WIDTH)


def edges(factors, *, ignored=()):
    return {
        (sensor, radial): found_edge(rendered(factors[sensor], radial=radial, lens=sensor not in ignored), sensor)
        for sensor in SENSORS
        for radial in (False, True)
    }


def test_a_chrono_as_its_version_says():
    probed = judge(edges(FACTORS["head"]), HEAD)
    assert probed.factors == FACTORS["head"]
    assert probed.radial == set(SENSORS)
    assert probed.notes == ()


def test_a_mended_chrono_is_believed_over_its_version():
    mended = dict.fromkeys(SENSORS, "tangent")
    probed = judge(edges(mended), HEAD)
    assert probed.factors == mended
    assert len(probed.notes) == 2
    assert "segmentation" in probed.notes[0]


def test_an_ignored_lens_is_seen():
    """Vulkan's GPU shader has no lens model."""
    probed = judge(edges(FACTORS["head"], ignored=SENSORS), HEAD)
    assert probed.radial == frozenset()
    assert all("ignored" in note for note in probed.notes)


def test_no_known_field_of_view_cannot_be_corrected():
    found = edges(FACTORS["head"])
    found["depth", False] += 6
    with pytest.raises(SimjudgeError, match=r"depth picture.*cannot be corrected"):
        judge(found, HEAD)


def test_edges_by_formula():
    tangent = expected_edge(SensorRequest((1280, 16), 1.4), "tangent", lens=False)
    assert tangent == pytest.approx((math.tan(math.radians(30)) / math.tan(0.7) + 1) * 640, abs=0.02)
    linear = expected_edge(SensorRequest((1280, 16), 1.4), "linear", lens=False)
    assert linear == pytest.approx(1054.58, abs=0.02)
    assert plate().vertices[0] == pytest.approx([DISTANCE, -DISTANCE * math.tan(math.radians(30)), 0])


@pytest.mark.parametrize("turn", [np.flipud, np.fliplr])
def test_a_picture_the_wrong_way_round_is_noticed(turn):
    with pytest.raises(SimjudgeError, match="the probe's plate"):
        found_edge(turn(rendered("tangent", radial=False)), "camera")


def test_an_empty_picture_is_noticed():
    with pytest.raises(SimjudgeError, match="upper half"):
        found_edge(np.zeros((HEIGHT, WIDTH), bool), "depth")
