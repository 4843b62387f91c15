"""A script of one file from modules: what its `main` needs of them, in their order, and nothing of simjudge."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

_FUTURE = "from __future__ import annotations\n"
_ISOLATION = """
import sys

if __name__ == "__main__":
    # No module is taken from beside this file, nor from where it is started.
    sys.path[:] = [folder for folder in sys.path[1:] if folder]
"""


def isolated_script(text: str) -> str:
    """A script that runs nothing of what lies beside it, as `python -I` has it."""
    return text.replace(_FUTURE, _FUTURE + _ISOLATION, 1)


@dataclass(frozen=True)
class _Piece:
    """A definition of a module, with the comments before it and the text that describes it."""

    text: str
    names: frozenset[str]
    needs: frozenset[str]


def compose_script(modules: Sequence[ModuleType]) -> str:
    """Put modules together, whose last has the docstring and `main`; the others are those that it imports from."""
    imports, pieces = list[ast.Import | ast.ImportFrom](), list[_Piece]()
    for module in modules:
        source = Path(str(module.__file__)).read_text(encoding="utf-8")
        tree = ast.parse(source)
        imports += _imports(tree)
        pieces += _pieces(tree, source.splitlines(), last=module is modules[-1])
    kept, wanted = set[int](), ["main"]
    places = {name: place for place, piece in enumerate(pieces) for name in piece.names}
    while wanted:
        place = places.get(wanted.pop())
        if place is not None and place not in kept:
            kept.add(place)
            wanted += pieces[place].needs
    needs = frozenset[str]().union(*(pieces[place].needs for place in kept))
    head = [f'"""{modules[-1].__doc__}"""', "from __future__ import annotations"]
    plain, named = _sorted_imports(imports, needs)
    body = [pieces[place].text for place in sorted(kept)]
    end = 'if __name__ == "__main__":\n    sys.exit(main())'
    groups = ["\n\n".join([*head, plain, named]), *body, end]
    return isolated_script("\n\n\n".join(group.strip("\n") for group in groups) + "\n")


def _imports(tree: ast.Module) -> Iterator[ast.Import | ast.ImportFrom]:
    """What a module imports from elsewhere than simjudge."""
    for node in tree.body:
        source = node.module or "" if isinstance(node, ast.ImportFrom) else ""
        if isinstance(node, (ast.Import, ast.ImportFrom)) and not source.startswith(("simjudge", "__future__")):
            yield node


def _sorted_imports(imports: Iterable[ast.Import | ast.ImportFrom], needs: frozenset[str]) -> tuple[str, str]:
    """The imports of what is used: those of the standard library, then NumPy's."""
    used = set[str]()
    for node in imports:
        node.names = [name for name in node.names if (name.asname or name.name) in needs]
        if node.names:
            used.add(ast.unparse(node))
    numpy = sorted(line for line in used if "numpy" in line)
    return "\n".join(sorted(used - set(numpy), key=lambda line: (line.split()[0] == "from", line))), "\n".join(numpy)


def _pieces(tree: ast.Module, lines: Sequence[str], *, last: bool) -> Iterator[_Piece]:
    before, body = 0, tree.body
    for place, node in enumerate(body):
        end, names = node.end_lineno or 0, _defined(node)
        for text in body[place + 1 : place + 2]:
            if names and isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant):
                end = text.end_lineno or end
        if names and (last or "main" not in names):
            used = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
            yield _Piece("\n".join(lines[before:end]), names, frozenset(used))
        before = max(before, end)


def _defined(node: ast.stmt) -> frozenset[str]:
    """The names that a statement defines; none of an import or of a text."""
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        return frozenset([node.name])
    if isinstance(node, (ast.Assign, ast.AnnAssign)):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        return frozenset(each.id for target in targets for each in ast.walk(target) if isinstance(each, ast.Name))
    return frozenset()
