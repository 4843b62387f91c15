"""The topics of a simulated car and its cameras: clock, odometry, images, labels and more out, commands in.

    camera = SimulatedCamera(node, MountedCamera("camera", read_camera("art1")), scene.class_names)
    camera.publish(stamp, frame.image, frame.truth.objects, frame.labels)

`publish` may be called from any thread. Ground truth and camera_info always go out; images and label images are made
into messages only where somebody subscribes. QoS is that of a real camera's topics (see `qos.image_qos`) but for the
ground truth, which is reliable.
"""

from __future__ import annotations

import time
from array import array
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from threading import Condition
from typing import Any

from rclpy.publisher import Publisher
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import CompressedImage, Image
from simjudge_msgs.msg import Box, ClassName, LabelledObject, LabelledObjectArray
from std_msgs.msg import Header

from simjudge.core.errors import SimjudgeError
from simjudge.core.images import EncodedImage, encode_jpeg
from simjudge.core.names import stamp_to_name
from simjudge.core.object_tables import Objects
from simjudge.data.rosbag2.image_messages import format_name
from simjudge.data.rosbag2.interfaces import optical_frame
from simjudge.geometry.poses import Pose
from simjudge.sim.capture.capture import Capture, CapturedFrame, CapturedImage
from simjudge.sim.capture.ground_truth import Labelling
from simjudge.sim.capture.lock_step import FrameEvent
from simjudge.sim.driving.manual import PEDALS, ManualDriver, WantedMotion, input_converter
from simjudge.sim.engines.contract import Engine, Labels
from simjudge.sim.sensors.camera.depth_filters import DepthImage, depth_message_fields
from simjudge.sim.sensors.camera.rig import MountedCamera
from simjudge.sim.sensors.sensor_messages import LabelImage, label_message_fields
from simjudge.sim.vehicle.vehicle import Command, Vehicle, VehicleState
from simjudge.sim.vehicle.vehicle_messages import (
    BASE,
    BODY_LINK,
    DESCRIPTION_TOPIC,
    JOINTS_TOPIC,
    ODOMETRY_TOPIC,
    FrameLink,
    Frames,
    JointAngles,
    JointTracker,
    VehicleMessages,
    other_odometry,
    robot_description,
    wheel_links,
)

from .messages import camera_info_message, describe_message, image_message, make_header, message_stamp
from .runtime import (
    SimjudgeNode,
    camera_publisher,
    create_publisher,
    declared_publisher,
    declared_subscription,
    message_class,
)


