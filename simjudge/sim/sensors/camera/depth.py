"""Depth images: metres along the optical axis for each pixel, beside a camera's colours and through the same lens.

As REP 118 has them: float32 metres (`sensor_msgs/Image` 32FC1), NaN where nothing is measured; in files whole
millimetres (16UC1), 0 where nothing is measured. An omnidirectional lens has metres along the ray.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

import cv2
import numpy as np
from pydantic import model_validator
from pydantic.json_schema import JsonSchemaValue

from simjudge.core.documents import Fields
from simjudge.core.errors import UsageError
from simjudge.core.field_types import FieldType, Vector, conflict, refusal
from simjudge.core.images import ImageError
from simjudge.sim.sensors.camera.depth_filters import DEPTH_FILTERS, DepthImage

ENCODING_32F = "32FC1"
"""The encoding of depth in messages."""
_STREAM = (2,)
"""Sets the filters' numbers apart from those of the camera's filters, which have the same seed."""
_MILLIMETRES = 1000
_FARTHEST_IN_FILES = 65535
"""Millimetres that 16 bits hold."""


@dataclass(frozen=True)
class DepthStep:
    """One filter of a depth image, by name, with its parameters."""

    name: str
    parameters: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Check that the filter exists and has these parameters."""
        DEPTH_FILTERS.check(self.name, self.parameters)


@dataclass(frozen=True)
class DepthCamera:
    """What a camera's depth image measures.

    Attributes:
        nearest, farthest: metres; nothing is measured nearer or farther.
        steps: filters, in order, that make of the true depth what the device measures.
    """

    nearest: float = 0.0
    farthest: float = np.inf
    steps: tuple[DepthStep, ...] = ()

    def measure(self, depth: DepthImage, focal: float, seed: tuple[int, ...]) -> DepthImage:
        """The depth image of what the rays through the pixels' centres hit.

        Args:
            depth: (H, W), metres; inf where nothing is hit.
            focal: the lens's focal length across, pixels.

        Returns:
            The same through the filters, NaN where nothing is hit or what is measured is out of range.
        """
        measured: DepthImage = np.where(np.isfinite(depth), depth, np.float32(np.nan)).astype(np.float32)
        for number, step in enumerate(self.steps):
            supplied = {"seed": (*seed, *_STREAM, number), "focal": focal}
            given = {name: supplied[name] for name in DEPTH_FILTERS.supplied(step.name)}
            measured = DEPTH_FILTERS.find(step.name)(measured, **step.parameters, **given)
        with np.errstate(invalid="ignore"):
            within = (measured >= self.nearest) & (measured <= self.farthest)
        return np.where(within, measured, np.float32(np.nan)).astype(np.float32)


class DepthStepType(FieldType):
    """A filter of depth: its name, or one `name: {parameter: value, ...}`; read by trying it."""

    @property
    def needed(self) -> str:
        """The phrase."""
        return "a filter's name, or name: {parameter: value, ...},"

    def _read(self, value: Any) -> Any:
        """The step, tried on a small image."""
        name, parameters = next(iter(value.items())) if isinstance(value, dict) and len(value) == 1 else (value, {})
        if not isinstance(name, str) or not isinstance(parameters, dict):
            raise refusal(self.needed)
        try:
            step = DepthStep(name, parameters)
            DepthCamera(steps=(step,)).measure(np.ones((8, 8), np.float32), 100.0, (0,))
        except (UsageError, TypeError, ValueError, OverflowError) as error:
            raise conflict(" ".join(str(error).split())) from error
        return step

    def schema(self) -> JsonSchemaValue:
        """A name, or a name with parameters; filters of one's own have any."""
        tables = DEPTH_FILTERS.tables()
        own = {
            "type": "object", "minProperties": 1, "maxProperties": 1, "additionalProperties": {"type": "object"},
            "propertyNames": {"not": {"enum": [name for table in tables for name in table["required"]]}},
        }  # fmt: skip
        return {"anyOf": [{"type": "string"}, *tables, own]}


class DepthFields(Fields):
    """A depth image beside the colour image."""

    range: Annotated[tuple[float, float], Vector("nearest farthest", ge=0)] | None = None
    """Nearest and farthest that is measured, metres; everything, if left out."""
    filters: tuple[Annotated[DepthStep, DepthStepType()], ...] = ()
    """Filters of depth by name, in order; none, if left out."""

    @model_validator(mode="after")
    def _check(self) -> DepthFields:
        if self.range is not None and not self.range[0] < self.range[1]:
            raise conflict(f"nearest {self.range[0]:g} is not below farthest {self.range[1]:g}", "range")
        return self

    def settings(self) -> DepthCamera:
        """What is measured."""
        nearest, farthest = self.range or (0.0, np.inf)
        return DepthCamera(nearest, farthest, self.filters)


def depth_topics(camera: str) -> tuple[str, str]:
    """The topics of a camera's depth images and of their camera_info."""
    return f"/{camera}/depth/image_raw", f"/{camera}/depth/camera_info"


def depth_message_fields(depth: DepthImage) -> dict[str, Any]:
    """What a sensor_msgs/Image of a depth image holds beside its header.

    Args:
        depth: metres.

    Returns:
        The message's fields by name; `data` as uint8 array.
    """
    height, width = depth.shape
    data = np.ascontiguousarray(depth, "<f4").reshape(-1).view(np.uint8)
    return {
        "height": height, "width": width, "encoding": ENCODING_32F, "is_bigendian": 0, "step": 4 * width, "data": data,
    }  # fmt: skip


def encode_depth_png(depth: DepthImage) -> tuple[bytes, int]:
    """A depth image as a PNG of 16 bits: whole millimetres, 0 where nothing is measured.

    Args:
        depth: metres.

    Returns:
        The file's bytes, and the number of pixels that lie farther than 16 bits hold (65.535 m): they are 0.
    """
    with np.errstate(invalid="ignore"):
        millimetres = np.round(depth.astype(np.float64) * _MILLIMETRES)
        far = millimetres > _FARTHEST_IN_FILES
        held = np.where((millimetres > 0) & ~far, millimetres, 0).astype(np.uint16)
    done, buffer = cv2.imencode(".png", held, [cv2.IMWRITE_PNG_COMPRESSION, 3])
    if not done:
        raise ImageError("a depth image could not be encoded as PNG")
    return buffer.tobytes(), int(np.count_nonzero(far))
