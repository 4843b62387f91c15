"""The inputs of a coverage search: which are read, which are refused, and how cover.json names them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.core.files import hash_files
from simjudge.core.frames import FrameSet
from simjudge.core.names import normalized_name
from simjudge.core.text import list_some
from simjudge.data.sets import as_frames
from simjudge.questions.cover.settings import CoverSettings
from simjudge.sim.scene.model import Scene
from simjudge.studies.class_numbering import match_classes
from simjudge.studies.judged_set import require_labels


def read_cover_sets(a: FrameSet | str | Path, b: FrameSet | str | Path | None) -> tuple[FrameSet, FrameSet | None]:
    """The labelled frames of both sets, with A's class ids.

    Args:
        b: simulated pictures that there are already; None for none.
    """
    sets = []
    for source in (a, b):
        if source is None:
            continue
        frames = as_frames(source)
        require_labels(frames)
        sets.append(frames if frames.labelled.all() else frames.take(frames.labelled))
    return sets[0], match_classes(sets[0], sets[1]) if len(sets) > 1 else None


def check_cover_scene(scene: Scene, given: str | Path) -> None:
    """Refuse a scene that cannot be searched."""
    if not scene.labelled():
        raise UsageError(f"--scene {given}: has nothing that is labelled, so it can cover nothing")
    if scene.area is None:
        raise UsageError(f"--scene {given}: has no area for cameras; give it area: [x0, y0, x1, y1]")
    if any(thing.path is not None for thing in scene.things):
        raise UsageError(f"--scene {given}: has things that move along paths; give a scene that stands still")


def check_cover_classes(a: FrameSet, scene: Scene, given: str | Path) -> None:
    """Refuse a scene that shows no class of A's objects: no picture of it covers any of them."""
    held = np.unique(a.objects.class_id).tolist()
    if not a.class_names or not held:
        return
    theirs = {thing.class_id: scene.class_names.get(thing.class_id, str(thing.class_id)) for thing in scene.labelled()}
    ours = [a.class_names.get(class_id, str(class_id)) for class_id in held]
    if not {normalized_name(name) for name in ours} & {normalized_name(name) for name in theirs.values()}:
        raise SimjudgeError(
            f"{a.name} and scene {given} have no class in common: {list_some(ours)} against "
            f"{list_some(list(theirs.values()))}; give them the same names"
        )


def describe_inputs(*sources: FrameSet | str | Path | None) -> dict[str, Any]:
    """Paths and digests of A and B, as cover.json has them; null for sets in memory."""
    return {
        key: None if source is None or isinstance(source, FrameSet)
        else {"path": str(source), "sha256": hash_files(Path(source))}
        for key, source in zip("ab", sources, strict=True)
    }  # fmt: skip


def describe_parameters(settings: CoverSettings) -> dict[str, Any]:
    """The settings, as cover.json has them."""
    return {
        "model": None if settings.model is None else str(settings.model),
        "theta": settings.theta, "patch": list(settings.method.patch),
        "patch_chosen": settings.patch is None, "seed": settings.seed,
        "scenes": settings.scenes, "tries": settings.tries, "refinements": settings.refinements,
        "min_size": settings.min_size, "min_visible": settings.min_visible,
    }  # fmt: skip
