"""Sequences of labels with known truth: which boxes are of one thing is known, whatever is told to who looks for it."""

import numpy as np

from simjudge.core.frames import FrameSet
from simjudge.core.object_tables import Objects
from simjudge.detectors.assignment import Assignment
from simjudge.judging.judged_set import JudgedSet

WIDTH, HEIGHT, FOCAL = 640, 480, 500.0
TENTH = 100_000_000


class Labels:
    """Rows of labels: the frame of each, its thing, box, class and distance."""

    def __init__(self, frame, thing, box, frames, kind=None, distance=None):
        order = np.argsort(frame, kind="stable")
        self.frame, self.thing, self.box = np.asarray(frame)[order], np.asarray(thing)[order], np.asarray(box)[order]
        self.kind = np.zeros(len(order), np.int64) if kind is None else np.asarray(kind)[order]
        self.distance = None if distance is None else np.asarray(distance)[order]
        self.frames = frames

    def changed(self, seed=0, jitter=0.0, dropped=0.0):
        """With edges that jitter, and labels missing now and then."""
        rng = np.random.default_rng(seed)
        kept = np.flatnonzero(rng.random(len(self.frame)) >= dropped)
        box = self.box[kept] + rng.uniform(-jitter, jitter, (len(kept), 4))
        distance = None if self.distance is None else self.distance[kept]
        return Labels(self.frame[kept], self.thing[kept], box, self.frames, self.kind[kept], distance)

    def judged(self, *, instance=None, stamp=None, names=None, performance=None, seed=0, independent=False):
        """As a judged set; performance depends on the thing alone where it is not given."""
        rng = np.random.default_rng(seed)
        if performance is None:
            effect = rng.normal(0, 0.15, self.thing.max() + 1)
            performance = np.clip(0.6 + effect[self.thing] + rng.normal(0, 0.1, len(self.thing)), 0, 1)
        objects = Objects.build(self.frame, self.kind, self.box, instance, distance=self.distance)
        frames = FrameSet.build(
            "s", [[WIDTH, HEIGHT]] * self.frames, objects, frame_name=names, stamp=stamp, independent=independent
        )
        count = len(self.frame)
        assignment = Assignment(performance, np.full(count, -1), np.ones(count, np.bool_), {})
        return JudgedSet(frames, assignment)

    def true_units(self):
        return len(np.unique(self.thing))


def at_ten_hertz(frames):
    return 1_700_000_000 * 10**9 + TENTH * np.arange(frames)


def seen_by(cones, position, heading, reach=12.0, cone_height=0.5):
    """Boxes of the cones (x, y) that cameras see: frame, thing, box, distance."""
    offset = cones[None] - position[:, None]
    forward = offset[..., 0] * np.cos(heading)[:, None] + offset[..., 1] * np.sin(heading)[:, None]
    left = -offset[..., 0] * np.sin(heading)[:, None] + offset[..., 1] * np.cos(heading)[:, None]
    frame, thing = np.nonzero((forward > 1.0) & (forward < reach))
    depth, side = forward[frame, thing], left[frame, thing]
    x, half = WIDTH / 2 - FOCAL * side / depth, FOCAL * 0.3 * cone_height / depth
    bottom, top = HEIGHT / 2 + FOCAL * 0.6 / depth, HEIGHT / 2 + FOCAL * (0.6 - cone_height) / depth
    box = np.stack([x - half, top, x + half, bottom], 1)
    inside = (box[:, 2] > 2) & (box[:, 0] < WIDTH - 2) & (top < HEIGHT - 4)
    box = np.clip(box, 0, [WIDTH, HEIGHT, WIDTH, HEIGHT])
    return frame[inside], thing[inside], box[inside], np.hypot(depth, side)[inside]


def laps(seed=0, count=5, frames=200, cones=24, wander=0.0, uneven=0.0):
    """Laps of a circle past cones on both sides; wander: metres to the side; uneven: share by which speed varies."""
    rng = np.random.default_rng(seed)
    radius = 15.0
    angle = np.sort(rng.uniform(0, 2 * np.pi, cones))
    distance = radius + rng.choice([-1, 1], cones) * rng.uniform(1.2, 3.0, cones)
    places = np.stack([distance * np.cos(angle), distance * np.sin(angle)], 1)
    speed = 1 + uneven * np.sin(np.arange(count * frames) / 37.0 + rng.uniform(0, 6))
    phase = np.cumsum(speed) * 2 * np.pi / frames
    aside = radius + wander * np.sin(np.arange(count * frames) / 53.0)
    position = np.stack([aside * np.cos(phase), aside * np.sin(phase)], 1)
    frame, thing, box, away = seen_by(places, position, phase + np.pi / 2)
    return Labels(frame, thing, box, count * frames, distance=away)


