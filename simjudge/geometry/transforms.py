"""Transforms between frames as tf has them: a tree of links, the way through it, and poses as they come in.

A link's transform is the pose of the child frame in the parent frame (geometry_msgs/TransformStamped).
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np

from simjudge.core.arrays import BoolArray, IntArray
from simjudge.core.errors import Losses, SimjudgeError
from simjudge.geometry.poses import Pose, Trajectory, TrajectoryLink
from simjudge.geometry.trajectories import MotionLimits, TrajectoryInterpolator, clean_trajectory, compose_links

_SECOND = 1_000_000_000
_BODIES = ("base_link", "base_footprint")  # Frames of a robot's body (REP 105), the preferred one first


@dataclass
class TransformLink:
    """The transforms of a child frame in its parent, as they came."""

    parent: str
    child: str
    static: bool  # whether it holds for ever; the last one counts then
    # stamp, position, orientation: columns that grow; nanoseconds, metres, quaternions x, y, z, w.
    stamp: list[int] = field(default_factory=list)
    position: list[tuple[float, float, float]] = field(default_factory=list)
    orientation: list[tuple[float, float, float, float]] = field(default_factory=list)


class TransformTree:
    """Links between frames, as messages bring them."""

    def __init__(self, name: str) -> None:
        """Start empty; `name` is what to call it: file and topic."""
        self.name = name
        self.links: dict[str, TransformLink] = {}

    def add(
        self,
        parent: str,
        child: str,
        stamp: int,
        position: tuple[float, float, float],
        orientation: tuple[float, float, float, float],
        *,
        static: bool,
    ) -> None:
        """Take a transform in (stamp: nanoseconds; position: x, y, z of the child's origin in the parent, metres)."""
        parent, child = parent.lstrip("/"), child.lstrip("/")
        link = self.links.setdefault(child, TransformLink(parent, child, static))
        if link.parent != parent:
            raise SimjudgeError(
                f"{self.name}: frame {child} hangs below {link.parent} and below {parent}; one publisher too many"
            )
        link.static = link.static and static
        link.stamp.append(stamp)
        link.position.append(position)
        link.orientation.append(orientation)

    def forget(self, before: int) -> None:
        """Drop old transforms (before: nanoseconds)."""
        for link in self.links.values():
            # The newest of the old ones stays: between it and the next one poses are still asked for.
            count = max(sum(1 for stamp in link.stamp if stamp < before) - 1, 0)
            if not link.static and count:
                del link.stamp[:count], link.position[:count], link.orientation[:count]

    def frames(self) -> list[str]:
        """All frames, sorted."""
        return sorted({*self.links, *(link.parent for link in self.links.values())})

    def root(self) -> str | None:
        """The frame that hangs below none, None where there is not exactly one."""
        roots = sorted({link.parent for link in self.links.values()} - set(self.links))
        return roots[0] if len(roots) == 1 else None

    def same_as_root(self, frame: str) -> bool:
        """Whether a frame is the only root, or stands in it by static links that neither move nor turn anything."""
        root, seen = self.root(), set[str]()
        while frame in self.links and frame not in seen:
            link = self.links[frame]
            if not link.static or any(link.position[-1]) or any(link.orientation[-1][:3]):
                return False
            seen.add(frame)
            frame = link.parent
        return frame == root

    def trajectory(self, parent: str, child: str, losses: Losses, limits: MotionLimits) -> Trajectory:
        """Compute the poses of one frame in another, at the times of all transforms between the two.

        Where a link has no transforms within `limits.max_gap` before and after such a time, that time is left out: the
        trajectory has a gap there itself. A chain of static links alone gives one pose, at time 0.
        """
        down, up = self._chain(parent, child)
        links = {link.child: self._cleaned(link, losses) for link in (*down, *up)}
        moving = [links[link.child] for link in (*down, *up) if not link.static]
        stamps = np.unique(np.concatenate([link.stamp for link in moving])) if moving else np.zeros(1, np.int64)
        for moving_link in moving:
            stamps = stamps[_covered(moving_link, stamps, limits)]
        if not len(stamps):
            raise SimjudgeError(_never_together(self.name, parent, child, moving, limits))
        chain = (
            *(TrajectoryLink(links[link.child], is_upward=True) for link in up),
            *(TrajectoryLink(links[link.child], is_upward=False) for link in down),
        )
        position, rotation = compose_links(chain, stamps)
        name = f"{self.name} {parent} -> {child}"
        kept = () if len(chain) == 1 and not up else chain
        return Trajectory(name, parent, child, stamps.astype(np.int64), position, rotation.as_quat(), kept)

    def moving_links(self, parent: str, child: str) -> list[TransformLink]:
        """List the links between two frames that are not static."""
        down, up = self._chain(parent, child)
        return [link for link in (*down, *up) if not link.static]

    def static_mount(self, frame: str) -> tuple[str, Pose]:
        """Find the body that carries a frame by static links (base_link before others), and the frame's pose in it."""
        body, pose = frame.lstrip("/"), Pose()
        for link in self._above(body):
            if body in _BODIES or not link.static:
                break
            pose = Pose(link.position[-1], link.orientation[-1]) @ pose
            body = link.parent
        return body, pose

    def _chain(self, parent: str, child: str) -> tuple[list[TransformLink], list[TransformLink]]:
        """The links from `parent` to `child`: those to go down, in that order, and those to go up before."""
        known = self.frames()
        for frame in (parent, child):
            if frame not in known:
                raise SimjudgeError(f"{self.name}: has no frame {frame}; it has {', '.join(known) or 'none'}")
        above_child, above_parent = self._above(child), self._above(parent)
        top = next(
            (
                frame
                for frame in [parent, *(link.parent for link in above_parent)]
                if frame in [child, *(link.parent for link in above_child)]
            ),
            None,
        )
        if top is None:
            raise SimjudgeError(f"{self.name}: {parent} and {child} are not connected; links: {self._listed()}")
        down = _until(above_child, top, child)
        return down[::-1], _until(above_parent, top, parent)

    def _above(self, frame: str) -> list[TransformLink]:
        out: list[TransformLink] = []
        while frame in self.links:
            link = self.links[frame]
            if link in out:
                raise SimjudgeError(f"{self.name}: the frames {frame} and {link.parent} hang below each other")
            out.append(link)
            frame = link.parent
        return out

    def _cleaned(self, link: TransformLink, losses: Losses) -> Trajectory:
        name = f"{self.name} {link.parent} -> {link.child}"
        rows = Trajectory(
            name,
            link.parent,
            link.child,
            np.array(link.stamp, np.int64),
            np.array(link.position, np.float64),
            np.array(link.orientation, np.float64),
        )
        if link.static:
            rows = Trajectory(
                name, link.parent, link.child, np.zeros(1, np.int64), rows.position[-1:], rows.orientation[-1:]
            )
        return clean_trajectory(rows, lambda row: f"{name} at {rows.stamp[row] / _SECOND:.3f} s", losses, "transforms")

    def _listed(self) -> str:
        return ", ".join(f"{link.parent} -> {link.child}" for link in self.links.values())


def resolve_frames(tree: TransformTree, parent: str | None, child: str | None) -> tuple[str, str]:
    """Find the frames that are meant where the fixed one or the body's (base_link, base_footprint) is not named."""
    above = tree.root() if parent is None else parent.lstrip("/")
    bases = [name for name in _BODIES if name in tree.frames()]
    below = child.lstrip("/") if child is not None else (bases[0] if bases else None)
    if above is None or below is None:
        lacking = "--parent" if above is None else "--child"
        raise SimjudgeError(f"{tree.name}: name the frame with {lacking}; it has {', '.join(tree.frames())}")
    return above, below


def _until(links: Iterable[TransformLink], top: str, start: str) -> list[TransformLink]:
    out: list[TransformLink] = []
    for link in links:
        if start == top:
            break
        out.append(link)
        start = link.parent
    return out


def _covered(link: Trajectory, stamps: IntArray, limits: MotionLimits) -> BoolArray:
    if len(link) == 1:
        return np.asarray(stamps == link.stamp[0])
    path = TrajectoryInterpolator(link, limits)
    inside = path.covers(stamps)
    return inside & ~path.in_gap(stamps)


def _never_together(name: str, parent: str, child: str, moving: list[Trajectory], limits: MotionLimits) -> str:
    spans = "; ".join(
        f"{link.frame_id} -> {link.child_frame_id} {link.stamp[0] / _SECOND:.3f} s to {link.stamp[-1] / _SECOND:.3f} s,"
        f" {len(link)} transforms"
        for link in moving
    )
    return (
        f"{name}: {parent} -> {child}: its links are never known together, to within {limits.max_gap:g} s ({spans});"
        " raise --max-gap if transforms further apart may be believed"
    )


_RESTART = 5 * _SECOND  # A stamp that much before the newest one begins anew: a clock was set, or a recording loops
BEFORE_FIRST_POSE = "before the first pose"
IN_POSE_GAP = "in gaps of the poses"
AT_POSE_JUMP = "at jumps of the poses"


class PoseBuffer(Protocol):
    """Poses of one body, the recent ones."""

    def newest_stamp(self) -> int | None:
        """The time, nanoseconds, up to which poses are known; None before the first."""

    def segment(self, begin: int, end: int) -> Trajectory | None:
        """Cut out the poses from the last at or before `begin` to the first at or after `end`; None: there are none."""

    def forget(self, before: int) -> None:
        """Drop old poses (before: nanoseconds; the poses before it go, but for the newest of them)."""


class LivePoses:
    """Poses from messages of poses."""

    def __init__(self, name: str) -> None:
        """Start with none; `name` is what to call them."""
        self._name = name
        self._rows: list[tuple[int, Pose]] = []

    def add(self, stamp: int, pose: Pose) -> None:
        """Take a pose in; one over 5 s older than the newest begins anew: a clock was set, or a recording loops."""
        if self._rows and stamp < self._rows[-1][0] - _RESTART:
            self._rows.clear()
        index = bisect_left(self._rows, stamp, key=_stamp)
        if index == len(self._rows) or self._rows[index][0] != stamp:
            insort(self._rows, (stamp, pose), key=_stamp)

    def newest_stamp(self) -> int | None:
        """The newest pose's stamp."""
        return self._rows[-1][0] if self._rows else None

    def segment(self, begin: int, end: int) -> Trajectory | None:
        """Cut out the poses around an interval: see `PoseBuffer.segment`."""
        # One nanosecond more: a pose at the begin itself is the one before.
        first = max(bisect_left(self._rows, begin + 1, key=_stamp) - 1, 0)
        rows = self._rows[first : bisect_left(self._rows, end, key=_stamp) + 1]
        if len(rows) < 2:
            # A pose that is there to the nanosecond still needs a neighbour to move to.
            rows = self._rows[max(first - 1, 0) : first + 2]
        if len(rows) < 2:
            return None
        poses = [pose for _, pose in rows]
        return Trajectory(
            self._name,
            "",
            "",
            np.array([stamp for stamp, _ in rows], np.int64),
            np.array([pose.position for pose in poses]),
            np.array([pose.orientation for pose in poses]),
        )

    def forget(self, before: int) -> None:
        """Drop old poses: see `PoseBuffer.forget`."""
        del self._rows[: max(bisect_left(self._rows, before, key=_stamp) - 2, 0)]


class LiveTransforms:
    """Poses from tf: the way from one frame to another."""

    def __init__(self, name: str, parent: str | None, child: str | None, limits: MotionLimits) -> None:
        """Start with none (parent, child: the fixed frame and the body's; None)."""
        self._name, self._ends, self._limits = name, (parent, child), limits
        self._tree = TransformTree(name)

    def add(self, parent: str, child: str, stamp: int, pose: Pose, *, static: bool) -> None:
        """Take a transform in (stamp: nanoseconds)."""
        link = self._tree.links.get(child.lstrip("/"))
        if link is not None and not static and link.stamp and stamp < link.stamp[-1] - _RESTART:
            for any_link in self._tree.links.values():
                if not any_link.static:
                    del any_link.stamp[:], any_link.position[:], any_link.orientation[:]
        self._tree.add(parent, child, stamp, pose.position, pose.orientation, static=static)

    def newest_stamp(self) -> int | None:
        """The time up to which every link on the way is known."""
        try:
            stamps = [max(link.stamp, default=-1) for link in self._tree.moving_links(*self._named())]
        except SimjudgeError:
            return None
        return min(stamps) if stamps and min(stamps) >= 0 else None

    def segment(self, begin: int, end: int) -> Trajectory | None:
        """Cut out two poses or more of the body in the fixed frame around an interval (nanoseconds); None for fewer."""
        try:
            whole = self._tree.trajectory(*self._named(), Losses(), self._limits)
        except SimjudgeError:
            return None
        first = max(int(np.searchsorted(whole.stamp, begin, "right")) - 1, 0)
        last = int(np.searchsorted(whole.stamp, end)) + 1
        if last - first < 2:
            first, last = max(first - 1, 0), first + 2
        rows = slice(first, last)
        if len(whole.stamp[rows]) < 2:
            return None
        columns = {name: getattr(whole, name)[rows] for name in ("stamp", "position", "orientation")}
        return replace(whole, name=self._name, **columns)

    def forget(self, before: int) -> None:
        """Drop old transforms. Twice `max_gap` is kept before the time, because links have rates of their own."""
        self._tree.forget(before - round(2 * self._limits.max_gap * _SECOND))

    def _named(self) -> tuple[str, str]:
        return resolve_frames(self._tree, *self._ends)


def exposure_poses(
    poses: PoseBuffer, begin: int, end: int, limits: MotionLimits
) -> TrajectoryInterpolator | str | None:
    """The poses for an image's exposure: the poses (begin, end of the exposure, nanoseconds, on the poses' clock)."""
    newest = poses.newest_stamp()
    if newest is None or newest < end:
        return None
    stretch = poses.segment(begin, end)
    if stretch is None:
        # One pose alone: another one tells whether it is believed.
        return None
    found = TrajectoryInterpolator(stretch, limits)
    if stretch.stamp[0] > begin:
        return BEFORE_FIRST_POSE
    if found.in_gap([begin, end]).any() or stretch.stamp[-1] < end:
        return IN_POSE_GAP
    return AT_POSE_JUMP if len(found.jumps(begin, end)) else found


def _stamp(row: tuple[int, Pose]) -> int:
    return row[0]
