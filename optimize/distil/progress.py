"""What long work is told by, and times for people."""

from __future__ import annotations


def minutes(seconds: float) -> str:
    """A time in the words that one would use for it."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
