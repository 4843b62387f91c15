"""The journal: what was appended comes back, wherever the file was cut off; frames to bytes and back."""

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from simjudge.core.errors import SimjudgeError
from simjudge.core.frames import FrameSet
from simjudge.core.object_tables import Masks, Objects, Predictions
from simjudge.judging.live.journal import Journal, pack, unpack

KEY = "0123456789abcdef" * 4


def written(path, records, key=KEY):
    journal = Journal(path, key, resume=False)
    for record in records:
        journal.append(record)
    journal.close()


def read(path, *, resume=True, key=KEY, more=()):
    journal = Journal(path, key, resume=resume)
    found = list(journal.records())
    for record in more:
        journal.append(record)
    journal.close()
    return found, journal.notes


@given(st.lists(st.binary(min_size=1, max_size=60), max_size=8), st.integers(0, 10**6))
def test_cut_off_anywhere(records, where):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.journal"
        written(path, records)
        whole = path.read_bytes()
        cut = where % (len(whole) + 1)
        path.write_bytes(whole[:cut])
        found, notes = read(path, more=[b"next"])
        kept = len(found)
        assert found == records[:kept]
        ends = [len(whole) - sum(8 + len(r) for r in records[n:]) for n in range(len(records) + 1)]
        assert kept == max([n for n, end in enumerate(ends) if end <= cut], default=0)
        assert len(notes) == (cut > ends[0] and cut not in ends)
        assert read(path)[0] == [*records[:kept], b"next"]


def test_zeros_at_the_end_are_no_records(tmp_path):
    path = tmp_path / "x.journal"
    written(path, [b"one", b"two"])
    with path.open("ab") as stream:
        stream.write(bytes(100))
    found, notes = read(path, more=[b"three"])
    assert found == [b"one", b"two"]
    assert "the last record was cut off; its 100 bytes are dropped" in notes[0]
    assert read(path)[0] == [b"one", b"two", b"three"]


def test_a_flipped_bit_loses_one_record_and_is_said(tmp_path):
    path = tmp_path / "x.journal"
    written(path, [b"one", b"two", b"three"])
    content = bytearray(path.read_bytes())
    content[content.index(b"two")] ^= 1
    path.write_bytes(content)
    found, notes = read(path)
    assert found == [b"one", b"three"]
    assert "damaged" in notes[0]


def test_another_key_is_refused_unless_it_begins_anew(tmp_path):
    path = tmp_path / "x.journal"
    written(path, [b"one"])
    with pytest.raises(SimjudgeError, match="resume:=false"):
        Journal(path, KEY[::-1], resume=True)
    assert read(path, key=KEY[::-1], resume=False)[0] == []


def test_a_strange_file_is_left_alone(tmp_path):
    path = tmp_path / "x.journal"
    path.write_text("something of mine")
    with pytest.raises(SimjudgeError, match="no journal"):
        Journal(path, KEY, resume=True)
    assert path.read_text() == "something of mine"


def test_one_writer_at_a_time(tmp_path):
    path = tmp_path / "x.journal"
    first = Journal(path, KEY, resume=False)
    with pytest.raises(SimjudgeError, match="in use"):
        Journal(path, KEY, resume=True)
    first.remove()
    assert not path.exists()
    Journal(path, KEY, resume=True).close()


def test_what_was_appended_survives_a_kill(tmp_path):
    path = tmp_path / "x.journal"
    program = f"""
import os, signal
from simjudge.judging.live.journal import Journal
journal = Journal(__import__("pathlib").Path({str(path)!r}), {KEY!r}, resume=False)
for number in range(100):
    journal.append(b"%d" % number)
os.kill(os.getpid(), signal.SIGKILL)
"""
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == -9
    assert read(path)[0] == [b"%d" % number for number in range(100)]


def test_a_full_disk_is_an_error_and_leaves_whole_records(tmp_path):
    path = tmp_path / "x.journal"
    program = f"""
import resource
from simjudge.core.errors import SimjudgeError
from simjudge.judging.live.journal import Journal
import signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
journal = Journal(__import__("pathlib").Path({str(path)!r}), {KEY!r}, resume=False)
try:
    while True:
        journal.append(b"x" * 100)
except SimjudgeError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert "cannot be written" in done.stdout
    assert read(path)[0] == [b"x" * 100] * 8


numbers = hnp.arrays(np.float64, st.tuples(st.integers(0, 5), st.just(4)), elements=st.floats(allow_nan=False))


@given(numbers, numbers, st.integers(0, 2**62), st.text(min_size=1, max_size=8), st.booleans())
def test_a_frame_comes_back_to_the_last_bit(boxes, predicted, stamp, name, masked):
    masks = Masks.from_crops([np.eye(3 + i, 5, dtype=bool) for i in range(len(boxes))], np.zeros((len(boxes), 2)))
    frame = FrameSet.build(
        "live",
        [[64, 48]],
        Objects.build(
            np.zeros(len(boxes)),
            np.arange(len(boxes)),
            boxes,
            masks=masks if masked else None,
            distance=boxes[:, 0],
            visible=boxes[:, 1],
        ),
        Predictions.build(np.zeros(len(predicted)), np.ones(len(predicted)), predicted, np.full(len(predicted), 0.1)),
        frame_name=[name],
        stamp=[stamp],
        class_names={7: name},
    )
    again, notes = unpack(pack(frame, key=[0, 1]))
    assert notes == {"key": [0, 1]}
    assert pack(again, key=[0, 1]) == pack(frame, key=[0, 1])
    for column in ("box", "distance", "visible"):
        assert getattr(again.objects, column).tobytes() == getattr(frame.objects, column).tobytes()
    assert (again.objects.masks is None) == (not masked)
    assert (again.frame_name[0], int(again.stamp[0]), again.class_names) == (name, stamp, {7: name})


def test_bytes_that_hold_no_frame_are_an_error():
    with pytest.raises(SimjudgeError, match="no frame"):
        unpack(b"\x05\x00\x00\x00hello")
