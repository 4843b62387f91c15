"""What traces rays here: Mitsuba's CUDA or LLVM variant, or "numpy", simjudge's own slow tracer.

Mitsuba's LLVM variant loads libLLVM at run time, and a libLLVM that does not suit it ends the whole process, beyond
any `except`. So the library is looked for here, one that is not known to suit is tried in a process of its own, and
Mitsuba is told which one to take (DRJIT_LIBLLVM_PATH) before it can choose for itself.
"""

from __future__ import annotations

import ctypes
import importlib
import logging
import os
import platform
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Literal

from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.core.installed import install_command
from simjudge.core.processes import python_command

Variant = Literal["cuda_ad_rgb", "llvm_ad_rgb", "numpy"]
VARIANTS: tuple[Variant, ...] = ("cuda_ad_rgb", "llvm_ad_rgb", "numpy")
CHOICE = "SIMJUDGE_MITSUBA_VARIANT"  # Environment variable that chooses a variant
LIBRARY = "DRJIT_LIBLLVM_PATH"  # Environment variable that Mitsuba's JIT compiler reads
PROVEN = (19,)  # Major versions of LLVM that suit Mitsuba 3.9
TOO_OLD = 16  # Newest major version of LLVM that does not: 16 and 15 abort, 14 is refused
REMEDY = "apt-get install libllvm19 (Debian, Ubuntu), or scripts/llvm.sh"
_FOLDERS = (
    f"/usr/lib/{platform.machine()}-linux-gnu",
    "/usr/lib64",
    "/usr/lib",
    "/usr/local/lib",
    "/usr/lib/llvm-*/lib",
    "/usr/lib64/llvm*/lib*",
    "/opt/homebrew/opt/llvm*/lib",
    "/usr/local/opt/llvm*/lib",
)
_TRIAL = """
import resource, sys
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
import mitsuba
mitsuba.set_variant(sys.argv[1])
from simjudge.core.installed import install_command
from simjudge.sim.engines.default.mitsuba_tracer import try_picture
try_picture()
"""
_PATIENCE = 120  # Seconds that a trial may take
_log = logging.getLogger(__name__)


@cache
def choose_variant() -> Variant:
    """The variant to use, LIBRARY set to fit. Where only the slow one is possible, one warning says the remedy."""
    asked = os.environ.get(CHOICE, "")
    if asked and asked not in VARIANTS:
        raise UsageError(f"{CHOICE}={asked}: one of {', '.join(VARIANTS)} is needed")
    if asked == "numpy":
        return "numpy"
    if asked == "cuda_ad_rgb" or (not asked and has_cuda()):
        if not has_cuda():
            raise SimjudgeError(f"{CHOICE}={asked}: no NVIDIA driver with OptiX that Mitsuba can use was found")
        return "cuda_ad_rgb"
    library, why = find_llvm()
    if library is not None:
        os.environ[LIBRARY] = str(library)
        return "llvm_ad_rgb"
    if asked:
        raise SimjudgeError(f"{CHOICE}={asked}: {why}; {REMEDY}")
    _log.warning("RENDERING WILL BE SLOW, about 20 times: %s. Remedy: %s", why, REMEDY)
    return "numpy"


def load_mitsuba() -> Any:
    """The module `mitsuba`, its variant set (CUDA and LLVM only: the own tracer does without)."""
    variant = choose_variant()
    try:
        mitsuba = importlib.import_module("mitsuba")
    except ImportError as error:
        raise SimjudgeError(f"Mitsuba is missing ({error}): {install_command('mitsuba')}") from error
    if mitsuba.variant() != variant:
        mitsuba.set_variant(variant)
    return mitsuba


def limit_threads(count: int) -> None:
    """Let Mitsuba trace with so many threads."""
    if choose_variant() == "llvm_ad_rgb":
        load_mitsuba()
        importlib.import_module("drjit").set_thread_count(count)


def has_cuda() -> bool:
    """Whether Mitsuba runs on a GPU here: NVIDIA's driver with OptiX is there, and a trial passes."""
    return all(map(_loads, ("libcuda.so.1", "libnvoptix.so.1"))) and _passes("cuda_ad_rgb", {})


def _loads(library: str) -> bool:
    try:
        ctypes.CDLL(library)
    except OSError:
        return False
    return True


def find_llvm(folders: Iterable[str] = _FOLDERS) -> tuple[Path | None, str]:
    """The first fit libLLVM, those of a proven version before newer ones; or None and why there is none."""
    given = os.environ.get(LIBRARY)
    if given and not Path(given).is_file():
        return None, f"{LIBRARY}={given} is no file"
    found = [Path(given)] if given else _libraries(folders)
    versions = {path: llvm_version(path) for path in found}
    for path in sorted(found, key=lambda path: (versions[path] not in PROVEN, -versions[path])):
        if is_fit(path):
            return path, ""
    if not found:
        return None, "no libLLVM was found"
    return None, f"no libLLVM is fit (a newer one than {TOO_OLD} is needed): {', '.join(map(str, found[:4]))}"


def _libraries(folders: Iterable[str]) -> list[Path]:
    """Every libLLVM in some folders (patterns) and in the Python environment's own, each file once."""
    candidates = [Path(sys.prefix) / "lib"]
    for pattern in folders:
        candidates += sorted(Path("/").glob(pattern.lstrip("/")))
    seen: dict[Path, None] = {}
    for folder in candidates:
        for path in [*folder.glob("libLLVM*.so*"), *folder.glob("libLLVM*.dylib")]:
            if path.is_file():
                seen.setdefault(path.resolve())
    return list(seen)


def llvm_version(library: Path) -> int:
    """Major version of a libLLVM by its file's name; 0: the name does not say."""
    named = re.match(r"libLLVM(?:-|\.so\.|\.)(\d+)", library.resolve().name)
    return int(named[1]) if named else 0


def is_fit(library: Path) -> bool:
    """Whether Mitsuba can run with a libLLVM: known by the version, else tried where an abort does no harm."""
    version = llvm_version(library)
    if version in PROVEN or 0 < version <= TOO_OLD:
        return version in PROVEN
    return _passes("llvm_ad_rgb", {LIBRARY: str(library)})


def _passes(variant: Variant, environment: Mapping[str, str]) -> bool:
    """Whether a variant traces a small picture, in a process of its own, where an abort does no harm."""
    command = python_command("-c", _TRIAL, variant)
    try:
        done = subprocess.run(
            command, env={**os.environ, **environment}, capture_output=True, text=True, check=False, timeout=_PATIENCE
        )
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0 and done.stdout.strip() == "fit"


def describe_variant(variant: Variant) -> str:
    """A variant for people, with Mitsuba's version: "Mitsuba 3.9.1 llvm_ad_rgb"."""
    if variant == "numpy":
        return "numpy (own tracer)"
    return f"Mitsuba {load_mitsuba().__version__} {variant}"
