"""Each filter against the formula it claims."""

import math

import cv2
import numpy as np
import pytest
from scipy import ndimage
from scipy.special import ndtr

from simjudge.core.errors import UsageError
from simjudge.sim.sensors.camera import chain, filters, isp
from simjudge.sim.sensors.camera.chain import Step, apply_steps
from simjudge.sim.sensors.camera.filters import CAMERA_FILTERS, motion_kernel
from simjudge.sim.sensors.camera.lens import Lens

OF_COLOURS = (
    "bayer",
    "chromatic_aberration",
    "haze",
    "colour_transfer",
    "gray_world",
    "inverse_gray_world",
    "colour_correction",
    "dust",
    "fog",
    "match_channels",
    "rain",
    "rccc",
    "spray",
    "tone_map",
    "white_balance",
)
FAR = np.full((31, 40), 4.0)
RAYS = Lens("pinhole", (40, 31), (30.0, 30.0), (19.5, 15.0)).rays()
GREY = np.full((200, 300, 3), 128, np.uint8)


def test_every_filter_is_registered_and_keeps_type_shape_and_input():
    parameters = {
        "gaussian_blur": {"sigma": 1.5},
        "vignetting": {"half_angle": 30},
        "gaussian_noise": {"sigma": 3, "seed": 1},
        "white_balance": {"red": 1.2},
        "gamma": {"exponent": 1.5},
        "jpeg": {"quality": 80},
        "shot_noise": {"shot": 6, "read": 2, "seed": 1},
        "physical_noise": {"s1": 0.02, "s2": 0.005, "seed": 1},
        "emva1288_noise": {"bit_depth": 12, "temporal_dark_noise": 4, "saturation_capacity": 9000, "seed": 1},
        "bayer": {"pattern": "GRBG"},
        "quantization": {"bits": 5},
        "match_exposure": {"mean": 120, "deviation": 30},
        "colour_transfer": {
            "lightness": 55,
            "a": 3,
            "b": -8,
            "lightness_deviation": 9,
            "a_deviation": 5,
            "b_deviation": 6,
        },
        "match_channels": {
            "red": 120,
            "green": 90,
            "blue": 60,
            "red_deviation": 30,
            "green_deviation": 20,
            "blue_deviation": 10,
        },
        "denoise": {"strength": 12},
        "colour_correction": {"rr": 1.4, "rg": -0.4},
        "tone_map": {"white": 4},
        "rccc": {"pattern": "CRCC"},
        "gray_world": {},
        "inverse_gray_world": {"red": 90, "green": 100, "blue": 70},
        "srgb": {},
        "glare": {"share": 0.2, "radius": 2.5},
        "haze": {"density": 0.3, "blue": 0.9},
        "dust": {"density": 0.3, "distance": FAR},
        "fog": {"density": 0.3, "distance": FAR},
        "rain": {"rate": 20, "distance": FAR, "rays": RAYS, "exposure_time": 0.01, "seed": 1},
        "spray": {"density": 0.3, "ahead": 3, "distance": FAR, "rays": RAYS},
        "motion_blur": {"length": 4.5, "angle": 30},
        "chromatic_aberration": {"red": 1.01, "blue": 0.99},
        "sharpen": {"amount": 0.7, "radius": 1.2},
    }
    assert set(chain.SAME_NOISE) < set(parameters)
    CAMERA_FILTERS.load_own()
    assert set(CAMERA_FILTERS.functions) == {*parameters, "gray"}
    picture = np.random.default_rng(0).integers(0, 256, (31, 40, 3), np.uint8)
    for name, given in parameters.items():
        if name in OF_COLOURS:
            with pytest.raises(UsageError, match=f"filter {name} needs colours; put it above gray"):
                filters.CAMERA_FILTERS.find(name)(picture[:, :, :1], **given)
        sources = [picture, picture.astype(np.float32) / 255, picture.astype(np.float64) / 255]
        sources += [] if name in OF_COLOURS else [source[:, :, :1] for source in sources]
        for source in sources:
            before = source.copy()
            out = filters.CAMERA_FILTERS.find(name)(source, **given)
            assert out.dtype == source.dtype, name
            assert out.shape == source.shape, name
            assert np.array_equal(source, before), name
            if source.dtype != np.uint8 and name != "jpeg":  # both paths are one filter, up to rounding
                exact = filters.CAMERA_FILTERS.find(name)(picture[:, :, : out.shape[2]], **given).astype(float)
                assert np.abs(np.clip(out * 255, 0, 255) - exact).max() <= 0.51, name


