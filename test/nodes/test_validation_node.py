"""validation_node as a real process on real DDS: the numbers of `simjudge compare`, whatever happens on the way."""

import json
import math
import signal
import time

import numpy as np
import pytest
from node_graph import ROOT, content
from support import processes

rclpy = pytest.importorskip("rclpy", reason="rclpy is not installed: pip install simjudge[ros]")
pytest.importorskip("simjudge_msgs", reason="simjudge_msgs is not installed: make setup-ros")

from diagnostic_msgs.msg import DiagnosticArray  # noqa: E402
from rcl_interfaces.srv import SetParameters  # noqa: E402
from rclpy.parameter import Parameter  # noqa: E402
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy  # noqa: E402
from sensor_msgs.msg import Image  # noqa: E402
from simjudge_msgs.msg import (  # noqa: E402
    ContextPerformanceArray,
    DetectionArray,
    LabelledObjectArray,
    ValidationSummary,
)
from simjudge_msgs.srv import LoadReference, Reset, SaveReport  # noqa: E402
from visualization_msgs.msg import MarkerArray  # noqa: E402

from simjudge.core.frames import FrameSet  # noqa: E402
from simjudge.core.object_tables import Objects, Predictions  # noqa: E402
from simjudge.data.sets import read_set, write_set  # noqa: E402
from simjudge.judging.compare_settings import CompareSettings  # noqa: E402
from simjudge.judging.pair import compare_pair  # noqa: E402

LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL, reliability=ReliabilityPolicy.RELIABLE)
LABELS, DETECTIONS = "/camera/ground_truth", "/camera/detections"
FEW = {"draws": 50, "patch": "120x120"}
QUICK = CompareSettings(draws=50, patch=120)


def simjudge(*arguments):
    program = processes.SIMJUDGE
    processes.run([*program, *map(str, arguments)], check=True, capture_output=True)


@pytest.fixture(scope="module")
def sets(tmp_path_factory):
    """The sample recordings with predictions, as (real, simulated)."""
    folder = tmp_path_factory.mktemp("sets")
    for name in ("real_stand_in", "sim"):
        model = ROOT / "config" / "detectors" / "cones_red_green.yaml"
        simjudge("detect", ROOT / "bags" / f"{name}.mcap", "--model", model, "--out", folder / f"{name}.mcap")
    return folder / "real_stand_in.mcap", folder / "sim.mcap"


@pytest.fixture(scope="module")
def expected(sets, tmp_path_factory):
    """The result folder of `simjudge compare`."""
    out = tmp_path_factory.mktemp("expected") / "result"
    simjudge("compare", *sets, "--out", out, "--draws", 50, "--patch", 120)
    return out


@pytest.fixture(scope="module")
def messages(sets):
    """Ground truth and detections of the simulated recording, frame by frame, as bytes."""
    held = content(sets[1])
    return held[LABELS], held[DETECTIONS]


class Ears:
    """What the test hears of the node."""

    def __init__(self, graph):
        self.graph, self.summaries, self.diagnostics = graph, [], {}
        graph.node.create_subscription(ValidationSummary, "/validation/summary", self.summaries.append, LATCHED)
        graph.node.create_subscription(DiagnosticArray, "/diagnostics", self._hear, 100)

    def _hear(self, message):
        for status in message.status:
            self.diagnostics[status.name.partition(": ")[2]] = status

    def value(self, key):
        """What the node's diagnostics say of something."""
        return {v.key: v.value for v in self.diagnostics["validation"].values}.get(key)

    def frames(self, count, timeout=120):
        """Wait for a summary over so many live frames."""
        heard = self.graph.until(lambda: self.summaries and self.summaries[-1].b.frames == count, timeout)
        assert heard, [s.b.frames for s in self.summaries]
        return self.summaries[-1]


