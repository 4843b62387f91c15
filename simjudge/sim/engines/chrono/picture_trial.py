"""Whether Chrono::Sensor's cameras give pictures here: the engine's own probe, in a process that may die.

A build can have every class and still fail at the first picture, where types of it are not wrapped or there is no GPU.
`python -m simjudge.sim.engines.chrono.picture_trial` tries it.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys

from simjudge.sim.engines.chrono.modules import load_modules
from simjudge.sim.engines.chrono.probe import probe
from simjudge.sim.engines.chrono.versions import identify_release

_SECONDS = 120.0


def picture_problem(seconds: float = _SECONDS) -> str:
    """Why there are no pictures.

    Returns:
        One line, empty where there are pictures.
    """
    command = [sys.executable, "-m", "simjudge.sim.engines.chrono.picture_trial"]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", timeout=seconds, check=False,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
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
    _try()
