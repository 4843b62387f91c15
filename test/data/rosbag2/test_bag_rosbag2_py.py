"""rosbag2_py of a ROS installation beside our own reader and writer: each reads what the other wrote, to the last byte.

Skipped where rosbag2_py is not installed. Types whose ROS package is not installed are compared without their hash.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import yaml
from bag_samples import SECOND, TYPES, contents, header, sample
from rosbags.interfaces import Qos

from simjudge.data.rosbag2 import describe_recording, read_recording, write_recording
from simjudge.data.rosbag2.interfaces import offered_qos
from simjudge.data.rosbag2.live_recording import record_messages
from simjudge.data.rosbag2.recording import PluginFile, Recording

ros = pytest.importorskip("rosbag2_py", reason="rosbag2_py is not installed: it comes with a ROS 2 installation only")

START = 1_700_000_000 * SECOND
CUSTOM = {"simjudge.note": "ä: 'quoted'\nsecond line"}
STORAGES = ["mcap", "sqlite3"]
NAMES = [("rec", "mcap"), ("rec.mcap", "mcap"), ("rec.db3", "sqlite3")]
COMPRESSION = ["none", "file", "message"]
PRESETS = [
    ("mcap", "none", ""),
    ("mcap", "fastwrite", ""),
    ("mcap", "zstd_fast", ""),
    ("mcap", "zstd_small", ""),
    ("mcap", "none", "compression: Lz4\nchunkSize: 4096\n"),
    ("mcap", "none", "noChunkCRC: false\nchunkSize: 4096\n"),
    ("sqlite3", "resilient", ""),
]
QOS_POLICIES = ("history", "reliability", "durability", "liveliness")
QOS_TIMES = ("deadline", "lifespan", "liveliness_lease_duration")


class Stored(NamedTuple):
    topic: str
    data: bytes
    time: int


def tf(stamp: int, child: str) -> Any:
    new = TYPES.types
    position = new["geometry_msgs/msg/Vector3"](1.0, 2.0, 3.0)
    turn = new["geometry_msgs/msg/Quaternion"](0.0, 0.0, 0.0, 1.0)
    moved = new["geometry_msgs/msg/Transform"](position, turn)
    link = new["geometry_msgs/msg/TransformStamped"](header(stamp), child, moved)
    return new["tf2_msgs/msg/TFMessage"]([link])


def imu(stamp: int) -> Any:
    new = TYPES.types
    vector = new["geometry_msgs/msg/Vector3"](0.0, -0.0, 9.81)
    turn = new["geometry_msgs/msg/Quaternion"](0.0, 0.0, 0.0, 1.0)
    nine = np.arange(9.0)
    return new["sensor_msgs/msg/Imu"](header(stamp), turn, nine, vector, nine, vector, nine)


def write_drive(path: Path, _storage: Any) -> None:
    """What a drive records: a latched topic, one that is often heard, and one of strings of all lengths."""
    with record_messages(path, CUSTOM) as recording:
        recording.write("/tf_static", START, tf(0, "camera"), latched=True)
        for i in range(40):
            stamp = START + i * 10_000_001
            recording.write("/imu", stamp, imu(stamp))
            recording.write("/text", stamp, TYPES.types["std_msgs/msg/String"]("ü" * i))


def write_frames(path: Path, storage: Any) -> None:
    write_recording(sample(), path, storage, custom_data=CUSTOM, extra_messages=lambda i: [("/tf", tf(i, "car"))])


def stored(recording: Recording) -> list[Stored]:
    return [Stored(m.topic, bytes(m.data), m.time) for m in recording.messages(set(recording.topics))]


def rosbag2_reader(path: Path, *, packed: bool = False) -> Any:
    reader = ros.SequentialCompressionReader() if packed else ros.SequentialReader()
    storage_id = {".mcap": "mcap", ".db3": "sqlite3"}.get(path.suffix, "")
    reader.open(ros.StorageOptions(uri=str(path), storage_id=storage_id), ros.ConverterOptions("", "cdr"))
    return reader


def read_by_rosbag2(reader: Any) -> list[Stored]:
    found = []
    while reader.has_next():
        found.append(Stored(*reader.read_next()))
    return found


def type_hash(kind: str) -> str | None:
    """The hash of an installed ROS package's type, None where it is not installed."""
    from ament_index_python.packages import PackageNotFoundError, get_package_share_directory  # noqa: PLC0415

    package, _, name = kind.split("/")
    try:
        file = Path(get_package_share_directory(package)) / "msg" / f"{name}.json"
    except PackageNotFoundError:
        return None
    if not file.exists():
        return None
    hashes = json.loads(file.read_text())["type_hashes"]
    return next(str(each["hash_string"]) for each in hashes if each["type_name"] == kind)