class Feed:
    """Publishes single frames of a recording."""

    def __init__(self, graph, messages, reliability=ReliabilityPolicy.RELIABLE):
        qos = QoSProfile(depth=200, reliability=reliability)
        self.graph, self.messages = graph, messages
        self.publishers = [
            graph.node.create_publisher(kind, topic, qos)
            for kind, topic in ((LabelledObjectArray, LABELS), (DetectionArray, DETECTIONS))
        ]

    def wait(self):
        assert self.graph.until(lambda: all(p.get_subscription_count() for p in self.publishers))
        self.graph.until(lambda: False, timeout=0.5)

    def heard_by(self):
        """The subscriptions that there are, by the ids that DDS gives them."""
        topics = [publisher.topic_name for publisher in self.publishers]
        infos = [each for topic in topics for each in self.graph.node.get_subscriptions_info_by_topic(topic)]
        return {bytes(each.endpoint_gid) for each in infos}

    def send(self, side, *frames):
        for frame in frames:
            self.publishers[side].publish(self.messages[side][frame])

    def send_both(self, frames):
        for frame in frames:
            self.send(0, frame)
            self.send(1, frame)


def result(folder):
    return json.loads((folder / "result.json").read_text())


def assert_says(entry, numbers):
    """A message says what an entry of result.json says."""
    for name, value in numbers.items():
        said = getattr(entry, name)
        if name == "w1_quantiles":
            assert list(said) == [math.nan if v is None else v for v in value.values()]
        elif value is None:
            assert math.isnan(said), name
        else:
            assert said == value, name


def assert_says_all(summary, numbers):
    assert [str(entry.class_id) for entry in summary.by_class] == list(numbers["by_class"])
    for entry, wanted in zip(summary.by_class, numbers["by_class"].values(), strict=True):
        assert_says(entry, wanted)
    assert_says(summary.overall, numbers["overall"])


def assert_same_numbers(out, expected):
    ours, theirs = result(out), result(expected)
    for key in ("parameters", "class_names", "by_class", "overall", "losses"):
        assert ours[key] == theirs[key], key
    assert ours["inputs"]["a"] == theirs["inputs"]["a"]
    counts = ("frames", "objects", "predictions", "false_positives")
    assert [ours["inputs"]["b"][k] for k in counts] == [theirs["inputs"]["b"][k] for k in counts]


@pytest.mark.long
def test_two_sets_give_the_result_of_compare_and_wait_for_whoever_comes_late(graph, sets, expected, tmp_path):
    process = graph.start("validation_node", a=sets[0], b=sets[1], out=tmp_path / "out", **FEW)
    graph.wait_for(process, "result in")
    time.sleep(2)
    ears = Ears(graph)
    summary = ears.frames(40)
    assert_says_all(summary, result(expected))
    real, simulated = (read_set(path) for path in sets)
    other_way = compare_pair(simulated, real, QUICK).numbers.to_json()
    assert_says(summary.overall_reversed, other_way["overall"])
    for entry, wanted in zip(summary.by_class_reversed, other_way["by_class"].values(), strict=True):
        assert_says(entry, wanted)
    assert (summary.a.sha256, summary.b.path, summary.certainty_frames) == (
        result(expected)["inputs"]["a"]["sha256"],
        str(sets[1]),
        80,
    )
    assert graph.stop(process) == 0, graph.output(process)
    for name in ("result.json", "contexts.parquet"):
        assert (tmp_path / "out" / name).read_bytes() == (expected / name).read_bytes()
    assert (tmp_path / "out" / "report.html").exists()


def with_a_blind_spot(seed, fails):
    """Boxes of which one in twelve stands small on the left, where predictions are far off if `fails`."""
    random, frame = np.random.default_rng(seed), np.repeat(np.arange(150), 3)
    blind = random.random(len(frame)) < 1 / 12
    corner = np.stack([np.where(blind, 40, 400), np.where(blind, 200, 240)], 1) + random.integers(
        0, 20, (len(frame), 2)
    )
    corner = corner + np.tile([0, 0], (len(frame), 1)) + 70 * (np.arange(len(frame)) % 3)[:, None] * [0, 1]
    side = np.where(blind, 16, 40)
    box = np.concatenate([corner, corner + side[:, None]], 1).astype(float)
    off = random.normal(0.1, 0.02, len(frame)) + 0.4 * (blind & fails)
    found = box + (off * side)[:, None] * [1, 0, 1, 0]
    class_id = np.zeros(len(frame), int)
    return FrameSet.build(
        f"set {seed}",
        [[640, 480]] * 150,
        Objects.build(frame, class_id, box),
        Predictions.build(frame, class_id, found, np.full(len(frame), 0.9)),
        class_names={0: "cone"},
    )


