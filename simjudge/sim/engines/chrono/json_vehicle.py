"""A wheeled vehicle of Chrono's JSON files, by Chrono's own readers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from simjudge.core.processes import silent_output
from simjudge.geometry.poses import Pose
from simjudge.sim.engines.chrono.modules import Modules, find_textures, vehicle_data
from simjudge.sim.engines.chrono.standing import BuiltCar


def build_vehicle(
    modules: Modules, files: tuple[Path, Path, Path, Path], data: Path, reference: Pose, step: float
) -> BuiltCar:
    """A vehicle by Chrono's readers, in a system of its own.

    Args:
        reference: pose of Chrono's reference frame in the world, metres.
        step: seconds of one step of its tyres.
    """
    core, vehicles = modules.core, modules.vehicle
    x, y, z, w = reference.orientation
    with silent_output(), _data_folder(modules, data):
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


@contextmanager
def _data_folder(modules: Modules, folder: Path) -> Iterator[None]:
    """Let Chrono's files name each other from a folder; Chrono joins texts, so that it ends with a slash."""
    vehicles = modules.vehicle
    find_textures(modules.core, folder)
    tell = vehicles.SetVehicleDataPath if hasattr(vehicles, "SetVehicleDataPath") else vehicles.SetDataPath
    before = f"{vehicle_data(modules)}/"
    tell(f"{folder}/")
    try:
        yield
    finally:
        tell(before)
