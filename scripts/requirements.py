"""Prints simjudge's requirements, and those of extras named as arguments (`sim,lidar`), one a line, without itself."""

import sys
from pathlib import Path

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10
    from pip._vendor import tomli as tomllib

project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
lines = list(project["dependencies"])
for extra in filter(None, ",".join(sys.argv[1:]).split(",")):
    if extra not in project["optional-dependencies"]:
        sys.exit(f"error: no such extra: {extra}; one of {', '.join(project['optional-dependencies'])}")
    lines += project["optional-dependencies"][extra]
sys.stdout.write("\n".join(lines) + "\n")
