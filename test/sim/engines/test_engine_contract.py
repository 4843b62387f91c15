"""Every engine that can run here keeps the contract (`simjudge.sim.testing`)."""

import pytest

from simjudge.core.errors import SimjudgeError
from simjudge.sim.engines.registry import make_engine
from simjudge.sim.testing import ENGINE_CHECKS


def builder(name):
    def build(scene, vehicle=None, start=None):
        return make_engine(name, scene, vehicle, start)

    return build


@pytest.mark.parametrize("name", ["default", "baked"])
@pytest.mark.parametrize("check", ENGINE_CHECKS, ids=str)
def test_engine_of_our_own(check, name):
    pytest.importorskip("mujoco", reason="MuJoCo (the extra `sim`) is not installed")
    pytest.importorskip("mitsuba", reason="Mitsuba (the extra `sim`) is not installed")
    check(builder(name))


@pytest.mark.parametrize("check", ENGINE_CHECKS, ids=str)
def test_mujoco_engine(check):
    pytest.importorskip("mujoco", reason="MuJoCo (the extra `sim`) is not installed")
    try:
        check(builder("mujoco"))
    except SimjudgeError as error:
        if "there is no OpenGL here" not in str(error):
            raise
        pytest.skip(str(error))


@pytest.mark.parametrize("check", ENGINE_CHECKS, ids=str)
def test_chrono_engine(check):
    pytest.importorskip("pychrono", reason="PyChrono is not installed")
    try:
        check(builder("chrono"))
    except SimjudgeError as error:
        if "its cameras are not exposed" not in str(error):
            raise
        pytest.skip(str(error))
