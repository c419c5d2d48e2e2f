"""Assists: help that the papers do not have, by name, and which of them a program uses.

One option of every program turns them on and off: `assist="all"` (the default), `"none"`, or names. Each time one
changes something, the trace has an `Assisted` step.
"""

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
        name: in the option `assist`.
        place: what it changes.
        does: what it does, in a sentence.
    """

    name: str
    place: Place
    does: str
    programs: tuple[str, ...]


_KERAG, _ANCHORRAG, _FOUR_STEPS, _KNOW3RAG = ("kerag",), ("anchorrag",), ("4stepfocus",), ("know3rag",)
_READING = ("kerag", "anchorrag", "tog", "pog")  # their models answer from facts
_LINKING = (*_READING, "4stepfocus")
_CLOSED_BOOK = ("io", "cot", "selfconsistency")
_WITH_REFERENCES = ("ragdirect", "ragcot", "recite", "skr", "knowledgecard", "chainofknowledge", "blendfilter")
_RANKING = ("bm25", "vss", "multivss", "vssreranker")
_EVERY = (*_LINKING, *_KNOW3RAG, *_CLOSED_BOOK, *_WITH_REFERENCES, *_RANKING)

ASSISTS = (
    Assist("asked_part", "topics", "Leave out talk beside the question if it names nothing of the graph.", _EVERY),
    Assist("all_topics", "topics", "Also start from names that the model left out and that are surely names.", _KERAG),
    Assist("homonyms", "topics", "Of things with one name take those whose type or year stands beside it.", _LINKING),
    Assist("names_first", "topics", "Rank anchors by names, and by relations among similar names.", _ANCHORRAG),
    Assist("plans", "topics", "Compute by a query what the question counts, orders, excludes or bounds.", _READING),
    Assist(
        "implied_classes",
        "topics",
        "In a graph without classes, treat things with similar relations as a class.",
        _READING,
    ),
    Assist("ranked_depth", "paths", "Go as many hops as a ranker trained on the graph reads in the question.", _KERAG),
    Assist("stop_early", "paths", "Go no further where the ranker finds all further paths unlikely.", _KERAG),
    Assist("loosened_patterns", "facts", "Loosen triplets that nothing satisfies before any is dropped.", _FOUR_STEPS),
    Assist(
        "time_conditions", "facts", "Fetch only edges that hold at the time that is asked about.", _KERAG + _ANCHORRAG
    ),
    Assist("near_relations", "facts", "Show relations that a text may state where triples are extracted.", _KNOW3RAG),
    Assist("stated_triples", "facts", "Refuse triples that the text does not state.", _KNOW3RAG),
    Assist("measured_theta", "facts", "Take theta_0 from the scores of true and of corrupted triples.", _KNOW3RAG),
    Assist("doubts", "answer", "Ask once more if a reply does not fit the question and the prompt.", _LINKING),
    Assist("unjudged_facts", "answer", "Answer from facts that were not judged sufficient, before memory.", _ANCHORRAG),
    Assist("without_topics", "answer", "Leave a topic out of an answer that has other things.", _READING),
    Assist(
        "likely_answers", "answer", "Answer with the nodes that score about best; none if all score low.", _FOUR_STEPS
    ),
    Assist("graph_values", "answer", "Give a value as the graph writes it.", _KNOW3RAG),
    Assist("matched_words", "answer", "Ask a model what words mean that no name has, and answer again.", _READING),
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


EVERY = Assists()
"""All assists, for what is no program of a paper."""