def test_gray_is_the_weighted_mean_of_the_colours():
    picture = np.random.default_rng(0).random((5, 7, 3))
    gray = filters.CAMERA_FILTERS.find("gray")
    by_hand = 0.2126 * picture[..., 0] + 0.7152 * picture[..., 1] + 0.0722 * picture[..., 2]
    assert gray(picture)[..., 0] == pytest.approx(by_hand)
    assert gray(picture, red=1, green=0, blue=3)[..., 0] == pytest.approx((picture[..., 0] + 3 * picture[..., 2]) / 4)


def blurred_edge(sigma):
    """A step between columns 39 and 40, blurred."""
    edge = np.zeros((40, 81, 3))
    edge[:, 40:] = 1.0
    return filters.gaussian_blur(edge, sigma=sigma)[20, :, 0]


@pytest.mark.parametrize("sigma", [1.0, 2.0, 3.7])
def test_blur_has_the_line_spread_of_a_gaussian(sigma):
    # The step becomes the error function, but for sampling the kernel at the pixels: by the midpoint rule that is off
    # by at most max|phi'| / 24 = 0.0101 pixels squared over sigma squared.
    expected = ndtr((np.arange(81) - 39.5) / sigma)
    assert np.abs(blurred_edge(sigma) - expected).max() < 0.0105 / sigma**2


@pytest.mark.parametrize("sigma", [0.5, 1.0, 2.0, 3.7])
def test_blur_weighs_by_the_gaussian_at_the_pixels(sigma):
    weight = np.exp(-((np.arange(81) - 40.0) ** 2) / (2 * sigma**2))
    expected = np.cumsum(weight / weight.sum())
    assert np.abs(blurred_edge(sigma) - expected).max() < 1e-4  # what lies beyond 4 sigma


@pytest.mark.parametrize("sigma", [1.0, 2.0, 3.7])
def test_blur_has_the_variance_it_names_and_loses_no_light(sigma):
    point = np.zeros((81, 81, 3))
    point[40, 40] = 1.0
    out = filters.gaussian_blur(point, sigma=sigma)[:, :, 1]
    offset = np.arange(81) - 40
    assert out.sum() == pytest.approx(1, abs=1e-9)
    assert (out.sum(0) * offset**2).sum() == pytest.approx(sigma**2, rel=2e-3)
    assert (out.sum(1) * offset**2).sum() == pytest.approx(sigma**2, rel=2e-3)
    assert np.array_equal(filters.gaussian_blur(GREY, sigma=sigma), GREY)


def test_blur_of_zero_changes_nothing():
    picture = np.random.default_rng(0).integers(0, 256, (9, 9, 3), np.uint8)
    assert np.array_equal(filters.gaussian_blur(picture, sigma=0), picture)


@pytest.mark.parametrize("sigma", [1.0, 5.0, 20.0])
def test_noise_has_the_variance_it_names_and_no_mean(sigma):
    out = filters.gaussian_noise(GREY, sigma=sigma, seed=4).astype(float) - 128
    count = out.size
    assert abs(out.mean()) < 4 * sigma / math.sqrt(count)
    # Rounding to whole levels adds 1/12; the sample variance has a relative spread of sqrt(2 / n).
    assert out.var() == pytest.approx(sigma**2 + 1 / 12, rel=4 * math.sqrt(2 / count))
    assert abs(np.corrcoef(out[:, :-1, 0].ravel(), out[:, 1:, 0].ravel())[0, 1]) < 4 / math.sqrt(count / 3)
    assert abs(np.corrcoef(out[:, :, 0].ravel(), out[:, :, 2].ravel())[0, 1]) < 4 / math.sqrt(count / 3)


