"""Both ways in which light can be traced: by Mitsuba where it can run, and by the project's own tracer."""

import pytest

from simjudge.engines.default import light, variant


def mitsuba_or_skip():
    library, why = variant.find_llvm()
    if library is None and not variant.has_cuda():
        pytest.skip(f"Mitsuba cannot run here: {why}")
    pytest.importorskip("mitsuba")


@pytest.fixture(params=["mitsuba", "scalar"])
def light_of(request, monkeypatch):
    """Makes a Light of a scene, with each of the tracers."""
    if request.param == "scalar":
        monkeypatch.setattr(light, "choose_variant", lambda: "numpy")
    else:
        mitsuba_or_skip()
    return light.Light


@pytest.fixture
def mitsuba_light():
    """Makes a Light of a scene with Mitsuba."""
    mitsuba_or_skip()
    return light.Light
