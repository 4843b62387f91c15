"""Chrono's HMMWV turns on a flat road: odometry, wheels and commands recorded. It needs pychrono.vehicle and its data.

python examples/chrono/hmmwv_road.py drive.mcap; then simjudge robot drives, beside drives of another car
"""

import math
import sys

if len(sys.argv) < 2:
    sys.exit(__doc__)

import pychrono.core as chrono
import pychrono.vehicle as veh

from simjudge.bridge.chrono import ChronoBridge

STEP = 2e-3
chrono.SetChronoDataPath(veh.GetVehicleDataPath().removesuffix("vehicle/"))  # builds without FEA do not know it
hmmwv = veh.HMMWV_Full()
hmmwv.SetContactMethod(chrono.ChContactMethod_SMC)
hmmwv.SetInitPosition(chrono.ChCoordsysd(chrono.ChVector3d(0, 0, 0.6), chrono.QUNIT))
hmmwv.SetEngineType(veh.EngineModelType_SIMPLE)
hmmwv.SetTransmissionType(veh.TransmissionModelType_AUTOMATIC_SIMPLE_MAP)
hmmwv.SetDriveType(veh.DrivelineTypeWV_AWD)
hmmwv.SetTireType(veh.TireModelType_TMEASY)
hmmwv.SetTireStepSize(1e-3)
hmmwv.Initialize()
system = hmmwv.GetSystem()
system.SetCollisionSystemType(chrono.ChCollisionSystem.Type_BULLET)
road = veh.RigidTerrain(system)
road.AddPatch(chrono.ChContactMaterialSMC(), chrono.ChCoordsysd(chrono.ChVector3d(0, 0, 0), chrono.QUNIT), 200.0, 200.0)
road.Initialize()

bridge = ChronoBridge(system, out=sys.argv[1])
bridge.vehicle(hmmwv)
bridge.imu(window=0.01)
bridge.gps()
inputs = veh.DriverInputs()
while bridge.ok(duration=6.0):
    time = system.GetChTime()
    inputs.m_throttle, inputs.m_steering = 0.5, 0.4 * math.sin(math.pi * time / 3)
    road.Synchronize(time)
    hmmwv.Synchronize(time, inputs, road)
    road.Advance(STEP)
    hmmwv.Advance(STEP)
    bridge.drive(inputs)
    bridge.step(STEP)