def check_qos(theirs: Any, wanted: Qos) -> None:
    profile = ros.convert_rclcpp_qos_to_rclpy_qos(theirs)
    assert profile.depth == wanted.depth
    assert profile.avoid_ros_namespace_conventions == wanted.avoid_ros_namespace_conventions
    for name in QOS_POLICIES:
        assert getattr(profile, name).name == getattr(wanted, name).name, name
    for name in QOS_TIMES:
        time = getattr(wanted, name)
        assert getattr(profile, name).nanoseconds == time.sec * SECOND + time.nsec, name


@pytest.mark.parametrize(
    ("write", "name", "storage"),
    [(write_frames, *each) for each in [*NAMES, ("rec", "sqlite3")]] + [(write_drive, *each) for each in NAMES],
)
def test_rosbag2_py_reads_what_simjudge_writes(
    tmp_path: Path, write: Callable[[Path, Any], None], name: str, storage: str
) -> None:
    write(tmp_path / name, storage)
    ours = Recording(tmp_path / name)
    reader = rosbag2_reader(tmp_path / name)
    assert read_by_rosbag2(reader) == stored(ours)

    topics = reader.get_all_topics_and_types()
    assert {t.name: t.type for t in topics} == {t.name: t.type for t in ours.topics.values()}
    hashes = {t.name: type_hash(t.type) for t in topics}
    assert hashes["/tf" if "/tf" in hashes else "/imu"]
    for topic in topics:
        assert topic.serialization_format == "cdr"
        assert topic.type_description_hash == (hashes[topic.name] or TYPES.hash_rihs01(topic.type))
        assert len(topic.offered_qos_profiles) == 1
        check_qos(topic.offered_qos_profiles[0], offered_qos(topic.type, latched=topic.name == "/tf_static"))
    texts = {d.topic_type: d.encoded_message_definition for d in reader.get_all_message_definitions()}
    assert texts == {t.type: t.definition.data for t in ours.topics.values()}

    said, description = reader.get_metadata(), describe_recording(tmp_path / name)
    assert said.storage_identifier == storage
    assert said.message_count == description.message_count == sum(ours.counts.values())
    counts = {t.topic_metadata.name: t.message_count for t in said.topics_with_message_count}
    assert counts == {t.topic: t.count for t in description.topics}
    assert (said.starting_time.nanoseconds, said.duration.nanoseconds) == (description.start, description.duration)
    if (tmp_path / name).is_dir():
        assert CUSTOM.items() <= said.custom_data.items()
        assert said.files[0].message_count == said.message_count


@pytest.mark.parametrize("storage", STORAGES)
def test_rosbag2_py_searches_in_what_simjudge_writes(tmp_path: Path, storage: str) -> None:
    write_frames(tmp_path / "rec", storage)
    wanted = stored(Recording(tmp_path / "rec"))
    reader = rosbag2_reader(tmp_path / "rec")
    for time in (wanted[17].time, wanted[0].time, wanted[-1].time, wanted[9].time + 1):
        # Its mcap storage leaves out what was read before where the search is for the time of the last message read.
        reader.seek(0)
        reader.seek(time)
        assert read_by_rosbag2(reader) == [m for m in wanted if m.time >= time]
    reader.seek(0)
    reader.set_filter(ros.StorageFilter(topics=["/tf"]))
    assert read_by_rosbag2(reader) == [m for m in wanted if m.topic == "/tf"]


