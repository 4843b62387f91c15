"""`njit` whose compiled loops all copies of simjudge on a machine share: numba's own cache is of one folder of sources.

They lie in ~/.cache/simjudge/numba (XDG_CACHE_HOME, or NUMBA_CACHE_DIR), for each module under a key of all that goes
into its machine code: its source, those of the compiled modules that it calls, the constants that it takes from others,
and the versions of numba and Python. numba itself asks only whether the file of the function has changed.
"""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import sys
import tempfile
import time
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import numba
import numpy as np
from numba import njit  # noqa: TID251 - here it is made
from numba.core import caching

__all__ = ["njit"]

_KEPT, _A_DAY = 4, 86400.0
_CONSTANTS = (int, float, complex, str, bytes, np.generic)


class SharedLoops:
    """Where numba looks for a function of simjudge: what it asks its locators of caches.

    None of them where the folder cannot be written to: numba then looks where it always does.
    """

    _keys: dict[str, bytes] = {}  # noqa: RUF012 - of modules, for the life of the process
    _folders: dict[str, Path | None] = {}  # noqa: RUF012

    def __init__(self, folder: Path, line: int) -> None:
        self._folder, self._line = folder, line

    @classmethod
    def from_function(cls, function: FunctionType, _file: str) -> SharedLoops | None:
        """The place of one function; None for what is not simjudge's."""
        name = function.__module__
        if name.partition(".")[0] != "simjudge":
            return None
        folder = cls.folder(name)
        return None if folder is None else cls(folder, function.__code__.co_firstlineno)

    @classmethod
    def folder(cls, name: str) -> Path | None:
        """Where what is compiled of a module lies; None where nothing can be written."""
        if name not in cls._folders:
            cls._folders[name] = cls._open(name)
        return cls._folders[name]

    @classmethod
    def _open(cls, name: str) -> Path | None:
        try:
            folder = _root() / name / cls._key(name).hex()[:16]
            is_new = not folder.exists()
            folder.mkdir(parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=folder).close()
            os.utime(folder)
        except (OSError, RuntimeError):  # Path.home knows no home
            return None
        if is_new:
            _remove_old(folder.parent)
        return folder

    @classmethod
    def _key(cls, name: str) -> bytes:
        """Of a module and what it holds by now: at its first compiled function, all that it imports."""
        if name not in cls._keys:
            module = sys.modules[name]
            source = Path(str(module.__file__)).read_bytes()
            # A module that compiles nothing lends constants, which its users hold.
            cls._keys[name] = b""
            if b"numba" in source:
                seen = hashlib.sha256(f"{numba.__version__} {platform.python_version()}".encode() + source)
                for label, value in sorted(vars(module).items()):
                    if not label.startswith("__"):
                        seen.update(f"{label} ".encode() + cls._content(value, name))
                cls._keys[name] = seen.digest()
        return cls._keys[name]

    @classmethod
    def _content(cls, value: Any, user: str) -> bytes:
        """What machine code may hold of a global name."""
        if isinstance(value, _CONSTANTS):
            return repr(value).encode()
        if isinstance(value, np.ndarray):
            return f"{value.dtype} {value.shape} ".encode() + value.tobytes()
        if isinstance(value, tuple):
            return b"(" + b",".join(cls._content(part, user) for part in value) + b")"
        if isinstance(value, type):
            return repr(getattr(value, "_fields", None) or list(getattr(value, "__members__", {}).items())).encode()
        home = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", None)
        if isinstance(home, str) and home.startswith("simjudge.") and home != user and home in sys.modules:
            return cls._key(home)
        return b""

    def ensure_cache_path(self) -> None:
        """Make the folder, should somebody have removed it."""
        self._folder.mkdir(parents=True, exist_ok=True)

    def get_cache_path(self) -> str:
        """Where the module's compiled functions lie."""
        return str(self._folder)

    def get_source_stamp(self) -> str:
        """What must be as it was: the folder's name says all."""
        return self._folder.name

    def get_disambiguator(self) -> str:
        """Tells functions of one name apart."""
        return str(self._line)


def _root() -> Path:
    if numba.config.CACHE_DIR:
        return Path(numba.config.CACHE_DIR)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "simjudge" / "numba"


def _remove_old(module: Path) -> None:
    """All but the newest few keys of a module that nobody has used for a day."""
    now = time.time()
    try:
        used = sorted(((folder.stat().st_mtime, folder) for folder in module.iterdir()), reverse=True)
    except OSError:
        return  # another process clears up
    for when, folder in used[_KEPT:]:
        if now - when > _A_DAY:
            shutil.rmtree(folder, ignore_errors=True)


# How numba finds its locators is not public: without the list, it caches as it always does.
_locators = getattr(caching.CacheImpl, "_locator_classes", None)
if isinstance(_locators, list):
    _locators.insert(0, SharedLoops)
