"""The table of grey levels against the curve itself."""

import numpy as np

from simjudge.sim.sensors.camera import chain
from simjudge.sim.sensors.camera.chain import Step, develop_light
from simjudge.sim.sensors.camera.filters import as_uint8
from simjudge.sim.sensors.camera.isp import shot_noise, srgb


def numbers(rng):
    """Float32 of all sizes, those around each grey level's begin, and the odd ones."""
    codes = (np.arange(256) - 0.5) / 255
    begins = np.where(codes <= 0.04045, codes / 12.92, ((np.maximum(codes, 0) + 0.055) / 1.055) ** 2.4)
    bits = begins.astype(np.float32).view(np.int32)[:, None] + np.arange(-300, 300)
    edges = np.array([0, -0.0, 1, 2**-13, 1e-45, -1e-3, 3e38, -3e38, np.inf, -np.inf], np.float32)
    edges = np.concatenate([edges, np.nextafter(edges, np.float32(2)), np.nextafter(edges, np.float32(-2))])
    spread = rng.integers(0x38000000, 0x3F900000, 1 << 18).astype(np.int32).view(np.float32)
    return np.concatenate([bits.astype(np.int32).view(np.float32).ravel(), edges, spread])


def test_the_table_gives_the_levels_of_the_curve():
    assert chain._levels() is not None
    values = numbers(np.random.default_rng(5))
    values = values[: len(values) // 3 * 3].reshape(-1, 1, 3)
    for each in (values, values[::2], values.astype(float)):
        with np.errstate(over="ignore"):
            assert np.array_equal(chain.srgb_levels(each), as_uint8(srgb(each)))


def test_what_is_no_number_goes_the_slow_way():
    values = np.full((2, 2, 3), 0.5, np.float32)
    values[0, 0, 0] = np.nan
    with np.errstate(invalid="ignore"):
        assert np.array_equal(chain.srgb_levels(values), as_uint8(srgb(values)))


def test_a_curve_that_goes_back_has_no_table(monkeypatch):
    chain._levels.cache_clear()

    def wavering(bits):
        return as_uint8(srgb((bits ^ 1).astype(np.int32).view(np.float32)))

    monkeypatch.setattr(chain, "_slow_levels", wavering)
    assert chain._levels() is None
    chain._levels.cache_clear()


def test_a_camera_gives_the_levels_of_the_curve():
    light = np.random.default_rng(1).random((9, 7, 3), np.float32) ** 3 * 1.2
    assert np.array_equal(develop_light(light, ()), as_uint8(srgb(light)))
    steps = Step("shot_noise", {"shot": 6.0, "read": 2.0}), Step("srgb")
    noisy = shot_noise(light, shot=6.0, read=2.0, seed=(3, 0))
    assert np.array_equal(develop_light(light, steps, 3), as_uint8(srgb(noisy)))
