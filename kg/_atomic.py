"""Atomic writes: into a temporary place, then renamed, so that no reader sees a half-written file or directory."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def replaced_directory(target: Path) -> Iterator[Path]:
    """A new directory that replaces `target` if the block succeeds and is removed if it fails.

    The old `target` is removed only after the new one is in place.
    """
    target = target.absolute()
    target.parent.mkdir(parents=True, exist_ok=True)
    new = Path(tempfile.mkdtemp(prefix=f".{target.name}.new-", dir=target.parent))
    try:
        yield new
        new.chmod(0o755)
        while not _put(new, target):
            pass
    finally:
        shutil.rmtree(new, ignore_errors=True)


def _put(new: Path, target: Path) -> bool:
    """Move a directory to its target and remove the old one; False if another process was faster."""
    aside = Path(tempfile.mkdtemp(prefix=f".{target.name}.old-", dir=target.parent))
    try:
        with contextlib.suppress(FileNotFoundError):
            target.rename(aside / "kb")
        try:
            new.rename(target)
        except OSError as error:
            if error.errno in (errno.ENOTEMPTY, errno.EEXIST):
                return False
            with contextlib.suppress(FileNotFoundError):
                (aside / "kb").rename(target)
            raise
        return True
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def write_text(path: Path, text: str) -> None:
    """Write a small file atomically."""
    write_bytes(path, text.encode("utf-8"))


def write_bytes(path: Path, content: bytes) -> None:
    """Write a small file atomically."""
    path = path.absolute()
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        with draft.open("xb") as sink:
            sink.write(content)
            sink.flush()
            os.fsync(sink.fileno())
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
