"""Files: written so that nothing half-written is ever left under a final name, and opened only where they are ordinary.

Opening a named pipe waits until somebody writes to it, and /dev/zero never ends. None that cannot fit into memory is
read whole. A file in whose place a pointer of Git LFS lies, a recording of ROS 1, and files in formats that simjudge
does not read are called by their names.
"""

from __future__ import annotations

import errno
import fcntl
import glob
import hashlib
import os
import re
import secrets
import shlex
import shutil
import stat
import tempfile
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple, Protocol

from simjudge.core.errors import SimjudgeError, UsageError

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]+:")  # How an address such as s3://bucket/x begins


@contextmanager
def atomic_file(path: str | Path) -> Iterator[Path]:
    """Write a file under a temporary name; on success it becomes `path`, on any failure it is removed."""
    path = output_path(Path(path))
    temporary = temporary_name(path)
    with plain_os_errors(path, temporary):
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = _lock(temporary, os.O_CREAT | os.O_EXCL)
        try:
            yield temporary
            put_in_place(temporary, path)
        finally:
            temporary.unlink(missing_ok=True)
            os.close(lock)


def temporary_name(path: Path) -> Path:
    """A hidden name beside an output until it is whole, of this writer alone: threads and containers share numbers."""
    return path.with_name(f".{path.name}.{secrets.token_hex(6)}.tmp")


_FIRST_BYTES = 200


class FolderKind(NamedTuple):
    """An output that is a folder, by which a command knows an earlier one of its own."""

    noun: str  # what it is called, such as "result"
    names: Collection[str]  # names that it may have, as patterns
    marks: Collection[str]  # names of files, of which it has one at least
    begins: str = ""  # regular expression of how that file's text begins: other programs have a result.json, too

    def check(self, folder: Path) -> None:
        """Refuse a folder that holds anything else."""
        names = sorted(path.name for path in folder.iterdir())
        strangers = [name for name in names if not any(fnmatchcase(name, known) for known in self.names)]
        if strangers:
            raise SimjudgeError(f"{folder}: holds {strangers[0]!r}, which no {self.noun} has; choose another --out")
        if not any(is_file(folder / mark) and self._is_own(folder / mark) for mark in self.marks):
            raise SimjudgeError(f"{folder}: exists already, and is no {self.noun}; choose another --out")

    def _is_own(self, mark: Path) -> bool:
        with mark.open("rb") as file:
            return re.match(self.begins, file.read(_FIRST_BYTES).decode("utf-8", "replace")) is not None


class OutputKind(Protocol):
    """What an earlier output is; `check` refuses a folder that is none."""

    def check(self, folder: Path) -> None:
        """Refuse a folder that holds anything else."""


@contextmanager
def atomic_folder(path: str | Path, kind: OutputKind | None = None) -> Iterator[Path]:
    """Write a folder under a temporary name; on success it becomes `path`, on any failure it is removed.

    It takes the place of nothing, of an empty folder, or of an earlier output of its kind.
    """
    path = output_path(Path(path))
    seen = _seen.pop(path.absolute(), _Unknown)
    clear_temporaries(path)
    now = check_folder(path, kind)
    with _own_temporary(path) as temporary:
        yield temporary
        _put_folder(temporary, path, now if isinstance(seen, type) else seen, kind)


@contextmanager
def _own_temporary(path: Path) -> Iterator[Path]:
    with plain_os_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent))
    with plain_os_errors(path, temporary):
        temporary.chmod(0o755)
        lock = _lock(temporary)
        try:
            yield temporary
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
            os.close(lock)


class _Unknown:
    """In the place of what stood somewhere: nobody has looked."""


_Identity = tuple[int, ...] | None
_seen: dict[Path, _Identity] = {}
"""What stood where outputs go when commands began: their work may take hours, and somebody else may use the place."""


def _identity(path: Path) -> _Identity:
    """What stands at a path, as a number that another file or folder has not; None for nothing or an empty folder."""
    try:
        found = path.stat(follow_symlinks=False)
    except (FileNotFoundError, NotADirectoryError):
        return None
    if stat.S_ISDIR(found.st_mode):
        return (found.st_dev, found.st_ino) if any(path.iterdir()) else None
    return (found.st_dev, found.st_ino, found.st_mtime_ns)


