"""A build backend: an ament_cmake interface package as a wheel, where ROS 2 itself comes from wheels.

CMake and rosidl come from wheels too (`build-system.requires`). The wheel is laid out like those of ROS: libraries in
`lib`, the ament index in `share`, the Python package beside the others. What it requires is read from package.xml, at
the versions it was built with, because generated code fits no other.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from importlib import metadata
from pathlib import Path
from xml.etree import ElementTree as ET

from wheel.wheelfile import WheelFile

_HERE = Path(__file__).resolve().parent
_ANCHOR = "ros-ament-cmake-core"


def build_wheel(wheel_directory: str, config_settings: object = None, metadata_directory: object = None) -> str:
    """PEP 517: build the package in the working directory and return the wheel's file name."""
    del config_settings, metadata_directory
    source = Path.cwd()
    package = ET.parse(source / "package.xml").getroot()  # noqa: S314 - our own file
    name, version = str(package.findtext("name")), str(package.findtext("version"))
    python = f"cp{sys.version_info.major}{sys.version_info.minor}"
    tag = f"{python}-{python}-{sysconfig.get_platform().replace('-', '_').replace('.', '_')}"
    file = f"{name}-{version}-{tag}.whl"
    with tempfile.TemporaryDirectory(prefix="rosidl_wheel_") as scratch:
        installed, staged = Path(scratch) / "install", Path(scratch) / "wheel"
        _cmake(source, Path(scratch) / "build", installed)
        _stage(installed, staged, f"{name}-{version}")
        _describe(staged / f"{name}-{version}.dist-info", package, tag)
        with WheelFile(Path(wheel_directory) / file, "w") as wheel:
            wheel.write_files(staged)
    return file


def _cmake(source: Path, build: Path, installed: Path) -> None:
    prefix = _prefix()
    environment = os.environ | {
        "AMENT_PREFIX_PATH": str(prefix),
        "CMAKE_PREFIX_PATH": str(prefix),
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if path and Path(path) != _HERE),
    }
    configure = [
        "-G",
        "Ninja",
        "-DCMAKE_BUILD_TYPE=Release",
        "-DBUILD_TESTING=OFF",
        f"-DPython3_EXECUTABLE={sys.executable}",
        f"-DCMAKE_INSTALL_PREFIX={installed}",
        f"-DCMAKE_PROJECT_INCLUDE={_HERE / 'relocate.cmake'}",
    ]
    for arguments in (["-S", source, "-B", build, *configure], ["--build", build], ["--install", build]):
        command = [sys.executable, "-m", "cmake", *map(str, arguments)]
        result = subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        if result.returncode:
            sys.stderr.buffer.write(result.stdout)
            raise SystemExit(f"{source.name}: cmake failed; it needs a C++ compiler and Python's headers (see above)")


def _prefix() -> Path:
    """Where the ROS wheels of the build are installed: the folder that holds their `share/ament_index`."""
    site = Path(str(metadata.distribution(_ANCHOR).locate_file("")))
    for folder in site.parents:
        if (folder / "share" / "ament_index").is_dir():
            return folder
    raise SystemExit(f"no share/ament_index above {site}")


def _stage(installed: Path, staged: Path, stem: str) -> None:
    """Sort what CMake installed into the wheel: Python packages to its root, everything else below its data folder."""
    (site,) = installed.glob("lib*/python*/site-packages")
    skip = shutil.ignore_patterns("*.egg-info", "__pycache__", "*.c")
    shutil.copytree(site, staged, ignore=skip)
    shutil.rmtree(site.parent)
    shutil.copytree(installed, staged / f"{stem}.data" / "data")


def _describe(folder: Path, package: ET.Element, tag: str) -> None:
    folder.mkdir()
    depends = [str(each.text) for kind in ("depend", "exec_depend") for each in package.findall(kind)]
    ros = [f"ros-{name.replace('_', '-')}" for name in depends]
    lines = [
        "Metadata-Version: 2.1",
        f"Name: {str(package.findtext('name')).replace('_', '-')}",
        f"Version: {package.findtext('version')}",
        f"Summary: {package.findtext('description')}",
        f"License: {package.findtext('license')}",
        "Requires-Dist: numpy",
        *(f"Requires-Dist: {name}~={metadata.version(name)}" for name in ros),
    ]
    (folder / "METADATA").write_text("\n".join(lines) + "\n", encoding="utf-8")
    wheel = f"Wheel-Version: 1.0\nGenerator: rosidl_wheel\nRoot-Is-Purelib: false\nTag: {tag}\n"
    (folder / "WHEEL").write_text(wheel, encoding="utf-8")