def straight(seed=0, frames=200, step=0.3, spacing=2.0, regular=False, reach=12.0):
    """A drive past cones that are met once."""
    rng = np.random.default_rng(seed)
    count = int((frames * step + reach) / spacing)
    along = np.arange(count) * spacing if regular else np.sort(rng.uniform(0, count * spacing, count))
    aside = rng.choice([-1, 1], count) * rng.uniform(1, 3, count)
    if regular:
        aside = np.where(np.arange(count) % 2, 1.5, -1.5)
    position = np.stack([np.arange(frames) * step, np.zeros(frames)], 1)
    frame, thing, box, away = seen_by(np.stack([along, aside], 1), position, np.zeros(frames), reach)
    return Labels(frame, thing, box, frames, distance=away)


def slow_video(seed=0, frames=600, seen=31, alike=False):
    """One cone at a time glides through the image in so many frames."""
    rng = np.random.default_rng(seed)
    thing = np.arange(frames) // seen
    phase = np.arange(frames) % seen / seen
    size = np.full(thing.max() + 1, 40.0) if alike else rng.uniform(25, 60, thing.max() + 1)
    aside = np.full(len(size), 240.0) if alike else rng.uniform(100, 380, len(size))
    x = 60 + 520 * phase
    half = size[thing] / 2
    box = np.stack([x - half, aside[thing] - half, x + half, aside[thing] + half], 1)
    return Labels(np.arange(frames), thing, box, frames)


def random_poses(seed=0, frames=600, cones=24, reach=12.0):
    """Random poses on a course that stands."""
    rng = np.random.default_rng(seed)
    places = rng.uniform(-15, 15, (cones, 2))
    position, heading = rng.uniform(-15, 15, (frames, 2)), rng.uniform(0, 2 * np.pi, frames)
    frame, thing, box, away = seen_by(places, position, heading, reach)
    return Labels(frame, thing, box, frames, distance=away)


def strewn(seed=0, frames=1000, cones=12):
    """In every frame the things numbered from 1 on are strewn anew; some are outside the image."""
    rng = np.random.default_rng(seed)
    forward, left = rng.uniform(1.5, 12, (frames, cones)), rng.uniform(-4, 4, (frames, cones))
    parts = []
    for index in range(frames):
        places = np.stack([forward[index], left[index]], 1)
        _, thing, box, away = seen_by(places, np.zeros((1, 2)), np.zeros(1))
        parts.append((np.full(len(thing), index), thing + 1, box, away))
    frame, thing, box, away = (np.concatenate(each) for each in zip(*parts, strict=True))
    return Labels(frame, thing, box, frames, distance=away)


def photographs(seed=0, frames=400, most=6):
    """Photographs of their own things, that mostly stand about the middle and are about alike."""
    rng = np.random.default_rng(seed)
    count = rng.integers(1, most + 1, frames)
    frame = np.repeat(np.arange(frames), count)
    centre = np.stack([rng.normal(320, 90, len(frame)), rng.normal(260, 40, len(frame))], 1)
    half = np.exp(rng.normal(np.log(25), 0.3, (len(frame), 1)))
    return Labels(frame, np.arange(len(frame)), np.concatenate([centre - half, centre + half], 1), frames)


def crossing(seed=0, frames=200, things=30, life=40):
    """Things of one class that glide through each other."""
    rng = np.random.default_rng(seed)
    begin = rng.uniform(-life, frames, things)
    place = rng.uniform([100, 100], [540, 380], (things, 2))
    speed = rng.uniform(-5, 5, (things, 2))
    size = rng.uniform(15, 40, things)
    since = np.arange(frames)[:, None] - begin
    frame, thing = np.nonzero((since >= 0) & (since < life))
    centre = place[thing] + speed[thing] * since[frame, thing][:, None]
    half = size[thing][:, None] / 2
    return Labels(frame, thing, np.concatenate([centre - half, centre + half], 1), frames)


def still_scene(seed=0, frames=300, things=5, jitter=1.0):
    """A camera that stands before a scene that stands."""
    rng = np.random.default_rng(seed)
    centre, half = rng.uniform([100, 100], [540, 380], (things, 2)), rng.uniform(10, 40, (things, 1))
    box = np.tile(np.concatenate([centre - half, centre + half], 1), (frames, 1))
    box += rng.uniform(-jitter, jitter, box.shape)
    return Labels(np.repeat(np.arange(frames), things), np.tile(np.arange(things), frames), box, frames)


def changing_box(seed=0, frames=600, seen=31):
    """One box about the middle that stays for so many frames, and is another thing's then."""
    rng = np.random.default_rng(seed)
    thing = np.arange(frames) // seen
    half = rng.uniform(10, 30, thing.max() + 1)[thing][:, None]
    centre = np.full((frames, 2), [320.0, 240.0])
    return Labels(np.arange(frames), thing, np.concatenate([centre - half, centre + half], 1), frames)
