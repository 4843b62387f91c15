"""Parts of docs/reference/ros.md made from the description: topics, services, arguments, parameters."""

from __future__ import annotations

import importlib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from simjudge.core.errors import SimjudgeError
from simjudge.core.settings import declared
from simjudge.judging.compare_settings import CompareSettings
from simjudge.ros.graphs import GRAPHS
from simjudge.ros.node_interfaces import CAMERA, DIAGNOSTICS, LATCHED, NODES, RECORDED, RELIABLE, Endpoint

_BLOCK = re.compile(r"(<!-- made: ([\w-]+) -->\n)(.*?)(<!-- end -->)", re.DOTALL)
_QOS_LABELS = {CAMERA: "camera", RELIABLE: "reliable", LATCHED: "reliable, transient local", RECORDED: "as recorded"}
_COMPARED = frozenset(row.name for row in declared(CompareSettings))
"""Settings of a comparison: the page of settings has them."""


def regenerate_parts(text: str) -> str:
    """A page with every part between `<!-- made: NAME -->` and `<!-- end -->` made anew."""

    def made(found: re.Match[str]) -> str:
        name = found.group(2)
        if name not in _MAKERS:
            raise SimjudgeError(f"nothing makes the part {name} of the page")
        return f"{found.group(1)}{_MAKERS[name]()}\n{found.group(4)}"

    return _BLOCK.sub(made, text)


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
    """The parameter tables of all nodes, what several share first; needs rclpy, where parameters are declared.

    Those that are arguments of a graph, in the same words, stand in its table alone.
    """
    said = {(f"`{argument.name}`", argument.description) for graph in GRAPHS.values() for argument in graph.arguments}
    rows = {node: [row for row in _parameters(node) if (row[0], row[2]) not in said] for node in NODES}
    shared = [row for row, count in Counter(row for each in rows.values() for row in each).items() if count > 1]
    head = ("parameter", "default, values", "what it does")
    tables = {"Shared by several nodes": shared}
    tables |= {node: [row for row in each if row not in shared] for node, each in rows.items()}
    return "\n\n".join(f"### {name}\n{_table(head, each)}" for name, each in tables.items() if each)


def _parameters(node: str) -> list[tuple[str, str, str]]:
    module = importlib.import_module(f"simjudge.nodes.{node}")
    found = next(member for member in vars(module).values() if getattr(member, "NAME", "") == node)
    rows = []
    for row in found.PARAMETERS:
        if row.name in _COMPARED:
            continue
        empty = row.type.name.lower().replace("_", " ")
        default = "required" if row.required else empty if row.default in (None, "") else f"`{_plain(row.default)}`"
        notes = ["/".join(row.choices)] if row.choices else []
        if row.low is not None or row.high is not None:
            low, high = ("" if bound is None else f"{bound:g}" for bound in (row.low, row.high))
            notes.append(f"{low}..{high}")
        if row.changeable:
            notes.append("live")
        rows.append((f"`{row.name}`", ", ".join((default, *notes)), row.description))
    return rows


def arguments() -> str:
    """The launch arguments of all graphs, each once."""
    graphs: dict[tuple[str, str, str], list[str]] = {}
    for graph in GRAPHS.values():
        for argument in graph.arguments:
            if argument.name in _COMPARED:
                continue
            default = "required" if argument.default is None else f"`{argument.default}`" if argument.default else ""
            values = ", ".join(filter(None, (default, "/".join(filter(None, argument.choices)))))
            graphs.setdefault((f"`{argument.name}`", values, argument.description), []).append(graph.name)
    rows = [
        (row[0], "all" if len(names) == len(GRAPHS) else ",".join(names), *row[1:]) for row, names in graphs.items()
    ]
    return _table(("argument", "graphs", "default, choices", "what it does"), rows)


def _name(node: str, end: Endpoint) -> str:
    return f"{node} ({end.when})" if end.when else node


def _plain(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else repr(value) if isinstance(value, str) else str(value)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(head)} |", f"|{' --- |' * len(head)}"]
    lines += [f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in rows]
    return "\n".join(lines)


_MAKERS: dict[str, Callable[[], str]] = {
    "arguments": arguments,
    "topics": topics_table,
    "services": services_table,
    "parameters": parameters,
}
