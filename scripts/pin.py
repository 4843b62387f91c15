"""Write requirements/*.txt anew: exact pins that hold on every Python the project supports.

Usage: `python scripts/pin.py [--keep] PYTHON3.10 ... PYTHON3.14`, one interpreter of each version.
On each of them pip resolves the requirement lists of pyproject.toml without installing anything. A group's file is all
that the group needs on top of the core; a package that several groups need has one version in all of them. Where the
Pythons differ, a package gets one line a version, with a marker.
--keep changes no version that is pinned today: it adds what pyproject.toml newly asks for and drops the rest.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

import tomllib

ROOT = Path(__file__).resolve().parents[1]
GROUPS = ("core", "train", "test", "ros", "watch", "sim", "lidar", "study", "gym", "fit", "video", "docs")
BUILD = ["setuptools>=70.1"]
"""What installing the project itself needs, so that this is pinned too."""
SOURCE_ONLY = "empy"
"""Pure Python that its authors publish without a wheel."""
LEFT_TO_TORCH = re.compile(r"nvidia-(?!ml-py)|cuda-|triton$")
"""What torch pins itself, exactly, in those of its builds that need it: a CPU build must not drag it in."""


def wanted() -> dict[str, list[str]]:
    """The requirement lists of pyproject.toml by group, "core" for the package itself."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return {"core": project["dependencies"] + BUILD} | {
        group: project["optional-dependencies"][group] for group in GROUPS if group != "core"
    }


def pinned_today() -> str:
    """Every pin of requirements/, as one constraints file for pip."""
    files = (ROOT / f"requirements/{group}.txt" for group in GROUPS)
    return "\n".join(sorted({line for file in files if file.exists() for line in file.read_text().splitlines()}))


def resolve(python: str, requirements: list[str], scratch: Path) -> dict[str, str]:
    """What pip would install for some requirements with one interpreter: version by lower-case name.

    A file constraints.txt in the folder `scratch` says which versions other packages may have.
    """
    report = scratch / "report.json"
    constraints = scratch / "constraints.txt"
    options = ["--dry-run", "--ignore-installed", "--only-binary", ":all:", "--no-binary", SOURCE_ONLY]
    options += ["--retries", "10", "--timeout", "60", *(["-c", str(constraints)] if constraints.exists() else [])]
    subprocess.run([python, "-m", "pip", "install", "-q", *options, "--report", str(report), *requirements], check=True)
    found = (item["metadata"] for item in json.loads(report.read_text(encoding="utf-8"))["install"])
    named = {re.sub(r"[-_.]+", "-", m["name"]).lower(): m["version"].partition("+")[0] for m in found}
    return {name: version for name, version in named.items() if not LEFT_TO_TORCH.match(name)}


def resolve_groups(base: str, scratch: Path) -> tuple[str, dict[str, dict[str, str]]]:
    """The pins of every group with one interpreter, each without what the core holds."""
    subprocess.run([base, "-m", "venv", str(scratch / "venv")], check=True)
    python = str(scratch / "venv/bin/python")
    subprocess.run([python, "-m", "pip", "install", "-q", "--upgrade", "pip"], check=True)
    tell = "import sys; print('%d.%d' % sys.version_info[:2])"
    version = subprocess.run([python, "-c", tell], check=True, capture_output=True, text=True).stdout.strip()
    before: dict[str, str] = {}
    pins: dict[str, dict[str, str]] = {}
    constraints = scratch / "constraints.txt"
    kept = constraints.read_text(encoding="utf-8") if constraints.exists() else ""
    for group, requirements in wanted().items():
        held = "\n".join(f"{name}=={pinned}" for name, pinned in before.items())
        constraints.write_text(f"{kept}\n{held}\n", encoding="utf-8")
        found = resolve(python, requirements, scratch)
        pins[group] = {name: pinned for name, pinned in found.items() if group == "core" or name not in pins["core"]}
        before |= found
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
    parser = argparse.ArgumentParser(description="Write requirements/*.txt anew.")
    parser.add_argument("--keep", action="store_true", help="Change no version that is pinned today.")
    parser.add_argument("pythons", nargs="+", metavar="PYTHON", help="One interpreter of each supported version.")
    options = parser.parse_args()
    constraints = pinned_today()
    resolved: dict[str, dict[str, dict[str, str]]] = {}
    for base in options.pythons:
        with tempfile.TemporaryDirectory() as scratch:
            if options.keep:
                (Path(scratch) / "constraints.txt").write_text(constraints, encoding="utf-8")
            version, pins = resolve_groups(base, Path(scratch))
        resolved[version] = pins
        sys.stderr.write(f"{version}: {', '.join(f'{len(p)} {g}' for g, p in pins.items())}\n")
    ordered = dict(sorted(resolved.items(), key=lambda item: int(item[0].partition(".")[2])))
    for group in GROUPS:
        body = lines({version: pins[group] for version, pins in ordered.items()})
        head = [f"# Written by scripts/pin.py from pyproject.toml, for Python {', '.join(ordered)}.", ""]
        (ROOT / f"requirements/{group}.txt").write_text("\n".join(head + body) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
