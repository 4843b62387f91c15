"""An optional package that is missing is named with the extra that installs it, wherever it is asked for."""

import importlib
import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from project_file import PROJECT, required_names

from simjudge.core.errors import Losses, SimjudgeError
from simjudge.core.installed import EXTRAS, install_command

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = {
    "rclpy": "ros-rclpy",
    "rerun": "rerun-sdk",
    "skimage": "scikit-image",
    "ultralytics": "ultralytics-opencv-headless",
}


@pytest.mark.parametrize("module", EXTRAS)
def test_the_extra_holds_the_package(module):
    assert PACKAGES.get(module, module) in required_names(EXTRAS[module])


def test_extras_are_named_in_one_place():
    named = re.compile(r"pip install ['\"]?simjudge\[\w+\]")
    files = [*(ROOT / "simjudge").rglob("*.py"), *(ROOT / "nodes").glob("*.py")]
    holding = [file.name for file in files if named.search(file.read_text(encoding="utf-8"))]
    assert holding == ["installed.py"]


def ground(_folder):
    importlib.import_module("simjudge.detectors.clouds.ground").patchwork_ground(np.zeros((5, 3)), 1.0, 50.0)


def torch_of_training(_folder):
    importlib.import_module("simjudge.detectors.semantic_training").import_torch()


def ultralytics(_folder):
    importlib.import_module("simjudge.detectors.ultralytics_detector").import_ultralytics()


def magnetic(_folder):
    importlib.import_module("simjudge.sim.sensors.inertial.motion").magnetic_field((8.0, 49.0, 100.0), 2025.0)


def renderer(_folder):
    module = importlib.import_module("simjudge.sim.engines.default.variant")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "choose_variant", lambda: "llvm_ad_rgb")
        module.load_mitsuba()


def gltf(folder):
    importlib.import_module("simjudge.sim.scene.mesh_files")._load(folder / "car.glb")


def exr(folder):
    importlib.import_module("simjudge.sim.scene.lights")._exr(folder / "sky.exr")


def search(folder):
    """Before any set is read: there is none."""
    importlib.import_module("simjudge").fit(folder / "a", folder / "b", detector=object())


def lidar_search(folder):
    importlib.import_module("simjudge").fit(folder / "a", folder / "b", sensor="lidar", model="cones")


def training(folder):
    importlib.import_module("simjudge").train(folder / "photographs", folder / "net.onnx")


def training_of_pixels(folder):
    importlib.import_module("simjudge").train(folder / "photographs", folder / "net.onnx", task="segment-semantic")


def reconstruction(folder):
    importlib.import_module("simjudge").reconstruct(folder / "survey.mcap", folder / "out")


def calibration_of_sky(folder):
    module = importlib.import_module("simjudge.questions.calibrate.sky")
    module.calibrate_sky(folder / "a", scene="lab", camera="plain_half", out=folder / "sky.yaml")


def study(folder):
    """Before a step runs."""
    for verb in ("drive", "replay", "render", "drive_trials"):
        importlib.import_module("simjudge.questions.study.study").VERBS[verb].check({"out": folder})


def screen(_folder):
    importlib.import_module("simjudge.questions.watch").Screen("window")


def scheduler(_folder):
    module = importlib.import_module("simjudge.judging.join_cluster")
    with module.connect_to_scheduler("tcp://127.0.0.1:1", print):
        pass


def meshes(_folder):
    importlib.import_module("simjudge.objects.survey_mesh").marching_cubes(np.zeros((3, 3, 3), np.float32), 0.5)


def las(folder):
    module = importlib.import_module("simjudge.objects.survey_cloud")
    module.read_survey(folder / "site.las", module.SurveyReading(), Losses(), print)


def nodes(_folder):
    importlib.import_module("simjudge.core.installed").need_rclpy()


@pytest.mark.parametrize(
    ("module", "use"),
    [
        ("pypatchworkpp", ground),
        ("torch", torch_of_training),
        ("ultralytics", ultralytics),
        ("pygeomag", magnetic),
        ("mitsuba", renderer),
        ("trimesh", gltf),
        ("mitsuba", exr),
        ("cma", search),
        ("cma", lidar_search),
        ("ultralytics", training),
        ("torch", training_of_pixels),
        ("skimage", reconstruction),
        ("mitsuba", calibration_of_sky),
        ("mitsuba", study),
        ("rerun", screen),
        ("distributed", scheduler),
        ("skimage", meshes),
        ("laspy", las),
        ("rclpy", nodes),
    ],
    ids=lambda value: value if isinstance(value, str) else value.__name__,
)
def test_what_needs_it_says_the_line_that_installs_it(module, use, tmp_path, monkeypatch):
    for name in list(sys.modules):
        if name == module or name.startswith(f"{module}."):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, module, None)
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *rest: None if name == module else find_spec(name, *rest)
    )
    with pytest.raises(SimjudgeError) as caught:
        use(tmp_path)
    assert install_command(module) in str(caught.value)


def test_an_engine_without_mujoco_says_the_line_that_installs_it():
    code = "import sys; sys.modules['mujoco'] = None\n"
    code += "from simjudge.sim.engines.registry import engine_class; engine_class('default')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert done.stderr.splitlines()[-1].endswith(install_command("mujoco"))


def test_every_extra_of_the_metadata_is_known_to_the_installing_page():
    page = (ROOT / "docs/start/install.md").read_text(encoding="utf-8")
    for extra in PROJECT["optional-dependencies"]:
        assert f"`[{extra}]`" in page or extra in {"docs", "test", "fuzz"}
