"""Our lenses through Chrono's sensors: a world that is a formula of the ray, seen by Chrono's formulas for rays."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.sim.engines.chrono.cameras import ChronoCameras, ProbeResult
from simjudge.sim.engines.chrono.lenses import PhysCamera, SensorRequest, chrono_slopes
from simjudge.sim.engines.chrono.modules import FACTORS, SENSORS
from simjudge.sim.engines.chrono.views import FARTHEST, noise_filter
from simjudge.sim.engines.pinhole_pictures import Lookup, rays_of_a_scene_state
from simjudge.sim.sensors.camera.camera import Camera, ChronoNoise, ChronoPhysical
from simjudge.sim.sensors.camera.lens import Lens, lens_with_field

WALL = 3.0


def light(slopes):
    """Radiance of a wall at WALL by direction: smooth, 12 at its brightest."""
    x, y = slopes[..., 0], slopes[..., 1]
    lamp = 12 * np.exp(-((x - 0.2) ** 2 + y**2) / 0.02)
    return np.stack([0.3 + 0.1 * x + lamp, 0.2 + 0.1 * y, np.full_like(x, 0.5)], -1)


class Formula:
    """What a stage gives, from the formulas for rays, with or without the radial lens."""

    def __init__(self, *, radial=True):
        self.radial, self.asked = radial, []

    def slopes(self, asked, sensor):
        self.asked.append((sensor, asked))
        used = asked if self.radial else SensorRequest(asked.size, asked.field)
        width, height = asked.size
        pixels = np.stack(np.meshgrid(np.arange(width), np.arange(height)), -1)
        return chrono_slopes(used, pixels, FACTORS["head"][sensor])

    def colours(self, asked, part=1.0):
        linear = np.clip(light(self.slopes(asked, "camera")) * part, 0, 1)
        return np.floor(linear ** (1 / 2.2) * 255 + 0.5).astype(np.uint8)

    def labels(self, asked):
        slopes = self.slopes(asked, "segmentation")
        right = slopes[..., 0] > 0.1
        return right.astype(np.uint16), right.astype(np.uint16) * 7

    def distances(self, asked):
        slopes = self.slopes(asked, "depth")
        far = slopes[..., 1] < -0.4
        length = WALL * np.sqrt(1 + (slopes**2).sum(-1))
        return np.where(far, FARTHEST, length).astype(np.float32)


LENSES = {
    "pinhole": lens_with_field("pinhole", (96, 64), 80),
    "radial": lens_with_field("radial", (96, 64), 80, (-0.369, 0.1257, -0.0194)),
    "fov": lens_with_field("fov", (96, 64), 80),
    "off the middle": Lens("pinhole", (96, 64), (60.0, 62.0), (40.0, 31.0)),
}


def cameras(stage):
    return ChronoCameras(stage, ProbeResult(FACTORS["head"], frozenset(SENSORS if stage.radial else ())))


@pytest.mark.parametrize("radial", [True, False])
@pytest.mark.parametrize("name", LENSES)
def test_every_lens_sees_what_its_rays_see(name, radial):
    lens, stage = LENSES[name], Formula(radial=radial)
    found = cameras(stage)
    slopes = lens.rays()[..., :2] / lens.rays()[..., 2:]
    labels = found.labels(lens)
    edge = np.abs(slopes[..., 0] - 0.1) < 0.25 / lens.focal[0]
    assert np.array_equal((labels.class_id == 1)[~edge], (slopes[..., 0] > 0.1)[~edge])
    assert np.array_equal(labels.instance, labels.class_id.astype(np.uint16) * 7)
    assert (labels.class_id.dtype, labels.instance.dtype, labels.depth.dtype) == (np.uint8, np.uint16, np.float32)
    clear = np.abs(slopes[..., 1] + 0.4) > 0.25 / lens.focal[1]
    assert np.array_equal(np.isinf(labels.depth)[clear], (slopes[..., 1] < -0.4)[clear])
    assert labels.depth[np.isfinite(labels.depth)] == pytest.approx(WALL, rel=2e-4)
    direct = name == "pinhole" or (name == "radial" and radial)
    assert all((asked.size == lens.size) == direct for _, asked in stage.asked)


@pytest.mark.parametrize("rays", [1, 4])
@pytest.mark.parametrize("name", LENSES)
def test_radiance_is_kept_beyond_full_scale(name, rays):
    lens = LENSES[name]
    picture = cameras(Formula()).radiance(lens, rays)
    side = int(rays**0.5)
    offsets = (np.arange(side) + 0.5) / side - 0.5
    grid = np.stack(np.meshgrid(np.arange(96.0), np.arange(64.0)), -1)
    true = np.zeros((64, 96, 3))
    for down in offsets:
        for across in offsets:
            seen = lens.rays_at(grid + np.array([across, down]))
            true += light(seen[..., :2] / seen[..., 2:]) / rays
    assert picture.shape == (64, 96, 3)
    assert picture.max() > 8
    assert picture[..., 1:] == pytest.approx(true[..., 1:], rel=0.02)
    assert np.abs(picture[..., 0] / true[..., 0] - 1).max() < 0.06, "bilinear at a lamp, and 8 bits"
    assert np.median(np.abs(picture[..., 0] / true[..., 0] - 1)) < 0.01


@pytest.mark.parametrize("rays", [0, 2, 3, -4])
def test_rays_are_a_square_number(rays):
    with pytest.raises((UsageError, ValueError)):
        cameras(Formula()).radiance(LENSES["pinhole"], rays)


def test_what_the_defect_cannot_reach_is_refused():
    with pytest.raises(SimjudgeError, match=r"ends at 126\.9"):
        cameras(Formula()).labels(lens_with_field("pinhole", (96, 64), 140))


def test_requests_are_planned_once():
    found = cameras(Formula())
    found.labels(LENSES["fov"])
    before = dict(found._requests)
    found.labels(LENSES["fov"])
    assert found._requests == before
    assert isinstance(before[LENSES["fov"], "segmentation", 1], Lookup)


@pytest.mark.parametrize(
    ("rays", "scene_states", "each"),
    [
        (1, 1, 1),
        (16, 1, 16),
        (1, 4, 1),
        (4, 4, 4),
        (16, 4, 4),
        (64, 4, 16),
        (16, 2, 4),
        (36, 3, 9),
        (256, 16, 16),
        (4, 100, 4),
    ],
)
def test_rays_are_dealt_to_the_scene_states(rays, scene_states, each):
    """No more rays in all than without blur, but for 2 x 2 an instant, where so many are asked for."""
    assert rays_of_a_scene_state(rays, scene_states) == each
    assert each * scene_states <= rays or each == min(rays, 4)


class Noisily(Formula):
    """With Chrono's noise as camera_noise.cu makes it, or a physical camera's values."""

    def noisy(self, what, light):
        self.asked.append((what.side, light))
        bytes_ = self.colours(what.asked, light)
        slope, intercept = what.noise.slope, what.noise.intercept + what.noise.deviation**2
        deviation = np.sqrt(bytes_ / 255 * slope + intercept)
        noisy = bytes_ / 255 + np.random.default_rng(0).normal(size=bytes_.shape) * deviation + what.noise.mean
        return (np.clip(noisy, 0, 1) * 255.999).astype(np.uint8)

    def values(self, what):
        self.asked.append((what.side, what.settings))
        return np.full((64, 96, 4), 13107, np.uint16)


def camera(lens, own, **given):
    return Camera("it", Path("it.yaml"), lens, (), 30, 0, chrono=own, **given)


@pytest.mark.parametrize("noise", [ChronoNoise("constant", 0.02, 0.01), ChronoNoise("pixel_dependent", slope=4e-4)])
@pytest.mark.parametrize("gain", [1.0, 0.5])
def test_chronos_noise_is_of_the_finished_picture(noise, gain):
    """By its formulas, at full scale 1 after the gain: the flat blue channel tells."""
    stage = Noisily()
    picture = cameras(stage).own(camera(LENSES["pinhole"], noise, supersampling=3, gain=gain))
    assert stage.asked[0] == (3, gain)
    encoded = (picture[..., 2] * gain) ** (1 / 2.2)
    value = (0.5 * gain) ** (1 / 2.2)
    deviation = np.hypot(noise.deviation, np.sqrt(noise.slope * value))
    assert encoded.mean() == pytest.approx(value + noise.mean, abs=0.002)
    assert encoded.std() == pytest.approx(deviation, rel=0.05)


def test_chronos_noise_goes_with_chronos_lenses_only():
    with pytest.raises(UsageError, match=r"it\.yaml: chrono\.noise: Chrono's camera has no such lens"):
        cameras(Noisily()).own(camera(LENSES["fov"], ChronoNoise("constant")))


def test_the_physical_cameras_values_are_light():
    stage = Noisily()
    picture = cameras(stage).own(camera(LENSES["pinhole"], ChronoPhysical(iso=200.0), supersampling=2))
    assert stage.asked == [(2, PhysCamera(iso=200.0))]
    assert picture.shape == (64, 96, 3)
    assert picture.max() == pytest.approx(0.2)


def test_a_lens_that_is_ignored_is_refused():
    with pytest.raises(UsageError, match=r"it\.yaml: lens: this PyChrono ignores radial lenses"):
        cameras(Noisily(radial=False)).own(camera(LENSES["radial"], ChronoPhysical()))


def test_noise_is_told_in_the_unit_of_the_renderer():
    """ChFilterCameraNoise.cpp at 7689fbc0: full scale 1 in OptiX, bytes in Vulkan, whose other filter is another."""
    filters = {
        "ChFilterCameraNoiseConstNormal": lambda *a: ("c", *a),
        "ChFilterCameraNoisePixDep": lambda *a: ("p", *a),
    }
    optix, vulkan = SimpleNamespace(**filters, ChOptixSensor=1), SimpleNamespace(**filters)
    constant, dependent = ChronoNoise("constant", 0.1, 0.01), ChronoNoise("pixel_dependent", slope=4e-4, intercept=1e-4)
    assert noise_filter(optix, constant) == ("c", 0.1, 0.01)
    assert noise_filter(vulkan, constant) == ("c", pytest.approx(25.5), pytest.approx(2.55))
    assert noise_filter(optix, dependent) == ("p", 4e-4, 1e-4)
    with pytest.raises(SimjudgeError, match="another formula"):
        noise_filter(vulkan, dependent)
    with pytest.raises(SimjudgeError, match="no camera noise filters"):
        noise_filter(SimpleNamespace(), constant)
