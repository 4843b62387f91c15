"""`simjudge robot objects` and the report of its result, as a user runs them."""

import json
import re

import pytest
from object_sets import START, cone_set
from support import processes

from simjudge.data.sets import write_set


def run(*arguments):
    command = [*processes.SIMJUDGE, *map(str, arguments)]
    return processes.run(command, capture_output=True, text=True, timeout=120, check=False)


@pytest.fixture(scope="module")
def recordings(tmp_path_factory):
    folder = tmp_path_factory.mktemp("objects")
    write_set(cone_set("real", 1), folder / "real.mcap")
    write_set(cone_set("sim", 2, wider=0.5, blur=True), folder / "sim.mcap")
    write_set(cone_set("late", 2, start=START + 60_000_000_000), folder / "late.mcap")
    return folder


@pytest.mark.long
def test_the_table_and_the_verdict_are_printed(recordings):
    done = run("objects", recordings / "real.mcap", recordings / "sim.mcap", "--out", recordings / "out")
    assert done.returncode == 0, done.stderr
    assert re.search(r"box width +all objects +differs", done.stdout)
    assert "sim.mcap differs from real.mcap most clearly in" in done.stderr
    assert f"simjudge report {recordings / 'out'}" in done.stderr
    content = json.loads((recordings / "out" / "objects.json").read_text())
    assert {picture["file"] for picture in content["pictures"]} == {
        "cameras_0.png",
        "cameras_1.png",
        "cameras_2.png",
        "piqe_maps.png",
    }


def test_no_common_time_ends_the_command_with_one_line_and_no_folder(recordings):
    done = run("objects", recordings / "real.mcap", recordings / "late.mcap", "--out", recordings / "x")
    assert done.returncode == 1
    assert "no common time: real.mcap has" in done.stderr
    assert not (recordings / "x").exists()