def test_noise_follows_its_seed():
    first, again, other = (filters.gaussian_noise(GREY, sigma=5, seed=s) for s in (1, 1, 2))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_white_balance_multiplies_and_saturates():
    picture = np.empty((1, 4, 3), np.uint8)
    picture[0, :, :] = np.array([0, 100, 180, 255])[:, None]
    out = filters.white_balance(picture, red=0.65, green=1.0, blue=1.4)
    assert out[0, :, 0].tolist() == [0, 65, 117, 166]  # 165.75 rounds up
    assert out[0, :, 1].tolist() == [0, 100, 180, 255]
    assert out[0, :, 2].tolist() == [0, 140, 252, 255]  # 357 saturates
    double = np.full((2, 2, 3), 0.9)
    assert filters.white_balance(double, blue=1.4)[0, 0].tolist() == pytest.approx([0.9, 0.9, 1.26])  # this does not


def test_white_balance_gives_the_mean_gain():
    picture = np.random.default_rng(0).integers(20, 150, (60, 80, 3), np.uint8)
    out = filters.white_balance(picture, red=1.4, green=1.1, blue=0.65)
    gain = out.mean((0, 1)) / picture.mean((0, 1))
    assert gain.tolist() == pytest.approx([1.4, 1.1, 0.65], rel=1e-3)


GAMMAS = [(1, 77, 77), (2, 128, 64), (0.5, 64, 128), (2.2, 255, 255)]


@pytest.mark.parametrize(("exponent", "level", "expected"), GAMMAS)
def test_gamma_is_a_power_of_full_scale(exponent, level, expected):
    out = filters.gamma(np.full((1, 1, 3), level, np.uint8), exponent=exponent)
    assert out[0, 0, 0] == round(255 * (level / 255) ** exponent) == expected


@pytest.mark.parametrize("half_angle", [10, 30, 45])
def test_vignetting_follows_the_cosine_fourth_law(half_angle):
    out = filters.vignetting(np.ones((101, 201, 3)), half_angle=half_angle)
    assert out[50, 100].tolist() == [1, 1, 1]
    for row, column in ((0, 0), (0, 200), (100, 0), (100, 200)):
        assert out[row, column, 0] == pytest.approx(math.cos(math.radians(half_angle)) ** 4)
    # Half way to the corner, the tangent of the angle is half.
    angle = math.atan(math.tan(math.radians(half_angle)) / 2)
    assert out[25, 50, 0] == pytest.approx(math.cos(angle) ** 4)


def test_jpeg_is_close_at_high_quality_and_worse_at_low():
    rows, columns = np.mgrid[0:64, 0:64]
    smooth = np.stack([rows * 4, columns * 4, (rows + columns) * 2], 2).astype(np.uint8)
    error = [np.abs(filters.jpeg(smooth, quality=q).astype(int) - smooth).mean() for q in (98, 50, 5)]
    assert error[0] < 1 < error[1] < error[2]


@pytest.mark.parametrize(
    ("name", "given", "says"),
    [
        ("gaussian_blur", {"sigma": -1}, "sigma -1"),
        ("gaussian_blur", {"sigma": math.nan}, "sigma nan"),
        ("gaussian_noise", {"sigma": math.inf}, "sigma inf"),
        ("white_balance", {"red": -0.5}, "gains -0.5"),
        ("gamma", {"exponent": 0}, "exponent 0"),
        ("vignetting", {"half_angle": 90}, "half angle 90"),
        ("jpeg", {"quality": 0}, "quality 0"),
    ],
)
def test_senseless_parameters_are_refused(name, given, says):
    with pytest.raises(UsageError, match=says):
        filters.CAMERA_FILTERS.find(name)(GREY, **given)


