"""What Vulkan renders on, from what Chrono prints; the process that asks may die."""

import importlib
import os
from types import SimpleNamespace

import pytest

from simjudge.sim.engines.chrono import cameras, modules
from simjudge.sim.engines.chrono.cameras import read_answer, vulkan_renderer
from simjudge.sim.engines.registry import engine_availability

FALLBACK = "Chrono::Sensor Vulkan RT GPU unavailable, using CPU fallback: No Vulkan physical devices were found"
SENSOR = """
import os
class ChSensorManager:
    def __init__(self, system): self.loud = False
    def SetVerbose(self, loud): self.loud = loud
    def AddSensor(self, sensor):
        if self.loud: os.write({to}, b"Create new Vulkan RT engine\\n{says}\\n")
        {then}
class ChDepthCamera:
    def __init__(self, *arguments): assert len(arguments) == 6
"""
CORE = """
class ChVector3d: pass
class ChFramed: pass
class ChBody:
    def SetFixed(self, fixed): pass
class ChSystemNSC:
    def AddBody(self, body): pass
"""


def test_what_is_printed_is_read():
    device = read_answer("Create new Vulkan RT engine\nChrono::Sensor Vulkan RT device: NVIDIA H200\n", 0)
    assert device.startswith("Vulkan RT, device NVIDIA H200 (")
    assert read_answer(FALLBACK, 0) == "Vulkan RT's fallback on the processor: No Vulkan physical devices were found"
    assert read_answer("", 0) == "Vulkan RT, on what is unknown: Chrono does not say"
    assert read_answer("", -11) == "Vulkan RT, on what is unknown: the probe ended with SIGSEGV"
    failed = read_answer("Traceback\nTypeError: ChDepthCamera", 1)
    assert failed == "Vulkan RT, on what is unknown: the probe failed: TypeError: ChDepthCamera"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("to", "says", "then", "answer"),
    [
        (2, FALLBACK, "pass", "Vulkan RT's fallback on the processor: No Vulkan physical devices were found"),
        (1, "Chrono::Sensor Vulkan RT device: llvmpipe", "pass", "Vulkan RT, device llvmpipe"),
        (
            2,
            "vkCreateDevice: lost",
            "os.abort()",
            "Vulkan RT, on what is unknown: the probe ended with SIGABRT: vkCreate",
        ),
    ],
)
def test_a_process_of_its_own_is_asked(tmp_path, monkeypatch, to, says, then, answer):
    package = tmp_path / "pychrono"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "core.py").write_text(CORE)
    (package / "sensor.py").write_text(SENSOR.format(to=to, says=says, then=then))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    assert vulkan_renderer().startswith(answer)


@pytest.mark.parametrize("problem", ["", "TypeError: no picture"])
@pytest.mark.parametrize(("optix", "told"), [(False, ["renders: on the moon"]), (True, [])])
def test_engines_say_what_vulkan_renders_on_and_whether_there_are_pictures(monkeypatch, optix, told, problem):
    core = SimpleNamespace(ChVector3d=object)
    sensor = SimpleNamespace(ChCameraSensor=object, **({"ChOptixSensor": object} if optix else {}))
    importlib.import_module("simjudge.sim.engines.chrono.chrono_engine")  # it takes the true load_modules
    monkeypatch.setattr(modules, "load_modules", lambda: modules.Modules(core, sensor, None, "10.0.0"))
    monkeypatch.setattr(cameras, "vulkan_renderer", lambda: "on the moon")
    monkeypatch.setattr(cameras, "picture_problem", lambda: problem)
    chrono = next(each for each in engine_availability() if each.name == "chrono")
    assert [line for line in chrono.lines if line.startswith("renders:")] == told
    assert chrono.lines[0].endswith("OptiX" if optix else "Vulkan RT")
    assert any("radiance from 8-bit pictures" in line for line in chrono.lines) == (not problem)
    assert any(line.startswith(f"pictures were tried and fail: {problem};") for line in chrono.lines) == bool(problem)


@pytest.mark.slow
def test_a_build_that_fails_at_the_first_picture_is_one_line(tmp_path, monkeypatch):
    """As where ChSensorRenderTypes.h is included too late: all classes are there, and a camera cannot be made."""
    package = tmp_path / "pychrono"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "core.py").write_text(CORE)
    (package / "sensor.py").write_text(
        "class ChSensor: pass\nclass ChSensorManager: pass\n"
        "class ChCameraSensor:\n    def __init__(self, *a): raise TypeError('in method new_ChCameraSensor')\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    problem = cameras.picture_problem()
    assert "Error" in problem
    assert "\n" not in problem
