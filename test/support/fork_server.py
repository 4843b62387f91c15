"""A process that has imported what commands and nodes need, and becomes one of them wherever it is asked to.

It is started by `processes`, with the number of a socket, that of the process that asks, and what to import. Each
message there is a command with its surroundings, and brings standard input, output and error, and a socket that is told
the process's number and later its exit code. When the one that asks has ended, however that was, all that runs for it
ends too.
"""

import atexit
import importlib
import json
import os
import random
import runpy
import select
import selectors
import signal
import socket
import sys
import threading
import time
import traceback
from contextlib import suppress
from pathlib import Path

LARGEST = 2**20
GRACE = 10.0  # Seconds that what runs has to end by itself, which a graph needs to end its nodes


def serve(control, asker):
    """Fork for every message; the command and its surroundings, in the fork. `asker`: tells that who asks has ended."""
    answers = {}  # by what tells that the process has ended
    with selectors.DefaultSelector() as selector:
        selector.register(control, selectors.EVENT_READ)
        selector.register(asker, selectors.EVENT_READ)
        while True:
            for key, _ in selector.select():
                if key.fileobj in answers:
                    selector.unregister(key.fileobj)
                    answer, pid = answers.pop(key.fileobj)
                    os.close(key.fileobj)
                    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
                    with suppress(OSError), answer:
                        answer.send(json.dumps(code).encode())
                    continue
                gone = key.fileobj == asker
                message, files, _, _ = (b"", (), 0, "") if gone else socket.recv_fds(control, LARGEST, 4)
                if not message:
                    end_all(answers)
                    os._exit(0)
                answer = socket.socket(fileno=files.pop())
                pid = os.fork()
                if not pid:
                    for each in (control, answer, *(other for other, _ in answers.values())):
                        each.close()
                    for each in (asker, *answers):
                        os.close(each)
                    for number, file in enumerate(files):
                        os.dup2(file, number)
                        os.close(file)
                    return json.loads(message)
                for file in files:
                    os.close(file)
                with suppress(OSError):
                    answer.send(json.dumps(pid).encode())
                end = os.pidfd_open(pid)
                answers[end] = answer, pid
                selector.register(end, selectors.EVENT_READ)


def end_all(answers):
    """End what still runs: asked to first, then killed, with its group where it leads one."""
    for _, pid in answers.values():
        os.kill(pid, signal.SIGTERM)
    until, waiting = time.monotonic() + GRACE, dict(answers)
    while waiting and time.monotonic() < until:
        for end in select.select(list(waiting), [], [], max(until - time.monotonic(), 0.0))[0]:
            del waiting[end]
    for _, pid in waiting.values():
        (os.killpg if os.getpgid(pid) == pid else os.kill)(pid, signal.SIGKILL)


def become(command):
    """Run a command as Python does: a module after -m, code after -c, or a file."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if command["session"]:
        os.setsid()
    streams = (os.fdopen(0, closefd=False), os.fdopen(1, "w", closefd=False))
    sys.stdin, sys.stdout = sys.__stdin__, sys.__stdout__ = streams
    sys.stderr = sys.__stderr__ = os.fdopen(2, "w", buffering=1, errors="backslashreplace", closefd=False)
    os.chdir(command["cwd"])
    for name in os.environ.keys() - command["environment"].keys():
        del os.environ[name]
    os.environ.update(command["environment"])
    random.seed()
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed()
    first, *words = command["words"]
    sys.path[0] = "" if first == "-c" else str(Path.cwd() if first == "-m" else Path(first).resolve().parent)
    sys.argv = [first, *words] if first.endswith(".py") else words
    if first == "-m":
        sys.modules.pop(words[0], None)
        runpy.run_module(words[0], run_name="__main__", alter_sys=True)
    elif first == "-c":
        sys.argv = ["-c", *words[1:]]
        exec(compile(words[0], "<string>", "exec"), vars(sys.modules["__main__"]))  # noqa: S102 - as Python does
    else:
        runpy.run_path(first, run_name="__main__")


def leave(work, *given):
    """End with the exit code of some work, without taking the interpreter down: rclpy crashes there in a fork."""
    code = 0
    try:
        work(*given)
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
        if isinstance(end.code, str):
            sys.stderr.write(f"{end.code}\n")
    except BaseException:  # noqa: BLE001 - as Python ends
        traceback.print_exc()
        code = 1
    threading._shutdown()
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    asker = os.pidfd_open(os.getppid())
    if os.getppid() != int(sys.argv[2]):
        sys.exit()
    for module in sys.argv[3:]:
        with suppress(ImportError):
            importlib.import_module(module)
    leave(become, serve(socket.socket(fileno=int(sys.argv[1])), asker))
