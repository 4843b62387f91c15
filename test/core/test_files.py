"""Files: written whole or not at all, opened only where they are ordinary, and called by their format."""

import errno
import hashlib
import json
import os
import shlex
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from rosbags.rosbag1 import Writer
from rosbags.typesys import Stores, get_typestore

import simjudge as sj
from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.core.files import (
    LARGEST_TEXT,
    FolderKind,
    atomic_file,
    atomic_folder,
    hash_files,
    is_file,
    is_folder,
    name_format,
    output_path,
    read_bytes,
)
from simjudge.core.images import ImageError, decode_image, encode_jpeg, encode_png, image_size
from simjudge.core.text import load_json, load_xml, read_text, read_yaml
from simjudge.data.pose_text import read_pose_text
from simjudge.data.rosbag2.recorded_poses import read_poses
from simjudge.data.rosbag2.recording import describe_recording
from simjudge.data.sets import read_clouds, read_set
from simjudge.detectors.detection import load_detector
from simjudge.results.context_table import read_contexts
from simjudge.results.saved_result import load_result
from simjudge.sim.scene.read import read_scene

KIND = FolderKind("letter", ["a", "b"], ["a", "b"])


class StopError(Exception):
    """Something goes wrong while writing."""


def test_a_file_appears_when_it_is_whole(tmp_path):
    target = tmp_path / "deep" / "x.txt"
    with atomic_file(target) as temporary:
        temporary.write_text("done")
        assert not target.exists()
    assert target.read_text() == "done"
    assert list(target.parent.iterdir()) == [target]


@pytest.mark.parametrize("before", [None, "old"])
def test_a_failure_leaves_what_was_there(tmp_path, before):
    target = tmp_path / "x.txt"
    if before:
        target.write_text(before)

    def fail():
        with atomic_file(target) as temporary:
            temporary.write_text("half")
            raise StopError

    with pytest.raises(StopError):
        fail()
    assert [p.read_text() for p in tmp_path.iterdir()] == ([before] if before else [])


@pytest.mark.parametrize(
    ("number", "message"),
    [(errno.ENOSPC, "the disk is full"), (errno.EDQUOT, "the disk is full"), (errno.EROFS, "cannot be written to")],
)
@pytest.mark.parametrize("writing", [atomic_file, atomic_folder])
def test_disk_errors_are_one_line(tmp_path, writing, number, message):
    def fail():
        with writing(tmp_path / "x") as temporary:
            (temporary / "part" if temporary.is_dir() else temporary).write_text("half")
            raise OSError(number, "as the system says it")

    with pytest.raises(SimjudgeError, match=message):
        fail()
    assert list(tmp_path.iterdir()) == []


def test_folders(tmp_path):
    target = tmp_path / "out"
    with atomic_folder(target) as temporary:
        (temporary / "a").write_text("1")
        assert not target.exists()
    with pytest.raises(SimjudgeError, match="exists already"), atomic_folder(target):
        pass
    with atomic_folder(target, KIND) as temporary:
        (temporary / "b").write_text("2")
    assert [p.name for p in target.iterdir()] == ["b"]
    (target / "c").write_text("3")
    for strange in (KIND, FolderKind("letter", ["c"], ["c"]), FolderKind("letter", ["b", "c"], ["d"])):
        with pytest.raises(SimjudgeError, match=r"which no letter has|is no letter"), atomic_folder(target, strange):
            pass
    assert sorted(p.name for p in target.iterdir()) == ["b", "c"]
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


def test_hashes(tmp_path):
    (tmp_path / "a").write_bytes(b"one")
    assert hash_files(tmp_path / "a") == hashlib.sha256(b"one").hexdigest()
    both = hash_files(tmp_path)
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "b").write_bytes(b"two")
    assert hash_files(tmp_path) == hashlib.sha256(b"a\0onesub/b\0two").hexdigest() != both


@pytest.mark.parametrize("address", ["s3://bucket/out", "memory://out", "gs://a/b/c"])
def test_an_address_becomes_no_folder_of_that_name(tmp_path, monkeypatch, address):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match=rf"^{address}: is an address, .* mount it, and name the folder$"):
        output_path(Path(address))
    assert not list(tmp_path.iterdir())
    (tmp_path / "s3:").mkdir()
    assert output_path(Path("s3:/x")) == Path("s3:/x")
    assert output_path(Path("10:30/x")) == Path("10:30/x")


READERS = [read_text, load_json, load_xml, read_yaml, read_pose_text, read_set, image_size, read_contexts, read_scene]


@pytest.mark.parametrize("read", READERS, ids=lambda read: read.__name__)
def test_a_pipe_is_refused_and_not_waited_for(tmp_path, read):
    for name in ("x.json", "x.mcap", "x.db3", "x.png", "x.xml", "x.tum", "x"):
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


