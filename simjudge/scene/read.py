"""A scene as a person writes it down, in one YAML file; docs/scenes.md has the schema with an example.

classes: {1: red, 2: green}
kinds:
  red_cone: {mesh: meshes/cone.obj, surface: {colour: "#d32f1e"}, class: red, motion: free, mass: 0.03}
things:
  floor: {plane: [10, 8], surface: {texture: {pattern: concrete}, repeat: 2, roughness: 0.3}}
  crate: {box: [0.4, 0.3, 0.3], at: [2, 1], yaw: 30}
  first: {kind: red_cone, at: [1, -0.5]}
lights:
  lamp: {at: [0, 0, 2.5], intensity: 8, range: 10}
ambient: 0.1
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from simjudge.core.errors import SimjudgeError
from simjudge.geometry.poses import Pose
from simjudge.scene.checks import check_ground, check_lights, check_names
from simjudge.scene.content import read_content, scene_file, shipped_scenes
from simjudge.scene.entry import POSE_FIELDS, Entry
from simjudge.scene.floor import Floor
from simjudge.scene.forms import FORM, Forms, Placed
from simjudge.scene.lights import read_lights
from simjudge.scene.model import NO_CLASS, NO_INSTANCE, Colour, Scene, Thing
from simjudge.scene.placements import read_placements
from simjudge.scene.strewn import read_area
from simjudge.scene.surfaces import Surfaces

__all__ = ["read_scene", "shipped_scenes"]
_FIELDS = ("name", "classes", "surfaces", "kinds", "things", "lights", "ambient", "background", "placements", "area")
_MOST_INSTANCES, _MOST_CLASSES = 65535, 255


def read_scene(given: str | Path, seed: int = 0) -> Scene:
    """Read a scene's file, or the shipped scene of a name.

    Args:
        given: path or name.
        seed: of everything random in it; the same seed gives the same scene.

    Raises:
        UsageError: there is no such file, nor a scene of that name.
        SimjudgeError: the file is no scene; the message names file and field.
    """
    path = scene_file(given)
    root = Entry(path, "", read_content(path, seed))
    root.only(_FIELDS)
    name, class_names = root.text("name", path.stem), _classes(root)
    area = read_area(root) if root.has("area") else None
    forms = Forms(root, class_names, Surfaces(root))
    placed, wanted = _things(root, forms)
    lights, fixtures = read_lights(root, forms, seed)
    standing = [thing for each in placed for thing in each.things(NO_INSTANCE)]
    more = read_placements(root, forms, Floor(standing), area, seed)
    things = (*_numbered(path, [*placed, *more.placed], wanted), *fixtures)
    check_names(path, things)
    check_ground(path, things)
    check_lights(path, lights, things)
    return Scene(
        name=name,
        things=things,
        lights=tuple(lights),
        ambient=_radiance(root, "ambient"),
        background=_radiance(root, "background"),
        class_names=class_names,
        course=more.course,
        area=area,
        path=path,
        seed=seed,
    )


def _classes(root: Entry) -> dict[int, str]:
    if not root.has("classes"):
        return {}
    classes: dict[int, str] = {}
    entry = root.section("classes")
    for number, name in entry.content.items():
        if type(number) is not int or not 1 <= number <= _MOST_CLASSES:
            raise SimjudgeError(
                f"{root.path}: classes: {number}: class ids are whole numbers from 1 to {_MOST_CLASSES}"
            )
        if not isinstance(name, str) or not name:
            raise entry.wrong(number, "a name is needed")
        if name in classes.values():
            raise SimjudgeError(f"{root.path}: classes.{number}: two classes are called {name}; rename one")
        classes[number] = name
    return classes


def _radiance(root: Entry, field: str) -> Colour:
    """A light that comes from everywhere: a number, or {radiance, colour or temperature}."""
    if not root.has(field):
        return 0.0, 0.0, 0.0
    if isinstance(root.content[field], dict):
        return root.section(field, ("radiance", "colour", "temperature")).light("radiance")
    value = root.number(field, least=0)
    return value, value, value


def _things(root: Entry, forms: Forms) -> tuple[list[Placed], dict[str, int]]:
    """The things that the file names one by one, copies and all, and the instance ids it asks for."""
    placed: list[Placed] = []
    wanted: dict[str, int] = {}
    for name, entry in root.sections("things"):
        entry.only((*FORM, "instance", "copies", *POSE_FIELDS))
        form = forms.read(entry)
        if entry.has("instance"):
            wanted[name] = entry.whole("instance", least=1, most=_MOST_INSTANCES)
            if form.class_id == NO_CLASS or entry.has("copies"):
                raise SimjudgeError(f"{entry.path}: {entry.name_of('instance')}: only for one thing that has a class")
        if entry.has("copies"):
            placed += [Placed(f"{name}_{n}", form, pose) for n, pose in enumerate(_copies(entry), 1)]
        else:
            placed.append(Placed(name, form, entry.pose()))
    return placed, wanted


def _copies(entry: Entry) -> Iterator[Pose]:
    for field in POSE_FIELDS:
        if entry.has(field):
            raise SimjudgeError(f"{entry.path}: {entry.name_of(field)}: copies have poses of their own; remove one")
    for copy in entry.listed("copies", "poses"):
        copy.only(POSE_FIELDS)
        yield copy.pose()


def _numbered(path: Path, placed: list[Placed], wanted: dict[str, int]) -> list[Thing]:
    """All things; those with a class get instance ids, from 1 on, but not those that others ask for."""
    taken: dict[int, str] = {}
    for name, instance in wanted.items():
        if instance in taken:
            raise SimjudgeError(
                f"{path}: things.{name}.instance: {taken[instance]} has {instance} already; take another"
            )
        taken[instance] = name
    things: list[Thing] = []
    following = 1
    for each in placed:
        instance = wanted.get(each.name, NO_INSTANCE)
        if each.form.class_id != NO_CLASS and instance == NO_INSTANCE:
            while following in taken:
                following += 1
            instance, following = following, following + 1
            if instance > _MOST_INSTANCES:
                raise SimjudgeError(
                    f"{path}: {each.name}: more than {_MOST_INSTANCES} things with a class; place fewer"
                )
        things += each.things(instance)
    return things
