"""A sound engine with one defect planted: what people get wrong when they put a simulator behind the contract."""

from dataclasses import replace

import numpy as np

from simjudge.geometry.poses import Pose
from simjudge.sim.engines.contract import STANDING, Labels
from simjudge.sim.engines.registry import make_engine
from simjudge.sim.scene.scene_fields import to_srgb
from simjudge.sim.sensors.camera.lens import Lens
from simjudge.sim.testing.card_scene import PINHOLE, PLATES
from simjudge.sim.testing.lidar_measures import capture


class Defective:
    """The engine as it is; a subclass breaks one thing."""

    def __init__(self, scene, vehicle=None, start=None):
        self.sound = make_engine("default", self.changed_scene(scene), vehicle, start)
        self.scene = scene

    def __getattr__(self, name):
        return getattr(self.sound, name)

    def changed_scene(self, scene):
        return scene


def _labels(change):
    """An engine whose labels are changed."""

    class Changed(Defective):
        def labels(self, lens, scene_state):
            return change(self.sound.labels(lens, scene_state))

    return Changed


def _picture(change):
    """An engine whose pictures are changed."""

    class Changed(Defective):
        def render(self, lens, scene_states, rays_per_pixel=1):
            found = change(self.sound.render(lens, scene_states, rays_per_pixel))
            return np.ascontiguousarray(found, np.float32)

    return Changed


def _lens(change):
    """An engine that renders through another lens than it is asked for."""

    class Changed(Defective):
        def render(self, lens, scene_states, rays_per_pixel=1):
            return self.sound.render(change(lens), scene_states, rays_per_pixel)

    return Changed


def _hits(change):
    """An engine whose rays, all of them, report something else."""

    class Changed(Defective):
        def cast_rays(self, origins, directions, bodies=None):
            return change(self.sound.cast_rays(origins, directions, bodies))

        def cast_timed_rays(self, origins, directions, times, motion=STANDING):
            return change(self.sound.cast_timed_rays(origins, directions, times, motion))

    return Changed


def _scan(change):
    """An engine with a lidar of its own, whose scans are changed."""

    class Changed(Defective):
        def capture_scan(self, lidar, stamp, sensor):
            del stamp, sensor  # the card asks for one turn of one pose
            return change(capture(self.sound, lidar))

    return Changed


class LatePictures(Defective):
    """Shows the state before."""

    before = None

    def render(self, lens, scene_states, rays_per_pixel=1):
        shown, self.before = self.before or scene_states, scene_states
        return self.sound.render(lens, shown, rays_per_pixel)


class LateLabels(Defective):
    """Labels the state before."""

    before = None

    def labels(self, lens, scene_state):
        shown, self.before = self.before or scene_state, scene_state
        return self.sound.labels(lens, shown)


class FirstInstant(Defective):
    """Takes the first instant for the whole exposure."""

    def render(self, lens, scene_states, rays_per_pixel=1):
        return self.sound.render(lens, scene_states[:1], rays_per_pixel)


class LeftHanded(Defective):
    """Casts its rays in a frame whose y points right."""

    def cast_rays(self, origins, directions, bodies=None):
        return self.sound.cast_rays(_flipped(origins), _flipped(directions), bodies)

    def cast_timed_rays(self, origins, directions, times, motion=STANDING):
        return self.sound.cast_timed_rays(_flipped(origins), _flipped(directions), times, motion)


class FrozenRays(Defective):
    """Casts all rays of a turn at its end."""

    def cast_timed_rays(self, origins, directions, times, motion=STANDING):
        return self.sound.cast_timed_rays(origins, directions, np.full(len(times), times[-1]), motion)


class TurnedBack(Defective):
    """Turns bodies the other way: a quaternion's w first where it stands last, or the like."""

    def labels(self, lens, scene_state):
        bodies = {
            name: Pose(pose.position, (-pose.orientation[0], *pose.orientation[1:]))
            for name, pose in scene_state.bodies.items()
        }
        return self.sound.labels(lens, replace(scene_state, bodies=bodies))


class Cut(Defective):
    """Gives light up to full scale alone."""

    def render(self, lens, scene_states, rays_per_pixel=1):
        return np.minimum(self.sound.render(lens, scene_states, rays_per_pixel), 1)


class WeakLamps(Defective):
    """Takes a lamp's intensity for its flux over the whole sphere."""

    def changed_scene(self, scene):
        lamps = tuple(replace(lamp, intensity=tuple(v / (4 * np.pi) for v in lamp.intensity)) for lamp in scene.lights)
        return replace(scene, lights=lamps)


def _flipped(vectors):
    return np.ascontiguousarray(np.asarray(vectors, float) * (1, -1, 1))


def _shifted(labels):
    return Labels(*(np.roll(column, 3, axis=1) for column in labels))


