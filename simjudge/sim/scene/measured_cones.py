"""A scene with cones where somebody measured them, in place of those that the scene places itself."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.core.installed import SCENE, find_file
from simjudge.geometry.poses import Pose
from simjudge.sim.scene.file_content import read_content
from simjudge.sim.scene.measured_positions import read_positions
from simjudge.sim.scene.model import NO_CLASS, Scene
from simjudge.sim.scene.read import build_scene, read_scene

LAB_KINDS = {"0": "red_cone", "1": "green_cone"}
"""What the colours of the lab's tables are in the shipped scenes: 0 red, 1 green."""
_NAME = "measured"


def scene_with_cones(scene: str | Path, table: Path, kinds: Mapping[str, str], alignment: Pose, seed: int = 0) -> Scene:
    """A scene whose labelled placements are replaced by the rows of a table, `id colour x y`.

    Things that the scene names one by one stay, labelled or not; so does all that is placed without a class.

    Args:
        table: metres, in the recording's fixed frame.
        alignment: pose of the recording's fixed frame in the scene; x, y and yaw count, the cones stand on the floor.
    """
    path = find_file(scene, SCENE)
    yaw, pitch, roll = alignment.angles()
    if max(abs(pitch), abs(roll)) > 1e-9:
        raise UsageError(f"{table}: cones are placed on the scene's floor; an alignment with pitch or roll tilts them")
    used = {each.colour for each in read_positions(table)}
    written = read_content(path, seed)
    _check_kinds(path, written.content, {colour: kind for colour, kind in kinds.items() if colour in used})
    as_it_is = build_scene(path, written, seed)
    x, y, _ = alignment.position
    measured = {
        "table": {
            "file": str(table.resolve()), "kinds": dict(kinds), "at": [x, y], "yaw": math.degrees(yaw)
        }
    }  # fmt: skip
    placements = written.content.get("placements") or {}
    kept = {name: fields for name, fields in placements.items() if not _is_labelled(as_it_is, name)}
    content = {**written.content, "placements": {**kept, _NAME: measured}}
    return replace(build_scene(path, written._replace(content=content), seed), course=None)


def read_replay_scene(
    scene: str | Path, cones: Path | None, kinds: str | None, alignment: Pose, seed: int = 0
) -> Scene:
    """The scene of a replay: as its file has it, or with measured cones.

    Args:
        cones: a table, None for the scene's own cones.
        kinds: as `parse_kinds` takes them; None: `LAB_KINDS`.
    """
    if cones is None:
        if kinds is not None:
            raise UsageError(f"--cone-kinds {kinds}: says what the rows of --cones are; give a table")
        return read_scene(scene, seed)
    return scene_with_cones(scene, cones, LAB_KINDS if kinds is None else parse_kinds(kinds), alignment, seed)


def parse_kinds(text: str) -> dict[str, str]:
    """Kinds by colour from "0=red_cone,1=green_cone".

    Args:
        text: pairs COLOUR=KIND with commas between.
    """
    pairs = [part.strip().partition("=") for part in text.split(",")]
    kinds = {colour.strip(): kind.strip() for colour, sign, kind in pairs if sign}
    if len(kinds) != len(pairs) or not all([*kinds, *kinds.values()]):
        raise UsageError(f"--cone-kinds {text}: give COLOUR=KIND pairs, as in 0=red_cone,1=green_cone")
    return kinds


def _check_kinds(path: Path, content: Mapping[str, Any], kinds: Mapping[str, str]) -> None:
    known = content.get("kinds") or {}
    for colour, kind in kinds.items():
        if kind not in known:
            raise SimjudgeError(
                f"{path}: has no kind {kind} for the cones of colour {colour}; it has {', '.join(known) or 'none'}:"
                " choose with --cone-kinds COLOUR=KIND,..."
            )


def _is_labelled(scene: Scene, placement: str) -> bool:
    """Whether a placement of a scene places things that have a class."""
    return any(thing.class_id != NO_CLASS and thing.name.startswith(f"{placement}_") for thing in scene.things)
