"""A rendered probe at start: what this Chrono's cameras truly do, whatever its version says.

A plate fills everything from `ANGLE` to the right of the axis on, in the upper half of the picture only. Where its
edge lands says whether a sensor makes rays from tan(hFOV / 2) or from 2 hFOV / pi; the same through a radial lens says
whether the lens is applied at all (Vulkan's GPU shader ignores it: chrono_sensor_vkrt.rgen has no lens model); the
half in which it appears says which way up the rows come; the depth at the edge says whether it is along the ray.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from simjudge.core.arrays import FloatArray
from simjudge.core.errors import SimjudgeError
from simjudge.geometry.poses import Pose
from simjudge.sim.engines.chrono.buffers import linear
from simjudge.sim.engines.chrono.lenses import SensorRequest, chrono_slopes
from simjudge.sim.engines.chrono.modules import Modules
from simjudge.sim.engines.chrono.phys_camera import FULL
from simjudge.sim.engines.chrono.scenes import PlannedBody, PlannedMaterial, ScenePlan
from simjudge.sim.engines.chrono.stage import ChronoScene
from simjudge.sim.engines.chrono.versions import FACTORS, SENSORS, Factor, Release, Sensor
from simjudge.sim.engines.chrono.views import FARTHEST
from simjudge.sim.scene.model import Collider, Mesh

ANGLE = math.radians(30)
"""From the camera's axis to the plate's edge."""
FIELD = 1.4
"""hFOV of the probe's camera, radians."""
WIDTH = 640
"""Pixels of the probe's images."""
HEIGHT = 16
"""Pixels of the probe's images."""
DISTANCE = 5.0
"""Of the plate ahead of the camera, metres."""
COEFFICIENTS = (-0.2, 0.0, 0.0)
"""k1, k2, k3 of the radial lens that is tried."""
LIMIT = 1.0
"""Pixels between the edge that was found and the one that a formula says."""


@dataclass(frozen=True)
class ProbeResult:
    """What the sensors of a Chrono do.

    Attributes:
        radial: sensors in which the radial lens is applied.
        notes: where this differs from what the version says, one line each.
        deep: whether light can be had in 16 bits, from ChPhysCameraSensor with its stages off.
    """

    factors: dict[Sensor, Factor]
    radial: frozenset[Sensor]
    notes: tuple[str, ...] = ()
    deep: bool = False


def plate(tangent: float = math.tan(ANGLE), distance: float = DISTANCE) -> Mesh:
    """The plate, in the axes of a camera's body at the origin: from y = -distance tangent to the right, z above 0.

    Args:
        tangent: of the angle from the camera's axis to the plate's edge.
        distance: of the plate ahead, metres.
    """
    near, far, top = -distance * tangent, -distance * 40, distance
    vertices = np.array([[distance, near, 0], [distance, far, 0], [distance, far, top], [distance, near, top]])
    faces = np.array([[0, 2, 1], [0, 3, 2]])
    return Mesh(vertices, faces, np.zeros((4, 2)), np.tile([-1.0, 0.0, 0.0], (4, 1)))


def expected_edge(asked: SensorRequest, factor: Factor, *, lens: bool, tangent: float = math.tan(ANGLE)) -> float:
    """Box coordinate (pixel i covers [i, i + 1)) of the plate's edge in a row of the upper half, by formula.

    Args:
        factor: which formula of the field the sensor is taken to follow.
        tangent: of the angle from the camera's axis to the plate's edge.
    """
    width, height = asked.size
    columns = np.linspace(-0.5, width - 0.5, 20 * width + 1)
    pixels = np.stack([columns, np.full_like(columns, height / 4)], -1)
    used = asked if lens else SensorRequest(asked.size, asked.field)
    slopes = chrono_slopes(used, pixels, factor)[:, 0]
    return float(np.interp(tangent, slopes, columns)) + 0.5


