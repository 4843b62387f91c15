"""What Chrono::Sensor's Vulkan renderer traces its rays on: a device, or its fallback on the processor.

PyChrono has no call that says it. A manager that is told to be verbose prints it when its first sensor is added
(ChVulkanRTDevice.cpp and ChVulkanRTEngine.cpp at 7689fbc0). A driver that fails may end the whole process, so this runs
in one of its own: `python -m simjudge.sim.engines.chrono.renderer`.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys

from simjudge.sim.engines.chrono.modules import load_modules

_SECONDS = 60.0
_DEVICE = re.compile(r"Vulkan RT device: (.+)")
_FALLBACK = re.compile(r"using CPU fallback: (.+)")


def vulkan_renderer(seconds: float = _SECONDS) -> str:
    """What a Vulkan build of PyChrono renders on, asked of it in a process of its own."""
    command = [sys.executable, "-m", "simjudge.sim.engines.chrono.renderer"]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", timeout=seconds, check=False,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return f"Vulkan RT, on what is unknown: no answer in {seconds:g} s"
    return read_answer(done.stdout + "\n" + done.stderr, done.returncode)


def read_answer(printed: str, code: int) -> str:
    """What a manager's words and the end of its process say.

    Args:
        code: of the process; minus the number of the signal that ended it.
    """
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
    """Make Chrono choose its renderer, aloud."""
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


if __name__ == "__main__":
    _ask()
