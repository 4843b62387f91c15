"""B rendered again, through A's camera and in A's light with some causes undone: estimates, inputs, frames."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import numpy.typing as npt

from simjudge.core.arrays import FloatArray, ShortRepr, hash_value
from simjudge.core.errors import Log, ProgressBar, SimjudgeError, UsageError
from simjudge.core.frames import FrameSet
from simjudge.data.rosbag2.storage import is_recording
from simjudge.judging.inputs import InputSet
from simjudge.questions.explain.settings import CAUSE_NAMES, ExplainSettings
from simjudge.sim.capture.capture import Capture, CapturedFrame, FrameExposure, exposure_at, scripted_bodies
from simjudge.sim.capture.frame_store import FrameStore
from simjudge.sim.capture.render_plan import PlacedScene, RenderPlan, describe_rendering
from simjudge.sim.capture.render_record import RenderRecord, read_render_record
from simjudge.sim.capture.rendering import render_missing
from simjudge.sim.scene.read import read_scene
from simjudge.sim.scene.scene_changes import LightFactors, light_groups
from simjudge.sim.sensors.camera.calibration import recorded_calibration
from simjudge.sim.sensors.camera.camera import Camera
from simjudge.sim.sensors.camera.camera_file import read_camera
from simjudge.sim.sensors.camera.lens import Lens, lens_from_calibration
from simjudge.sim.sensors.camera_matching.camera_estimation import fit_light
from simjudge.sim.sensors.camera_matching.cause_names import RENDERED_CAUSES
from simjudge.sim.vehicle.scene_digest import scene_digest

LEAST_SHIFT_PX = 0.25
"""Pixels by which two lenses must differ somewhere to count as two."""
_GRID = 9


@dataclass(frozen=True)
class Shutter:
    """When light falls on a sensor: fields of `Camera` of the same names."""

    exposure_time: float
    exposure_samples: int = 8
    motion_blur: str = "moments"
    line_time: float = 0.0

    @classmethod
    def of(cls, camera: Camera) -> Shutter:
        """The shutter of a camera."""
        return cls(camera.exposure_time, camera.exposure_samples, camera.motion_blur, camera.line_time)


@dataclass(frozen=True)
class CameraChanges:
    """What of A's camera and light B is rendered with; None where it stays as it is."""

    lens: Lens | None = None  # A's lens, for pictures of A's size
    size: tuple[int, int] | None = None  # width and height of A's pictures, where they differ from B's
    shutter: Shutter | None = None
    light: LightFactors | None = None

    def causes(self) -> list[str]:
        """Names of the causes that these changes undo."""
        held = {"lens": self.lens, "resolution": self.size, "motion": self.shutter, "lighting": self.light}
        return [name for name, value in held.items() if value is not None]

    def camera(self, camera: Camera, causes: Collection[str] | None = None) -> Camera:
        """B's camera with some causes undone."""
        wanted = self.causes() if causes is None else causes
        lens = self.lens if self.lens is not None and "lens" in wanted else camera.lens
        # Pictures of another shape have no lens of B's shape.
        size = camera.lens.size if same_shape(lens.size, camera.lens.size) else lens.size
        if self.size is not None and "resolution" in wanted:
            size = self.size
        changed = replace(camera, lens=scaled_lens(lens, size))
        if self.shutter is not None and "motion" in wanted:
            changed = replace(changed, **vars(self.shutter))
        return changed

    def light_factors(self, causes: Collection[str] | None = None) -> LightFactors:
        """The scene's light with some causes undone."""
        used = self.light is not None and (causes is None or "lighting" in causes)
        return self.light if used and self.light is not None else LightFactors()

    def parameters(self, name: str) -> dict[str, object]:
        """What undoes a cause, for tables and files."""
        if name == "lens" and self.lens is not None:
            terms = {f"k{number}": round(term, 6) for number, term in enumerate(self.lens.coefficients, 1) if term}
            return {"model": self.lens.model, "focal_length": round(self.lens.focal[0], 3), **terms}
        if name == "resolution" and self.size is not None:
            return {"width": self.size[0], "height": self.size[1]}
        if name == "motion" and self.shutter is not None:
            rolling = {"line_time": self.shutter.line_time} if self.shutter.line_time else {}
            return {"exposure_time": self.shutter.exposure_time, **rolling}
        return {} if self.light is None else dict(self.light.changed())


