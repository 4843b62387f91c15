"""`simjudge sim calibrate sky` as a person runs it, on pictures of a meadow under planted skies."""

import numpy as np
import pytest
import yaml
from PIL import Image
from typer.testing import CliRunner

from simjudge.commands.app import app
from simjudge.core.errors import UsageError
from simjudge.questions.calibrate.sky import calibrate_sky
from simjudge.sim.capture.capture_settings import RenderingSettings
from simjudge.sim.capture.rendering import render
from simjudge.sim.scene.read import read_scene

MEADOW = """
area: [-5, -5, 5, 5]
sun: {azimuth: 155, elevation: 40, irradiance: 2.8, temperature: 5400}
sky: {gradient: {zenith: "#4f86d0", horizon: "#d6e2ea", ground: "#6f6f62"}, radiance: 0.85}
things:
  land: {plane: [600, 600], surface: {colour: "#8b8474", roughness: 1}}
"""
MOUNT = "0,0,1.3"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "meadow.yaml").write_text(MEADOW)
    (tmp_path / "camera.yaml").write_text("size: [96, 54]\nfield_of_view: 80\nrate: 10\n")
    return tmp_path


def pictures(folder, **sky):
    planted = folder / "planted.yaml"
    planted.write_text(yaml.safe_dump({"extends": "meadow.yaml", **sky}))
    (folder / "poses.tum").write_text("1 1 2 0 0 0 0 1\n2 -1 0 0 0 0 0.6 0.8\n3 0 3 0 0 0 0.8 0.6\n")
    settings = RenderingSettings(poses=folder / "poses.tum", seed=5, mount=MOUNT)
    render(planted, folder / "real", camera=folder / "camera.yaml", settings=settings)
    return folder / "real"


def calibrate(folder, source, **options):
    scene, camera = folder / "meadow.yaml", folder / "camera.yaml"
    return calibrate_sky(source, folder / "sky.yaml", scene=scene, camera=camera, mount=MOUNT, **options)


def test_the_written_scene_has_the_planted_clouds_and_sun(folder):
    real = pictures(folder, sun={"irradiance": 2.0}, sky={"cloud_cover": 0.5, "radiance": 0.7})
    arguments = [real, "--scene", folder / "meadow.yaml", "--camera", folder / "camera.yaml", "--mount", MOUNT]
    result = CliRunner().invoke(app, ["calibrate", "sky", *map(str, arguments), "--out", str(folder / "sky.yaml")])
    assert result.exit_code == 0, result.output
    assert "cloud cover  0." in result.output
    assert "fog          none found" in result.output
    written = yaml.safe_load((folder / "sky.yaml").read_text())
    assert written["extends"] == "meadow.yaml"
    assert written["sky"]["cloud_cover"] == pytest.approx(0.5, abs=0.02)
    assert written["sky"]["radiance"] == pytest.approx(0.7, rel=0.02)
    assert written["sun"]["irradiance"] == pytest.approx(2.0, rel=0.03)
    planted, found = read_scene(folder / "planted.yaml"), read_scene(folder / "sky.yaml")
    np.testing.assert_allclose(found.sun.irradiance, planted.sun.irradiance, rtol=0.05)
    np.testing.assert_allclose(found.sky.gradient, planted.sky.gradient, rtol=0.03)


def test_pictures_that_do_not_fit_end_it_with_exit_code_3(folder):
    real = pictures(folder)
    for path in (real / "images").rglob("*.png"):
        Image.fromarray(np.asarray(Image.open(path))[..., ::-1]).save(path)  # red and blue change places
    arguments = [real, "--scene", folder / "meadow.yaml", "--camera", folder / "camera.yaml", "--mount", MOUNT]
    result = CliRunner().invoke(app, ["calibrate", "sky", *map(str, arguments), "--out", str(folder / "sky.yaml")])
    assert "none of this can be trusted" in result.output
    assert result.exit_code == 3


def test_histograms_are_nearer_afterwards(folder):
    found = calibrate(folder, pictures(folder, sky={"cloud_cover": 0.7, "radiance": 1.1}))
    rows = {(row.part, row.channel): row for row in found.colours}
    assert set(rows) == {(part, channel) for part in ("sky", "ground") for channel in ("hue", "saturation", "value")}
    for part in ("sky", "ground"):
        assert rows[part, "value"].distance_before > 0.02
        assert rows[part, "value"].distance_after < 0.01
    assert rows["sky", "saturation"].distance_after < 0.2 * rows["sky", "saturation"].distance_before
    assert len(found.table.rows) == 6


