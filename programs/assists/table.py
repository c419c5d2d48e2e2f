"""The table of assists, and which of them a program uses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from triplecheck.kg import UserError
from triplecheck.programs.steps import Assisted, Trace

Place = Literal["topics", "paths", "facts", "answer"]


@dataclass(frozen=True)
class Assist:
    """One help that a paper does not have.

    Attributes:
        name: of its module, and in the option `assist`.
        place: what it changes.
        does: what it does, in a sentence.
    """

    name: str
    place: Place
    does: str


ASSISTS = (
    Assist("all_topics", "topics", "Also start from names that the model left out and the question surely has."),
    Assist("described", "topics", "Also start from things that the question describes by their class."),
    Assist("ranked_paths", "paths", "Offer paths in the order that the trained ranker prefers."),
    Assist("ranked_depth", "paths", "Go as many hops as a ranker that was trained on the graph reads in the question."),
    Assist("typed_paths", "paths", "Offer hops that lead only to things of the class that the question asks for."),
    Assist("suggested_paths", "paths", "Also follow the paths that the trained ranker prefers."),
    Assist("stop_early", "paths", "Go no further where the ranker finds all further paths unlikely."),
    Assist("time_conditions", "facts", "Fetch only edges that hold at the time that the question is about."),
    Assist("typed_names", "facts", "Write the types of things into facts where the question asks who or where."),
    Assist("doubts", "answer", "Ask once more if a reply does not fit the question, its topics and the facts."),
    Assist("complete_citations", "answer", "Compute over the facts that the model meant where it cited too few."),
    Assist("whole_lists", "answer", "Compare all facts of a list where the model cited some of them."),
    Assist("comparisons", "answer", "Let the question's comparative decide which of two values is asked for."),
    Assist("expected_form", "answer", "Give yes or no, or a date, where the question asks for it."),
    Assist("settled", "answer", "Ask which of two answers is right, the written or the computed one."),
)
"""All assists, in the order in which a question meets them."""

_NAMES = frozenset(assist.name for assist in ASSISTS)
ALL, NONE = "all", "none"


class Assists:
    """The assists that a program uses.

    Args:
        option: `all`, `none`, or names. A name after a minus is left out: `-doubts` is all but `doubts`.

    Raises:
        UserError: there is no such assist.
    """

    def __init__(self, option: str | Sequence[str] = ALL) -> None:
        words = option.replace(",", " ").split() if isinstance(option, str) else list(option)
        if unknown := [word for word in words if word.removeprefix("-") not in _NAMES | {ALL, NONE}]:
            raise UserError(
                f"there is no assist {', '.join(map(repr, unknown))}; there are all, none, and "
                f"{', '.join(assist.name for assist in ASSISTS)}; a minus before a name leaves it out"
            )
        left_out = {word[1:] for word in words if word.startswith("-")}
        named = {word for word in words if word in _NAMES}
        whole = ALL in words or (bool(left_out) and not named)
        self.names = (_NAMES if whole else frozenset(named)) - left_out

    def __contains__(self, name: str) -> bool:
        return name in self.names

    def __repr__(self) -> str:
        return f"Assists({sorted(self.names)})"

    @staticmethod
    def note(trace: Trace, name: str, step: str, before: Sequence[str], after: Sequence[str]) -> None:
        """Record in the trace what an assist changed; nothing if it changed nothing."""
        assert name in _NAMES, name
        if list(before) != list(after):
            trace.add(Assisted(name, step, list(before), list(after)))
