"""Nothing half-written is left under a final name."""

import errno
import hashlib
from pathlib import Path

import pytest

from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.core.files import atomic_file, atomic_folder, hash_files, output_path


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
    with atomic_folder(target, overwrite=True) as temporary:
        (temporary / "b").write_text("2")
    assert [p.name for p in target.iterdir()] == ["b"]
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
