"""No output takes the place of something that a person may need."""

from __future__ import annotations

import errno
import json
import os
import shutil
import stat
from pathlib import Path

import pytest

from simjudge.core import files
from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.core.files import (
    FolderKind,
    atomic_file,
    atomic_folder,
    check_output,
    check_output_and_record,
    check_output_folder,
)
from simjudge.core.frames import FrameSet
from simjudge.core.object_tables import Objects
from simjudge.data.rosbag2.live_recording import record_messages, recover
from simjudge.data.rosbag2.writing import write_recording
from simjudge.data.sets import write_set
from simjudge.detectors.training import train
from simjudge.questions.engines.run import compare_driving
from simjudge.questions.report.report import report
from simjudge.questions.watch import Screen, ScreenTarget
from simjudge.results.saved_result import check_json_output, write_json

SHIPPED = Path(__file__).parents[2] / "bags" / "sim.mcap"
FRAMES = FrameSet.build("set", [(60, 40)], Objects.build([0], [1], [[1, 2, 9, 9]]), class_names={1: "cone"})


def record(path: Path) -> None:
    with record_messages(path):
        pass


def fill(path: Path) -> None:
    with atomic_folder(path) as folder:
        (folder / "x").write_text("new")


FILLED = FolderKind("letter", ["x"], ["x"])


def watch(path: Path) -> None:
    pytest.importorskip("rerun", reason="rerun (the extra `watch`) is not installed")
    Screen(ScreenTarget.FILE, path)


WRITERS = {
    "recovered": (lambda path: recover(SHIPPED, path), "precious.mcap"),
    "check": (check_output, "precious"),
    "folder": (fill, "precious"),
    "file of a set": (lambda path: write_set(FRAMES, path), "precious.json"),
    "recording of a set": (lambda path: write_set(FRAMES, path), "precious.mcap"),
    "folder of a set": (lambda path: write_set(FRAMES, path, to="yolo"), "precious"),
    "messages": (record, "precious.mcap"),
    "folder of messages": (record, "precious"),
}


CHECKS = {
    "findings of doctor": (lambda path: check_json_output(path, "path"), "precious.json"),
    "figures of driving": (lambda path: compare_driving(("nothing",), path), "precious.json"),
    "model": (lambda path: train("nothing", path), "precious.onnx"),
    "card of a model": (lambda path: train("nothing", path.with_suffix(".onnx")), "precious.json"),
    "checkpoints": (lambda path: train("nothing", path.parent / "m.onnx", keep=path), "precious"),
    "figures": (lambda path: report([], path.parent / "page.html", figures=path), "precious"),
    "what was watched": (watch, "precious.rrd"),
}
"""What only looks before its long work, and has nothing to work on here."""


@pytest.mark.parametrize("through", ["", "new/..", "new/deeper/../.."])
@pytest.mark.parametrize("is_folder", [False, True])
@pytest.mark.parametrize("writer", [*WRITERS, *CHECKS])
def test_what_is_there_stays(tmp_path, writer, is_folder, through):
    write, name = (WRITERS | CHECKS)[writer]
    there = tmp_path / name
    kept = there / "notes.txt" if is_folder else there
    kept.parent.mkdir(exist_ok=True)
    kept.write_text("precious")
    with pytest.raises(SimjudgeError, match="exists already"):
        write(tmp_path / through / name)
    assert kept.read_text() == "precious"
    assert [path.name for path in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("writer", [each for each in WRITERS if each != "check"])
def test_through_a_folder_that_is_not_there(tmp_path, writer):
    write, name = WRITERS[writer]
    write(tmp_path / "new" / ".." / name)
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_recording_of_frames_in_the_place_of_nothing(tmp_path):
    write_recording(FRAMES, tmp_path / "new" / ".." / "x.mcap")
    assert (tmp_path / "x.mcap").is_file()


@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize("content", ["own", "another"])
def test_a_file_of_ones_own_is_replaced_another_only_where_asked(tmp_path, content, overwrite):
    path = tmp_path / "x"
    assert not check_output(path, lambda _: True)
    path.write_text(content)
    if content == "own" or overwrite:
        assert check_output(path, lambda each: each.read_text() == "own", overwrite=overwrite)
        return
    with pytest.raises(SimjudgeError, match="choose another name, or give --overwrite"):
        check_output(path, lambda each: each.read_text() == "own", overwrite=overwrite)
    with pytest.raises(SimjudgeError, match=r"choose another name$"):
        check_output(path, lambda each: each.read_text() == "own")


def test_json_of_ones_own_is_known_by_its_first_field(tmp_path):
    path = tmp_path / "plan.json"
    check_json_output(None, "gap")
    check_json_output(path, "gap")
    write_json(path, {"gap": 0.1, "shown": 0.8})
    check_json_output(path, "gap")
    for other in ("path", "ga", "shown"):
        with pytest.raises(
            SimjudgeError, match=r"plan\.json: exists already and is not an earlier output of this command"
        ):
            check_json_output(path, other)


@pytest.mark.parametrize(
    "content", [b"", b"{}", b'{"gap": 0.1}', b'{\n "shown": 1,\n "gap": 0\n}', b'[\n "gap"]', b"\xff{"]
)
def test_json_that_is_not_ones_own_stays_as_it_is(tmp_path, content):
    path = tmp_path / "plan.json"
    path.write_bytes(content)
    with pytest.raises(SimjudgeError, match=r"plan\.json: exists already and is not an earlier output of this command"):
        check_json_output(path, "gap")
    assert path.read_bytes() == content


def test_a_folder_is_never_overwritten_by_a_file(tmp_path):
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "y").touch()
    with pytest.raises(SimjudgeError, match="choose another name"):
        check_output(tmp_path / "x", lambda _: True, overwrite=True)


