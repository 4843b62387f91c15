"""Which tests a change can break (`make test-changed`): at least those that a person would name, and not all."""

import runpy
import subprocess

import pytest
from project_file import ROOT

SCRIPT = runpy.run_path(str(ROOT / "scripts/changed_tests.py"))
ALL = ["test"]


@pytest.mark.parametrize(
    ("changed", "in_it", "not_in_it"),
    [
        # its own test, what imports it far above, a command that is called by its verb, a node
        (
            "simjudge/method/wasserstein.py",
            "method/test_wasserstein judging/test_pair questions/compare/test_figures nodes/test_validation_node",
            "data/formats/test_cpd sim/sensors/test_fog",
        ),
        # found by a name in a string (the table of the front door, of formats)
        (
            "simjudge/data/formats/cpd.py",
            "data/formats/test_cpd data/formats/test_formats",
            "method/test_gap sim/sensors/test_fog",
        ),
        ("simjudge/method/numpy_loops.py", "method/test_numpy_loops", "data/formats/test_cpd"),
        ("nodes/replay_node.py", "nodes/test_replay_node", "method/test_gap"),
        ("test/bag_samples.py", "judging/test_predicted_classes", "method/test_gap"),
        ("docs/index.md", "docs/test_site test_readme", "method/test_gap nodes/test_replay_node"),
    ],
)
def test_what_imports_it_is_chosen(changed, in_it, not_in_it):
    assert (ROOT / changed).exists()
    chosen = set(SCRIPT["select"]([changed]))
    assert {f"test/{name}.py" for name in in_it.split()} <= chosen
    for name in not_in_it.split():
        assert (ROOT / f"test/{name}.py").exists()
        assert f"test/{name}.py" not in chosen


@pytest.mark.parametrize("changed", [None, ["config/cameras/plain.yaml"], ["pyproject.toml"], ["simjudge/is_gone.py"]])
def test_in_doubt_all_are_chosen(changed):
    assert SCRIPT["select"](changed) == ALL


def test_a_commit_that_git_does_not_know_is_a_doubt():
    assert SCRIPT["changed_files"]("0" * 40) is None


def test_the_continuous_integration_never_leaves_out_what_is_started_by_name():
    making = subprocess.run(["make", "-n", "test-long"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert {"test/nodes", "test/launch", "test/ros", "test/sim/engines"} <= set(making.split())
    assert "test/nodes/test_replay_node.py" in SCRIPT["select"](["docs/index.md"], ["test/nodes"])
