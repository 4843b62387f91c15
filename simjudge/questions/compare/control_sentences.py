"""What is said of the control: the same judge between random halves of each set."""

from __future__ import annotations

from simjudge.method.entry_numbers import Control
from simjudge.method.verdicts import Verdict
from simjudge.page.number_format import format_number
from simjudge.questions.compare.sentences import SetNames
from simjudge.results.saved_result import Result


def control_sentence(result: Result) -> str:
    """Write what the judge says between halves of A, and between halves of B, where there is nothing to find.

    Returns:
        Sentences; empty where there is no control.
    """
    names = SetNames.of_result(result)
    called = {"a": names.a, "b": names.b}
    said = [f"{called[side]} against itself {_found(found)}" for side, found in result.control.items()]
    if not said:
        return ""
    suspect = [called[side] for side, found in result.control.items() if 2 * found.gaps > found.splits]
    alarm = (
        f" {' and '.join(suspect)} should not differ from {'itself' if len(suspect) == 1 else 'themselves'}: what is "
        "drawn independently is smaller than it seems (see --unit and --block), and p above is not to be trusted."
    )
    return f"{'; '.join(said)}.{alarm if suspect else ''}"


def _found(found: Control) -> str:
    numbers = found.entry
    if numbers.verdict == Verdict.NO_OVERLAP or numbers.gap is None:
        return "has nothing in common to compare"
    if numbers.verdict == Verdict.TOO_FEW:
        return f"is too little to be halved ({numbers.units_a:,} and {numbers.units_b:,} independent units)"
    return (
        f"shows a gap in {found.gaps} of {found.splits} splits into random halves (median "
        f"{format_number(numbers.gap)}, 95 %: up to {format_number(numbers.gap_high)})"
    )
