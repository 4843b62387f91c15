"""Chrono's buffers as arrays that are ours: row 0 on top, linear light, distances along the axis.

Row 0 of every camera buffer is the bottom of the picture (raygen counts up in -uv.y of OptiX's launch index, and
Vulkan's host renderer copies that); ChFilterSave flips when it writes, ChROSCameraHandler does not. SWIG hands out
views of memory that Chrono takes back (numpy.i's ARGOUTVIEW): everything is copied here, while the buffer is held.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import numpy.typing as npt

from simjudge.core.arrays import FloatArray
from simjudge.core.errors import SimjudgeError

GAMMA = 2.2  # Chrono's default: byte = 255 x linear^(1 / 2.2), a pure power, not sRGB's curve (`camera_raygen.cu`)
SATURATED = 250  # Bytes from which on a picture is taken again with less light


def flip_rows(rows: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """A buffer (H, W, ...) of Chrono's memory, bottom row first, as a copy with the top row first."""
    return np.ascontiguousarray(rows[::-1])


def linear(bytes_: npt.NDArray[np.uint8], gamma: float = GAMMA) -> npt.NDArray[np.float32]:
    """Linear light 0 to 1, float32, of gamma-encoded bytes; half a step is 1.1 / value (0.9 % at 128, 9 % at 12)."""
    table = (np.arange(256) / 255.0) ** gamma
    light: npt.NDArray[np.float32] = table.astype(np.float32)[bytes_]
    return light


def rgb(buffer: Any) -> npt.NDArray[np.uint8]:
    """Colour bytes (H, W, 3), upright, of a UserRGBA8Buffer: uint8 (H, W, 3), red first, top row first."""
    return flip_rows(_data(buffer, "GetRGBA8Data", "colours")[..., :3])


def ranges(buffer: Any) -> npt.NDArray[np.float32]:
    """Distances along the rays (H, W), metres, upright, of a UserDepthBuffer: float32 (H, W), metres."""
    data = _data(buffer, "GetDepthData", "depths")
    return flip_rows(data.reshape(data.shape[:2]))


def returns(buffer: Any) -> npt.NDArray[np.float32]:
    """Ranges (metres) and intensities, float32 (rings, beams, 2), of a UserDIBuffer, lowest ring first as in Chrono."""
    return np.asarray(_data(buffer, "GetDIData", "returns"), np.float32)


def labels(buffer: Any) -> tuple[npt.NDArray[np.uint16], npt.NDArray[np.uint16]]:
    """Classes and instances, uint16 (H, W), upright, of a semantic buffer, whatever accessor its wrapper has."""
    names = [name for name in dir(buffer) if name.startswith("Get") and name.endswith("Data")]
    if not names:
        raise SimjudgeError("engine chrono: GetMostRecentSemanticBuffer is there, but its buffer has no Get...Data()")
    preferred = sorted(names, key=lambda name: name != "GetSemanticData")
    return split_labels(flip_rows(_data(buffer, preferred[0], "labels")))


def split_labels(pixels: npt.NDArray[Any]) -> tuple[npt.NDArray[np.uint16], npt.NDArray[np.uint16]]:
    """Classes and instances of PixelSemantic (class first): (H, W, 2) uint16, or the same memory as (H, W, 4) uint8."""
    if pixels.ndim == 3 and pixels.shape[2] == 4 and pixels.dtype.itemsize == 1:
        pixels = np.ascontiguousarray(pixels).view("<u2")
    if pixels.ndim != 3 or pixels.shape[2] != 2:
        raise SimjudgeError(f"engine chrono: labels of shape {pixels.shape} {pixels.dtype}, not class and instance")
    return pixels[..., 0].astype(np.uint16), pixels[..., 1].astype(np.uint16)


def saved_labels(path: str | os.PathLike[str]) -> tuple[npt.NDArray[np.uint16], npt.NDArray[np.uint16]]:
    """Classes and instances, uint16 (H, W) each, of a picture that ChFilterSave wrote (upright already)."""
    from PIL import Image

    with Image.open(path) as image:
        if image.mode != "RGBA":
            raise SimjudgeError(f"{path}: {image.mode}, not the four channels that ChFilterSave writes")
        return split_labels(np.asarray(image))


def axial_depth(distances: npt.NDArray[np.float32], rays: FloatArray, farthest: float) -> npt.NDArray[np.float32]:
    """Depth along the optical axis of distances along unit rays (H, W, 3); inf from `farthest` on (nothing hit).

    Chrono's depth camera stores the ray's length (depth_cam_shader.cuh: min(max_depth, ray_dist)), not z.
    """
    depth = np.where(distances < farthest, distances * rays[..., 2], np.inf)
    return np.asarray(depth, np.float32)


def _data(buffer: Any, accessor: str, what: str) -> npt.NDArray[Any]:
    if not buffer.HasData():
        raise SimjudgeError(f"engine chrono: the sensor gave no {what}")
    method = getattr(buffer, accessor, None)
    if method is None:
        raise SimjudgeError(f"engine chrono: this PyChrono was built without NumPy (no {accessor}); rebuild it with")
    return np.array(method())