def test_the_place_that_a_verdict_hides_is_in_the_summary_and_on_the_markers(graph, tmp_path):
    for name, frames in (("a", with_a_blind_spot(1, fails=False)), ("b", with_a_blind_spot(2, fails=True))):
        write_set(frames, tmp_path / f"{name}.json")
    process = graph.start(
        "validation_node",
        a=tmp_path / "a.json",
        b=tmp_path / "b.json",
        out=tmp_path / "out",
        margin=0.25,
        draws=100,
        patch="60x60",
        both_directions=False,
        unit="frame",
    )
    graph.wait_for(process, "result in")
    ears, markers = Ears(graph), []
    graph.node.create_subscription(MarkerArray, "/validation/markers", markers.append, LATCHED)
    assert graph.until(lambda: ears.summaries and markers), graph.output(process)
    said, where = ears.summaries[-1].hidden_gap, result(tmp_path / "out")["where"]
    [kind] = [one for one in where["kinds"] if one["kind"] == said.kind]
    assert (said.contexts, said.p, said.low, said.high, said.tested) == (
        kind["contexts"],
        kind["p"],
        kind["low"],
        kind["high"],
        where["tested"],
    )
    assert "left" in said.kind or "px" in said.kind
    assert said.p <= 0.05
    assert said.difference == pytest.approx(said.performance_b - said.performance_a)
    assert -0.6 < said.low < said.difference < said.high < -0.25
    assert f"not everywhere: in {said.kind} the gap is {-said.difference:.2f}" in markers[-1].markers[2].text
    assert graph.stop(process) == 0, graph.output(process)


def test_a_model_makes_the_predictions_and_once_ends(graph, expected, tmp_path):
    bags = ROOT / "bags"
    code, output = graph.run(
        "validation_node",
        a=bags / "real_stand_in.mcap",
        b=bags / "sim.mcap",
        out=tmp_path / "out",
        once=True,
        model=ROOT / "config" / "detectors" / "cones_red_green.yaml",
        report=False,
        both_directions=False,
        **FEW,
    )
    assert code == 0, output
    assert result(tmp_path / "out")["by_class"] == result(expected)["by_class"]
    assert not (tmp_path / "out" / "report.html").exists()


@pytest.mark.long
def test_a_played_recording_gives_the_result_of_compare(graph, sets, expected, tmp_path):
    often = {"summary_period": 0.2, "certainty_period": 1.0, "sequential": True, "sequential_block": 0.0}
    node = graph.start("validation_node", reference=sets[0], out=tmp_path / "out", **often, **FEW)
    ears = Ears(graph)
    contexts, markers, images, objects = [], [], [], []
    graph.node.create_subscription(MarkerArray, "/validation/objects", objects.append, 100)
    graph.node.create_subscription(ContextPerformanceArray, "/validation/contexts", contexts.append, 100)
    graph.node.create_subscription(MarkerArray, "/validation/markers", markers.append, LATCHED)
    lossy = QoSProfile(depth=100, reliability=ReliabilityPolicy.BEST_EFFORT)
    graph.node.create_subscription(Image, "/validation/overlay", images.append, lossy)
    graph.wait_for(node, "reference ")
    graph.until(lambda: False, timeout=1)
    wanted = [LABELS, DETECTIONS, "/camera/image_raw/compressed"]
    player = graph.start("play_node", bag=sets[1], rate=4.0, wait_for_subscribers=wanted)
    assert graph.until(lambda: player.poll() is not None, 60), graph.output(player)
    live = ears.frames(40)
    numbers = result(expected)
    for name in ("mean_w1", "n_a", "n_b", "overlap_a", "overlap_b", "mean_performance_b", "false_positives_b"):
        assert getattr(live.overall, name) == numbers["overall"][name]
    assert graph.until(lambda: ears.summaries[-1].certainty_frames == 40, 60)
    assert_says_all(ears.summaries[-1], numbers)
    assert graph.until(lambda: len(contexts) == 40)
    assert sum(len(c.contexts) for c in contexts) == numbers["overall"]["n_b"]
    assert all(c.contexts[0].set == 1 and not c.contexts[0].compared for c in contexts)
    assert any(not math.isnan(c.contexts[0].w1_around) for c in contexts[20:])
    assert "W1" in markers[-1].markers[1].text
    assert graph.until(lambda: len(objects) == 40), len(objects)
    assert sum(marker.ns == "numbers" for marker in objects[-1].markers) == len(contexts[-1].contexts)
    said = markers[-1].markers[1].text.partition("\n")[0]
    assert graph.until(lambda: ears.diagnostics["verdict"].message == said)
    assert graph.until(lambda: len(images) >= 20), len(images)
    assert (images[-1].width, images[-1].height, images[-1].encoding) == (640, 360, "rgb8")
    ears.summaries.clear()
    node.send_signal(signal.SIGTERM)
    assert graph.until(lambda: node.poll() is not None, 60)
    assert node.returncode == 0, graph.output(node)
    assert_says_all(ears.summaries[-1], numbers)
    assert_same_numbers(tmp_path / "out", expected)
    sequence = result(tmp_path / "out")["inputs"]["b"]["sequential"]
    assert 20 < sequence["blocks"] <= 40
    assert sequence["low"] < sequence["difference"] < sequence["high"]
    said = ears.summaries[-1].sequential
    assert [getattr(said, name) for name in said.get_fields_and_field_types()] == [
        sequence[name] for name in said.get_fields_and_field_types()
    ]
    assert "At every look:" in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert f"at every look: {sequence['verdict']} after {sequence['blocks']} blocks" in graph.output(node)
    assert (tmp_path / "out" / "report.html").exists()
    assert not (tmp_path / "out.journal").exists()


