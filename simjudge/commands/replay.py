"""`simjudge replay BAG`: a synthetic frame for each real one of a recording, here or in another simulator."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import typer

from simjudge.commands.listing import list_option
from simjudge.core.errors import UsageError
from simjudge.core.settings import LONGEST_TIME
from simjudge.terminal.common import ENGINE_HELP, exit_if_lost, print_note, progress


def replay(
    bag: Path = typer.Argument(..., metavar="BAG", help="A recording with poses, or a text file of poses."),
    scene: str | None = typer.Option(
        None, "--scene", metavar="FILE|NAME", help="What stands where. Needed without --for.", show_default=False
    ),
    camera: str | None = typer.Option(
        None,
        "--camera",
        metavar="FILE|NAME",
        help="The camera that sees it. Not needed with --sensors.",
        show_default=False,
    ),
    out: Path = typer.Option(..., "--out", help="The recording to write: x.mcap, x.db3 or a folder. With --for: x.py."),
    simulator: str | None = typer.Option(
        None,
        "--for",
        metavar="SIMULATOR",
        help="Render nothing; write a script that moves the camera of gazebo, carla or chrono.",
    ),
    poses: str | None = typer.Option(None, metavar="TOPIC|FILE", help="The poses, where BAG has several topics."),
    parent: str | None = typer.Option(None, help="Fixed frame, for poses from tf.", show_default="the root"),
    child: str | None = typer.Option(None, help="Frame of the body, for poses from tf.", show_default="base_link"),
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
    sensors: str | None = typer.Option(
        None, metavar="FILE|NAME", help="The car's other sensors; a lidar scans at the stamps of BAG's clouds."
    ),
    cloud_topic: str | None = typer.Option(None, metavar="TOPIC", help="The clouds, where BAG has several topics."),
    smoothing: float = typer.Option(
        0.0, min=0, max=10, metavar="SECONDS", help="Average poses so long for inertial sensors: their noise grows."
    ),
    time_offset: float = typer.Option(
        0.0, min=-LONGEST_TIME, max=LONGEST_TIME, metavar="SECONDS", help="Added to images' stamps to find their poses."
    ),
    start: float = typer.Option(
        0.0, min=0, max=LONGEST_TIME, metavar="SECONDS", help="Begin so long after the first frame."
    ),
    duration: float | None = typer.Option(
        None, max=LONGEST_TIME, metavar="SECONDS", help="Replay so long.", show_default="all"
    ),
    rate: float | None = typer.Option(None, metavar="HZ", help="Frames a second, at most.", show_default="all"),
    max_gap: float = typer.Option(
        0.5, max=LONGEST_TIME, metavar="SECONDS", help="Believe poses no further apart than this."
    ),
    max_speed: float = typer.Option(20.0, metavar="M/S", help="Poses that imply more are a jump."),
    max_turn: float = typer.Option(720.0, metavar="DEG/S", help="Poses that imply more are a jump."),
    skip_gaps: bool = typer.Option(False, "--skip-gaps", help="Leave out frames in gaps in place of an error."),
    noise: bool = typer.Option(False, "--noise", help="Put each frame's pose off, for the pointwise study."),
    noise_angle: float = typer.Option(1.0, min=0, metavar="DEG", help="With --noise: yaw, pitch and roll each."),
    noise_position: float = typer.Option(0.01, min=0, metavar="M", help="With --noise: x, y and z each."),
    min_size: float = typer.Option(5.0, min=0, metavar="PX", help="Smaller things are not labelled."),
    min_visible: float = typer.Option(0.25, min=0, max=1, help="Things seen by a smaller share are not labelled."),
    seed: int = typer.Option(0, min=0, help="Seed of the scene, the camera's noise and the poses' noise."),
    engine: str = typer.Option("default", metavar="NAME|PACKAGE:CLASS", help=ENGINE_HELP),
    names: bool = list_option(),
) -> None:
    """Render a synthetic frame for each real one of a recording, with its stamp and name.

    The recording that is written pairs with the real one: simjudge compare REAL SIM --paired. Without images in BAG,
    frames are made at the camera's rate. If the command is stopped, the same command goes on where it was. With --for,
    another simulator makes the frames: a script moves its camera along the poses.
    """
    del names
    from simjudge.sim.capture.replaying import replay as replay_frames

    where: dict[str, Any] = {
        "poses": poses, "parent": parent, "child": child, "image_topic": image_topic,
        "vehicle": vehicle, "mount": mount, "align": align, "time_offset": time_offset, "start": start,
        "duration": duration, "rate": rate, "max_gap": max_gap, "max_speed": max_speed, "max_turn": max_turn,
        "skip_gaps": skip_gaps, "noise": noise, "noise_angle": noise_angle, "noise_position": noise_position,
        "seed": seed,
    }  # fmt: skip
    if simulator is not None:
        given = {
            "scene": scene, "cones": cones, "cone-kinds": cone_kinds, "sensors": sensors, "cloud-topic": cloud_topic
        }  # fmt: skip
        if camera is None:
            raise UsageError(f"--for {simulator}: say which camera its script moves (--camera)")
        _write_script(simulator, bag, out, camera, given, where)
        return
    if scene is None:
        raise UsageError("--scene: say what stands where, or --for gazebo|carla|chrono: their own world")
    result = replay_frames(
        bag,
        out,
        **where,
        camera=camera,
        log=print_note,
        scene=scene,
        cones=cones,
        cone_kinds=cone_kinds,
        sensors=sensors,
        cloud_topic=cloud_topic,
        smoothing=smoothing,
        min_size=min_size,
        min_visible=min_visible,
        engine=engine,
        progress=progress,
    )
    print_note(f"wrote {result}; what was done is in {result.record_path}")
    exit_if_lost(result.losses)


def _write_script(
    simulator: str, bag: Path, out: Path, camera: str, given: Mapping[str, object], where: Mapping[str, Any]
) -> None:
    """Write the files for another simulator; `given` are options that belong to a scene of ours."""
    from simjudge.sim.capture.replay_elsewhere import write_replay_script
    from simjudge.sim.capture.replay_plan import CameraPathOptions

    needless = [name for name, value in given.items() if value is not None]
    if needless:
        raise UsageError(f"--for {simulator}: renders nothing here; leave out --{needless[0]}")
    result = write_replay_script(simulator, bag, out, camera=camera, options=CameraPathOptions(**where), log=print_note)
    for note in result.notes:
        print_note(note)
    print_note(f"wrote {result}")
    exit_if_lost(result.losses)
