"""Answers in a model's words, matched to the nodes of facts: names, dates, numbers, and any of them in a sentence."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from dataclasses import replace

from triplecheck.kg import Graph, normalize
from triplecheck.kg.values import agrees, mentions, quantity, value_of
from triplecheck.language.operations import negations
from triplecheck.language.parse import parse
from triplecheck.language.question import Question
from triplecheck.programs.subgraph import Fact

_LEAST_NAME = 3  # characters of a name that is looked for in a sentence

Found = tuple[int, Fact]
"""A node, and the first fact that has it."""


class AnswerMatcher:
    """Matches the answers of one reply.

    The cited facts are searched first, then all retrieved facts; in each the exact name is preferred. What a date, a
    number or a sentence says is compared with the values of cited facts alone.

    Args:
        names: the text of each node in the prompt.
    """

    def __init__(
        self, graph: Graph, cited: Sequence[Fact], facts: Sequence[Fact], names: dict[int, str], question: Question
    ) -> None:
        self._graph = graph
        self._cited = cited
        self._facts = facts
        self._names = names
        self._asked = frozenset(normalize(question.text).split())
        self._language = question.language

    def find(self, text: str) -> list[Found]:
        """The nodes that an answer names: one, or several if it is a sentence; none if no fact has them."""
        one = (
            self._in_cited.get(text)
            or self._alike(text, self._cited)
            or self._agreeing(text)
            or self._in_all.get(text)
            or self._alike(text, self._facts)
            or self._by_other_name(text)
        )
        return self._in_sentence(text) if one is None else [one]

    @functools.cached_property
    def _in_cited(self) -> dict[str, Found]:
        return self._exact(self._cited)

    @functools.cached_property
    def _in_all(self) -> dict[str, Found]:
        return self._exact(self._facts)

    def _exact(self, facts: Sequence[Fact]) -> dict[str, Found]:
        """Nodes by name in the prompt and by label, with the first fact that has them, values before anchors."""
        nodes = _nodes(facts)
        found: dict[str, Found] = {}
        for (node, fact), label in zip(nodes, self._graph.labels([node for node, _ in nodes]), strict=True):
            found.setdefault(self._names[node], (node, fact))
            found.setdefault(label, (node, fact))
        return found

    def _alike(self, text: str, facts: Sequence[Fact]) -> Found | None:
        """The node that an answer names with other case, accents or punctuation, and the first fact that has it."""
        return next(((node, fact) for node, fact in _nodes(facts) if self._is_alike(text, node)), None)

    def _is_alike(self, text: str, node: int) -> bool:
        """Equal except for case, accents and punctuation; numbers and dates by value, because "-5" is not "5"."""
        literal = value_of(self._graph, node)
        size = quantity(literal)
        if size is not None and not size.is_time:
            return quantity(replace(literal, lexical=text)) == size
        if size is not None and text.startswith("-") != literal.lexical.startswith("-"):
            return False  # before Christ or after
        return normalize(text) in (normalize(self._names[node]), normalize(self._graph.label(node)))

    def _agreeing(self, text: str) -> Found | None:
        """The date or number of a cited fact that an answer gives in other words: "16 November 1895", "5,000 km"."""
        values = [(value, fact) for fact in self._cited for value in fact.values]
        return next((one for one in values if agrees(text, value_of(self._graph, one[0]))), None)

    def _by_other_name(self, text: str) -> Found | None:
        """The value of a cited fact that an answer names by an alias, or without words of the question.

        "Drama" answers "What genre of film is it?" where the fact says "Drama film". None if several values fit.
        """
        said = normalize(text).split()
        values = {value: fact for fact in reversed(self._cited) for value in fact.values}
        found = [one for one in values.items() if said and self._is_other_name(said, one[0])]
        return found[0] if len(found) == 1 else None

    def _is_other_name(self, said: list[str], node: int) -> bool:
        if quantity(value_of(self._graph, node)) is not None:
            return False
        words = normalize(self._graph.label(node)).split()
        cut = len(words) - len(said)
        shortened = cut > 0 and (
            (words[:-cut] == said and self._asked.issuperset(words[-cut:]))
            or (words[cut:] == said and self._asked.issuperset(words[:cut]))
        )
        return shortened or any(normalize(alias).split() == said for alias in self._graph.entity(node).aliases)

    def _in_sentence(self, text: str) -> list[Found]:
        """The values of cited facts that a sentence states, in the order of the facts; none if it denies something."""
        said = parse(text, (), self._language)
        if not said.has_finite_verb or negations(said):
            return []
        values = {value: fact for fact in reversed(self._cited) for value in reversed(fact.values)}
        ways = {value: self._spans(text, value) for value in reversed(values)}
        spans = [span for found in ways.values() for span in found]
        found = []
        for value, own in ways.items():
            # A name inside a longer one is not named itself.
            alone = [s for s in own if not any(o != s and o[0] <= s[0] and s[1] <= o[1] for o in spans)]
            if alone or mentions(text, value_of(self._graph, value)):
                found.append((value, values[value]))
        return found

    def _spans(self, text: str, node: int) -> list[tuple[int, int]]:
        """Where a name stands in a text, not as a part of a longer name."""
        if quantity(value_of(self._graph, node)) is not None:
            return []
        found = []
        for name in {self._names[node], self._graph.label(node)}:
            if len(name) < _LEAST_NAME:
                continue
            for match in re.finditer(rf"(?<!\w)(?i:{re.escape(name)})(?![\w-])(?! [A-Z0-9])", text):
                found.append(match.span())
        return found


def _nodes(facts: Sequence[Fact]) -> list[Found]:
    return [(value, fact) for fact in facts for value in fact.values] + [(fact.anchor, fact) for fact in facts]
