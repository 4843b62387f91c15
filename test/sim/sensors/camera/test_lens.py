"""Lenses against their formulas, against OpenCV, and there and back."""

import math

import cv2
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from simjudge.core.errors import UsageError
from simjudge.sim.sensors.camera import distortion
from simjudge.sim.sensors.camera.calibration import Calibration
from simjudge.sim.sensors.camera.distortion import distort, slope_end, undistort, whole
from simjudge.sim.sensors.camera.lens import Lens, lens_from_calibration, lens_with_field, lens_with_focal_length

SIZE = (1280, 720)
ART1 = (-0.369, 0.1257, -0.0194)
ALL = {
    "pinhole": lens_with_field("pinhole", SIZE, 80),
    "fov": lens_with_field("fov", SIZE, 80),
    "barrel": lens_with_field("radial", SIZE, 80, ART1),
    "pincushion": lens_with_field("radial", SIZE, 60, (0.1, 0.02, 0.0)),
}
EVERY = pytest.mark.parametrize("name", ALL)


def checker_board(depth=1.5):
    """Corners of a tilted board that fills the view, metres, optical frame."""
    x, y = np.meshgrid(np.linspace(-0.8, 0.8, 17), np.linspace(-0.45, 0.45, 10))
    return np.stack([x.ravel(), y.ravel(), (depth + 0.3 * x - 0.2 * y).ravel()], -1)


def by_opencv(points, calibration):
    done, _ = cv2.projectPoints(points, np.zeros(3), np.zeros(3), calibration.matrix, calibration.distortion)
    return done[:, 0]


@EVERY
def test_corners_of_a_board_are_where_opencv_puts_them_by_the_camera_info(name):
    info = ALL[name].camera_info()
    off = np.abs(ALL[name].project(checker_board()) - by_opencv(checker_board(), info.calibration)).max()
    assert off < (1e-9 if name != "fov" else info.error + 1e-9)
    assert info.error == 0 if name != "fov" else 0 < info.error < 0.01
    assert info.calibration.model == ("plumb_bob" if name != "fov" else "rational_polynomial")


@pytest.mark.parametrize(("field", "limit"), [(60, 1e-6), (80, 1e-4), (100, 0.05)])
def test_the_rational_polynomial_misses_the_fov_lens_by_no_more_than_it_says(field, limit):
    lens = lens_with_field("fov", SIZE, field)
    calibration, error = lens.camera_info()
    u, v = (side.ravel() for side in np.meshgrid(np.linspace(-0.5, 1279.5, 161), np.linspace(-0.5, 719.5, 91)))
    pixels = np.stack([u, v], -1)
    off = np.linalg.norm(by_opencv(lens.rays_at(pixels), calibration) - pixels, axis=-1).max()
    assert 0.9 * error < off < 1.01 * error + 1e-9
    assert error < limit


def test_corners_of_a_board_follow_the_formulas():
    points = checker_board()
    for x, y, z in points:
        slope, direction = math.hypot(x, y) / z, math.atan2(y, x)
        t = math.tan(math.radians(40))
        # Half widths, as in Chrono's camera.cu: r2 = tan(r1 tan w) / tan w, over its value at r1 = 1.
        r2 = slope / t
        r1 = math.atan(r2 * math.tan(t)) / t
        assert math.tan(r1 * t) / t / (math.tan(t) / t) == pytest.approx(r2, abs=1e-12)
        k1, k2, k3 = ART1
        edge = t * (1 + k1 * t**2 + k2 * t**4 + k3 * t**6)
        brown = slope * (1 + k1 * slope**2 + k2 * slope**4 + k3 * slope**6)
        for name, radius in (("pinhole", slope / t), ("fov", r1), ("barrel", brown / edge)):
            expected = 639.5 + 640 * radius * math.cos(direction), 359.5 + 640 * radius * math.sin(direction)
            assert ALL[name].project([x, y, z]).tolist() == pytest.approx(expected, abs=1e-9), name


@EVERY
def test_opencv_finds_every_corner_within_half_a_pixel_on_the_rays_of_every_pixel(name):
    rays = ALL[name].rays()
    assert rays.shape == (720, 1280, 3)
    assert np.abs(np.linalg.norm(rays, axis=-1) - 1).max() < 1e-12
    some = rays[::40, ::40].reshape(-1, 3)
    u, v = np.meshgrid(np.arange(0, 1280, 40), np.arange(0, 720, 40))
    seen = by_opencv(some, ALL[name].camera_info().calibration)
    assert np.abs(seen - np.stack([u.ravel(), v.ravel()], -1)).max() < (1e-6 if name != "fov" else 0.01)


