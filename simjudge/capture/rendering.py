"""Rendering labelled frames of a scene by the thousand: what is finished is kept, and a stopped run goes on."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from simjudge.capture.camera_poses import CameraPoses
from simjudge.capture.exposure import gather, shot_of
from simjudge.capture.frame_store import FrameStore
from simjudge.capture.ground_truth import Labelling, ground_truth
from simjudge.core.digest import hash_value
from simjudge.core.errors import Losses, UsageError
from simjudge.core.files import atomic_file
from simjudge.core.frames import FrameSet
from simjudge.core.version import version
from simjudge.data.formats.yolo.dataset import write_yolo
from simjudge.data.rosbag2.writing import write_recording
from simjudge.engines.contract import Engine, SceneState
from simjudge.engines.registry import make_engine
from simjudge.geometry.poses import Pose
from simjudge.scene.model import Scene
from simjudge.scene.read import read_scene
from simjudge.sensors.camera.camera import Camera
from simjudge.sensors.camera.camera_messages import CameraMessages
from simjudge.sensors.camera.shutter import exposure_stamps, middle_stamp

BAGS = (".mcap", ".db3")
_FIXED_FRAME = "map"


@dataclass(frozen=True)
class Rendering:
    """What is to be rendered.

    Attributes:
        scene: file or name of the scene.
        camera: that sees it.
        poses: of the camera, one for each frame.
        scenes: how many placements of the scene's random things; each is seen in a run of frames.
        labelling: what is worth a label.
        seed: of the placements and of the camera's noise.
        engine: its name.
    """

    scene: str | Path
    camera: Camera
    poses: CameraPoses
    scenes: int = 1
    labelling: Labelling = field(default_factory=Labelling)
    seed: int = 0
    engine: str = "default"

    def __post_init__(self) -> None:
        """Check that there are frames for all placements."""
        if not 1 <= self.scenes <= len(self):
            raise UsageError(f"{self.scenes} placements for {len(self)} frames: 1 to {len(self)} are needed")

    def __len__(self) -> int:
        """The number of frames."""
        return len(self.poses.stamp)

    def placement(self, index: int) -> int:
        """Number of the placement that frame `index` sees."""
        return index * self.scenes // len(self)

    def scene_seed(self, placement: int) -> int:
        """The scene's seed for a placement: the seed itself where there is one only, else drawn from it."""
        if self.scenes == 1:
            return self.seed
        return int(np.random.SeedSequence((self.seed, placement)).generate_state(1)[0])


class Stage:
    """The scene as the frames see it, one placement at a time."""

    def __init__(self, work: Rendering) -> None:
        """Set up the first placement.

        Raises:
            SimjudgeError: the scene cannot be read, or the engine cannot run here.
        """
        self._work, self._placement = work, 0
        self.engine: Engine = self._made(0)
        self._digest = hash_value((self.engine.scene.things, self.engine.scene.lights))

    def close(self) -> None:
        """Close the engine."""
        self.engine.close()

    def of(self, index: int) -> Engine:
        """An engine with the placement that frame `index` sees."""
        placement = self._work.placement(index)
        if placement != self._placement:
            scene = self._read(placement)
            digest = hash_value((scene.things, scene.lights))
            if digest != self._digest:  # a scene without anything random stays as it is
                self.engine.close()
                self.engine, self._digest = make_engine(self._work.engine, scene), digest
            self._placement = placement
        return self.engine

    def _made(self, placement: int) -> Engine:
        return make_engine(self._work.engine, self._read(placement))

    def _read(self, placement: int) -> Scene:
        return read_scene(self._work.scene, self._work.scene_seed(placement))


def render(work: Rendering, stage: Stage, store: FrameStore, advance: Callable[[int, int], None]) -> None:
    """Render the frames that the store does not have yet; what is finished stays in it, whatever happens.

    The engine's rays keep all cores busy; developing and writing a frame goes on beside the next one's.
    """
    store.fill(len(work), lambda index: _seen(work, stage.of(index), index, store), advance)


def _seen(work: Rendering, engine: Engine, index: int, store: FrameStore) -> Callable[[], None]:
    """Look at a frame; what is left to do with it."""
    camera, stamp, name = work.camera, work.poses.stamp[index], work.poses.frame_name[index]
    times = [middle_stamp(camera, stamp), *exposure_stamps(camera, stamp)]
    middle, *scene_states = (SceneState(pose) for pose in work.poses.at(index, times, engine))
    light, labels = gather(engine, camera, scene_states), engine.labels(camera.lens, middle)
    scene = engine.scene

    def finish() -> None:
        truth = ground_truth(scene, camera.lens, middle, labels, work.labelling)
        about = {
            "scene_seed": scene.seed,
            "camera": [*middle.camera.position, *middle.camera.orientation],
            "visible": truth.visible.round(4).tolist(),
        }
        store.add(index, shot_of(camera, light, name, work.seed).stored(), truth.objects, about)

    return finish


