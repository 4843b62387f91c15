"""`simjudge ros run`: what is wrong with a request is said before what is missing here."""

import pytest
from typer.testing import CliRunner

from simjudge.commands.app import app
from simjudge.core.errors import SimjudgeError, UsageError


@pytest.fixture
def without(monkeypatch):
    """Have modules missing."""
    from importlib.util import find_spec  # noqa: PLC0415

    def hide(*names):
        found = lambda name, *rest: None if name in names else find_spec(name, *rest)  # noqa: E731
        monkeypatch.setattr("importlib.util.find_spec", found)

    return hide


@pytest.mark.parametrize("missing", [("rclpy",), ("simjudge_msgs",)])
@pytest.mark.parametrize(
    "words",
    [
        ["run", "live", "model:=cones_red_green"],
        ["run", "detect", "model:=x", "params_file:=no.yaml"],
        ["run", "detect", "model:=x", "robot_ns:=my car"],
        ["watch", "--robot-ns", "my car"],
    ],
)
def test_a_mistake_is_said_also_where_ros_is_missing(without, missing, words):
    without(*missing)
    done = CliRunner().invoke(app, words)
    assert isinstance(done.exception, UsageError), done.exception


def test_messages_that_are_missing_are_built_from_what_the_wheel_brings(without, monkeypatch, tmp_path):
    without("simjudge_msgs")
    monkeypatch.setattr("sys.prefix", str(tmp_path))
    words = ["run", "detect", "model:=cones_red_green"]
    done = CliRunner().invoke(app, words)
    assert isinstance(done.exception, SimjudgeError)
    assert str(done.exception).endswith("in a checkout: make setup-ros")
    messages = tmp_path / "share/simjudge/msgs"
    messages.mkdir(parents=True)
    done = CliRunner().invoke(app, words)
    assert str(done.exception).endswith(f"pip install {messages} {messages}/wheel/tf2_msgs")
