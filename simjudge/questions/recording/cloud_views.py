"""Ways to look at a cloud: from above, and in perspective from behind."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from simjudge.core.arrays import FloatArray
from simjudge.questions.recording.cloud_scale import CloudScale

_NEAR = 1e-3
"""Share of the radius before the eye that is not shown."""


class CloudView(Protocol):
    """A way to look at points."""

    @property
    def width(self) -> int:
        """Of the picture, pixels."""
        ...

    @property
    def height(self) -> int:
        """Of the picture, pixels."""
        ...

    def project(self, points: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Where points are in the picture.

        Args:
            points: (N, 3), metres.

        Returns:
            Column and row (N, 2), pixels, the picture's upper left corner being 0, 0; and (N,), how far away each
            point is from the viewer, NaN where it cannot be seen.
        """
        ...

    def clip(self, segments: FloatArray) -> FloatArray:
        """Cut what lies behind the viewer off lines.

        Args:
            segments: (M, 2, 3), metres.

        Returns:
            (K, 2, 3); NaN for a line without a part before the viewer.
        """
        ...


@dataclass(frozen=True)
class TopView:
    """From straight above: a square.

    Attributes:
        radius: half its side, metres.
        size: its side, pixels.
        centre: x and y of its middle, metres.
    """

    radius: float
    size: int = 900
    centre: tuple[float, float] = (0.0, 0.0)

    @property
    def width(self) -> int:
        """Pixels."""
        return self.size

    @property
    def height(self) -> int:
        """Pixels."""
        return self.size

    def project(self, points: FloatArray) -> tuple[FloatArray, FloatArray]:
        """See `CloudView.project`; what is higher is nearer."""
        scale = self.size / (2 * self.radius)
        return (self.radius - points[:, 1::-1] + self.centre[::-1]) * scale, -points[:, 2]

    def clip(self, segments: FloatArray) -> FloatArray:
        """See `CloudView.clip`: nothing lies behind this viewer."""
        return segments


@dataclass(frozen=True)
class PerspectiveView:
    """From an eye towards a point, with z upright.

    Attributes:
        eye, target: metres; the target may not lie straight above or below the eye.
        field_of_view: across the height of the picture, degrees.
        width, height: of the picture, pixels.
        near: metres before the eye that are not shown.
    """

    eye: tuple[float, float, float]
    target: tuple[float, float, float]
    field_of_view: float = 45.0
    width: int = 1200
    height: int = 900
    near: float = 0.01

    @classmethod
    def behind(cls, scale: CloudScale, width: int = 1200, height: int = 900) -> PerspectiveView:
        """A view over the cloud from behind and above, ahead.

        Args:
            width, height: of the picture, pixels.
        """
        r, z, (x, y) = scale.radius, scale.low, scale.centre
        eye, target = (x - 1.3 * r, y - 0.3 * r, z + 0.85 * r), (x - 0.03 * r, y, z)
        return cls(eye, target, 46.0, width, height, _NEAR * r)

    @property
    def rotation(self) -> FloatArray:
        """(3, 3), to the axes right, down, ahead of an image."""
        ahead = np.subtract(self.target, self.eye)
        ahead /= np.linalg.norm(ahead)
        right = np.cross(ahead, (0.0, 0.0, 1.0))
        right /= np.linalg.norm(right)
        return np.stack([right, np.cross(ahead, right), ahead])

    @property
    def focal_length(self) -> float:
        """Pixels."""
        return self.height / 2 / math.tan(math.radians(self.field_of_view) / 2)

    def project(self, points: FloatArray) -> tuple[FloatArray, FloatArray]:
        """See `CloudView.project`."""
        right, down, depth = ((points - self.eye) @ self.rotation.T).T
        depth = np.where(depth >= self.near * (1 - 1e-9), depth, np.nan)
        column = self.width / 2 + self.focal_length * right / depth
        return np.stack([column, self.height / 2 + self.focal_length * down / depth], -1), depth

    def clip(self, segments: FloatArray) -> FloatArray:
        """See `CloudView.clip`."""
        depth = (segments - self.eye) @ self.rotation[2] - self.near
        with np.errstate(divide="ignore", invalid="ignore"):
            share = np.clip(depth[:, 0] / (depth[:, 0] - depth[:, 1]), 0, 1)
        cut = segments[:, 0] + share[:, None] * (segments[:, 1] - segments[:, 0])
        out = np.where((depth < 0)[..., None], cut[:, None], segments)
        out[(depth < 0).all(1)] = np.nan
        return out
