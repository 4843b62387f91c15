"""Exit codes of the command, of the nodes and of the runs of a graph: the same everywhere."""

from __future__ import annotations

EXIT_OK = 0
"""The work is done."""
EXIT_FAILED = 1
"""An error that the user can act on; one line on stderr says which."""
EXIT_USAGE = 2
"""The request itself makes no sense."""
EXIT_LOST = 3
"""The work is done, and pieces of the input were left out; warnings on stderr count them."""
EXIT_GAP = 4
"""The work is done, and a gap is as large as `--fail-on` allows none to be. Losses are said, but do not change it."""
EXIT_STOPPED = 130
"""Stopped by Ctrl-C: 128 + SIGINT, as shells have it."""

DONE = (EXIT_OK, EXIT_LOST)
"""The codes of work that is done."""
