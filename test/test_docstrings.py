"""What a docstring says under Args is what the function takes."""

import ast
import re

from project_file import ROOT

_NEXT = "Returns|Raises|Yields|Example|Note|Source"
SECTION = re.compile(rf"^ *Args:\n(.*?)(?:^ *(?:{_NEXT})s?:|\Z)", re.MULTILINE | re.DOTALL)


def functions(folder):
    for path in sorted((ROOT / folder).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield path.relative_to(ROOT), node


def described(docstring):
    """The names before a colon in the section Args; one line may describe several."""
    found = SECTION.search(docstring)
    lines = found.group(1).splitlines() if found else []
    indents = [len(line) - len(line.lstrip()) for line in lines if line.strip()]
    for line in lines:
        if line.strip() and len(line) - len(line.lstrip()) == min(indents):
            names = line.strip().partition(":")[0]
            yield from (re.sub(r"\(.*\)", "", name).strip(" *`") for name in re.split(r", | and ", names))


def unknown(node):
    arguments = node.args
    taken = {each.arg for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)}
    taken |= {each.arg for each in (arguments.vararg, arguments.kwarg) if each}
    return [name for name in described(ast.get_docstring(node) or "") if name not in taken]


def test_described_arguments_exist():
    wrong = {
        f"{path}:{node.lineno} {node.name}": unknown(node)
        for folder in ("simjudge", "nodes")
        for path, node in functions(folder)
        if unknown(node)
    }
    assert wrong == {}


EXAMPLE = '''
def f(a, b, *rest):
    """Do.

    Args:
        a, b: two,
            with more: text.
        rest: others.
        c: none.
    """
'''


def test_the_check_itself():
    assert unknown(ast.parse(EXAMPLE).body[0]) == ["c"]
