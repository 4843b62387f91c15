"""A scene changed after it was read: cones where somebody measured them, light brighter or darker."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np

from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.core.installed import SCENE, find_file
from simjudge.core.text import JsonMapping
from simjudge.geometry.poses import Pose
from simjudge.sim.scene.model import NO_CLASS, Fog, PointLight, Scene, Sky, Sun
from simjudge.sim.scene.placements import read_positions
from simjudge.sim.scene.read import build_scene, read_scene
from simjudge.sim.scene.scene_fields import read_content

# What the colours of the lab's tables are in the shipped scenes: 0 red, 1 green.
LAB_KINDS = {"0": "red_cone", "1": "green_cone"}
_NAME = "measured"


def scene_with_cones(scene: str | Path, table: Path, kinds: Mapping[str, str], alignment: Pose, seed: int = 0) -> Scene:
    """A scene whose labelled placements are replaced by the rows of a table, `id colour x y`.

    Things that the scene names one by one stay, labelled or not; so does all that is placed without a class.
    """
    path = find_file(scene, SCENE)
    yaw, pitch, roll = alignment.angles()
    if max(abs(pitch), abs(roll)) > 1e-9:
        raise UsageError(f"{table}: cones are placed on the scene's floor; an alignment with pitch or roll tilts them")
    used = {read_position.colour for read_position in read_positions(table)}
    written = read_content(path, seed)
    _check_kinds(path, written.content, {colour: kind for colour, kind in kinds.items() if colour in used})
    as_it_is = build_scene(path, written, seed)
    x, y, _ = alignment.position
    measured = {"table": {"file": str(table.resolve()), "kinds": dict(kinds), "at": [x, y], "yaw": math.degrees(yaw)}}
    placements = written.content.get("placements") or {}
    kept = {name: fields for name, fields in placements.items() if not _is_labelled(as_it_is, name)}
    content = {**written.content, "placements": {**kept, _NAME: measured}}
    return replace(build_scene(path, written._replace(content=content), seed), course=None)


def read_replay_scene(
    scene: str | Path, cones: Path | None, kinds: str | None, alignment: Pose, seed: int = 0
) -> Scene:
    """The scene of a replay: as its file has it, or with the measured cones of a table."""
    if cones is None:
        if kinds is not None:
            raise UsageError(f"--cone-kinds {kinds}: says what the rows of --cones are; give a table")
        return read_scene(scene, seed)
    return scene_with_cones(scene, cones, LAB_KINDS if kinds is None else parse_kinds(kinds), alignment, seed)


def parse_kinds(text: str) -> dict[str, str]:
    """Kinds by colour from "0=red_cone,1=green_cone" (text: pairs COLOUR=KIND with commas between)."""
    pairs = [part.strip().partition("=") for part in text.split(",")]
    kinds = {colour.strip(): kind.strip() for colour, sign, kind in pairs if sign}
    if len(kinds) != len(pairs) or not all([*kinds, *kinds.values()]):
        raise UsageError(f"--cone-kinds {text}: give COLOUR=KIND pairs, as in 0=red_cone,1=green_cone")
    return kinds


def _check_kinds(path: Path, content: JsonMapping, kinds: Mapping[str, str]) -> None:
    known = content.get("kinds") or {}
    for colour, kind in kinds.items():
        if kind not in known:
            raise SimjudgeError(
                f"{path}: has no kind {kind} for the cones of colour {colour}; it has {', '.join(known) or 'none'}:"
                " choose with --cone-kinds COLOUR=KIND,..."
            )


def _is_labelled(scene: Scene, placement: str) -> bool:
    return any(thing.class_id != NO_CLASS and thing.name.startswith(f"{placement}_") for thing in scene.things)


@dataclass(frozen=True)
class LightFactors:
    """By what a scene's light is multiplied; everything in a picture is linear in these."""

    lamps: float = 1.0
    sun: float = 1.0
    sky: float = 1.0  # of the sky, of what is seen where nothing is, and of the fog's own light
    ambient: float = 1.0  # of the light that comes equally from everywhere

    @property
    def neutral(self) -> bool:
        """Whether nothing changes."""
        return self == LightFactors()

    def changed(self) -> Mapping[str, float]:
        """The factors that are not 1, by name."""
        return {name: value for name, value in asdict(self).items() if value != 1.0}

    def apply(self, scene: Scene) -> Scene:
        """The scene in this light."""
        if self.neutral:
            return scene
        lamps = tuple(
            PointLight(lamp.position, _times(lamp.intensity, self.lamps), lamp.range) for lamp in scene.lights
        )
        sun, sky, fog = scene.sun, scene.sky, scene.fog
        return replace(
            scene,
            lights=lamps if self.lamps else (),
            sun=None if sun is None or not self.sun else Sun(sun.direction, _times(sun.irradiance, self.sun)),
            sky=None if sky is None else _sky(sky, self.sky),
            fog=None if fog is None else Fog(fog.density, _times(fog.radiance, self.sky), fog.ceiling),
            background=_times(scene.background, self.sky),
            ambient=_times(scene.ambient, self.ambient),
        )


def light_groups(scene: Scene) -> list[str]:
    """Names of the factors that change anything in a scene."""
    has = {
        "lamps": bool(scene.lights),
        "sun": scene.sun is not None,
        "sky": scene.sky is not None or any(scene.background) or scene.fog is not None,
        "ambient": any(scene.ambient),
    }
    return [name for name, there in has.items() if there]


def _times(colour: tuple[float, float, float], factor: float) -> tuple[float, float, float]:
    red, green, blue = (value * factor for value in colour)
    return red, green, blue


def _sky(sky: Sky, factor: float) -> Sky:
    gradient = None if sky.gradient is None else (_times(sky.gradient[0], factor), _times(sky.gradient[1], factor))
    return Sky(np.asarray(sky.image * np.float32(factor), np.float32), sky.yaw, gradient)
