"""Real node processes on real DDS: each test on a domain of its own, on this machine only."""

import os
import signal
import sys
import time
from pathlib import Path

import numpy as np
from shared_memory import remove_orphaned_segments
from support import processes

from simjudge.data.rosbag2.interfaces import standard_types
from simjudge.data.rosbag2.live_recording import LiveRecording
from simjudge.data.rosbag2.recording import Recording
from simjudge.data.rosbag2.storage import RecordingForm

ROOT = Path(__file__).parents[2]
DISCOVERY = 120


class Graph:
    """The ROS graph of one test: processes in it, and one node in the test itself."""

    def __init__(self, folder, domain):
        self.folder, self.domain = folder, domain
        self.environment = os.environ | {
            "ROS_DOMAIN_ID": str(domain),
            "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST",
            "ROS_LOG_DIR": str(folder / "ros_log"),
        }
        self.processes = []
        self._clients = {}
        self._context = self._node = self._executor = None

    def start(self, module, *arguments, environment=None, **parameters):
        """Start a node with parameters, a module of simjudge.nodes or a .py file."""
        given = [piece for name, value in parameters.items() for piece in ("-p", f"{name}:={_yaml(value)}")]
        program = [str(module)] if str(module).endswith(".py") else ["-m", f"simjudge.nodes.{module}"]
        log = (self.folder / f"log_{len(self.processes)}.txt").open("w+")
        process = processes.Popen(
            [sys.executable, *program, *arguments, "--ros-args", *given],
            env=self.environment | (environment or {}),
            stdout=log,
            stderr=processes.STDOUT,
            text=True,
        )
        process.log = log
        self.processes.append(process)
        return process

    def run(self, module, *arguments, timeout=120, environment=None, **parameters):
        """Start a node and wait for its end; exit code and output."""
        process = self.start(module, *arguments, environment=environment, **parameters)
        code = process.wait(timeout)
        return code, self.output(process)

    def refusal(self, module, *arguments, **parameters):
        """Start a node that must refuse to run: the one line that it says itself, among those of DDS."""
        code, output = self.run(module, *arguments, **parameters)
        assert code == 1, output
        assert "Traceback" not in output
        (line,) = (line for line in output.splitlines() if line.startswith("error: "))
        assert line.startswith(f"error: {module}: ")
        return line

    def run_serving(self, module, timeout=120, **parameters):
        """The same, with the test's own node served meanwhile."""
        process = self.start(module, **parameters)
        assert self.until(lambda: process.poll() is not None, timeout), self.output(process)
        self.until(lambda: False, timeout=0.3)
        return process.returncode, self.output(process)

    def output(self, process):
        process.log.flush()
        return Path(process.log.name).read_text()

    def stop(self, process, number=signal.SIGINT, timeout=120):
        """Send a signal and wait; the exit code."""
        process.send_signal(number)
        return process.wait(timeout)

    @property
    def node(self):
        """A node of the test itself, in the same domain."""
        import rclpy  # noqa: PLC0415 - may be absent

        if self._node is None:
            os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"
            self._context = rclpy.Context()
            rclpy.init(context=self._context, domain_id=self.domain)
            self._node = rclpy.create_node("test", context=self._context)
            self._executor = rclpy.executors.SingleThreadedExecutor(context=self._context)
            self._executor.add_node(self._node)
        return self._node

    def listening(self):
        """The subscriptions of the test's own node, as `wait_for` takes them."""
        return [f"{self.node.get_name()} {subscription.topic_name}" for subscription in self.node.subscriptions]

    def until(self, condition, timeout=DISCOVERY):
        """Serve the test's own node until something is true; whether it came to be."""
        _ = self.node
        end = time.monotonic() + timeout
        while not condition():
            if time.monotonic() > end:
                return False
            self._executor.spin_once(timeout_sec=0.05)
        return True

    def call(self, kind, name, request):
        # One client a service: once it has had an answer, no later one is lost.
        client = self._clients.get(name) or self._clients.setdefault(name, self.node.create_client(kind, name))
        assert self.until(client.service_is_ready), f"no service {name}"
        # A service can be ready before it has found the client's end for answers: then the first answer is lost.
        for _ in range(3):
            future = client.call_async(request)
            if self.until(future.done, DISCOVERY / 3):
                return future.result()
        raise AssertionError(f"no answer of {name}")

    def wait_for(self, process, text, timeout=DISCOVERY):
        """Wait until a process has written a text."""
        end = time.monotonic() + timeout
        while text not in self.output(process):
            assert process.poll() is None, self.output(process)
            assert time.monotonic() < end, f"{text!r} not in {self.output(process)!r}"
            time.sleep(0.05)

    def close(self):
        # The own node goes first: Fast DDS 3.2 can crash while a node is destroyed whose shared memory
        # a killed process has left locked (SharedMemChannelResource::release).
        if self._node is not None:
            self._executor.shutdown()
            self._node.destroy_node()
            self._context.shutdown()
        for process in self.processes:
            if process.poll() is None:
                process.kill()
                process.wait()
            process.log.close()
        remove_orphaned_segments()


