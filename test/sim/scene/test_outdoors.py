"""Sun, sky and fog of scene files."""

import math

import cv2
import numpy as np
import pytest
import yaml

from simjudge.core.errors import SimjudgeError
from simjudge.sim.scene.read import read_scene
from simjudge.sim.scene.scene_fields import to_linear

THINGS = {"things": {"floor": {"plane": [2, 2]}}}


def written(folder, **fields):
    path = folder / "mine.yaml"
    path.write_text(yaml.safe_dump(THINGS | fields))
    return path


def read(folder, **fields):
    return read_scene(written(folder, **fields))


@pytest.mark.parametrize(
    ("fields", "towards"),
    [
        ({"elevation": 90}, (0, 0, 1)),
        ({"azimuth": 0, "elevation": 30}, (math.sqrt(0.75), 0, 0.5)),
        ({"azimuth": 90, "elevation": 45}, (0, math.sqrt(0.5), math.sqrt(0.5))),
        ({"direction": [3, 0, 4]}, (0.6, 0, 0.8)),
    ],
)
def test_the_sun_stands_where_its_angles_say(tmp_path, fields, towards):
    sun = read(tmp_path, sun={"irradiance": 2, **fields}).sun
    assert sun.direction == pytest.approx(towards, abs=1e-12)
    assert sun.irradiance == (2, 2, 2)


def test_visibility_leaves_two_percent(tmp_path):
    fog = read(tmp_path, fog={"visibility": 250, "radiance": 0.5, "colour": "#ffffff"}).fog
    assert math.exp(-fog.density * 250) == pytest.approx(0.02)
    assert fog.radiance == (0.5, 0.5, 0.5)
    assert fog.ceiling == math.inf
    assert read(tmp_path, fog={"density": 0.3, "radiance": 1, "ceiling": 12}).fog.ceiling == 12


def test_a_gradient_is_linear_in_the_sine_of_the_elevation(tmp_path):
    colours = {"zenith": "#ffffff", "horizon": "#808080", "ground": "#000000"}
    image = read(tmp_path, sky={"gradient": colours, "radiance": 2}).sky.image
    rows, columns = image.shape[:2]
    assert columns == 2 * rows
    elevation = (0.5 - (np.arange(rows) + 0.5) / rows) * np.pi
    horizon = float(to_linear(128 / 255))
    expected = np.where(elevation > 0, 2 * (horizon + (1 - horizon) * np.sin(elevation)), 0)
    assert image[:, 3, 1] == pytest.approx(expected, rel=1e-5)


def test_a_plain_sky_is_of_one_radiance(tmp_path):
    image = read(tmp_path, sky={"radiance": 0.4, "temperature": 8000}).sky.image
    assert np.ptp(image, axis=(0, 1)).max() == 0
    assert image[0, 0] @ [0.2126, 0.7152, 0.0722] == pytest.approx(0.4, rel=1e-3)


@pytest.mark.parametrize("ending", ["png", "jpg", "hdr", "exr"])
def test_a_picture_of_the_sky_has_the_same_radiance_in_every_format(tmp_path, ending):
    """128 of sRGB is 0.216 of radiance; HDR and EXR hold the radiance itself."""
    value = float(to_linear(128 / 255))
    path = tmp_path / f"sky.{ending}"
    if ending == "exr":
        mitsuba = pytest.importorskip("mitsuba")
        if mitsuba.variant() is None:
            mitsuba.set_variant("scalar_rgb")
        mitsuba.Bitmap(np.full((8, 16, 3), [value, 2 * value, 0], np.float32)).write(str(path))
    elif ending == "hdr":
        cv2.imwrite(str(path), np.full((8, 16, 3), [0, 2 * value, value], np.float32))
    else:
        cv2.imwrite(str(path), np.full((8, 16, 3), 128, np.uint8))
    sky = read(tmp_path, sky={"file": path.name, "radiance": 3, "yaw": 90}).sky
    assert sky.image.shape == (8, 16, 3)
    assert sky.image[..., 0] == pytest.approx(np.full((8, 16), 3 * value), rel=0.01)
    if ending in {"exr", "hdr"}:
        assert sky.image[..., 1] == pytest.approx(np.full((8, 16), 6 * value), rel=0.01)
        assert sky.image[..., 2].max() == 0
    assert sky.yaw == pytest.approx(math.pi / 2)


def test_emission_has_radiance_and_tint(tmp_path):
    things = {"lamp": {"box": [1, 1, 1], "surface": {"emission": {"radiance": 2, "colour": "#ff0000"}}}}
    assert read(tmp_path, things=things).things[0].surface.emission == (2, 0, 0)
    things["lamp"]["surface"] = {"emission": 0.5}
    assert read(tmp_path, things=things).things[0].surface.emission == (0.5, 0.5, 0.5)


