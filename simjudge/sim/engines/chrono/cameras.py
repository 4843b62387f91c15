"""Our lenses and exposures, taken with Chrono's cameras, a probe at start of what these truly do, and their renderer.

The probe is rendered, whatever Chrono's version says. A plate fills everything from `ANGLE` to the right of the axis
on, in the upper half of the picture only. Where its edge lands says whether a sensor makes rays from tan(hFOV / 2) or
from 2 hFOV / pi; the same through a radial lens says whether the lens is applied at all (Vulkan's GPU shader ignores
it: chrono_sensor_vkrt.rgen has no lens model); the half in which it appears says which way up the rows come; the depth
at the edge says whether it is along the ray.
"""

from __future__ import annotations

import math
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from simjudge.core.arrays import FloatArray
from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.core.processes import python_command
from simjudge.geometry.poses import Pose
from simjudge.sim.engines.chrono import modules as buffers
from simjudge.sim.engines.chrono.lenses import (
    DIRECT_LIMIT,
    FULL,
    PhysCamera,
    SensorRequest,
    chrono_slopes,
    direct_error,
    direct_request,
    field_for,
)
from simjudge.sim.engines.chrono.modules import (
    FACTORS,
    SENSORS,
    Factor,
    Modules,
    Release,
    Sensor,
    identify_release,
    linear,
    load_modules,
)
from simjudge.sim.engines.chrono.scenes import ChronoScene, PlannedBody, PlannedMaterial, ScenePlan
from simjudge.sim.engines.chrono.views import FARTHEST, ChronoViews, Noisy, Physical
from simjudge.sim.engines.contract import Labels
from simjudge.sim.engines.pinhole_pictures import Lookup, average_blocks, look_up, lookup_for, side_of
from simjudge.sim.scene.model import Collider, Mesh
from simjudge.sim.sensors.camera.camera import Camera, ChronoPhysical
from simjudge.sim.sensors.camera.lens import Lens

ANGLE = math.radians(30)  # From the camera's axis to the plate's edge
FIELD = 1.4  # hFOV of the probe's camera, radians
WIDTH = 640  # Pixels of the probe's images
HEIGHT = 16  # Pixels of the probe's images
DISTANCE = 5.0  # Of the plate ahead of the camera, metres
COEFFICIENTS = (-0.2, 0.0, 0.0)  # k1, k2, k3 of the radial lens that is tried
LIMIT = 1.0  # Pixels between the edge that was found and the one that a formula says


@dataclass(frozen=True)
class ProbeResult:
    """What the sensors of a Chrono do."""

    factors: dict[Sensor, Factor]
    radial: frozenset[Sensor]  # sensors in which the radial lens is applied
    notes: tuple[str, ...] = ()  # where this differs from what the version says, one line each
    deep: bool = False  # whether light can be had in 16 bits, from ChPhysCameraSensor with its stages off


def plate(tangent: float = math.tan(ANGLE), distance: float = DISTANCE) -> Mesh:
    """The plate, in the axes of a camera's body: from y = -distance tangent to the right, z above 0, metres."""
    near, far, top = -distance * tangent, -distance * 40, distance
    vertices = np.array([[distance, near, 0], [distance, far, 0], [distance, far, top], [distance, near, top]])
    faces = np.array([[0, 2, 1], [0, 3, 2]])
    return Mesh(vertices, faces, np.zeros((4, 2)), np.tile([-1.0, 0.0, 0.0], (4, 1)))


def expected_edge(asked: SensorRequest, factor: Factor, *, lens: bool, tangent: float = math.tan(ANGLE)) -> float:
    """Box coordinate (pixel i covers [i, i + 1)) of the plate's edge in a row of the upper half, by formula."""
    width, height = asked.size
    columns = np.linspace(-0.5, width - 0.5, 20 * width + 1)
    pixels = np.stack([columns, np.full_like(columns, height / 4)], -1)
    used = asked if lens else SensorRequest(asked.size, asked.field)
    slopes = chrono_slopes(used, pixels, factor)[:, 0]
    return float(np.interp(tangent, slopes, columns)) + 0.5


