"""By what B is rendered again: A's camera from its camera_info or camera file, and A's light from the pictures."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from simjudge.core.arrays import FloatArray
from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.core.frames import FrameSet
from simjudge.data.rosbag2.storage import is_recording
from simjudge.questions.explain.camera_changes import (
    LEAST_SHIFT_PX,
    CameraChanges,
    Shutter,
    lens_shift,
    same_shape,
    scaled_lens,
)
from simjudge.questions.explain.rendered_sets import RenderedSets
from simjudge.sim.scene.read import read_scene
from simjudge.sim.scene.scene_changes import LightFactors, light_groups
from simjudge.sim.sensors.camera.calibration import recorded_calibration
from simjudge.sim.sensors.camera.camera import Camera
from simjudge.sim.sensors.camera.camera_file import read_camera
from simjudge.sim.sensors.camera.lens import Lens, lens_from_calibration
from simjudge.sim.sensors.camera_matching.camera_estimation import fit_light
from simjudge.sim.sensors.camera_matching.cause_names import RENDERED_CAUSES
from simjudge.studies.inputs import InputSet

NO_SCENE = "B's scene is not known: give --scene and --camera"
NO_LENS = "A's lens is not known: give --a-camera, or A as a recording with camera_info"
STANDS_STILL = "B's camera stands still in each frame, or its poses lie too far apart in time"
NO_PAIRS = "light is compared place by place: give --paired"
ONE_LIGHT = "the scene has one kind of light, and brighter light is the same as a longer exposure"
AUTO = "B's camera exposes automatically"
NO_SHUTTER = "A's exposure time is not known: give --a-camera"


@dataclass(frozen=True)
class KnownCamera:
    """What is known of A's camera.

    Attributes:
        size: width and height of A's pictures; None where they differ.
        lens: for pictures of this size; None where it is not known.
        shutter: None where it is not known.
    """

    size: tuple[int, int] | None
    lens: Lens | None = None
    shutter: Shutter | None = None


@dataclass(frozen=True)
class FoundChanges:
    """By what B is rendered again.

    Attributes:
        not_tried: by cause that could not be tried, why, and what would help.
    """

    changes: CameraChanges = field(default_factory=CameraChanges)
    not_tried: dict[str, str] = field(default_factory=dict)


def known_camera(side: InputSet, given: str | Path | None) -> KnownCamera:
    """What is known of the camera that made A's pictures.

    Args:
        given: a camera's file or name, or a calibration; None: the camera_info of A's recording, if there is one.
    """
    size = _size(side.frames)
    if given is not None:
        camera = read_camera(given)
        if size is not None and not same_shape(camera.lens.size, size):
            width, height = camera.lens.size
            raise UsageError(f"--a-camera {given}: makes {width}x{height}, and A's pictures have {size[0]}x{size[1]}")
        # A calibration alone says nothing of a shutter.
        plain = Path(given).suffix in (".ini", ".mat", ".xml")
        return KnownCamera(size, _sized(camera.lens, size), None if plain else Shutter.of(camera))
    if side.path is None or not is_recording(side.path):
        return KnownCamera(size)
    try:
        lens = lens_from_calibration(recorded_calibration(side.path, None))
    except (UsageError, SimjudgeError):
        return KnownCamera(size)
    return KnownCamera(size, _sized(lens, size))


def known_changes(known: KnownCamera, camera: Camera, wanted: Collection[str], *, moving: bool = True) -> FoundChanges:
    """What is changed of B's camera because A's is known to differ."""
    changes, not_tried = CameraChanges(), {}
    if "lens" in wanted:
        if known.lens is None:
            not_tried["lens"] = NO_LENS
        elif lens_shift(known.lens, camera.lens) >= LEAST_SHIFT_PX:
            changes = replace(changes, lens=known.lens)
    if "resolution" in wanted and known.size != camera.lens.size:
        if known.size is not None and same_shape(known.size, camera.lens.size):
            changes = replace(changes, size=known.size)
        else:
            not_tried["resolution"] = "A's pictures have other shapes than B's"
    if "motion" in wanted:
        if known.shutter is None:
            not_tried["motion"] = NO_SHUTTER
        elif _opens(known.shutter) != _opens(Shutter.of(camera)):
            if moving:
                changes = replace(changes, shutter=known.shutter)
            else:
                not_tried["motion"] = STANDS_STILL
    return FoundChanges(changes, not_tried)


def lighting_changes(
    found: FoundChanges, sets: RenderedSets, a: FrameSet, sample: int, *, paired: bool
) -> FoundChanges:
    """Find out how bright the scene's lights must be so that B's pictures are as bright as A's, place by place.

    Args:
        paired: whether A and B show the same; else nothing can be told.
    """
    kinds = light_groups(read_scene(sets.scene, sets.record.scene_seeds[0]))
    reason = NO_PAIRS if not paired else ONE_LIGHT if len(kinds) < 2 else AUTO if sets.camera.auto_exposure else None
    if reason is not None or a.images is None:
        return replace(found, not_tried=found.not_tried | {"lighting": reason or NO_PAIRS})
    camera = found.changes.camera(sets.camera)
    rows = np.unique(np.linspace(0, len(a) - 1, min(sample, len(a))).round().astype(int)).tolist()
    rows = [row for row in rows if a.images.has(row)]
    whole = sets.light(rows, camera, LightFactors())
    parts: list[dict[str, FloatArray]] = [{} for _ in rows]
    for kind in kinds:
        without = sets.light(rows, camera, replace(LightFactors(), **{kind: 0.0}))
        for part, every, less in zip(parts, whole, without, strict=True):
            part[kind] = (every - less)[:, :, 1]
    fitted = fit_light([a.images.read(row) for row in rows], parts)
    light = LightFactors(**{kind: round(value, 3) for kind, value in fitted.factors.items()})
    return found if light.neutral else replace(found, changes=replace(found.changes, light=light))


def without_scene(wanted: Collection[str]) -> FoundChanges:
    """Nothing is rendered: all these causes are not tried."""
    return FoundChanges(not_tried={name: NO_SCENE for name in RENDERED_CAUSES if name in wanted})


def _opens(shutter: Shutter) -> tuple[float, float]:
    return shutter.exposure_time, shutter.line_time


def _size(frames: FrameSet) -> tuple[int, int] | None:
    sizes = np.unique(frames.size, axis=0)
    return (int(sizes[0, 0]), int(sizes[0, 1])) if len(sizes) == 1 else None


def _sized(lens: Lens, size: tuple[int, int] | None) -> Lens | None:
    """The lens for pictures of a size; None where they show another part of the scene."""
    if size is None or not same_shape(lens.size, size):
        return None
    return scaled_lens(lens, size)
