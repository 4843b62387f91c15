"""What is stated twice about the package agrees, and the pins satisfy what the package asks for."""

import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import yaml
from defusedxml.ElementTree import parse
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from project_file import PROJECT, ROOT, required_names, requirements

import simjudge
from simjudge.core.installed import version

PYTHONS = ("3.10", "3.11", "3.12", "3.13", "3.14")
GROUPS = ("core", "train", "test", "ros", "watch", "sim", "lidar", "study", "gym", "fit", "video", "docs")
KEYS_OF_ANOTHER_NAME = {"pillow": "pil", "opencv-python-headless": "opencv", "pyyaml": "yaml"}
WITHOUT_A_KEY = {"apsw", "lz4", "mcap", "pyarrow", "pycocotools", "zstandard"}


def package_xml(path):
    return parse(path).getroot()


def pins(group, python):
    """The pinned version of every package of a group on one Python."""
    found = {}
    for line in (ROOT / f"requirements/{group}.txt").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            pin = Requirement(line)
            if pin.marker is None or pin.marker.evaluate({"python_version": python}):
                assert pin.name not in found, f"{pin.name} is pinned twice on Python {python}"
                assert re.fullmatch(r"==[^,*]+", str(pin.specifier)), line
                found[canonicalize_name(pin.name)] = str(pin.specifier)[2:]
    return found


def test_a_release_is_of_the_version_of_pyproject_and_keeps_no_token():
    workflow = yaml.safe_load((ROOT / ".github/workflows/release.yml").read_text(encoding="utf-8"))
    build, publish = workflow["jobs"]["build"], workflow["jobs"]["publish"]
    check = next(step["run"] for step in build["steps"] if "GITHUB_REF_NAME" in step.get("run", ""))
    for tag, code in ((f"v{PROJECT['version']}", 0), ("v0.0.1", 1)):
        done = subprocess.run(["bash", "-c", check], cwd=ROOT, env={**os.environ, "GITHUB_REF_NAME": tag}, check=False)
        assert done.returncode == code
    assert publish["permissions"] == {"id-token": "write"}
    assert publish["needs"] == "build"
    assert not [step for step in publish["steps"] if "password" in step.get("with", {})]


def test_the_version_is_the_same_everywhere():
    versions = {
        "pyproject.toml": PROJECT["version"],
        "simjudge": simjudge.__version__,
        "as installed": version(),
        "package.xml": package_xml(ROOT / "package.xml").findtext("version"),
        "msgs/package.xml": package_xml(ROOT / "msgs/package.xml").findtext("version"),
    }
    assert len(set(versions.values())) == 1, versions


def test_who_keeps_the_package_is_said_in_one_place():
    (keeper,) = PROJECT["maintainers"]
    for path in ("package.xml", "msgs/package.xml", "msgs/wheel/tf2_msgs/package.xml"):
        maintainer = package_xml(ROOT / path).find("maintainer")
        assert (maintainer.text, maintainer.get("email")) == (keeper["name"], keeper["email"]), path


def test_the_changelog_for_ros_says_what_ours_says():
    entries = re.compile(r"^\* .*", re.MULTILINE)
    source, made = ((ROOT / name).read_text("utf-8") for name in ("CHANGELOG.md", "CHANGELOG.rst"))
    assert len(entries.findall(made)) == len(entries.findall(source))


def test_versions_in_the_changelog_are_such_as_ros_finds():
    """REP 132: a version and its date. catkin_pkg itself, where it is installed, finds them all."""
    titles = re.findall(r"^(.*)\n-+$", (ROOT / "CHANGELOG.rst").read_text("utf-8"), re.MULTILINE)
    assert titles.count("Forthcoming") <= 1
    form = re.compile(r"(\d+\.\d+\.\d+) \(\d{4}-\d{2}-\d{2}\)")
    versions = [form.fullmatch(title) for title in titles if title != "Forthcoming"]
    assert versions
    assert all(versions)
    changelog = pytest.importorskip("catkin_pkg.changelog", reason="catkin_pkg is not installed")
    found = changelog.get_changelog_from_path(str(ROOT / "CHANGELOG.rst"), "simjudge")
    assert [version for version, _, _ in found.foreach_version(reverse=True)] == [each[1] for each in versions]


def test_package_xml_names_the_package_its_build_and_its_dependencies():
    package = package_xml(ROOT / "package.xml")
    assert package.get("format") == "3"
    assert package.findtext("name") == PROJECT["name"] == "simjudge"
    assert package.findtext("license") == importlib.metadata.metadata("simjudge")["License"] == "BSD-3-Clause"
    assert package.findtext("description") == f"{PROJECT['description']}."
    assert package.findtext("export/build_type") == "ament_python"
    assert (ROOT / "resource/simjudge").exists()
    named = required_names("core") - WITHOUT_A_KEY
    expected = {f"python3-{KEYS_OF_ANOTHER_NAME.get(name, name)}" for name in named}
    keys = {(e.text or "").removesuffix("-pip") for e in package.findall("exec_depend")}
    assert package_xml(ROOT / "msgs/package.xml").findtext("name") in keys
    assert {key for key in keys if key.startswith("python3-")} == expected


