"""Where there is no pychrono.vehicle: what the examples and the bridge ask of it, held to its own signatures.

Read from what SWIG makes of Chrono's interface files at 7689fbc0 (vehicle module): names, least and most arguments.
"""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SIGNATURES = {
    "ARTcar": (0, 1),
    "AddActiveDomain": (3, 3),
    "AddPatch": (3, 13),
    "Advance": (1, 2),
    "ChPowertrainAssembly": (2, 2),
    "DriverInputs": (0, 0),
    "GetAxles": (0, 0),
    "GetChassisBody": (0, 0),
    "GetMesh": (0, 0),
    "GetSystem": (0, 0),
    "GetVehicle": (0, 0),
    "GetVehicleDataFile": (1, 1),
    "GetVehicleDataPath": (0, 0),
    "GetDataPath": (0, 0),
    "GetWheels": (0, 0),
    "HMMWV_Full": (0, 1),
    "Initialize": (0, 7),
    "InitializePowertrain": (1, 1),
    "InitializeTire": (2, 4),
    "ReadEngineJSON": (1, 1),
    "ReadTireJSON": (1, 1),
    "ReadTransmissionJSON": (1, 1),
    "RigidTerrain": (1, 2),
    "SCMTerrain": (1, 2),
    "SetChassisCollisionType": (1, 1),
    "SetChassisFixed": (1, 1),
    "SetChassisVisualizationType": (1, 1),
    "SetContactMethod": (1, 1),
    "SetDriveType": (1, 1),
    "SetEngineType": (1, 1),
    "SetTransmissionType": (1, 1),
    "SetInitPosition": (1, 1),
    "SetMaxMotorVoltageRatio": (1, 1),
    "SetMeshWireframe": (1, 1),
    "SetSoilParameters": (8, 8),
    "SetStallTorque": (1, 1),
    "SetTireRollingResistance": (1, 1),
    "SetTireStepSize": (1, 1),
    "SetTireType": (1, 1),
    "SetTireVisualizationType": (1, 1),
    "SetWheelVisualizationType": (1, 1),
    "Synchronize": (1, 3),
    "TrackedVehicle": (1, 2),
    "WheeledVehicle": (1, 4),
}
VALUES = {
    "CollisionType_NONE",
    "TireModelType_TMEASY",
    "EngineModelType_SIMPLE",
    "TransmissionModelType_AUTOMATIC_SIMPLE_MAP",
    "DrivelineTypeWV_AWD",
    "m_steering",
    "m_throttle",
    "m_braking",
}
VEHICLES = {"veh", "car", "hmmwv", "m113", "terrain", "road"}
"""What the examples call the module and its objects."""


@pytest.mark.parametrize("name", ["artcar", "hmmwv_soil", "hmmwv_road", "m113_tracks"])
def test_examples_ask_for_what_chrono_has(name):
    tree = ast.parse((ROOT / "examples" / "chrono" / f"{name}.py").read_text())
    called = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            called[node.func] = len(node.args)
    asked = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)]
    asked = [node for node in asked if node.value.id in VEHICLES]
    assert len(asked) > 15
    for node in asked:
        if node not in called:
            assert node.attr in VALUES | set(SIGNATURES), f"{node.value.id}.{node.attr}"
            continue
        low, high = SIGNATURES[node.attr]
        assert low <= called[node] <= high, f"{node.value.id}.{node.attr}: {called[node]} arguments"


def test_the_bridge_fills_and_reads_driver_inputs():
    """By the fields that DriverInputs has: m_steering, m_throttle, m_braking."""
    trees = [ast.parse(path.read_text()) for path in (ROOT / "simjudge" / "bridge").glob("*.py")]
    nodes = [node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Attribute)]
    fields = {node.attr for node in nodes if node.attr.startswith("m_")}
    assert fields == {"m_steering", "m_throttle", "m_braking"}
