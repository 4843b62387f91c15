"""Two frames of a simulated camera, over and over: the second one comes with a JPEG of its own."""

import threading
import time
from dataclasses import replace

import numpy as np

from simjudge.core.images import EncodedImage, encode_jpeg
from simjudge.core.object_tables import Objects
from simjudge.nodes.runtime import SimjudgeNode, run_node
from simjudge.nodes.simulated_car import SimulatedCamera
from simjudge.ros.node_interfaces import NODES
from simjudge.sim.capture.capture import CapturedImage
from simjudge.sim.engines.contract import Labels
from simjudge.sim.sensors.camera.camera_file import read_camera
from simjudge.sim.sensors.camera.depth_filters import DepthCamera
from simjudge.sim.sensors.camera.rig import MountedCamera

PICTURE = np.random.default_rng(0).integers(0, 256, (720, 1280, 3), np.uint8)
JPEG = encode_jpeg(PICTURE, 30)
LABELS = Labels(
    (np.arange(720 * 1280) % 3).astype(np.uint8).reshape(720, 1280),
    (np.arange(720 * 1280) % 60_001).astype(np.uint16).reshape(720, 1280),
    np.ones((720, 1280), np.float32),
)
DEPTH = np.random.default_rng(1).random((720, 1280), np.float32)
DEPTH[0, :100] = np.nan
BOXES = [[10, 20, 30.5, 40], [-3, 0, 5, 6]]
OBJECTS = Objects.build([0, 0], [1, 2], BOXES, [7, 65_535], distance=[2.3, np.nan], visible=[np.nan, 0.7])


class SimulatedSource(SimjudgeNode):
    NAME = "simulated_source"
    INTERFACE = NODES["replay_node"]

    def __init__(self):
        super().__init__()
        camera = replace(read_camera("art1"), depth=DepthCamera())
        mounted, names = MountedCamera("camera", camera), {1: "red cone", 2: "green cone"}
        self.camera = SimulatedCamera(self, mounted, names, frame_id="lens")
        threading.Thread(target=self.publish_all, daemon=True).start()

    def publish_all(self):
        while not self.ended:
            self.camera.publish(1_500_000_000, CapturedImage(PICTURE), OBJECTS, LABELS, "first", DEPTH)
            with_jpeg = CapturedImage(PICTURE, EncodedImage(JPEG, ".jpg"))
            self.camera.publish(2_000_000_000, with_jpeg, Objects.empty())
            time.sleep(0.5)


if __name__ == "__main__":
    run_node(SimulatedSource)
