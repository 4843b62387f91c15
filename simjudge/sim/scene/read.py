"""A scene as a person writes it down, in one YAML file; docs/guides/scenes.md has an example.

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

The path of a thing, `path: {waypoints, speed or times, smooth, closed, facing, start}`, leads from waypoints to poses
by time. It is two functions: the line through the waypoints by its arc length, and the arc length by time. Without
`smooth` the line is straight between waypoints and the speed even between them; with it the line is a cubic spline
over the chords, and with `times` the arc length is a monotone cubic of time (PCHIP), which never runs back or beyond a
waypoint.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.interpolate import CubicSpline, PchipInterpolator
from scipy.spatial.transform import Rotation

from simjudge.core.arrays import FloatArray
from simjudge.core.documents import Location, check_content
from simjudge.core.errors import SimjudgeError
from simjudge.core.installed import SCENE, find_file
from simjudge.geometry.keyframes import Keyframes
from simjudge.geometry.poses import Pose
from simjudge.sim.scene.forms import SOME_INSTANCE, Form, Forms, PlacedForm
from simjudge.sim.scene.ground import Floor
from simjudge.sim.scene.lights import build_fog, build_lights, build_sky, build_sun
from simjudge.sim.scene.model import NO_INSTANCE, Mesh, MotionPath, PointLight, Scene, Thing
from simjudge.sim.scene.placements import place_all
from simjudge.sim.scene.scene_cars import build_cars
from simjudge.sim.scene.scene_fields import (
    MOST_INSTANCES,
    MotionPathFields,
    SceneContent,
    linear_radiance,
    named_vehicle,
    read_content,
)
from simjudge.sim.scene.scene_file import SceneDocument, SceneFile
from simjudge.sim.scene.thing_fields import SceneThingFields

_APART = 1e-6  # Metres from which on two waypoints are two places
_PIECES = 2000  # Straight pieces that stand for a smooth line, and for a smooth arc length by time
_SHORTEST = 1e-3  # Seconds between two waypoints at least
_CORNER = 1e-6  # Seconds in which a thing turns at a corner


class _Line(NamedTuple):
    """Points (M, 3), their arc lengths (M,), and those of the waypoints (N,), metres."""

    points: FloatArray
    lengths: FloatArray
    waypoints: FloatArray

    def at(self, length: FloatArray, *, closed: bool) -> FloatArray:
        """Points at arc lengths; beyond an end the end itself, or, on a closed line, what follows there."""
        inside = np.mod(length, self.lengths[-1]) if closed else length
        return np.stack([np.interp(inside, self.lengths, self.points[:, k]) for k in range(3)], 1)


def build_motion_path(
    document: SceneDocument, fields: MotionPathFields, turned: Pose, location: Location
) -> MotionPath:
    """The path of a thing."""
    points = np.array(fields.waypoints, np.float64)
    if fields.closed:
        points = np.concatenate([points, points[:1]])
    chords = np.linalg.norm(np.diff(points, axis=0), axis=1)
    if not np.any(chords > _APART):
        raise document.error((*location, "waypoints"), "all waypoints are one point; two places are needed")
    line = _smooth_line(points, chords, closed=fields.closed) if fields.smooth else _straight_line(points, chords)
    times = _waypoint_times(document, fields, line, chords, location)
    if fields.smooth:
        time, length = _smooth_pace(fields, line, times)
        ahead = _tangents(line, length, closed=fields.closed)
        position = line.at(length, closed=False)
    else:
        time, position, ahead = _corners(points, chords, times)
    path = _looking_ahead(ahead if fields.facing == "along" else np.tile([1.0, 0, 0], (len(time), 1)))
    orientation = (path * Rotation.from_quat(turned.orientation)).as_quat()
    return MotionPath(Keyframes(time - fields.start, position[:, None], orientation[:, None]), fields.closed)


def _straight_line(points: FloatArray, chords: FloatArray) -> _Line:
    lengths = np.concatenate([[0], np.cumsum(chords)])
    return _Line(points, lengths, lengths)


def _smooth_line(points: FloatArray, chords: FloatArray, *, closed: bool) -> _Line:
    """A cubic spline over the chords; waypoints that stand where the one before does are one knot with it."""
    distinct = np.concatenate([[True], chords > _APART])
    knots, places = np.concatenate([[0], np.cumsum(chords[chords > _APART])]), points[distinct]
    if closed:
        places[-1] = places[0]
    at = np.linspace(0, knots[-1], _PIECES + 1)
    if len(places) > 2:
        fine = CubicSpline(knots, places, bc_type="periodic" if closed else "natural")(at)
    else:
        fine = np.stack([np.interp(at, knots, places[:, k]) for k in range(3)], 1)
    lengths = np.concatenate([[0], np.cumsum(np.linalg.norm(np.diff(fine, axis=0), axis=1))])
    return _Line(fine, lengths, np.interp(knots, at, lengths)[np.cumsum(distinct) - 1])


def _waypoint_times(
    document: SceneDocument, fields: MotionPathFields, line: _Line, chords: FloatArray, location: Location
) -> FloatArray:
    """Seconds at each waypoint, and at the return to the first one on a closed path."""
    if fields.speed is not None:
        if not np.all(chords > _APART):
            second = int(np.argmin(chords)) + 1
            end = " at the end of the closed path" if second == len(fields.waypoints) else ""
            message = f"it is where the one before is{end}; remove it, or wait there by times in place of speed"
            raise document.error((*location, "waypoints", second % len(fields.waypoints)), message)
        return line.waypoints / fields.speed
    times = np.array(fields.times or (), np.float64)
    if len(times) != len(chords) + 1:
        and_back = ", and one for the return to the first" if fields.closed else ""
        message = f"{len(chords) + 1} times are needed, one for each waypoint{and_back}; these are {len(times)}"
        raise document.error((*location, "times"), message)
    late = np.flatnonzero(np.diff(times) < _SHORTEST)
    if len(late):
        after = f"more than {times[late[0]]:g} s is needed, the time before it; this is {times[late[0] + 1]:g}"
        raise document.error((*location, "times", int(late[0]) + 1), after)
    return times


def _smooth_pace(fields: MotionPathFields, line: _Line, times: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Keyframes' times, and how far along the line the thing is then."""
    if fields.speed is not None:
        return line.lengths / fields.speed, line.lengths
    knots, lengths = times, line.waypoints
    if fields.closed:  # one round before and one after, so that the pace goes on smoothly
        period, whole = times[-1] - times[0], lengths[-1]
        knots = np.concatenate([times[:-1] - period, times, times[1:] + period])
        lengths = np.concatenate([lengths[:-1] - whole, lengths, lengths[1:] + whole])
    time = np.union1d(np.linspace(times[0], times[-1], _PIECES + 1), times)
    return time, np.clip(PchipInterpolator(knots, lengths)(time), 0, line.lengths[-1])


