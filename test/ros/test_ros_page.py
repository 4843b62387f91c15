"""docs/reference/ros.md has every part that is made (`make lint` holds their text), and what it points to is there."""

import re
from pathlib import Path

import pytest

from simjudge.core.errors import SimjudgeError
from simjudge.core.settings import declared
from simjudge.judging.compare_settings import CompareSettings
from simjudge.ros.graphs import GRAPHS
from simjudge.ros.node_interfaces import NODES
from simjudge.ros.ros_page import arguments, regenerate_parts, services_table, topics_table

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/reference/ros.md"
SETTINGS = {row.name for row in declared(CompareSettings)}


def test_the_page_has_every_part():
    parts = set(re.findall(r"<!-- made: ([\w-]+) -->", PAGE.read_text()))
    assert parts == {"topics", "services", "arguments", "parameters"}


def test_a_part_that_nobody_makes():
    with pytest.raises(SimjudgeError, match="nothing makes the part weather"):
        regenerate_parts("<!-- made: weather -->\n<!-- end -->")


def test_every_argument_of_a_graph_stands_once():
    names = re.findall(r"(?m)^\| `(\w+)` \| (\S+) \|", arguments())
    for graph in GRAPHS.values():
        for argument in graph.arguments:
            said = [name for name, graphs in names if name == argument.name and graph.name in (*graphs.split(","), "")]
            said += [name for name, graphs in names if name == argument.name and graphs == "all"]
            assert len(said) == (argument.name not in SETTINGS), (graph.name, argument.name)


def test_every_topic_is_in_the_table():
    for node in NODES.values():
        for end in (*node.publishes, *node.subscribes):
            assert f"| `{end.topic}` | `{end.type}` |" in topics_table()
        for service in node.serves:
            assert f"`{service.type}`" in services_table()