@EVERY
def test_right_is_right_and_down_is_down(name):
    lens = ALL[name]
    rays = lens.rays()
    assert rays[360, 1279, 0] > 0.4 > -0.4 > rays[360, 0, 0]  # x to the right
    assert rays[719, 640, 1] > 0.2 > -0.2 > rays[0, 640, 1]  # y down
    assert np.all(rays[..., 2] > 0)  # z forward
    right, below = lens.project([0.3, 0, 1]), lens.project([0, 0.2, 1])
    assert right[0] > 640
    assert right[1] == 359.5
    assert below[0] == 639.5
    assert below[1] > 400
    assert lens.project([0, 0, 2]).tolist() == [639.5, 359.5]
    assert lens.rays_at([639.5, 359.5]).tolist() == [0, 0, 1]
    assert np.array_equal(rays[:, ::-1] * [-1, 1, 1], rays)
    assert np.array_equal(rays[::-1] * [1, -1, 1], rays)


@pytest.mark.parametrize("field", [20, 60, 80, 100, 114])
@pytest.mark.parametrize("model", ["pinhole", "fov", "radial"])
def test_the_horizontal_field_is_kept_at_the_edges(model, field):
    lens = lens_with_field(model, (640, 100), field, (-0.02, 0.01, 0) if model == "radial" else (0, 0, 0))
    half = math.radians(field / 2)
    for u, side in ((-0.5, -1), (639.5, 1)):
        assert lens.rays_at([u, 49.5]).tolist() == pytest.approx([side * math.sin(half), 0, math.cos(half)], abs=1e-12)
    assert lens.horizontal_field() == pytest.approx(field, abs=1e-9)


@given(
    u=st.floats(-0.5, 1279.5),
    v=st.floats(-0.5, 719.5),
    k=st.tuples(st.floats(-0.5, 0.5), st.floats(-0.3, 0.3), st.floats(-0.2, 0.2)),
    field=st.floats(5, 114),
    model=st.sampled_from(["pinhole", "fov", "radial"]),
    distance=st.floats(0.01, 1e4),
)
def test_from_a_pixel_out_and_back_again(u, v, k, field, model, distance):
    try:
        lens = lens_with_field(model, SIZE, field, k if model == "radial" else (0, 0, 0))
    except UsageError:
        assume(False)  # the lens turns back within the picture and is refused
    there = lens.rays_at([u, v])
    assert np.linalg.norm(there) == pytest.approx(1)
    assert np.abs(lens.project(there * distance) - [u, v]).max() < 1e-6


@given(
    k=st.tuples(st.floats(-2, 2), st.floats(-2, 2), st.floats(-2, 2)),
    radius=st.floats(0, 3),
)
def test_radial_inverse_is_exact_or_says_that_there_is_none(k, radius):
    slope = float(distortion.radial_slope(radius, k))
    end = distortion.radial_end(k)
    s = np.linspace(0, min(end, 20.0), 20001)
    values = s * (1 + k[0] * s**2 + k[1] * s**4 + k[2] * s**6)
    assert np.all(np.diff(values) > -1e-9 * np.maximum(values[1:], 1))  # monotone as far as it goes
    if math.isnan(slope):
        assert end < 1e6
        assert values.max() < radius + 1e-12
    else:
        assert 0 <= slope <= end
        back = slope * (1 + k[0] * slope**2 + k[1] * slope**4 + k[2] * slope**6)
        assert abs(back - radius) < 1e-12 * max(radius, 1)


def test_where_the_polynomial_turns_nothing_is_seen_twice():
    # r (1 - r^2 / 3) turns at 1, where it is 2/3; OpenCV goes on.
    k = (-1 / 3, 0.0, 0.0)
    assert distortion.radial_end(k) == pytest.approx(1)
    assert distortion.radial_slope([0.3, 2 / 3 - 1e-9, 0.67], k).tolist()[2:] == pytest.approx([math.nan], nan_ok=True)
    lens = lens_with_focal_length("radial", (100, 100), 200, k)
    inside, beyond = lens.project([[0.9, 0, 1], [1.2, 0, 1]])
    assert inside[0] == pytest.approx(49.5 + 200 * 0.9 * (1 - 0.27))
    assert np.isnan(beyond).all()
    assert np.isfinite(by_opencv(np.array([[1.2, 0, 1]]), lens.camera_info().calibration)).all()
    assert np.isnan(lens.rays_at([300, 49.5])).all()


