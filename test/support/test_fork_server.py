"""Nothing that tests start outlives them, however they end: a node left behind disturbs the next run."""

import os
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest

CHILD = "import os, sys, time; print(os.getpid(), os.getppid(), flush=True); time.sleep(600)"
ASKER = f"""
import os, signal, sys, time
sys.path.insert(0, sys.argv[1])
from support import processes
processes.IMPORTED = []
child = processes.Popen([sys.executable, "-c", {CHILD!r}], start_new_session=True)
if sys.argv[2] == "copied" and not os.fork():  # holds the asker's socket open
    time.sleep(20)
    os._exit(0)
if sys.argv[2] == "returns":
    sys.exit()
signal.pause()
"""


@pytest.mark.parametrize("how", ["killed", "copied", "returns"])
def test_what_runs_ends_with_who_asked(how):
    asker = subprocess.Popen(
        [sys.executable, "-c", ASKER, str(Path(__file__).parents[1]), how], stdout=subprocess.PIPE, text=True
    )
    with asker:
        pids = [int(word) for word in asker.stdout.readline().split()]
        ends = [os.pidfd_open(pid) for pid in pids]
        if how != "returns":
            asker.send_signal(signal.SIGKILL)
        for end in ends:
            assert select.select([end], [], [], 120)[0]
            os.close(end)
