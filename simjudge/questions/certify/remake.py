"""Check a dossier with simjudge: its numbers by the script's own source, and its page, script and tables made again."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

from simjudge.core.errors import SimjudgeError
from simjudge.core.installed import version
from simjudge.core.text import Json
from simjudge.questions.certify import check, check_joint, check_points, check_policies
from simjudge.questions.certify.dossier_page import (
    PAGE,
    SCRIPT,
    CertifiedInput,
    RenderingOrigin,
    render_dossier_page,
    write_trials,
)
from simjudge.questions.certify.joint_dossier import holds_joint, joint_page
from simjudge.questions.certify.point_dossier import holds_points, shown_points, write_samples
from simjudge.questions.certify.script import compose_script, isolated_script
from simjudge.questions.policies.page import render_policies_page
from simjudge.questions.policies.result import load_policies
from simjudge.results.result_fields import read_result
from simjudge.results.saved_result import POLICIES, RESULT, TRIALS, comparison_from_content

Check = Callable[[Path], tuple[list[str], list[str]]]


def check_again(folder: Path) -> tuple[list[str], list[str]]:
    """What was found in a dossier, and what is wrong; a line each."""
    try:
        facts = check.read_json(folder / check.FACTS)
        parts = sorted(path for path in (folder / "results").iterdir() if path.is_dir())
        find, modules, made = _kind(parts)
        lines, wrong = find(folder)
        if wrong:
            return lines, wrong
        if facts.get("simjudge") != version() or "title" not in facts:
            other = f"made by simjudge {facts.get('simjudge')}; this is {version()}, whose pages and scripts may differ"
            return [*lines, f"NOT CHECKED: page and script, {other}"], wrong
        texts = {SCRIPT: _script(modules), **dict(made(folder, parts, facts))}
        for name, text in texts.items():
            if (folder / name).read_bytes() != text.encode():
                wrong.append(f"{name} is not what simjudge makes of the results")
    except (*check.UNREADABLE, SimjudgeError) as error:
        return [], [f"the dossier cannot be read: {check.said_of(error)}"]
    return [*lines, f"made again, byte by byte: {', '.join(texts)}"], wrong


def _script(modules: tuple[ModuleType, ...]) -> str:
    if len(modules) > 1:
        return compose_script(modules)
    return isolated_script(Path(str(modules[0].__file__)).read_text(encoding="utf-8"))


Made = Callable[[Path, list[Path], Json], Iterator[tuple[str, str]]]


def _kind(parts: list[Path]) -> tuple[Check, tuple[ModuleType, ...], Made]:
    """What checks the numbers of a dossier, what its script is put together from, and what is made again."""
    if parts and all((part / POLICIES).is_file() for part in parts):
        return check_policies.check_policy_dossier, (check, check_policies), _of_policies
    if parts and all(map(holds_points, parts)):
        return check_points.check_point_dossier, (check, check_points), _of_points
    if parts and all(map(holds_joint, parts)):
        return check_joint.check_joint_dossier, (check, check_joint), _of_joint
    return check.check_dossier, (check,), _of_comparisons


def _of_policies(folder: Path, parts: list[Path], facts: Json) -> Iterator[tuple[str, str]]:
    for part in parts:
        yield (part / PAGE).relative_to(folder).as_posix(), render_policies_page(load_policies(part), facts["title"])
        with tempfile.TemporaryDirectory() as temporary:
            written = Path(temporary) / check_policies.TRIALS
            write_trials(part / TRIALS, written)
            yield (part / check_policies.TRIALS).relative_to(folder).as_posix(), written.read_bytes().decode()


def _of_points(folder: Path, parts: list[Path], facts: Json) -> Iterator[tuple[str, str]]:
    for part in parts:
        page, _, samples = shown_points(part, facts["title"])
        yield (part / PAGE).relative_to(folder).as_posix(), page
        with tempfile.TemporaryDirectory() as temporary:
            written = Path(temporary) / check_points.SAMPLES
            write_samples(written, samples)
            yield (part / check_points.SAMPLES).relative_to(folder).as_posix(), written.read_bytes().decode()


def _of_joint(folder: Path, parts: list[Path], facts: Json) -> Iterator[tuple[str, str]]:
    yield PAGE, joint_page(folder, [part.name for part in parts], facts["title"])


def _of_comparisons(folder: Path, _: list[Path], facts: Json) -> Iterator[tuple[str, str]]:
    named = facts["results"]
    results = [
        comparison_from_content(read_result(path / RESULT), None, path.name, path)
        for path in (folder / "results" / each["name"] for each in named)
    ]
    inputs = [[_input(side) for side in each["inputs"]] for each in named]
    unseen = [int(each["performance_not_of_boxes"]) for each in named]
    yield PAGE, render_dossier_page(results, inputs, check.seal(folder), unseen, facts)


def _input(said: Json) -> CertifiedInput:
    rendered = said["rendered"]
    return CertifiedInput(**said | {"rendered": None if rendered is None else RenderingOrigin(**rendered)})