class SimulatedCar:
    """Publishes how a simulated car moves; from any thread."""

    def __init__(
        self,
        node: SimjudgeNode,
        mounts: Mapping[str, Pose],
        cameras: Collection[str],
        frames: Frames,
        vehicle: Vehicle | None = None,
        others: Iterable[str] = (),
    ) -> None:
        """Create the publishers.

        Args:
            node: that publishes.
            mounts: poses of the sensors in base_link, by name.
            cameras: names of those that are cameras.
            frames: names of coordinate frames.
            vehicle: whose description, joints and wheels are published; None: none are.
            others: names of the scene's cars, each with odometry and a frame of its own.
        """
        self._messages = VehicleMessages(message_class, frames)
        self._mounts, self._cameras = mounts, cameras
        self._clock = declared_publisher(node, "/clock")
        self._odometry = declared_publisher(node, ODOMETRY_TOPIC)
        self._transforms = declared_publisher(node, "/tf")
        self._fixed = declared_publisher(node, "/tf_static")
        self._node, self._vehicle = node, vehicle
        self._others = {
            name: (
                create_publisher(node, node.INTERFACE.publisher(ODOMETRY_TOPIC)._replace(topic=other_odometry(name))),
                VehicleMessages(message_class, frames._replace(base=f"{name}/{BASE}")),
            )
            for name in others
        }
        if vehicle is not None:
            self._tracker = JointTracker(vehicle)
            self.publish_description(robot_description(vehicle, mounts, cameras))

    def publish_description(self, text: str) -> None:
        """Publish the car as URDF, for all who come, and create the topic of its joints."""
        self._joints = declared_publisher(self._node, JOINTS_TOPIC)
        self._description = declared_publisher(self._node, DESCRIPTION_TOPIC)
        self._description.publish(self._messages.description(text))

    def publish_static_transforms(self, stamp: int, links: Iterable[FrameLink] = ()) -> None:
        """Publish what does not move: the map in which the odometry is, and where the sensors sit on the car."""
        body = links if self._vehicle is None else (BODY_LINK,)
        self._fixed.publish(self._messages.fixed(stamp, self._mounts, self._cameras, body))

    def publish_camera(self, stamp: int, name: str, pose: Pose) -> None:
        """Publish where a camera is that follows the car."""
        self._transforms.publish(self._messages.placed(stamp, {optical_frame(name): pose}))

    def publish_clock(self, time: int) -> None:
        """Publish the time alone (time: nanoseconds)."""
        message = Clock()
        message.clock.sec, message.clock.nanosec = divmod(time, 1_000_000_000)
        self._clock.publish(message)

    def publish_state(
        self, time: int, state: VehicleState, joints: JointAngles | None = None, links: Iterable[FrameLink] = ()
    ) -> None:
        """Publish the time (nanoseconds), and how the car and its wheels move then."""
        self.publish_clock(time)
        self._odometry.publish(self._messages.odometry(time, state))
        if self._vehicle is None:
            if joints is not None:
                self._joints.publish(self._messages.joints(time, joints))
            self._transforms.publish(self._messages.moving(time, state, links))
            return
        joints = self._tracker.update(time / 1e9, state)
        self._joints.publish(self._messages.joints(time, joints))
        self._transforms.publish(self._messages.moving(time, state, wheel_links(self._vehicle, joints)))

    def publish_others(self, time: int, states: Mapping[str, VehicleState]) -> None:
        """Publish how the scene's cars move, by name (time: nanoseconds)."""
        for name, state in states.items():
            odometry, messages = self._others[name]
            odometry.publish(messages.odometry(time, state))
            self._transforms.publish(messages.moving(time, state))


_WAKE = 0.2  # Seconds between looks whether waiting is given up


class VehicleInputs:
    """Takes commands from a topic; they are asked for on another thread.

    Attributes:
        regulates: whether a speed is asked for, or a joystick moved: what the car does follows from its motion, and it
            brakes half a simulated second after the last message.
    """

    def __init__(self, node: SimjudgeNode, topic: str, vehicle: Vehicle | None = None) -> None:
        """Subscribe (vehicle: the car; None where only pedals and steering are taken)."""
        self.received = 0
        self._node, self._changed = node, Condition()
        self._latest: tuple[int, Command | WantedMotion] | None = None
        kind = node.settings["input_type"]
        fields = message_class(kind).get_fields_and_field_types()
        self.regulates, self._stamped = not set(PEDALS) <= set(fields), "header" in fields
        if self.regulates and vehicle is None:
            raise SimjudgeError(f"parameter input_type: {kind} has no {', '.join(PEDALS)}")
        self._convert = input_converter(kind, fields, vehicle.wheelbase if vehicle else 0.0)
        self._vehicle, self._now = vehicle, 0.0
        self._driver = ManualDriver(vehicle) if vehicle else None
        self._topic = node.resolve_topic_name(topic)
        declared_subscription(node, topic, self._take)

    def latest(self, state: VehicleState | None = None) -> Command | None:
        """What the last message asks for now, None before the first."""
        with self._changed:
            self._now = state.time if state else 0.0
            if self._latest is None:
                return None
            asked = self._latest[1]
            if isinstance(asked, Command) and not self.regulates:
                return asked
            return self._driver.command(state) if self._driver and state else None

    def wait_for_answer(
        self, stamp: int, seconds: float, given_up: Callable[[], bool], state: VehicleState, before: int
    ) -> Command | None:
        """Wait for the command that answers a frame: not stamped before it, or the next of a type without a header."""
        end = time.monotonic() + seconds
        with self._changed:
            self._now = state.time
            while not given_up():
                stamped = self._latest is not None and (self._latest[0] >= stamp or self._latest[0] == 0)
                if stamped if self._stamped else self.received > before:
                    return self.latest(state)
                left = end - time.monotonic()
                if left <= 0:
                    return None
                self._changed.wait(min(left, _WAKE))
        return None

    def clear(self) -> None:
        """Commands so far were meant for something else."""
        with self._changed:
            self._latest, self._now = None, 0.0
            self._driver = ManualDriver(self._vehicle) if self._vehicle else None

    def _take(self, message: Any) -> None:
        try:
            asked = self._convert(message)
        except SimjudgeError as error:
            where = describe_message(message, self._topic) if self._stamped else self._topic
            self._node.losses.add("commands that make no sense, not obeyed", f"{where}: {error}")
            return
        with self._changed:
            self.received += 1
            self._latest = (message_stamp(message) if self._stamped else 0, asked)
            if self._driver and self.regulates:
                self._driver.ask(asked, self._now)
            self._changed.notify_all()