def scaled_lens(lens: Lens, size: tuple[int, int]) -> Lens:
    """The same lens for pictures of another size.

    `size`: width and height of the scaled pictures, pixels. The outer edges coincide.
    """
    if size == lens.size:
        return lens
    across, down = (new / old for new, old in zip(size, lens.size, strict=True))
    focal = (lens.focal[0] * across, lens.focal[1] * down)
    centre = ((lens.centre[0] + 0.5) * across - 0.5, (lens.centre[1] + 0.5) * down - 0.5)
    return replace(lens, size=size, focal=focal, centre=centre)


def same_shape(a: tuple[int, int], b: tuple[int, int]) -> bool:
    """Whether pictures of two sizes can show the same part of a scene. `a`, `b`: width and height, pixels."""
    return abs(a[0] * b[1] / (a[1] * b[0]) - 1) <= 1 / min(*a, *b)


def lens_shift(a: Lens, b: Lens) -> float:
    """The most by which two lenses show the same ray elsewhere."""
    width, height = a.size
    grid = np.stack(np.meshgrid(np.linspace(0, width - 1, _GRID), np.linspace(0, height - 1, _GRID)), -1).reshape(-1, 2)
    if not same_shape(a.size, b.size):
        return math.inf
    there = a.project(scaled_lens(b, a.size).rays_at(grid))
    distance = np.linalg.norm(there - grid, axis=1)
    return float(np.where(np.isfinite(distance), distance, np.inf).max())


SAME_PICTURE = 2.0
"""Mean difference of grey levels up to which a picture that is rendered again is the same one."""
_CHECKED = 3


