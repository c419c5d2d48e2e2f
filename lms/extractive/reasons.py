"""Why an answer is what it is, in one sentence; all of them begin alike.

That something is told and that nothing is part at one word. Who learns to write these sentences, word by word, would
else weigh the one for nothing against each of the many beginnings of others alone, and find nothing too often.
"""

from __future__ import annotations

from triplecheck.lms.extractive.facts import FactPath

NOTHING_TOLD = "The facts do not tell it."


def told(*paths: FactPath, then: str = "") -> str:
    """What the facts tell, and what is to be done with it."""
    return _sentence(" and ".join(path.written for path in paths), then)


def each(measure: str, then: str) -> str:
    """That the facts tell a number or date of several things, and what is to be done with these."""
    return _sentence(f"each {measure}", then)


def _sentence(what: str, then: str) -> str:
    return f"The facts tell {what}: {then}." if then else f"The facts tell {what}."
