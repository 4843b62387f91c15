"""The sentence that says where two sets differ most."""

from __future__ import annotations

from made_results import INVENTED, KINDS

from simjudge.method.kinds import KindDifferences
from simjudge.questions.compare.facts import invented_sentence, where_sentence


def kinds(**changes: object) -> KindDifferences:
    return KindDifferences.from_json(KINDS | changes)


def test_the_largest_difference_beyond_chance_is_named() -> None:
    assert where_sentence(kinds()).replace("\u00a0", " ") == (
        "Largest difference, B minus A: under 24 px high, on the left: −0.211 (95 %: −0.290 to −0.132), p = 0.002 over "
        "84 kinds of contexts. Over all contexts: −0.052 (95 %: −0.080 to −0.024)."
    )


def test_no_kind_is_named_by_chance() -> None:
    by_chance = [kind | {"p": 0.3} for kind in KINDS["kinds"]]
    assert where_sentence(kinds(kinds=by_chance)) == "No kind of context stands out, of 84 that were tested together."
    assert where_sentence(kinds(tested=0, kinds=[])) == ""
    assert where_sentence(None) == ""


def test_where_inventions_differ_most_is_named() -> None:
    found = KindDifferences.from_json(INVENTED)
    assert invented_sentence(found).replace("\u00a0", " ") == (
        "Largest difference: nothing labelled near: an invention in 1 % of A and 6 % of B, p = 0.003 over 12 kinds of "
        "places; an invention in 3 % of A and 7 % of B over all places."
    )
    by_chance = KindDifferences.from_json(INVENTED | {"kinds": []})
    assert invented_sentence(by_chance).startswith("No kind of place stands out, of 12 that were tested together: ")
    assert invented_sentence(None) == ""
