from pathlib import Path

from setuptools import find_packages, setup

HERE = Path(__file__).parent
CORE = [
    "numpy>=1.26",
    "scipy>=1.11",
    "numba>=0.60",
    "pyarrow>=15",
    "pillow>=10",
    "opencv-python-headless>=4.9",
    "pycocotools>=2.0.7",
    "onnxruntime>=1.18",
    "rosbags>=0.11",
    "mcap>=1.6",
    "apsw>=3.45",
    "zstandard>=0.21",
    "lz4>=4.3",
    "pyyaml>=6",
    "defusedxml>=0.7",
    "typer>=0.12",
    "rich>=13",
    "jinja2>=3.1",
]
# ROS 2 Kilted as wheels, for machines without a ROS 2 installation; generated messages fit no other versions.
ROS = ["ros-rclpy[fastrtps]>=9.1,<9.2", "ros-common-interfaces>=5.5,<5.6"]
# The torch and torchvision pinned together are a pair whose CPU build is small; see docs/install.md.
TRAIN = ["torch==2.13.0", "torchvision==0.28.0", "ultralytics-opencv-headless>=8.4", "onnx>=1.16", "onnxslim>=0.1.50"]
# The screen of `simjudge watch`: 0.5 GB, for it brings its own viewer.
WATCH = ["rerun-sdk>=0.30"]
# The default engine: MuJoCo moves, Mitsuba lights. MuJoCo 4 wants Python 3.11.
SIM = ["mujoco>=3.4", "mitsuba>=3.9"]
TEST = [
    "pytest",
    "pytest-xdist",
    "pytest-timeout",
    "hypothesis",
    "ruff",
    "mypy",
    "types-PyYAML",
    "types-defusedxml",
    # An independent ray caster to hold labels against; trimesh casts rays where rtree is.
    "trimesh>=4",
    "rtree>=1.2",
]


def files(pattern: str) -> list[str]:
    return sorted(str(p.relative_to(HERE)) for p in HERE.glob(pattern))


setup(
    name="simjudge",
    version="0.1.0",
    description="A perception algorithm as the judge of a simulated camera: contextualized performance for ROS 2",
    long_description=(HERE / "README.md").read_text(encoding="utf-8"),
    long_description_content_type="text/markdown",
    license="BSD-3-Clause",
    author="the simjudge authors",
    maintainer="the simjudge authors",
    maintainer_email="simjudge@example.org",
    python_requires=">=3.10,<3.14",
    packages=[*find_packages(include=["simjudge", "simjudge.*"]), "simjudge.data.rosbag2.msg", "simjudge.nodes"],
    package_dir={"simjudge.data.rosbag2.msg": "msgs/msg", "simjudge.nodes": "nodes"},
    package_data={"simjudge": ["reports/templates/*", "py.typed"], "simjudge.data.rosbag2.msg": ["*.msg"]},
    install_requires=CORE,
    extras_require={
        "ros": ROS,
        "train": TRAIN,
        "test": TEST,
        "watch": WATCH,
        "sim": SIM,
        "all": [*ROS, *TRAIN, *WATCH, *SIM],
    },
    entry_points={
        "console_scripts": [
            "simjudge = simjudge.cli:main",
            "camera_bridge_node = simjudge.nodes.camera_bridge_node:main",
            "detection_node = simjudge.nodes.detection_node:main",
            "drive_node = simjudge.nodes.drive_node:main",
            "play_node = simjudge.nodes.play_node:main",
            "record_node = simjudge.nodes.record_node:main",
            "replay_node = simjudge.nodes.replay_node:main",
            "sim_node = simjudge.nodes.sim_node:main",
            "validation_node = simjudge.nodes.validation_node:main",
            "watch_node = simjudge.nodes.watch_node:main",
        ]
    },
    data_files=[
        ("share/ament_index/resource_index/packages", ["resource/simjudge"]),
        ("share/simjudge", ["package.xml"]),
        ("share/simjudge/config", [*files("config/*.xml"), *files("config/*.yaml")]),
        ("share/simjudge/config/cameras", files("config/cameras/*.yaml")),
        ("share/simjudge/config/detectors", files("config/detectors/*.yaml")),
        ("share/simjudge/config/rviz", files("config/rviz/*.rviz")),
        ("share/simjudge/config/scenes", files("config/scenes/*.yaml")),
        ("share/simjudge/config/scenes/meshes", files("config/scenes/meshes/*")),
        ("share/simjudge/config/sensors", files("config/sensors/*.yaml")),
        ("share/simjudge/config/vehicles", files("config/vehicles/*.yaml")),
        ("share/simjudge/launch", files("launch/*.launch.py")),
        ("share/simjudge/models", files("models/*")),
    ],
    zip_safe=False,
)
