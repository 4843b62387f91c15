"""B rendered with other divergences: which sensor file made which clouds, and the file that a fit writes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.core.files import atomic_file
from simjudge.core.installed import SENSORS, find_file
from simjudge.core.yaml_file import read_yaml
from simjudge.sim.sensors.lidar.lidar_fields import LidarSpec
from simjudge.sim.sensors.sensor_file import read_sensors
from simjudge.studies.comparison import Source

_LEAST = 3
"""Renderings, B's own among them: two cannot tell whether a third would be better."""


@dataclass(frozen=True)
class LidarFile:
    """A sensor file with one lidar.

    Attributes:
        divergence: horizontal and vertical, full angles, mrad.
        samples: of its beams; 1 is a single ray.
    """

    path: Path
    name: str
    divergence: tuple[float, float]
    samples: int


def read_lidar_file(sensors: str | Path) -> LidarFile:
    """Read a sensor file with one lidar."""
    path = find_file(sensors, SENSORS)
    lidars = [each for each in read_sensors(path) if isinstance(each, LidarSpec)]
    if len(lidars) != 1:
        raise SimjudgeError(f"{path}: has {len(lidars)} lidars; a file with one is needed")
    model = lidars[0].model()
    across, upwards = (round(1e3 * each, 9) for each in model.divergence)
    return LidarFile(path, lidars[0].name, (across, upwards), model.samples)


def read_renderings(
    own: LidarFile | None, b: Source, rendered: Mapping[str | Path, Source]
) -> list[tuple[LidarFile, Source]]:
    """Sensor files and what was rendered with them, B's own among them, by divergence."""
    if own is None:
        raise UsageError("--rendered: needs --sensors, the file of B's own clouds")
    files = [(own, b), *((read_lidar_file(file), source) for file, source in rendered.items())]
    files.sort(key=lambda each: each[0].divergence)
    if len(files) < _LEAST:
        raise UsageError(f"--rendered: {_LEAST - 1} renderings with other divergences are needed at least")
    for file, _ in files:
        if file.samples == 1 and any(file.divergence):
            raise SimjudgeError(f"{file.path}: samples 1: its beams are single rays, whatever their divergence; write"
                                " samples: 3")  # fmt: skip
    for (one, _), (other, _) in pairwise(files):
        if one.divergence[0] == other.divergence[0]:
            raise UsageError(f"--rendered: {one.path} and {other.path} have the same horizontal divergence,"
                             f" {one.divergence[0]:g} mrad")  # fmt: skip
    return files


def write_fitted_sensors(
    given: LidarFile, out: Path, range_noise: float, drop_out: float, divergence: tuple[float, float] | None
) -> None:
    """Write a sensors' file with what was fitted: noise on top of the lidar's own, and divergence in its place.

    Args:
        range_noise: metres.
        divergence: horizontal and vertical, mrad; None leaves the lidar's own.
    """
    content: dict[str, Any] = dict(read_yaml(given.path).content)
    lidar = dict(content[given.name])
    noise = dict(lidar.get("noise") or {})
    noise["range"] = float(f"{np.hypot(float(noise.get('range', 0.0)), range_noise):.4g}")
    noise["drop_out"] = float(f"{1 - (1 - float(noise.get('drop_out', 0.0))) * (1 - drop_out):.4g}")
    fitted = "noise"
    if divergence is not None:
        across, upwards = (float(f"{each:.4g}") for each in divergence)
        lidar["divergence"] = {"horizontal": across, "vertical": upwards}
        if across == upwards == 0:
            lidar.pop("samples", None)
        elif lidar.get("samples", 1) == 1:
            lidar["samples"] = 3
        fitted = "noise and divergence"
    content[given.name] = lidar | {"noise": noise}
    with atomic_file(out) as temporary:
        text = yaml.safe_dump(content, sort_keys=False)
        header = f"# {given.path.stem}, fitted by simjudge fit: {fitted} of {given.name}."
        temporary.write_text(f"{header}\n{text}", encoding="utf-8")
    read_sensors(out)


def fitted_divergence(across: float, files: Sequence[LidarFile]) -> tuple[float, float]:
    """Horizontal and vertical, mrad: between those of the renderings."""
    rendered = np.array([each.divergence for each in files])
    return across, float(np.interp(across, rendered[:, 0], rendered[:, 1]))