def _yaml(value):
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return f"[{','.join(map(str, value))}]"
    return str(value)


def write_images(path, count, size=(64, 48), period=100_000_000, topic="/camera/image_raw", storage="mcap"):
    """A recording of raw images, each with its own number in it, and of one text message an image on /note."""
    types = standard_types()
    new = types.types
    recording = LiveRecording(path, RecordingForm(storage))
    for name, kind in ((topic, "sensor_msgs/msg/Image"), ("/note", "std_msgs/msg/String")):
        text, _ = types.generate_msgdef(kind, ros_version=2)
        recording.add_topic(name, kind, (text, types.hash_rihs01(kind)), [])
    width, height = size
    pixels = np.random.default_rng(0).integers(0, 255, height * width * 3, dtype=np.uint8)
    for index in range(count):
        stamp = 10**18 + index * period
        time_type, header_type = new["builtin_interfaces/msg/Time"], new["std_msgs/msg/Header"]
        header = header_type(stamp=time_type(sec=stamp // 10**9, nanosec=stamp % 10**9), frame_id="camera")
        pixels[:4] = np.frombuffer(np.uint32(index).tobytes(), np.uint8)
        image = new["sensor_msgs/msg/Image"](
            header=header, height=height, width=width, encoding="bgr8", is_bigendian=0, step=3 * width, data=pixels
        )
        recording.write(topic, stamp, bytes(types.serialize_cdr(image, "sensor_msgs/msg/Image")))
        note = new["std_msgs/msg/String"](data=f"image {index}")
        recording.write("/note", stamp + 1000, bytes(types.serialize_cdr(note, "std_msgs/msg/String")))
    recording.close()
    return path


def content(path):
    """The messages of a recording: by topic, in order, their bytes, filled up to whole words as DDS does it."""
    recording = Recording(path)
    out = {name: [] for name in recording.topics}
    for message in recording.messages(set(recording.topics)):
        out[message.topic].append(bytes(message.data) + bytes(-len(message.data) % 4))
    assert not recording.losses, recording.losses.lines()
    return out


def add_strange_topics(path):
    """A recording with a topic that can be played, one of an unknown type, and one whose type is another elsewhere."""
    types = standard_types()
    recording = LiveRecording(path)
    text, _ = types.generate_msgdef("std_msgs/msg/String", ros_version=2)
    recording.add_topic("/note", "std_msgs/msg/String", (text, types.hash_rihs01("std_msgs/msg/String")), [])
    recording.add_topic("/alien", "alien_msgs/msg/Thing", ("int32 tentacles\n", "RIHS01_0"), [])
    recording.add_topic("/other", "std_msgs/msg/Bool", ("string yes_or_no\n", "RIHS01_1"), [])
    note = types.types["std_msgs/msg/String"](data="hello")
    recording.write("/note", 10**18, bytes(types.serialize_cdr(note, "std_msgs/msg/String")))
    recording.write("/alien", 10**18, b"\x00\x01\x00\x00\x08\x00\x00\x00")
    recording.write("/other", 10**18, b"\x00\x01\x00\x00\x04\x00\x00\x00yes\x00")
    recording.close()
    return path
