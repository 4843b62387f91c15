"""The signals that ask a program to end."""

from __future__ import annotations

import os
import signal
import stat
from contextlib import suppress

_STREAMS = (0, 1, 2)


def stop_signals() -> tuple[signal.Signals, ...]:
    """SIGINT, SIGTERM, and SIGHUP of a terminal that is closed, unless it is ignored, as below `nohup`."""
    hangup = getattr(signal, "SIGHUP", None)
    heeded = hangup is not None and signal.getsignal(hangup) is not signal.SIG_IGN
    return (signal.SIGINT, signal.SIGTERM, *((hangup,) if heeded and hangup is not None else ()))


def leave_closed_terminal() -> None:
    """Write to nowhere what would go to a terminal that is closed: an error there would cut short what is saved."""
    for stream in _STREAMS:
        with suppress(OSError):
            if stat.S_ISCHR(os.fstat(stream).st_mode) and not os.isatty(stream):
                nowhere = os.open(os.devnull, os.O_RDWR)
                os.dup2(nowhere, stream)
                os.close(nowhere)