def test_unknown_filter_and_odd_type_are_refused():
    with pytest.raises(UsageError, match=r"no filter is called 'sepia'; is spray meant"):
        filters.CAMERA_FILTERS.find("sepia")
    with pytest.raises(UsageError, match="int64"):
        filters.gamma(np.zeros((2, 2, 3), np.int64), exponent=2)


def test_haze_is_a_mixture_with_the_light_of_the_air():
    picture = np.random.default_rng(1).random((4, 5, 3))
    made = filters.CAMERA_FILTERS.find("haze")(picture, density=0.25, red=0.6, green=0.7, blue=0.9)
    assert made == pytest.approx(0.75 * picture + 0.25 * np.array([0.6, 0.7, 0.9]), abs=1e-6)


def test_glare_scatters_its_share_half_of_it_within_the_radius():
    lamp = np.zeros((301, 301, 3))
    lamp[150, 150] = 40.0
    seen = filters.glare(lamp, share=0.1, radius=8)
    away = np.hypot(*np.ogrid[-150:151, -150:151])
    halo = seen[:, :, 0].copy()
    halo[150, 150] -= 36.0  # nine tenths stay
    assert halo.sum() == pytest.approx(4.0, rel=1e-3)
    for radii in (1, 2, 4):  # 1 / (1 + (r / radius)^2)^2 in the plane: R^2 / (1 + R^2) of it lies within R radii
        assert halo[away < 8 * radii].sum() / 4 == pytest.approx(radii**2 / (1 + radii**2), abs=0.012)
    assert np.array_equal(filters.glare(GREY, share=0.3, radius=5), GREY)


def test_motion_blur_is_the_mean_along_its_path():
    """Of length 5 to the right it is the mean of five pixels; the variance of a path of L pixels is L^2 / 12."""
    picture = np.random.default_rng(1).random((9, 40, 3))
    made = filters.CAMERA_FILTERS.find("motion_blur")(picture, length=5.0)
    by_hand = np.mean([picture[:, k : 36 + k] for k in range(5)], axis=0)
    assert made[:, 2:-2] == pytest.approx(by_hand, abs=2e-3)
    for length, angle in ((7.0, 30.0), (16.0, 110.0)):
        kernel = motion_kernel(length, angle)
        y, x = np.indices(kernel.shape) - len(kernel) // 2
        along = x * math.cos(math.radians(angle)) + y * math.sin(math.radians(angle))
        across = y * math.cos(math.radians(angle)) - x * math.sin(math.radians(angle))
        assert kernel.sum() == pytest.approx(1)
        assert (kernel * along**2).sum() == pytest.approx(length**2 / 12, abs=0.25)
        assert (kernel * across**2).sum() < 0.15


def test_chromatic_aberration_scales_red_and_blue_around_the_middle():
    """An edge k pixels from the middle of red lies k times the size from it then; green stays."""
    picture = np.zeros((41, 201, 3))
    picture[:, 150:] = 1.0
    made = filters.CAMERA_FILTERS.find("chromatic_aberration")(picture, red=1.04, blue=0.98)
    for channel, size in ((0, 1.04), (1, 1.0), (2, 0.98)):
        place = 200.5 - made[20, :, channel].sum()
        assert place == pytest.approx(100 + size * 49.5, abs=0.1)


def test_sharpening_adds_what_a_blur_takes_away():
    picture = np.random.default_rng(1).random((30, 40, 3))
    blurred = filters.CAMERA_FILTERS.find("gaussian_blur")(picture, sigma=1.3)
    made = filters.CAMERA_FILTERS.find("sharpen")(picture, amount=0.8, radius=1.3)
    assert made == pytest.approx(picture + 0.8 * (picture - blurred))


