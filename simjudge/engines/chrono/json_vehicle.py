"""A wheeled vehicle of Chrono's JSON files, by Chrono's own readers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from simjudge.core.quiet import silent_output
from simjudge.engines.chrono.modules import Modules
from simjudge.engines.chrono.standing import BuiltCar
from simjudge.geometry.poses import Pose


def build_vehicle(
    modules: Modules, files: tuple[Path, Path, Path, Path], data: Path, reference: Pose, step: float
) -> BuiltCar:
    """A vehicle by Chrono's readers, in a system of its own.

    Args:
        modules: PyChrono's.
        files: vehicle, engine, transmission and tyre.
        data: the folder that they name each other from.
        reference: pose of Chrono's reference frame in the world, metres.
        step: seconds of one step of its tyres.
    """
    core, vehicles = modules.core, modules.vehicle
    x, y, z, w = reference.orientation
    with silent_output(), _data_folder(vehicles, data):
        wheeled = vehicles.WheeledVehicle(str(files[0]), core.ChContactMethod_NSC, False, False)
        wheeled.Initialize(core.ChCoordsysd(core.ChVector3d(*reference.position), core.ChQuaterniond(w, x, y, z)))
        powertrain = vehicles.ChPowertrainAssembly(
            vehicles.ReadEngineJSON(str(files[1])), vehicles.ReadTransmissionJSON(str(files[2]))
        )
        wheeled.InitializePowertrain(powertrain)
        for axle in wheeled.GetAxles():
            for wheel in axle.GetWheels():
                tire = vehicles.ReadTireJSON(str(files[3]))
                tire.SetStepsize(step)
                wheeled.InitializeTire(tire, wheel)
    wheeled.GetSystem().SetCollisionSystemType(core.ChCollisionSystem.Type_BULLET)
    return BuiltCar(wheeled, wheeled)


def vehicle_data(modules: Modules) -> Path:
    """The folder of Chrono's own vehicle data, as its Python package says it.

    Args:
        modules: PyChrono's.
    """
    vehicles = modules.vehicle
    told = vehicles.GetVehicleDataPath if hasattr(vehicles, "GetVehicleDataPath") else vehicles.GetDataPath
    return Path(told())


@contextmanager
def _data_folder(vehicles: Any, folder: Path) -> Iterator[None]:
    """Let Chrono's files name each other from a folder; Chrono joins texts, so that it ends with a slash."""
    newer = hasattr(vehicles, "SetVehicleDataPath")
    tell = vehicles.SetVehicleDataPath if newer else vehicles.SetDataPath
    before = str(vehicles.GetVehicleDataPath() if newer else vehicles.GetDataPath())
    tell(f"{folder}/")
    try:
        yield
    finally:
        tell(before)
