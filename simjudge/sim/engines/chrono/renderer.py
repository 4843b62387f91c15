"""What Chrono::Sensor traces its rays on, and whether its cameras give pictures here; tried in processes that may die.

PyChrono has no call that says whether Vulkan's rays are traced on a device or on the processor. A manager that is told
to be verbose prints it when its first sensor is added (ChVulkanRTDevice.cpp and ChVulkanRTEngine.cpp at 7689fbc0). A
driver that fails may end the whole process, so this runs in one of its own: `python -m
simjudge.sim.engines.chrono.renderer renderer`.

A build can have every class and still fail at the first picture, where types of it are not wrapped or there is no GPU.
`python -m simjudge.sim.engines.chrono.renderer pictures` tries it.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys

from simjudge.sim.engines.chrono.cameras import probe
from simjudge.sim.engines.chrono.modules import identify_release, load_modules

_RENDERER_SECONDS = 60.0
_PICTURE_SECONDS = 120.0
_DEVICE = re.compile(r"Vulkan RT device: (.+)")
_FALLBACK = re.compile(r"using CPU fallback: (.+)")


def _run_elsewhere(what: str, seconds: float) -> subprocess.CompletedProcess[str]:
    """What this module says as a program: "renderer" or "pictures", in a process of its own."""
    command = [sys.executable, "-m", "simjudge.sim.engines.chrono.renderer", what]
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=seconds,
        check=False,
        stdin=subprocess.DEVNULL,
    )


def vulkan_renderer(seconds: float = _RENDERER_SECONDS) -> str:
    """What a Vulkan build of PyChrono renders on, asked of it in a process of its own."""
    try:
        done = _run_elsewhere("renderer", seconds)
    except subprocess.TimeoutExpired:
        return f"Vulkan RT, on what is unknown: no answer in {seconds:g} s"
    return read_answer(done.stdout + "\n" + done.stderr, done.returncode)


def read_answer(printed: str, code: int) -> str:
    """What a manager's words and the end of its process say."""
    lines = [line.strip() for line in printed.splitlines() if line.strip()]
    if code:
        why = f"the probe ended with {signal.Signals(-code).name}" if code < 0 else "the probe failed"
        return f"Vulkan RT, on what is unknown: {why}{f': {lines[-1]}' if lines else ''}"
    for line in lines:
        if found := _FALLBACK.search(line):
            return f"Vulkan RT's fallback on the processor: {found[1]}"
        if found := _DEVICE.search(line):
            return (
                f"Vulkan RT, device {found[1]} (on the processor all the same if built without"
                " CH_USE_SENSOR_VULKAN_RT_GPU)"
            )
    return "Vulkan RT, on what is unknown: Chrono does not say"


def _ask() -> None:
    modules = load_modules()
    core, sensor = modules.core, modules.sensor
    system, body = core.ChSystemNSC(), core.ChBody()
    body.SetFixed(True)
    system.AddBody(body)
    manager = sensor.ChSensorManager(system)
    manager.SetVerbose(True)
    manager.AddSensor(sensor.ChDepthCamera(body, 1.0, core.ChFramed(), 8, 8, 1.0))
    sys.stdout.flush()
    sys.stderr.flush()
    # Without the end of a Python process: threads of sensors may still run.
    os._exit(0)


def picture_problem(seconds: float = _PICTURE_SECONDS) -> str:
    """Why there are no pictures: one line, empty where there are pictures."""
    try:
        done = _run_elsewhere("pictures", seconds)
    except subprocess.TimeoutExpired:
        return f"no answer in {seconds:g} s"
    if done.returncode == 0:
        return ""
    lines = [line.strip() for line in done.stderr.splitlines() if line.strip()]
    said = lines[-1] if lines else "it said nothing"
    return f"{signal.Signals(-done.returncode).name}: {said}" if done.returncode < 0 else said


def _try() -> None:
    modules = load_modules()
    probe(modules, identify_release(modules.core, modules.sensor, modules.vehicle, modules.version))
    # Without the end of a Python process: threads of sensors may still run.
    os._exit(0)


if __name__ == "__main__":
    {"renderer": _ask, "pictures": _try}[sys.argv[1]]()
