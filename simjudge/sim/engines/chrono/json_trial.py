"""Whether Chrono can build a vehicle of JSON files, tried in a process of its own.

Chrono's readers check nothing in a release build: a key that is missing, or a template that this build does not have,
ends the process. `python -m simjudge.sim.engines.chrono.json_trial DATA VEHICLE ENGINE TRANSMISSION TIRE` is that
process.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from simjudge.core.errors import SimjudgeError
from simjudge.geometry.poses import Pose
from simjudge.sim.engines.chrono.json_vehicle import build_vehicle
from simjudge.sim.engines.chrono.modules import load_modules

_SECONDS = 120.0
_STEPS = 10


def try_vehicle(files: tuple[Path, Path, Path, Path], data: Path) -> None:
    """Build the vehicle, and let it fall for some steps, elsewhere."""
    command = [sys.executable, "-m", "simjudge.sim.engines.chrono.json_trial", str(data), *map(str, files)]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", timeout=_SECONDS, check=False,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
    except subprocess.TimeoutExpired as error:
        raise SimjudgeError(f"{files[0]}: Chrono did not build this vehicle in {_SECONDS:g} s") from error
    if done.returncode == 0:
        return
    code, lines = done.returncode, [line.strip() for line in done.stderr.splitlines() if line.strip()]
    why = f"ended with {signal.Signals(-code).name}" if code < 0 else "failed"
    words = f": {lines[-1]}" if lines else ""
    named = ", ".join(path.name for path in files[1:])
    raise SimjudgeError(
        f"{files[0]}: Chrono's reader {why}{words}; a key is missing in it, in {named} or in what they name, or this"
        " build of Chrono lacks a template"
    )


def _build(data: Path, files: tuple[Path, Path, Path, Path]) -> None:
    modules = load_modules()
    car = build_vehicle(modules, files, data, Pose((0.0, 0.0, 2.0)), 1e-3)
    ground, inputs = modules.vehicle.FlatTerrain(0.0, 0.8), modules.vehicle.DriverInputs()
    for step in range(_STEPS):
        car.mover.Synchronize(step * 1e-3, inputs, ground)
        car.mover.Advance(1e-3)
    sys.stderr.flush()
    os._exit(0)


if __name__ == "__main__":
    folder, vehicle, engine, transmission, tire = map(Path, sys.argv[1:])
    _build(folder, (vehicle, engine, transmission, tire))