def _changed(path: Path) -> SimjudgeError:
    return SimjudgeError(f"{path}: somebody else has written there meanwhile, and it is left alone; name another --out")


def put_in_place(temporary: Path, path: Path) -> None:
    """Give a written file or folder its name, unless something stands there that was not there when it was checked."""
    seen = _seen.pop(path.absolute(), _Unknown)
    if temporary.is_dir():
        _put_folder(temporary, path, None, None)
        return
    sync_file(temporary)
    if seen is _Unknown:
        temporary.replace(path)
        return
    if seen is not None and _identity(path) in (None, seen):
        temporary.replace(path)
        return
    if path.is_dir() and _identity(path) is None:
        path.rmdir()  # an empty folder may stand there
    try:
        path.hardlink_to(temporary)
    except OSError as error:  # where there are no links, a moment passes between look and move
        if os.path.lexists(path):
            raise _changed(path) from error
        temporary.replace(path)
    else:
        temporary.unlink()


def _put_folder(temporary: Path, path: Path, seen: _Identity, kind: OutputKind | None) -> None:
    """Put a folder in the place of what is there, which is removed only once the new one has its name."""
    if seen is None or not os.path.lexists(path):
        try:
            temporary.rename(path)  # onto nothing or an empty folder, by the system's own rule
        except OSError as error:
            if error.errno in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
                raise _changed(path) from error
            raise
        return
    if kind is None or _identity(path) != seen:
        raise _changed(path)
    kind.check(path)
    old = temporary.with_name(temporary.name.removesuffix(".tmp") + _OLD)
    path.rename(old)
    try:
        temporary.rename(path)
    except BaseException:
        if not os.path.lexists(path):
            old.rename(path)
        raise
    shutil.rmtree(old, ignore_errors=True)


_OLD = ".old.tmp"
"""How the name ends that an earlier output has while the new one takes its place."""


def _lock(path: Path, flags: int = 0) -> int:
    """Lock a temporary file or folder for as long as its writer lives, so that one without a writer can be told."""
    lock = os.open(path, flags | (os.O_RDWR if flags else os.O_RDONLY), 0o666)
    with suppress(OSError):  # some network file systems lock no folders: there nothing is ever cleared
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return lock


def clear_temporaries(path: Path) -> None:
    """Remove what killed writers of an output have left beside it; an earlier output that one had moved returns."""
    ours = re.compile(rf"\.{re.escape(path.name)}\.([0-9a-z_]{{8}}(\.old)?|[0-9a-f]{{12}})\.tmp")
    left = sorted(path.parent.glob(f".{glob.escape(path.name)}.*.tmp"), key=lambda item: not item.name.endswith(_OLD))
    for temporary in left:
        if ours.fullmatch(temporary.name) and _is_left(temporary):
            if temporary.name.endswith(_OLD) and not os.path.lexists(path):
                temporary.rename(path)
            elif temporary.is_dir():
                shutil.rmtree(temporary, ignore_errors=True)
            else:
                temporary.unlink(missing_ok=True)


_FRESH = 1.0
"""Seconds within which a temporary may not have its lock yet, or may be on its way."""