SUN = {"irradiance": 1, "elevation": 45}
WRONG = {
    "a sun below": ({"sun": SUN | {"elevation": 0}}, r"sun\.elevation: a number.*this is 0"),
    "a sun nowhere": ({"sun": {"irradiance": 1}}, r"sun\.elevation: degrees above the horizon are needed"),
    "a sun twice": ({"sun": SUN | {"direction": [0, 0, 1]}}, r"sun\.elevation: the direction says it"),
    "a sun from below": (
        {"sun": {"irradiance": 1, "direction": [1, 0, -1]}},
        r"sun\.direction: \[x, y, z\] with z above 0",
    ),
    "a sun from nowhere": (
        {"sun": {"irradiance": 1, "direction": [0, 0, 0]}},
        r"sun\.direction: \[x, y, z\] with z above",
    ),
    "a dark sun": ({"sun": SUN | {"irradiance": -1}}, r"sun\.irradiance: a number of 0 or more"),
    "an endless sun": ({"sun": SUN | {"irradiance": float("inf")}}, r"sun\.irradiance: a (finite )?number"),
    "negative fog": (
        {"fog": {"density": -0.1, "radiance": 1}},
        r"fog\.density: a number above 0 is needed; this is -0\.1",
    ),
    "NaN fog": ({"fog": {"density": float("nan"), "radiance": 1}}, r"fog\.density: a finite number is needed"),
    "fog twice": (
        {"fog": {"density": 1, "visibility": 1, "radiance": 1}},
        r"fog: fog needs one of density, visibility; dens",
    ),
    "fog without": ({"fog": {"radiance": 1}}, r"fog: fog needs one of density, visibility; none is given"),
    "fog without light": ({"fog": {"density": 1}}, r"fog\.radiance"),
    "two skies": (
        {"sky": {"file": "flat.png", "gradient": {"zenith": "#ffffff", "horizon": "#ffffff"}}},
        r"sky\.gradient: the file says it",
    ),
    "a turned colour": ({"sky": {"radiance": 1, "yaw": 10}}, r"sky\.yaw: only a picture can be turned"),
    "half a gradient": ({"sky": {"gradient": {"zenith": "#ffffff"}}}, r"sky\.gradient\.horizon"),
    "sky and background": ({"sky": {"radiance": 1}, "background": 0.5}, r"background: the sky says what is seen"),
    "no picture": ({"sky": {"file": "nothing.png"}}, r"sky\.file: .*nothing\.png: cannot be read: No such file"),
    "no panorama": (
        {"sky": {"file": "square.png"}},
        r"sky\.file: .*square\.png: 8x8 is no panorama; an image twice as wide",
    ),
    "no image": ({"sky": {"file": "text.png"}}, r"sky\.file: .*text\.png: .*damaged"),
    "no HDR": ({"sky": {"file": "text.hdr"}}, r"sky\.file: .*text\.hdr: no HDR image"),
    "no EXR": ({"sky": {"file": "text.exr"}}, r"sky\.file: .*text\.exr: no EXR image"),
    "no bumps": (
        {"things": {"a": {"box": [1, 1, 1], "surface": {"normal_map": {"file": "no.png"}}}}},
        r"things\.a\.surface\.normal_map\.file: .*no\.png: cannot be read",
    ),
    "bumps that look inward": (
        {"things": {"a": {"box": [1, 1, 1], "surface": {"normal_map": {"file": "square.png"}}}}},
        r"things\.a\.surface\.normal_map\.file: .*square\.png: no normal map: 100% of it looks inward",
    ),
    "glass with a texture": (
        {"things": {"a": {"box": [1, 1, 1], "surface": {"refractive_index": 1.5, "texture": {"pattern": "wood"}}}}},
        r"things\.a\.surface\.texture: clear glass is smooth and has only a colour",
    ),
    "a retro-reflector that is darker than matt": (
        {"things": {"a": {"box": [1, 1, 1], "surface": {"retroreflection": {"factor": 0.5}}}}},
        r"things\.a\.surface\.retroreflection\.factor: a number from 1 to 100000 is needed; this is 0\.5",
    ),
    "glass thinner than air": (
        {"things": {"a": {"box": [1, 1, 1], "surface": {"refractive_index": 0.9}}}},
        r"things\.a\.surface\.refractive_index: a number from 1 to 4 is needed; this is 0\.9",
    ),
    "a negative emission": (
        {"things": {"a": {"box": [1, 1, 1], "surface": {"emission": -1}}}},
        r"things\.a\.surface\.emission: a number of 0 or more",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_said_in_one_line(tmp_path, case):
    fields, message = WRONG[case]
    cv2.imwrite(str(tmp_path / "square.png"), np.zeros((8, 8, 3), np.uint8))
    for name in ("text.png", "text.hdr", "text.exr"):
        (tmp_path / name).write_text("no image")
    if case == "no EXR":
        pytest.importorskip("mitsuba")
    with pytest.raises(SimjudgeError, match=message) as error:
        read(tmp_path, **fields)
    assert "\n" not in str(error.value)
    assert "mine.yaml" in str(error.value)


def test_values_that_are_no_radiance_are_counted(tmp_path):
    mitsuba = pytest.importorskip("mitsuba")
    if mitsuba.variant() is None:
        mitsuba.set_variant("scalar_rgb")
    image = np.ones((4, 8, 3), np.float32)
    image[0, 0, 0], image[1, 1, 1] = np.nan, -1
    mitsuba.Bitmap(image).write(str(tmp_path / "bad.exr"))
    with pytest.raises(SimjudgeError, match=r"bad\.exr: 2 values are negative or not finite"):
        read(tmp_path, sky={"file": "bad.exr"})