_LFS = f"version https://git-lfs.github.com/spec/v1\noid sha256:{'4d' * 32}\nsize 12345\n"
_POINTERS = {
    _LFS: "is a pointer of Git LFS, not the file itself; fetch it with 'git lfs pull'",
    "/annex/objects/SHA256E-s5--abc.mcap\n": "is a pointer of git-annex, not the file itself",
}


@pytest.mark.parametrize("read", [*READERS, describe_recording, load_detector], ids=lambda read: read.__name__)
def test_a_pointer_in_the_place_of_a_file(tmp_path, read):
    for name in ("x.json", "x.mcap", "x.db3", "x.png", "x.xml", "x.tum", "x.bag", "x.pcd", "x.onnx"):
        for content, said in _POINTERS.items():
            (tmp_path / name).write_text(content)
            with pytest.raises(SimjudgeError, match=said) as error:
                read(tmp_path / name)
            assert str(tmp_path / name) in str(error.value)


def test_a_pointer_in_the_place_of_an_image_of_a_set(tmp_path):
    (tmp_path / "a.png").write_text(_LFS)
    with pytest.raises(SimjudgeError, match=r"left out: 1 unreadable image: .*a pointer of Git LFS"):
        read_set(tmp_path)


@pytest.mark.parametrize("read", [read_set, describe_recording, read_poses, read_clouds])
@pytest.mark.parametrize("name", ["x.bag", "x.mcap", "x.db3"])
def test_a_recording_of_ros_1_is_called_one(tmp_path, read, name):
    _write_ros1(tmp_path / "x.bag")
    (tmp_path / "x.bag").rename(tmp_path / name)
    with pytest.raises(SimjudgeError, match=r"of ROS 1; convert it to ROS 2 first: python3 -m rosbags\.convert --src"):
        read(tmp_path / name)


def test_a_folder_of_recordings_of_ros_1(tmp_path):
    _write_ros1(tmp_path / "x.bag")
    with pytest.raises(SimjudgeError, match=r"x\.bag: is a recording of ROS 1"):
        read_set(tmp_path)


def test_the_remedy_for_a_recording_of_ros_1_works(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    _write_ros1(Path("x.bag"))
    with pytest.raises(SimjudgeError) as error:
        describe_recording("x.bag")
    command = shlex.split(str(error.value).partition("first: ")[2])
    assert command[0] == "python3"
    subprocess.run([sys.executable, *command[1:]], check=True, capture_output=True)
    assert [(topic.topic, topic.count) for topic in describe_recording("x").topics] == [("/chatter", 1)]


def _write_ros1(path):
    types = get_typestore(Stores.ROS1_NOETIC)
    name = "std_msgs/msg/String"
    with Writer(path) as bag:
        connection = bag.add_connection("/chatter", name, typestore=types)
        bag.write(connection, 1000, types.serialize_ros1(types.types[name]("hi"), name))


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


FOREIGN = {
    "AVIF": b"\0\0\0\x20ftypavif\0\0\0\0avifmif1",
    "HEIC": b"\0\0\0\x18ftypheic\0\0\0\0",
    "video (MP4)": b"\0\0\0\x20ftypisom\0\0\x02\0",
    "video (H.264 or H.265)": b"\0\0\0\x01\x67\x42\0\x1e",
    "depth (compressedDepth)": bytes(12) + b"\x89PNG\r\n\x1a\n",
    "JPEG XL": b"\xff\x0a\xfa\x1f",
    "OpenEXR": b"v/1\x01\x02\0\0\0",
}


@pytest.mark.parametrize("name", FOREIGN)
def test_a_picture_of_another_format_is_named(tmp_path, name):
    said = f"is {name}, which simjudge does not read"
    with pytest.raises(ImageError) as error:
        decode_image(FOREIGN[name], "x")
    assert said in str(error.value)
    (tmp_path / "a.jpg").write_bytes(FOREIGN[name])
    with pytest.raises(ImageError) as error:
        image_size(tmp_path / "a.jpg")
    assert said in str(error.value)
    (tmp_path / "a.jpg").rename(tmp_path / "a.xyz")
    for path in (tmp_path, tmp_path / "a.xyz"):
        with pytest.raises(sj.SimjudgeError) as error:
            sj.read(path)
        assert f"{name}, which simjudge does not read" in str(error.value)


def test_what_simjudge_reads_has_no_name_here():
    pixels = np.zeros((4, 4, 3), np.uint8)
    assert name_format(encode_png(pixels)) == name_format(encode_jpeg(pixels)) == name_format(b"") == ""


def test_two_writers_of_one_name_in_one_process_do_not_meet(tmp_path):
    """Threads have one process number, and so may containers that share a folder."""
    path = tmp_path / "x.txt"
    with atomic_file(path) as first, atomic_file(path) as second:
        assert first != second
        first.write_text("first")
        second.write_text("second")
    assert path.read_text() == "first", "the one that is done last, whole"
    assert [each.name for each in tmp_path.iterdir()] == ["x.txt"]