def test_a_pixel_on_the_turn_itself_comes_back():
    lens = lens_with_focal_length("radial", (100, 100), 200, (-1 / 3, 0.0, 0.0))
    pixels = np.array([[49.5 + 200 * (2 / 3 - 10.0**-n), 49.5] for n in range(2, 15)])
    assert np.abs(lens.project(lens.rays_at(pixels)) - pixels).max() < 1e-6


def test_behind_the_camera_nothing_is_seen():
    for lens in ALL.values():
        seen = lens.project([[0.1, 0.1, -1], [0.1, 0.1, 0], [math.nan, 0, 1]])
        assert np.isnan(seen[:2]).all()
        assert np.isnan(seen[2]).any()


def test_a_calibration_is_the_lens_that_it_was():
    for name in ("pinhole", "barrel", "pincushion"):
        again = lens_from_calibration(ALL[name].camera_info().calibration)
        assert np.array_equal(again.rays(), ALL[name].rays())


RATIONAL = (0.4677, -2.4607, 0.00066, -0.00021, 1.4285, 0.3479, -2.2916, 1.3613)
CALIBRATED = {
    "ART-1, its true size": Lens(
        "plumb_bob", (640, 480), (438.783, 437.303), (305.593, 243.738), (-0.361976, 0.11051, 0.001014, 0.000505, 0.0)
    ),
    "a narrow lens": Lens(
        "plumb_bob", (612, 512), (1206.9, 1208.9), (305.9, 256.1), (-0.41527, 0.31874, -0.00197, 0.00071, 0.0)
    ),
    "a depth camera's colour camera": Lens("rational_polynomial", (640, 360), (302.9, 302.8), (319.0, 183.6), RATIONAL),
    "with a thin prism": Lens(
        "rational_polynomial", (640, 360), (302.9, 302.8), (319.0, 183.6), (*RATIONAL, 0.001, -0.002, 0.0015, 0.0007)
    ),
    "on a tilted sensor": Lens(
        "rational_polynomial",
        (640, 360),
        (302.9, 302.8),
        (319.0, 183.6),
        (*RATIONAL, 0.001, -0.002, 0.0015, 0.0007, 0.02, -0.03),
    ),
    "a fisheye": Lens(
        "equidistant", (512, 512), (190.978, 190.973), (254.93, 256.9), (0.0034824, 0.000715, -0.0020532, 0.00020294)
    ),
}


@pytest.mark.parametrize("name", CALIBRATED)
def test_lenses_of_ros_are_those_of_opencv_there_and_back(name):
    lens = CALIBRATED[name]
    calibration, error = lens.camera_info()
    assert error == 0
    assert lens_from_calibration(calibration) == lens
    pixels = np.stack(np.meshgrid(*(np.linspace(-0.5, side - 0.5, 41) for side in lens.size)), -1).reshape(-1, 2)
    rays = lens.rays_at(pixels)
    assert np.abs(np.linalg.norm(rays, axis=-1) - 1).max() < 1e-12
    assert np.abs(lens.project(rays) - pixels).max() < 1e-8
    ahead = rays[:, 2] > 0.01
    none, k, d = np.zeros(3), calibration.matrix, calibration.distortion
    if calibration.model == "equidistant":
        straight = (rays / rays[:, 2:])[ahead].reshape(-1, 1, 3)
        found = cv2.fisheye.projectPoints(straight, none, none, k, d)[0][:, 0]
    else:
        found = cv2.projectPoints(rays[ahead], none, none, k, d)[0][:, 0]
    assert np.abs(found - pixels[ahead]).max() < 1e-8


def test_a_fisheye_sees_behind_its_own_plane():
    lens = lens_with_field("equidistant", (400, 400), 220, (0.0, 0.0, 0.0, 0.0))
    assert lens.horizontal_field() == pytest.approx(220)
    angle = math.radians(100)
    pixel = lens.project([math.sin(angle), 0, math.cos(angle)])
    assert pixel.tolist() == pytest.approx([199.5 + 200 * 100 / 110, 199.5])
    assert lens.rays_at(pixel).tolist() == pytest.approx([math.sin(angle), 0, math.cos(angle)])
    assert np.isnan(lens.project([0, 0, -1.0])).all(), "straight behind there is no one pixel"
    assert lens.rays_at([199.5, 199.5]).tolist() == [0, 0, 1]


