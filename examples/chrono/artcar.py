"""ARTcar as in Chrono's own demo (demo_VEH_ARTcar.py), among cones, judged. It needs pychrono.vehicle.

python examples/chrono/artcar.py drive.mcap [art1|plain|...|none]; none: no camera, which needs no pychrono.sensor
"""

import sys

if len(sys.argv) < 2:
    sys.exit(__doc__)

import pychrono.core as chrono
import pychrono.vehicle as veh

from simjudge.bridge.chrono import ChronoBridge, Pose

told = getattr(veh, "GetVehicleDataPath", None) or veh.GetDataPath  # the latter before 10.0.0
chrono.SetChronoDataPath(told().removesuffix("vehicle/"))  # builds without FEA do not know it
car = veh.ARTcar()
car.SetContactMethod(chrono.ChContactMethod_NSC)
car.SetChassisCollisionType(veh.CollisionType_NONE)
car.SetChassisFixed(False)
car.SetInitPosition(chrono.ChCoordsysd(chrono.ChVector3d(0, 0, 0.2), chrono.QUNIT))
car.SetTireType(veh.TireModelType_TMEASY)
car.SetTireStepSize(2.5e-4)
car.SetMaxMotorVoltageRatio(0.16)
car.SetStallTorque(0.3)
car.SetTireRollingResistance(0.06)
car.Initialize()
car.SetTireVisualizationType(chrono.VisualizationType_PRIMITIVES)
system = car.GetSystem()
system.SetCollisionSystemType(chrono.ChCollisionSystem.Type_BULLET)

rubber = chrono.ChContactMaterialNSC()
rubber.SetFriction(0.9)
terrain = veh.RigidTerrain(system)
terrain.AddPatch(rubber, chrono.ChCoordsysd(chrono.ChVector3d(0, 0, 0), chrono.QUNIT), 40.0, 40.0)
terrain.Initialize()

bridge = ChronoBridge(system, out=sys.argv[1])
bridge.vehicle(car.GetVehicle())
for number in range(8):
    name, side = ("green", 1) if number % 2 else ("red", -1)
    cone = chrono.ChBodyEasyCylinder(chrono.ChAxis_Z, 0.12, 0.35, 200, True, False)
    material = chrono.ChVisualMaterial()
    material.SetDiffuseColor(chrono.ChColor(0.8, 0.05, 0.03) if name == "red" else chrono.ChColor(0.05, 0.5, 0.1))
    cone.GetVisualShape(0).AddMaterial(material)
    cone.SetPos(chrono.ChVector3d(2 + 0.8 * number, 0.9 * side, 0.175))
    cone.SetFixed(True)
    system.AddBody(cone)
    bridge.label(cone, name)
camera = sys.argv[2] if len(sys.argv) > 2 else "plain"
if camera != "none":
    bridge.scene.SetAmbientLight(chrono.ChVector3f(0.2, 0.2, 0.2))
    bridge.scene.AddPointLight(chrono.ChVector3f(2, 3, 8), chrono.ChColor(1, 1, 1), 100)
    bridge.camera(car.GetChassisBody(), Pose((0.1, 0, 0.15)), camera=camera, rate=10)
bridge.imu(window=0.01)  # tyres at 0.25 ms: a reading of one instant is their noise
inputs = veh.DriverInputs()
inputs.m_throttle = 0.7
while bridge.ok(duration=4.0):
    time = system.GetChTime()
    terrain.Synchronize(time)
    car.Synchronize(time, inputs, terrain)
    terrain.Advance(2.5e-4)
    car.Advance(2.5e-4)
    bridge.drive(inputs)
    bridge.step(2.5e-4)
