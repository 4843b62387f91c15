"""How long the rest of a study will take, by the steps that are done."""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from statistics import fmean

from simjudge.questions.study.records import StepRecord

_MOST_UNSEEN = 0.2
"""Share of the missing steps that may have a verb of which no step is done."""


def seconds_left(
    missing: Mapping[str, Sequence[str]], verbs: Mapping[str, str], done: Sequence[StepRecord], jobs: int
) -> float | None:
    """The time of steps that are missing, done by so many jobs as soon as what they need is there.

    A step is taken to need the mean time of the steps done with its verb, or of all where there is none. What steps of
    one verb took says little of those of others: while too many of the missing ones have a verb that was not seen yet,
    no time is told.

    Args:
        missing: what each step that is missing needs, in an order in which they can run.
        verbs: by step.
        done: the steps that are done.
        jobs: steps that are done at one time.

    Returns:
        Seconds; None where nobody can know.
    """
    times = {verb: fmean(each.seconds for each in done if each.verb == verb) for verb in {d.verb for d in done}}
    if sum(verbs[name] not in times for name in missing) > _MOST_UNSEEN * len(missing):
        return None
    usual = fmean(each.seconds for each in done) if done else 0.0
    free = [0.0] * max(jobs, 1)
    ends: dict[str, float] = {}
    for name, needs in missing.items():
        begin = max([heapq.heappop(free), *(ends[each] for each in needs if each in ends)])
        ends[name] = begin + times.get(verbs[name], usual)
        heapq.heappush(free, ends[name])
    return max(ends.values(), default=0.0)


def most_at_once(missing: Mapping[str, Sequence[str]]) -> int:
    """How many steps are ever ready together, where all take the same time.

    Args:
        missing: what each step that is missing needs, in an order in which they can run.
    """
    level: dict[str, int] = {}
    for name, needs in missing.items():
        level[name] = max((level[each] + 1 for each in needs if each in level), default=0)
    counts = list(level.values())
    return max((counts.count(each) for each in set(counts)), default=0)
