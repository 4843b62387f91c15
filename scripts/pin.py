"""Write requirements/*.txt anew: exact pins that hold on every Python the project supports.

Usage: `python scripts/pin.py PYTHON3.10 PYTHON3.11 PYTHON3.12 PYTHON3.13` with one interpreter of each version. pip
itself resolves the groups of setup.py on each of them (nothing is installed), each group under the pins of the groups
before it; where the versions differ, the pin is written once a version with an environment marker.
"""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
GROUPS = ("core", "train", "test", "ros", "watch", "sim")
BUILD = ["setuptools>=70.1"]
"""What installing the project itself needs, so that this is pinned too."""
SOURCE_ONLY = "empy"
"""Pure Python that its authors publish without a wheel."""
LEFT_TO_TORCH = re.compile(r"nvidia-(?!ml-py)|cuda-|triton$")
"""What torch pins itself, exactly, in those of its builds that need it: a CPU build must not drag it in."""


def wanted() -> dict[str, list[str]]:
    """The requirement lists that setup.py states, by group."""
    tree = ast.parse((ROOT / "setup.py").read_text(encoding="utf-8"))
    lists = {
        node.targets[0].id.lower(): ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and isinstance(node.value, ast.List)
    }
    return {group: lists[group] + (BUILD if group == "core" else []) for group in GROUPS}


def resolve(python: str, requirements: list[str], scratch: Path) -> dict[str, str]:
    """What pip would install for some requirements with one interpreter: version by lower-case name."""
    report = scratch / "report.json"
    options = ["--dry-run", "--ignore-installed", "--only-binary", ":all:", "--no-binary", SOURCE_ONLY]
    options += ["--retries", "10", "--timeout", "60"]
    subprocess.run([python, "-m", "pip", "install", "-q", *options, "--report", str(report), *requirements], check=True)
    found = (item["metadata"] for item in json.loads(report.read_text(encoding="utf-8"))["install"])
    named = {re.sub(r"[-_.]+", "-", m["name"]).lower(): m["version"].partition("+")[0] for m in found}
    return {name: version for name, version in named.items() if not LEFT_TO_TORCH.match(name)}


def resolve_groups(base: str, scratch: Path) -> tuple[str, dict[str, dict[str, str]]]:
    """The pins of every group with one interpreter, each without what the groups before it hold."""
    subprocess.run([base, "-m", "venv", str(scratch / "venv")], check=True)
    python = str(scratch / "venv/bin/python")
    subprocess.run([python, "-m", "pip", "install", "-q", "--upgrade", "pip"], check=True)
    tell = "import sys; print('%d.%d' % sys.version_info[:2])"
    version = subprocess.run([python, "-c", tell], check=True, capture_output=True, text=True).stdout.strip()
    before: dict[str, str] = {}
    pins: dict[str, dict[str, str]] = {}
    for group, requirements in wanted().items():
        held = [f"{name}=={pinned}" for name, pinned in before.items()]
        found = resolve(python, held + requirements, scratch)
        pins[group] = {name: pinned for name, pinned in found.items() if name not in before}
        before.update(pins[group])
    return version, pins


def marker(pythons: list[str], supported: list[str]) -> str:
    """The environment marker of some of the supported Python versions, "" for all of them."""
    if len(pythons) == len(supported):
        return ""
    if pythons == supported[-len(pythons) :]:
        return f' ; python_version >= "{pythons[0]}"'
    if pythons == supported[: len(pythons)]:
        return f' ; python_version < "{supported[len(pythons)]}"'
    return " ; " + " or ".join(f'python_version == "{p}"' for p in pythons)


def lines(by_python: dict[str, dict[str, str]]) -> list[str]:
    """One line for a package that is the same everywhere, else one line a version, with its Pythons."""
    versions: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for python, pins in by_python.items():
        for name, pinned in pins.items():
            versions[name][pinned].append(python)
    supported = list(by_python)
    return [
        f"{name}=={pinned}{marker(pythons, supported)}"
        for name, found in sorted(versions.items())
        for pinned, pythons in found.items()
    ]


def main() -> None:
    """Resolve with every interpreter named on the command line and write the files."""
    resolved: dict[str, dict[str, dict[str, str]]] = {}
    for base in sys.argv[1:]:
        with tempfile.TemporaryDirectory() as scratch:
            version, pins = resolve_groups(base, Path(scratch))
        resolved[version] = pins
        sys.stderr.write(f"{version}: {', '.join(f'{len(p)} {g}' for g, p in pins.items())}\n")
    ordered = dict(sorted(resolved.items(), key=lambda item: int(item[0].partition(".")[2])))
    for group in GROUPS:
        body = lines({version: pins[group] for version, pins in ordered.items()})
        head = [f"# Written by scripts/pin.py from setup.py, for Python {', '.join(ordered)}.", ""]
        (ROOT / f"requirements/{group}.txt").write_text("\n".join(head + body) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
