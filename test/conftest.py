"""What all tests share: a ROS domain that no other test on this machine uses at the same time; Ctrl-C that counts."""

import fcntl
import signal
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings

# A busy machine is no failure: nothing here is judged by how long it takes.
settings.register_profile("simjudge", deadline=None)
settings.load_profile("simjudge")

# What is started in the background is told to ignore Ctrl-C, and would tell so the processes that tests send it to.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Above 101, ports may collide with those that Linux hands out.
DOMAINS = range(1, 102)


@pytest.fixture
def ros_domain():
    folder = Path(tempfile.gettempdir()) / "simjudge_ros_domains"
    folder.mkdir(exist_ok=True)
    for number in DOMAINS:
        with (folder / f"{number}.lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue
            yield number
            return
    pytest.fail("all ROS domains are in use")