@pytest.mark.parametrize(
    ("name", "given", "words"),
    [
        ("glare", {"share": 1.2, "radius": 3}, "share 1.2"),
        ("glare", {"share": 0.2, "radius": 0}, "radius 0"),
        ("haze", {"density": 1.2}, "density 1.2"),
        ("motion_blur", {"length": -1}, "length -1"),
        ("chromatic_aberration", {"red": 1.5}, "sizes 1.5"),
        ("sharpen", {"amount": -0.1}, "amount -0.1"),
    ],
)
def test_optical_filters_refuse_what_makes_no_sense(name, given, words):
    with pytest.raises(UsageError, match=words):
        filters.CAMERA_FILTERS.find(name)(np.zeros((8, 8, 3), np.uint8), **given)


NOISY = np.random.default_rng(5).integers(0, 256, (23, 30, 3), np.uint8)


def plain_bilateral(image, strength, radius):
    """Pixel by pixel, neighbour by neighbour."""
    reach = round(3 * radius)
    padded = np.pad(image, ((reach, reach), (reach, reach), (0, 0)), mode="reflect")
    out = np.zeros_like(image)
    for row in range(image.shape[0]):
        for column in range(image.shape[1]):
            total, weights = np.zeros(image.shape[2]), 0.0
            for down in range(-reach, reach + 1):
                for right in range(-reach, reach + 1):
                    if math.hypot(down, right) > reach:
                        continue
                    other = padded[row + reach + down, column + reach + right]
                    apart = np.abs(other - image[row, column]).sum() * 255
                    weight = math.exp(-(down**2 + right**2) / (2 * radius**2) - apart**2 / (2 * strength**2))
                    total, weights = total + weight * other, weights + weight
            out[row, column] = total / weights
    return out


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize(("strength", "radius"), [(20, 1.0), (90, 1.5)])
def test_denoising_is_the_bilateral_filter_s_formula(strength, radius, channels):
    image = NOISY[:, :, :channels] / 255
    found = filters.denoise(image, strength=strength, radius=radius)
    assert found == pytest.approx(plain_bilateral(image, strength, radius), abs=2e-4)


def test_denoising_takes_noise_and_keeps_edges():
    edge = np.full((60, 60, 3), 60.0)
    edge[:, 30:] = 190
    noisy = edge + np.random.default_rng(1).normal(0, 4, edge.shape)
    found = filters.denoise(noisy / 255, strength=30, radius=2) * 255
    assert (found - edge).std() < 0.45 * (noisy - edge).std()
    assert np.abs((found - edge)[:, 28:32].mean()) < 1


def test_colour_correction_is_the_matrix_s_product():
    names = ("rr", "rg", "rb", "gr", "gg", "gb", "br", "bg", "bb")
    numbers = np.array([1.6, -0.4, -0.2, -0.3, 1.5, -0.2, 0.0, -0.6, 1.6])
    found = filters.colour_correction(NOISY / 255, **dict(zip(names, numbers, strict=True)))
    assert found == pytest.approx(cv2.transform(NOISY / 255, numbers.reshape(3, 3)), abs=1e-12)
    grey = np.full((2, 2, 3), 0.4)
    assert filters.colour_correction(grey, **dict(zip(names, numbers, strict=True))) == pytest.approx(grey)
    assert np.array_equal(filters.colour_correction(NOISY), NOISY)


def test_tone_mapping_is_the_paper_s_formula_pixel_by_pixel():
    light = NOISY / 255 * 6
    found = filters.tone_map(light, white=4.0, exposure=1.5)
    for row, column in np.ndindex(*light.shape[:2]):
        red, green, blue = 1.5 * light[row, column]
        luminance = 0.2126 * red + 0.7152 * green + 0.0722 * blue
        shown = luminance * (1 + luminance / 16) / (1 + luminance)
        expected = np.array([red, green, blue]) * (shown / luminance if luminance else 1)
        assert found[row, column] == pytest.approx(expected)
    white = np.full((1, 1, 3), 4.0)
    assert filters.tone_map(white, white=4.0) == pytest.approx(np.ones((1, 1, 3)))
    ramp = filters.tone_map(np.repeat(np.linspace(0, 4, 100)[:, None, None], 3, 2), white=4.0)[:, 0, 1]
    assert (np.diff(ramp) > 0).all(), "brighter light stays brighter"