@given(
    st.tuples(
        *(st.floats(-0.4, 0.4) for _ in range(2)), *(st.floats(-0.02, 0.02) for _ in range(2)), st.floats(-0.1, 0.1)
    ),
    st.lists(st.tuples(st.floats(0, 0.98), st.floats(0, 2 * math.pi)), min_size=1, max_size=20),
)
def test_what_a_lens_takes_in_comes_back(distortion, points):
    end = min(slope_end(whole(distortion)), 3.0)
    straight = np.array([[end * r * math.cos(a), end * r * math.sin(a)] for r, a in points])
    bent = distort(straight, distortion)
    found = undistort(bent, distortion)
    again = distort(found, distortion)
    assert np.abs(again - bent).max() < 1e-9
    assert np.abs(found - straight).max() < 1e-4, "near a fold the inverse is as flat as the fold is sharp"


@pytest.mark.parametrize("k", [ART1, (-0.2, 0.0, 0.0), (0.1, -0.3, 0.05), (0.1, 0.0, 0.0)])
def test_a_lens_without_tangential_terms_ends_where_its_polynomial_turns(k):
    end = math.degrees(math.atan(slope_end(whole((k[0], k[1], 0, 0, k[2])))))
    turn = math.degrees(math.atan(distortion.radial_end(k)))
    assert turn - 0.026 <= end <= turn or turn > 89.99 < end


@pytest.mark.parametrize(
    ("model", "terms", "says"),
    [
        ("plumb_bob", [-0.9, 0, 0.001, 0, 0], "before the corners of 640x480"),
        ("equidistant", [-0.4, 0, 0, 0], "equidistant lens turns back"),
        ("rational_polynomial", [0.1] * 8, "turns back 49.7 degrees off its axis"),
        ("rational_polynomial", [0.1] * 5, "8 or 12 or 14 coefficients; these are 5"),
        ("double_sphere", [0.1], "lens model 'double_sphere': one of"),
    ],
)
def test_calibrations_that_leave_corners_blind_or_are_none_of_ros_are_refused(model, terms, says):
    matrix = np.array([[300.0, 0, 320], [0, 300, 240], [0, 0, 1]])
    other = Calibration("x", (640, 480), model, matrix, np.array(terms), np.eye(3), np.zeros((3, 4)))
    with pytest.raises(UsageError, match=f"x: .*{says}"):
        lens_from_calibration(other)


def test_a_calibration_with_skew_is_refused():
    matrix = np.array([[500.0, 2, 320], [0, 500, 240], [0, 0, 1]])
    other = Calibration("x", (640, 480), "plumb_bob", matrix, np.zeros(5), np.eye(3), np.zeros((3, 4)))
    with pytest.raises(UsageError, match="skew of 2"):
        lens_from_calibration(other)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: lens_with_field("fisheye", SIZE, 80), "lens model 'fisheye'"),
        (lambda: lens_with_field("pinhole", SIZE, 180), "less than 180"),
        (lambda: lens_with_field("pinhole", SIZE, 0), "more than 0"),
        (lambda: lens_with_field("pinhole", SIZE, math.nan), "field of view nan"),
        (lambda: lens_with_field("pinhole", (0, 720), 80), "0x720"),
        (lambda: lens_with_field("fov", SIZE, 116), r"less than 115"),
        (lambda: lens_with_field("fov", (100, 100), 112), "corners of 100x100 see nothing"),
        (lambda: lens_with_field("fov", SIZE, 80, ART1), "belong to a radial lens"),
        (lambda: lens_with_focal_length("fov", SIZE, 700), "not by a focal length"),
        (lambda: lens_with_focal_length("radial", SIZE, math.inf), "focal length"),
        (lambda: lens_with_focal_length("radial", SIZE, 700, (0, 1e300, 0)), "no lens's"),
        (lambda: lens_with_focal_length("radial", SIZE, 700, (math.nan, 0, 0)), "no lens's"),
        (lambda: lens_with_field("radial", SIZE, 80, (-1, 0, 0)), "turns back at 60.0 degrees"),
        (lambda: lens_with_field("fov", SIZE, 106).camera_info(), "has no camera_info"),
        # What Chrono makes of ART-1's figures: its corners lie beyond where the polynomial turns.
        (lambda: lens_with_focal_length("radial", SIZE, 640 / math.tan(math.radians(40)), ART1), "before the corners"),
    ],
)
def test_lenses_that_cannot_be_are_refused(make, says):
    with pytest.raises(UsageError, match=says):
        make()
