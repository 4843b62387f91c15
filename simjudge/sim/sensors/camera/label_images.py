"""Label images: the class and the instance of every pixel, beside a camera's colours and through the same lens.

Rays through the pixels' centres decide, in the middle of the exposure. Every counted thing is in the instance image,
also one that is too small or too hidden to get a box.
"""

from __future__ import annotations

from typing import Any, cast

import cv2
import numpy as np
import numpy.typing as npt

from simjudge.core.images import ImageError

LabelImage = npt.NDArray[np.uint8] | npt.NDArray[np.uint16]
"""(H, W): classes as uint8, 0 where there is none; or instances as uint16, 0 where it is nothing that is counted."""
LABEL_IMAGES = ("semantic", "instance")
"""What the topics and the folders of the two are called."""
_ENCODINGS: dict[str, tuple[str, np.dtype[Any]]] = {
    "semantic": ("8UC1", np.dtype("u1")),
    "instance": ("16UC1", np.dtype("<u2")),
}


def label_message_fields(kind: str, values: LabelImage) -> dict[str, Any]:
    """What a sensor_msgs/Image of a label image holds beside its header.

    Args:
        values: class or instance of each pixel.

    Returns:
        The message's fields by name: 8UC1 or little-endian 16UC1 without padding; `data` as uint8 array.
    """
    height, width = values.shape
    encoding, dtype = _ENCODINGS[kind]
    data = np.ascontiguousarray(values, dtype).reshape(-1).view(np.uint8)
    return {
        "height": height, "width": width, "encoding": encoding, "is_bigendian": 0, "step": width * dtype.itemsize,
        "data": data,
    }  # fmt: skip


def encode_label_png(values: LabelImage) -> bytes:
    """A label image as a PNG of one channel, 8 or 16 bits as the array has.

    Args:
        values: class or instance of each pixel.
    """
    done, buffer = cv2.imencode(".png", values, [cv2.IMWRITE_PNG_COMPRESSION, 3])
    if not done:
        raise ImageError("a label image could not be encoded as PNG")
    return buffer.tobytes()


def decode_label_png(data: bytes) -> LabelImage:
    """The label image of a PNG that `encode_label_png` made."""
    return cast("LabelImage", cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_UNCHANGED))