def described(work: Rendering, engine: Engine) -> dict[str, Any]:
    """All that the frames depend on, as JSON has it."""
    camera, scene = work.camera, engine.scene
    return {
        "version": version(),
        "scene": {"name": scene.name, "path": str(scene.path), "sha256": hash_value(scene), "placements": work.scenes},
        "camera": {"name": camera.name, "path": str(camera.path), "sha256": hash_value(camera)},
        "poses": {"kind": type(work.poses).__name__, "frames": len(work), "sha256": hash_value(work.poses)},
        "labelling": {"min_size": work.labelling.min_size, "min_visible": work.labelling.min_visible},
        "engine": {"name": engine.name, "variant": engine.variant},
        "seed": work.seed,
    }


def described_frames(work: Rendering, store: FrameStore) -> list[dict[str, Any]]:
    """Of each frame: its name, its placement's seed, where the camera was, and how much of each object can be seen."""
    return [{"name": name, **store.about(index)} for index, name in enumerate(work.poses.frame_name)]


def sides_of(work: Rendering, valid: float, test: float) -> list[str]:
    """The side of a data set that each frame is on: "train", "valid" or "test"; nothing where all are for training.

    Frames of one placement stay together where there are several placements.

    Args:
        work: what is rendered.
        valid, test: shares of the placements, or of the frames.

    Raises:
        UsageError: there are too few placements or frames for that.
    """
    if not valid and not test:
        return []
    groups = work.scenes if work.scenes > 1 else len(work)
    counts = [max(round(share * groups), 1) if share else 0 for share in (valid, test)]
    if sum(counts) >= groups:
        what = "placements (--scenes)" if work.scenes > 1 else "frames"
        raise UsageError(f"--valid {valid:g}, --test {test:g}: {groups} {what} leave nothing to train on")
    order = np.random.default_rng(work.seed).permutation(groups)
    side = np.full(groups, "train", dtype="<U5")
    side[order[: counts[0]]], side[order[counts[0] : sum(counts)]] = "valid", "test"
    return [str(side[work.placement(index) if work.scenes > 1 else index]) for index in range(len(work))]


def write(
    work: Rendering, stage: Stage, store: FrameStore, out: Path, about: dict[str, Any], sides: Sequence[str] = ()
) -> Losses:
    """Write all frames, and OUT.render.json, which tells what was done and what each frame shows.

    Args:
        work: what was rendered.
        stage: it was seen on.
        store: with all its frames.
        out: x.mcap or x.db3, or the folder of a YOLO data set.
        about: `described`; goes into the recording's metadata and the data set's data.yaml too.
        sides: of a data set: `sides_of`.

    Raises:
        SimjudgeError: it cannot be written.
    """
    size, names = work.camera.lens.size, dict(stage.engine.scene.class_names)
    frames = store.frames(out.name, work.poses.frame_name, np.array(work.poses.stamp, np.int64), size, names)
    lost = Losses()
    if out.suffix in BAGS:
        lost = _write_bag(work, store, frames, out, about)
    else:
        write_yolo(frames, out, sides, {"rendered": about})
    head = json.dumps({**about, "frames": []}, indent=2).removesuffix("[]\n}")
    rows = ",\n".join(f"    {json.dumps(frame)}" for frame in described_frames(work, store))
    with atomic_file(about_file(out)) as temporary:
        temporary.write_text(f"{head}[\n{rows}\n  ]\n}}\n", encoding="utf-8")
    return lost


def _write_bag(work: Rendering, store: FrameStore, frames: FrameSet, out: Path, about: dict[str, Any]) -> Losses:
    messages = CameraMessages(work.camera.lens.camera_info(work.camera.name).calibration, _FIXED_FRAME)

    def beside(index: int) -> Iterator[tuple[str, Any]]:
        x, y, z, *quaternion = store.about(index)["camera"]
        return messages.at(work.poses.stamp[index], Pose((x, y, z), tuple(quaternion)))

    return write_recording(frames, out, extra_messages=beside, custom_data={"simjudge": json.dumps(about)})


def about_file(out: Path) -> Path:
    """Where it is written what was rendered."""
    return out.with_name(out.name + ".render.json")
