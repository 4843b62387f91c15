"""A rover among cones, in plain PyChrono, and the lines with `bridge` that have it judged.

python examples/chrono/rover.py drive.mcap [CAMERA]          # a camera's file, or plain, art1, noise, ...
"""

import math
import sys
from itertools import pairwise

if len(sys.argv) < 2:
    sys.exit(__doc__)

import pychrono.core as chrono
import pychrono.sensor as sens

from simjudge.bridge.chrono import ChronoBridge, Pose


def add(body, colour, position, *, fixed=False):
    material = chrono.ChVisualMaterial()
    material.SetDiffuseColor(chrono.ChColor(*colour))
    body.GetVisualShape(0).AddMaterial(material)
    body.SetPos(chrono.ChVector3d(*position))
    body.SetFixed(fixed)
    system.AddBody(body)
    return body


def cone(radius=0.11, height=0.32, sides=32):
    """A body that looks like a traffic cone, standing on its frame's origin."""
    mesh, ring = chrono.ChTriangleMeshConnected(), []
    for k in range(sides + 1):
        angle = 2 * math.pi * k / sides
        ring.append(chrono.ChVector3d(radius * math.cos(angle), radius * math.sin(angle), 0))
    for a, b in pairwise(ring):
        mesh.AddTriangle(a, b, chrono.ChVector3d(0, 0, height))
    shape = chrono.ChVisualShapeTriangleMesh()
    shape.SetMesh(mesh)
    body = chrono.ChBody()
    body.AddVisualShape(shape)
    return body


system = chrono.ChSystemNSC()
system.SetCollisionSystemType(chrono.ChCollisionSystem.Type_BULLET)
system.SetGravitationalAcceleration(chrono.ChVector3d(0, 0, -9.81))
rubber = chrono.ChContactMaterialNSC()
rubber.SetFriction(0.8)
add(chrono.ChBodyEasyBox(40, 40, 1, 1000, True, True, rubber), (0.35, 0.35, 0.33), (5, 0, -0.5), fixed=True)
rover = add(chrono.ChBodyEasyBox(0.5, 0.3, 0.1, 600, True, False), (0.1, 0.1, 0.5), (0, 0, 0.2))
for x in (-0.2, 0.2):
    for y in (-0.2, 0.2):
        wheel = chrono.ChBodyEasyCylinder(chrono.ChAxis_Y, 0.1, 0.06, 800, True, True, rubber)
        add(wheel, (0.03, 0.03, 0.03), (x, y, 0.1))
        motor = chrono.ChLinkMotorRotationSpeed()
        # A motor turns about the z axis of its frame: here the wheel's axle, so that a positive speed goes ahead.
        motor.Initialize(wheel, rover, chrono.ChFramed(wheel.GetPos(), chrono.QuatFromAngleX(-math.pi / 2)))
        motor.SetSpeedFunction(chrono.ChFunctionConst(10.0 if y < 0 else 9.7))
        system.AddLink(motor)

bridge = ChronoBridge(system, out=sys.argv[1])
bridge.scene.SetAmbientLight(chrono.ChVector3f(0.25, 0.25, 0.25))
bridge.scene.AddPointLight(chrono.ChVector3f(-2, 3, 8), chrono.ChColor(0.8, 0.8, 0.8), 100)
sky = sens.Background()
sky.mode = sens.BackgroundMode_SOLID_COLOR
sky.color_zenith = chrono.ChVector3f(0.35, 0.5, 0.75)
bridge.scene.SetBackground(sky)
bridge.vehicle(rover, base=Pose((0, 0, -0.2)))
for number in range(10):
    name, colour, y = ("green", (0.03, 0.4, 0.08), 0.8) if number % 2 else ("red", (0.7, 0.04, 0.03), -0.8)
    bridge.label(add(cone(), colour, (1.6 + 0.55 * number, y, 0), fixed=True), name)
bridge.camera(rover, Pose((0.25, 0, 0.1)), camera=sys.argv[2] if len(sys.argv) > 2 else "plain", rate=10)
bridge.imu()
while bridge.ok(duration=4.0):
    system.DoStepDynamics(1e-3)
    bridge.step(1e-3)
