"""Split and compressed recordings are those of rosbag2: rosbags reads them, so do we, and their metadata add up."""

import shutil
from contextlib import suppress

import numpy as np
import pytest
import yaml
import zstandard
from mcap.reader import make_reader
from rosbags.highlevel import AnyReader

from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.data.rosbag2.interfaces import standard_types
from simjudge.data.rosbag2.live_recording import open_recording, recover
from simjudge.data.rosbag2.recording import Recording
from simjudge.data.rosbag2.storage import COMPRESSIONS, RecordingForm

STRING = "std_msgs/msg/String"
START, STEP = 10**18, 10**6
SIZES = np.random.default_rng(3).integers(100, 5000, 90)
TEXTS = [f"{i:04d}" + "word " * (size // 5) for i, size in enumerate(SIZES.tolist())]


def note(text):
    types = standard_types()
    return bytes(types.serialize_cdr(types.types[STRING](data=text), STRING))


def begun(path, form):
    recording = open_recording(path, form)
    fill(recording)
    return recording


def fill(recording):
    """Texts on two topics, the second of which comes up late."""
    text, _ = standard_types().generate_msgdef(STRING, ros_version=2)
    definition = (text, standard_types().hash_rihs01(STRING))
    recording.add_topic("/a", STRING, definition, [])
    recording.set_custom_data("word", "yes")
    for index, text in enumerate(TEXTS):
        if index == 50:
            recording.add_topic("/b", STRING, definition, [])
        recording.write("/b" if index >= 50 and index % 2 else "/a", START + index * STEP, note(text))


def written(path, form):
    recording = begun(path, form)
    assert recording.counts == {"/a": 70, "/b": 20}
    recording.close()
    return yaml.safe_load((path / "metadata.yaml").read_text())["rosbag2_bagfile_information"]


def rosbags_texts(path):
    with AnyReader([path]) as reader:
        return [reader.deserialize(raw, link.msgtype).data for link, _, raw in reader.messages()]


def our_texts(path, *, whole=True):
    recording = Recording(path)
    messages = sorted(recording.messages({"/a", "/b"}), key=lambda message: message.time)
    assert not (whole and recording.losses)
    return [standard_types().deserialize_cdr(bytes(message.data), STRING).data for message in messages]


FORMS = [
    pytest.param(RecordingForm(storage, size, compression), id=f"{storage}-{size}-{compression}")
    for storage in ("mcap", "sqlite3")
    for size in (None, 60_000)
    for compression in COMPRESSIONS
    if (storage, compression) != ("sqlite3", "chunk")
]


@pytest.mark.parametrize("form", FORMS)
def test_rosbags_and_we_read_what_was_written_and_the_metadata_add_up(tmp_path, form):
    info = written(tmp_path / "r", form)
    assert rosbags_texts(tmp_path / "r") == our_texts(tmp_path / "r") == TEXTS
    assert (info["message_count"], info["starting_time"]["nanoseconds_since_epoch"]) == (90, START)
    assert info["duration"]["nanoseconds"] == 89 * STEP
    counts = {each["topic_metadata"]["name"]: each["message_count"] for each in info["topics_with_message_count"]}
    assert counts == {"/a": 70, "/b": 20}
    assert info["custom_data"] == {"word": "yes"}
    assert Recording(tmp_path / "r").custom_data() == {"word": "yes"}
    modes = {"file": ("zstd", "FILE"), "message": ("zstd", "MESSAGE")}
    assert (info["compression_format"], info["compression_mode"]) == modes.get(form.compression, ("", ""))
    names = [file["path"] for file in info["files"]]
    assert info["relative_file_paths"] == names
    assert sorted(path.name for path in (tmp_path / "r").iterdir()) == sorted([*names, "metadata.yaml"])
    if form.max_bytes is not None:
        ending = {"mcap": ".mcap", "sqlite3": ".db3"}[form.storage] + (".zstd" if form.compression == "file" else "")
        assert names == [f"r_{number}{ending}" for number in range(len(names))]
        assert len(names) >= len("".join(TEXTS)) // form.max_bytes


@pytest.mark.parametrize("form", [each for each in FORMS if each.values[0].max_bytes])
def test_metadata_of_each_file_are_those_of_the_file(tmp_path, form):
    info = written(tmp_path / "r", form)
    read = Recording(tmp_path / "r")
    for file, storage in zip(info["files"], read.files, strict=True):
        times = [message.time for message in storage.messages({"/a", "/b"}, 0)]
        assert file["message_count"] == len(times)
        begin = file["starting_time"]["nanoseconds_since_epoch"]
        assert (begin, begin + file["duration"]["nanoseconds"]) == (times[0], times[-1])


@pytest.mark.parametrize("storage", ["mcap", "sqlite3"])
def test_no_file_holds_more_bytes_than_its_size_but_for_one_larger_message(tmp_path, storage):
    written(tmp_path / "r", RecordingForm(storage, 60_000))
    held = [sum(len(m.data) for m in each.messages({"/a", "/b"}, 0)) for each in Recording(tmp_path / "r").files]
    assert 50_000 < max(held) <= 60_000
    info = written(tmp_path / "small", RecordingForm(storage, 10))
    assert [file["message_count"] for file in info["files"]] == [1] * 90


def test_an_mcap_is_as_large_as_it_may_be(tmp_path):
    written(tmp_path / "r", RecordingForm(max_bytes=60_000))
    definitions = 10_000
    assert 50_000 < max(file.stat().st_size for file in (tmp_path / "r").glob("r_*")) < 60_000 + definitions


def test_files_are_compressed_as_zstd_does_it(tmp_path):
    written(tmp_path / "plain", RecordingForm(max_bytes=60_000))
    written(tmp_path / "r", RecordingForm(max_bytes=60_000, compression="file"))
    for packed in (tmp_path / "r").glob("*.zstd"):
        assert zstandard.get_frame_parameters(packed.read_bytes()).has_checksum
        with packed.open("rb") as stream:
            plain = zstandard.ZstdDecompressor().stream_reader(stream).read()
        assert plain[:8] == (tmp_path / "plain" / packed.stem.replace("r_", "plain_")).read_bytes()[:8]
        assert len(plain) > 5 * packed.stat().st_size


@pytest.mark.parametrize("name", ["r", "r.mcap"])
def test_chunks_are_compressed_by_zstd_and_checked(tmp_path, name):
    begun(tmp_path / name, RecordingForm(compression="chunk")).close()
    file = tmp_path / name if name.endswith(".mcap") else tmp_path / name / "r.mcap"
    with file.open("rb") as stream:
        summary = make_reader(stream, validate_crcs=True).get_summary()
        assert {chunk.compression for chunk in summary.chunk_indexes} == {"zstd"}
    assert our_texts(tmp_path / name) == rosbags_texts(tmp_path / name) == TEXTS


def copied_while_compressing(folder, place):
    """A copy of a folder whose files are compressed meanwhile: one that goes while it is copied is copied again."""
    for attempt in range(50):
        with suppress(shutil.Error, FileNotFoundError):
            return shutil.copytree(folder, place / f"killed_{attempt}")
    raise AssertionError(f"{folder} never stood still")


@pytest.mark.parametrize("form", [each for each in FORMS if each.values[0].compression != "message"])
def test_a_recording_that_was_never_closed_is_read_and_recovered(tmp_path, form):
    recording = begun(tmp_path / "r", form)
    recording.flush()
    killed = copied_while_compressing(tmp_path / "r", tmp_path)
    assert not (killed / "metadata.yaml").exists()
    assert our_texts(killed, whole=False) == TEXTS
    recover(killed, tmp_path / "whole.mcap")
    assert our_texts(tmp_path / "whole.mcap") == TEXTS
    recording.abort()


def test_a_file_that_was_compressed_but_not_yet_removed_counts_once(tmp_path):
    written(tmp_path / "r", RecordingForm(max_bytes=60_000, compression="file"))
    (tmp_path / "r/metadata.yaml").unlink()
    packed = tmp_path / "r/r_1.mcap.zstd"
    with packed.open("rb") as stream:
        packed.with_suffix("").write_bytes(zstandard.ZstdDecompressor().stream_reader(stream).read())
    (tmp_path / "r/r_2.mcap.zstd.tmp").write_bytes(b"half")
    assert our_texts(tmp_path / "r") == TEXTS


def test_a_disk_that_fills_up_while_compressing_is_one_line(tmp_path, monkeypatch):
    def full(_file):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("simjudge.data.rosbag2.folder_writer._compress", full)
    recording = open_recording(tmp_path / "r", RecordingForm(max_bytes=60_000, compression="file"))
    with pytest.raises(SimjudgeError, match="the disk is full"):
        fill(recording)
    recording.abort()
    assert len(our_texts(tmp_path / "r", whole=False)) > 0


@pytest.mark.parametrize(
    ("name", "form", "said"),
    [
        ("r.mcap", RecordingForm(max_bytes=10), "one file cannot be split; name a folder, such as r$"),
        ("r.mcap", RecordingForm(compression="file"), "one file cannot be compressed by file; .* or compression chunk"),
        ("r.db3", RecordingForm(compression="message"), "one file cannot be compressed by message; .* such as r$"),
        ("r.db3", RecordingForm(compression="chunk"), "only mcap has chunks"),
        ("r", RecordingForm("sqlite3", compression="chunk"), "only mcap has chunks"),
    ],
)
def test_what_one_file_cannot_be_is_refused(tmp_path, monkeypatch, name, form, said):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match=said):
        open_recording(name, form)
    assert not list(tmp_path.iterdir())