@pytest.mark.long
def test_a_detector_that_is_changed_while_it_is_judged_begins_anew(graph, sets, tmp_path):
    judge = graph.start("validation_node", reference=sets[0], out=tmp_path / "out", summary_period=0.2, **FEW)
    model = ROOT / "config/detectors/cones_red_green.yaml"
    detector = graph.start("detection_node", model=model, every_frame=True)
    ears = Ears(graph)
    graph.wait_for(judge, "reference ")
    wanted = ["validation_node /camera/ground_truth", "detection_node /camera/image_raw"]
    player = graph.start("play_node", bag=ROOT / "bags/sim.mcap", rate=0.5, wait_for=wanted)
    assert graph.until(lambda: ears.summaries and ears.summaries[-1].b.frames >= 10, 60), graph.output(judge)
    change = SetParameters.Request(parameters=[Parameter("min_score", value=0.9).to_parameter_msg()])
    assert graph.call(SetParameters, "/detection_node/set_parameters", change).results[0].successful
    assert graph.until(lambda: player.poll() is not None, 60), graph.output(player)
    assert graph.stop(detector) == 0
    assert graph.stop(judge, signal.SIGTERM) == 3, graph.output(judge)
    said = graph.output(judge)
    assert "/detection_node: min_score was changed from 0.05 to 0.9 at " in said
    assert "frames judged before the detector was changed" in said
    assert "those of live are of cones_red_green (min_score 0.9" in said
    live = result(tmp_path / "out")["inputs"]["b"]
    assert live["detector"]["name"] == "cones_red_green"
    assert live["detector"]["settings"]["min_score"] == 0.9
    assert 0 < live["frames"] <= 30


def test_killed_and_started_again_and_a_recording_that_loops(graph, sets, messages, expected, tmp_path):
    parameters = {"reference": sets[0], "out": tmp_path / "out", "summary_period": 0.2, "both_directions": False, **FEW}
    ears, feed = Ears(graph), Feed(graph, messages)
    first = graph.start("validation_node", **parameters)
    feed.wait()
    feed.send_both(range(17))
    ears.frames(17)
    killed = feed.heard_by()
    first.kill()
    first.wait()
    # A record that the kill cut in two.
    with (tmp_path / "out.journal").open("ab") as journal:
        journal.write(b"\x00\x10\x00\x00torn")
    ears.summaries.clear()
    second = graph.start("validation_node", **parameters)
    # The killed one counts until its lease ends.
    assert graph.until(lambda: len(feed.heard_by() - killed) == len(feed.publishers)), graph.output(second)
    feed.wait()
    feed.send_both(range(40))
    summary = ears.frames(40)
    assert "resumed after 17 frames" in graph.output(second)
    assert "cut off; its 8 bytes are dropped" in graph.output(second)
    feed.send_both(range(10))
    assert graph.until(lambda: "stamps" in ears.diagnostics), graph.output(second)
    assert "jumped back" in ears.diagnostics["stamps"].message
    assert graph.output(second).count("stamps jumped back") == 1
    assert ears.diagnostics["stamps"].level == b"\x01"
    assert graph.until(lambda: ears.value("repeated") == "27"), ears.value("repeated")
    assert ears.summaries[-1].b.frames == summary.b.frames == 40
    assert graph.stop(second) == 0, graph.output(second)
    assert_same_numbers(tmp_path / "out", expected)


