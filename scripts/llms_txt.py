"""llms.txt: the pages of the documentation with their first sentences, for assistants that read before they answer."""

from __future__ import annotations

import re
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[1]
SECTIONS = ("Start", "Guides", "Concepts", "Reference", "Measurements")


def files() -> dict[Path, str]:
    """What llms.txt should say."""
    site = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    navigation = yaml.safe_load(site[site.index("\nnav:") :])["nav"]
    sections = {title: pages for part in navigation for title, pages in part.items()}
    lines = ["# simjudge", "", f"> {first_sentence(ROOT / 'README.md', bold=True)}", ""]
    lines += ["How to use it in ten lines: [SKILL.md](SKILL.md).", ""]
    for title in SECTIONS:
        lines += [f"## {title}", ""]
        for page in sections[title]:
            path = ROOT / "docs" / page
            if path.exists():  # others are made while the site is built
                said = first_sentence(path)
                lines.append(f"- [{heading(path)}](docs/{page})" + (f": {said}" if said else ""))
        lines.append("")
    return {ROOT / "llms.txt": "\n".join(lines)}


def heading(path: Path) -> str:
    """The first heading of a page."""
    found = re.search(r"(?m)^# (.+)$", path.read_text(encoding="utf-8"))
    if not found:
        raise SystemExit(f"{path}: has no heading")
    return found[1]


def first_sentence(path: Path, *, bold: bool = False) -> str:
    """How a page begins, without links; of the README the sentence in bold, which its pictures precede."""
    text = re.sub(r"(?s)```.*?```|(?m:^#[^\n]*$)", "", path.read_text(encoding="utf-8"))
    paragraphs = [" ".join(part.split()) for part in text.split("\n\n") if part.strip()]
    prose = next(part for part in paragraphs if part.startswith("**")) if bold else next(iter(paragraphs), "")
    if prose.startswith(("|", "* ", "- ", "![")):
        return ""
    prose = re.sub(r"!?\[([^\]]+)\]\([^)]*\)", r"\1", prose).replace("**", "")
    return re.split(r"(?<=[.:?!])(?<!et al\.)\s", re.sub(r"^\d+\. ", "", prose))[0].rstrip(":")
