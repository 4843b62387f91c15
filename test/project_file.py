"""What pyproject.toml says of the package, for the tests that hold other files against it."""

import sys
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[1]
CONTENT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = CONTENT["project"]


def requirements(group):
    """The requirement list of a group, "core" for the package itself."""
    lines = PROJECT["dependencies"] if group == "core" else PROJECT["optional-dependencies"][group]
    return [Requirement(line) for line in lines]


def required_names(group):
    return {canonicalize_name(requirement.name) for requirement in requirements(group)}
