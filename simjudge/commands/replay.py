"""`simjudge replay BAG`: a synthetic frame for each real one of a recording, here or in another simulator."""

from __future__ import annotations

from pathlib import Path

import typer

from simjudge.commands.listing import list_option
from simjudge.core.errors import UsageError
from simjudge.sim.capture.capture_settings import ReplayingSettings
from simjudge.terminal.common import exit_if_lost, print_note, progress
from simjudge.terminal.options import takes_settings

_OF_OUR_SCENES = ("cones", "cone_kinds", "sensors", "cloud_topic")


@takes_settings
def replay(
    settings: ReplayingSettings,
    bag: Path = typer.Argument(..., metavar="BAG", help="A recording with poses, or a text file of poses."),
    scene: str | None = typer.Option(
        None, "--scene", metavar="FILE|NAME", help="What stands where. Needed without --for.", show_default=False
    ),
    camera: str | None = typer.Option(
        None, "--camera", metavar="FILE|NAME", help="The camera that sees it. Not needed with --sensors.",
        show_default=False,
    ),
    out: Path = typer.Option(..., "--out", help="The recording to write: x.mcap, x.db3 or a folder. With --for: x.py."),
    simulator: str | None = typer.Option(
        None, "--for", metavar="SIMULATOR",
        help="Render nothing; write a script that moves the camera of gazebo, carla or chrono.",
    ),
    names: bool = list_option(),
) -> None:
    """Render a synthetic frame for each real one of a recording, with its stamp and name.

    The recording that is written pairs with the real one: simjudge compare REAL SIM --paired. Without images in BAG,
    frames are made at the camera's rate. If the command is stopped, the same command goes on where it was. With --for,
    another simulator makes the frames: a script moves its camera along the poses.
    """
    del names
    from simjudge.sim.capture.replaying import replay as replay_frames

    if simulator is not None:
        if camera is None:
            raise UsageError(f"--for {simulator}: say which camera its script moves (--camera)")
        _write_script(simulator, bag, out, camera, scene, settings)
        return
    if scene is None:
        raise UsageError("--scene: say what stands where, or --for gazebo|carla|chrono: their own world")
    result = replay_frames(bag, out, scene=scene, camera=camera, settings=settings, log=print_note, progress=progress)
    print_note(f"wrote {result}; what was done is in {result.record_path}")
    exit_if_lost(result.losses)


def _write_script(
    simulator: str, bag: Path, out: Path, camera: str, scene: str | None, settings: ReplayingSettings
) -> None:
    """Write the files for another simulator, in which no scene of ours stands."""
    from simjudge.sim.capture.recorded_camera_path import CameraPathOptions
    from simjudge.sim.capture.simulator_scripts.replay_elsewhere import write_replay_script

    given = {"scene": scene, **{name: getattr(settings, name) for name in _OF_OUR_SCENES}}
    needless = [name.replace("_", "-") for name, value in given.items() if value is not None]
    if needless:
        raise UsageError(f"--for {simulator}: renders nothing here; leave out --{needless[0]}")
    result = write_replay_script(
        simulator, bag, out, camera=camera, options=settings.as_settings(CameraPathOptions), log=print_note
    )
    for note in result.notes:
        print_note(note)
    print_note(f"wrote {result}")
    exit_if_lost(result.losses)