def found_edge(hit: npt.NDArray[np.bool_], what: str) -> float:
    """Box coordinate of the first column of the plate, from what is hit (H, W) (hit: bool (H, W))."""
    height = len(hit) // 2
    upper, lower = hit[: height - 1], hit[height + 1 :]
    if not upper.any() or lower.any():
        raise SimjudgeError(f"engine chrono: the probe's plate is not in the upper half of the {what} picture")
    columns = np.flatnonzero(upper[len(upper) // 2])
    if columns[-1] != hit.shape[1] - 1 or len(columns) != hit.shape[1] - columns[0]:
        raise SimjudgeError(f"engine chrono: the probe's plate does not reach the right edge of the {what} picture")
    return float(columns[0])


def judge(edges: dict[tuple[Sensor, bool], float], release: Release) -> ProbeResult:
    """Which formula each sensor follows, from the plate's edges in pixels, pinhole (False) and radial (True)."""
    factors: dict[Sensor, Factor] = {}
    radial, notes = set(), []
    for sensor in SENSORS:
        miss = {
            f: abs(edges[sensor, False] - expected_edge(SensorRequest((WIDTH, HEIGHT), FIELD), f, lens=False))
            for f in ("tangent", "linear")
        }
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


# Parts of the scene's light that a picture is taken in, the next one where the one before is full: bytes end at 1.
BRACKETS = (1.0, 1 / 16, 1 / 256)
# The same in 16 bits, where one picture does for a radiance up to 4: half a step is 3e-5.
DEEP_BRACKETS = (1 / 4, 1 / 64, 1 / 1024)
# How much finer than our pixels a looked-up pinhole picture is, per ray of a pixel's side.
_FINE = {"camera": 1, "segmentation": 4, "depth": 4}


class ChronoCameras:
    """Pictures of a stage through any of our lenses.

    Args:
        brackets: parts of the light that pictures are taken in; None: as many as bright parts need.
    """

    def __init__(self, stage: ChronoViews, probed: ProbeResult, brackets: tuple[float, ...] | None = None) -> None:
        self._stage, self._probed = stage, probed
        self._brackets = brackets or (DEEP_BRACKETS if probed.deep else BRACKETS)
        self._requests: dict[tuple[Lens, Sensor, int], SensorRequest | Lookup] = {}

    def radiance(self, lens: Lens, rays_per_pixel: int) -> npt.NDArray[np.float32]:
        """Linear RGB (H, W, 3) of the stage as it stands, n x n rays a pixel on a grid: float32 (H, W, 3)."""
        side = side_of(rays_per_pixel)
        request = self._request(lens, "camera", side)
        if isinstance(request, SensorRequest):
            return average_blocks(self._bracketed(request), side)
        asked = SensorRequest(request.size, field_for(request.tangent, self._probed.factors["camera"]))
        return look_up(self._bracketed(asked), request, lens, side)

    def own(self, camera: Camera) -> npt.NDArray[np.float32]:
        """Linear RGB (H, W, 3) of the stage as it stands, with what the camera asks of Chrono's own ones.

        Chrono's noise belongs to the finished picture: it is asked for at its own size, n x n jittered rays a pixel,
        with the lamps at the camera's gain, and is clipped at full scale.
        """
        if isinstance(camera.chrono, ChronoPhysical):
            if camera.lens.model != "pinhole" and "camera" not in self._probed.radial:
                raise UsageError(f"{camera.path}: lens: this PyChrono ignores radial lenses; take a pinhole one")
            settings = PhysCamera(**vars(camera.chrono))
            values = self._stage.values(Physical(settings, camera.lens, camera.supersampling))
            return np.asarray(values[..., :3] / np.float32(FULL), np.float32)
        if camera.chrono is None:
            raise UsageError(f"{camera.name}: it asks nothing of Chrono's own cameras")
        request = self._request(camera.lens, "camera", 1)
        if not isinstance(request, SensorRequest):
            raise UsageError(f"{camera.path}: chrono.noise: Chrono's camera has no such lens here; take a pinhole one")
        bytes_ = self._stage.noisy(Noisy(request, camera.supersampling, camera.chrono), camera.gain)
        return buffers.linear(bytes_) / np.float32(camera.gain)

    def labels(self, lens: Lens) -> Labels:
        """Classes, instances and depth of the stage as it stands, through the pixels' centres: classes uint8 (H, W)."""
        request = self._request(lens, "segmentation", 1)
        if isinstance(request, SensorRequest):
            classes, instances = self._stage.labels(request)
        else:
            asked = SensorRequest(request.size, field_for(request.tangent, self._probed.factors["segmentation"]))
            found = self._stage.labels(asked)
            rows, columns = _nearest_pixels(request, lens)
            classes, instances = (image[rows, columns] for image in found)
        return Labels(_small(classes), instances, self._depth(lens))

    def _depth(self, lens: Lens) -> npt.NDArray[np.float32]:
        request, rays = self._request(lens, "depth", 1), lens.rays()
        if isinstance(request, SensorRequest):
            return buffers.axial_depth(self._stage.distances(request), rays, FARTHEST)
        asked = SensorRequest(request.size, field_for(request.tangent, self._probed.factors["depth"]))
        rows, columns = _nearest_pixels(request, lens)
        straight = _pinhole_rays(request)[rows, columns]
        return buffers.axial_depth(self._stage.distances(asked)[rows, columns], straight, FARTHEST)

    def _bracketed(self, asked: SensorRequest) -> npt.NDArray[np.float32]:
        """Linear light of a picture, taken again in less light where a channel is full."""
        first, *less = self._brackets
        light, full = self._lit(asked, first)
        image = light / np.float32(first)
        for part in less:
            if not full.any():
                break
            light, still = self._lit(asked, part)
            image[full] = light[full] / np.float32(part)
            full = full & still
        return image

    def _lit(self, asked: SensorRequest, part: float) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.bool_]]:
        """A picture in a part of the scene's light, full scale 1, and where it is full."""
        if self._probed.deep:
            values = self._stage.deep(asked, part)
            return np.asarray(values / np.float32(FULL), np.float32), values >= FULL
        bytes_ = self._stage.colours(asked, part)
        return buffers.linear(bytes_), bytes_ >= buffers.SATURATED

    def _request(self, lens: Lens, sensor: Sensor, side: int) -> SensorRequest | Lookup:
        key = (lens, sensor, side)
        if key not in self._requests:
            self._requests[key] = self._plan(lens, sensor, side)
        return self._requests[key]

    def _plan(self, lens: Lens, sensor: Sensor, side: int) -> SensorRequest | Lookup:
        factor = self._probed.factors[sensor]
        usable = lens.model == "pinhole" or sensor in self._probed.radial
        asked = direct_request(lens, factor, oversample=side) if usable else None
        if asked is not None and direct_error(lens, factor) <= DIRECT_LIMIT:
            return asked
        return lookup_for("chrono", lens, _FINE[sensor] * side)


