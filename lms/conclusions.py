"""Replies of the answering step that follow from paths of facts: looked up, or to be computed over the cited facts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from triplecheck.lms.fact_paths import NOTHING_FOUND, FactPath, each, explain


@dataclass(frozen=True)
class Conclusion:
    """The answer, in the fields of `signatures.AnswerFromFacts`."""

    reasoning: str = NOTHING_FOUND
    cited: tuple[int, ...] = ()
    operation: str = "none"
    answers: tuple[str, ...] = ()

    def fields(self) -> dict[str, object]:
        """As output fields."""
        return {
            "reasoning": self.reasoning,
            "cited": list(self.cited),
            "operation": self.operation,
            "answers": list(self.answers),
        }


def looked_up(path: FactPath, ends: Sequence[str]) -> Conclusion:
    """These things at the end of a path."""
    return Conclusion(explain(path), tuple(path.numbers()), "none", tuple(ends))


def over_values(path: FactPath, operation: str) -> Conclusion:
    """A count or sum of what lies at the end of a path."""
    return Conclusion(explain(path, then=operation), _cited([path]), operation)


def compared(path: FactPath, operation: str) -> Conclusion:
    """The thing with the greatest or smallest value at the end of a path."""
    return Conclusion(explain(path, then="compare"), _cited([path]), operation)


def compared_topics(paths: Sequence[FactPath], operation: str, said: str = "") -> Conclusion:
    """The topic with the greatest or smallest value, by the same relation from each; or yes or no, if that is said."""
    reasoning = each(paths[0].hops[-1].label, "compare")
    return Conclusion(reasoning, _cited(paths), "none" if said else operation, (said,) if said else ())


def same(paths: Sequence[FactPath]) -> Conclusion:
    """Whether topics share a value of the same relation."""
    return Conclusion(explain(*paths, then="compare"), _cited(paths), "same")


def shared(one: FactPath, other: FactPath, *, counts: bool = False) -> Conclusion:
    """What two paths from different topics lead to, or how many things that are."""
    others = set(other.ends)
    ends = dict.fromkeys(end for end in one.ends if end in others)
    cited = tuple(f.number for path in (one, other) for f in path.facts if not ends.keys().isdisjoint(f.values))
    if counts:
        return Conclusion(explain(one, other, then="count what they share"), cited, "none", (str(len(ends)),))
    return Conclusion(explain(one, other, then="take what they share"), cited, "common")


def yes_or_no(path: FactPath, said: str, ends: set[str] | None = None) -> Conclusion:
    """Whether a path leads to what the question names.

    Args:
        ends: those that the question names; None: all.
    """
    return Conclusion(explain(path, then=said), tuple(path.numbers(ends)), "none", (said,))


def _cited(paths: Sequence[FactPath]) -> tuple[int, ...]:
    return tuple(fact.number for path in paths for fact in path.facts)