def test_a_jump_back_begins_anew_where_that_is_asked_for(graph, sets, messages):
    node = graph.start("validation_node", reference=sets[0], summary_period=0.2, on_jump="reset", live_is="a", **FEW)
    ears, feed = Ears(graph), Feed(graph, messages)
    feed.wait()
    feed.send_both(range(6))
    assert graph.until(lambda: ears.summaries and ears.summaries[-1].a.frames == 6), graph.output(node)
    feed.send_both(range(3))
    assert graph.until(lambda: ears.summaries[-1].a.frames == 3), graph.output(node)
    assert "the frames so far are forgotten" in ears.diagnostics["stamps"].message
    assert (ears.summaries[-1].a.name, ears.summaries[-1].b.name) == ("live", "real_stand_in.mcap")
    ears.summaries.clear()
    node.send_signal(signal.SIGINT)
    assert graph.until(lambda: node.poll() is not None and ears.summaries, 60)
    real, simulated = (read_set(path) for path in sets)
    known = compare_pair(simulated.take(range(3)), real, QUICK).numbers.to_json()
    assert_says_all(ears.summaries[-1], known)
    assert node.returncode == 0, graph.output(node)


@pytest.mark.long
def test_what_has_no_partner_is_counted_and_never_paired(graph, sets, messages, tmp_path):
    node = graph.start(
        "validation_node", reference=sets[0], out=tmp_path / "out", summary_period=0.2, wait=1.5, jump_back=30.0, **FEW
    )
    ears, feed = Ears(graph), Feed(graph, messages)
    feed.wait()
    feed.send(0, 0, 1, 2)
    feed.send(1, 3, 4)
    feed.send(0, *range(10, 20), 12)
    feed.send(1, *range(19, 9, -1))
    ears.frames(10)
    lines = {
        "3 ground truth messages without detections",
        "2 detection messages without ground truth",
        "1 ground truth message whose stamp was used before",
    }
    assert graph.until(lambda: {x.partition(":")[0] for x in ears.summaries[-1].losses} == lines)
    assert graph.stop(node) == 3, graph.output(node)
    assert all(f"warning: left out {line}:" in graph.output(node) for line in lines)
    real, simulated = (read_set(path) for path in sets)
    known = compare_pair(real, simulated.take(range(10, 20)), QUICK).numbers.to_json()
    ours = result(tmp_path / "out")
    assert (ours["by_class"], ours["overall"]) == (known["by_class"], known["overall"])
    assert {line.partition(":")[0] for line in ours["losses"]} == lines


@pytest.mark.long
def test_certainty_that_is_cut_short_is_added_from_the_journal(graph, sets, messages, expected, tmp_path):
    out = tmp_path / "out"
    given = {"reference": sets[0], "out": out, "both_directions": False, "patch": FEW["patch"]}
    node = graph.start("validation_node", **given, draws=100_000, certainty_time=3600.0)
    ears, feed = Ears(graph), Feed(graph, messages)
    feed.wait()
    feed.send_both(range(40))
    ears.frames(40)
    node.send_signal(signal.SIGINT)
    graph.wait_for(node, "the plain numbers are there")
    node.send_signal(signal.SIGTERM)  # at once: 100,000 draws of so few contexts take a second
    assert node.wait(60) == 0, graph.output(node)
    if "certainty is left out" not in graph.output(node):
        pytest.skip("the certainty of so few contexts was done before the signal came")
    plain = result(out)
    assert plain["parameters"]["certainty"] == "not yet"
    assert plain["overall"]["mean_w1"] == result(expected)["overall"]["mean_w1"]
    assert (tmp_path / "out.journal").exists()
    again = graph.start("validation_node", **given, draws=50)
    graph.wait_for(again, "resumed after 40 frames")
    assert graph.stop(again) == 0, graph.output(again)
    assert_same_numbers(out, expected)
    assert not (tmp_path / "out.journal").exists()


