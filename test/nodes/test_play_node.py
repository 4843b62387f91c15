"""play_node: every message byte for byte, in order, at the pace asked for; loop, pause, clock, choice; refusals."""

import signal
import time
from itertools import pairwise

import pytest
from node_graph import add_strange_topics, content, write_images

rclpy = pytest.importorskip("rclpy", reason="rclpy is not installed: pip install simjudge[ros]")

from rosgraph_msgs.msg import Clock  # noqa: E402
from std_msgs.msg import String  # noqa: E402
from std_srvs.srv import SetBool  # noqa: E402

ALL = ["all"]


@pytest.fixture
def notes(graph):
    """What arrives on /note, with the time of its arrival."""
    heard = []
    graph.node.create_subscription(String, "/note", lambda m: heard.append((m.data, time.monotonic())), 1000)
    return heard


def texts(notes):
    return [text for text, _ in notes]


def test_a_played_recording_is_recorded_again_message_by_message(graph, images, tmp_path):
    recorder = graph.start("record_node", out=tmp_path / "again", pattern="/camera/.*|/note")
    code, output = graph.run("play_node", bag=images, rate=2.0, wait_for_subscribers=ALL)
    assert code == 0, output
    assert graph.stop(recorder) == 0, graph.output(recorder)
    assert content(tmp_path / "again") == content(images)


@pytest.mark.long
@pytest.mark.parametrize("sample", ["sim.mcap", "real_stand_in.mcap"])
def test_the_sample_recordings_arrive_whole(graph, sample, tmp_path, repository):
    recorder = graph.start("record_node", out=tmp_path / "again", pattern="/camera/.*|/vehicle/.*")
    code, output = graph.run("play_node", bag=repository / "bags" / sample, rate=5.0, wait_for_subscribers=ALL)
    assert code == 0, output
    assert graph.stop(recorder) == 0
    assert content(tmp_path / "again") == content(repository / "bags" / sample)


def test_the_pace_is_the_recordings_times_the_rate(graph, notes, images):
    code, output = graph.run_serving("play_node", bag=images, rate=2.0, wait_for_subscribers=["note"])
    assert code == 0, output
    assert texts(notes) == [f"image {i}" for i in range(20)]
    assert notes[-1][1] - notes[0][1] == pytest.approx(19 * 0.1 / 2, abs=0.3)


def test_only_chosen_topics_from_an_offset_on(graph, images, tmp_path):
    recorder = graph.start("record_node", out=tmp_path / "again", pattern="/camera/.*|/note")
    code, output = graph.run(
        "play_node", bag=images, topics=["/note"], start_offset=1.05, rate=4.0, wait_for_subscribers=ALL
    )
    assert code == 0, output
    assert graph.stop(recorder) == 0
    held = content(tmp_path / "again")
    assert list(held) == ["/note"]
    assert held["/note"] == content(images)["/note"][11:]


def test_a_loop_starts_again_and_the_clock_jumps_back(graph, notes, tmp_path):
    short = write_images(tmp_path / "short", 5)
    clock = []
    graph.node.create_subscription(Clock, "/clock", lambda m: clock.append(m.clock.sec * 10**9 + m.clock.nanosec), 1000)
    player = graph.start("play_node", bag=short, loop=True, clock=100.0, wait_for_subscribers=["/note"])
    assert graph.until(lambda: len(notes) >= 13), graph.output(player)
    assert graph.stop(player, signal.SIGTERM) == 0
    assert texts(notes)[:13] == [f"image {i % 5}" for i in range(13)]
    backwards = [later - earlier for earlier, later in pairwise(clock) if later < earlier]
    assert len(backwards) >= 2
    assert all(jump < -300_000_000 for jump in backwards), "but for the loop, the clock never goes back"
    assert {10**18, 10**18 + 400_001_000} <= set(clock)


@pytest.mark.long
def test_pause_and_go_on(graph, notes, images):
    player = graph.start("play_node", bag=images, start_paused=True, wait_for_subscribers=["/note"])
    # Asked for what is so already until an answer comes: were the next answer lost, it would play to its end.
    assert graph.call(SetBool, "/play_node/pause", SetBool.Request(data=True)).success
    assert not notes
    assert graph.call(SetBool, "/play_node/pause", SetBool.Request(data=False)).success
    assert graph.until(lambda: len(notes) >= 5)
    assert "paused" in graph.call(SetBool, "/play_node/pause", SetBool.Request(data=True)).message
    graph.until(lambda: False, timeout=0.3)
    held = len(notes)
    graph.until(lambda: False, timeout=1)
    assert len(notes) == held < 20
    graph.call(SetBool, "/play_node/pause", SetBool.Request(data=False))
    assert graph.until(lambda: player.poll() is not None)
    assert player.returncode == 0
    assert texts(notes) == [f"image {i}" for i in range(20)]


def test_a_signal_ends_it_at_once_even_when_paused(graph, images):
    player = graph.start("play_node", bag=images, start_paused=True)
    graph.call(SetBool, "/play_node/pause", SetBool.Request(data=True))
    started = time.monotonic()
    assert graph.stop(player, signal.SIGINT) == 0
    assert time.monotonic() - started < 10


def test_nobody_subscribes(graph, images):
    code, output = graph.run("play_node", bag=images, wait_for_subscribers=["/note"], wait_timeout=0.5)
    assert code == 1
    assert "error: play_node: nobody subscribed to /note within 0.5 s" in output
    assert "Traceback" not in output


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({}, "parameter bag must be given"),
        ({"bag": "nowhere.mcap"}, "nowhere.mcap: does not exist"),
        ({"bag": "HERE", "topics": ["/nothing"]}, "has no topic /nothing; it holds /camera/image_raw, /note"),
        ({"bag": "HERE", "wait_for_subscribers": ["/nothing"]}, "/nothing is not played"),
        ({"bag": "HERE", "rate": -1.0}, "parameter rate"),
        ({"bag": "HERE", "reliability": "perhaps"}, "must be one of recorded, reliable, best_effort, not 'perhaps'"),
    ],
)
def test_what_cannot_be_done_is_one_line(graph, images, parameters, said):
    given = {name: images if value == "HERE" else value for name, value in parameters.items()}
    assert said in graph.refusal("play_node", **given)


def test_a_damaged_recording_is_played_as_far_as_it_goes(graph, notes, images):
    file = images / "images.mcap"
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
    code, output = graph.run_serving("play_node", bag=file, rate=10.0, wait_for_subscribers=["/note"])
    assert code == 3, output
    assert "warning: left out" in output
    assert texts(notes) == [f"image {i}" for i in range(len(notes))]


@pytest.mark.long
def test_types_that_are_not_installed_or_differ_are_left_out(graph, notes, tmp_path):
    strange = add_strange_topics(tmp_path / "strange")
    code, output = graph.run_serving("play_node", bag=strange, rate=10.0, wait_for_subscribers=["/note"])
    assert code == 0, output
    assert "/alien is not played: alien_msgs/msg/Thing: the package alien_msgs is not installed" in output
    assert "/other is not played: it was recorded with another definition of std_msgs/msg/Bool" in output
    assert texts(notes) == ["hello"]
    code, output = graph.run("play_node", bag=strange, topics=["/alien"])
    assert code == 1
    assert "/alien cannot be played: alien_msgs/msg/Thing: the package alien_msgs is not installed" in output
