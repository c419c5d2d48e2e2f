"""The root error of Triplecheck and the children that `kg` raises.

Every message names the thing, the place and the way out; the command line prints it unchanged. Credentials are
removed from it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import ClassVar

from triplecheck.kg.redaction import redacted


class TriplecheckError(Exception):
    """Root of every error that Triplecheck raises on purpose.

    Attributes:
        progress: the work done so far, if a program was interrupted.
        lasting: another try would end in the same error, so a resumed run does not ask the question again.
    """

    progress: object | None = None
    lasting: ClassVar[bool] = False

    def __init__(self, *args: object) -> None:
        super().__init__(*(redacted(arg) if isinstance(arg, str) else arg for arg in args))


class UserError(TriplecheckError):
    """The request is wrong and the user can correct it (exit code 2)."""


class ReadWarning(UserWarning):
    """A reader was not sure of what it read, such as whether a first line is a header."""


class UnavailableError(TriplecheckError):
    """A required model, endpoint or package is not available (exit code 3)."""


class MissingExtraError(UnavailableError):
    """A package of an optional extra is not installed; the message says which line installs it.

    Attributes:
        package: the module that is missing.
        extra: the extra that installs it.
    """

    def __init__(self, package: str, extra: str, purpose: str) -> None:
        self.package = package
        self.extra = extra
        super().__init__(f"{purpose} needs {package}, which is not installed: pip install 'triplecheck[{extra}]'")


@contextmanager
def extra(name: str, purpose: str) -> Iterator[None]:
    """Around the imports of an extra.

    Args:
        name: the extra.
        purpose: what needs it, as the subject of a sentence.

    Raises:
        MissingExtraError: a package of the extra is not installed.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "a package").partition(".")[0]
        if package == "triplecheck":
            raise
        raise MissingExtraError(package, name, purpose) from error


def require(name: str, purpose: str, *packages: str) -> None:
    """Refuse to start if a package of an extra is not installed, without importing it.

    Raises:
        MissingExtraError: the first package that is not installed.
    """
    for package in packages:
        if find_spec(package) is None:
            raise MissingExtraError(package, name, purpose)


class PlanError(UserError):
    """A query cannot be read, names what the graph does not have, or needs more time or rows than it may use."""


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
