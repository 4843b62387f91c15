"""The light of B's pictures, rendered again once: filters of a camera are then tried on it without rendering."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from simjudge.core.arrays import IntArray, hash_value
from simjudge.core.errors import Log, ProgressBar, SimjudgeError, UsageError
from simjudge.core.files import atomic_file
from simjudge.core.frames import FrameSet
from simjudge.core.images import EncodedImage, Images, RgbImage
from simjudge.core.installed import need_module
from simjudge.judging.inputs import InputSet
from simjudge.questions.explain.rendered_sets import NO_SCENE, RenderedSets, RenderOptions
from simjudge.sim.capture.render_plan import PlacedScene
from simjudge.sim.capture.render_record import read_render_record
from simjudge.sim.sensors.camera.camera_file import read_camera
from simjudge.sim.sensors.camera.chain import SceneLight, Step, filtered
from simjudge.sim.sensors.camera_matching.camera_difference import CameraDifference
from simjudge.sim.sensors.camera_matching.glare_estimation import estimate_glare


@dataclass(frozen=True)
class KnownLight:
    """The images of a set, and files with the light of each (see `LitImages`)."""

    source: Images
    files: Sequence[Path]
    own: tuple[Step, ...]

    def __len__(self) -> int:
        return len(self.source)

    def has(self, index: int) -> bool:
        """See `Images.has`."""
        return self.source.has(index)

    def read(self, index: int) -> RgbImage:
        """The picture as the set has it: see `Images.read`."""
        return self.source.read(index)

    def read_encoded(self, index: int) -> EncodedImage | None:
        """See `Images.read_encoded`."""
        return self.source.read_encoded(index)

    def light(self, index: int) -> SceneLight:
        """What frame `index` was made of."""
        return SceneLight(np.load(self.files[index], allow_pickle=False), self.own)

    def take(self, rows: IntArray, source: Images) -> KnownLight:
        """Some of them; `source`: their pictures."""
        return KnownLight(source, [self.files[row] for row in rows.tolist()], self.own)


def with_light(side: InputSet, given: RenderOptions, log: Log, progress: ProgressBar) -> InputSet:
    """B with the light of its pictures, rendered from its scene where its record says that its camera stood."""
    if given.scene is None or given.camera is None:
        return side
    need_module("mitsuba", "--scene: B's light is rendered again with Mitsuba")
    if side.path is None or side.frames.images is None:
        raise SimjudgeError(f"{side.frames.name}: is in memory; a set that simjudge rendered into files is needed")
    camera, reason = read_camera(given.camera), why_not_light(given.camera)
    if reason is not None:
        raise UsageError(f"--scene: {reason}")
    record = read_render_record(side.path, side.frames, camera)
    sets = RenderedSets(given.scene, camera, record, side.frames, given.renders.folder, log, progress)
    sets.check()
    files = _rendered(sets)
    return replace(side, frames=replace(side.frames, images=KnownLight(side.frames.images, files, camera.steps)))


def why_not_light(given: str | Path | None) -> str | None:
    """Why a camera makes its pictures of more than one frame's light, which then cannot be developed anew."""
    if given is None:
        return NO_SCENE
    camera = read_camera(given)
    reasons = {
        "exposes automatically": camera.auto_exposure is not None,
        "has filters before its exposure": bool(camera.before_exposure or camera.within_exposure),
        "is one of Chrono's own": camera.chrono is not None,
    }
    return next((f"camera {camera.name} {reason}" for reason, holds in reasons.items() if holds), None)


@dataclass(frozen=True)
class LensGlare:
    """The glare that B's camera lacks, as a difference of cameras and as drawn lamps spread it."""

    difference: CameraDifference  # with nothing else
    drawn: tuple[float, ...] = (0.0,)  # shares

    @classmethod
    def between(cls, a: FrameSet, b: FrameSet, seed: int) -> LensGlare:
        """What the lamps of both sets tell; no glare where they tell none, or B's light is not known."""
        found = estimate_glare(a, b, seed) if isinstance(b.images, KnownLight) else None
        if found is None:
            return cls(CameraDifference())
        return cls(CameraDifference(glare=found.share, glare_radius=found.radius), found.drawn)

    def before(self, frames: FrameSet) -> FrameSet:
        """B behind the glare, where all else is estimated."""
        steps = self.difference.steps("b")
        return filtered(frames, steps) if steps else frames

    def beside(self, rest: CameraDifference, number: int | None = None) -> CameraDifference:
        """All else with the glare, or with the share that drawing `number` of the lamps gives."""
        share = self.difference.glare if number is None else self.drawn[number % len(self.drawn)]
        return replace(rest, glare=share, glare_radius=self.difference.glare_radius)


def _rendered(sets: RenderedSets) -> list[Path]:
    """A file with the light of each frame; those that are there stay."""
    plan = sets.plan(sets.camera)
    folder = (
        sets.folder / f"light_{hash_value([plan.camera, plan.poses, plan.scene_seeds, plan.seed, plan.engine])[:16]}"
    )
    folder.mkdir(parents=True, exist_ok=True)
    files = [folder / f"{row}.npy" for row in range(len(plan))]
    with sets.progress("rendering the light of B") as advance, closing(PlacedScene(plan)) as placed:
        for row, file in enumerate(files):
            if not file.is_file():
                with atomic_file(file) as temporary, temporary.open("wb") as stream:
                    np.save(stream, sets.light_of(plan, placed, row))
            advance(row + 1, len(files))
    return files
