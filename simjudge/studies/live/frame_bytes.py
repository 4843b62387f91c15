"""One live frame as bytes and back, bit by bit, for the journal."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from simjudge.core.errors import SimjudgeError
from simjudge.core.frames import FrameSet
from simjudge.core.object_tables import Masks, Objects, Predictions

_COLUMNS = {
    "frame": np.int64,
    "class_id": np.int64,
    "box": np.float64,
    "instance": np.int64,
    "distance": np.float64,
    "visible": np.float64,
    "score": np.float64,
}
_MASK_COLUMNS = {"origin": np.int32, "shape": np.int32, "bits": np.uint8, "start": np.int64}
_WIDE = {"box": 4, "origin": 2, "shape": 2}


def pack(frame: FrameSet, **notes: Any) -> bytes:
    """Pack a frame and notes into bytes.

    Args:
        frame: a set of one frame, labelled and predicted; its image is not packed.
    """
    predictions = Predictions.empty() if frame.predictions is None else frame.predictions
    parts: list[bytes] = []
    layout: list[list[tuple[str, int]]] = []
    for table in (frame.objects, predictions, frame.objects.masks, predictions.masks):
        names = _MASK_COLUMNS if isinstance(table, Masks) else _COLUMNS
        columns = [(name, getattr(table, name)) for name in names if hasattr(table, name)]
        layout.append([(name, len(column)) for name, column in columns])
        parts += [np.ascontiguousarray(column, names[name]).tobytes() for name, column in columns]
    head = {
        "name": frame.name,
        "frame_name": frame.frame_name[0],
        "stamp": int(frame.stamp[0]),
        "size": frame.size[0].tolist(),
        "class_names": frame.class_names,
        "layout": layout,
        "notes": notes,
    }
    text = json.dumps(head, ensure_ascii=False, separators=(",", ":")).encode()
    return b"".join([len(text).to_bytes(4, "little"), text, *parts])


def unpack(record: bytes) -> tuple[FrameSet, dict[str, Any]]:
    """Unpack what was packed."""
    try:
        place = 4 + int.from_bytes(record[:4], "little")
        head = json.loads(record[4:place])
        columns = []
        for entries in head["layout"]:
            kinds = _MASK_COLUMNS if any(name == "bits" for name, _ in entries) else _COLUMNS
            table = {}
            for name, rows in entries:
                count = rows * _WIDE.get(name, 1)
                column = np.frombuffer(record, kinds[name], count, place).copy()
                table[name] = column.reshape(rows, _WIDE[name]) if name in _WIDE else column
                place += column.nbytes
            columns.append(table)
        masks = [Masks(**table) if table else None for table in columns[2:]]
        frame = FrameSet.build(
            head["name"],
            [head["size"]],
            Objects(**columns[0], masks=masks[0]),
            Predictions(**columns[1], masks=masks[1]),
            frame_name=[head["frame_name"]],
            stamp=[head["stamp"]],
            class_names={int(k): name for k, name in head["class_names"].items()},
        )
    except (ValueError, KeyError, TypeError, IndexError) as error:
        raise SimjudgeError(f"a record of the journal holds no frame ({error})") from error
    return frame, dict(head["notes"])