def _without_class(labels):
    gone = labels.class_id == 3
    return labels._replace(
        class_id=np.where(gone, 0, labels.class_id).astype(np.uint8),
        instance=np.where(gone, 0, labels.instance).astype(np.uint16),
    )


def _one_id(labels):
    same = labels.instance == PLATES[1].instance
    return labels._replace(instance=np.where(same, PLATES[0].instance, labels.instance).astype(np.uint16))


def _along_the_ray(labels):
    return labels._replace(depth=(labels.depth / PINHOLE.rays()[..., 2]).astype(np.float32))


def _exposed(picture):
    return picture * (0.2 / max(float(np.median(picture[picture > 0])), 1e-9))


def _narrower(lens):
    return replace(lens, focal=(lens.focal[0] * 1.1, lens.focal[1] * 1.1))


def _straight(lens):
    return Lens("pinhole", lens.size, lens.focal, lens.centre)


def _noiseless(scan):
    exact = scan.true_points
    return replace(scan, points=exact, range=np.linalg.norm(exact, axis=1))


# Name: the engine, which measure finds it, and the words of its finding.
DEFECTS = {
    "labels shifted by 3 px": (_labels(_shifted), "label edges", "labels lie +3."),
    "mirrored picture": (_picture(lambda p: p[:, ::-1]), "projection", "mirrored left to right"),
    "picture upside down": (_picture(lambda p: p[::-1]), "projection", "upside down"),
    "wrong focal length": (_lens(_narrower), "projection", "the focal length is 1.1"),
    "distortion left out": (_lens(_straight), "distorted projection", "distortion is left out"),
    "picture shifted by a pixel": (
        _lens(lambda lens: replace(lens, centre=(lens.centre[0] + 1, lens.centre[1] - 1))),
        "projection",
        "the picture is shifted by",
    ),
    "gamma twice": (_picture(lambda p: to_srgb(np.clip(p, 0, 10))), "linearity", "a gamma or tone curve"),
    "exposure of its own": (_picture(_exposed), "four times the light", "exposes or clips by itself"),
    "light cut off at full scale": (Cut, "above full scale", "light is cut off"),
    "colour channels swapped": (_picture(lambda p: p[..., ::-1]), "colour channels", "channels are swapped"),
    "lamps too weak": (WeakLamps, "light of a lamp", "0.08 to 0.08 times"),
    "one frame late": (LatePictures, "picture's instant", "pictures are late"),
    "labels one frame late": (LateLabels, "labels' instant", "labels are late"),
    "one instant for an exposure": (FirstInstant, "motion blur", "not the mean of its instants"),
    "bodies turned the other way": (TurnedBack, "turned bodies", "turned the other way"),
    "missing class": (_labels(_without_class), "classes", "class 3 is missing"),
    "ids not unique": (_labels(_one_id), "instance ids", "ids are not unique: 11"),
    "depth in millimetres": (
        _labels(lambda found: found._replace(depth=found.depth * 1000)),
        "depth",
        "depth is in millimetres",
    ),
    "depth along the ray": (_labels(_along_the_ray), "depth", "along the ray"),
    "left-handed lidar": (LeftHanded, "ray distance", "left-handed"),
    "millimetres for metres": (
        _hits(lambda hits: hits._replace(distance=hits.distance * 1000)),
        "ray distance",
        "in millimetres",
    ),
    "ranges 5 cm too long": (
        _hits(lambda hits: hits._replace(distance=hits.distance + 0.05)),
        "ray distance",
        "distances are +0.050 m off",
    ),
    "normals inwards": (_hits(lambda hits: hits._replace(normal=-hits.normal)), "normals", "point into surfaces"),
    "rays name another thing": (
        _hits(lambda hits: hits._replace(thing=np.where(hits.thing > 0, hits.thing - 1, hits.thing))),
        "what rays hit",
        "another thing",
    ),
    "a turn at one instant": (FrozenRays, "rays in time", "nothing moves within a turn"),
    "range noise absent": (_scan(_noiseless), "scan's noise", "range noise is absent"),
    "rings from the top": (
        _scan(lambda scan: replace(scan, ring=scan.ring.max() - scan.ring)),
        "rings",
        "rings are counted from the top",
    ),
    "times from the turn's beginning": (
        _scan(lambda scan: replace(scan, time=scan.time + 0.1)),
        "times of points",
        "count from the turn's beginning",
    ),
    "intensity without reflectance": (
        _scan(lambda scan: replace(scan, intensity=np.full(len(scan), 50.0))),
        "intensity",
        "sends 1.00 times the intensity",
    ),
    "scan left-handed": (
        _scan(lambda scan: replace(scan, points=_flipped(scan.points))),
        "scan's places",
        "left and right are exchanged",
    ),
}