def _tangents(line: _Line, length: FloatArray, *, closed: bool) -> FloatArray:
    step = line.lengths[-1] / _PIECES
    return line.at(length + step, closed=closed) - line.at(length - step, closed=closed)


def _corners(points: FloatArray, chords: FloatArray, times: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Two keyframes for each leg, at its ends: times, positions and directions."""
    legs = np.diff(points, axis=0)
    # Who waits at a waypoint looks where he came from, at the first one where he will go.
    moving = np.flatnonzero(chords > _APART)
    legs = legs[moving[np.maximum(np.searchsorted(moving, np.arange(len(legs)), side="right") - 1, 0)]]
    begin, end = times[:-1].copy(), times[1:]
    begin[1:] += _CORNER
    share = ((begin - times[:-1]) / (end - times[:-1]))[:, None]
    first = points[:-1] + share * (points[1:] - points[:-1])
    time = np.stack([begin, end], 1).ravel()
    return time, np.stack([first, points[1:]], 1).reshape(-1, 3), np.repeat(legs, 2, axis=0)


def _looking_ahead(ahead: FloatArray) -> Rotation:
    """Rotations (N,) that turn x into directions, z as far up as can be."""
    yaw = np.arctan2(ahead[:, 1], ahead[:, 0])
    pitch = -np.arctan2(ahead[:, 2], np.hypot(ahead[:, 0], ahead[:, 1]))
    return Rotation.from_euler("ZYX", np.stack([yaw, pitch, np.zeros(len(yaw))], 1))


# Turns of a mesh around a point from which on the point is inside: 1 in a closed one, up to 1/2 before a plane.
_INSIDE = 0.75


def check_names(path: Path, things: Sequence[Thing], cars: Collection[str]) -> None:
    """Refuse two things of one name, or the car's; a car and a thing of several parts, too."""
    names = [thing.name for thing in things]
    # Names of parts go on after a slash, as those of a car's wheels do.
    heads, seen = {name.split("/")[0] for name in names}, set[str]()
    for name in [*names, *cars]:
        if name.split("/")[0] == "vehicle":
            raise SimjudgeError(f"{path}: {name}: the car is called so; take another name")
        if name in seen or (name in cars and name in heads):
            raise SimjudgeError(f"{path}: {name}: two things have this name; rename one")
        seen.add(name)


def check_ground(path: Path, things: Sequence[Thing], cars: Iterable[str]) -> None:
    """Refuse free things, and cars, that would fall for ever."""
    free = [*(thing.name for thing in things if thing.motion == "free"), *cars]
    solid = any(thing.motion == "static" and thing.collider.kind != "none" for thing in things)
    if free and not solid:
        raise SimjudgeError(f"{path}: {free[0]}: it is free and would fall for ever; add a plane at z = 0")


def check_lights(path: Path, lights: Sequence[PointLight], things: Sequence[Thing]) -> None:
    """Refuse lamps inside something closed: they light nothing outside."""
    if not lights:
        return
    at = np.array([light.position for light in lights])
    for thing in things:
        local = thing.pose.to_body(at)
        vertices = thing.mesh.vertices
        boxed = np.all((local > vertices.min(0)) & (local < vertices.max(0)), axis=1)
        for index in np.flatnonzero(boxed):
            if winding_number(thing.mesh, local[index]) > _INSIDE:
                x, y, z = at[index]
                raise SimjudgeError(
                    f"{path}: lights: the lamp at x {x:g}, y {y:g}, z {z:g} is inside {thing.name}, where it lights"
                    " nothing; move it out"
                )


def winding_number(mesh: Mesh, point: FloatArray) -> float:
    """How often a mesh encloses a point (3,): 1 inside a closed one, 0 outside (Van Oosterom and Strackee, 1983)."""
    a, b, c = (mesh.vertices[mesh.faces[:, k]] - point for k in range(3))
    la, lb, lc = (np.linalg.norm(side, axis=1) for side in (a, b, c))
    volume = np.sum(a * np.cross(b, c), axis=1)
    rest = la * lb * lc + np.sum(a * b, 1) * lc + np.sum(b * c, 1) * la + np.sum(c * a, 1) * lb
    return float(np.sum(np.arctan2(volume, rest))) / (2 * math.pi)


_UPRIGHT = 1 - 1e-9  # Cosine of the angle to the vertical within which something stands upright


def read_scene(given: str | Path, seed: int = 0) -> Scene:
    """Read a scene's file, or the one of a name that comes with simjudge."""
    path = find_file(given, SCENE)
    return build_scene(path, read_content(path, seed), seed)


def build_scene(path: Path, content: SceneContent, seed: int) -> Scene:
    """Build a scene from what its file says."""
    document = check_content(content.content, SceneFile, "scene", path, content.sources)
    file = document.content
    forms = Forms(document)
    placed, wanted = _things(document, forms)
    lights, fixtures = build_lights(document, forms, seed)
    standing = [thing for placement in placed for thing in placement.things(SOME_INSTANCE)]
    placements = place_all(document, forms, Floor(standing), seed)
    things = (*_numbered(document, [*placed, *placements.placed], wanted), *fixtures)
    check_names(path, things, file.cars)
    check_ground(path, things, file.cars)
    check_lights(path, lights, things)
    return Scene(
        name=file.name or path.stem,
        things=things,
        lights=tuple(lights),
        ambient=linear_radiance(file.ambient),
        bounces=file.bounces,
        ray_depth=file.ray_depth,
        background=linear_radiance(file.background),
        class_names=file.classes,
        background_class=forms.class_id(file.background_class, ("background_class",)),
        course=placements.course,
        vehicle=named_vehicle(file.vehicle),
        area=file.area,
        path=path,
        seed=seed,
        sun=build_sun(file.sun, 0.0 if file.sky is None else file.sky.cloud_cover),
        sky=build_sky(document),
        fog=build_fog(file.fog),
        cars=build_cars(document, forms, placements.course, things),
    )


def _things(document: SceneDocument, forms: Forms) -> tuple[list[PlacedForm], dict[str, int]]:
    """The things that the file names one by one, copies and all, and the instance ids it asks for."""
    placed: list[PlacedForm] = []
    wanted: dict[str, int] = {}
    for name, fields in document.content.things.items():
        form = forms.form(fields, ("things", name))
        if fields.instance is not None:
            wanted[name] = fields.instance
            if not form.counted or fields.copies is not None:
                message = "only for one thing that has a class, and no class of stuff"
                raise document.error(("things", name, "instance"), message)
        _check_ground(document, name, form, fields)
        if fields.copies is not None:
            placed += [PlacedForm(f"{name}_{n}", form, copy.pose()) for n, copy in enumerate(fields.copies, 1)]
        elif fields.path is not None:
            if form.motion == "free":
                raise document.error(("things", name, "path"), "what is free obeys physics; remove motion: free")
            path = build_motion_path(document, fields.path, fields.pose(), ("things", name, "path"))
            placed.append(PlacedForm(name, form, path.pose_at(0.0), path))
        else:
            placed.append(PlacedForm(name, form, fields.pose()))
    return placed, wanted


def _check_ground(document: SceneDocument, name: str, form: Form, fields: SceneThingFields) -> None:
    """Refuse a ground that moves or leans: its heights are straight above its grid."""
    if not any(piece.collider.kind == "ground" for piece in form.pieces):
        return
    if fields.path is not None:
        raise document.error(("things", name, "path"), "a ground stays where it is; remove one of the two")
    for pose in [fields.pose()] if fields.copies is None else [copy.pose() for copy in fields.copies]:
        if pose.rotation_matrix()[2, 2] < _UPRIGHT:
            raise document.error(("things", name), "a ground stands upright; turn the mesh in its file")


def _numbered(document: SceneDocument, placed: list[PlacedForm], wanted: dict[str, int]) -> list[Thing]:
    """All things; those with a class get instance ids, from 1 on, but not those that others ask for."""
    taken: dict[int, str] = {}
    for name, instance in wanted.items():
        if instance in taken:
            message = f"{taken[instance]} has {instance} already; take another"
            raise document.error(("things", name, "instance"), message)
        taken[instance] = name
    things: list[Thing] = []
    following = 1
    for placement in placed:
        instance = wanted.get(placement.name, NO_INSTANCE)
        if placement.form.counted and instance == NO_INSTANCE:
            while following in taken:
                following += 1
            instance, following = following, following + 1
            if instance > MOST_INSTANCES:
                raise SimjudgeError(
                    f"{document.path}: {placement.name}: more than {MOST_INSTANCES} things with a class; place fewer"
                )
        things += placement.things(instance)
    return things
