"""What is installed: the version of simjudge, files that come with it, its extras, and what nodes need.

Files are in the checkout or where pip or colcon installed them. The version stands in pyproject.toml alone and is read
from what is installed.
"""

from __future__ import annotations

import difflib
import importlib.util
import os
import re
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.core.files import is_file

EXTRAS = {
    "av": "video",
    "cma": "fit",
    "distributed": "study",
    "fiftyone": "fiftyone",
    "gymnasium": "gym",
    "laspy": "survey",
    "mitsuba": "sim",
    "mujoco": "sim",
    "onnx": "train",
    "pygeomag": "sim",
    "pypatchworkpp": "lidar",
    "rclpy": "ros",
    "rerun": "watch",
    "skimage": "survey",
    "torch": "train",
    "torchvision": "train",
    "trimesh": "sim",
    "ultralytics": "train",
}
"""The extra that installs a module which the core does without."""


def install_command(module: str) -> str:
    """The command that installs an optional module: pip install 'simjudge[sim]'."""
    return f"pip install 'simjudge[{EXTRAS[module]}]'"


def need_module(module: str, why: str) -> None:
    """Make sure that an optional module is installed, before the work begins that needs it in the end."""
    if importlib.util.find_spec(module) is None:
        raise UsageError(f"{why}: {install_command(module)}")


@dataclass(frozen=True)
class FileKind:
    """A kind of file that users give by its path, or by its name if it comes with simjudge."""

    noun: str  # what such a file describes, with its article
    # Where those that come with simjudge are, below the folder that has config/ and models/ in it.
    patterns: tuple[str, ...]
    but: tuple[str, ...] = ()  # files of other kinds among them


CALIBRATION = FileKind("a calibration", ("config/*_camera.yaml",))
CHECKPOINT = FileKind("a checkpoint", ("models/*.pt",))
CAMERA = FileKind("a camera", ("config/cameras/*.yaml",))
DETECTOR = FileKind("a detector", ("config/detectors/*.yaml", "models/*.onnx"))
DEFAULT_CAMERA = "plain_half"  # The camera of whoever names none: a pinhole at 640 x 360, quick to render
RIG = FileKind("a set of cameras", ("config/rigs/*.yaml",))
PARAMETERS = FileKind("a parameter file", ("config/params/*.yaml",))
ROBOT = FileKind("a robot", ("config/*.yaml", "config/robots/*.yaml"), but=CALIBRATION.patterns)
SCENE = FileKind("a scene", ("config/scenes/*.yaml",))
SENSORS = FileKind("a set of sensors", ("config/sensors/*.yaml",))
SIMULATOR = FileKind("a simulator", ("config/simulators/*.yaml",))
STUDY = FileKind("a study", ("config/studies/*.yaml",))
VEHICLE = FileKind("a vehicle", ("config/vehicles/*.yaml",))


def roots() -> list[Path]:
    """The folders that have config/ and models/ in them, the checkout first."""
    package = Path(__file__).resolve().parents[1]
    prefixes = [Path(prefix) for prefix in os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep) if prefix]
    # colcon and pip install into PREFIX/lib/pythonX.Y/site-packages, Debian sometimes a folder deeper.
    prefixes += [Path(sys.prefix), *package.parents[:6]]
    shares = [prefix / "share" / "simjudge" for prefix in prefixes]
    return [package.parent, *(share for share in dict.fromkeys(shares) if share.is_dir())]


def installed_file(name: str) -> Path:
    """A file that comes with simjudge: in the checkout, else as pip or colcon installed it."""
    for root in roots():
        if (root / name).is_file():
            return root / name
    raise SimjudgeError(f"{name} is not where simjudge is installed; install simjudge again")


def installed_folder(name: str) -> Path:
    """A folder that comes with simjudge, likewise, e.g. "demo/photographs"."""
    for root in roots():
        if (root / name).is_dir():
            return root / name
    raise SimjudgeError(f"{name} is not where simjudge is installed; install simjudge again")


def shipped_files(kind: FileKind) -> dict[str, Path]:
    """The files of a kind that come with simjudge, by name; where two folders have one name, the first counts."""
    found: dict[str, Path] = {}
    for root in roots():
        others = {file for pattern in kind.but for file in root.glob(pattern)}
        for pattern in kind.patterns:
            for file in sorted(set(root.glob(pattern)) - others):
                found.setdefault(file.stem, file)
    return found


def first_sentence(file: Path) -> str:
    """What a file that comes with simjudge says of itself."""
    if file.suffix != ".yaml":
        card = file.with_suffix(".md")
        lines = card.read_text(encoding="utf-8").splitlines() if card.is_file() else []
        classes = next((line.split("|")[2].strip() for line in lines if line.startswith("| classes |")), "")
        return classes and f"A network that finds {classes}"
    words: list[str] = []
    for line in file.read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            break
        if "yaml-language-server" not in line:
            words.append(line.lstrip("# "))
    return re.split(r"(?<=[.;])\s", " ".join(words))[0].rstrip(".;")


def find_file(given: str | Path, kind: FileKind, folder: str | Path = "") -> Path:
    """The file of a path, or the one of a name that comes with simjudge (folder: what a path is relative to)."""
    path = Path(folder, given)
    if is_file(path):
        return path
    shipped = shipped_files(kind)
    for name, file in shipped.items():
        if str(given) in (name, file.name):
            return file
    near = difflib.get_close_matches(Path(given).stem, shipped, 1)
    meant = f"; is {near[0]} meant?" if near else ""
    names = ", ".join(sorted(shipped)) or "none"
    raise UsageError(f"{given}: neither a file nor the name of {kind.noun} that comes with simjudge ({names}){meant}")


@cache
def version() -> str:
    """Return the installed version, "unknown" where simjudge runs from a checkout that was never installed."""
    # Imported here because the import takes longer than all of `import simjudge`.
    from importlib.metadata import PackageNotFoundError  # noqa: PLC0415
    from importlib.metadata import version as installed_version  # noqa: PLC0415

    try:
        return installed_version("simjudge")
    except PackageNotFoundError:
        return "unknown"


def need_rclpy() -> None:
    """Make sure that there is an rclpy that the nodes can use."""
    if importlib.util.find_spec("rclpy") is None:
        raise SimjudgeError(
            f"the nodes need rclpy: source your ROS 2 installation, or {install_command('rclpy')}"
            " (in a checkout: make setup-ros)"
        )
    # Humble's says neither which messages were lost nor why an offer does not fit.
    if importlib.util.find_spec("rclpy.event_handler") is None:
        name = os.environ.get("ROS_DISTRO") or "an older distribution"
        raise SimjudgeError(
            f"the nodes need ROS 2 Jazzy or later, and this rclpy is that of {name}: record the topics with ros2 bag"
            " record and give the recording to simjudge, or run the nodes on a machine beside this one"
            " (docs/reference/ros.md)"
        )


def need_ros() -> None:
    """Make sure that nodes can run here."""
    need_rclpy()
    if importlib.util.find_spec("simjudge_msgs") is None:
        source = Path(sys.prefix) / "share/simjudge/msgs"
        build = f"pip install {source} {source}/wheel/tf2_msgs" if source.is_dir() else "in a checkout: make setup-ros"
        raise SimjudgeError(f"the nodes need simjudge_msgs: build msgs/ with colcon, or {build}")
