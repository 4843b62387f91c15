"""The program `simjudge`: one ending for every command, whatever goes wrong and whenever Ctrl-C or SIGTERM comes.

Little is imported here, so that Ctrl-C is listened to before the libraries are loaded.
"""

from __future__ import annotations

import sys

from simjudge.core.errors import SimjudgeError, UsageError, is_interrupt
from simjudge.core.processes import DONE, EXIT_FAILED, EXIT_OK, EXIT_USAGE
from simjudge.terminal.printing import print_nothing_that_steers
from simjudge.terminal.stopping import Stopping


def main() -> None:
    """Run the command line; every expected error is one line on stderr."""
    print_nothing_that_steers()
    stopping = Stopping.listen()
    stopped = False
    code: int = EXIT_OK
    try:
        code = _run()
        stopped = stopping.swallowed or (stopping.received and code not in DONE)
    except BaseException as error:
        stopped = stopping.received or is_interrupt(error)
        if not stopped:
            raise
    if stopped:
        stopping.say_stopped()
        code = stopping.exit_code
    sys.exit(code)


def _check_names() -> None:
    """Refuse to run where names of files cannot be read or written: data sets hold them as UTF-8."""
    encoding = sys.getfilesystemencoding()
    if encoding != "utf-8":
        raise UsageError(f"names of files are taken for {encoding} here; unset PYTHONUTF8, or set LC_ALL=C.UTF-8")
    for argument in sys.argv[1:]:
        if not argument.isascii() and any("\ud800" <= character <= "\udfff" for character in argument):
            raise UsageError(f"{argument!a}: is no UTF-8 text; rename the file")


def _run() -> int:
    """The exit code of a command; expected errors are said."""
    try:
        _check_names()
        from simjudge.commands.app import app  # noqa: PLC0415 - see above

        app()
    except SystemExit as end:
        if is_interrupt(end):  # Typer makes an exit of Ctrl-C
            raise
        return EXIT_OK if end.code is None else end.code if isinstance(end.code, int) else EXIT_FAILED
    except UsageError as error:
        sys.stderr.write(f"error: {error}\n")
        return EXIT_USAGE
    except SimjudgeError as error:
        if is_interrupt(error):
            raise
        sys.stderr.write(f"error: {error}\n")
        return EXIT_FAILED
    except OSError as error:
        if is_interrupt(error):
            raise
        sys.stderr.write(f"error: {error.filename or 'input or output'}: {error.strerror or error}\n")
        return EXIT_FAILED
    return EXIT_OK