_JPEG_QUALITY = 95  # JPEG quality of compressed images, percent


class SimulatedCamera:
    """Publishes what a simulated camera sees."""

    def __init__(
        self,
        node: SimjudgeNode,
        mounted: MountedCamera,
        class_names: Mapping[int, str],
        *,
        frame_id: str = "",
        reliability: str = "auto",
    ) -> None:
        self.published = 0
        self._node, self._name, self._reliability = node, mounted.name, reliability
        self._frame_id = frame_id or optical_frame(mounted.name)
        self._size = mounted.camera.lens.size
        self._classes = [ClassName(id=number, name=name) for number, name in sorted(class_names.items())]
        self._names = dict(class_names)
        self._calibration = mounted.calibration()
        self._image = self._publisher("image_raw")
        self._compressed = self._publisher("image_raw/compressed")
        self._info = self._publisher("camera_info")
        self._semantic = self._publisher("semantic")
        self._instance = self._publisher("instance")
        self._truth = self._publisher("ground_truth")
        self._depth, self._depth_info = None, None
        if mounted.camera.depth is not None:
            self._depth, self._depth_info = self._publisher("depth/image_raw"), self._publisher("depth/camera_info")

    def publish(
        self,
        stamp: int,
        image: CapturedImage | None,
        objects: Objects,
        labels: Labels | None = None,
        frame_name: str = "",
        depth: DepthImage | None = None,
    ) -> None:
        """Publish one frame.

        `stamp`: nanoseconds, 0 or more, of all its messages; `image`: the image; None: none was made, and none is
        published. A JPEG that the camera's chain ends in is published as it is; else a JPEG of quality 95 is made where
        somebody subscribes to the compressed topic; `objects`: the ground truth; all rows are taken as this frame's.
        Boxes in pixels, as in `frames`; `labels`: class and instance images; None: neither is published; `frame_name`:
        what the frame is called; by its stamp if not given; `depth`: the depth image, metres; None where the camera has
        none.
        """
        header = self.header(stamp)
        # Labels first: who waits for the image of a stamp then has all of it.
        self._truth.publish(self._truth_message(header, objects, frame_name or stamp_to_name(stamp)))
        info = camera_info_message(self._calibration)
        info.header = header
        self._info.publish(info)
        if depth is not None and self._depth is not None and self._depth_info is not None:
            self._depth_info.publish(info)
            if self._depth.get_subscription_count():
                self._depth.publish(_depth_message(depth, header))
        if labels is not None and self._semantic.get_subscription_count():
            self._semantic.publish(_label_message("semantic", labels.class_id, header))
        if labels is not None and self._instance.get_subscription_count():
            self._instance.publish(_label_message("instance", labels.instance, header))
        if image is not None and self._compressed.get_subscription_count():
            self._compressed.publish(_compressed_image(image, header))
        if image is not None and self._image.get_subscription_count():
            self._image.publish(image_message(image.channels, header))
        self.published += 1

    @property
    def image_subscriber_count(self) -> int:
        """How many subscriptions the images have, raw and compressed."""
        return self._image.get_subscription_count() + self._compressed.get_subscription_count()

    @property
    def subscriber_count(self) -> int:
        """How many subscriptions all its topics have."""
        ends = (
            self._image,
            self._compressed,
            self._info,
            self._semantic,
            self._instance,
            self._truth,
            self._depth,
            self._depth_info,
        )
        return sum(end.get_subscription_count() for end in ends if end is not None)

    def _publisher(self, topic: str) -> Publisher[Any]:
        return camera_publisher(self._node, self._name, topic, self._reliability)

    def header(self, stamp: int) -> Header:
        """The header of a frame's messages (stamp: nanoseconds)."""
        return make_header(stamp, self._frame_id)

    def _truth_message(self, header: Header, objects: Objects, frame_name: str) -> LabelledObjectArray:
        width, height = self._size
        out = LabelledObjectArray(header=header, frame_name=frame_name, image_width=width, image_height=height)
        out.class_names = self._classes
        columns = (objects.class_id, objects.box, objects.instance, objects.distance, objects.visible)
        rows = zip(*(column.tolist() for column in columns), strict=True)
        out.objects = [
            LabelledObject(
                class_id=number,
                class_name=self._names.get(number, ""),
                box=Box(x0=x0, y0=y0, x1=x1, y1=y1),
                instance_id=instance,
                distance=distance,
                visible=visible,
            )
            for number, (x0, y0, x1, y1), instance, distance, visible in rows
        ]
        return out


