"""Chrono's lens formulas, against naive loops, Newton's inverse and what was measured on a real one."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simjudge.core.errors import SimjudgeError
from simjudge.core.installed import CAMERA, shipped_files
from simjudge.sim.engines.chrono.lenses import (
    DIRECT_LIMIT,
    SensorRequest,
    chrono_slopes,
    direct_error,
    direct_request,
    field_for,
    fit_coefficients,
    inverse_series,
    slope_factor,
)
from simjudge.sim.engines.pinhole_pictures import lookup_for
from simjudge.sim.sensors.camera.camera_file import read_camera
from simjudge.sim.sensors.camera.distortion import radial_slope
from simjudge.sim.sensors.camera.lens import Lens, lens_with_field, lens_with_focal_length

TARGET = math.tan(math.radians(30))


def raygen(x, y, width, height, field, factor, a=None):
    """One pixel of segment_cam_raygen.cu and ChFilterVulkanRTRender.cpp, line by line, in pixels from the left."""
    u = (x + 0.5) / width * 2 - 1
    v = ((y + 0.5) / height * 2 - 1) * height / width
    if a is not None:
        focal = 1 / math.tan(field / 2)
        xn, yn = u / focal, v / focal
        r2 = xn * xn + yn * yn
        ratio = 1 + sum(c * r2 ** (i + 1) for i, c in enumerate(a))
        u, v = xn * ratio * focal, yn * ratio * focal
    h = math.tan(field / 2) if factor == "tangent" else field / math.pi * 2
    return u * h, v * h


@pytest.mark.parametrize("factor", ["tangent", "linear"])
@pytest.mark.parametrize("coefficients", [None, (-0.3, 0.1, -0.01)])
def test_rays_are_raygens(factor, coefficients):
    asked = SensorRequest((64, 36), 1.4, coefficients)
    a = None if coefficients is None else inverse_series(coefficients)
    for x, y in ((0, 0), (63, 35), (10, 30), (32, 18)):
        assert chrono_slopes(asked, [x, y], factor) == pytest.approx(raygen(x, y, 64, 36, 1.4, factor, a), abs=1e-12)


@given(*[st.floats(-0.5, 0.5)] * 3)
def test_the_series_begins_as_drap_and_lefevre_have_it(k1, k2, k3):
    a = inverse_series((k1, k2, k3))
    known = (
        -k1,
        3 * k1**2 - k2,
        -12 * k1**3 + 8 * k1 * k2 - k3,
        55 * k1**4 - 55 * k1**2 * k2 + 5 * k2**2 + 10 * k1 * k3,
    )
    assert a[:4] == pytest.approx(known, abs=1e-12)
    assert len(a) == 9


def test_the_series_is_the_inverse_where_it_converges():
    radius = np.linspace(0.01, 0.3, 20)
    a = inverse_series((-0.369, 0.1257, -0.0194))
    series = radius * (1 + sum(c * radius ** (2 * i + 2) for i, c in enumerate(a)))
    assert series == pytest.approx(radial_slope(radius, (-0.369, 0.1257, -0.0194)), abs=1e-9)


def test_a_target_at_30_degrees_lands_where_it_was_measured_and_where_it_should_after_correction():
    """Measured at hFOV 1.4 and 1280 px on 7689fbc0: column 1078.5 in RGB, 1054.4 in segmentation."""
    columns = {factor: (TARGET / slope_factor(1.4, factor) + 1) * 640 for factor in ("tangent", "linear")}
    assert columns["tangent"] == pytest.approx(1078.5, abs=0.3)
    assert columns["linear"] == pytest.approx(1054.4, abs=0.3)
    assert columns["tangent"] - columns["linear"] == pytest.approx(1078.5 - 1054.4, abs=0.05)
    lens = lens_with_field("pinhole", (1280, 720), math.degrees(1.4))
    should = lens.project([TARGET, 0, 1])[0] + 0.5
    assert should == pytest.approx(columns["tangent"], abs=1e-9)
    for factor in ("tangent", "linear"):
        asked = direct_request(lens, factor)
        pixels = np.stack([np.arange(1280.0), np.full(1280, 359.5)], -1)
        corrected = np.interp(TARGET, chrono_slopes(asked, pixels, factor)[:, 0], pixels[:, 0]) + 0.5
        assert corrected == pytest.approx(should, abs=1e-6)


def test_the_defect_is_6_percent_at_80_degrees():
    assert slope_factor(math.radians(80), "linear") / slope_factor(math.radians(80), "tangent") == pytest.approx(
        1.06, abs=0.01
    )


@given(st.floats(0.05, 1.9), st.sampled_from(["tangent", "linear"]))
def test_a_corrected_field_is_right(tangent, factor):
    assert slope_factor(field_for(tangent, factor), factor) == pytest.approx(tangent, rel=1e-12)


def test_the_defect_cannot_be_corrected_beyond_its_end():
    assert 2 * math.degrees(math.atan(2)) == pytest.approx(126.9, abs=0.05)
    with pytest.raises(SimjudgeError, match=r"ends at 126\.9"):
        field_for(2.1, "linear")
    assert direct_request(lens_with_field("pinhole", (64, 48), 130), "linear") is None
    assert direct_request(lens_with_field("pinhole", (64, 48), 130), "tangent") is not None


@pytest.mark.parametrize("factor", ["tangent", "linear"])
@pytest.mark.parametrize("name", sorted(shipped_files(CAMERA)))
def test_shipped_cameras_are_asked_for_directly_or_not_at_all(name, factor):
    lens = read_camera(name).lens
    error = direct_error(lens, factor)
    assert error == math.inf if lens.model == "fov" else error < DIRECT_LIMIT


def test_the_cut_series_misses_art1s_corners_and_the_fit_does_not():
    lens = read_camera("art1").lens
    corner = np.array([0.0, 0.0])
    plain = SensorRequest(lens.size, field_for(lens.size[0] / 2 / lens.focal[0], "tangent"), lens.coefficients)
    cut = chrono_slopes(plain, corner, "tangent")
    miss = np.linalg.norm(lens.project([*cut, 1]) - corner)
    assert miss == pytest.approx(1.27, abs=0.01)
    assert direct_error(lens, "tangent") < 0.09
    assert fit_coefficients(lens) == pytest.approx(lens.coefficients, abs=0.01)


def test_hfov_of_a_radial_lens_is_that_of_the_pinhole_of_its_focal_length():
    lens = lens_with_focal_length("radial", (640, 480), 400.0, (-0.1, 0.01, 0.0))
    assert direct_request(lens, "tangent").field == pytest.approx(2 * math.atan(320 / 400))
    assert lens.horizontal_field() > math.degrees(2 * math.atan(320 / 400))


@pytest.mark.parametrize(
    "lens",
    [
        Lens("pinhole", (64, 48), (60.0, 60.0), (33.0, 23.5)),
        Lens("pinhole", (64, 48), (60.0, 61.0), (31.5, 23.5)),
        lens_with_field("fov", (64, 48), 80),
    ],
)
def test_other_lenses_are_looked_up(lens):
    assert direct_request(lens, "tangent") is None
    way = lookup_for("chrono", lens, 3)
    pixels = way.pixels(lens.rays())
    assert pixels.min() >= 0
    assert (pixels.max((0, 1)) <= np.subtract(way.size, 1)).all()
    steps = np.linalg.norm(np.diff(pixels, axis=1), axis=-1)
    assert steps.min() > 2.9
    focal = way.size[0] / 2 / way.tangent
    ray = lens.rays()[5, 7]
    expected = focal * ray[:2] / ray[2] + (np.array(way.size) - 1) / 2
    assert pixels[5, 7] == pytest.approx(expected)


def test_what_no_pinhole_holds_is_refused():
    with pytest.raises(SimjudgeError, match="narrow its field"):
        lookup_for("chrono", lens_with_field("pinhole", (64, 48), 170), 1)
