"""What killed nodes leave in /dev/shm: Fast DDS takes its segments (35 MB a node) away only where a node can end."""

import fcntl
import re
from pathlib import Path

FOLDER = Path("/dev/shm")  # noqa: S108 - where Fast DDS puts it
SEGMENT = re.compile(r"fastdds_[0-9a-f]{16}")


def segments_of(process):
    """The segments that a process has in its memory; none of a process that is gone."""
    try:
        lines = Path(f"/proc/{process}/maps").read_text().splitlines()
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return set()
    paths = {Path(line.split(maxsplit=5)[5]) for line in lines if "/fastdds_" in line and "deleted" not in line}
    return {path for path in paths if SEGMENT.fullmatch(path.name)}


def remove_orphaned_segments(folder=FOLDER):
    """Remove segments whose owner has died and that no process reads any more; what was removed.

    The owner of a segment holds a lock on the file beside it, from before the segment is made to the end of the
    process: `fastdds shm clean` knows dead ones by that too.
    """
    found = {path for path in folder.glob("fastdds_*") if SEGMENT.fullmatch(path.name)}
    if found:
        found -= set().union(*(segments_of(each.name) for each in Path("/proc").iterdir() if each.name.isdigit()))
    dead = {path for path in found if _is_unlocked(_lock_of(path))}
    for path in dead:
        path.unlink(missing_ok=True)
        _lock_of(path).unlink(missing_ok=True)
    return dead


def _lock_of(segment):
    return segment.with_name(f"{segment.name}_el")


def _is_unlocked(path):
    try:
        with path.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:  # locked, or gone by now
        return False
    return True
