"""Writing files so that nothing half-written is ever left under a final name."""

from __future__ import annotations

import errno
import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from simjudge.core.errors import SimjudgeError, UsageError

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]+:")
"""How an address such as s3://bucket/x begins."""


@contextmanager
def atomic_file(path: str | Path) -> Iterator[Path]:
    """Write a file under a temporary name; on success it becomes `path`, on any failure it is removed.

    Args:
        path: the final name. Its folder is made where it does not exist; a file that is there is replaced.
    """
    path = Path(path)
    path = output_path(path)
    temporary = path.parent / f".{path.name}.{os.getpid()}.tmp"
    with plain_os_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            yield temporary
            sync_file(temporary)
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)


@contextmanager
def atomic_folder(path: str | Path, *, overwrite: bool = False) -> Iterator[Path]:
    """Write a folder under a temporary name; on success it becomes `path`, on any failure it is removed.

    Args:
        overwrite: whether a folder or file that is there may be replaced.
    """
    path = Path(path)
    path = output_path(path)
    if not overwrite:
        check_output(path)
    with plain_os_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent))
        temporary.chmod(0o755)
        try:
            yield temporary
            _replace_folder(temporary, path)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)


def _replace_folder(temporary: Path, path: Path) -> None:
    """Put a folder in the place of what is there, which is removed only once the new one has its name."""
    old = temporary.with_name(temporary.name.removesuffix(".tmp") + ".old.tmp")
    if os.path.lexists(path):
        path.replace(old)
    try:
        temporary.replace(path)
    except BaseException:
        if os.path.lexists(old) and not os.path.lexists(path):
            old.replace(path)
        raise
    if old.is_dir() and not old.is_symlink():
        shutil.rmtree(old)
    else:
        old.unlink(missing_ok=True)


@contextmanager
def record_beside(path: Path, text: str) -> Iterator[None]:
    """Write a file that says how an output was made, then the output in the block: the output is the last to appear."""
    with atomic_file(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
    try:
        yield
    except BaseException:
        path.unlink(missing_ok=True)
        raise


def output_path(path: Path) -> Path:
    """The path that an output really gets.

    Args:
        path: as a person gave it; folders in it need not exist yet.

    Returns:
        The path without `..`: `new/../x` is `x`, whether there is a folder `new` or not.
    """
    head, *rest = path.parts or ("",)
    if rest and _SCHEME.fullmatch(head) and not Path(head).exists():
        address = f"{head}//{'/'.join(rest)}"
        raise UsageError(f"{address}: is an address, and files are written into folders; mount it, and name the folder")
    return path.resolve() if ".." in path.parts else path


def check_output(path: Path, is_own: Callable[[Path], bool] | None = None, *, overwrite: bool = False) -> bool:
    """Make sure, before long work, that an output replaces nothing that a person may need.

    Args:
        path: the output; an empty folder may be there.
        is_own: tells whether what is there is an earlier output of the same kind, which may be replaced; None where
            nothing may be.
        overwrite: whether a file that something else wrote may be replaced; asked for by a person.
    """
    path = output_path(path)
    if not os.path.lexists(path) or (path.is_dir() and not any(path.iterdir())):
        return False
    if is_own is None:
        raise SimjudgeError(f"{path}: exists already; choose another name or remove it")
    if path.is_dir() or not (overwrite or is_own(path)):
        remedy = "choose another name" if path.is_dir() else "choose another name, or give --overwrite"
        raise SimjudgeError(f"{path}: exists already and is not an earlier output of this command; {remedy}")
    return True


def begins_with(path: Path, text: str) -> bool:
    """Whether a file begins with a text, by which a command knows its earlier output."""
    try:
        with path.open(encoding="utf-8") as file:
            return file.read(len(text)) == text
    except (OSError, UnicodeDecodeError):
        return False


def hash_files(path: str | Path) -> str:
    """Hash a file, or all files below a folder.

    Returns:
        SHA-256 over the file's bytes, or over the sorted relative names and bytes of all files; 64 hexadecimal digits.
    """
    path = Path(path)
    digest = hashlib.sha256()
    files = [path] if path.is_file() else sorted(p for p in path.rglob("*") if p.is_file())
    for file in files:
        if file != path:
            digest.update(os.fsencode(file.relative_to(path)) + b"\0")
        with file.open("rb") as stream:
            while block := stream.read(1 << 20):
                digest.update(block)
    return digest.hexdigest()


def is_disk_full(error: OSError) -> bool:
    """Whether there is no room for a file, on the disk or for this person."""
    return error.errno in _FULL


def disk_trouble(error: OSError) -> str:
    """Why a file cannot be written, in a few words."""
    if is_disk_full(error):
        return "the disk is full (or a file-size limit is reached)"
    return f"cannot be written: {error.strerror or error}"


def sync_file(path: Path) -> None:
    """Flush a written file to the disk, so that a full disk is noticed before the final name exists."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def plain_os_errors(path: Path) -> Iterator[None]:
    """Within this block, an error of the system becomes one line that names the output."""
    try:
        yield
    except OSError as error:
        if is_disk_full(error):
            raise SimjudgeError(f"{path}: {disk_trouble(error)}; nothing was written under that name") from error
        if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
            raise SimjudgeError(f"{path}: cannot be written to: {error.strerror}") from error
        raise
