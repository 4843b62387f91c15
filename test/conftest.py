"""What all tests share: a ROS domain that no other test on this machine uses at the same time; Ctrl-C that counts.

Light can be traced in two ways: by Mitsuba where it can run, and by the project's own tracer.
"""

import logging
import os
import signal
import socket
from importlib.util import find_spec
from pathlib import Path

# Two workers on two cores: threads of libraries that wait for each other cost more than they compute.
os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1") | os.environ

import pytest
from hypothesis import settings
from shared_memory import remove_orphaned_segments

import simjudge
import simjudge.data.rosbag2

ROOT = Path(__file__).parents[1]


def _join_checkout():
    """Where simjudge is installed elsewhere (`colcon test`), find its folders that are installed under another name.

    Child processes take the installed package as a whole.
    """
    if find_spec("simjudge.nodes") is None:
        simjudge.__path__.append(str(ROOT))
        simjudge.data.rosbag2.__path__.append(str(ROOT / "msgs"))
        os.environ["PYTHONSAFEPATH"] = "1"


_join_checkout()


@pytest.fixture(autouse=True)
def _lines_reach_caplog(monkeypatch):
    """Where launch's plugin is loaded, every logger that is made later keeps its lines to itself."""
    for name, logger in list(logging.root.manager.loggerDict.items()):
        if name.startswith("simjudge.") and isinstance(logger, logging.Logger):
            monkeypatch.setattr(logger, "propagate", True)


# A busy machine is no failure: nothing here is judged by how long it takes.
settings.register_profile("simjudge", deadline=None)
settings.load_profile("simjudge")

# What is started in the background is told to ignore Ctrl-C, and would tell so the processes that tests send it to.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Above 101, ports may collide with those that Linux hands out.
DOMAINS = range(1, 102)


@pytest.hookimpl(tryfirst=True)
def pytest_pycollect_makemodule(module_path, parent):
    """Keep launch_testing's plugin, where there is one, from the modules that are none of its tests.

    It imports every module before pytest does, and a module-level `importorskip` there skips the whole folder: `colcon
    test` collected nothing, and passed.
    """
    if "pytest.mark.launch_test\n" in module_path.read_text(encoding="utf-8") and find_spec("launch_testing"):
        return None
    return pytest.Module.from_parent(parent, path=module_path)


def pytest_sessionfinish():
    """What tests kill on purpose leaves its shared memory: a day of test runs had left 15 GB."""
    remove_orphaned_segments()


@pytest.fixture
def ros_domain():
    # A name of the network, as a domain is, and gone with the process: whoever hears the same nodes sees it.
    for number in DOMAINS:
        with socket.socket(socket.AF_UNIX) as taken:
            try:
                taken.bind(f"\0simjudge_ros_domain_{number}")
            except OSError:
                continue
            yield number
            return
    pytest.fail("all ROS domains are in use")


def _mitsuba_or_skip():
    from simjudge.sim.engines.default import variant  # noqa: PLC0415 - only where light is traced

    library, why = variant.find_llvm()
    if library is None and not variant.has_cuda():
        pytest.skip(f"Mitsuba cannot run here: {why}")
    pytest.importorskip("mitsuba")


@pytest.fixture(params=["mitsuba", "numpy"])
def light_of(request, monkeypatch):
    """Makes a Light of a scene, or another `kind` of light, with each of the tracers."""
    from simjudge.sim.engines.default import light, tracer  # noqa: PLC0415 - only where light is traced

    if request.param == "mitsuba":
        _mitsuba_or_skip()
        return lambda *arguments, kind=light.Light: kind(*arguments)
    monkeypatch.setattr(light, "choose_variant", lambda: "numpy")

    def make(*arguments, kind=light.Light):
        made = kind(*arguments)
        assert isinstance(made._tracer, tracer.NumpyTracer)
        return made

    return make


@pytest.fixture
def mitsuba_light():
    """Makes a Light of a scene with Mitsuba."""
    from simjudge.sim.engines.default import light  # noqa: PLC0415 - only where light is traced

    _mitsuba_or_skip()
    return light.Light