@pytest.mark.long
def test_certainty_follows_the_frames_of_the_window(graph, sets, messages):
    """With a window the number of kept frames stays the same while the frames change."""
    graph.start(
        "validation_node",
        reference=sets[0],
        window=0.0,
        summary_period=0.2,
        certainty_period=0.3,
        both_directions=False,
        **FEW,
    )
    ears, feed = Ears(graph), Feed(graph, messages)
    feed.wait()
    real, simulated = (read_set(path) for path in sets)
    for index in (3, 4):
        feed.send_both([index])
        known = compare_pair(real, simulated.take([index]), QUICK).numbers.to_json()
        # A single frame carries no draws; average precision is found beside certainty, and differs from frame to frame.
        precision = known["overall"]["map50_95_b"]
        assert precision is not None
        assert graph.until(lambda wanted=precision: ears.summaries and ears.summaries[-1].overall.map50_95_b == wanted)
        assert (ears.summaries[-1].b.frames, ears.summaries[-1].certainty_frames) == (1, 1)


def test_what_is_lost_is_said_without_a_result_too(graph, sets, messages, tmp_path):
    node = graph.start("validation_node", reference=sets[0], out=tmp_path / "out", wait=0.3, **FEW)
    feed = Feed(graph, messages)
    feed.wait()
    feed.send(0, *range(5))
    graph.until(lambda: False, timeout=1.0)
    assert graph.stop(node) == 3, graph.output(node)
    output = graph.output(node)
    assert "there is no result" in output
    assert "left out 5 ground truth messages without detections" in output
    assert "ended: 5 ground truth received, 0 detections received, 0 frames judged, 5 messages without" in output
    assert not (tmp_path / "out").exists()


@pytest.mark.long
def test_services(graph, sets, messages, tmp_path):
    node = graph.start("validation_node", reference=sets[1], summary_period=0.2, **FEW)
    ears, feed = Ears(graph), Feed(graph, messages)
    feed.wait()

    def load(path):
        return graph.call(LoadReference, "/validation_node/load_reference", LoadReference.Request(path=str(path)))

    refused = load(tmp_path / "nowhere")
    assert (refused.success, "nowhere" in refused.message) == (False, True)
    loaded = load(sets[0])
    assert (loaded.success, loaded.frames, loaded.objects) == (True, 40, 535), loaded.message
    feed.send_both(range(5))
    assert ears.frames(5).a.name == "real_stand_in.mcap"
    save = SaveReport.Request()
    assert "name a folder" in graph.call(SaveReport, "/validation_node/save_report", save).message
    save.folder = str(tmp_path / "saved")
    assert graph.call(SaveReport, "/validation_node/save_report", save).success
    assert result(tmp_path / "saved")["inputs"]["b"]["frames"] == 5
    assert (tmp_path / "saved" / "report.html").exists()
    done = graph.call(Reset, "/validation_node/reset", Reset.Request())
    assert (done.success, done.frames) == (True, 5)
    feed.send_both(range(3))
    ears.frames(3)
    assert graph.stop(node) == 0, graph.output(node)


def test_a_run_that_ends_before_its_first_frame_is_no_success(graph, sets, tmp_path):
    node = graph.start("validation_node", reference=sets[0], out=tmp_path / "out")
    graph.wait_for(node, "contexts in")
    assert graph.stop(node) == 130, graph.output(node)
    assert "ended before the first live frame: nothing was judged, and there is no result" in graph.output(node)
    assert not (tmp_path / "out").exists()


@pytest.mark.long
def test_unfitting_qos_is_told_with_the_fix(graph, sets, messages):
    node = graph.start("validation_node", reference=sets[0])
    ears = Ears(graph)
    Feed(graph, messages, ReliabilityPolicy.BEST_EFFORT)
    key = f"QoS of {LABELS}"
    assert graph.until(lambda: key in ears.diagnostics), graph.output(node)
    assert "boxes_reliability:=best_effort" in ears.diagnostics[key].message
    assert graph.stop(node) == 130, graph.output(node)
    assert "ended before the first live frame: nothing was judged" in graph.output(node)


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({}, "give two sets as a and b, or a reference"),
        ({"a": "one", "b": "two", "reference": "three"}, "not both"),
        ({"reference": "nowhere.mcap"}, "nowhere.mcap"),
        ({"reference": "x", "patch": "12by12"}, "write height x width"),
    ],
)
def test_refusals_are_one_line(graph, parameters, said):
    assert said in graph.refusal("validation_node", **parameters)
