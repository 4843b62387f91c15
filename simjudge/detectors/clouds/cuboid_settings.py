"""How cuboids are found in clouds, declared once: the settings in Python, and the file that a person writes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import model_validator

from simjudge.core.documents import Fields, read_document
from simjudge.core.field_types import Choice, Flag, Number, Text, Vector, Whole, conflict
from simjudge.core.text import read_yaml

LIDAR_CUBOIDS = "lidar_cuboids"  # What a file's `detector` says, and the name of the file that comes with simjudge
Metres = Annotated[float, Number(gt=0, le=1000.0)]
NotNegative = Annotated[float, Number(ge=0, le=1000.0)]
Angle = Annotated[float, Number(gt=0, le=90)]  # Degrees
Share = Annotated[float, Number(ge=0, le=1)]


class OwnCarFields(Fields):
    """Which returns are of the car that carries the lidar. They are left out of everything."""

    distance: NotNegative = 0.0
    """Points nearer to the lidar than this are the car's, metres."""
    box: Annotated[tuple[float, float, float, float, float, float], Vector("x0 y0 z0 x1 y1 z1")] | None = None
    """Points in this box of the cloud's frame are the car's, metres: its two corners."""

    @model_validator(mode="after")
    def _check(self) -> OwnCarFields:
        if self.box is not None and any(low >= high for low, high in zip(self.box[:3], self.box[3:], strict=True)):
            raise conflict("the corner with the smaller numbers comes first: x0 y0 z0 x1 y1 z1", "box")
        return self


class GroundFields(Fields):
    """How ground is found."""

    method: Annotated[Literal["plane", "patchwork", "none"], Choice()] = "plane"
    """plane: one plane by RANSAC; patchwork: Patchwork++, for ground with slopes (needs simjudge[lidar]); none: all
    points are kept."""
    distance: Metres = 0.2
    """Plane: how far ground lies from it, metres."""
    contact: NotNegative = 0.08
    """Plane: points so near to it are ground whatever their normals, metres: at an object's foot no normal is clear."""
    angle: Angle = 30.0
    """Plane: how far a point's normal may turn from the plane's, degrees; 90 for no limit."""
    slope: Angle = 20.0
    """Plane: how far its normal may turn from the cloud's z axis, degrees."""
    trials: Annotated[int, Whole(1, 100_000)] = 100
    """Plane: how many planes through three points RANSAC tries."""
    least: Share = 0.05
    """Plane: share of the points that it holds at least, with normals near its own; with fewer there is no ground."""
    seed: Annotated[int, Whole(0)] = 0
    """Plane: seed of RANSAC."""
    sensor_height: Metres = 1.73
    """Patchwork++: how high the lidar is above ground, metres."""


class ClusterFields(Fields):
    """How points that are not ground become clusters."""

    neighbours: Annotated[Literal["auto", "rings", "euclidean"], Choice()] = "auto"
    """rings: points near by ring and column; euclidean: points near in space; auto: rings where the cloud has them."""
    distance: Metres = 0.8
    """Neighbours in one cluster lie at most so far apart, metres."""
    angle: Angle = 8.0
    """Rings: the line between two neighbours and the longer one's beam enclose at least this angle, degrees."""
    rings: Annotated[int, Whole(0, 64)] = 1
    """Rings: neighbours are at most so many rings apart."""
    columns: Annotated[int, Whole(0, 256)] = 3
    """Rings: neighbours are at most so many columns apart."""
    min_points: Annotated[int, Whole(1)] = 8
    """Points that a cluster has at least."""
    max_points: Annotated[int, Whole(1)] | None = None
    """Points that a cluster has at most; any number, if left out."""
    min_height: NotNegative = 0.3
    """From a cluster's lowest point to its highest, at least, metres."""
    max_height: Metres | None = None
    """From a cluster's lowest point to its highest, at most, metres; any, if left out."""


class CuboidFields(Fields):
    """How a cluster becomes a cuboid."""

    criterion: Annotated[Literal["area", "closeness", "variance"], Choice()] = "closeness"
    """What the best orientation is judged by: the rectangle's area, how near points are to its sides, or how little
    their distances from the sides vary."""
    step: Annotated[float, Number(ge=0.01, le=45)] = 1.0
    """Orientations are tried so many degrees apart."""
    nearest: Metres = 0.01
    """Closeness: points nearer to a side than this count alike, metres."""
    side: Metres = 0.2
    """The score is the share of the points that are so near to one of the two sides that are seen, metres."""
    least_size: Annotated[tuple[float, float], Vector("longer shorter", ge=0)] | None = None
    """Sides seen from above that are shorter than this grow away from the lidar, metres: the longer and the shorter one
    of things whose size is known, of which a lidar sees the near side."""
    max_length: Metres | None = None
    """Longer cuboids are left out, metres: walls, hedges; none are, if left out."""
    on_ground: Annotated[bool, Flag()] = True
    """Cuboids reach down to the ground below them, whose lowest points went with it."""


class LidarCuboidFile(Fields):
    """Ground, clusters, cuboids: a detector for clouds that needs no training."""

    detector: Annotated[Literal["lidar_cuboids"], Choice()] = "lidar_cuboids"
    """Which detector this is."""
    name: Annotated[str, Text("the name of a class")] = "object"
    """The class of all that is found; labels' classes are not told apart."""
    farthest: Annotated[float, Number(gt=0, le=10_000.0)] = 120.0
    """Points farther from the lidar are left out, metres."""
    own: OwnCarFields = OwnCarFields()
    """The returns of the car that carries the lidar."""
    ground: GroundFields = GroundFields()
    """How ground is found."""
    clusters: ClusterFields = ClusterFields()
    """How points that are not ground become clusters."""
    cuboids: CuboidFields = CuboidFields()
    """How a cluster becomes a cuboid."""


def is_cloud_detector(path: Path) -> bool:
    """Whether a file describes a detector for clouds rather than for images."""
    if path.suffix.lower() not in {".yaml", ".yml"}:
        return False
    content = read_yaml(path).content
    return isinstance(content, dict) and "detector" in content


def read_cuboid_settings(path: Path) -> LidarCuboidFile:
    """Read how cuboids are found."""
    return read_document(path, LidarCuboidFile, "detector of cuboids").content
