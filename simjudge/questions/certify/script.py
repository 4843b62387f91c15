"""A script of one file from modules of this package, without simjudge."""

from __future__ import annotations

import ast
from pathlib import Path

from simjudge.questions.certify import (
    check_contexts,
    check_files,
    check_joint,
    check_points,
    check_policies,
    check_ranks,
    check_statistics,
    verify,
)

_MODULES = (
    check_files,
    check_statistics,
    check_contexts,
    check_joint,
    check_points,
    check_ranks,
    check_policies,
    verify,
)
_START = """
from __future__ import annotations

import sys

if __name__ == "__main__":
    # No module is taken from beside this file, nor from where it is started.
    sys.path[:] = [folder for folder in sys.path[1:] if folder]
"""
_END = 'if __name__ == "__main__":\n    sys.exit(main())\n'


def compose_script() -> str:
    """The modules behind each other, without their descriptions and what they take from each other."""
    texts = [f'"""{verify.__doc__}"""\n{_START}'.strip()]
    for module in _MODULES:
        source = Path(str(module.__file__)).read_text(encoding="utf-8")
        lines, (_, *body) = source.splitlines(), ast.parse(source).body
        for node in [*body][::-1]:
            if _is_left_out(node):
                del lines[node.lineno - 1 : node.end_lineno]
        texts.append("\n".join(lines[(_.end_lineno or 0) :]).strip())
    return "\n\n\n".join([*texts, _END])


def _is_left_out(node: ast.stmt) -> bool:
    taken = node.module or "" if isinstance(node, ast.ImportFrom) else ""
    return taken.startswith(("simjudge", "__future__")) or isinstance(node, ast.If)
