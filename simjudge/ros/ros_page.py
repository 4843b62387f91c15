"""Parts of docs/reference/ros.md made from the description: image, topics, services, arguments, parameters."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Iterable, Sequence

from simjudge.core.errors import SimjudgeError
from simjudge.ros.description import Graph
from simjudge.ros.graphs import GRAPHS
from simjudge.ros.node_interfaces import CAMERA, DIAGNOSTICS, LATCHED, NODES, RECORDED, RELIABLE, Endpoint

_BLOCK = re.compile(r"(<!-- made: ([\w-]+) -->\n)(.*?)(<!-- end -->)", re.DOTALL)
_QOS_LABELS = {CAMERA: "camera", RELIABLE: "reliable", LATCHED: "reliable, transient local", RECORDED: "as recorded"}
_ELSEWHERE = ("record_node",)  # Nodes that take what is named, which would tie every topic to them in the image


def regenerate_parts(text: str) -> str:
    """A page with every part between `<!-- made: NAME -->` and `<!-- end -->` made anew."""

    def made(found: re.Match[str]) -> str:
        name = found.group(2)
        if name in _MAKERS:
            return f"{found.group(1)}{_MAKERS[name]()}\n{found.group(4)}"
        graph = GRAPHS.get(name.removeprefix("arguments-"))
        if graph is None:
            raise SimjudgeError(f"nothing makes the part {name} of the page")
        return f"{found.group(1)}{_arguments(graph)}\n{found.group(4)}"

    return _BLOCK.sub(made, text)


def flow_chart() -> str:
    """Nodes (boxes) and topics (rounded) as a mermaid flow chart; without /diagnostics, which all nodes publish."""
    lines = ["```mermaid", "flowchart LR"]
    nodes = [name for name in NODES if name not in _ELSEWHERE]
    topics: dict[str, str] = {}
    edges: list[str] = []
    for node in nodes:
        lines.append(f"    {node}[{node}]")
        edges += (f"    {node} --> {_mark(topics, end)}" for end in NODES[node].publishes)
        edges += (f"    {_mark(topics, end)} --> {node}" for end in NODES[node].subscribes)
    lines += [f'    {mark}(["{topic}"])' for topic, mark in topics.items()]
    # A topic and its compressed twin are drawn as one.
    return "\n".join([*lines, *dict.fromkeys(edges), "```"])


def _mark(topics: dict[str, str], end: Endpoint) -> str:
    return topics.setdefault(end.topic.removesuffix("/compressed"), f"t{len(topics)}")


def topics_table() -> str:
    """Every topic: type, quality of service, who publishes it, who takes it."""
    publishers: dict[str, list[str]] = {}
    takers: dict[str, list[str]] = {}
    ends: dict[str, Endpoint] = {}
    for node, topics in NODES.items():
        for end in (*topics.publishes, *topics.subscribes):
            if end.topic not in ends or ends[end.topic].qos == RECORDED:
                ends[end.topic] = end
        for end in topics.publishes:
            publishers.setdefault(end.topic, []).append(_name(node, end))
        for end in topics.subscribes:
            takers.setdefault(end.topic, []).append(_name(node, end))
    publishers["/diagnostics"] = ["all"]
    ends["/diagnostics"] = DIAGNOSTICS
    rows = [
        (
            f"`{topic}`",
            f"`{end.type}`",
            end.purpose,
            _QOS_LABELS[end.qos],
            "; ".join(publishers.get(topic, ["-"])),
            "; ".join(takers.get(topic, ["-"])),
        )
        for topic, end in ends.items()
    ]
    return _table(("topic", "type", "what", "QoS", "from", "to"), rows)


def services_table() -> str:
    """Every service."""
    rows = [
        (
            f"`{serve.name.replace('~', node)}`",
            f"`{serve.type}`",
            serve.purpose + (f" ({serve.when})" if serve.when else ""),
        )
        for node, topics in NODES.items()
        for serve in topics.serves
    ]
    return _table(("service", "type", "what it does"), rows)


def parameters() -> str:
    """The parameter tables of all nodes; needs rclpy, where they are declared."""
    return "\n\n".join(f"### {name}\n{_parameters(name)}" for name in NODES)


def _parameters(node: str) -> str:
    module = importlib.import_module(f"simjudge.nodes.{node}")
    found = next(member for member in vars(module).values() if getattr(member, "NAME", "") == node)
    rows = []
    for row in found.PARAMETERS:
        default = "required" if row.required else "" if row.default is None else f"`{_plain(row.default)}`"
        notes = [", ".join(row.choices)] if row.choices else []
        if row.low is not None or row.high is not None:
            low, high = ("" if bound is None else f"{bound:g}" for bound in (row.low, row.high))
            notes.append(f"{low} to {high}" if low and high else f"at least {low}" if low else f"at most {high}")
        if row.changeable:
            notes.append("may change at run time")
        kind = row.type.name.lower().replace("_", " ")
        rows.append((f"`{row.name}`", kind, default, row.description, "; ".join(notes)))
    return _table(("parameter", "type", "default", "what it does", "values"), rows)


def _arguments(graph: Graph) -> str:
    rows = [
        (
            f"`{argument.name}:=`",
            "must be given" if argument.default is None else f"`{argument.default}`" if argument.default else "",
            argument.description,
            ", ".join(filter(None, argument.choices)),
        )
        for argument in graph.arguments
    ]
    return _table(("argument", "default", "what it does", "choices"), rows)


def _name(node: str, end: Endpoint) -> str:
    return f"{node} ({end.when})" if end.when else node


def _plain(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else repr(value) if isinstance(value, str) else str(value)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(head)} |", f"|{' --- |' * len(head)}"]
    lines += [f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in rows]
    return "\n".join(lines)


_MAKERS: dict[str, Callable[[], str]] = {
    "flow-chart": flow_chart,
    "topics": topics_table,
    "services": services_table,
    "parameters": parameters,
}
