"""The version of simjudge. It stands in pyproject.toml alone and is read from what is installed."""

from __future__ import annotations

from functools import cache


@cache
def version() -> str:
    """Return the installed version, "unknown" where simjudge runs from a checkout that was never installed."""
    # Imported here because the import takes longer than all of `import simjudge`.
    from importlib.metadata import PackageNotFoundError  # noqa: PLC0415
    from importlib.metadata import version as installed_version  # noqa: PLC0415

    try:
        return installed_version("simjudge")
    except PackageNotFoundError:
        return "unknown"
