"""A program with a bridge's topics, as `ChronoBridge(ros=True)` makes them, over and over until a command comes."""

import time
from pathlib import Path

import numpy as np

from simjudge.bridge.bridge_devices import BridgeSetup
from simjudge.bridge.live_camera import LiveFrame
from simjudge.core.object_tables import Objects
from simjudge.geometry.poses import Pose
from simjudge.nodes.bridge_topics import bridge_topics
from simjudge.sim.capture.capture import CapturedFrame, CapturedImage, FrameExposure
from simjudge.sim.capture.ground_truth import GroundTruth
from simjudge.sim.capture.lock_step import MotionSample
from simjudge.sim.engines.contract import Labels, SceneState
from simjudge.sim.scene.model import Scene
from simjudge.sim.sensors.camera.camera import Camera
from simjudge.sim.sensors.camera.lens import lens_with_field
from simjudge.sim.sensors.camera.rig import MountedCamera
from simjudge.sim.vehicle.vehicle import WHEELS, VehicleState
from simjudge.sim.vehicle.vehicle_messages import JointAngles, WheelFigures

SIZE = (8, 6)
MS = 1_000_000


def frame(stamp):
    state = SceneState(Pose((1, 2, 3)))
    labels = Labels(np.full((6, 8), 1, np.uint8), np.full((6, 8), 7, np.uint16), np.ones((6, 8), np.float32))
    objects = Objects.build([0], [1], [[1, 2, 5, 6]], [7], distance=[2.5], visible=[0.75])
    image = CapturedImage(np.full((6, 8, 3), (10, 20, 30), np.uint8))
    return LiveFrame(
        stamp,
        CapturedFrame(FrameExposure("f", stamp, (state,), state), image, labels, GroundTruth(objects, np.array([16]))),
    )


def main():
    cameras = [
        MountedCamera(name, Camera(name, Path(name), lens_with_field("pinhole", SIZE, 80), (), 10, 0))
        for name in ("camera", "above")
    ]
    scene = Scene("chrono", (), (), class_names={1: "red"})
    wheels = {name: WheelFigures((0.3, 0.1, 0.05), 0.05, 0.03) for name in WHEELS}
    joints = JointAngles((0.1, 0.2, 1, 2, 3, 4), (0,) * 6)
    with bridge_topics(BridgeSetup(scene, cameras, {"above"}, (), {"camera": Pose()}, wheels), 0) as topics:
        time_ns = 0
        while topics.ok() and topics.latest_command() is None:
            time_ns += 20 * MS
            pose = Pose((time_ns / 1e9, 0, 0))
            state = VehicleState(time_ns / 1e9, pose, (1, 0, 0), (0, 0, 0), (0, 0, 0), 0, (0,) * 4)
            topics.motion(MotionSample(time_ns, state), joints)
            for camera in cameras:
                topics.frame(camera.name, frame(time_ns))
            time.sleep(0.05)
        print(topics.latest_command(), flush=True)


main()
