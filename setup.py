"""What pyproject.toml cannot say: folders that are installed under another name, and the files of a ROS 2 package."""

from pathlib import Path

from setuptools import find_packages, setup

HERE = Path(__file__).parent
MESSAGES = "simjudge.data.rosbag2.msg"
"""The folder msgs/msg as a package of data: the types in recordings are read without a ROS 2 installation."""
TEMPLATES = "simjudge.page.templates"
"""A folder without modules: setuptools warns of one that no package names, and colcon shows that as an error."""


def shared(folder: str, pattern: str = "*") -> tuple[str, list[str]]:
    """One folder of share/simjudge with its files."""
    files = sorted(str(p.relative_to(HERE)) for p in (HERE / folder).glob(pattern) if p.is_file())
    return f"share/simjudge/{folder}", files


def folders_of(name: str) -> list[str]:
    """A folder and every folder in it, without what builds leave there."""
    found = (str(p.relative_to(HERE)) for p in (HERE / name).rglob("*") if p.is_dir())
    return [name, *sorted(each for each in found if not {"__pycache__", "build"} & set(Path(each).parts))]


setup(
    license="BSD-3-Clause",
    python_requires=">=3.10,<3.15",
    packages=[*find_packages(include=["simjudge", "simjudge.*"]), TEMPLATES, MESSAGES, "simjudge.nodes"],
    package_dir={MESSAGES: "msgs/msg", "simjudge.nodes": "nodes"},
    package_data={"simjudge": ["py.typed"], TEMPLATES: ["*"], MESSAGES: ["*.msg"]},
    data_files=[
        ("share/ament_index/resource_index/packages", ["resource/simjudge"]),
        ("share/simjudge", ["package.xml"]),
        shared("bags", "*.mcap"),
        *(shared(folder) for folder in folders_of("config")),
        *(shared(folder) for folder in folders_of("demo")),
        shared("launch", "*.launch.py"),
        ("share/simjudge/hook", ["resource/hook/simjudge.sh"]),
        shared("models"),
        *(shared(folder) for folder in folders_of("msgs")),
    ],
    zip_safe=False,
)
