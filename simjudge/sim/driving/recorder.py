"""A drive as one recording that the judge reads as it is: images, ground truth, detections, odometry, transforms."""

from __future__ import annotations

from dataclasses import replace

from simjudge.data.rosbag2.interfaces import standard_types
from simjudge.data.rosbag2.live_recording import MessageRecording
from simjudge.sim.capture.camera_record import CameraRecorder, fixed_mounts
from simjudge.sim.capture.lock_step import MotionSample
from simjudge.sim.capture.sensor_feed import SensorBatch
from simjudge.sim.capture.sensor_record import SensorMessages
from simjudge.sim.driving.closed_loop import ClosedLoop, DriveEvent, DrivenCommand, RecordedFrame
from simjudge.sim.sensors.camera.camera_messages import TF_TOPIC
from simjudge.sim.sensors.sensor_spec import CAR
from simjudge.sim.vehicle.car_joints import BODY_LINK, JointTracker, wheel_links
from simjudge.sim.vehicle.robot_description import robot_description
from simjudge.sim.vehicle.vehicle_messages import (
    DESCRIPTION_TOPIC,
    INPUT_TOPIC,
    JOINTS_TOPIC,
    MAP_FRAME,
    ODOMETRY_TOPIC,
    Frames,
    VehicleMessages,
)


class DriveRecorder:
    """Writes what happens in a closed loop; everything at the simulated time at which it was there to be recorded."""

    def __init__(self, recording: MessageRecording, loop: ClosedLoop, *, images: bool = True) -> None:
        """Begin with the transforms that stay: the poses of the sensors on the car."""
        self._recording, self._loop, self._images = recording, loop, images
        types = standard_types().types
        self._car = VehicleMessages(lambda name: types[name], Frames(map=MAP_FRAME))
        self._tracker = JointTracker(loop.vehicle)
        self._cameras = {
            each.name: CameraRecorder(recording, each, loop.engine.scene, self._car) for each in loop.cameras
        }
        start = round(loop.engine.time * 1e9)
        self._sensors = SensorMessages(lambda name: types[name], loop.sensors, loop.engine.scene.class_names)
        mounts = {
            **fixed_mounts(loop.vehicle.mounts, loop.cameras),
            **{spec.name: spec.mount for spec in loop.sensors if spec.body == CAR},
        }
        fixed = self._car.fixed(start, mounts, self._cameras, [BODY_LINK])
        recording.write("/tf_static", start, fixed, latched=True)
        described = self._car.description(robot_description(loop.vehicle, mounts, self._cameras))
        recording.write(f"/{DESCRIPTION_TOPIC}", start, described, latched=True)

    def record(self, event: DriveEvent) -> None:
        """Write an event of the loop."""
        if isinstance(event, MotionSample):
            self._recording.write(f"/{ODOMETRY_TOPIC}", event.time, self._car.odometry(event.time, event.state))
            joints = self._tracker.update(event.time / 1e9, event.state)
            links = wheel_links(self._loop.vehicle, joints)
            self._recording.write(f"/{JOINTS_TOPIC}", event.time, self._car.joints(event.time, joints))
            self._recording.write(TF_TOPIC, event.time, self._car.moving(event.time, event.state, links))
        elif isinstance(event, SensorBatch):
            for topic, _, message in self._sensors.messages(event.events):
                self._recording.write(f"/{topic}", event.time, message)
        elif isinstance(event, RecordedFrame):
            self._cameras[event.event.camera].record(event.event.time, event.captured)
        elif isinstance(event, DrivenCommand):
            self._recording.write(f"/{INPUT_TOPIC}", event.time, self._car.input(event.time, event.command))
        else:
            time = event.event.time
            captured = event.captured if self._images else replace(event.captured, image=None)
            self._cameras[event.event.camera].record(time, captured, event.detections)