@dataclass(repr=False, eq=False)
class RenderedSets(ShortRepr):
    """Renders B again, and keeps what was rendered."""

    scene: str | Path  # file or name of B's scene
    camera: Camera
    record: RenderRecord  # where the camera stood in each frame
    frames: FrameSet
    folder: Path
    log: Log  # told what a person should know
    progress: ProgressBar
    changes: CameraChanges = field(default_factory=CameraChanges)  # what undoes the causes; set once it is known
    _kept: dict[tuple[str, ...], FrameSet] = field(default_factory=dict)

    def plan(self, camera: Camera, light: LightFactors | None = None) -> RenderPlan:
        """What is rendered where B is seen through a camera."""
        record = self.record
        seeds = tuple(record.scene_seeds)
        return RenderPlan(
            self.scene,
            camera,
            record.poses,
            1,
            record.labelling,
            record.seed,
            record.engine,
            scene_seeds=seeds,
            light=light or LightFactors(),
        )

    def of(self, causes: Collection[str]) -> FrameSet:
        """B with some causes undone; what was rendered before is not rendered again."""
        wanted = tuple(name for name in self.changes.causes() if name in causes)
        if not wanted:
            return self.frames
        if wanted not in self._kept:
            self._kept[wanted] = self._rendered(wanted)
        return self._kept[wanted]

    def digest(self, causes: Collection[str]) -> str | None:
        """A fingerprint of how B is rendered with some causes undone; None where it is not rendered again."""
        wanted = [name for name in self.changes.causes() if name in causes]
        if not wanted:
            return None
        plan = self.plan(self.changes.camera(self.camera, wanted), self.changes.light_factors(wanted))
        return hash_value(
            [
                self._scene_digest,
                plan.camera,
                plan.light,
                plan.poses,
                plan.scene_seeds,
                plan.seed,
                plan.labelling,
                plan.engine,
            ]
        )

    @cached_property
    def _scene_digest(self) -> str:
        return scene_digest(self.scene, self.record.scene_seeds[0])

    def _rendered(self, wanted: tuple[str, ...]) -> FrameSet:
        plan = self.plan(self.changes.camera(self.camera, wanted), self.changes.light_factors(wanted))
        with closing(PlacedScene(plan)) as placed:
            about = describe_rendering(plan, placed.engine)
            store = FrameStore.beside(self.folder / hash_value(about)[:16], about)
            with store.kept_if_stopped(len(plan), self.log), self.progress("rendering B again") as advance:
                render_missing(plan, placed, store, 1, advance)
            names = dict(placed.engine.scene.class_names)
        poses = plan.poses
        stamps = np.asarray(self.frames.stamp, np.int64)
        found = store.frames(self.frames.name, list(poses.frame_name), stamps, plan.camera.lens.size, names)
        return replace(found, independent=self.frames.independent)

    def capture(self, rows: Sequence[int], camera: Camera, light: LightFactors | None = None) -> list[CapturedFrame]:
        """Render some frames without keeping them."""
        plan = self.plan(camera, light)
        with closing(PlacedScene(plan)) as placed:
            return [_captured(plan, placed, row) for row in rows]

    def light(self, rows: Sequence[int], camera: Camera, light: LightFactors) -> list[FloatArray]:
        """The light on the sensor in some frames, before any electronics.

        Returns for each frame linear RGB, (H, W, 3), times the camera's gain.
        """
        plan = self.plan(camera, light)
        with closing(PlacedScene(plan)) as placed:
            return [self.light_of(plan, placed, row).astype(np.float64) for row in rows]

    @staticmethod
    def light_of(plan: RenderPlan, placed: PlacedScene, row: int) -> npt.NDArray[np.float32]:
        """The light of one frame, (H, W, 3)."""
        capture, exposure = _exposed(plan, placed, row)
        raw = capture.observe(exposure).light
        if raw is None:
            raise SimjudgeError(f"engine {plan.engine}: gives no light of a frame")
        return np.asarray(raw * np.float32(plan.camera.gain), np.float32)

    def check(self) -> None:
        """Make sure that scene and camera are B's: some frames are rendered again and must be as B has them."""
        if self.frames.images is None or self.plan(self.camera).exposed_in_turn:
            return
        rows = np.unique(np.linspace(0, len(self.frames) - 1, _CHECKED).round().astype(int)).tolist()
        for row, frame in zip(rows, self.capture(rows, self.camera), strict=True):
            there, here = self.frames.images.read(row), frame.pixels()
            name = self.frames.frame_name[row]
            if there.shape != here.shape:
                size = f"{there.shape[1]}x{there.shape[0]}"
                raise SimjudgeError(
                    f"{self.frames.name}: frame {name} has {size} pixels, camera {self.camera.name} "
                    f"makes {here.shape[1]}x{here.shape[0]}; give B's own --camera"
                )
            off = float(np.abs(there.astype(np.float32) - here.astype(np.float32)).mean())
            if off > SAME_PICTURE:
                raise SimjudgeError(
                    f"{self.frames.name}: frame {name} rendered again is off by {off:.1f} grey levels; "
                    "give the --camera and the --scene that B was rendered with"
                )


def _captured(plan: RenderPlan, placed: PlacedScene, row: int) -> CapturedFrame:
    capture, exposure = _exposed(plan, placed, row)
    return capture.capture(exposure)


def _exposed(plan: RenderPlan, placed: PlacedScene, row: int) -> tuple[Capture, FrameExposure]:
    engine, poses = placed.engine_for(row), plan.poses
    exposure = exposure_at(
        plan.camera,
        poses.stamp[row],
        poses.frame_name[row],
        lambda stamps: poses.at(row, stamps, engine),
        scripted_bodies(engine.scene, poses.stamp[0]),
    )
    return Capture(engine, plan.camera, plan.labelling, plan.mounted.noise_seed(plan.seed)), exposure