def test_planted_fog_is_written_and_fog_of_the_scene_replaced(folder):
    real = pictures(folder, fog={"visibility": 80, "radiance": 0.6})
    meadow = folder / "meadow.yaml"
    meadow.write_text(meadow.read_text() + "fog: {density: 0.001, radiance: 0.2, temperature: 5000, ceiling: 9}\n")
    found = calibrate(folder, real)
    assert found.estimate.fog.visibility == pytest.approx(80, rel=0.1)
    fog = read_scene(folder / "sky.yaml").fog
    assert fog.density == pytest.approx(3.912 / 80, rel=0.1)
    assert fog.ceiling == np.inf
    np.testing.assert_allclose(fog.radiance, 0.6, rtol=0.03)
    assert "cloud cover is not told" in (folder / "sky.yaml").read_text()


def test_fog_of_the_scene_is_taken_away_from_clear_pictures(folder):
    real = pictures(folder)
    meadow = folder / "meadow.yaml"
    meadow.write_text(meadow.read_text() + "fog: {visibility: 50, radiance: 0.5}\n")
    assert calibrate(folder, real).estimate.fog is None
    assert read_scene(folder / "sky.yaml").fog is None


@pytest.mark.parametrize("missing", ["sun", "sky"])
def test_scenes_of_indoors_are_refused(folder, missing):
    real = pictures(folder)
    lines = (folder / "meadow.yaml").read_text().splitlines()
    (folder / "meadow.yaml").write_text("\n".join(line for line in lines if not line.startswith(missing)))
    with pytest.raises(UsageError, match=f"has no {missing}; a scene of outdoors is needed"):
        calibrate(folder, real)


def test_pictures_of_another_shape_and_other_files_are_refused(folder):
    real = pictures(folder)
    (folder / "camera.yaml").write_text("size: [64, 64]\nfield_of_view: 80\nrate: 10\n")
    with pytest.raises(UsageError, match=r"96x54, and the camera makes 64x64; give their\s--camera"):
        calibrate(folder, real)
    with pytest.raises(UsageError, match=r"a scene's file ends in \.yaml"):
        calibrate_sky(real, folder / "sky", scene="krc")
    (folder / "camera.yaml").write_text("size: [96, 54]\nfield_of_view: 80\nrate: 10\nauto_exposure: {}\n")
    with pytest.raises(UsageError, match="exposes automatically"):
        calibrate(folder, real)


def test_a_camera_that_sees_no_sky_is_refused(folder):
    real = pictures(folder)
    scene, camera = folder / "meadow.yaml", folder / "camera.yaml"
    with pytest.raises(UsageError, match="show no sky at the same places"):
        calibrate_sky(real, folder / "sky.yaml", scene=scene, camera=camera, mount="0,0,1.3,0,80,0")
    with pytest.raises(UsageError, match="tilts the camera"):
        calibrate_sky(real, folder / "sky.yaml", scene=scene, camera=camera, mount=MOUNT, poses="random")


def test_dark_corners_and_white_balance_of_the_camera_are_taken_off(folder):
    text = (folder / "camera.yaml").read_text()
    filters = (
        "filters:\n  - vignetting: {half_angle: 40}\n  - srgb\n  - white_balance: {red: 1.1, green: 1, blue: 0.9}\n"
    )
    (folder / "camera.yaml").write_text(text + filters)
    found = calibrate(folder, pictures(folder, sun={"irradiance": 2.0}, sky={"cloud_cover": 0.5, "radiance": 0.7}))
    assert found.estimate.cloud_cover == pytest.approx(0.5, abs=0.04)
    assert found.estimate.sky == pytest.approx(0.7 / 0.85, rel=0.04)
    assert found.estimate.off < 2


def test_a_narrow_strip_of_sky_is_enough(folder):
    """Of some hundred pixels, too few for all bands."""
    (folder / "camera.yaml").write_text("size: [64, 36]\nfield_of_view: 80\nrate: 10\n")
    mount = "0,0,1.3,0,21,0"
    (folder / "poses.tum").write_text("1 1 2 0 0 0 0 1\n")
    (folder / "planted.yaml").write_text(yaml.safe_dump({"extends": "meadow.yaml", "sky": {"radiance": 0.6}}))
    settings = RenderingSettings(poses=folder / "poses.tum", mount=mount)
    render(folder / "planted.yaml", folder / "real", camera=folder / "camera.yaml", settings=settings)
    scene, camera = folder / "meadow.yaml", folder / "camera.yaml"
    found = calibrate_sky(folder / "real", folder / "sky.yaml", scene=scene, camera=camera, mount=mount)
    assert found.estimate.sky == pytest.approx(0.6 / 0.85, rel=0.05)
