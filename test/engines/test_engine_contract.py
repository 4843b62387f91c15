"""Every engine that can run here keeps the contract."""

import pytest

pytest.register_assert_rewrite("contract")
from contract import EngineContract  # noqa: E402

from simjudge.engines.registry import make_engine  # noqa: E402


def builder(name, car_module=""):
    """Makes engines of a name, and closes all it made; skips what asks for a car where its module is not there."""
    made = []

    def build(scene, vehicle=None, start=None):
        if vehicle is not None and car_module:
            pytest.importorskip(car_module, reason=f"{car_module} is not there", exc_type=ImportError)
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
        yield from builder("chrono", "pychrono.vehicle")