def found_edge(hit: npt.NDArray[np.bool_], what: str) -> float:
    """Box coordinate of the first column of the plate, from what is hit (H, W).

    Args:
        hit: bool (H, W), True where the plate is seen.
    """
    height = len(hit) // 2
    upper, lower = hit[: height - 1], hit[height + 1 :]
    if not upper.any() or lower.any():
        raise SimjudgeError(f"engine chrono: the probe's plate is not in the upper half of the {what} picture")
    columns = np.flatnonzero(upper[len(upper) // 2])
    if columns[-1] != hit.shape[1] - 1 or len(columns) != hit.shape[1] - columns[0]:
        raise SimjudgeError(f"engine chrono: the probe's plate does not reach the right edge of the {what} picture")
    return float(columns[0])


def judge(edges: dict[tuple[Sensor, bool], float], release: Release) -> ProbeResult:
    """Which formula each sensor follows, from the plate's edges, pinhole (False) and radial (True).

    Args:
        edges: measured edge in pixels, by sensor and whether the lens was radial.
    """
    factors: dict[Sensor, Factor] = {}
    radial, notes = set(), []
    for sensor in SENSORS:
        miss = {f: abs(edges[sensor, False] - expected_edge(SensorRequest((WIDTH, HEIGHT), FIELD), f, lens=False))
                for f in ("tangent", "linear")}  # fmt: skip
        best: Factor = "tangent" if miss["tangent"] <= miss["linear"] else "linear"
        if miss[best] > LIMIT:
            raise SimjudgeError(
                f"engine chrono: a target at 30 degrees is in column {edges[sensor, False]:.0f} of the {sensor}"
                f" picture, {miss[best]:.0f} from any known field of view; it cannot be corrected"
            )
        factors[sensor] = best
        if best != FACTORS[release.age][sensor]:
            notes.append(f"{sensor}: field of view by the {best} rule, not as its version says; measured rule used")
        bent = SensorRequest((WIDTH, HEIGHT), FIELD, COEFFICIENTS)
        applied, ignored = (abs(edges[sensor, True] - expected_edge(bent, best, lens=lens)) for lens in (True, False))
        if applied <= LIMIT < ignored or applied < ignored:
            radial.add(sensor)
        else:
            notes.append(f"{sensor}: the radial lens is ignored here; lenses are looked up in pinhole pictures")
    return ProbeResult(factors, frozenset(radial), tuple(notes))


@cache
def probe(modules: Modules, release: Release) -> ProbeResult:
    """Render the plate through every sensor, once in a process."""
    white = PlannedMaterial((1.0, 1.0, 1.0), 1.0, 0.0, 7, 4660)
    shapes = ((plate(), white),)
    body = PlannedBody("plate", Pose(), plate(), shapes, True, 0.0, (0, 0, 0), np.zeros((3, 3)), Collider())
    stage = ChronoScene(modules, release, ScenePlan((body,), (), (1.0, 1.0, 1.0), (0.0,) * 3, (0.0,) * 3))
    try:
        stage.put_camera(Pose().optical_frame())
        looks: dict[Sensor, Callable[[SensorRequest], Any]] = {
            "camera": lambda asked: stage.colours(asked)[..., 1] > 64,
            "segmentation": lambda asked: _labelled(stage, asked),
            "depth": lambda asked: stage.distances(asked) < FARTHEST,
        }
        edges = {}
        for sensor in SENSORS:
            for radial in (False, True):
                asked = SensorRequest((WIDTH, HEIGHT), FIELD, COEFFICIENTS if radial else None)
                edges[sensor, radial] = found_edge(looks[sensor](asked), sensor)
        probed = judge(edges, release)
        _check_depth(stage, probed.factors["depth"])
        # On a GPU one picture in bytes, and another where it is full, is faster than a file; traced on a processor,
        # half of the time is saved, and dark parts are ten times as true.
        deep = release.phys_camera and not hasattr(modules.sensor, "ChOptixSensor") and _deep_agrees(stage, probed)
        return replace(probed, deep=deep)
    finally:
        stage.close()


def _labelled(stage: ChronoScene, asked: SensorRequest) -> npt.NDArray[np.bool_]:
    classes, instances = stage.labels(asked)
    wrong = set(np.unique(classes)) - {0, 7} or set(np.unique(instances)) - {0, 4660}
    if wrong:
        raise SimjudgeError(f"engine chrono: the probe's labels come back as {sorted(wrong)}")
    labelled: npt.NDArray[np.bool_] = (classes == 7) & (instances == 4660)
    return labelled


def _deep_agrees(stage: ChronoScene, probed: ProbeResult) -> bool:
    """Whether the physical camera, bare, sees the plate where and as bright as the colour camera does."""
    for radial in (False, True):
        lens = radial and "camera" in probed.radial
        asked = SensorRequest((WIDTH, HEIGHT), FIELD, COEFFICIENTS if radial else None)
        values, bytes_ = stage.deep(asked, 0.25), stage.colours(asked, 0.5)
        edge = found_edge(values[..., 1] > FULL / 16, "16-bit")
        if abs(edge - expected_edge(asked, probed.factors["camera"], lens=lens)) > LIMIT:
            return False
        deep, known = values[2, -4:] / FULL / 0.25, linear(bytes_[2, -4:]) / 0.5
        if not np.allclose(deep, known, rtol=0.02):
            return False
    return True


def _check_depth(stage: ChronoScene, factor: Factor) -> None:
    """Depth is along the ray in all known releases; were it along the axis, ours would be wrong by the cosine."""
    asked = SensorRequest((WIDTH, HEIGHT), FIELD)
    seen = stage.distances(asked)[2, -2]
    slopes: FloatArray = chrono_slopes(asked, [WIDTH - 2, 2], factor)
    along = DISTANCE * math.hypot(1.0, *slopes.tolist())
    if abs(seen - along) > 0.01 * along:
        raise SimjudgeError(f"engine chrono: the depth camera says {seen:.3f} m where the ray is {along:.3f} m long")
