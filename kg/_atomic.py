"""Atomic writes: into a temporary place, then renamed, so that no reader sees a half-written file or directory."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import functools
import glob
import os
import re
import secrets
import shutil
import tempfile
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any

from triplecheck.kg.errors import StorageError

try:
    import fcntl
except ImportError:  # Windows: stale drafts stay
    fcntl = None  # type: ignore[assignment]

_RENAME_EXCHANGE = 2  # RENAME_EXCHANGE of renameat2(2)
_OLD = "kb"  # the name of a directory that is moved aside

_NO_STORAGE = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EIO})
# numpy, tantivy, marisa-trie, safetensors and SQLite say so in words only.
_NO_STORAGE_TEXT = re.compile(
    r"No space left on device|requested and \d+ written|File too large|Disk quota exceeded|Input/output error"
    r"|Read-only file system|MARISA_IO_ERROR|io::Error|disk I/O error|disk is full|unable to open database file"
)


@contextlib.contextmanager
def stored(path: Path) -> Iterator[None]:
    """Writes to `path` inside.

    Raises:
        StorageError: the disk is full, read-only or broken.
    """
    try:
        yield
    except Exception as error:
        reason = None if isinstance(error, StorageError) else out_of_storage(error)
        if reason is None:
            raise
        raise StorageError(f"{path}: cannot be written ({reason}); free some space or choose another disk") from error


def out_of_storage(error: Exception) -> str | None:
    """Why a write failed, if the disk is full, read-only or broken."""
    code = error.errno if isinstance(error, OSError) else None
    if code in _NO_STORAGE:
        return os.strerror(code)
    return "the disk is full" if code is None and _NO_STORAGE_TEXT.search(str(error)) else None


@contextlib.contextmanager
def replaced_directory(target: Path) -> Iterator[Path]:
    """A new directory that replaces `target` if the block succeeds and is removed if it fails.

    Where the system can exchange two names at once, `target` always exists. Elsewhere it is moved aside for a moment,
    and `recover` brings it back if the process ends there. If the parent of `target` is itself replaced meanwhile, the
    new directory stays in the old parent.

    Raises:
        StorageError: as `stored`; `target` is unchanged.
    """
    target = target.absolute()
    with contextlib.ExitStack() as held:
        held.enter_context(stored(target))
        target.parent.mkdir(parents=True, exist_ok=True)
        recover(target)
        parent = held.enter_context(_handle(target.parent))
        new = held.enter_context(draft_directory(target))
        yield new
        new.chmod(0o755)
        while not _put(new, target, parent):
            pass


@contextlib.contextmanager
def draft_directory(target: Path) -> Iterator[Path]:
    """An empty directory beside `target`, removed at the end. Drafts of processes that have ended are removed, too."""
    with _draft(target, lambda prefix: Path(tempfile.mkdtemp(prefix=prefix, dir=target.parent))) as draft:
        yield draft


@contextlib.contextmanager
def only_writer(target: Path) -> Iterator[bool]:
    """Whether nobody else holds the directory `target` in such a block; the lock ends with the process.

    Always true where the system has no locks.
    """
    with _handle(target.absolute()) as handle:
        yield _locked(target.absolute(), handle, otherwise=True)


@contextlib.contextmanager
def replaced_file(target: Path) -> Iterator[Path]:
    """A new, empty file that replaces `target` if the block succeeds and is removed if it fails.

    Drafts of processes that have ended are removed, too.

    Raises:
        StorageError: as `stored`; the file is unchanged.
    """
    target = target.absolute()

    def make(prefix: str) -> Path:
        draft = target.with_name(f"{prefix}{secrets.token_hex(4)}")
        draft.open("xb").close()
        return draft

    with stored(target), _draft(target, make) as draft:
        yield draft
        with draft.open("rb+") as written:
            os.fsync(written.fileno())
        draft.replace(target)


@contextlib.contextmanager
def _draft(target: Path, make: Callable[[str], Path]) -> Iterator[Path]:
    """A locked draft of `target`, made by a function of how its name begins, and removed at the end."""
    sweep(target)
    with contextlib.ExitStack() as held:
        while True:
            draft = make(f".{target.name}.new-")
            held.callback(_remove, draft)
            with contextlib.suppress(FileNotFoundError):  # another process takes it for a stale one
                if _locked(draft, held.enter_context(_handle(draft)), otherwise=True):
                    break
        yield draft


def recover(target: Path) -> None:
    """Bring back a directory that an interrupted replacement has moved aside, if nothing is at its place."""
    for aside in _beside(target, "old") if not os.path.lexists(target) else ():
        with contextlib.suppress(OSError), _handle(aside) as handle:
            if _locked(aside, handle, otherwise=True) and (aside / _OLD).exists() and not os.path.lexists(target):
                (aside / _OLD).rename(target)
                shutil.rmtree(aside, ignore_errors=True)


def sweep(target: Path) -> None:
    """Remove the drafts of `target`, and what was moved aside for it, whose processes have ended."""
    for draft in [*_beside(target, "new"), *(_beside(target, "old") if target.exists() else ())]:
        with contextlib.suppress(OSError), _handle(draft) as handle:
            if _locked(draft, handle, otherwise=False):
                _remove(draft)


def _beside(target: Path, kind: str) -> list[Path]:
    return sorted(target.parent.glob(f".{glob.escape(target.name)}.{kind}-*"))


def _put(new: Path, target: Path, parent: int | None) -> bool:
    """Move a directory to its target; the old one is then at `new`. False if another process was faster."""
    try:
        try:
            if not _exchange(new, target, parent):
                _put_in_two_steps(new, target, parent)
        except FileNotFoundError:  # nothing is there yet
            _rename(new, target, parent)
    except OSError as error:
        if error.errno in (errno.ENOTEMPTY, errno.EEXIST):
            return False
        raise
    return True


def _exchange(one: Path, other: Path, parent: int | None) -> bool:
    """Exchange two names in one directory; False if the system cannot.

    Raises:
        FileNotFoundError: one of them does not exist.
    """
    call = _renameat2()
    if call is None or parent is None:
        return False
    if call(parent, os.fsencode(one.name), parent, os.fsencode(other.name), _RENAME_EXCHANGE) == 0:
        return True
    code = ctypes.get_errno()
    if code in (errno.ENOSYS, errno.EINVAL, errno.EPERM, errno.EOPNOTSUPP):
        return False
    raise OSError(code, os.strerror(code), str(other))


@functools.cache
def _renameat2() -> Callable[..., Any] | None:
    with contextlib.suppress(OSError, AttributeError, TypeError):
        call = ctypes.CDLL(None, use_errno=True).renameat2
        call.argtypes = [ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint]
        return call
    return None


def _put_in_two_steps(new: Path, target: Path, parent: int | None) -> None:
    aside = Path(tempfile.mkdtemp(prefix=f".{target.name}.old-", dir=target.parent))
    with _handle(aside) as handle:
        _locked(aside, handle, otherwise=True)
        try:
            with contextlib.suppress(FileNotFoundError):
                target.rename(aside / _OLD)
            try:
                _rename(new, target, parent)
            except OSError as error:
                if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                    with contextlib.suppress(FileNotFoundError):
                        (aside / _OLD).rename(target)
                raise
        finally:
            shutil.rmtree(aside, ignore_errors=True)


def _rename(source: Path, target: Path, parent: int | None) -> None:
    if parent is None:
        source.rename(target)
    else:
        os.rename(source.name, target.name, src_dir_fd=parent, dst_dir_fd=parent)


@contextlib.contextmanager
def _handle(path: Path) -> Iterator[int | None]:
    """An open file or directory; None where the system cannot open a directory."""
    if os.rename not in os.supports_dir_fd:
        yield None
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        yield handle
    finally:
        os.close(handle)


def _locked(path: Path, handle: int | None, *, otherwise: bool) -> bool:
    """Take the lock of a file or directory, which ends with the process.

    False if another process holds it or has moved the directory; `otherwise` if there are no locks here.
    """
    if fcntl is None or handle is None:
        return otherwise
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return path.stat().st_ino == os.fstat(handle).st_ino
    except (BlockingIOError, PermissionError, FileNotFoundError):
        return False
    except OSError:
        return otherwise


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def link_tree(source: Path, target: Path, leave_out: Collection[str] = ()) -> list[str]:
    """Copy a directory, by hard links where the file system has them: the files must never be changed in place.

    Files and directories with the names to leave out are not copied, at any depth. Returns what is, by relative path.
    """
    copied = []
    for path in sorted(source.rglob("*")):
        inner = path.relative_to(source)
        if not path.is_file() or not {*inner.parts}.isdisjoint(leave_out):
            continue
        place = target / inner
        place.parent.mkdir(parents=True, exist_ok=True)
        try:
            os.link(path, place)
        except OSError as error:
            if error.errno in _NO_STORAGE:
                raise
            shutil.copyfile(path, place)
        copied.append(inner.as_posix())
    return copied


def write_text(path: Path, text: str) -> None:
    """Write a small file atomically."""
    write_bytes(path, text.encode("utf-8"))


def write_bytes(path: Path, content: bytes) -> None:
    """Write a small file atomically.

    Raises:
        StorageError: as `stored`; the file is unchanged.
    """
    with replaced_file(path) as draft:
        draft.write_bytes(content)
