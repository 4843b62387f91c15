"""KITTI's tracklets: the boxes in space of a drive of the raw data, in `tracklet_labels.xml`.

Source: the development kit of the raw data: readTracklets.m and run_demoTracklets.m. A tracklet is one thing: its type,
height, width and length, and a pose for each frame from its first on. A pose is that of the middle of the box's bottom
in the lidar's frame. Length is along the box's own x, width along y, height along z.
"""

from __future__ import annotations

from pathlib import Path
from xml.etree.ElementTree import Element

import numpy as np
from scipy.spatial.transform import Rotation

from simjudge.core.errors import Losses, SimjudgeError
from simjudge.core.text import load_xml, parse_number
from simjudge.data.clouds.cloud_set import CloudBoxes

_UNSET = 0
"""The state of a pose that nobody has set; others are interpolated (1) or labelled (2)."""
_POSE = ("tx", "ty", "tz", "rx", "ry", "rz")


def read_tracklets(
    path: Path, scan_of: dict[int, int], class_names: dict[int, str], losses: Losses
) -> tuple[CloudBoxes, dict[int, str]]:
    """Read the tracklets of a drive.

    Args:
        losses: takes tracklets and poses that cannot be used, and poses of frames without a scan.

    Returns:
        The boxes, ordered by scan, with the tracklet's place in the file as instance; and the names of all classes.
    """
    root = load_xml(path)
    tracklets = root.find("tracklets")
    if root.tag != "boost_serialization" or tracklets is None:
        raise SimjudgeError(f"{path}: holds no <tracklets>; it is no tracklet_labels.xml of KITTI's raw data")
    ids = {name: number for number, name in class_names.items()}
    rows: list[tuple[int, int, int, list[float], list[float]]] = []
    for instance, item in enumerate(tracklets.findall("item")):
        where = f"{path}: tracklet {instance + 1}"
        kind = (item.findtext("objectType") or "").strip()
        size, first = _numbers(item, ("l", "w", "h")), _numbers(item, ("first_frame",))
        if not kind or size is None or min(size) <= 0 or first is None or not first[0].is_integer():
            losses.add("malformed tracklets", f"{where} (needs objectType, first_frame, and h, w, l above 0)")
            continue
        class_id = ids.setdefault(_class_name(kind), len(ids))
        for number, element in enumerate(item.findall("poses/item")):
            frame, pose, state = int(first[0]) + number, _numbers(element, _POSE), _numbers(element, ("state",))
            at = f"{where}: frame {frame}"
            if pose is None or state is None:
                losses.add("malformed poses of tracklets", at)
            elif state[0] == _UNSET:
                losses.add("poses of tracklets that nobody has set", at)
            elif frame not in scan_of:
                losses.add("boxes in space without a scan", at)
            else:
                rows.append((scan_of[frame], class_id, instance, pose, size))
    return _boxes(rows), {number: name for name, number in ids.items()}


def _boxes(rows: list[tuple[int, int, int, list[float], list[float]]]) -> CloudBoxes:
    """The boxes of rows of scan, class, instance, pose and size, ordered by scan."""
    rows.sort(key=lambda row: row[:3])
    scan, class_id, instance = np.array([row[:3] for row in rows], np.int64).reshape(-1, 3).T
    pose = np.array([row[3] for row in rows], np.float64).reshape(-1, 6)
    size = np.array([row[4] for row in rows], np.float64).reshape(-1, 3)
    turn = Rotation.from_euler("xyz", pose[:, 3:]) if rows else None
    if turn is None:
        return CloudBoxes(scan, class_id, instance, pose[:, :3], np.zeros((0, 4)), size)
    up = np.zeros_like(size)
    up[:, 2] = size[:, 2] / 2
    return CloudBoxes(scan, class_id, instance, pose[:, :3] + turn.apply(up), turn.as_quat(), size)


def _class_name(kind: str) -> str:
    """The type as KITTI's other benchmarks write it: Person_sitting for Person (sitting)."""
    return "_".join(kind.replace("(", "").replace(")", "").split())


def _numbers(element: Element, names: tuple[str, ...]) -> list[float] | None:
    """Finite numbers of an element's children, None where one is missing or is none."""
    found = [parse_number(element.findtext(name)) for name in names]
    return [value for value in found if value is not None] if all(
        value is not None and np.isfinite(value) for value in found
    ) else None  # fmt: skip