def _small(classes: npt.NDArray[np.uint16]) -> npt.NDArray[np.uint8]:
    if classes.size and int(classes.max()) > 255:
        raise UsageError(f"class {int(classes.max())}: labels of an engine end at 255")
    return classes.astype(np.uint8)


def _nearest_pixels(lookup: Lookup, lens: Lens) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Rows and columns of the looked-up picture that our pixels' centres fall on."""
    found = np.rint(lookup.pixels(lens.rays())).astype(np.int64)
    width, height = lookup.size
    return np.clip(found[..., 1], 0, height - 1), np.clip(found[..., 0], 0, width - 1)


def _pinhole_rays(lookup: Lookup) -> FloatArray:
    width, height = lookup.size
    focal = width / 2 / lookup.tangent
    x, y = ((np.arange(side) - (side - 1) / 2) / focal for side in lookup.size)
    rays = np.stack([*np.meshgrid(x, y), np.ones((height, width))], -1)
    unit: FloatArray = rays / np.linalg.norm(rays, axis=-1, keepdims=True)
    return unit


_RENDERER_SECONDS = 60.0
_PICTURE_SECONDS = 120.0
_DEVICE = re.compile(r"Vulkan RT device: (.+)")
_FALLBACK = re.compile(r"using CPU fallback: (.+)")


def _run_elsewhere(what: str, seconds: float) -> subprocess.CompletedProcess[str]:
    """What this module says as a program: "renderer" or "pictures", in a process of its own."""
    command = python_command("-m", "simjudge.sim.engines.chrono.cameras", what)
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=seconds,
        check=False,
        stdin=subprocess.DEVNULL,
    )


def vulkan_renderer(seconds: float = _RENDERER_SECONDS) -> str:
    """What a Vulkan build of PyChrono renders on, asked of it in a process of its own."""
    try:
        done = _run_elsewhere("renderer", seconds)
    except subprocess.TimeoutExpired:
        return f"Vulkan RT, on what is unknown: no answer in {seconds:g} s"
    return read_answer(done.stdout + "\n" + done.stderr, done.returncode)


def read_answer(printed: str, code: int) -> str:
    """What a manager's words and the end of its process say."""
    lines = [line.strip() for line in printed.splitlines() if line.strip()]
    if code:
        why = f"the probe ended with {signal.Signals(-code).name}" if code < 0 else "the probe failed"
        return f"Vulkan RT, on what is unknown: {why}{f': {lines[-1]}' if lines else ''}"
    for line in lines:
        if found := _FALLBACK.search(line):
            return f"Vulkan RT's fallback on the processor: {found[1]}"
        if found := _DEVICE.search(line):
            return (
                f"Vulkan RT, device {found[1]} (on the processor all the same if built without"
                " CH_USE_SENSOR_VULKAN_RT_GPU)"
            )
    return "Vulkan RT, on what is unknown: Chrono does not say"


def _ask() -> None:
    modules = load_modules()
    core, sensor = modules.core, modules.sensor
    system, body = core.ChSystemNSC(), core.ChBody()
    body.SetFixed(True)
    system.AddBody(body)
    manager = sensor.ChSensorManager(system)
    manager.SetVerbose(True)
    manager.AddSensor(sensor.ChDepthCamera(body, 1.0, core.ChFramed(), 8, 8, 1.0))
    sys.stdout.flush()
    sys.stderr.flush()
    # Without the end of a Python process: threads of sensors may still run.
    os._exit(0)


def picture_problem(seconds: float = _PICTURE_SECONDS) -> str:
    """Why there are no pictures: one line, empty where there are pictures."""
    try:
        done = _run_elsewhere("pictures", seconds)
    except subprocess.TimeoutExpired:
        return f"no answer in {seconds:g} s"
    if done.returncode == 0:
        return ""
    lines = [line.strip() for line in done.stderr.splitlines() if line.strip()]
    said = lines[-1] if lines else "it said nothing"
    return f"{signal.Signals(-done.returncode).name}: {said}" if done.returncode < 0 else said


def _try() -> None:
    modules = load_modules()
    probe(modules, identify_release(modules.core, modules.sensor, modules.vehicle, modules.version))
    # Without the end of a Python process: threads of sensors may still run.
    os._exit(0)


if __name__ == "__main__":
    {"renderer": _ask, "pictures": _try}[sys.argv[1]]()
