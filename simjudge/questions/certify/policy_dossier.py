"""A dossier of comparisons of policies: the trials as text, the results, their pages, and a script that checks them."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from simjudge.core.errors import SimjudgeError
from simjudge.core.files import atomic_folder
from simjudge.page.html import write_page
from simjudge.questions.certify import check_policies
from simjudge.questions.policies.page import render_policies_page
from simjudge.questions.policies.result import headline, lead, load_policies
from simjudge.results.saved_result import POLICIES

SCRIPT, PAGE = "verify.py", "index.html"


def write_policy_dossier(folders: Sequence[Path], out: Path, title: str) -> list[str]:
    """Write a dossier; what it says, a line a result."""
    said = []
    with atomic_folder(out, overwrite=True) as temporary:
        for folder in folders:
            saved = load_policies(folder)
            if saved.trials is None:
                raise SimjudgeError(f"{folder}: was made by another simjudge, which kept no trials; compare again")
            part = temporary / "results" / saved.name
            if part.exists():
                raise SimjudgeError(f"{folder}: another result is called {saved.name} too; rename one")
            part.mkdir(parents=True)
            shutil.copyfile(folder / POLICIES, part / POLICIES)
            saved.trials.write(part / check_policies.TRIALS)
            if wrong := check_policies.wrong_numbers(part):
                raise SimjudgeError(
                    f"{folder}: {POLICIES} does not say what its trials give: {wrong[0]}; compare again"
                )
            write_page(part / PAGE, render_policies_page(saved, title))
            said.append(f"{saved.name}: {headline(saved)}. {lead(saved)}")
        seal_dossier(temporary, Path(check_policies.__file__))
    return said


def seal_dossier(folder: Path, script: Path) -> None:
    """Put the script beside the results, and the digests of all files into the manifest."""
    shutil.copyfile(script, folder / SCRIPT)
    files = sorted(file.relative_to(folder).as_posix() for file in folder.rglob("*") if file.is_file())
    lines = [f"{check_policies.sha256(folder / name)}  {name}\n" for name in files]
    (folder / check_policies.MANIFEST).write_text("".join(lines), encoding="utf-8")