@pytest.mark.parametrize("pattern", filters.RCCC_PATTERNS)
def test_rccc_interpolates_red_and_clear_as_normalized_convolution_does(pattern):
    image = NOISY / 255
    row, column = divmod(pattern.index("R"), 2)
    is_red = np.zeros(image.shape[:2])
    is_red[row::2, column::2] = 1
    clear = image.mean(2)
    tent = np.outer([1, 2, 1], [1, 2, 1]) / 4.0
    red = ndimage.convolve(image[..., 0] * is_red, tent, mode="mirror")
    cross = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    filled = ndimage.convolve(clear * (1 - is_red), cross, mode="mirror")
    filled = filled / ndimage.convolve(1 - is_red, cross, mode="mirror")
    clear = np.where(is_red > 0, filled, clear)
    expected = np.stack([red, (3 * clear - red) / 2, (3 * clear - red) / 2], -1)
    assert filters.rccc(image, pattern=pattern) == pytest.approx(expected, abs=1e-12)


def test_rccc_keeps_flat_greys_and_reds_and_does_not_know_green_from_blue():
    for colour, seen in (((0.5, 0.5, 0.5), (0.5, 0.5, 0.5)), ((0.8, 0, 0), (0.8, 0, 0)), ((0, 0.6, 0), (0, 0.3, 0.3))):
        flat = np.broadcast_to(np.array(colour), (6, 7, 3))
        assert filters.rccc(flat) == pytest.approx(np.broadcast_to(np.array(seen), (6, 7, 3)), abs=1e-12)


def test_channels_get_their_own_means_and_deviations():
    wanted = {"red": 120, "green": 90, "blue": 60, "red_deviation": 30, "green_deviation": 20, "blue_deviation": 10}
    found = isp.match_channels(NOISY / 255, **wanted) * 255
    assert [*found.mean((0, 1)), *found.std((0, 1))] == pytest.approx(list(wanted.values()))
    for channel in range(3):
        alone = np.repeat(NOISY[:, :, channel : channel + 1], 3, 2) / 255
        mean, deviation = list(wanted.values())[channel], list(wanted.values())[3 + channel]
        expected = isp.match_exposure(alone, mean=mean, deviation=deviation)
        assert found[:, :, channel] / 255 == pytest.approx(expected[:, :, 0])
    flat = isp.match_channels(np.full((4, 4, 3), 10, np.uint8), **wanted)
    assert np.unique(flat.reshape(-1, 3), axis=0).tolist() == [[120, 90, 60]]


@pytest.mark.parametrize(
    ("name", "given", "says"),
    [
        ("denoise", {"strength": 0}, "strength 0"),
        ("denoise", {"strength": 9, "radius": 17}, "radius 17"),
        ("colour_correction", {"rr": math.nan}, "finite"),
        ("tone_map", {"white": 0}, "white 0"),
        ("tone_map", {"white": 4, "exposure": math.inf}, "exposure inf"),
        ("rccc", {"pattern": "RGGB"}, "pattern 'RGGB'"),
        ("rccc", {"green": 0, "blue": 0}, "green or blue above 0"),
        ("match_channels", dict.fromkeys(("red", "green", "blue"), 1) | {"red_deviation": -1}, "deviations 0 or more"),
    ],
)
def test_senseless_parameters_of_the_processor_are_refused(name, given, says):
    if name == "match_channels":
        given = {"green_deviation": 1, "blue_deviation": 1} | given
    with pytest.raises(UsageError, match=says):
        CAMERA_FILTERS.find(name)(NOISY, **given)


def test_the_whole_processor_runs_as_one_chain():
    steps = [
        Step("bayer"),
        Step("denoise", {"strength": 8}),
        Step("colour_correction", {"rr": 1.4, "rg": -0.4}),
        Step("tone_map", {"white": 4}),
        Step("srgb"),
        Step("sharpen", {"amount": 0.3}),
    ]
    assert apply_steps(NOISY, steps).shape == NOISY.shape
