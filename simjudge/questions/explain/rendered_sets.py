"""B rendered again, through its camera and in its light with some causes undone."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from simjudge.core.arrays import FloatArray
from simjudge.core.digest import hash_value
from simjudge.core.display import ShortRepr
from simjudge.core.errors import SimjudgeError
from simjudge.core.frames import FrameSet
from simjudge.core.progress import Log, ProgressBar
from simjudge.questions.explain.camera_changes import CameraChanges
from simjudge.sim.capture.capture import Capture, CapturedFrame, FrameExposure, exposure_at, scripted_bodies
from simjudge.sim.capture.frame_store import FrameStore
from simjudge.sim.capture.render_plan import PlacedScene, RenderPlan, describe_rendering
from simjudge.sim.capture.render_record import RenderRecord
from simjudge.sim.capture.rendering import render_missing
from simjudge.sim.scene.read import read_scene
from simjudge.sim.scene.scene_changes import LightFactors
from simjudge.sim.sensors.camera.camera import Camera

SAME_PICTURE = 2.0
"""Mean difference of grey levels up to which a picture that is rendered again is the same one."""
_CHECKED = 3


@dataclass(repr=False, eq=False)
class RenderedSets(ShortRepr):
    """Renders B again, and keeps what was rendered.

    Attributes:
        scene: file or name of B's scene.
        record: where the camera stood in each frame.
        changes: what undoes the causes; set once it is known.
        log: told what a person should know.
    """

    scene: str | Path
    camera: Camera
    record: RenderRecord
    frames: FrameSet
    folder: Path
    log: Log
    progress: ProgressBar
    changes: CameraChanges = field(default_factory=CameraChanges)
    _kept: dict[tuple[str, ...], FrameSet] = field(default_factory=dict)

    def plan(self, camera: Camera, light: LightFactors | None = None) -> RenderPlan:
        """What is rendered where B is seen through a camera.

        Args:
            light: factors of the scene's light; None for none.
        """
        record = self.record
        seeds = tuple(record.scene_seeds)
        return RenderPlan(self.scene, camera, record.poses, 1, record.labelling, record.seed, record.engine,
                          scene_seeds=seeds, light=light or LightFactors())  # fmt: skip

    def of(self, causes: Collection[str]) -> FrameSet:
        """B with some causes undone; what was rendered before is not rendered again.

        Args:
            causes: their names; those that are not undone by rendering do not count.
        """
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
        return hash_value([self._scene_digest, plan.camera, plan.light, plan.poses, plan.scene_seeds, plan.seed,
                           plan.labelling, plan.engine])  # fmt: skip

    @cached_property
    def _scene_digest(self) -> str:
        return hash_value(read_scene(self.scene, self.record.scene_seeds[0]))

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
        """Render some frames without keeping them.

        Args:
            light: factors of the scene's light; None for none.
        """
        plan = self.plan(camera, light)
        with closing(PlacedScene(plan)) as placed:
            return [_captured(plan, placed, row) for row in rows]

    def light(self, rows: Sequence[int], camera: Camera, light: LightFactors) -> list[FloatArray]:
        """The light on the sensor in some frames, before any electronics.

        Returns:
            For each frame linear RGB, (H, W, 3), times the camera's gain.
        """
        plan, found = self.plan(camera, light), []
        with closing(PlacedScene(plan)) as placed:
            for row in rows:
                capture, exposure = _exposed(plan, placed, row)
                raw = capture.observe(exposure).light
                if raw is not None:
                    found.append(np.asarray(raw, np.float64) * camera.gain)
        return found

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
                raise SimjudgeError(f"{self.frames.name}: frame {name} has {size} pixels, camera {self.camera.name} "
                                    f"makes {here.shape[1]}x{here.shape[0]}; give B's own --camera")  # fmt: skip
            off = float(np.abs(there.astype(np.float32) - here.astype(np.float32)).mean())
            if off > SAME_PICTURE:
                raise SimjudgeError(f"{self.frames.name}: frame {name} rendered again is off by {off:.1f} grey levels; "
                                    "give the --camera and the --scene that B was rendered with")  # fmt: skip


def _captured(plan: RenderPlan, placed: PlacedScene, row: int) -> CapturedFrame:
    capture, exposure = _exposed(plan, placed, row)
    return capture.capture(exposure)


def _exposed(plan: RenderPlan, placed: PlacedScene, row: int) -> tuple[Capture, FrameExposure]:
    engine, poses = placed.engine_for(row), plan.poses
    exposure = exposure_at(plan.camera, poses.stamp[row], poses.frame_name[row],
                           lambda stamps: poses.at(row, stamps, engine),
                           scripted_bodies(engine.scene, poses.stamp[0]))  # fmt: skip
    return Capture(engine, plan.camera, plan.labelling, plan.mounted.noise_seed(plan.seed)), exposure
