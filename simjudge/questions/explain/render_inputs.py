"""What an explanation needs to render B again: its scene, its camera, its poses, and a folder for the frames."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.core.progress import Log, ProgressBar
from simjudge.questions.explain.rendered_estimates import known_camera, known_changes, lighting_changes, without_scene
from simjudge.questions.explain.rendered_sets import RenderedSets
from simjudge.questions.explain.settings import CAUSE_NAMES, ExplainSettings
from simjudge.sim.capture.render_record import read_render_record
from simjudge.sim.sensors.camera.camera_file import read_camera
from simjudge.sim.sensors.camera_matching.cause_names import RENDERED_CAUSES
from simjudge.studies.inputs import InputSet

RENDERS = "renders"
"""Folder beside explain.json: B rendered again; may be deleted."""


@dataclass(frozen=True)
class Renders:
    """Where rendered frames are kept.

    Attributes:
        kept: whether it stays when the answer is there.
    """

    folder: Path
    kept: bool


@dataclass(frozen=True)
class RenderOptions:
    """What was given to render B again.

    Attributes:
        camera: that B was rendered through: a file or a name.
        scene: that B was rendered from: a file or a name.
        a_camera: A's camera: a file, a name, or a calibration.
    """

    camera: str | Path | None
    scene: str | Path | None
    a_camera: str | Path | None
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
    """Where rendered frames are kept: in the folder of the explanation, or for as long as this block.

    Args:
        folder: of the explanation; None for none.
    """
    if folder is not None:
        yield Renders(folder / RENDERS, kept=True)
        return
    with TemporaryDirectory(prefix="simjudge_") as temporary:
        yield Renders(Path(temporary), kept=False)


def rendered_sets(
    sides: tuple[InputSet, InputSet], given: RenderOptions, settings: ExplainSettings, log: Log, progress: ProgressBar
) -> tuple[RenderedSets | None, dict[str, str]]:
    """Find out by what B must be rendered again.

    Returns:
        What renders B again, None where nothing is; and by cause that could not be tried, why.
    """
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