@pytest.mark.parametrize("python", PYTHONS)
def test_the_pins_satisfy_pyproject(python):
    pinned = {}
    for group in GROUPS:
        more = pins(group, python)
        assert group == "core" or not set(more) & set(pins("core", python)), f"pinned in the core too: Python {python}"
        assert all(pinned.get(name, held) == held for name, held in more.items()), f"two pins on Python {python}"
        pinned |= more
        for wanted in requirements(group):
            if wanted.marker and not wanted.marker.evaluate({"python_version": python}):
                continue
            held = pinned.get(canonicalize_name(wanted.name))
            assert held is not None, f"{wanted.name} is not pinned for Python {python}"
            assert wanted.specifier.contains(held), f"{wanted} but {held} for Python {python}"


@pytest.mark.parametrize("groups", [("core",), *(("core", more) for more in ("train", "test", "ros", "study", "docs"))])
def test_what_a_pinned_package_needs_is_pinned_too(groups):
    """On the Python at hand, where the packages are installed and can be asked."""
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    pinned = {name: number for group in groups for name, number in pins(group, python).items()}
    held = set(pinned)
    for name in sorted(held):
        try:
            if importlib.metadata.version(name) != pinned[name]:
                pytest.skip(f"{name} here is not the pinned version, as in a ROS 2 workspace")
            needs = importlib.metadata.requires(name) or []
        except importlib.metadata.PackageNotFoundError:
            pytest.skip(f"{name} of requirements/{groups[-1]}.txt is not installed")
        for need in map(Requirement, needs):
            if need.marker is None or need.marker.evaluate({"extra": ""}):
                wanted = canonicalize_name(need.name)
                assert wanted in held or (name == "torch" and wanted.startswith(("nvidia-", "cuda-", "triton"))), (
                    f"{name} needs {need}, which is not pinned"
                )


def test_the_core_needs_neither_torch_nor_ros():
    for python in PYTHONS:
        names = set(pins("core", python))
        assert not {n for n in names if n.startswith(("torch", "ultralytics", "ros-", "mujoco", "mitsuba", "nvidia"))}


def test_one_opencv_only():
    for python in PYTHONS:
        names = [n for group in GROUPS for n in pins(group, python) if n.startswith("opencv")]
        assert names == ["opencv-python-headless"]


def test_what_is_installed_is_whole(tmp_path):
    for name in ("setup.py", "pyproject.toml", "README.md", "LICENSE", "package.xml"):
        shutil.copy(ROOT / name, tmp_path / name)
    left = shutil.ignore_patterns("__pycache__", "build")
    rooms = {"simjudge", "nodes", "launch", "msgs", "config", "models", "resource"}
    for name in rooms & {p.name for p in ROOT.iterdir()}:
        shutil.copytree(ROOT / name, tmp_path / name, ignore=left, symlinks=True)
    build = [sys.executable, "-c", "import setuptools.build_meta as b; b.build_wheel('.')"]
    subprocess.run(build, cwd=tmp_path, check=True, capture_output=True)
    with zipfile.ZipFile(next(tmp_path.glob("*.whl"))) as wheel:
        held = set(wheel.namelist())
    expected = {str(p.relative_to(ROOT)) for p in (ROOT / "simjudge").rglob("*.py")} | {"simjudge/py.typed"}
    expected |= {f"simjudge/page/templates/{p.name}" for p in (ROOT / "simjudge/page/templates").iterdir()}
    expected |= {f"simjudge/nodes/{p.name}" for p in (ROOT / "nodes").glob("*.py")}
    expected |= {f"simjudge/data/rosbag2/msg/{p.name}" for p in (ROOT / "msgs/msg").glob("*.msg")}
    share = f"simjudge-{version()}.data/data/share/simjudge"
    shipped = [*(ROOT / "config").rglob("*.*"), *(ROOT / "models").glob("*"), ROOT / "package.xml"]
    shipped += (ROOT / "launch").glob("*.py")
    shipped += (path for path in (ROOT / "msgs").rglob("*.*") if path.is_file() and "__pycache__" not in path.parts)
    expected |= {f"{share}/{p.relative_to(ROOT)}" for p in shipped}
    assert expected - held == set()


def test_the_console_script_starts():
    places = [str(Path(sys.executable).parent), os.environ["PATH"]]  # colcon installs it elsewhere
    command = shutil.which("simjudge", path=os.pathsep.join(places))
    if command is None:
        pytest.skip("simjudge is not on the PATH: source the workspace's install/setup.bash")
    done = subprocess.run([command, "--version"], capture_output=True, text=True, check=False)
    assert done.stdout == f"simjudge {version()}\n"
    assert done.returncode == 0


def test_what_rosdep_cannot_bring_is_named_in_the_instructions():
    install = (ROOT / "docs/start/install.md").read_text(encoding="utf-8")
    assert "src/simjudge/scripts/ros_overlay.sh" in install
