"""`subprocess` for tests: a process of Python is a fork of one that has imported already what takes seconds.

It is a real process in all else, with its own streams, folder, environment, signals and exit code. What tests how
a process starts, or what it imports, takes the module `subprocess` itself.
"""

import atexit
import inspect
import json
import os
import select
import socket
import subprocess
import sys
from functools import cache
from pathlib import Path
from subprocess import DEVNULL, PIPE, STDOUT, CalledProcessError, CompletedProcess, TimeoutExpired

__all__ = [
    "DEVNULL",
    "PIPE",
    "STDOUT",
    "CalledProcessError",
    "CompletedProcess",
    "Popen",
    "TimeoutExpired",
    "run",
    "simjudge",
]

SIMJUDGE = (sys.executable, "-m", "simjudge")
"""The command: by the interpreter that runs the tests, for colcon installs the script elsewhere."""
NODES = "camera_bridge detection drive ground_truth objects play record replay sim validation"
IMPORTED = [f"simjudge.nodes.{name}_node" for name in NODES.split()]
IMPORTED += [f"simjudge.questions.{name}.command" for name in ("compare", "objects", "policies")]
IMPORTED += ["rclpy.executors", "rosgraph_msgs.msg", "simjudge.commands.app", "simjudge.judging.comparison", "mujoco"]
"""What the server imports before it forks."""
_READ_AT_START = ("PYTHON", "NUMBA", "LD_PRELOAD", "MPL", "OMP_", "OPENBLAS", "LC_", "LANG")
_ENVIRONMENT = dict(os.environ)
_PIPES = ("p2cread", "p2cwrite", "c2pread", "c2pwrite", "errread", "errwrite")
_BINDS = inspect.signature(subprocess.Popen._execute_child)


@cache
def _server():
    """The socket of this process's fork server."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        words = [str(Path(__file__).with_name("fork_server.py")), str(theirs.fileno()), str(os.getpid()), *IMPORTED]
        server = subprocess.Popen([sys.executable, *words], pass_fds=[theirs.fileno()], stdin=DEVNULL, env=_ENVIRONMENT)

    def end():
        ours.close()
        server.wait()

    atexit.register(end)
    return ours


def _fixed(environment):
    """What Python and the libraries read while they start."""
    return {name: value for name, value in environment.items() if name.startswith(_READ_AT_START)}


class Popen(subprocess.Popen):
    """As that of `subprocess`."""

    _answers = None

    def _execute_child(self, *given):
        call = _BINDS.bind(self, *given).arguments
        words, environment = [os.fspath(word) for word in call["args"]], dict(call["env"] or os.environ)
        of_python = words[0] == sys.executable and (words[1] in {"-m", "-c"} or words[1].endswith(".py"))
        alike = of_python and _fixed(environment) == _fixed(_ENVIRONMENT)
        if not alike or call["preexec_fn"] or call["pass_fds"]:
            super()._execute_child(*given)
            return
        files = [call[name] if call[name] != -1 else at for at, name in enumerate(("p2cread", "c2pwrite", "errwrite"))]
        self._answers, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        message = {
            "words": words[1:],
            "cwd": str(Path(call["cwd"] or os.curdir).absolute()),
            "environment": environment,
            "session": call["start_new_session"],
        }
        with theirs:
            socket.send_fds(_server(), [json.dumps(message).encode()], [*files, theirs.fileno()])
        self.pid = json.loads(self._answers.recv(100))
        self._child_created = True
        self._close_pipe_fds(*(call[name] for name in _PIPES))

    def poll(self):
        return self._ended(0) if self._answers else super().poll()

    def _internal_poll(self, *given, **named):
        return self._ended(0) if self._answers else super()._internal_poll(*given, **named)

    def wait(self, timeout=None):
        if not self._answers:
            return super().wait(timeout)
        if self._ended(timeout) is None:
            raise TimeoutExpired(self.args, timeout)
        return self.returncode

    def _ended(self, timeout):
        """The exit code, or None where it runs on for some seconds."""
        if self.returncode is None and select.select([self._answers], [], [], timeout)[0]:
            self.returncode = json.loads(self._answers.recv(100))
            self._answers.close()
        return self.returncode


def run(command, *, input=None, capture_output=False, timeout=None, check=False, **named):  # noqa: A002 - its name there
    """As that of `subprocess`."""
    if capture_output:
        named |= {"stdout": PIPE, "stderr": PIPE}
    if input is not None:
        named["stdin"] = PIPE
    with Popen(command, **named) as process:
        try:
            output, errors = process.communicate(input, timeout)
        except BaseException:
            process.kill()
            raise
    if check and process.returncode:
        raise CalledProcessError(process.returncode, command, output, errors)
    return CompletedProcess(command, process.returncode, output, errors)


def simjudge(*words, **named):
    """Run the command to its end: exit code, output and errors as text."""
    return run([*SIMJUDGE, *map(str, words)], capture_output=True, text=True, **named)
