"""Only ordinary files are opened: a pipe, a device or an endless file is refused at once, whoever reads it."""

import json
import os
import socket

import pytest

from simjudge.core.errors import SimjudgeError
from simjudge.core.images import ImageError, image_size
from simjudge.core.input_files import LARGEST_TEXT, is_file, is_folder, read_bytes
from simjudge.core.text import load_json, load_xml, read_text
from simjudge.core.yaml_file import read_yaml
from simjudge.data.pose_text import read_pose_text
from simjudge.data.sets import read_set
from simjudge.results.context_table import read_contexts
from simjudge.results.saved_result import load_result
from simjudge.scene.read import read_scene

READERS = [read_text, load_json, load_xml, read_yaml, read_pose_text, read_set, image_size, read_contexts, read_scene]


@pytest.mark.parametrize("read", READERS, ids=lambda read: read.__name__)
@pytest.mark.parametrize("name", ["x.json", "x.mcap", "x.db3", "x.png", "x.xml", "x.tum", "x"])
def test_a_pipe_is_refused_and_not_waited_for(tmp_path, read, name):
    path = tmp_path / name
    os.mkfifo(path)
    with pytest.raises(SimjudgeError) as error:
        read(path)
    assert str(path) in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("name", ["set.json", "data.yaml", "annotations.xml", "annotations.json", "metadata.yaml"])
def test_a_pipe_within_a_folder_is_not_waited_for(tmp_path, name):
    os.mkfifo(tmp_path / name)
    with pytest.raises(SimjudgeError):
        read_set(tmp_path)


def test_a_pipe_in_place_of_a_result(tmp_path):
    os.mkfifo(tmp_path / "result.json")
    with pytest.raises(SimjudgeError, match="is a pipe, not a file; copy what it gives into a file, and name that"):
        load_result(tmp_path)


def test_devices_folders_and_sockets(tmp_path):
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "s"))
        for path, said in (("/dev/zero", "is a device"), (tmp_path, "is a folder"), (tmp_path / "s", "is a socket")):
            with pytest.raises(SimjudgeError, match=said):
                read_text(path)
    with pytest.raises(ImageError, match="is a device"):
        image_size("/dev/zero")


def test_a_file_that_cannot_fit_is_not_read(tmp_path):
    path = tmp_path / "endless.json"
    with path.open("wb") as stream:
        stream.truncate(10**12)
    with pytest.raises(SimjudgeError, match=r"1000\.0 GB is more than can be read at once"):
        load_json(path)


def test_names_that_no_file_can_have(tmp_path):
    for name in ("x" * 5000, "nul\x00"):
        assert not is_file(tmp_path / name)
        assert not is_folder(tmp_path / name)
        with pytest.raises(SimjudgeError):
            read_bytes(tmp_path / name, LARGEST_TEXT)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[" * 65 + "]" * 65, "more than 64 levels"),
        ('{"a":' * 900 + "1" + "}" * 900, "more than 64 levels"),
        ("[" * 100_000, "RecursionError"),
        ("1" * 5000, "ValueError"),
        ('["fine",\n "half \\ud800"]', r":2: \\ud800 is half a character"),
        ('{"\\udfff": 1}', r":1: \\udfff is half a character"),
    ],
)
def test_json_that_python_reads_and_trips_over(tmp_path, text, said):
    path = tmp_path / "x.json"
    path.write_text(text)
    with pytest.raises(SimjudgeError, match=said):
        load_json(path)


@pytest.mark.parametrize(
    "content",
    [
        [[]] * 100,
        json.loads("[" * 64 + "]" * 64),
        "[[[" * 100,
        ["\U0001f6a6", "\\ud800", "a\\\\", "é"],
        [{"a": [{"b": i}]} for i in range(50_000)],
    ],
)
def test_json_that_is_whole(tmp_path, content):
    path = tmp_path / "x.json"
    path.write_text(json.dumps(content))
    assert load_json(path) == content
