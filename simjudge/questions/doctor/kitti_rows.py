"""Label files of KITTI's rows beside clouds that simjudge reads without them, as Formula Student's FSKITTI has them."""

from __future__ import annotations

from pathlib import Path

from simjudge.core.errors import SimjudgeError
from simjudge.core.text import read_text
from simjudge.questions.doctor.findings import quoted

_COLUMNS = (15, 16)
"""Values of a row of KITTI: class, 3 of the picture's object, 4 of its box, 3 sizes, 3 of its place, yaw; a score."""


def count_kitti_rows(path: Path) -> int:
    """Count the label files in PATH/labels whose first row is one of KITTI's."""
    return sum(_is_kitti(file) for file in sorted((path / "labels").glob("*.txt")))


def kitti_rows_note(path: Path) -> tuple[str, str]:
    """What to say of such files, and the command that makes a recording of them.

    Returns:
        Note and command; the command is empty where the folder is not in FSKITTI's layout. Both are empty where there
        are no such files.
    """
    count = count_kitti_rows(path)
    if not count:
        return "", ""
    note = f"{count} files of KITTI's rows in labels/: boxes in space, which this layout does not tie to the clouds"
    known = (path / "points").is_dir() and (path / "metadata.json").is_file()
    return note, f"python scripts/formula_drive.py {quoted(path)} made" if known else ""


def _is_kitti(file: Path) -> bool:
    try:
        words = read_text(file).strip().partition("\n")[0].split()
    except SimjudgeError:
        return False
    if len(words) not in _COLUMNS or words[0].replace(".", "").isdigit():
        return False
    try:
        return bool([float(word) for word in words[1:]])
    except ValueError:
        return False