def _label_message(kind: str, values: LabelImage, header: Header) -> Image:
    fields = label_message_fields(kind, values)
    data = array("B", fields.pop("data").tobytes())
    return Image(header=header, data=data, **fields)


def _depth_message(depth: DepthImage, header: Header) -> Image:
    fields = depth_message_fields(depth)
    data = array("B", fields.pop("data").tobytes())
    return Image(header=header, data=data, **fields)


def _compressed_image(image: CapturedImage, header: Header) -> CompressedImage:
    encoded = image.encoded or EncodedImage(encode_jpeg(image.channels, _JPEG_QUALITY), ".jpg")
    return CompressedImage(header=header, format=format_name(encoded.suffix), data=array("B", encoded.data))


class SimCameras:
    """Takes and publishes frames.

    Attributes:
        driving: the topics of the camera that drives.
    """

    def __init__(
        self,
        node: SimjudgeNode,
        engine: Engine,
        cameras: Sequence[MountedCamera],
        seed: int,
        reliability: str,
        frame_prefix: str = "",
    ) -> None:
        self.cameras = cameras
        names = engine.scene.class_names
        self._captures = {
            camera.name: Capture(engine, camera.camera, Labelling(), camera.noise_seed(seed)) for camera in cameras
        }
        self._topics = {
            camera.name: SimulatedCamera(
                node, camera, names, frame_id=frame_prefix + optical_frame(camera.name), reliability=reliability
            )
            for camera in cameras
        }
        self._following = {camera.name for camera in cameras if camera.follow is not None}
        self.driving = self._topics[cameras[0].name]

    @property
    def published(self) -> int:
        """Frames so far, of all cameras."""
        return sum(topic.published for topic in self._topics.values())

    def restart(self) -> None:
        """Begin a new drive: automatic exposure knows nothing of the last one."""
        for capture in self._captures.values():
            capture.metered = None

    def drives(self, event: FrameEvent) -> bool:
        """Whether a frame is one of the camera that drives."""
        return event.camera == self.cameras[0].name

    def publish(self, event: FrameEvent, offset: int, car: SimulatedCar) -> CapturedFrame | None:
        """Take a frame and publish it; one of a camera that does not drive is made only where somebody looks."""
        topics, stamp = self._topics[event.camera], offset + event.stamp
        if event.camera in self._following:
            car.publish_camera(stamp, event.camera, event.exposure.middle.camera)
        if not self.drives(event) and not topics.subscriber_count:
            return None
        frame = self._captures[event.camera].capture(event.exposure, image=topics.image_subscriber_count > 0)
        topics.publish(stamp, frame.image, frame.truth.objects, frame.labels, depth=frame.depth)
        return frame
