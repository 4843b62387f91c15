"""The folder of a coverage search: who may write it, its poses, and whether its pictures are those predicted."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from simjudge.core.errors import SimjudgeError
from simjudge.core.files import atomic_file, output_path
from simjudge.core.frames import FrameSet
from simjudge.questions.cover.candidates import Candidate
from simjudge.questions.cover.result import COVER
from simjudge.sim.capture.camera_poses import StillPoses

PICTURES, POSES = "pictures", "poses.csv"
"""Names of the rendered set and of the poses in the folder of a coverage search."""


def write_poses(path: Path, poses: Sequence[Candidate], ranks: Sequence[int], rate: float) -> None:
    """Write poses of the optical frame as `simjudge render --mount optical --poses FILE` reads them.

    Args:
        rate: pictures a second, for the stamps.
    """
    still = StillPoses("poses", tuple(each.camera for each in poses), rate)
    rows = ["stamp,x,y,z,qx,qy,qz,qw,scene_seed,rank"]
    for stamp, each, rank in zip(still.stamp, poses, ranks, strict=True):
        numbers = [repr(value) for value in (*each.camera.position, *each.camera.orientation)]
        rows.append(",".join([f"{stamp // 10**9}.{stamp % 10**9:09d}", *numbers, str(each.scene_seed), str(rank)]))
    with atomic_file(path) as temporary:
        temporary.write_text("\n".join(rows) + "\n", encoding="utf-8")


def check_folder(out: Path) -> Path:
    """Refuse a folder that holds anything but a search that was stopped."""
    folder = output_path(out)
    if folder.is_file():
        raise SimjudgeError(f"{folder}: is a file; --out must be a folder")
    if folder.is_dir():
        ours = {POSES, f".{PICTURES}.partial"}
        others = sorted(each.name for each in folder.iterdir() if each.name not in ours)
        if (folder / COVER).exists():
            raise SimjudgeError(f"{folder}: holds the result of another search; choose another --out")
        if others:
            raise SimjudgeError(f"{folder}: holds {others[0]!r}, which was not written here; choose another --out")
    return folder


def same_labels(frames: FrameSet, predicted: FrameSet, index: int) -> bool:
    """Tell whether two sets have the same labels in a frame."""
    tables = []
    for each in (frames, predicted):
        rows = each.objects.frame == index
        table = np.column_stack([each.objects.class_id[rows], np.rint(each.objects.box[rows])])
        tables.append(table[np.lexsort(table.T)])
    return bool(np.array_equal(tables[0], tables[1]))