def _is_left(temporary: Path) -> bool:
    """Whether a temporary file or folder has no writer any more."""
    try:
        found = temporary.lstat()
        if not (stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode)) or time.time() - found.st_ctime < _FRESH:
            return False
        lock = os.open(temporary, os.O_RDONLY | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    finally:
        os.close(lock)
    return True


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
    """The path that an output really gets."""
    head, *rest = path.parts or ("",)
    if rest and _SCHEME.fullmatch(head) and not Path(head).exists():
        address = f"{head}//{'/'.join(rest)}"
        raise UsageError(f"{address}: is an address, and files are written into folders; mount it, and name the folder")
    path = path.resolve() if ".." in path.parts or (path.is_symlink() and path.is_dir()) else path
    try:
        mode = path.stat().st_mode
    except OSError:
        if path.is_symlink():
            raise SimjudgeError(f"{path}: exists already, a link to nothing; choose another name") from None
        return path
    kind = next((name for test, name in _KINDS[1:] if test(mode)), None)
    if kind is not None:
        raise SimjudgeError(f"{path}: exists already, and is {kind}; name a file or folder")
    return path


def check_output(path: Path, is_own: Callable[[Path], bool] | None = None, *, overwrite: bool | None = None) -> bool:
    """Make sure, before long work, that an output replaces nothing but an earlier output of its kind (`is_own`).

    What is there is looked at again just before the output gets its name.
    `overwrite`: whether anything may be replaced; None where no option --overwrite can be given.
    """
    path = _begin(path)
    if _seen[path.absolute()] is None:
        return False
    if is_own is None:
        raise SimjudgeError(f"{path}: exists already; choose another name or remove it")
    if path.is_dir() or not (overwrite or is_own(path)):
        remedy = "" if path.is_dir() or overwrite is None else ", or give --overwrite"
        raise SimjudgeError(
            f"{path}: exists already and is not an earlier output of this command; choose another name{remedy}"
        )
    return True


_RECORD_HEAD = '{\n  "'
"""How the files begin that say how an output was made: JSON, two blanks deep."""


def check_output_and_record(out: Path, record_path: Callable[[Path], Path]) -> None:
    """Make sure that neither an output nor the file beside it that says how it was made replaces anything.

    A record without its output is what a killed command leaves behind, and is replaced.
    """
    check_output(out)
    if not out.name:
        raise UsageError(f"{out}: an output needs a name of its own")
    check_output(record_path(out), lambda path: begins_with(path, _RECORD_HEAD))


def _begin(path: Path) -> Path:
    """Note what stands where an output will go, without what killed writers have left."""
    path = output_path(path)
    with plain_os_errors(path):
        clear_temporaries(path)
        _seen[path.absolute()] = _identity(path)
    return path


def check_output_folder(folder: Path, kind: OutputKind) -> bool:
    """Refuse, before long work, a folder that is no earlier output of a kind; whether it is one."""
    folder = _begin(folder)
    return check_folder(folder, kind) is not None


def check_folder(folder: Path, kind: OutputKind | None) -> _Identity:
    """What stands where a folder will be written; refuses what is not an earlier output of its kind."""
    now = _identity(folder)
    if now is not None and kind is None:
        raise SimjudgeError(f"{folder}: exists already; choose another name or remove it")
    if now is not None and not folder.is_dir():
        raise SimjudgeError(f"{folder}: is a file; --out must be a folder")
    if now is not None and kind is not None:
        kind.check(folder)
    return now


def begins_with(path: Path, text: str) -> bool:
    """Whether a file begins with a text, by which a command knows its earlier output."""
    try:
        with path.open(encoding="utf-8") as file:
            return file.read(len(text)) == text
    except (OSError, UnicodeDecodeError):
        return False


def hash_files(path: str | Path) -> str:
    """Hash a file, or all files below a folder: SHA-256 over the file's bytes."""
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
def plain_os_errors(path: Path, temporary: Path | None = None) -> Iterator[None]:
    """Within this block, an error of the system becomes one line that names the output, never its temporary name."""
    try:
        yield
    except SimjudgeError as error:
        if temporary is not None:
            error.args = (str(error).replace(str(temporary), str(path)), *error.args[1:])
        raise
    except OSError as error:
        if is_disk_full(error):
            raise SimjudgeError(f"{path}: {disk_trouble(error)}; nothing was written under that name") from error
        if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
            raise SimjudgeError(f"{path}: cannot be written to: {error.strerror}") from error
        raise


LARGEST_TEXT = 2**31  # Bytes of the largest text that is read whole
LARGEST_IMAGE_FILE = 2**30  # Bytes of the largest image file that is read
_LARGEST_POINTER = 1024  # Bytes of a pointer of Git LFS or git-annex at most
_RECORDING_SUFFIXES = (".bag", ".mcap", ".db3")
_LFS = b"version https://git-lfs.github.com/spec/"
_ANNEX = b"/annex/objects/"
_ROS1 = b"#ROSBAG V"
_HEAD = max(map(len, (_LFS, _ANNEX, _ROS1)))
_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


def is_file(path: Path) -> bool:
    """Whether an ordinary file is there; False for what can be no name of a file, such as one of 5,000 characters."""
    return os.path.isfile(path)  # noqa: PTH113 - Path.is_file raises where a name is too long


def is_folder(path: Path) -> bool:
    """Whether a folder is there; False for what can be no name of one."""
    return os.path.isdir(path)  # noqa: PTH112 - see above


def check_file(path: Path, largest: int | None = None) -> None:
    """Make sure that a path can be opened and read to its end (largest: its size at most, bytes; None for any)."""
    size = _ordinary_size(path, largest)
    if size > _LARGEST_POINTER and path.suffix not in _RECORDING_SUFFIXES:
        return
    try:
        with path.open("rb") as stream:
            head = stream.read(_HEAD)
    except OSError as error:
        raise SimjudgeError(f"{path}: cannot be read: {error.strerror}") from error
    _check_head(path, head)


def read_bytes(path: Path, largest: int) -> bytes:
    """Read a whole file."""
    _ordinary_size(path, largest)
    try:
        data = path.read_bytes()
    except OSError as error:
        raise SimjudgeError(f"{path}: cannot be read: {error.strerror}") from error
    _check_head(path, data[:_HEAD])
    return data


def _ordinary_size(path: Path, largest: int | None) -> int:
    """The size of an ordinary file in bytes; refuses anything else, and what is larger."""
    try:
        found = path.stat()
    except OSError as error:
        raise SimjudgeError(f"{path}: cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise SimjudgeError(f"{str(path)!r}: is not a file name ({error})") from error
    kind = next((name for test, name in _KINDS if test(found.st_mode)), None)
    if kind is not None:
        remedy = "name a file in it" if stat.S_ISDIR(found.st_mode) else "copy what it gives into a file, and name that"
        raise SimjudgeError(f"{path}: is {kind}, not a file; {remedy}")
    if largest is not None and found.st_size > largest:
        raise SimjudgeError(f"{path}: {found.st_size / 1e9:.1f} GB is more than can be read at once; make it smaller")
    return found.st_size


def _check_head(path: Path, head: bytes) -> None:
    """Refuse, by its own name, what often lies under the name of something else."""
    if head.startswith(_LFS):
        raise SimjudgeError(f"{path}: is a pointer of Git LFS, not the file itself; fetch it with 'git lfs pull'")
    if head.startswith(_ANNEX):
        raise SimjudgeError(f"{path}: is a pointer of git-annex, not the file itself; fetch it with 'git annex get'")
    if head.startswith(_ROS1):
        convert = f"python3 -m rosbags.convert --src {shlex.quote(str(path))} --dst {shlex.quote(path.stem)}"
        raise SimjudgeError(f"{path}: is a recording of ROS 1; convert it to ROS 2 first: {convert}")


_BRANDS = {b"avif": "AVIF", b"avis": "AVIF", b"heic": "HEIC", b"heix": "HEIC", b"mif1": "HEIF", b"msf1": "HEIF"}
_SIGNATURES = (
    (b"\x00\x00\x00\x01", "video (H.264 or H.265)"),
    (b"\x00\x00\x01", "video (H.264, H.265 or MPEG)"),
    (b"\x00\x00\x00\x0cJXL ", "JPEG XL"),
    (b"\xff\x0a", "JPEG XL"),
    (b"\x1aE\xdf\xa3", "video (Matroska or WebM)"),
    (b"DKIF", "video (VP8, VP9 or AV1)"),
    (b"v/1\x01", "OpenEXR"),
    (b"#?RADIANCE", "Radiance HDR"),
    (b"\x93NUMPY", "a NumPy array"),
    (b"%PDF", "PDF"),
    (b"<svg", "SVG"),
    (b"<!DOCTYPE html", "a web page"),
    (b"<html", "a web page"),
    (b"PK\x03\x04", "a ZIP archive"),
    (b"version https://git-lfs", "a pointer of Git LFS (git lfs pull fetches the file)"),
)
_DEPTH_HEAD = 12  # Bytes that compressed_depth_image_transport puts before its PNG


def name_format(head: bytes) -> str:
    """Name the format of a file: the format, such as "AVIF"; "" where it is not known, or one that simjudge reads."""
    if head[4:8] == b"ftyp":
        return _BRANDS.get(head[8:12], "video (MP4)")
    if head[_DEPTH_HEAD : _DEPTH_HEAD + 4] == b"\x89PNG":
        return "depth (compressedDepth)"
    return next((name for signature, name in _SIGNATURES if head.startswith(signature)), "")
