"""The objects that a real and a virtual camera both see, followed and paired."""

from __future__ import annotations

from dataclasses import dataclass

from simjudge.core.display import ShortRepr
from simjudge.core.errors import SimjudgeError
from simjudge.core.frames import FrameSet
from simjudge.core.object_tables import NO_INSTANCE
from simjudge.core.progress import Log
from simjudge.core.text import list_some
from simjudge.objects.camera_settings import (
    SAME_INSTANCE,
    SAME_TRACK,
    CameraObjectSettings,
)
from simjudge.objects.sightings import Sightings
from simjudge.objects.track_matching import Pairs, pair_instances, pair_tracks
from simjudge.objects.tracking import Tracks, follow, instance_tracks


@dataclass(frozen=True, eq=False, repr=False)
class FollowedObjects(ShortRepr):
    """Tracks of two sets, and which of them are the same object.

    Attributes:
        pairs: a track of each, in the order of the real ones.
        subject: the name of each pair, as "orange 3"; the number is that of the real track.
    """

    real: Tracks
    virtual: Tracks
    pairs: Pairs
    subject: tuple[str, ...]


def follow_objects(
    sets: tuple[FrameSet, FrameSet],
    sightings: tuple[Sightings, Sightings],
    settings: CameraObjectSettings,
    log: Log,
) -> FollowedObjects:
    """Follow objects through both sets, and find which are the same.

    Args:
        log: receives how objects were paired, and what one set alone shows.
    """
    by_instance = _same_by_instance(sets, sightings, settings.same_by, log)
    if by_instance:
        real, virtual = (instance_tracks(seen) for seen in sightings)
        pairs = pair_instances(real, virtual)
    else:
        real, virtual = (
            follow(
                seen, frames.stamp, gap=settings.track_gap, reach=settings.track_reach,
                least_frames=settings.track_frames,
            )
            for seen, frames in zip(sightings, sets, strict=True)
        )  # fmt: skip
        pairs = pair_tracks(real, virtual, *sets, settings.match_distance)
    subject = tuple(f"{real.class_name[i]} {real.name[i]}" for i, _ in pairs)
    _log_unpaired(sets, (real, virtual), pairs, log)
    return FollowedObjects(real, virtual, pairs, subject)


def _same_by_instance(
    sets: tuple[FrameSet, FrameSet], sightings: tuple[Sightings, Sightings], same_by: str, log: Log
) -> bool:
    if same_by == SAME_TRACK:
        return False
    unnumbered = [not len(seen) or bool((seen.instance == NO_INSTANCE).any()) for seen in sightings]
    if same_by == SAME_INSTANCE:
        for frames, seen in zip(sets, sightings, strict=True):
            if len(seen) and (seen.instance == NO_INSTANCE).all():
                raise SimjudgeError(f"{frames.name}: no object has an instance number; leave out --same-by instance")
        return True
    if any(unnumbered):
        return False
    differing = _classes_that_differ(*sightings)
    if differing:
        log(
            f"objects are paired by track: instances of one number have different classes in {sets[0].name} and"
            f" {sets[1].name} ({list_some(differing)})"
        )
        return False
    log("objects are the same by the instance numbers of their labels")
    return True


def _classes_that_differ(real: Sightings, virtual: Sightings) -> list[str]:
    a, b = (
        dict(zip(tracks.name, tracks.class_name, strict=True))
        for tracks in (instance_tracks(real), instance_tracks(virtual))
    )
    return [f"{number}: {a[number]}, {b[number]}" for number in a if number in b and a[number] != b[number]]


def _log_unpaired(sets: tuple[FrameSet, FrameSet], tracks: tuple[Tracks, Tracks], pairs: Pairs, log: Log) -> None:
    for side, (frames, each) in enumerate(zip(sets, tracks, strict=True)):
        paired = {pair[side] for pair in pairs}
        alone = [f"{each.class_name[i]} {each.name[i]}" for i in range(len(each)) if i not in paired]
        if alone:
            log(f"{len(alone)} of {len(each)} objects are seen in {frames.name} alone: {list_some(alone)}")
    if not pairs and all(len(each) for each in tracks):
        log(f"{sets[0].name} and {sets[1].name} have no object in common; whole pictures are compared alone")
