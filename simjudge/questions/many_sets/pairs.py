"""Which comparisons of many sets are made: every ordered pair, or those that are named, for each net."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Any

from simjudge.core.errors import UsageError
from simjudge.core.text import nearest_name

DOMAINS = ("real", "sim")
"""What a set may be of."""
_PAIR, _PAIR_AND_NET = 2, 3


@dataclass(frozen=True)
class WantedComparison:
    """One comparison: how well B predicts A, as a net sees it."""

    a: str
    b: str
    net: str


def check_names(predictions: Mapping[str, Mapping[str, Any]], domains: Mapping[str, str], nets: list[str]) -> None:
    """Refuse sets and domains that do not go together."""
    if len(predictions) < _PAIR or not nets:
        raise UsageError("predictions: two sets or more are needed, each with the predictions of a net")
    for name in predictions:
        if domains.get(name) not in DOMAINS:
            raise UsageError(f"domains: {name} needs one of {' and '.join(DOMAINS)}")
    for name in domains:
        if name not in predictions:
            raise UsageError(f"domains: {name} is no set{nearest_name(name, predictions)}")


def wanted_comparisons(
    predictions: Mapping[str, Any], nets: list[str], pairs: Sequence[Sequence[str]] | None
) -> list[WantedComparison]:
    """The comparisons to make, each once.

    Args:
        pairs: each [A, B], for all nets, or [A, B, net]; None for every ordered pair.
    """
    if pairs is None:
        every = [WantedComparison(a, b, net) for a, b in permutations(predictions, 2) for net in nets]
        return _predicted(every, predictions)
    wanted: list[WantedComparison] = []
    known = frozenset(predictions)
    if not pairs:
        raise UsageError("pairs: names no comparison; leave it out for every ordered pair")
    for pair in pairs:
        a, b = two_sets(list(pair)[:_PAIR], known, "pairs")
        chosen = list(pair)[_PAIR:] or nets
        if len(pair) > _PAIR_AND_NET or chosen[0] not in nets:
            raise UsageError(f"pairs: {', '.join(map(str, pair))}: give two sets, or two sets and a net")
        wanted.extend(WantedComparison(a, b, net) for net in chosen)
    return _predicted(list(dict.fromkeys(wanted)), predictions)


def two_sets(pair: Sequence[str], known: frozenset[str], label: str) -> tuple[str, str]:
    """Two different sets."""
    for name in pair:
        if name not in known:
            raise UsageError(f"{label}: {name} is no set{nearest_name(str(name), known)}")
    if len(pair) != _PAIR or pair[0] == pair[1]:
        raise UsageError(f"{label}: {', '.join(pair)}: two different sets are needed")
    return pair[0], pair[1]


def domain_kind(each: WantedComparison, domains: Mapping[str, str]) -> str:
    """The domains of a pair, whatever its direction: "real-sim"."""
    return "-".join(sorted((domains[each.a], domains[each.b])))


def _predicted(wanted: list[WantedComparison], predictions: Mapping[str, Any]) -> list[WantedComparison]:
    """The comparisons, unless a set lacks the predictions of a net that one of them needs."""
    for each in wanted:
        for name in (each.a, each.b):
            if each.net not in predictions[name]:
                raise UsageError(f"predictions: {name} has none of net {each.net}, which it is to be compared for")
    return wanted
