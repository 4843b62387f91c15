"""What a colcon workspace gets: the hook that its setup.bash sources, and the overlay of Python packages."""

import ast
import json
import re
import shutil
import subprocess
import sys
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from defusedxml import ElementTree
from packaging.utils import canonicalize_name
from project_file import PROJECT, required_names

ROOT = Path(__file__).parents[1]
HOOK = "resource/hook/simjudge.sh"


@pytest.mark.parametrize("shell", ["sh", "bash", "zsh"])
@pytest.mark.parametrize("prefix", ["install/simjudge", "install"])
@pytest.mark.parametrize("overlay", [True, False])
def test_the_hook_puts_commands_and_packages_where_they_are_found_once(tmp_path, shell, prefix, overlay):
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    (tmp_path / prefix).mkdir(parents=True)
    site = tmp_path / "simjudge_overlay/site"
    if overlay:
        site.mkdir(parents=True)
    script = f'COLCON_CURRENT_PREFIX={tmp_path / prefix}; . {ROOT / HOOK}; . {ROOT / HOOK}; echo "$PATH|$PYTHONPATH"'
    environment = {"PATH": "/usr/bin:/bin", "PYTHONPATH": "/a"}
    done = subprocess.run([shell, "-c", script], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == f"{tmp_path / prefix}/lib/simjudge:/usr/bin:/bin|{f'{site}:' if overlay else ''}/a\n"
    assert done.stderr == ""


def test_colcon_is_told_of_the_hook_and_setup_installs_it():
    (hook,) = json.loads((ROOT / "colcon.pkg").read_text())["hooks"]
    assert hook == f"share/simjudge/hook/{Path(HOOK).name}"
    assert f'("share/simjudge/hook", ["{HOOK}"])' in (ROOT / "setup.py").read_text()


def test_requirements_are_those_of_pyproject():
    command = [sys.executable, str(ROOT / "scripts/requirements.py")]
    plain = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    with_sim = subprocess.run([*command, "sim,lidar"], capture_output=True, text=True, check=True).stdout.splitlines()
    assert {"typer>=0.12", "pyarrow>=15"} <= set(plain)
    assert {line.split(">")[0] for line in set(with_sim) - set(plain)} >= {"mujoco", "mitsuba", "pypatchworkpp"}
    bad = subprocess.run([*command, "nothing"], capture_output=True, text=True, check=False)
    assert bad.returncode == 1
    assert bad.stderr.startswith("error: no such extra: nothing; one of ros, ")


def test_modules_that_must_load_in_the_overlay_are_of_the_core():
    script = (ROOT / "scripts/ros_overlay.sh").read_text()
    (words,) = re.findall(r"^for module in (.*?); do", script, re.DOTALL | re.MULTILINE)
    modules = words.replace("\\\n", " ").split()
    packages = packages_distributions()
    assert len(modules) > 10
    for module in modules:
        owners = {canonicalize_name(name) for name in packages[module.partition(".")[0]]}
        assert owners & required_names("core"), f"{module}: no requirement of the core brings it"


def test_the_overlay_is_made_in_a_workspace_alone(tmp_path):
    command = ["bash", str(ROOT / "scripts/ros_overlay.sh")]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (
        2,
        "error: there is no src/ here; run this in the root of the workspace\n",
    )
    (tmp_path / "src").mkdir()
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "is not below" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["src"]


def test_what_does_not_load_beside_the_distribution_is_an_error(tmp_path):
    """There is nothing to install: the overlay sees the packages of this Python's own installation alone."""
    workspace, package = tmp_path, tmp_path / "src/simjudge"
    (package / "scripts").mkdir(parents=True)
    for name in ("ros_overlay.sh", "requirements.py"):
        shutil.copy(ROOT / "scripts" / name, package / "scripts")
    (package / "pyproject.toml").write_text("[project]\ndependencies = []\n")
    command = ["bash", "src/simjudge/scripts/ros_overlay.sh"]
    environment = {"PATH": "/usr/bin:/bin", "PYTHON": sys._base_executable, "HOME": str(workspace)}
    done = subprocess.run(command, cwd=workspace, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("error: apsw does not load beside the distribution's packages: ModuleNotFoundError")
    assert (workspace / "simjudge_overlay/COLCON_IGNORE").exists()
    assert not (workspace / "src/simjudge_msgs").exists()


def test_package_xml_says_who_keeps_it_and_what_tests_need():
    package = ElementTree.parse(ROOT / "package.xml").getroot()
    assert package.find("maintainer") is not None
    tests = {each.text for each in package.iter("test_depend")}
    assert tests >= {"launch_testing", "launch_testing_ros", "python3-pytest", "python3-pytest-xdist"}


def test_the_messages_are_a_package_beside_simjudge(tmp_path):
    """The words of the script alone: the rest of it installs packages."""
    script = (ROOT / "scripts/ros_overlay.sh").read_text()
    words = script[script.index('messages="$(dirname') : script.index('echo "simjudge_overlay')]
    package = tmp_path / "src/simjudge"
    (package / "msgs").mkdir(parents=True)
    shutil.copy(ROOT / "msgs/package.xml", package / "msgs")
    for _ in range(2):
        subprocess.run(["bash", "-euc", f'package="{package}"\n{words}'], check=True)
    beside = tmp_path / "src/simjudge_msgs"
    assert beside.readlink() == Path("simjudge/msgs")
    assert ElementTree.parse(beside / "package.xml").getroot().findtext("name") == "simjudge_msgs"


def _modules_loaded_on_import(tree):
    """Top-level modules that a module imports when it is itself imported."""
    for node in tree.body:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield node.module


def test_what_the_library_imports_is_a_requirement_of_its_own():
    """Another package may cease to bring it, save parts that the whole hands on (jinja2, Mitsuba, numba, pydantic)."""
    groups = {"core", *PROJECT["optional-dependencies"]} - {"test", "docs", "fuzz"}
    required = set().union(*(required_names(group) for group in groups))
    packages, parts = packages_distributions(), ("drjit", "llvmlite", "markupsafe", "pydantic_core")
    for path in sorted((ROOT / "simjudge").rglob("*.py")):
        for module in _modules_loaded_on_import(ast.parse(path.read_text())):
            top = module.partition(".")[0]
            if top in sys.stdlib_module_names or top in {"simjudge", *parts}:
                continue
            owners = {canonicalize_name(name) for name in packages.get(top, [])}
            assert owners & required, f"{path}: imports {top}, which no requirement names"