def write_by_rosbag2(
    source: Recording,
    folder: Path,
    storage: str,
    *,
    compression: str = "none",
    preset: str = "",
    config: Path | None = None,
    splits: int = 1,
) -> None:
    """A recording again, by rosbag2_py, with a topic on which nothing was said."""
    options = ros.StorageOptions(
        uri=str(folder),
        storage_id=storage,
        storage_preset_profile=preset,
        storage_config_uri="" if config is None else str(config),
        custom_data=source.custom_data(),
    )
    if compression == "none":
        writer = ros.SequentialWriter()
    else:
        mode = ros.compression_mode_from_string(compression)
        # A queue of no size loses nothing: https://github.com/ros2/rosbag2, sequential_compression_writer.cpp
        writer = ros.SequentialCompressionWriter(ros.CompressionOptions("zstd", mode, 0, 1))
    writer.open(options, ros.ConverterOptions("cdr", "cdr"))
    silent = ("/silent", "std_msgs/msg/String", yaml.safe_dump([]))
    for number, (name, kind, qos) in enumerate(
        [*((t.name, t.type, t.offered_qos) for t in source.topics.values()), silent]
    ):
        profiles = ros.to_rclcpp_qos_vector(qos, 9)
        digest = TYPES.hash_rihs01(kind)
        writer.create_topic(ros.TopicMetadata(number, name, kind, "cdr", profiles, digest))
    messages = stored(source)
    for number, message in enumerate(messages):
        if number and number % -(-len(messages) // splits) == 0:
            writer.split_bagfile()
        writer.write(message.topic, message.data, message.time, message.time - 5_000_000)
    if hasattr(writer, "close"):  # the compressing one closes when it is let go
        writer.close()


def check_same(folder: Path, source: Recording, notes: Sequence[str] = ()) -> None:
    """Our own reader says the same of both."""
    found = Recording(folder)
    assert not any(isinstance(file, PluginFile) for file in found.files)
    assert stored(found) == stored(source)
    assert {t.topic: (t.type, t.count) for t in found.topic_infos() if t.topic != "/silent"} == {
        t.topic: (t.type, t.count) for t in source.topic_infos()
    }
    assert found.counts["/silent"] == 0
    for name, topic in source.topics.items():
        assert yaml.safe_load(found.topics[name].offered_qos) == yaml.safe_load(topic.offered_qos)
        assert found.topics[name].definition.format == topic.definition.format or type_hash(topic.type) is None
    assert found.custom_data() == source.custom_data()
    ours, theirs = describe_recording(source.path), describe_recording(folder)
    assert (theirs.start, theirs.end, theirs.message_count) == (ours.start, ours.end, ours.message_count)
    assert theirs.notes == list(notes)
    assert not theirs.losses
    assert not found.losses


@pytest.mark.parametrize("splits", [1, 4])
@pytest.mark.parametrize("compression", COMPRESSION)
@pytest.mark.parametrize("storage", STORAGES)
def test_simjudge_reads_what_rosbag2_py_writes(tmp_path: Path, storage: str, compression: str, splits: int) -> None:
    write_frames(tmp_path / "ours.mcap", "mcap")
    source = Recording(tmp_path / "ours.mcap")
    folder = tmp_path / "theirs"
    write_by_rosbag2(source, folder, storage, compression=compression, splits=splits)
    assert len(describe_recording(folder).files) == splits
    check_same(folder, source)
    assert contents(read_recording(folder)) == contents(sample())

    info = Recording(folder).layout.info
    plugin = PluginFile(folder, info, "a test")
    found = list(plugin.messages({topic.name for topic in plugin.topics}, 0))
    assert [Stored(m.topic, bytes(m.data), m.time) for m in found] == stored(source)
    random.Random(splits).shuffle(found)
    for message in found:
        assert plugin.read(message.location) == message.data
    assert not plugin.losses


@pytest.mark.parametrize(("storage", "preset", "config"), PRESETS)
def test_simjudge_reads_each_preset_of_rosbag2_py(tmp_path: Path, storage: str, preset: str, config: str) -> None:
    write_drive(tmp_path / "ours.mcap", "mcap")
    source = Recording(tmp_path / "ours.mcap")
    (tmp_path / "config.yaml").write_text(config)
    write_by_rosbag2(
        source, tmp_path / "theirs", storage, preset=preset, config=tmp_path / "config.yaml" if config else None
    )
    chunked = preset != "fastwrite"
    note = f"{tmp_path / 'theirs/theirs_0.mcap'}: has no usable index; all of it was read through"
    check_same(tmp_path / "theirs", source, [] if chunked else [note])


@pytest.mark.parametrize(("config", "checked"), [("", False), ("noChunkCRC: false\n", True)])
def test_rosbag2_py_writes_checksums_only_where_it_is_told(tmp_path: Path, config: str, checked: bool) -> None:
    """docs/reference/formats.md says so: a flipped byte of an image is noticed in one of the two."""
    write_frames(tmp_path / "ours.mcap", "mcap")
    source = Recording(tmp_path / "ours.mcap")
    (tmp_path / "config.yaml").write_text(config)
    write_by_rosbag2(source, tmp_path / "theirs", "mcap", config=tmp_path / "config.yaml" if config else None)
    file = tmp_path / "theirs/theirs_0.mcap"
    image = next(m.data for m in stored(source) if m.topic == "/camera/image_raw")
    content = bytearray(file.read_bytes())
    content[content.index(image) + len(image) // 2] ^= 1
    file.write_bytes(content)
    found = Recording(tmp_path / "theirs")
    assert (stored(found) == []) == checked
    assert bool(found.losses) == checked


@pytest.mark.parametrize("storage", STORAGES)
def test_metadata_made_anew_by_rosbag2_py(tmp_path: Path, storage: str) -> None:
    write_frames(tmp_path / "rec", storage)
    before = describe_recording(tmp_path / "rec")
    (tmp_path / "rec/metadata.yaml").unlink()
    for file in (tmp_path / "rec").iterdir():  # it takes no file without a number
        file.rename(file.with_stem("rec_0"))
    ros.Reindexer().reindex(ros.StorageOptions(uri=str(tmp_path / "rec"), storage_id=storage))
    after = describe_recording(tmp_path / "rec")
    assert (after.topics, after.start, after.end) == (before.topics, before.start, before.end)
    assert contents(read_recording(tmp_path / "rec")) == contents(sample())
    assert not after.notes
    assert not after.losses
