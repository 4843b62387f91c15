"""`simjudge replay BAG`: a recording seen again, in a scene, by a simulated camera at the recorded poses."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from simjudge.commands.common import finish, progress, say

if TYPE_CHECKING:
    from simjudge.capture.frame_store import FrameStore
    from simjudge.capture.replay_source import Source
    from simjudge.capture.replaying import Replay
    from simjudge.core.errors import Losses
    from simjudge.scene.model import Scene
    from simjudge.sensors.camera.camera import Camera

_SECOND = 1_000_000_000


def replay(
    bag: Path = typer.Argument(..., metavar="BAG", help="A recording with poses, or a TUM or CSV text file of poses."),
    scene: str = typer.Option(..., "--scene", metavar="FILE|NAME", help="What stands where."),
    camera: str = typer.Option(..., "--camera", metavar="FILE|NAME", help="The camera that sees it."),
    out: Path = typer.Option(..., "--out", help="The recording to write: x.mcap, x.db3, or a folder."),
    poses: str | None = typer.Option(None, metavar="TOPIC|FILE", help="The poses, where BAG has several topics."),
    parent: str | None = typer.Option(None, help="Of tf: the fixed frame.", show_default="the root"),
    child: str | None = typer.Option(None, help="Of tf: the body's frame.", show_default="base_link"),
    image_topic: str | None = typer.Option(None, help="The real camera, where BAG has several."),
    vehicle: str | None = typer.Option(
        None, metavar="FILE|NAME", help="The car whose base_link the poses are of.", show_default="art1"
    ),
    mount: str | None = typer.Option(
        None, metavar="POSE", help="The camera on the body: x,y,z[,yaw,pitch,roll], metres and degrees; body; optical."
    ),
    align: str = typer.Option("0,0,0", metavar="POSE", help="The poses' fixed frame in the scene: x,y,z[,yaw]."),
    cones: Path | None = typer.Option(
        None, metavar="TABLE", help="Measured cones, id colour x y, for the scene's own."
    ),
    cone_kinds: str | None = typer.Option(
        None, metavar="COLOUR=KIND,...", help="The scene's kinds for them.", show_default="0=red_cone,1=green_cone"
    ),
    time_offset: float = typer.Option(0.0, metavar="SECONDS", help="Added to pictures' stamps to find their poses."),
    start: float = typer.Option(0.0, min=0, metavar="SECONDS", help="Begin so long after the first frame."),
    duration: float | None = typer.Option(None, metavar="SECONDS", help="Replay so long.", show_default="all"),
    rate: float | None = typer.Option(None, metavar="HZ", help="Frames a second, at most.", show_default="all"),
    max_gap: float = typer.Option(0.5, metavar="SECONDS", help="Believe poses no further apart than this."),
    max_speed: float = typer.Option(20.0, metavar="M/S", help="Poses that imply more are a jump."),
    max_turn: float = typer.Option(720.0, metavar="DEG/S", help="Poses that imply more are a jump."),
    skip_gaps: bool = typer.Option(False, "--skip-gaps", help="Leave out frames in gaps in place of an error."),
    noise: bool = typer.Option(False, "--noise", help="Put each frame's pose off, for the pointwise study."),
    noise_angle: float = typer.Option(1.0, min=0, metavar="DEG", help="With --noise: yaw, pitch and roll each."),
    noise_position: float = typer.Option(0.01, min=0, metavar="M", help="With --noise: x, y and z each."),
    min_size: float = typer.Option(5.0, min=0, metavar="PX", help="Smaller things are not labelled."),
    min_visible: float = typer.Option(0.25, min=0, max=1, help="Things seen by a smaller share are not labelled."),
    seed: int = typer.Option(0, min=0, help="Of the scene, the camera's noise and the poses' noise."),
    engine: str = typer.Option("default", help="default or chrono."),
) -> None:
    """See a recording again in simulation: a synthetic frame for each real one, with its stamp and name.

    The recording that is written pairs with the real one: simjudge compare REAL SIM --paired. Without pictures in BAG,
    frames are made at the camera's rate. If it is stopped, the same command goes on where it was.
    """
    from simjudge.capture.camera_path import CameraPath, parse_place, seat_of
    from simjudge.capture.ground_truth import Labelling
    from simjudge.capture.replay_source import Wanted, read_source
    from simjudge.capture.replaying import Replay, exposure_around, refuse_existing
    from simjudge.geometry.pose_noise import PoseNoise
    from simjudge.geometry.trajectories import MotionLimits, TrajectoryInterpolator
    from simjudge.scene.measured_cones import staged
    from simjudge.sensors.camera.camera_file import read_camera

    refuse_existing(out)
    offset = round(time_offset * _SECOND)
    limits = MotionLimits(max_gap, max_speed, math.radians(max_turn), skip_gaps)
    alignment = parse_place("align", align)
    seen_by = read_camera(camera)
    seat, seated = seat_of(vehicle, mount)
    stage = staged(scene, cones, cone_kinds, alignment, seed)
    wanted = Wanted(bag, poses, parent, child, image_topic, offset, start, duration, rate)
    source = read_source(wanted, seen_by.rate, exposure_around(seen_by), limits)
    error = PoseNoise(math.radians(noise_angle), noise_position) if noise else None
    path = CameraPath(TrajectoryInterpolator(source.trajectory, limits), seat, alignment, offset, error, seed)
    what = Replay(source, path, seen_by, Labelling(min_size, min_visible), seed)
    say(f"{len(source.frame_name)} frames; poses from {source.poses_from}; camera {seen_by.name} {seated}")
    _tell_sizes(source, seen_by)
    given = {"bag": str(bag), "cones": None if cones is None else str(cones), "align": align, "mount": seated}
    lost = _run(what, stage, engine, out, given)
    say(f"wrote {out}: {len(source.frame_name)} frames; what was done is in {out}.replay.json")
    finish(source.losses, lost)


def _tell_sizes(source: Source, camera: Camera) -> None:
    """Contexts are patches of pixels: pictures of another size are another measure."""
    if source.sizes is not None and source.sizes != {camera.lens.size}:
        real = ", ".join(f"{width}x{height}" for width, height in sorted(source.sizes))
        width, height = camera.lens.size
        say(f"the real pictures are {real}, those of camera {camera.name} {width}x{height}: their boxes do not compare")


def _tell_floor(what: Replay, frames: list[int]) -> None:
    """Poses that were not brought into the scene look at walls from behind, or at nothing."""
    if not frames:
        return
    names, stamps = what.source.frame_name, what.source.stamp
    x, y, z = what.path.in_scene([int(stamps[frames[0]])], names[frames[0]])[0].position
    say(f"no floor is below the camera in {len(frames)} of {len(names)} frames, the first: {names[frames[0]]}, at"
        f" x {x:.2f}, y {y:.2f}, z {z:.2f}: bring the poses into the scene with --align")  # fmt: skip


def _run(what: Replay, stage: Scene, engine_name: str, out: Path, given: dict[str, str | None]) -> Losses:
    """Render what is missing, and write the recording."""
    from simjudge.capture.frame_store import FrameStore
    from simjudge.capture.replaying import described, render, without_floor, write
    from simjudge.engines.registry import make_engine

    engine = make_engine(engine_name, stage)
    try:
        about = described(what, engine, given)
        _tell_floor(what, without_floor(engine, what))
        store = FrameStore.beside(out, about)
        with _kept(store, len(what.source.frame_name)), progress("replaying") as advance:
            render(engine, what, store, advance)
            lost = write(what, store, stage.class_names, out, about)
    finally:
        engine.close()
    store.remove()
    return lost


@contextmanager
def _kept(store: FrameStore, total: int) -> Iterator[None]:
    """Say what is kept where the work is stopped, or fails."""
    from simjudge.core.errors import SimjudgeError

    try:
        yield
    except (KeyboardInterrupt, SimjudgeError):
        done = sum(store.has(index) for index in range(total))
        say(f"{done} of {total} frames are finished and kept in {store.folder}; the same command goes on with the rest")
        raise
