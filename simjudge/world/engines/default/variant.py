"""Which of Mitsuba's variants lights the world here: CUDA, LLVM, or the project's own slow tracer.

Mitsuba's LLVM variant loads libLLVM at run time, and a libLLVM that does not suit it ends the whole process, beyond
any `except`. So the library is looked for here, its version is read from its name or asked for in a process of its
own, and Mitsuba is told which one to take (DRJIT_LIBLLVM_PATH) before it can choose for itself.
"""

from __future__ import annotations

import ctypes
import importlib
import logging
import os
import re
import subprocess
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any, Literal

from simjudge.errors import SimjudgeError, UsageError

Variant = Literal["cuda_ad_rgb", "llvm_ad_rgb", "scalar_rgb"]
VARIANTS: tuple[Variant, ...] = ("cuda_ad_rgb", "llvm_ad_rgb", "scalar_rgb")
CHOICE = "SIMJUDGE_MITSUBA_VARIANT"
"""Environment variable that chooses a variant."""
LIBRARY = "DRJIT_LIBLLVM_PATH"
"""Environment variable that Mitsuba's JIT compiler reads."""
OLDEST = 17
"""Major version of LLVM from which on Mitsuba 3.9 runs; 15 and 16 abort the process, 14 is refused."""
REMEDY = "apt-get install libllvm19 (Debian, Ubuntu), or scripts/llvm.sh"
_FOLDERS = (
    "/usr/lib/*-linux-gnu",
    "/usr/lib64",
    "/usr/lib",
    "/usr/local/lib",
    "/usr/lib/llvm-*/lib",
    "/usr/lib64/llvm*/lib*",
    "/opt/homebrew/opt/llvm*/lib",
    "/usr/local/opt/llvm*/lib",
)
_ASK = (
    "import ctypes, sys; l = ctypes.CDLL(sys.argv[1]); v = [ctypes.c_uint() for _ in range(3)];"
    "l.LLVMGetVersion(*map(ctypes.byref, v)); print(v[0].value)"
)
_log = logging.getLogger(__name__)


@cache
def choose_variant() -> Variant:
    """The variant to use, LIBRARY set to fit. Where only the slow one is possible, one warning says the remedy.

    Raises:
        UsageError: CHOICE names none.
        SimjudgeError: CHOICE asks for one that cannot run here.
    """
    asked = os.environ.get(CHOICE, "")
    if asked and asked not in VARIANTS:
        raise UsageError(f"{CHOICE}={asked}: one of {', '.join(VARIANTS)} is needed")
    if asked == "scalar_rgb":
        return "scalar_rgb"
    if asked == "cuda_ad_rgb" or (not asked and has_cuda()):
        if not has_cuda():
            raise SimjudgeError(f"{CHOICE}={asked}: no NVIDIA driver with a GPU was found (libcuda.so.1)")
        return "cuda_ad_rgb"
    library, why = find_llvm()
    if library is not None:
        os.environ[LIBRARY] = str(library)
        return "llvm_ad_rgb"
    if asked:
        raise SimjudgeError(f"{CHOICE}={asked}: {why}; {REMEDY}")
    _log.warning("RENDERING WILL BE SLOW, 10 to 50 times: %s. Remedy: %s", why, REMEDY)
    return "scalar_rgb"


def load_mitsuba() -> Any:
    """The module `mitsuba`, its variant set (CUDA and LLVM only: the own tracer does without).

    Raises:
        SimjudgeError: it is not installed.
    """
    variant = choose_variant()
    try:
        mitsuba = importlib.import_module("mitsuba")
    except ImportError as error:
        raise SimjudgeError(f"Mitsuba is missing ({error}): pip install simjudge[sim]") from error
    if mitsuba.variant() != variant:
        mitsuba.set_variant(variant)
    return mitsuba


def has_cuda() -> bool:
    """Whether there is an NVIDIA driver, and at least one GPU that it can use."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    count = ctypes.c_int()
    return driver.cuInit(0) == 0 and driver.cuDeviceGetCount(ctypes.byref(count)) == 0 and count.value > 0


def find_llvm(folders: Iterable[str] = _FOLDERS) -> tuple[Path | None, str]:
    """The newest fit libLLVM, or None and why there is none."""
    given = os.environ.get(LIBRARY)
    found = [Path(given)] if given else _libraries(folders)
    if given and not found[0].is_file():
        return None, f"{LIBRARY}={given} is no file"
    versions = {path: llvm_version(path) for path in found}
    fit = [path for path in found if versions[path] >= OLDEST]
    if fit:
        return max(fit, key=lambda path: (versions[path], -found.index(path))), ""
    if not found:
        return None, "no libLLVM was found"
    named = ", ".join(f"{path} ({versions[path] or 'no answer'})" for path in found[:3])
    return None, f"libLLVM {OLDEST} or newer is needed, there is only {named}"


def _libraries(folders: Iterable[str]) -> list[Path]:
    """Every libLLVM in some folders (patterns) and in the Python environment's own, each file once."""
    places = [Path(sys.prefix) / "lib"]
    for pattern in folders:
        places += sorted(Path("/").glob(pattern.lstrip("/")))
    seen: dict[Path, None] = {}
    for place in places:
        for path in [*place.glob("libLLVM*.so*"), *place.glob("libLLVM*.dylib")]:
            if path.is_file():
                seen.setdefault(path.resolve())
    return list(seen)


def llvm_version(library: Path) -> int:
    """Major version of a libLLVM, from its name, else asked of it in a process of its own; 0: no answer."""
    named = re.match(r"libLLVM(?:-|\.so\.|\.)(\d+)", library.resolve().name)
    if named:
        return int(named[1])
    command = [sys.executable, "-c", _ASK, str(library)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    return int(done.stdout) if done.returncode == 0 and done.stdout.strip().isdigit() else 0


def described(variant: Variant) -> str:
    """A variant for people, with Mitsuba's version: "Mitsuba 3.9.1 llvm_ad_rgb"."""
    if variant == "scalar_rgb":
        return "scalar_rgb (own tracer)"
    return f"Mitsuba {load_mitsuba().__version__} {variant}"
