"""The launch files under the real launch and launch_ros: a program that serves them, and what colcon would install."""

import importlib.util
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

from simjudge.ros.runner import _listens

ROOT = Path(__file__).parents[2]
NODES = (
    "camera_bridge_node",
    "detection_node",
    "drive_node",
    "ground_truth_node",
    "manual_node",
    "objects_node",
    "play_node",
    "record_node",
    "replay_node",
    "sim_node",
    "trials_node",
    "validation_node",
    "watch_node",
)
SERVE = """
import sys
from launch import LaunchContext, LaunchDescription, LaunchService
from launch.actions import IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource

source = PythonLaunchDescriptionSource(sys.argv[1])
if sys.argv[2:] == ["--show-args"]:
    for each in source.get_launch_description(LaunchContext()).get_launch_arguments():
        text = None if each.default_value is None else "".join(part.text for part in each.default_value)
        print(repr((each.name, text, each.description, tuple(each.choices or ()))))
    raise SystemExit
# As `ros2 launch` does: launch files may look at the words.
service = LaunchService(argv=sys.argv[2:])
given = [tuple(word.split(":=", 1)) for word in sys.argv[2:]]
service.include_launch_description(LaunchDescription([IncludeLaunchDescription(source, launch_arguments=given)]))
raise SystemExit(service.run())
"""


def has_launch():
    """Whether launch and launch_ros are installed; the folder launch/ of the checkout is an empty package too."""
    found = importlib.util.find_spec("launch")
    return found is not None and found.origin is not None and importlib.util.find_spec("launch_ros") is not None


def installation(prefix):
    """What colcon makes of the package, as far as launch looks at it."""
    index = prefix / "share/ament_index/resource_index/packages"
    index.mkdir(parents=True)
    (index / "simjudge").write_text("")
    (prefix / "share/simjudge").mkdir()
    programs = prefix / "lib/simjudge"
    programs.mkdir(parents=True)
    for name in NODES:
        (programs / name).write_text(f"#!{sys.executable}\nfrom simjudge.nodes.programs import {name}\n{name}()\n")
        (programs / name).chmod(0o755)
    return prefix


def environment(folder, domain):
    """The variables of a process that launches: an installation, and a ROS domain on this machine only."""
    prefix = installation(folder / "prefix")
    before = os.environ.get("AMENT_PREFIX_PATH")
    return {
        "AMENT_PREFIX_PATH": os.pathsep.join([str(prefix), *([before] if before else [])]),
        "ROS_DOMAIN_ID": str(domain),
        "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST",
        "ROS_LOG_DIR": str(folder / "ros_log"),
    }


def launch_command(name, *words):
    """The command that does what `ros2 launch simjudge NAME.launch.py WORDS` does."""
    return [sys.executable, "-c", SERVE, str(ROOT / f"launch/{name}.launch.py"), *words]


PARENT = """
import sys
from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, ExecuteProcess, GroupAction, IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch_ros.actions import PushRosNamespace

DRIVER = {driver!r}

def generate_launch_description():
    graph = IncludeLaunchDescription(
        PythonLaunchDescriptionSource({file!r}), launch_arguments=list({arguments!r}.items())
    )
    driver = ExecuteProcess(cmd=[sys.executable, "-c", DRIVER], name="driver", output="screen")
    space = [PushRosNamespace(each) for each in {namespaces!r}]
    named = DeclareLaunchArgument("model_name", default_value="")
    return LaunchDescription([named, driver, GroupAction([*space, graph])])
"""
DRIVER = """
import pathlib, sys, time
print("driver", "up", flush=True)
while not pathlib.Path({release!r}).exists():
    time.sleep(0.05)
print("driver", "lived on", flush=True)
"""


def parent_command(folder, name, *words, namespaces=(), **arguments):
    """Launch somebody's launch file: a robot's driver, which ends once FOLDER/release is there, and a graph."""
    given = {key: str(text) for key, text in arguments.items()}
    driver = DRIVER.format(release=str(folder / "release"))
    file = str(ROOT / f"launch/{name}.launch.py")
    path = folder / "robot.launch.py"
    path.write_text(PARENT.format(driver=driver, file=file, arguments=given, namespaces=list(namespaces)))
    return [sys.executable, "-c", SERVE, str(path), *words]


class Run:
    """A graph in a process group of its own, as in a terminal."""

    def __init__(self, runner, folder, domain, graph, *, within=False, **arguments):
        words = [f"{name}:={value}" for name, value in arguments.items()]
        command = [sys.executable, "-m", "simjudge", "run", graph, *words]
        command = command if runner == "run" else launch_command(graph, *words)
        self._log = folder / "log.txt"
        with self._log.open("w") as log:
            self.process = subprocess.Popen(
                command,
                env=os.environ | environment(folder, domain) | {"PYTHONUNBUFFERED": "1"},
                cwd=folder if within else ROOT,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    @property
    def output(self):
        return self._log.read_text()

    def wait_for(self, text, timeout=90):
        end = time.monotonic() + timeout
        while text not in self.output:
            assert self.process.poll() is None, self.output
            assert time.monotonic() < end, self.output
            time.sleep(0.05)

    def wait_until_listening(self, timeout):
        """Wait until all programs of the graph take signals: nodes are up then, or about to be."""
        end, tasks = time.monotonic() + timeout, Path(f"/proc/{self.process.pid}/task")
        nodes = []
        while not nodes or not all(_listens(int(pid)) for pid in nodes):
            assert self.process.poll() is None, self.output
            assert time.monotonic() < end, self.output
            time.sleep(0.2)
            nodes = [pid for task in tasks.iterdir() for pid in (task / "children").read_text().split()]

    def interrupt(self):
        """What the terminal does on Ctrl-C."""
        os.killpg(self.process.pid, signal.SIGINT)

    def end(self, timeout=120):
        assert self.process.wait(timeout) in (0, 3), self.output
        assert "Traceback" not in self.output
        return {
            node: {word: int(count) for count, word in re.findall(r"(\d+) ([a-z_ ]+)", counts)}
            for node, counts in re.findall(r"\[(\w+)(?:\]: |\] +INFO )ended: (.*)", self.output)
        }

    def close(self):
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
