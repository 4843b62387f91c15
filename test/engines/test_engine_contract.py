"""Every engine that can run here keeps the contract."""

import pytest

pytest.register_assert_rewrite("contract")
from contract import EngineContract  # noqa: E402

from simjudge.engines.registry import make_engine  # noqa: E402


def builder(name):
    """Makes engines of a name, and closes all it made."""
    made = []

    def build(scene, vehicle=None, start=None):
        made.append(make_engine(name, scene, vehicle, start))
        return made[-1]

    yield build
    for engine in made:
        engine.close()


class TestDefaultEngine(EngineContract):
    @pytest.fixture
    def build(self):
        pytest.importorskip("mujoco", reason="MuJoCo (the extra `sim`) is not installed")
        pytest.importorskip("mitsuba", reason="Mitsuba (the extra `sim`) is not installed")
        yield from builder("default")


class TestChronoEngine(EngineContract):
    @pytest.fixture
    def build(self):
        pytest.importorskip("pychrono", reason="PyChrono is not installed")
        yield from builder("chrono")