def test_the_old_folder_stands_where_the_new_one_cannot(tmp_path, monkeypatch):
    folder = tmp_path / "result"
    fill(folder)
    rename = Path.rename

    def interrupted(self: Path, target: Path) -> Path:
        if target == folder and not self.name.endswith(".old.tmp"):
            raise KeyboardInterrupt
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", interrupted)
    with pytest.raises(KeyboardInterrupt), atomic_folder(folder, FILLED):
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["result"]
    assert (folder / "x").read_text() == "new"


def test_a_dangling_link_counts_as_there(tmp_path):
    (tmp_path / "x").symlink_to(tmp_path / "nothing")
    with pytest.raises(SimjudgeError, match="exists already"):
        check_output(tmp_path / "x")
    with pytest.raises(SimjudgeError, match="exists already"), atomic_file(tmp_path / "x"):
        pass
    assert (tmp_path / "x").is_symlink()
    assert not (tmp_path / "nothing").exists()


@pytest.mark.parametrize("write", [check_output, fill, lambda path: write_json(path, {})])
def test_a_device_or_a_pipe_is_no_place(tmp_path, write):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("/dev/full")
    for name, kind in (("pipe", "pipe"), ("link", "device"), ("/dev/full", "device")):
        with pytest.raises(SimjudgeError, match=f"exists already, and is a {kind}"):
            write(tmp_path / name)
    assert stat.S_ISCHR(Path("/dev/full").stat().st_mode)


@pytest.mark.parametrize("kind", [None, FILLED])
@pytest.mark.parametrize("early", [True, False])
@pytest.mark.parametrize("before", ["nothing", "own"])
def test_a_folder_that_appears_meanwhile_stays(tmp_path, kind, early, before):
    """Also one that looks like an earlier output: of two writers of one folder the second says so."""
    if before == "own" and kind is None:
        return
    out, other = tmp_path / "out", tmp_path / "other"
    for made in (other, *([out] if before == "own" else [])):
        fill(made)
    if early:
        check_output_folder(out, FILLED) if kind else check_output(out)
        shutil.rmtree(out, ignore_errors=True)
        other.rename(out)

    def write():
        with atomic_folder(out, kind) as folder:
            (folder / "x").write_text("newer")
            if not early:
                shutil.rmtree(out, ignore_errors=True)
                other.rename(out)

    with pytest.raises(SimjudgeError, match=r"out: (somebody else has written there|exists already)"):
        write()
    assert (out / "x").read_text() == "new"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


@pytest.mark.parametrize("before", [None, "own"])
def test_a_file_that_appears_meanwhile_stays(tmp_path, before):
    out = tmp_path / "out.json"
    if before:
        write_json(out, {"gap": 1})
    check_json_output(out, "gap")
    (tmp_path / "other").write_text("precious")

    def write():
        with atomic_file(out) as temporary:
            temporary.write_text("{}")
            (tmp_path / "other").replace(out)

    with pytest.raises(SimjudgeError, match="somebody else has written there meanwhile"):
        write()
    assert out.read_text() == "precious"
    assert [path.name for path in tmp_path.iterdir()] == ["out.json"]


def test_what_killed_writers_leave_is_removed_by_the_next(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "_FRESH", 0.0)
    out = tmp_path / "out"
    for name in (".out.0f3a0f3a0f3a.tmp", ".out.ab_1ab_1.tmp", ".out.ab_1ab_1.old.tmp", ".out.mine.tmp"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "x").write_text(name)
    with atomic_folder(out, FILLED) as folder:
        assert (out / "x").read_text() == ".out.ab_1ab_1.old.tmp", (
            "an earlier output is back until the new one is whole"
        )
        (folder / "x").write_text("new")
        check_output_folder(out, FILLED)
        assert folder.is_dir(), "its writer lives"
    assert sorted(path.name for path in tmp_path.iterdir()) == [".out.mine.tmp", "out"]


def test_a_full_disk_names_the_output(tmp_path):
    with pytest.raises(SimjudgeError) as error, atomic_folder(tmp_path / "out") as folder, atomic_file(folder / "x"):
        raise OSError(errno.ENOSPC, "full")
    assert str(error.value).startswith(f"{tmp_path}/out/x: the disk is full")


def test_a_record_without_its_output_is_what_a_killed_command_leaves_and_no_obstacle(tmp_path):
    def record(out):
        return out.with_name(f"{out.name}.render.json")

    out = tmp_path / "set"
    check_output_and_record(out, record)
    record(out).write_text(json.dumps({"version": "0.2.0"}, indent=2))
    check_output_and_record(out, record)
    record(out).write_text("mine")
    with pytest.raises(SimjudgeError, match=r"set.render.json: exists already and is not an earlier output"):
        check_output_and_record(out, record)
    out.write_text("")
    with pytest.raises(SimjudgeError, match="set: exists already"):
        check_output_and_record(out, record)


def test_the_working_folder_is_no_output(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match="a name of its own"):
        check_output_and_record(Path(), lambda out: out.with_name("x"))
