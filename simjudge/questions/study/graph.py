"""The order in which the steps of a study can run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from graphlib import CycleError, TopologicalSorter

from simjudge.core.errors import SimjudgeError


def sort_steps(needs: Mapping[str, Sequence[str]]) -> list[str]:
    """Put steps behind those that they need; steps that do not need each other keep their order.

    Args:
        needs: by step, the steps that it needs.

    Raises:
        SimjudgeError: steps need each other in a circle; the message has it.
    """
    sorter = TopologicalSorter(needs)
    try:
        sorter.prepare()
    except CycleError as error:
        circle = list(reversed(error.args[1]))
        raise SimjudgeError(f"steps need each other in a circle: {' needs '.join(circle)}") from None
    places = {name: place for place, name in enumerate(needs)}
    order: list[str] = []
    ready = list(sorter.get_ready())
    while ready:
        ready.sort(key=places.__getitem__)
        order.append(ready.pop(0))
        sorter.done(order[-1])
        ready.extend(sorter.get_ready())
    return order


def steps_behind(name: str, needs: Mapping[str, Sequence[str]]) -> list[str]:
    """The steps that need a step, directly or through others.

    Args:
        name: of the step.
        needs: by step, the steps that it needs; in an order in which they can run.
    """
    behind = {name}
    for step, needed in needs.items():
        if behind.intersection(needed):
            behind.add(step)
    return [step for step in needs if step in behind and step != name]
