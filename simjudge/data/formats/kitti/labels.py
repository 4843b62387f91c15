"""KITTI's label rows: of the object benchmark, and of the tracking benchmark, which begin with frame and track.

Source: readme.txt of the development kits; columns are type, truncated, occluded, alpha, left, top, right, bottom,
height, width, length, x, y, z, rotation_y, and a score in results. x, y, z are of the middle of the box's bottom in
rectified camera 0 (x right, y down, z ahead); at rotation_y 0 the box looks along x.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation

from simjudge.core.arrays import BoolArray, FloatArray, IntArray
from simjudge.core.display import ShortRepr
from simjudge.core.errors import Losses
from simjudge.core.input_files import LARGEST_TEXT, read_bytes
from simjudge.core.object_tables import NO_INSTANCE
from simjudge.core.text import one_line, parse_number

CLASSES = ("Car", "Van", "Truck", "Pedestrian", "Person_sitting", "Cyclist", "Tram", "Misc")
"""In the order of the development kit; other types follow as they come."""
DONT_CARE = "DontCare"
_NUMBERS = 14
_UNKNOWN = -1000.0
"""Of x, y and z of a thing without a box in space."""
_NO_IMAGE_BOX = -1.0
"""All four numbers of a box in the image where there is none."""
MALFORMED = "malformed label rows"
SCORED = "label rows with a score, which are a detector's"
_AXES: FloatArray = np.array([[1.0, 0, 0], [0, 0, -1], [0, 1, 0]])
"""From a box's own axes (x ahead, y left, z up) to a camera's (x right, y down, z ahead), at rotation_y 0."""


@dataclass(frozen=True, eq=False, repr=False)
class KittiLabels(ShortRepr):
    """N rows of labels, those of DontCare left out.

    Attributes:
        scan: int64 (N,), the number of the scan.
        class_id, track: int64 (N,); a row of the object benchmark has the track NO_INSTANCE.
        numbers: (N, 14), the columns from truncated to rotation_y.
        score: (N,), the last column of results; NaN where a row has none.
        where: file and line of each row.
        class_names: by class id, those of KITTI and others that the rows name.
        dont_care: file and line of each row of DontCare.
    """

    scan: IntArray
    class_id: IntArray
    track: IntArray
    numbers: FloatArray
    score: FloatArray
    where: Sequence[str]
    class_names: dict[int, str]
    dont_care: Sequence[str] = ()

    def __len__(self) -> int:
        """The number of rows."""
        return len(self.scan)

    @property
    def image_box(self) -> FloatArray:
        """(N, 4), left, top, right, bottom, pixels."""
        return self.numbers[:, 3:7]

    @property
    def has_image_box(self) -> BoolArray:
        """(N,), whether a row has a box in the image: one of -1 alone has none."""
        return np.asarray((self.image_box != _NO_IMAGE_BOX).any(1), np.bool_)

    @property
    def size(self) -> FloatArray:
        """(N, 3), length, width and height, metres: along a box's own x, y and z."""
        return self.numbers[:, [9, 8, 7]]

    @property
    def has_box(self) -> BoolArray:
        """(N,), whether a row has a box in space."""
        above = np.concatenate([self.numbers[:, 10:13] > _UNKNOWN, self.size > 0], 1)
        return np.asarray(above.all(1), np.bool_)

    def centres(self) -> FloatArray:
        """(N, 3), of the boxes in rectified camera 0, metres."""
        centre = self.numbers[:, 10:13].copy()
        centre[:, 1] -= self.numbers[:, 7] / 2
        return centre

    def rotations(self) -> FloatArray:
        """(N, 3, 3), from a box's own axes to rectified camera 0."""
        about_y = np.zeros((len(self), 3))
        about_y[:, 1] = self.numbers[:, 13]
        turned: FloatArray = Rotation.from_rotvec(about_y).as_matrix() @ _AXES
        return turned


def read_labels(
    files: Sequence[tuple[Path, int | None]],
    scan_of: Mapping[int, int],
    losses: Losses,
    class_names: Mapping[int, str] | None = None,
    *,
    scored: bool = False,
) -> KittiLabels:
    """Read label files, or results of a detector, whose rows end with a score.

    Args:
        files: each with the number of its scan; None: its rows begin with frame and track.
        class_names: known classes, which others follow; None: those of KITTI.
        scored: whether rows are results; labels have no score, and rows with one are no labels.
    """
    ids = {name: number for number, name in (class_names or dict(enumerate(CLASSES))).items()}
    scans, classes, tracks, numbers, scores, places, dont_care = [], [], [], [], [], [], list[str]()
    for path, scan in files:
        text = read_bytes(path, LARGEST_TEXT).decode("utf-8", "replace")
        for number, line in enumerate(text.splitlines(), 1):
            words = line.split()
            if not words:
                continue
            where = f"{path}: line {number}"
            head = [] if scan is not None else [_whole(word) for word in words[:2]]
            kind, *values = words[len(head) :] or [""]
            row = [parse_number(value) for value in values]
            wrong = len(row) not in (_NUMBERS, _NUMBERS + 1) or None in row or None in head
            if wrong or not np.isfinite([value or 0 for value in row]).all():
                columns = len(head) + 1 + _NUMBERS
                losses.add(MALFORMED, f"{where} ({len(words)} columns of {columns}: {one_line(line)})")
                continue
            if len(row) > _NUMBERS and not scored:
                losses.add(SCORED, f"{where} (score {values[_NUMBERS]})")
                continue
            if kind == DONT_CARE:
                dont_care.append(where)
                continue
            at = scan if scan is not None else scan_of.get(head[0] or 0)
            if at is None:
                losses.add("label rows of a frame without a scan", f"{where} (frame {head[0]})")
                continue
            scans.append(at)
            classes.append(ids.setdefault(kind, len(ids)))
            tracks.append(head[1] if head and head[1] is not None else NO_INSTANCE)
            numbers.append([float(value or 0) for value in row[:_NUMBERS]])
            scores.append(float(row[_NUMBERS] or 0) if len(row) > _NUMBERS else np.nan)
            places.append(where)
    order = np.argsort(np.array(scans, np.int64), kind="stable")
    return KittiLabels(
        np.array(scans, np.int64)[order], np.array(classes, np.int64)[order], np.array(tracks, np.int64)[order],
        np.array(numbers, np.float64).reshape(-1, _NUMBERS)[order], np.array(scores, np.float64)[order],
        [places[row] for row in order.tolist()],
        {number: name for name, number in ids.items()}, dont_care,
    )  # fmt: skip


def format_row(kind: str, numbers: Sequence[float]) -> str:
    """Make a row of the object benchmark."""
    truncated, occluded, *others = numbers
    return " ".join(
        ["_".join(kind.split()) or "Misc", f"{truncated:g}", f"{occluded:.0f}", *(f"{value:.6f}" for value in others)]
    )


def _whole(text: str) -> int | None:
    try:
        return int(text) if len(text) < 12 else None
    except ValueError:
        return None
