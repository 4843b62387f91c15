"""simjudge_msgs as built: the same types as rosbags makes of the same files, alive on DDS, and complete."""

import math
import re

import pytest
from rosbags.typesys import get_types_from_msg

from simjudge.data.rosbag2.interfaces import standard_types
from simjudge.nodes.qos import latched_qos

rclpy = pytest.importorskip("rclpy", reason="rclpy is not installed: pip install simjudge[ros]")
pytest.importorskip("simjudge_msgs", reason="simjudge_msgs is not installed: pip install ./msgs")

from rclpy.serialization import deserialize_message, serialize_message  # noqa: E402
from simjudge_msgs.msg import ClassSummary, ContextPerformance, ValidationSummary  # noqa: E402
from simjudge_msgs.srv import LoadReference, Reset, SaveReport  # noqa: E402

from simjudge.nodes.qos import installed_definition  # noqa: E402
from simjudge.nodes.runtime import message_class  # noqa: E402

NAMES = sorted(name for name in standard_types().types if name.startswith("simjudge_msgs/msg/"))


def interface_files(repository):
    return sorted([*(repository / "msgs/msg").glob("*.msg"), *(repository / "msgs/srv").glob("*.srv")])


@pytest.mark.parametrize("name", NAMES)
def test_what_ros_serializes_rosbags_reads_and_the_other_way_round(name):
    types = standard_types()
    sent = message_class(name)()
    fill(sent, count=iter(range(1, 1000)))
    raw = serialize_message(sent)
    read = types.deserialize_cdr(raw, name)
    assert plain(read) == plain(sent)
    assert deserialize_message(bytes(types.serialize_cdr(read, name)), message_class(name)) == sent


@pytest.mark.parametrize("name", NAMES)
def test_the_installed_package_is_built_from_these_files(name):
    assert installed_definition(name).digest == standard_types().hash_rihs01(name)


@pytest.mark.parametrize("name", ["sensor_msgs/msg/Image", "tf2_msgs/msg/TFMessage", "nav_msgs/msg/Odometry"])
def test_definitions_of_other_packages_are_those_of_ros(name):
    assert installed_definition(name).digest == standard_types().hash_rihs01(name)
    assert message_class(name) is not None


def test_a_summary_arrives_late_and_whole_with_its_undefined_numbers(graph):
    summary = ValidationSummary(version="0.1.0")
    summary.a.name = "real"
    summary.by_class = [ClassSummary(class_id=1, mean_w1=math.nan, verdict=ClassSummary.VERDICT_NO_OVERLAP)]
    summary.by_class[0].w1_quantiles[:] = [math.nan] * 5
    publisher = graph.node.create_publisher(ValidationSummary, "validation/summary", latched_qos())
    publisher.publish(summary)
    heard = []
    graph.node.create_subscription(ValidationSummary, "validation/summary", heard.append, latched_qos())
    assert graph.until(lambda: heard)
    (entry,) = heard[0].by_class
    assert (heard[0].a.name, entry.class_id, entry.verdict) == ("real", 1, "no_overlap")
    assert math.isnan(entry.mean_w1)
    assert all(math.isnan(v) for v in entry.w1_quantiles)


@pytest.mark.parametrize("kind", [LoadReference, Reset, SaveReport])
def test_services_answer(graph, kind):
    def answer(_request, response):
        response.success, response.message = True, "done"
        return response

    graph.node.create_service(kind, "service", answer)
    assert graph.call(kind, "service", kind.Request()).message == "done"


def test_the_summary_holds_every_field_of_a_result(repository):
    text = (repository / "docs/reference/results.md").read_text(encoding="utf-8")
    table = text[text.index("Each entry of `by_class`") : text.index("`overall` has the same")]
    documented = set()
    for row in re.findall(r"^\| (`.*?) \|", table, re.MULTILINE):
        first = re.findall(r"`([^`]+)`", row)[0].split()
        documented |= {name for name in first if name != "field"}
        if "and `_b`" in row:
            documented |= {re.sub(r"_a$", "_b", name) for name in first}
    assert len(documented) > 30
    held = set(ClassSummary.get_fields_and_field_types())
    assert documented - held == set()
    names = re.search(r'"parameters": \{(.*?)\}', text, re.DOTALL).group(1)
    parameters = set(re.findall(r'"(\w+)"', names)) - {"patch"} | {"patch_height", "patch_width"}
    kind = message_class("simjudge_msgs/msg/ComparisonParameters")
    assert parameters - set(kind.get_fields_and_field_types()) == set()


def test_a_context_holds_the_columns_of_the_table():
    fields = set(ContextPerformance.get_fields_and_field_types())
    columns = {"set", "object", "class_id", "class_name", "performance", "in_overlap", "w1", "mean_difference", "score"}
    assert columns | {"batch_a", "batch_b", "box", "predicted_box", "instance_id"} <= fields


def test_cmake_names_every_file_and_every_field_has_a_comment(repository):
    cmake = (repository / "msgs/CMakeLists.txt").read_text(encoding="utf-8")
    for file in interface_files(repository):
        assert f'"{file.parent.name}/{file.name}"' in cmake
        lines = file.read_text(encoding="utf-8").splitlines()
        assert lines[0].startswith("# "), f"{file.name} does not say what it is"
        for line in lines:
            if line and not line.lstrip().startswith("#") and line != "---":
                assert "  # " in line, f"{file.name}: {line!r} has no comment"
        if file.suffix == ".msg":
            get_types_from_msg("\n".join(lines), f"simjudge_msgs/msg/{file.stem}")


def fill(message, count):
    """Give every field a value of its own."""
    for name, kind in message.get_fields_and_field_types().items():
        value = getattr(message, name)
        base = re.sub(r"\[.*|sequence<([\w/]+).*", r"\1", kind)
        if hasattr(value, "get_fields_and_field_types"):
            fill(value, count)
        elif kind.startswith("sequence<") and "/" in kind:
            package, stem = base.split("/")
            inner = message_class(f"{package}/msg/{stem}")()
            fill(inner, count)
            setattr(message, name, [inner])
        elif kind.startswith("sequence<"):
            setattr(message, name, [f"text {next(count)}"] if base == "string" else [next(count) % 250])
        elif "[" in kind:
            setattr(message, name, [float(next(count)) for _ in value])
        elif kind == "boolean":
            setattr(message, name, True)
        elif kind == "string":
            setattr(message, name, f"text {next(count)}")
        else:
            setattr(message, name, type(value)(next(count) % 120))


def plain(message):
    """A message of either kind as plain values."""
    names = getattr(message, "get_fields_and_field_types", lambda: message.__dataclass_fields__)()
    out = {}
    for name in names:
        if name == "__msgtype__" or name.isupper():
            continue
        value = getattr(message, name)
        if hasattr(value, "__dataclass_fields__") or hasattr(value, "get_fields_and_field_types"):
            out[name] = plain(value)
        elif hasattr(value, "__len__") and not isinstance(value, str):
            held = [plain(v) if hasattr(v, "__slots__") or hasattr(v, "__dataclass_fields__") else v for v in value]
            out[name] = [v.item() if hasattr(v, "item") else v for v in held]
        else:
            out[name] = value
    return out
