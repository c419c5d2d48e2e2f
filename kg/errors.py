"""The root error of Triplecheck and the children that `kg` raises.

Every message names the thing, the place and the way out; the command line prints it unchanged. Credentials are
removed from it.
"""

from __future__ import annotations

from pathlib import Path

from triplecheck.kg.redaction import redacted


class TriplecheckError(Exception):
    """Root of every error that Triplecheck raises on purpose.

    Attributes:
        progress: the work done so far, if a program was interrupted.
    """

    progress: object | None = None

    def __init__(self, *args: object) -> None:
        super().__init__(*(redacted(arg) if isinstance(arg, str) else arg for arg in args))


class UserError(TriplecheckError):
    """The request is wrong and the user can correct it (exit code 2)."""


class UnavailableError(TriplecheckError):
    """A required model, endpoint or package is not available (exit code 3)."""


class ReadError(UserError):
    """A source file cannot be read in its format.

    Attributes:
        path: the file.
        line: 1-based line number, or None if the format has no lines.
        reason: what is wrong.
    """

    def __init__(self, path: Path | str, line: int | None, reason: str) -> None:
        self.path = Path(path)
        self.line = line
        self.reason = reason
        place = f"{path}:{line}" if line is not None else f"{path}"
        super().__init__(f"{place}: {reason}")


class KnowledgeBaseError(UserError):
    """A knowledge base directory is missing, damaged, of another format version, or something else."""


class KnowledgeBaseReplacedError(KnowledgeBaseError):
    """A knowledge base was replaced by another one while it was open, so its other parts cannot be read."""


class StorageError(TriplecheckError):
    """A file cannot be written: the disk is full, a limit is reached, or the disk is read-only or broken."""


class GraphUnavailableError(UnavailableError):
    """A remote graph does not reply, replies too slowly, or replies with something unexpected."""
