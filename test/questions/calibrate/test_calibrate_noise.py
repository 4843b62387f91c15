"""`simjudge sim calibrate noise` as a person runs it, on pictures whose noise is known."""

import re
from types import SimpleNamespace

import cv2
import numpy as np
import pytest
from typer.testing import CliRunner

from simjudge.commands.app import app
from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.questions.calibrate.run import calibrate_noise
from simjudge.sim.sensors.camera.camera_file import read_camera
from simjudge.sim.sensors.camera.chain import Step, develop_light

COUNT = 30
S1, S2 = 0.02, 0.004
"""2500 electrons at full scale, 10 electrons of read noise."""


def light():
    """A wedge from dark to full scale, another in each colour, with an edge."""
    wedge = np.broadcast_to(np.linspace(0.05, 1.02, 96) ** 2, (64, 96))
    picture = np.stack([wedge, wedge[:, ::-1] * 0.9, np.flip(wedge) * 0.8], 2).copy()
    picture[20:40, 30:50] *= 0.4
    return picture


def simulated(rng, picture=None):
    """Photons, electrons, amplifier: an independent simulation in plain NumPy."""
    picture = light() if picture is None else picture
    return rng.poisson(picture / S1**2) * S1**2 + rng.normal(0, S2, picture.shape)


def display(linear):
    """IEC 61966-2-1."""
    linear = np.clip(linear, 0, 1)
    return np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1 / 2.4) - 0.055)


def save(folder, pictures, suffix=".png", **options):
    folder.mkdir(parents=True, exist_ok=True)
    quality = [cv2.IMWRITE_JPEG_QUALITY, options["quality"]] if options else []
    for number, picture in enumerate(pictures):
        turned = picture[:, :, ::-1] if picture.ndim == 3 else picture
        assert cv2.imwrite(str(folder / f"{number:03d}{suffix}"), turned, quality)
    return folder


def frames(kind="srgb", count=COUNT):
    rng = np.random.default_rng(7)
    for number in range(count):
        if kind == "gray":
            yield np.rint(255 * display(simulated(rng, light()[..., 0]))).astype(np.uint8)
        elif kind == "raw":
            yield np.rint(4095 * np.clip(simulated(rng), 0, 1)).astype(np.uint16)
        elif kind == "raw with black level":
            yield np.rint(500 + 3595 * np.clip(simulated(rng), -0.1, 1)).astype(np.uint16)
        elif kind == "moves":
            yield np.rint(255 * display(simulated(rng, np.roll(light(), 2 * (number == 12), 1)))).astype(np.uint8)
        elif kind == "flickers":
            yield np.rint(255 * display(simulated(rng, light() * (1 - 0.05 * (number % 7 == 3))))).astype(np.uint8)
        elif kind == "shakes":
            yield np.rint(255 * display(simulated(rng, np.roll(light(), rng.integers(-3, 4), 1)))).astype(np.uint8)
        else:
            yield np.rint(255 * display(simulated(rng))).astype(np.uint8)


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    return save(tmp_path_factory.mktemp("noise") / "standing", frames())


def run(*arguments):
    done = CliRunner().invoke(app, ["calibrate", "noise", *map(str, arguments)])
    return SimpleNamespace(code=done.exit_code, text=done.output, error=done.exception)


def test_pictures_become_filters_of_a_camera_and_a_plot(pictures, tmp_path):
    out = tmp_path / "noise.yaml"
    done = run(pictures, "--out", out)
    assert done.code == 0, done
    assert "30 pictures, 96x64, read as srgb" in done.text
    assert re.search(r"together +0\.0(200|199)", done.text)
    assert "note:" not in done.text
    assert "<svg" in (tmp_path / "noise.svg").read_text()
    file = tmp_path / "camera.yaml"
    file.write_text("size: [8, 8]\nfield_of_view: 60\nrate: 1\n" + out.read_text())
    noise, srgb = read_camera(file).steps
    assert (noise.name, srgb.name) == ("physical_noise", "srgb")
    assert noise.parameters["s1"] == pytest.approx(S1, rel=0.01)
    assert noise.parameters["s2"] == pytest.approx(S2, rel=0.02)
    assert run(pictures, "--out", out).code == 0, "an earlier output of the same command is replaced"
    out.write_text("filters: []\n")
    assert "is not an earlier output" in str(run(pictures, "--out", out).error)


@pytest.mark.parametrize("kind", ["srgb", "gray", "raw"])
def test_known_noise_is_recovered_within_its_errors(kind, tmp_path):
    """From an independent simulation; each channel within 4 of its standard errors, which are small."""
    suffix = ".tiff" if kind == "raw" else ".png"
    given = {"encoding": "linear", "bits": 12} if kind == "raw" else {}
    found = calibrate_noise(save(tmp_path / kind, frames(kind), suffix), tmp_path / "n.yaml", **given).calibration
    assert list(found.fits) == (["gray"] if kind == "gray" else ["red", "green", "blue"])
    for fit in (*found.fits.values(), found.together):
        assert fit.s1 == pytest.approx(S1, abs=4 * fit.s1_error)
        assert fit.s2 == pytest.approx(S2, abs=4 * fit.s2_error)
        assert fit.s1_error < 0.01 * S1
        assert fit.s2_error < 0.03 * S2
    assert ("- gray\n" in (tmp_path / "n.yaml").read_text()) == (kind == "gray")