NO_SCENE = "B's scene is not known: give --scene and --camera"
NO_LENS = "A's lens is not known: give --a-camera, or A as a recording with camera_info"
STANDS_STILL = "B's camera stands still in each frame, or its poses lie too far apart in time"
NO_PAIRS = "light is compared place by place: give --paired"
ONE_LIGHT = "the scene has one kind of light, and brighter light is the same as a longer exposure"
AUTO = "B's camera exposes automatically"
NO_SHUTTER = "A's exposure time is not known: give --a-camera"


@dataclass(frozen=True)
class KnownCamera:
    """What is known of A's camera."""

    size: tuple[int, int] | None  # width and height of A's pictures; None where they differ
    lens: Lens | None = None  # for pictures of this size; None where it is not known
    shutter: Shutter | None = None  # None where it is not known


@dataclass(frozen=True)
class FoundChanges:
    """By what B is rendered again."""

    changes: CameraChanges = field(default_factory=CameraChanges)
    # by cause that could not be tried, why, and what would help
    not_tried: dict[str, str] = field(default_factory=dict)


def known_camera(side: InputSet, given: str | Path | None) -> KnownCamera:
    """What is known of the camera that made A's pictures."""
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
    """Find out how bright the scene's lights must be so that B's pictures are as bright as A's, place by place."""
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


RENDERS = "renders"
"""Folder beside explain.json: B rendered again; may be deleted."""


@dataclass(frozen=True)
class Renders:
    """Where rendered frames are kept."""

    folder: Path
    kept: bool  # whether it stays when the answer is there


@dataclass(frozen=True)
class RenderOptions:
    """What was given to render B again."""

    camera: str | Path | None  # that B was rendered through: a file or a name
    scene: str | Path | None  # that B was rendered from: a file or a name
    a_camera: str | Path | None  # A's camera: a file, a name, or a calibration
    renders: Renders

    def __post_init__(self) -> None:
        """Check that options go together."""
        if (self.camera is None) != (self.scene is None):
            missing = "--camera" if self.camera is None else "--scene"
            raise UsageError(f"{missing}: is missing; B is rendered again from its scene through its camera")
        if self.a_camera is not None and self.scene is None:
            raise UsageError("--a-camera: needs --scene and --camera too, those that B was rendered with")


@contextmanager
def renders_folder(folder: Path | None) -> Iterator[Renders]:
    """Where rendered frames are kept: in the folder of the explanation, or for as long as this block."""
    if folder is not None:
        yield Renders(folder / RENDERS, kept=True)
        return
    with TemporaryDirectory(prefix="simjudge_") as temporary:
        yield Renders(Path(temporary), kept=False)


def rendered_sets(
    sides: tuple[InputSet, InputSet], given: RenderOptions, settings: ExplainSettings, log: Log, progress: ProgressBar
) -> tuple[RenderedSets | None, dict[str, str]]:
    """Find out by what B must be rendered again."""
    wanted = settings.causes or CAUSE_NAMES
    if given.scene is None or given.camera is None:
        return None, without_scene(wanted).not_tried
    if not set(wanted) & set(RENDERED_CAUSES):
        return None, {}
    a, b = sides
    if b.path is None:
        raise SimjudgeError(f"{b.frames.name}: is in memory; a set that simjudge rendered into files is needed")
    camera = read_camera(given.camera)
    known = known_camera(a, given.a_camera)
    record = read_render_record(b.path, b.frames, camera)
    found = known_changes(known, camera, wanted, moving=record.poses.moves)
    given.renders.folder.mkdir(parents=True, exist_ok=True)
    sets = RenderedSets(given.scene, camera, record, b.frames, given.renders.folder, log, progress)
    sets.check()
    if "lighting" in wanted:
        found = lighting_changes(found, sets, a.frames, settings.sample, paired=settings.paired)
    sets.changes = found.changes
    return sets, found.not_tried
