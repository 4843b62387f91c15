"""Hidden differences that no filter undoes: the rendered set is rendered again, and the cause is named."""

from __future__ import annotations

import json

import pytest
from red_room import FAST, RedBoxes, photograph, write_camera, write_drive, write_poses, write_room

from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.questions.explain.result import EXPLAINS
from simjudge.questions.explain.run import explain
from simjudge.sim.capture.replaying import replay

pytestmark = pytest.mark.slow
DIM = 95
"""Grey level that boxes reach by full light, and not by half of it."""
BARREL = "lens: {model: radial, k1: -0.25}"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("room")


@pytest.fixture(scope="module")
def room(folder):
    return write_room(folder, "room")


@pytest.fixture(scope="module")
def plain(folder):
    return write_camera(folder, "plain")


@pytest.fixture(scope="module")
def poses(folder):
    return write_poses(folder)


@pytest.fixture(scope="module")
def simulated(folder, room, plain, poses):
    return photograph(room, plain, poses, folder / "b")


@pytest.fixture(scope="module")
def darker(folder, room, poses):
    """What half the light makes of it: a gap for a detector that wants bright red."""
    return photograph(room, write_camera(folder, "darker_camera", "gain: 0.5"), poses, folder / "darker_set")


def test_a_lens_is_the_first_cause(folder, room, plain, poses, simulated):
    """The detector finds things in the middle only, and the lens moves boxes there."""
    barrel = write_camera(folder, "barrel", BARREL)
    real = photograph(room, barrel, poses, folder / "lens")
    found = explain(
        real,
        simulated,
        folder / "why",
        detector=RedBoxes(middle=0.757),
        paired=True,
        camera=plain,
        scene=room,
        a_camera=barrel,
        **FAST,
    )
    assert found.is_gap
    first = found.causes[0]
    assert (first.name, first.verdict) == ("lens", EXPLAINS)
    assert first.share.value == pytest.approx(1, abs=0.05)
    assert first.filters[0].parameters["k1"] == -0.25
    # Rendered through A's own camera from B's poses, the pictures are A's: nothing is left.
    assert found.rest.value == pytest.approx(0, abs=0.005)
    assert found.rendered
    assert found.not_tried == {}
    assert found.changed_b is not None
    assert json.loads((folder / "why" / "explain.json").read_text())["causes"][0]["cause"] == "lens"
    again = explain(
        real,
        simulated,
        folder / "why",
        detector=RedBoxes(middle=0.757),
        paired=True,
        camera=plain,
        scene=room,
        a_camera=barrel,
        **FAST,
    )
    assert again.runs == 0
    assert again.content() == found.content()


def test_lamps_of_half_the_brightness_are_lighting_and_not_exposure(folder, room, plain, poses, simulated):
    """The detector wants bright red."""
    dim = write_room(folder, "dim", lamp=15.0)
    real = photograph(dim, plain, poses, folder / "dim_set")
    found = explain(
        real, simulated, detector=RedBoxes(least=DIM), paired=True, camera=plain, scene=room, a_camera=plain, **FAST
    )
    assert found.is_gap
    first = found.causes[0]
    assert (first.name, first.verdict) == ("lighting", EXPLAINS)
    assert first.share.value == pytest.approx(1, abs=0.05)
    assert first.filters[0].parameters == {"lamps": pytest.approx(0.5, abs=0.03)}
    assert "exposure" in found.without_effect
    assert found.changed_b is None


def test_all_light_of_half_the_brightness_is_an_exposure(room, plain, darker, simulated):
    found = explain(
        darker, simulated, detector=RedBoxes(least=DIM), paired=True, camera=plain, scene=room, a_camera=plain, **FAST
    )
    assert found.is_gap
    assert found.causes[0].name in ("exposure", "contrast")
    assert "lighting" in found.without_effect


def test_an_exposure_time_is_motion_and_not_blur(folder, room, plain):
    """The camera drives past the boxes at 3 m/s: boxes are smeared by 15 pixels."""
    slow = write_camera(folder, "slow", "exposure_time: 0.03\nexposure_samples: 8")
    drive = write_drive(folder)
    real, simulated = (
        photograph(room, camera, drive, folder / name) for name, camera in (("smeared", slow), ("sharp", plain))
    )
    found = explain(real, simulated, detector=RedBoxes(), paired=True, camera=plain, scene=room, a_camera=slow, **FAST)
    assert found.is_gap
    first = found.causes[0]
    assert (first.name, first.verdict) == ("motion", EXPLAINS)
    assert first.share.value == pytest.approx(1, abs=0.2)
    assert first.filters[0].parameters == {"exposure_time": 0.03}


def test_what_is_not_known_is_not_tried(darker, simulated):
    found = explain(darker, simulated, detector=RedBoxes(least=DIM), paired=True, **FAST)
    assert set(found.not_tried) == {"glare", "lens", "resolution", "motion", "lighting"}
    assert all("--scene" in reason for reason in found.not_tried.values())
    assert not found.rendered


def test_an_exposure_time_is_not_tried_where_the_camera_stands_still(folder, room, plain, darker, simulated):
    slow = write_camera(folder, "slow", "exposure_time: 0.03\nexposure_samples: 8")
    found = explain(
        darker,
        simulated,
        detector=RedBoxes(least=DIM),
        paired=True,
        camera=plain,
        scene=room,
        a_camera=slow,
        causes="motion,lens",
        **FAST,
    )
    assert "far apart in time" in found.not_tried["motion"]
    assert found.without_effect == ("lens",)


def test_a_replay_is_rendered_again_and_the_lens_is_in_the_recording(folder, room, plain):
    """A recording brings its camera_info along: --a-camera is not needed."""
    drive, barrel = write_drive(folder), write_camera(folder, "barrel", BARREL)
    real, simulated = folder / "real.mcap", folder / "sim.mcap"
    for out, camera in ((real, barrel), (simulated, plain)):
        replay(drive, out, scene=room, camera=camera, mount="body", align="0.2,0.1,0,2", rate=8)
    found = explain(
        real,
        simulated,
        detector=RedBoxes(middle=0.2),
        paired=True,
        camera=plain,
        scene=room,
        causes="lens,motion",
        **FAST,
    )
    assert [cause.name for cause in found.causes] == ["lens"]
    assert found.causes[0].filters[0].parameters["k1"] == -0.25
    assert found.rest.value == pytest.approx(0, abs=0.02)
    assert "--a-camera" in found.not_tried["motion"]


def test_a_camera_or_a_scene_that_is_not_b_s_is_refused(folder, room, plain, darker, simulated):
    given = {"detector": RedBoxes(least=DIM), "paired": True, "a_camera": plain, **FAST}
    other = write_room(folder, "darker", lamp=2.0)
    with pytest.raises(SimjudgeError, match=r"frame \d+_0{9} rendered again is off by .* grey levels"):
        explain(darker, simulated, scene=other, camera=plain, **given)
    small = write_camera(folder, "small", size=(160, 90))
    with pytest.raises(SimjudgeError, match="192x108 pixels, camera small makes 160x90"):
        explain(darker, simulated, scene=room, camera=small, **given)
    with pytest.raises(UsageError, match="--camera: is missing"):
        explain(darker, simulated, scene=room, **given)
    with pytest.raises(UsageError, match="--a-camera: needs --scene"):
        explain(darker, simulated, **given)
