"""The comparisons that the steps of a study have made, in the order of the steps."""

from __future__ import annotations

from simjudge.questions.study.run import StudyResult
from simjudge.results.gap_limit import NamedComparison
from simjudge.results.many_sets_result import load_many_sets
from simjudge.results.result_folder import RESULT, SETS
from simjudge.results.saved_result import load_result


def study_comparisons(result: StudyResult) -> list[NamedComparison]:
    """Read the comparisons of a study, single ones and those of many sets.

    Args:
        result: what was done.

    Raises:
        SimjudgeError: a result cannot be read.
    """
    found: list[NamedComparison] = []
    for step in result.steps:
        if (step.path / RESULT).is_file():
            found.append(NamedComparison(step.name, load_result(step.path).entries))
        elif (step.path / SETS).is_file():
            found += [
                NamedComparison(f"{step.name}: {one.net}, {one.b} predicts {one.a}", one.entries)
                for one in load_many_sets(step.path).comparisons
            ]
    return found
