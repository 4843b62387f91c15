"""record_node: what it writes is whole after SIGINT and SIGTERM, readable after SIGKILL, and as ROS has it."""

import signal
import time

import numpy as np
import pytest
import yaml
from node_graph import content, write_images

rclpy = pytest.importorskip("rclpy", reason="rclpy is not installed: pip install simjudge[ros]")

from rclpy.qos import DurabilityPolicy, QoSProfile  # noqa: E402
from rosbags.highlevel import AnyReader  # noqa: E402
from std_msgs.msg import String  # noqa: E402

from simjudge.data.rosbag2.live_recording import find_unfinished, recover  # noqa: E402
from simjudge.data.rosbag2.recording import Recording  # noqa: E402
from simjudge.data.rosbag2.storage import format_seconds  # noqa: E402


def publish(graph, topic, count, profile=10, rest=0.02):
    """Publish numbered texts once somebody listens."""
    publisher = graph.node.create_publisher(String, topic, profile)
    assert graph.until(lambda: publisher.get_subscription_count() > 0)
    graph.until(lambda: False, 0.5)
    for index in range(count):
        publisher.publish(String(data=f"{topic} {index}"))
        graph.until(lambda: False, rest)
    return publisher


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("storage", ["mcap", "sqlite3"])
def test_a_signal_closes_the_recording(graph, tmp_path, number, storage):
    out = tmp_path / "out"
    recorder = graph.start("record_node", out=out, topics=["/note", "/never"], storage=storage)
    publish(graph, "/note", 25)
    assert graph.stop(recorder, number) == 0
    output = graph.output(recorder)
    assert "recorded 25 messages of 1 topics" in output
    assert "/never was never published" in output
    info = yaml.safe_load((out / "metadata.yaml").read_text())["rosbag2_bagfile_information"]
    assert info["storage_identifier"] == storage
    assert info["message_count"] == 25
    (topic,) = info["topics_with_message_count"]
    assert topic["message_count"] == 25
    about = topic["topic_metadata"]
    assert (about["name"], about["type"], about["serialization_format"]) == ("/note", "std_msgs/msg/String", "cdr")
    assert about["type_description_hash"].startswith("RIHS01_df668c740482bbd48fb39d76a70dfd4b")
    assert about["offered_qos_profiles"][0]["reliability"] == "reliable"
    with AnyReader([out]) as reader:
        texts = [reader.deserialize(raw, link.msgtype).data for link, _, raw in reader.messages()]
        times = [time for _, time, _ in reader.messages()]
    assert texts == [f"/note {i}" for i in range(25)]
    assert times == sorted(times)
    assert abs(times[-1] / 1e9 - time.time()) < 120, format_seconds(times[-1])


@pytest.mark.parametrize("name", ["drive.mcap", "drive.db3"])
def test_a_recording_is_one_file_where_its_name_says_so(graph, tmp_path, name):
    """Killed, it leaves what was written a second before, and the next recorder names that."""
    out = tmp_path / name
    recorder = graph.start("record_node", out=out, topics=["/note"])
    publisher = publish(graph, "/note", 10)
    graph.until(lambda: False, 2.5)
    assert not out.exists(), "it gets its name when it is whole"
    recorder.kill()
    recorder.wait()
    assert graph.until(lambda: publisher.get_subscription_count() == 0, 60)
    (left,) = find_unfinished(tmp_path)
    recovered = recover(left).path
    assert [bytes(m.data)[8:].rstrip(b"\0") for m in Recording(recovered).messages({"/note"})] == [
        f"/note {i}".encode() for i in range(10)
    ]
    recorder = graph.start("record_node", out=out, topics=["/more"])
    publish(graph, "/more", 5)
    assert graph.stop(recorder) == 0
    assert f"note: {left} holds" in graph.output(recorder)
    assert out.is_file()
    assert {topic: len(held) for topic, held in content(out).items()} == {"/more": 5}
    assert find_unfinished(tmp_path) == [left]


def test_killed_it_leaves_what_was_written_a_second_before(graph, tmp_path):
    out = tmp_path / "out"
    recorder = graph.start("record_node", out=out, topics=["/note"])
    publish(graph, "/note", 30)
    graph.until(lambda: False, 2.5)
    recorder.kill()
    recorder.wait()
    assert not (out / "metadata.yaml").exists()
    recording = Recording(out)
    texts = [bytes(m.data)[8:].rstrip(b"\0").decode() for m in recording.messages({"/note"})]
    assert texts == [f"/note {i}" for i in range(30)]


def noise(graph, topic, count, size=40_000):
    """Publish texts of a size once somebody listens; they hardly shrink."""
    digits = np.random.default_rng(1).integers(33, 127, (count, size), dtype=np.uint8)
    texts = [line.tobytes().decode("ascii") for line in digits]
    publisher = graph.node.create_publisher(String, topic, 100)
    assert graph.until(lambda: publisher.get_subscription_count() > 0)
    graph.until(lambda: False, 0.5)
    for text in texts:
        publisher.publish(String(data=text))
        graph.until(lambda: False, 0.01)
    return texts


