"""The checks find what is wrong: engines that break one promise each fail the check of this promise."""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from simjudge.core.errors import UsageError
from simjudge.geometry.poses import Pose
from simjudge.sim.testing import (
    ENGINE_CHECKS,
    CannotBeChecked,
    ContractBrokenError,
    check_engine,
    scene_checks,
)
from simjudge.sim.testing.checks import CAMERA, LENS, contract_scene, expect_near, expect_refused

sys.path.append(str(Path(__file__).parents[3] / "examples" / "matte_engine"))
from matte_engine import MatteEngine

CHECKS = {check.name: check for check in ENGINE_CHECKS}


class Mirrored(MatteEngine):
    def labels(self, lens, scene_state):
        found = super().labels(lens, scene_state)
        return found._replace(**{name: np.ascontiguousarray(getattr(found, name)[:, ::-1]) for name in found._fields})


class DepthAlongRays(MatteEngine):
    def labels(self, lens, scene_state):
        found = super().labels(lens, scene_state)
        return found._replace(depth=(found.depth / lens.rays()[..., 2]).astype(np.float32))


class WideLabels(MatteEngine):
    def labels(self, lens, scene_state):
        return super().labels(replace(lens, focal=tuple(0.85 * each for each in lens.focal)), scene_state)


class ToneMapped(MatteEngine):
    def render(self, lens, scene_states, rays_per_pixel=1):
        picture = super().render(lens, scene_states, rays_per_pixel)
        return (picture / np.float32(picture[25:35].mean())).astype(np.float32)


class Noisy(MatteEngine):
    def render(self, lens, scene_states, rays_per_pixel=1):
        picture = super().render(lens, scene_states, rays_per_pixel)
        return picture + np.random.default_rng().random(picture.shape, np.float32) * np.float32(1e-4)


class LastInstantOnly(MatteEngine):
    def render(self, lens, scene_states, rays_per_pixel=1):
        return super().render(lens, scene_states[-1:], rays_per_pixel)


class IgnoresMisspeltNames(MatteEngine):
    def poses_by_name(self, bodies):
        return super().poses_by_name({name: pose for name, pose in bodies.items() if name in self.names})


class ForgetsReset(MatteEngine):
    def reset(self):
        pass


class TracesOtherwise(MatteEngine):
    def twin_pictures(self, lens, scene_state, rays_per_pixel):
        yield "another variant", self.render(lens, [scene_state], rays_per_pixel) * 1.1


class LeavesOutTheLabels(MatteEngine):
    def labels(self, *_):
        self.step(1.0)


class Crashes(MatteEngine):
    def poses(self):
        raise RuntimeError("out of\nmemory")


@pytest.mark.parametrize(
    ("engine", "name", "words"),
    [
        (Mirrored, "left is left and up is up", "the green cone in the left half"),
        (DepthAlongRays, "depth is along the optical axis", "expected 4"),
        (WideLabels, "labels are as tall as they should be", "px: found"),
        (ToneMapped, "more light is brighter", "twice the lamp; found 1.1"),
        (Noisy, "pictures come out the same", "the same bytes"),
        (LastInstantOnly, "an exposure is the mean of its instants", "radiance of an exposure"),
        (IgnoresMisspeltNames, "what cannot be seen is refused", "done, expected UsageError"),
        (ForgetsReset, "reset puts things back", "pose of crate after reset"),
        (TracesOtherwise, "other ways to trace show the same picture", "the picture by another variant"),
        (LeavesOutTheLabels, "labels agree with rays", "this part may not be left out: engine matte has no physics"),
        (Crashes, "things start where the scene has them", "RuntimeError: out of memory"),
    ],
)
def test_a_broken_promise_fails_its_check(engine, name, words):
    result = CHECKS[name].run(engine)
    assert result.status == "fail"
    assert words in result.reason
    assert CHECKS[name].run(MatteEngine).status == "pass"


def test_what_an_engine_leaves_out_cannot_be_checked():
    assert CHECKS["a thing falls"].run(MatteEngine).status == "cannot be checked"
    assert "no car" in CHECKS["brakes stop and hold"].run(MatteEngine).reason
    with pytest.raises(CannotBeChecked):
        CHECKS["a thing falls"](MatteEngine)


def test_checks_have_names_and_reasons():
    assert len(CHECKS) == len(ENGINE_CHECKS) == 46
    assert all(check.why.endswith(".") and str(check) == check.name for check in ENGINE_CHECKS)


def test_every_engine_is_closed():
    closed = []

    class Closing(MatteEngine):
        def close(self):
            closed.append(self)

    with pytest.raises(ContractBrokenError):
        CHECKS["reset puts things back"](type("Wrong", (Closing, ForgetsReset), {}))
    assert len(closed) == 1


def test_a_scene_of_ones_own():
    results = check_engine(MatteEngine, scene_checks(contract_scene(), LENS, [CAMERA]))
    assert [result.status for result in results] == ["pass"] * 5
    results = check_engine(Mirrored, scene_checks(contract_scene(), LENS, [CAMERA]))
    assert [result.check.name for result in results if result.status == "fail"] == ["labels agree with rays"]


@pytest.mark.parametrize("found", [1.0, 1.09, 0.91])
def test_what_is_near(found):
    expect_near(found, 1.0, "x", absolute=0.1)


@pytest.mark.parametrize("found", [1.11, 0.89, np.nan, np.inf])
def test_what_is_not_near(found):
    with pytest.raises(ContractBrokenError, match="x: found"):
        expect_near(found, 1.0, "x", absolute=0.1)


def test_infinities_are_equal():
    expect_near([np.inf, 1], [np.inf, 1], "x")


def test_only_a_usage_error_is_a_refusal():
    def refuse(error):
        raise error

    expect_refused(lambda: refuse(UsageError("no")), "a call")
    for call in (lambda: None, lambda: refuse(KeyError("a")), Pose):
        with pytest.raises(ContractBrokenError, match="a call"):
            expect_refused(call, "a call")
