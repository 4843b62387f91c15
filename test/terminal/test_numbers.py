"""Every option that takes a number refuses one that is not finite, or that nobody can mean: exit code 2."""

import inspect
import math

import pytest
from typer.testing import CliRunner

from simjudge.commands.app import app, functions
from simjudge.core.errors import UsageError
from simjudge.core.settings import declared
from simjudge.judging.compare_settings import CompareSettings, SweepSettings
from simjudge.questions.calibrate.command import imu as calibrate_imu
from simjudge.questions.calibrate.command import lidar as calibrate_lidar
from simjudge.questions.calibrate.command import noise as calibrate_noise
from simjudge.questions.calibrate.command import sky as calibrate_sky
from simjudge.questions.engines.command import compare as compare_engines
from simjudge.ros import node_settings
from simjudge.sim.capture.replay_plan import ReplayOptions

OTHERS = {
    "detect": ["--model=x.onnx"],
    "cover": ["--scene=lab", "--camera=plain"],
    "sim drive": ["--camera=plain"],
    "sim replay": ["--scene=lab", "--camera=plain"],
    "sim calibrate sky": ["--scene=krc"],
}
"""What the commands ask for besides."""
HOSTILE = ("nan", "inf", "-inf", "1e400", "123456789012345678901234567890")


def numeric_options():
    commands = {
        **functions(),
        "sim engines compare": compare_engines,
        "sim calibrate imu": calibrate_imu,
        "sim calibrate lidar": calibrate_lidar,
        "sim calibrate noise": calibrate_noise,
        "sim calibrate sky": calibrate_sky,
    }
    for name, command in commands.items():
        for option in inspect.signature(command).parameters.values():
            kinds = str(option.annotation)
            if "float" in kinds or "int" in kinds:
                flags = getattr(option.default, "param_decls", ()) or (f"--{option.name.replace('_', '-')}",)
                yield name, next(iter(flags)), "float" in kinds


PLACES = dict.fromkeys(
    [
        "data convert",
        "data filter",
        "data join",
        "compare",
        "robot objects",
        "compare --sweep",
        "plan",
        "explain",
        "fit",
        "robot depth",
        "sim reconstruct",
    ],
    2,
)
WITH_OUT = {
    *("compare", "compare --sweep", "cover", "detect", "explain", "fit", "data split"),
    *(f"robot {word}" for word in ("depth", "drives", "objects", "policies", "tracks", "trajectories")),
    *(f"sim {word}" for word in ("train", "replay", "drive", "engines compare")),
    *(f"sim calibrate {word}" for word in ("imu", "lidar", "noise", "sky")),
}
NUMERIC = list(numeric_options())


@pytest.mark.parametrize("command", sorted({command for command, _, _ in NUMERIC}))
def test_no_option_takes_what_is_no_number(command, tmp_path):
    required = {"sim render": ["--camera=plain", "--poses=path", f"--out={tmp_path}/x"]}
    cases = [
        (flag, text)
        for name, flag, is_float in NUMERIC
        for text in (HOSTILE if is_float else HOSTILE[-1:])
        if name == command
    ]
    for flag, text in cases:
        arguments = [*command.split(), f"{flag}={text}" if flag.startswith("--") else f"{flag}{text}"]
        arguments += required.get(command, [f"--out={tmp_path}/x"] if command in WITH_OUT else [])
        arguments += OTHERS.get(command, [])
        arguments += [str(tmp_path / name) for name in "ab"[: PLACES.get(command, 1)]]
        done = CliRunner().invoke(app, arguments)
        said = done.output + str(done.exception or "")
        assert isinstance(done.exception, UsageError) or done.exit_code == 2, (arguments, said, done.exception)
        assert flag in said or flag.lstrip("-").replace("-", "_") in said, (arguments, said)


@pytest.mark.parametrize(
    "kind", [CompareSettings, SweepSettings, *(k for k in vars(node_settings).values() if inspect.isclass(k))]
)
def test_no_setting_takes_what_is_no_number(kind):
    rows = declared(kind) if hasattr(kind, "__dataclass_fields__") else ()
    for row in rows:
        if row.kind in (int, float) and not row.form:
            for value in (math.nan, math.inf, -math.inf, 10**400) if row.kind is float else (10**30,):
                with pytest.raises(UsageError, match=row.name):
                    row.check((value,) if row.many else value)


@pytest.mark.parametrize("text", ["nan", "0.5,inf", "nan:1:3", "0:1e999:3", "0.5:2:4", "-1", "1e400"])
def test_thetas_are_shares(text):
    with pytest.raises(UsageError, match="thetas"):
        SweepSettings(thetas=text)


@pytest.mark.parametrize("more", [{"start": math.nan}, {"start": 1e30}, {"offset": 10**30}, {"rate": math.inf}])
def test_a_replay_in_python_refuses_them_too(tmp_path, more):
    with pytest.raises(UsageError):
        ReplayOptions(tmp_path, **more)
