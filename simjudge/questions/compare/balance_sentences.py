"""Whether like contexts of both sets hold like objects, and whether performance is adjusted to them, in a sentence."""

from __future__ import annotations

from collections.abc import Iterator

from simjudge.method.balance import UNBALANCED
from simjudge.page.number_format import format_number
from simjudge.results.saved_result import Result

_OBJECTS = {
    "log box area": ("smaller", "larger"),
    "log aspect": ("narrower", "wider"),
    "truncated": ("less often cut off by the image's edge", "more often cut off by the image's edge"),
    "visible share": ("more hidden", "less hidden"),
    "log distance": ("nearer", "farther away"),
}
"""Covariate to what B's objects are where theirs is less, and where it is more."""


def balance_sentence(result: Result) -> str:
    """Write how unlike the objects of like contexts are.

    Returns:
        A sentence about the class whose objects are most unlike; empty where all are alike.
    """
    unlike = sorted(_unlike_classes(result), key=lambda item: -abs(item[2]))
    if not unlike:
        return ""
    key, covariate, difference = unlike[0]
    names, balance = result.header.get("class_names") or {}, result.header["balance"]
    less, more = _OBJECTS.get(covariate, (f"of less {covariate}", f"of more {covariate}"))
    of_class = f" of class {names.get(key, key)}" if len(balance) > 1 else ""
    others = f"; {len(unlike) - 1} more classes are unlike too" if len(unlike) > 2 else ""
    others = "; another class is unlike too" if len(unlike) == 2 else others
    done = (
        "performance is adjusted to like objects"
        if balance[key]["adjusted"]
        else "performance could not be adjusted to that, so W1 holds it too"
    )
    return (
        f"Within batches B's objects{of_class} are {less if difference > 0 else more} than A's "
        f"({format_number(abs(difference), 1)} standard deviations of {covariate}){others}: {done}."
    )


def _unlike_classes(result: Result) -> Iterator[tuple[str, str, float]]:
    """Class, covariate and difference (A less B) where it is above the limit; the largest of each class."""
    for key, found in (result.header.get("balance") or {}).items():
        largest = max(found["differences"].items(), key=lambda item: abs(item[1]), default=None)
        if largest is not None and abs(largest[1]) > UNBALANCED:
            yield key, *largest
