"""Instance and semantic pictures of a simulator as labels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt

from simjudge.core.arrays import IntArray
from simjudge.core.errors import Losses
from simjudge.core.images import ImageError
from simjudge.core.object_tables import NO_INSTANCE
from simjudge.data.rosbag2.image_messages import label_channels
from simjudge.sim.capture.label_rules import InstanceImage, instance_extents
from simjudge.sim.capture.simulators.label_rows import ClassLookup, LabelRow
from simjudge.sim.capture.simulators.simulator_file import PictureFields

_MOST = 65535
"""Instances that one picture may show."""
_SHIFT = 32
"""Bits of an instance's number, below those of its class."""


class PictureLabels:
    """Reads instance or semantic pictures."""

    def __init__(self, fields: PictureFields) -> None:
        """Take how the pictures are made."""
        self._fields = fields
        self._lookup = ClassLookup(fields)
        colours = fields.colours or {}
        self._colours = {(int(r) << 16) | (int(g) << 8) | int(b): name for name, (r, g, b) in colours.items()}

    def rows(self, message: Any, where: str, names: Mapping[int, str] | None, losses: Losses) -> list[LabelRow]:
        """Read the objects of a picture.

        Args:
            names: what the simulator itself says of its numbers; None where it says nothing.
            losses: takes pixels whose class or colour is unknown.

        Returns:
            The objects with their masks; the visible share is unknown, as a picture does not show what is hidden.
        """
        channels = label_channels(message, where)
        class_from, instance_from = self._fields.class_from, self._fields.instance_from
        one_each = class_from is None and not self._colours
        classes = _joined(channels, "red green blue" if self._colours else class_from or instance_from or "", where)
        packed = classes << _SHIFT
        if instance_from is not None and not one_each:
            packed |= _joined(channels, instance_from, where)
        found, inverse, count = np.unique(packed, return_inverse=True, return_counts=True)
        dense = np.zeros(len(found), np.uint16)
        kinds: list[tuple[str, int]] = []
        for index, value in enumerate(found.tolist()):
            key, number = value >> _SHIFT, value & ((1 << _SHIFT) - 1)
            name = self._colour_name(key) if self._colours else self._lookup.name(key, names)
            if name is None:
                shown = f"colour {key >> 16} {key >> 8 & 255} {key & 255}" if self._colours else f"class {key}"
                losses.add("pixels of a class or colour without a name", f"{where} ({shown})", int(count[index]))
            elif name:
                # A number alone is an instance's; with a class, the two together are.
                kinds.append((name, key if one_each else (key << 16 | number) % 2**31))
                if len(kinds) > _MOST:
                    raise ImageError(f"{where}: shows more than {_MOST} instances; it is no label picture")
                dense[index] = len(kinds)
        picture = np.ascontiguousarray(dense[inverse.reshape(packed.shape)])
        if instance_from is None:
            picture, kinds = _touching(picture, [name for name, _ in kinds], where)
        return _rows(picture, kinds)

    def _colour_name(self, colour: int) -> str | None:
        name = self._colours.get(colour)
        return None if name is None else self._lookup.name(name)


def _joined(channels: Mapping[str, npt.NDArray[np.int64]], names: str, where: str) -> IntArray:
    """One number a pixel of channels, the most significant first."""
    value: IntArray | None = None
    for name in names.split():
        if name not in channels:
            raise ImageError(f"{where}: has no channel {name}, but {', '.join(channels)}")
        value = channels[name] if value is None else (value << 8) | channels[name]
    assert value is not None  # noqa: S101 - the file names a channel
    return value


def _touching(picture: InstanceImage, names: list[str], where: str) -> tuple[InstanceImage, list[tuple[str, int]]]:
    """Objects of a picture of classes: pixels of a class that touch, at corners too."""
    out = np.zeros_like(picture)
    parts: list[tuple[str, int]] = []
    for index, name in enumerate(names, start=1):
        count, components = cv2.connectedComponents((picture == index).astype(np.uint8), connectivity=8)
        if len(parts) + count - 1 > _MOST:
            raise ImageError(f"{where}: shows more than {_MOST} parts; it is no label picture")
        inside = components > 0
        out[inside] = components[inside] + len(parts)
        parts += [(name, NO_INSTANCE)] * (count - 1)
    return out, parts


def _rows(picture: InstanceImage, kinds: list[tuple[str, int]]) -> list[LabelRow]:
    extents = instance_extents(picture)
    rows = []
    for index, (name, instance) in enumerate(kinds, start=1):
        x0, y0, x1, y1 = extents.box[index].tolist()
        rows.append(LabelRow(name, (x0, y0, x1, y1), instance, mask=picture[y0:y1, x0:x1] == index))
    return rows
