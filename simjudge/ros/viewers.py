"""Who looks on: RViz with a layout, rerun."""

from __future__ import annotations

import os
from typing import NamedTuple

from simjudge.core.installed import install_command, installed_file
from simjudge.ros.description import (
    YES_NO,
    Argument,
    Process,
    Value,
    Values,
    find_program,
    normalize_namespace,
    parse_bool,
)


class RvizLayout(NamedTuple):
    """A layout of RViz."""

    file: str
    topics: tuple[str, ...]
    frame: str
    whose: str


CAMERA_LAYOUT = RvizLayout(
    "simjudge.rviz",
    ("validation/overlay", "camera/detections/overlay", "validation/markers"),
    "camera_optical_frame",
    "that of the images' headers",
)
SIM_LAYOUT = RvizLayout(
    "sim.rviz",
    (
        "camera/detections/overlay",
        "validation/overlay",
        "drive/cones",
        "drive/path",
        "vehicle/odometry",
        "scan/points",
        "scan/laser",
        "scan/points/boxes/markers",
        "imu/data/markers",
        "gps/fix/path",
        "robot_description",
        "validation/text",
    ),
    "map",
    "the map's, where the odometry stands still",
)
OBJECTS_LAYOUT = RvizLayout(
    "objects.rviz",
    ("objects/markers", "objects/map/markers"),
    "camera_optical_frame",
    "that of the real images' headers, or the odometry's for lidars",
)
WATCH = (
    Argument("watch", "false", f"Show it with rerun ({install_command('rerun')}).", YES_NO),
    Argument("save", "", "The .rrd file to save to, with watch; there is no window then."),
)


def rviz_arguments(default: str, layout: RvizLayout = CAMERA_LAYOUT) -> tuple[Argument, ...]:
    """The arguments about RViz."""
    return (
        Argument("rviz", default, "Show it in RViz; auto: where there is one, and a screen.", ("auto", *YES_NO)),
        Argument("rviz_frame", layout.frame, f"RViz's fixed frame: {layout.whose}."),
    )


def viewer_processes(values: Values, layout: RvizLayout = CAMERA_LAYOUT) -> tuple[Process, ...]:
    """The programs that show a run: RViz, rerun."""
    out = []
    asked = _has_screen() if values["rviz"] == "auto" else parse_bool("rviz", values["rviz"])
    if asked and _has_rviz():
        arguments = ("-d", str(installed_file(f"config/rviz/{layout.file}")), "-f", values["rviz_frame"])
        # The layout has absolute names.
        here = tuple((f"/{name}", name) for name in layout.topics) if normalize_namespace(values["robot_ns"]) else ()
        out.append(Process("rviz2", "rviz2", package="rviz2", arguments=arguments, remappings=here, leads=True))
    if parse_bool("watch", values.get("watch", "false")) or values.get("save"):
        parameters: dict[str, Value] = {"save": values["save"]} if values["save"] else {}
        out.append(Process("watch_node", "watch_node", parameters=parameters))
    return tuple(out)


def missing_viewers(values: Values) -> tuple[str, ...]:
    """Say what was asked for and is not there; a run goes on without it."""
    if values.get("rviz", "auto") == "auto" or not parse_bool("rviz", values["rviz"]) or _has_rviz():
        return ()
    line = (
        "warning: rviz:=true, but RViz is not installed (no rviz2 on PATH); the run goes on without it. Install your"
        " distribution's rviz2 package, or look with watch:=true"
    )
    return (line,)


def _has_screen() -> bool:
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def _has_rviz() -> bool:
    return find_program("rviz2", "rviz2") is not None
