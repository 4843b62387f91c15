"""M113, a tracked vehicle from Chrono's JSON files, judged. It needs pychrono.vehicle and Chrono's data.

After Chrono's demo_VEH_TrackedJSON.cpp. Each shoe of the tracks is a body: a simulated second takes 15 s and more.
python examples/chrono/m113_tracks.py drive.mcap [art1|plain|...|none]; none: no camera, which needs no pychrono.sensor
"""

import sys

if len(sys.argv) < 2:
    sys.exit(__doc__)

import pychrono.core as chrono
import pychrono.vehicle as veh

from simjudge.bridge.chrono import ChronoBridge, Pose

STEP = 5e-4
chrono.SetChronoDataPath(veh.GetVehicleDataPath().removesuffix("vehicle/"))  # builds without FEA do not know it
find = veh.GetVehicleDataFile
m113 = veh.TrackedVehicle(find("M113/vehicle/M113_Vehicle_SinglePin.json"), chrono.ChContactMethod_SMC)
m113.Initialize(chrono.ChCoordsysd(chrono.ChVector3d(-5, 0, 0.8), chrono.QUNIT))
m113.SetChassisVisualizationType(chrono.VisualizationType_NONE)
engine = veh.ReadEngineJSON(find("M113/powertrain/M113_EngineShafts.json"))
transmission = veh.ReadTransmissionJSON(find("M113/powertrain/M113_AutomaticTransmissionShafts.json"))
m113.InitializePowertrain(veh.ChPowertrainAssembly(engine, transmission))
system = m113.GetSystem()
system.SetCollisionSystemType(chrono.ChCollisionSystem.Type_BULLET)
solver = chrono.ChSolverBB()
solver.SetMaxIterations(120)
system.SetSolver(solver)

terrain = veh.RigidTerrain(system)
ground = chrono.ChContactMaterialSMC()
ground.SetFriction(0.8)
ground.SetYoungModulus(2e7)
ground.SetRestitution(0.01)
terrain.AddPatch(ground, chrono.CSYSNORM, 60, 20).SetColor(chrono.ChColor(0.25, 0.3, 0.2))
terrain.Initialize()

bridge = ChronoBridge(system, out=sys.argv[1])
bridge.vehicle(m113)
for number in range(6):
    barrel = chrono.ChBodyEasyCylinder(chrono.ChAxis_Z, 0.3, 1.0, 500, True, False)
    barrel.SetPos(chrono.ChVector3d(2 + 1.5 * number, 3.0 if number % 2 else -3.0, 0.5))
    barrel.SetFixed(True)
    system.AddBody(barrel)
    bridge.label(barrel, "barrel")
camera = sys.argv[2] if len(sys.argv) > 2 else "plain"
if camera != "none":
    bridge.scene.SetAmbientLight(chrono.ChVector3f(0.3, 0.3, 0.3))
    bridge.scene.AddPointLight(chrono.ChVector3f(-20, 30, 80), chrono.ChColor(1, 1, 1), 1000)
    bridge.camera(m113.GetChassisBody(), Pose((0.5, 0, 1.6)), camera=camera, rate=10)
bridge.imu(window=0.01)
bridge.gps()
inputs = veh.DriverInputs()
while bridge.ok(duration=4.0):
    time = system.GetChTime()
    inputs.m_throttle = 0.8 if time > 0.5 else 0.0  # it falls on its tracks first
    terrain.Synchronize(time)
    m113.Synchronize(time, inputs)
    terrain.Advance(STEP)
    m113.Advance(STEP)
    bridge.drive(inputs)
    bridge.step(STEP)