@pytest.mark.parametrize("compression", ["none", "file", "message", "chunk"])
def test_a_split_and_compressed_recording_is_whole_after_ctrl_c(graph, tmp_path, compression):
    out = tmp_path / "out"
    recorder = graph.start("record_node", out=out, topics=["/note"], max_size=1, compression=compression)
    texts = noise(graph, "/note", 60)
    assert graph.stop(recorder) == 0, graph.output(recorder)
    assert "recorded 60 messages of 1 topics" in graph.output(recorder)
    info = yaml.safe_load((out / "metadata.yaml").read_text())["rosbag2_bagfile_information"]
    ending = ".mcap.zstd" if compression == "file" else ".mcap"
    assert info["relative_file_paths"] == [f"out_{number}{ending}" for number in range(3)]
    with AnyReader([out]) as reader:
        assert [reader.deserialize(raw, link.msgtype).data for link, _, raw in reader.messages()] == texts
    assert [bytes(m.data)[8:].rstrip(b"\0").decode() for m in Recording(out).messages({"/note"})] == texts


def test_killed_a_split_and_compressed_recording_leaves_what_was_written_a_second_before(graph, tmp_path):
    out = tmp_path / "out"
    recorder = graph.start("record_node", out=out, topics=["/note"], max_size=1, compression="file")
    texts = noise(graph, "/note", 60)
    graph.until(lambda: False, 2.5)
    recorder.kill()
    recorder.wait()
    assert not (out / "metadata.yaml").exists()
    assert [bytes(m.data)[8:].rstrip(b"\0").decode() for m in Recording(out).messages({"/note"})] == texts


def test_a_pattern_takes_what_comes_and_leaves_what_is_excluded(graph, tmp_path):
    out = tmp_path / "out"
    recorder = graph.start("record_node", out=out, pattern="/a/.*", exclude=".*secret")
    graph.node.create_publisher(String, "/a/secret", 10)
    graph.node.create_publisher(String, "/b/one", 10)
    publish(graph, "/a/one", 3)
    publish(graph, "/a/later", 3)
    assert graph.stop(recorder) == 0
    assert {name: len(held) for name, held in content(out).items()} == {"/a/one": 3, "/a/later": 3}


def test_a_latched_message_of_long_ago_is_recorded_with_its_qos(graph, tmp_path):
    latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
    publisher = graph.node.create_publisher(String, "/latched", latched)
    publisher.publish(String(data="long ago"))
    out = tmp_path / "out"
    recorder = graph.start("record_node", out=out, pattern="/latched")
    assert graph.until(lambda: publisher.get_subscription_count() > 0)
    graph.until(lambda: False, 1)
    assert graph.stop(recorder) == 0
    assert len(content(out)["/latched"]) == 1
    assert "durability: transient_local" in Recording(out).topics["/latched"].offered_qos


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({}, "parameter out must be given"),
        ({"out": "OUT"}, "nothing to record: name `topics`, or give a `pattern`"),
        ({"out": "OUT", "pattern": "(("}, "'((' is no regular expression"),
        ({"out": "HERE", "pattern": ".*"}, "exists already"),
        ({"out": "OUT.mcap", "pattern": ".*", "max_size": 1}, "one file cannot be split; name a folder"),
        ({"out": "OUT", "pattern": ".*", "compression": "gzip"}, "must be one of none, file, message, chunk"),
        ({"out": "OUT", "pattern": ".*", "storage": "paper"}, "must be one of mcap, sqlite3, not 'paper'"),
        ({"out": "/proc/none/out", "pattern": ".*"}, "/proc/none/out: cannot be written to"),
        ({"out": "/proc/none/out.mcap", "pattern": ".*"}, "/proc/none/out.mcap: cannot be written to"),
    ],
)
def test_refusals_are_one_line(graph, tmp_path, parameters, said):
    places = {"OUT": tmp_path / "out", "OUT.mcap": tmp_path / "out.mcap", "HERE": tmp_path}
    given = {name: places.get(value, value) for name, value in parameters.items()}
    assert said in graph.refusal("record_node", **given)


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.xdist_group("camera rate")
@pytest.mark.parametrize("reliability", ["best_effort", "reliable"])
def test_720p_at_30_hz_loses_nothing(graph, tmp_path, reliability):
    played = write_images(tmp_path / "played", 90, size=(1280, 720), period=33_333_333)
    recorder = graph.start("record_node", out=tmp_path / "out", topics=["/camera/image_raw"])
    code, output = graph.run(
        "play_node", bag=played, topics=["/camera/image_raw"], reliability=reliability, wait_for_subscribers=["all"]
    )
    assert code == 0, output
    assert graph.stop(recorder) == 0
    recording = Recording(tmp_path / "out")
    numbers = [
        int(np.frombuffer(m.data[-1280 * 720 * 3 :][:4], np.uint32)[0])
        for m in recording.messages({"/camera/image_raw"})
    ]
    assert numbers == list(range(90))
