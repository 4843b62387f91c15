"""The test files that a change can break, one a line: those that import what differs from a commit, however indirectly.

scripts/changed_tests.py [COMMIT] [--always START...]. Without a commit: the last release's tag, or what .ci/base names,
which `make test-all` writes. Imports are those of grimp, import-linter's library; names of modules in strings, commands
called by their verb and nodes by their name count too. What no import tells, a YAML file or a pin, changes all tests.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import grimp

import simjudge
from simjudge.commands.app import BEFORE, entries

ROOT = Path(__file__).parents[1]
DOTTED = re.compile(r"\b(?:simjudge|nodes)(?:\.\w+)+")
LITERAL = re.compile(r"""["']((?:simjudge|nodes)(?:\.\w+)+)["']""")
IMPORTED = re.compile(r"^\s*from (\S+) import (\([^)]*\)|.*)$|^\s*import (\w+)", re.MULTILINE)
RUNS_COMMANDS = re.compile(r"""support|commands\.app|simjudge\.cli|["']simjudge["']|\$ simjudge|make """)
CALLED = re.compile(r"""(?:["']|\bsimjudge )([a-z-]+)(?=["'\s])""")
PAGES = re.compile(r"docs/.*|[^/]*\.(md|rst|cff|txt)|LICENSE|mkdocs\.yml|\.ci/.*|\.github/.*|\.gitignore")
READ_THE_TREE = ("test/docs/", "test/test_")
"""Tests of pages, and those that look at the whole repository."""


class Imports:
    """Which modules of the library and the nodes each of them imports, directly or not."""

    def __init__(self) -> None:
        sys.path.insert(0, str(ROOT))  # where nodes/ is found
        self.found: dict[str, set[str]] = {}
        self.graph = grimp.build_graph("simjudge", "nodes")
        for module in sorted(self.graph.modules):
            text = self.path(module).read_text(encoding="utf-8")
            named = self.known(LITERAL.findall(text)) if module != "simjudge" else set()
            if "__path__" in text or ("import_module(f" in text and self.path(module).name == "__init__.py"):
                named |= self.graph.find_descendants(module) if module != "simjudge" else set()
            for other in named - {module}:
                self.graph.add_import(importer=module, imported=other)

    @staticmethod
    def path(module: str) -> Path:
        """The file of a module."""
        place = ROOT / module.replace(".", "/")
        return place / "__init__.py" if place.is_dir() else place.with_suffix(".py")

    def known(self, names: Iterable[str]) -> set[str]:
        """The modules that dotted names begin with, and the packages that hold them."""
        found = set()
        for name in names:
            parts = re.sub(r"^simjudge\.nodes\b", "nodes", name).split(".")
            found |= {".".join(parts[:end]) for end in range(1, len(parts) + 1)} - {"simjudge"}
        return found & self.graph.modules

    def below(self, module: str) -> set[str]:
        """A module and all that it imports."""
        if module not in self.found:
            self.found[module] = {module} | self.graph.find_upstream_modules(module)
        return self.found[module]


class Tests:
    """What each test file needs: helpers beside it, modules of the library."""

    def __init__(self, imports: Imports) -> None:
        self.imports = imports
        files = sorted((ROOT / "test").rglob("*.py"))
        self.text = {file: file.read_text(encoding="utf-8") for file in files}
        self.helpers = {file.stem: file for file in files if not file.name.startswith(("test_", "conftest"))}
        modules = {words: f"simjudge.{entry.place.partition(':')[0]}" for words, entry in entries()}
        self.verbs = {
            **{words.split()[-1].lstrip("-"): module for words, module in modules.items()},
            **{name: modules[words] for name, words in BEFORE.items()},
        }
        self.nodes = {m.removeprefix("nodes."): m for m in imports.graph.modules if m.startswith("nodes.")}

        self.needs: dict[Path, tuple[set[Path], set[str]]] = {}
        for test in (file for file in files if file.name.startswith("test_")):
            beside = self.files(test)
            self.needs[test] = beside, set().union(*map(imports.below, self.modules(test, beside)))

    def files(self, test: Path) -> set[Path]:
        """A test file, the helpers that it imports, and the conftest.py of its folders."""
        found, ahead = set(), [test, *(p / "conftest.py" for p in test.parents if (p / "conftest.py") in self.text)]
        while ahead:
            file = ahead.pop()
            if file not in found:
                found.add(file)
                words = {(m[1] or m[3]).split(".")[-1] for m in IMPORTED.finditer(self.text[file])}
                words |= {n for m in IMPORTED.finditer(self.text[file]) if m[1] == "support" for n in m[2].split(", ")}
                ahead += [self.helpers[word] for word in words & self.helpers.keys()]
        return found

    def modules(self, test: Path, files: set[Path]) -> set[str]:
        """What those files name of the library, by import, in strings, through the front door; the module tested."""
        light = "light" in self.text[test]  # what conftest.py imports for some
        text = "\n".join(self.text[file] for file in files if light or file != ROOT / "test/conftest.py")
        names = DOTTED.findall(text) + re.findall(r"\bsj\.\w+", text)
        for match in IMPORTED.finditer(text):
            if match[1] and match[1].partition(".")[0] in {"simjudge", "nodes"}:
                names += [match[1], *(f"{match[1]}.{name}" for name in re.findall(r"\w+", match[2]))]
        homes = [simjudge._HOMES.get(name.split(".")[1], "") for name in names if name.count(".") == 1]  # noqa: SLF001
        mirrored = ".".join(
            ("simjudge", *test.relative_to(ROOT / "test").parent.parts, test.stem.removeprefix("test_"))
        )
        found = self.imports.known([*names, *homes, mirrored, mirrored.replace("simjudge.nodes", "nodes")])
        words = set(re.findall(r"[\w-]+", text))
        if RUNS_COMMANDS.search(text):
            called = set(CALLED.findall(text)) & self.verbs.keys()
            found |= {self.verbs[verb] for verb in called} or set(self.verbs.values())
            found |= {"simjudge.__main__"}
        if test.relative_to(ROOT).parts[1] in {"nodes", "launch", "ros"}:
            found |= {self.nodes[name] for name in words & self.nodes.keys()} or set(self.nodes.values())
        return found & self.imports.graph.modules


def changed_files(commit: str) -> list[str] | None:
    """What differs from a commit, in this folder and in git; None where git cannot tell."""
    try:
        base = (
            commit
            or _git("describe", "--tags", "--abbrev=0", "--match=v[0-9]*")
            or (ROOT / ".ci/base").read_text().strip()
        )
        _git("cat-file", "-e", f"{base}^{{commit}}", check=True)
        fork = _git("merge-base", "HEAD", base) or base
        lines = _git("diff", "--name-only", "--no-renames", fork, check=True)
        return (lines + "\n" + _git("ls-files", "--others", "--exclude-standard", check=True)).split("\n")
    except (OSError, subprocess.CalledProcessError):
        return None


def _git(*words: str, check: bool = False) -> str:
    return subprocess.run(["git", *words], cwd=ROOT, check=check, capture_output=True, text=True).stdout.strip()


@cache
def _tree() -> tuple[Imports, Tests]:
    imports = Imports()
    return imports, Tests(imports)


def select(changed: list[str] | None, always: Iterable[str] = ()) -> list[str]:
    """Test files below test/, or `test` alone for all of them."""
    imports, tests = _tree()
    modules, files, whole, tools = set(), set(), [], []
    for name in filter(None, changed or []):
        path = ROOT / name
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        if path.suffix == ".py" and module in imports.graph.modules and name != "simjudge/__init__.py":
            modules.add(module)
        elif path.suffix == ".py" and name.startswith("test/"):
            files.add(path)
        elif name.startswith(("scripts/", "bench/")):
            tools.append(path.stem)
        elif not PAGES.fullmatch(name):
            whole.append(name)
    if whole or changed is None:
        sys.stderr.write(f"all tests: {', '.join(whole[:3]) if whole else 'git does not know the commit'}\n")
        return ["test"]
    chosen = [
        str(test.relative_to(ROOT))
        for test, (beside, needed) in tests.needs.items()
        if str(test.relative_to(ROOT)).startswith((*always, *READ_THE_TREE))
        or beside & files
        or needed & modules
        or any(tool in tests.text[file] for tool in tools for file in beside)
    ]
    sys.stderr.write(f"{len(chosen)} of {len(tests.needs)} test files\n")
    return chosen


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("commit", nargs="?", default="")
    parser.add_argument("--always", nargs="*", default=[], metavar="FOLDER")
    given = parser.parse_args()
    sys.stdout.write("".join(f"{name}\n" for name in select(changed_files(given.commit), given.always)))
