"""A simulated camera that rides where the real one does, as images and poses come in."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Mapping
from pathlib import Path
from threading import Thread
from typing import Any, NamedTuple

from simjudge.core.errors import SimjudgeError
from simjudge.core.names import stamp_to_name
from simjudge.data.rosbag2.interfaces import CAMERA
from simjudge.geometry.poses import PoseNoise
from simjudge.geometry.trajectories import MotionLimits, TrajectoryInterpolator
from simjudge.ros.node_interfaces import NODES
from simjudge.ros.simulation_settings import ReplaySettings
from simjudge.sim.capture.camera_poses import CameraPath, camera_mount, carrying_vehicle, parse_pose
from simjudge.sim.capture.capture import Capture, exposure_at, scripted_bodies
from simjudge.sim.capture.ground_truth import Labelling
from simjudge.sim.capture.replay_plan import exposure_span
from simjudge.sim.engines.contract import Engine
from simjudge.sim.engines.registry import make_engine
from simjudge.sim.scene.scene_changes import read_replay_scene
from simjudge.sim.sensors.camera.camera_file import read_camera
from simjudge.sim.sensors.camera.rig import MountedCamera

from .diagnostics import OK, WARN, TaskState, ThroughputCounter
from .image_input import ImageInput
from .messages import describe_message, message_stamp
from .parameters import settings_parameters
from .pose_input import PoseInput
from .runtime import SimjudgeNode, declared_subscription, run_node, wait_for_subscriptions
from .simulated_car import SimulatedCamera

_DEPTH = 100  # Images that the middleware keeps
_DROP_PERIOD = 1.0  # Seconds between drops of old poses
_POLL = 0.02  # Seconds between looks for an image that has poses
_KEPT_NS = 30_000_000_000  # Nanoseconds of poses that are kept for images that come late


class _PendingFrame(NamedTuple):
    """A real frame that waits for its poses: its stamp, when it came, and how to name it."""

    stamp: int
    arrived: float
    place: str


class ReplayNode(SimjudgeNode):
    """Sees in a scene what a real camera sees: image[/compressed] or camera_info, and poses in; camera/... out."""

    NAME = "replay_node"
    INTERFACE = NODES["replay_node"]
    PARAMETERS = settings_parameters(ReplaySettings)

    def __init__(self) -> None:
        super().__init__()
        given = self.settings
        self._camera = read_camera(given["camera"])
        self._limits = MotionLimits(given["max_gap"], given["max_speed"], math.radians(given["max_turn"]))
        self._alignment = parse_pose("align", given["align"])
        noise = PoseNoise(math.radians(given["noise_angle"]), given["noise_position"])
        self._noise = noise if noise.angle or noise.position else None
        table = Path(given["cones"]) if given["cones"] else None
        scene = read_replay_scene(given["scene"], table, given["cone_kinds"] or None, self._alignment, given["seed"])
        mount = given["mount"] or None
        self._mount, seated = camera_mount(carrying_vehicle(given["vehicle"] or None, mount, scene), mount)
        self._engine: Engine = make_engine(given["engine"], scene)
        labelling = Labelling(given["min_size"], given["min_visible"])
        self._capture = Capture(self._engine, self._camera, labelling, given["seed"])
        self._offset, self._around = round(given["time_offset"] * 1e9), exposure_span(self._camera)
        self._throughput = ThroughputCounter()
        self._skipped = 0
        self._waiting: deque[_PendingFrame] = deque()
        self._start: int | None = None
        self._every, self._stopped = bool(given["every_frame"]), False
        self._forgot = time.monotonic()
        # Nothing of a recording may be lost on the way; a live image may.
        reliability = "reliable" if self._every else "auto"
        mounted = MountedCamera(CAMERA, self._camera)
        frame_id = given["frame_prefix"] + given["frame_id"]
        self._out = SimulatedCamera(self, mounted, scene.class_names, frame_id=frame_id, reliability=reliability)
        self._poses = PoseInput(self, self._limits, self._lose)
        self._input = self._listen()
        self.get_logger().info(f"camera {self._camera.name} {seated}, in {scene.name}; {self._engine.variant}")
        self.diagnostics.add_task("replay", self._report)
        self._thread = Thread(target=self._work, name="replaying", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Count what is not finished."""
        self._stopped = True
        self._thread.join()
        while self._waiting:
            place = self._waiting.popleft().place
            if self._every:
                self._lose("images that still waited when the node was ended", place)
            else:
                self._skipped += 1
        self._engine.close()

    def counts(self) -> Mapping[str, int]:
        """Images (or camera_infos) that came, those that were rendered, and those that were not."""
        return {
            f"{self.settings['trigger']} messages received": self._throughput.received,
            "poses received": self._poses.received,
            "rendered": self._throughput.done,
            "skipped for a newer one": self._skipped,
            "not rendered": self._throughput.received - self._throughput.done - self._skipped,
            "lost before arrival": 0 if self._input is None else self._input.lost,
        }

    @property
    def pending(self) -> int:
        """Images that wait."""
        return len(self._waiting)

    @property
    def drain_seconds(self) -> float:
        """In live work nothing is owed to images that wait."""
        return float(self.settings["drain"]) if self._every else 0.0

    def _listen(self) -> ImageInput | None:
        """Subscribe to what tells that the real camera took an image."""
        if self.settings["trigger"] == "image":
            taken = ImageInput(self, "image", self._take, depth=_DEPTH, on_lost=self._lost)
            mine = {self.resolve_topic_name(name) for name in ("camera/image_raw", "camera/image_raw/compressed")}
            loop = mine & set(taken.topic.split(" or "))
            if loop:
                raise SimjudgeError(f"{min(loop)} is both taken and published; remap one of them")
            return taken
        subscription = declared_subscription(self, "camera_info", self._take)
        if subscription.topic_name == self.resolve_topic_name("camera/camera_info"):
            raise SimjudgeError(f"{subscription.topic_name} is both taken and published; remap one of them")
        return None

    def _take(self, message: Any) -> None:
        self._throughput.received += 1
        self._waiting.append(_PendingFrame(message_stamp(message), time.monotonic(), describe_message(message)))

    def _lost(self, topic: str, count: int) -> None:
        """Images that never arrived; in live work a few always do not."""
        if self._every:
            self._lose("images lost on the way here", topic, count)

    def _work(self) -> None:
        try:
            wait_for_subscriptions(self, self.settings["wait_for"], self.settings["wait_timeout"])
            while not self._stopped:
                found = self._next()
                if found is not None:
                    self._replay(*found)
                    continue
                with self._poses.change:
                    self._poses.change.wait(_POLL)
        except Exception as error:  # noqa: BLE001 - handed to the main thread, which raises it
            self.fail(error)

    def _next(self) -> tuple[_PendingFrame, TrajectoryInterpolator] | None:
        """The image to work on: the first that waits, or the newest that has poses."""
        self._forget()
        every = self._every
        for item in list(self._waiting)[:1] if every else reversed(list(self._waiting)):
            at = item.stamp + self._offset
            found = self._poses.poses_between(at - self._around[0], at + self._around[1])
            if isinstance(found, TrajectoryInterpolator):
                self._waiting.remove(item)
                while not every and self._waiting and self._waiting[0].stamp < item.stamp:
                    self._waiting.popleft()
                    self._skipped += 1
                return item, found
            patient = time.monotonic() - item.arrived < self.settings["wait"] and not self.draining
            if found is None and patient:
                continue
            self._waiting.remove(item)
            kind = "that no poses came for" if found is None else found
            self._lose(f"images {kind}", item.place)
        return None

    def _forget(self) -> None:
        newest = self._poses.newest_stamp()
        if newest is not None and time.monotonic() - self._forgot > _DROP_PERIOD:
            self._forgot = time.monotonic()
            oldest = min((item.stamp + self._offset for item in list(self._waiting)), default=newest)
            self._poses.drop_before(min(newest - _KEPT_NS, oldest - self._around[0]))

    def _replay(self, item: _PendingFrame, poses: TrajectoryInterpolator) -> None:
        name = stamp_to_name(item.stamp)
        path = CameraPath(poses, self._mount, self._alignment, self._offset, self._noise, self.settings["seed"])
        self._start = item.stamp if self._start is None else self._start
        bodies_at = scripted_bodies(self._capture.engine.scene, self._start)
        exposure = exposure_at(self._camera, item.stamp, name, lambda stamps: path.in_scene(stamps, name), bodies_at)
        frame = self._capture.capture(exposure)
        self._out.publish(item.stamp, frame.image, frame.truth.objects, frame.labels, name, frame.depth)
        self._throughput.add(time.monotonic() - item.arrived)

    def _lose(self, kind: str, where: str, count: int = 1) -> None:
        self.lose(kind, where, count)
        self._throughput.dropped += count

    def _report(self) -> TaskState:
        newest = self._poses.newest_stamp()
        values = self._throughput.diagnostic_values()
        values["waiting"] = len(self._waiting)
        values["skipped for a newer one"] = self._skipped
        values["poses"] = f"{self._poses.received} from {self._poses.topic}"
        values["newest pose (s)"] = "none yet" if newest is None else f"{newest / 1e9:.3f}"
        for kind, count in list(self.losses.counts.items()):
            values[kind] = count
        if newest is None and self._throughput.received:
            return TaskState(WARN, self._without_poses(), values)
        if lost := self.recent_losses:
            return TaskState(WARN, lost, values)
        return TaskState(OK, f"replaying {self._out.published} images so far", values)

    def _without_poses(self) -> str:
        kind = self.settings["pose_type"]
        if not self._poses.received:
            return f"no poses come on {self._poses.topic} (pose_type {kind}); remap poses, or set pose_type"
        return f"{self._poses.topic} has no way from parent to child frame yet: see the parameters parent and child"


def main() -> None:
    """The executable."""
    run_node(ReplayNode)


if __name__ == "__main__":
    main()
