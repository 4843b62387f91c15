"""What `make docs` adds to the pages of docs/: pages made from the code, pages and files that stand outside docs/.

mkdocs calls the functions that begin with `on_`. Links in the pages are written for a reader of the repository; a link
that leaves docs/ is turned to the copy of its target in the site.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from posixpath import normpath, relpath

import typer
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from simjudge.commands.app import app
from simjudge.core.settings import by_group, declared, markdown_table
from simjudge.judging.compare_settings import CompareSettings, SweepSettings

ROOT = Path(__file__).resolve().parents[1]
ROOT_PAGES = ("CONTRIBUTING.md", "ARCHITECTURE.md", "CHANGELOG.md")
"""Pages at the repository's root that are pages of the site too, under the same name."""
COPIES = "files"
"""The folder of the site for linked files that are no pages of it."""
LINK = re.compile(r"(?<=\]\()(?!\w+:|#|/)([^)\s#]+)")
SETTINGS_INTRODUCTION = """# Settings of a comparison

One declaration (`simjudge/core/settings.py`) gives the options of `simjudge compare` and its `--sweep`, the
arguments of the Python functions of the same names, the parameters of the validation node, and the launch arguments. An
option has hyphens where a setting has underscores. [The method](../concepts/method.md) explains the terms.
"""
SCHEMAS_INTRODUCTION = """# JSON schemas

Schemas of the files that people write. An editor that knows YAML checks and completes a file whose first line is
`# yaml-language-server: $schema=PATH`.
"""


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages made from the code, those of the repository's root, and every file that a page links to."""
    for name in ROOT_PAGES:
        files.append(File.generated(config, name, content=(ROOT / name).read_text(encoding="utf-8")))
    files.append(File.generated(config, "reference/commands.md", content=commands_page()))
    files.append(File.generated(config, "reference/settings.md", content=settings_page()))
    files.append(File.generated(config, "reference/schemas.md", content=schemas_page()))
    for name, text in python_pages():
        files.append(File.generated(config, f"reference/python/{name}.md", content=text))
    for target in sorted({t for file in files.documentation_pages() for t in linked_outside(file)}):
        if (ROOT / target).is_file():
            files.append(File.generated(config, f"{COPIES}/{target}", abs_src_path=str(ROOT / target)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Turn the links that leave docs/ to the copies in the site."""
    del config, files
    here = Path(page.file.src_uri).parent.as_posix()
    return LINK.sub(lambda link: relpath(in_site(link.group(1), page.file.src_uri), here), markdown)


def linked_outside(file: File) -> Iterator[str]:
    """The files outside docs/ that a page links to, from the repository's root."""
    for link in LINK.findall(file.content_string):
        target = in_site(link, file.src_uri)
        if target.startswith(f"{COPIES}/"):
            yield target.removeprefix(f"{COPIES}/")


def in_site(link: str, source: str) -> str:
    """Where the site has what a link of a page leads to.

    Args:
        link: a relative link, without a fragment, as it stands in the page.
        source: the page: its path in docs/, or the name of one of `ROOT_PAGES`.

    Returns:
        The path in the site's sources.
    """
    folder = "" if source in ROOT_PAGES else f"docs/{Path(source).parent.as_posix()}"
    target = normpath(f"{folder}/{link}" if folder else link)
    if target.startswith("docs/"):
        return target.removeprefix("docs/")
    return target if target in ROOT_PAGES else f"{COPIES}/{target}"


def commands_page() -> str:
    """The page of all commands with their arguments and options, as the program itself knows them."""
    lines = ["# Commands", "", "Made from the program: `simjudge COMMAND --help` prints the same.", ""]
    lines.append(
        "Exit codes: 0 done; 1 failed; 2 wrong usage; 3 done, but some input was lost. A message names the loss."
    )
    for name, command in commands(typer.main.get_command(app), "simjudge"):
        positional = " ".join(_placeholder(p) for p in command.params if not p.opts[0].startswith("-"))
        lines += [
            "",
            f"## {name}",
            "",
            _escaped(command.help or ""),
            "",
            f"```\n{name} {positional} [options]\n```",
            "",
        ]
        panels: dict[str, list[str]] = {}
        for parameter in command.params:
            if not getattr(parameter, "hidden", False):
                panels.setdefault(getattr(parameter, "rich_help_panel", None) or "", []).append(_row(parameter))
        for panel, rows in panels.items():
            lines += [f"{panel}:", ""] if panel else []
            lines += ["| argument or option | default | what it is |", "| --- | --- | --- |", *rows, ""]
    return "\n".join(lines)


def commands(group: typer.core.TyperGroup, name: str) -> Iterator[tuple[str, typer.core.TyperCommand]]:
    """Every command below a group, with the words that call it."""
    for word, command in group.commands.items():
        if isinstance(command, typer.core.TyperGroup):
            yield from commands(command, f"{name} {word}")
        else:
            yield f"{name} {word}", command


def _placeholder(parameter: object) -> str:
    name = str(parameter.metavar or parameter.name).upper()
    return name if parameter.required else f"[{name}]"


def _row(parameter: object) -> str:
    names = ", ".join(f"`{flag}`" for flag in (*parameter.opts, *parameter.secondary_opts))
    if not parameter.opts[0].startswith("-"):
        names = f"`{_placeholder(parameter)}`"
    default = "required" if parameter.required else _default(parameter.default)
    return f"| {names} | {default} | {_escaped(parameter.help or '')} |"


def _default(value: object) -> str:
    if value is None or value is False or value == "" or callable(value):
        return ""
    return f"`{getattr(value, 'value', value)}`"


def _escaped(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip().replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*")


def settings_page() -> str:
    """The page of the method's settings, from their one declaration."""
    compared, swept = declared(CompareSettings), declared(SweepSettings)
    more = [row for row in swept if row.name not in {common.name for common in compared}]
    tables = [f"## {group}\n\n{markdown_table(rows)}\n" for group, rows in by_group(compared).items()]
    return "\n".join([SETTINGS_INTRODUCTION, *tables, f"## Of a sweep\n\n{markdown_table(more)}\n"])


def schemas_page() -> str:
    """The page of the JSON schemas in config/schema, each linked to its copy."""
    names = sorted(path.name for path in (ROOT / "config/schema").glob("*.json"))
    links = [f"* [{name}](../../config/schema/{name})" for name in names] or ["There are none yet."]
    return "\n".join([SCHEMAS_INTRODUCTION, *links, ""])


def python_pages() -> Iterator[tuple[str, str]]:
    """For the package and for each of its rooms, a page that mkdocstrings fills in."""
    rooms = sorted(p.parent.name for p in (ROOT / "simjudge").glob("*/__init__.py"))
    yield "simjudge", "# simjudge\n\n::: simjudge\n    options:\n      show_submodules: false\n"
    for room in rooms:
        yield room, f"# simjudge.{room}\n\n::: simjudge.{room}\n    options:\n      show_root_heading: false\n"
