"""What a camera's file asks of Chrono's own cameras: read, refused by name, and handed to who has them."""

from types import SimpleNamespace

import numpy as np
import pytest

from simjudge.core.errors import SimjudgeError
from simjudge.geometry.poses import Pose
from simjudge.sim.capture.capture import gather_light
from simjudge.sim.engines.contract import SceneState
from simjudge.sim.sensors.camera.camera import ChronoNoise, ChronoPhysical
from simjudge.sim.sensors.camera.camera_file import read_camera

HERE = SceneState(Pose().optical_frame())


def camera(folder, text):
    path = folder / "own.yaml"
    path.write_text(f"size: [64, 48]\nfield_of_view: 80\nrate: 30\n{text}\n")
    return read_camera(path)


@pytest.mark.parametrize(
    ("text", "own"),
    [
        ("", None),
        ("chrono: {noise: {constant: {deviation: 0.01}}}", ChronoNoise("constant", 0.0, 0.01)),
        (
            "chrono: {noise: {pixel_dependent: {slope: 0.0004, intercept: 0.0002}}}",
            ChronoNoise("pixel_dependent", slope=0.0004, intercept=0.0002),
        ),
        ("chrono: {physical: {}}", ChronoPhysical()),
        (
            "chrono: {physical: {aperture: 2.8, exposure: 0.02, iso: 200, vignetting: true, noise: true}}",
            ChronoPhysical(2.8, 0.02, 200.0, vignetting=True, noise=True),
        ),
    ],
)
def test_what_is_asked(tmp_path, text, own):
    assert camera(tmp_path, text).chrono == own


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("chrono: noise", r"chrono: fields .noise, physical. are needed; this is noise"),
        (
            "chrono: {noise: {constant: {}}, physical: {}}",
            "chrono: chrono needs one of noise, physical; noise and physical are given",
        ),
        ("chrono: {noise: {salt: {}}}", r"chrono\.noise\.salt: no such field; there are constant, pixel_dependent"),
        ("chrono: {noise: {constant: {slope: 1}}}", r"noise\.constant\.slope: no such field"),
        ("chrono: {noise: {constant: {deviation: -1}}}", r"constant\.deviation: a number from 0 to 1"),
        ("chrono: {physical: {iso: .nan}}", r"physical\.iso: a finite number"),
        ("chrono: {physical: {noise: 1}}", r"physical\.noise: true or false"),
        (
            "chrono: {physical: {noise: true, exposure_to_value: true}}",
            r"dark current.* is 30 times the light of white",
        ),
        ("chrono: {physical: {}}\ngain: 2", r"gain: chrono\.physical has aperture"),
        ("chrono: {physical: {}}\nexposure_time: 0.01", "exposure_time: Chrono's own camera takes one instant"),
    ],
)
def test_what_is_wrong_is_named(tmp_path, text, says):
    with pytest.raises(SimjudgeError, match=says) as caught:
        camera(tmp_path, text)
    assert "own.yaml" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_engine_without_them_refuses_the_camera(tmp_path):
    with pytest.raises(SimjudgeError, match=r"own\.yaml: chrono: engine default has none"):
        gather_light(SimpleNamespace(name="default"), camera(tmp_path, "chrono: {physical: {}}"), [HERE])


def test_an_engine_that_has_them_takes_the_picture(tmp_path):
    asked = camera(tmp_path, "chrono: {physical: {}}")
    light = np.ones((48, 64, 3), np.float32)
    engine = SimpleNamespace(name="chrono", render_own=lambda *given: light if given == (asked, HERE) else None)
    assert gather_light(engine, asked, [HERE]) is light