def test_a_black_level_is_asked_for_and_taken_off(tmp_path):
    raw = save(tmp_path / "raw", frames("raw with black level"), ".tiff")
    with pytest.raises(SimjudgeError, match=r"hold a black level, .*; give --black-level, about 3\d\d or more"):
        calibrate_noise(raw, tmp_path / "n.yaml", encoding="linear", bits=12)
    found = calibrate_noise(raw, tmp_path / "n.yaml", encoding="linear", bits=12, black_level=500).calibration
    assert found.together.s1 == pytest.approx(S1, abs=4 * found.together.s1_error)
    assert found.together.s2 == pytest.approx(S2, abs=4 * found.together.s2_error)


def test_the_filter_s_own_noise_is_recovered(tmp_path):
    steps = [Step("physical_noise", {"s1": 0.04, "s2": 0.01}), Step("srgb")]
    shown = (develop_light(light().astype(np.float32), steps, (3, number)) for number in range(COUNT))
    fit = calibrate_noise(save(tmp_path / "own", shown), tmp_path / "n.yaml").calibration.together
    assert fit.s1 == pytest.approx(0.04, abs=4 * fit.s1_error)
    assert fit.s2 == pytest.approx(0.01, abs=4 * fit.s2_error)


def test_demosaiced_pictures_are_said(tmp_path):
    steps = [Step("physical_noise", {"s1": 0.04, "s2": 0.01}), Step("bayer"), Step("srgb")]
    shown = (develop_light(light().astype(np.float32), steps, (3, number)) for number in range(COUNT))
    done = run(save(tmp_path / "own", shown), "--out", tmp_path / "n.yaml")
    assert "neighbours share noise" in done.text
    assert "# Note: neighbours share noise" in (tmp_path / "n.yaml").read_text()


@pytest.mark.parametrize(
    ("kind", "says"),
    [
        ("moves", r"the scene or the camera moves in 1 of 30 pictures \(012; the most"),
        ("flickers", r"the brightness changes .* in 4 of 30 pictures \(003, 010, 017, 024; .*--begin, --end"),
        ("shakes", r"the scene or the camera moves in|differ in their noise"),
    ],
)
def test_a_scene_that_does_not_stand_is_refused_with_its_pictures(kind, says, tmp_path):
    with pytest.raises(SimjudgeError, match=says):
        calibrate_noise(save(tmp_path / kind, frames(kind)), tmp_path / "n.yaml")
    assert not list(tmp_path.glob("n.*"))


def test_a_part_of_the_pictures_can_be_taken(tmp_path):
    found = calibrate_noise(save(tmp_path / "m", frames("moves")), tmp_path / "n.yaml", begin=13)
    assert found.calibration.frames == 17


def test_compression_is_said_or_refused(tmp_path):
    """JPEG of high quality takes a part of the noise, of low quality it leaves another law."""
    fine = run(save(tmp_path / "fine", frames("gray"), ".jpg", quality=98), "--out", tmp_path / "n.yaml")
    assert fine.code == 0
    assert "note: the pictures are JPEG" in fine.text
    with pytest.raises(SimjudgeError, match="JPEG"):
        calibrate_noise(save(tmp_path / "coarse", frames(), ".jpg", quality=60), tmp_path / "c.yaml")


def test_noise_below_the_rounding_is_refused(tmp_path):
    rng = np.random.default_rng(1)
    quiet = (np.rint(255 * np.clip(light() + rng.normal(0, 2e-4, light().shape), 0, 1)) for _ in range(12))
    with pytest.raises(SimjudgeError, match="of the pixels have the same value in all pictures: noise is below a step"):
        calibrate_noise(save(tmp_path / "q", (q.astype(np.uint8) for q in quiet)), tmp_path / "n.yaml")


def test_a_damaged_picture_is_counted(tmp_path):
    folder = save(tmp_path / "d", frames(count=14))
    (folder / "003.png").write_bytes((folder / "003.png").read_bytes()[:900])
    done = run(folder, "--out", tmp_path / "n.yaml")
    assert done.code == 3
    assert "13 pictures" in done.text


@pytest.mark.parametrize(
    ("given", "error", "says"),
    [
        ({"end": 9}, SimjudgeError, "9 pictures are too few; 10 are needed"),
        ({"encoding": "linear"}, SimjudgeError, "as srgb values they would suit it: give --encoding srgb"),
        ({"encoding": "gamma"}, UsageError, "one of srgb, linear is needed"),
        ({"bits": 12}, UsageError, "--bits 12: the pictures have 8"),
        ({"bits": 7}, UsageError, "--bits 7: standing holds values up to 255; it has more bits"),
        ({"black_level": 16.0}, UsageError, "--black-level belongs to raw pictures"),
        ({"black_level": 300.0, "encoding": "linear"}, UsageError, "--black-level 300: 0 or more, below 255"),
        ({"begin": 4, "end": 4}, UsageError, "--end behind --begin"),
    ],
)
def test_bad_input_is_refused_in_one_line(pictures, tmp_path, given, error, says):
    with pytest.raises(error, match=says):
        calibrate_noise(pictures, tmp_path / "n.yaml", **given)


def test_other_pictures_that_do_not_tell_are_refused(pictures, tmp_path):
    with pytest.raises(UsageError, match=r"ends in \.yaml"):
        calibrate_noise(pictures, tmp_path / "n.txt")
    raw = save(tmp_path / "raw", frames("raw", 12), ".tiff")
    with pytest.raises(UsageError, match="values up to 4095 only; give --bits 12 if"):
        calibrate_noise(raw, tmp_path / "n.yaml", encoding="linear")
    mixed = save(tmp_path / "mixed", frames(count=12))
    cv2.imwrite(str(mixed / "zz.png"), np.zeros((10, 10, 3), np.uint8))
    with pytest.raises(SimjudgeError, match="zz is 10x10, 000 96x64; pictures of one camera"):
        calibrate_noise(mixed, tmp_path / "n.yaml")
