"""HMMWV from Chrono's JSON files on soil that deforms (SCM), judged. It needs pychrono.vehicle and Chrono's data.

After Chrono's demo_VEH_WheeledJSON.py and demo_VEH_HMMWV_DefSoil.py; Chrono 10.0.0 or later:
python examples/chrono/hmmwv_soil.py drive.mcap [art1|plain|...|none]; none: no camera, which needs no pychrono.sensor
"""

import sys

if len(sys.argv) < 2:
    sys.exit(__doc__)

import pychrono.core as chrono
import pychrono.vehicle as veh

from simjudge.bridge.chrono import ChronoBridge, Pose

STEP = 2e-3
chrono.SetChronoDataPath(veh.GetVehicleDataPath().removesuffix("vehicle/"))  # builds without FEA do not know it
find = veh.GetVehicleDataFile
hmmwv = veh.WheeledVehicle(find("hmmwv/vehicle/HMMWV_Vehicle.json"), chrono.ChContactMethod_SMC)
hmmwv.Initialize(chrono.ChCoordsysd(chrono.ChVector3d(-5, 0, 0.6), chrono.QUNIT))
hmmwv.SetChassisVisualizationType(chrono.VisualizationType_NONE)
hmmwv.SetWheelVisualizationType(chrono.VisualizationType_NONE)
engine = veh.ReadEngineJSON(find("hmmwv/powertrain/HMMWV_EngineShafts.json"))
transmission = veh.ReadTransmissionJSON(find("hmmwv/powertrain/HMMWV_AutomaticTransmissionShafts.json"))
hmmwv.InitializePowertrain(veh.ChPowertrainAssembly(engine, transmission))
for axle in hmmwv.GetAxles():
    for wheel in axle.GetWheels():
        tire = veh.ReadTireJSON(find("hmmwv/tire/HMMWV_RigidTire.json"))
        hmmwv.InitializeTire(tire, wheel, chrono.VisualizationType_MESH)
system = hmmwv.GetSystem()
system.SetCollisionSystemType(chrono.ChCollisionSystem.Type_BULLET)

terrain = veh.SCMTerrain(system)
terrain.SetSoilParameters(2e6, 0, 1.1, 0, 30, 0.01, 2e8, 3e4)
terrain.AddActiveDomain(hmmwv.GetChassisBody(), chrono.ChVector3d(0, 0, 0), chrono.ChVector3d(5, 3, 1))
terrain.Initialize(24.0, 10.0, 0.05)
terrain.SetMeshWireframe(False)  # Chrono::Sensor shows no wires

bridge = ChronoBridge(system, out=sys.argv[1])
bridge.vehicle(hmmwv)
bridge.label(terrain, "soil", counted=False)
for number in range(6):
    barrel = chrono.ChBodyEasyCylinder(chrono.ChAxis_Z, 0.3, 1.0, 500, True, False)
    barrel.SetPos(chrono.ChVector3d(2 + 1.5 * number, 2.5 if number % 2 else -2.5, 0.5))
    barrel.SetFixed(True)
    system.AddBody(barrel)
    bridge.label(barrel, "barrel")
camera = sys.argv[2] if len(sys.argv) > 2 else "plain"
if camera != "none":
    bridge.scene.SetAmbientLight(chrono.ChVector3f(0.3, 0.3, 0.3))
    bridge.scene.AddPointLight(chrono.ChVector3f(-20, 30, 80), chrono.ChColor(1, 1, 1), 1000)
    bridge.camera(hmmwv.GetChassisBody(), Pose((0.5, 0, 1.2)), camera=camera, rate=10)
bridge.imu(window=0.01)
bridge.gps()
inputs = veh.DriverInputs()
inputs.m_throttle = 0.5
while bridge.ok(duration=4.0):
    time = system.GetChTime()
    terrain.Synchronize(time)
    hmmwv.Synchronize(time, inputs, terrain)
    terrain.Advance(STEP)
    hmmwv.Advance(STEP)
    bridge.drive(inputs)
    bridge.step(STEP)
