"""Automatic exposure against its formula: where it settles, how it follows a change, and what the noise becomes."""

import math
from dataclasses import replace

import numpy as np
import pytest

from simjudge.core.errors import SimjudgeError
from simjudge.sim.capture.capture import Metering, develop
from simjudge.sim.sensors.camera.camera import AutoExposure
from simjudge.sim.sensors.camera.camera_file import read_camera
from simjudge.sim.sensors.camera.chain import Step

GREY = ((118 / 255 + 0.055) / 1.055) ** 2.4
"""Linear light that is shown as level 118: 0.18."""
SECOND = 10**9


def control(**changes):
    return AutoExposure(**{"mean": 118, "time_constant": 0.3, "exposure": (0.001, 1.0), "gain": (1.0, 16.0)} | changes)


def flat(level):
    return np.full((24, 32, 3), level, np.float32)


def camera(*steps, **changes):
    return replace(read_camera("plain"), auto_exposure=control(**changes), steps=(*steps, Step("srgb")))


@pytest.mark.parametrize(
    ("level", "exposure", "gain"),
    [(0.9, GREY / 0.9, 1.0), (GREY, 1.0, 1.0), (0.02, 1.0, GREY / 0.02), (0.001, 1.0, 16.0), (900.0, 0.001, 1.0)],
)
def test_the_first_frame_is_settled_by_exposure_first_and_gain_where_that_ends(level, exposure, gain):
    seen = control().expose(flat(level), 5, None)
    assert (seen.exposure, seen.gain) == (pytest.approx(exposure, rel=1e-5), pytest.approx(gain, rel=1e-5))
    assert seen.metered == pytest.approx(min(level * exposure * gain, 1), rel=1e-5)


def test_the_image_has_the_wanted_mean_whatever_the_scene():
    scene = np.random.default_rng(2).gamma(0.7, 0.5, (240, 320, 1)).astype(np.float32).repeat(3, 2)
    for brightness in (0.3, 1, 30):
        image = develop(camera(mean=100), scene * np.float32(brightness))
        assert image.pixels.mean() == pytest.approx(100, abs=1.5)  # every 16th pixel is metered


@pytest.mark.parametrize("constant", [0.0, 0.2, 1.5])
def test_a_change_of_light_is_followed_in_stops_by_the_time_constant(constant):
    """Unsaturated: the mean is off by log2(level / grey), which decays by exp(-dt / time_constant) a frame."""
    wanted, step = control(time_constant=constant), 40_000_000
    seen = wanted.expose(flat(0.2), 0, None)
    off = math.log(0.8 / 0.2)
    for number in range(1, 8):
        seen = wanted.expose(flat(0.8), number * step, seen)
        if number > 1:  # the change is seen in the first frame, and answered from the next on
            off *= math.exp(-0.04 / constant) if constant else 0
        assert math.log(seen.metered / GREY) == pytest.approx(off, abs=1e-5)


def test_stamps_count_not_frames():
    """Half the rate: as far in one step as otherwise in two, of the light that stays."""
    wanted = control(time_constant=0.5)
    start = replace(wanted.expose(flat(0.2), 0, None), metered=0.7)
    once = wanted.expose(flat(0.5), 2 * SECOND // 10, start)
    assert math.log(once.factor / start.factor) == pytest.approx(math.log(GREY / 0.7) * (1 - math.exp(-0.4)))


def test_darkness_and_saturation_do_not_stop_it():
    wanted = control(time_constant=0.1)
    seen = wanted.expose(flat(0.0), 0, None)
    assert (seen.exposure, seen.gain) == (1.0, 16.0)
    for number in range(1, 40):
        seen = wanted.expose(flat(50.0), number * 30_000_000, seen)
    assert seen.metered == pytest.approx(GREY, rel=0.01)


def test_the_amplifier_s_gain_raises_the_noise_and_exposure_does_not():
    """s1^2 G I + s2^2 G^2: the same picture of 1/8 of the light has 8 times the photon noise."""
    noise = Step("physical_noise", {"s1": 0.03, "s2": 0.001})
    for level, gain in ((GREY * 4, 1), (GREY, 1), (GREY / 8, 8)):
        pixels = develop(camera(noise), np.full((300, 300, 3), level, np.float32)).pixels
        linear = ((pixels / 255 + 0.055) / 1.055) ** 2.4
        expected = 0.03**2 * gain * GREY + (0.001 * gain) ** 2
        rounding = (2.4 / 1.055 * GREY ** (1.4 / 2.4) / 255) ** 2 / 12
        assert linear.mean() == pytest.approx(GREY, rel=0.01)
        assert linear.var() == pytest.approx(expected + rounding, rel=0.03)


def test_the_next_image_follows_from_the_one_before_alone():
    own, light = camera(), flat(0.3)
    first = develop(own, light, metering=Metering(0, None))
    changed = [develop(own, light * 3, metering=Metering(SECOND // 10, first.metered)) for _ in range(2)]
    assert changed[0].metered == changed[1].metered
    assert changed[0].pixels.mean() > 118 + 20


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ("{mean: 255}", "auto_exposure.mean: a number above 0 and below 255 is needed"),
        ("{time_constant: -1}", "auto_exposure.time_constant: a number from 0 to 10000"),
        ("{gain: [4, 2]}", "auto_exposure.gain: the least is above the most"),
        ("{gain: 4}", r"auto_exposure.gain: 2 numbers above 0 \[least, most\] are needed"),
        ("{exposure: [0, 1]}", r"auto_exposure.exposure: 2 numbers above 0"),
        ("{tagret: 100}", "no such field"),
        ("{time_const: 1}", "no such field.*time_constant"),
    ],
)
def test_bad_fields_are_refused(fields, says, tmp_path):
    file = tmp_path / "camera.yaml"
    file.write_text(f"{{size: [8, 8], field_of_view: 60, rate: 1, auto_exposure: {fields}}}")
    with pytest.raises(SimjudgeError, match=says):
        read_camera(file)


def test_chrono_s_physical_camera_has_its_own_exposure(tmp_path):
    file = tmp_path / "camera.yaml"
    fields = "size: [8, 8], field_of_view: 60, rate: 1, auto_exposure: {mean: 90}, chrono: {physical: {iso: 50}}"
    file.write_text(f"{{{fields}}}")
    with pytest.raises(SimjudgeError, match=r"auto_exposure: chrono\.physical has aperture, exposure and iso"):
        read_camera(file)
