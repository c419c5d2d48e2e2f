"""The one error root of Triplecheck and the children that the ground floor raises.

Every message names the thing, the place and the way out; the command line prints it as it is.
"""

from __future__ import annotations

from pathlib import Path


class TriplecheckError(Exception):
    """Root of every error that Triplecheck raises on purpose.

    Attributes:
        progress: what had been done when it was raised, where a program was interrupted.
    """

    progress: object | None = None


class UserError(TriplecheckError):
    """The request itself is wrong and the person who made it can mend it (exit code 2)."""


class UnavailableError(TriplecheckError):
    """A model, an endpoint or a package that is needed is out of reach (exit code 3)."""


class ReadError(UserError):
    """A source file cannot be read as what it claims to be.

    Attributes:
        path: the file.
        line: 1-based line number, or None where the format has no lines.
        reason: what is wrong with it.
    """

    def __init__(self, path: Path | str, line: int | None, reason: str) -> None:
        self.path = Path(path)
        self.line = line
        self.reason = reason
        place = f"{path}:{line}" if line is not None else f"{path}"
        super().__init__(f"{place}: {reason}")


class KnowledgeBaseError(UserError):
    """A knowledge base directory is missing, foreign, damaged or of another format version."""


class GraphUnavailableError(UnavailableError):
    """A remote graph does not answer, answers too slowly, or answers something else than asked."""
