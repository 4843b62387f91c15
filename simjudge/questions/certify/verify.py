"""Check a dossier of simjudge: `python -I verify.py [FOLDER]`. It needs Python 3.10 or later, NumPy, and nothing else.

Each file must be the one that manifest.sha256 names, and none that a dossier does not have. Then everything that a
result says is computed again from the tables beside it and compared, leaf by leaf; what is taken from elsewhere is
named at the end. Exit code 0: everything agrees; 1: something does not.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from simjudge.questions.certify.check_contexts import TAKEN_COMPARISON, UNCHECKED_CONTEXTS, recompute_comparison
from simjudge.questions.certify.check_files import (
    FACTS,
    MANIFEST,
    PAGE,
    SCRIPT,
    UNREADABLE,
    Json,
    RefusedError,
    differences,
    files_of,
    read_json,
    said_of,
    wrong_files,
)
from simjudge.questions.certify.check_joint import (
    TAKEN_PRICE,
    TAKEN_RANKING,
    UNCHECKED_JOINT,
    recompute_price,
    recompute_ranking,
)
from simjudge.questions.certify.check_points import TAKEN_POINTS, UNCHECKED_POINTS, recompute_points
from simjudge.questions.certify.check_policies import TAKEN_POLICIES, UNCHECKED_POLICIES, recompute_policies
from simjudge.questions.certify.check_statistics import holm


@dataclass(frozen=True)
class CheckedKind:
    """A kind of result: what gives its numbers, from which files, what is taken as it is, what nothing tells."""

    recompute: Callable[[Path, Json], tuple[Json, list[str]]]
    taken: tuple[str, ...]
    files: tuple[str, ...]
    unchecked: tuple[str, ...]


_POINTS = CheckedKind(recompute_points, TAKEN_POINTS, ("samples.*", "poses.parquet", PAGE), UNCHECKED_POINTS)
_JOINT = ("contexts-*.csv", PAGE), (*UNCHECKED_CONTEXTS, *UNCHECKED_JOINT)
CHECKED_KINDS = {
    "result.json": CheckedKind(
        recompute_comparison, TAKEN_COMPARISON, ("contexts.csv", "masks.csv"), UNCHECKED_CONTEXTS
    ),
    "ranking.json": CheckedKind(recompute_ranking, TAKEN_RANKING, *_JOINT),
    "label_error.json": CheckedKind(recompute_price, TAKEN_PRICE, *_JOINT),
    "policies.json": CheckedKind(recompute_policies, TAKEN_POLICIES, ("trials.*", PAGE), UNCHECKED_POLICIES),
    "trajectories.json": _POINTS,
    "tracks.json": _POINTS,
}
"""By the file that holds the result."""


def kind_of(folder: Path) -> str:
    """The file that holds the result of a folder."""
    names = [name for name in CHECKED_KINDS if (folder / name).is_file()]
    if len(names) != 1:
        raise RefusedError(f"there must be one of {', '.join(CHECKED_KINDS)}")
    return names[0]


def check_result(folder: Path) -> tuple[list[str], list[str], float | None]:
    """What is found of a result, and what it says that is not found, a line each; p of all classes of a comparison."""
    try:
        name = kind_of(folder)
        kind, said = CHECKED_KINDS[name], read_json(folder / name)
        tree, lines = kind.recompute(folder, said)
        wrong = list(differences(said, tree, kind.taken))
        whole = tree.get("overall", {})
    except UNREADABLE as error:
        return [], [f"cannot be computed: {said_of(error)}"], None
    main = ("verdict", "mean_w1", "w1", "gap", "gap_low", "gap_high", "p_adjusted")
    shown = ", ".join(f"{field} {whole[field]}" for field in main if field in whole)
    return [f"{name}: computed again{': ' * bool(shown)}{shown}", *lines], wrong, whole.get("p_adjusted")


def strange_files(folder: Path) -> list[str]:
    """Files that no dossier has, a line each."""
    known: dict[str, tuple[str, ...]] = {"": (FACTS, PAGE, SCRIPT)}
    for part in results_of(folder):
        name = kind_of(part)
        known[f"results/{part.name}"] = (name, *CHECKED_KINDS[name].files)
    places = ((name, *name.rpartition("/")[::2]) for name in files_of(folder))
    return [
        f"{name} is no file of a dossier"
        for name, place, file in places
        if not any(fnmatchcase(file, pattern) for pattern in known.get(place, ()))
    ]


def results_of(folder: Path) -> list[Path]:
    """The folders of the results."""
    return sorted(path for path in (folder / "results").glob("*") if path.is_dir())


def check_dossier(folder: Path) -> tuple[list[str], list[str]]:
    """What was found, and what is wrong; a line each."""
    if wrong := wrong_files(folder):
        return [], [*wrong, "the files are not those of the dossier; nothing was computed"]
    lines, names = [f"every file is the one that {MANIFEST} names"], [path.name for path in results_of(folder)]
    try:
        wrong, facts = strange_files(folder), read_json(folder / FACTS)
    except UNREADABLE as error:
        return lines, [f"the dossier cannot be read: {said_of(error)}"]
    if not names or facts.get("results") != names:
        wrong.append(f"{FACTS} names the results {facts.get('results')}, there are {names or 'none'}")
    taken, unchecked, p = dict[str, None](), dict[str, None](), dict[str, float]()
    for path in results_of(folder):
        found, differ, own = check_result(path)
        lines += [f"{path.name}, {line}" for line in found]
        wrong += [f"{path.name}, {line}" for line in differ]
        kind = CHECKED_KINDS[kind_of(path)]
        unchecked |= dict.fromkeys(kind.unchecked)
        taken[f"{kind_of(path)}: {', '.join(kind.taken)}"] = None
        p |= {} if own is None else {path.name: own}
    lines += [f"{name}, p corrected for all results here (Holm): {each:.6g}" for name, each in holm(p).items()]
    lines += [f"NOT CHECKED: {line}" for line in unchecked]
    lines += [f"TAKEN AS IT IS: {line}" for line in taken]
    return [*lines, f"NOT CHECKED: {PAGE}: simjudge report --dossier --check makes it again"], wrong


def main() -> int:
    """Check a dossier, and print what was found and what is wrong."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent).resolve()
    lines, wrong = check_dossier(folder)
    for line in [*lines, *(f"WRONG: {line}" for line in wrong)]:
        print(line)
    print("everything that is checked agrees" if not wrong else f"{len(wrong)} things are wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
